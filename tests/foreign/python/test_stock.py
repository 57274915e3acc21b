"""Editors as Debian has them, set up as editors/README.md says, with a person in front of each: on a real screen, by keys."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WIDTH, HEIGHT = 150, 30
PATIENCE = 30


def sample(kind: str, holds: str) -> str:
    """The sample of editors/README.md in this language that has this in it."""
    page = (ROOT / "editors/README.md").read_text()
    samples = re.findall(rf"```{kind}\n(.*?)```", page, re.S)
    [found] = [text for text in samples if holds in text]
    return found


class Screen:
    """A program on a terminal of its own."""

    def __init__(self, place: Path, command: list[str], env: dict[str, str], cwd: Path):
        self.tmux = ["tmux", "-S", str(place / "tmux"), "-f", "/dev/null"]
        words = [f"{name}={value}" for name, value in env.items()]
        size = ["-x", str(WIDTH), "-y", str(HEIGHT)]
        start = ["new-session", "-d", "-s", "a", *size, "-c", str(cwd), "env", *words, *command]
        subprocess.run([*self.tmux, *start], check=True)

    def shown(self) -> str:
        done = subprocess.run([*self.tmux, "capture-pane", "-p", "-t", "a"], capture_output=True, text=True)
        return done.stdout

    def sees(self, text: str, is_there: bool = True) -> str:
        until = time.monotonic() + PATIENCE
        while (text in (shown := self.shown())) is not is_there:
            assert time.monotonic() < until, f"{text!r}: {is_there} is not so:\n{shown}"
            time.sleep(0.05)
        return shown

    def sees_after(self, keys: list[str], text: str) -> str:
        """Presses keys, anew each few seconds, until this is on the screen: a server may still be starting."""
        until = time.monotonic() + PATIENCE
        while text not in (shown := self.shown()):
            assert time.monotonic() < until, f"{text!r} does not come:\n{shown}"
            self.keys(*keys)
            soon = time.monotonic() + 3
            while text not in self.shown() and time.monotonic() < soon:
                time.sleep(0.05)
        return shown

    def keys(self, *keys: str) -> None:
        for key in keys:
            subprocess.run([*self.tmux, "send-keys", "-t", "a", key], check=True)
            if key == "Escape":
                # What follows it at once would be a key with Alt.
                time.sleep(0.3)

    def types(self, text: str) -> None:
        subprocess.run([*self.tmux, "send-keys", "-l", "-t", "a", text], check=True)

    def ends(self) -> None:
        subprocess.run([*self.tmux, "kill-server"], check=False)


class Desk:
    """A project, a home, and an `aside` whose model plays a script."""

    def __init__(self, place: Path, script: str, name: str, is_repository: bool = True):
        self.place, self.name = place, name
        for folder in ["project", "home", "config/aside", "config/helix", "state", "bin"]:
            (place / folder).mkdir(parents=True)
        (place / "bin/aside").symlink_to(os.environ["ASIDE"])
        (place / "script.toml").write_text(script)
        (place / "project" / name).write_text("old = 1\n")
        self.env = {
            "PATH": f"{place}/bin:{os.environ['PATH']}",
            "HOME": str(place / "home"),
            "TERM": "screen",
            "LC_ALL": "C.UTF-8",
            "XDG_CONFIG_HOME": str(place / "config"),
            "XDG_STATE_HOME": str(place / "state"),
            "ASIDE_SANDBOX": "off",
            "ASIDE_ASSISTANT__MODEL": f"rehearsal/{place}/script.toml",
        }
        if is_repository:
            subprocess.run(["git", "init", "-q", "."], cwd=place / "project", check=True)
            trust = [os.environ["ASIDE"], "trust", "--yes"]
            subprocess.run(trust, cwd=place / "project", env=self.env, check=True, capture_output=True)

    def text(self) -> str:
        return (self.place / "project" / self.name).read_text()

    def helix(self, helix: str) -> Screen:
        (self.place / "config/helix/languages.toml").write_text(sample("toml", "language-server.aside"))
        return Screen(self.place, [helix, self.name], self.env, self.place / "project")

    def emacs(self, emacs: str) -> Screen:
        start = self.place / "init.el"
        quiet = "(setq inhibit-startup-screen t native-comp-async-report-warnings-errors nil)"
        start.write_text(f"{quiet}\n(package-initialize)\n{sample('elisp', 'eglot-server-programs')}\n")
        words = [emacs, "-nw", "-q", "-l", str(start), self.name]
        return Screen(self.place, words, self.env, self.place / "project")


ANSWERS = '[[reply]]\nsay = [{ text = "It is the answer." }]\n'
LONG = '[[reply]]\nsay = [{ text = "The first line.\\n\\nAnd so on." }]\n'
EDITS = """
[[reply]]
say = [{ call = "read_file", arguments = { path = "a.rs" } }]
[[reply]]
say = [{ call = "edit_file", arguments = { path = "a.rs", old_text = "old = 1", new_text = "new = 2" } }]
[[reply]]
say = [{ text = "It is new now." }]
"""


@pytest.fixture
def helix() -> str:
    found = shutil.which("hx") or shutil.which("helix")
    if not found:
        pytest.skip("neither this system nor Debian has a package of Helix for it")
    return found


@pytest.fixture
def emacs() -> str:
    found = shutil.which("emacs")
    assert found, "install the packages emacs-nox and elpa-eglot"
    return found


def asks_helix(screen: Screen, action: str) -> None:
    """Selects all and chooses a code action."""
    screen.sees("a.rs")
    screen.sees("old = 1")
    screen.sees_after(["Escape", "%", "Space", "a"], "Aside: explain")
    choose(screen, action)


def choose(screen: Screen, action: str) -> None:
    """Goes down a menu of Helix to this action."""
    lines = [line for line in screen.sees(action).splitlines() if "Aside: " in line]
    place = next(at for at, line in enumerate(lines) if action in line)
    screen.keys(*["Down"] * place, "Enter")


def test_helix_shows_an_answer_and_ends_its_spinner(helix: str, tmp_path: Path) -> None:
    screen = Desk(tmp_path, ANSWERS, "a.rs").helix(helix)
    try:
        asks_helix(screen, "Aside: explain")
        screen.sees("It is the answer.")
        for dots in "⣾⣽⣻⢿⡿⣟⣯⣷":
            screen.sees(dots, is_there=False)
    finally:
        screen.ends()


def test_helix_says_where_a_long_answer_is(helix: str, tmp_path: Path) -> None:
    desk = Desk(tmp_path, LONG, "a.rs")
    screen = desk.helix(helix)
    try:
        asks_helix(screen, "Aside: explain")
        screen.sees("(All of it is in ")
        screen.types(f":o {desk.place}/state/aside/answer.md")
        screen.keys("Enter")
        screen.sees("And so on.")
    finally:
        screen.ends()


def test_helix_answers_a_review(helix: str, tmp_path: Path) -> None:
    desk = Desk(tmp_path, EDITS, "a.rs")
    screen = desk.helix(helix)
    try:
        asks_helix(screen, "Aside: fix")
        screen.sees("and choose a code action there")
        [page] = (desk.place / "state/aside/pages").glob("question-*.diff")
        screen.types(f":o {page}")
        screen.keys("Enter")
        screen.sees("+new = 2")
        screen.sees_after(["Escape", "Space", "a"], "Aside: Run once")
        choose(screen, "Aside: Run once")
        screen.sees("It is new now.")
        screen.types(":o a.rs")
        screen.keys("Enter")
        screen.sees("new = 2")
    finally:
        screen.ends()


def test_helix_says_that_there_is_no_folder(helix: str, tmp_path: Path) -> None:
    screen = Desk(tmp_path, ANSWERS, "a.rs", is_repository=False).helix(helix)
    try:
        asks_helix(screen, "Aside: explain")
        screen.sees("No folder is open")
        screen.sees("It is the answer.")
    finally:
        screen.ends()


def asks_emacs(screen: Screen, action: str) -> None:
    screen.sees("a.py")
    screen.sees("old = 1")
    screen.keys("M-x")
    screen.types("eglot")
    screen.keys("Enter")
    # What it says of that, the server's own words may take the place of.
    screen.sees("[eglot:")
    screen.keys("C-x", "h")
    screen.keys("M-x")
    screen.types("eglot-code-actions")
    screen.keys("Enter")
    screen.sees("Pick an action")
    screen.types(action)
    screen.keys("Enter")


def test_eglot_shows_an_answer(emacs: str, tmp_path: Path) -> None:
    screen = Desk(tmp_path, ANSWERS, "a.py").emacs(emacs)
    try:
        asks_emacs(screen, "Aside: explain")
        screen.sees("It is the answer.")
    finally:
        screen.ends()


def test_eglot_is_told_how_an_edit_can_run(emacs: str, tmp_path: Path) -> None:
    edits = EDITS.replace("a.rs", "a.py")
    desk = Desk(tmp_path, edits, "a.py")
    screen = desk.emacs(emacs)
    try:
        asks_emacs(screen, "Aside: fix")
        screen.sees("conversation.mode")
        screen.keys("C-g")
    finally:
        screen.ends()
    (desk.place / "tmux").unlink(missing_ok=True)
    (desk.place / "config/aside/aside.toml").write_text('conversation.mode = "edits"\n')
    screen = desk.emacs(emacs)
    try:
        asks_emacs(screen, "Aside: fix")
        screen.sees("Proceed? (y or n)")
        screen.keys("y")
        screen.sees("new = 2")
        screen.sees("It is new now.")
    finally:
        screen.ends()
