"""Words that stand elsewhere in the line: functions' arguments, what pipes bring, aliases."""

import pytest

from duetty.policy.proving.recogniser import Line, recognise
from duetty.policy.scanning.gaps import MAX_FILLED, filled
from duetty.policy.scanning.reader import read
from duetty.policy.scanning.scan import Scan, scan_line, scan_text


def _scan(text: str) -> Scan:
    line = recognise(text)
    return scan_line(line) if isinstance(line, Line) else scan_text(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('g() { git "$@"; }; g reset --hard', "git_discard"),
        ("function g { git $*; }; g push --force", "git_rewrite"),
        ('g() { shift; git "$@"; }\ng x reset --hard', "git_discard"),
        ('g() { git "${@:2}"; }; g x reset --hard', "git_discard"),
        ('f() { g "$@"; }; g() { command git "$@"; }; f clean -fdx', "git_discard"),
        ('f() { find "$@"; }; f . -delete', "recursive_delete"),
        ('x() { dd of="$1"; }; x /dev/sda', "device_write"),
        ("echo reset --hard | xargs git", "git_discard"),
        ("xargs git <<< 'reset --hard'", "git_discard"),
        ("printf 'reset\\0--hard' | xargs -0 git", "git_discard"),
        ("echo reset,--hard | xargs -d, git", "git_discard"),
        ("echo reset:--hard | xargs -d : git", "git_discard"),
        ("echo reset:--hard | xargs --delimiter=: git", "git_discard"),
        ("sudo xargs git <<EOF\nclean -fdx\nEOF", "git_discard"),
        ("{ echo reset --hard; } | xargs git", "git_discard"),
        ("echo reset | xargs -I X git X --hard", "git_discard"),
        ("echo hard | xargs -IX git reset --X", "git_discard"),
        ("echo 'reset --hard' | while read a; do git $a; done", "git_discard"),
        ("alias q=rm", "delete_outside"),
        ("alias ll='ls -l' q='rm -rf'", "recursive_delete"),
        ("alias q 'rm -rf'", "recursive_delete"),  # as fish writes it
        ("hash -p /bin/rm q", "delete_outside"),
    ],
)
def test_a_command_is_found_whose_words_stand_elsewhere(text: str, name: str) -> None:
    assert name in {finding.name for finding in _scan(text).findings}


@pytest.mark.parametrize(
    "text",
    [
        "git $x",
        'git -C "$d" $verb',
        "git --git-dir=$d $verb",
        'docker "$@"',
        "systemctl $verb nginx",
        "for verb in status log; do git $verb; done",
        "cat verbs | xargs git",
        "cat verbs | xargs -I{} git {} --hard",
        "alias g=git",
        "alias s=sudo",
        "alias b='bash -c'",
    ],
)
def test_a_program_that_goes_by_subcommands_with_one_that_is_not_known_cannot_be_read(
    text: str,
) -> None:
    scan = _scan(text)
    assert scan.unreadable
    assert not scan.findings


@pytest.mark.parametrize(
    "text",
    [
        'git -C "$d" status',
        'kubectl -n "$ns" get pods',
        "git log $range",
        "git ls-files | xargs git add",
        "echo a.txt | xargs -I{} git add {}",
        "find . -name x | xargs -n1 docker inspect",
        "printf '%s\\n' a b | while read f; do cp \"$f\" out/; done",
        'f() { echo "$1"; }; f hi',
        "for s in web api; do docker compose logs $s; done",
        "alias ll='ls -la' ..='cd ..'",
        "alias",
        "alias -p",
        "hash -r",
    ],
)
def test_gaps_that_do_no_harm_are_left_alone(text: str) -> None:
    scan = _scan(text)
    assert not scan.findings
    assert not scan.unreadable


def test_filling_gaps_has_a_bound() -> None:
    calls = "; ".join(f"f {number}" for number in range(200))
    reading = read(f'f() {{ git log "$1"; }}; {calls}')
    assert len(list(filled(reading.commands, reading.functions))) == MAX_FILLED
