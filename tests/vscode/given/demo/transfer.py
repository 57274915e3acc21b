"""Moves files to and from the store."""

import pathlib
import shutil
import sys
import time
import tomllib

SETTINGS = tomllib.loads(pathlib.Path("settings.toml").read_text())


def download(name):
    attempts = 3
    return keep_trying(attempts, lambda: shutil.copy(stored(name), name))


def upload(name):
    attempts = 3
    return keep_trying(attempts, lambda: shutil.copy(name, stored(name)))


def keep_trying(attempts, work):
    for attempt in range(1, attempts + 1):
        try:
            return work()
        except OSError:
            if attempt == attempts:
                raise
            time.sleep(SETTINGS["wait_seconds"])


def stored(name):
    return pathlib.Path(SETTINGS["store"]) / name


if __name__ == "__main__":
    command, name = sys.argv[1:]
    {"download": download, "upload": upload}[command](name)
