"""Prompts that a program makes anew each time, hooked in as prompt makers do: results stay exact.

The rc files do by our own means what the widespread prompt makers are known to do: take over
`PROMPT_COMMAND`, keep `$?` and the codes of a pipeline for the prompt, measure the time with a DEBUG
trap, with `PS0` or with lists of functions, and let a program print the prompt over two lines.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from tests.engine import Engine, child_env, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.shells]

MAKER = r"""#!/bin/sh
# What prints a prompt: colours, a line of facts, a line to type in.
if [ "$1" = more ]; then printf '\033[2m... \033[0m'; exit; fi
printf '\n\033[1;36m%s\033[0m \033[33mcode=%s pipe=%s\033[0m\n\033[1;32m>\033[0m ' "$PWD" "$1" "$2"
"""

BASH_PRECMD = r"""
made_precmd() {
    made_code=$? made_pipe=("${PIPESTATUS[@]}")
    local jobs=0 job
    for job in $(jobs -p); do ((jobs++)); done
    eval "${made_kept-}"
    [[ -n ${made_start-} ]] && made_took=$((SECONDS - made_start))
    unset made_start
    PS1="$(~/maker "$made_code" "${made_pipe[*]}")"
    PS2="$(~/maker more)"
    made_ready=1
}
"""
BASH_TRAP = r"""
made_preexec() {
    local last=$1
    if [[ ${made_ready-} == 1 ]]; then made_ready=0; made_start=$(echo $SECONDS); fi
    : "$last"
}
trap 'made_preexec "$_"' DEBUG
"""
BASH_LISTS = r"""
# As libraries of hooks do: lists of functions, told by the DEBUG trap and PROMPT_COMMAND.
hooks_within=0
hooks_exec() {
    hooks_last=$1
    ((hooks_within)) && return
    local hooks_within=1
    [[ -t 1 && -n ${hooks_asking-} ]] || return
    ((BASH_SUBSHELL)) || hooks_asking=
    local line each
    line=$(HISTTIMEFORMAT= builtin history 1 | sed '1 s/^ *[0-9][0-9]*[* ] //')
    for each in "${preexec_functions[@]}"; do "$each" "$line"; done
    (exit 0); : "$hooks_last"
}
hooks_code() { return "$1"; }
hooks_cmd() {
    hooks_was=$? BP_PIPESTATUS=("${PIPESTATUS[@]}")
    ((hooks_within)) && return
    local hooks_within=1 each
    for each in "${precmd_functions[@]}"; do hooks_code "$hooks_was"; "$each"; done
}
hooks_begin() {
    trap 'hooks_exec "$_"' DEBUG
    PROMPT_COMMAND=$'hooks_cmd\nhooks_asking=on'
    hooks_cmd
    hooks_asking=on
}
PROMPT_COMMAND=$'trap - DEBUG\nhooks_begin'
preexec_functions+=(made_preexec_of_lists)
made_preexec_of_lists() { made_start=$SECONDS; }
made_precmd_of_lists() {
    local code=$?
    PS1="$(~/maker "$code" "${BP_PIPESTATUS[*]}")"
    PS2="$(~/maker more)"
}
precmd_functions+=(made_precmd_of_lists)
"""

RC_FILES = {
    "bash, a DEBUG trap": (".bashrc", BASH_PRECMD + BASH_TRAP + "PROMPT_COMMAND=made_precmd\n"),
    "bash, a DEBUG trap, with what was there before kept within": (
        ".bashrc",
        "PROMPT_COMMAND='history -a; printf \"\\e]0;title\\a\"'\n"
        + BASH_PRECMD
        + BASH_TRAP
        + "made_kept=$PROMPT_COMMAND; PROMPT_COMMAND=made_precmd\n",
    ),
    "bash, PS0 with arithmetic": (
        ".bashrc",
        BASH_PRECMD
        + "made_nothing=('')\n"
        + "PS0='${made_nothing[made_start=SECONDS,made_ready=0,0]}'\"${PS0-}\"\n"
        + "PROMPT_COMMAND=made_precmd\n",
    ),
    "bash, PS0 with a substitution": (
        ".bashrc",
        BASH_PRECMD
        + "PS0='${made_start:$((made_start=$(echo $SECONDS),0)):0}'\n"
        + 'PROMPT_COMMAND="${PROMPT_COMMAND:+$PROMPT_COMMAND;}made_precmd"\n',
    ),
    "bash, lists of functions": (".bashrc", BASH_LISTS),
    "zsh": (
        ".zshrc",
        r"""
zmodload zsh/parameter zsh/datetime zsh/mathfunc
made_precmd() {
    made_code=$? made_pipe=(${pipestatus[@]})
    if (( ${+made_start} )); then
        made_took=$(( int(rint(EPOCHREALTIME * 1000)) - made_start ))
        unset made_start
    fi
    made_jobs=${#jobstates[*]}
}
made_preexec() { (( made_start = int(rint(EPOCHREALTIME * 1000)) )) }
autoload -Uz add-zsh-hook
add-zsh-hook precmd made_precmd
add-zsh-hook preexec made_preexec
made-keymap() { zle reset-prompt }
zle -N zle-keymap-select made-keymap
setopt promptsubst
PROMPT='$(~/maker "$made_code" "$made_pipe[*]")'
RPROMPT='$(echo right)'
PROMPT2="$(~/maker more)"
""",
    ),
    "zsh, lists of functions set by hand": (
        ".zshrc",
        r"""
typeset -ga precmd_functions preexec_functions
made_precmd() {
    local code=$? pipe=($pipestatus)
    PROMPT="$(~/maker $code "$pipe")"
}
made_preexec() { print -Pn '\e]0;%n: $1\a' }
[[ -z ${precmd_functions[(re)made_precmd]-} ]] && precmd_functions=($precmd_functions made_precmd)
[[ -z ${preexec_functions[(re)made_preexec]-} ]] && preexec_functions=($preexec_functions made_preexec)
""",
    ),
    "fish": (
        ".config/fish/config.fish",
        r"""
function fish_prompt
    set made_pipe $pipestatus
    set made_code $status
    ~/maker $made_pipe[-1] "$made_pipe"
end
function fish_right_prompt
    echo right
end
builtin functions -e fish_mode_prompt
""",
    ),
    "dash": (".shinit", "PS1='$(~/maker $? \"\")'\nPS2='$(~/maker more)'\n"),
}

LINES = [
    ("true", 0, ""),
    ("false", 1, ""),
    ("sleep 0.3; echo done", 0, "done"),
    ("printf 'b\\na\\n' | sort", 0, "a\nb"),
    ("printf 'no newline'", 0, "no newline"),
    ("printf '\\033[2J\\033[H'; echo after", 0, "after"),
    ("printf '\\033]133;D;0\\007'; printf '\\033]133;A\\007'; echo forged; false", 1, "forged"),
    ("sh -c 'exit 3'", 3, ""),
    ("cd /tmp", 0, ""),
    ("echo out", 0, "out"),
    ("echo one\necho two", 0, "one\ntwo"),
]
PIPES = {
    "bash": ("false | (exit 3)", 'echo "$? ${PIPESTATUS[*]}"', "3 1 3", "code=3 pipe=1 3"),
    "zsh": ("false | (exit 3)", 'echo "$? $pipestatus"', "3 1 3", "code=3 pipe=1 3"),
    "fish": (
        "false | sh -c 'exit 3'",
        'echo "$status $pipestatus"',
        "3 1 3",
        "code=3 pipe=1 3",
    ),
    "dash": ("(exit 3)", "echo $?", "3", "code=3"),
}


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    # Only plain shells read it.
    env = child_env(home) | {"ENV": str(home / ".shinit")}
    async with running_engine(home, env=env) as engine:
        with anyio.fail_after(60):
            yield engine


@pytest.mark.parametrize("prompt", RC_FILES)
@pytest.mark.sampled(2)
async def test_a_prompt_that_a_program_makes_costs_no_result_its_exactness(
    engine: Engine, home: Path, prompt: str
) -> None:
    shell = prompt.split(",", maxsplit=1)[0]
    name, text = RC_FILES[prompt]
    maker, rc = home / "maker", home / name
    maker.write_text(MAKER)
    maker.chmod(0o755)
    rc.parent.mkdir(parents=True, exist_ok=True)
    rc.write_text(text)
    await engine.open(command=shell)

    done = [await engine.run(line) for line, *_ in LINES]
    line, ask, told, shown = PIPES[shell]
    piped = await engine.run(line)
    # The prompt comes after the answer.
    await engine.call("session.wait", session="s", text=shown, max_wait_ms=30_000)
    asked = await engine.run(ask)
    job = await engine.run("sleep 100 &")

    for (line, code, output), run in zip(LINES, done, strict=True):
        assert (run.exit_code, run.completed_by) == (code, "mark"), line
        assert run.output.strip("\n") == output, line
    assert done[8].cwd == done[9].cwd == "/tmp"
    assert piped.exit_code == 3
    assert asked.output.strip() == told
    assert (job.exit_code, job.completed_by) == (0, "mark")


@pytest.mark.parametrize(
    ("shell", "line", "said"),
    [
        ("zsh", "fi", "zsh: parse error near `fi'"),
        ("zsh", "done; echo x", "zsh: parse error near `done'"),
        ("bash", "", ""),
        ("zsh", "", ""),
        ("fish", "", ""),
    ],
)
async def test_what_a_shell_says_to_a_line_that_it_does_not_run_is_the_output(
    engine: Engine, shell: str, line: str, said: str
) -> None:
    await engine.open(command=shell)

    answer = await engine.run(line)
    after = await engine.run("echo next")

    assert (answer.completed_by, answer.exit_code, answer.output) == ("mark", None, said)
    assert answer.state == "prompt"
    assert (after.exit_code, after.output) == (0, "next")


@pytest.mark.parametrize(
    ("shell", "rc"),
    [("zsh", "unset zle_bracketed_paste"), ("bash", "bind 'set enable-bracketed-paste off'")],
)
async def test_an_editor_without_pastes_is_given_line_after_line(
    engine: Engine, home: Path, shell: str, rc: str
) -> None:
    (home / f".{shell}rc").write_text(f"{rc}\n")
    await engine.open(command=shell)

    answer = await engine.run("echo one\nsleep 0.1\nfalse")
    loop = await engine.run("for i in 1 2\ndo echo $i\ndone")
    after = await engine.run("echo next")

    assert (answer.exit_code, answer.output) == (1, "one")
    assert (loop.exit_code, loop.output) == (0, "1\n2")
    assert (after.exit_code, after.output) == (0, "next")


async def test_a_plain_shell_is_given_no_pastes_whatever_a_program_left_on(engine: Engine) -> None:
    await engine.open(command="dash")
    await engine.run("printf '\\033[?2004h'")

    answer = await engine.run("echo one\necho two")

    assert (answer.exit_code, answer.output) == (0, "one\ntwo")


async def test_a_prompt_that_nobody_sees_costs_no_exit_code(engine: Engine, home: Path) -> None:
    await engine.open(command="bash", cwd=str(home))
    await engine.run("exec 2>errors")

    answer = await engine.run("echo a; (exit 3)")

    assert (answer.completed_by, answer.exit_code, answer.output) == ("mark", 3, "a")


async def test_what_a_job_printed_before_is_not_the_line_of_a_plain_shell(engine: Engine) -> None:
    session = await engine.open(command="dash")
    await engine.run("sh -c 'sleep 0.2; echo LATER' &")
    await engine.call("session.wait", session="s", text="LATER")

    answer = await engine.run("echo next")

    assert answer.output.splitlines()[0] == "next"
    assert session.recent[-1].command_line == "echo next"
