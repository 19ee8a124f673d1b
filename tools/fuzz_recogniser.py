"""The recogniser against real shells: no accepted string may run other words than were judged.

Usage: fuzz_recogniser.py [--seconds S] [--seed N] [--shell bash|zsh|dash|fish]

Strings are made of tokens that shells disagree about, recognised, and those that are
accepted are evaluated, thousands in one shell process, where every program is a
function that records its words. Each string runs twice: once every command succeeds,
once every command fails, and what ran must be exactly what the recogniser says.
Tests use the same functions for a bounded run.
"""

import argparse
import random
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from duetty.policy.proving.recogniser import Glob, Line, recognise

STUBS = ("ls", "cat", "grep", "git", "wc", "sort", "rg", "tree")
"""Programs that no shell has built in, so that a function can stand for each."""

END = "^^"

_WORDS = [
    "a",
    "b.txt",
    "-l",
    "--all",
    "--x=1",
    "x=1",
    "a:b",
    "a,b",
    "1",
    "2",
    "10",
    "+x",
    "@",
    "%s",
    "-",
    "--",
    ".",
    "..",
    "./a",
    "/a/b",
    "a/b",
    "~",
    "~a",
    "a~",
    "a~1",
    "HEAD~2",
    "HEAD^",
    "^a",
    "a^b",
    "a*",
    "*",
    "?a",
    "a?",
    "--x=*",
    "a**b",
    "'x y'",
    '"x y"',
    "''",
    '""',
    "'a'b",
    "a'b'",
    "'a''b'",
    "\"a\"'b'",
    "'$x'",
    '"$x"',
    "'`x`'",
    '"a`b"',
    "'\\'",
    "'\\n'",
    "'a\\\\b'",
    '"\\n"',
    "'it'\\''s'",
    "\\'",
    "'!x'",
    '"!x"',
    "'#'",
    "a#b",
    "#",
    "'é'",
    '"ü x"',
    "é",
    "=x",
    "=ls",
    "%self",
    "'%'x",
    "''=x",
    "{a,b}",
    "a@{0}",
    "@{u}",
    "@{a..c}",
    "@{a,b}~1",
    "HEAD~1..b",
    "x@{1}^",
    '"\\w"',
    '"a\\$"',
    '"\\\\"',
    "{}",
    "[a]",
    "[",
    "]",
    "a\\b",
    "\\a",
    "$'a b'",
    "$'a\\tb'",
    "$'it\\'s'",
    "$'\\\\n\\n'",
    "$'\\\"'",
    "$'\\r'",
    "$'\\e'",
    "$'\\x41'",
    "$'\\101'",
    "$'\\cA'",
    "$''",
    "$'é'",
    "$'$x`y`'",
    '$"a"',
    '"a\\"b"',
    '"\\$x"',
    '"\\`a\\`"',
    '"\\\\"',
    '"\\\\n"',
    '"\\!a"',
    "a\\ b",
    "\\*",
    "\\(",
    "\\;",
    "\\~",
    "\\$x",
    "\\`",
    "\\\\",
    '\\"',
    "\\#",
    "\\!",
    "\\{a,b\\}",
    "\\[a\\]",
    "a\\.b",
    "\\|",
    "\\&",
    "\\<a\\>",
    "\\-l",
    "=",
    "==",
    "! ",
    '"a\\\\\'b"',
    "# a",
    "# it's a \"b",
    "#a b\n",
    "\\",
    "'*'",
    '"?"',
    "'a'*",
    "(",
    ")",
    "$x",
    "$",
    "`",
    "!",
    "!!",
    "\u00a0",
    "\u2028",
    "\x0b",
    "\r",
]
_JOINS = [
    " && ",
    " || ",
    "; ",
    " ; ",
    "\n",
    " | ",
    "&&",
    "||",
    ";",
    "|",
    "\n\n",
    " & ",
    "&",
    " |& ",
    ";;",
    " && \n",
    "\t;\t",
    "|\n",
]
_REDIRECTS = [
    " >/dev/null",
    " 2>/dev/null",
    " &>/dev/null",
    " > /dev/null",
    " 2>&1",
    " >&2",
    " 1>&2",
    " </dev/null",
    " >>/dev/null",
    ">/dev/null",
    "2>&1",
    " >/dev/nullx",
    " 3>/dev/null",
    " >&1",
    " <>/dev/null",
    " 2>/dev/null;",
]
_PLAIN_WORDS = _WORDS[:19]
_PLAIN_JOINS = _JOINS[:5] * 3 + _JOINS[5:6]
_MUTATIONS = list("'\"\\ \t\n;&|<>#=~!^*?$`(){}[]-é%+,:@")


@dataclass(frozen=True, slots=True)
class Difference:
    text: str
    shell: str
    succeeding: bool
    judged: list[list[str]]
    ran: list[list[str]]


def strings(seed: int) -> Iterator[str]:
    """Endless: half of them plain enough to be accepted, half of them not."""
    chance = random.Random(seed)  # noqa: S311 - strings to try, not secrets
    while True:
        wild = chance.random() < 0.5
        text = _string(chance, wild=wild)
        if chance.random() < 0.3:
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(_MUTATIONS) + text[at + chance.randrange(2) :]
        yield text


def _string(chance: random.Random, *, wild: bool) -> str:
    parts: list[str] = []
    for number in range(chance.choice((1, 1, 1, 2, 2, 3))):
        if number:
            parts.append(chance.choice(_JOINS if wild else _PLAIN_JOINS))
        parts.append(chance.choice(STUBS))
        for _ in range(chance.randrange(5)):
            parts.append(chance.choice((" ", " ", " ", "\t", "  ", "")) if wild else " ")
            parts.append(chance.choice(_WORDS if wild or chance.random() < 0.3 else _PLAIN_WORDS))
        if chance.random() < 0.2:
            parts.append(chance.choice(_REDIRECTS if wild else _REDIRECTS[:9]))
    return "".join(parts)


def accepted(texts: Iterator[str], count: int) -> list[tuple[str, Line]]:
    """Of the next `count` strings, those that the recogniser accepts and that a shell can be shown."""
    found: list[tuple[str, Line]] = []
    for _ in range(count):
        text = next(texts)
        line = recognise(text)
        if isinstance(line, Line) and all(command.words[0] in STUBS for command in line.commands):
            found.append((text, line))
    return found


def differences(
    cases: Sequence[tuple[str, Line]], shell: str, *, canonical: bool = False
) -> list[Difference]:
    """Strings of which the shell ran something else than was judged."""
    cases = [
        (text, line)
        for text, line in cases
        if shell in line.shells and not (shell == "fish" and _has_glob(line))
    ]
    found: list[Difference] = []
    for succeeding in (True, False):
        if not succeeding:  # the same again, where nothing depends on it
            cases = [each for each in cases if {"&&", "||"} & set(each[1].joins)]
        ran = run_all(
            [line.canonical if canonical else text for text, line in cases],
            shell,
            succeeding=succeeding,
        )
        for number, (text, line) in enumerate(cases):
            judged = _expected(line, succeeding=succeeding)
            if Counter(map(tuple, judged)) != Counter(map(tuple, ran.get(number, []))):
                found.append(Difference(text, shell, succeeding, judged, ran.get(number, [])))
    return found


def _has_glob(line: Line) -> bool:
    return any(type(word) is Glob for command in line.commands for word in command.words)


def _expected(line: Line, *, succeeding: bool) -> list[list[str]]:
    """What a shell runs when every command succeeds, or every one fails."""
    runs: list[list[str]] = []
    runs_now = True
    for command, join in zip(line.commands, ("", *line.joins), strict=True):
        if join == ";":
            runs_now = True
        elif join == "&&":
            runs_now = succeeding
        elif join == "||":
            runs_now = not succeeding
        if runs_now:
            runs.append([str(word) for word in command.words])
    return runs


# bash writes at each line end, and both sides of a pipe write: a record without one stays whole.
_LINE_END = "\x01"
_PRELUDES = {
    "bash": "set -f\nrec() { builtin printf '%s\\0' \"$__id\" \"${@//$'\\n'/$'\\x01'}\" '^^' >&3; return $__status; }\n",
    "zsh": "setopt noglob\nrec() { builtin printf '%s\\0' \"$__id\" \"$@\" '^^' >&3; return $__status; }\n",
    "dash": "set -f\nrec() { printf '%s\\0' \"$__id\" \"$@\" '^^' >&3; return $__status; }\n",
    "fish": "function rec; builtin printf '%s\\0' $__id $argv '^^' >>$__out; return $__status; end\n",
}
_COMMANDS = {
    "bash": ["bash", "--norc", "--noprofile"],
    "zsh": ["zsh", "-f"],
    "dash": ["dash"],
    "fish": ["fish", "--no-config"],
}


def run_all(texts: Sequence[str], shell: str, *, succeeding: bool) -> dict[int, list[list[str]]]:
    """Evaluate every text in one shell; what ran, by the text's number."""
    status = 0 if succeeding else 1
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        out, script = Path(place, "out"), Path(place, "script")
        empty = Path(place, "empty")
        empty.mkdir()
        lines = [_PRELUDES[shell]]
        if shell == "fish":
            lines += [f"set -g __status {status}\nset -g __out {out}\n"]
            lines += [f"function {stub}; rec {stub} $argv; end\n" for stub in STUBS]
            lines += [
                f"set -g __id {number}; eval {_fish_quoted(text)}\n"
                for number, text in enumerate(texts)
            ]
        else:
            lines += [f"exec 3>>{shlex.quote(str(out))}\n__status={status}\n"]
            lines += [f'{stub}() {{ rec {stub} "$@"; }}\n' for stub in STUBS]
            lines += [
                f"__id={number}; eval {shlex.quote(text)}\n" for number, text in enumerate(texts)
            ]
        script.write_text("".join(lines))
        out.touch()
        subprocess.run(  # noqa: S603 - shells, in an empty directory, with every program a stub
            [*_COMMANDS[shell], str(script)],
            cwd=empty,
            env={"PATH": "/nonexistent", "LANG": "C.UTF-8", "HOME": str(empty)},
            executable=f"/usr/bin/{shell}",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=600,
        )
        return _records(out.read_bytes())


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _records(raw: bytes) -> dict[int, list[list[str]]]:
    found: dict[int, list[list[str]]] = {}
    words: list[str] = []
    for word in raw.decode(errors="surrogateescape").split("\0"):
        if word == END:
            found.setdefault(int(words[0]), []).append(words[1:])
            words = []
        else:
            words.append(word.replace(_LINE_END, "\n"))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description="The recogniser against real shells, for as long as you like."
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.monotonic_ns())
    parser.add_argument("--shell", choices=sorted(_COMMANDS), default="bash")
    arguments = parser.parse_args()
    texts = strings(arguments.seed)
    made = kept = 0
    began = time.monotonic()
    while time.monotonic() - began < arguments.seconds:
        cases = accepted(texts, 10_000)
        made, kept = made + 10_000, kept + len(cases)
        if found := differences(cases, arguments.shell) + differences(
            cases, arguments.shell, canonical=True
        ):
            for each in found[:20]:
                sys.stdout.write(f"{each}\n")
            return 1
        sys.stdout.write(f"seed {arguments.seed}: {made} strings, {kept} accepted, no difference\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
