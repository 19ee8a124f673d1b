"""Lines that an agent types where no shell will ask: their text, as far as it can be known.

Rebuilding a line editor would promise what it cannot keep. What is kept is the text
between two line ends, with what Backspace and Ctrl-U take away; arrow keys, history
and completion of whatever program reads it are not followed. Whether that program is
a shell or an interpreter of some language cannot be told either, so a line that may be
code is judged as both. A line that a shell would not take for whole (a backslash at its end,
an open quote, a pipe to nothing, a loop without its end) is judged by itself, and once more
together with each that follows, until it is whole. Variables and functions are not followed
from one whole line to the next.
"""

import re
from base64 import b64decode
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from duetty.blocks import Phase
from duetty.errors import DuettyError
from duetty.policy.scanning.code import sql_is_destructive
from duetty.session import Session

MAX_CHARS = 8_192
MAX_SESSIONS = 1_000

_SEQUENCE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O.|.)?")
_CODE = re.compile(r"[(;='\"`]")
"""Signs without which hardly a line of code deletes or runs anything."""

_ENDS = re.compile(r"[\r\n\x0f]")
_KEYS = {
    "enter": "\r",
    "return": "\r",
    "ctrl-m": "\r",
    "ctrl-j": "\r",
    "ctrl-o": "\r",
    "space": " ",
    "tab": "\t",
    "backspace": "\x7f",
    "ctrl-h": "\x7f",
    "ctrl-u": "\x15",
    "ctrl-c": "\x03",
}


@dataclass(frozen=True, slots=True)
class _Open:
    """What a shell would wait for after a line."""

    quote: str = ""
    parentheses: int = 0
    compounds: int = 0
    documents: tuple[str, ...] = ()
    is_joined: bool = False
    """By a pipe, `&&` or `||` to what comes."""
    is_continued: bool = False
    """By a backslash."""

    @property
    def is_within_word(self) -> bool:
        return bool(self.quote) or self.is_continued

    def after(self, line: str) -> "_Open":
        if self.documents:
            ended = line.strip("\t") == self.documents[0]
            return replace(self, documents=self.documents[1:] if ended else self.documents)
        quote, bare = _unquoted(line, self.quote)
        opens = len(_COMPOUND.findall(bare)) - len(_COMPOUND_END.findall(bare))
        return _Open(
            quote=quote,
            parentheses=max(0, self.parentheses + bare.count("(") - bare.count(")")),
            compounds=max(0, self.compounds + opens),
            documents=tuple(_DOCUMENT.findall(line)) if "<<" in bare else (),
            is_joined=_JOINS.search(bare) is not None or (self.is_joined and not bare.strip()),
            is_continued=quote != "'" and _BACKSLASH.search(line) is not None,
        )


_WHOLE = _Open()
_STRETCH = {
    "": re.compile(r"""(?:[^'"`\\#]|\\.|(?<=\S)#)+"""),
    "'": re.compile(r"[^']+"),
    '"': re.compile(r'(?:[^"\\]|\\.)+'),
    "`": re.compile(r"(?:[^`\\]|\\.)+"),
}
_BACKSLASH = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
_DOCUMENT = re.compile(r"(?<!<)<<-?[ \t]*['\"\\]?(\w+)")
_JOINS = re.compile(r"(?:\||&&)\s*\Z")
_COMPOUND = re.compile(
    r"(?:^|[;&|({]|\b(?:do|then|else|time)\b|!)[ \t]*(?:\{|(?:if|case|for|while|until|select|begin)\b)"
)
_COMPOUND_END = re.compile(r"(?:^|[;&|)}])[ \t]*(?:\}|(?:fi|esac|done|end)\b)")


def _unquoted(line: str, quote: str) -> tuple[str, str]:
    """The quote that is open after the line, and what of it stands outside of quotes and comments."""
    bare, at = "", 0
    while at < len(line):
        if stretch := _STRETCH[quote].match(line, at):
            bare += "" if quote else stretch[0]
            at = stretch.end()
        elif line[at] == "#" and not quote:
            break
        else:
            sign, at = line[at], at + 1
            if sign != "\\":  # at the end of the line
                quote = "" if quote else sign
                bare += "_"
    return quote, bare


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a session's agents have typed, and a program has not yet made a whole line of."""

    begun: str = ""
    """Since the last line end."""
    lines: tuple[str, ...] = ()
    """Before it, and not whole."""
    open: _Open = _WHOLE
    is_hidden: bool = False
    """Whether some of it was typed where nothing is shown: it may be a password."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Lines that a text ends, as what may run them."""

    commands: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    """Of these what comes after the first whole line: the program that it starts may read it."""
    is_hidden: bool = False
    is_untold: bool = False
    """Whether one goes on for longer than can be judged."""


class TypedLines:
    """What each session's agents have typed since the last whole line."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def lines(self, session: str, text: str, *, hidden: bool = False) -> Typed:
        """What to judge if this text is typed; it is `take` that says that it was."""
        return self._next(session, text, hidden)[0]

    def take(self, session: str, text: str, *, hidden: bool = False, asks: bool = False) -> None:
        """It was typed; `asks`: at a shell that asks about whole lines itself."""
        typed, kept = self._next(session, text, hidden)
        self._kept.pop(session, None)
        if asks and not typed.later:
            kept = replace(kept, lines=(), open=_WHOLE)
        if kept.begun or kept.lines:
            self._kept[session] = kept
            if len(self._kept) > MAX_SESSIONS:
                self._kept.popitem(last=False)

    def _next(self, session: str, text: str, hidden: bool) -> tuple[Typed, _Kept]:
        before = self._kept.get(session, _Kept())
        *ended, rest = _ENDS.split(before.begun + text)
        lines, opened = list(before.lines), before.open
        found, later, is_untold = list[str](), list[str](), False
        size, is_first = sum(map(len, lines)), True
        for each in ended:
            if "\x03" in each:
                lines, opened, size = [], _WHOLE, 0
            line = _edited(each)
            if line.strip():
                found += _commands(line)
            is_untold = is_untold or len(each) > MAX_CHARS
            lines.append(line)
            size += len(line) + 1
            opened = opened.after(line)
            if opened == _WHOLE or size > MAX_CHARS:
                found += _put_together(lines)
                later += [] if is_first else ["\n".join(lines)]
                is_untold = is_untold or opened.is_within_word
                is_first = is_first and not any(map(str.strip, lines))
                lines, opened, size = [], _WHOLE, 0
        if ended:
            found += _put_together(lines)
            later += [] if is_first else ["\n".join(lines)]
        is_hidden = hidden or before.is_hidden
        kept = _Kept(
            rest[-MAX_CHARS - 1 :], tuple(lines), opened, is_hidden and bool(rest or lines)
        )
        typed = Typed(
            commands=tuple(dict.fromkeys(found)),
            later=tuple(each for each in dict.fromkeys(later) if each.strip()),
            is_hidden=is_hidden,
            is_untold=is_untold,
        )
        return typed, kept


def _put_together(lines: list[str]) -> list[str]:
    if len(lines) < 2:
        return []
    text = "\n".join(lines)[-MAX_CHARS:]
    # Within quotes a backslash may stay, and an interpreter has its own mind about them.
    return [*_commands(text), *_commands(_CONTINUED.sub(r"\1", text))]


def _commands(line: str) -> list[str]:
    """As a shell would read it, and as if an interpreter were given it: the scan reads code of any language alike."""
    if _CODE.search(line) or sql_is_destructive(line):
        return [line, f"python3 -c {quote(line)}"]
    return [line]


def ends_line(text: str) -> bool:
    return _ENDS.search(text) is not None


def _edited(text: str) -> str:
    kept: list[str] = []
    for char in _SEQUENCE.sub("", text):
        match char:
            case "\x7f" | "\x08":
                del kept[-1:]
            case "\x15" | "\x03":
                kept.clear()
            case _:
                kept.append(char)
    return "".join(each for each in kept if each.isprintable() or each == "\t")


def typed_text(operation: str, params: Any) -> str:
    """The characters in a call that writes input."""
    match operation:
        case "input.press":
            return "".join(_pressed(str(key)) for key in params.keys)
        case "input.paste":
            return str(params.text)
        case _:
            if params.encoding != "base64":
                return str(params.data)
            with suppress(ValueError):
                return b64decode(params.data).decode("utf-8", "replace")
            return ""  # the operation says so itself


def written_keys(operation: str, params: Any, session: Session) -> str:
    """The same as the terminal gets it: keys by their bytes, a paste with its marks."""
    with suppress(DuettyError):  # the operation says so itself
        match operation:
            case "input.press":
                return session.pressed(params.keys).decode("utf-8", "replace")
            case "input.paste":
                return session.pasted(params.text).decode("utf-8", "replace")
            case _:
                return typed_text(operation, params)
    return ""


_PASTED = re.compile(r"\x1b\[200~.*?(?:\x1b\[201~|\Z)", re.DOTALL)


def without_pastes(keys: str) -> str:
    """Where a line editor takes a paste for one: its line ends end nothing."""
    return _PASTED.sub(lambda found: _ENDS.sub(" ", found[0]), keys)


def _pressed(key: str) -> str:
    return key if len(key) == 1 else _KEYS.get(key.lower().replace("+", "-"), "")


def is_at_gate(session: Session) -> bool:
    """Whether what is typed now goes to a shell that asks before it runs it."""
    return session.gate is not None and session.phase in (
        Phase.PROMPT,
        Phase.INPUT,
        Phase.CONTINUATION,
        Phase.DONE,
    )
