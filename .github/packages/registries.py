"""Packages of npm and of PyPI."""

import base64
import hashlib
import json
from pathlib import Path

from packed import PROGRAM, TEXT, File, tgz, zipped
from program import Program

HERE = Path(__file__).parent
LICENCE = "MIT OR Apache-2.0"


def npm(name: str, version: str, about: str, programs: list[Program], licences: list[File]) -> dict[str, bytes]:
    """The launcher, and a package for each platform, of which npm installs the one that fits."""
    common = {"version": version, "description": about, "license": LICENCE}
    stem = name.removeprefix("@").replace("/", "-")

    def package(facts: dict, files: list[File]) -> bytes:
        manifest = json.dumps(facts, indent=2).encode() + b"\n"
        everything = [("package.json", manifest, TEXT), *files, *licences]
        return tgz([(f"package/{place}", content, mode) for place, content, mode in everything])

    made = {}
    for program in programs:
        os, cpu = program.row["npm"].split("-")
        facts = {"name": f"{name}-{os}-{cpu}", **common, "os": [os], "cpu": [cpu], "preferUnplugged": True}
        made[f"{stem}-{os}-{cpu}-{version}.tgz"] = package(facts, [(f"bin/{program.name}", program.read(), PROGRAM)])
    launcher = {
        "name": name,
        **common,
        "bin": {"aside": "launcher.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {f"{name}-{program.row['npm']}": version for program in programs},
    }
    made[f"{stem}-{version}.tgz"] = package(launcher, [("launcher.js", (HERE / "launcher.js").read_bytes(), PROGRAM)])
    return made


def wheel(
    name: str, version: str, about: str, python: str, program: Program, share: dict[str, bytes], licences: list[File]
) -> tuple[str, bytes]:
    """A wheel with the program for one target: its file's name, and its bytes."""
    stem = f"{name.replace('-', '_')}-{version}"
    tags = program.row["wheel"]
    metadata = [
        "Metadata-Version: 2.4",
        f"Name: {name}",
        f"Version: {version}",
        f"Summary: {about}",
        f"License-Expression: {LICENCE}",
        *(f"License-File: {place}" for place, _, _ in licences),
        f"Requires-Python: {python}",
    ]
    kind = ["Wheel-Version: 1.0", "Generator: aside", "Root-Is-Purelib: false", *(f"Tag: py3-none-{tag}" for tag in tags)]
    lines = lambda text: ("\n".join(text) + "\n").encode()  # noqa: E731
    files = [
        (f"{stem}.data/scripts/{program.name}", program.read(), PROGRAM),
        *((f"{stem}.data/data/{place}", content, TEXT) for place, content in share.items()),
        *((f"{stem}.dist-info/licenses/{place}", content, mode) for place, content, mode in licences),
        (f"{stem}.dist-info/METADATA", lines(metadata), TEXT),
        (f"{stem}.dist-info/WHEEL", lines(kind), TEXT),
    ]
    record = [f"{place},sha256={digest(content)},{len(content)}" for place, content, _ in files]
    listed = f"{stem}.dist-info/RECORD"
    return f"{stem}-py3-none-{'.'.join(tags)}.whl", zipped([*files, (listed, lines([*record, f"{listed},,"]), TEXT)])


def digest(content: bytes) -> str:
    """The checksum of a file, as a wheel's record spells it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
