"""An MCP server without any SDK, for tests: well behaved, or hostile in the way that its argument names."""

import base64
import json
import os
import sys
import time

sys.dont_write_bytecode = True
from pieces import FORM, SECRET, asked, form, text, tools  # noqa: E402

MODE = sys.argv[1] if len(sys.argv) > 1 else "plain"
OPEN = open("started", "a")
OPEN.write(f"{os.getpid()}\n")
OPEN.close()
STARTS = len(open("started").readlines())
# A server that is another version when it is started again; the start in which it is asked for the other one counts too.
NEWER = (MODE in ["modern", "relisting-modern"] or (MODE == "upgraded" and STARTS > 1)
         or (MODE == "downgraded" and STARTS <= 2))
# The ids of the requests that listen to changes, and the calls so far.
LISTENS, CALLS = [], []
ABILITIES = {} if MODE == "able to nothing" else {"tools": {"listChanged": True} if MODE.startswith("relisting") else {}}


def send(message):
    if MODE == "noise":
        print("loading models... 100%\n{\"half\": ", flush=True)
    if MODE == "marked":
        print("\ufeff", end="")
    if MODE == "babbles before":
        print("[ready] ", end="")
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return json.loads(line)


def ask_live(schema, way="waits"):
    send({"id": "q1", "method": "elicitation/create", "params": form(schema)})
    if way != "waits":
        return end_meanwhile(way)
    while True:
        message = receive()
        if message.get("id") == "q1":
            return message["result"]


def end_meanwhile(way):
    """Goes on without an answer as soon as the test says so, and again before the call ends."""
    if not os.path.exists("go"):
        os.mkfifo("go")
    open("go").read()
    if way == "takes-back":
        send({"method": "notifications/cancelled", "params": {"requestId": "q1"}})
        open("go").read()


def progress(params):
    """Tells of five steps, each in less time than a call has, all of them in more."""
    for step in range(1, 6):
        time.sleep(0.7)
        about = {"progressToken": params["_meta"]["progressToken"], "progress": step, "total": 5, "message": f"Step {step}"}
        send({"method": "notifications/progress", "params": about})
    return text("all five")


def call(params):
    if MODE == "crash" or (MODE, STARTS) in [("upgraded", 1), ("downgraded", 2)]:
        os._exit(3)
    if MODE == "hang":
        while True:
            receive()
    if MODE == "flood":
        sys.stdout.write("x" * (64 << 20) + "\n")
        sys.stdout.flush()
        return text("after the flood")
    if MODE == "big":
        return text("B" * 5_000_000)
    if MODE == "progress":
        return progress(params)
    if MODE == "kinds":
        return {"content": [{"type": "hologram"}, {"type": "text", "text": "and text"}]}
    if MODE == "picture":
        with open(os.path.join(os.path.dirname(__file__), "../media/red.png"), "rb") as file:
            data = base64.b64encode(file.read()).decode()
        return {"content": [{"type": "text", "text": "Taken."}, {"type": "image", "data": data, "mimeType": "image/png"}]}
    if MODE == "image":
        return {"content": [{"type": "image", "data": "UE5H", "mimeType": "image/png"}]}
    if MODE.startswith("relisting"):
        CALLS.append(params)
        for _ in range(5):
            about = {"_meta": {"io.modelcontextprotocol/subscriptionId": LISTENS[0]}} if LISTENS else {}
            send({"method": "notifications/tools/list_changed", "params": about})
    if params["name"] != "ask":
        return text(json.dumps(params.get("arguments", {})))
    if MODE == "secret":
        return text(json.dumps(ask_live(SECRET)))
    if MODE == "outlives":
        return text(json.dumps(ask_live(FORM, params.get("arguments", {}).get("way", "waits"))))
    if MODE == "forever":
        while True:
            ask_live(FORM)
    if MODE == "modern":
        return asked(FORM, params) or text(json.dumps(params["inputResponses"]["where"]))
    return text(json.dumps(ask_live(FORM)))


while True:
    request = receive()
    method, params = request.get("method"), request.get("params") or {}
    if "id" not in request:
        continue
    if method == "initialize" and MODE == "silent":
        continue
    if method == "initialize" and MODE in ["babble", "roar"]:
        print("x" * (5 << 20 if MODE == "roar" else 5), flush=True)
        continue
    if method == "initialize" and MODE == "conflict":
        request["id"] = 4711
    if method == "subscriptions/listen":
        LISTENS.append(request["id"])
        send({"method": "notifications/subscriptions/acknowledged", "params": {
            "_meta": {"io.modelcontextprotocol/subscriptionId": request["id"]}, "notifications": params["notifications"]}})
        continue
    if method == "initialize" and NEWER:
        send({"id": request["id"], "error": {"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}}})
        continue
    result = {"resultType": "complete"}
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": ABILITIES, "serverInfo": {"name": "x", "version": "1"}}
    elif method == "server/discover":
        result = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": ABILITIES,
                  "ttlMs": 0, "cacheScope": "private"}
    elif method == "tools/list":
        with open("listed", "a") as listed:
            listed.write("x")
        result = {"resultType": "complete", **tools(MODE, STARTS, params.get("cursor"), len(CALLS))}
    elif method == "tools/call":
        result = call(params)
    send({"id": request["id"], "result": result})
