"""Changing one entry of a JSON file that people edit: comments, order and spacing of the rest stay.

JSON with comments and trailing commas, as editors write it. Pure: text in, text out.
"""

import json
import re
from typing import Any, NamedTuple, cast

_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_LINE_REST = re.compile(r"(?:[ \t]*//[^\n]*)?")
_SCALAR = re.compile(r"[^\s,\]}/]+")


class NotJson(ValueError):
    """The text is not a JSON object, with comments or without."""


class _Member(NamedTuple):
    key: str
    start: int
    """Where its key begins."""

    value: int
    end: int


def with_entry(text: str, path: list[str], value: object) -> str:
    """The text with `value` at this path; objects on the way are made if they are missing."""
    if not text.strip():
        text = "{}\n"
    open_ = _begin(text)
    for depth, key in enumerate(path):
        members, close = _members(text, open_)
        found = next((member for member in members if member.key == key), None)
        rest = path[depth + 1 :]
        if found is None:
            return _inserted(text, open_, close, members, key, _nested(rest, value))
        if not rest:
            indent = _indent_of(text, found.start)
            return text[: found.value] + _indented(value, indent) + text[found.end :]
        if text[found.value] != "{":
            raise NotJson(f"{key!r} is not an object")
        open_ = found.value
    return text


def without_entry(text: str, path: list[str]) -> str:
    """The text without what is at this path; the same text if there is nothing."""
    if not text.strip():
        return text
    open_ = _begin(text)
    for depth, key in enumerate(path):
        members, _ = _members(text, open_)
        at = next((i for i, member in enumerate(members) if member.key == key), None)
        if at is None:
            return text
        if depth == len(path) - 1:
            return _removed(text, members, at, open_)
        if text[members[at].value] != "{":
            return text
        open_ = members[at].value
    return text


def entry(text: str, path: list[str]) -> object:
    """What is at this path; None if there is nothing."""
    found: Any = parsed(text)
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return None
        found = cast("dict[str, Any]", found)[key]
    return found


def parsed(text: str) -> object:
    """The value, comments and trailing commas left out."""
    if not text.strip():
        return {}
    plain = re.sub(
        r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/',
        lambda found: found.group(1) or "\n" * found.group().count("\n") or " ",
        text,
        flags=re.DOTALL,
    )
    plain = re.sub(
        r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])',
        lambda found: found.group(1) or "",
        plain,
        flags=re.DOTALL,
    )
    try:
        return json.loads(plain)
    except ValueError as error:
        raise NotJson(str(error)) from error


# --- the text as it stands ---------------------------------------------------------


def _begin(text: str) -> int:
    parsed(text)  # what is not JSON is not touched
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        raise NotJson("the file does not hold an object")
    return at


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _members(text: str, open_: int) -> tuple[list[_Member], int]:
    """The members of the object that begins here, and where its brace closes."""
    members: list[_Member] = []
    at = _skip(text, open_ + 1)
    while text[at] != "}":
        key = _STRING.match(text, at)
        if key is None:
            raise NotJson(f"a key was expected at {at}")
        value = _skip(text, _skip(text, key.end()) + 1)
        end = _value_end(text, value)
        members.append(_Member(json.loads(key.group()), at, value, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return members, at


def _value_end(text: str, at: int) -> int:
    if text[at] == '"':
        found = _STRING.match(text, at)
        assert found is not None
        return found.end()
    if text[at] == "{":
        return _members(text, at)[1] + 1
    if text[at] == "[":
        at = _skip(text, at + 1)
        while text[at] != "]":
            at = _skip(text, _value_end(text, at))
            if text[at] == ",":
                at = _skip(text, at + 1)
        return at + 1
    found = _SCALAR.match(text, at)
    if found is None:
        raise NotJson(f"a value was expected at {at}")
    return found.end()


def _indent_of(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _step(text: str) -> str:
    """How the file indents; two spaces where it does not say."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found.group(1) if found else "  "


def _nested(path: list[str], value: object) -> object:
    for key in reversed(path):
        value = {key: value}
    return value


def _indented(value: object, indent: str, step: str = "  ") -> str:
    shown = json.dumps(value, indent=step if step.strip(" ") else len(step), ensure_ascii=False)
    return shown.replace("\n", f"\n{indent}")


def _inserted(
    text: str, open_: int, close: int, members: list[_Member], key: str, value: object
) -> str:
    step = _step(text)
    indent = _indent_of(text, members[-1].start) if members else _indent_of(text, open_) + step
    new = f"{json.dumps(key)}: {_indented(value, indent, step)}"
    if not members:
        inner = text[open_ + 1 : close].rstrip()
        return f"{text[: open_ + 1]}{inner}\n{indent}{new}\n{_indent_of(text, open_)}{text[close:]}"
    end = members[-1].end
    after = _skip(text, end)
    comma = text[after] == ","
    at = after + 1 if comma else end
    rest = _LINE_REST.match(text, at)  # a remark on the same line is about what stands before it
    assert rest is not None
    return f"{text[:at]}{'' if comma else ','}{rest.group()}\n{indent}{new}{text[rest.end() :]}"


def _removed(text: str, members: list[_Member], at: int, open_: int) -> str:
    """Without this member and one comma; remarks before it stay."""
    member = members[at]
    start = members[at - 1].end if at else open_ + 1
    comma = _skip(text, start) if at else None  # the one before it
    after = _skip(text, member.end)
    end = member.end
    if text[after] == ",":
        end, comma = after + 1, None  # the one after it goes instead
    between = text[start : member.start]
    if comma is not None:
        between = text[start:comma] + text[comma + 1 : member.start]
    return text[:start] + between.rstrip() + text[end:]
