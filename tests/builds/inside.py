"""Plays a turn in which a model runs commands in this folder, one after another and unasked.

inside.py ASIDE COMMAND...: prints each result, and fails unless each command ended with 0.
"""

import glob
import json
import os
import subprocess
import sys

aside, commands = sys.argv[1], sys.argv[2:]
state = os.environ["XDG_STATE_HOME"]


def reply(step, command):
    """The step of a script that calls this command."""
    text = json.dumps(command, ensure_ascii=False)
    call = f'{{ call = "run_command", id = "step{step}", arguments = {{ command = {text} }} }}'
    return f"[[reply]]\nwhen = {{ step = {step} }}\nsay = [{call}]\n"


script = os.path.join(state, "script.toml")
with open(script, "w") as file:
    replies = [reply(step, command) for step, command in enumerate(commands, 1)]
    file.write("".join(replies) + '[[reply]]\nsay = [{ text = "Done." }]\n')
known = set(glob.glob(f"{state}/aside/*/*/events.jsonl"))
words = [aside, "run", "--non-interactive", "--trust", "--strict", "--mode", "auto"]
ended = subprocess.run([*words, "-m", f"rehearsal/{script}", "Go"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
(log,) = set(glob.glob(f"{state}/aside/*/*/events.jsonl")) - known

with open(log) as file:
    events = [json.loads(line) for line in file]
told = [event for event in events if event["type"] == "tool_result"]
good = ended.returncode == 0
for command, result in zip(commands, told + [{}] * len(commands)):
    said = result.get("content", "nothing was told").strip()
    is_good = result.get("details", {}).get("exit_status") == 0
    good = good and is_good
    print(f"    {command.splitlines()[0][:70]}: {said.splitlines()[-1][:100] if is_good else said}", flush=True)
if not good:
    sys.exit(f"aside ended with {ended.returncode}:\n{ended.stderr}")
