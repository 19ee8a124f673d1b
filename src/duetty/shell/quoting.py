r"""How shells write a value so that it reads back as one word, undone.

bash: `printf %q` (`a\ b`, `$'a\nb'`) and `${x@Q}` (`'a b'`, `'it'\''s'`, `$'a\nb'`).
zsh: `${(q)x}` (`a\ b$'\n'c`) and `${(qqqq)x}` (`$'a b\nc'`). One reader for all,
total, in bytes: what a word means in text is the caller's business.
"""

import re
from collections.abc import Sequence

_FIELD = re.compile(
    rb"""[^;\\'$]*(?:(?:\\.|\$'[^'\\]*(?:\\.[^'\\]*)*'|'[^']*'|\$(?!'))[^;\\'$]*)*""", re.DOTALL
)
"""Each round begins with a sign that no plain run holds: there is one way to read it."""

_PIECE = re.compile(
    rb"""
      (?P<plain>   [^\\'$]+ | \$(?!') )
    | \\(?P<escaped> . )
    | \$'(?P<ansi> [^'\\]*(?:\\.[^'\\]*)* )'
    | '(?P<literal> [^']* )'
    """,
    re.DOTALL | re.VERBOSE,
)

_ANSI_ESCAPE = re.compile(
    rb"""\\(?:
      (?P<octal>   [0-7]{1,3} )
    | x(?P<hex>    [0-9A-Fa-f]{1,2} )
    | u(?P<short>  [0-9A-Fa-f]{1,4} )
    | U(?P<long>   [0-9A-Fa-f]{1,8} )
    | c(?P<control> . )
    | C-(?P<zsh_control> . )
    | M-(?P<zsh_meta> . )
    | (?P<other>   . )
    )""",
    re.DOTALL | re.VERBOSE,
)

_NAMED = {
    b"a": b"\a",
    b"b": b"\b",
    b"e": b"\x1b",
    b"E": b"\x1b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}

_RAW_FIELD = b"cwd_raw="


def split_fields(text: bytes) -> Sequence[bytes]:
    """The fields between semicolons; one that is quoted separates nothing.

    `cwd_raw=` is not quoted at all and takes the rest.
    """
    if b"'" not in text and b"\\" not in text and _RAW_FIELD not in text:
        plain = text.split(b";")
        return plain if plain[-1] else plain[:-1]
    fields: list[bytes] = []
    at, size = 0, len(text)
    while at < size:
        if text.startswith(_RAW_FIELD, at):
            fields.append(text[at:])
            break
        word = _FIELD.match(text, at)
        end = word.end() if word else at
        if end < size and text[end] != 0x3B:  # a quote that never closes: take it as it is
            end = text.find(b";", end)
            end = size if end < 0 else end
        fields.append(text[at:end])
        at = end + 1
    return fields


def unquoted(word: bytes) -> bytes | None:
    """What the word means to the shell that wrote it, or None if it is no word."""
    if word[:1] == b"'" == word[-1:] and word.count(b"'") == 2:
        return word[1:-1]  # as most of them are
    value = bytearray()
    at = 0
    while at < len(word):
        piece = _PIECE.match(word, at)
        if piece is None:
            return None
        plain = piece["plain"] or piece["escaped"] or piece["literal"]
        value += plain if plain is not None else _ANSI_ESCAPE.sub(_ansi, piece["ansi"] or b"")
        at = piece.end()
    return bytes(value)


def _ansi(escape: re.Match[bytes]) -> bytes:
    kind, text = escape.lastgroup, escape[escape.lastgroup or 0]
    match kind:
        case "octal":
            return bytes((int(text, 8) & 0xFF,))
        case "hex":
            return bytes((int(text, 16),))
        case "short" | "long":
            return _character(int(text, 16))
        case "control" | "zsh_control":
            return bytes((0x7F,)) if text == b"?" else bytes((text[0] & 0x1F,))
        case "zsh_meta":
            return bytes((text[0] | 0x80,))
        case _:
            return _NAMED.get(text, text)


def _character(code: int) -> bytes:
    try:
        return chr(code).encode()
    except (ValueError, OverflowError):  # a surrogate, or beyond Unicode
        return "\N{REPLACEMENT CHARACTER}".encode()
