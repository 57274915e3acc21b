"""An editor and the person in front of it, on the client of pytest-lsp. Nothing here waits by sleeping."""

import asyncio
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol import converters, types
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
)
from pygls.workspace import PositionCodec, TextDocument
from pytest_lsp import LanguageClient

# Seconds that a message may take before a test gives up on it.
LONG = 20

# Messages that are noted and no more.
NOTED = [
    "aside/turn/update",
    "aside/turn/completed",
    "aside/conversation/changed",
    "aside/status",
    "window/showMessage",
    "window/logMessage",
    "window/workDoneProgress/create",
    "$/progress",
]


def new_client():
    """A client that gives what it does not know as it is in the JSON."""

    def converter():
        plain = converters.get_converter()
        for kind in (JsonRPCRequestMessage, JsonRPCResponseMessage, JsonRPCNotification):
            plain.register_structure_hook(kind, lambda message, kind: kind(**message))
        return plain

    return LanguageClient(converter_factory=converter)


def path_of(uri):
    return Path(unquote(urlsplit(uri).path))


class Editor:
    """`answers` is what the person says, by the text of the question; other questions are left alone."""

    def __init__(self, client, workspace, answers):
        self.client = client
        self.workspace = workspace
        self.answers = answers
        # What came, in the order in which it came.
        self.seen = []
        self.documents = {}
        # What the person is about to answer, on a page: question and answer.
        self.to_answer = {}
        self.news = asyncio.Event()
        # What the person leaves open, by prompt or message.
        self.left_open = {}
        self.tasks = []
        handlers = {method: self.noting(method) for method in NOTED}
        handlers["aside/prompt"] = self.on_prompt
        handlers["aside/prompt/dismiss"] = self.on_dismiss
        handlers["aside/document/save"] = self.on_save
        handlers["window/showMessageRequest"] = self.on_message
        handlers["window/showDocument"] = self.on_show
        handlers["workspace/applyEdit"] = self.on_edit
        for method, handler in handlers.items():
            # Handlers are marked by pygls, which methods do not take.
            client.feature(method)(partial(handler))

    # What comes from the server.

    def note(self, method, params):
        self.seen.append((method, params))
        self.news.set()

    def noting(self, method):
        return lambda params: self.note(method, params)

    async def on_prompt(self, params):
        self.note("aside/prompt", params)
        if params["kind"] == "runTool":
            return {"action": "answer", "answer": "once"}
        answer = self.answers.get(params["text"])
        if answer is None:
            return await self.leave_open(params["promptId"])
        return {"action": "answer", "answer": answer}

    def on_dismiss(self, params):
        self.note("aside/prompt/dismiss", params)
        self.left_open.pop(params["promptId"]).set_result({"action": "cancel"})

    def leave_open(self, name):
        self.left_open[name] = asyncio.get_running_loop().create_future()
        return self.left_open[name]

    async def on_message(self, params):
        self.note("window/showMessageRequest", params)
        titles = [action.title for action in params.actions]
        if titles == ["Review…", "No"]:
            return types.MessageActionItem("Review…")
        assert titles == ["Later", "Answer…"]
        question = next((text for text in self.answers if params.message.endswith(text)), None)
        if question is None:
            return await self.leave_open(params.message)
        self.to_answer[question] = self.answers[question]
        return types.MessageActionItem("Answer…")

    def on_show(self, params):
        path = path_of(params.uri)
        text = path.read_text(encoding="utf-8")
        question = next((question for question in self.to_answer if question in text), None)
        answer = self.to_answer.pop(question, "Run once")
        self.note("window/showDocument", text)
        if "Answer with a code action" in text:
            # After the response: before, nobody can say that it was seen.
            loop = asyncio.get_running_loop()
            loop.call_soon(lambda: self.tasks.append(loop.create_task(self.take(params.uri, answer))))
        elif question is not None:
            path.write_text(text + answer + "\n", encoding="utf-8")
            self.saved(params.uri)
        return types.ShowDocumentResult(success=True)

    async def take(self, uri, title):
        """The person takes a code action on a page: an answer, or to let a call run."""
        start = types.Position(0, 0)
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(uri), types.Range(start, start), types.CodeActionContext([])
        )
        actions = await asyncio.wait_for(self.client.text_document_code_action_async(params), LONG)
        taken = next(action for action in actions if action.title == f"Aside: {title}")
        command = taken if isinstance(taken, types.Command) else taken.command
        await self.command(command.command, **command.arguments[0])

    def on_edit(self, params):
        self.note("workspace/applyEdit", params)
        for change in params.edit.document_changes:
            document = self.documents[change.text_document.uri]
            if change.text_document.version != document.version:
                return types.ApplyWorkspaceEditResult(applied=False, failure_reason="another version")
            self.change(document, change.edits)
        return types.ApplyWorkspaceEditResult(applied=True)

    def on_save(self, params):
        self.note("aside/document/save", params)
        document = self.documents[params["uri"]]
        path_of(document.uri).write_text(document.source, encoding="utf-8")
        self.saved(document.uri)
        return {}

    def saved(self, uri):
        identifier = types.TextDocumentIdentifier(uri)
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(identifier))

    # What the person does.

    def uri(self, name):
        return (self.workspace / name).as_uri()

    def open(self, name):
        uri, text = self.uri(name), (self.workspace / name).read_text(encoding="utf-8")
        codec = PositionCodec(types.PositionEncodingKind.Utf8)
        sync = types.TextDocumentSyncKind.Incremental
        self.documents[uri] = TextDocument(uri, text, 1, "markdown", True, sync, codec)
        item = types.TextDocumentItem(uri, "markdown", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def type_at_end(self, name, text):
        document = self.documents[self.uri(name)]
        end = types.Position(len(document.lines), 0)
        self.change(document, [types.TextEdit(types.Range(end, end), text)])

    def change(self, document, edits):
        """All edits are of the text before; from the last to the first, none moves another."""
        last_first = sorted(edits, key=lambda edit: edit.range.start, reverse=True)
        changes = [types.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text) for edit in last_first]
        for change in changes:
            document.apply_change(change)
        document.version += 1
        identifier = types.VersionedTextDocumentIdentifier(document.version, document.uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, changes))

    def buffer(self, name):
        return self.documents[self.uri(name)].source

    def file(self, name):
        return (self.workspace / name).read_text(encoding="utf-8")

    async def request(self, method, params):
        return await asyncio.wait_for(self.client.protocol.send_request_async(method, params), LONG)

    async def command(self, name, **arguments):
        params = types.ExecuteCommandParams(name, [arguments])
        return await asyncio.wait_for(self.client.workspace_execute_command_async(params), LONG)

    async def close(self):
        """Messages that are still on the screen are closed with it. Gives how the server ended."""
        for left_open in self.left_open.values():
            left_open.set_result(None)
        server = self.client._server
        try:
            await asyncio.wait_for(self.client.shutdown_session(), LONG)
        except TimeoutError:
            server.kill()
            await server.wait()
        await self.client.stop()
        return server.returncode

    # What was seen.

    def all(self, method):
        return [params for seen, params in self.seen if seen == method]

    async def until(self, what, fits):
        """The first message for which `fits(method, params)` holds, now or later."""
        async with asyncio.timeout(LONG):
            while True:
                for method, params in self.seen:
                    if fits(method, params):
                        return params
                self.news.clear()
                try:
                    await self.news.wait()
                except asyncio.CancelledError:
                    raise AssertionError(f"{what} did not come, but {self.seen}") from None
