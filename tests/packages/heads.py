"""Writes files with the head of a program of Windows and of one of macOS, which run nowhere: heads.py FOLDER"""

import struct
import sys
from pathlib import Path

folder = Path(sys.argv[1])
folder.mkdir()
dos = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64)
(folder / "aside.exe").write_bytes(dos + struct.pack("<4sH", b"PE\0\0", 0x8664))
(folder / "aside").write_bytes(struct.pack("<II", 0xFEEDFACF, 0x0100000C))
