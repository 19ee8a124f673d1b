"""The destructive scan: it may only block or ask.

It looks at every command a line may run, through wrappers, nested shells, pipes,
here-documents and interpreters, and names the classes of the catalogue it finds. Where a
shell is given something that is not written on the line, it says so instead of guessing.
That a scan finds nothing proves nothing.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from posixpath import normpath
from typing import NamedTuple

from duetty.policy.proving.recogniser import Line
from duetty.policy.proving.specs.coreutils import COREUTILS
from duetty.policy.scanning.fish import read_fish
from duetty.policy.scanning.interpreters import (
    MAX_CODE,
    code_findings,
    sql_is_destructive,
    started_lines,
)
from duetty.policy.scanning.patterns import BY_PROGRAM, globbed, matching
from duetty.policy.scanning.places import IMPORTANT, Place, place_of, written_class
from duetty.policy.scanning.programs import (
    NETWORK,
    SENDERS,
    SPECIAL,
    UNPACKED,
    Scanner,
    Use,
    names_all,
    said_to,
    sends_secrets,
)
from duetty.policy.scanning.reader import decode_ansi, read
from duetty.policy.scanning.reading import (
    PIPED,
    UNKNOWN,
    Finding,
    Scan,
    Simple,
    program_name,
    shown,
)
from duetty.policy.scanning.verbs import EXEMPT, tells_to_delete
from duetty.policy.scanning.wrappers import (
    ELSEWHERE,
    SHELLS,
    WRAPPERS,
    inner_of,
    reads_commands_from_stdin,
    split_strings,
)
from duetty.policy.values import new

MAX_DEPTH = 8
MAX_STEPS = 400
"""Commands looked at in one line, nested ones included: beyond it the line is not readable."""

FISH = "fish"
"""The shell that reads text otherwise than the rest."""

RUNS_PRINTED = "a shell runs what another command prints"

AWK = frozenset("awk gawk mawk nawk original-awk".split())
SQL = frozenset(
    "psql mysql mariadb sqlite3 sqlite cockroach clickhouse-client clickhouse duckdb sqlcmd mssql-cli bq mongosh mongo cqlsh snowsql trino presto usql pgcli mycli litecli beeline hive"
    " spark-sql impala-shell db2 sqlplus isql osql tsql influx redis-cli valkey-cli keydb-cli arangosh cypher-shell ysqlsh questdb turso wrangler supabase edgedb surreal dolt rails django-admin artisan console prisma".split()
)
_INTERPRETER = re.compile(
    r"(?:python|pypy)[0-9.]*|perl[0-9.]*|ruby[0-9.]*|node|nodejs|php[0-9.]*|lua[0-9.]*|luajit|osascript|tclsh[0-9.]*|expect|Rscript|R|julia|groovy|bun|deno|guile|racket|sbcl|elixir|irb|ghci|scala|swift|jshell|emacs|emacsclient|octave|erl"
)
_BACKQUOTING = re.compile(r"perl.*|ruby.*|php.*|irb")
"""Languages in which back-quotes start a shell."""

_DATA = frozenset(
    "echo printf grep egrep fgrep zgrep rg ag ack which whereis type apropos whatis tldr help cat ls head tail wc cd mkdir touch basename dirname logger"
    " notify-send say figlet cowsay test [ [[ comm uniq cut tr read hash stat realpath readlink pgrep pidof true false : date seq sleep export git gh glab hg svn jj"
    " jq yq sed gsed awk gawk mawk nawk tmux screen".split()
)
"""Programs to which their words are data: a command among them runs nothing."""

_RUNNERS = frozenset(
    "docker podman nerdctl kubectl oc lxc incus machinectl multipass vagrant gcloud heroku fly flyctl railway wsl crictl ctr docker-compose".split()
)
"""Programs that start another one elsewhere, and hand it their standard input."""

_STARTERS = frozenset("exec run create start shell ssh rsh console debug -- -C -c".split())
_DECODERS = frozenset(
    "base64 base32 basenc xxd rev tr gzip gunzip zcat bzip2 bzcat xz xzcat zstd zstdcat uudecode openssl gpg od hexdump sed awk gawk perl python python3 ruby node php tac cut"
    " fold paste tail head dd iconv uncompress unlz4 lz4 7z unzip bunzip2 brotli strings jq printf".split()
)
_SETTING_UP = frozenset(
    "ssh-agent conda mamba pyenv rbenv nodenv direnv starship zoxide fnm mise rtx opam brew dircolors minikube docker-machine luarocks keychain thefuck register-python-argcomplete".split()
)
"""Programs that print what a shell is meant to evaluate."""

_PROJECT_SCRIPTS = {"manage.py": "django-admin", "artisan": "artisan", "console": "console", "rails": "rails", "rake": "rake"}  # fmt: skip
_OTHER_NAMES = {
    "manage.py": "django-admin", "k": "kubectl", "tf": "terraform", "gmake": "make", "zf_rm": "rm", "zf_rmdir": "rmdir",
    "zf_mv": "mv", "zf_ln": "ln", "zmv": "mv", "fdfind": "fd", "gfind": "find", "grm": "rm", "[[": "[",
}  # fmt: skip
_SUBSCRIPTED = frozenset("test [ printf read declare typeset local export readonly let unset wait mapfile readarray".split())
"""Builtins that evaluate an array subscript even within single quotes."""

_ASSIGNED_COMMANDS = re.compile(
    r".*(?:PAGER|EDITOR|VISUAL|COMMAND|BROWSER|PS[04]|LESSOPEN|LESSCLOSE|DIFF|ASKPASS|SSH|PROXY_COMMAND|PREEXEC)|ENV|BASH_ENV"
)
_CODE_OPTION = re.compile(r"-[a-zA-Z0-9.]*[ceErp]|--(?:eval|print|expression|execute|run)|eval")
_ATTACHED_CODE = re.compile(r"--(?:eval|print|execute|expression|command|run)=(.*)|-[cer](.+)", re.DOTALL)
_SHELL_OF_SQL = re.compile(r"^\s*(?:\.(?:system|shell)|system|\\!)\s+(.+)$", re.MULTILINE)
_OTHER_HOST = re.compile(
    r"(?: -h |--host[= ]|://(?:[^/@\s]*@)?)(?!localhost\b|127\.|\[?::1|/|0\.0\.0\.0)[\w.-]+"
)
_HOLDS_COMMAND = re.compile(
    r"(?:^|[=!;|&(]|spawn |\bexec:)[\s\[\"']*((?:sudo |env )?(?:/(?:usr/)?s?bin/)?(?P<program>[a-z][\w.-]*)[ \t]+[^\n]+)"
)
_NAMES = re.compile(r"[^\s(){}|'\"<>&;:-][^\s(){}|'\"<>&;]*")
_LEAVING = frozenset(["exfiltration", "remote_delete", "cloud", "published", "git_rewrite", "remote_shell"])
_DELETES = frozenset("rm unlink shred rmdir truncate rimraf".split())


class _Program(NamedTuple):
    """What is known of a program by the word that calls it."""

    name: str
    is_odd: bool
    """Whether the name it is called by is more than letters and figures."""
    catalogued: bool
    special: Callable[[Scanner, Use], None] | None
    runs: str
    """How it runs others: `shell`, `wrapper`, `interpreter`, `sql`, `text` or not at all."""
    takes_verbs: bool
    """Whether `delete` among its words means what it says."""


@lru_cache(maxsize=2_048)
def _program(called: str) -> _Program:
    given = program_name(called)
    name = _OTHER_NAMES.get(given, given)
    if name.startswith("ld-linux"):
        name = "ld.so"
    runs = ""
    if name in SHELLS:
        runs = "shell"
    elif _INTERPRETER.fullmatch(name) or name in AWK:
        runs = "interpreter"
    elif name in SQL:
        runs = "sql"
    elif name in WRAPPERS or name in _RUNNERS:
        runs = "wrapper"
    elif name in ("source", ".", "at", "batch", "crontab"):
        runs = "fed"
    return _Program(
        name=name,
        is_odd=not (given.isascii() and given.replace("-", "").replace(".", "").isalnum()),
        catalogued=name in BY_PROGRAM or bool(globbed(name)),
        special=SPECIAL.get(name),
        runs=runs,
        takes_verbs=not (
            name in EXEMPT
            or name in _DATA
            or name in COREUTILS
            or runs in ("shell", "interpreter", "sql")
            or (name in WRAPPERS and not WRAPPERS[name].only_after)
        ),
    )


def programs_of(commands: Iterable[Simple]) -> set[str]:
    names: set[str] = set()
    for each in commands:
        words: Sequence[str] = each.words
        for _ in range(3):  # sudo curl …, timeout 5 curl …
            if not words:
                break
            name = program_name(words[0])
            names.add(name)
            inner = [found for found in inner_of(name, words) if not found.is_text]
            words = words[inner[0].start :] if inner else []
    return names


def scan_line(
    line: Line, cwd: str = "", *, workspace: str = "", shell: str = ""
) -> Scan:
    """A line whose words are exact; `cwd` is where it begins."""
    scanner = _Scanner(shell)
    place = place_of(cwd, workspace)
    commands, joins, _ = line
    before: list[Simple] = []
    scanner.places = {0: place}
    for command, join in zip(commands, ("", *joins), strict=True):
        simple = Simple([*command.words])
        if join == "|":
            simple.producers = before
        if "</dev/null" in command.redirects:
            simple.redirects.append(("<", "/dev/null"))
        before = [*simple.producers, simple]
        scanner.command(simple, scanner.places[0], 0)
    return scanner.result()


def scan_text(text: str, cwd: str = "", *, workspace: str = "", shell: str = "") -> Scan:
    """Any text."""
    scanner = _Scanner(shell)
    scanner.text(text, place_of(cwd, workspace), 0)
    if shell == FISH:
        # What other shells would find in it counts too; that they cannot read it does not.
        scanner.findings += scan_text(text, cwd, workspace=workspace).findings
    return scanner.result()


def scan_typed(text: str, cwd: str = "", *, workspace: str = "") -> Scan:
    """A line for a program that reads the terminal, whichever it is: shell, interpreter, client."""
    scanner = _Scanner()
    place = place_of(cwd, workspace)
    scanner.text(text, place, 0)
    scanner.code(text, place, 0, backquotes=False)
    if sql_is_destructive(text):
        scanner.find("database", text)
    return scanner.result()


class _Scanner:
    """Looks at commands one by one and gathers what it finds."""

    def __init__(self, shell: str = "") -> None:
        self.findings: list[Finding] = []
        self.unreadable: list[str] = []
        self.commands: list[tuple[str, ...]] = []
        self.downloaded: set[str] = set()
        self.made: dict[str, str] = {}
        """Files that the line itself writes, with their text."""
        self.places: dict[int, Place] = {}
        """Of each subshell that was entered: where it is by now."""
        self.functions: set[str] = set()
        self.aliases: dict[str, str] = {}
        self.steps = 0
        self.shell = shell

    def result(self) -> Scan:
        return new(
            Scan,
            (
                tuple(dict.fromkeys(self.findings)),
                tuple(dict.fromkeys(self.unreadable)),
                tuple(dict.fromkeys(self.commands)),
            ),
        )

    def find(self, name: str, what: str) -> None:
        leaves = name in _LEAVING or (name == "database" and bool(_OTHER_HOST.search(what)))
        self.findings.append(new(Finding, (name, shown(what), leaves)))

    # --- texts ---------------------------------------------------------------------------

    def text(self, text: str, place: Place, depth: int) -> None:
        """Text that a shell will read."""
        if depth > MAX_DEPTH:
            self.unreadable.append("nested too deeply")
            return
        reading = read_fish(text) if self.shell == FISH else read(text)
        self.unreadable += reading.unreadable
        kept = self.places, self.functions
        self.places, self.functions = {0: place}, reading.functions
        parents = reading.parents
        for simple in reading.commands:
            scope = simple.scope
            while scope not in self.places:
                scope = parents[scope]
            self.command(simple, self.places[scope], depth)
        self.places, self.functions = kept

    def tried(self, text: str, place: Place, depth: int) -> None:
        """Text that may be run: only what is found in it counts."""
        doubts, self.unreadable = self.unreadable, []
        self.text(text, place, depth + 1)
        self.unreadable = doubts

    # --- one command ----------------------------------------------------------------------

    def command(self, simple: Simple, place: Place, depth: int) -> None:
        words = simple.words
        use = Use(words[0] if words else "", words, simple, place, depth)
        for sign, target in simple.redirects:
            self._redirected(sign, target, use)
        for name, value in simple.assigned:
            self._assigned(name, value, use)
        if not words:
            return
        if words[0] in self.aliases and depth < MAX_DEPTH:
            words = [*self.aliases[words[0]].split(), *words[1:]] or ["true"]
        if words[0] in self.functions:
            if any(each.words[:1] == words[:1] for each in simple.producers):
                self.find("fork_bomb", "a function that starts itself twice")
            return
        self.run(words, simple, place, depth)

    def run(self, words: Sequence[str], simple: Simple, place: Place, depth: int) -> None:
        self.steps += 1
        if depth > MAX_DEPTH or self.steps > MAX_STEPS:
            self.unreadable.append("nested too deeply")
            return
        known = _program(words[0])
        name = known.name
        if known.is_odd:
            self._named_oddly(words[0])
        argv = [name, *words[1:]]
        self.commands.append(tuple(argv))
        found = len(self.findings)
        if known.catalogued:
            for pattern in matching(name, argv[1:]):
                self.find(pattern.name, " ".join(argv))
        use = new(Use, (name, argv, simple, place, depth))
        if known.special is not None:
            known.special(self, use)
        if name in ("cd", "pushd", "popd", "chdir"):
            self.places[simple.scope] = place.entering(_target_of(use))
        if known.runs:
            _RUN[known.runs](self, use)
        if self.downloaded or self.made:
            self._started(use)
        if name in SENDERS and sends_secrets(use):
            self.find("exfiltration", use.what)
        if len(self.findings) > found or len(argv) < 2:
            return
        if name in _SUBSCRIPTED:
            self._subscripts(use)
        elif name not in _DATA and not known.runs == "interpreter":
            self._swept(use)
        if known.takes_verbs:
            operands = [text for text in argv[1:] if text[:1] not in ("-", "")]
            if tells_to_delete(argv[1:], operands, catalogued=name in BY_PROGRAM):
                self.find("other_delete", use.what)

    def _named_oddly(self, called: str) -> None:
        name = program_name(called)
        if not _NAMES.fullmatch(called):
            return  # a sentence, or what is left of a line that was broken in two
        if UNKNOWN in name or not name:
            self.unreadable.append("which program runs is only known when it runs")
        elif any(char in name for char in "*?[") and (
            "/" in called or any(fnmatchcase(each, name) for each in _PLAINLY_DESTRUCTIVE)
        ):
            self.unreadable.append("the program's name is a pattern")
        elif not name.isascii():
            self.unreadable.append("the program's name has letters that look like others")

    def _assigned(self, name: str, value: str, use: Use) -> None:
        if (name == "HISTFILE" and value in ("", "/dev/null")) or (name, value) == ("HISTSIZE", "0"):
            self.find("tracks", f"{name}={value}")
        if value.startswith(PIPED):
            self._unknown_code(programs_of(use.simple.inner))
        elif " " in value and (_ASSIGNED_COMMANDS.fullmatch(name) or name in ("PS1", "PS2")):
            self.tried(f": \"{value}\"" if value[:2] == "$(" else value.lstrip("|"), use.place, use.depth)

    def _subscripts(self, use: Use) -> None:
        for text in use.words[1:]:
            if "[$(" in text or "[`" in text:
                self.tried(': "' + text.replace('"', "") + '"', use.place, use.depth)
            name, sign, value = text.partition("=")
            if sign and " " in value and _ASSIGNED_COMMANDS.fullmatch(name):
                self.tried(value, use.place, use.depth)

    def _swept(self, use: Use) -> None:
        """Words of a program nobody knows that are commands: `--exec='rm -rf /'`."""
        place = use.place._replace(is_elsewhere=use.name in ELSEWHERE or use.place.is_elsewhere)
        for before, text in pairwise(use.words):
            if text[:5] == "/dev/" and re.fullmatch("-(?:o|O|of|w|-out.*)", before):
                self.written(text, use)
            if " " not in text:
                continue
            text = text[2:] if text[0] == "-" and text[1] != "-" else text
            for found in _HOLDS_COMMAND.finditer(text):
                program = found["program"]
                if program in _SWEPT or program in SHELLS or program.startswith("mkfs"):
                    self.tried(found[1], place, use.depth)
            if use.name not in WRAPPERS and sql_is_destructive(text) and _SQL_TOLD.match(text):
                self.find("database", text)

    # --- redirections ---------------------------------------------------------------------

    def _redirected(self, sign: str, target: str, use: Use) -> None:
        if target.startswith(("/dev/tcp/", "/dev/udp/")):
            if not use.words or program_name(use.words[0]) in SHELLS or use.words[0] == "exec":
                self.find("remote_shell", f"{sign} {target}")
            elif use.words[0] not in ("echo", "printf"):
                self.find("exfiltration", f"{sign} {target}")
            return
        if ">" not in sign or (sign == ">&" and (target.isdigit() or target == "-")):
            return
        empties = sign in (">", ">|", "&>") and _prints_nothing(use.words) and not use.simple.producers
        self.written(target, use._replace(words=[*use.words, sign, target]), empties=empties)
        if sign in (">", ">|") and target in use.words[1:] and program_name(use.words[0]) in _FILTERS:
            self.find("overwrite", f"{use.what}, which is emptied before it is read")
        if sign in (">", ">>", ">|") and target != "/dev/null":
            self._makes(normpath(target), use)

    def _makes(self, path: str, use: Use) -> None:
        names = programs_of([use.simple, *use.simple.producers])
        if names & NETWORK:
            self.downloaded.add(path)
        elif use.words and use.words[0] in ("echo", "printf", "cat"):
            said = said_to(use.simple) if use.words[0] == "cat" else [_printed(use.words)]
            self.made[path] = "\n".join(said)

    def written(self, path: str, use: Use, *, empties: bool = False) -> None:
        """A path is written to: which class is that?"""
        name = written_class(use.place, path)
        if name is None and empties and path != "/dev/null" and UNKNOWN not in path:
            where = use.place.where(path)
            if IMPORTANT.search(path) or (where not in ("inside", "temporary")):
                name = "overwrite"
        if name is not None:
            self.find(name, use.what)

    # --- programs that run others ------------------------------------------------------------

    def _wrapper(self, use: Use) -> None:
        name, words, place = use.name, use.words, use.place
        if name in _RUNNERS:
            self._runner(use)
            if name not in WRAPPERS:
                return
        if name in ELSEWHERE:
            place = place._replace(is_elsewhere=True)
        for directory in use.values(_GOING) if name in _GOES else ():
            place = place.entering(directory)
        inner = inner_of(name, words)
        for start, is_text, end in inner:
            part = words[start:end]
            if name in ("mapfile", "readarray"):
                part = [*part, UNKNOWN]
            if name in ("xargs", "parallel") and ":::" not in words:
                self._for_each(part, use._replace(place=place))
            elif is_text:
                self._given_text(" ".join(part), use._replace(place=place))
            else:
                self.run(part, use.simple, place, use.depth + 1)
        if name == "env":
            for text in split_strings(words):
                self.text(text, place, use.depth + 1)
        if name in ("alias", "abbr"):
            self._defines(use)
        if name in _FED and not inner:
            self._fed_shell(use._replace(place=place))

    def _defines(self, use: Use) -> None:
        """Aliases: judged when they are made, and with the words behind them where they are used."""
        for text in use.words[1:]:
            alias, sign, body = text.partition("=")
            if sign:
                self.aliases[alias] = body
                self.text(body, use.place, use.depth + 1)
        if not self.aliases:
            self.tried(" ".join(word for word in use.words[1:] if word[:1] != "-"), use.place, use.depth)
            self.tried(" ".join(use.words[-2:]), use.place, use.depth)

    def _given_text(self, text: str, use: Use) -> None:
        """A text that a shell reads: `eval`, `sh -c`, `ssh host …`."""
        text = text.removeprefix("--command=")
        if use.name == "parallel":
            text = re.sub(r"\s:::+\s+", " ", text).replace("{}", UNKNOWN)
        bare = text.strip().strip(UNKNOWN).strip()
        if UNKNOWN in text and not bare:
            names = programs_of(use.simple.inner)
            if names and names <= _SETTING_UP:
                return
            self._unknown_code(names)
            return
        self.text(text, use.place, use.depth + 1)
        if use.name in ("ssh", "su", "sudo") or use.name in _RUNNERS:
            inner = program_name(text.split()[0]) if text.split() else ""
            if inner in SHELLS and len(text.split()) < 3:
                self._fed_shell(use)

    def _unknown_code(self, names: set[str]) -> None:
        if names & NETWORK:
            self.find("remote_code", "runs what was downloaded")
        elif names:
            self.find("hidden_code", "runs what another command prints")
        else:
            self.unreadable.append("runs text that is only known when it runs")

    def _for_each(self, part: Sequence[str], use: Use) -> None:
        """xargs: what comes by the pipe stands behind the words, or where they say."""
        words = use.words
        marks = {"{}"}
        for before, text in pairwise(words):
            if before in ("-I", "--replace"):
                marks.add(text)
            elif before[:2] == "-I" and len(before) > 2:
                marks.add(before[2:])
        filled = list(part)
        for mark in marks:
            filled = [word.replace(mark, UNKNOWN) for word in filled]
        if filled == list(part):
            filled.append(UNKNOWN)
        program = program_name(filled[0])
        if program in SHELLS and not any(" " in word for word in filled):
            self._unknown_code(programs_of(use.simple.producers) & NETWORK)
            return
        if program == "kill":
            if names_all(use.simple.producers):
                self.find("mass_kill", use.what)
        elif program not in ("echo", "printf"):
            each = Simple(filled)
            each.producers = use.simple.producers
            self.run(filled, each, use.place, use.depth + 1)

    def _runner(self, use: Use) -> None:
        """`docker exec c rm -rf /x`, `heroku run 'rails db:drop'`: whatever later word is a program."""
        if use.name != "wsl" and _STARTERS.isdisjoint(use.words):
            return
        place = use.place._replace(is_elsewhere=True)
        for index, text in enumerate(use.words[2:], 2):
            if " " in text:
                self.tried(text.partition("=")[2] if text[:2] == "--" else text, place, use.depth)
            elif text[:1] != "-" and program_name(text) in _STARTED_ELSEWHERE:
                self.run(use.words[index:], use.simple, place, use.depth + 1)
                return

    def _shell(self, use: Use) -> None:
        kept, self.shell = self.shell, FISH if use.name == FISH else ""
        inner = inner_of(use.name, use.words)
        for start, _, end in inner:
            text = use.words[start]
            self._given_text(text, use)
            rest = use.words[end:] if end is not None else ()
            if rest and "$" in text:
                # `sh -c '$0 "$@"' rm -rf x`: the words behind the text are its variables.
                filled = re.sub(r'"?\$(?:@|\*|\{@\})"?', " ".join(rest[1:]), text)
                filled = re.sub(r'"?\$([0-9])"?', lambda found: rest[int(found[1])] if int(found[1]) < len(rest) else "", filled)
                self.tried(filled, use.place, use.depth)
        if reads_commands_from_stdin(use.words):
            self._fed_shell(use)
        for text in use.words[1:]:
            if text.startswith(PIPED):
                self._unknown_code(programs_of(use.simple.inner))
            elif _DESCRIPTOR.match(text):
                self.unreadable.append("runs what comes by a file descriptor")
        self.shell = kept

    def _fed_shell(self, use: Use) -> None:
        """Commands come by standard input: from where?"""
        simple = use.simple
        for body in simple.bodies:
            self.text(body, use.place, use.depth + 1)
        for sign, target in simple.redirects:
            if sign == "<" and target.startswith(PIPED):
                self._unknown_code(programs_of(simple.inner))
            elif sign == "<" and normpath(target) in self.downloaded:
                self.find("remote_code", f"runs {target}, downloaded by the same line")
            elif sign == "<" and normpath(target) in self.made:
                self.text(self.made[normpath(target)], use.place, use.depth + 1)
        if not simple.producers or simple.bodies:
            return
        said = _said_by(simple.producers)
        names = programs_of(simple.producers)
        if said is not None:
            self._given_text(said, use._replace(simple=simple.producers[-1]))
        elif names & NETWORK:
            self.find("remote_code", "runs what was downloaded")
        elif names & _DECODERS:
            self.find("hidden_code", "runs text that was decoded or assembled")
        elif names != {"cat"}:
            self.unreadable.append(RUNS_PRINTED)

    def _fed(self, use: Use) -> None:
        """source, at, crontab."""
        if use.name in ("at", "batch", "crontab"):
            self._fed_shell(use)
        for text in use.words[1:]:
            if text.startswith(PIPED):
                self._unknown_code(programs_of(use.simple.inner))
            elif _DESCRIPTOR.match(text) and text != "/dev/fd/0":
                self.unreadable.append("runs what comes by a file descriptor")
        if use.name in ("source", "."):
            if use.words[1:2] == [] or use.words[1] in ("/dev/stdin", "/dev/fd/0", "-"):
                self._fed_shell(use)

    def _interpreter(self, use: Use) -> None:
        codes, is_script = _codes_of(use)
        simple = use.simple
        backquotes = _BACKQUOTING.fullmatch(use.name) is not None
        if not codes and not is_script:
            codes = [*simple.bodies]
            if simple.producers and not simple.bodies:
                said = _said_by(simple.producers)
                names = programs_of(simple.producers)
                if said is not None:
                    codes = [said]
                elif names & NETWORK:
                    self.find("remote_code", "runs what was downloaded")
                elif names & _DECODERS - {"printf", "sed", "head", "tail", "cut"}:
                    self.find("hidden_code", "runs text that was decoded or assembled")
        for code in codes:
            if UNKNOWN in code and not code.strip().strip(UNKNOWN) and simple.inner:
                self._unknown_code(programs_of(simple.inner))
            self.code(code, use.place, use.depth, backquotes=backquotes)
            if use.name in ("expect", "tclsh"):
                self.tried(code.replace("spawn ", ""), use.place, use.depth)
        for text in use.words[1:]:
            if text.startswith(PIPED):
                self._unknown_code(programs_of(simple.inner))
        for index, text in enumerate(use.words[1:], 1):
            if text == "-m" and use.words[index + 1 :]:
                self.run(use.words[index + 1 :], simple, use.place, use.depth + 1)
            known = _PROJECT_SCRIPTS.get(program_name(text))
            if known:
                self._sql(use)
                for pattern in matching(known, use.words[index + 1 :]):
                    self.find(pattern.name, use.what)

    def code(self, code: str, place: Place, depth: int, *, backquotes: bool) -> None:
        """Code of some language: destructive calls with literal arguments, and literal shell lines."""
        if len(code) > MAX_CODE:
            self.unreadable.append(f"longer than {MAX_CODE} characters of code")
            return
        for name, what in code_findings(code, place):
            self.find(name, what)
        for line in started_lines(code, backquotes=backquotes):
            if line.strip():
                self.tried(line, place, depth)

    def _sql(self, use: Use) -> None:
        for text in (*use.words[1:], *said_to(use.simple)):
            for command in _SHELL_OF_SQL.finditer(text):
                self.tried(command[1], use.place, use.depth)
            if sql_is_destructive(text) or sql_is_destructive(re.sub(r"^-[a-zA-Z]", "", text)):
                self.find("database", use.what if len(use.what) < 400 else text)

    def _started(self, use: Use) -> None:
        """Files that the same line has downloaded or written, and now runs."""
        words = use.words
        candidates = [use.simple.words[0] if use.simple.words else ""]
        runs = _program(words[0]).runs
        if runs in ("shell", "interpreter") or use.name in ("source", ".", "sudo"):
            candidates += [word for word in words[1:] if word[:1] != "-"][:1]
        for word in candidates:
            path = normpath(word) if word else ""
            if path in self.downloaded or (UNPACKED in self.downloaded and word[:2] == "./"):
                self.find("remote_code", f"runs {path}, downloaded by the same line")
            text = self.made.pop(path, None)
            if text is None:
                continue
            if runs == "interpreter" or (text.startswith("#!") and "sh" not in text.partition("\n")[0]):
                self.code(text, use.place, use.depth, backquotes=False)
            else:
                self.text(text, use.place, use.depth + 1)


_PLAINLY_DESTRUCTIVE = ("rm", "dd", "shred", "mkfs.ext4", "shutdown", "reboot", "unlink")
_GOES = frozenset("env sudo systemd-run nsenter unshare bwrap parallel tmux".split())
_GOING = ("-C", "--chdir", "-D", "--working-directory", "--wd", "--workdir")
_FED = frozenset("ssh parallel su sudo doas newgrp sg chroot nsenter unshare".split())
_DESCRIPTOR = re.compile(r"/dev/fd/|/proc/[^/]+/fd/")
_FILTERS = frozenset(
    "cat tac sort uniq grep egrep fgrep rg sed awk jq yq cut head tail nl fmt fold paste join comm tr rev column iconv shuf base64 strings".split()
)
"""Programs that print what is in the files they are given."""

_RUN: dict[str, Callable[[_Scanner, Use], None]] = {
    "shell": _Scanner._shell,  # noqa: SLF001
    "wrapper": _Scanner._wrapper,  # noqa: SLF001
    "interpreter": _Scanner._interpreter,  # noqa: SLF001
    "sql": _Scanner._sql,  # noqa: SLF001
    "fed": _Scanner._fed,  # noqa: SLF001
}

_COMMON_WORDS = frozenset(
    "service net http https now init sc route skill format history migrate mirror del erase rd wipe install pkg port render tc op mount find sysctl reg defaults cf mc atlas snow fly"
    " neon vault nomad flux rake rails mix goose artisan console stack java guix nft tea hub salt wp R installer python sv arp exim set at cancel stop restart".split()
)
"""Words that are programs too, but seldom meant so within a sentence."""

_SWEPT = (frozenset(BY_PROGRAM) | _DELETES | frozenset("dd kill chmod chown find curl wget".split())) - _COMMON_WORDS
_STARTED_ELSEWHERE = _SWEPT | SHELLS | SQL | frozenset(WRAPPERS) | frozenset("python python3 node ruby perl php rails rake".split())
_SQL_TOLD = re.compile(r"\s*(?:drop|truncate|delete|update|alter)\s", re.IGNORECASE)


def _target_of(use: Use) -> str:
    """Where `cd` and its like go."""
    operands = [text for text in use.words[1:] if text[:1] not in ("-", "+", "")]
    if use.name == "popd" or "-" in use.words[1:]:
        return UNKNOWN
    return operands[-1] if operands else "~"


def _prints_nothing(words: Sequence[str]) -> bool:
    return not words or list(words) in ([":"], ["true"], ["cat", "/dev/null"], ["echo", "-n"], ["echo", "-n", ""], ["printf", ""])


def _printed(words: Sequence[str]) -> str:
    """What `echo` or `printf` prints, near enough."""
    given = [word for word in words[1:] if not re.fullmatch("-[neE]+", word)]
    text = " ".join(given)
    if words[0] == "printf" and given:
        form, values = given[0], given[1:]
        text = form * max(1, len(values) // max(1, form.count("%")))
        for value in values:
            text = re.sub("%[-0-9.]*[a-zA-Z]", lambda _, value=value: value, text, count=1)
    return decode_ansi(text) if "\\" in text else text


def _said_by(producers: Sequence[Simple]) -> str | None:
    """What one literal `echo`, `printf` or `cat <<EOF` pipes on; None where that is not all."""
    if len(producers) != 1 or not producers[0].words:
        return None
    only = producers[0]
    if only.words[0] in ("echo", "printf"):
        return _printed(only.words)
    if only.words == ["cat"] and only.bodies:
        return "\n".join(only.bodies)
    return None


def _codes_of(use: Use) -> tuple[list[str], bool]:
    """Code among the words of an interpreter, and whether it is given a script instead."""
    words = use.words
    if use.name in AWK:
        return _awk_program(words)
    codes: list[str] = []
    index = 1
    while index < len(words):
        text = words[index]
        attached = _ATTACHED_CODE.fullmatch(text) if text[:1] == "-" else None
        if _CODE_OPTION.fullmatch(text) and index + 1 < len(words):
            codes.append(words[index + 1])
            index += 1
        elif attached and not _CODE_OPTION.fullmatch(text):
            codes.append(attached[1] or attached[2])
        elif text == "-m":
            return codes, True
        elif text == "-":
            break
        elif text[:1] != "-":
            return codes, True
        index += 1
    return codes, False


def _awk_program(words: Sequence[str]) -> tuple[list[str], bool]:
    remaining = iter(words[1:])
    for word in remaining:
        if word in ("-F", "-v", "-f", "-i", "-l", "--assign", "--file", "--include"):
            next(remaining, None)
        elif word in ("-e", "--source"):
            return [next(remaining, "")], True
        elif word[:1] != "-":
            return [word], True
    return [], True
