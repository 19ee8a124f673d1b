"""A tolerant reader of shell text: which commands may be in here, with which words?

For the destructive scan only. It may see more than a shell would run and may guess;
what it cannot read it says (`Reading.unreadable`). Nothing it says ever allows: that
is the recogniser's business.

Resolved on the way, because disguises live there: quotes, escapes and continuation
lines, `$'…'`, literal variables and arrays, `$IFS`, braces, `$(echo …)`, functions,
here-documents, process substitution. Total, and bounded by bytes, words and depth.
"""

import re

from duetty.policy.scanning.expansions import (
    MAX_DEPTH,
    PLAIN,
    WHOLE_WORD_BEHIND,
    Variables,
    WordReader,
)
from duetty.policy.scanning.printed import decode_ansi, formatted
from duetty.policy.scanning.reading import Reading, Redirect, Simple, Word, exact
from duetty.policy.values import new

MAX_WORDS = 600
MAX_PRODUCERS = 16
"""Commands of a pipeline that are remembered with the one they feed."""

MAX_HEREDOCS = 32

_SKIPPED = frozenset(
    "if then else elif do while until time ! { } fi done esac coproc always begin end not and or noglob nocorrect".split()
)
"""Words of the grammar after which a command may follow."""

_HEADS = ("for", "select", "foreach", "case", "function")
"""Words of the grammar that are read together with what follows them."""

_SETTERS = frozenset(
    "read export declare typeset local readonly unset let getopts mapfile readarray printf set eval source .".split()
)
"""Builtins after which a variable is not what it was."""

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]]*\])?(\+?)=")
_BLANK = " \t"
_STARTS = frozenset("\n#\\0123456789<>&;|()")
"""What may begin something else than a word."""

_KEYWORDS = _SKIPPED | frozenset(_HEADS)
_NOT_PLAIN = _KEYWORDS | _SETTERS
_FIRST_WORD = re.compile(r"[a-z]+(?=[ \t\n;|]|\Z)")

_PLAIN_COMMAND = re.compile(rf"[a-z]+(?: (?!#){PLAIN})*")
"""One command of words that no shell looks into: most of what is nested, and read at once."""

_OPERATOR = re.compile(r"&&|\|[|&]|;;&|;[;&]")
"""Operators of more than one sign."""

_IN_CONDITION = re.compile(r"""(?:[^\\'"`$<>\s]|\s(?!\]\](?=[\s;&|)]|\Z)))*\s?""")
"""Of a `[[ … ]]`, what need not be looked at on the way to its end."""

_SIGN = re.compile(r"[0-9]*(?:&>>|&>|>>|>\||>&|<>|<<<|<<-|<<|<&|>|<)")


def read(text: str, depth: int = 0, variables: Variables | None = None) -> Reading:
    """Total: whatever cannot be read is said in the reading."""
    reading = Reading()
    if depth > MAX_DEPTH:
        reading.unreadable.append("nested too deeply")
        return reading
    if _PLAIN_COMMAND.fullmatch(text):
        texts = text.split(" ")
        if texts[0] not in _NOT_PLAIN and len(texts) < MAX_WORDS:
            reading.commands.append(Simple(list(map(exact, texts))))
            reading.sources.add(text)
            return reading
    _Reader(text, depth, {} if variables is None else variables, reading).run()
    return reading


def positional(words: list[str]) -> Variables:
    """`$1`, `$2` …, `$@` and `$*` for these words."""
    variables: Variables = {str(number): (word,) for number, word in enumerate(words[:9], 1)}
    return variables | {"@": tuple(words), "*": tuple(words)}


class _Reader(WordReader):
    __slots__ = ("command", "ends", "heredocs", "last", "piped", "starts")

    def __init__(self, text: str, depth: int, variables: Variables, reading: Reading) -> None:
        # As the lower half sets itself up: one is made for every text, and each step counts.
        self.text = text
        self.at = 0
        self.depth = depth
        self.variables = variables
        self.reading = reading
        self.word_count = 0
        self.command = Simple()
        self.heredocs: list[tuple[Simple, str, bool, bool]] = []
        self.last: Simple | None = None
        self.piped = ""
        self.starts = -1
        """Where the command at hand begins."""
        self.ends = 0
        """Where its last word ends."""

    # --- commands -------------------------------------------------------------

    def run(self) -> None:
        text = self.text
        size = len(text)
        while self.at < size and self.word_count < MAX_WORDS:
            char = text[self.at]
            if char in " \t\r":
                if self.command.words:
                    self._take_whole_words()
                else:
                    self.at += 1
            elif char not in _STARTS:
                if self.command.words:
                    # Not a whole word, or it had been read with the blanks before it.
                    self._take_word()
                elif (plain := _FIRST_WORD.match(text, self.at)) and plain[0] not in _KEYWORDS:
                    # A program with a plain name: no keyword, no assignment.
                    if self.starts < 0:
                        self.starts = self.at
                    self.command.words.append(exact(plain[0]))
                    self.word_count += 1
                    self.at = self.ends = plain.end()
                else:
                    self._take_word()
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

    def _take_whole_words(self) -> None:
        """The words behind this blank that are whole, or else only the blank."""
        text, words, begins = self.text, self.command.words, self.at
        at = begins
        room = MAX_WORDS - self.word_count
        while room and (whole := WHOLE_WORD_BEHIND.match(text, at)):
            # As `exact` makes it.
            words.append(new(Word, (whole[whole.lastindex or 0], False, (), False)))
            at = whole.end()
            room -= 1
        if at == begins:
            self.at += 1
        else:
            self.at = self.ends = at
            self.word_count = MAX_WORDS - room

    def _operator(self, char: str) -> None:
        found = _OPERATOR.match(self.text, self.at)
        operator = found[0] if found else char
        self.at += len(operator)
        self._separate("|" if operator == "|&" else operator)

    def _parenthesis(self, char: str) -> None:
        text = self.text
        if (
            char == "("
            and text.startswith("((", self.at)
            and not self.command.words
            and self._arithmetic(self.at + 2)
        ):
            if self.piped != "|":
                self.piped = ")"
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
        if command.words or command.assignments or command.redirects:
            command.joined_by = command.joined_by or self.piped
            if self.piped == "|":
                command.producers = [
                    *(self.last.producers[-MAX_PRODUCERS:] if self.last else []),
                    self.last,
                ]
            if command.assignments or (command.words and command.words[0].text in _SETTERS):
                self._assign(command)
            self.reading.commands.append(command)
            if self.starts >= 0:
                self.reading.sources.add(self.text[self.starts : self.ends])
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
        if operator:  # else the text ends here
            self.command = Simple()
            self.starts = -1

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
        name, *texts = (word.text for word in command.words)
        if all(word.known for word in command.words) and self._set(name, texts, command):
            return
        if name in ("eval", "source", "."):
            self.variables.update(dict.fromkeys(self.variables))
        # `declare -n a=b`: the value is another variable's name.
        refers = any(word.text[:1] == "-" and "n" in word.text for word in command.words[1:])
        for word in command.words[1:]:
            name, sign, value = word.text.partition("=")
            if sign and word.known and not refers and name not in self.variables:
                self.variables[name] = (value,)
            else:
                self.variables[name.partition("[")[0]] = None

    def _set(self, name: str, texts: list[str], command: Simple) -> bool:
        """Whether what the builtin sets could be read: `set -- …`, `printf -v`, `read … <<<`."""
        if name == "set" and texts[:1] == ["--"]:
            self.variables |= positional(texts[1:])
        elif name == "set" and texts and texts[0][:1] not in ("-", "+"):
            self.variables |= positional(texts)
        elif name == "printf" and texts[:1] == ["-v"] and len(texts) > 2:
            self.variables[texts[1]] = (formatted(decode_ansi(texts[2]), texts[3:]),)
        elif name == "read" and len(command.bodies) == 1 and not command.producers:
            names = [text for text in texts if text[:1] != "-"]
            values = command.bodies[0].split(None, max(len(names) - 1, 0))
            for number, each in enumerate(names):
                known = self.variables.get(each, ()) == ()
                self.variables[each] = (values[number],) if known and number < len(values) else None
                if number < len(values):
                    command.assignments.append((each, exact(values[number])))
        else:
            return False
        return True

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
        self.ends = self.at
        raw = self.text[start : self.at]
        command = self.command
        if self.starts < 0:
            self.starts = start
        if not command.words:
            if raw in _SKIPPED:
                self.starts = -1
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
            if "[" in raw and words:
                self._computed(words[0])
            if found := _ASSIGNMENT.match(raw):
                self._assignment(found[1], raw[found.end() :], words, appends=bool(found[2]))
                return
        command.words += words

    def _assignment(self, name: str, raw_value: str, words: list[Word], *, appends: bool) -> None:
        if not raw_value and self.at < len(self.text) and self.text[self.at] == "(":
            inside, self.at = self._balanced(self.at + 1, ")")
            inner = _Reader(inside, self.depth + 1, self.variables, self.reading)
            values = inner._all_words(has_comments=True)
            for word in values:
                self._computed(word)
            before = self.variables.get(name, ()) if appends else ()
            texts = (*(before or ()), *(word.text for word in values))
            is_known = before is not None and all(word.known for word in values)
            self.variables[name] = texts if is_known else None
            self.command.assignments.append((name + "[]", Word(" ".join(texts))))
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
        are_known = bool(listed) and all(word.known and not word.glob for word in listed)
        for name in names:
            only = len(listed) == 1 and are_known
            self.variables[name.text] = (listed[0].text,) if only else None
            is_new = name.text not in self.reading.loops
            self.reading.loops[name.text] = (
                tuple(word.text for word in listed) if are_known and is_new else None
            )
            self._keeps(name.text, listed)

    def _skip_to_in(self) -> None:
        self._skip_blanks()
        self._word()
        self._skip_blanks()
        if self.text.startswith("in", self.at):
            self.at += 2

    def _double_bracket(self) -> None:
        start = self.at
        end = self._past_condition(start)
        if end > len(self.text):
            self.reading.unreadable.append("no ]] to an opening one")
        self.reading.tested.append(self.text[start : end - 2])
        self._nested_in(self.text[start : end - 2], processes=True)
        self.at = min(end, len(self.text))
        self.command.words.append(Word("[["))

    def _past_condition(self, at: int) -> int:
        """Where to go on behind the `]]` that ends the condition; beyond the text if none does."""
        while (at := _IN_CONDITION.match(self.text, at).end()) < len(self.text):  # type: ignore[union-attr]
            if self.text[at] == "]":
                return at + 2
            at = self._past(at, quoted=False, level=0)
        return len(self.text) + 2

    def _defaulted(self, name: str, word: Word) -> None:
        simple = Simple()
        simple.assignments.append((name, word))
        self.reading.commands.append(simple)

    def _nested(self, inside: str) -> Reading:
        reading = read(inside, depth=self.depth + 1, variables=self.variables)
        self.reading.unreadable += reading.unreadable
        self.reading.functions |= reading.functions
        self.reading.sources |= reading.sources
        self.reading.counted += reading.counted
        self.reading.tested += reading.tested
        self.reading.pointed += reading.pointed
        self.reading.loops |= reading.loops
        self.reading.commands += reading.commands
        self.word_count += sum(len(simple.words) for simple in reading.commands)
        return reading
