"""Whether packages of Windows and macOS have their program where each installer looks: others.py BUILT HEADS"""

import hashlib
import json
import sys
import tarfile
import zipfile
from pathlib import Path

built, heads = Path(sys.argv[1]), Path(sys.argv[2])
windows, macos = (heads / "aside.exe").read_bytes(), (heads / "aside").read_bytes()


def one(pattern: str) -> Path:
    """The only file of this name."""
    (found,) = built.glob(pattern)
    return found


def tar(file: Path, place: str) -> bytes:
    """What is at this place of an archive."""
    with tarfile.open(file) as archive:
        return archive.extractfile(place).read()


archive = one("aside-x86_64-pc-windows-msvc.zip")
manifest = json.loads(one("aside.json").read_text())
place = manifest["architecture"]["64bit"]
assert place["url"].endswith(f"/{archive.name}"), place
assert place["hash"] == hashlib.sha256(archive.read_bytes()).hexdigest(), place
with zipfile.ZipFile(archive) as packed:
    program = f"{manifest['extract_dir']}/{manifest['bin']}".replace("\\", "/")
    assert packed.read(program) == windows, packed.namelist()
    assert f"{manifest['extract_dir']}/LICENSE-MIT" in packed.namelist(), packed.namelist()
archive = one("aside-aarch64-apple-darwin.tar.gz")
assert tar(archive, f"{manifest['extract_dir']}/bin/aside") == macos
formula = one("aside.rb").read_text()
assert f'  on_macos do\n    on_arm do\n      url "https://github.com/example/aside/releases/download/v{manifest["version"]}/{archive.name}"' in formula, formula
assert hashlib.sha256(archive.read_bytes()).hexdigest() in formula, formula
assert "x86_64-unknown-linux" in formula.split("  on_linux do")[1] or "aarch64-unknown-linux" in formula.split("  on_linux do")[1], formula
for pattern, program, content in (("win32-x64", "aside.exe", windows), ("darwin-arm64", "aside", macos)):
    package = one(f"npm/*-{pattern}-*.tgz")
    facts = json.loads(tar(package, "package/package.json"))
    assert facts["os"] + facts["cpu"] == pattern.split("-"), facts
    assert tar(package, f"package/bin/{program}") == content
for pattern, program, content in (("win_amd64", "aside.exe", windows), ("macosx_11_0_arm64", "aside", macos)):
    with zipfile.ZipFile(one(f"pypi/*-py3-none-{pattern}.whl")) as wheel:
        assert wheel.read(f"example_aside-{manifest['version']}.data/scripts/{program}") == content, wheel.namelist()
