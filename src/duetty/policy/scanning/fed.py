"""What shells, interpreters and database clients are fed: by pipes, files, here-documents and options."""

import re
from collections.abc import Sequence
from itertools import pairwise
from posixpath import normpath

from duetty.policy.scanning.code import code_findings, sql_is_destructive
from duetty.policy.scanning.commands import (
    DECODERS,
    NETWORK,
    printed_by_all,
    program_name,
    programs_of,
)
from duetty.policy.scanning.gaps import placeholder_of
from duetty.policy.scanning.patterns import has_open_subcommand, matching
from duetty.policy.scanning.printed import printed
from duetty.policy.scanning.programs import STOPPING
from duetty.policy.scanning.reading import UNKNOWN, Reading, Simple, Word
from duetty.policy.scanning.started import language_of, started_by
from duetty.policy.scanning.traits import AWK, SED, SQL
from duetty.policy.scanning.use import Scanner, Use
from duetty.policy.scanning.wrappers import (
    SHELLS,
    inner_of,
    innermost,
    reads_commands_from_stdin,
    runs_what_follows,
)

_CODE_OPTIONS = frozenset(
    "-c -e -E -r -p -pe -ne -le -lne -ane -i -pi --eval --print --expression eval -ie -pie -nle -we --execute --run".split()
)
_ATTACHED_CODE = ("--eval=", "--print=", "--execute=", "--expression=", "--command=", "--run=")
_ATTACHED = re.compile(r"^-[a-zA-Z]")
_REPLACED = frozenset(["{}", "%", "@", "_", "FILE", "X"])
"""What people write where xargs puts what it read."""

DESCRIPTOR = re.compile(r"/dev/fd/|/proc/[^/]+/fd/")
"""Files that are whatever has been opened under a number."""

_AWK_VALUED = frozenset("-F -v -f -i -l --assign --field-separator --file --include --load".split())
_SHELL_OF_SQL = re.compile(r"^\s*(?:\.(?:system|shell)|system|\\!)\s+(.+)$", re.MULTILINE)
"""How clients of databases hand a line to a shell."""

_SED_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:\\.|[^/\\\n])*/[IM]*)"
_SED_E = re.compile(r"-[nErsz]*e")
_SED_COMMAND = re.compile(
    rf"[\s;{{}}]*(?:{_SED_ADDRESS}(?:\s*,\s*(?:[+~]?\d+|{_SED_ADDRESS}))?)?[\s!]*"
    r"(?:[sy](?P<sign>[^\s\w])(?:\\.|(?!(?P=sign)).)*(?P=sign)(?:\\.|(?!(?P=sign)).)*(?P=sign)(?P<flags>[a-zA-Z0-9]*)"
    r"|e(?P<run>[^\n]*)|[aicrRwW][^\n]*|[btT:]\s*[^;\n]*|[^\s;])",
    re.DOTALL,
)
"""One command of a script of sed, with what is before it."""

_TELLS = frozenset(["--version", "--help", "-V"])
_TELLS_SHORTLY = frozenset("perl ruby node nodejs php lua bun".split())
"""Interpreters whose `-v` asks for no more than the version: a shell's and Python's reads on."""

_TELLERS = frozenset(["at", "batch", "crontab"])
"""With an option they list, or take a file."""

_KILLING = ("kill", "pkill", "killall")
_KEEPERS = frozenset(
    "docker podman nerdctl tmux systemctl service supervisorctl pm2 lxc virsh".split()
)
"""Programs that end what others run in."""
_DELETING = ("rm", "unlink", "shred", "rmdir", "truncate")

_PROJECT_SCRIPTS = {
    "manage.py": "django-admin",
    "artisan": "artisan",
    "console": "console",
    "rails": "rails",
    "rake": "rake",
}

RUNS_PRINTED = "runs what another command prints"
"""Why a line cannot be read that hands a shell what is not written in it."""


def fed(scanner: Scanner, use: Use, *, is_interpreter: bool) -> None:
    name, words = use.name, use.words
    if name in SHELLS:
        if reads_commands_from_stdin(use.texts):
            standard_input(scanner, use.simple, use.depth)
            if _awaits_code(use):
                scanner.awaits_code = True
        for word in words[1:]:
            if word.inner and word.text[:1] == "<":
                output_of(scanner, word.inner[0].commands, use.depth)
            elif DESCRIPTOR.match(word.text):
                descriptor(scanner)
    elif name in ("at", "batch", "crontab") or (
        name in ("ssh", "parallel") and not inner_of(name, use.texts)
    ):
        standard_input(scanner, use.simple, use.depth)
        if _awaits_code(use):
            scanner.awaits_code = True
    elif name in AWK:
        _code_word(scanner, _awk_program(words), use)
    elif name in SED:
        _sed(scanner, use)
    elif is_interpreter:
        _interpreter(scanner, use)
    elif name in SQL:
        _sql(scanner, use)
    if name in ("xargs", "parallel"):
        _xargs(scanner, use)
    for word in words[1:]:
        if not word.inner:
            continue
        if word.text[:1] == "<":
            if said := printed_by_all(word.inner[0].commands):
                scanner.sweep(said, use.depth)
        elif word.text[:1] == ">":
            _into_process(scanner, word.inner[0])


def _into_process(scanner: Scanner, reading: Reading) -> None:
    for simple in reading.commands:
        if simple.words and program_name(simple.words[0].text) in SHELLS:
            scanner.unreadable.append("a shell reads what another command prints")


def _xargs(scanner: Scanner, use: Use) -> None:
    """`echo / | xargs rm -rf`: what is deleted comes by the pipe."""
    texts = use.texts
    inner = inner_of(use.name, texts)
    if not inner:
        return
    part = texts[inner[0].start :]
    given = " ".join(part).split() if inner[0].is_text else part
    if given:
        gap = placeholder_of(texts)
        called, *words = innermost(program_name(given[0]), given)
        program = program_name(called)
        if runs_what_follows(program, words):
            scanner.unreadable.append("which program runs comes by the pipe")
        if program in _DELETING:
            scanner.find("recursive_delete", " ".join(texts))
        elif program in _KILLING or (program in _KEEPERS and not STOPPING.isdisjoint(words[:2])):
            scanner.find("mass_kill", " ".join(texts))
        elif has_open_subcommand(
            program, [*(UNKNOWN if word == gap else word for word in words), UNKNOWN]
        ):
            scanner.unreadable.append(f"what {program} is told to do comes by the pipe")
    text = [part[found.start] for found in inner_of(program_name(part[0]), part) if found.is_text]
    if part[0] in _REPLACED or (
        program_name(part[0]) in SHELLS and (not text or text[0] in _REPLACED) and len(part) < 4
    ):
        scanner.unreadable.append("runs what comes by the pipe")
        output_of(scanner, use.simple.producers, 1)


def descriptor(scanner: Scanner) -> None:
    """What is run comes by a descriptor that something else in the line, or before it, has opened."""
    scanner.unreadable.append("runs what comes by a file descriptor")
    scanner.awaits_code = True


def standard_input(scanner: Scanner, simple: Simple, depth: int) -> None:
    """Commands come by standard input: from where?"""
    for body in simple.bodies:
        scanner.text(body, depth + 1)
    for sign, target in simple.redirects:
        if sign == "<<<":
            scanner.text_of([target], depth)
        elif sign == "<":
            if target.inner:
                output_of(scanner, target.inner[0].commands, depth)
            elif not target.known:
                scanner.unreadable.append("which file is read is only known when it runs")
            else:
                runs_file(scanner, target.text, depth)
    if simple.producers and not simple.bodies:
        output_of(scanner, simple.producers, depth)


def _awaits_code(use: Use) -> bool:
    """Whether nothing beside a shell or an interpreter says what it will read."""
    simple = use.simple
    return (
        not (simple.producers or simple.bodies)
        and all(sign not in ("<", "<<<") for sign, _ in simple.redirects)
        and _TELLS.isdisjoint(use.texts)
        and not (use.name in _TELLERS and any(text[:1] == "-" for text in use.texts[1:]))
        and not ("-v" in use.texts and use.name in _TELLS_SHORTLY)
    )


def runs_file(scanner: Scanner, text: str, depth: int) -> None:
    """A file is run: did the same line download or write it?"""
    path = normpath(text) if text else ""
    if path in scanner.downloaded:
        scanner.find("remote_code", f"runs {path}, downloaded by the same line")
    made = scanner.made.pop(path, None)
    if made is not None:
        scanner.text(made, depth + 1)
        code(scanner, made, depth + 1)


def output_of(scanner: Scanner, producers: "Sequence[Simple | None]", depth: int) -> None:
    """What these print is run as commands."""
    known = [each for each in producers if each is not None]
    names = programs_of(known)
    if names & NETWORK:
        scanner.find("remote_code", "runs what was downloaded")
        if not scanner.whole:
            return
    if len(known) == len(producers) and (said := printed_by_all(known)) is not None:
        scanner.text(said, depth + 1)
        scanner.sweep(said, depth)
        return
    if names & DECODERS - {"printf"}:
        scanner.find("hidden_code", "runs text that was decoded or assembled")
        if not scanner.whole:
            return
    for each in known:
        if (said := printed(each)) is not None:
            scanner.sweep(said, depth)
    scanner.unreadable.append(RUNS_PRINTED)


def _interpreter(scanner: Scanner, use: Use) -> None:
    words, depth = use.words, use.depth
    if use.name == "expect":
        for text in use.texts[1:]:
            scanner.sweep(text.replace("spawn ", ""), depth)
    index = 1
    scripted = False
    while index < len(words):
        word = words[index]
        text = word.text
        if text in _CODE_OPTIONS and index + 1 < len(words):
            scripted = True
            _code_word(scanner, words[index + 1], use)
            index += 2
            continue
        if text.startswith(_ATTACHED_CODE):
            scripted = True
            _code_word(scanner, word._replace(text=text.partition("=")[2]), use)
        elif text[:1] == "-" and text[:2] != "--" and len(text) > 2 and text[1] in "ecr":
            scripted = True
            _code_word(scanner, word._replace(text=text[2:]), use)
        elif text == "-m" and index + 1 < len(words):
            scripted = True
        elif word.inner and text[:1] == "<":
            scripted = True
            output_of(scanner, word.inner[0].commands, depth)
        elif text == "-":
            break
        elif text[:1] != "-":
            scripted = True
            if DESCRIPTOR.match(text):
                descriptor(scanner)
            break
        index += 1
    if scripted:
        _project_script(scanner, use)
        return
    language = language_of(use.name)
    for body in use.simple.bodies:
        code(scanner, body, depth, language)
    producers = use.simple.producers
    if producers and not use.simple.bodies:
        known = [each for each in producers if each is not None]
        said = printed_by_all(known) if len(known) == len(producers) else None
        names = programs_of(known)
        if names & NETWORK:
            scanner.find("remote_code", "runs what was downloaded")
        elif said is not None:
            code(scanner, said, depth, language)
        elif names & DECODERS - {"printf"}:
            scanner.find("hidden_code", "runs text that was decoded or assembled")
        else:
            scanner.unreadable.append(RUNS_PRINTED)
    elif _awaits_code(use):
        scanner.awaits_code = True


def _awk_program(words: Sequence[Word]) -> Word:
    remaining = iter(words[1:])
    for word in remaining:
        if word.text in _AWK_VALUED:
            next(remaining, None)
        elif word.text in ("-e", "--source"):
            return next(remaining, word)
        elif word.text[:1] != "-":
            return word
    return words[0]._replace(text="")


def _sed(scanner: Scanner, use: Use) -> None:
    """`sed e`, `s/…/…/e`: what it reads is run."""
    texts = use.texts
    scripts = [
        text
        for option, text in pairwise(texts)
        if option == "--expression" or _SED_E.fullmatch(option)
    ]
    scripts += [text.partition("=")[2] for text in texts if text.startswith("--expression=")]
    if not scripts:
        scripts = [text for text in texts[1:] if text[:1] != "-"][:1]
    for script in scripts:
        if "e" not in script:
            continue
        for found in _SED_COMMAND.finditer(script):
            if (
                found["flags"] and "e" in found["flags"].partition("w")[0]
            ):  # a file's name behind it
                _runs_input(scanner, use)
            elif found["run"] is not None:
                if command := found["run"].strip(" \t;}"):
                    scanner.text(command, use.depth + 1)
                else:
                    _runs_input(scanner, use)


def _runs_input(scanner: Scanner, use: Use) -> None:
    """A program runs what it reads: what is that?"""
    scanner.unreadable.append(f"{use.name} runs what it reads")
    for body in use.simple.bodies:
        scanner.try_text(body, use.depth + 1)
        scanner.sweep(body, use.depth)
    if use.simple.producers:
        output_of(scanner, use.simple.producers, use.depth)


def _code_word(scanner: Scanner, word: Word, use: Use) -> None:
    if UNKNOWN in word.text:
        names = {name for reading in word.inner for name in programs_of(reading.commands)}
        if names & NETWORK:
            scanner.find("remote_code", "runs what was downloaded")
        elif names:
            scanner.find("hidden_code", RUNS_PRINTED)
        scanner.unreadable.append("code that is only known when it runs")
    if code(scanner, word.text, use.depth, language_of(use.name)):
        _runs_input(scanner, use)


def code(scanner: Scanner, text: str, depth: int, language: str = "") -> bool:
    """Code of some language, on the command line or in a body; whether it starts what it may read."""
    started = started_by(text, language)
    if started.unknown:
        scanner.unreadable.append("code starts what is only known when it runs")
        if started.assembled:
            scanner.find("hidden_code", "starts what it puts together")
    for command in started.commands:
        scanner.try_text(command, depth + 1)
    if started.joined:
        code(scanner, started.joined, depth)
    found = code_findings(text)
    for name, what in found.findings:
        scanner.find(name, what)
    if found.unreadable:
        scanner.unreadable.append(found.unreadable)
    before = len(scanner.findings)
    for each in dict.fromkeys(found.commands):
        scanner.try_text(each, depth + 1)
        if len(scanner.findings) > before and not scanner.whole:
            return started.unknown
    scanner.sweep(text, depth)
    return started.unknown


def _project_script(scanner: Scanner, use: Use) -> None:
    """`python manage.py …`, `php artisan …`: tools that a project brings along."""
    for index, text in enumerate(use.texts[1:], 1):
        known = _PROJECT_SCRIPTS.get(program_name(text))
        if known:
            _sql(scanner, use)
            for pattern in matching(known, use.texts[index + 1 :]):
                scanner.find(pattern.name, use.what)


def _sql(scanner: Scanner, use: Use) -> None:
    simple = use.simple
    if not (simple.producers or simple.bodies):
        scanner.awaits_sql = True
    said = [word.text for word in use.words[1:]] + simple.bodies
    said += [
        text
        for each in simple.producers
        if each is not None and (text := printed(each)) is not None
    ]
    said += [body for each in simple.producers if each is not None for body in each.bodies]
    for text in said:
        for command in _SHELL_OF_SQL.finditer(text):
            scanner.try_text(command[1], use.depth + 1)
        if sql_is_destructive(text) or sql_is_destructive(_ATTACHED.sub("", text)):
            scanner.find("database", text)
