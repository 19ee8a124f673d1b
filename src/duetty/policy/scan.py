"""The destructive scan: an over-approximation that may only block or ask.

It looks at every command a line may run, through wrappers, nested shells, pipes,
here-documents and interpreters, and names the classes of the catalogue it finds.
What cannot be read is said; that a scan finds nothing proves nothing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from posixpath import normpath
from typing import NamedTuple

from duetty.policy.code import code_findings, sql_is_destructive
from duetty.policy.commands import (
    DECODERS,
    INTERPRETERS,
    NETWORK,
    SENDERS,
    printed_by_all,
    prints_nothing,
    program_name,
    programs_of,
    reads_secrets,
    shown,
    uploads_secrets,
    written_by,
)
from duetty.policy.paths import is_secret
from duetty.policy.patterns import BY_PROGRAM, matching
from duetty.policy.programs import SPECIAL, UNPACKED, Use
from duetty.policy.reader import UNKNOWN, Reading, Simple, Word, printed, read
from duetty.policy.recogniser import MAX_BYTES, Glob, Line
from duetty.policy.tree import look
from duetty.policy.wrappers import SHELLS, WRAPPERS, inner_of, reads_commands_from_stdin
from duetty.policy.writes import IMPORTANT, written_class

MAX_DEPTH = 8
MAX_STEPS = 300
"""Commands looked at in one line, nested ones included: beyond it the line is not readable."""


MAX_TRIED = 8
"""Later words of one command that are tried as programs."""


class Finding(NamedTuple):
    """A class of the catalogue, and the words that made us think of it."""

    name: str
    what: str


@dataclass(frozen=True, slots=True)
class Scan:
    findings: tuple[Finding, ...] = ()
    unreadable: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    """Every command that was seen, with the program's own name first."""

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(finding.name for finding in self.findings))


def scan_line(line: Line) -> Scan:
    """A line whose words are exact."""
    scanner = _Scanner()
    before: Simple | None = None
    for command, join in zip(line.commands, ("", *line.joins), strict=True):
        simple = Simple(
            words=[Word(str(word), type(word) is Glob) for word in command.words], joined_by=join
        )
        if join == "|" and before is not None:
            simple.producers = [*before.producers, before]
        scanner.command(simple, 0)
        before = simple
    return scanner.result()


def scan_text(text: str) -> Scan:
    """Any text. Total, and linear but for what tree-sitter costs."""
    if len(text) > MAX_BYTES:
        return Scan(unreadable=(f"longer than {MAX_BYTES} bytes",))
    scanner = _Scanner()
    if odd := _ODD.search(text):
        scanner.unreadable.append(f"holds U+{ord(odd[0]):04X}, which does not show as it runs")
    if _HISTORY.search(_SINGLE.sub("''", text)) or _SUBSTITUTED.match(text):
        scanner.unreadable.append("refers to the history")
    if _FORK_BOMB.search(text):
        scanner.find("fork_bomb", "a function that starts itself twice")
    scanner.reading(read(text), 0)
    scanner.second_opinion(text)
    return scanner.result()


_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\u2800\u3000\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uff01-\uff5e\uffa0\ufff0-\uffff\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)
"""Controls, blanks that are not blanks, invisible and bidirectional marks, full-width twins of ASCII."""

_SINGLE = re.compile(r"'[^']*'")
_HISTORY = re.compile(r"(?<![\$\[{\\(=])!(?=[!$^*?A-Za-z0-9_-])(?![A-Za-z]*=)")
_SUBSTITUTED = re.compile(r"\s*\^[^\s^]+\^")
_FORK_BOMB = re.compile(
    r"(?<![^\s(){}|&;])(?P<name>[^\s(){}|&;]{1,64})\s{0,8}\(\s{0,8}\)\s{0,8}\{?[^}]{0,64}?(?P=name)\s{0,8}\|\s{0,8}(?P=name)\s{0,8}&"
)

_AWK = frozenset("awk gawk mawk nawk original-awk".split())
_CODE_OPTIONS = frozenset(
    "-c -e -E -r -p -pe -ne -le -lne -ane -i -pi --eval --print --expression eval -ie -pie -nle -we".split()
)
_SQL = frozenset(
    "psql mysql mariadb sqlite3 sqlite cockroach clickhouse-client clickhouse duckdb sqlcmd mssql-cli bq mongosh mongo cqlsh snowsql trino presto usql pgcli mycli litecli beeline hive"
    " spark-sql impala-shell db2 sqlplus isql osql tsql influx redis-cli arangosh cypher-shell ysqlsh questdb turso wrangler supabase edgedb surreal dolt rails django-admin artisan console prisma".split()
)
_DATA = frozenset(
    "echo printf grep egrep fgrep zgrep rg ag ack which whereis type apropos whatis tldr help cat ls head tail wc cd mkdir touch basename dirname logger"
    " notify-send say figlet cowsay test [ [[ comm uniq cut tr read hash stat realpath readlink pgrep pidof true false : date seq sleep".split()
)
"""Programs to which their words are data: a command among them runs nothing."""

_MESSAGE = re.compile(
    r"-[a-zA-Z]*[mbtFSGL]|--(?:message|body|title|grep|description|notes|subject|file|author|search)"
)
_WRITERS_OF_MESSAGES = frozenset("git gh glab hg svn jj".split())

_OTHER_NAMES = {
    "manage.py": "django-admin",
    "k": "kubectl",
    "tf": "terraform",
    "cmd.exe": "cmd",
    "powershell.exe": "powershell",
    "gmake": "make",
}

_FINDERS = frozenset(
    "which command type brew npm yarn pyenv rbenv git go pwd realpath dirname readlink".split()
)
"""Programs that print where another one is."""

_ATTACHED = re.compile(r"^-[a-zA-Z]")
_SUBSCRIPT = re.compile(r"\[.*(?:\$\(|`)", re.DOTALL)
_SUBSCRIPTED = frozenset(
    "test [ [[ printf read declare typeset local export readonly let unset wait mapfile readarray".split()
)
"""Builtins that evaluate an array subscript even within single quotes."""

_RUNS_OTHERS = frozenset(
    [
        *WRAPPERS,
        *SHELLS,
        *_AWK,
        *_SQL,
        *"find gfind bfs fd fdfind source . at batch crontab".split(),
    ]
)
"""Programs that run what they are given, in one way or another."""

_REPLACED = frozenset(["{}", "%", "@", "_", "FILE", "X"])
"""What people write where xargs puts what it read."""

_RUNNERS = frozenset(
    "docker podman nerdctl kubectl oc lxc incus machinectl multipass vagrant gcloud heroku fly flyctl railway wsl crictl ctr".split()
)
"""Programs that start another one elsewhere, and hand it their standard input."""

_SCRIPTED = frozenset(
    "make gmake ed ex vi vim gdb lldb sftp ftp lftp tmux screen at batch bc dc m4".split()
)
_FILES_ONLY = frozenset("tee sponge patch psql mysql sqlite3".split())

_COMMON_WORDS = frozenset(
    "service net http https now init sc route skill format history migrate mirror del erase rd wipe install pkg port render render tc op mount find sysctl reg defaults cf mc atlas snow fly"
    " neon vault nomad flux rake rails mix goose artisan console now stack java guix nft tea hub salt rc-update wp atlas R installer python".split()
)
_SWEPT = frozenset(name for name in BY_PROGRAM if name not in _COMMON_WORDS) | {
    "rm",
    "rmdir",
    "dd",
    "mkfs.ext4",
    "mkfs.xfs",
    "mkfs",
    "kill",
    "chmod",
    "chown",
    "shred",
    "unlink",
}
_SWEEP = re.compile(
    r"(?<![\w.$-])(?:/(?:usr/)?(?:local/)?s?bin/|\\)?(?P<program>"
    + "|".join(sorted(map(re.escape, _SWEPT), key=len, reverse=True))
    + r"|mkfs\.\w+)(?=[ \t]+[^ \t])"
)
_SEGMENT = re.compile(r"[^\n\"'`);|&<>]*")

_ASSIGNED_COMMANDS = re.compile(
    r".*(?:PAGER|EDITOR|VISUAL|COMMAND|BROWSER|PS[0-4]|LESSOPEN|LESSCLOSE|DIFF|ASKPASS|SSH|SHELL|PROXY_COMMAND|PREEXEC|PROMPT)|ENV|BASH_ENV"
)


class _Scanner:
    """Looks at commands one by one and gathers what it finds."""

    __slots__ = (
        "commands",
        "downloaded",
        "findings",
        "made",
        "seen",
        "steps",
        "sweeps",
        "unreadable",
    )

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.unreadable: list[str] = []
        self.commands: list[tuple[str, ...]] = []
        self.downloaded: set[str] = set()
        self.made: dict[str, str] = {}
        """Files that the line itself writes, with their text; UNKNOWN where it is not known."""
        self.seen: set[tuple[str, ...]] = set()
        self.steps = 0
        self.sweeps = True
        """Whether later words are tried as programs; not within such a try."""

    def result(self) -> Scan:
        return Scan(
            tuple(dict.fromkeys(self.findings)) if self.findings else (),
            tuple(dict.fromkeys(self.unreadable)) if self.unreadable else (),
            tuple(dict.fromkeys(self.commands)),
        )

    def find(self, name: str, what: str) -> None:
        self.findings.append(Finding(name, shown(what)))

    def reading(self, reading: Reading, depth: int) -> None:
        self.unreadable += reading.unreadable
        for simple in reading.commands:
            if simple.words and simple.words[0].text in reading.functions and simple.words[0].known:
                self.redirects(simple)
                self.seen.add((simple.words[0].text,))
                continue
            self.command(simple, depth)

    def text(self, text: str, depth: int) -> None:
        """Text that a shell will read."""
        if UNKNOWN in text:
            self.unreadable.append("runs text that is only known when it runs")
        if depth > MAX_DEPTH:
            self.unreadable.append("nested too deeply")
            return
        if _FORK_BOMB.search(text):
            self.find("fork_bomb", "a function that starts itself twice")
        self.reading(read(text, depth=depth), depth)

    def second_opinion(self, text: str) -> None:
        """tree-sitter's commands that the reader did not see."""
        seen = look(text)
        if seen is None:
            self.unreadable.append("too deeply nested")
            return
        if not seen.valid:
            self.unreadable.append("not valid shell, or not to be read with certainty")
        for source in seen.commands:
            for simple in read(source, depth=1).commands:
                words = tuple(word.text for word in simple.words)
                if (
                    words
                    and (program_name(words[0]), *words[1:]) not in self.seen
                    and words not in self.seen
                ):
                    # Variables of the whole line are unknown here: findings count, doubts do not.
                    self._aside(lambda scanner, simple=simple: scanner.command(simple, 1))

    def _aside(self, look_at: "Callable[[_Scanner], None]", *, sweeps: bool = True) -> None:
        other = _Scanner()
        other.steps = self.steps
        other.sweeps = sweeps
        look_at(other)
        self.steps = other.steps
        self.findings += other.findings
        if self.steps > MAX_STEPS:
            self.unreadable.append("too much in one line")

    def try_text(self, text: str, depth: int) -> None:
        """Look at text that may be run; only what is found counts."""
        self._aside(lambda scanner: scanner.text(text, depth))

    # --- one command ---------------------------------------------------------------

    def command(self, simple: Simple, depth: int) -> None:
        self.redirects(simple)
        for name, value in simple.assignments:
            if name == "IFS" and not simple.words:
                self.unreadable.append("changes how words are split")
            self.sweep(value.text, depth)
            if _ASSIGNED_COMMANDS.fullmatch(name):
                self.try_text(value.text, depth + 1)
        if simple.words:
            self.run(simple.words, simple, depth)

    def run(self, words: Sequence[Word], simple: Simple, depth: int) -> None:
        self.steps += 1
        if depth > MAX_DEPTH or self.steps > MAX_STEPS:
            self.unreadable.append("nested too deeply")
            return
        first = words[0]
        name = program_name(first.text)
        if UNKNOWN in name or not name or first.guessed:
            self._assembled(first)
            if (guess := name.replace(UNKNOWN, "")) != name and guess in _SWEPT:
                # An unset variable within the name leaves the rest of it.
                self.run([first._replace(text=guess, guessed=False), *words[1:]], simple, depth + 1)
        elif first.glob and name not in ("[", "[[") and any(char in name for char in "*?["):
            self.unreadable.append("the program's name is a pattern")
            for swept in ("rm", "dd", "shred", "shutdown", "reboot"):
                if len(name) < 64 and fnmatchcase(swept, name):
                    self.run(
                        [first._replace(text=swept, glob=False), *words[1:]], simple, depth + 1
                    )
        elif not name.isascii():
            self.unreadable.append("the program's name has letters that look like others")
        name = _OTHER_NAMES.get(name, name)
        texts = [name, *(word.text for word in words[1:])]
        argv = tuple(texts)
        self.seen.add(argv)
        self.commands.append(argv)
        for pattern in matching(name, texts[1:]):
            self.find(pattern.name, " ".join(texts))
        special = SPECIAL.get(name)
        if special is not None:
            special(self, Use(name, words, texts, simple, depth))
        if name in _SUBSCRIPTED:
            for text in texts[1:]:
                if _SUBSCRIPT.search(text):
                    quoted = ': "' + text.replace('"', "") + '"'
                    self.try_text(quoted, depth + 1)
        if self.downloaded or self.made:
            self._executes(name, words, depth)
        if (
            name in _RUNS_OTHERS
            or any(word.inner for word in words)
            or INTERPRETERS.fullmatch(name)
        ):
            self._inner(name, words, texts, simple, depth)
            self._fed(name, words, texts, simple, depth)
        if name in SENDERS:
            self._sent(name, words, texts, simple)
        if self.sweeps and name not in _DATA:
            self._swept(name, words, texts, simple, depth)

    def _assembled(self, first: Word) -> None:
        self.unreadable.append("which program runs is only known when it runs")
        for reading in first.inner:
            names = programs_of(reading.commands)
            if names & NETWORK:
                self.find("remote_code", "runs what was downloaded")
            elif names - _FINDERS - {"echo", "printf"}:
                self.find("hidden_code", "runs what another command prints")

    def _executes(self, name: str, words: Sequence[Word], depth: int) -> None:
        """Files that the same line has downloaded or written."""
        runs = name in SHELLS or name in ("source", ".", "chmod") or INTERPRETERS.fullmatch(name)
        if UNPACKED in self.downloaded and (
            words[0].text.startswith("./") or (runs and len(words) > 1)
        ):
            self.find("remote_code", "runs what the same line downloaded and unpacked")
        for word in words if runs else words[:1]:
            path = normpath(word.text) if word.text else ""
            if path in self.downloaded:
                self.find("remote_code", f"runs {path}, downloaded by the same line")
            text = self.made.pop(path, None)
            if text is not None:
                self.text(text, depth + 1)
                self._aside(lambda scanner, text=text: scanner._code(text, depth + 1))

    def _inner(
        self, name: str, words: Sequence[Word], texts: list[str], simple: Simple, depth: int
    ) -> None:
        for start, is_text, end in inner_of(name, texts):
            part = words[start:end]
            if not is_text:
                self.run(part, simple, depth + 1)
                continue
            if name == "trap":
                part = part[:1]
            if name == "parallel":
                stop = next(
                    (i for i, word in enumerate(part) if word.text.startswith(":::")), len(part)
                )
                part = [*part[:stop], *part[stop + 1 :]]
            self._text_of(part, depth)
        if name == "alias" or name == "abbr":
            for word in words[1:]:
                self.text(word.text.partition("=")[2] or word.text, depth + 1)
        if name in ("source", ".") and len(words) > 1:
            self._source(words[1], simple, depth)

    def _text_of(self, part: Sequence[Word], depth: int) -> None:
        for word in part:
            for reading in word.inner:
                names = programs_of(reading.commands)
                if names & NETWORK:
                    self.find("remote_code", "runs what was downloaded")
                elif UNKNOWN in word.text:
                    self.find("hidden_code", "runs what another command prints")
        self.text(" ".join(word.text.removeprefix("--command=") for word in part), depth + 1)

    def _source(self, word: Word, simple: Simple, depth: int) -> None:
        if word.text in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"):
            self._stdin(simple, depth)
        elif word.inner:
            self._output_of(word.inner[0].commands, depth)
        elif UNKNOWN in word.text:
            self.unreadable.append("which file is read is only known when it runs")

    # --- what is fed to shells and interpreters ------------------------------------

    def _fed(
        self, name: str, words: Sequence[Word], texts: list[str], simple: Simple, depth: int
    ) -> None:
        if name in SHELLS:
            if reads_commands_from_stdin(texts):
                self._stdin(simple, depth)
            for word in words[1:]:
                if word.inner and word.text[:1] == "<":
                    self._output_of(word.inner[0].commands, depth)
        elif name in ("at", "batch", "crontab") or (
            name in ("ssh", "parallel") and not inner_of(name, texts)
        ):
            self._stdin(simple, depth)
        elif name in _AWK:
            program = next((word.text for word in words[1:] if word.text[:1] != "-"), "")
            self._code(program, depth)
        elif INTERPRETERS.fullmatch(name):
            self._interpreter(name, words, texts, simple, depth)
        elif name in _SQL:
            self._sql(words, simple)
        if name in ("xargs", "parallel"):
            self._xargs(name, texts, simple)
        for word in words[1:]:
            if (
                word.text[:1] == "<"
                and word.inner
                and (said := printed_by_all(word.inner[0].commands))
            ):
                self.sweep(said, depth)
            elif word.text[:1] == ">" and word.inner:
                self._into_process(word.inner[0])

    def _into_process(self, reading: Reading) -> None:
        for simple in reading.commands:
            if simple.words and program_name(simple.words[0].text) in SHELLS:
                self.unreadable.append("a shell reads what another command prints")

    def _xargs(self, name: str, texts: list[str], simple: Simple) -> None:
        """`echo / | xargs rm -rf`: what is deleted comes by the pipe."""
        inner = inner_of(name, texts)
        if inner and program_name(texts[inner[0].start]) in (
            "rm",
            "unlink",
            "shred",
            "rmdir",
            "truncate",
        ):
            self.find("recursive_delete", " ".join(texts))
        if not inner:
            return
        part = texts[inner[0].start :]
        text = [
            part[found.start] for found in inner_of(program_name(part[0]), part) if found.is_text
        ]
        if part[0] in _REPLACED or (
            program_name(part[0]) in SHELLS and (not text or text[0] in _REPLACED) and len(part) < 4
        ):
            self.unreadable.append("runs what comes by the pipe")
            self._output_of(simple.producers, 1)

    def _stdin(self, simple: Simple, depth: int) -> None:
        """Commands come by standard input: from where?"""
        for body in simple.bodies:
            self.text(body, depth + 1)
        for redirect in simple.redirects:
            if redirect.sign == "<<<":
                self._text_of([redirect.target], depth)
            elif redirect.sign == "<" and redirect.target.inner:
                self._output_of(redirect.target.inner[0].commands, depth)
            elif redirect.sign == "<" and not redirect.target.known:
                self.unreadable.append("which file is read is only known when it runs")
        if simple.producers and not simple.bodies:
            self._output_of(simple.producers, depth)

    def _output_of(self, producers: "Sequence[Simple | None]", depth: int) -> None:
        """What these print is run as commands."""
        known = [each for each in producers if each is not None]
        names = programs_of(known)
        if names & NETWORK:
            self.find("remote_code", "runs what was downloaded")
            return
        if len(known) == len(producers) and (said := printed_by_all(known)) is not None:
            self.text(said, depth + 1)
            self.sweep(said, depth)
            return
        if names & DECODERS - {"printf"}:
            self.find("hidden_code", "runs text that was decoded or assembled")
            return
        for each in known:
            if (said := printed(each)) is not None:
                self.sweep(said, depth)
        self.unreadable.append("runs what another command prints")

    def _interpreter(
        self, name: str, words: Sequence[Word], texts: list[str], simple: Simple, depth: int
    ) -> None:
        if name == "expect":
            for text in texts[1:]:
                self.sweep(text.replace("spawn ", ""), depth)
        index = 1
        scripted = False
        while index < len(words):
            word = words[index]
            if word.text in _CODE_OPTIONS and index + 1 < len(words):
                scripted = True
                self._code_word(words[index + 1], depth)
                index += 2
                continue
            if (
                word.text[:1] == "-"
                and word.text[:2] != "--"
                and len(word.text) > 2
                and word.text[1] in "ecr"
            ):
                scripted = True
                self._code_word(word._replace(text=word.text[2:]), depth)
            elif word.text == "-m" and index + 1 < len(words):
                scripted = True
            elif word.inner and word.text[:1] == "<":
                scripted = True
                self._output_of(word.inner[0].commands, depth)
            elif word.text == "-":
                break
            elif word.text[:1] != "-":
                scripted = True
                break
            index += 1
        if scripted:
            self._project_script(words, texts, simple)
            return
        for body in simple.bodies:
            self._code(body, depth)
        if simple.producers and not simple.bodies:
            known = [each for each in simple.producers if each is not None]
            said = printed_by_all(known) if len(known) == len(simple.producers) else None
            names = programs_of(known)
            if names & NETWORK:
                self.find("remote_code", "runs what was downloaded")
            elif said is not None:
                self._code(said, depth)
            elif names & DECODERS - {"printf"}:
                self.find("hidden_code", "runs text that was decoded or assembled")
            else:
                self.unreadable.append("runs what another command prints")

    def _code_word(self, word: Word, depth: int) -> None:
        if UNKNOWN in word.text:
            names = {name for reading in word.inner for name in programs_of(reading.commands)}
            if names & NETWORK:
                self.find("remote_code", "runs what was downloaded")
            elif names:
                self.find("hidden_code", "runs what another command prints")
            self.unreadable.append("code that is only known when it runs")
        self._code(word.text, depth)

    def _code(self, code: str, depth: int) -> None:
        found = code_findings(code)
        for name, what in found.findings:
            self.find(name, what)
        if found.unreadable:
            self.unreadable.append(found.unreadable)
        for text in found.commands:
            self.try_text(text, depth + 1)
        self.sweep(code, depth)

    def _project_script(self, words: Sequence[Word], texts: list[str], simple: Simple) -> None:
        """`python manage.py …`, `php artisan …`: tools that a project brings along."""
        for index, text in enumerate(texts[1:], 1):
            name = program_name(text)
            known = {
                "manage.py": "django-admin",
                "artisan": "artisan",
                "console": "console",
                "rails": "rails",
                "rake": "rake",
            }.get(name)
            if known:
                self._sql(words, simple)
                for pattern in matching(known, texts[index + 1 :]):
                    self.find(pattern.name, " ".join(texts))

    def _sql(self, words: Sequence[Word], simple: Simple) -> None:
        said = [word.text for word in words[1:]] + simple.bodies
        said += [
            text
            for each in simple.producers
            if each is not None and (text := printed(each)) is not None
        ]
        said += [body for each in simple.producers if each is not None for body in each.bodies]
        for text in said:
            if sql_is_destructive(text) or sql_is_destructive(_ATTACHED.sub("", text)):
                self.find("database", text)

    # --- words that hold commands ----------------------------------------------------

    def _swept(
        self, name: str, words: Sequence[Word], texts: list[str], simple: Simple, depth: int
    ) -> None:
        skips_messages = name in _WRITERS_OF_MESSAGES
        tried = 0
        for index, word in enumerate(words[1:], 1):
            text = word.text
            if skips_messages and (
                _MESSAGE.fullmatch(texts[index - 1]) or _MESSAGE.fullmatch(text.partition("=")[0])
            ):
                continue
            if " " in text or "\t" in text or "\n" in text:
                self.sweep(text, depth)
            else:
                inner = program_name(text) if "/" not in text or "bin/" in text else ""
                if (
                    inner in _SWEPT
                    or (inner in SHELLS and (name in _RUNNERS or len(words) > index + 1))
                ) and depth < MAX_DEPTH:
                    tried += 1
                    if tried > MAX_TRIED:
                        self.unreadable.append("too many words that could be commands")
                        return
                    part = Simple(
                        words=list(words[index:]), producers=simple.producers, bodies=simple.bodies
                    )
                    if name in _RUNNERS and inner in SHELLS:
                        self.run(part.words, part, depth + 1)
                    else:
                        self._aside(
                            lambda scanner, part=part: scanner.run(part.words, part, depth + 1),
                            sweeps=inner in SHELLS or inner in WRAPPERS,
                        )
        if name not in _FILES_ONLY and not skips_messages:
            for body in simple.bodies:
                self.sweep(body, depth)
            if (
                name in _SCRIPTED
                and simple.producers
                and (said := printed(simple.producers[-1] or Simple()))
            ):
                self.sweep(said, depth)

    def sweep(self, text: str, depth: int) -> None:
        """Commands of the catalogue anywhere in a text that may be run."""
        if depth >= MAX_DEPTH:
            return
        for found in list(_SWEEP.finditer(text))[:16]:
            segment = _SEGMENT.match(text, found.start())
            assert segment is not None
            for simple in read(segment[0], depth=depth + 1).commands[:1]:
                if simple.words:
                    self._aside(
                        lambda scanner, simple=simple: scanner.run(
                            simple.words, Simple(words=simple.words), depth + 2
                        )
                    )

    # --- redirections ---------------------------------------------------------------

    def redirects(self, simple: Simple) -> None:
        for sign, target in simple.redirects:
            if target.text.startswith(("/dev/tcp/", "/dev/udp/")):
                if (
                    not simple.words
                    or program_name(simple.words[0].text) in SHELLS
                    or program_name(simple.words[0].text) == "exec"
                ):
                    self.find("remote_shell", f"{sign} {target.text}")
                elif any(
                    reads_secrets(each) for each in [simple, *(p for p in simple.producers if p)]
                ):
                    self.find("exfiltration", f"{sign} {target.text}")
                continue
            if ">" not in sign or (sign == ">&" and (target.text.isdigit() or target.text == "-")):
                continue
            empties = sign in (">", ">|", "&>") and prints_nothing(simple)
            self.written(target.text, f"{sign} {target.text}", empties=empties)
            if simple.words and sign in (">", ">>", ">|") and target.text != "/dev/null":
                self._makes(normpath(target.text), simple)

    def _makes(self, path: str, simple: Simple) -> None:
        name = program_name(simple.words[0].text)
        if name in NETWORK or programs_of(simple.producers) & NETWORK:
            self.downloaded.add(path)
        elif (said := written_by(simple)) is not None:
            self.made[path] = self.made.get(path, "") + said + "\n"
        elif name in DECODERS or name in ("cat", "echo"):
            self.made[path] = UNKNOWN

    def written(self, path: str, what: str, *, empties: bool = False) -> None:
        """A path is written to: which class is that?"""
        name = written_class(path)
        if name is None and (empties or IMPORTANT.search(path)):
            name = None if path == "/dev/null" else "overwrite"
        if name is not None:
            self.find(name, what)

    def _sent(self, name: str, words: Sequence[Word], texts: list[str], simple: Simple) -> None:
        """Secrets on their way to another machine."""
        sources = [each for each in simple.producers if each is not None]
        inner = [each for word in words for reading in word.inner for each in reading.commands]
        if (
            any(reads_secrets(each) for each in (*sources, *inner))
            or any(sign == "<" and is_secret(target.text) for sign, target in simple.redirects)
            or uploads_secrets(name, texts)
        ):
            self.find("exfiltration", " ".join(texts))
