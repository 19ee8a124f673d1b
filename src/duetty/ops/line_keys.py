"""Keys that make a shell's line editor run code before there is a line to ask about.

Tab in zsh expands `$(…)`, so does Esc Ctrl-E in bash, and Alt-O in fish runs what stands in brackets.
The shell's hook sees lines, not keys; so an agent may not press such a key while something that can
run may stand in the line. What the line holds is known as far as it was typed or is shown; after a key
that brings text from elsewhere (history, a yank) it may hold anything, and so it may between the end of
a line, however it ended, and the next prompt.
"""

import re
from collections import OrderedDict
from dataclasses import dataclass

_RUNS = re.compile(r"[$`(!^]")
"""Without one of these no expansion runs anything: substitutions, glob qualifiers, history."""

_EXPANDS = 0x85
"""Meta-Ctrl-E as one byte, where bash takes the eighth bit for Meta (LC_ALL=C): part of a letter elsewhere."""

_KEY = re.compile(
    r"(?P<paste>\x1b\[200~(?P<pasted>.*?)(?:\x1b\[201~|\Z))"
    r"|(?P<end>[\r\n\x03\x0f])"
    r"|(?P<edits>[\x01\x02\x05\x06\x07\x08\x0b\x0c\x15\x17\x1a\x1c\x7f]|\x1b[\[O][CD])"
    r"|(?P<quotes>[\x11\x16])"
    r"|(?P<brings>[\x0e\x10\x12\x13\x14\x19\x1f]|\x1b(?:\[(?:[ABFH]|[1-8](?:;[2-8])?[~ABCDFH]|[IO])|O[ABFH]))"
    r"|(?P<text>[^\x00-\x1f\x7f\ufffd]+)"
    r"|(?P<other>\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|\x1b?[^\x1b])?|[\x00-\x1f\ufffd])",
    re.DOTALL,
)
"""A paste; what ends a line, changes it in a known way, takes the next key as text, brings text into it,
is text; and everything else, bytes that are no text among it."""

MAX_SESSIONS = 1_000


@dataclass(slots=True)
class _Line:
    """What an agent's keys may have left on the line."""

    prompts: int
    may_run: bool = False
    has_ended: bool = False
    """A line was ended, and no prompt drawn since: nobody knows what is on the next one."""

    is_quoting: bool = False
    """The next key, an Escape perhaps, may be taken as text: what follows it are keys."""


class LineKeys:
    def __init__(self) -> None:
        self._lines: OrderedDict[str, _Line] = OrderedDict()

    def runs_code(
        self, session: str, keys: str, *, prompts: int, shown: str | None, settled: bool = False
    ) -> bool:
        """Whether one of these keys might run what is on the line; they are taken into account.

        `prompts` counts what the shell has drawn; `shown` is what stands on its line now, None if nobody
        can tell. `settled`: the shell has had time to show all that was typed.
        """
        line = self._line(session, prompts)
        if settled and shown is not None:
            line.may_run = line.has_ended = line.is_quoting = False
        is_shown_code = shown is None or _RUNS.search(shown) is not None
        for key in _KEY.finditer(keys):
            was_quoting, line.is_quoting = line.is_quoting, False
            match key.lastgroup:
                case "paste" if was_quoting:
                    return True
                case "paste":
                    line.may_run = line.may_run or _RUNS.search(key["pasted"]) is not None
                case "text":
                    line.may_run = line.may_run or _RUNS.search(key[0]) is not None
                    if _EXPANDS in key[0].encode("utf-8", "replace") and line.may_run:
                        return True
                case "end":
                    line.has_ended, line.may_run = True, line.may_run and key[0] == "\x03"
                case "quotes":
                    line.is_quoting = line.may_run = True
                case "brings":
                    line.may_run = True
                case "other":
                    if line.may_run or line.has_ended or is_shown_code:
                        return True
                    line.may_run = line.is_quoting = key[0] != "\t"
                case _:
                    pass
        return False

    def _line(self, session: str, prompts: int) -> _Line:
        line = self._lines.pop(session, None) or _Line(prompts)
        self._lines[session] = line
        if len(self._lines) > MAX_SESSIONS:
            self._lines.popitem(last=False)
        if line.prompts != prompts:
            line.prompts, line.has_ended = prompts, False
        return line
