"""Lines by which an agent got around the shell's question ask; what agents do every day does not."""

from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from duetty.config import Settings
from duetty.errors import PolicyDenied
from duetty.ops.judging.shell_hooks import touched_hook
from tests.engine import running_engine

ASKED = {
    "zsh": """
FUNCNEST=0
typeset -gi FUNCNEST=0
export FUNCNEST=0
(( FUNCNEST = 0 ))
let FUNCNEST=0
: ${FUNCNEST::=0}
print -v FUNCNEST 0
print -rv FUNCNEST 0
TRY_BLOCK_INTERRUPT=0
functions -c foo builtin
functions -u -m '_d*'
functions -M x
function foo builtin { return 0 }
foo builtin() { return 0 }
foo 'builtin' () { return 0 }
function $x { return 0 }
$x () { return 0 }
! unfunction -m '_d*'
- unfunction -m '_d*'
noglob unfunction -m _d*
nocorrect unfunction x
time unfunction -m '_d*'
time -p trap : CHLD
coproc unfunction x
repeat 1 unfunction x
{ unfunction x }
(unfunction x)
if unfunction -m '_d*'; then :; fi
while unfunction -m '_d*'; do :; done
! disable -f -m '_d*'
! unhash -fm '_d*'
unset -m 'FUN*'
unset -m -f '_d*'
typeset -fu -m '_d*'
typeset -m '_d*'
autoload -m '_d*'
autoload -Uz builtin
autoload -Uz $x
functions[builtin]=
functions+=(builtin :)
typeset 'functions[builtin]=:'
read 'functions[builtin]'
unset 'functions[x]'
: ${functions[builtin]::=:}
zstyle -s a b FUNCNEST
zmodload -F zsh/parameter -p:functions
zmodload -u zsh/parameter
pushln 'x'
print -z x
print -C 1 -z x
print -{n,z} x
print -nz x
print $o x
vared x
zle -U x
mailpath=('/x?$(y)')
MAILPATH='/x?$(y)'
NULLCMD=sh
${x}nction -m y
$x FUNCNEST
alias -g u=unfunction
set
typeset
typeset -p
declare -p
readonly
print "\\e]133;Q;nonce=1"
printf '\\e]13''3;A'
ulimit -n 3
limit descriptors 3
""",
    "bash": """
MAILPATH='/x?$(y)'
MAILCHECK=0
MAIL=/x
FUNCNEST=1
TMOUT=1
declare -n r
declare -n r=x
typeset -n r
local -n r
wait -p HISTCMD
wait -n -p HISTCMD
wait -np HISTCMD
wait -p $x
a[${x}S0=1]=2
a[$x=1]=2
(( ${x}S0 = 1 ))
(( $x++ ))
echo $(( $(echo x)CMD = 1 ))
x='HISTCMD=1'
coproc HISTCMD { :; }
exec {HISTCMD}>/dev/null
read $x
mapfile $x
printf -v $x y
ulimit -n 3
ulimit -Sn 3
ulimit -n3
ulimit -S -u 1
ulimit 0
ulimit -v $x
ulimit -f 0
set
set | grep x
declare
declare -p
declare -r
typeset
typeset -p
set -o posix; set
readonly -p
printf '\\e]133;A\\a'
compgen -W '$(x)'
compgen -C x
compgen -F x
alias builtin=true
alias kill=:
alias u=unset
alias u='true; command trap'
time -p trap : CHLD
$x HISTCONTROL=x
tr${x} : CHLD
function readonly { :; }
""",
    "fish": """
functions -e (functions -a | string match '*y_ask')
functions --erase (x)
functions -e $n
functions -e _due(x)
functions -c foo $n
functions -c foo kill
functions --copy foo printf
functions -e kill
functions (echo -e) x
alias kill=true
alias kill true
alias kill 'true'
alias (echo kill) true
function kill; end
function (echo kill); end
function $x; end
function x --on-signal INT; end
function x --on-event y; end
function x -e y; end
abbr -a gs git status
abbr gs git status
abbr --add gs git status
abbr -a x --function f
block -g
set
set -S
set --show
set -g
printf '\\e]133;A'
ulimit -n 3
ulimit --file-descriptor-count 3
""",
}

LET_PASS = {
    "zsh": """
ls
git status
stty sane
cd /tmp
export A=b
A=b make
set -e
set -euo pipefail
set -- a b
source venv/bin/activate
alias ll='ls -l'
alias h=history
unset X
unset x y
f() { print hello; }
function f { ls }
function f g { ls }
typeset x=1
declare -A m
declare -p NAME
typeset -p NAME
typeset -f
typeset -x
trap 'rm x' EXIT
print hello
print -l a b
print -r -- $x
print -u2 oops
print -P '%~'
print -C 2 a b
print -f '%s' z
read x
read -r x y
ulimit -a
ulimit -n
ulimit -c 0
limit
functions f
functions
autoload -Uz compinit
zmodload zsh/datetime
zmodload
wait
wait $pid
enabled=1
git commit -m 'fix print() and function to test'
echo $options[1]
x=(a b)
(( x = $y + 1 ))
(( $x == 1 ))
zstyle ':completion:*' menu select
$EDITOR file
repeat 3 echo hi
make functions
ls *(.)
sleep 133;ls
""",
    "bash": """
ls
git status
cd /tmp
export A=b
export -p
env
set -e
set -x
set -euo pipefail
source venv/bin/activate
alias ll='ls -l'
alias h=history
alias gs='git status' ..='cd ..'
unset X
f() { ls; }
function f { local x=1; echo $x; }
typeset x=1
declare x
declare -A m
declare -p NAME
declare -F
declare -f
declare -x A=b
readonly X=1
trap 'rm x' EXIT
read x
read -r -p 'name? ' x
mapfile -t rows
ulimit -a
ulimit -n
ulimit -Hn
ulimit -c unlimited
ulimit -t 60
wait
wait $!
wait -n
compgen -c
compgen -W 'a b' -- a
compgen -A function
(( x = $y + 1 ))
(( $x <= 3 ))
if (( $# == 1 )); then echo one; fi
a[$i]=5
map[$k]=v
a[i+1]=$x
for ((i=0; i<$n; i++)); do echo $i; done
[[ $x == 1 ]]
options=(a b)
functions=x
coproc cat
exec {log}>file
$CC -o x x.c
"$PYTHON" -m pytest
${CROSS}gcc x.c
x='a=b'
sleep 133;ls
echo mail
git commit -m 'set, declare and functions'
""",
    "fish": """
ls
git status
cd /tmp
set -x FOO bar
set -gx PATH $HOME/bin $PATH
set x 1
set -q x
set -e x
set -n
set -S x
set files (ls)
source venv/bin/activate.fish
alias ll='ls -l'
alias gs 'git status'
function f; ls; end
function f -a x y; ls; end
function greet --description 'says hi'; echo hi; end
function greet --description 'print a string'; echo hi; end
function g --wraps kill; kill $argv; end
functions
functions f
functions -q f
functions -e f
functions -c a b
abbr
abbr --list
abbr -s
abbr -e gs
read x
for f in *.py; echo $f; end
ulimit -a
ulimit -c 0
ulimit --core-size 0
math 1+1
git commit -m 'add a function to kill'
""",
}


def _cases(lines: dict[str, str]) -> list[tuple[str, str]]:
    return [(shell, line) for shell, text in lines.items() for line in text.strip().split("\n")]


@pytest.mark.parametrize(("shell", "line"), _cases(ASKED))
def test_a_line_that_disables_the_gate_is_seen(shell: str, line: str) -> None:
    assert touched_hook(line, shell=shell) is not None


@pytest.mark.parametrize(("shell", "line"), _cases(LET_PASS))
def test_what_agents_do_every_day_is_left_alone(shell: str, line: str) -> None:
    assert touched_hook(line, shell=shell) is None


@pytest.mark.parametrize(
    "line",
    [
        ": " + "a " * 700 + "; ! unfunction -m '_d*'",
        ": " + " " * 9000 + "; ! unfunction -m '_d*'",
        "cat <<'E' > x\n" + "some text\n" * 2000 + "E\n! unfunction -m '_d*'",
    ],
    ids=["words", "blanks", "document"],
)
def test_nothing_hides_behind_the_length_of_a_line(line: str) -> None:
    assert touched_hook(line, shell="zsh") is not None


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_long_document_is_not_taken_for_commands(shell: str) -> None:
    line = "cat <<'E' > x.py\n" + "some text\n" * 1000 + "unset = trap\n" * 300 + "E"

    assert touched_hook(line, shell=shell) is None


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize(
    ("shell", "keys"),
    [
        ("zsh", ["FUNCNEST=0\r"]),
        ("zsh", ["foo() { return 0; }\r", "functions -c foo builtin\r"]),
        ("zsh", ["! unfunction -m '_d*'\r"]),
        ("fish", ["functions -e (functions -a | string match '*y_ask')\r"]),
        ("fish", ["alias kill=true\r", "abbr -a zz (string sub -s 2 xtouch)\r"]),
    ],
)
async def test_no_line_runs_unasked_behind_one_that_prepares_a_way_around(
    home: Path, shell: str, keys: list[str]
) -> None:
    (home / "config.toml").write_text(
        '[[policy.rules]]\nname = "asks"\ndecide = "ask"\ncommand = ["touch **"]\n'
    )
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await engine.open(command=shell)
            await engine.run("true")
            for each in keys:
                await engine.call("input.write", session="s", data=each)
                await engine.call("session.wait", session="s", idle_ms=300, max_wait_ms=30_000)
            for each in ("touch made\r", "zz made\x01\r"):
                with suppress(
                    PolicyDenied
                ):  # a shell that says that it does not ask is not typed into
                    await engine.call("input.write", session="s", data=each)
                await engine.call("session.wait", session="s", idle_ms=300, max_wait_ms=30_000)

    assert not (home / "made").exists()
