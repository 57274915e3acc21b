"""Aside under a client that this project did not write: pytest-lsp, on pygls."""

import json

ANSWERS = {"Which milk?": "soy", "Why?": "because 🥛 is für all"}
LAST_WORDS = "All of it is soy milk now."
# Which edits are asked for: of a buffer with the user's own changes always.
ASKED = {"ask": ["notes.md", "draft.md", "clean.md"], "edits": ["draft.md"]}
NOTES = "# Shopping\n\n- milk\n- bread\n- soy milk for the café\n"
DRAFT = "# Draft\n\nThe café sells soy milk.\ntyped, not saved\n"
CLEAN = "# Clean\n\n🥛 soy milk, 2 l\n"
TOOLS = ["read_notes", "read_draft", "read_clean", "search", "list", "edit_notes", "edit_draft", "edit_clean"]


def open_documents(editor):
    """One with changes that are not saved, one without; `notes.md` stays closed."""
    editor.open("draft.md")
    editor.type_at_end("draft.md", "typed, not saved\n")
    editor.open("clean.md")


def check_edits(editor, clean_is_saved):
    before = {name: editor.file(name) for name in ("draft.md", "clean.md")}
    assert editor.file("notes.md") == NOTES
    assert (editor.buffer("draft.md"), editor.buffer("clean.md")) == (DRAFT, CLEAN)
    assert "soy" not in before["draft.md"], "what the user did not save stays so"
    assert (before["clean.md"] == CLEAN) == clean_is_saved
    changed = [edit.edit.document_changes[0].text_document for edit in editor.all("workspace/applyEdit")]
    assert sorted((it.uri, it.version) for it in changed) == [
        (editor.uri("clean.md"), 1),
        (editor.uri("draft.md"), 2),
    ]


async def completed(editor, turn):
    return await editor.until(
        f"the end of {turn}",
        lambda method, params: method == "aside/turn/completed" and params["turnId"] == turn,
    )


def updates(editor, turn, kind):
    of_turn = [params["update"] for params in editor.all("aside/turn/update") if params["turnId"] == turn]
    return [update for update in of_turn if update["kind"] == kind]


async def test_a_turn_with_the_capability(start, mode):
    editor = await start("turn.toml", True, ANSWERS)
    open_documents(editor)
    params = {"turnId": "tidy", "message": "Tidy the notes", "mode": mode}
    started = await editor.request("aside/turn/start", params)
    assert started["turnId"] == "tidy"
    end = await completed(editor, "tidy")
    assert end["outcome"] == "completed", end
    assert (end["answer"], end["refusals"]) == (LAST_WORDS, [])

    of_turn = [
        (method, params)
        for method, params in editor.seen
        if method in ("aside/turn/update", "aside/turn/completed") and params["turnId"] == "tidy"
    ]
    assert [method for method, _ in of_turn].index("aside/turn/completed") == len(of_turn) - 1
    seqs = [params["seq"] for _, params in of_turn[:-1]]
    assert seqs == list(range(1, len(seqs) + 1))

    text = "".join(update["text"] for update in updates(editor, "tidy", "text"))
    assert text == "I read all of it first. 🥛Two questions." + LAST_WORDS
    results = {update["callId"]: update["status"] for update in updates(editor, "tidy", "toolResult")}
    assert results == {call: "ok" for call in TOOLS}
    inquiries = [(it["callIds"], it["status"]) for it in updates(editor, "tidy", "inquiry")]
    assert inquiries == [(["edit_notes"], "asked"), (["edit_notes"], "answered")]
    edited = {update["callId"]: [it["uri"] for it in update["changes"]] for update in updates(editor, "tidy", "edit")}
    assert edited == {f"edit_{name}": [editor.uri(f"{name}.md")] for name in ("notes", "draft", "clean")}

    prompts = editor.all("aside/prompt")
    questions = {prompt["text"]: prompt["answerType"] for prompt in prompts if prompt["kind"] == "question"}
    assert questions == {"Which milk?": {"type": "select", "options": ["oat", "soy"]}, "Why?": {"type": "text"}}
    asked = {prompt["preview"]["uri"]: prompt["preview"] for prompt in prompts if prompt["kind"] == "runTool"}
    assert set(asked) == {editor.uri(name) for name in ASKED[mode]}
    preview = asked[editor.uri("draft.md")]
    assert (preview["version"], preview["new"]) == (2, DRAFT)
    closed = [update for update in updates(editor, "tidy", "question") if "outcome" in update]
    assert sorted(update["promptId"] for update in closed if update.get("by") == "user") == sorted(
        prompt["promptId"] for prompt in prompts
    )

    check_edits(editor, clean_is_saved=True)
    assert editor.all("aside/document/save") == [{"uri": editor.uri("clean.md")}]
    listed = await editor.request("aside/conversation/list", {"limit": 1})
    assert [(item["turns"], item["status"], item["prompts"]) for item in listed["items"]] == [(1, "idle", 0)]


async def test_a_turn_without_the_capability(start, mode):
    editor = await start("turn.toml", False, ANSWERS, mode)
    open_documents(editor)
    await editor.command("aside.server.ask", message="Tidy the notes")
    await editor.until(
        "the transcript",
        lambda method, shown: method == "window/showDocument" and LAST_WORDS in shown,
    )
    await editor.until(
        "the end of the progress",
        lambda method, params: method == "$/progress" and params.value["kind"] == "end",
    )

    transcript = editor.all("window/showDocument")[-1]
    for said in [LAST_WORDS, "Which milk?", "soy", *ANSWERS.values()]:
        assert said in transcript
    kinds = [params.value["kind"] for params in editor.all("$/progress")]
    assert (kinds[0], kinds.count("begin"), kinds.count("end")) == ("begin", 1, 1)
    assert "report" in kinds
    assert len(editor.all("window/workDoneProgress/create")) == 1
    messages = editor.all("window/showMessageRequest")
    assert sum(message.message.endswith(tuple(ANSWERS)) for message in messages) == 2
    shown_diffs = [shown for shown in editor.all("window/showDocument") if "\n+" in shown and "\n-" in shown]
    assert len(messages) - 2 == len(ASKED[mode]) == len(shown_diffs), "a change is shown before it is allowed"
    assert not [method for method, _ in editor.seen if method.startswith("aside/")]
    check_edits(editor, clean_is_saved=False)


async def test_a_message_that_is_left_open_holds_up_no_other_conversation(start):
    editor = await start("two.toml", False, {})
    await editor.command("aside.server.ask", message="Ask me")
    await editor.until(
        "the question",
        lambda method, params: method == "window/showMessageRequest" and params.message.endswith("Shall I?"),
    )
    await editor.command("aside.server.ask", message="Just talk")
    await editor.until(
        "the other conversation's end",
        lambda method, shown: method == "window/showDocument" and "I talked." in shown,
    )
    assert len(editor.all("window/showMessageRequest")) == 1
    await editor.command("aside.server.answer", answer=True)
    await editor.until(
        "the first conversation's end",
        lambda method, shown: method == "window/showDocument" and "You said yes." in shown,
    )


async def test_a_prompt_that_is_left_open_holds_up_no_other_conversation(start):
    editor = await start("two.toml", True, {})
    await editor.request("aside/turn/start", {"turnId": "asks", "message": "Ask me"})
    prompt = await editor.until("the question", lambda method, _: method == "aside/prompt")
    await editor.request("aside/turn/start", {"turnId": "talks", "message": "Just talk"})
    assert (await completed(editor, "talks"))["answer"] == "I talked."
    pending = await editor.request("aside/prompt/pending", {})
    assert [it["promptId"] for it in pending["prompts"]] == [prompt["promptId"]]
    answer = {"action": "answer", "answer": True}
    await editor.request("aside/prompt/answer", {"promptId": prompt["promptId"], "answer": answer})
    dismissed = await editor.until("its dismissal", lambda method, _: method == "aside/prompt/dismiss")
    assert dismissed["promptId"] == prompt["promptId"]
    assert (await completed(editor, "asks"))["answer"] == "You said yes."


EACH_KIND = {"Push?": True, "Which?": "two", "Why?": "because", "Password?": "correct horse"}
NOBODY = "Refused: asker, nobody was there to answer."


async def test_each_kind_of_question_with_the_capability(start):
    editor = await start("asking.toml", True, EACH_KIND, program="ASKING")
    await editor.request("aside/turn/start", {"turnId": "asks", "message": "Ask me"})
    end = await completed(editor, "asks")
    assert (end["outcome"], end["refusals"]) == ("completed", [])
    assert [prompt["text"] for prompt in editor.all("aside/prompt")] == list(EACH_KIND)
    told = {update["callId"]: update["summary"] for update in updates(editor, "asks", "toolResult")}
    assert told == {"boolean": "true", "select": '"two"', "text": '"because"', "secret": "it was [secret]!"}
    closed = [update for update in updates(editor, "asks", "question") if "outcome" in update]
    assert [update.get("answer") for update in closed if update["outcome"] == "redacted"] == [None]
    assert EACH_KIND["Password?"] not in str([params for method, params in editor.seen])


async def test_each_kind_of_question_without_the_capability(start):
    answers = {"Push?": "Yes", "Which?": "two", "Why?": "because"}
    editor = await start("asking.toml", False, answers, program="ASKING")
    await editor.command("aside.server.ask", message="Ask me")
    transcript = await editor.until(
        "the transcript",
        lambda method, shown: method == "window/showDocument" and "That is all." in shown,
    )
    asked = [message.message for message in editor.all("window/showMessageRequest")]
    assert sorted(asked) == sorted(f"asker: {text}" for text in answers), "nobody is asked for a secret"
    for result in ["true", '"two"', '"because"', NOBODY]:
        assert result in transcript
    (log,) = (editor.workspace.parent / "state").glob("**/events.jsonl")
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    closed = [event for event in events if event["type"] == "inquiry_response"]
    reasons = [event.get("reason") for event in closed]
    assert sorted(reason for reason in reasons if reason) == ["no_prompt_backend"]
    assert len(closed) == 4
