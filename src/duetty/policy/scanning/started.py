"""Processes that code on the command line starts: is what they run written there?

Plain literals, and such that are only put one behind the other, are read as the commands
that they are. Whatever else a process is started with (a variable, an input line, a
text that is changed on the way) is only known when it runs, and that is said.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from duetty.policy.scanning.wrappers import SHELLS, WRAPPERS


class Started(NamedTuple):
    commands: tuple[str, ...] = ()
    """What is started, where it is written, with its words joined by blanks."""
    unknown: bool = False
    """Whether something is started that is only known when it runs."""
    assembled: bool = False
    """Whether that is, or may be, made of pieces that are written."""
    joined: str = ""
    """The code with literals that stand one behind the other as one; empty where none do."""


NOTHING = Started()

_LANGUAGES = (
    (re.compile(r"(?:python|pypy)[0-9.]*"), "python"),
    (re.compile(r"perl[0-9.]*"), "perl"),
    (re.compile(r"ruby[0-9.]*|irb"), "ruby"),
    (re.compile(r"node|nodejs|bun|deno"), "js"),
    (re.compile(r"php[0-9.]*"), "php"),
    (re.compile(r"lua[0-9.]*|luajit"), "lua"),
    (re.compile(r"[gmn]?awk|original-awk"), "awk"),
)


@cache
def language_of(program: str) -> str:
    """Of an interpreter, by its name; empty for one whose calls are not known here."""
    return next((name for names, name in _LANGUAGES if names.fullmatch(program)), "")


_PLAIN, _FILLED = "\x01", "\x02"
"""Stand for a literal, and for one into which the language puts a value."""

_DOUBLE = r'"(?:[^"\\]|\\.)*"'
_SINGLE = r"'(?:[^'\\]|\\.)*'"
_BACK = r"`(?:[^`\\]|\\.)*`"
_REGEX = (
    r"(?:\A|(?<=[(,~!&|{};\n])|\b(?:if|unless|and|or|not|split|grep|while|until|when)\b)"
    r"\s*/(?:[^/\\\n]|\\.)+/"
)
"""Where no number can stand before it, which it would divide."""
_SHARP = r"(?:^|(?<=[\s;{}]))\#[^\n]*"
_SLASHES = r"(?:^|(?<=[\s;{}]))//[^\n]*"
_QX = r"\b(?:qx|q|qq)\s*(?:\{[^}]*\}|\([^)]*\)|\[[^\]]*\]|/[^/]*/|![^!]*!|\|[^|]*\|)"
_PERCENT = r"%[xqQ]?(?:\{[^}]*\}|\([^)]*\)|\[[^\]]*\]|![^!]*!)"

_TOKENS = {
    language: re.compile("|".join(parts), re.DOTALL)
    for language, parts in {
        "python": (
            _SHARP,
            r'[a-zA-Z]{0,2}"""(?:[^\\]|\\.)*?"""',
            r"[a-zA-Z]{0,2}'''(?:[^\\]|\\.)*?'''",
            rf"\b[a-zA-Z]{{0,2}}{_DOUBLE}|{_DOUBLE}",
            rf"\b[a-zA-Z]{{0,2}}{_SINGLE}|{_SINGLE}",
        ),
        "perl": (_SHARP, _QX, _DOUBLE, _SINGLE, _BACK, _REGEX),
        "ruby": (_SHARP, _PERCENT, _DOUBLE, _SINGLE, _BACK, _REGEX),
        "js": (_SLASHES, _DOUBLE, _SINGLE, _BACK),
        "php": (_SHARP, _SLASHES, _DOUBLE, _SINGLE, _BACK),
        "lua": (r"--[^\n]*", r"\[\[.*?\]\]", _DOUBLE, _SINGLE),
        "awk": (_SHARP, _DOUBLE, _REGEX),
    }.items()
}

_FILLS = {
    "perl": re.compile(r"(?<!\\)[$@][\w{:]"),
    "ruby": re.compile(r"(?<!\\)#[{@$]"),
    "php": re.compile(r"(?<!\\)\$[\w{]|\{\$"),
    "js": re.compile(r"(?<!\\)\$\{"),
}
"""How a language puts values into a literal; Python's says so before it."""

_STARTS = {
    "python": r"\b(?:system|popen|exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?|startfile|getoutput|getstatusoutput|check_output|check_call|Popen"
    r"|create_subprocess_(?:shell|exec)|pty\s*\.\s*spawn|subprocess\s*\.\s*(?:run|call))\b",
    "perl": r"(?<![\w$@%>:-])(?:CORE::)?(?:system|exec)\b",
    "ruby": r"\b(?:system|exec|spawn|popen\w*|Open3\s*\.\s*\w+)\b",
    "php": r"(?<![$>])\b(?:system|exec|shell_exec|passthru|popen|proc_open|pcntl_exec)\b",
    "js": r"\b(?:exec|execSync|execFile|execFileSync|spawn|spawnSync|fork)\b|\bDeno\s*\.\s*(?:run|Command)\b|\bBun\s*\.\s*spawn(?:Sync)?\b",
    "lua": r"\b(?:os\s*\.\s*execute|io\s*\.\s*popen)\b",
    "awk": r"\bsystem\b",
}
_STARTING = {language: re.compile(source) for language, source in _STARTS.items()}

_BACKQUOTED = frozenset(["perl", "ruby", "php"])
"""Languages in which back-quotes start a process."""

_JOINS = {
    "python": re.compile(rf"{_PLAIN}\s*\+?\s*(?={_PLAIN})"),
    "perl": re.compile(rf"{_PLAIN}\s*\.\s*(?={_PLAIN})"),
    "ruby": re.compile(rf"{_PLAIN}\s*(?:\+|<<)?\s*(?={_PLAIN})"),
    "js": re.compile(rf"{_PLAIN}\s*\+\s*(?={_PLAIN})"),
    "php": re.compile(rf"{_PLAIN}\s*\.\s*(?={_PLAIN})"),
    "lua": re.compile(rf"{_PLAIN}\s*\.\.\s*(?={_PLAIN})"),
    "awk": re.compile(rf"{_PLAIN}[ \t]*(?={_PLAIN})"),
}
"""What puts one literal behind another."""

_WORTH_A_LOOK = re.compile(
    r"system|popen|exec|spawn|subprocess|passthru|proc_open|output|child_process|Popen|Open3|Deno|Bun|fork|startfile|`|qx|%x|\||\(|\["
)

_FROM = re.compile(r"\bfrom\s+(?:os|subprocess|pty|asyncio)\s+import\s+\(?([\w ,*]+)\)?")
_AS = re.compile(r"\b(?:subprocess|os|pty)\s+as\s+(\w+)")
_IMPORTS = re.compile(r"\b(?:from\s+\w+\s+)?import\s+[\w. ,*]+")
_KEYWORD = re.compile(r"\s*\w+\s*(?:=(?!=)|:)")
_ENDS = re.compile(r"[;}\n]|\s(?:if|unless|and|or|while|for)\s|&&|\|\||\Z")

_OUTPUT_TO = re.compile(r"(?<!\|)\|&?(?!\||\s*getline\b)\s*([^\s;}]?)")
_READS_FROM = re.compile(r"([^\s])\s*\|&?\s*getline\b")
_CALLED_BY_TEXT = re.compile(rf"\[[^\[\]]*(?:{_PLAIN}|{_FILLED})[^\[\]]*\+[^\[\]]*\]\s*\(")
_MADE = re.compile(rf"{_PLAIN}\s*(?:\+|\.)|(?:[+.%]=?|\bx)\s*{_PLAIN}|\bjoin\b|{_PLAIN}\s*%")
"""Literals with which something is done."""


class _Code:
    """Code of which every literal is one sign."""

    __slots__ = ("filled_start", "has_joined", "language", "masked", "texts")

    def __init__(self, code: str, language: str) -> None:
        self.language = language
        self.texts: list[str] = []
        self.filled_start = False
        """Whether back-quotes, or their like, hold a value."""
        self.masked = _TOKENS[language].sub(self._mask, code)
        written = len(self.texts)
        self._join()
        self.has_joined = len(self.texts) < written

    def _mask(self, found: "re.Match[str]") -> str:
        token = found[0]
        quote = re.search(r"[\"'`{(\[/!|]", token)
        if token.lstrip()[:1] in ("#", "/") or token[:2] == "--" or quote is None:
            return " "
        if quote[0] == "/" and token[0] != "q":  # a pattern behind a word
            return " "
        inside = token[quote.end() : -1]
        if self.language == "python":
            prefix = token[: quote.start()].lower()
            is_filled = "f" in prefix and "{" in inside
            inside = inside.removeprefix(token[quote.start()] * 2).removesuffix(quote[0] * 2)
        else:
            fills = _FILLS.get(self.language)
            hides = quote[0] == "'" or token[:2] in ("q{", "q(", "%q")
            is_filled = fills is not None and not hides and fills.search(inside) is not None
        starts = (quote[0] == "`" or token[:2] in ("qx", "%x")) and self.language in _BACKQUOTED
        if is_filled:
            self.filled_start = self.filled_start or starts
            # Perl's `open(F, "|$command")`.
            if self.language == "perl" and "|" in (inside[:1], inside[-1:]):
                self.filled_start = True
            return _FILLED
        self.texts.append(inside.replace('\\"', '"').replace("\\'", "'"))
        return _PLAIN

    def _join(self) -> None:
        """Literals that stand one behind the other are one."""
        joins = _JOINS[self.language]
        parts: list[str] = []
        texts: list[str] = []
        at = 0
        pending = ""
        for sign, written in zip(re.finditer(_PLAIN, self.masked), self.texts, strict=True):
            text = pending + written
            if joined := joins.match(self.masked, sign.start()):
                parts.append(self.masked[at : sign.start()])
                at = joined.end()
                pending = text
            else:
                texts.append(text)
                pending = ""
        self.masked = "".join(parts) + self.masked[at:]
        self.texts = texts

    def unmasked(self) -> str:
        texts = iter(self.texts)
        return re.sub(_PLAIN, lambda _: f'"{next(texts)}"', self.masked)

    def text_at(self, at: int) -> str:
        """The literal whose sign stands there."""
        return self.texts[self.masked.count(_PLAIN, 0, at)]


def started_by(code: str, language: str) -> Started:
    """What the code starts; nothing for a language that is not known."""
    if language not in _STARTING or not _WORTH_A_LOOK.search(code):
        return NOTHING
    read = _Code(code, language)
    commands: list[str] = []
    unknown = read.filled_start or _other_ways(read, code)
    for at in _calls(read, code):
        found = _call(read, at)
        if found is None:
            unknown = True
        else:
            commands += found
    assembled = unknown and _MADE.search(read.masked) is not None
    joined = read.unmasked() if read.has_joined else ""
    return Started(tuple(commands), unknown, assembled, joined)


def _calls(read: _Code, code: str) -> Iterator[int]:
    """Where the arguments of calls begin that start something."""
    masked, names = read.masked, _STARTING[read.language]
    if read.language == "js" and not re.search("child_process|Deno|Bun", code):
        return
    if read.language == "python":
        given = {
            part.split()[-1]
            for found in _FROM.finditer(masked)
            for part in found[1].split(",")
            if part.split()
        }
        others = [rf"\b{re.escape(name)}\b" for name in given if name != "*"]
        others += [
            rf"\b{re.escape(found[1])}\s*\.\s*(?:run|call)\b" for found in _AS.finditer(masked)
        ]
        if others:
            names = re.compile("|".join([_STARTS["python"], *others]))
        masked = _IMPORTS.sub(lambda found: " " * len(found[0]), masked)
    for found in names.finditer(masked):
        if not _is_member_name(masked, found):
            yield found.end()


def _is_member_name(masked: str, found: "re.Match[str]") -> bool:
    """`{execSync} = require(…)`, `def system(…)`: named, not called."""
    before, after = masked[: found.start()].rstrip()[-1:], masked[found.end() :].lstrip()[:1]
    return (before in ("{", ",") and after in ("}", ",")) or masked[: found.start()].endswith(
        ("def ", "function ", "sub ")
    )


def _call(read: _Code, at: int) -> list[str] | None:
    """The command that the call behind this place starts; None when only a run tells."""
    masked = read.masked
    start = at + len(masked[at:]) - len(masked[at:].lstrip(" \t"))
    if masked.startswith("(", start):
        end = _end_of(masked, start)
        start += 1
    elif read.language in ("perl", "ruby"):
        ends = _ENDS.search(masked, at)
        end = ends.start() if ends else len(masked)
    else:
        return None  # handed on, to be called by another name
    arguments = _split(masked, start, end)
    if not arguments:
        return []
    words: list[str] = []
    for number, (first, last) in enumerate(arguments):
        if not number and (named := re.match(r"\s*args\s*=", masked[first:last])):
            first += named.end()
        part = masked[first:last].strip()
        if number and (not part or part[0] == "{" or _KEYWORD.match(part)):
            continue
        if part[:1] in "[(" and part[-1:] in "])" and part:
            opening = masked.index(part[0], first)
            elements = _split(masked, opening + 1, opening + len(part) - 1)
        else:
            elements = [(first, last)]
        for begin, stop in elements:
            if masked[begin:stop].strip() == _PLAIN:
                words.append(read.text_at(masked.index(_PLAIN, begin)))
            elif not words or _hands_on(words):
                return None
    return [" ".join(words)] if words else []


def _hands_on(words: list[str]) -> bool:
    """Whether a program runs what it is given."""
    name = words[0].split(" ")[0].rpartition("/")[2]
    wrapper = WRAPPERS.get(name)
    runs = wrapper is not None and wrapper.runs_operands
    return runs or name in SHELLS or bool(language_of(name))


def _end_of(masked: str, at: int) -> int:
    level = 0
    for index in range(at, len(masked)):
        if masked[index] in "([{":
            level += 1
        elif masked[index] in ")]}":
            level -= 1
            if not level:
                return index
    return len(masked)


def _split(masked: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where the parts between commas begin and end."""
    parts: list[tuple[int, int]] = []
    level = 0
    begins = start
    for index in range(start, end):
        char = masked[index]
        if char in "([{":
            level += 1
        elif char in ")]}":
            level -= 1
        elif char == "," and not level:
            parts.append((begins, index))
            begins = index + 1
    if masked[begins:end].strip():
        parts.append((begins, end))
    return parts


def _other_ways(read: _Code, code: str) -> bool:
    """Whether something is started otherwise than by a call of a known name."""
    masked = read.masked
    if read.language == "awk":
        for found in _OUTPUT_TO.finditer(masked):
            if found[1] != _PLAIN:
                return True
            program = read.text_at(found.start(1)).split(" ")[0].rpartition("/")[2]
            if program in SHELLS or program in WRAPPERS:
                return True
        return any(found[1] != _PLAIN for found in _READS_FROM.finditer(masked))
    if read.language == "js":
        for found in re.finditer(r"\brequire\s*\(\s*(.)", masked):
            if found[1] != _PLAIN:
                return True
        return _CALLED_BY_TEXT.search(masked) is not None
    if read.language == "php":
        return re.search(r"\$\w+\s*\(", masked) is not None
    return read.language == "lua" and re.search(r"\b(?:os|io|_G|_ENV)\s*\[", masked) is not None
