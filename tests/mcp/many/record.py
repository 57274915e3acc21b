"""Prints the schemas of the tools of all servers, a line each, without what only describes: record.py FOLDER"""

import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1]).resolve()
SERVERS = json.loads((Path(__file__).parent / "servers.json").read_text().replace("FOLDER", str(FOLDER)))


def program(name):
    return next(it for it in (FOLDER / "node/node_modules/.bin" / name, FOLDER / "python/bin" / name) if it.exists())


def tools(server):
    environment = {**os.environ, **server.get("env", {})}
    process = subprocess.Popen([program(server["command"]), *server.get("args", [])], env=environment, cwd=FOLDER / "work",
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def send(message):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()

    def ask(number, method, params):
        send({"id": number, "method": method, "params": params})
        for line in process.stdout:
            if line.startswith("{") and (message := json.loads(line)).get("id") == number and "method" not in message:
                return message["result"]
        raise SystemExit(f"{server['command']} ended")

    about = {"name": "record", "version": "1"}
    ask(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": about})
    send({"method": "notifications/initialized"})
    page, number, found = {}, 0, []
    while number == 0 or page.get("nextCursor"):
        number += 1
        page = ask(number, "tools/list", {"cursor": page["nextCursor"]} if page else {})
        found += page["tools"]
    process.kill()
    return found


def bare(value):
    """A schema without its descriptions, which are words. A property may be named so, and has a schema."""
    if isinstance(value, list):
        return [bare(it) for it in value]
    if not isinstance(value, dict):
        return value
    return {key: bare(it) for key, it in value.items() if not (key == "description" and isinstance(it, str))}


for name, server in SERVERS.items():
    for tool in tools(server):
        print(json.dumps({"server": name, "name": tool["name"], "schema": bare(tool["inputSchema"])}, separators=(",", ":")))
