"""`duetty mcp install` and `uninstall`: one entry in a host's own configuration, nothing else."""

import argparse
import difflib
import json
import os
import platform
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from duetty.cli import jsonc
from duetty.errors import BadArguments, SandboxUnavailable, StateUnwritable

Entry = dict[str, object]


class BadHostConfiguration(BadArguments):
    """The host's file is not what it should be; it is left as it is."""

    code = "bad_host_configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Where a host keeps its MCP servers, and in which form."""

    title: str
    file: Callable[[Path], Path]
    """From the home to its configuration."""

    project_file: str | None
    key: str
    """The object in the file that holds the servers."""

    extra: Mapping[str, object]
    """What an entry has besides command, args and env."""

    after: str

    @property
    def is_toml(self) -> bool:
        return self.key == "mcp_servers"


def _application_support(home: Path, *parts: str) -> Path:
    """Where desktop programs keep their settings: macOS, Windows, and the rest."""
    match platform.system():
        case "Darwin":
            return Path(home, "Library", "Application Support", *parts)
        case "Windows":
            return Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming", *parts)
        case _:
            return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config", *parts)


HOSTS: Mapping[str, Host] = {
    "claude-code": Host(
        title="Claude Code",
        file=lambda home: home / ".claude.json",
        project_file=".mcp.json",
        key="mcpServers",
        extra={"type": "stdio"},
        after="Start a new session; `/mcp` shows it.",
    ),
    "claude-desktop": Host(
        title="Claude Desktop",
        file=lambda home: _application_support(home, "Claude", "claude_desktop_config.json"),
        project_file=None,
        key="mcpServers",
        extra={},
        after="Quit and start Claude Desktop.",
    ),
    "cursor": Host(
        title="Cursor",
        file=lambda home: home / ".cursor" / "mcp.json",
        project_file=".cursor/mcp.json",
        key="mcpServers",
        extra={},
        after="Cursor asks whether to enable it.",
    ),
    "vscode": Host(
        title="VS Code",
        file=lambda home: _application_support(home, "Code", "User", "mcp.json"),
        project_file=".vscode/mcp.json",
        key="servers",
        extra={"type": "stdio"},
        after="`MCP: List Servers` in the command palette shows it.",
    ),
    "codex": Host(
        title="Codex",
        file=lambda home: Path(os.environ.get("CODEX_HOME") or home / ".codex") / "config.toml",
        project_file=".codex/config.toml",
        key="mcp_servers",
        extra={},
        after="Start a new session; `/mcp` shows it.",
    ),
    "gemini": Host(
        title="Gemini CLI",
        file=lambda home: home / ".gemini" / "settings.json",
        project_file=".gemini/settings.json",
        key="mcpServers",
        extra={},
        after="Start a new session; `/mcp` shows it.",
    ),
    "zed": Host(
        title="Zed",
        file=lambda home: (
            _application_support(home, "zed", "settings.json")
            if platform.system() != "Darwin"
            else home / ".config" / "zed" / "settings.json"
        ),
        project_file=".zed/settings.json",
        key="context_servers",
        extra={"source": "custom"},
        after="The agent panel's settings show it.",
    ),
}


def run(arguments: argparse.Namespace) -> int:
    host = HOSTS[arguments.host]
    path = _file(host, project=arguments.project)
    before = _read(path)
    try:
        if arguments.action == "install":
            after = with_server(host, before, arguments.name, _entry(host, arguments))
        else:
            after = without_server(host, before, arguments.name)
    except (jsonc.NotJson, tomllib.TOMLDecodeError) as error:
        raise BadHostConfiguration(
            f"{path} cannot be read: {error}", hint="mend it first; nothing was written"
        ) from error
    if after == before:
        print(f"{path} needs no change.")
        return 0
    _show_difference(path, before, after)
    if arguments.print:
        return 0
    backup = _write(path, after, existed=path.exists())
    print(f"Wrote {path}." + (f" The old one is {backup}." if backup else ""))
    print(host.after)
    if arguments.sandbox and host.project_file is None and not arguments.workspace:
        print(f"{host.title} works in no directory of its own: --workspace DIR names one to write.")
    return 0


def _file(host: Host, *, project: bool) -> Path:
    if not project:
        return host.file(Path.home())
    if host.project_file is None:
        raise BadArguments(f"{host.title} has no configuration of a project")
    return Path.cwd() / host.project_file


def _entry(host: Host, arguments: argparse.Namespace) -> Entry:
    """How the host starts the bridge; hosts pass on little environment."""
    executable = shutil.which("duetty")
    ours = Path(sys.argv[0]).absolute()
    if ours.name == "duetty" and os.access(ours, os.X_OK):
        executable = str(ours)
    words = [executable] if executable else [sys.executable, "-m", "duetty"]
    named = [] if arguments.instance == "default" else ["--instance", arguments.instance]
    spoken = ["--dialect", arguments.dialect] if getattr(arguments, "dialect", None) else []
    entry: Entry = {
        **host.extra,
        "command": words[0],
        "args": [*words[1:], "mcp", *named, *spoken, *_confined(arguments)],
    }
    if "DUETTY_HOME" in os.environ:
        entry["env"] = {"DUETTY_HOME": os.environ["DUETTY_HOME"]}
    return entry


def _confined(arguments: argparse.Namespace) -> list[str]:
    """How the host says that all that it opens runs in a sandbox.

    Raises:
        SandboxUnavailable: if this machine cannot give it: nothing would ever start.
    """
    from duetty.sandbox import support

    asked: str = arguments.sandbox or "none"
    workspaces = [str(Path(each).absolute()) for each in arguments.workspace or ()]
    if asked == "none":
        if workspaces:
            raise BadArguments("--workspace is about a sandbox", hint="add --sandbox")
        return []
    offered = support()
    given = {"bubblewrap": offered.bubblewrap is not None, "landlock": offered.has_landlock}
    if not (any(given.values()) if asked == "any" else given[asked]):
        raise SandboxUnavailable(
            f"this machine cannot give the sandbox {asked!r}", hint="`duetty doctor` says why"
        )
    level = [] if asked == "any" else [asked]
    return [*(word for each in workspaces for word in ("--workspace", each)), "--sandbox", *level]


# --- the text of a configuration ------------------------------------------------------


def with_server(host: Host, text: str, name: str, entry: Entry) -> str:
    """The configuration with this server; the same text if it is there already."""
    if host.is_toml:
        if _toml_servers(text).get(name) == entry:
            return text
        rest = _without_table(text, name)
        gap = "" if not rest.strip() else "\n" if rest.endswith("\n") else "\n\n"
        return _checked(text, f"{rest}{gap}{_table(name, entry)}", name, entry)
    if jsonc.entry(text, [host.key, name]) == entry:
        return text
    return jsonc.with_entry(text, [host.key, name], entry)


def without_server(host: Host, text: str, name: str) -> str:
    if host.is_toml:
        if name not in _toml_servers(text):
            return text
        return _checked(text, _without_table(text, name), name, None)
    return jsonc.without_entry(text, [host.key, name])


def _toml_servers(text: str) -> dict[str, object]:
    found = tomllib.loads(text).get("mcp_servers", {})
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]  # TOML


def _checked(before: str, after: str, name: str, entry: Entry | None) -> str:
    """The new text, if it says what the old one did but for this entry: TOML has many ways to say it."""
    wanted = {**_toml_servers(before), name: entry}
    if entry is None:
        del wanted[name]
    others = tomllib.loads(before) | {"mcp_servers": wanted}
    try:
        is_right = {"mcp_servers": {}, **tomllib.loads(after)} == others
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise BadHostConfiguration(
            "mcp_servers is written in that file in a way that cannot be changed here",
            hint=f"make it a table [mcp_servers.{_toml_key(name)}], or change it by hand; nothing was written",
        )
    return after


def _table(name: str, entry: Entry) -> str:
    lines = [f"[mcp_servers.{_toml_key(name)}]"]
    for key, value in entry.items():
        if isinstance(value, dict):
            pairs = ", ".join(f"{_toml_key(k)} = {json.dumps(v)}" for k, v in value.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            lines.append(f"{key} = {{ {pairs} }}")
        else:
            lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _without_table(text: str, name: str) -> str:
    """The text without this server's table and the tables below it; comments of others stay."""
    kept: list[str] = []
    after_ours: list[str] = []
    header, is_ours = "", False
    for statement in _statements(text):
        begun = statement.lstrip()
        if begun.startswith("["):
            header, is_ours = statement, _is_only_of(statement, name)
            if not is_ours:
                kept += _about_the_next(after_ours)
            after_ours = []
        if is_ours:
            if begun.strip() and not begun.startswith("#"):
                after_ours = []
            else:
                after_ours.append(statement)
        elif not _is_only_of(header + statement, name):
            kept.append(statement)
    kept += _about_the_next(after_ours)
    return "".join(kept).rstrip("\n") + "\n" if kept else ""


def _about_the_next(lines: list[str]) -> list[str]:
    """Comments that stand apart from the table above them."""
    blank = next((place for place, line in enumerate(lines) if not line.strip()), len(lines))
    apart = lines[blank:]
    return apart if any(line.strip() for line in apart) else []


def _statements(text: str) -> Iterator[str]:
    """Headers, keys with their values, comments and blank lines; arrays and strings may take several lines."""
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        try:
            tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        yield statement
        statement = ""
    if statement:
        yield statement


def _is_only_of(text: str, name: str) -> bool:
    """Whether all that this says is about one server."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return list(document) == ["mcp_servers"] and list(_toml_servers(text)) == [name]


# --- the file -----------------------------------------------------------------------


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadHostConfiguration(f"{path} cannot be read: {error}") from error


def _show_difference(path: Path, before: str, after: str) -> None:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), str(path), str(path)
    )
    for line in lines:
        print(line, end="" if line.endswith("\n") else "\n")


def _write(path: Path, text: str, *, existed: bool) -> Path | None:
    """Whole or not at all; the old file stays beside the new one."""
    backup = _free_name(path) if existed else None
    real = path.resolve()  # a file that is kept elsewhere and linked here stays so
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        if backup is not None:
            shutil.copy2(real, backup)
        mode = real.stat().st_mode & 0o777 if existed else 0o600
        temporary = real.with_name(f"{real.name}.duetty-new")
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_TRUNC, mode)
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(real)
    except OSError as error:
        raise StateUnwritable(f"cannot write {path}: {error.strerror}") from error
    return backup


def _free_name(path: Path) -> Path:
    for number in range(1, 1_000):
        name = path.with_name(f"{path.name}.bak{number}")
        if not name.exists():
            return name
    raise StateUnwritable(f"there are too many backups of {path}", hint="remove some")
