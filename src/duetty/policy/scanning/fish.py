"""Text as fish reads it: the same reader, with what fish writes otherwise.

Parentheses substitute, back-quotes and here-documents are not known, blocks end with `end`,
and variables are set by `set`.
"""

# pyright: reportPrivateUsage=false

import re

from duetty.policy.late_pattern import late_pattern
from duetty.policy.scanning.findings import Reading, Simple
from duetty.policy.scanning.reader import Frame, Reader, UnreadableError, decode_ansi

_TOKENS = late_pattern(
    r"""(?:[ \t]|\\\n)*
    (?: ([A-Za-z0-9_./,:=+@%^~!*?\[\]`-]+) (?=[ \t\n;|&)]|\Z)
      | ([0-9]*(?: &>>? | <<+ | >> | >\? | >& | [<>] )(?!>?\|))
      | (\n | && | \|\| | ; | [0-9]*>>?\| | &\| | \| | & | \) )
      | (\#[^\n]*) )?""",
    re.VERBOSE,
)
_NEVER = "((?!))"
_PIECES = late_pattern(
    rf"""([^ \t\n'"\\$;&|<>()]+) | '((?:[^'\\]|\\.)*)' | "([^"\\$]*)" | \\\n | \\([xX][0-9a-fA-F]{{1,2}}|u[0-9a-fA-F]{{1,4}}|U[0-9a-fA-F]{{1,8}}|[0-7]{{1,3}}|.)
      | (") | {_NEVER} | (\$) | {_NEVER} | (\() | (['\\])""",
    re.VERBOSE | re.DOTALL,
)
_SINGLE, _ESCAPED, _PARENTHESIS = 2, 4, 9
_IN_DOUBLE = late_pattern(r"""([^"\\$]+)|\\(["$\\\n])|(\\)|(")|(\$)""")
_LETTERS = frozenset("abefnrtvxXuU01234567")
_OPENING = frozenset(["begin", "if", "while"])
_HEADED = frozenset(["for", "switch", "function"])
_SKIPPED = frozenset(["else", "and", "or", "not", "!"])


class _FishReader(Reader):
    reserved = _OPENING | _HEADED | _SKIPPED | {"end", "case"}
    tokens = _TOKENS
    pieces = _PIECES
    in_double = _IN_DOUBLE

    def _reserved(self, frame: Frame, text: str) -> None:
        if text == "end":
            self._end_command(frame, ";")
            self._close(frame)
        elif text not in _SKIPPED:
            if text in _HEADED or text == "case":
                frame.header = text
            if text != "case":
                self._open(frame, text)

    def _headed(self, frame: Frame) -> None:
        """A header goes to the end of its command, and is dropped there."""
        if frame.header == "function":
            self.reading.functions.add(frame.simple.words[0])

    def _on_redirect(self, frame: Frame, sign: str) -> None:
        if "<<" in sign:
            raise UnreadableError(
                "fish knows no here-documents: give the text as stdin, or run it in bash"
            )
        super()._on_redirect(frame, sign.replace("?", ""))

    def _on_operator(self, frame: Frame, sign: str) -> None:
        # `2>|` and `&|` are pipes too.
        super()._on_operator(frame, "|" if sign[-1] == "|" and sign != "||" else sign)

    def _special(self, piece: "re.Match[str]") -> str:
        if piece.lastindex == _PARENTHESIS:
            return self._substitution(quoted=False)
        text = super()._special(piece)
        if piece.lastindex == _SINGLE:
            return re.sub(r"\\([\\'])", r"\1", text)
        if piece.lastindex == _ESCAPED and text[:1] in _LETTERS:
            return decode_ansi(f"\\{text.replace('X', 'x')}")
        return text

    def _pattern_list(self, parts: list[str]) -> bool:
        return True

    def _remember(self, simple: Simple) -> None:
        if simple.words[:1] == ["set"]:
            operands = [word for word in simple.words[1:] if word[:1] != "-"]
            if operands:
                self.variables[operands[0]] = " ".join(operands[1:])
        else:
            super()._remember(simple)


def read_fish(text: str) -> Reading:
    return _FishReader(text).read()
