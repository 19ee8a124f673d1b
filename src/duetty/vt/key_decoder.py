"""Bytes that a keyboard sent, as keys: the way back of `keys`.

Total: any bytes give keys, and together the keys are the bytes. What no keyboard
sends (a mouse, a terminal's answer) is a key without a name.
"""

import re
from typing import NamedTuple

MAX_KEYS = 1024
"""Keys decoded from one read; a person types fewer. The rest is one key without a name."""


class Key(NamedTuple):
    """One key as it arrived. `name` is None when it is none that we know."""

    raw: bytes
    name: str | None
    modifiers: tuple[str, ...] = ()
    """Of `ctrl alt shift super`, in this order."""

    text: str = ""
    """What the key types into a text, a paste included; empty for keys that only do something."""


_FINALS = {
    "A": "ArrowUp",
    "B": "ArrowDown",
    "C": "ArrowRight",
    "D": "ArrowLeft",
    "E": "Begin",
    "F": "End",
    "H": "Home",
    "M": "Enter",
    "P": "F1",
    "Q": "F2",
    "R": "F3",
    "S": "F4",
}
_NUMBERS = {
    1: "Home",
    2: "Insert",
    3: "Delete",
    4: "End",
    5: "PageUp",
    6: "PageDown",
    7: "Home",
    8: "End",
    **{11 + at: f"F{1 + at}" for at in range(5)},
    **{17 + at: f"F{6 + at}" for at in range(5)},
    **{23 + at: f"F{11 + at}" for at in range(2)},
    **{25 + at: f"F{13 + at}" for at in range(2)},
    **{28 + at: f"F{15 + at}" for at in range(2)},
    **{31 + at: f"F{17 + at}" for at in range(4)},
}
_NAMED_CODES = {
    9: "Tab",
    13: "Enter",
    27: "Escape",
    127: "Backspace",
    57414: "Enter",
    57417: "ArrowLeft",
    57418: "ArrowRight",
    57419: "ArrowUp",
    57420: "ArrowDown",
    57421: "PageUp",
    57422: "PageDown",
    57423: "Home",
    57424: "End",
    57425: "Insert",
    57426: "Delete",
    57427: "Begin",
    **{57376 + at: f"F{13 + at}" for at in range(23)},
}
_KEYPAD = {57399 + at: character for at, character in enumerate("0123456789./*-+")}
"""Code points of the kitty keyboard protocol that are not the key's own character."""

_PRIVATE_USE = range(57344, 63744)
_MODIFIERS = (("ctrl", 4), ("alt", 2), ("shift", 1), ("super", 8))

_PASTE = re.compile(rb"\x1b\[200~(.*?)\x1b\[201~", re.DOTALL)
_MOUSE = re.compile(rb"\x1b\[M[\s\S]{3}")
_CSI = re.compile(rb"\x1b\[([0-9:;<=>?]*)([ -/]*)([@-~])")
_SS3 = re.compile(rb"\x1bO([A-Za-z])")
_STRING = re.compile(rb"\x1b[\]P_^X].*?(?:\x1b\\|\x07)", re.DOTALL)
"""Answers of a terminal: colours, settings."""

_CHARACTER = re.compile(
    rb"[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_ESC = 0x1B


def parse_keys(data: bytes) -> tuple[Key, ...]:
    """The keys of one read, in order."""
    keys: list[Key] = []
    at = 0
    while at < len(data):
        if len(keys) == MAX_KEYS:
            keys.append(Key(data[at:], None))
            break
        key = _next(data, at)
        keys.append(key)
        at += len(key.raw)
    return tuple(keys)


def _next(data: bytes, at: int) -> Key:
    if data[at] != _ESC:
        return _character(data, at)
    if found := _PASTE.match(data, at):
        return Key(found[0], "Paste", text=found[1].decode("utf-8", "replace"))
    if found := _MOUSE.match(data, at) or _STRING.match(data, at):
        return Key(found[0], None)
    if found := _CSI.match(data, at):
        return _sequence(found)
    if found := _SS3.match(data, at):
        return _keypad(found)
    if at + 1 < len(data):
        # Alt is Escape before the key; Alt with an arrow is two of them.
        inner = _next(data, at + 1) if data[at + 1] != _ESC else _after_escapes(data, at + 1)
        if inner is not None and inner.name not in (None, "Paste"):
            return Key(data[at : at + 1] + inner.raw, inner.name, _with(inner.modifiers, "alt"))
    return Key(data[at : at + 1], "Escape")


def _after_escapes(data: bytes, at: int) -> Key | None:
    found = _CSI.match(data, at)
    if found is not None:
        return _sequence(found)
    found = _SS3.match(data, at)
    return None if found is None else _keypad(found)


def _with(modifiers: tuple[str, ...], more: str) -> tuple[str, ...]:
    return tuple(name for name, _ in _MODIFIERS if name in modifiers or name == more)


def _character(data: bytes, at: int) -> Key:
    found = _CHARACTER.match(data, at)
    raw = found[0] if found else data[at : at + 1]
    code = raw[0]
    match code:
        case 0x00:
            return Key(raw, " ", ("ctrl",))
        case 0x09:
            return Key(raw, "Tab", text="\t")
        case 0x0D:
            return Key(raw, "Enter", text="\n")
        case 0x7F:
            return Key(raw, "Backspace")
        case _ if code <= 0x1A:
            return Key(raw, chr(code + 0x60), ("ctrl",))
        case _ if code < 0x20:
            return Key(raw, chr(code + 0x40), ("ctrl",))
        case _:
            pass
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return Key(raw, None)
    # The C1 controls are no characters; no keyboard sends them either.
    return Key(raw, text, text=text) if text >= "\xa0" or text.isascii() else Key(raw, None)


def _keypad(found: re.Match[bytes]) -> Key:
    letter = found[1].decode()
    if letter in _FINALS:
        return Key(found[0], _FINALS[letter])
    if "j" <= letter <= "y":  # the keypad in application mode
        return Key(found[0], text := "*+,-./0123456789"[ord(letter) - ord("j")], text=text)
    return Key(found[0], None)


def _sequence(found: re.Match[bytes]) -> Key:
    raw, final = found[0], found[3].decode()
    fields = _fields(found[1])
    if found[2] or fields is None:
        return Key(raw, None)
    modifiers, event = _modifiers(fields[1] if len(fields) > 1 else ())
    if event == 3:
        return Key(raw, None)  # a key let go
    number = fields[0][0] if fields and fields[0] else None
    match final:
        case "u":
            return _kitty(raw, number, fields, modifiers)
        case "~" if number == 27 and len(fields) > 2 and fields[2]:
            return _coded(raw, fields[2][0], modifiers)  # xterm's modifyOtherKeys
        case "~":
            return Key(raw, None if number is None else _NUMBERS.get(number), modifiers)
        case "Z":
            return Key(raw, "Tab", _with(modifiers, "shift"))
        case "M":
            return Key(raw, None)  # a mouse
        case _ if final in _FINALS and number in (None, 1):
            return Key(raw, _FINALS[final], modifiers)
        case _:
            return Key(raw, None)


def _fields(parameters: bytes) -> list[tuple[int, ...]] | None:
    """The numbers of a sequence, with their sub-numbers; None for a private sequence."""
    if parameters[:1] in (b"<", b"=", b">", b"?"):
        return None
    fields: list[tuple[int, ...]] = []
    for field in parameters.split(b";"):
        parts = field.split(b":")
        if not all(part.isdigit() and len(part) < 8 for part in parts if part):
            return None
        fields.append(tuple(int(part or 0) for part in parts) if field else ())
    return fields


def _modifiers(field: tuple[int, ...]) -> tuple[tuple[str, ...], int]:
    """The modifiers, and what was done with the key: 1 pressed, 2 repeated, 3 let go."""
    bits = max(field[0] - 1, 0) if field else 0
    return (
        tuple(name for name, bit in _MODIFIERS if bits & bit),
        field[1] if len(field) > 1 else 1,
    )


def _kitty(
    raw: bytes, code: int | None, fields: list[tuple[int, ...]], modifiers: tuple[str, ...]
) -> Key:
    if code is None:
        return Key(raw, None)
    key = _coded(raw, code, modifiers)
    if len(fields) > 2 and key.name is not None:
        text = "".join(chr(part) for part in fields[2] if _is_printable(part))
        return key._replace(text=text)
    return key


def _coded(raw: bytes, code: int, modifiers: tuple[str, ...]) -> Key:
    if code in _NAMED_CODES:
        return Key(raw, _NAMED_CODES[code], modifiers)
    if code in _KEYPAD:
        return Key(raw, _KEYPAD[code], modifiers, "" if modifiers else _KEYPAD[code])
    if code in _PRIVATE_USE or not _is_printable(code):
        return Key(raw, None)
    name = chr(code)
    if modifiers == ("shift",) and len(name.upper()) == 1:
        return Key(raw, name.upper(), modifiers, name.upper())
    return Key(raw, name, modifiers, "" if modifiers else name)


def _is_printable(code: int) -> bool:
    return 0x20 <= code < 0x7F or 0xA0 <= code < 0xD800 or 0xE000 <= code < 0x110000
