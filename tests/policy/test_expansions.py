"""Commands within expansions, and where an expansion ends."""

import pytest

from duetty.policy.scanning.expansions import MAX_PAIRS
from duetty.policy.scanning.reader import read
from duetty.policy.scanning.scan import scan_text


@pytest.mark.parametrize(
    "text",
    [
        "echo ${a:-b `rm -rf x`}",
        "echo ${a:-b 'c' $(rm -rf x)}",
        "echo ${a:-b;c&d|$(rm -rf x)}",
        "echo \"${a:-'$(rm -rf x)'}\"",
        "echo \"${a:-$'`rm -rf x`'}\"",
        "echo \"${a:-don't $(rm -rf x) can't}\"",
        "cat <<E\n${a:-it's $(rm -rf x) it's}\nE",
        "echo ${a#<(rm -rf x)}",
        'echo "${a:-${b/c/<(rm -rf x)}}"',
        "echo \"${a%'${b-`echo '$(rm -rf x)'`}'}\"",
        'echo "`echo \\"$(rm -rf x)\\"`"',
        "[[ a =~ <(rm -rf x) ]]",
        "[[ a == ']]' && -n $(rm -rf x) ]]",
        "echo $((rm -rf x); ls)",
        "((rm -rf x); ls)",
        "echo ${ rm -rf x; }",
        "a['$(rm -rf x)']=1",
        'a["\\$(rm -rf x)"]=1',
        "x=(['$(rm -rf x)']=1)",
        'x=("\\$(" "${a[$(rm -rf x)]}")',
        "(( $(echo 'a[$(rm -rf x)]') ))",
        "(( $(cat <<'E'\na[$(rm -rf x)]\nE\n) ))",
        "x=([$(cat <<'E'\n$(rm -rf x)\nE\n)]=1)",
        "$(echo $(echo rm)) -rf x",
        "test -v 'a[${b%<(rm -rf x)}]'",
        "printf -v PROMPT_COMMAND 'rm -rf x'",
        "printf -v PAGER '%s %s x' rm -rf",
        "read PROMPT_COMMAND <<< 'rm -rf x'",
        ": ${PROMPT_COMMAND:='rm -rf x'}",
        "export PROMPT_COMMAND='rm -rf x'",
    ],
)
def test_a_command_within_an_expansion_is_found(text: str) -> None:
    assert "recursive_delete" in {finding.name for finding in scan_text(text).findings}


@pytest.mark.parametrize(
    "text",
    [
        "git commit -m \"$(cat <<'EOF'\nit's 1) a fix of `rm`\nEOF\n)\"",
        'x="$(case $y in a) echo 1;; b) echo 2;; esac)"; echo "$x"',
        'x=$(ls  # it\'s (all\n); echo "$x"',
        "[[ $x =~ ^[[:space:]]*$ ]] && echo yes",
        "[[ $x =~ ^(a|b)$ ]] || echo no",
        'echo "${x:-\'none\'}" "${y:-"a b"}" ${z:-a b} "${HOME%/*}" ${#x}',
        "(( i < (n + 1) )) && echo $(( 1 << 2 ))",
        "x=(a 'b c' # it's\n d); echo ${x[0]}",
        'echo "${x:-{}}"',
    ],
)
def test_ordinary_expansions_are_read_to_their_ends(text: str) -> None:
    scan = scan_text(text)

    assert (scan.findings, scan.unreadable) == ((), ())


@pytest.mark.parametrize(
    "text",
    [
        'echo "${a:-it\'s}"',
        "echo ${a",
        "echo $(ls",
        "echo `ls",
        "[[ -n $x",
        "echo " + "$(" * (MAX_PAIRS + 2) + ")" * (MAX_PAIRS + 2),
        "echo " + "\"${a:-'" * 6 + "x" + "'}\"" * 6,
    ],
)
def test_an_expansion_whose_end_shells_would_not_agree_on_cannot_be_read(text: str) -> None:
    assert scan_text(text).unreadable


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ('x="$(case $y in a) cat;; b) wc;; esac)"; ls', ["a", "cat", "b", "wc", "ls"]),
        ("[[ a == ' ]] ; cat' ]] && ls", ["[[", "ls"]),
        ("x=$(cat <<E\n) wc\nE\n); ls", ["cat", "ls"]),
        ("echo ${x:-{}; ls", ["echo", "ls"]),
        ("echo \"${x:-it's}\"; ls 'b}'", ["echo", "ls"]),
    ],
)
def test_what_follows_an_expansion_begins_where_it_ends(text: str, programs: list[str]) -> None:
    commands = read(text).commands

    assert [each.words[0].text for each in commands if each.words] == programs


def test_a_default_is_one_text_with_all_its_words() -> None:
    [simple] = read("echo ${a:-b 'c d' ; e}").commands

    assert [word.text for word in simple.words] == ["echo", "b", "c", "d", ";", "e"]
