"""What a prompt would run is asked about when the prompt is set, however it is set."""

import pytest

from duetty.ops.judging.shell_hooks import touched_hook

ASKED = {
    "bash": r"""
PS1='\044(\162m -rf v) '
PS1='\140x\140'
PS1='$\050x)'
PS1='\444(x)'
PS1='\D{$(x)}'
PS1='\D{\x}'
PS1='$(x)'
PS1="$x"
PS1=$x
PS1="(venv) $PS1"
PS1=$(cat file)
PS1=${x:-'$ '}
PS1+='(x)'
PS1[0]+='(x)'
PS1=('\044(x)')
PS1=('> ')
PS3='\044(x)'
PS4='\044(x)'; set -x
PS4='$(x)' :
export PS1='\044(x)'
declare PS4='\044(x)'
declare PS1+='(x)'
declare "PS1+=(x)"
readonly PS3='`x`'
read PS1
read -r PS1 <<< '$(x)'
read -rp 'name? ' PS1
read -a PS1 <<< x
for PS1 in '$(x)'; do :; done
for PS1; do :; done
select PS1 in '$(x)'; do :; done
printf -v PS1 %s '$(x)'
printf -vPS4 x
: ${PS1:='\044(x)'}
: ${PS1='\044(x)'}
: "${PS4[0]:=x}"
mapfile PS1
mapfile -t PS1 < file
readarray PS4 < file
getopts x: PS1
wait -p PS1
exec {PS1}>file
coproc PS1 { :; }
PS2='> '
read PS0
declare -n p=PS1
""",
    "zsh": r"""
PROMPT='\044(x)'
PROMPT='$(x)'
RPROMPT='`x`'
PS1=$'\044(x)'
PROMPT="$x"
PROMPT+='(x)'
prompt='${x}'
PROMPT='$x[$i]'
PSVAR='$(x)'
RPS1='$(x)'
SPROMPT='$(x)'
PROMPT3='$(x)'
read PROMPT
read RPROMPT <<< x
for PROMPT in x; do :; done
: ${PROMPT::=x}
set -A PROMPT x
typeset -g PROMPT='$(x)'
typeset -T PROMPT p
print -v PROMPT x
""",
}
LET_PASS = {
    "bash": r"""
PS1='$ '
PS1='> '
PS1='\u@\h:\w\$ '
PS1='\[\033[01;32m\]\u@\h\[\033[00m\]:\[\033[01;34m\]\w\[\033[00m\]\$ '
PS1='\[\e[32m\]\w\[\e[0m\] \$ '
PS1='\342\234\223 \$ '
PS1='\D{%H:%M} \$ '
PS1="\u@\h \$ "
export PS1='$ '
PS1= bash --norc
PS1=
PS3='Which one? '
PS4='+ '
PS4='+ '; set -x; make; set +x
unset PS1
echo "$PS1"
echo ${PS1@Q}
PROMPT=$(cat prompt.txt); llm "$PROMPT"
read -r PROMPT
for prompt in a b; do echo "$prompt"; done
read -p 'prompt? ' prompt
grep PS1 ~/.bashrc
git commit -m 'PS1+=x and read PS1'
""",
    "zsh": r"""
PROMPT='%~ %# '
PS1='%n@%m %1~ %# '
RPROMPT='%T'
PROMPT='%F{green}%n%f %(?.ok.%?) '
PROMPT='%D{%H:%M} %# '
export PS1='$ '
echo $PROMPT
""",
    "fish": """
set PROMPT (cat prompt.txt)
read PROMPT
""",
}


def _cases(lines: dict[str, str]) -> list[tuple[str, str]]:
    return [(shell, line) for shell, text in lines.items() for line in text.strip().split("\n")]


@pytest.mark.parametrize(("shell", "line"), _cases(ASKED))
def test_a_prompt_that_may_run_code_is_asked_about(shell: str, line: str) -> None:
    assert touched_hook(line, shell=shell) is not None


@pytest.mark.parametrize(("shell", "line"), _cases(LET_PASS))
def test_a_plain_prompt_is_set_unasked(shell: str, line: str) -> None:
    assert touched_hook(line, shell=shell) is None
