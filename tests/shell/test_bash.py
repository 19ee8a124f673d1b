"""What users do to bash, and the marks all the same."""

from pathlib import Path

import pytest

from duetty.shell import MarkKind
from tests.shell.real import NONCE, Ran, RealShell, kinds, open_shell

pytestmark = pytest.mark.shells

PREEXEC = r"""
before() { [[ -n $ready ]] || return; ready=; printf '<before %s>' "$BASH_COMMAND"; }
after() { printf '<after>'; ready=1; }
trap before DEBUG
PROMPT_COMMAND=after
"""

DYNAMIC = r"""PROMPT_COMMAND='PS1="[$(echo $?)] "'"""

RC_FILES = {
    "nothing": "",
    "a string": "PROMPT_COMMAND='echo \"<$?>\"'",
    "an array": "PROMPT_COMMAND=('echo \"<$?>\"' 'echo two')",
    "a prompt made anew each time": DYNAMIC,
    "a prompt made anew by the last of several": "PROMPT_COMMAND=(true 'PS1=\"$RANDOM \"')",
    "a failing prompt": "PROMPT_COMMAND='nosuch_prompt; false'",
    "a prompt that breaks off": "PROMPT_COMMAND='set -u; echo $nosuch_variable'",
    "a prompt that is no command": "PROMPT_COMMAND='echo ('",
    "its own PS0": "PS0='<run>\\n'",
    "a DEBUG trap": "trap 'last=$BASH_COMMAND' DEBUG",
    "a DEBUG trap inherited by functions": "set -T; trap 'last=$BASH_COMMAND' DEBUG",
    "preexec by DEBUG trap": PREEXEC,
    "an ERR trap": "set -E; trap 'echo ERR' ERR",
    "nounset": "set -u",
    "errexit where nothing fails": "set -e; trap 'echo EXIT' EXIT; set +e",
    "allexport": "set -a",
    "vi keys": "set -o vi",
    "no clobbering": "set -C",
    "case-blind patterns": "shopt -s nocasematch extglob nullglob failglob",
    "aliases of builtins": "alias printf=false local=false read=false builtin=false set=false",
    "functions named as builtins": "history() { false; }; printf() { false; }; read() { false; }",
    "odd separators": "IFS=';[0'",
    "a prompt of several lines": "PS1='\\u\\n\\[\\e[1m\\]$ \\[\\e[m\\]'",
    "exported prompts": "export PS0 PS1 PS2 PROMPT_COMMAND",
    "history times": "HISTTIMEFORMAT='%F %T '",
    "a short history": "HISTSIZE=2",
    "shared history": "PROMPT_COMMAND='history -a; history -c; history -r'",
    "an early return": "return 1",
    "posix mode": "set -o posix",
}


@pytest.mark.parametrize("rc", RC_FILES)
@pytest.mark.sampled(3)
def test_marks_come_whatever_the_rc_file_does(tmp_path: Path, rc: str) -> None:
    (tmp_path / ".bashrc").write_text(RC_FILES[rc] + "\n")

    with open_shell(tmp_path, "bash") as shell:
        rans = [shell.run(line) for line in ("true", "(exit 3)", "echo $? \\;", "cd /", "echo )")]
        empty = shell.enter("\n")

    assert [(ran.kinds, ran.exit_code, ran.cwd, ran.command_line) for ran in rans] == [
        ("CDAB", 0, str(tmp_path), "true"),
        ("CDAB", 3, str(tmp_path), "(exit 3)"),
        ("CDAB", 0, str(tmp_path), "echo $? \\;"),
        ("CDAB", 0, "/", "cd /"),
        ("DAB", 2, "/", "echo )"),
    ]
    assert rans[2].output.endswith(b"3 ;\r\n")
    assert empty == "AB"
    assert NONCE.encode() not in shell.output.replace(b";nonce=" + NONCE.encode(), b"")


@pytest.mark.parametrize(
    "rc", ["a string", "an array", "a failing prompt", "preexec by DEBUG trap"]
)
def test_the_end_is_announced_before_the_users_prompt_command(tmp_path: Path, rc: str) -> None:
    (tmp_path / ".bashrc").write_text(RC_FILES[rc] + "\n")

    with open_shell(tmp_path, "bash") as shell:
        ran = shell.run("echo out; (exit 4)")

    assert ran.exit_code == 4
    assert ran.output.endswith(b"out\r\n")


def test_the_users_prompt_command_sees_the_users_status(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text(
        "PROMPT_COMMAND=('echo \"<$? ${PIPESTATUS[*]}>\"' 'echo \"<$? ${PIPESTATUS[*]} $_>\"')\n"
    )

    with open_shell(tmp_path, "bash") as shell:
        shell.run("true arg | (exit 5)")
        shell.run("false | true last")

    assert shell.output.count(b"<5 0 5>") == 1
    assert b"<5 0 5 " in shell.output
    assert shell.output.count(b"<0 1 0>") == 1


def test_the_users_own_ps0_is_shown_once_before_each_command(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("PS0='<about to run>\\n'\n")

    with open_shell(tmp_path, "bash") as shell:
        shell.run("echo one")
        shell.run("echo two")

    assert shell.output.count(b"<about to run>") == 2


def test_the_users_preexec_sees_the_users_commands_only(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text(PREEXEC)

    with open_shell(tmp_path, "bash") as shell:
        shell.run("echo one")
        shell.run("echo two")

    before = [part.split(b">")[0] for part in shell.output.split(b"<before ")[1:]]
    assert before == [b"echo one", b"echo two"]


@pytest.mark.parametrize(
    "line",
    [
        "PROMPT_COMMAND='echo \"<new>\"'",
        'PROMPT_COMMAND="echo \\"<new>\\";$PROMPT_COMMAND"',
        "PROMPT_COMMAND=('echo \"<new>\"')",
        "PROMPT_COMMAND+=('echo \"<new>\"')",
        "unset PROMPT_COMMAND; new='<new>'",
        "PS0='<new>'",
        "PS0=; PS2=; new='<new>'",
        'PS1="<new>$PS1"',
        "PS1='<new>'",
        "trap 'printf \"<new>\"' DEBUG",
        DYNAMIC.replace("[$(", "<new>[$("),
    ],
)
@pytest.mark.parametrize("rc", ["nothing", "a string", "an array", "a prompt made anew each time"])
@pytest.mark.sampled(4)
def test_marks_survive_a_line_that_takes_them_away(tmp_path: Path, rc: str, line: str) -> None:
    (tmp_path / ".bashrc").write_text(RC_FILES[rc] + "\n")

    with open_shell(tmp_path, "bash") as shell:
        changing = shell.run(f"{line}; (exit 6)")
        rans = [shell.run("(exit 3)"), shell.run("true"), shell.run("(exit 5)")]

    assert changing.exit_code == 6
    assert [(ran.kinds, ran.exit_code) for ran in rans] == [("CDAB", 3), ("CDAB", 0), ("CDAB", 5)]
    made_anew = rc == "a prompt made anew each time" and line.startswith("PS1")
    assert b"<new>" in shell.output[shell.trusted[-6].start :] or "new='" in line or made_anew


def test_a_prompt_command_that_was_replaced_does_not_come_back(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text('PROMPT_COMMAND=\'echo "<o""ld>"\'\n')

    with open_shell(tmp_path, "bash") as shell:
        shell.run('PROMPT_COMMAND=\'echo "<n""ew>"\'')
        at = len(shell.output)
        shell.run("true")

    assert b"<new>" in shell.output[at:]
    assert b"<old>" not in shell.output[at:]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("PROMPT_COMMAND=first", b"<new 4>"),
        ("PROMPT_COMMAND=(first 'echo \"<two>\"')", b"<new 4>\r\n<two>"),
        (
            "PROMPT_COMMAND=(first 'echo \"<two>\"' 'echo \"<three>\"')",
            b"<new 4>\r\n<two>\r\n<three>",
        ),
    ],
)
def test_a_prompt_command_that_replaces_itself_is_gone(
    tmp_path: Path, before: str, after: bytes
) -> None:
    # As libraries of hooks install themselves: at the first prompt.
    (tmp_path / ".bashrc").write_text(
        f"first() {{ echo '<first>'; PROMPT_COMMAND='echo \"<new $?>\"'; }}\n{before}\n"
    )

    with open_shell(tmp_path, "bash") as shell:
        shell.run("true")
        at = len(shell.output)
        ran = shell.run("(exit 4)")

    assert (ran.kinds, ran.exit_code) == ("CDAB", 4)
    assert after in shell.output[at:]
    assert b"<first>" not in shell.output[at:]


def test_several_commands_of_a_paste_are_several_commands(tmp_path: Path) -> None:
    with open_shell(tmp_path, "bash") as shell:
        since = len(shell.trusted)
        shell.write("\x1b[200~echo a\n(exit 3)\ncd /\x1b[201~\n")
        shell.wait(lambda: "A" in kinds(shell.trusted[since:]), "prompt")
        marks = shell.trusted[since:]

    assert kinds(marks).lstrip("B") in ("CDCDCDA", "CDCDCDAB")
    ends = [mark for mark in marks if mark.kind is MarkKind.DONE]
    assert [(mark.exit_code, mark.cwd) for mark in ends] == [
        (0, str(tmp_path)),
        (3, str(tmp_path)),
        (0, "/"),
    ]


def test_a_prompt_command_that_cannot_be_changed_costs_nothing_but_time(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("PROMPT_COMMAND='echo late'; readonly PROMPT_COMMAND\n")

    with open_shell(tmp_path, "bash") as shell:
        rans = [shell.run("(exit 3)"), shell.run("true")]
        refused = shell.enter("echo )\n")

    assert [(ran.kinds, ran.exit_code) for ran in rans] == [("CDAB", 3), ("CDAB", 0)]
    assert refused == "AB"


def test_a_line_has_an_end_where_the_user_took_every_hook_but_the_prompt(tmp_path: Path) -> None:
    with open_shell(tmp_path, "bash") as shell:
        taking = [
            shell.run(line)
            for line in (
                "PROMPT_COMMAND='echo x'",
                "unset PROMPT_COMMAND",
                "readonly PROMPT_COMMAND",
                "PS0='mine '",
            )
        ]
        rans = [shell.run("echo one; (exit 3)"), shell.run("true"), shell.run("true")]
        empty, refused = shell.enter("\n"), shell.enter("echo )\n")

    assert [(ran.kinds, ran.exit_code) for ran in taking] == [("CDAB", 0)] * 4
    assert [(ran.kinds, ran.exit_code) for ran in rans] == [("DAB", 3), ("DAB", 0), ("DAB", 0)]
    assert b"mine one\r\n" in rans[0].output
    assert (empty, refused) == ("AB", "AB")
    assert b"readonly variable" not in shell.output


def test_lines_typed_ahead_are_each_announced(tmp_path: Path) -> None:
    with open_shell(tmp_path, "bash") as shell:
        since = len(shell.trusted)
        shell.write("sleep 0.1\nfalse\n(exit 9)\n")
        shell.wait(
            lambda: kinds(shell.trusted[since:]) == "CDABCDABCDAB", "three lines, each with marks"
        )

    ends = [mark for mark in shell.trusted[since:] if mark.kind is MarkKind.DONE]
    assert [mark.exit_code for mark in ends] == [0, 1, 9]


def run_all(shell: RealShell, *lines: str) -> list[str | None]:
    rans: list[Ran] = [shell.run(line) for line in lines]
    return [ran.command_line for ran in rans]


def test_a_line_that_history_leaves_out_is_not_told_as_another(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("HISTCONTROL=ignoreboth HISTIGNORE='pwd'\n")

    with open_shell(tmp_path, "bash") as shell:
        told = run_all(shell, " true 1", "true 2", " true 3", "true 2", "pwd", "true 4")

    assert told == [None, "true 2", None, None, None, "true 4"]


def test_a_line_repeated_is_told_again_when_only_repetition_is_left_out(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("HISTCONTROL=ignoredups:erasedups\n")

    with open_shell(tmp_path, "bash") as shell:
        told = run_all(shell, "true 1", "true 1", "true 2", "true 1", " true 3")

    assert told == ["true 1", "true 1", "true 2", "true 1", " true 3"]


def test_without_a_history_no_line_is_told(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("set +o history\n")

    with open_shell(tmp_path, "bash") as shell:
        told = run_all(shell, "true 1", "true 2")

    assert told == [None, None]


def test_the_history_and_the_environment_are_the_users_own(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("set -a\n")

    with open_shell(tmp_path, "bash") as shell:
        shell.run("true one")
        history = shell.run("history")
        exported = shell.run("env; export -p; declare -xF; bash --norc -ic 'declare -F; set -u'")

    assert [line.split(maxsplit=1)[1] for line in history.output.splitlines()] == [
        b"true one",
        b"history",
    ]
    assert NONCE.encode() not in exported.output
    assert b"_duetty_head()" not in exported.output
    assert b"declare -fx" not in exported.output


@pytest.mark.parametrize("line", ["! true", "shopt -u promptvars; shopt -s promptvars; ! true"])
def test_a_shell_that_exits_on_errors_does_not_exit_on_ours(tmp_path: Path, line: str) -> None:
    (tmp_path / ".bashrc").write_text('trap \'echo "<E""RR>"\' ERR\n')

    with open_shell(tmp_path, "bash") as shell:
        shell.run("set -eE")
        rans = [shell.run(line), shell.run("echo $?")]

    assert [ran.exit_code for ran in rans] == [1, 0]
    assert rans[1].output == b"1\r\n"
    assert b"<ERR>" not in shell.output


def test_a_prompt_is_as_wide_as_it_looks(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("PS1='P> '\n")

    with open_shell(tmp_path, "bash") as shell:
        at = shell.trusted[-1].end
        shell.write("x" * 150)
        shell.wait(lambda: shell.output.count(b"x", at) >= 150, "echo")

    assert bytes(shell.output[at:]) == b"x" * 150


def test_tracing_does_not_show_the_nonce(tmp_path: Path) -> None:
    with open_shell(tmp_path, "bash") as shell:
        shell.run("set -x")
        shell.run("true")

    assert NONCE.encode() not in shell.output.replace(b";nonce=" + NONCE.encode(), b"")


def test_without_prompt_variables_there_are_no_marks_and_no_litter(tmp_path: Path) -> None:
    with open_shell(tmp_path, "bash") as shell:
        since, at = len(shell.trusted), len(shell.output)
        shell.write("PS1='P> '; shopt -u promptvars\n")
        shell.wait_text("P> ", since=shell.output.find(b"promptvars", at) + 20)
        shell.wait_mark(MarkKind.DONE, since=since)
        shell.write("shopt -s promptvars\n")
        shell.wait_prompt(since=since)
        ran = shell.run("false")

    assert b"_duetty" not in shell.output
    assert (ran.kinds, ran.exit_code) == ("CDAB", 1)


def test_a_directory_with_control_characters_is_told_exactly(tmp_path: Path) -> None:
    (tmp_path / "a\nb\x1bc").mkdir()

    with open_shell(tmp_path, "bash") as shell:
        assert shell.run("cd a*").cwd == f"{tmp_path}/a\nb\x1bc"


@pytest.mark.parametrize("flags", [["-l"], ["-i", "-l"], ["--login"]])
def test_a_login_shell_reads_the_profile_and_is_a_login_shell(
    tmp_path: Path, flags: list[str]
) -> None:
    (tmp_path / ".bash_profile").write_text("from=profile\n")
    (tmp_path / ".bashrc").write_text("from=bashrc\n")
    (tmp_path / ".profile").write_text("from=sh\n")

    with open_shell(tmp_path, "bash", *flags, env={"ENV": "/user's"}) as shell:
        ran = shell.run('echo "$from $ENV $HISTFILE"; shopt -q login_shell && ! shopt -qo posix')
        environment = shell.run("env")

    assert (ran.kinds, ran.exit_code) == ("CDAB", 0)
    assert ran.output == f"profile /user's {tmp_path}/.bash_history\r\n".encode()
    assert b"POSIXLY_CORRECT" not in environment.output


def test_bash_under_the_name_sh_reads_the_users_env_file(tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to("/bin/bash")
    (tmp_path / "shrc").write_text("PS1='P> '\nfrom=shrc\n")

    with open_shell(tmp_path, str(tmp_path / "sh"), "-i", env={"ENV": "$HOME/shrc"}) as shell:
        ran = shell.run('echo "$from $ENV"; shopt -qo posix')

    assert (ran.kinds, ran.exit_code) == ("CDAB", 0)
    assert ran.output == b"shrc $HOME/shrc\r\n"


def test_without_a_nonce_bash_starts_as_ever(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("PS1='P> '\n")

    with open_shell(tmp_path, "bash", prompt=False, handed=False) as shell:
        shell.wait_text("P> ")
        shell.write("echo do''ne\n")
        shell.wait_text("done\r\n")

    assert shell.marks == []
