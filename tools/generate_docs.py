"""Reference pages from the tables in the code; `make docs` writes them, a test compares them.

Usage: generate_docs.py [DIRECTORY]
"""

import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import architecture_map  # beside this file
import policy_classes

from duetty.blocks.tracker import _NEXT as TRANSITIONS  # pyright: ignore[reportPrivateUsage] - the diagram is drawn from the table itself
from duetty.cli.cli_reference import page as command_line
from duetty.config import Settings
from duetty.edges.http.errors import STATUS, status_of
from duetty.errors import (
    BadArguments,
    Conflict,
    Deadline,
    DuettyError,
    Exhausted,
    NotFound,
    Refused,
    Unavailable,
)
from duetty.ops import OPERATIONS, Operation
from duetty.ops.guardrail import trail_fields

NOTE = "<!-- made by tools/generate_docs.py; do not edit -->\n"


def operations() -> str:
    lines = [
        NOTE,
        "# Operations\n",
        "Every thing that the server can do. This page and the routes come from one table, `ops/table.py`.",
        "Arguments come from the path, the query (`GET`, `DELETE`) or a JSON body. Every error is",
        '`{"error": {"code", "message", "hint"?, "details"?}}`; the codes are in [errors](errors.md).\n',
        "```sh\n"
        'curl -H "Authorization: Bearer $(duetty token)" http://127.0.0.1:9315/sessions/work/run \\\n'
        "     -H 'Content-Type: application/json' -d '{\"input\": \"make test\"}'\n"
        "```\n",
        "| I want to | operation |",
        "|---|---|",
        *(f"| {what} | [`{name}`](#{name.replace('.', '')}) |" for what, name in WANTED.items()),
        "",
        "| operation | route | effect | what it does |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| [`{each.name}`](#{each.name.replace('.', '')}) | `{each.route.method} {each.route.path}` | {each.effect} | {each.summary} |"
        for each in OPERATIONS.values()
    ]
    for each in OPERATIONS.values():
        lines += ["", *_operation(each)]
    return "\n".join(lines) + "\n"


def _operation(operation: Operation[Any, Any]) -> Iterator[str]:
    yield f"## {operation.name}\n"
    yield f"`{operation.route.method} {operation.route.path}` → {operation.route.status}. {operation.summary}\n"
    if operation.route.raw_body:
        yield f"The body is the argument `{operation.route.raw_body}`, as raw bytes of any content type.\n"
    yield from _fields("argument", operation.params)
    result: Any = operation.result
    if hasattr(result, "model_fields") and result.model_fields:
        yield ""
        yield from _fields("answer", result)


def _fields(title: str, model: Any) -> Iterator[str]:
    if not model.model_fields:
        return
    schema: dict[str, Any] = model.model_json_schema()
    yield f"| {title} | type | default | |"
    yield "|---|---|---|---|"
    required = set(schema.get("required", []))
    for name, described in schema["properties"].items():
        default = "required" if name in required else f"`{described.get('default', '[]')}`"
        if title == "answer":
            default = ""
        yield f"| `{name}` | {_type(described)} | {default} | {described.get('description', '')} |"


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    return str(schema.get("type", "any"))


WANTED = {
    "open a terminal": "session.open",
    "run a command and get its exit code and output": "command.run",
    "run one without a terminal": "process.run",
    "see the screen": "screen.get",
    "press keys in a program": "input.press",
    "wait for a text or a state": "session.wait",
    "find what was run before": "history.search",
    "answer a question": "approval.approve",
    "know what would be asked": "policy.check",
}
"""Where most people begin."""

KINDS: dict[type[DuettyError], str] = {
    BadArguments: "mends the call",
    Refused: "asks a person, or uses another credential",
    NotFound: "names something that is there",
    Conflict: "looks at the state, and tries again when it is another",
    Exhausted: "tries again later, or ends something first",
    Unavailable: "tries again later; `duetty doctor` says what is wrong",
    Deadline: "waits again: the work goes on",
}


def errors() -> str:
    lines = [
        NOTE,
        "# Error codes\n",
        "```json\n"
        '{"error": {"code": "session_busy", "message": "another actor has begun a line at the prompt of \'s\'",\n'
        '           "hint": "let them finish, or clear the line with the key Ctrl-U", "details": {"state": "prompt"}}}\n'
        "```\n",
        "Codes are permanent; messages are not. `hint` says what you can do next. The HTTP status tells the kind:\n",
        "| HTTP | what the caller does |",
        "|---|---|",
        *(f"| {_status(kind)} | {what} |" for kind, what in KINDS.items()),
        "",
        "| code | HTTP | means |",
        "|---|---|---|",
    ]
    for kind in sorted(error_classes(), key=lambda each: (_status(each), each.code)):
        meaning = (kind.__doc__ or kind.__mro__[1].__doc__ or "").strip().splitlines()[0]
        lines.append(f"| `{kind.code}` | {_status(kind)} | {meaning} |")
    return "\n".join(lines) + "\n"


def error_classes() -> list[type[DuettyError]]:
    found: dict[str, type[DuettyError]] = {}
    waiting: list[type[DuettyError]] = [DuettyError]
    while waiting:
        each = waiting.pop()
        found.setdefault(each.code, each)
        waiting += each.__subclasses__()
    found.pop("", None)
    return list(found.values())


def _status(kind: type[DuettyError]) -> int:
    error = kind.__new__(kind)
    return status_of(error) if STATUS else 500


def settings() -> str:
    lines = [
        NOTE,
        "# Settings\n",
        "In `config.toml` as `name = value` under `[section]`, or as an environment variable.\n",
        "| setting | environment | default | means |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{each.name.replace('_', '.', 1)}` | `DUETTY_{each.name.upper()}` | `{each.default!r}` | {each.metadata['meaning']} |"
        for each in fields(Settings)
    ]
    return "\n".join(lines) + "\n"


def block_states() -> str:
    lines = [
        NOTE,
        "# The shell's cycle\n",
        "Drawn from the table in `blocks/tracker.py`.\n",
        "```mermaid",
        "stateDiagram-v2",
    ]
    lines += [
        f"    {before} --> {after}: {mark.name}" for (before, mark), after in TRANSITIONS.items()
    ]
    return "\n".join([*lines, "```"]) + "\n"


def audit_fields() -> str:
    lines = [
        NOTE,
        "# Fields of a call in the trail\n",
        "Made from the tables in `ops/guardrail/trail_fields.py`. The other records: [audit.md](audit.md).\n",
    ]
    for title, table in (
        ("Who called: in every record `call`, refused calls too", trail_fields.CALLER),
        ("What was decided: in the record `call`, before anything runs", trail_fields.CALL),
        ("How it ended: in the record `outcome`", trail_fields.OUTCOME),
    ):
        lines += [f"## {title}\n", "| field | means |", "|---|---|"]
        lines += [f"| `{each.name}` | {each.meaning} |" for each in table]
        lines.append("")
    return "\n".join(lines)


PAGES = {
    "audit-fields.md": audit_fields,
    "operations.md": operations,
    "errors.md": errors,
    "settings.md": settings,
    "block-states.md": block_states,
    "cli.md": lambda: NOTE + "\n" + command_line(),
    "map.md": lambda: NOTE + "\n" + architecture_map.page(),
}

if __name__ == "__main__":
    import duetty.server  # noqa: F401 - every error class is loaded with it

    directory = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    for name, page in PAGES.items():
        (directory / name).write_text(page(), encoding="utf-8")
    if (guide := directory / "policy.md").exists():
        policy_classes.write(guide)
