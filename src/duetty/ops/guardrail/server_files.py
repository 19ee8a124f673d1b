"""What is the server's own, or says how agents are kept: a line of an agent that may change it asks.

By names only, as policy does: no file is looked at, and a name that a program makes up is not seen.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from posixpath import basename, join, normpath

from duetty.policy import (
    Allow,
    Ask,
    Decision,
    Deny,
    Judged,
    Profile,
    RuleSet,
    analyse,
    decide,
)
from duetty.policy.directories import entered

OWN_FILES = "rule:own-files"
OWN_PROCESSES = "rule:own-processes"
PROJECT_DIRECTORY = ".duetty"

_QUOTES = re.compile(r"[\\'\"]")
_BEFORE, _AFTER = r"(?<![\w.-])", r"(?![\w-])"
_END_OF_WORD = re.compile(r"[\s;&|<>()]|$")
MAX_REACHED = 1_000
"""Words of one line that are looked at from each of its directories."""

_UNSURE = frozenset("*?[{$")

_TOKEN = re.compile(rf"{_BEFORE}token{_AFTER}|[*?\[{{$]")
"""In a directory of the server's own: its token, or a pattern that may be it."""

_HOME = r"(?:~|\$HOME|\$\{HOME\})/"
_SIGNALS = ("kill", "tgkill", "gdb", "strace", "ptrace", "reptyr", "prlimit")


class OwnThings:
    """Directories and files, by the names that lines may have for them."""

    def __init__(self, places: Iterable[Path] = (), home: str = "") -> None:
        self._places = tuple(dict.fromkeys(normpath(str(each)) for each in places))
        known = [PROJECT_DIRECTORY, ".config/duetty", ".local/state/duetty", *self._places]
        names = [re.escape(each) for each in dict.fromkeys(known)]
        below = (each.removeprefix(f"{home}/") for each in self._places if home)
        names += [_HOME + re.escape(each) for each in below if not each.startswith("/")]
        names.append(r"\$\{?DUETTY_HOME\}?")
        self._named = re.compile(f"{_BEFORE}(?:{'|'.join(names)}){_AFTER}")
        ends = {re.escape(basename(each)) for each in self._places}
        self._ends = re.compile(f"{_BEFORE}(?:{'|'.join(sorted(ends)) or '(?!)'}){_AFTER}")

    def judged(self, judged: Judged, decision: Decision, pids: Sequence[int] = ()) -> Decision:
        """The decision, stricter where the line may change something of these."""
        line = judged.command_line
        if line is None or judged.actor.kind == "person":
            return decision
        if not isinstance(decision, Deny) and _is_about(line, pids, judged.shell):
            return Deny(
                rule=OWN_PROCESSES,
                reason="denied_by_rule",
                detail="it is about a process of the server itself",
            )
        if not isinstance(decision, Allow) or not self._touches(judged, line):
            return decision
        return Ask(
            rule=OWN_FILES,
            reason="asked_by_rule",
            detail="it names files that say what agents may do, or that the server keeps for itself",
            instead="have a person change them",
        )

    def _touches(self, judged: Judged, line: str) -> bool:
        plain = re.sub(r"/(?:\./|/)+", "/", _QUOTES.sub("", line))
        named, ends = _words(self._named, plain), _words(self._ends, plain)
        if not named and not ends and not self._is_within(judged.cwd):
            return False
        places = entered(line, judged.cwd, shell=judged.shell).places
        words = sorted({*named, *self._reached(places, plain, ends)})
        is_inside = any(self._is_within(place) for place in places)
        if not words and not is_inside:
            return False
        if is_inside and _TOKEN.search(plain):
            return True
        if any(_may_be_token(plain[start:end]) for start, end in words):
            return True
        # What would only read, were it about other files, changes nothing of these.
        elsewhere = _without(plain, words) if words else line
        other = replace(judged, command_line=elsewhere, cwd="/x")
        return not isinstance(decide(other, RuleSet(), Profile.STRICT, can_ask=True), Allow)

    def _reached(
        self, places: Sequence[str], plain: str, words: Sequence[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Those words that lead to one of these from where the line is by then: `../config.toml`."""
        return [
            (start, end)
            for start, end in words[:MAX_REACHED]
            if any(
                self._is_within(normpath(join(place, plain[start:end].rpartition("=")[2])))
                for place in places
            )
        ]

    def _is_within(self, cwd: str) -> bool:
        return PROJECT_DIRECTORY in cwd.split("/") or any(
            cwd == each or cwd.startswith(f"{each}/") for each in self._places
        )


def _words(named: re.Pattern[str], plain: str) -> list[tuple[int, int]]:
    """Where the words stand that have such a name in them; each character is looked at once or twice.

    A line may be as long as an agent likes, and no other call is served meanwhile.
    """
    found: list[tuple[int, int]] = []
    end = 0
    while (name := named.search(plain, end)) is not None:
        start = name.start()
        while start > end and not _END_OF_WORD.match(plain[start - 1]):
            start -= 1
        behind = _END_OF_WORD.search(plain, name.end())
        assert behind is not None  # the end of the line is one
        end = behind.start()
        found.append((start, end))
    return found


def _may_be_token(word: str) -> bool:
    """The server's own, or a pattern that may be it: to read it is to have it."""
    _, slash, name = word.rpartition("/")
    return bool(slash) and (name == "token" or not _UNSURE.isdisjoint(name))


def _without(text: str, places: Sequence[tuple[int, int]]) -> str:
    """With other words in these places."""
    kept, at = list[str](), 0
    for start, end in places:
        kept += [text[at:start], "x"]
        at = end
    return "".join([*kept, text[at:]])


def _is_about(line: str, pids: Sequence[int], shell: str) -> bool:
    """Whether a process of these numbers is sent a signal, or taken apart."""
    numbers = {f"{sign}{pid}" for pid in pids for sign in ("", "-")}
    if not any(str(pid) in line for pid in pids):
        return False
    return any(
        words and words[0].rpartition("/")[2] in _SIGNALS and numbers & set(words[1:])
        for words in analyse(line, shell=shell).commands
    )
