"""What shells build in, with real ones: no accepted use runs code, assigns, or prints control characters.

`printf`, `test` and `echo` are the shell's own, and each shell has its own: zsh computes numbers
for `printf` (`a[$(…)]` is one), bash's `%n` assigns. The words are made of what some of them give a meaning.
"""

import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from duetty.policy.proving.paths import Place
from duetty.policy.proving.recogniser import Command, rebuild
from duetty.policy.proving.specs import use_problem

pytestmark = pytest.mark.shells

ACCEPTED = 3_000
SHELLS = {
    "bash": ["--norc", "--noprofile"],
    "zsh": ["-f"],
    "dash": [],
}

_CODE = "canary[$(echo ran >>mark)]"
_FORMATS = [
    *"%%%%$*'n0123456789.-+ #lhqILzjtdiuoxXeEfgGaAsbcqT()\\[]",
    *("%s", "%d", "%b", "%1$", "%n", "%'", "\\", "\\e", "\\033", "\\x1b", "x", "%%", "%(%s)T", "%.3"),
]  # fmt: skip
_ARGUMENTS = [
    _CODE, "canary", "canary[0]", "1", "-1", "0x1", "1.5", "'a", '"a', "a", "", "\\e", "\\033", "$canary", "canary=1",
    "!", "-v", "-n", "-z", "-f", "-t", "-o", "-a", "=", "==", "!=", "-eq", "-ne", "-lt", "-nt", "-ef", "<", "=~", "(", ")",
    "path", "PATH", "-e", "-E", "--", "-", "\\c", "\\x1b", "%n", "%1$d", "~", "(e:canary=1:)", "27",
]  # fmt: skip


def _lines(seed: int) -> Iterator[tuple[str, ...]]:
    chance = random.Random(seed)
    while True:
        arguments = [chance.choice(_ARGUMENTS) for _ in range(chance.randrange(5))]
        match chance.randrange(5):
            case 0 | 1 | 2:
                form = "".join(chance.choice(_FORMATS) for _ in range(chance.randrange(1, 6)))
                yield ("printf", form, *arguments)
            case 3:
                yield ("test", *arguments) if chance.random() < 0.5 else ("[", *arguments, "]")
            case _:
                yield ("echo", *arguments)


def _accepted(seed: int) -> list[tuple[str, ...]]:
    found: dict[tuple[str, ...], None] = {}
    for words in _lines(seed):
        if len(found) == ACCEPTED:
            break
        if not use_problem(words, Place()):
            found[words] = None
    return list(found)


_CONTROL = re.compile(rb"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")


def misused(lines: list[tuple[str, ...]], shell: str, place: Path) -> list[tuple[str, ...]]:
    """Lines after which something had run, was assigned, or had been printed that a terminal obeys."""
    script = ["canary=kept\npath0=$PATH\n"]
    for number, words in enumerate(lines):
        script.append(
            f"{rebuild([Command(words)], [])} >out{number} 2>/dev/null\n"
            'if [ -s mark ] || [ "$canary" != kept ] || [ "$PATH" != "$path0" ]; then\n'
            f"  echo {number} >>found; :>mark; canary=kept; PATH=$path0\nfi\n"
        )  # fmt: skip
    (place / "script").write_text("".join(script))
    subprocess.run(
        [f"/usr/bin/{shell}", *SHELLS[shell], "script"],
        cwd=place, env={"PATH": "/nonexistent", "LANG": "C.UTF-8"}, check=False, timeout=300,
        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    ran = (place / "found").read_text().split() if (place / "found").exists() else []
    printed = [
        number
        for number in range(len(lines))
        if _CONTROL.search((place / f"out{number}").read_bytes())
    ]
    return [lines[number] for number in sorted({*map(int, ran), *printed})]


@pytest.mark.parametrize("shell", SHELLS)
def test_an_accepted_use_of_a_builtin_only_prints_and_looks(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    assert misused(_accepted(seed=11), shell, tmp_path) == []


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("zsh", ("printf", "%1$d", _CODE)),
        ("zsh", ("printf", "%'d", _CODE)),
        ("bash", ("printf", "%'n", "canary")),
        ("bash", ("printf", "\\b")),
        ("dash", ("echo", "\\v")),
    ],
)
def test_what_does_more_is_not_accepted_and_would_be_noticed(
    shell: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    assert use_problem(words, Place())
    if shutil.which(shell):
        assert misused([words], shell, tmp_path) == [words]
