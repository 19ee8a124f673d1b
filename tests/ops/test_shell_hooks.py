"""Lines that would switch the shell's question off are asked about while it is still asked."""

from pathlib import Path

import anyio
import pytest

from duetty.config import Settings
from duetty.errors import PolicyDenied
from duetty.ops.shell_hooks import touched_hook
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
        ("bash", "bind 'set enable-bracketed-paste off'"),
        ("bash", "trap 'rm tmp' EXIT"),
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
    ],
)
def test_a_line_that_does_not_is_left_alone(shell: str, line: str) -> None:
    assert touched_hook(line, shell=shell) is None


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
