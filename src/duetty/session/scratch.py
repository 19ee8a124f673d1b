"""Files that belong to one session while its process lives: its script's, its sandbox's, its commands' input."""

import os
from collections.abc import Collection
from functools import partial
from pathlib import Path
from secrets import token_hex

from duetty.errors import StateUnwritable
from duetty.removal import ASIDE, remove_trees

PRIVATE = ".tmp"
"""Ends the name of a directory that a sandbox's programs have for themselves."""

INPUTS = ".in"
"""The same of one with what commands are given to read."""


class Scratch:
    """Of every session of this server, in one directory."""

    __slots__ = ("_directory",)

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def file(self, session: str) -> Path:
        """What the shell's script keeps."""
        return self._directory / session

    def inputs(self, session: str) -> Path:
        """Where its commands find what they were given to read; a sandbox shows it."""
        return self._directory / f"{session}{INPUTS}"

    def private(self, session: str) -> Path:
        """What a sandbox's programs may fill, and have for themselves."""
        return self._directory / f"{session}{PRIVATE}"

    def make(self, session: str) -> None:
        """Raises:
        OSError: if there is no room.
        """
        self.file(session).touch(mode=0o600)
        self.inputs(session).mkdir(mode=0o700)

    def remove(self, session: str) -> None:
        self.file(session).unlink(missing_ok=True)
        remove_trees(self.private(session), self.inputs(session))

    def keep_input(self, session: str, data: bytes) -> Path:
        """A file for a command's standard input; the caller takes it away. Blocks.

        Raises:
            StateUnwritable: if there is no room for it.
        """
        directory = self.inputs(session)
        file = directory / token_hex(4)
        try:
            directory.mkdir(mode=0o700, exist_ok=True)
            with open(file, "xb", opener=partial(os.open, mode=0o600)) as kept:
                kept.write(data)
        except OSError as error:
            file.unlink(missing_ok=True)
            raise StateUnwritable(
                f"cannot write {file}: {error.strerror}", hint="free some space"
            ) from error
        return file

    def clear_leftovers(self, alive: Collection[str]) -> None:
        """What sessions that are gone had for themselves, and what was not taken away in time."""
        left = [
            each
            for each in self._directory.iterdir()
            if each.name.startswith(ASIDE)
            or (each.suffix in (PRIVATE, INPUTS) and each.stem not in alive)
        ]
        remove_trees(*left)
