"""The client of the conformance tests of the Model Context Protocol: a turn of `aside run`, with a person at a terminal.

Its only argument is the address of the server; the environment says which scenario it is, and where `aside` is.
"""

import atexit
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

# What the model calls in each scenario. In the others nothing is called: connecting is all that is looked at.
CALLS = {
    "tools_call": [("add_numbers", {"a": 2, "b": 3})],
    "elicitation-sep1034-client-defaults": [("test_client_elicitation_defaults", {})],
    "sse-retry": [("test_reconnection", {})],
    "sep-2322-client-request-state": [
        ("test_mrtr_echo_state", {}),
        ("test_mrtr_unrelated", {}),
        ("test_mrtr_no_state", {}),
        ("test_mrtr_no_result_type", {}),
    ],
    "http-standard-headers": [("test_headers", {}), ("my-hyphenated-tool", {})],
    "http-invalid-tool-headers": [("valid_tool", {"region": "eu"})],
}

def toml(value):
    """A value as TOML has it, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(it)}" for key, it in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def script(calls):
    replies = []
    for at, (tool, arguments) in enumerate(calls):
        # No argument is null: that fits none of the schemas.
        arguments = {name: value for name, value in arguments.items() if value is not None}
        replies.append([{"call": f"srv__{tool}", "id": f"c{at}", "arguments": arguments}])
    replies.append([{"text": "Done."}])
    return "".join(f"[[reply]]\nsay = {toml(said)}\n" for said in replies)


def world(url, calls):
    """A user whose file names the server and lets its tools run, with an empty workspace that is trusted."""
    folder = Path(tempfile.mkdtemp(prefix="aside-conformance-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ["config/aside", "work", "home"]:
        (folder / name).mkdir(parents=True)
    tools = "".join(f"[conversation.tools.'srv__{tool}']\nrun = 'unattended'\n" for tool, _ in calls)
    version = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]
    server = f"[mcp.servers.srv]\nurl = '{url}'\nprotocol = '{version}'\n"
    (folder / "config/aside/aside.toml").write_text(server + tools)
    (folder / "script.toml").write_text(script(calls))
    return folder


def typed(question):
    """What a person types who takes what is there, else says yes, else the first."""
    if "Enter" in question:
        return "\n"
    return "y\n" if "  y  yes" in question else "1\n"


class Stay(urllib.request.HTTPRedirectHandler):
    """A browser that shows where it is sent, and does not go there."""

    def redirect_request(self, *_):
        return None


def log_in(folder, environment):
    """Logs in to the server, with a browser that consents to everything."""
    program = subprocess.Popen([os.environ["ASIDE"], "mcp", "login", "srv"], cwd=folder / "work", env=environment,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    opened = next((line.strip() for line in program.stdout if line.startswith("http")), None)
    if opened:
        try:
            urllib.request.build_opener(Stay).open(opened, timeout=10)
        except urllib.error.HTTPError as sent:
            program.stdin.write(sent.headers["Location"] + "\n")
    said = program.communicate(timeout=25)[0]
    print(said)


def main():
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    given = [(call["name"], call["arguments"]) for call in context.get("toolCalls", [])]
    calls = given or CALLS.get(os.environ["MCP_CONFORMANCE_SCENARIO"], [])
    folder = world(sys.argv[-1], calls)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "home"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_STATE_HOME": str(folder / "state"),
        "ASIDE_SANDBOX": "off",
        "NO_COLOR": "1",
    }
    arguments = ["run", "-m", f"rehearsal/{folder / 'script.toml'}", "--trust", "--mode", "auto", "Go"]
    if os.environ["MCP_CONFORMANCE_SCENARIO"].startswith("auth/"):
        log_in(folder, environment)
    child, person = pty.fork()
    if child == 0:
        os.chdir(folder / "work")
        os.execve(os.environ["ASIDE"], ["aside", *arguments], environment)
    seen = ""
    while select.select([person], [], [], 25)[0]:
        try:
            seen += os.read(person, 4096).decode(errors="replace").replace("\r", "")
        except OSError:
            break
        if seen.endswith("\n> "):
            os.write(person, typed(seen).encode())
            print(seen)
            seen = ""
    print(seen)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


sys.exit(main())
