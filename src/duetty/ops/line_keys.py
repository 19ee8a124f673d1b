"""Keys that make a shell's line editor run code before there is a line to ask about.

Tab in zsh expands `$(…)`, so does Esc Ctrl-E in bash, and Alt-O in fish runs what stands in brackets.
The shell's hook sees lines, not keys; so an agent may not press such a key while something that can
run may stand in the line. What the line holds is known as far as it was typed or is shown; after a key
that brings text from elsewhere (history, a yank) it may hold anything.
"""

import re
from collections import OrderedDict
from dataclasses import dataclass

_RUNS = re.compile(r"[$`(!^]")
"""Without one of these no expansion runs anything: substitutions, glob qualifiers, history."""

_PASTE = re.compile(r"\x1b\[200~(.*?)(?:\x1b\[201~|\Z)", re.DOTALL)
_KEY = re.compile(
    r"(?P<end>[\r\n\x03])"
    r"|(?P<edits>[\x01\x02\x05\x06\x07\x08\x0b\x0c\x15\x17\x1a\x1c\x7f]"
    r"|\x1b(?:\[(?:[CDHF]|1;[2-8][CDHF]|[1347]~|8~|[IO])|O[CDHF]))"
    r"|(?P<brings>[\x0e\x0f\x10\x11\x12\x13\x14\x16\x19\x1f]|\x1b(?:\[(?:[AB]|[56]~)|O[AB]))"
    r"|(?P<text>[^\x00-\x1f\x7f]+)"
    r"|(?P<other>\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|\x1b?[^\x1b])?|[\x00-\x1f])",
    re.DOTALL,
)
"""What ends a line, changes it in a known way, brings text into it, is text; and everything else."""

MAX_SESSIONS = 1_000


@dataclass(slots=True)
class _Line:
    """What an agent's keys may have left on the line."""

    prompts: int
    may_run: bool = False
    before: bool = False
    """A line before this one may have, and no prompt was drawn since: fish goes on with it in place."""


class LineKeys:
    def __init__(self) -> None:
        self._lines: OrderedDict[str, _Line] = OrderedDict()

    def runs_code(self, session: str, keys: str, *, prompts: int, shown: str) -> bool:
        """Whether one of these keys might run what is on the line; they are taken into account.

        `prompts` counts what the shell has drawn; `shown` is what stands on its line now.
        """
        line = self._line(session, prompts)
        for part in _PASTE.split(keys)[1::2]:
            line.may_run = line.may_run or _RUNS.search(part) is not None
        for key in _KEY.finditer(_PASTE.sub("", keys)):
            match key.lastgroup:
                case "text":
                    line.may_run = line.may_run or _RUNS.search(key[0]) is not None
                case "end":
                    line.before = line.before or (line.may_run and key[0] != "\x03")
                    line.may_run = False
                case "brings":
                    line.may_run = True
                case "other":
                    if line.may_run or line.before or _RUNS.search(shown):
                        return True
                    line.may_run = key[0] != "\t"
                case _:
                    pass
        return False

    def _line(self, session: str, prompts: int) -> _Line:
        line = self._lines.pop(session, None) or _Line(prompts)
        self._lines[session] = line
        if len(self._lines) > MAX_SESSIONS:
            self._lines.popitem(last=False)
        if line.prompts != prompts:
            line.prompts, line.before = prompts, False
        return line
