#!/usr/bin/env python3
"""A tool that asks where a service goes, and makes sure before it touches production."""

import json
import sys

call = json.load(sys.stdin)
service = call["arguments"]["service"]
answers = call["answers"]


def say(outcome):
    print(json.dumps(outcome))
    sys.exit()


def ask(question):
    say({"type": "needs_input", "question": question})


# Each run begins here; the answers so far are there already.
if "place" not in answers:
    places = call["options"].get("places", ["staging", "production"])
    ask({
        "id": "place",
        "text": f"Where should {service} go?",
        "answer_type": {"type": "select", "options": places},
    })

if answers["place"] == "production" and "sure" not in answers:
    ask({
        "id": "sure",
        "text": f"Deploy {service} to production, now?",
        "answer_type": {"type": "boolean"},
        "exclusive": True,  # only a person may say so
    })

if answers.get("sure") is False:
    say({"type": "error", "message": f"The user does not want {service} in production yet."})

say({"type": "success", "content": f"{service} is in {answers['place']}."})
