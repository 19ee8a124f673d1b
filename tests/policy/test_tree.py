"""tree-sitter-bash as we use it: bounded, and never the end of the process."""

import json
import random
import subprocess
import sys
import unicodedata

import pytest

from duetty.policy.scanning.tree import drawn, look

LINES = 20_000

SIGNS = (
    "$ ${ } << <<- EOF ( ) (( )) [[ ]] { ` ' \" a A 1 = + # ! % / ^ , @ * ? [ ] | & ; < > \\ ~ - : .."
    " case in esac for do done if then fi function =~ $' x= a[ <<< <( ${# ${! $(("
)
PIECES = [*SIGNS.split(), " ", "\n", "\t", "export ", "declare ", "unset ", "let ", "\x00", "\x7f"]
BEYOND = "éßñ漢字日本語кд😀\u0300\u200d\u00a0\uff10٣²½ªǅʰ𐍈\U000e0041\U0010ffff\ud800"
FATAL = ["{\U0010ffff", "]],:}${\U000e0041}", "..let \u0440)${#{\U000e0041case", "<<{\U0010ffff+`"]
"""Each of these could end the process that looked at it; whether it did hung on where memory lay."""


def lines(seed: int) -> list[str]:
    """Lines of shell signs and of letters of every kind."""
    chance = random.Random(seed)

    def piece() -> str:
        if chance.random() < 0.2:
            return chance.choice(BEYOND)
        if chance.random() < 0.15:
            return chr(chance.randrange(0x80, 0x110000))
        return chance.choice(PIECES)

    return ["".join(piece() for _ in range(chance.randrange(1, 14))) for _ in range(LINES)]


def test_no_letter_ends_the_process() -> None:
    program = (
        "import json, sys\n"
        "from duetty.policy.scanning.tree import drawn, look\n"
        "lines = json.load(sys.stdin)\n"
        "for line in lines: look(line)\n"
        "for line in lines[:2000]: drawn(line)\n"
        "print(len(lines))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps([*lines(seed=1), *FATAL]),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, f"{LINES + len(FATAL)}\n"), done.stderr


@pytest.mark.parametrize("letter", ["é", "漢", "😀", "\u0300", "\U000e0041"])
def test_letters_come_back_as_they_were(letter: str) -> None:
    seen = look(f"echo {letter}{letter} x{letter}; cat '{letter} b' | rm {letter}")

    assert seen is not None
    assert seen.valid, unicodedata.name(letter, "")
    assert set(seen.commands) == {
        f"echo {letter}{letter} x{letter}",
        f"cat '{letter} b'",
        f"rm {letter}",
    }
    assert repr(f"x{letter}") in drawn(f"echo x{letter}")


def test_the_grammar_is_never_shown_a_letter_that_it_cannot_read() -> None:
    # It takes such a delimiter for a mistake, and a dot for a delimiter.
    seen = look("cat <<é\na\né\n")

    assert seen is not None
    assert seen.valid
