"""Whether cargo-binstall would find a program in what was built: binstall.py TARGET FOLDER"""

import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

target, built = sys.argv[1], Path(sys.argv[2])
cargo = tomllib.loads((Path(__file__).parent.parent.parent / "Cargo.toml").read_text())
binstall = cargo["package"]["metadata"]["binstall"]
binstall |= binstall["overrides"].get(target, {})
values = {
    "repo": "https://example.com",
    "name": cargo["package"]["name"],
    "version": cargo["workspace"]["package"]["version"],
    "target": target,
    "bin": cargo["bin"][0]["name"],
    "binary-ext": ".exe" if "windows" in target else "",
}


def filled(template: str) -> str:
    """A template with its values, all of which are known."""
    return re.sub(r"\{ ([a-z-]+) \}", lambda found: values[found[1]], template)


archive, program = built / filled(binstall["pkg-url"]).rsplit("/", 1)[1], filled(binstall["bin-dir"])
if binstall["pkg-fmt"] == "zip":
    with zipfile.ZipFile(archive) as packed:
        packed.getinfo(program)
else:
    with tarfile.open(archive) as packed:
        packed.getmember(program)
