"""Key names and pasted text as the bytes a program expects in the mode it asked for."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

from duetty.errors import UnknownKey
from duetty.vt.ghostty import MOD_ALT, MOD_CTRL, MOD_SHIFT, encode_key, key_code
from duetty.vt.terminal import Terminal

_NAMED: dict[str, tuple[str, str]] = {
    "Enter": ("ENTER", "\r"),
    "Tab": ("TAB", "\t"),
    "Escape": ("ESCAPE", ""),
    "Backspace": ("BACKSPACE", ""),
    "Space": ("SPACE", " "),
    "Delete": ("DELETE", ""),
    "Insert": ("INSERT", ""),
    "Home": ("HOME", ""),
    "End": ("END", ""),
    "PageUp": ("PAGE_UP", ""),
    "PageDown": ("PAGE_DOWN", ""),
    "Up": ("ARROW_UP", ""),
    "Down": ("ARROW_DOWN", ""),
    "Left": ("ARROW_LEFT", ""),
    "Right": ("ARROW_RIGHT", ""),
    **{f"F{number}": (f"F{number}", "") for number in range(1, 25)},
    **{f"Keypad{digit}": (f"NUMPAD_{digit}", str(digit)) for digit in range(10)},
    "KeypadEnter": ("NUMPAD_ENTER", "\r"),
    "KeypadAdd": ("NUMPAD_ADD", "+"),
    "KeypadSubtract": ("NUMPAD_SUBTRACT", "-"),
    "KeypadMultiply": ("NUMPAD_MULTIPLY", "*"),
    "KeypadDivide": ("NUMPAD_DIVIDE", "/"),
    "KeypadDecimal": ("NUMPAD_DECIMAL", "."),
}
"""By our name: the emulator's name, and the text the key types."""

_ALIASES = {
    "return": "enter",
    "esc": "escape",
    "bs": "backspace",
    "del": "delete",
    "ins": "insert",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "pgdown": "pagedown",
    "arrowup": "up",
    "arrowdown": "down",
    "arrowleft": "left",
    "arrowright": "right",
}

KEY_NAMES: tuple[str, ...] = tuple(_NAMED)
"""Every named key, as documentation and errors spell it."""

_BY_LOWER = {name.lower(): name for name in _NAMED}

_MODIFIERS = {
    "ctrl": MOD_CTRL,
    "control": MOD_CTRL,
    "c": MOD_CTRL,
    "alt": MOD_ALT,
    "meta": MOD_ALT,
    "m": MOD_ALT,
    "shift": MOD_SHIFT,
    "s": MOD_SHIFT,
}
_MODIFIER = re.compile(rf"({'|'.join(_MODIFIERS)})[-+](?=.)", re.IGNORECASE | re.DOTALL)

_PUNCTUATION = {
    "`": "BACKQUOTE",
    "\\": "BACKSLASH",
    "[": "BRACKET_LEFT",
    "]": "BRACKET_RIGHT",
    ",": "COMMA",
    "=": "EQUAL",
    "-": "MINUS",
    ".": "PERIOD",
    "'": "QUOTE",
    ";": "SEMICOLON",
    "/": "SLASH",
    " ": "SPACE",
}
_SHIFTED = dict(zip('~!@#$%^&*()_+{}|:"<>?', "`1234567890-=[]\\;',./", strict=True))
"""What a key of the US layout types with Shift, and without."""

_CTRL_PUNCTUATION = {"@": 0, "[": 27, "\\": 28, "]": 29, "^": 30, "_": 31, "?": 127, " ": 0}

_PASTE_END = ("\x1b[201~", "\x9b201~")


def encode_keys(names: Sequence[str], terminal: Terminal) -> bytes:
    """The bytes of keys pressed one after another.

    A key is a name of `KEY_NAMES` in any case, or one character; before it any of
    `Ctrl- Alt- Shift-` (`C- M- S-`, with `-` or `+`).

    Raises:
        UnknownKey: if a name is none; says its place and the nearest that is one.
    """
    return b"".join(
        _encode(name, terminal, place=place) for place, name in enumerate(names, start=1)
    )


def encode_paste(text: str, terminal: Terminal) -> bytes:
    """The bytes of a paste: marked as one if the program asked, else with Enter for line ends."""
    if not terminal.native.mode(2004):
        return text.replace("\r\n", "\r").replace("\n", "\r").encode("utf-8", "replace")
    while any(end in text for end in _PASTE_END):
        # Again and again: taking one out may bring another together.
        for end in _PASTE_END:
            text = text.replace(end, "")
    return b"\x1b[200~" + text.encode("utf-8", "replace") + b"\x1b[201~"


def _encode(name: str, terminal: Terminal, *, place: int) -> bytes:
    mods, rest = 0, name
    while found := _MODIFIER.match(rest):
        mods |= _MODIFIERS[found[1].lower()]
        rest = rest[found.end() :]
    if len(rest) == 1 and (rest.isprintable() or rest == " "):
        return _encode_character(rest, mods, terminal)
    lower = rest.lower()
    named = _BY_LOWER.get(_ALIASES.get(lower, lower))
    if named is None:
        _raise_unknown(lower, place)
    native_name, typed = _NAMED[named]
    return encode_key(
        terminal.native, key=key_code(native_name), mods=mods, text=typed, unshifted=typed
    )


def _encode_character(character: str, mods: int, terminal: Terminal) -> bytes:
    if mods & MOD_SHIFT and character.islower() and len(character.upper()) == 1:
        character = character.upper()
    unshifted = _SHIFTED.get(character, character)
    if character.isupper() and len(character.lower()) == 1:
        unshifted = character.lower()
    if unshifted != character and not mods & MOD_CTRL:
        mods |= MOD_SHIFT
    native = terminal.native
    if mods & MOD_CTRL and character in _CTRL_PUNCTUATION and not native.number("kitty_keyboard"):
        # Terminals send these by the character; the emulator looks at the key.
        code = bytes([_CTRL_PUNCTUATION[character]])
        return b"\x1b" + code if mods & MOD_ALT else code
    return encode_key(
        native, key=_key_of(unshifted), mods=mods, text=character, unshifted=unshifted
    )


def _key_of(unshifted: str) -> int:
    if unshifted.isascii() and unshifted.isalpha():
        return key_code(unshifted.upper())
    if unshifted.isascii() and unshifted.isdigit():
        return key_code(f"DIGIT_{unshifted}")
    return key_code(_PUNCTUATION.get(unshifted, "UNIDENTIFIED"))


def _raise_unknown(lower: str, place: int) -> NoReturn:
    # The name is not repeated: it may be text meant for the program, even a password.
    near = get_close_matches(lower, [*_BY_LOWER, *_ALIASES], n=1)
    nearest = _BY_LOWER[_ALIASES.get(near[0], near[0])] if near else None
    hint = f"did you mean {nearest!r}?" if nearest else f"one of {', '.join(KEY_NAMES[:15])}, …"
    raise UnknownKey(
        f"key {place} is neither a key's name nor one character",
        hint=f"{hint} Text goes in as input.",
        details={"place": place, "nearest": nearest},
    )
