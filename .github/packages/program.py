"""A built program, held against the row of the table that it was built for."""

import os
import platform
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

# How the head of a program names its machine: ELF of Linux, Mach-O of macOS, PE of Windows.
ELF = {62: "x86_64", 183: "aarch64"}
MACH_O = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
PE = {0x8664: "x86_64", 0xAA64: "aarch64"}
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

    @property
    def name(self) -> str:
        """The name of its file where it is installed."""
        return "aside.exe" if self.row["system"] == "windows" else "aside"

    @property
    def archive(self) -> str:
        """The name of its archive."""
        return f"aside-{self.target}.{'zip' if self.row['system'] == 'windows' else 'tar.gz'}"


def examine(content: bytes) -> tuple[str, ...]:
    """The system and the machine of a 64-bit program, and how it is linked if it is for Linux."""
    if content[:6] == b"\x7fELF\x02\x01":
        (machine,) = struct.unpack_from("<H", content, 18)
        (heads,) = struct.unpack_from("<Q", content, 32)
        size, count = struct.unpack_from("<HH", content, 54)
        kinds = [struct.unpack_from("<I", content, heads + size * at)[0] for at in range(count)]
        return "linux", ELF.get(machine, f"machine {machine}"), "dynamic" if LOADER in kinds else "static"
    if content[:4] == b"\xcf\xfa\xed\xfe":
        (machine,) = struct.unpack_from("<I", content, 4)
        return "macos", MACH_O.get(machine, f"machine {machine}")
    if content[:2] == b"MZ":
        (head,) = struct.unpack_from("<I", content, 60)
        signature, machine = struct.unpack_from("<4sH", content, head)
        if signature == b"PE\0\0":
            return "windows", PE.get(machine, f"machine {machine}")
    raise Refused("is no 64-bit program of Linux, macOS or Windows")


def check(program: Program, limit: int) -> None:
    """Refuses a program that is not what its row says."""
    content = program.read()
    try:
        found = examine(content)
    except (Refused, struct.error) as error:
        raise Refused(f"{program.file} {error}; give the program that was built for {program.target}") from error
    wanted = tuple(program.row[fact] for fact in ("system", "machine", "linked") if fact in program.row)
    if found != wanted:
        raise Refused(
            f"{program.file} is a program of {', '.join(found)}, and {program.target} is {', '.join(wanted)}; "
            "give the program that was built for it"
        )
    if len(content) > limit * MIB:
        raise Refused(f"{program.file} has {len(content) / MIB:.1f} MiB, and the table allows {limit}; build it with --profile dist")


def speaker(programs: list[Program]) -> Program:
    """The one among them that runs here."""
    for program in programs:
        if (program.row["system"], program.row["machine"]) == (platform.system().lower(), platform.machine()):
            return program
    raise Refused(f"none of the programs is one of Linux for {platform.machine()}, and one has to write the completions and man pages; give one more")


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
