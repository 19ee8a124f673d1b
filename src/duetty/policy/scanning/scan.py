"""The destructive scan: an over-approximation that may only block or ask.

It looks at every command a line may run, through wrappers, nested shells, pipes,
here-documents and interpreters, and names the classes of the catalogue it finds.
What cannot be read is said; that a scan finds nothing proves nothing.
"""

import re
from collections.abc import Callable, Sequence, Set
from fnmatch import fnmatchcase
from itertools import islice
from operator import itemgetter
from posixpath import normpath

from duetty.policy.proving.paths import is_secret
from duetty.policy.proving.recogniser import MAX_BYTES, RESERVED, Glob, Line
from duetty.policy.scanning import fed
from duetty.policy.scanning.code import sql_is_destructive
from duetty.policy.scanning.commands import (
    DECODERS,
    INTERPRETERS,
    NETWORK,
    prints_nothing,
    prints_without_end,
    program_name,
    programs_of,
    reads_secrets,
    shown,
    uploads_secrets,
    written_by,
)
from duetty.policy.scanning.findings import Finding, Scan
from duetty.policy.scanning.fish import read_fish
from duetty.policy.scanning.gaps import filled
from duetty.policy.scanning.patterns import BY_PROGRAM, has_open_subcommand, matching
from duetty.policy.scanning.printed import decode_ansi, formatted, printed
from duetty.policy.scanning.programs import ENTERING, GOING, NO_HISTORY, target_of
from duetty.policy.scanning.reader import positional, read
from duetty.policy.scanning.reading import UNKNOWN, Reading, Redirect, Simple, Word, exact
from duetty.policy.scanning.sweeps import SWEPT, TRIED, segments, tried_after
from duetty.policy.scanning.traits import FILES_ONLY, FILTERS, MESSENGERS, RUNNERS, SCRIPTED, traits
from duetty.policy.scanning.tree import look
from duetty.policy.scanning.use import UNPACKED, Use
from duetty.policy.scanning.verbs import tells_to_delete
from duetty.policy.scanning.wrappers import SHELLS, WRAPPERS, fish_code, inner_of, split_strings
from duetty.policy.scanning.writes import DUMPS, IMPORTANT, SYSTEM_PLACE, written_class
from duetty.policy.values import new

MAX_DEPTH = 8
MAX_STEPS = 300
"""Commands looked at in one line, nested ones included: beyond it the line is not readable."""

MAX_TRIED = 8
"""Later words of one command that are tried as programs."""

MAX_BASES = 16
"""Directories that a line enters and that its paths are tried in."""

MAX_SEGMENTS = 16
"""Parts of one text that are tried as commands."""


_FROM_NOTHING = "</dev/null"
_NOTHING = Redirect("<", exact("/dev/null"))
"""The one redirection of a literal line that a program may notice."""

FISH = "fish"
"""The shell that reads text otherwise than the rest."""

_OWN_TEXT = frozenset(
    "eval source . trap alias abbr command builtin exec time and or not argparse".split()
)
"""What hands text to the very shell that runs it, or runs what does."""

HISTORY = "refers to the history"
"""Why a line cannot be read that a shell will still put its history into."""


def scan_line(line: Line, cwd: str = "", *, whole: bool = False, shell: str = "") -> Scan:
    """A line whose words are exact; `cwd` is where it begins.

    `whole`: every class is looked for, not only until a command has one. `shell`: `fish`, if
    that is what reads text that the line hands to its own shell.
    """
    scanner = _Scanner(whole, shell)
    scanner.begin(cwd)
    scanner.is_exact = True
    commands, joins, _ = line
    if not joins:
        words = [new(Word, (word, type(word) is Glob, (), False)) for word in commands[0].words]
        simple = Simple(words)
        if _FROM_NOTHING in commands[0].redirects:
            simple.redirects = [_NOTHING]
        scanner.run(words, simple, 0)
        return scanner.result()
    before: Simple | None = None
    simples: list[Simple] = []
    if any(command.words[0] in ENTERING for command in commands):
        scanner.places([Simple([exact(word) for word in each.words]) for each in commands])
    for command, join in zip(commands, ("", *joins), strict=True):
        # As `exact` makes them.
        words = [new(Word, (word, type(word) is Glob, (), False)) for word in command.words]
        simple = Simple(words, joined_by=join)
        if _FROM_NOTHING in command.redirects:
            simple.redirects = [_NOTHING]
        if join == "|" and before is not None:
            simple.producers = [*before.producers, before]
        scanner.command(simple, 0)
        before = simple
        simples.append(simple)
    scanner.fill(simples, frozenset(), 0)
    return scanner.result()


def scan_text(text: str, cwd: str = "", *, whole: bool = False, in_fish: bool = False) -> Scan:
    """Any text. Total, and linear but for what tree-sitter costs."""
    if len(text) > MAX_BYTES:
        return Scan(unreadable=(f"longer than {MAX_BYTES} bytes",))
    scanner = _Scanner(whole)
    scanner.begin(cwd)
    scanner.in_fish = in_fish
    scanner.odd(text)
    if ("!" in text and _HISTORY.search(_SINGLE.sub("''", text))) or (
        "^" in text and _SUBSTITUTED.match(text)
    ):
        scanner.unreadable.append(HISTORY)
    if "(" in text and _FORK_BOMB.search(text):
        scanner.find("fork_bomb", "a function that starts itself twice")
    if "done" in text and "&" in text and _ENDLESS.search(text):
        scanner.find("fork_bomb", "a loop that starts more and waits for none")
    reading = read(text)
    scanner.reading(reading, 0)
    if scanner.awaits_code or scanner.awaits_sql:
        scanner.given(text, reading, 0)
    # Whoever is asked about findings need not hear of more; plain words need no second reader.
    if whole or not (scanner.findings or _is_plain(text)):
        scanner.second_opinion(text, reading)
    return scanner.result()


def scan_fish(text: str, cwd: str = "", *, whole: bool = False) -> Scan:
    """Any text that fish reads.

    What other shells would find in it counts too; that they cannot read it does not.
    """
    other = scan_text(text, cwd, whole=whole, in_fish=True)
    if len(text) > MAX_BYTES:
        return other
    scanner = _Scanner(whole, FISH)
    scanner.begin(cwd)
    scanner.odd(text)
    scanner.read_text(text, 0)
    scanner.findings += other.findings
    scanner.commands += other.commands
    return scanner.result()


_WORD = r"[A-Za-z0-9_./~][A-Za-z0-9_./,:=+@%~-]*|-[A-Za-z0-9_./,:=+@%-]*"
_COMMAND = rf"[A-Za-z_./][A-Za-z0-9_./+-]*(?: (?:(?:>>?|<|2>) )?(?:{_WORD}))*"
_PLAIN = re.compile(rf"{_COMMAND}(?: (?:&&|\|\|?|;) {_COMMAND})*")
"""Words without quotes and expansions, whole files as their input and output, and joins between."""

_QUOTED = r"""'[^'\\\0-\x1f]*'|"[^"\\$`!\0-\x1f]*"|"\$[A-Za-z_]\w*"|\$[A-Za-z_]\w*"""
_SET = rf"[A-Za-z_]\w*=(?:[A-Za-z0-9_./-][A-Za-z0-9_./,:=+@%-]*|{_QUOTED})"
_CLEAR_COMMAND = rf"(?:{_SET} )*[A-Za-z_./][A-Za-z0-9_./+-]*(?: (?:2>&1(?= |\Z)|>&2(?= |\Z)|(?:(?:>>?|<|2>) )?(?:{_WORD}|\{{\}}|\+|\\;|{_QUOTED})))*"
_CLEAR = re.compile(rf"{_CLEAR_COMMAND}(?: (?:&&|\|\|?|;|&) {_CLEAR_COMMAND})*(?: &)?", re.ASCII)
"""The same with whole words between quotes, variables as whole words, and assignments before a program."""

CLEAR_BYTES = 200
"""What is longer the grammar may find too deeply nested, for what stands between quotes."""

_DECLARING = frozenset("declare typeset export readonly local unset unsetenv".split())
"""The grammar has rules of its own for what these are given."""


def _is_plain(text: str) -> bool:
    """Whether the reader cannot have read another command than a shell will."""
    words = text.split(" ")
    return RESERVED.isdisjoint(words) and (
        _PLAIN.fullmatch(text) is not None
        or (
            len(text) <= CLEAR_BYTES
            and _DECLARING.isdisjoint(words)
            and _CLEAR.fullmatch(text) is not None
        )
    )


_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\u2800\u3000\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uff01-\uff5e\uffa0\ufff0-\uffff\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)
"""Controls, blanks that are not blanks, invisible and bidirectional marks, full-width twins of ASCII."""

_SINGLE = re.compile(r"'[^']*'")
_HISTORY = re.compile(r"(?<![\$\[{\\(=])!(?=[!$^*?:#A-Za-z0-9_-])(?![A-Za-z]*=)")
_SUBSTITUTED = re.compile(r"\s*\^[^^\n]+")
_FORK_BOMB = re.compile(
    r"(?<![^\s(){}|&;])(?P<name>[^\s(){}|&;]{1,64})\s{0,8}\(\s{0,8}\)\s{0,8}\{?[^}]{0,64}?(?P=name)\s{0,8}\|\s{0,8}(?P=name)\s{0,8}&"
)

_ENDLESS = re.compile(
    r"\b(?:while\s+(?:true|:|\[\s*1\s*\])|until\s+false|for\s*\(\(\s*;\s*;\s*\)\))\s*(?:;|\n)?\s*do\b(?:(?!\bwait\b|\bdone\b)[^\0]){0,200}?(?<!&)&\s*;?\s*done\b"
)
"""Loops whose only end is that of the machine."""

_MESSAGE = re.compile(
    r"-[a-zA-Z]*[mbtFSGL]|--(?:message|body|title|grep|description|notes|subject|file|author|search)"
)
_FINDERS = frozenset(
    "which command type brew npm yarn pyenv rbenv git go pwd realpath dirname readlink".split()
)
"""Programs that print where another one is."""

_OUTPUT_DISK = re.compile(
    r"(?:^| )-(?:o|O|of|out|-out[a-z-]*|f|-file|w|-write)[ =]?/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk|dm-|mapper/|md|loop|nbd)[^ ]*$"
)
"""A disk as the value of an option that says where to write."""

_GIVES = re.compile(r"(?<!\|)\|(?!\|)|<|>\(|\bcoproc\b")
"""Signs by which a line gives one of its commands something to read."""

_GROUPS = re.compile(
    r"[(){}]|<[&>]|\b(?:if|while|until|for|select|case|repeat|foreach|begin|switch|coproc)\b"
)
"""Signs that a command may be given what is not written beside it."""

_AS_RM = re.compile(r"-(?=[a-z]*r)(?=[a-z]*f)[a-z]{2,4}", re.IGNORECASE)
"""Options that hardly another program than rm is given."""

_OF_DIRECTORIES = re.compile(r"-[a-zA-Z]*d[a-zA-Z]*")
"""zsh: names that `hash` gives to directories, not to commands."""

_SUBSCRIPT = re.compile(r"\[.*(?:\$[(\[{]|`)", re.DOTALL)
_KEEPING = frozenset(["read", "mapfile", "readarray"])
_SQL_WORD = re.compile(r"\b(?:drop|truncate|delete|update|alter)\s", re.IGNORECASE)
_INSTALLERS = frozenset(
    "dpkg rpm apt apt-get yum dnf apk pacman installer pip pip3 gem npm snap".split()
)

_ASSIGNED_COMMANDS = re.compile(
    r".*(?:PAGER|EDITOR|VISUAL|COMMAND|BROWSER|PS[0-4]|LESSOPEN|LESSCLOSE|DIFF|ASKPASS|SSH|SHELL|PROXY_COMMAND|PREEXEC|PROMPT)|ENV|BASH_ENV"
)


_text_of: Callable[[Word], str] = itemgetter(Word._fields.index("text"))
_inner_of: Callable[[Word], tuple[Reading, ...]] = itemgetter(Word._fields.index("inner"))


def _said(simple: Simple) -> list[str]:
    """Texts that a command prints, or is given to read."""
    said = [*simple.bodies]
    if simple.words and (one := printed(Simple(simple.words))) is not None:
        said.append(one)
    return said


def _reads(simple: Simple, path: str) -> bool:
    """Whether a filter, here or before it in the pipe, is given this very file."""
    for each in (*simple.producers, simple):
        if (
            each is not None
            and len(each.words) > 1
            and program_name(each.words[0].text) in FILTERS
            and any(word.text == path for word in each.words[1:])
        ):
            return True
    return False


class _Scanner:
    """Looks at commands one by one and gathers what it finds."""

    __slots__ = (
        "aliases",
        "awaits_code",
        "awaits_sql",
        "bases",
        "commands",
        "downloaded",
        "findings",
        "in_fish",
        "is_elsewhere",
        "is_exact",
        "made",
        "seen",
        "shell",
        "steps",
        "sweeps",
        "unreadable",
        "whole",
        "workspace",
    )

    def __init__(self, whole: bool, shell: str = "") -> None:
        self.findings: list[Finding] = []
        self.unreadable: list[str] = []
        self.commands: list[tuple[str, ...]] = []
        self.downloaded: set[str] = set()
        self.made: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self.seen: list[tuple[str, ...]] = []
        self.bases: list[str] = []
        self.workspace = ""
        self.is_elsewhere = False
        self.steps = 0
        self.awaits_code = self.awaits_sql = False
        self.is_exact = False
        """Whether no word so far can hold a command: nothing was read but words."""
        self.sweeps = True
        """Whether later words are tried as programs; not within such a try."""
        self.whole = whole
        """Whether a command that has a class is searched for others all the same."""
        self.in_fish = bool(shell)
        """Whether it is fish that runs it, whoever reads: there no file is emptied by a redirection alone."""
        self.shell = shell
        """Who reads the text at hand: fish, or a shell that reads as POSIX has it."""

    def result(self) -> Scan:
        findings, commands = self.findings, self.commands
        return new(
            Scan,
            (
                tuple(dict.fromkeys(findings)) if len(findings) > 1 else tuple(findings),
                tuple(dict.fromkeys(self.unreadable)) if self.unreadable else (),
                tuple(dict.fromkeys(commands)) if len(commands) > 1 else tuple(commands),
            ),
        )

    def find(self, name: str, what: str) -> None:
        self.findings.append(new(Finding, (name, shown(what))))

    def has_run(self, *names: str) -> bool:
        return any(command[0] in names for command in self.commands)

    def reading(self, reading: Reading, depth: int) -> None:
        self.is_exact = False
        self.unreadable += reading.unreadable
        functions = reading.functions
        if len(reading.commands) > 1:
            self.places(reading.commands)
        for simple in reading.commands:
            if (
                functions
                and simple.words
                and simple.words[0].text in functions
                and simple.words[0].known
            ):
                self.redirects(simple)
                self.seen.append((simple.words[0].text,))
                if len(simple.words) > 1 and depth < MAX_DEPTH:
                    # A function may run what it is given.
                    rest = Simple(simple.words[1:])
                    self._aside(lambda scanner, rest=rest: scanner.command(rest, depth + 1))
                if not self.shell:
                    continue  # that it is defined here is not the grammar's word only
            self.command(simple, depth)
        self.fill(reading.commands, reading.functions, depth)

    def begin(self, cwd: str) -> None:
        if SYSTEM_PLACE.fullmatch(cwd):
            self.bases.append(cwd)
        elif cwd:
            self.workspace = f"{cwd.rstrip('/')}/"

    def places(self, commands: Sequence[Simple]) -> None:
        """Where the line goes, before anything of it is looked at: a loop comes by again."""
        for simple in commands:
            if simple.words and simple.words[0].text in ENTERING:
                self.enter(target_of([word.text for word in simple.words]))

    def enter(self, directory: str) -> None:
        if self.workspace and f"{directory}/".startswith(self.workspace):
            directory = directory[len(self.workspace) :] or "."
        if directory not in self.bases and len(self.bases) < MAX_BASES:
            below = [f"{base}/{directory}" for base in self.bases if directory[:1] not in "/~"]
            self.bases += [directory, *below]

    def fill(self, commands: Sequence[Simple], functions: Set[str], depth: int) -> None:
        if depth < MAX_DEPTH:
            for words in filled(commands, functions):
                self._aside(lambda scanner, words=words: scanner.command(Simple(words), depth + 1))

    def text(self, text: str, depth: int) -> None:
        if UNKNOWN in text:
            self.unreadable.append("runs text that is only known when it runs")
        if depth > MAX_DEPTH:
            self.unreadable.append("nested too deeply")
            return
        if "(" in text and _FORK_BOMB.search(text):
            self.find("fork_bomb", "a function that starts itself twice")
        if self.shell:
            # What another shell would find in it counts too, its doubts do not.
            self._aside(lambda scanner: scanner.read_text(text, depth), shell="")
        self.read_text(text, depth)

    def read_text(self, text: str, depth: int) -> None:
        reading = self._read(text, depth)
        self.reading(reading, depth)
        if self.awaits_code or self.awaits_sql:
            self.given(text, reading, depth)

    def _read(self, text: str, depth: int) -> Reading:
        return read_fish(text, depth) if self.shell else read(text, depth)

    def odd(self, text: str) -> None:
        # Printable ASCII holds nothing odd.
        if not (text.isascii() and text.isprintable()) and (odd := _ODD.search(text)):
            self.unreadable.append(f"holds U+{ord(odd[0]):04X}, which does not show as it runs")

    def given(self, text: str, reading: Reading, depth: int) -> None:
        """A program within a group, a loop or a function reads what these are given.

        Which of the line's texts that is, is not followed up: each of them may be.
        """
        if not _GIVES.search(text) or not (_GROUPS.search(text) or self.has_run("exec")):
            return
        if self.awaits_code:
            self.unreadable.append("a shell reads what the line gives it")
            if programs_of(reading.commands) & NETWORK:
                self.find("remote_code", "a shell may read what was downloaded")
        for simple in reading.commands[:MAX_TRIED]:
            for said in _said(simple):
                if self.awaits_code:
                    self.try_text(said, depth + 1)
                    self._aside(lambda scanner, said=said: fed.code(scanner, said, depth + 1))
                elif sql_is_destructive(said):
                    self.find("database", said)
        self.awaits_code = self.awaits_sql = False

    def second_opinion(self, text: str, reading: Reading) -> None:
        """tree-sitter's commands that the reader did not see."""
        seen = look(text)
        if seen is None:
            self.unreadable.append("too deeply nested")
            return
        if not seen.valid:
            self.unreadable.append("not valid shell, or not to be read with certainty")
        for source in seen.commands:
            if source in reading.sources:
                continue
            for simple in read(source, depth=1).commands:
                words = tuple(word.text for word in simple.words)
                if (
                    words
                    and (program_name(words[0]), *words[1:]) not in self.seen
                    and words not in self.seen
                ):
                    # Variables of the whole line are unknown here: findings count, doubts do not.
                    self._aside(lambda scanner, simple=simple: scanner.command(simple, 1))

    def _aside(
        self,
        look_at: "Callable[[_Scanner], object]",
        *,
        sweeps: bool = True,
        shell: str | None = None,
    ) -> None:
        other = _Scanner(self.whole, self.shell if shell is None else shell)
        other.steps = self.steps
        other.seen = self.seen
        other.bases = self.bases
        other.workspace = self.workspace
        other.is_elsewhere = self.is_elsewhere
        other.sweeps = sweeps
        other.in_fish = self.in_fish
        look_at(other)
        self.steps = other.steps
        self.findings += other.findings
        if self.steps > MAX_STEPS:
            self.unreadable.append("too much in one line")

    def try_text(self, text: str, depth: int) -> None:
        self._aside(lambda scanner: scanner.text(text, depth))

    # --- one command ---------------------------------------------------------------

    def command(self, simple: Simple, depth: int) -> None:
        if simple.redirects:
            self.redirects(simple)
        for name, value in simple.assignments:
            self._assigned(name, value, simple, depth)
        if simple.words:
            self.run(simple.words, simple, depth)
        elif simple.bodies:
            self._subscripts(
                ["done", *simple.bodies], simple, depth
            )  # whoever reads there may keep it

    def _assigned(self, name: str, value: Word, simple: Simple, depth: int) -> None:
        if name == "IFS" and not simple.words:
            self.unreadable.append("changes how words are split")
        if name[:4] == "HIST" and f"{name}={value.text}".startswith(NO_HISTORY):
            self.find("tracks", f"{name}={value.text}")
        if name == "CDPATH":
            self.unreadable.append("changes where cd goes")
        if value.text:
            self.sweep(value.text, depth)
            if "$(" in value.text or "`" in value.text:
                self._try_quoted(value.text, depth)  # kept, perhaps for a prompt or a subscript
        if _ASSIGNED_COMMANDS.fullmatch(name):
            self.try_text(value.text, depth + 1)
            if value.inner and value.text[:1] == "<":
                fed.output_of(self, value.inner[0].commands, depth)

    def run(self, words: Sequence[Word], simple: Simple, depth: int) -> None:
        self.steps += 1
        if depth > MAX_DEPTH or self.steps > MAX_STEPS:
            self.unreadable.append("nested too deeply")
            return
        texts = list(map(_text_of, words))
        known = traits(texts[0])
        if known.is_odd or words[0].guessed:
            self._named_oddly(program_name(texts[0]), words[0], words, simple, depth)
        texts[0] = name = known.name
        argv = tuple(texts)
        self.seen.append(argv)
        self.commands.append(argv)
        findings = self.findings
        found = len(findings)
        if known.catalogued:
            for pattern in matching(name, texts[1:]):
                self.find(pattern.name, " ".join(texts))
            if not self.is_exact and has_open_subcommand(name, texts[1:]):
                self.unreadable.append(f"what {name} is told to do is only known when it runs")
        listed = len(findings) > found
        was_elsewhere, entered = self.is_elsewhere, len(self.bases)
        if known.is_elsewhere:
            self.is_elsewhere = True
        if known.special is not None:
            known.special(self, new(Use, (name, words, texts, simple, depth)))
        if known.is_subscripted:
            self._subscripts(texts, simple, depth)
            if name in _KEEPING and (simple.bodies or simple.producers):
                self._kept(simple, depth)
        if self.downloaded or self.made:
            self._executes(name, words, depth)
        if self.aliases and name in self.aliases and depth < MAX_DEPTH:
            self._aliased(self.aliases[name], words, depth)
        if known.runs_others or (not self.is_exact and any(map(_inner_of, words))):
            use = new(Use, (name, words, texts, simple, depth))
            outer, self.shell = self.shell, self._reader_of(name)
            self._inner(name, words, texts, simple, depth)
            fed.fed(self, use, is_interpreter=known.is_interpreter)
            self.shell = outer
            if outer and not self._reader_of(name):
                self._tried_as_fish(name, words, texts, depth)
        if known.sends:
            self._sent(name, words, texts, simple)
        if (
            known.is_swept
            and self.sweeps
            # What is found by its place need not be searched for; what runs elsewhere must be.
            and (len(findings) == found or name in RUNNERS or self.whole)
            and (len(texts) > 1 or simple.bodies or simple.producers)
        ):
            self._swept(name, words, texts, simple, depth)
        if (
            known.takes_verbs
            and len(texts) > 1
            # The catalogue has read the verb of what it lists.
            and (not listed if self.whole else len(findings) == found)
        ):
            operands = [text for text in texts[1:] if text[:1] not in ("-", "")]
            if tells_to_delete(texts[1:], operands, catalogued=name in BY_PROGRAM):
                self.find("other_delete", " ".join(texts))
        self.is_elsewhere = was_elsewhere
        if len(self.bases) > entered and name in GOING:
            del self.bases[entered:]  # what comes behind it is where it was

    def _reader_of(self, name: str) -> str:
        """Who reads the text that a program is given to run."""
        if name in SHELLS:
            return FISH if name == FISH else ""
        return self.shell if not self.shell or name in _OWN_TEXT else ""

    def _tried_as_fish(
        self, name: str, words: Sequence[Word], texts: list[str], depth: int
    ) -> None:
        """Some programs hand text to the shell that they were started by."""
        if name in SHELLS:
            return
        for start, is_text, end in inner_of(name, texts):
            if is_text and depth < MAX_DEPTH:
                text = " ".join(word.text for word in words[start:end])
                self._aside(lambda scanner, text=text: scanner.read_text(text, depth + 1))

    def _named_oddly(
        self, name: str, first: Word, words: Sequence[Word], simple: Simple, depth: int
    ) -> None:
        """A program's name that is not all there, or not what it looks like."""
        if UNKNOWN in name or not name or first.guessed:
            self._assembled(first)
            if (guess := name.replace(UNKNOWN, "")) != name and guess in SWEPT:
                # An unset variable within the name leaves the rest of it.
                self.run([first._replace(text=guess, guessed=False), *words[1:]], simple, depth + 1)
            elif any(_AS_RM.fullmatch(word.text) for word in words[1:]):
                called = [exact("rm"), *words[1:]]
                self._aside(lambda scanner: scanner.run(called, Simple(called), depth + 1))
        elif first.glob and name not in ("[", "[[") and any(char in name for char in "*?["):
            self.unreadable.append("the program's name is a pattern")
            for swept in ("rm", "dd", "shred", "shutdown", "reboot"):
                if 1 < len(name) < 64 and fnmatchcase(swept, name):
                    self.run(
                        [first._replace(text=swept, glob=False), *words[1:]], simple, depth + 1
                    )
        elif not name.isascii():
            self.unreadable.append("the program's name has letters that look like others")

    def _assembled(self, first: Word) -> None:
        self.unreadable.append("which program runs is only known when it runs")
        for reading in first.inner:
            names = programs_of(reading.commands)
            if names & NETWORK:
                self.find("remote_code", "runs what was downloaded")
            elif names - _FINDERS - {"echo", "printf"}:
                self.find("hidden_code", fed.RUNS_PRINTED)

    def _subscripts(self, texts: list[str], simple: Simple, depth: int) -> None:
        for text in texts[1:]:
            if "[" in text and _SUBSCRIPT.search(text):
                self._try_quoted(text, depth)
            name, sign, value = text.partition("=")
            # `export PAGER=…`; a prompt is no command.
            if sign and name[:2] != "PS" and _ASSIGNED_COMMANDS.fullmatch(name):
                self._assigned(name, exact(value), simple, depth)
        if texts[:2] == ["printf", "-v"] and len(texts) > 3:
            said = formatted(decode_ansi(texts[3]), texts[4:])
            self._assigned(texts[2], exact(said), simple, depth)

    def _kept(self, simple: Simple, depth: int) -> None:
        """What is read into a variable, as if it were assigned."""
        for text in (*simple.bodies, *(printed(each) for each in simple.producers[-1:] if each)):
            if text and ("$(" in text or "`" in text):
                self._try_quoted(text, depth)

    def _try_quoted(self, text: str, depth: int) -> None:
        """What would run if somebody expanded it."""
        self.try_text(': "' + text.replace('"', "") + '"', depth + 1)

    def _defines(self, words: Sequence[Word], depth: int, *, is_suffix: bool = False) -> None:
        """Aliases: judged as functions are, with whatever they will be given behind their text."""
        given = "$argv" if self.shell else '"$@"'
        given = "x" if is_suffix else given  # zsh hands a suffix alias the file
        named = [word.text for word in words if not word.text.startswith("-")]
        if len(named) > 1 and "=" not in named[0]:
            named = [f"{named[0]}={' '.join(named[1:])}"]  # as fish writes it
        for text in named:
            alias, _, body = text.partition("=")
            self.aliases[alias] = body
            self.text(f"{body} {given}" if body else alias, depth + 1)

    def _aliased(self, text: str, words: Sequence[Word], depth: int) -> None:
        """An alias of the same line: its text, and the words behind it."""
        for simple in self._read(text, depth + 1).commands[-1:]:
            if simple.words and program_name(simple.words[0].text) not in self.aliases:
                expanded = Simple([*simple.words, *words[1:]])
                self._aside(lambda scanner, expanded=expanded: scanner.command(expanded, depth + 1))

    def _executes(self, name: str, words: Sequence[Word], depth: int) -> None:
        """Files that the same line has downloaded or written."""
        runs = (
            name in SHELLS
            or name in ("source", ".", "chmod")
            or name in _INSTALLERS
            or INTERPRETERS.fullmatch(name)
        )
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
                first, _, _ = text.partition("\n")
                outer, self.shell = self.shell, self._reader_of(name)
                self.shell = FISH if first[:2] == "#!" and FISH in first else self.shell
                self.text(text, depth + 1)
                self.shell = outer
                self._aside(lambda scanner, text=text: fed.code(scanner, text, depth + 1))

    def _inner(
        self, name: str, words: Sequence[Word], texts: list[str], simple: Simple, depth: int
    ) -> None:
        if name == FISH:
            for index, cut in fish_code(texts):
                word = words[index]
                self.text_of([word._replace(text=word.text[cut:])], depth, simple)
            return
        if name == "argparse" and self.shell:
            for text in texts[1:]:
                if "!" in text:
                    self.text(text.partition("!")[2], depth + 1)  # checks an option's value
        for start, is_text, end in inner_of(name, texts):
            part = words[start:end]
            if not is_text:
                self.run(part, simple, depth + 1)
                continue
            if name == "trap":
                part = part[:1]
            if name in ("mapfile", "readarray"):
                # The callback is given the number and the text of a line.
                self.try_text(f"{part[0].text} $1 $2", depth + 1)
            if name == "parallel":
                stop = next(
                    (i for i, word in enumerate(part) if word.text.startswith(":::")), len(part)
                )
                part = [*part[:stop], *part[stop + 1 :]]
            if name in SHELLS and end is not None and end < len(words) and depth < MAX_DEPTH:
                self._with_arguments(part[0].text, texts[end:], depth)
            self.text_of(part, depth, simple)
        if name == "env":
            for text in split_strings(texts):
                self.text(text, depth + 1)
        if name in ("alias", "abbr"):
            self._defines(words[1:], depth, is_suffix="-s" in texts)
        if name == "hash" and "-p" in texts[:-2]:
            # `hash -p /bin/rm q`: from now on `q` is that program.
            self._defines([exact(f"{texts[-1]}={texts[texts.index('-p') + 1]}")], depth)
        elif name == "hash" and not any(_OF_DIRECTORIES.fullmatch(text) for text in texts):
            self._defines([word for word in words[1:] if "=" in word.text], depth)  # zsh
        if name in ("source", "."):
            # Without a name, fish's reads what comes by the pipe.
            self._source(words[1] if len(words) > 1 else exact("-"), simple, depth)

    def _with_arguments(self, text: str, arguments: list[str], depth: int) -> None:
        """`sh -c '$0 "$@"' rm -rf x`: the words behind the text are its variables."""
        variables = {"0": (arguments[0],)} | positional(arguments[1:])
        reading = read(text, depth=depth + 1, variables=variables)
        self._aside(lambda scanner: scanner.reading(reading, depth + 1))

    def text_of(self, part: Sequence[Word], depth: int, fed_by: Simple | None = None) -> None:
        for word in part:
            for reading in word.inner:
                names = programs_of(reading.commands)
                if names & NETWORK:
                    self.find("remote_code", "runs what was downloaded")
                elif UNKNOWN in word.text:
                    self.find("hidden_code", fed.RUNS_PRINTED)
        text = " ".join(word.text.removeprefix("--command=") for word in part)
        if fed_by and (fed_by.producers or fed_by.bodies) and depth < MAX_DEPTH:
            self._fed_text(text, fed_by, depth)
        else:
            self.text(text, depth + 1)

    def _fed_text(self, text: str, fed_by: Simple, depth: int) -> None:
        """`… | ssh host sh`: what is fed to the program goes to the first commands of its text."""
        if self.shell:
            self._aside(lambda scanner: scanner._fed_text(text, fed_by, depth), shell="")
        reading = self._read(text, depth + 1)
        for simple in reading.commands:
            if not simple.producers and not simple.bodies:
                simple.producers = fed_by.producers
                simple.bodies = fed_by.bodies
        if UNKNOWN in text:
            self.unreadable.append("runs text that is only known when it runs")
        self.reading(reading, depth + 1)

    def _source(self, word: Word, simple: Simple, depth: int) -> None:
        if word.text in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"):
            fed.standard_input(self, simple, depth)
            self.awaits_code = self.awaits_code or not (simple.producers or simple.bodies)
        elif word.inner:
            fed.output_of(self, word.inner[0].commands, depth)
        elif fed.DESCRIPTOR.match(word.text):
            fed.descriptor(self)
        elif UNKNOWN in word.text:
            self.unreadable.append("which file is read is only known when it runs")

    # --- words that hold commands ----------------------------------------------------

    def _swept(
        self, name: str, words: Sequence[Word], texts: list[str], simple: Simple, depth: int
    ) -> None:
        skips_messages = name in MESSENGERS
        candidates = tried_after(name, texts) if name in RUNNERS else TRIED
        tried = 0
        subcommand = skips_messages
        # Most commands have no word that may hold a command, or be one.
        joined = "\0".join(texts)
        holds_some = (
            not candidates.isdisjoint(texts)
            or " " in joined
            or "\t" in joined
            or "\n" in joined
            or "bin/" in joined
            or "/dev/" in joined
        )
        for index in range(1, len(texts)) if holds_some else ():
            text = texts[index]
            if skips_messages and (
                (texts[index - 1][:1] == "-" and _MESSAGE.fullmatch(texts[index - 1]))
                or (text[:1] == "-" and _MESSAGE.fullmatch(text.partition("=")[0]))
            ):
                continue
            if " " in text or "\t" in text or "\n" in text:
                if _SQL_WORD.search(text) and sql_is_destructive(text):
                    self.find("database", text)
                self.sweep(text, depth)
                if text[0] == "-" and text[1] != "-":
                    self.sweep(text[2:], depth)  # `env -S'rm x'`: behind the option's letter
                continue
            if "/dev/" in text and (disk := _OUTPUT_DISK.search(f"{texts[index - 1]} {text}")):
                self.find("device_write", disk[0])
            if subcommand and text[:1] != "-":
                subcommand = False  # `git rm` is no rm
                continue
            inner = program_name(text) if "bin/" in text else text
            if inner not in candidates or depth >= MAX_DEPTH:
                continue
            is_shell = inner in SHELLS
            if is_shell and name not in RUNNERS and len(words) <= index + 1:
                continue
            tried += 1
            if tried > MAX_TRIED:
                self.unreadable.append("too many words that could be commands")
                return
            part = Simple(list(words[index:]), producers=simple.producers, bodies=simple.bodies)
            if name in RUNNERS and is_shell:
                self.run(part.words, part, depth + 1)
            else:
                self._aside(
                    lambda scanner, part=part: scanner.run(part.words, part, depth + 1),
                    sweeps=is_shell or inner in WRAPPERS,
                )
        if name not in FILES_ONLY and not skips_messages:
            for body in simple.bodies:
                self.sweep(body, depth)
            if (
                name in SCRIPTED
                and simple.producers
                and (said := printed(simple.producers[-1] or Simple()))
            ):
                self.sweep(said, depth)

    def sweep(self, text: str, depth: int) -> None:
        if depth >= MAX_DEPTH:
            return
        for segment in islice(segments(text), MAX_SEGMENTS):
            for simple in read(segment, depth=depth + 1).commands[:1]:
                if simple.words and tuple(word.text for word in simple.words) not in self.seen:
                    self._aside(
                        lambda scanner, simple=simple: scanner.run(
                            simple.words, Simple(simple.words), depth + 2
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
            empties = (
                sign in (">", ">|", "&>")
                and simple.joined_by not in ("}", ")")  # a group prints what is in it
                and not (self.in_fish and not simple.words)
                and (prints_nothing(simple) or prints_without_end(simple))
            )
            self.written(target.text, f"{sign} {target.text}", empties=empties)
            if sign in (">", ">|", "&>") and _reads(simple, target.text):
                self.find("overwrite", f"{sign} {target.text}, which is emptied before it is read")
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

    def class_of(self, path: str) -> str | None:
        name = written_class(path)
        if name is None and self.bases and path[:1] not in ("/", "~"):
            names = (written_class(f"{base}/{path}") for base in self.bases)
            return next((each for each in names if each is not None), None)
        return name

    def written(self, path: str, what: str, *, empties: bool = False) -> None:
        """A path is written to: which class is that?"""
        name = self.class_of(path)
        if name is None and (empties or (IMPORTANT.search(path) and not DUMPS.search(path))):
            name = None if path == "/dev/null" else "overwrite"
        if name is not None:
            self.find(name, what)

    def _sent(self, name: str, words: Sequence[Word], texts: list[str], simple: Simple) -> None:
        """Secrets on their way to another machine."""
        sources = [each for each in simple.producers if each is not None]
        inner = [each for word in words for reading in word.inner for each in reading.commands]
        if (
            any(map(reads_secrets, (*sources, *inner)))
            or any(sign == "<" and is_secret(target.text) for sign, target in simple.redirects)
            or uploads_secrets(name, texts)
        ):
            self.find("exfiltration", " ".join(texts))
