"""Lines that would switch the shell's question off are asked about while it is still asked."""

from pathlib import Path

import anyio
import pytest

from duetty.config import Settings
from duetty.errors import PolicyDenied
from duetty.ops.judging.shell_hooks import touched_hook
from tests.engine import running_engine

GUARDED = Settings(session_grace_ms=300, policy_profile="guarded")


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "PS0="),
        ("bash", "unset PS0"),
        ("bash", "export PROMPT_COMMAND=true"),
        ("bash", "unset -f _duetty_ask"),
        ("bash", "shopt -u promptvars"),
        ("bash", "trap '' INT"),
        ("bash", "trap 'true' DEBUG"),
        ("bash", "shopt -s extdebug"),
        ("bash", "bind -x '\"\\C-t\": ls'"),
        ("bash", "bind -m emacs -x '\"\\C-t\": ls'"),
        ("bash", "builtin() { :; }"),
        ("bash", "function kill { :; }"),
        ("bash", "true; kill () { :; }"),
        ("bash", "enable -n kill"),
        ("bash", "fc"),
        ("bash", "fc -s"),
        ("bash", "true && fc -e vi"),
        ("bash", "command fc -s"),
        ("bash", "exec bash --norc"),
        ("bash", "sh -c 'true'; exec bash --norc"),
        ("bash", "eval sh -c 'true; exec bash'"),
        ("bash", "echo \"; sh -c 'a\"; exec bash; '"),
        ("bash", "eval 'exec bash --norc'"),
        ("bash", "eval exec bash"),
        ("bash", "command exec bash"),
        ("bash", "builtin exec -l bash"),
        ("bash", "\\exec bash"),
        ("bash", "e'x'ec bash"),
        ("bash", "$'\\x65xec' bash"),
        ("bash", "if true; then exec bash; fi"),
        ("bash", "for x in 1; do exec bash; done"),
        ("bash", "time exec bash"),
        ("bash", "! exec bash"),
        ("bash", "A=1 exec bash"),
        ("bash", "true\nexec bash"),
        ("bash", "sh() { eval \"$2\"; }; sh -c 'exec bash'"),
        ("bash", "alias sh=eval; sh -c 'exec bash'"),
        ("bash", "sh -c 'true' && exec zsh"),
        ("zsh", "noglob exec zsh -f"),
        ("fish", "true; and exec fish --no-config"),
        ("fish", "begin; exec fish; end"),
        ("zsh", "r"),
        ("zsh", "r rm"),
        ("zsh", "fc -e vim"),
        ("zsh", "preexec_functions=()"),
        ("zsh", "add-zsh-hook -d preexec x"),
        ("zsh", "zle -N widget"),
        ("fish", "bind \\ct 'ls'"),
        ("fish", "functions --erase _duetty_preexec"),
        ("fish", "function test; return 0; end"),
        ("fish", "set fish_key_bindings fish_vi_key_bindings"),
        ("bash", "enable '-n' kill"),
        ("bash", "enable $x kill"),
        ("bash", "true && enable -f x kill"),
        ("bash", "unset -f fc"),
        ("bash", "unset -vf fc"),
        ("bash", 'printf -v _due""tty_gate %s /tmp/x'),
        ("bash", "shopt -u prompt''vars"),
        ("bash", "shopt -u prompt\\vars"),
        ("bash", "for f in $DUETTY_HOME/run/default/scratch/*; do echo 2 | tee $f; done"),
        ("bash", "echo 2 > ~/.local/state/duetty/x.gate.armed"),
        ("bash", "bind '\"\\C-t\": shell-expand-line'"),
        ("bash", "bind -f keys"),
        ("zsh", "disable kill"),
        ("zsh", "unfunction -m '_d*run'"),
        ("zsh", "typeset -g _due''tty_gate=/tmp/g"),
        ("zsh", "bindkey '^T' expand-word"),
        ("zsh", "bindkey -s '^T' 'x'"),
        ("zsh", "bindkey -M vicmd t expand-word"),
        ("fish", "set -g _due''tty_gate /tmp/g"),
        ("fish", "set (set -n | string match '*tty_gate') x"),
        ("fish", "set -g $name x"),
        ("bash", "histchars=@"),
        ("zsh", "histchars=@^#"),
        ("zsh", "HISTCHARS=@"),
        ("bash", "HISTCMD=n--"),
        ("bash", "unset HISTCMD"),
        ("bash", "HISTCONTROL=ignorespace"),
        ("bash", "HISTIGNORE+=':rm*'"),
        ("bash", "HISTSIZE=0"),
        ("bash", "true && HISTCONTROL=x"),
        ("bash", "HISTCONTROL=x :"),
        ("bash", "export HISTCONTROL=ignoreboth"),
        ("bash", "declare -r HISTCMD=1"),
        ("bash", "read HISTCONTROL <<< ignorespace"),
        ("bash", "mapfile HISTCONTROL < x"),
        ("bash", "getopts a HISTCMD"),
        ("bash", "let HISTCMD=1"),
        ("bash", "((HISTCMD=1))"),
        ("bash", "echo $((HISTCMD++))"),
        ("bash", "for histchars in @; do :; done"),
        ("bash", ": ${histchars:=@}"),
        ("bash", "n=histchars; : ${!n:=@}"),
        ("zsh", ": ${(P)n::=@}"),
        ("bash", "declare -n r=HISTCMD; r=1"),
        ("bash", "v=PS; printf -v ${v}0 ''"),
        ("bash", "printf -v ${v}0 ''"),
        ("bash", "printf -vHISTCMD 1"),
        ("bash", 'declare "$name=x"'),
        ("bash", "v=HIST; export ${v}CONTROL=x"),
        ("bash", "eval 'HISTCONTROL=x'"),
        ("bash", "eval eval eval eval eval eval true"),
        ("bash", "alias x='trap : CHLD'"),
        ("bash", "f() { HISTCMD=1; }"),
        ("bash", "PS2='$(x)'"),
        ("bash", "PS1='$(x)'"),
        ("bash", 'PS1="\\$(x)"'),
        ("bash", "export PS1='`x`'"),
        ("zsh", "PROMPT='$(x)'"),
        ("bash", "BASH_ENV=x"),
        ("bash", "trap : 17"),
        ("bash", "trap 'echo T' CHLD"),
        ("bash", "trap : SIGUSR1"),
        ("bash", "trap : EXIT CHLD"),
        ("bash", "trap -- : WINCH"),
        ("bash", "tr'a'p : ALRM"),
        ("bash", "$'tr\\x61p' : ALRM"),
        ("bash", "x=tr; ${x}ap : ALRM"),
        ("bash", "if true; then command trap : 10; fi"),
        ("bash", "bind $'\"\\\\C-g\"\\x3ashell-expand-line'"),
        ("bash", "bind 'set enable-bracketed-paste off'"),
        ("bash", "bind 'set editing-mode vi'"),
        ("zsh", "$'bind\\x6bey' '^G' expand-word"),
        ("zsh", "zle -A expand-word self-insert"),
        ("bash", "shopt -s localvar_inherit"),
        ("bash", "shopt -u cmdhist"),
        ("bash", "shopt -s lithist"),
        ("bash", "shopt -s globstar histverify"),
        ("bash", "shopt -so posix"),
        ("bash", "set -o vi"),
        ("bash", "set +o history"),
        ("bash", "set -o posix"),
        ("bash", "set -r"),
        ("zsh", "setopt prompt_subst"),
        ("zsh", "set -o bang_hist"),
        ("zsh", "set -A precmd_functions x"),
        ("zsh", "functions[kill]=:"),
        ("zsh", "options[promptsubst]=on"),
        ("zsh", "emulate sh"),
        ("zsh", "zle_bracketed_paste="),
        ("zsh", "zstyle -e ':completion:*' completer 'x'"),
        ("bash", "complete -C 'x' foo"),
        ("bash", "complete -W '$(x)' foo"),
        ("fish", "complete -c foo -a '(x)'"),
        ("fish", "complete -c foo -n 'x'"),
        ("fish", "abbr -a x --function f"),
        ("fish", "commandline -r 'ls (x)'"),
        ("fish", "commandline -f execute"),
        ("fish", "b\\x69nd \\cg x"),
        ("fish", "set -g fish_bind_mode default"),
        ("fish", "set -e fish_key_bindings"),
        ("bash", "history -s 'x'"),
        ("zsh", "echo $HOME['a[$(x)]']"),
        ("zsh", "alias -s txt=rm"),
        ("zsh", "alias -s py=python3"),
        ("zsh", "alias -gs txt=rm"),
        ("fish", "read -p 'x y' z"),
        ("fish", "read -lp $q z"),
        ("fish", "read --prompt='x y' z"),
        ("fish", "read -R 'x y' z"),
        ("fish", "argparse $q -- -x1"),
    ],
)
def test_a_line_that_touches_the_hooks_is_seen(shell: str, line: str) -> None:
    assert touched_hook(line, shell=shell) is not None


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "echo hello"),
        ("bash", "fc -l"),
        ("bash", "fc -ln -5"),
        ("bash", "export PS1='$ '"),
        ("bash", "bind 'set completion-ignore-case on'"),
        ("bash", "trap 'rm tmp' EXIT"),
        ("bash", "trap 'rm -f \"$tmp\"' EXIT; make"),
        ("bash", "trap -p"),
        ("bash", "trap - EXIT"),
        ("bash", "set -euo pipefail"),
        ("bash", "set -x; make; set +x"),
        ("bash", "set +H"),
        ("bash", "set -- a b; echo $1"),
        ("bash", "set -o"),
        ("bash", "shopt -s globstar nullglob"),
        ("bash", "shopt -p"),
        ("bash", "options=(a b); echo ${options[0]}"),
        ("bash", "for x in 1 2; do echo $((x+1)); done"),
        ("bash", 'read -p "$msg" answer'),
        ("bash", 'while read -r line; do echo "$line"; done < file'),
        ("bash", 'while getopts ab: opt "$@"; do :; done'),
        ("bash", 'local x=$1; export A=$x B="$y"'),
        ("bash", "declare -A map; map[$k]=v"),
        ("bash", "printf '%s\\n' \"$x\""),
        ("bash", "printf -v out '%s' \"$x\""),
        ("bash", "mapfile -t rows < <(ls)"),
        ("bash", "unset x y"),
        ("bash", "PS1='> ' bash --norc"),
        ("bash", "HISTFILE= mysql"),
        ("bash", "git commit -m 'trap and bind; shopt too'"),
        ("bash", "alias ll='ls -l' gs='git status'"),
        ("bash", 'eval "$(ssh-agent -s)"'),
        ("bash", "history 10"),
        ("bash", "echo $HISTCMD $HISTSIZE"),
        ("bash", "complete -p"),
        ("zsh", "setopt extended_glob no_nomatch"),
        ("zsh", "PROMPT='%~ %# '"),
        ("fish", "set -U fish_greeting"),
        ("fish", "complete -c foo -a 'one two'"),
        ("fish", "read -P 'name? ' name"),
        ("bash", "exec 3>log"),
        ("bash", "exec >log 2>&1"),
        ("bash", "find . -exec ls {} +"),
        ("bash", "r"),
        ("bash", "cargo test"),
        ("bash", "docker exec box ls"),
        ("bash", "exec {log}>file"),
        ("bash", "exec 3<&-"),
        ("bash", "echo exec it"),
        ("bash", "git commit -m 'then exec it'"),
        ("bash", "xargs sh -c 'exec ls'"),
        ("bash", "sh -c 'cd /; exec ls'"),
        ("bash", "cd / && bash -lc 'echo a''b; exec ls' | wc"),
        ("bash", "build() { make; }"),
        ("zsh", "rg pattern"),
        ("zsh", "bindkey -e"),
        ("fish", "function greet; echo hi; end"),
        ("fish", "binding=1 make"),
        ("fish", "set -g name $value"),
        ("fish", "set -x PATH $HOME/bin $PATH"),
        ("fish", "set files (ls)"),
        ("bash", "export PATH=$PATH:/x"),
        ("bash", "unset x"),
        ("bash", "set -e; make"),
        ("bash", "git config --unset user.name"),
        ("bash", "systemctl --user enable x"),
        ("bash", "bind -p"),
        ("bash", "bind -l"),
        ("zsh", "bindkey"),
        ("zsh", "bindkey -L"),
        ("zsh", "bindkey -v"),
        ("zsh", 'echo $path[1] "a"'),
        ("zsh", "alias ls='ls -s'"),
        ("fish", "read -P 'name: ' x"),
        ("fish", "read --prompt-str 'name: ' x"),
        ("fish", "argparse h/help -- $argv"),
    ],
)
def test_a_line_that_does_not_is_left_alone(shell: str, line: str) -> None:
    assert touched_hook(line, shell=shell) is None


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "trap : 17"),
        ("bash", "shopt -s localvar_inherit"),
        ("bash", "v=PS; printf -v ${v}0 ''"),
        ("zsh", "histchars=@^#"),
        ("zsh", "$'bind\\x6bey' '^G' expand-word"),
        ("fish", "commandline -r 'ls (touch made)'"),
    ],
)
async def test_a_line_that_prepares_a_way_around_is_refused_where_nobody_can_be_asked(
    home: Path, shell: str, line: str
) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            session = await engine.open(command=shell)
            await engine.run("true")
            with pytest.raises(PolicyDenied):
                await engine.run(line)
            await engine.call("input.write", session="s", data=line + "\r")
            while not any("not run" in str(row) for row in session.screen(styled=False).lines):
                await session.pulse.wait()


@pytest.mark.anyio
@pytest.mark.pty
async def test_an_agents_line_that_touches_them_asks_run_or_typed(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            session = await engine.open(command="bash")
            with pytest.raises(PolicyDenied, match="runs before a line"):
                await engine.run("PS0=")
            await engine.call("input.write", session="s", data="fc -s\r")
            while not any(
                "a line of history" in str(row) for row in session.screen(styled=False).lines
            ):
                await session.pulse.wait()
            await engine.call("session.wait", session="s", state=["prompt"], max_wait_ms=30_000)
            ran = await engine.run("echo fine")

            assert ran.output == "fine"
