"""Keys that make a shell's line editor run code before there is a line to ask about.

Tab in zsh expands `$(…)`, so does Esc Ctrl-E in bash, and Alt-O in fish runs what stands in brackets.
The shell's hook sees lines, not keys; so an agent may not press such a key while something that can
run may stand in the line. What is on the screen can raise that suspicion and never end it: a line can
stand there unseen (a small screen, a clear, no echo). Only a new prompt does, drawn after the shell had
read the keys. A key that is not known to be harmless in every keymap of every shell is such a key.
"""

import re
from collections import OrderedDict
from dataclasses import dataclass, replace

_RUNS = re.compile(r"[$`(!^]")
"""Without one of these no expansion runs anything: substitutions, glob qualifiers, history."""

_RICH = re.compile(r"[^\w\s./~+:,-]")
"""What completion may make something else of (globs, quotes, a history character of one's own), or hand
to a shell again, as completions of fish and zsh do with what stood between quotes."""

_EXPANDS = 0x85
"""Meta-Ctrl-E as one byte, where bash takes the eighth bit for Meta (LC_ALL=C): part of a letter elsewhere."""

_COMMANDS = re.compile(r"[v=:@*K\\]")
"""Keys of vi's command mode that run, complete, or call a command by its name or its alias."""

_ALWAYS = re.compile(r"\x18|\x1b(?:[vVeEhHoxXz?=:@*K\\]|OP|\[11~|\[\[A)")
"""Ctrl-X (macros, an editor that runs the line), and keys that start an editor, a pager or a manual, which
a variable may name; an Escape with one of `_COMMANDS`. `\\x1bo` is Alt-O; with a capital it begins the keys
of a keypad."""

EDITS = "\x01\x02\x08\x0b\x0c\x15\x17\x1c\x7f"
"""Move, or take away: harmless in every keymap, whatever stands on the line."""

BRINGS = "\x05\x06\x12\x13\x14\x19\x1a\x1f"
"""Bring text from elsewhere (history, a yank, what fish suggests), and run nothing."""

ARROWS = "ABCD"
"""Known to every keymap; of other sequences vi's insert mode takes the Escape alone."""

_KEY = re.compile(
    r"(?P<paste>\x1b\[200~(?P<pasted>.*?)(?:(?P<pasted_all>\x1b\[201~)|\Z))"
    r"|(?P<end>[\r\n\x03])"
    rf"|(?P<edits>[{EDITS}]|\x1b[\[O]D)"
    rf"|(?P<brings>[{BRINGS}]|\x1b[\[O][ABC])"
    r"|(?P<quotes>\x16)"
    r"|(?P<carries>[\x0f\x11])"
    r"|(?P<completes>[\t\x04\x0e\x10])"
    r"|(?P<text>[^\x00-\x1f\x7f\ufffd]+)"
    r"|(?P<other>\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|\x1b?[^\x1b])?|[\x00-\x1f\ufffd])",
    re.DOTALL,
)
"""A paste; what ends a line, changes it in a known way, brings text into it, takes the next key as text,
may put text on the next line, completes; text; and everything else, bytes that are no text among it."""

_PASTE_ENDS = "\x1b[201~"

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]")

_PLAIN, _IS_RICH, _MAY_RUN = range(3)

MAX_SESSIONS = 1_000
MAX_CHARS = 8_192


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What is known of a shell when keys are written to it."""

    prompts: int
    """Drawn so far."""

    shown: str | None = ""
    """What stands on its line; None if nobody can tell."""

    at_prompt: bool = True
    """It edits the line of the last prompt, and runs nothing."""

    settled: bool = False
    """It does, and has read all that agents wrote."""

    strange: bool = False
    """Somebody else wrote last, or the line was begun before: it may hold anything."""

    touched: bool = False
    """Keys were written to it, by whomever."""

    taken: bool = False
    """A program has read all keys there were: none is left to the shell."""

    pastes: bool = True
    """It takes a bracketed paste as text."""

    completes: bool = True
    """Whether its line may be completed, which may run what the project has (`make`, asked for its targets)."""


@dataclass(slots=True)
class _Line:
    """What keys may have left on the line, or on one to come."""

    level: int = _PLAIN
    gone_after: int | None = None
    """The prompt whose line has it: with the next it is gone. None if nobody knows which."""

    not_before: int = 0
    """What was carried to a next line is on none before this prompt."""

    ends: int = 0
    """Line ends on their way."""

    ended_at: int = 0
    """The prompt at which the first of them was written."""

    odd: bool = False
    """After a key that nobody knows: another keymap, a search, a key taken as text."""

    begun: bool = False
    """The last key was an Escape, which goes with what follows."""

    text: str = ""
    """Typed since the last line end."""

    pastes_at: int | None = None
    """The prompt at whose line a paste has begun and not ended."""

    def suspect(self, level: int, where: Where) -> None:
        is_known = where.settled or not where.strange
        is_here = where.at_prompt and not self.ends and is_known
        if not self.level or self.gone_after is not None:
            self.gone_after = where.prompts if is_here else None
        self.level = max(self.level, level)

    def catch_up(self, where: Where) -> None:
        """A new prompt, or whoever has read everything, tells what is left."""
        if where.taken:
            self.level, self.gone_after, self.ends = _PLAIN, None, 0
            self.odd = self.begun = False
        if self.gone_after is not None and where.prompts > self.gone_after:
            self.level, self.gone_after, self.odd, self.begun = _PLAIN, None, False, False
        if where.settled:
            self.ends = 0
            if self.level and self.gone_after is None and where.prompts >= self.not_before:
                self.gone_after = where.prompts
        elif self.ends == 1 and where.prompts > self.ended_at:
            self.ends = 0
        if where.strange:
            self.suspect(_MAY_RUN, where)

    def add(self, text: str, where: Where) -> None:
        self.text = (self.text + text)[-MAX_CHARS:]
        if _RUNS.search(text):
            self.suspect(_MAY_RUN, where)
        elif _RICH.search(text):
            self.suspect(_IS_RICH, where)

    def end(self, where: Where) -> None:
        if not self.ends:
            self.ended_at = where.prompts
        # Typed ahead of a prompt, that prompt says nothing of it.
        self.ends += 1 if where.at_prompt else 2
        self.text = ""


class LineKeys:
    def __init__(self) -> None:
        self._lines: OrderedDict[str, _Line] = OrderedDict()

    def runs_code(self, session: str, keys: str, where: Where) -> bool:
        """Whether one of these keys might run what is on the line; if none does, they are taken."""
        line = self._line(session, where)
        line.catch_up(where)
        after = replace(line)
        runs = _takes_all(after, keys, where)
        if not runs:
            self._lines[session] = after
        return runs

    def take(self, session: str, keys: str, where: Where) -> str:
        """Such keys are written all the same, for a program; what was typed since the last line end."""
        line = self._line(session, where)
        _takes_all(line, keys, where)
        return line.text

    def _line(self, session: str, where: Where) -> _Line:
        line = self._lines.pop(session, None)
        if line is None:
            line = _Line()
            if where.touched:
                line.suspect(_MAY_RUN, Where(prompts=where.prompts, strange=True))
        self._lines[session] = line
        if len(self._lines) > MAX_SESSIONS:
            self._lines.popitem(last=False)
        return line


def _takes_all(line: _Line, keys: str, where: Where) -> bool:
    runs = line.begun and _ALWAYS.match("\x1b" + keys) is not None
    line.begun = False
    if line.pastes_at == where.prompts and where.at_prompt and "\x03" not in keys:
        more, ended, keys = keys.partition(_PASTE_ENDS)
        if not more.replace("\r", "").replace("\n", "").isprintable():
            return True
        line.add(more, where)
        if ended:
            line.pastes_at = None
    for key in _KEY.finditer(keys):
        runs = _takes(line, key, where) or runs
    return runs


def _takes(line: _Line, key: re.Match[str], where: Where) -> bool:
    """Note one key; whether it might run code."""
    is_suspect = (
        line.level == _MAY_RUN
        or line.ends > 0
        or where.shown is None
        or _RUNS.search(where.shown) is not None
    )
    match key.lastgroup:
        case "paste":
            return _takes_paste(line, key, where, is_suspect=is_suspect)
        case "text":
            return _takes_text(line, key[0], where)
        case "end":
            line.end(where)
        case "brings":
            line.suspect(_MAY_RUN, where)
        case "quotes":
            line.suspect(_MAY_RUN, where)
            line.odd = True
        case "carries":
            line.suspect(_MAY_RUN, where)
            line.gone_after, line.not_before = None, where.prompts + 1
            line.end(where)
            return is_suspect
        case "completes":
            is_rich = bool(line.level or _RICH.search(where.shown or ""))
            if key[0] in "\x0e\x10" or is_rich:
                line.suspect(_MAY_RUN, where)
            # Ctrl-D completes where there is something to complete, and else is an end.
            may_complete = key[0] == "\t" or (key[0] == "\x04" and bool(line.text or where.shown))
            return is_suspect or (may_complete and (is_rich or not where.completes))
        case "other":
            was_plain = line.level == _PLAIN
            line.suspect(_MAY_RUN, where)
            line.odd = True
            line.begun = key[0] == "\x1b"
            return is_suspect or not was_plain or _ALWAYS.match(key[0]) is not None
        case _:
            pass
    return False


def _takes_text(line: _Line, text: str, where: Where) -> bool:
    was_odd = line.odd
    line.add(text, where)
    if was_odd and _COMMANDS.search(text):
        return True
    return line.level == _MAY_RUN and _EXPANDS in text.encode("utf-8", "replace")


def _takes_paste(line: _Line, key: re.Match[str], where: Where, *, is_suspect: bool) -> bool:
    """Text, where the shell takes a paste as such; or else keys, of which only plain words are let through."""
    pasted = key["pasted"]
    is_text = where.pastes and not line.odd and not _CONTROL.search(pasted)
    line.add(pasted, where)
    if not is_text:
        line.suspect(_MAY_RUN, where)
        line.odd = True
    elif key["pasted_all"] is None:
        line.pastes_at, line.odd = where.prompts, not where.at_prompt
    return not is_text and (is_suspect or not pasted.isprintable() or bool(_RUNS.search(pasted)))
