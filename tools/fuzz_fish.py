"""The scan's reader of fish against fish: no string may run a command that was not read.

Usage: fuzz_fish.py [--seconds S] [--seed N]

Strings are made of what fish reads otherwise than POSIX shells do. Those that the reader
claims to have read are evaluated, thousands in one fish, where every program is a function
that records its words; each command that ran must be one that was read, word for word.
Tests use the same functions for a bounded run.
"""

import argparse
import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.fuzz_recogniser import STUBS, run_all

from duetty.policy.scanning.fish import read_fish
from duetty.policy.scanning.reading import UNKNOWN, Word

_STARTS = [
    *STUBS,
    *STUBS,
    "'ls'",
    '"cat"',
    "l\\x73",
    "\\u006cs",
    "\\154s",
    "c{at,at}",
    "g'i't",
    "l\\\ns",
    "l\\s",
]
_WORDS = [
    "a", "-l", "--x=1", "x=1", "1", "2", "a:b", "'x y'", '"x y"', "''", '""', "'a'b", "it\\'s", "'it\\'s'", "'a\\\\b'",
    "'a\\nb'", '"a\\"b"', '"a\\$b"', '"a\\nb"', '"a\\\\b"', "'$x'", "'(ls)'", '"(ls)"', "\\x41", "\\X42", "\\u43", "\\U44",
    "\\105", "\\x4", "\\cA", "\\t", "\\e", "\\ ", "\\;", "\\|", "\\(", "\\#", "\\{", "a\\\nb", '"a\\\nb"', "a#b", "{a,b}",
    "x{a,b}y", "{a}", "{}", "{,}", "{a, b}", "{a b,c}", "{'a,b',c}", "{a,{b,c}}", "x{a,b}{c,d}", "\\{a,b\\}", "{a\\,b,c}",
    "a[1 2]", "a[;]b", '"a"[1]', "[a", "a]", "a&b", "a^b", "^a", "a~", "%", "a%self", "!", "a!b", "`a`", "if", "end",
    "and", "(echo q)", "$(echo q)", '"$(echo q)"', "x(echo q)y", "(ls q)", '"$(ls q)"', "@{a,b}", "é", "\\é", "\\xe9",
    "{a;b,c}", "{a|b,c}", "{(echo q),c}", "a=b", "~x", "-", "--", "\\$x", "a,b", "{a,b", "a}", "a)", "(", "[", "]", "'", '"', "\\",
]  # fmt: skip
_JOINS = [
    "; ", " ; ", "\n", ";", " | ", "|", " &| ", " >| ", " 2>| ", " >>| ", "1>|", " && ", "&&", " & ", "; and ", "; not ! ",
    "; begin; ", " # c\n", " #'\n", "\n\n", " \\\n; ", "; a\\x6ed ", "; 'not' ", "|\n", "| # c\n", " || ", "; or ", "&", ";;",
]  # fmt: skip
_REDIRECTS = [
    " >o", " 2>o", " >>o", " &>o", " &>>o", " 2>&1", " >&2", " >?n", " <&-", " < /dev/null", ">o", "2>o", " > 'o p'", " >o\\x41",
]  # fmt: skip
_FRAMES = [
    "{}", "{}", "{}", "{}", "{}", "begin; {}; end", "if true; {}; end", "for i in 1; {}; end", "echo ({}) >/dev/null",
    "switch a; case a; {}; end", "begin {}; end | cat", "if false; else; {}; end", "A=1 {}", "eval '{}'", "{} # x",
    "time {}", "begin; {}; end; end",
]  # fmt: skip
_OF_FISH = frozenset(["ll", "la"])
"""Functions of its own that run one of these."""

_MUTATIONS = list("'\"\\ \t\n;&|<>#=~!^*?$`(){}[]-é%+,:@x1")


@dataclass(frozen=True, slots=True)
class Missed:
    """A command that fish ran, and the commands that were read."""

    text: str
    ran: list[str]
    read: list[list[str]]


def strings(seed: int) -> Iterator[str]:
    """Endless."""
    chance = random.Random(seed)  # noqa: S311 - strings to try, not secrets
    while True:
        parts: list[str] = []
        for number in range(chance.choice((1, 1, 2, 2, 3))):
            if number:
                parts.append(chance.choice(_JOINS))
            parts.append(chance.choice(_STARTS))
            for _ in range(chance.randrange(4)):
                parts.append(chance.choice((" ", " ", " ", "  ", "\t", "")))
                parts.append(chance.choice(_WORDS))
            if chance.random() < 0.2:
                parts.append(chance.choice(_REDIRECTS))
        text = chance.choice(_FRAMES).replace("{}", "".join(parts))
        for _ in range(chance.choice((0, 0, 1, 2))):
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(_MUTATIONS) + text[at + chance.randrange(2) :]
        yield text


def readable(texts: Iterator[str], count: int) -> list[str]:
    """Of the next `count` strings, those that the reader says it has read."""
    found = (next(texts) for _ in range(count))
    return [text for text in found if _commands(text) is not None]


def missed(texts: Sequence[str]) -> list[Missed]:
    """Commands that fish ran and that were not read so."""
    found: list[Missed] = []
    ran = run_all(texts, "fish", succeeding=True)
    for number, text in enumerate(texts):
        commands = _commands(text) or []
        known = [re.compile(_pattern(each), re.DOTALL) for each in commands]
        for words in ran.get(number, []):
            said = "".join(f"\0{word}" for word in words)
            if not any(each.fullmatch(said) for each in known):
                read = [[word.text for word in each] for each in commands]
                found.append(Missed(text, words, read))
    return found


def _commands(text: str) -> list[list[Word]] | None:
    """Every command that was read; None if not all was."""
    found: list[list[Word]] = []
    waiting = [text]
    while waiting:
        reading = read_fish(waiting.pop())
        if reading.unreadable:
            return None
        for simple in reading.commands:
            if simple.words and (simple.words[0].glob or simple.words[0].text in _OF_FISH):
                return None  # the name of a program may be a pattern: the scan says so
            found.append(simple.words)
            if [word.text for word in simple.words[:1]] == ["eval"]:
                waiting.append(" ".join(word.text for word in simple.words[1:]))
                if UNKNOWN in waiting[-1]:
                    return None
    return found


def _pattern(words: Sequence[Word]) -> str:
    """What is only known when it runs may be anything: several words, and none."""
    return "".join(
        "(?:\0.*)?"
        if word.glob or UNKNOWN in word.text or word.text[:1] == "~"
        else f"\0{re.escape(word.text)}"
        for word in words
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="The reader of fish against fish.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.monotonic_ns())
    arguments = parser.parse_args()
    texts = strings(arguments.seed)
    made = kept = 0
    began = time.monotonic()
    while time.monotonic() - began < arguments.seconds:
        cases = readable(texts, 10_000)
        made, kept = made + 10_000, kept + len(cases)
        if found := missed(cases):
            for each in found[:20]:
                sys.stdout.write(f"{each}\n")
            return 1
        sys.stdout.write(f"seed {arguments.seed}: {made} strings, {kept} read, none missed\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
