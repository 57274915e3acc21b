"""A registry of npm on this machine, with the packages of a folder: registry.py FOLDER

It prints its address.
"""

import base64
import hashlib
import json
import sys
import tarfile
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

folder = Path(sys.argv[1])


def packages() -> dict:
    """What the registry says of each package, and by which file it is served."""
    found = {}
    for file in folder.glob("*.tgz"):
        with tarfile.open(file) as tar:
            manifest = json.load(tar.extractfile("package/package.json"))
        checksum = base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()
        manifest["dist"] = {"tarball": f"{url}/-/{file.name}", "integrity": f"sha512-{checksum}"}
        version = manifest["version"]
        found[manifest["name"]] = {
            "name": manifest["name"],
            "dist-tags": {"latest": version},
            "versions": {version: manifest},
        }
    return found


class Registry(BaseHTTPRequestHandler):
    """Answers npm."""

    def do_GET(self) -> None:
        asked = urllib.parse.unquote(self.path).lstrip("/")
        if asked.startswith("-/"):
            self.answer(200, (folder / Path(asked).name).read_bytes())
        elif asked in known:
            self.answer(200, json.dumps(known[asked]).encode())
        else:
            self.answer(404, b"{}")

    def answer(self, code: int, body: bytes) -> None:
        """Sends a whole answer."""
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
url = f"http://127.0.0.1:{server.server_port}"
known = packages()
print(url, flush=True)
server.serve_forever()
