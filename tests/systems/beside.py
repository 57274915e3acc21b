#!/usr/bin/env python3
"""Memory and time of a program beside another one: beside.py PROGRAM OTHER

Both do the same work by turns, each several times. Prints the medians of both, and how many times as much the first one takes.
The last word of a line says where that is more than a tenth.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = int(os.environ.get("RUNS", "9"))
FILES = 20_000
STEPS = 60
PIECES = 20_000

SCRIPTS = {
    "edits": "".join(
        f"""
[[reply]]
say = [{{ call = "read_file", arguments = {{ path = "notes.txt" }} }}]

[[reply]]
say = [{{ call = "edit_file", arguments = {{ path = "notes.txt", old_text = "<{step}>", new_text = "<{step + 1}>" }} }}]
"""
        for step in range(STEPS)
    )
    + '\n[[reply]]\nsay = [{ text = "Done." }]\n',
    "search": """
[[reply]]
say = [{ call = "search", arguments = { pattern = "needle[0-9]+" } }]

[[reply]]
say = [{ text = "Done." }]
""",
    "stream": f'[[reply]]\nsay = [{{ text = "{"word " * PIECES}", pieces = {PIECES} }}]\n',
}


def measure(program, words, folder, state):
    """Seconds, seconds of the processor, and MiB at the most."""
    environment = {"PATH": os.environ["PATH"], "HOME": state, "XDG_STATE_HOME": state, "TMPDIR": state}
    begun = time.monotonic()
    child = subprocess.Popen([program, *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    took = time.monotonic() - begun
    if status:
        sys.exit(f"{program} {' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}: {said.decode()}")
    return took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    program, other = map(os.path.abspath, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top, "project")
        folder.mkdir()
        for at in range(FILES):
            below = folder / f"part{at % 100}"
            below.mkdir(exist_ok=True)
            (below / f"{at}.txt").write_text(f"one\nneedle{at} is here\n" if at % 200 == 0 else "a line\n" * 40)
        for name, script in SCRIPTS.items():
            (folder / f"{name}.toml").write_text(script)

        def work(name):
            if name == "start":
                return ["--version"]
            return ["run", "--non-interactive", "--trust", "--mode", "auto", "--unsandboxed", "--max-steps", "200", "-m", f"rehearsal/{name}.toml", "Go on"]

        print(f"{'':10}{'':>22}{'this':>10}{'other':>10}{'ratio':>8}")
        for name in ["start", *SCRIPTS]:
            figures = {program: [], other: []}
            for run in range(RUNS + 1):
                for one in (program, other):
                    (folder / "notes.txt").write_text("line\n" * 2_000 + "<0>\n")
                    with tempfile.TemporaryDirectory() as state:
                        found = measure(one, work(name), folder, state)
                    # The first run reads the program from the disk.
                    if run:
                        figures[one].append(found)
            for at, unit in enumerate(["ms", "ms of the processor", "MiB"]):
                scale = 1 if unit == "MiB" else 1000
                this, that = (statistics.median(it[at] for it in figures[one]) * scale for one in (program, other))
                ratio = this / that if that else 1
                print(f"{name:10}{unit:>22}{this:10.1f}{that:10.1f}{ratio:8.2f}{'  more than a tenth' if ratio > 1.1 else ''}")


main()
