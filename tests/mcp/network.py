"""An MCP server over HTTP without any SDK, for tests: well behaved, or hostile in the way that its argument names.

It says its port on standard output, and writes a line for every request into `requests`.
"""

import json
import queue
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

sys.dont_write_bytecode = True
from pieces import FORM, SECRET, asked, form, text, tools  # noqa: E402

MODE = sys.argv[1]
NEWER = "2026-07-28"
# What the client answers to what it is asked, by id.
ANSWERS = {}
# The calls so far, and what is said to those who listen.
CALLS, NEWS = [], queue.Queue()
ABILITIES = {"tools": {"listChanged": True} if MODE.startswith("relisting") else {}}
REQUESTS = open("requests", "a", buffering=1)


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.note("-")
        if MODE == "login" and self.path.startswith("/.well-known/"):
            return self.describe()
        if MODE != "relisting":
            return self.reply(405, b"")
        self.stream()
        self.tell()

    def tell(self, **about):
        """Says what is new, as long as somebody listens."""
        while True:
            NEWS.get()
            self.event({"method": "notifications/tools/list_changed", "params": about})

    def describe(self):
        """Who lets people log in, and how."""
        base = f"http://{self.headers['Host']}"
        if "protected-resource" in self.path:
            about = {"resource": f"{base}/mcp", "authorization_servers": [base]}
        else:
            about = {"issuer": base, "authorization_endpoint": f"{base}/authorize", "token_endpoint": f"{base}/token",
                     "registration_endpoint": f"{base}/register", "response_types_supported": ["code"],
                     "code_challenge_methods_supported": ["S256"]}
        self.reply(200, json.dumps(about).encode())

    def log_in(self, body):
        """Registers a client, or gives a token: a first one that is over at once, and one for its renewal."""
        if self.path == "/register":
            self.note("register")
            about = {**json.loads(body), "client_id": "aside-1"}
            return self.reply(201, json.dumps(about).encode())
        wants = parse_qs(body.decode())
        renewed = wants["grant_type"] == ["refresh_token"]
        REQUESTS.write(f"token {wants['grant_type'][0]} {wants.get('code', ['-'])[0]} {'code_verifier' in wants}\n")
        about = {"access_token": "t0ken-of-the-login-2" if renewed else "t0ken-of-the-login-1", "token_type": "Bearer",
                 "expires_in": 3600 if renewed else 0, "refresh_token": "r3fresh-of-the-login"}
        self.reply(200, json.dumps(about).encode())

    def do_DELETE(self):
        self.note("-")
        self.reply(200, b"")

    def note(self, method):
        key = self.headers.get("Authorization", "-").replace(" ", "_")
        REQUESTS.write(f"{self.command} {self.path} {method} {key}\n")

    def reply(self, status, body, kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def result(self, request, result, **headers):
        body = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        self.reply(200, json.dumps(body).encode(), **headers)

    def error(self, status, request, code, message):
        body = {"jsonrpc": "2.0", "id": request.get("id"), "error": {"code": code, "message": message}}
        self.reply(status, json.dumps(body).encode())

    def stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()

    def event(self, message):
        self.wfile.write(f"event: message\ndata: {json.dumps({'jsonrpc': '2.0', **message})}\n\n".encode())
        self.wfile.flush()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path in ["/register", "/token"]:
            return self.log_in(body)
        request = json.loads(body)
        self.note(request.get("method", "answer"))
        if MODE == "redirect" and self.path == "/mcp":
            return self.reply(307, b"", Location="/elsewhere")
        if MODE == "busy":
            return self.reply(503, b"later")
        if MODE == "page":
            return self.reply(200, b"<h1>Welcome</h1>", kind="text/html")
        if MODE == "silent":
            return time.sleep(60)
        if MODE == "key" and self.headers.get("Authorization") != "Bearer s3cret-of-the-user":
            return self.reply(401, b"", WWW_Authenticate='Bearer error="invalid_token"')
        if MODE == "login" and self.headers.get("Authorization") != "Bearer t0ken-of-the-login-2":
            base = f"http://{self.headers['Host']}"
            where = f'Bearer resource_metadata="{base}/.well-known/oauth-protected-resource/mcp"'
            return self.reply(401, b"", WWW_Authenticate=where)
        if "method" not in request:
            ANSWERS[request["id"]].put(request["result"])
            return self.reply(202, b"")
        if "id" not in request:
            return self.reply(202, b"")
        # A server that is another version after its first call.
        changed = bool(CALLS)
        if MODE in ["modern", "relisting-modern"] or MODE == ["upgraded", "downgraded"][not changed]:
            return self.newer(request)
        if MODE == "upgraded" and not changed and request["method"] == "server/discover":
            return self.error(400, request, -32000, "Bad Request: no session")
        return self.older(request)

    def older(self, request):
        method, params = request["method"], request.get("params") or {}
        # One that forgets its sessions is another one after its first call.
        session = f"session {min(len(CALLS), 1)}" if MODE.startswith("forgets") else "session"
        if method == "initialize":
            about = {"protocolVersion": "2025-11-25", "capabilities": ABILITIES,
                     "serverInfo": {"name": "x", "version": "1"}}
            return self.result(request, about, Mcp_Session_Id=session)
        if MODE.startswith("forgets") and self.headers.get("Mcp-Session-Id") != session:
            return self.error(int(MODE.split()[1]), {}, -32000, "Bad Request: No valid session ID provided")
        if self.headers.get("Mcp-Session-Id") != session:
            return self.error(400, request, -32000, "Bad Request: no session")
        if method == "tools/list":
            return self.result(request, tools(MODE, 1, params.get("cursor"), len(CALLS)))
        self.call(request, params)

    def newer(self, request):
        method, params = request["method"], request.get("params") or {}
        said = {"MCP-Protocol-Version": NEWER, "Mcp-Method": method}
        if method == "tools/call":
            said["Mcp-Name"] = params["name"]
        wrong = [name for name, value in said.items() if self.headers.get(name) != value]
        if wrong:
            return self.error(400, request, -32020, f"headers do not match: {wrong}")
        if method == "server/discover":
            about = {"resultType": "complete", "supportedVersions": [NEWER], "capabilities": ABILITIES,
                     "ttlMs": 0, "cacheScope": "private"}
            return self.result(request, about)
        if method == "tools/list":
            return self.result(request, {"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                                         **tools(MODE, 1, params.get("cursor"), len(CALLS))})
        if method == "subscriptions/listen":
            about = {"io.modelcontextprotocol/subscriptionId": request["id"]}
            self.stream()
            self.event({"method": "notifications/subscriptions/acknowledged", "params": {
                "_meta": about, "notifications": params["notifications"]}})
            return self.tell(_meta=about)
        if method != "tools/call":
            return self.error(404, request, -32601, "Method not found")
        if params["name"] == "ask":
            answer = asked(FORM, params) or text(json.dumps(params["inputResponses"]["where"]))
            return self.result(request, answer)
        self.call(request, params)

    def call(self, request, params):
        CALLS.append(params)
        if MODE.startswith("relisting"):
            for _ in range(5):
                NEWS.put(None)
        if MODE == "crash":
            self.stream()
            return self.connection.shutdown(socket.SHUT_RDWR)
        if MODE == "hang":
            return time.sleep(60)
        if MODE.startswith("answers "):
            _, status, body = MODE.split(" ", 2)
            return self.reply(int(status), body.encode(), kind="text/event-stream" if body.startswith("data:") else "application/json")
        if MODE == "refuse":
            return self.reply(500, b"out of order")
        if MODE == "flood":
            self.stream()
            try:
                for _ in range(1024):
                    self.wfile.write(b"x" * (1 << 20))
            except OSError:
                pass
            return None
        if MODE == "body":
            return self.reply(200, b'{"x":"' + b"x" * (8 << 20) + b'"}')
        if MODE in ["key", "login"]:
            return self.result(request, text("the key is " + self.headers["Authorization"]))
        if params["name"] != "ask":
            answer = text(json.dumps(params.get("arguments", {})))
            if MODE != "noise":
                return self.result(request, answer)
            self.stream()
            self.wfile.write(b": hello\n\nevent: odd\ndata: {\n\ndata: not json\n\nretry: 1\n\n")
            return self.event({"id": request["id"], "result": answer})
        # A live question comes on the stream of the call.
        self.stream()
        ANSWERS["q1"] = queue.Queue()
        self.event({"id": "q1", "method": "elicitation/create", "params": form(SECRET if MODE == "secret" else FORM)})
        answer = ANSWERS["q1"].get(timeout=50)
        self.event({"id": request["id"], "result": text(json.dumps(answer))})


class Quiet(ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that goes away is none."""


server = Quiet(("127.0.0.1", 0), Server)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
# It ends with the test.
sys.stdin.read()
