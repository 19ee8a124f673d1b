"""Servers that other MCP hosts have in their own files, as tables of upstreams."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from duetty.cli import jsonc
from duetty.cli.commands.mcp_hosts import HOSTS
from duetty.errors import BadArguments, BadSetting, NotFound
from duetty.upstreams.projects import sanitised
from duetty.upstreams.upstream_settings import as_toml, load_upstreams, parse_order

Tables = dict[str, dict[str, Any]]

_PLACES = (
    "mcpServers", "servers", "context_servers", "mcp_servers", "mcp.servers", "github.copilot.mcp.servers",
)  # fmt: skip
_ENV = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_HOSTS_OWN = re.compile(r"\$\{(?:input:|workspaceFolder|file|config:|command:)[^}]*\}")
"""Variables that only the host can fill in."""

_TAKEN = ("command", "args", "env", "cwd", "url", "headers")
_HIDDEN = "…"


def found_servers(source: str) -> tuple[Tables, list[str]]:
    """Tables by name, and why others are left out.

    Raises:
        NotFound: if there is no such file.
        BadArguments: if it has no servers, or cannot be read.
    """
    file = _file(source)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        known = "claude-desktop, claude-code, cursor, vscode, or a file"
        raise NotFound(f"cannot read {file}: {error.strerror}", hint=f"give {known}") from error
    try:
        document: Any = tomllib.loads(text) if file.suffix == ".toml" else jsonc.parsed(text)
    except ValueError as error:
        raise BadArguments(f"{file}: {error}") from error
    servers = _servers(document)
    if servers is None:
        raise BadArguments(f"{file}: it names no MCP servers", hint="they stand at mcpServers")
    tables: Tables = {}
    problems: list[str] = []
    for original, entry in servers.items():
        name = sanitised(original)
        if name is None or name in tables:
            problems.append(f"{original!r}: no name for an upstream can be made of it")
            continue
        try:
            table = _table(entry)
            parse_order(name, table, where=str(file))
            tables[name] = table
        except (BadArguments, BadSetting) as error:
            problems.append(f"{original!r}: {error.message}")
    return tables, problems


def _file(source: str) -> Path:
    if source not in HOSTS:
        return Path(source).expanduser()
    file = HOSTS[source].file(Path.home())
    if source == "claude-desktop" and not file.exists():
        older = file.parent.with_name("claude") / file.name
        return older if older.exists() else file
    return file


def _servers(document: Any) -> Mapping[str, Any] | None:
    if not isinstance(document, dict):
        return None
    known = cast("dict[str, Any]", document)
    found: dict[str, Any] = _of_this_project(known)
    is_there = bool(found)
    for place in _PLACES:
        if isinstance(here := known.get(place), dict):
            found |= cast("dict[str, Any]", here)
            is_there = True
    if is_there:
        return found
    return _servers(known["mcp"]) if isinstance(known.get("mcp"), dict) else None


def _of_this_project(document: Mapping[str, Any]) -> dict[str, Any]:
    """Claude Code keeps what is for one project only (its default) beside what is for all."""
    projects = document.get("projects")
    if not isinstance(projects, dict):
        return {}
    here: Any = cast("dict[str, Any]", projects).get(str(Path.cwd()))
    servers = cast("dict[str, Any]", here).get("mcpServers") if isinstance(here, dict) else None
    return dict(cast("dict[str, Any]", servers)) if isinstance(servers, dict) else {}


def _table(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise BadArguments("it is no object")
    fields = cast("dict[str, Any]", entry)
    kind = fields.get("type", fields.get("transport"))
    if kind == "sse":
        raise BadArguments("it speaks HTTP with SSE alone, which is not spoken here")
    if _is_ours(fields):
        raise BadArguments("it is this program, which would be its own upstream")
    if fields.get("envFile"):
        raise BadArguments("its variables are in an envFile: write them into env")
    table = {
        key: _plain(fields[key]) for key in _TAKEN if fields.get(key) not in (None, "", {}, [])
    }
    if fields.get("disabled") is True:
        table["enabled"] = False
    return table


def _is_ours(fields: Mapping[str, Any]) -> bool:
    """What `duetty mcp install` wrote there."""
    args: Any = fields.get("args")
    words = [fields.get("command"), *(cast("list[Any]", args) if isinstance(args, list) else ())]
    names = [Path(str(word)).name for word in words]
    return "mcp" in names and any(name in ("duetty", "duetty.exe") for name in names)


def _plain(value: Any) -> Any:
    """With variables as we write them."""
    match value:
        case str():
            if (own := _HOSTS_OWN.search(value)) is not None:
                raise BadArguments(f"{own[0]} is something that only its host has")
            return _ENV.sub(r"${\1}", value.replace("${userHome}", "${HOME}"))
        case list():
            return [_plain(each) for each in cast("list[Any]", value)]
        case dict():
            return {key: _plain(each) for key, each in cast("dict[str, Any]", value).items()}
        case _:
            return value


def settings_with(file: Path, tables: Tables) -> tuple[str, str, list[str], list[str]]:
    """The settings before and after, values that may be secret left out; the added servers; the others with the reason.

    Raises:
        BadSetting: if the settings cannot be read.
    """
    known = load_upstreams(file)
    names = [name for name in tables if name not in known]
    taken = [f"{name!r}: there is an upstream of that name" for name in tables if name in known]
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    added = [as_toml(name, _without_values(tables[name])) for name in names]
    return before, "\n".join([before.rstrip("\n"), *added]), names, taken


def _without_values(table: dict[str, Any]) -> dict[str, Any]:
    """Without values of variables and headers; names of variables are no secret."""
    shown = dict(table)
    for key in ("env", "headers"):
        if key in shown:
            shown[key] = {
                name: value if str(value).startswith("${") else _HIDDEN
                for name, value in shown[key].items()
            }
    return shown
