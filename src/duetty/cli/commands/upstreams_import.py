"""Servers that other MCP hosts have in their own files, as tables of upstreams."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from duetty.cli import jsonc
from duetty.cli.commands.mcp_hosts import HOSTS
from duetty.errors import BadArguments, BadSetting, NotFound
from duetty.file_lines import json_line, mistake, toml_line
from duetty.upstreams.projects import sanitised, with_hint
from duetty.upstreams.upstream_settings import KEYS, NAME, as_toml, load_upstreams, parse_order

Tables = dict[str, dict[str, Any]]

_PLACES = (
    "mcpServers", "servers", "context_servers", "mcp_servers", "mcp.servers", "github.copilot.mcp.servers",
)  # fmt: skip
_ENV = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_HOSTS_OWN = re.compile(r"\$\{(?:input:|workspaceFolder|file|config:|command:)[^}]*\}")
"""Variables that only the host can fill in."""

_TAKEN = ("command", "args", "env", "cwd", "url", "headers")
"""Of a host's own file; one of the design's form, in TOML, has our keys."""

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
    except (ValueError, RecursionError) as error:
        raise BadArguments(
            mistake(file, text, error), hint="mend the file: nothing of it was taken over"
        ) from error
    line = toml_line if file.suffix == ".toml" else json_line
    servers = _servers(document)
    if servers is None:
        raise BadArguments(f"{file}: it names no MCP servers", hint="they stand at mcpServers")
    tables: Tables = {}
    problems: list[str] = []
    for original, (entry, place) in servers.items():

        def here(*keys: str, above: tuple[str, ...] = place) -> str:
            return f"{file}:{line(text, (*above, *keys))}"

        name = original if NAME.fullmatch(original) else sanitised(original)
        if name is None or name in tables:
            problems.append(
                f"{here()}: no name for an upstream can be made of {original!r};"
                " rename it: each needs one of its own"
            )
            continue
        try:
            is_designs = file.suffix == ".toml" and place[:2] == ("mcp", "servers")
            table = _table(entry, KEYS if is_designs else _TAKEN)
            parse_order(name, table, where=here)
            tables[name] = table
        except BadSetting as error:  # it says where
            problems.append(with_hint(error))
        except BadArguments as error:
            problems.append(f"{here()}: {original!r}: {with_hint(error)}")
    return tables, problems


def _file(source: str) -> Path:
    if source not in HOSTS:
        return Path(source).expanduser()
    file = HOSTS[source].file(Path.home())
    if source == "claude-desktop" and not file.exists():
        older = file.parent.with_name("claude") / file.name
        return older if older.exists() else file
    return file


def _servers(
    document: Any, above: tuple[str, ...] = ()
) -> Mapping[str, tuple[Any, tuple[str, ...]]] | None:
    """Each with the keys at which it stands."""
    if not isinstance(document, dict):
        return None
    known = cast("dict[str, Any]", document)
    here = ("projects", str(Path.cwd()), "mcpServers")
    found: dict[str, tuple[Any, tuple[str, ...]]] = {
        name: (each, (*here, name)) for name, each in _of_this_project(known).items()
    }
    is_there = bool(found)
    for place in _PLACES:
        if isinstance(tables := known.get(place), dict):
            for name, each in cast("dict[str, Any]", tables).items():
                found[name] = (each, (*above, place, name))
            is_there = True
    if is_there:
        return found
    return _servers(known["mcp"], ("mcp",)) if isinstance(known.get("mcp"), dict) else None


def _of_this_project(document: Mapping[str, Any]) -> dict[str, Any]:
    """Claude Code keeps what is for one project only (its default) beside what is for all."""
    projects = document.get("projects")
    if not isinstance(projects, dict):
        return {}
    here: Any = cast("dict[str, Any]", projects).get(str(Path.cwd()))
    servers = cast("dict[str, Any]", here).get("mcpServers") if isinstance(here, dict) else None
    return dict(cast("dict[str, Any]", servers)) if isinstance(servers, dict) else {}


def _table(entry: Any, taken: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise BadArguments("it is no object", hint="a server is {…}")
    fields = cast("dict[str, Any]", entry)
    kind = fields.get("type", fields.get("transport"))
    if kind == "sse":
        raise BadArguments(
            "it speaks HTTP with SSE alone, which is not spoken here",
            hint="most have another address by now, often ending in /mcp",
        )
    if _is_ours(fields):
        raise BadArguments("it is this program, which would be its own upstream")
    if fields.get("envFile"):
        raise BadArguments("its variables are in an envFile: write them into env")
    table = {key: _plain(fields[key]) for key in taken if fields.get(key) not in (None, "", {}, [])}
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
                raise BadArguments(
                    f"{own[0]} is something that only its host has",
                    hint="write what it stands for, or ${NAME} for a variable of the server's",
                )
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
