"""The destructive scan: it may only block or ask.

It looks at every command a line may run, through wrappers, nested shells, pipes,
here-documents and interpreters, and names the classes of the catalogue it finds. That a
scan finds nothing proves nothing.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence, Set
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from posixpath import normpath
from types import MappingProxyType
from typing import NamedTuple

from duetty.policy.late_pattern import late_pattern
from duetty.policy.proving.recogniser import Line
from duetty.policy.proving.specs.coreutils import COREUTILS
from duetty.policy.scanning import programs
from duetty.policy.scanning.findings import (
    GIVEN,
    PIPED,
    UNKNOWN,
    Finding,
    Scan,
    Simple,
    program_name,
    shown,
)
from duetty.policy.scanning.fish import read_fish
from duetty.policy.scanning.interpreters import (
    MAX_CODE,
    code_findings,
    sql_is_destructive,
    started_lines,
)
from duetty.policy.scanning.patterns import BY_PROGRAM, globbed, is_excused, matching
from duetty.policy.scanning.places import IMPORTANT, OWN, Place, place_of, written_class
from duetty.policy.scanning.programs import NETWORK, SENDERS, SPECIAL, Use, fed_texts, sends_secrets
from duetty.policy.scanning.reader import read
from duetty.policy.scanning.runners import (
    FISH,
    RUN,
    SWEPT,
    Scanner,
    kind_of,
    printed,
    programs_of,
    started,
    unknown_code,
)
from duetty.policy.scanning.verbs import EXEMPT, tells_to_delete
from duetty.policy.scanning.wrappers import ELSEWHERE, FAR, SHELLS, WRAPPERS
from duetty.policy.values import new

__all__ = ["FISH", "scan_line", "scan_text", "scan_typed"]

MAX_DEPTH = 8
MAX_STEPS = 400
"""Commands looked at in one line, nested ones included: beyond it the line is not readable."""

_DATA = frozenset(
    "echo printf grep egrep fgrep zgrep rg ag ack which whereis type apropos whatis tldr help cat ls head tail wc cd mkdir touch basename dirname logger"
    " notify-send say figlet cowsay test [ comm uniq cut tr read hash stat realpath readlink pgrep pidof true false : date seq sleep export git gh glab hg svn jj"
    " jq yq sed gsed tmux screen curl http xh".split()
)
"""Programs to which their words are data: a command among them runs nothing."""

_OTHER_NAMES = {
    "manage.py": "django-admin", "k": "kubectl", "tf": "terraform", "gmake": "make", "fdfind": "fd", "gfind": "find", "grm": "rm",
    "zf_rm": "rm", "zf_rmdir": "rmdir", "zf_mv": "mv", "zf_ln": "ln", "zmv": "mv", "[[": "[",
}  # fmt: skip
_SUBSCRIPTED = frozenset(
    "test [ printf read declare typeset local export readonly let unset wait mapfile readarray".split()
)
"""Builtins that evaluate an array subscript even within single quotes."""

_COMMANDS = late_pattern(
    r".*(?:PAGER|EDITOR|VISUAL|COMMAND|BROWSER|PS[0-4]|LESSOPEN|LESSCLOSE|DIFF|ASKPASS|SSH|PREEXEC)|ENV|BASH_ENV"
)
"""Variables whose value some program runs."""

_OTHER_HOST = late_pattern(
    r"(?: -h |--host[= ]|://(?:[^/@\s]*@)?)(?!localhost\b|127\.|\[?::1|/|0\.0\.0\.0)[\w.-]+"
)
_OWN_SERVER = late_pattern(
    r"(?:^|//| )(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?!:9200)(?:[:/]|$)"
)
"""On this machine, and no Elasticsearch: what is deleted there is a test's."""

_HOLDS_COMMAND = late_pattern(
    r"(?:^|[=!;|&(]|spawn |\bexec:)[\s\[\"']*((?:sudo |env )?(?:/(?:usr/)?s?bin/)?(?P<program>[a-z][\w.-]*)[ \t]+[^\n]+)"
)
_SQL_STATEMENT = late_pattern(r"\s*(?:drop|truncate|delete|update|alter)\s", re.IGNORECASE)
_ONLY_CHECKS = frozenset(["perl -c", "ruby -c", "php -l", "node --check", "bash -n", "sh -n"])
_OUTPUT = late_pattern("-(?:o|O|of|w|-out.*)")
_NAMES = late_pattern(r"[^\s(){}|'\"<>&;:-][^\s(){}|'\"<>&;]*")
"""What may be meant as a program's name: no sentence, nor what is left of a line that was broken in two."""

_PLAINLY_DESTRUCTIVE = ("rm", "dd", "shred", "mkfs.ext4", "shutdown", "reboot", "unlink")
_LEAVING = frozenset(
    ["exfiltration", "remote_delete", "cloud", "published", "git_rewrite", "remote_shell"]
)
_FILTERS = frozenset(
    "cat tac sort uniq grep egrep fgrep rg sed awk jq yq cut head tail nl fmt fold paste join comm tr rev column iconv shuf base64 strings".split()
)
"""Programs that print what is in the files they are given."""

_PRINTS_NOTHING: tuple[list[str], ...] = ([], [":"], ["true"], ["cat", "/dev/null"], ["echo", "-n"], ["echo", "-n", ""], ["printf", ""])  # fmt: skip
_ENDLESS = late_pattern(
    r"\b(?:while\s+(?:true|:)|until\s+false|for\s*\(\(\s*;\s*;\s*\)\))\s*[;\n]?\s*do\b[^\n]{0,200}?(?<!&)&\s*;?\s*done\b"
)
"""Loops that start more and wait for none."""


class _Program(NamedTuple):
    """A program's facts, by the word that calls it."""

    name: str
    is_odd: bool
    """Whether the name it is called by is more than letters and figures."""
    catalogued: bool
    special: Callable[[programs.Scanner, Use], None] | None
    kind: str
    run: Callable[[Scanner, Use], None] | None
    sends: bool
    is_swept: bool
    """Whether its words may hold commands."""
    takes_verbs: bool
    """Whether `delete` among its words means what it says."""


@lru_cache(maxsize=2_048)
def _program(called: str) -> _Program:
    given = program_name(called)
    name = "ld.so" if given.startswith("ld-linux") else _OTHER_NAMES.get(given, given)
    kind = kind_of(name)
    is_data = name in _DATA or kind == "interpreter"
    return _Program(
        name=name,
        is_odd=not (given.isascii() and given.replace("-", "").replace(".", "").isalnum()),
        catalogued=name in BY_PROGRAM or bool(globbed(name)),
        special=SPECIAL.get(name),
        kind=kind,
        run=RUN.get(kind),
        sends=name in SENDERS,
        is_swept=not is_data,
        takes_verbs=not (
            is_data
            or name in EXEMPT
            or name in COREUTILS
            or kind in ("shell", "client")
            or (name in WRAPPERS and not WRAPPERS[name].only_after)
        ),
    )


def scan_line(
    line: Line, cwd: str = "", *, workspace: str = "", shell: str = "", home: str = ""
) -> Scan:
    """A line whose words are exact; `cwd` is where it begins."""
    scanner = _Scanner(shell, place_of(cwd, workspace, home))
    commands, joins, _ = line
    if not joins and not commands[0].redirects:  # most lines
        words = list(commands[0].words)
        scanner.run(words, Simple(words), scanner.places[0], 0)
        return scanner.result()
    before: list[Simple] = []
    for command, join in zip(commands, ("", *joins), strict=True):
        simple = Simple([*command.words])
        if join == "|":
            simple.producers = before
        if "</dev/null" in command.redirects:
            simple.redirects.append(("<", "/dev/null"))
        before = [*simple.producers, simple]
        scanner.command(simple, scanner.places[0], 0)
    return scanner.result()


def scan_text(
    text: str, cwd: str = "", *, workspace: str = "", shell: str = "", home: str = ""
) -> Scan:
    """Any text."""
    place = place_of(cwd, workspace, home)
    scanner = _Scanner(shell, place)
    scanner.text(text, place, 0)
    if shell == FISH:
        # What other shells would find in it counts too; that they cannot read it does not.
        scanner.findings += scan_text(text, cwd, workspace=workspace, home=home).findings
    return scanner.result()


def scan_typed(text: str, cwd: str = "", *, workspace: str = "", home: str = "") -> Scan:
    """A line for a program that reads the terminal: a shell, an interpreter or a client."""
    place = place_of(cwd, workspace, home)
    scanner = _Scanner("", place)
    scanner.text(text, place, 0)
    scanner.code(text, place, 0, backquotes=False)
    if sql_is_destructive(text):
        scanner.find("database", text)
    return scanner.result()


class _Scanner:
    """Looks at commands one by one and gathers what it finds."""

    downloaded: Set[str] = frozenset()
    """Files that the line itself fetches."""
    made: Mapping[str, str] = MappingProxyType({})
    """Files that the line itself writes, with their text."""
    functions: Set[str] = frozenset()
    aliases: Mapping[str, str] = made
    steps = 0
    runs_given = False
    """Whether a function runs the words it is called with."""

    def __init__(self, shell: str, place: Place) -> None:
        self.findings: list[Finding] = []
        self.unreadable: list[str] = []
        self.commands: list[tuple[str, ...]] = []
        self.places = {0: place}
        """Of each subshell that was entered: where it is by now."""
        self.shell = shell

    def result(self) -> Scan:
        findings, unreadable, commands = self.findings, self.unreadable, self.commands
        return new(
            Scan,
            (
                tuple(dict.fromkeys(findings)) if findings else (),
                tuple(dict.fromkeys(unreadable)) if unreadable else (),
                tuple(dict.fromkeys(commands)) if len(commands) > 1 else tuple(commands),
            ),
        )

    def find(self, name: str, what: str) -> None:
        if name == "remote_delete" and _OWN_SERVER.search(what):
            return
        leaves = name in _LEAVING or (name == "database" and bool(_OTHER_HOST.search(what)))
        leaves = leaves or (name == "mirror_delete" and ":" in what)
        self.findings.append(new(Finding, (name, shown(what), leaves)))

    # --- texts ---------------------------------------------------------------------------

    def text(self, text: str, place: Place, depth: int) -> None:
        """Text that a shell will read."""
        if depth > MAX_DEPTH:
            self.unreadable.append("nested too deeply")
            return
        reading = read_fish(text) if self.shell == FISH else read(text)
        self.unreadable += reading.unreadable
        if "done" in text and "<<" not in text and _ENDLESS.search(text):
            self.find("fork_bomb", "a loop that starts more and waits for none")
        kept = self.places, self.functions
        places = self.places = {0: place}
        self.functions = reading.functions
        for simple in reading.commands:
            scope = simple.scope
            while scope not in places:
                scope = reading.parents[scope]
            self.command(simple, places[scope], depth)
        self.places, self.functions = kept

    def tried(self, text: str, place: Place, depth: int) -> None:
        """Text that may be run: only what is found in it counts."""
        doubts, self.unreadable = self.unreadable, []
        self.text(text, place, depth + 1)
        self.unreadable = doubts

    def code(self, code: str, place: Place, depth: int, *, backquotes: bool) -> None:
        """Code of some other language: destructive calls with literal arguments, and literal shell lines."""
        if len(code) > MAX_CODE:
            self.unreadable.append(f"longer than {MAX_CODE} characters of code")
            return
        for name, what in code_findings(code, place):
            self.find(name, what)
        for line in started_lines(code, backquotes=backquotes):
            self.tried(line, place, depth)

    # --- one command ----------------------------------------------------------------------

    def command(self, simple: Simple, place: Place, depth: int) -> None:
        words = simple.words
        if simple.redirects or simple.assigned:
            use = Use(words[0] if words else "", words, simple, place, depth)
            for sign, target in simple.redirects:
                self._redirected(sign, target, use)
            for name, value in simple.assigned:
                self._assigned(name, value, use)
        if not words:
            return
        if words[0] in self.aliases:
            words = [*self.aliases[words[0]].split(), *words[1:]] or ["true"]
        if words[0] in self.functions:
            if any(each.words[:1] == words[:1] for each in simple.producers):
                self.find("fork_bomb", "a function that starts itself twice")
            for at in range(1, min(len(words), 4) if self.runs_given else 0):
                self.tried(shlex.join(words[at:]), place, depth)
        else:
            self.run(words, simple, place, depth)

    def run(self, words: Sequence[str], simple: Simple, place: Place, depth: int) -> None:
        self.steps += 1
        if depth > MAX_DEPTH or self.steps > MAX_STEPS:
            self.unreadable.append("nested too deeply")
            return
        known = _program(words[0])
        name, is_odd, catalogued, special, kind, run, sends, _, _ = known
        if is_odd:
            self._named_oddly(words[0])
        argv = [name, *words[1:]]
        self.commands.append(tuple(argv))
        findings = self.findings
        found = len(findings)
        if catalogued:
            for pattern in matching(name, argv[1:]):
                self.find(pattern.name, " ".join(argv))
        use = new(Use, (name, argv, simple, place, depth))
        if special is not None:
            special(self, use)
        if run is not None:
            run(self, use)
        if sends and sends_secrets(use):
            self.find("exfiltration", use.what)
        if (self.downloaded or self.made) and " ".join(argv[:2]) not in _ONLY_CHECKS:
            self._started(use, kind)
        if name in FAR and len(findings) > found:  # no sandbox around this one holds it
            findings[found:] = [each._replace(leaves=True) for each in findings[found:]]
        if name in _GOES_ELSEWHERE:
            self.places[simple.scope] = place.entering(_target_of(use))
        elif len(argv) > 1 and len(findings) == found:
            self._looked_into(use, known)

    def _looked_into(self, use: Use, known: _Program) -> None:
        """A command of which the catalogue says nothing: what of its words?"""
        name, words = use.name, use.words
        if name in _SUBSCRIPTED:
            self._subscripts(use)
        elif known.is_swept and (" " in "".join(words) or words[-1][:5] == "/dev/"):
            self._swept(use)
        if known.takes_verbs:
            operands = [text for text in words[1:] if text[:1] not in ("-", "")]
            deletes = tells_to_delete(words[1:], operands, catalogued=name in BY_PROGRAM)
            if deletes and not is_excused(name, words[1:]):
                self.find("other_delete", use.what)

    def _named_oddly(self, called: str) -> None:
        name = program_name(called)
        if not _NAMES.fullmatch(called):
            return
        if name == GIVEN:
            self.runs_given = True
        elif UNKNOWN in name or not name:
            self.unreadable.append("which program runs is only known when it runs")
        elif not name.isascii():
            self.unreadable.append("the program's name has letters that look like others")
        elif any(char in name for char in "*?[") and (
            "/" in called or any(fnmatchcase(each, name) for each in _PLAINLY_DESTRUCTIVE)
        ):
            self.unreadable.append("the program's name is a pattern")

    def _assigned(self, name: str, value: str, use: Use) -> None:
        if f"{name}={value}" in ("HISTFILE=", "HISTFILE=/dev/null", "HISTSIZE=0"):
            self.find("tracks", f"{name}={value}")
        if value.startswith(PIPED):
            unknown_code(self, programs_of(use.simple.inner))
        elif " " in value and _COMMANDS.fullmatch(name):
            quoted = f': "{value}"' if value[:2] == "$(" else value.lstrip("|")
            self.tried(quoted, use.place, use.depth)

    def _subscripts(self, use: Use) -> None:
        for text in use.words[1:]:
            if "[" in text and ("$" in text or "`" in text or "<(" in text):
                self.tried(': "' + text.replace('"', "") + '"', use.place, use.depth)
            name, sign, value = text.partition("=")
            if sign:
                self._assigned(name, value, use)

    def _swept(self, use: Use) -> None:
        """Words of an unknown program that are commands: `--exec='rm -rf /'`."""
        elsewhere = use.name in ELSEWHERE or use.place.is_elsewhere
        for before, word in pairwise(use.words):
            if word[:5] == "/dev/" and _OUTPUT.fullmatch(before):
                self.written(word, use)
            if " " not in word:
                continue
            held = word[2:] if word[0] == "-" and word[1] != "-" else word
            for found in _HOLDS_COMMAND.finditer(held):
                if found["program"] in SWEPT or found["program"] in SHELLS:
                    for text in {found[1], found[1].rstrip("\"'])}")}:
                        self.tried(text, use.place._replace(is_elsewhere=elsewhere), use.depth)
            if use.name not in WRAPPERS and _SQL_STATEMENT.match(word) and sql_is_destructive(word):
                self.find("database", word)

    def _started(self, use: Use, kind: str) -> None:
        called = use.simple.words[:1]
        if kind in ("shell", "interpreter") or use.name in ("source", "."):
            called = [word for word in use.words[1:] if word[:1] != "-"][:1]
        for word in called:
            started(self, use, word, kind=kind)

    # --- files that are written ---------------------------------------------------------------

    def _redirected(self, sign: str, target: str, use: Use) -> None:
        program = program_name(use.name)
        if target.startswith(("/dev/tcp/localhost/", "/dev/tcp/127.0.0.1/")):
            return
        if target.startswith(("/dev/tcp/", "/dev/udp/")):
            if program in ("", "exec") or program in SHELLS:
                self.find("remote_shell", f"{sign} {target}")
            elif program not in ("echo", "printf"):
                self.find("exfiltration", f"{sign} {target}")
        elif ">" in sign and not (sign == ">&" and (target.isdigit() or target == "-")):
            written = use._replace(words=[*use.words, sign, target])
            replaces = sign in (">", ">|", "&>")
            empties = replaces and use.words in _PRINTS_NOTHING and not use.simple.producers
            self.written(target, written, empties=empties)
            if replaces and program in _FILTERS and target in use.words[1:]:
                self.find("overwrite", f"{written.what}, which is emptied before it is read")
            if target != "/dev/null":
                self._makes(target, use)

    def _makes(self, path: str, use: Use) -> None:
        if programs_of([use.simple, *use.simple.producers]) & NETWORK:
            self.downloads(path)
        elif use.name == "cat":
            self.makes(path, "\n".join(fed_texts(use.simple)))
        elif use.name in ("echo", "printf"):
            self.makes(path, self.made.get(path, "") + printed(use.words) + "\n")

    def downloads(self, path: str) -> None:
        self.downloaded = {*self.downloaded, normpath(path)}

    def makes(self, path: str, text: str) -> None:
        self.made = {**self.made, normpath(path): text}

    def defines(self, alias: str, body: str) -> None:
        self.aliases = {**self.aliases, alias: body}

    def written(self, path: str, use: Use, *, empties: bool = False) -> None:
        """A path is written to: which class is that?"""
        name = written_class(use.place, path)
        if name is None and empties and path != "/dev/null" and UNKNOWN not in path:
            is_own = use.place.where(path) in OWN
            name = "overwrite" if IMPORTANT.search(path) or not is_own else None
        if name is not None:
            self.find(name, use.what)


_GOES_ELSEWHERE = frozenset({"cd", "pushd", "popd", "chdir"})


def _target_of(use: Use) -> str:
    """Where `cd` and its like go."""
    operands = [text for text in use.words[1:] if text[:1] not in ("-", "+", "")]
    if use.name == "popd" or "-" in use.words[1:]:
        return UNKNOWN
    return operands[-1] if operands else "~"
