"""A tool that asks a question of each kind of answer, one after another."""

import json
import sys

QUESTIONS = [
    {"id": "sure", "text": "Shall the cart be emptied?", "answer_type": {"type": "boolean"}, "context": "It has three lines."},
    {"id": "currency", "text": "Which currency?", "answer_type": {"type": "select", "options": ["EUR", "CHF"]}, "default": "EUR"},
    {"id": "parts", "text": "Which parts?", "answer_type": {"type": "multi_select", "options": ["cart", "price", "stock"], "minimum": 1, "maximum": 2}},
    {"id": "name", "text": "What is the name of the shop?", "answer_type": {"type": "text"}, "default": "Corner"},
    {"id": "lines", "text": "How many lines at most?", "answer_type": {"type": "number", "integer": True, "minimum": 1, "maximum": 99}},
    {"id": "note", "text": "A note for the log?", "answer_type": {"type": "text"}, "optional": True},
]

answers = json.load(sys.stdin)["answers"]
asked = [question for question in QUESTIONS if question["id"] not in answers]
print(json.dumps({"type": "needs_input", "question": asked[0]} if asked else {"type": "success", "content": json.dumps(answers)}))
