"""How a program is linked, in the words of the table of targets: examine.py PROGRAM"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent.parent.parent / ".github/packages"))

from program import examine  # noqa: E402

print(*examine(Path(sys.argv[1]).read_bytes()))
