"""What a person accepted, and what a person turned off: kept in one file of the state directory.

A tool is pinned as the whole object that the upstream sent, so that a change can be
shown beside what was accepted. Pins belong to a command or address: another one is
another server, and begins anew.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from duetty.errors import StateUnwritable
from duetty.private_file import read_private
from duetty.upstreams.tools import Difference, Tool, canonical, differences

PinState = Literal["known", "new", "changed"]

VERSION = 1


@dataclass(slots=True)
class _Choices:
    identity: str = ""
    pins: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    on: bool | None = None
    """A person's last choice for the whole upstream; None leaves it to the settings."""

    off: set[str] = field(default_factory=set[str])
    """Tools that a person turned off."""

    marked: set[str] = field(default_factory=set[str])
    """Tools that a person wants listed always, however many there are."""

    used: dict[str, int] = field(default_factory=dict[str, int])
    """How often each tool was called, up to the last end of a server."""


class Pins:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._choices = _read(path)

    # --- trust --------------------------------------------------------------------

    def state(self, identity: str, tool: Tool) -> PinState:
        pinned = self._pinned(identity, tool)
        if pinned is None:
            return "new"
        return "known" if canonical(pinned) == canonical(tool.wire) else "changed"

    def remembered(self, upstream: str, identity: str) -> dict[str, Tool]:
        """What was accepted of this command or address, as it was."""
        kept = self._choices.get(upstream)
        if kept is None or kept.identity != identity:
            return {}
        return {name: Tool(upstream=upstream, wire=wire) for name, wire in kept.pins.items()}

    def differences(self, identity: str, tool: Tool) -> list[Difference]:
        pinned = self._pinned(identity, tool)
        return [] if pinned is None else differences(pinned, tool.wire)

    def accept(self, upstream: str, identity: str, tools: Iterable[Tool]) -> None:
        """Raises:
        StateUnwritable: nothing is accepted then.
        """
        kept = self._choices.get(upstream, _Choices())
        before = kept.pins if kept.identity == identity else {}
        pins = before | {tool.name: dict(tool.wire) for tool in tools}
        self._write(upstream, replace(kept, identity=identity, pins=pins))

    def _pinned(self, identity: str, tool: Tool) -> Mapping[str, Any] | None:
        kept = self._choices.get(tool.upstream)
        return None if kept is None or kept.identity != identity else kept.pins.get(tool.name)

    # --- on and off ---------------------------------------------------------------

    def is_on(self, upstream: str) -> bool | None:
        kept = self._choices.get(upstream)
        return None if kept is None else kept.on

    def is_tool_on(self, upstream: str, tool: str) -> bool:
        kept = self._choices.get(upstream)
        return kept is None or tool not in kept.off

    def turn(self, upstream: str, *, on: bool, tool: str | None = None) -> None:
        """Raises:
        StateUnwritable: nothing is turned then.
        """
        kept = self._choices.get(upstream, _Choices())
        off = set(kept.off)
        if tool is not None:
            (off.discard if on else off.add)(tool)
        is_on = on if tool is None else kept.on
        self._write(upstream, replace(kept, on=is_on, off=off))

    # --- what is listed of many -----------------------------------------------------

    def is_marked(self, upstream: str, tool: str) -> bool:
        kept = self._choices.get(upstream)
        return kept is not None and tool in kept.marked

    def mark(self, upstream: str, tool: str, *, on: bool) -> None:
        """Raises:
        StateUnwritable: nothing is marked then.
        """
        kept = self._choices.get(upstream, _Choices())
        marked = kept.marked | {tool} if on else kept.marked - {tool}
        self._write(upstream, replace(kept, marked=marked))

    def uses(self, upstream: str) -> Mapping[str, int]:
        kept = self._choices.get(upstream)
        return {} if kept is None else kept.used

    def note_uses(self, upstream: str, used: Mapping[str, int]) -> None:
        """Raises:
        StateUnwritable: they are forgotten then.
        """
        kept = self._choices.get(upstream, _Choices())
        self._write(upstream, replace(kept, used=dict(used)))

    def forget(self, upstream: str) -> None:
        """Its table is gone from the settings: one of the same name begins anew."""
        if upstream in self._choices:
            self._write(upstream, None)

    def _write(self, upstream: str, kept: _Choices | None) -> None:
        """On disk first: only a stored choice counts."""
        after = {name: each for name, each in self._choices.items() if name != upstream}
        if kept is not None:
            after[upstream] = kept
        document = {
            "version": VERSION,
            "upstreams": {
                name: {
                    "identity": each.identity,
                    "pins": each.pins,
                    "on": each.on,
                    "off": sorted(each.off),
                    "marked": sorted(each.marked),
                    "used": each.used,
                }
                for name, each in after.items()
            },
        }
        temporary = self._path.with_name(f"{self._path.name}.new")
        try:
            fd = os.open(
                temporary,
                os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_TRUNC | os.O_CLOEXEC,
                0o600,
            )
            with open(fd, "w", encoding="utf-8", errors="surrogatepass") as file:
                json.dump(document, file, ensure_ascii=True)
                file.flush()
                os.fsync(fd)
            temporary.replace(self._path)
        except OSError as error:
            raise StateUnwritable(
                f"cannot write {self._path}: {error.strerror}", hint="free some space"
            ) from error
        self._choices = after


def _read(path: Path) -> dict[str, _Choices]:
    """What is there; a file that cannot be read accepts nothing, and is put aside."""

    def shape(kept: Any) -> dict[str, _Choices]:
        return {name: _choices_from(each) for name, each in kept["upstreams"].items()}

    return read_private(path, shape) or {}


def _choices_from(table: Any) -> _Choices:
    pins = {str(name): dict(cast("dict[str, Any]", wire)) for name, wire in table["pins"].items()}
    on = table["on"]
    return _Choices(
        identity=str(table["identity"]),
        pins=pins,
        on=on if isinstance(on, bool) else None,
        off={str(each) for each in table["off"]},
        marked={str(each) for each in table.get("marked", ())},
        used={str(name): int(count) for name, count in table.get("used", {}).items()},
    )
