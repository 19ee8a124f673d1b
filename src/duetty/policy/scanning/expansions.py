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
MAX_TWICE = 4
"""How deep a text is read in two ways where shells do: each level doubles what there is to read."""

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

_IN_OPEN = re.compile(r'[^"\\$`<>]+|[<>](?!\()')
"""The same in a `${…}` between them: `<(…)` runs in some of those."""

_NESTING = re.compile(r"[$`\\]|[<>](?=\()")
_SKIPPED = {
    ")": re.compile(r"[^\\'\"`$()<#\n]*"),
    "}": re.compile(r"[^\\'\"`$}<>]*"),
    "]": re.compile(r"[^\\'\"`$\[\]]*"),
    '"': re.compile(r'[^\\"`$]*'),
}
"""What need not be looked at on the way to the end of a pair."""

_DEFAULTS = frozenset("-=+?")
"""Behind a colon: what stands in for a value, and is not computed."""

_OWN_ARGUMENTS = frozenset(["#", "OPTIND", "@", "*"])
"""Numbers of a function's own arguments, or what these are."""

_OPENING = {")": "(", "]": "["}
"""What counts for itself on that way; in `${…}` the first `}` is the last."""

_HEREDOC = re.compile(r"""<<(-?)[ \t]*((?:'[^'\n]*'|"[^"\n]*"|\\.|[^\s;&|<>()'"\\])+)""")
_QUOTES = re.compile(r"['\"\\]")
_CASE = re.compile(r"\bcase\s+\S+\s+in\b")
_ESAC = re.compile(r"\besac\b")

_SUBSCRIPT = re.compile(r"\[.*(?:\$[(\[{]|`)", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\`$])")
_ESCAPED_QUOTED = re.compile(r"\\([\\`$\"])")
"""What a backslash hides between back-quotes."""

MAX_PAIRS = 40
"""Quotes and expansions around one another that are looked through for their ends."""

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
    def _defaulted(self, name: str, word: Word) -> None:
        """`${name:=word}` gives a variable its value."""

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

    def _double(self, building: _Building, *, is_open: bool = False) -> None:
        """What stands between double quotes; `is_open`: the text is of it already, and may end."""
        building.started = True
        text = self.text
        if not is_open:
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
                plain = (_IN_OPEN if is_open else _IN_DOUBLE).match(text, self.at)
                if plain is None:
                    self._process(building)
                    continue
                building.text += plain[0]
                self.at = plain.end()
        if not is_open:
            self.reading.unreadable.append("a quote without an end")

    # --- expansions -----------------------------------------------------------------

    def _process(self, building: _Building) -> None:
        sign = self.text[self.at]
        inside, self.at = self._balanced(self.at + 2, ")")
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
        elif text.startswith("$((", self.at) and self._arithmetic(self.at + 3):
            building.text += UNKNOWN
        elif following == "(":
            inside, self.at = self._balanced(self.at + 2, ")")
            self._substitute(inside, building, quoted=quoted)
        elif following == "{":
            inside, self.at = self._balanced(self.at + 2, "}", quoted=quoted)
            if inside.endswith("@P"):
                self.reading.unreadable.append(
                    "a value is expanded as a prompt, and runs what it says"
                )
            self._parameter(inside, building, quoted=quoted)
        elif following == "[":
            inside, self.at = self._balanced(self.at + 2, "]")
            self.reading.counted.append(inside)
            self._nested_in(inside)
            building.text += UNKNOWN
        elif name := _NAME.match(text, self.at + 1):
            self.at = name.end()
            self._value(name[0], building, quoted=quoted)
        else:
            building.text += "$"
            self.at += 1

    def _arithmetic(self, start: int) -> bool:
        """Go behind the `((…))` whose inside begins here; False where it is a group in a group."""
        inside, end = self._balanced(start, ")", is_arithmetic=True)
        if end < len(self.text) and self.text[end] != ")":
            return False
        self.at = end + 1
        self.reading.counted.append(inside)
        self._nested_in(inside)
        return True

    def _backquote(self, building: _Building, *, quoted: bool) -> None:
        end = self._past_backquote(self.at)
        if end > len(self.text):
            self.reading.unreadable.append("a back-quote without an end")
        # Between double quotes, one of those is escaped once more.
        raw = self.text[self.at + 1 : end - 1]
        inside = (_ESCAPED_QUOTED if quoted else _ESCAPED).sub(r"\1", raw)
        if (
            quoted and '\\"' in raw and self._reads_twice()
        ):  # but not where single quotes count after all
            self._nested(_ESCAPED.sub(r"\1", raw))
        self.at = end
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
            if inside[:1] in (" ", "\t", "\n", "|"):  # `${ command; }`
                self._substitute(inside.removeprefix("|"), building, quoted=quoted)
            else:
                self._nested_in(inside, processes=True)
                self._quoted_in(inside)
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
            sign = rest.lstrip(":")[0]
            default = rest.lstrip(":")[1:]
            inner = type(self)(default, self.depth + 1, self.variables, self.reading)
            word = inner._default(quoted=quoted)
            building.inner += word.inner
            building.guessed = True
            if sign == "=":
                self._defaulted(name[0], word)
            if quoted:
                building.text += word.text
            else:
                building.split(word.text)
        else:
            self._nested_in(rest, processes=True)
            self._quoted_in(rest)
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

    def _default(self, *, quoted: bool) -> Word:
        """All the text as the one word that stands for a variable: blanks and operators are of it.

        Within double quotes and here-documents, single quotes are letters of it.
        """
        building = _Building()
        if quoted:
            while self.at < len(self.text):
                self._double(building, is_open=True)
            self._quoted_in(self.text)
            return Word(building.text, inner=tuple(building.inner))
        if "'" in self.text and self._reads_twice():
            # bash forgets about some of them, as of `$'…'` in a `case` in a substitution.
            self._nested_in(self.text, processes=True)
        while self.at < len(self.text):
            start = self.at
            for word in self._word():
                building.text += f" {word.text}" if building.text[-1:] == " " else word.text
                building.inner += word.inner
            if self.at == start:
                building.text += " " if self.text[start] in " \t\n\r" else self.text[start]
                self.at += 1
        return Word(building.text, inner=tuple(building.inner))

    def _all_words(self, *, has_comments: bool = False) -> list[Word]:
        """The words of all the text, whatever stands between them."""
        words: list[Word] = []
        while self.at < len(self.text):
            start = self.at
            if has_comments and self.text[start] == "#":
                self.at = _past_comment(self.text, start)
                continue
            words += self._word()
            if self.at == start:
                self.at += 1
        return words

    def _words_of(self, values: tuple[str, ...], building: _Building) -> None:
        for value in values[:-1]:
            building.done.append(building.text + value)
            building.text = ""
        building.text += values[-1] if values else ""

    # --- what is inside ---------------------------------------------------------------

    def _balanced(
        self, start: int, closing: str, *, quoted: bool = False, is_arithmetic: bool = False
    ) -> tuple[str, int]:
        """The text up to the matching sign, and where to go on; quotes are respected.

        `quoted`: single ones are not, for it stands between double ones.
        """
        end = self._past_pair(start, closing, quoted=quoted, is_arithmetic=is_arithmetic)
        if end > len(self.text):
            self.reading.unreadable.append(f"no {closing} to an opening one")
            return self.text[start:], len(self.text)
        return self.text[start : end - 1], end

    def _past_pair(
        self,
        at: int,
        closing: str,
        *,
        quoted: bool = False,
        is_arithmetic: bool = False,
        level: int = 0,
    ) -> int:
        """Where to go on behind the sign that ends what begins here; beyond the text if none does."""
        text, size = self.text, len(self.text)
        start = at
        opening = _OPENING.get(closing)
        skipped = _SKIPPED[closing]
        has_commands = closing == ")" and not is_arithmetic
        open_pairs = 1
        heredocs: list[tuple[str, bool]] = []
        if level > MAX_PAIRS:
            self.reading.unreadable.append("nested too deeply")
            return size + 1
        while (at := skipped.match(text, at).end()) < size:  # type: ignore[union-attr]
            char = text[at]
            if char == closing:
                if has_commands and open_pairs == 1 and _in_case(text[start:at]):
                    at += 1
                    continue
                open_pairs -= 1
                if not open_pairs:
                    return at + 1
                at += 1
            elif char == opening:
                open_pairs += 1
                at += 1
            elif has_commands and char == "#":
                at = _past_comment(text, at)
            elif has_commands and char == "<" and (heredoc := _HEREDOC.match(text, at)):
                is_string = text.startswith("<<<", at)
                if not is_string:
                    heredocs.append((_QUOTES.sub("", heredoc[2]), bool(heredoc[1])))
                at = at + 3 if is_string else heredoc.end()
            elif char == "\n" and heredocs:
                at = _past_bodies(text, at + 1, heredocs)
                heredocs = []
            else:
                at = self._past(at, quoted=quoted, level=level)
        return size + 1

    def _past(self, at: int, *, quoted: bool, level: int) -> int:
        """Where to go on behind the quote, escape, expansion or sign that begins here."""
        text, size = self.text, len(self.text)
        char, following = text[at], text[at + 1 : at + 2]
        if char == "\\":
            return at + 2
        if char == '"':
            return self._past_pair(at + 1, '"', quoted=True, level=level + 1)
        if char == "`":
            return self._past_backquote(at)
        if char == "$":
            if following == "(":
                is_arithmetic = text.startswith("((", at + 1)
                return self._past_pair(at + 2, ")", is_arithmetic=is_arithmetic, level=level + 1)
            if following == "{":
                return self._past_pair(at + 2, "}", quoted=quoted, level=level + 1)
            if following == "[":
                return self._past_pair(at + 2, "]", level=level + 1)
            if following == "'" and not quoted:
                return self._past_escaped(at + 2, "'")
        elif quoted:
            return at + 1
        elif char == "'":
            end = text.find("'", at + 1)
            return end + 1 if end >= 0 else size + 1
        elif char in "<>" and following == "(":
            return self._past_pair(at + 2, ")", level=level + 1)
        return at + 1

    def _past_backquote(self, at: int) -> int:
        return self._past_escaped(at + 1, "`")

    def _past_escaped(self, at: int, quote: str) -> int:
        text, size = self.text, len(self.text)
        while at < size and text[at] != quote:
            at += 2 if text[at] == "\\" else 1
        return at + 1 if at < size else size + 1

    def _reads_twice(self) -> bool:
        """Whether text of two readings is read in both; where it is not, that is said."""
        if self.depth < MAX_TWICE:
            return True
        self.reading.unreadable.append("nested too deeply")
        return False

    def _quoted_in(self, inside: str) -> None:
        """Substitutions within text in which single quotes may hide one, and so show another.

        Between double quotes bash looks for the end of `${…}` as if single quotes hid something
        there, and expands most of it as if they did not; other shells do not look at them at all.
        Where that makes a difference to its end, one of them stands alone here, which is said.
        """
        if "'" in inside and self._reads_twice():
            type(self)(inside, self.depth + 1, self.variables, self.reading)._all_words()

    def _computed(self, word: "Word | _Building") -> None:
        """Substitutions in the subscripts of what has been expanded: computing expands them again."""
        bodies = [
            body for reading in word.inner for each in reading.commands for body in each.bodies
        ]
        if "[" in word.text:  # then they stand in it, like as not
            bodies = [f"[{body}" for body in bodies]
        for text in (word.text, *bodies):
            if "[" in text and _SUBSCRIPT.search(text):
                self._nested_in(text, processes=True)

    def _nested_in(self, inside: str, *, processes: bool = False) -> None:
        """Substitutions within text that is otherwise not a command; quotes hide none."""
        if "$" in inside or "`" in inside or (processes and "(" in inside):
            if self.depth >= MAX_DEPTH:
                self.reading.unreadable.append("nested too deeply")
                return
            inner = type(self)(inside, self.depth + 1, self.variables, self.reading)
            expanded = _Building()
            while (found := _NESTING.search(inside, inner.at)) is not None:
                inner.at = found.start()
                if found[0] == "$":
                    inner._dollar(expanded, quoted=True)
                elif found[0] == "`":
                    inner._backquote(expanded, quoted=True)
                elif found[0] == "\\":
                    inner.at += 2
                else:
                    if processes and self._reads_twice():
                        inner._process(_Building())
                    inner.at = found.end() + 1  # and within it, where it is none
            inner._computed(expanded)


def _in_case(text: str) -> bool:
    """Whether a `)` behind this ends a pattern."""
    return "case" in text and len(_CASE.findall(text)) > len(_ESAC.findall(text))


def _past_comment(text: str, at: int) -> int:
    """Behind the comment that begins here, or behind the sign that is none."""
    if at and text[at - 1] not in " \t\n;&|()":
        return at + 1
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _past_bodies(text: str, at: int, heredocs: list[tuple[str, bool]]) -> int:
    for delimiter, stripped in heredocs:
        while at < len(text):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            line = text[at:end]
            at = end + 1
            if (line.lstrip("\t") if stripped else line) == delimiter:
                break
    return at


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
