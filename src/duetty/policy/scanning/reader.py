"""Any text as a POSIX shell would read it: its simple commands, wherever they stand.

Total, and linear in the text. What is data stays data: the body of a here-document is kept
for the program that reads it, and of an unquoted one only the substitutions are commands. Nothing is
traced but variables that the same line sets to a literal.
"""

import re
from collections.abc import Callable, Sequence, Set

from duetty.policy.late_pattern import late_pattern
from duetty.policy.scanning.findings import GIVEN, PIPED, UNKNOWN, Reading, Simple, program_name
from duetty.policy.scanning.places import TEMPORARY

MAX_CODE = 8192
"""Of code, not of data: what stands between quotes or in a here-document does not count."""

MAX_DEPTH = 16
MAX_VALUE = 512
"""Of a variable: what is put together in a loop of doublings is no word any more."""

MAX_BRACED = 64
"""Words that braces may make of one."""

WORD, REDIRECT, OPERATOR, END = range(4)

_NEXT = late_pattern(
    r"""(?:[ \t]|\\\n)*
    (?: ([A-Za-z0-9_./,:=+@%^~!*?\[\]-]+) (?=[ \t\n;|&)]|\Z)
      | ([0-9]*(?: &>>? | <<< | <<-? | <> | <& | >> | >\| | >& | [<>](?!\() ))
      | (\n | && | \|\| | ;;& | ;; | ;& | ; | \|& | \| | & | \( | \) )
      | (\#[^\n]*) )?""",
    re.VERBOSE,
)
_PLAIN, _REDIRECT, _OPERATOR, _COMMENT = range(1, 5)

_PIECE = late_pattern(
    r"""([^ \t\n'"\\$`;&|<>()]+) | '([^']*)' | "([^"\\$`]*)" | \\\n | \\(.) | (\$?") | \$'((?:[^'\\]|\\.)*)'
      | (\$) | (`) | ([<>]\() | (['\\])""",
    re.VERBOSE | re.DOTALL,
)
_RUN, _SINGLE, _DOUBLE, _ESCAPED, _OPENS, _ANSI, _DOLLAR, _TICK, _PROCESS, _UNCLOSED = range(1, 11)

_IN_DOUBLE = late_pattern(r"""([^"\\$`]+)|\\(["$`\\\n])|(\\)|(")|(\$)|(`)""")
_IN_BRACES = late_pattern(
    r"""([^"\\$`}<>]+|[<>](?!\())|\\(.)|([<>]\()|(\})|(\$)|(`)|(")""", re.DOTALL
)
_VARIABLE = late_pattern(r"([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\}|([0-9@*#?$!-])|(\((?=\())|(\()|(\{)")
_ARITHMETIC = late_pattern(r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)\)")
_BACKQUOTED = late_pattern(r"((?:[^`\\]|\\.)*)`", re.DOTALL)
_ASSIGNED = late_pattern(r"([A-Za-z_]\w*)(\[[^]\s]*\])?(\+?)=")
_EMPTY_PARENTHESES = late_pattern(r"[ \t]*\)")
_PLAIN_NAME = late_pattern(r"[A-Za-z0-9_][\w-]*(?:[./][\w-]+)*")
_PATTERN_LIST = late_pattern(r"\([^()\n]*\)")
_BRACES = late_pattern(r"\{([^{}]*,[^{}]*)\}|\{(\w+)\.\.(\w+)\}")

ODD = late_pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\u2800\u3000\u3164\ud800-\udfff\ufeff\uff01-\uff5e\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Controls, blanks that are not blanks, invisible and bidirectional marks, full-width twins of ASCII."""

_ESCAPE = late_pattern(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL
)
_LETTERS = dict(zip("ntreEabfv", "\n\t\r\x1b\x1b\a\b\f\v", strict=True))

_SKIPPED = frozenset(["then", "do", "else", "elif", "!"])
_OPENING = frozenset(["{", "if", "while", "until"])
_CLOSING = frozenset(["}", "fi", "done", "esac"])
_HEADED = frozenset(["for", "select", "foreach", "case", "function"])
_RESERVED = _SKIPPED | _OPENING | _CLOSING | _HEADED | {"[["}
_BEFORE_GROUP = (["time"], ["time", "-p"], ["coproc"], ["exec"])
DECLARING = frozenset(["export", "declare", "typeset", "local", "readonly", "set", "env"])
_FINDERS = frozenset(["which", "command", "type", "whence"])
_KNOWN = {"HOME": "~", "PWD": ".", "IFS": " ", "TMPDIR": f"{TEMPORARY}/own"}


class UnreadableError(Exception):
    """The rest of the text cannot be read, and why."""


class Frame:
    """One list of commands: a whole text, or what stands in one substitution."""

    __slots__ = ("closed", "feed", "given", "groups", "header", "outer", "pattern", "simple")

    def __init__(self, scope: int, outer: "Frame | None") -> None:
        self.outer = outer
        self.simple = Simple(scope=scope)
        self.feed: list[Simple] = []
        """Commands before a `|`."""
        self.given: list[Simple] = []
        """What is piped into the group at hand."""
        self.groups: list[tuple[str, int, list[Simple], list[Simple], int]] = []
        self.closed: list[Simple] | None = None
        """The commands of a group that has just ended."""
        self.header = ""
        """`for`, `case` or `function`, while the words behind it are read."""
        self.pattern = False
        """Whether a pattern of `case` is read."""


def decode_ansi(text: str) -> str:
    """The inside of `$'…'`."""

    def char(found: "re.Match[str]") -> str:
        digits = found[1] or found[2] or found[3]
        if digits or found[4]:
            code = int(digits, 16) if digits else int(found[4], 8)
            return chr(code) if code < 0x110000 else UNKNOWN
        return _LETTERS.get(found[5], found[5])

    return _ESCAPE.sub(char, text)


class Reader:
    """Reads one text. Subclasses read it as another shell does."""

    reserved = _RESERVED
    tokens = _NEXT
    pieces = _PIECE
    in_double = _IN_DOUBLE
    looped: Set[str] = frozenset()

    def __init__(self, text: str) -> None:
        self.reading = Reading()
        self.commands = self.reading.commands
        self.text = text
        self.pos: int = 0
        self.data: int = 0
        """How much before the position was data."""
        self.start = self.depth = self.scope = 0
        self.frame: Frame | None = None
        self.variables = dict(_KNOWN)
        self.splits_so = True
        """Whether values are split at blanks: not where the line sets IFS."""
        self.quoted = self.split = False
        """Of the last word: whether some of it was quoted, and whether its value makes several."""
        self.many: list[str] | None = None
        self.inner: list[Simple] = []
        """Commands in the substitutions of the words since a command was given them."""
        self.awaited: list[tuple[list[Simple], str, bool, bool]] = []
        """Here-documents that begin at the next line."""

    def read(self) -> Reading:
        try:
            self._list("")
        except UnreadableError as error:
            self.reading.unreadable.append(str(error))
            while self.frame is not None:
                frame, self.frame = self.frame, self.frame.outer
                if frame.simple.words or frame.simple.redirects:
                    self.commands.append(frame.simple)
        return self.reading

    # --- lists of commands ------------------------------------------------------------

    def _list(self, end: str, given: Sequence[Simple] = ()) -> None:
        self._deeper()
        frame = self.frame = Frame(self.scope, self.frame)
        frame.given = [*given]
        while True:
            kind, text = self._next()
            if kind == WORD:
                self._on_word(frame, text)
            elif kind == OPERATOR:
                if text == ")" and end and not frame.pattern and not _is_in_subshell(frame):
                    break
                self._on_operator(frame, text)
            elif kind == REDIRECT:
                self._on_redirect(frame, text)
            elif end:
                raise UnreadableError("a parenthesis that is not closed")
            else:
                break
        self._end_command(frame, "")
        if self.awaited and not end:
            self._here_documents()
        self.frame = frame.outer
        self.depth -= 1

    def _deeper(self) -> None:
        if self.depth >= MAX_DEPTH:
            raise UnreadableError("nested too deeply")
        self.depth += 1

    def _on_word(self, frame: Frame, text: str) -> None:
        if frame.pattern:
            if text == "esac":
                frame.pattern = False
                self._close(frame)
            return
        if frame.closed is not None:
            self._end_command(frame, ";")
        simple = frame.simple
        if not simple.words and not frame.header:
            if text in self.reserved and not self.quoted and not simple.assigned:
                self._reserved(frame, text)
                return
            if "=" in text and self._assigns(simple, text):
                return
        elif text == "{" and simple.words[-1:] == ["]]"]:
            self._end_command(frame, ";")  # zsh: if [[ … ]] { … }
            self._open(frame, text)
            return
        if "$" in text and simple.words == ["trap"]:
            text = self._within(text, self._to_end)  # its variables are those of this text
        if self.inner:
            simple.inner += self.inner
            self.inner = []
        if self.many is not None:
            simple.words += self.many
            self.many = None
        else:
            simple.words.append(text)
        if frame.header:
            self._headed(frame)

    def _reserved(self, frame: Frame, text: str) -> None:
        if text in _OPENING:
            self._open(frame, text)
        elif text in _CLOSING:
            self._end_command(frame, ";")
            self._close(frame)
        elif text in _HEADED:
            frame.header = text
            if text != "function":
                self._open(frame, text)
        elif text == "[[":
            self._condition(frame.simple)

    def _headed(self, frame: Frame) -> None:
        """The words of `for NAME in …`, `case WORD in`, `function NAME`."""
        words = frame.simple.words
        if frame.header == "function":
            self.reading.functions.add(words[0])
        elif frame.header == "case" and words[-1] == "in" and len(words) > 1:
            frame.pattern = True
        else:
            return
        self._drop(frame)

    def _drop(self, frame: Frame) -> None:
        """Leave a header out; what it substitutes was read already."""
        words = frame.simple.words
        if frame.header in ("for", "select", "foreach") and words:
            items = words[2:]
            # To delete files of one's own, one is as good as all.
            plain = len(items) > 1 and all(map(_PLAIN_NAME.fullmatch, items))
            self.variables[words[0]] = items[0] if plain or len(items) == 1 else UNKNOWN
            self.looped = {*self.looped, words[0]} if plain else self.looped - {words[0]}
        frame.header = ""
        frame.simple = Simple(scope=self.scope)

    def _condition(self, simple: Simple) -> None:
        simple.words.append("[[")
        while True:
            kind, text = self._next()
            if kind == END:
                raise UnreadableError("a condition that is not closed")
            if kind == WORD:
                simple.words.append(text)
                if text == "]]":
                    simple.inner += self.inner
                    self.inner, self.many = [], None
                    return

    def _assigns(self, simple: Simple, text: str) -> bool:
        found = _ASSIGNED.match(self.text, self.start)
        if found is None:
            return False
        value = text.partition("=")[2]
        simple.assigned.append((found[1], UNKNOWN if found[2] or found[3] else value))
        simple.inner += self.inner
        self.inner, self.many = [], None
        return True

    def _on_operator(self, frame: Frame, sign: str) -> None:
        if sign == "(":
            self._parenthesis(frame)
        elif sign == ")":
            if frame.pattern:
                frame.pattern = False
            elif _is_in_subshell(frame):
                self._end_command(frame, ";")
                while frame.groups and frame.groups[-1][0] != "(":
                    self._close(frame)
                self._close(frame)
            else:
                raise UnreadableError("a parenthesis where no shell expects one")
        elif frame.pattern:
            return
        else:
            self._end_command(frame, sign)
            if sign[:2] in (";;", ";&"):
                frame.pattern = any(kind == "case" for kind, *_ in frame.groups)
            elif sign == "\n" and self.awaited:
                self._here_documents()

    def _parenthesis(self, frame: Frame) -> None:
        simple = frame.simple
        if frame.pattern:
            return
        if self.text[self.pos : self.pos + 1] == "(" and (not simple.words or frame.header):
            found = _ARITHMETIC.match(self.text, self.pos)
            if found is not None:
                self.pos = found.end()
                self._within(found[1], self._to_end)
                return
        if simple.words and simple.words not in _BEFORE_GROUP:
            empty = _EMPTY_PARENTHESES.match(self.text, self.pos)
            if empty is None or len(simple.words) > 1:
                raise UnreadableError("a parenthesis where no shell expects one")
            self.reading.functions.add(simple.words[0])
            self.pos = empty.end()
            frame.simple = Simple(scope=self.scope)
            return
        if frame.header == "" and (
            empty := _EMPTY_PARENTHESES.match(self.text, self.pos)
        ):  # function f ()
            self.pos = empty.end()
            return
        self._open(frame, "(")

    def _open(self, frame: Frame, kind: str) -> None:
        frame.groups.append((kind, len(self.commands), frame.given, frame.feed, self.scope))
        frame.given, frame.feed = frame.feed or frame.given, []
        if kind == "(":
            self._new_scope()
        frame.simple = Simple(scope=self.scope)

    def _close(self, frame: Frame) -> None:
        if frame.groups:
            _, start, frame.given, frame.feed, self.scope = frame.groups.pop()
            frame.closed = self.commands[start:]
            frame.simple = Simple(scope=self.scope)

    def _new_scope(self) -> None:
        parents = self.reading.parents
        parents.append(self.scope)
        self.scope = len(parents) - 1

    def _on_redirect(self, frame: Frame, sign: str) -> None:
        sign = sign.lstrip("0123456789")
        kind, text = self._next()
        if kind != WORD:
            raise UnreadableError("a redirection to nothing")
        simple = frame.simple
        simple.inner += self.inner
        self.inner, self.many = [], None
        targets = [simple]
        if frame.closed:
            targets += [each for each in frame.closed if not each.producers]
        if sign in ("<<", "<<-"):
            self.awaited.append((targets, text, self.quoted, sign == "<<-"))
        elif sign == "<<<":
            for each in targets:
                each.bodies.append(text)
        else:
            simple.redirects.append((sign, text))

    def _end_command(self, frame: Frame, sign: str) -> None:
        if frame.header:
            self._drop(frame)
            return
        simple, closed = frame.simple, frame.closed
        frame.closed = None
        ended = closed or []
        if simple.words or simple.assigned or simple.redirects or simple.bodies:
            if closed is None:
                simple.producers = frame.feed or frame.given
            self.commands.append(simple)
            self._remember(simple)
            frame.simple = Simple(scope=self.scope)
            ended = [*ended, simple]
        if sign in ("|", "|&"):
            frame.feed = [*frame.feed, *ended]
        elif frame.feed:
            frame.feed = []
        self._bounded()

    def _bounded(self) -> None:
        if self.pos - self.data > MAX_CODE:
            raise UnreadableError(f"longer than {MAX_CODE} bytes of code")

    def _remember(self, simple: Simple) -> None:
        """Variables that the line sets to a literal; of the others nothing is known."""
        if not self.splits_so:
            self.variables = {}
            return
        if not simple.words:
            for name, value in simple.assigned:
                self.variables[name] = value if len(value) <= MAX_VALUE else UNKNOWN
            self.splits_so = self.splits_so and "IFS" not in dict(simple.assigned)
        elif simple.words[0] in DECLARING:
            for word in simple.words[1:]:
                name, sign, value = word.partition("=")
                if sign:
                    self.variables[name] = value
        elif simple.words[0] in ("read", "unset", "mapfile", "readarray"):
            for word in simple.words[1:]:
                self.variables[word] = UNKNOWN

    # --- here-documents -----------------------------------------------------------------

    def _here_documents(self) -> None:
        awaited, self.awaited = self.awaited, []
        for targets, delimiter, quoted, strips in awaited:
            body = self._body(delimiter, strips)
            if not quoted and ("$" in body or "`" in body):
                outer, self.inner = self.inner, []
                body = self._within(body, self._to_end)
                targets[0].inner += self.inner
                self.inner = outer
            for each in targets:
                each.bodies.append(body)

    def _body(self, delimiter: str, strips: bool) -> str:
        text, begin = self.text, self.pos
        while self.pos < len(text):
            start = self.pos
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            self.pos = end + 1
            line = text[start:end]
            if (line.lstrip("\t") if strips else line) == delimiter:
                break
        else:
            start = len(text)
        self.pos = min(self.pos, len(text))
        self.data += self.pos - begin
        return text[begin:start]

    # --- words ------------------------------------------------------------------------

    def _next(self) -> tuple[int, str]:
        text = self.text
        while True:
            found = self.tokens.match(text, self.pos)
            assert found is not None
            kind = found.lastindex
            self.pos = found.end()
            if kind == _PLAIN:
                self.start = found.start(_PLAIN)
                self.quoted = False
                return WORD, found[_PLAIN]
            if kind == _OPERATOR:
                return OPERATOR, found[_OPERATOR]
            if kind == _REDIRECT:
                return REDIRECT, found[_REDIRECT]
            if kind == _COMMENT:
                self.data += len(found[_COMMENT])
                continue
            if self.pos >= len(text):
                return END, ""
            return WORD, self._word()

    def _word(self) -> str:
        text = self.text
        self.start = self.pos
        self.quoted = self.split = False
        start, is_braced = self.pos, False
        parts: list[str] = []
        quoted = split = False
        while (piece := self.pieces.match(text, self.pos)) is not None:
            self.pos = piece.end()
            if piece.lastindex == _RUN:
                run = piece[_RUN]
                if not run.isascii() or not run.isprintable():
                    self._odd(run)
                parts.append(run)
                is_braced = is_braced or "{" in run
            else:
                self.quoted = self.split = False
                parts.append(self._special(piece))
                quoted, split = quoted or self.quoted, split or self.split
            if text[self.pos : self.pos + 1] == "(" and not self._pattern_list(parts):
                break
            self._bounded()
        self.start, self.quoted, self.split = start, quoted, split
        if self.pos == start:
            self.pos += 1  # a sign that stands nowhere
        word = "".join(parts)
        if (split and len(made := word.split()) != 1) or (
            is_braced and (made := _expand_braces(word)) is not None
        ):
            self.many = made
        return word

    def _odd(self, run: str) -> None:
        if found := ODD.search(run):
            self.reading.unreadable.append(
                f"holds U+{ord(found[0]):04X}, which does not show as it runs"
            )

    def _special(self, piece: "re.Match[str]") -> str:
        kind = piece.lastindex
        if kind == _DOLLAR:
            return self._expansion(quoted=False)
        if kind == _PROCESS:
            writer = self.frame.simple if self.frame is not None and piece[0] == ">(" else None
            self._substitution(quoted=True, writer=writer)
            return PIPED
        if kind == _TICK:
            return self._backquoted(quoted=False)
        if kind == _UNCLOSED:
            raise UnreadableError("a quote that is not closed")
        if kind is None:
            return ""  # a line that goes on
        if kind == _OPENS:
            return self._double()
        self.quoted = True
        self.data += len(piece[0])
        return decode_ansi(piece[kind]) if kind == _ANSI else piece[kind]

    def _pattern_list(self, parts: list[str]) -> bool:
        """`a=(…)`, `!(a|b)`: what a parenthesis right behind a word may be."""
        last = parts[-1][-1:] if parts else ""
        if last == "=" and len(parts) == 1:
            self._deeper()
            self.pos += 1
            while (token := self._next()) != (OPERATOR, ")"):
                if token[0] == END:
                    raise UnreadableError("a parenthesis that is not closed")
            self.many = None
            self.depth -= 1
            parts.append(UNKNOWN)
            return True
        if last in ("?", "*", "+", "@", "!") and (
            found := _PATTERN_LIST.match(self.text, self.pos)
        ):
            self.pos = found.end()
            parts[-1] = parts[-1][:-1] + "*"
            return True
        return False

    def _double(self) -> str:
        begin, already = self.pos, self.data
        text = self._quoted_text(to_end=False)
        self.quoted = True
        self.data = already + max(self.pos - begin, 0)
        return text

    def _to_end(self) -> str:
        return self._quoted_text(to_end=True)

    def _quoted_text(self, *, to_end: bool) -> str:
        parts: list[str] = []
        while (piece := self.in_double.match(self.text, self.pos)) is not None:
            self.pos = piece.end()
            kind = piece.lastindex
            if kind == 4 and not to_end:
                return "".join(parts)
            if kind == 5:
                parts.append(self._expansion(quoted=True))
            elif kind == 6:
                parts.append(self._backquoted(quoted=True))
            elif kind == 2:
                parts.append(piece[2].replace("\n", ""))
            else:
                parts.append(piece[0])
        if not to_end:
            raise UnreadableError("a quote that is not closed")
        return "".join(parts)

    # --- expansions and substitutions ----------------------------------------------------

    def _expansion(self, *, quoted: bool) -> str:
        found = _VARIABLE.match(self.text, self.pos)
        if found is None:
            return "$"
        self.pos = found.end()
        kind = found.lastindex
        if kind in (1, 2):
            value = self.variables.get(found[kind], UNKNOWN)
            is_unset = value == UNKNOWN and self.reading.functions
            if is_unset and f"{found[kind]}=$(mktemp" in self.text:  # behind the function
                value = f"{TEMPORARY}/mktemp"
            frame = self.frame
            if found[kind] in self.looped and (not frame or frame.simple.words[:1] != ["rm"]):
                return UNKNOWN
            if not quoted and (" " in value or not value):
                self.split = True
            return value
        if kind == 3:
            return GIVEN if found[3] == "@" and self.reading.functions else UNKNOWN
        if kind == 4:
            counted = _ARITHMETIC.match(self.text, self.pos)
            if counted is not None:
                self.pos = counted.end()
                self._within(counted[1], self._to_end)
                return UNKNOWN
        if kind == 6:
            return self._braced()
        return self._substitution(quoted=quoted)

    def _braced(self) -> str:
        """`${x:-…}` and its like: what it substitutes is read, its value is not known."""
        self._deeper()
        kind = 0
        while kind != 4:
            piece = _IN_BRACES.match(self.text, self.pos)
            if piece is None:
                raise UnreadableError("a brace that is not closed")
            self.pos = piece.end()
            kind = piece.lastindex
            if kind == 3:
                self._substitution(quoted=True)
            elif kind == 5:
                self._expansion(quoted=True)
            elif kind == 6:
                self._backquoted(quoted=True)
            elif kind == 7:
                self._double()
        self.depth -= 1
        return UNKNOWN

    def _backquoted(self, *, quoted: bool) -> str:
        found = _BACKQUOTED.match(self.text, self.pos)
        if found is None:
            raise UnreadableError("a back-quote that is not closed")
        self.pos = found.end()
        text = re.sub(r"\\([`$\\])", r"\1", found[1])
        return self._within(text, lambda: self._substitution(quoted=quoted, end=""))

    def _within(self, text: str, read: Callable[[], str]) -> str:
        """Read a part of the text that has been cut out."""
        kept = self.text, self.pos, self.data, self.awaited
        self.text, self.pos, self.data, self.awaited = text, 0, 0, []
        found = read()
        self.text, self.pos, self.data, self.awaited = kept
        return found

    def _substitution(self, *, quoted: bool, end: str = ")", writer: Simple | None = None) -> str:
        start, scope, outer = len(self.commands), self.scope, self.inner
        kept = self.quoted, self.split, self.many
        self.inner = []
        self._new_scope()
        self._list(end, [writer] if writer else [])
        self.scope = scope
        inner = self.commands[start:]
        self.inner = outer + inner
        self.quoted, self.split, self.many = kept
        value = _printed(inner)
        if not quoted and " " in value:
            self.split = True
        return value


def _is_in_subshell(frame: Frame) -> bool:
    return any(kind == "(" for kind, *_ in frame.groups)


def _printed(commands: Sequence[Simple]) -> str:
    """What a substitution becomes, where that is plain."""
    if len(commands) != 1 or commands[0].redirects or not commands[0].words:
        return UNKNOWN
    name, *words = commands[0].words
    name = program_name(name)
    if name == "echo":
        return " ".join(word for word in words if word not in ("-n", "-e", "-ne", "-en"))
    if name == "pwd":
        return "."
    if name == "mktemp":
        return next((word for word in words if word[:1] in "/.~"), f"{TEMPORARY}/mktemp")
    operands = [word for word in words if word[:1] != "-"]
    if name in _FINDERS and len(operands) == 1:
        return operands[0]  # where a program is: as good as its name
    return UNKNOWN


def _expand_braces(word: str) -> list[str] | None:
    """`{a,b}` and `{1..9}`: each word that it makes; None where it makes no other."""
    words = [word]
    for _ in range(4):
        made: list[str] = []
        for each in words:
            found = _BRACES.search(each)
            if found is None:
                made.append(each)
                continue
            parts = found[1].split(",") if found[1] is not None else [found[2], found[3]]
            made += [each[: found.start()] + part + each[found.end() :] for part in parts]
            if len(made) > MAX_BRACED:
                return [word]
        if made == words:
            break
        words = made
    return words if len(words) > 1 or words[0] != word else None


def read(text: str) -> Reading:
    return Reader(text).read()
