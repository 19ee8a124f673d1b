"""The table of keys against what the installed shells bind them to, in every keymap.

A binding that this file does not know is one that may run code: a key for it has to be refused.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from duetty.ops.judging.line_keys import ARROWS, BRINGS, EDITS, LineKeys, Where


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MOVES = words(
    """self-insert self-insert-unmeta self-insert-notfirst backward-char forward-char vi-backward-char
    vi-forward-char beginning-of-line end-of-line backward-delete-char vi-backward-delete-char kill-line
    unix-line-discard kill-whole-line vi-kill-line backward-kill-line unix-word-rubout vi-unix-word-rubout
    backward-kill-word vi-backward-kill-word backward-kill-path-component clear-screen"""
)
"""They change the line in a known way, and bring nothing."""

FISH_CLEARS = re.compile(r'echo -n \(clear \| string replace .* ""\); commandline -f repaint')
BRINGING = words(
    """previous-history next-history up-line-or-history down-line-or-history up-or-search down-or-search
    up-history down-history reverse-search-history forward-search-history
    history-incremental-search-backward history-incremental-search-forward history-pager
    pager-toggle-search redisplay redo undo vi-undo transpose-chars yank quoted-insert vi-quoted-insert
    fish_clipboard_paste"""
)
ENDS = words(
    "accept-line execute cancel-commandline repaint-mode bracketed-paste bracketed-paste-begin __fish_start_bracketed_paste"
)
"""What they do is known to the gate: the shell asks, drops the line, or takes text."""

COMMANDS = words(
    """vi-append-eol vi-append-mode vi-change-case vi-change-char vi-change-to vi-char-search vi-column
    vi-delete vi-delete-to vi-end-word vi-fetch-history vi-first-print vi-goto-mark vi-insert-beg
    vi-insertion-mode vi-match vi-next-word vi-prev-word vi-put vi-redo vi-replace vi-rubout vi-search
    vi-search-again vi-set-mark vi-subst vi-tilde-expand vi-undo vi-yank-arg vi-yank-to vi-arg-digit
    insert-comment revert-line do-lowercase-version
    vi-set-buffer pound-insert vi-end-of-line vi-match-bracket vi-goto-mark-line vi-down-line-or-history
    vi-rev-repeat-find vi-up-line-or-history vi-repeat-change vi-history-search-backward
    vi-digit-or-beginning-of-line digit-argument vi-repeat-find vi-unindent vi-indent
    vi-history-search-forward vi-add-eol vi-backward-blank-word vi-change-eol vi-kill-eol
    vi-forward-blank-word-end vi-find-prev-char vi-insert-bol vi-join vi-rev-repeat-search
    vi-open-line-above vi-put-before vi-change-whole-line vi-find-prev-char-skip visual-line-mode
    vi-forward-blank-word vi-yank-whole-line vi-first-non-blank vi-add-next vi-backward-word vi-change
    vi-forward-word-end vi-find-next-char vi-backward-blank-word-end vi-up-case what-cursor-position
    vi-backward-word-end beginning-of-buffer-or-history vi-down-case vi-oper-swap-case vi-insert
    vi-repeat-search vi-open-line-below vi-put-after vi-replace-chars vi-substitute
    vi-find-next-char-skip visual-mode vi-forward-word vi-delete-char vi-yank vi-goto-column vi-swap-case
    gUgU gugu g~g~"""
)
"""Of vi's command mode: they move, take away, bring back."""

FISH_COMMANDS = re.compile(
    r"(repeat-jump(-reverse)?|(back|for)ward-(jump(-till)?|word|bigword|single-char|char)|and|or"
    r"|(begin|end|kill|swap)-selection(-start-stop)?|begin-selection|(back|for)ward-kill-(line|word|bigword)"
    r"|backward-kill-(line|word|bigword)|kill-(line|word|bigword|inner-line|whole-line|selection)|yank(-pop)?|undo"
    r"|delete-char|backward-delete-char|togglecase-(char|selection)|(up|down)case-(word|selection)"
    r"|insert-line-(over|under)|(beginning|end)-of-(line|buffer|history)|history-token-search-(back|for)ward"
    r"|repaint-mode|self-insert|expand-abbr|(up|down)-(or-search|line)|history-pager|cancel"
    r"|__fish_toggle_comment_commandline|set|fish_bind_mode|jump-to-matching-bracket)"
)

Asks = Callable[[Path, str], Iterator[tuple[str, str]]]

KNOWN = MOVES | BRINGING | ENDS
ENV = {
    "PATH": os.environ["PATH"],
    "TERM": "xterm-256color",
    "INPUTRC": "/dev/null",
    "LC_ALL": "C.UTF-8",
}


def asked(home: Path, *argv: str) -> str:
    ran = subprocess.run(
        argv,
        env={**ENV, "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.stdout, ran.stderr
    return ran.stdout


def decoded(key: str) -> str:
    """As bash and zsh write keys."""
    key = re.sub(r'\\(["\\$`^])', lambda found: chr(0xE000 + ord(found[1])), key)
    key = re.sub(r"\\C-(.)", lambda found: control(found[1]), key)
    key = key.replace("\\e", "\x1b").replace("\\000", "\x00")
    key = re.sub(r"\^(.)", lambda found: control(found[1]), key)
    return re.sub(r"[\ue000-\ue07f]", lambda found: chr(ord(found[0]) - 0xE000), key)


def control(char: str) -> str:
    return "\x7f" if char == "?" else chr(ord(char.upper()) & 0x1F)


def of_bash(home: Path, keymap: str) -> Iterator[tuple[str, str]]:
    shown = asked(home, "bash", "--norc", "-ic", f"bind -m {keymap} -p")
    for line in shown.splitlines():
        if found := re.fullmatch(r'"(.*)": (\S+)', line):
            yield decoded(found[1]), found[2]


def of_zsh(home: Path, keymap: str) -> Iterator[tuple[str, str]]:
    shown = asked(home, "zsh", "-f", "-c", f"zmodload zsh/zle; bindkey -M {keymap}")
    for line in shown.splitlines():
        if found := re.fullmatch(r'"(.*?)" "?([^"]+)"?', line):
            yield decoded(found[1]), found[2]
        elif found := re.fullmatch(r'"(.)"-"(.)" (\S+)', line):
            yield from ((chr(each), found[3]) for each in range(ord(found[1]), ord(found[2]) + 1))


NAMED = {
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "backspace": "\x7f",
    "f1": "\x1bOP",
    "nul": "\x00",
    "btab": "\x1b[Z",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "ppage": "\x1b[5~",
    "npage": "\x1b[6~",
    "dc": "\x1b[3~",
    "sdc": "\x1b[3;2~",
    "sleft": "\x1b[1;2D",
    "sright": "\x1b[1;2C",
}


def of_fish(home: Path, keymap: str) -> Iterator[tuple[str, str]]:
    bindings, _, mode = keymap.partition(" ")
    script = f"set -g fish_key_bindings {bindings}; {bindings}; bind --all"
    for line in asked(home, "fish", "--no-config", "-c", script).splitlines():
        words = re.findall(r"(?:\\.|'(?:\\.|[^'\\])*'|[^\s\\'])+", line)[1:]
        of_mode, named = "default", False
        while words and words[0].startswith("-") and len(words[0]) > 1:
            match words.pop(0):
                case "-M":
                    of_mode = words.pop(0)
                case "-m":
                    words.pop(0)
                case "-k":
                    named = True
                case _:
                    pass
        key = NAMED.get(words[0], "") if named else fish_key(words[0])
        if of_mode == (mode or "default") and key:
            yield key, " ".join(shlex.split(" ".join(words[1:])))


def fish_key(word: str) -> str:
    if word[:1] == "'":
        return word[1:-1].replace("\\'", "'").replace("\\\\", "\\")
    word = re.sub(r"\\c(.)", lambda found: control(found[1]), word)
    word = re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), word)
    for written, meant in (("\\e", "\x1b"), ("\\t", "\t"), ("\\n", "\n"), ("\\r", "\r")):
        word = word.replace(written, meant)
    return re.sub(r"\\(.)", r"\1", word.replace("\\b", "\x08"))


INSERTING: list[tuple[Asks, str]] = [
    (of_bash, "emacs"),
    (of_bash, "vi-insert"),
    (of_zsh, "emacs"),
    (of_zsh, "viins"),
    (of_fish, "fish_default_key_bindings"),
    (of_fish, "fish_vi_key_bindings insert"),
]
COMMANDING: list[tuple[Asks, str]] = [
    (of_bash, "vi-command"),
    (of_zsh, "vicmd"),
    (of_fish, "fish_vi_key_bindings default"),
]


def named(value: Asks | str) -> str:
    return value if isinstance(value, str) else value.__name__.removeprefix("of_")


def bindings(home: Path, of: Asks, keymap: str) -> dict[str, str]:
    if shutil.which(named(of)) is None:
        pytest.skip(f"no {named(of)} here")
    found = dict(of(home, keymap))
    assert len(found) > 10
    return found


def is_known(function: str) -> bool:
    return FISH_CLEARS.fullmatch(function) is not None or KNOWN.issuperset(function.split())


def runs(*writes: str) -> bool:
    keys = LineKeys()
    return [keys.runs_code("s", each, Where(prompts=1)) for each in writes][-1]


@pytest.mark.shells
@pytest.mark.parametrize(("of", "keymap"), [*INSERTING, *COMMANDING], ids=named)
def test_a_key_whose_binding_is_not_known_to_be_harmless_is_refused(
    tmp_path: Path, of: Asks, keymap: str
) -> None:
    bound = bindings(tmp_path, of, keymap)

    let = {
        key: function
        for key, function in bound.items()
        if not key.isprintable() and not is_known(function) and not runs("$(x)", key)
    }

    assert let == {}


@pytest.mark.shells
@pytest.mark.parametrize(("of", "keymap"), [*INSERTING, *COMMANDING], ids=named)
def test_a_key_that_is_said_to_bring_nothing_brings_nothing(
    tmp_path: Path, of: Asks, keymap: str
) -> None:
    bound = bindings(tmp_path, of, keymap)

    wrong = {
        key: function
        for key in (*EDITS, "\x1b[D", "\x1bOD")
        if (function := bound.get(key)) is not None
        and function not in MOVES
        and not FISH_CLEARS.fullmatch(function)
    }

    assert wrong == {}


@pytest.mark.shells
@pytest.mark.parametrize(("of", "keymap"), INSERTING, ids=named)
def test_the_arrows_are_bound_wherever_text_is_typed(tmp_path: Path, of: Asks, keymap: str) -> None:
    """Or else their Escape alone would leave vi's insert mode."""
    bound = bindings(tmp_path, of, keymap)

    assert {each for each in ARROWS if f"\x1b[{each}" not in bound} == set()


@pytest.mark.shells
@pytest.mark.parametrize(("of", "keymap"), COMMANDING, ids=named)
def test_a_letter_that_runs_something_in_command_mode_is_refused_behind_an_escape(
    tmp_path: Path, of: Asks, keymap: str
) -> None:
    bound = bindings(tmp_path, of, keymap)
    is_fish = of is of_fish

    let = {
        key: function
        for key, function in bound.items()
        if key.isprintable()
        and function not in COMMANDS
        and not is_known(function)
        and not (is_fish and all(FISH_COMMANDS.fullmatch(word) for word in function.split()))
        and not runs("\x1b", "k", key)
    }

    assert let == {}


def test_the_table_has_no_key_twice() -> None:
    assert len({*EDITS, *BRINGS}) == len(EDITS) + len(BRINGS)
