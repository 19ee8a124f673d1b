"""What `duetty repair` is about: files that were found damaged, each with what it means and what can be done."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from duetty.config import Paths, load_settings
from duetty.errors import BadArguments, DuettyError, Unavailable
from duetty.private_file import all_put_aside

Kind = Literal["database", "journal", "choices", "lost", "settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    name: str
    """By which it is restored or discarded."""

    kind: Kind
    path: Path
    summary: str
    can_restore: bool
    can_discard: bool


def kept(paths: Paths) -> Iterator[Kept]:
    """Everything that was found damaged and is still there."""
    yield from _settings(paths)
    yield from _databases(paths)
    yield from _put_aside(paths)
    yield from _journals(paths)


def found(paths: Paths, name: str) -> Kept:
    """Raises:
    BadArguments: if there is nothing of this name.
    """
    for each in kept(paths):
        if each.name == name:
            return each
    raise BadArguments(f"nothing damaged is called {name!r}", hint="`duetty repair` lists all")


def restore(each: Kept, paths: Paths) -> str:
    """What was restored, in words. No server may run."""
    if each.kind == "database":
        from duetty.store.kept_aside import restore_database

        done = restore_database(each.path, paths.database)
        return (
            f"{done.blocks} commands of the history, {done.sessions} sessions and {done.tokens} tokens "
            f"are back; {each.path} stays until you discard it"
        )
    try:
        json.loads(each.path.read_bytes())
    except ValueError as error:
        raise Unavailable(
            f"{each.path} is still no JSON: {error}", hint="mend it by hand, then try again"
        ) from error
    target = each.path.with_suffix("")
    each.path.replace(target)
    return f"{target} is in use again"


def discard(each: Kept) -> None:
    if each.kind == "database":
        from duetty.store.kept_aside import discard_database

        discard_database(each.path)
    else:
        each.path.unlink()


def _settings(paths: Paths) -> Iterator[Kept]:
    try:
        load_settings(paths, os.environ)
    except DuettyError as error:
        yield Kept(
            name=paths.config_file.name,
            kind="settings",
            path=paths.config_file,
            summary=f"{error.message}. No server starts with it: mend it by hand",
            can_restore=False,
            can_discard=False,
        )


def _databases(paths: Paths) -> Iterator[Kept]:
    from duetty.store.kept_aside import kept_aside

    for path in kept_aside(paths.database):
        is_log = path.name.endswith("-wal")
        what = "The log of a database that has lost writes" if is_log else "A database that broke"
        yield Kept(
            name=path.name,
            kind="database",
            path=path,
            summary=f"{what}. A new one is in use; history, sessions and tokens that can still be read come back by restoring",
            can_restore=True,
            can_discard=True,
        )


def _put_aside(paths: Paths) -> Iterator[Kept]:
    known = {
        paths.users_file: "The users of this hub and what they share could not be read: there are none now",
        paths.hub_file: "What this hub keeps, such as tokens that were revoked, could not be read and is forgotten",
        paths.join_file: "Which hub this server joined could not be read: it joins none",
        paths.servers_file: "Which servers this one speaks for could not be read: it speaks for none",
    }
    lost = {
        paths.node_key_file: "The key by which hubs knew this machine was damaged: there is a new one, and hubs see a new machine",
        paths.commands_file: "What this machine ran for a hub could not be read: a command that is asked for again may run again",
    }
    accepted = "What was accepted of other MCP servers could not be read, so it is asked again"
    for path in all_put_aside(paths.state):
        file = path.with_suffix("")
        gone = lost.get(file)
        yield Kept(
            name=path.name,
            kind="choices" if gone is None else "lost",
            path=path,
            summary=gone
            or f"{known.get(file, accepted)}. Mend the JSON by hand and restore, or discard",
            can_restore=gone is None,
            can_discard=True,
        )


def _journals(paths: Paths) -> Iterator[Kept]:
    from duetty.journal.segment import is_changed

    for directory in sorted(paths.journals.glob("*")):
        segments = sorted(directory.glob("*.segment"))
        for number, path in enumerate(segments):
            if is_changed(path):
                newest = number == len(segments) - 1
                yield Kept(
                    name=f"{directory.name}/{path.name}",
                    kind="journal",
                    path=path,
                    summary="A part of what a session printed is not what was written; nothing else has those bytes. "
                    "Recordings and output show what can be read"
                    + ("" if newest else "; discarding it leaves a gap"),
                    can_restore=False,
                    can_discard=not newest,
                )
