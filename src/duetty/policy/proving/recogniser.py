r"""A strict recogniser of literal command lines: the only reader that may allow.

Text in, words out, or a reason why not. It knows a small language in which bash,
zsh, dash and fish agree (where one of them does not, it is left out of
`Line.shells`):

    line     = command { ("&&" | "||" | ";" | "|" | newline) command }
    command  = program { word | redirect } | "[[" { word } "]]"
    word     = { plain | 'quoted' | "quoted" | $'quoted' | escape | @{0} | * | ? }
    escape   = \ and a blank or a sign, no letter: bare; \" \$ \` \\ in "…"; \n \t \r \\ \' \" in $'…'
    redirect = [12&]>/dev/null | </dev/null | 2>&1 | 1>&2 | >&2

and comments of words to the end of a line. No variable, substitution, back-quote,
assignment, keyword, group, background job, here-document, brace, tilde or history
reference, and no escape that makes a control character or that one of them reads
otherwise. `[[ … ]]` is read as `[ … ]`, to which it is the same for whole words. What it
accepts is rebuilt from the words (`Line.canonical`), so that what was judged is
what runs. Linear in the text; bounded by bytes and words, never by a clock.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from duetty.policy.late_pattern import late_pattern
from duetty.policy.values import new
from duetty.shell import SHELL_KINDS

MAX_BYTES = 8192
"""A line of a person or an agent is shorter; the length is looked at before anything else."""

MAX_COMMANDS = 32
MAX_WORDS = 512
MAX_GLOBS = 16
MAX_GLOB_CHARS = 128
"""What each may find is compared with every secret's name, which takes its time."""

SHELLS = frozenset(kind.proven_as for kind in SHELL_KINDS if kind.proven_as)
"""The grammars that a line is proven for. Each word of it may take some of them away."""

RESERVED = frozenset(
    # bash and dash
    "if then else elif fi do done case esac while until for in function select time coproc"
    # zsh: keywords and words that change how the rest is read
    " repeat foreach end nocorrect noglob always builtin exec"
    # fish
    " and or not begin switch return break continue".split()
)

_PLAIN_WORD = "[A-Za-z0-9_./,:+@-][A-Za-z0-9_./,:=+@%-]*"
"""A word that no shell looks into. A leading `=` is a path in zsh, a leading `%` a process in fish."""

_PLAIN = late_pattern(_PLAIN_WORD)

_LITERAL = "[A-Za-z0-9_./,:=+@%*?~^-]"
_QUOTED = r"""(?: (?<=@)\{[A-Za-z0-9]+\} | '[^'\n]*' | "[^"$`\\!\n]*(?:\\[^!\n][^"$`\\!\n]*)*"
    | \$'[^'\\!\n]*(?:\\[ntr\\'"][^'\\!\n]*)*' | \\[] "'$`\\*?()[{}<>|&;\#~!.] )"""
"""Each piece begins with a sign that no literal run holds, so a word can be cut in one way only."""

_TOKEN = late_pattern(
    rf"""
      (?P<plain> [ \t]* (?P<text>{_PLAIN_WORD}) (?=[ \t\n;|]|\Z) )
    | (?P<blank>[ \t]+)
    | (?P<redirect> (?: (?:[12&]?>|[12]?>>|<)[ ]?/dev/null | 2>&1 | 1?>&2 ) (?=[ \t\n;|]|\Z) )
    | (?P<join> && | \|\|(?!\|) | \|(?![|&]) | ;(?![;&|]) )
    | (?P<newline>\n)
    | (?P<word> {_LITERAL}+ (?: {_QUOTED} {_LITERAL}* )* | (?: {_QUOTED} {_LITERAL}* )+ )
    | (?P<bracket> (?:\[\[?|\]\]?) (?=[ \t\n;]|\Z) | ! (?=[ \t]) )
    | (?P<comment> \#[^\n!;&|<>$`()\\]* (?=\n|\Z) )
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
"""`plain` is a word with the blanks before it, for most words are such; without any it begins a command."""

_PLAIN_FOUND, _TEXT, _BLANK, _REDIRECT, _JOIN, _NEWLINE, _WORD, _BRACKET, _COMMENT, _OTHER = range(
    1, 11
)

_PIECE = late_pattern(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|\$'((?:[^'\\]|\\.)*)'|([^'"\\$]+)""")
_IN_DOUBLE = late_pattern(r'\\(["$`\\])')
_IN_ANSI = late_pattern(r"\\(.)")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
"""No others: what is left makes control characters, or a letter that is not to be seen."""

_PROGRAM = late_pattern(r"(?:/(?:usr/)?bin/)?[A-Za-z0-9_][A-Za-z0-9_.+-]*|:")

_GLOB = late_pattern(r"(?:[A-Za-z0-9_./]|--[a-z][a-z-]*=)[A-Za-z0-9_./,:=+@%*?-]*")
"""What a glob finds begins as the word does, so it can become an operand and never an option."""

_REVISION = late_pattern(
    r"(?:[A-Za-z0-9_./@-]*[A-Za-z0-9_@])?(?:@\{[A-Za-z0-9]+\})?(?:[~^][0-9]*)*(?:\.\.\.?[A-Za-z0-9_./~^-]*)?"
)
"""`HEAD~2`, `main^`, `stash@{0}`: literal, but a zsh or fish may be set up to see patterns in them."""

_ODD = late_pattern(r"[^\t\n -~]")
_LATIN = late_pattern(r"[\t\n -~\u00a1-\u00ac\u00ae-\u024f]*")
"""Beyond ASCII only letters that look like nothing else, and only within quotes."""

_SIMPLE = late_pattern(rf"[A-Za-z0-9_][A-Za-z0-9_.+-]*(?: {_PLAIN_WORD}+)*")
"""One command of plain words: most lines, and read at once."""

_UNQUOTED_SAFE = late_pattern(r"[A-Za-z0-9_./,:=+@%-]+")


class Glob(str):
    """A word in which `*` and `?` stand for file names."""

    __slots__ = ()


class Command(NamedTuple):
    """A program and its words, as the shell will hand them over."""

    words: tuple[str, ...]
    redirects: tuple[str, ...] = ()


class Line(NamedTuple):
    """A command line that says the same to every shell in `shells`."""

    commands: tuple[Command, ...]
    joins: tuple[str, ...]
    """What stands between them: `&&`, `||`, `|` or `;`."""
    shells: frozenset[str]

    @property
    def argv(self) -> tuple[str, ...] | None:
        """The words, where no shell is needed to run them."""
        return lone_argv(self.commands)

    @property
    def canonical(self) -> str:
        """The line rebuilt from its words, for `bash --norc --noprofile -c`."""
        return rebuild(self.commands, self.joins)


class Unproven:
    """That a line is outside the language; the reason and the place are worked out on demand."""

    __slots__ = ("_found", "_text")

    def __init__(self, text: str, found: tuple[str, int] | None = None) -> None:
        self._text = text
        self._found = found

    def _worked_out(self) -> tuple[str, int]:
        if self._found is None:
            read = _read(self._text)
            assert not isinstance(read, Line)
            self._found = read
        return self._found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unproven) and self._worked_out() == other._worked_out()

    def __hash__(self) -> int:
        return hash(self._worked_out())

    def __repr__(self) -> str:
        return f"Unproven(why={self.why!r}, offset={self.offset})"

    @property
    def why(self) -> str:
        return self._worked_out()[0]

    @property
    def offset(self) -> int:
        return self._worked_out()[1]


def lone_argv(commands: tuple[Command, ...]) -> tuple[str, ...] | None:
    """The words of a command that stands alone and asks nothing of a shell."""
    only = commands[0]
    if len(commands) > 1 or only.redirects or any(type(word) is Glob for word in only.words):
        return None
    return only.words


def rebuild(commands: Iterable[Command], joins: Iterable[str]) -> str:
    parts: list[str] = []
    for command, join in zip(commands, ("", *joins), strict=True):
        if join:
            parts.append(join)
        words = command.words
        if words[0] == "[":
            closed = ["]"] if words[-1] == "]" else []
            parts += ["[", *map(quote, words[1 : len(words) - len(closed)]), *closed]
        else:
            parts += map(quote, words)
        parts += command.redirects
    return " ".join(parts)


def quote(word: str) -> str:
    """The word as every POSIX shell reads it back, and fish too."""
    if type(word) is Glob or (_PLAIN.fullmatch(word) and _UNQUOTED_SAFE.fullmatch(word)):
        return str(word)
    return "'" + word.replace("'", "'\"'\"'") + "'"


_NEVER = late_pattern(
    r"""(?: [^'"\\$`()\#!<>&~] | '[^'\n]*' | "[^"$`\\!\n]*" | && | (?:>>?|<)[ ]?/dev/null | >&[12] | &>[ ]?/dev/null )*
      (?: \$(?!') | [`()] | !(?![ \t]) | (?<=[^\s;|])\# | >> (?!&|[ ]?/dev/null) | > (?!>|&|[ ]?/dev/null) | < (?![ ]?/dev/null) | & (?![&>]) | (?<=[ ])~ )
      | [A-Za-z_]\w*=""",
    re.VERBOSE,
)
"""How a text begins that has something which the language has between quotes only, or nowhere."""


def recognise(text: str) -> Line | Unproven:
    """Total: every text gives one or the other."""
    if len(text) <= MAX_BYTES:
        simple = _SIMPLE.fullmatch(text)
        if simple is not None:
            words = tuple(text.split(" "))
            if words[0] not in RESERVED and len(words) <= MAX_WORDS:
                return new(Line, ((new(Command, (words, ())),), (), SHELLS))
        elif _NEVER.match(text):
            return Unproven(text)
    read = _read(text)
    return read if isinstance(read, Line) else Unproven(text, read)


def _read(text: str) -> Line | tuple[str, int]:
    """The line, or why it is none and where."""
    if len(text) > MAX_BYTES:
        return f"longer than {MAX_BYTES} bytes", MAX_BYTES
    # Printable ASCII holds nothing odd.
    if not (text.isascii() and text.isprintable()) and (found := _ODD.search(text)):
        if not _LATIN.fullmatch(text):
            return "a character that may look like something else", found.start()
        if len(text.encode()) > MAX_BYTES:
            return f"longer than {MAX_BYTES} bytes", MAX_BYTES
    return _Reading(text).line()


class _Reading:
    """One pass over the tokens of one text."""

    __slots__ = (
        "commands",
        "conditional",
        "globs",
        "joins",
        "pending",
        "redirects",
        "shells",
        "text",
        "words",
    )

    def __init__(self, text: str) -> None:
        self.text = text
        self.commands: list[Command] = []
        self.joins: list[str] = []
        self.words: list[str] = []
        self.redirects: list[str] = []
        self.pending = ""
        """A `&&`, `||` or `|` that still waits for its second command."""
        self.shells = SHELLS
        self.globs = 0
        self.conditional = False
        """Whether a `[[` still waits for its end: signs between mean something else there."""

    def line(self) -> Line | tuple[str, int]:
        glued = False
        """Whether a word or redirect ended right here, without a blank."""
        count = 0
        for token in _TOKEN.finditer(self.text):
            kind = token.lastindex
            if kind == _PLAIN_FOUND:
                count += 1
                glued = True
                if self.words and count <= MAX_WORDS:
                    self.words.append(token[_TEXT])
                    continue
                why = None if self.words else self._program(token[_TEXT])
            elif kind == _BLANK:
                glued = False
                continue
            elif kind in (_WORD, _BRACKET):
                count += 1
                why = "two words without a blank" if glued else self._word(token[0], kind)
                glued = True
            elif kind == _COMMENT:
                why = "a sign that begins no comment" if glued else None
                self.shells -= {"zsh"}  # at a prompt it knows none
            else:
                why = self._between(token, kind, glued)
                glued = kind == _REDIRECT
            if why or count > MAX_WORDS or len(self.commands) > MAX_COMMANDS:
                offset = token.start(_TEXT if kind == _PLAIN_FOUND else 0)
                return why or "too many words or commands", offset
        return self._end()

    def _between(self, token: "re.Match[str]", kind: int | None, glued: bool) -> str | None:
        """Parts that are no words: joins, line ends, redirections, and anything not literal."""
        if self.conditional:
            return f"{token[0]!r} within [["
        if kind == _JOIN:
            return self._join(token[0])
        if kind == _NEWLINE:
            return self._newline()
        if kind == _REDIRECT:
            return "a redirection without a blank" if glued else self._redirect(token[0])
        return self._not_literal(token[0], token.start())

    def _not_literal(self, sign: str, offset: int) -> str:
        if sign in ("'", '"'):
            end = self.text.find(sign, offset + 1)
            if end < 0:
                return "a quote that is not closed"
            if "\n" in self.text[offset:end]:
                return "a line end within quotes"
        return f"{sign!r} is not literal"

    def _word(self, raw: str, kind: int) -> str | None:
        if kind == _BRACKET:
            return self._bracket(raw)
        if not self.words:
            return self._program(raw)
        first = raw[0]
        if first in "'\"" and raw[-1] == first and raw.count(first) == 2:
            # One pair of quotes around it all: most that have any.
            word = raw[1:-1]
            if "\\" in word:
                word = self._checked_for_fish(word) if first == "'" else self._double(word)
            self.words.append(word)
            return None
        if _PLAIN.fullmatch(raw):
            self.words.append(raw)
            return None
        if "'" in raw or '"' in raw or "\\" in raw:
            return self._quoted(raw)
        return self._glob(raw) if "*" in raw or "?" in raw else self._sign(raw)

    def _glob(self, raw: str) -> str | None:
        if not _GLOB.fullmatch(raw) or "**" in raw:
            return "a glob that may become an option or another program's pattern"
        self.globs += 1
        if self.globs > MAX_GLOBS or len(raw) > MAX_GLOB_CHARS:
            return "too many globs, or too long a one"
        self.words.append(Glob(raw))
        return None

    def _sign(self, raw: str) -> str | None:
        """A word with a sign that some shell may be set up to expand."""
        if raw[0] not in "~^" and _REVISION.fullmatch(raw):
            self.shells -= {"zsh", "fish"} if "{" in raw else {"zsh"}
            self.words.append(raw)
            return None
        if raw in ("=", "=="):
            if raw == "==" and not self.conditional:
                self.shells -= {"zsh"}  # where the program `=` is
            self.words.append(raw)
            return None
        if raw[0] == "%" and _UNQUOTED_SAFE.fullmatch(raw):
            self.shells -= {"fish"}  # %self is a process there
            self.words.append(raw)
            return None
        return f"{raw[0]!r} where a shell may expand it"

    def _program(self, raw: str) -> str | None:
        if self.redirects:
            return "a redirection before the program"
        # Most names are letters and figures.
        if not (raw.isalnum() and raw.isascii()) and not _PROGRAM.fullmatch(raw):
            return "the program's name is not plain"
        if raw in RESERVED:
            return f"{raw!r} is a word of the shell's own grammar"
        self.words.append(raw)
        return None

    def _bracket(self, raw: str) -> str | None:
        if raw == "!":  # before a blank no shell looks for history
            self.words.append(raw)
            return None if len(self.words) > 1 else "'!' before a program"
        if (raw in ("[", "[[")) != (not self.words) or (raw == "]" and self.words[0] != "["):
            return f"{raw!r} is not literal"
        if len(raw) == 1:
            self.words.append(raw)
            return None
        if raw == "[[":
            self.shells -= {"dash", "fish"}
        elif not self.conditional or any(type(word) is Glob for word in self.words):
            return f"{raw!r} is not literal, or what is before it a pattern"
        self.conditional = raw == "[["
        self.words.append(raw[0])
        return None

    def _quoted(self, raw: str) -> str | None:
        word = ""
        was_single = False
        for piece in _PIECE.finditer(raw):
            single, double, escaped, ansi, bare = piece.groups()
            if single is not None:
                if was_single:
                    self.shells -= {"zsh"}  # RC_QUOTES makes '' an apostrophe
                word += self._checked_for_fish(single)
            elif bare is not None:
                if not _UNQUOTED_SAFE.fullmatch(bare) or (not word and bare[0] in "=%"):
                    return "a quoted word with something unquoted that a shell may expand"
                word += bare
            elif double is not None:
                word += self._double(double)
            elif escaped is not None:
                word += escaped
            else:
                self.shells -= {"dash", "fish"}
                word += _IN_ANSI.sub(lambda found: _ANSI[found[1]], ansi)
            was_single = single is not None
        self.words.append(self._checked_for_fish(word))
        return None

    def _checked_for_fish(self, word: str) -> str:
        """It is rebuilt between single quotes, within which fish knows some escapes."""
        if "\\" in word and ("\\\\" in word or "\\'" in word or word[-1] == "\\"):
            self.shells -= {"fish"}
        return word

    def _double(self, text: str) -> str:
        if "\\`" in text:
            self.shells -= {"fish"}  # no escape there
        return self._checked_for_fish(_IN_DOUBLE.sub(r"\1", text))

    def _redirect(self, raw: str) -> str | None:
        if not self.words:
            return "a redirection before the program"
        if raw[0] == "&":
            self.shells -= {"dash"}  # a background job there
        self.redirects.append(raw.replace(" ", ""))
        return None

    def _join(self, raw: str) -> str | None:
        if not self._close():
            return f"{raw!r} without a command before it"
        self.joins.append(raw)
        self.pending = "" if raw == ";" else raw
        return None

    def _newline(self) -> str | None:
        if self._close():
            self.joins.append(";")
        elif self.pending:
            return f"{self.pending!r} at the end of a line"
        return None

    def _close(self) -> bool:
        if not self.words:
            return False
        both = tuple(self.words), tuple(self.redirects)
        self.commands.append(new(Command, both))
        self.words = []
        self.redirects = []
        self.pending = ""
        return True

    def _end(self) -> Line | tuple[str, int]:
        if self.conditional:
            return "[[ without its end", len(self.text)
        if not self._close():
            if self.pending:
                return f"nothing after {self.pending!r}", len(self.text)
            if not self.commands:
                return "no command", 0
            self.joins.pop()
        if len(self.commands) > MAX_COMMANDS:
            return "too many words or commands", len(self.text)
        return new(Line, (tuple(self.commands), tuple(self.joins), self.shells))
