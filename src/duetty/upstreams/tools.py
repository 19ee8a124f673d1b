"""A tool as its upstream says it: name, fingerprint, risk, and what of it would deceive a reader.

Everything here is the upstream's own text. It is shown and compared, never obeyed,
and what it says of itself can only make it look more dangerous.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, cast

from duetty.policy import visible

Risk = Literal["read", "write", "destructive", "unknown"]
Wire = Mapping[str, Any]
"""A tool as it stood in the upstream's answer."""

MAX_SHOWN = 4_000
"""Of one part of a difference; more than a person reads."""

CONTEXT = 200
"""Characters shown before the first that differs, in a text that is cut."""

LONG_ID = 64
"""Many models take no longer names."""

ALIAS_CHARS, ALIAS_DIGITS = 14, 10
"""With the longest name of an upstream they stay within what many models take."""

_ODD = re.compile(r"[^A-Za-z0-9_.-]+")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_PARTS = (
    "name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution",
    "icons", "_meta",
)  # fmt: skip
_TEXT_KEYS = frozenset({"description", "title", "$comment"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    upstream: str
    wire: Wire
    is_repeated: bool = False
    """Its name stands in the list more than once: a call cannot name one of them."""

    @property
    def name(self) -> str:
        return str(self.wire["name"])

    @property
    def id(self) -> str:
        """As agents say it: with its name, or where that is odd or too long for many models, its alias."""
        whole = f"mcp__{self.upstream}__{self.name}"
        if len(whole) <= LONG_ID and _TOOL_NAME.fullmatch(self.name):
            return whole
        return f"mcp__{self.upstream}__{self.alias}"

    @property
    def can_pass_for_another(self) -> bool:
        """It is listed twice, or its name has letters that look like others, or like nothing."""
        return self.is_repeated or not (self.name.isascii() and self.name.isprintable())

    @property
    def alias(self) -> str:
        """What of its name is plain, and a hash of all of it. Rules and the trail know it by its name."""
        plain = _ODD.sub("-", self.name)[:ALIAS_CHARS].strip("-") or "tool"
        digest = sha256(self.name.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{plain}-{digest[:ALIAS_DIGITS]}"

    @property
    def shown_name(self) -> str:
        return shown(self.name)

    @property
    def annotations(self) -> dict[str, Any] | None:
        return _table(self.wire.get("annotations")) or None

    @property
    def title(self) -> str | None:
        annotations = _table(self.wire.get("annotations"))
        title = self.wire.get("title") or annotations.get("title")
        return shown(title) if isinstance(title, str) else None

    @property
    def description(self) -> str:
        return shown(str(self.wire.get("description") or ""))

    @property
    def input_schema(self) -> dict[str, Any]:
        return cast("dict[str, Any]", _shown_schema(_table(self.wire.get("inputSchema"))))

    @property
    def output_schema(self) -> dict[str, Any] | None:
        found = self.wire.get("outputSchema")
        return cast("dict[str, Any]", _shown_schema(found)) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownArgumentType] - of whatever it holds

    @property
    def risk(self) -> Risk:
        """By its annotations; absent ones are not guessed at."""
        annotations = _table(self.wire.get("annotations"))
        destructive, read_only = annotations.get("destructiveHint"), annotations.get("readOnlyHint")
        if destructive is True:
            return "destructive"  # whatever else it says of itself
        if read_only is True:
            return "read"
        if read_only is False or destructive is False:
            return "write"
        return "unknown"

    @property
    def fingerprint(self) -> str:
        """Of the whole object, not only of what is shown: a change anywhere is a change."""
        return sha256(canonical(self.wire)).hexdigest()

    def warnings(self) -> list[str]:
        found: list[str] = []
        if not self.is_repeated and self.can_pass_for_another:
            found.append("its name has characters that could pass for others: it cannot be called")
        elif self.id.endswith(f"__{self.alias}"):
            found.append(f"its name is odd or long: agents know it as {self.id}")
        if self.is_repeated:
            found.append("the upstream lists this name more than once: it cannot be called")
        if hides(json.dumps(self.wire, ensure_ascii=False)):
            found.append("its text has hidden or direction-changing characters, shown as ⟨U+…⟩")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    part: str
    was: str | None
    now: str | None


def differences(was: Wire, now: Wire) -> list[Difference]:
    """The differences, part by part, as a person reads them."""
    parts = [*_PARTS, *sorted((set(was) | set(now)) - set(_PARTS))]
    found: list[Difference] = []
    for part in parts:
        # By their canonical forms: to Python, true and 1 are the same.
        if canonical(_part(was, part)) != canonical(_part(now, part)):
            before, after = _around(_visible_part(was, part), _visible_part(now, part))
            found.append(Difference(part=shown(part), was=before, now=after))
    return found


def tools_of(upstream: str, listed: list[dict[str, Any]]) -> dict[str, Tool]:
    """By name, in the upstream's order."""
    names = [str(each.get("name", "")) for each in listed]
    found: dict[str, Tool] = {}
    for name, wire in zip(names, listed, strict=True):
        if name and name not in found:
            found[name] = Tool(upstream=upstream, wire=wire, is_repeated=names.count(name) > 1)
    return found


def fingerprint_of(tools: Mapping[str, Tool]) -> str:
    """Of all of them together."""
    each = sorted(f"{tool.name}\0{tool.fingerprint}" for tool in tools.values())
    return sha256("\n".join(each).encode("utf-8", "surrogatepass")).hexdigest()


def canonical(value: object) -> bytes:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str
    ).encode()


def shown(text: str) -> str:
    """Text of an upstream, its lines kept, with everything that hides or moves made visible."""
    plain = "\n".join(visible(line) for line in text.replace("\t", " ").split("\n"))
    return plain if plain.isascii() else _without_selectors(plain)


def hides(text: str) -> bool:
    return shown(text) != text.replace("\t", " ")


def _without_selectors(text: str) -> str:
    """Variation selectors count as printable, and can spell a message behind a single character.

    One that asks for the coloured form of an emoji is left alone.
    """
    out: list[str] = []
    last = ""
    for char in text:
        code = ord(char)
        is_selector = 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
        if is_selector and not (code == 0xFE0F and last and ord(last) >= 0x203C):
            out.append(f"⟨U+{code:04X}⟩")
            last = ""
            continue
        out.append(char)
        last = "" if is_selector else char
    return "".join(out)


def _shown_schema(value: object) -> object:
    """A schema whose texts are made visible; names and values stay, since calls use them."""
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        return {
            key: shown(each) if key in _TEXT_KEYS and isinstance(each, str) else _shown_schema(each)
            for key, each in table.items()
        }
    if isinstance(value, list):
        return [_shown_schema(each) for each in cast("list[object]", value)]
    return value


def _part(wire: Wire, part: str) -> list[object]:
    """Empty for what is not there, which is not null."""
    return [wire[part]] if part in wire else []


def _visible_part(wire: Wire, part: str) -> str | None:
    if part not in wire:
        return None
    value: object = wire[part]
    if isinstance(value, str):
        return shown(value)
    return shown(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False))


def _around(was: str | None, now: str | None) -> tuple[str | None, str | None]:
    """Both, cut to where they begin to differ: a change far down a long text must be seen."""
    first = 0
    if was is not None and now is not None:
        same = zip(was, now, strict=False)
        first = next((at for at, (a, b) in enumerate(same) if a != b), min(len(was), len(now)))
    return _cut(was, first), _cut(now, first)


def _cut(text: str | None, first: int) -> str | None:
    if text is None or len(text) <= MAX_SHOWN:
        return text
    start = max(0, first - CONTEXT)
    head = f"[{start} characters the same] …" if start else ""
    rest = len(text) - start - MAX_SHOWN
    tail = f"… [{rest} more characters]" if rest > 0 else ""
    return f"{head}{text[start : start + MAX_SHOWN]}{tail}"


def _table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
