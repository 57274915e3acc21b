"""A built program, held against the row of the table that it was built for."""

import os
import platform
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

MACHINES = {62: "x86_64", 183: "aarch64"}
LOADER = 3
MIB = 1 << 20
# Each shell's completions: what `aside completions` calls it, and the file below `share` where it looks.
SHELLS = {
    "bash": "share/bash-completion/completions/aside",
    "zsh": "share/zsh/site-functions/_aside",
    "fish": "share/fish/vendor_completions.d/aside.fish",
}
# Where `man` looks for the pages that `aside man` writes.
MAN = "share/man/man1"


class Refused(Exception):
    """What is wrong with what was given, and what to do."""


@dataclass
class Program:
    """A program for one target."""

    target: str
    row: dict
    file: Path

    def read(self) -> bytes:
        return self.file.read_bytes()


def examine(content: bytes) -> tuple[str, str]:
    """The machine of an ELF program, and how it is linked."""
    if content[:6] != b"\x7fELF\x02\x01":
        raise Refused("is no 64-bit ELF program")
    (machine,) = struct.unpack_from("<H", content, 18)
    (heads,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    kinds = [struct.unpack_from("<I", content, heads + size * at)[0] for at in range(count)]
    return MACHINES.get(machine, f"machine {machine}"), "dynamic" if LOADER in kinds else "static"


def check(program: Program, limit: int) -> None:
    """Refuses a program that is not what its row says."""
    content = program.read()
    try:
        found = examine(content)
    except (Refused, struct.error) as error:
        raise Refused(f"{program.file} {error}; give the program that was built for {program.target}") from error
    wanted = (program.row["machine"], program.row["linked"])
    if found != wanted:
        raise Refused(
            f"{program.file} is {found[1]} for {found[0]}, and {program.target} is {wanted[1]} for {wanted[0]}; "
            "give the program that was built for it"
        )
    if len(content) > limit * MIB:
        raise Refused(f"{program.file} has {len(content) / MIB:.1f} MiB, and the table allows {limit}; build it with --profile dist")


def speaker(programs: list[Program]) -> Program:
    """The one among them that runs here."""
    for program in programs:
        if program.row["machine"] == platform.machine():
            return program
    raise Refused(f"none of the programs runs on {platform.machine()}, and one has to write the completions and man pages; give one more")


def run(program: Program, *arguments: str) -> bytes:
    """What a program prints that is told nothing of who runs it."""
    with tempfile.TemporaryDirectory() as home:
        try:
            done = subprocess.run([program.file, *arguments], env={"HOME": home}, cwd=home, capture_output=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Refused(f"{program.file} does not run: {error}") from error
    if done.returncode:
        raise Refused(f"`aside {' '.join(arguments)}` ended with code {done.returncode}: {os.fsdecode(done.stderr)}")
    return done.stdout


def shared(program: Program) -> dict[str, bytes]:
    """What goes along with the program, by its place below a prefix such as /usr."""
    completions = {place: run(program, "completions", shell) for shell, place in SHELLS.items()}
    with tempfile.TemporaryDirectory() as folder:
        run(program, "man", folder)
        pages = {f"{MAN}/{page.name}": page.read_bytes() for page in sorted(Path(folder).iterdir())}
    return completions | pages
