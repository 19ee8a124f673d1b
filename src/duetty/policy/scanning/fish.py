r"""A reader of fish: which commands may be in here, with which words?

fish is no POSIX shell: `r\x6d` is `rm` there, `'it\'s'` one string, `>|` a pipe and
`(…)` a substitution. So its text is read by its own rules, into what the scan looks
at. Serves the scan only: what cannot be read is said (`Reading.unreadable`), and
nothing that is read ever allows. Total, and bounded by words and depth.

Left out on purpose: values of variables. Where one stands, the word is not known.
"""

import re

from duetty.policy.proving.recogniser import quote
from duetty.policy.scanning.printed import printed_by
from duetty.policy.scanning.reading import UNKNOWN, Reading, Redirect, Simple, Word

MAX_DEPTH = 8
MAX_WORDS = 600
MAX_BRACES = 32
"""Words that braces may make of one."""

MAX_PRODUCERS = 16

_BEFORE = frozenset(["else", "and", "or", "not", "!", "time"])
"""Words before a command."""

_OPENING = frozenset(["if", "while", "begin"])
"""Words before a command that begin a block."""

_HEADS = frozenset(["for", "switch", "function", "case"])
"""Words that begin a block, or a part of one, by naming something: up to its end no command follows."""

_SIGN = re.compile(r"[0-9]*(?:>>?[|&?]?|<&?)|&>>?\??|&\|")
_PLAIN = re.compile(r"[\w./,:=+@%^~!-]+")
"""What is itself in a word, whatever stands around it; `,` not within braces."""

_PLAIN_IN_BRACES = re.compile(r"[\w./:=+@%^~!-]+")
_IN_DOUBLE = re.compile(r'[^"\\$]+')
_IN_SINGLE = re.compile(r"[^'\\]+")
_VARIABLE = re.compile(r"(\$+)(\w*)")
_ASSIGNMENT = re.compile(r"(\w+)=")
_NUMBERED = re.compile(
    r"[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})"
)
_LETTERS = dict(zip("abefnrtv", "\a\b\x1b\f\n\r\t\v", strict=True))
_WELL_KNOWN = {"HOME": "~", "PWD": "."}
_SET_HERE = re.compile(r"(?<![$\w])(HOME|PWD)\b")

_BLANK = "\ue000"
"""Stands for a blank within braces until it is known whether these make several words."""

_HASH_BEHIND = re.compile(r"[\w./:=@%+,\"'-]")
"""Behind these a `#` is itself; behind others it may hide the rest of a line, within a word too."""


def read_fish(text: str, depth: int = 0) -> Reading:
    """Total: whatever cannot be read is said in the reading."""
    reader = _FishReader(text, 0, depth)
    reader.run()
    return reader.reading


def fish_commands(line: str) -> tuple[str, ...] | None:
    """Each command of the line as other shells would write it; None if the line cannot be read."""
    reading = read_fish(line)
    if reading.unreadable:
        return None
    commands = (_as_posix(simple) for simple in reading.commands)
    return (*(f"function {quote(name)}" for name in sorted(reading.functions)), *commands)


def _as_posix(simple: Simple) -> str:
    words = [f"{name}={_quoted(value)}" for name, value in simple.assignments]
    words += map(_quoted, simple.words)
    words += [f"{sign}{_quoted(target)}" for sign, target in simple.redirects]
    return " ".join(words)


def _quoted(word: Word) -> str:
    if word.glob and re.fullmatch(r"[\w./*?~-]+", word.text):
        return word.text
    return "$_".join(quote(part) if part else "" for part in word.text.split(UNKNOWN)) or "''"


_COMMENT_BEHIND = re.compile(r"(?:[ \t\r]|\\\n)*#")


class _FishReader:
    """Reads commands from where it stands, up to the end or the `)` of a substitution."""

    __slots__ = (
        "at",
        "blocks",
        "command",
        "depth",
        "follows_else",
        "glob",
        "has_value",
        "head",
        "inner",
        "is_nested",
        "is_open",
        "last",
        "piped",
        "reading",
        "text",
        "unset",
        "word_count",
    )

    def __init__(self, text: str, at: int, depth: int, *, is_nested: bool = False) -> None:
        self.text = text
        self.at: int = at
        self.depth = depth
        self.is_nested = is_nested
        self.reading = Reading()
        self.command = Simple()
        self.last: Simple | None = None
        self.piped = ""
        """What stood before the command at hand."""
        self.head = ""
        """The word whose names are read now, and no command."""
        self.blocks = 0
        self.follows_else = False
        """Whether an `if` goes on with a block that was begun before."""
        self.word_count = 0
        self.unset = _WELL_KNOWN.keys() - set(_SET_HERE.findall(text))
        # Of the word at hand:
        self.inner: list[Reading] = []
        self.glob = False
        self.has_value = False
        """Whether a variable or a substitution is part of it."""
        self.is_open = False
        """The same, or braces: it is no word of the grammar."""

    def fail(self, why: str) -> None:
        self.reading.unreadable.append(why)

    def _give_up(self, why: str) -> None:
        self.fail(why)
        self.at = len(self.text)

    # --- commands -------------------------------------------------------------------

    def run(self) -> None:
        text, size = self.text, len(self.text)
        if self.depth > MAX_DEPTH:
            self._give_up("nested too deeply")
        while self.at < size:
            char = text[self.at]
            if char in " \t\r":
                self.at += 1
            elif char in "\n;":
                self.at += 1
                self._separate(";")
            elif char == "\\" and text.startswith("\n", self.at + 1):
                self.at += 2
                if _COMMENT_BEHIND.match(text, self.at):
                    self.fail("a comment in the middle of a line that goes on")
            elif char == "#":
                self._comment()
            elif char == ")":
                if self.is_nested:
                    break
                self.fail(") without (")
                self.at += 1
                self._separate(";")
            elif sign := _SIGN.match(text, self.at):
                self._redirect(sign)
            elif char in "|&":
                self._join(char)
            else:
                self._take_word()
            if self.word_count > MAX_WORDS:
                self._give_up("too many words")
        self._separate("")
        if self.blocks:
            self.fail("a block and its end do not match")

    def _comment(self) -> None:
        if self.is_nested:
            # Where the substitution ends then is told by no rule that can be relied on.
            self.fail("a comment within a substitution")
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _join(self, char: str) -> None:
        if self.text.startswith("|&", self.at):
            self.fail("no pipe of fish")
        if self.text.startswith("&#", self.at):
            self.fail("a comment, or not: brackets before it decide")
        operator = char * 2 if self.text.startswith(char * 2, self.at) else char
        self.at += len(operator)
        self._separate(";" if operator == "&" else operator)

    def _redirect(self, sign: "re.Match[str]") -> None:
        self.at = sign.end()
        kind = sign[0].lstrip("0123456789").removesuffix("?")
        if kind[-1] == "|":
            self._separate("|")
            return
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1
        words = self._word()
        if not words:
            self.fail("a redirection to nothing")
            return
        kind = ">&" if kind == ">>&" else kind
        self.command.redirects += [Redirect(kind, word) for word in words]

    def _separate(self, operator: str) -> None:
        """End the command; remember what the next one is joined by."""
        command = self.command
        if command.words or command.assignments or command.redirects:
            command.joined_by = self.piped if command.words else "}"
            if self.piped == "|":
                before = self.last.producers[-MAX_PRODUCERS:] if self.last is not None else []
                command.producers = [*before, self.last]
            self.reading.commands.append(command)
            self.last, self.piped = command, operator
        elif operator == "|":
            self.last, self.piped = None, operator  # fed by a block, which has no one name
        elif self.piped != "|":
            self.piped = operator
        self.head = ""
        self.follows_else = False
        self.command = Simple()

    # --- words ----------------------------------------------------------------------

    def _take_word(self) -> None:
        start = self.at
        words = self._word()
        if self.at == start:  # nothing that begins a word: never stand still
            self.fail(f"{self.text[start]!r} where no word begins")
            self.at += 1
            return
        self.word_count += len(words)
        command = self.command
        if self.head:
            if self.head == "function" and words:
                self.reading.functions.add(words[0].text)
                self.head = "function of"
        elif command.words:
            command.words += words
        elif len(words) == 1 and not self.is_open and self._is_keyword(words[0].text):
            self.follows_else = words[0].text == "else"
        elif found := _ASSIGNMENT.match(self.text, start):
            value = " ".join(word.text for word in words)[found.end() - start :]
            inner = tuple(self.inner)
            command.assignments.append((found[1], Word(value, inner=inner)))
        else:
            if self.text[start] == "{":
                self.fail("a command that begins with a brace")  # a block in later versions
            command.words += words

    def _is_keyword(self, text: str) -> bool:
        if text in _HEADS:
            self.head = text
            self.blocks += text != "case"
        elif text in _OPENING:
            self.blocks += not (text == "if" and self.follows_else)
        elif text == "end":
            self.blocks -= 1
            if self.blocks < 0:
                self.fail("an end without a block")
        else:
            return text in _BEFORE
        return True

    def _word(self) -> list[Word]:
        """The word that begins here; several when braces make several of it."""
        start = self.at
        self.inner, self.glob, self.has_value, self.is_open = [], False, False, False
        texts = self._texts("")
        if self.at == start:
            return []
        if self.text[start : self.at] == "%self":
            texts, self.is_open = [UNKNOWN], True
        inner = tuple(self.inner)
        return [Word(text, self.glob, inner) for text in texts]

    def _texts(self, within: str) -> list[str]:
        """What the text makes from here on: up to the word's end, or of the braces or brackets it is within."""
        text, size, begins = self.text, len(self.text), self.at
        plain = _PLAIN_IN_BRACES if within == "{" else _PLAIN
        texts = [""]
        while self.at < size:
            char = text[self.at]
            if (run := plain.match(text, self.at)) is not None:
                texts = _with(texts, [run[0]])
                self.at = run.end()
            elif char == "\\":
                texts = _with(texts, [self._escape()])
            elif char == "'":
                texts = _with(texts, [self._single()])
            elif char == '"':
                texts = _with(texts, [self._double()])
            elif char == "$" and not text.startswith("$(", self.at):
                texts = _with(texts, [self._variable()])
            elif char in "$(":
                self.at += 1 if char == "$" else 0
                texts = _with(texts, [self._substitution(quoted=False)])
            elif char == "{":
                if within:
                    self._give_up("braces within others")  # fish itself is not always sure of them
                    break
                texts = _with(texts, self._braces())
                if len(texts) > MAX_BRACES:
                    self.fail("braces make too many words")
                    texts = [UNKNOWN]
            elif char == "}":
                if within == "{":
                    break
                self.fail("} without {")
                self.at += 1
            elif char == ")":
                if within:
                    self.fail(") without (")
                break
            elif char == "[" and (within or self.at > begins):
                if within:
                    self._give_up("brackets within others")
                    break
                texts = _with(texts, [self._brackets()])
            elif (char == "]" and within == "[") or self._ends_text(char, within):
                break
            else:
                if char == "#" and not _HASH_BEHIND.match(text, self.at - 1):
                    self.fail("what may be a comment within a word")
                self.glob = self.glob or char in "*?"
                texts = _with(texts, [_BLANK if char == " " and within == "{" else char])
                self.at += 1
        return texts

    def _ends_text(self, char: str, within: str) -> bool:
        if within:
            return char == "," and within == "{"
        if char == "&":
            # Only at the end of a word: `a&b` is one.
            following = self.text[self.at + 1 : self.at + 2]
            return following in " \t\r\n;|&<>)"  # or nothing
        return char in " \t\r\n;|<>"

    def _brackets(self) -> str:
        """`$x[1 2]`, and whatever else stands so: blanks and signs are part of the word."""
        self.at += 1
        inside = self._texts("[")
        if not self.text.startswith("]", self.at):
            self.fail("[ without ]")
            return UNKNOWN
        self.at += 1
        return f"[{inside[0]}]"

    def _braces(self) -> list[str]:
        """`{a,b}`; without a comma and a variable they are themselves."""
        had_value, self.has_value = self.has_value, False
        items: list[list[str]] = []
        while not items or self.text.startswith(",", self.at):
            self.at += 1
            items.append(self._texts("{"))
        has_value, self.has_value = self.has_value, self.has_value or had_value
        self.is_open = True
        if not self.text.startswith("}", self.at):
            self.fail("{ without }")
            return [UNKNOWN]
        self.at += 1
        if has_value:
            return [UNKNOWN]  # of a value that is empty nothing is left, of none of them
        if len(items) == 1:
            return ["{" + text.replace(_BLANK, " ") + "}" for text in items[0]]
        return [text.strip(_BLANK).replace(_BLANK, " ") for item in items for text in item]

    # --- quotes, escapes, expansions --------------------------------------------------

    def _escape(self) -> str:
        text, at = self.text, self.at + 1
        if at >= len(text):
            self.at = at
            self.fail("an escape without an end")
            return UNKNOWN
        char = text[at]
        if found := _NUMBERED.match(text, at):
            self.at = found.end()
            short, four, eight, octal = found.groups()
            digits = short or four or eight
            code = int(digits, 16) if digits else int(octal, 8)
            is_byte = not (four or eight)
            if 0 < code < (0x80 if is_byte else 0xD800) or 0xFFFF < code < 0x110000:
                return chr(code)
            self.fail("an escape that stands for no one letter")
            return UNKNOWN
        self.at = at + 1
        if char in "xXuU":
            self.fail("an escape without a number")
            return UNKNOWN
        if char == "c":
            control = text[self.at : self.at + 1]
            self.at += 1
            if not (control.isascii() and control.isalpha()):
                self.fail("an escape that stands for no one letter")
                return UNKNOWN
            return chr(ord(control) & 31)
        return "" if char == "\n" else _LETTERS.get(char, char)

    def _single(self) -> str:
        return self._between("'", _IN_SINGLE, "'\\")

    def _double(self) -> str:
        return self._between('"', _IN_DOUBLE, '"\\$')

    def _between(self, sign: str, plain: "re.Pattern[str]", escaped: str) -> str:
        """The inside of quotes; `escaped`: what a backslash takes the meaning from there."""
        text = self.text
        parts: list[str] = []
        self.at += 1
        while self.at < len(text):
            char = text[self.at]
            if (run := plain.match(text, self.at)) is not None:
                parts.append(run[0])
                self.at = run.end()
            elif char == sign:
                self.at += 1
                return "".join(parts)
            elif char == "\\":
                following = text[self.at + 1 : self.at + 2]
                if following == "\n" and sign == '"':
                    pass
                else:
                    parts.append(following if following in escaped else char + following)
                self.at += 2
            elif text.startswith("$(", self.at):
                self.at += 1
                parts.append(self._substitution(quoted=True))
            else:
                parts.append(self._variable())
        self.at = len(text)
        self.fail("a quote without an end")
        return UNKNOWN

    def _variable(self) -> str:
        found = _VARIABLE.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        self.has_value = self.is_open = True
        if not found[2]:
            self.fail("a $ without a name")
        is_whole = len(found[1]) == 1 and not self.text.startswith("[", self.at)
        return _WELL_KNOWN[found[2]] if is_whole and found[2] in self.unset else UNKNOWN

    def _substitution(self, *, quoted: bool) -> str:
        """What `(…)` here gives, if that is known; its commands are commands of the line."""
        inner = _FishReader(self.text, self.at + 1, self.depth + 1, is_nested=True)
        inner.run()
        if not self.text.startswith(")", inner.at):
            self.fail("( without )")
        self.at = inner.at + 1
        self.has_value = self.is_open = True
        reading = inner.reading
        self.reading.unreadable += reading.unreadable
        self.reading.functions |= reading.functions
        self.reading.commands += reading.commands
        self.word_count += inner.word_count
        self.inner.append(reading)
        is_told = not any(word.glob for simple in reading.commands for word in simple.words)
        said = ((is_told and printed_by(reading)) or "").rstrip("\n")
        if not said or self.text.startswith("[", self.at) or ("\n" in said and not quoted):
            return UNKNOWN
        return said


def _with(texts: list[str], more: list[str]) -> list[str]:
    """Each of these with each of those behind it, in fish's own order."""
    if len(more) == 1:
        return [text + more[0] for text in texts]
    return [text + each for each in more for text in texts]
