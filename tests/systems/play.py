"""Plays Aside as a person and a script would, on this system or through an emulator of another one.

play.py linux|windows COMMAND…: COMMAND starts the program, such as `target/debug/aside`, `qemu-aarch64-static aside` or
`tests/systems/wine FOLDER aside.exe`. ONLY names one play, WITHOUT those that are left out. Needs tmux, for what is asked on
a terminal.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SYSTEM, COMMAND = sys.argv[1], sys.argv[2:]
if "/" in COMMAND[0]:
    COMMAND[0] = os.path.abspath(COMMAND[0])
ON_WINDOWS = SYSTEM == "windows"
ROOM = Path(tempfile.mkdtemp(prefix="aside-play-"))
WORK, HOME = ROOM / "work", ROOM / "home"
# Nothing takes longer in an emulator, but what hangs.
LONG = 120
# What runs until somebody ends it, with a child of its own, on a command line of the system's shell.
LASTING = os.environ.get("LASTING", "sleep 987654 & sleep 987654")
LASTING_NAME = os.environ.get("LASTING_NAME", "sleep 987654")

WORK.mkdir()
HOME.mkdir()
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("ASIDE_", "XDG_"))}
ENVIRONMENT |= {"HOME": str(HOME), "ASIDE_SANDBOX": "off", "TERM": "xterm-256color"}
for place in ("state", "config", "cache"):
    ENVIRONMENT[f"XDG_{place.upper()}_HOME"] = str(HOME / place)


def seen(path: Path) -> str:
    """A path, as the program names it."""
    return "Z:" + str(path).replace("/", "\\") if ON_WINDOWS else str(path)


def script(*replies: str) -> list[str]:
    """Arguments that name a model which plays these replies."""
    file = ROOM / "script.toml"
    file.write_text("".join(f"[[reply]]\n{reply}\n" for reply in replies))
    return ["--model", f"rehearsal/{seen(file)}"]


def call(tool: str, **arguments: object) -> str:
    """A reply with one call."""
    return calls(tool, arguments)


def calls(tool: str, *each: dict[str, object]) -> str:
    """A reply with several calls of a tool."""
    listed = (", ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in one.items()) for one in each)
    return f"say = [{', '.join(f'{{ call = {json.dumps(tool)}, arguments = {{ {one} }} }}' for one in listed)}]"


def says(text: str) -> str:
    """A reply of words alone."""
    return f"say = [{{ text = {json.dumps(text)} }}]"


def done(*arguments: str) -> subprocess.CompletedProcess:
    """What came of the program, which has nobody to ask."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd=WORK, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONG
    )


def aside(*arguments: str, code: int = 0) -> subprocess.CompletedProcess:
    """Runs the program, which has to end with this code."""
    it = done(*arguments)
    assert it.returncode == code, f"{arguments} ended with {it.returncode}, not {code}:\n{it.stdout}\n{it.stderr}"
    return it


def run(*arguments: str, code: int = 0) -> dict:
    """One turn, as JSON tells its end."""
    return json.loads(aside("run", "--trust", "--output", "json", *arguments, code=code).stdout)


def until(what: str, found):
    """Waits until this is so, and gives it back."""
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        if it := found():
            return it
        time.sleep(0.1)
    raise AssertionError(f"not so: {what}")


class Terminal:
    """The program on a terminal of 100 columns and 30 rows."""

    def __init__(self, *arguments: str):
        self.name = f"aside-play-{os.getpid()}"
        environment = [it for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "ASIDE_SANDBOX") for it in ("-e", f"{name}={ENVIRONMENT[name]}")]
        self.tmux("kill-session", check=False)
        shown = shlex.join([*COMMAND, *arguments])
        self.tmux("new-session", "-d", "-x", "100", "-y", "30", "-c", str(WORK), *environment, f"{shown}; echo ended with $?; exec sleep 600")

    def tmux(self, *arguments: str, check: bool = True) -> str:
        command, *rest = arguments
        where = ["-s" if command == "new-session" else "-t", self.name]
        done = subprocess.run(["tmux", command, *where, *rest], capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def shows(self, words: str) -> str:
        try:
            return until(words, lambda: words in self.screen() and self.screen())
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen is:\n{self.screen()}") from None

    def types(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def end(self) -> None:
        self.tmux("kill-session")


def state() -> Path:
    """The folder in which conversations are kept."""
    if not ON_WINDOWS:
        return HOME / "state/aside"
    (place,) = Path(os.environ["WINE_FOLDER"]).glob("wine/drive_c/users/*/AppData/Local/aside")
    return place


def version() -> None:
    """It says which version it is, and what there is to do."""
    assert re.fullmatch(r"aside \d+\.\d+\.\d+\n", aside("--version").stdout)
    assert "conversation" in aside("--help").stdout


def demo() -> None:
    """The demo plays a whole turn, and leaves its files where it was told to."""
    aside("demo", "--into", seen(ROOM / "demo"))
    assert any((ROOM / "demo").iterdir())


def answer() -> None:
    """A first question is answered on standard output, and nothing else is."""
    assert aside("run", *script(says("I am here.")), "Are you there?").stdout == "I am here.\n"


def line_ends() -> None:
    """An edit keeps the ends of lines, byte for byte."""
    file = WORK / "notes.txt"
    file.write_bytes(b"one\r\ntwo\r\nthree")
    edit = call("edit_file", path="notes.txt", old_text="two", new_text="2\nand a half")
    told = run("--mode", "edits", *script(call("read_file", path="notes.txt"), edit, says("Done.")), "Edit.")
    assert file.read_bytes() == b"one\r\n2\r\nand a half\r\nthree", file.read_bytes()
    assert told["changed"], told


def question() -> None:
    """A question that nobody can be asked stops the turn, and its answer goes on with it."""
    model = script(
        "when = { step = 1 }\n" + call("ask_user", question="Which port?"),
        'when = { result = { contains = "8080" } }\n' + says("It is 8080."),
    )
    told = run(*model, "--detached", "stop", "Start.", code=4)
    (prompt,) = told["prompts"]
    told = run("--resume", "--answer", f"{prompt['promptId']}=8080")
    assert told["answer"] == "It is 8080.", told


def permission() -> None:
    """Where nobody is there, a command without walls is refused, and that is said."""
    told = run("--mode", "auto", "--strict", *script(call("run_command", command="echo oats"), says("Well.")), "Say oats.", code=3)
    assert told["refusals"], told


def command() -> None:
    """A command that was allowed runs in the system's shell, and its output comes back."""
    model = script(
        "when = { step = 1 }\n" + call("run_command", command="echo oats"),
        'when = { result = { tool = "run_command", contains = "oats" } }\n' + says("It said oats."),
    )
    told = run(*model, "--detached", "stop", "Say oats.", code=4)
    (prompt,) = told["prompts"]
    assert run("--resume", "--answer", f"{prompt['promptId']}=once")["answer"] == "It said oats."


def lasting() -> None:
    """A turn that has no time left ends its command, with all that this started."""
    model = script("when = { step = 1 }\n" + call("run_command", command=LASTING))
    told = run(*model, "--detached", "stop", "Wait.", code=4)
    (prompt,) = told["prompts"]
    aside("run", "--trust", "--resume", "--timeout", "20s", "--answer", f"{prompt['promptId']}=once", code=5)
    running = lambda: subprocess.run(["pgrep", "-f", LASTING_NAME], capture_output=True, text=True, check=False).stdout  # noqa: E731
    until("its children ended", lambda: not running())


def lock() -> None:
    """A conversation that a process works in is not another one's."""
    model = script("fault = { stall = true }", "fault = { stall = true }")
    before = set(state().rglob("events.jsonl"))
    words = f"Wait, {ROOM.name}."
    first = subprocess.Popen([*COMMAND, "run", *model, words], cwd=WORK, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until("the first one asks its model", lambda: any("request_sent" in log.read_text() for log in set(state().rglob("events.jsonl")) - before))
        said = aside("run", "--continue", *model, "Go on.", code=1).stderr
        assert "the conversation is open in process" in said, said
    finally:
        # An emulator's process is not the program's.
        subprocess.run(["pkill", "-9", "-f", re.escape(words) + "$"], check=False)
        first.kill()
        first.wait()
    # The interrupted turn goes on as soon as no other process has it.
    said = until("the lock went with it", lambda: done("run", "--resume", *script(says("Here again."))).stdout)
    assert said == "Here again.\n", said


def terminal() -> None:
    """On a terminal a question is asked and answered by typing."""
    model = script(
        "when = { step = 1 }\n" + call("ask_user", question="Which port?"),
        'when = { result = { contains = "8080" } }\n' + says("It is 8080."),
    )
    it = Terminal("run", *model, "Start.")
    it.shows("Which port?")
    it.types("8080")
    it.shows("8080")
    it.types("Enter")
    it.shows("It is 8080.")
    it.shows("ended with 0")
    it.end()


def cancel() -> None:
    """Ctrl-C on a terminal cancels the turn, and says how to go on."""
    it = Terminal("run", *script("fault = { stall = true }"), "Wait.")
    it.shows("waiting")
    it.types("C-c")
    shown = it.shows("ended with 130")
    assert "--continue" in shown or "-c " in shown, shown
    it.end()


def doctor() -> None:
    """The doctor says where settings are and whether there are walls."""
    told = done("doctor").stdout
    assert "sandbox" in told, told


def places() -> None:
    """Conversations are where the system keeps such things."""
    assert list(state().rglob("events.jsonl")), state()


# Names by which Windows means a device, another content of a file, or a file with another name.
STRANGE = [
    "CON", "con", "PRN", "aux", "Nul", "nul.txt", "NUL.tar.gz", "con.", "aux .txt", "CONIN$", "conout$", "CLOCK$",
    "COM1", "com9.log", "COM\u00b9", "lpt1", "LPT9.log", "LPT\u00b3.txt", "folder/prn", "prn.d/notes.txt", "C:nul", "D:notes.txt",
    "a.txt:x", "a.txt::$DATA", "a.txt:x:$DATA", ":x", "dot.", "dots...", "both. .", "folder./a",
    "a<b", "a>b", 'a"b', "a|b", "a?b",
]  # fmt: skip
# Those that are refused on every system, as nobody sees in a list what they are.
UNCLEAR = ["blank ", " before", "folder /a", "a*b", "a`b"]
# Folders below each other: more letters than 260 in all, which Wine, unlike Windows, tells no path of.
DEEP = "/".join(["long", *["l" * 60] * (3 if ON_WINDOWS else 5), "a.txt"])
# Those that only look so.
ORDINARY = [
    "CONSOLE", "console.txt", "null", "nul-l.txt", "auxiliary", "COM", "com10", "COMA", "lpt", "LPT10.txt", "prn2", "xCON",
    "$conin", ".nul", "-con", "a.con", "..a", "a..b", "%PATH%", "a&b", "a^b", "a'b", "a;b", "a,b", "[a]",
    "{a}", "(a)", "a!b", "a~1", "a#b", "\u00fc\u4e16\U0001f980", "e\u0301", DEEP,
]  # fmt: skip


def names() -> None:
    """Names by which Windows means something else are refused there, and no file is made; all others are as they are."""
    room = WORK / "names"
    room.mkdir()
    written = [{"path": f"names/{name}", "content": f"{at}\n"} for at, name in enumerate(STRANGE + UNCLEAR + ORDINARY)]
    aside("run", "--trust", "--mode", "edits", *script(calls("write_file", *written), says("Done.")), "Write.")
    found = {str(file.relative_to(WORK)): file.read_text() for file in room.rglob("*") if file.is_file()}
    wanted = ORDINARY if ON_WINDOWS else STRANGE + ORDINARY
    assert found == {it["path"]: it["content"] for it in written if it["path"].removeprefix("names/") in wanted}, found


failed = 0
for play in (version, demo, answer, line_ends, question, permission, command, lasting, lock, terminal, cancel, doctor, places, names):
    if play.__name__ in os.environ.get("WITHOUT", "").split() or os.environ.get("ONLY", play.__name__) != play.__name__:
        continue
    begun = time.monotonic()
    try:
        play()
        print(f"ok {play.__doc__} ({time.monotonic() - begun:.1f} s)", flush=True)
    except (AssertionError, subprocess.SubprocessError, LookupError, ValueError) as error:
        failed += 1
        print(f"not ok {play.__doc__}\n   {play.__name__}: {error!r}", flush=True)
sys.exit(failed != 0)
