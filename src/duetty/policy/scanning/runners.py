"""Programs that run something else: wrappers, shells, interpreters, clients of databases.

What they run is read where it is written on the line. A shell that is given something else
(`curl … | sh`, `eval "$x"`) is reported as a doubt; an interpreter is not.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from posixpath import normpath
from typing import Protocol

from duetty.policy.late_pattern import late_pattern
from duetty.policy.scanning import programs
from duetty.policy.scanning.findings import PIPED, UNKNOWN, Simple, program_name
from duetty.policy.scanning.interpreters import sql_is_destructive
from duetty.policy.scanning.patterns import BY_PROGRAM, matching
from duetty.policy.scanning.places import Place
from duetty.policy.scanning.programs import NETWORK, UNPACKED, Use, fed_texts, names_all
from duetty.policy.scanning.reader import decode_ansi
from duetty.policy.scanning.wrappers import (
    ELSEWHERE,
    SHELLS,
    WRAPPERS,
    inner_of,
    reads_commands_from_stdin,
    split_strings,
)

FISH = "fish"
"""The shell that reads text otherwise than the rest."""

AWK = frozenset("awk gawk mawk nawk original-awk".split())
SQL = frozenset(
    "psql mysql mariadb sqlite3 sqlite cockroach clickhouse-client clickhouse duckdb sqlcmd mssql-cli bq mongosh mongo cqlsh snowsql trino presto usql pgcli mycli litecli beeline hive"
    " spark-sql impala-shell db2 sqlplus isql osql tsql influx redis-cli valkey-cli keydb-cli arangosh cypher-shell ysqlsh questdb turso wrangler supabase edgedb surreal dolt rails django-admin artisan console prisma".split()
)
_INTERPRETER = late_pattern(
    r"(?:python|pypy)[0-9.]*|perl[0-9.]*|ruby[0-9.]*|node|nodejs|php[0-9.]*|lua[0-9.]*|luajit|osascript|tclsh[0-9.]*|expect|Rscript|R|julia|groovy|bun|deno|guile|racket|sbcl|elixir|irb|ghci|scala|swift|jshell|emacs|emacsclient|octave|erl"
)
_BACKQUOTING = late_pattern(r"(?:perl|ruby|php|irb|julia).*")
"""Languages in which back-quotes start a shell."""

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
    "ssh-agent conda mamba pyenv rbenv nodenv direnv starship zoxide fnm mise opam brew dircolors minikube docker-machine luarocks keychain".split()
)
"""Programs that print what a shell is meant to evaluate."""

_PROJECT_SCRIPTS = {"manage.py": "django-admin"} | {
    name: name for name in ("artisan", "console", "rails", "rake")
}
_CODE_OPTION = late_pattern(r"-[a-zA-Z0-9.]*[ceErp]|--(?:eval|print|expression|execute|run)|eval")
_ATTACHED_CODE = late_pattern(
    r"--(?:eval|print|execute|expression|command|run)=(.*)|-[cer](.+)", re.DOTALL
)
_AWK_VALUED = frozenset("-F -v -f -i -l --assign --file --include".split())
_SHELL_OF_SQL = late_pattern(r"^\s*(?:\.(?:system|shell)|system|\\!)\s+(.+)$", re.MULTILINE)
_ATTACHED = late_pattern("^-[a-zA-Z]")
_GOES = frozenset("env sudo systemd-run nsenter unshare bwrap parallel".split())
_GOING = ("-C", "--chdir", "-D", "--working-directory", "--wd", "--workdir")
_FED = frozenset("ssh parallel su sudo doas newgrp sg chroot nsenter unshare".split())
"""Wrappers that start a shell where they are given no program."""

_DESCRIPTOR = late_pattern(r"/dev/fd/(?!0$)|/proc/[^/]+/fd/(?!0$)")
_STDIN = frozenset(["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"])
_POSITIONAL = late_pattern(r'"?\$(?:([0-9])|[@*]|\{@\})"?')
_FORM = late_pattern("%[-0-9.]*[a-zA-Z]")
_ECHO_OPTION = late_pattern("-[neE]+")


class Scanner(programs.Scanner, Protocol):
    """`text`: what a shell will read. `defines`: from here on this word stands for that text."""

    downloaded: Set[str]
    made: Mapping[str, str]
    shell: str

    def defines(self, alias: str, body: str) -> None: ...
    def text(self, text: str, place: Place, depth: int) -> None: ...


def kind_of(name: str) -> str:
    """How a program runs others; empty where it does not."""
    if name in SHELLS:
        return "shell"
    if name in AWK or _INTERPRETER.fullmatch(name):
        return "interpreter"
    if name in SQL:
        return "client"
    if name in WRAPPERS or name in _RUNNERS:
        return "wrapper"
    return "reader" if name in ("source", ".", "at", "batch", "crontab", "newgrp") else ""


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


# --- wrappers -------------------------------------------------------------------------------


def _wrapper(scanner: Scanner, use: Use) -> None:
    name, words, place = use.name, use.words, use.place
    if name in _RUNNERS:
        _runner(scanner, use)
    if name in ELSEWHERE:
        place = place._replace(is_elsewhere=True)
    if name in _GOES:
        for directory in use.values(*_GOING):
            place = place.entering(directory)
    use = use._replace(place=place)
    inner = inner_of(name, words)
    for start, is_text, end in inner:
        part = words[start : start + 1 if name == "trap" else end]
        if name in ("xargs", "parallel") and ":::" not in words:
            _for_each(scanner, part, use)
        elif name == "tmux" and not {"send", "send-keys"}.isdisjoint(words):
            scanner.tried(" ".join(part), place, use.depth)  # whatever reads it there
        elif is_text:
            # A callback is given something, whatever that is.
            given = f" {UNKNOWN}" if name in ("mapfile", "readarray") else ""
            _given_text(scanner, " ".join(part) + given, use)
        else:
            scanner.run(part, use.simple, place, use.depth + 1)
    if name == "env":
        for text in split_strings(words):
            scanner.text(text, place, use.depth + 1)
    elif name in ("alias", "abbr"):
        _defines(scanner, use)
    elif name in _FED and not inner:
        _fed_shell(scanner, use)


def _defines(scanner: Scanner, use: Use) -> None:
    """Aliases: judged when they are made, and with the words behind them where they are used."""
    for text in use.words[1:]:
        alias, sign, body = text.partition("=")
        if sign:
            scanner.defines(alias, body)
            scanner.text(body, use.place, use.depth + 1)
    named = [word for word in use.words[1:] if word[:1] != "-" or len(word) > 2]
    if named and "=" not in named[0]:
        scanner.tried(" ".join(named[1:]), use.place, use.depth)  # as fish writes it


def _given_text(scanner: Scanner, text: str, use: Use) -> None:
    """A text that a shell reads: `eval`, `sh -c`, `ssh host …`."""
    text = text.removeprefix("--command=").removeprefix("--init-command=")
    if use.name == "parallel":
        text = text.replace(" ::: ", " ").replace("{}", UNKNOWN)
    if UNKNOWN in text and not text.replace(UNKNOWN, "").strip():
        names = programs_of(use.simple.inner)
        if not names or not names <= _SETTING_UP:
            unknown_code(scanner, names)
        return
    scanner.text(text, use.place, use.depth + 1)
    words = text.split()
    if use.name in _FED and len(words) in (1, 2) and program_name(words[0]) in SHELLS:
        _fed_shell(scanner, use)


def unknown_code(scanner: Scanner, names: set[str]) -> None:
    """A shell runs what these programs print."""
    if names & NETWORK:
        scanner.find("remote_code", "runs what was downloaded")
    elif names:
        scanner.find("hidden_code", "runs what another command prints")
    else:
        scanner.unreadable.append("runs text that is only known when it runs")


def _for_each(scanner: Scanner, part: Sequence[str], use: Use) -> None:
    """xargs: what comes by the pipe stands behind the words, or where they say."""
    marks = {"{}", *use.values("-I", "--replace")}
    filled = list(part)
    for mark in marks:
        filled = [word.replace(mark, UNKNOWN) for word in filled]
    if filled == list(part):
        filled.append(UNKNOWN)
    program = program_name(filled[0])
    if program in SHELLS and not any(" " in word for word in filled):
        unknown_code(scanner, programs_of(use.simple.producers) & NETWORK)
    elif program == "kill":
        if names_all(use.simple.producers):
            scanner.find("mass_kill", use.what)
    elif program not in ("echo", "printf"):
        each = Simple(filled)
        each.producers = use.simple.producers
        scanner.run(filled, each, use.place, use.depth + 1)


def _runner(scanner: Scanner, use: Use) -> None:
    """`docker exec c rm -rf /x`, `heroku run 'rails db:drop'`: whatever later word is a program."""
    if use.name != "wsl" and _STARTERS.isdisjoint(use.words):
        return
    place = use.place._replace(is_elsewhere=True)
    for index, text in enumerate(use.words[2:], 2):
        if " " in text:
            scanner.tried(text.partition("=")[2] if text[:2] == "--" else text, place, use.depth)
        elif text not in _STARTERS and program_name(text) in _STARTED_ELSEWHERE:
            scanner.run(use.words[index:], use.simple, place, use.depth + 1)
            return


# --- shells -----------------------------------------------------------------------------------


def _shell(scanner: Scanner, use: Use) -> None:
    kept, scanner.shell = scanner.shell, FISH if use.name == FISH else ""
    for start, _, end in inner_of(use.name, use.words):
        text = use.words[start]
        _given_text(scanner, text, use)
        rest = use.words[end:] if end is not None else ()
        if rest and "$" in text:
            # `sh -c '$0 "$@"' rm -rf x`: the words behind the text are its variables.
            filled = _POSITIONAL.sub(
                lambda found, rest=rest: " ".join(
                    rest[int(found[1]) :][:1] if found[1] else rest[1:]
                ),
                text,
            )
            scanner.tried(filled, use.place, use.depth)
    if reads_commands_from_stdin(use.words):
        _fed_shell(scanner, use)
    _piped(scanner, use)
    scanner.shell = kept


def _piped(scanner: Scanner, use: Use) -> None:
    """A file to run that is none: `<(…)`, or a descriptor."""
    for text in use.words[1:]:
        if text.startswith(PIPED):
            unknown_code(scanner, programs_of(use.simple.inner))
        elif _DESCRIPTOR.match(text):
            scanner.unreadable.append("runs what comes by a file descriptor")


def _fed_shell(scanner: Scanner, use: Use) -> None:
    """Commands come by standard input: from where?"""
    simple = use.simple
    for body in simple.bodies:
        scanner.text(body, use.place, use.depth + 1)
    for sign, target in simple.redirects:
        if sign != "<":
            continue
        if target.startswith(PIPED):
            unknown_code(scanner, programs_of(simple.inner))
        started(scanner, use, target, kind="shell")
    if not simple.producers or simple.bodies:
        return
    text = _printed_by(simple.producers)
    if text is not None:
        _given_text(scanner, text, use._replace(simple=simple.producers[-1], name=""))
        return
    names = programs_of(simple.producers)
    if names & NETWORK:
        scanner.find("remote_code", "runs what was downloaded")
    elif names & _DECODERS:
        scanner.find("hidden_code", "runs text that was decoded or assembled")
    elif names != {"cat"}:
        scanner.unreadable.append("a shell runs what another command prints")


def _reader(scanner: Scanner, use: Use) -> None:
    """source, at, crontab."""
    _piped(scanner, use)
    if use.name not in ("source", ".") or use.words[1:2] == [] or use.words[1] in _STDIN:
        _fed_shell(scanner, use)


def printed(words: Sequence[str]) -> str:
    """What `echo` or `printf` prints, near enough."""
    given = [word for word in words[1:] if not _ECHO_OPTION.fullmatch(word)]
    text = " ".join(given)
    if words[0] == "printf" and given:
        form, *values = given
        text = form * max(1, len(values) // max(1, form.count("%")))
        for value in values:
            text = _FORM.sub(lambda _, value=value: value, text, count=1)
    return decode_ansi(text) if "\\" in text else text


def _printed_by(producers: Sequence[Simple]) -> str | None:
    """What one literal `echo`, `printf` or `cat <<EOF` pipes on; None where that is not all."""
    if len(producers) != 1 or not producers[0].words:
        return None
    only = producers[0]
    if only.words[0] in ("echo", "printf"):
        return printed(only.words)
    return "\n".join(only.bodies) if only.words == ["cat"] and only.bodies else None


def started(scanner: Scanner, use: Use, word: str, *, kind: str) -> None:
    """A file is run: has the same line downloaded or written it?"""
    path = normpath(word) if word else ""
    if path in scanner.downloaded or (UNPACKED in scanner.downloaded and word[:2] == "./"):
        scanner.find("remote_code", f"runs {path}, downloaded by the same line")
    text = scanner.made.get(path)
    if text is None:
        return
    if kind == "interpreter" or (text[:2] == "#!" and "sh" not in text.partition("\n")[0]):
        scanner.code(text, use.place, use.depth, backquotes=False)
    else:
        # A script of one's own may well run what its variables name.
        scanner.tried(text, use.place, use.depth)


# --- other languages ----------------------------------------------------------------------------


def _interpreter(scanner: Scanner, use: Use) -> None:
    simple = use.simple
    codes, is_script = _awk_program(use.words) if use.name in AWK else _codes_of(use.words)
    if not codes and not is_script:
        codes = _fed_code(scanner, simple)
    for code in codes:
        if UNKNOWN in code and simple.inner and not code.replace(UNKNOWN, "").strip():
            unknown_code(scanner, programs_of(simple.inner))
        backquotes = _BACKQUOTING.fullmatch(use.name) is not None
        scanner.code(code, use.place, use.depth, backquotes=backquotes)
        if use.name in ("expect", "tclsh"):
            scanner.tried(code.replace("spawn ", ""), use.place, use.depth)
    if is_script or PIPED in use.words:
        _piped(scanner, use)
        _project_script(scanner, use)


def _fed_code(scanner: Scanner, simple: Simple) -> list[str]:
    if simple.bodies or not simple.producers:
        return simple.bodies
    text = _printed_by(simple.producers)
    names = programs_of(simple.producers)
    if text is None and names & NETWORK:
        scanner.find("remote_code", "runs what was downloaded")
    elif text is None and names & _DECODERS - {"printf", "sed", "head", "tail", "cut"}:
        scanner.find("hidden_code", "runs text that was decoded or assembled")
    return [] if text is None else [text]


def _project_script(scanner: Scanner, use: Use) -> None:
    """`python -m pip …`, `python manage.py …`: the words behind are a program's own."""
    for index, text in enumerate(use.words[1:-1], 1):
        rest = use.words[index + 1 :]
        if text == "-m":
            scanner.run(rest, use.simple, use.place, use.depth + 1)
        elif known := _PROJECT_SCRIPTS.get(program_name(text)):
            _client(scanner, use)
            for pattern in matching(known, rest):
                scanner.find(pattern.name, use.what)


def _codes_of(words: Sequence[str]) -> tuple[list[str], bool]:
    """Code among the words of an interpreter, and whether it is given a script or a module."""
    codes: list[str] = []
    remaining = iter(words[1:])
    for text in remaining:
        if text == "-":
            break
        if text[:1] != "-" and text != "eval":
            return codes, True
        if _CODE_OPTION.fullmatch(text):
            codes += [code for code in [next(remaining, None)] if code is not None]
        elif attached := _ATTACHED_CODE.fullmatch(text):
            codes.append(attached[1] or attached[2] or "")
        elif text == "-m":
            return codes, True
    return codes, False


def _awk_program(words: Sequence[str]) -> tuple[list[str], bool]:
    remaining = iter(words[1:])
    for word in remaining:
        if word in _AWK_VALUED:
            next(remaining, None)
        elif word in ("-e", "--source"):
            return [next(remaining, "")], True
        elif word[:1] != "-":
            return [word], True
    return [], True


def _client(scanner: Scanner, use: Use) -> None:
    for text in (*use.words[1:], *fed_texts(use.simple)):
        for command in _SHELL_OF_SQL.finditer(text):
            scanner.tried(command[1], use.place, use.depth)
        if sql_is_destructive(text) or sql_is_destructive(_ATTACHED.sub("", text)):
            scanner.find("database", use.what if len(use.what) < 400 else text)


RUN: dict[str, Callable[[Scanner, Use], None]] = {
    "wrapper": _wrapper,
    "shell": _shell,
    "reader": _reader,
    "interpreter": _interpreter,
    "client": _client,
}

_COMMON_WORDS = frozenset(
    "service net http https now init sc route skill format history migrate mirror del erase rd wipe install pkg port render tc op mount find sysctl reg defaults cf mc atlas snow fly"
    " neon vault nomad flux rake rails mix goose artisan console stack java guix nft tea hub salt wp R installer python sv arp exim set at cancel stop restart".split()
)
"""Words that are programs too, but seldom meant so within a sentence."""

SWEPT = (
    frozenset(BY_PROGRAM)
    | frozenset("rm unlink shred rmdir truncate rimraf dd kill chmod chown curl wget".split())
) - _COMMON_WORDS
_STARTED_ELSEWHERE = (
    SWEPT
    | SHELLS
    | SQL
    | frozenset(WRAPPERS)
    | frozenset("find python python3 node ruby perl php rails rake".split())
)
