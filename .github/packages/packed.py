"""Archives whose bytes follow from their content alone."""

import gzip
import io
import tarfile
import zipfile

PROGRAM = 0o755
TEXT = 0o644
# The first moment that a zip archive can name.
THEN = (1980, 1, 1, 0, 0, 0)

# A file of a package: its place, its bytes, its mode.
File = tuple[str, bytes, int]


def tgz(files: list[File]) -> bytes:
    """A compressed tar archive."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for place, content, mode in sorted(files):
            entry = tarfile.TarInfo(place)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), compresslevel=6, mtime=0)


def zipped(files: list[File]) -> bytes:
    """A zip archive, in the order of the files."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, content, mode in files:
            entry = zipfile.ZipInfo(place, THEN)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
            archive.writestr(entry, content)
    return raw.getvalue()
