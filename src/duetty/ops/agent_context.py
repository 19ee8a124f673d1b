"""What a message to the agent is about: where it works, what failed last, what the message names.

All of it is read by operations, as the agent itself could, and reaches the model as data.
"""

import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import anyio

from duetty.agent import shortened
from duetty.errors import DuettyError, NotFound

Door = Callable[[str, Mapping[str, Any]], Awaitable[Any]]

PROJECT_FILES = ("AGENTS.md", "CLAUDE.md")
PROJECT_CHARS = 8_000
FAILED_LINES = 60
FAILED_AMONG = 20
"""Commands that are looked through for one that failed."""

MENTION_CHARS = 32_000
MAX_MENTIONS = 20
RESOURCE_CHARS = 16_000
"""Of all resources that come by themselves."""

RESOURCES_S = 5.0
"""An upstream that takes longer holds no message up."""

HIGH_PRIORITY = 0.8

_BEHIND = ".:!?)]}>'\"`"
"""Ends a sentence or a bracket, not what an @ names."""

_MENTION = re.compile(
    r"(?<![\w@])@(?:(?P<kind>block|session|mcp):(?P<what>[^\s,;]+)"
    rf"|(?P<session>session)(?=[{re.escape(_BEHIND)},;]*(?:\s|$))|(?P<path>[^\s,;:@]+))"
)


async def surroundings(door: Door, session: str) -> list[tuple[str, str]]:
    """Where the agent begins: workspace, directory, repository, last failure, the project's words."""
    place = await door("context.cwd", {"session": session})
    lines = [f"session: {session}", f"directory: {place.cwd}"]
    lines.append(f"workspace: {place.workspace or '(none)'}")
    git = await door("context.git", {"session": session})
    if git.root is not None:
        lines.append(f"git: branch {git.branch or '(detached)'} in {git.root}")
        for word in ("staged", "modified"):
            changes = [f"{each.change} {each.path}" for each in getattr(git, word)[:30]]
            lines += [f"{word}: {', '.join(changes)}"] if changes else []
        if git.untracked:
            lines.append(f"untracked: {', '.join(git.untracked[:30])}")
    pieces = [("where", "\n".join(lines))]
    if (failed := await _last_failed(door, place.cwd, place.workspace)) is not None:
        pieces.append(("last_failed_command", failed))
    pieces += await _project_words(door, session, place)
    return pieces


async def _last_failed(door: Door, cwd: str, workspace: str | None) -> str | None:
    blocks: list[Any] = await door("history.list", {"limit": FAILED_AMONG})
    top = PurePath(workspace or cwd)
    for block in blocks:
        if block.cwd is None or not PurePath(block.cwd).is_relative_to(top):
            continue
        if not block.exit_code:
            return None  # what was run last there went well
        return await _block_text(door, block.session, block.id, block)
    return None


async def _block_text(door: Door, session: str, block: str, known: Any = None) -> str:
    wanted = {"session": session, "block": block, "offset": -FAILED_LINES}
    try:
        found = await door("block.output", wanted)
    except NotFound:
        lines, info = ["(output no longer kept)"], known
    else:
        lines, info = found.lines, found.block
    head = (
        f"$ {info.command_line}\n[exit code {info.exit_code}; in {info.cwd}; block {info.id}]\n"
        if info is not None
        else ""
    )
    return head + "\n".join(lines)


async def _project_words(door: Door, session: str, place: Any) -> list[tuple[str, str]]:
    if place.workspace is None:
        return []
    pieces: list[tuple[str, str]] = []
    for name in PROJECT_FILES:
        path = _from(place.cwd, place.workspace, name)
        try:
            found = await door("file.read", {"session": session, "path": path})
        except DuettyError:
            continue
        if found.encoding == "utf8" and found.data.strip():
            pieces.append((name, shortened(found.data, PROJECT_CHARS)))
    return pieces


def _from(cwd: str, workspace: str, name: str) -> str:
    return os.path.join(os.path.relpath(workspace, cwd), name)  # noqa: PTH118 - words, no file


# --- what a message names ----------------------------------------------------------------


async def mentioned(door: Door, session: str, text: str) -> list[tuple[str, str]]:
    pieces: list[tuple[str, str]] = []
    for found in list(_MENTION.finditer(text))[:MAX_MENTIONS]:
        name = found[0][1:].rstrip(_BEHIND)
        try:
            content = await _named(door, session, found)
        except DuettyError as error:
            if found["path"] is not None and not _looks_like_a_path(found["path"]):
                continue  # a word that happens to follow an @
            content = f"(cannot be read: {error.message} [{error.code}])"
        pieces.append((f"@{name}", shortened(content, MENTION_CHARS)))
    return pieces


async def _named(door: Door, session: str, found: re.Match[str]) -> str:
    what = (found["what"] or found["path"] or "").rstrip(_BEHIND)
    match found["kind"]:
        case "block":
            holder, _, number = what.rpartition("-")
            return await _block_text(door, holder or session, number)
        case "session":
            return await _session_text(door, what)
        case "mcp":
            upstream, _, resource = what.partition("/")
            return await resource_text(door, upstream, resource)
        case _ if found["session"]:
            return await _session_text(door, session)
        case _:
            read = await door("file.read", {"session": session, "path": what})
            return read.data if read.encoding == "utf8" else f"[{read.size_bytes} bytes]"


def _looks_like_a_path(text: str) -> bool:
    return "/" in text or "." in text


async def _session_text(door: Door, session: str) -> str:
    screen = await door("screen.get", {"session": session, "format": "plain"})
    rows = "\n".join(line.rstrip() for line in screen["lines"]).rstrip("\n")
    info = await door("session.get", {"session": session})
    return f"[session {session}; state {info.state}; in {info.cwd}]\n{rows}"


async def resource_text(door: Door, upstream: str, resource: str) -> str:
    """A resource by its name or its address."""
    listed = await door("upstreams.resources", {"upstream": upstream})
    uri = next(
        (str(each["uri"]) for each in listed.resources if each.get("name") == resource), None
    )
    read = await door("upstreams.read", {"upstream": upstream, "uri": uri or resource})
    return "\n".join(str(each.get("text", "[not text]")) for each in read.contents)


async def weighty_resources(door: Door) -> list[tuple[str, str]]:
    """Resources that trusted upstreams hold to be important for an assistant, within a budget."""
    pieces: list[tuple[str, str]] = []
    with anyio.move_on_after(RESOURCES_S):
        await _add_weighty(door, pieces)
    return pieces


async def _add_weighty(door: Door, pieces: list[tuple[str, str]]) -> None:
    listed = await door("upstreams.list", {})
    left = RESOURCE_CHARS
    for upstream in listed.upstreams:
        if upstream.state not in ("ready", "idle") or upstream.trust != "trusted":
            continue
        try:
            found = await door("upstreams.resources", {"upstream": upstream.name})
        except DuettyError:
            continue
        for each in filter(_is_weighty, found.resources):
            try:
                text = await resource_text(door, upstream.name, str(each["uri"]))
            except DuettyError:
                continue
            if len(text) <= left:
                left -= len(text)
                pieces.append((f"@mcp:{upstream.name}/{each.get('name') or each['uri']}", text))


def _is_weighty(resource: Mapping[str, Any]) -> bool:
    says: Any = resource.get("annotations") or {}
    priority, audience = says.get("priority"), says.get("audience")
    is_high = isinstance(priority, int | float) and priority >= HIGH_PRIORITY
    return is_high and (not audience or "assistant" in audience) and "uri" in resource


# --- completion --------------------------------------------------------------------------


async def completions(door: Door, session: str | None, begun: str) -> Sequence[str]:
    """What could stand behind an @ that goes on so."""
    if begun.startswith("mcp:"):
        return await _mcp_completions(door, begun)
    if begun.startswith("block:"):
        blocks: list[Any] = await door("history.list", {"limit": 50})
        values = [f"block:{block.id}" for block in blocks]
    elif begun.startswith("session:"):
        values = [f"session:{each.name}" for each in await door("session.list", {})]
    else:
        words = ["block:", "session", "session:", "mcp:"]
        values = words + await _paths(door, session, begun)
    return [each for each in values if each.startswith(begun)]


async def _paths(door: Door, session: str | None, begun: str) -> list[str]:
    directory, slash, _ = begun.rpartition("/")
    wanted: dict[str, Any] = {"path": directory or "."}
    if session is not None:
        wanted["session"] = session
    try:
        found = await door("file.list", wanted)
    except DuettyError:
        return []
    return [
        f"{directory}{slash}{each.name}" + ("/" if each.kind == "directory" else "")
        for each in found.entries
    ]


async def _mcp_completions(door: Door, begun: str) -> list[str]:
    upstream, slash, _ = begun.removeprefix("mcp:").partition("/")
    listed = await door("upstreams.list", {})
    if not slash:
        return [f"mcp:{each.name}/" for each in listed.upstreams if each.name.startswith(upstream)]
    try:
        found = await door("upstreams.resources", {"upstream": upstream})
    except DuettyError:
        return []
    names = [f"mcp:{upstream}/{each.get('name') or each.get('uri')}" for each in found.resources]
    return [each for each in names if each.startswith(begun)]
