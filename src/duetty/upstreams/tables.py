"""Adding and removing an upstream's table in the settings file, everything else left as it stands."""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from duetty.errors import BadSetting, Conflict, StateUnwritable, UpstreamNotFound
from duetty.file_lines import IS_TOML, mistake
from duetty.upstreams.upstream_settings import as_toml, named_tables, parse_order

_HEADER = re.compile(r"^\s*\[")


class UpstreamExists(Conflict):
    code = "upstream_exists"


def add_table(path: Path, name: str, table: Mapping[str, Any]) -> None:
    """Raises:
    BadSetting: if the table is wrong, or the file is.
    UpstreamExists: if there is one of that name.
    StateUnwritable: if the file cannot be written.
    """
    parse_order(name, dict(table), where=lambda *_: str(path))
    text = _text(path)
    if name in named_tables(_parsed(path, text), lambda *_: str(path)):
        raise UpstreamExists(
            f"there is an upstream {name!r} already", hint=f"duetty upstreams remove {name}"
        )
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    _write(path, f"{text}{gap}{as_toml(name, table)}")


def remove_table(path: Path, name: str) -> None:
    """Raises:
    UpstreamNotFound: if there is none of that name.
    BadSetting: if the file is wrong, or written in a way that only a person can change.
    StateUnwritable: if the file cannot be written.
    """
    text = _text(path)
    before = _parsed(path, text)
    if name not in named_tables(before, lambda *_: str(path)):
        raise UpstreamNotFound(name)
    quoted = rf"(?:{re.escape(name)}|\"{re.escape(name)}\"|'{re.escape(name)}')"
    mine = re.compile(rf"^\s*\[\s*(?:upstreams|mcp\s*\.\s*servers)\s*\.\s*{quoted}\s*[\].]")
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line):
            inside = mine.match(line) is not None
        if not inside:
            kept.append(line)
    after = "".join(kept).rstrip("\n") + "\n"
    if _all_but(name, before) != _all_but(None, _parsed(path, after)):
        raise BadSetting(
            f"{path}: the table of {name!r} cannot be separated from the rest",
            hint="remove it by hand",
        )
    _write(path, after)


def _all_but(name: str | None, document: dict[str, Any]) -> dict[str, Any]:
    """The document without this upstream, and without tables that are empty for want of it."""
    upstreams = {key: each for key, each in document.get("upstreams", {}).items() if key != name}
    mcp = dict(document.get("mcp", {}))
    servers = {key: each for key, each in mcp.pop("servers", {}).items() if key != name}
    rest = {key: each for key, each in document.items() if key not in ("upstreams", "mcp")}
    return {**rest, "upstreams": upstreams, "mcp": mcp, "servers": servers}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadSetting(mistake(path, text, error), hint=IS_TOML) from error


def _write(path: Path, text: str) -> None:
    """Whole or not at all; it may hold secrets, so only its owner may read it."""
    _parsed(path, text)
    temporary = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        fd = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_TRUNC | os.O_CLOEXEC, mode
        )
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text)
        # A link (dotfiles kept elsewhere) stays one.
        temporary.replace(path.resolve())
    except OSError as error:
        raise StateUnwritable(f"cannot write {path}: {error.strerror}") from error
