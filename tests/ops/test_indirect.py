"""Variables that the shell asks with are not reached by names that the line does not tell."""

import pytest

from duetty.ops.judging.shell_hooks import touched_hook

ASKED = {
    "bash": """
for x in ${!_d*}; do echo ${!x}; done
echo ${!_*}
echo ${!_d@}
echo "${!_duett*}"
declare -p ${!_d*}
unset ${!_d*}
echo ${!x}
echo "${!x}"
echo ${!1}
echo ${!x:-none}
echo ${!x[0]}
x=$y; echo ${!x}
x=PATH; read -r x; echo ${!x}
x=PATH; printf -v x $y; echo ${!x}
x=PATH; x=$y; echo ${!x}
for x in PATH $y; do echo ${!x}; done
for x in *; do echo ${!x}; done
x=_due; y=${x}tty_gate; echo ${!y}
compgen -v
compgen -v _d
compgen -v _
compgen -A variable
compgen -Avariable
compgen -A variable _due
compgen -A arrayvar
compgen -v $x
compgen $x
declare -n r=$x
local -n r=${x}y
unset SRANDOM
SRANDOM=7
read -r SRANDOM
printf -v SRANDOM 1
for SRANDOM in 1; do :; done
: ${SRANDOM:=1}
declare SRANDOM=1
(( SRANDOM = 1 ))
unset LINENO
LINENO=4
read LINENO
mapfile LINENO
unset histchars
read histchars
EPOCHREALTIME=1
unset EPOCHREALTIME
""",
    "zsh": """
echo ${(P)x}
echo ${(kP)x}
print -r -- "${(P)n}"
LINENO=4
unset histchars
""",
    "fish": """
echo $$x
for n in (set -n | string match '_d*'); echo $$n; end
""",
}
LET_PASS = {
    "bash": """
for k in "${!map[@]}"; do echo "$k=${map[$k]}"; done
for i in ${!arr[*]}; do echo $i; done
echo ${!GIT_*}
echo ${!npm_@}
x=PATH; echo ${!x}
declare x=PATH; echo ${!x}
for v in HOME PATH; do echo "$v=${!v}"; done
echo ${!#}
echo "${!OPTIND}"
echo $! $$
compgen -v GIT_
compgen -c git
compgen -A function
echo $RANDOM $SRANDOM $LINENO $EPOCHREALTIME
RANDOM=42
RANDOM=42; echo $RANDOM
SECONDS=0; make; echo $SECONDS
echo '${!x}'
""",
    "zsh": """
echo ${(k)map}
echo ${(j:,:)list}
echo ${(U)x} ${(L)PWD}
echo $$
""",
    "fish": """
echo $x
set -n
bash -c 'echo $$'
echo $fish_pid
""",
}


def _cases(lines: dict[str, str]) -> list[tuple[str, str]]:
    return [(shell, line) for shell, text in lines.items() for line in text.strip().split("\n")]


@pytest.mark.parametrize(("shell", "line"), _cases(ASKED))
def test_a_variable_is_not_reached_by_an_untold_name(shell: str, line: str) -> None:
    assert touched_hook(line, shell=shell) is not None


@pytest.mark.parametrize(("shell", "line"), _cases(LET_PASS))
def test_a_name_that_the_line_tells_is_followed_unasked(shell: str, line: str) -> None:
    assert touched_hook(line, shell=shell) is None
