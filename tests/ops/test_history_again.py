"""Lines of history that run again, and programs that get another name: seen by their words, behind whatever they stand."""

from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from duetty.errors import PolicyDenied
from duetty.ops.judging.shell_hooks import touched_hook
from tests.ops.at_a_shell import session_of, typed

AGAIN = {
    "zsh": """
r
r echo=rm
builtin r echo=rm
builtin - r echo=rm
- r echo=rm
time r echo=rm
repeat 1 r echo=rm
repeat 1 { r echo=rm }
repeat 1 X=1 r echo=rm
X=1 r echo=rm
'r' echo=rm
$'\\x72' echo=rm
>! out r echo=rm
</dev/null r echo=rm
if true; then r echo=rm; fi
if r echo=rm; then :; fi
while r echo=rm; do break; done
until r echo=rm; do break; done
for x in 1; do r echo=rm; done
for x (1) r echo=rm
[[ -n x ]] && r echo=rm
case x in x) r echo=rm;; esac
{ r echo=rm } always { : }
(r echo=rm)
echo $(r echo=rm)
: # ; r echo=rm
: # ; ! fc -e - echo=rm
noglob fc -e - echo=rm
nocorrect fc -e - echo=rm
! fc -e - echo=rm
X=1 fc -e - echo=rm
coproc fc -e - echo=rm
eval 'builtin r echo=rm'
(trap 'r echo=rm' EXIT)
""",
    "bash": """
fc -s echo=rm
! fc -s echo=rm
time fc -s echo=rm
time -p fc -s echo=rm
if fc -s echo=rm; then :; fi
while fc -s echo=rm; do break; done
until ! fc -s echo=rm; do break; done
coproc fc -s echo=rm
coproc N { fc -s echo=rm; }
X=1 fc -s echo=rm
</dev/null fc -s echo=rm
{fd}</dev/null fc -s echo=rm
&>/dev/null fc -s echo=rm
command -- fc -s echo=rm
command -p fc -s echo=rm
builtin fc -s echo=rm
builtin command builtin fc -s echo=rm
jobs -x fc -s echo=rm
{ fc -s echo=rm; }
(fc -s echo=rm)
echo $(fc -s echo=rm)
fc -l -s echo=rm
fc -ls echo=rm
f\\c -s echo=rm
test -v 'a[$(fc -s echo=rm)]'
(trap 'fc -s echo=rm' EXIT)
mapfile -c 1 -C 'fc -s echo=rm; :' rows <<< x
source /dev/stdin <<< 'fc -s echo=rm'
""",
}

PREPARED = {
    "zsh": [
        ["alias q='builtin r'", "echo -rf victim", "q echo=rm"],
        ["alias t=time", "echo -rf victim", "t r echo=rm"],
        ["function fn { builtin r echo=rm; }", "echo -rf victim", "fn"],
        ["function El { sed -i s/echo/rm/ \"$1\"; }", "echo -rf victim", "fc -eEl"],
        ["hash xyz=/bin/rm", "xyz -rf victim"],
        ["builtin hash xyz=/bin/rm", "xyz -rf victim"],
        ["! hash -v xyz=/bin/rm", "xyz -rf victim"],
    ],
    "bash": [
        ["alias q='command fc -s'", "echo -rf victim", "q echo=rm"],
        ["alias t='time '", "echo -rf victim", "t fc -s echo=rm"],
        ["fn() { ! fc -s echo=rm; }", "echo -rf victim", "fn"],
        ["function El { sed -i s/echo/rm/ \"$1\"; }", "echo -rf victim", "fc -eEl"],
        ["hash -p /bin/rm xyz", "xyz -rf victim"],
        ["hash -p/bin/rm xyz", "xyz -rf victim"],
    ],
}  # fmt: skip

ASKED = {
    "zsh": """
fc -p other
fc -P
fc -R file
fc -W
fc -A file
fc -I
fc -l $x
fc -tl
fc -e vi -l
history -p other
repeat 1 HISTSIZE=0
alias q=r
alias q='noglob fc -e -'
zregexparse a b '/x/' '-x'
hash xyz=/bin/rm
hash $x
""",
    "bash": """
fc
fc 5
fc -5
fc -5 -l
fc -e vi -l
fc -l $x
fc -l -$x
alias q='time fc'
hash -lp /bin/rm xyz
""",
    "fish": """
if set $name x; end
time bind \\cg x
not bind \\cg x
while set $name x; end
argparse 'm=!functions -e kill' -- -m 1
""",
}

EVERYDAY = {
    "zsh": """
fc -l
fc -l -5
fc -ln 1 10
fc -lr
fc -li 1
fc -lt %F 1
fc -lm 'git*'
history
history 10
history -i
hash
hash -r
hash ls
hash -d src=/usr/src
rehash
command -v r
command -v fc
whence r
which fc
echo r fc
rg r
read r
for r in 1 2; do echo $r; done
repeat 2 echo r
x=r
make r # fc -s
trap 'rm -f "$tmp"' EXIT
git commit -m 'r: run fc -s again'
function build { make r; }
""",
    "bash": """
fc -l
fc -l -5
fc -ln 1 10
fc -lr
fc -l -n -5
fc -l git
history
history 10
history | grep fc
hash
hash -r
hash ls
hash -t ls
hash -d ls
command -v fc
command -v set
type fc
help fc
man fc
jobs -l
jobs
r echo=rm
coproc cat
awk '{ print $(NF) }' file
trap 'kill $(jobs -p)' EXIT
mapfile -t rows < file
{ echo a; echo b; }
[[ -n $x ]] && echo fc
""",
    "fish": """
history
history search git
r
fc
hash
argparse 'n/name=' -- $argv
if set -q x; echo yes; end
time make
""",
}


def _lines(table: dict[str, str]) -> list[tuple[str, str]]:
    return [(shell, line) for shell, text in table.items() for line in text.strip().split("\n")]


@pytest.mark.parametrize(("shell", "line"), [*_lines(AGAIN), *_lines(ASKED)])
def test_a_line_that_runs_history_again_is_seen_behind_whatever_it_stands(
    shell: str, line: str
) -> None:
    assert touched_hook(line, shell=shell) is not None


@pytest.mark.parametrize(("shell", "line"), _lines(EVERYDAY))
def test_what_only_lists_history_or_looks_up_is_left_alone(shell: str, line: str) -> None:
    assert touched_hook(line, shell=shell) is None


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize("shell", ["bash", "zsh"])
async def test_no_shell_deletes_unasked_what_a_harmless_line_of_its_history_names(
    home: Path, shell: str
) -> None:
    victim = home / "victim"
    victim.mkdir()
    groups = [["echo -rf victim", line] for line in AGAIN[shell].strip().split("\n")]
    async with session_of(home, shell, policy_profile="guarded") as engine:
        with anyio.fail_after(150):
            for group in [*groups, *PREPARED[shell]]:
                for line in group:
                    with suppress(PolicyDenied):
                        await typed(engine, f"{line}\r")
                    await engine.call("session.wait", session="s", idle_ms=100, max_wait_ms=5_000)

                assert victim.is_dir(), group


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize("shell", ["bash", "zsh"])
async def test_history_is_listed_unasked(home: Path, shell: str) -> None:
    async with session_of(home, shell, policy_profile="guarded") as engine:
        await engine.run("echo marked")

        for line in ("fc -l -5", "fc -ln -5", "history", "time fc -l"):
            assert "echo marked" in (await engine.run(line)).output
