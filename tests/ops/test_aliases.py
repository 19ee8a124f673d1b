"""An alias after which lines mean something else than they say is asked about."""

import pytest

from duetty.calls import Actor, Effect
from duetty.ops.judging.shell_hooks import touched_hook
from duetty.ops.rulebook.in_force import SHIPPED_RULES
from duetty.policy import Allow, Judged, Profile, decide

ASKED = {
    "bash": """
alias ls=
alias ls=''
alias ls=' '
alias ls='#'
alias ls='ls #'
alias ls='ls;#'
alias ls='ls -l # x'
alias :='#'
alias for='#'
alias if='ls'
alias do=:
alias in=x
alias '{=ls #'
alias '}=ls'
alias '[=ls'
alias '[[=ls'
alias !='ls'
alias gs='git status' ls=
alias -- ls=
builtin alias ls=
alias ls='ls;'
alias ls='ls &'
alias ls='ls |'
alias ls='ls &&'
alias ls='ls >'
alias ls='('
alias ls='cat <<'
alias ls='cat <<E'
alias e="echo '"
alias e='echo "'
alias e='echo `'
alias e='echo \\'
alias e=$'ls\\nls'
alias $x=ls
eval 'alias ls='
""",
    "zsh": """
alias ls=
alias ls='ls #'
alias -g x=
alias -g x='#'
alias -g L='| less'
alias -g x=y
alias -gr x=y
alias -s txt=
alias for=ls
""",
    "fish": """
alias ls ' '
alias ls=' '
alias ls ';'
alias for 'ls'
""",
}
LET_PASS = {
    "bash": """
alias
alias -p
alias ls
alias ll='ls -l' la='ls -A'
alias gs='git status'
alias ..='cd ..' ...='cd ../..'
alias -- -='cd -'
alias gd='git status && git diff'
alias l='ls | head'
alias x="grep '#'"
alias x='grep "#" f'
alias x='grep \\# f'
alias c='git log main#1'
alias up='cd ..; ls'
alias e='echo > /dev/null'
alias today='date +%F'
alias h='history'
unalias ls
git commit -m 'alias ls='
""",
    "zsh": """
alias
alias -g
alias ll='ls -l'
alias gd='git status && git diff'
""",
    "fish": """
alias
alias ll='ls -l'
alias ll 'ls -l'
alias gs 'git status'
alias x 'grep "#" f'
""",
}


def _cases(lines: dict[str, str]) -> list[tuple[str, str]]:
    return [(shell, line) for shell, text in lines.items() for line in text.strip().split("\n")]


def _asks(line: str, shell: str) -> bool:
    judged = Judged(
        operation="input.line",
        effect=Effect.INPUT,
        actor=Actor(kind="agent", name="t"),
        command_line=line,
        is_expanded=True,
    )
    decision = decide(judged, SHIPPED_RULES, Profile.GUARDED, can_ask=True)
    return touched_hook(line, shell=shell) is not None or not isinstance(decision, Allow)


@pytest.mark.parametrize(("shell", "line"), _cases(ASKED))
def test_an_alias_that_changes_the_grammar_is_asked_about(shell: str, line: str) -> None:
    assert _asks(line, shell)


@pytest.mark.parametrize(("shell", "line"), _cases(LET_PASS))
def test_an_alias_for_a_command_is_made_unasked(shell: str, line: str) -> None:
    assert not _asks(line, shell)
