"""The words of shell text, with what a shell would make of them: the reader's lower half.

Quotes, escapes, `$'…'`, variables, braces, substitutions. What cannot be known is
`UNKNOWN` within the word, and what is substituted is read like any other text.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from duetty.policy.scanning.printed import decode_ansi, printed_by
from duetty.policy.scanning.reading import UNKNOWN, Reading, Simple, Word, exact
from duetty.policy.values import new

MAX_DEPTH = 8
MAX_BRACES = 32

Variables = dict[str, tuple[str, ...] | None]
"""What is known of variables: their words, or None where only a shell knows."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[@*#?$!0-9-]")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_OPERATORS = frozenset(";&|<>()\n")
PLAIN = r"[^ \t\n\r;&|<>()'\"\\$`*?\[{]+"
"""What no shell looks into."""

_RUN = re.compile(PLAIN)

_WHOLE = rf"""(?:({PLAIN})|'([^']*)'|"([^"\\$`]*)")(?=[ \t\n\r;&|()]|\Z)"""
WHOLE_WORD = re.compile(_WHOLE)
"""A whole word of it, or one between quotes in which nothing is expanded: most words.

The last group that matched is its text.
"""

WHOLE_WORD_BEHIND = re.compile(rf"[ \t\r]+(?!#){_WHOLE}")
"""The same with the blanks before it."""

_IN_DOUBLE = re.compile(r'[^"\\$`]+')
"""What is itself between double quotes."""

_NESTING = re.compile(r"[$`\\]")
_SKIPPED = {signs: re.compile(rf"[^\\'\"{re.escape(signs)}]*") for signs in ("()", "{}", "[]")}
"""What need not be looked at on the way to the end of a pair."""

_DEFAULTS = frozenset("-=+?")
"""Behind a colon: what stands in for a value, and is not computed."""

_OWN_ARGUMENTS = frozenset(["#", "OPTIND", "@", "*"])
"""Numbers of a function's own arguments, or what these are."""

_WELL_KNOWN = {"HOME": "~", "PWD": ".", "OLDPWD": "..", "IFS": " "}


class _Building:
    """A word in the making; unquoted blanks of a variable's value split it."""

    __slots__ = ("braced", "done", "glob", "guessed", "inner", "started", "text")

    def __init__(self) -> None:
        self.done: list[str] = []
        self.text = ""
        self.started = False
        self.glob = False
        self.guessed = False
        self.braced = False
        self.inner: list[Reading] = []

    def split(self, value: str) -> None:
        parts = re.split(r"[ \t\n]+", value)
        self.text += parts[0]
        for part in parts[1:]:
            if self.text:
                self.done.append(self.text)
            self.text = part
        self.started = True


class WordReader(ABC):
    """Reads words from where it stands in a text."""

    __slots__ = ("at", "depth", "reading", "text", "variables", "word_count")

    def __init__(self, text: str, depth: int, variables: Variables, reading: Reading) -> None:
        self.text = text
        self.at = 0
        self.depth = depth
        self.variables: Variables = variables
        self.reading = reading
        self.word_count: int = 0

    @abstractmethod
    def _nested(self, inside: str) -> Reading:
        """Read text that runs within this one."""

    def _skip_blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1

    def _word(self) -> list[Word]:
        """The word that begins here; several when a variable or braces make several of it."""
        text = self.text
        whole = WHOLE_WORD.match(text, self.at)
        if whole is not None:
            self.at = whole.end()
            return [exact(whole[whole.lastindex or 0])]
        size = len(text)
        building = _Building()
        while self.at < size:
            char = text[self.at]
            if char in " \t\n\r":
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
                building.started = True
                if (plain := _RUN.match(text, self.at)) is not None:
                    building.text += plain[0]
                    self.at = plain.end()
                    continue
                building.glob = building.glob or char in "*?["
                building.braced = building.braced or char == "{"
                building.text += char
                self.at += 1
        if not building.started and not building.done:
            return []
        inner = tuple(building.inner)
        if not building.done and not building.braced:  # nearly always
            return [new(Word, (building.text, building.glob, inner, building.guessed))]
        texts = (
            [*building.done, building.text] if building.text or not building.done else building.done
        )
        if building.braced:
            texts = [each for one in texts for each in _expand_braces(one)]
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
                plain = _IN_DOUBLE.match(text, self.at)
                assert plain is not None
                building.text += plain[0]
                self.at = plain.end()
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
            self.reading.counted.append(inside)
            self._nested_in(inside)
            building.text += UNKNOWN
        elif following == "(":
            inside, self.at = self._balanced(self.at + 2, "(", ")")
            self._substitute(inside, building, quoted=quoted)
        elif following == "{":
            inside, self.at = self._balanced(self.at + 2, "{", "}")
            if inside.endswith("@P"):
                self.reading.unreadable.append(
                    "a value is expanded as a prompt, and runs what it says"
                )
            self._parameter(inside, building, quoted=quoted)
        elif following == "[":
            inside, self.at = self._balanced(self.at + 2, "[", "]")
            self.reading.counted.append(inside)
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
            elif name in "@*":
                self._words_of(values, building) if quoted else building.split(" ".join(values))
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
        if name[0] == "!" and rest:
            self._points(rest)
        elif rest[:1] in (":", "[") and rest[1:2] not in _DEFAULTS:
            self.reading.counted.append(rest)
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
            inner = type(self)(default, self.depth + 1, self.variables, self.reading)
            texts = inner._word()
            building.inner += [reading for word in texts for reading in word.inner]
            building.guessed = True
            guess = " ".join(word.text for word in texts)
            if rest.startswith((":=", "=")):
                self._keeps(name[0], texts)
            if quoted:
                building.text += guess
            else:
                building.split(guess)
        else:
            self._nested_in(rest)
            building.text += UNKNOWN

    def _points(self, inside: str) -> None:
        """`${!x}`: what the variable is called is the value of another."""
        name = _NAME.match(inside)
        if inside in _OWN_ARGUMENTS or name is None or inside[name.end() :] in ("[@]", "[*]"):
            return  # keys of an array
        is_list = inside[name.end() :] in ("*", "@")  # names that begin so
        values = self.variables.get(name[0]) or (None,)
        self.reading.pointed.append((inside, name[0] if is_list else values[0]))

    def _keeps(self, name: str, words: Sequence[Word]) -> None:
        """What is assigned in passing, if it could run where it is expanded again."""
        for word in words:
            if "$(" in word.text or "`" in word.text:
                kept = Simple()
                kept.assignments = [(name, word)]
                self.reading.commands.append(kept)

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
        skipped = _SKIPPED[opening + closing]
        at = start
        while (at := skipped.match(text, at).end()) < len(text):  # type: ignore[union-attr]
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

    def _nested_in(self, inside: str) -> None:
        """Substitutions within text that is otherwise not a command."""
        if "$" in inside or "`" in inside:
            if self.depth >= MAX_DEPTH:
                self.reading.unreadable.append("nested too deeply")
                return
            inner = type(self)(inside, self.depth + 1, self.variables, self.reading)
            while (found := _NESTING.search(inside, inner.at)) is not None:
                inner.at = found.start()
                if found[0] == "$":
                    inner._dollar(_Building(), quoted=True)
                elif found[0] == "`":
                    inner._backquote(_Building(), quoted=True)
                else:
                    inner.at += 2


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
