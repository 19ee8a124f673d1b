"""Text that comes in pieces, in rows that end between words."""

from unicodedata import combining, east_asian_width


class WordWrap:
    """Each piece is written at once; a word that reaches the end of its row is moved to the next one."""

    def __init__(self, cols: int) -> None:
        self._cols = cols
        self._at = 0
        """Columns of this row that are written."""

        self._word = ""
        self._word_cols = 0

    def pass_on(self, text: str) -> str:
        """What to write for this piece."""
        return "".join(map(self._pass_one, text))

    def _pass_one(self, char: str) -> str:
        if char == "\n":
            self._at = 0
            self._begin_word()
            return char
        cols = _columns(char)
        moved = ""
        if self._at + cols > self._cols:
            if char == " ":
                self._at = 0
                self._begin_word()
                return "\n"
            moved = self._moved()
        self._at += cols
        if char == " ":
            self._begin_word()
        else:
            self._word += char
            self._word_cols += cols
        return moved + char

    def _begin_word(self) -> None:
        self._word, self._word_cols = "", 0

    def _moved(self) -> str:
        """The word that is written so far, in the next row. One that is longer than a row is broken."""
        start = self._at - self._word_cols
        if start <= 0:
            self._at = 0
            self._begin_word()
            return "\n"
        self._at = self._word_cols
        return f"\033[{start + 1}G\033[K\n{self._word}"


def _columns(char: str) -> int:
    if combining(char) or char in "\u200d\ufe0f":
        return 0
    return 2 if east_asian_width(char) in "WF" else 1
