"""A tolerant reader of shell text: which commands may be in here, with which words?

For the destructive scan only. It may see more than a shell would run and may guess;
what it cannot read it says (`Reading.unreadable`). Nothing it says ever allows: that
is the recogniser's business.

Resolved on the way, because disguises live there: quotes, escapes and continuation
lines, `$'…'`, literal variables and arrays, `$IFS`, braces, `$(echo …)`, functions,
here-documents, process substitution. Total, and bounded by bytes, words and depth.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

MAX_DEPTH = 8
MAX_WORDS = 600
MAX_BRACES = 32
MAX_PRODUCERS = 16
"""Commands of a pipeline that are remembered with the one they feed."""

MAX_HEREDOCS = 32

UNKNOWN = "\ufffc"
"""Stands in a word's text for what only a shell would know."""


class Word(NamedTuple):
    """One word: its text as far as it can be known."""

    text: str
    glob: bool = False
    inner: tuple["Reading", ...] = ()
    """Commands whose output is part of it, or that read or write it (`<(…)`)."""
    guessed: bool = False
    """Whether the text is one of several it could be."""

    @property
    def known(self) -> bool:
        return not self.guessed and UNKNOWN not in self.text


class Redirect(NamedTuple):
    sign: str
    target: Word


@dataclass(slots=True)
class Simple:
    """One simple command, where it was found."""

    words: list[Word] = field(default_factory=list[Word])
    assignments: list[tuple[str, Word]] = field(default_factory=list[tuple[str, Word]])
    redirects: list[Redirect] = field(default_factory=list[Redirect])
    bodies: list[str] = field(default_factory=list[str])
    """Here-documents and here-strings that it reads."""
    producers: "list[Simple | None]" = field(default_factory=list["Simple | None"])
    """Commands piped into it, the nearest last; None stands for one that cannot be named."""
    joined_by: str = ""
    """What stood before it: `|`, `&&`, `;` …"""

    @property
    def empty(self) -> bool:
        return not (self.words or self.assignments or self.redirects)


@dataclass(slots=True)
class Reading:
    """Everything that was found in one text."""

    commands: list[Simple] = field(default_factory=list[Simple])
    unreadable: list[str] = field(default_factory=list[str])
    functions: set[str] = field(default_factory=set[str])


_SKIPPED = frozenset(
    "if then else elif do while until time ! { } fi done esac coproc always begin end not and or noglob nocorrect".split()
)
"""Words of the grammar after which a command may follow."""

_SETTERS = frozenset(
    "read export declare typeset local readonly unset let getopts mapfile readarray printf set eval source .".split()
)
"""Builtins after which a variable is not what it was."""

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]]*\])?\+?=")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[@*#?$!0-9-]")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_BLANK = " \t"
_OPERATORS = frozenset(";&|<>()\n")
_SIGN = re.compile(r"[0-9]*(?:&>>|&>|>>|>\||>&|<>|<<<|<<-|<<|<&|>|<)")
_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_ANSI_LETTERS = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "v": "\v",
}

_WELL_KNOWN = {"HOME": "~", "PWD": ".", "OLDPWD": "..", "IFS": " "}


def read(
    text: str, *, depth: int = 0, variables: "dict[str, tuple[str, ...] | None] | None" = None
) -> Reading:
    """Total: whatever cannot be read is said in the reading."""
    reading = Reading()
    if depth > MAX_DEPTH:
        reading.unreadable.append("nested too deeply")
        return reading
    _Reader(text, depth, {} if variables is None else variables, reading).run()
    return reading


def decode_ansi(text: str) -> str:
    """The inside of `$'…'`."""

    def char(found: "re.Match[str]") -> str:
        hexadecimal, short, long, octal, control, letter = found.groups()
        if digits := hexadecimal or short or long:
            code = int(digits, 16)
            return chr(code) if code < 0x110000 else UNKNOWN
        if octal:
            return chr(int(octal, 8))
        if control:
            return chr(ord(control) & 31)
        return _ANSI_LETTERS.get(letter, letter)

    return _ANSI.sub(char, text)


@dataclass(slots=True)
class _Building:
    """A word in the making; unquoted blanks of a variable's value split it."""

    done: list[str] = field(default_factory=list[str])
    text: str = ""
    started: bool = False
    glob: bool = False
    guessed: bool = False
    braced: bool = False
    inner: list[Reading] = field(default_factory=list[Reading])

    def split(self, value: str) -> None:
        parts = re.split(r"[ \t\n]+", value)
        self.text += parts[0]
        for part in parts[1:]:
            if self.text:
                self.done.append(self.text)
            self.text = part
        self.started = True


class _Reader:
    __slots__ = (
        "at",
        "command",
        "depth",
        "heredocs",
        "last",
        "piped",
        "reading",
        "text",
        "variables",
        "word_count",
    )

    def __init__(
        self, text: str, depth: int, variables: dict[str, tuple[str, ...] | None], reading: Reading
    ) -> None:
        self.text = text
        self.at = 0
        self.depth = depth
        self.variables = variables
        self.reading = reading
        self.command = Simple()
        self.heredocs: list[tuple[Simple, str, bool, bool]] = []
        self.last: Simple | None = None
        self.piped = ""
        self.word_count = 0

    # --- commands -------------------------------------------------------------

    def run(self) -> None:
        text = self.text
        while self.at < len(text) and self.word_count < MAX_WORDS:
            char = text[self.at]
            if char in _BLANK or char == "\r":
                self.at += 1
            elif char == "\n":
                self.at += 1
                self._separate(";")
                self._bodies()
            elif char == "#":
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            elif text.startswith(("\\\n",), self.at):
                self.at += 2
            elif (sign := _SIGN.match(text, self.at)) and not text.startswith(
                ("<(", ">("), self.at
            ):
                self._redirect(sign)
            elif char in ";&|":
                self._operator(char)
            elif char in "()" and not text.startswith(("<(", ">("), self.at):
                self._parenthesis(char)
            else:
                self._take_word()
        if self.word_count >= MAX_WORDS:
            self.reading.unreadable.append("too many words")
        self._separate("")
        if self.heredocs:
            self._bodies()

    def _operator(self, char: str) -> None:
        for operator in ("&&", "||", "|&", ";;&", ";;", ";&", char):
            if self.text.startswith(operator, self.at):
                self.at += len(operator)
                self._separate("|" if operator in ("|", "|&") else operator)
                return

    def _parenthesis(self, char: str) -> None:
        text = self.text
        if char == "(" and text.startswith("((", self.at) and not self.command.words:
            inside, self.at = self._balanced(self.at + 2, "(", ")")
            self._nested_in(inside)
            if text.startswith(")", self.at):
                self.at += 1
            return
        if char == "(" and self.command.words:
            rest = text[self.at + 1 :].lstrip(_BLANK)
            if rest.startswith(")") and len(self.command.words) == 1:
                # A function: its body is read like any other command.
                self.reading.functions.add(self.command.words[0].text)
                self.command = Simple()
                self.at = len(text) - len(rest) + 1
                return
            self.reading.unreadable.append("a parenthesis where no shell expects one")
        self.at += 1
        self._separate("(" if char == "(" else ")")

    def _separate(self, operator: str) -> None:
        """End the command; remember what the next one is joined by."""
        command = self.command
        if not command.empty:
            command.joined_by = command.joined_by or self.piped
            if self.piped == "|":
                command.producers = [
                    *(self.last.producers[-MAX_PRODUCERS:] if self.last else []),
                    self.last,
                ]
            self._assign(command)
            self.reading.commands.append(command)
            self.last = command
            self.piped = operator
        elif operator in ("|", "&&", "||"):
            # `{ …; } | sh`, `done | sh`: fed by something that has no one name.
            if self.piped in (")", "}", ";") and operator == "|":
                self.last = None
            elif self.piped not in (")", "}"):
                self.reading.unreadable.append(f"nothing before {operator}")
            self.piped = operator
        elif operator and not (self.piped == "|" and operator == "("):
            self.piped = operator if self.piped != "|" else self.piped
        self.command = Simple()

    def _assign(self, command: Simple) -> None:
        if command.words and command.words[0].text in _SETTERS:
            self._forget(command)
        for name, value in command.assignments:
            known = (value.text,) if value.known else None
            if name in self.variables and self.variables[name] != known:
                known = None  # which of the two it is, only a shell knows
            self.variables[name] = known

    def _forget(self, command: Simple) -> None:
        """A builtin that may give any variable a new value."""
        if command.words[0].text in ("eval", "source", "."):
            self.variables.update(dict.fromkeys(self.variables))
        for word in command.words[1:]:
            name, sign, value = word.text.partition("=")
            if sign and word.known and name not in self.variables:
                self.variables[name] = (value,)
            else:
                self.variables[name.partition("[")[0]] = None

    # --- redirections and here-documents -----------------------------------------

    def _redirect(self, sign: "re.Match[str]") -> None:
        kind = sign[0].lstrip("0123456789")
        self.at = sign.end()
        while self.at < len(self.text) and self.text[self.at] in _BLANK:
            self.at += 1
        if kind in ("<<", "<<-"):
            start = self.at
            words = self._word()
            delimiter = words[0].text if words else ""
            quoted = any(char in self.text[start : self.at] for char in "'\"\\")
            if len(self.heredocs) >= MAX_HEREDOCS:
                self.reading.unreadable.append("too many here-documents")
                self.at = len(self.text)
                return
            self.heredocs.append((self.command, delimiter, quoted, kind == "<<-"))
            self.command.redirects.append(Redirect(kind, Word(delimiter)))
            return
        words = self._word()
        if not words:
            self.reading.unreadable.append("a redirection to nothing")
            return
        target = words[0]
        if kind == "<<<":
            self.command.bodies.append(target.text)
        self.command.redirects.append(Redirect(kind, target))

    def _bodies(self) -> None:
        for command, delimiter, quoted, stripped in self.heredocs:
            lines: list[str] = []
            ended = False
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = min(end + 1, len(self.text))
                if (line.lstrip("\t") if stripped else line) == delimiter:
                    ended = True
                    break
                lines.append(line)
            if not ended:
                self.reading.unreadable.append("a here-document without an end")
            body = "\n".join(lines)
            if not quoted:
                self._nested_in(body)
            command.bodies.append(body)
        self.heredocs = []

    # --- words --------------------------------------------------------------------

    def _take_word(self) -> None:
        start = self.at
        words = self._word()
        self.word_count += len(words)
        if self.at == start:  # nothing that begins a word: never stand still
            self.at += 1
            return
        raw = self.text[start : self.at]
        command = self.command
        if not command.words:
            if raw in _SKIPPED:
                if raw in ("}", "fi", "done", "esac"):
                    self._separate("}")
                return
            if raw in ("for", "select", "foreach"):
                self._loop()
                return
            if raw == "case":
                self._skip_to_in()
                return
            if raw == "function":
                self._skip_blanks()
                named = self._word()
                self.reading.functions.update(word.text for word in named)
                return
            if raw == "[[":
                self._double_bracket()
                return
            if found := _ASSIGNMENT.match(raw):
                self._assignment(found[1], raw[found.end() :], words)
                return
        command.words += words

    def _assignment(self, name: str, raw_value: str, words: list[Word]) -> None:
        if not raw_value and self.at < len(self.text) and self.text[self.at] == "(":
            inside, self.at = self._balanced(self.at + 1, "(", ")")
            reading = read(inside, depth=self.depth + 1, variables=self.variables)
            self._adopt(reading, keep_commands=False)
            values = [word for simple in reading.commands for word in simple.words]
            self.variables[name] = (
                tuple(w.text for w in values) if all(w.known for w in values) else None
            )
            self.command.assignments.append((name + "[]", Word(" ".join(w.text for w in values))))
            return
        value = words[0] if words else Word("")
        text = value.text.partition("=")[2]
        if len(words) > 1:
            text = " ".join([text, *(word.text for word in words[1:])])
        self.command.assignments.append((name, value._replace(text=text)))

    def _loop(self) -> None:
        self._skip_blanks()
        names = self._word()
        self._skip_blanks()
        values: list[Word] = []
        while self.at < len(self.text) and self.text[self.at] not in ";\n&|()":
            words = self._word()
            if not words:
                self.at += 1
            values += words
            self._skip_blanks()
        listed = [word for word in values if word.text != "in"]
        for name in names:
            only = len(listed) == 1 and listed[0].known and not listed[0].glob
            self.variables[name.text] = (listed[0].text,) if only else None

    def _skip_to_in(self) -> None:
        self._skip_blanks()
        self._word()
        self._skip_blanks()
        if self.text.startswith("in", self.at):
            self.at += 2

    def _double_bracket(self) -> None:
        end = self.text.find("]]", self.at)
        end = len(self.text) if end < 0 else end
        self._nested_in(self.text[self.at : end])
        self.at = min(end + 2, len(self.text))
        self.command.words.append(Word("[["))

    def _skip_blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in _BLANK:
            self.at += 1

    def _word(self) -> list[Word]:
        """The word that begins here; several when a variable or braces make several of it."""
        building = _Building()
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            if char in _BLANK or char in "\n\r":
                break
            if char in "<>" and text.startswith("(", self.at + 1):
                self._process(building)
            elif char in _OPERATORS:
                break
            elif char == "'":
                building.text += self._until("'", building)
            elif char == '"':
                self._double(building)
            elif char == "\\":
                self._escape(building)
            elif char == "$":
                self._dollar(building, quoted=False)
            elif char == "`":
                self._backquote(building, quoted=False)
            else:
                building.glob = building.glob or char in "*?["
                building.braced = building.braced or char == "{"
                building.text += char
                building.started = True
                self.at += 1
        if not building.started and not building.done:
            return []
        texts = (
            [*building.done, building.text] if building.text or not building.done else building.done
        )
        if building.braced:
            texts = [each for one in texts for each in _expand_braces(one)]
        inner = tuple(building.inner)
        return [Word(each, building.glob, inner, building.guessed) for each in texts]

    def _until(self, quote: str, building: _Building) -> str:
        end = self.text.find(quote, self.at + 1)
        building.started = True
        if end < 0:
            self.reading.unreadable.append("a quote without an end")
            found = self.text[self.at + 1 :]
            self.at = len(self.text)
            return found
        found = self.text[self.at + 1 : end]
        self.at = end + 1
        return found

    def _escape(self, building: _Building) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following != "\n":
            building.text += following
            building.started = True

    def _double(self, building: _Building) -> None:
        building.started = True
        text = self.text
        self.at += 1
        while self.at < len(text):
            char = text[self.at]
            if char == '"':
                self.at += 1
                return
            if char == "\\":
                following = text[self.at + 1 : self.at + 2]
                self.at += 2
                if following in '$`"\\':
                    building.text += following
                elif following != "\n":
                    building.text += "\\" + following
            elif char == "$":
                self._dollar(building, quoted=True)
            elif char == "`":
                self._backquote(building, quoted=True)
            else:
                building.text += char
                self.at += 1
        self.reading.unreadable.append("a quote without an end")

    # --- expansions -----------------------------------------------------------------

    def _process(self, building: _Building) -> None:
        sign = self.text[self.at]
        inside, self.at = self._balanced(self.at + 2, "(", ")")
        reading = self._nested(inside)
        building.inner.append(reading)
        building.text += f"{sign}{UNKNOWN}"
        building.started = True

    def _dollar(self, building: _Building, *, quoted: bool) -> None:
        text = self.text
        following = text[self.at + 1 : self.at + 2]
        building.started = True
        if following == "'" and not quoted:
            end = self.at + 2
            while end < len(text) and text[end] != "'":
                end += 2 if text[end] == "\\" else 1
            if end >= len(text):
                self.reading.unreadable.append("a quote without an end")
            building.text += decode_ansi(text[self.at + 2 : end])
            self.at = end + 1
        elif following == '"' and not quoted:
            self.at += 1
        elif text.startswith("$((", self.at):
            inside, self.at = self._balanced(self.at + 3, "(", ")")
            if text.startswith(")", self.at):
                self.at += 1
            self._nested_in(inside)
            building.text += UNKNOWN
        elif following == "(":
            inside, self.at = self._balanced(self.at + 2, "(", ")")
            self._substitute(inside, building, quoted=quoted)
        elif following == "{":
            inside, self.at = self._balanced(self.at + 2, "{", "}")
            self._parameter(inside, building, quoted=quoted)
        elif following == "[":
            inside, self.at = self._balanced(self.at + 2, "[", "]")
            self._nested_in(inside)
            building.text += UNKNOWN
        elif name := _NAME.match(text, self.at + 1):
            self.at = name.end()
            self._value(name[0], building, quoted=quoted)
        else:
            building.text += "$"
            self.at += 1

    def _backquote(self, building: _Building, *, quoted: bool) -> None:
        end = self.at + 1
        while end < len(self.text) and self.text[end] != "`":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            self.reading.unreadable.append("a back-quote without an end")
        inside = re.sub(r"\\([\\`$])", r"\1", self.text[self.at + 1 : end])
        self.at = end + 1
        building.started = True
        self._substitute(inside, building, quoted=quoted)

    def _substitute(self, inside: str, building: _Building, *, quoted: bool) -> None:
        reading = self._nested(inside)
        building.inner.append(reading)
        printed = printed_by(reading)
        if printed is None:
            building.text += UNKNOWN
        elif quoted:
            building.text += printed
        else:
            building.split(printed)

    def _value(self, name: str, building: _Building, *, quoted: bool) -> None:
        if name in self.variables:
            values = self.variables[name]
            if values is None:
                building.text += UNKNOWN
            elif quoted:
                building.text += " ".join(values[:1])
            else:
                building.split(" ".join(values[:1]))
            return
        known = _WELL_KNOWN.get(name)
        if known is None:
            building.text += UNKNOWN
        elif name == "IFS" and not quoted:
            building.split(" ")
        else:
            building.text += known

    def _parameter(self, inside: str, building: _Building, *, quoted: bool) -> None:
        name = _NAME.match(inside)
        if name is None:
            self._nested_in(inside)
            building.text += UNKNOWN
            return
        rest = inside[name.end() :]
        if not rest:
            self._value(name[0], building, quoted=quoted)
        elif rest in ("[@]", "[*]") and self.variables.get(name[0]):
            values = self.variables[name[0]] or ()
            building.split(" ".join(values)) if not quoted else self._words_of(values, building)
        elif self.depth >= MAX_DEPTH:
            self.reading.unreadable.append("nested too deeply")
            building.text += UNKNOWN
        elif rest.startswith((":-", "-", ":=", "=", ":+", "+")):
            default = rest.lstrip(":")[1:]
            inner = _Reader(default, self.depth + 1, self.variables, self.reading)
            texts = inner._word()
            building.inner += [reading for word in texts for reading in word.inner]
            building.guessed = True
            guess = " ".join(word.text for word in texts)
            if quoted:
                building.text += guess
            else:
                building.split(guess)
        else:
            self._nested_in(rest)
            building.text += UNKNOWN

    def _words_of(self, values: tuple[str, ...], building: _Building) -> None:
        for value in values[:-1]:
            building.done.append(building.text + value)
            building.text = ""
        building.text += values[-1] if values else ""

    # --- what is inside ---------------------------------------------------------------

    def _balanced(self, start: int, opening: str, closing: str) -> tuple[str, int]:
        """The text up to the matching sign, and where to go on; quotes are respected."""
        text = self.text
        level = 1
        at = start
        while at < len(text):
            char = text[at]
            if char == "\\":
                at += 1
            elif char == "'":
                end = text.find("'", at + 1)
                at = end if end >= 0 else at
            elif char == '"':
                at = self._end_of_double(at)
            elif char == opening:
                level += 1
            elif char == closing:
                level -= 1
                if not level:
                    return text[start:at], at + 1
            at += 1
        self.reading.unreadable.append(f"{opening} without {closing}")
        return text[start:], len(text)

    def _end_of_double(self, at: int) -> int:
        at += 1
        while at < len(self.text) and self.text[at] != '"':
            at += 2 if self.text[at] == "\\" else 1
        return at

    def _nested(self, inside: str) -> Reading:
        reading = read(inside, depth=self.depth + 1, variables=self.variables)
        self._adopt(reading, keep_commands=True)
        return reading

    def _adopt(self, reading: Reading, *, keep_commands: bool) -> None:
        self.reading.unreadable += reading.unreadable
        self.reading.functions |= reading.functions
        if keep_commands:
            self.reading.commands += reading.commands
            self.word_count += sum(len(simple.words) for simple in reading.commands)
        else:
            for simple in reading.commands:
                for word in simple.words:
                    for inner in word.inner:
                        self.reading.commands += inner.commands

    def _nested_in(self, inside: str) -> None:
        """Substitutions within text that is otherwise not a command."""
        if "$" in inside or "`" in inside:
            if self.depth >= MAX_DEPTH:
                self.reading.unreadable.append("nested too deeply")
                return
            inner = _Reader(inside, self.depth + 1, self.variables, self.reading)
            while inner.at < len(inside):
                char = inside[inner.at]
                if char == "$":
                    inner._dollar(_Building(), quoted=True)
                elif char == "`":
                    inner._backquote(_Building(), quoted=True)
                elif char == "\\":
                    inner.at += 2
                else:
                    inner.at += 1


def printed_by(reading: Reading) -> str | None:
    """What `echo` or `printf` with literal words prints; None when that is not all there is."""
    if len(reading.commands) != 1 or reading.unreadable:
        return None
    return printed(reading.commands[0])


def printed(simple: Simple) -> str | None:
    """What this command alone prints, if it is `echo` or `printf` and its words are known."""
    if (
        not simple.words
        or simple.producers
        or simple.redirects
        or not all(word.known for word in simple.words)
    ):
        return None
    program, *words = (word.text for word in simple.words)
    if program == "echo":
        escaped = False
        while words and re.fullmatch(r"-[neE]+", words[0]):
            escaped = escaped or "e" in words[0]
            del words[0]
        text = " ".join(words)
        return decode_ansi(text) if escaped else text
    if program == "printf" and words and not words[0].startswith("-"):
        form, values = decode_ansi(words[0]), iter(words[1:])
        return re.sub(
            r"%[-0-9.]*([a-z%])",
            lambda found: "%" if found[1] == "%" else decode_ansi(next(values, "")),
            form,
        )
    return None


def _expand_braces(text: str) -> list[str]:
    waiting, done = [text], list[str]()
    while waiting:
        one = waiting.pop(0)
        found = _BRACES.search(one)
        if found is None:
            done.append(one)
        else:
            before, after = one[: found.start()], one[found.end() :]
            waiting = [before + choice + after for choice in found[1].split(",")] + waiting
        if len(waiting) + len(done) > MAX_BRACES:
            return [*done, UNKNOWN]
    return done
