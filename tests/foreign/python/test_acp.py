"""Aside under the Agent Client Protocol's Python SDK, and under a person who types in a client that is built on it."""

import json
import os
import select
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import acp
import pytest
from acp.schema import AllowedOutcome, ClientCapabilities, DeniedOutcome, ElicitationCapabilities
from acp.schema import ElicitationFormCapabilities

GIVEN = Path(__file__).parent.parent / "given"
LONG = 20


@pytest.fixture
def place(tmp_path):
    """A trusted workspace with a model that plays the script of such clients; the environment of programs there."""
    workspace = tmp_path / "workspace"
    shutil.copytree(GIVEN / "workspace", workspace)
    settings = tmp_path / ".config" / "aside"
    settings.mkdir(parents=True)
    model = f"rehearsal/{GIVEN / 'scripts' / 'acp.toml'}"
    (settings / "aside.toml").write_text(f"assistant.model = {model!r}\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ASIDE_SANDBOX": "off"}
    subprocess.run([os.environ["ASIDE"], "trust", "--yes"], cwd=workspace, env=env, check=True, capture_output=True)
    return workspace, env


class Person(acp.Client):
    """Who is asked; the SDK checks what it is asked against its own types."""

    def __init__(self, option, answer):
        self.option, self.answer = option, answer
        self.asked, self.updates = [], []

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append((tool_call.title, [option.kind for option in options]))
        if self.option is None:
            return acp.RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return acp.RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=self.option))

    async def create_elicitation(self, message, mode, **_):
        self.asked.append((message, list(mode.requested_schema.properties)))
        if self.answer is None:
            return acp.DeclineElicitationResponse(action="decline")
        return acp.AcceptElicitationResponse(action="accept", content={"answer": self.answer})

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    def said(self):
        chunks = [it for it in self.updates if it.session_update == "agent_message_chunk"]
        return "".join(it.content.text for it in chunks)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("option", "answer", "written", "said"),
    [("once", "oat", True, "Oat it is."), ("no", None, False, "Never mind."), (None, None, False, "Never mind.")],
)
async def test_a_turn_with_an_edit_a_permission_and_a_question(place, option, answer, written, said):
    workspace, env = place
    person = Person(option, answer)
    spawned = acp.spawn_agent_process(
        person, os.environ["ASIDE"], "acp", env=env, cwd=workspace, use_unstable_protocol=True
    )
    async with spawned as (agent, _):
        forms = ElicitationCapabilities(form=ElicitationFormCapabilities())
        can = ClientCapabilities(elicitation=forms)
        hello = await agent.initialize(protocol_version=1, client_capabilities=can)
        assert hello.agent_info.name == "aside"
        session = await agent.new_session(cwd=str(workspace), mcp_servers=[])
        for text in ["Write it", "Choose one"]:
            ended = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block(text)])
            assert ended.stop_reason == "end_turn"
    assert person.asked[0] == ("Create new.md", ["allow_once", "allow_always", "reject_once"])
    assert person.asked[1][0].endswith("Which milk?") and person.asked[1][1] == ["answer"]
    assert (workspace / "new.md").exists() == written
    assert person.said().endswith(said), person.said()


class Terminal:
    """A terminal in which a person types, whose output is read as it comes."""

    def __init__(self, folder, command, env):
        self.socket = str(folder / "tmux")
        output = folder / "output"
        os.mkfifo(output)
        words = [f"{name}={value}" for name, value in env.items()]
        line = shlex.join(["env", "-i", *words, "TERM=xterm-256color", "LANG=C.UTF-8", *command])
        # It begins when somebody reads.
        wait = f"read -r _ < {shlex.quote(str(folder / 'begin'))}; exec {line}"
        os.mkfifo(folder / "begin")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "50", "-c", str(folder / "workspace"), wait)
        self.output = os.open(output, os.O_RDONLY | os.O_NONBLOCK)
        self.tmux("pipe-pane", f"exec cat > {shlex.quote(str(output))}")
        with open(folder / "begin", "w") as begin:
            begin.write("now\n")
        self.seen = ""

    def tmux(self, *words):
        subprocess.run(["tmux", "-S", self.socket, *words], check=True, capture_output=True)

    def types(self, text):
        """What stood there before does not count any more."""
        self.seen = ""
        self.tmux("send-keys", "-l", text)
        self.tmux("send-keys", "Enter")

    def shows(self, text):
        end = time.monotonic() + LONG
        while text not in self.seen:
            left = end - time.monotonic()
            assert left > 0, f"{text!r} does not come: {self.seen}"
            if select.select([self.output], [], [], left)[0]:
                self.seen += os.read(self.output, 65536).decode(errors="replace")

    def ends(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], check=False, capture_output=True)
        os.close(self.output)


def test_a_person_at_a_terminal(place, tmp_path):
    workspace, env = place
    program = [sys.executable, "-m", "isaac.client", os.environ["ASIDE"], "acp"]
    terminal = Terminal(tmp_path, program, env)
    try:
        terminal.shows("Mode: ask")
        terminal.types("Write it")
        terminal.shows("Permission choice")
        assert not (workspace / "new.md").exists()
        terminal.types("1")
        terminal.shows("Done.")
        assert (workspace / "new.md").read_text() == "new\n"
        # An answer that nobody typed is none: the form comes again.
        terminal.types("Choose one")
        terminal.shows("Which milk?")
        terminal.shows("optional")
        terminal.types("")
        terminal.shows("Which milk?")
        terminal.shows("optional")
        terminal.types("oat")
        terminal.shows("Oat it is.")
        terminal.types("/exit")
        terminal.shows("[exiting]")
    finally:
        terminal.ends()
    record = next((tmp_path / ".local/state/aside").rglob("events.jsonl")).read_text().splitlines()
    ends = [json.loads(line) for line in record if '"turn_end"' in line]
    assert [end["outcome"] for end in ends] == ["completed", "completed"]
