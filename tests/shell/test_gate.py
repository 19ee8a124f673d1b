"""A shell with a gate runs no line before it was asked about, whatever made the line."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from duetty.shell import ASK, PASS, Mark, MarkKind, answer_line, armed_path
from tests.shell.real import NONCE, RealShell, kinds, open_shell

pytestmark = [pytest.mark.pty, pytest.mark.shells]

SHELLS = ("bash", "zsh", "fish")


REFUSAL = "duetty: this may not run"

NAMED = pytest.mark.skipif(
    "execute-named-command"
    not in subprocess.run(["bash", "-ic", "bind -l"], capture_output=True, text=True).stdout,
    reason="this readline runs no commands by name",
)


class Gatekeeper:
    """Answers every question of a real shell as a server would; refuses lines with `forbidden`."""

    def __init__(self, gate: Path, shell: RealShell) -> None:
        self.asked: list[Mark] = []
        self.answers = True
        self.shell = shell
        self._gate = gate
        shell.on_mark = self._on_mark

    @property
    def lines(self) -> list[str | None]:
        """As far as the shell is sure of them."""
        return [
            mark.command_line if mark.lines is None or mark.sure else None for mark in self.asked
        ]

    def refuse(self, keys: str) -> None:
        """Type a line, and see it refused."""
        at = len(self.shell.output)
        self.shell.write(keys)
        self.shell.read_until_quiet()
        self.shell.write("\r")
        self.shell.wait_text(REFUSAL, since=at)
        self.shell.read_until_quiet()

    def _on_mark(self, mark: Mark) -> None:
        if mark.kind is MarkKind.QUESTION:
            self.asked.append(mark)
            if self.answers:
                self.answer(mark)

    def answer(self, mark: Mark) -> None:
        # Opening a FIFO waits for its reader.
        threading.Thread(target=self._write, args=(self.answer_to(mark),), daemon=True).start()

    def _write(self, line: bytes) -> None:
        with suppress(OSError):  # the test is over, and its shell or its directory gone
            self._gate.write_bytes(line)

    def answer_to(self, mark: Mark) -> bytes:
        text = f"{mark.command_line} {mark.expanded}"
        refusal = REFUSAL if "forbidden" in text else None
        return answer_line(nonce=NONCE, question=mark.question or "", refusal=refusal)


@contextmanager
def gated(home: Path, name: str, *, armed: str = ASK, rc: str = "") -> Generator[Gatekeeper]:
    gate = home / "gate"
    os.mkfifo(gate, 0o600)
    armed_path(gate).write_text(armed)
    if rc:
        (home / ".zshrc").write_text(rc)
        (home / ".config/fish").mkdir(parents=True)
        (home / ".config/fish/config.fish").write_text(rc)
    with open_shell(home, name, gate=gate) as shell:
        yield Gatekeeper(gate, shell)


@pytest.mark.parametrize("name", SHELLS)
def test_a_line_that_is_allowed_runs_as_ever(tmp_path: Path, name: str) -> None:
    with gated(tmp_path, name) as keeper:
        ran = keeper.shell.run("echo one; false")

        assert ran.exit_code == 1
        assert b"one" in ran.output
        assert keeper.lines == ["echo one; false"]


@pytest.mark.parametrize("name", SHELLS)
def test_a_line_that_is_refused_does_not_run_and_the_shell_goes_on(
    tmp_path: Path, name: str
) -> None:
    with gated(tmp_path, name) as keeper:
        keeper.refuse("touch forbidden; touch x; touch y | cat &")
        after = keeper.shell.run("echo still here")

        assert not {"forbidden", "x", "y"} & set(os.listdir(tmp_path))
        assert b"this may not run" in keeper.shell.output
        assert b"still here" in after.output


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize(
    "keys",
    [
        pytest.param("touch forbidde\x1b[D\x1b[Ce" + "\x7fn", id="edited"),
        pytest.param("touch forbidxden\x1b[D\x1b[D\x1b[D\x7f", id="edited in the middle"),
        pytest.param("\x1b[200~touch forbidden\x1b[201~", id="pasted"),
        pytest.param("touch forbi\t", id="completed"),
        pytest.param("touch \"forbid\"'den'\x01\x05 forbidden", id="moved about"),
    ],
)
def test_keys_cannot_disguise_a_line(tmp_path: Path, name: str, keys: str) -> None:
    (tmp_path / "forbidden.d").mkdir()
    os.utime(tmp_path / "forbidden.d", (1, 1))
    with gated(tmp_path, name) as keeper:
        keeper.refuse(keys)

        assert "forbidden" in (keeper.lines[-1] or "").replace("\"forbid\"'den'", "forbidden")
        assert "forbidden" not in os.listdir(tmp_path)
        assert (tmp_path / "forbidden.d").stat().st_mtime == 1  # what Tab made of it
        assert keeper.shell.run("echo on").exit_code == 0


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_a_line_made_by_history_expansion_is_asked_for_as_it_runs(
    tmp_path: Path, name: str
) -> None:
    with gated(tmp_path, name) as keeper:
        keeper.shell.run("echo forbidde")
        keeper.refuse("!!:s/echo/touch/:s/forbidde/forbidden/")

        assert keeper.lines[-1] == "touch forbidden"
        assert "forbidden" not in os.listdir(tmp_path)


@pytest.mark.parametrize("name", SHELLS)
def test_a_line_recalled_from_history_is_asked_for_again(tmp_path: Path, name: str) -> None:
    with gated(tmp_path, name) as keeper:
        keeper.shell.run("echo recalled")
        ran = keeper.shell.run("\x1b[A")

        assert b"recalled" in ran.output
        assert keeper.lines == ["echo recalled", "echo recalled"]


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_a_command_over_several_lines_is_asked_for_as_one(tmp_path: Path, name: str) -> None:
    with gated(tmp_path, name) as keeper:
        keeper.refuse("for i in 1 2\rdo touch forbidden$i\rdone")

        assert len(keeper.asked) == 1
        assert "touch forbidden$i" in (keeper.lines[0] or "")
        assert not [each for each in os.listdir(tmp_path) if each.startswith("forbidden")]


def test_an_alias_is_expanded_in_the_question_of_zsh(tmp_path: Path) -> None:
    with gated(tmp_path, "zsh", rc="alias harmless='touch forbidden'\n") as keeper:
        keeper.refuse("harmless")

        assert keeper.lines == ["harmless"]
        assert "touch forbidden" in (keeper.asked[0].expanded or "")
        assert "forbidden" not in os.listdir(tmp_path)


def test_an_abbreviation_of_fish_is_asked_for_as_it_runs(tmp_path: Path) -> None:
    with gated(tmp_path, "fish", rc="abbr -a harmless touch forbidden\n") as keeper:
        keeper.refuse("harmless")

        assert keeper.lines == ["touch forbidden"]
        assert "forbidden" not in os.listdir(tmp_path)
        assert b"still here" in keeper.shell.run("echo still here").output


def test_an_answer_whose_writer_leaves_late_is_not_taken_for_the_next_one(tmp_path: Path) -> None:
    """A busy machine may stop whoever answers between the line and the end of its file."""
    gate = tmp_path / "gate"
    with gated(tmp_path, "fish") as keeper:
        keeper.answers = False
        keeper.shell.write("echo one\n")
        keeper.shell.wait(lambda: len(keeper.asked) == 1, "question")
        with gate.open("wb", buffering=0) as late:
            late.write(keeper.answer_to(keeper.asked[0]))
            keeper.shell.wait_mark(MarkKind.DONE, since=0)
            keeper.shell.write("echo two\n")
            keeper.shell.wait(lambda: len(keeper.asked) == 2, "second question")
            eventually(lambda: has_open(keeper.shell.pid, gate))
        eventually(lambda: not has_open(keeper.shell.pid, gate))
        keeper.answers = True
        since = len(keeper.shell.trusted)
        keeper.answer(keeper.asked[1])

        assert keeper.shell.wait_mark(MarkKind.DONE, since=since).exit_code == 0
        assert b"nobody answered" not in keeper.shell.output
        assert b"two" in keeper.shell.run("echo two again").output


def eventually(fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def has_open(pid: int, path: Path) -> bool:
    """Whether the process has this file open."""
    links: set[str] = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            links.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return str(path) in links


@pytest.mark.parametrize("name", SHELLS)
def test_a_gate_that_is_not_armed_asks_nothing(tmp_path: Path, name: str) -> None:
    with gated(tmp_path, name, armed=PASS) as keeper:
        ran = keeper.shell.run("echo forbidden")

        assert b"forbidden" in ran.output
        assert keeper.lines == []


@pytest.mark.parametrize("name", SHELLS)
def test_a_gate_whose_file_is_gone_asks(tmp_path: Path, name: str) -> None:
    with gated(tmp_path, name, armed=PASS) as keeper:
        keeper.shell.run(f"rm {tmp_path / 'gate.armed'}")
        keeper.refuse("touch forbidden")

        assert "forbidden" not in os.listdir(tmp_path)


@pytest.mark.parametrize("name", SHELLS)
def test_a_child_cannot_learn_the_gate_from_its_environment(tmp_path: Path, name: str) -> None:
    with gated(tmp_path, name) as keeper:
        ran = keeper.shell.run("env")

        assert b"gate" not in ran.output.lower().replace(b"gated", b"")


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param("\x18\x05", id="Ctrl-X Ctrl-E"),
        pytest.param("\x1bxedit-and-execute-command\r", id="by its name", marks=NAMED),
    ],
)
def test_what_an_editor_leaves_is_not_run_unasked(tmp_path: Path, keys: str) -> None:
    """bash runs it without PS0: the question is about the `fc` that does so."""
    editor = tmp_path / "forbidden-editor"
    editor.write_text('#!/bin/sh\necho touch made > "$1"\n')
    editor.chmod(0o755)
    with gated(tmp_path, "bash") as keeper:
        keeper.shell.run(f"EDITOR={tmp_path}/forb'idden'-editor")
        at = len(keeper.shell.output)
        keeper.shell.write(keys)
        keeper.shell.wait_text(REFUSAL, since=at)
        keeper.shell.read_until_quiet()

        assert not (tmp_path / "made").exists()
        assert keeper.lines[-1] == f"fc -e {editor}"
        after = keeper.shell.run("echo still here")
        assert b"still here" in after.output


def test_an_editor_runs_what_it_leaves_when_that_is_allowed(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho touch made > "$1"\n')
    editor.chmod(0o755)
    with gated(tmp_path, "bash") as keeper:
        keeper.shell.run(f"EDITOR={editor}")
        since = len(keeper.shell.trusted)
        keeper.shell.write("\x18\x05")
        keeper.shell.wait_prompt(since=since)
        keeper.shell.run("true")

        assert (tmp_path / "made").exists()


@pytest.mark.parametrize("name", SHELLS)
def test_no_line_of_a_paste_of_several_runs_unasked(tmp_path: Path, name: str) -> None:
    with gated(tmp_path, name) as keeper:
        keeper.refuse("\x1b[200~echo a\ntouch forbidden\ntouch forbidden2\x1b[201~")
        keeper.shell.read_until_quiet()

        assert not [each for each in os.listdir(tmp_path) if each.startswith("forbidden")]


@pytest.mark.parametrize("name", SHELLS)
def test_every_prompt_says_that_the_shell_will_ask(tmp_path: Path, name: str) -> None:
    with gated(tmp_path, name) as keeper:
        keeper.shell.run("echo one")
        keeper.shell.enter("\r")

        prompts = [each for each in keeper.shell.trusted if each.kind is MarkKind.PROMPT]
        assert [each.gated for each in prompts] == [True] * len(prompts)


def test_a_shell_without_a_gate_does_not_say_so(tmp_path: Path) -> None:
    with open_shell(tmp_path, "bash") as shell:
        assert not any(each.gated for each in shell.trusted)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("bash", "PS0="),
        ("bash", "unset PS0"),
        ("bash", "PROMPT_COMMAND="),
        ("bash", "unset PROMPT_COMMAND"),
        ("bash", "PROMPT_COMMAND=(true)"),
        ("bash", "trap 'true' DEBUG"),
        ("bash", "set -T; trap : DEBUG; shopt -s extdebug"),
        ("zsh", "preexec_functions=()"),
        ("zsh", "unset preexec_functions precmd_functions"),
        ("zsh", "preexec() { true; }"),
        ("zsh", "trap '' INT"),
        ("fish", "bind \\r execute"),
        ("fish", "bind --erase --all"),
        ("fish", "fish_vi_key_bindings"),
        ("fish", "trap '' INT"),
    ],
)
def test_a_shell_whose_hooks_were_changed_asks_or_says_that_it_does_not(
    tmp_path: Path, name: str, line: str
) -> None:
    with gated(tmp_path, name) as keeper:
        since = len(keeper.shell.trusted)
        keeper.shell.write(line + "\r")
        keeper.shell.wait_mark(MarkKind.DONE, since=since)
        keeper.shell.read_until_quiet()
        said = [each for each in keeper.shell.trusted if each.kind is MarkKind.PROMPT][-1]
        at = len(keeper.shell.output)
        keeper.shell.write("touch forbidden\r")
        if said.gated:
            keeper.shell.wait_text(REFUSAL, since=at)
            keeper.shell.read_until_quiet()
            assert "forbidden" not in os.listdir(tmp_path)


def test_a_bash_that_traps_interrupts_ends_rather_than_run_a_refused_line(tmp_path: Path) -> None:
    with gated(tmp_path, "bash") as keeper:
        keeper.shell.run("trap '' INT")
        keeper.shell.write("touch forbidden\r")
        keeper.shell.wait_text("this shell ends")
        with pytest.raises(AssertionError, match="the shell ended"):
            keeper.shell.wait_text("nothing more")

        assert "forbidden" not in os.listdir(tmp_path)


def test_a_shell_that_lost_all_its_hooks_says_so(tmp_path: Path) -> None:
    with gated(tmp_path, "bash") as keeper:
        keeper.shell.run("unset PS0 PROMPT_COMMAND")

        prompts = [each for each in keeper.shell.trusted if each.kind is MarkKind.PROMPT]
        assert prompts[0].gated
        assert not prompts[-1].gated


@pytest.mark.parametrize("armed", [None, PASS, ASK], ids=["no gate", "passes", "asks"])
def test_each_command_of_a_paste_is_told_with_its_own_line_and_exit_code(
    tmp_path: Path, armed: str | None
) -> None:
    with ExitStack() as stack:
        if armed is None:
            shell = stack.enter_context(open_shell(tmp_path, "bash"))
        else:
            shell = stack.enter_context(gated(tmp_path, "bash", armed=armed)).shell
        since = len(shell.trusted)

        shell.write("\x1b[200~false\necho s=$?\n(exit 4)\n# no command\necho last\x1b[201~\r")
        shell.wait(lambda: kinds(shell.trusted[since:]).endswith("DAB"), "prompt")

        ended = [mark for mark in shell.trusted[since:] if mark.kind is MarkKind.DONE]
        assert [(mark.command_line, mark.exit_code) for mark in ended] == [
            ("false", 1),
            ("echo s=$?", 0),
            ("(exit 4)", 4),
            ("echo last", 0),
        ]
        assert b"s=1\r\n" in shell.output


def test_lines_that_history_would_leave_out_are_told_and_then_left_out(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("HISTCONTROL=ignoreboth HISTIGNORE='pw?:&x'\n")
    with gated(tmp_path, "bash") as keeper:
        keeper.shell.write("\x1b[200~echo one\n echo two\x1b[201~\r")
        keeper.shell.wait_text("two\r\n")
        keeper.shell.read_until_quiet()
        for line in ("true", "true", " true", "pwd", "echo three"):
            keeper.shell.run(line)
        said = keeper.shell.run("history | cut -c 8-").output.decode()

        assert keeper.lines[:7] == [
            "echo one",
            " echo two",
            "true",
            "true",
            " true",
            "pwd",
            "echo three",
        ]
        kept = [line.rstrip("\r") for line in said.split("\n") if line.strip()]
        assert kept == ["echo one", "true", "echo three", "history | cut -c 8-"]


@pytest.mark.parametrize("name", SHELLS)
def test_a_refused_line_ends_without_having_begun(tmp_path: Path, name: str) -> None:
    with gated(tmp_path, name) as keeper:
        since = len(keeper.shell.trusted)

        keeper.refuse("touch forbidden")
        keeper.shell.wait(
            lambda: kinds(keeper.shell.trusted[since:]).endswith("B"), "prompt after the refusal"
        )

        assert kinds(keeper.shell.trusted[since:]).startswith("QDA")


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize(
    "number", [signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP], ids=lambda n: n.name
)
def test_no_signal_makes_a_line_run_that_nobody_has_answered_for(
    tmp_path: Path, name: str, number: signal.Signals
) -> None:
    """Ctrl-\\ reaches all that is in the foreground; what waits for the answer must not die of it alone."""
    with gated(tmp_path, name) as keeper:
        keeper.answers = False
        keeper.shell.write("touch made\r")
        keeper.shell.wait(lambda: len(keeper.asked) == 1, "question")

        for _ in range(5):
            for pid in in_foreground(keeper.shell.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            with suppress(AssertionError):  # a shell that ends runs nothing either
                keeper.shell.read_until_quiet()

        assert not (tmp_path / "made").exists()


def in_foreground(pid: int) -> list[int]:
    """A shell and what it has started to ask."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []  # it ended
    return [pid, *map(int, children)]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("bash", "enable '-n' kill"),
        ("bash", "kill() { true; }; command() { true; }"),
        ("bash", "printf -v _due''tty_gate %s /nowhere"),
        ("bash", "unset -f _duetty_ask _duetty_refuse fc"),
        ("bash", "_duetty_refuse() { true; }"),
        ("bash", "set -u; set -e; set -f"),
        ("zsh", "disable kill"),
        ("zsh", "typeset -g _due''tty_gate=/nowhere"),
    ],
)
def test_a_shell_whose_commands_were_switched_off_runs_no_refused_line(
    tmp_path: Path, name: str, line: str
) -> None:
    with gated(tmp_path, name) as keeper:
        since = len(keeper.shell.trusted)
        keeper.shell.write(line + "\r")
        keeper.shell.wait_mark(MarkKind.DONE, since=since)
        keeper.shell.read_until_quiet()
        keeper.shell.write("touch forbidden\r")
        keeper.shell.wait(lambda: "touch forbidden" in keeper.lines, "question")
        with suppress(AssertionError):  # a shell that ends runs nothing either
            keeper.shell.read_until_quiet()

        assert "forbidden" not in os.listdir(tmp_path)


@pytest.mark.parametrize("name", SHELLS)
def test_what_is_no_answer_refuses_and_is_not_shown(tmp_path: Path, name: str) -> None:
    """It may hold the nonce, and whoever reads the screen could forge answers with that."""
    with gated(tmp_path, name) as keeper:
        keeper.answers = False
        at = len(keeper.shell.output)
        keeper.shell.write("touch made\r")
        keeper.shell.wait(lambda: len(keeper.asked) == 1, "question")
        since = len(keeper.shell.output)
        (tmp_path / "gate").write_bytes(f"{NONCE} 12345 allow\n".encode())
        keeper.shell.wait_text("nobody answered", since=at)
        keeper.shell.read_until_quiet()

        shown = re.sub(rb"\x1b\][^\x07]*\x07", b"", keeper.shell.output[since:])
        assert NONCE.encode() not in shown
        assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "line", ["echo 'a]b' \"[x\" !(y) $((1-1)) -- ^a \\\\", "echo é 'x  y' # ]"]
)
def test_a_line_with_odd_characters_is_told_as_it_is(tmp_path: Path, line: str) -> None:
    with gated(tmp_path, "bash") as keeper:
        keeper.shell.run("shopt -s extglob; set +H")
        since = len(keeper.shell.trusted)
        keeper.shell.write(line + "\r")
        began = keeper.shell.wait_mark(MarkKind.OUTPUT, since=since)

        assert keeper.lines[-1] == line
        assert began.command_line == line


def test_a_line_is_told_beside_one_that_was_edited_in_history(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("HISTCONTROL=ignoreboth\n")
    with gated(tmp_path, "bash") as keeper:
        keeper.shell.run("echo one")
        keeper.shell.write("\x1b[A\x17two\x1b[B touch dropped\r")
        keeper.shell.wait(lambda: len(keeper.asked) == 2, "question")

        assert keeper.lines[-1] == " touch dropped"


PASTE = "\x1b[200~{}\x1b[201~\r"


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        pytest.param("echo a\\\r#$(touch hid)\\\rb\r", "echo a#$(touch hid)b", id="typed"),
        pytest.param(
            PASTE.format("echo a\\\n#$(touch hid)\\\nb"), "echo a#$(touch hid)b", id="pasted"
        ),
        pytest.param(": ${x-\r#$(touch hid)\r}\r", ": ${x-\n#$(touch hid)\n}", id="in braces"),
        pytest.param("for i in 1\r# why\rdo :\rdone\r", "for i in 1\n# why\ndo :\ndone", id="loop"),
        pytest.param("cat <<E\r# x\rE\r", "cat <<E\n# x\nE", id="here-document"),
        pytest.param("echo a\\\r#; touch hid\r", "echo a#; touch hid", id="joined"),
    ],
)
def test_what_looks_like_a_comment_in_the_middle_of_a_line_is_told(
    tmp_path: Path, keys: str, told: str
) -> None:
    (tmp_path / ".bashrc").write_text("shopt -u cmdhist lithist\n")
    with gated(tmp_path, "bash") as keeper:
        keeper.shell.run("true")
        keeper.shell.write(keys)
        keeper.shell.wait(lambda: len(keeper.asked) == 2, "question")

        assert keeper.lines[-1] == told


@pytest.mark.parametrize(
    "lines",
    [
        ["shopt -u lithist", ": ${x-\n#$(touch hid)\n}"],
        ["shopt -u cmdhist", "cat <<E\nx\nE"],
        ["HISTCONTROL=ignorespace", " touch hid"],
        ["HISTIGNORE='touch*'", "touch hid"],
        ["history -d -1", "touch hid"],
        ["set +o history", "touch hid"],
        ["readonly _duetty_text=ls", "touch hid"],
    ],
)
def test_a_line_that_history_may_not_have_whole_is_not_told(
    tmp_path: Path, lines: list[str]
) -> None:
    with gated(tmp_path, "bash") as keeper:
        keeper.shell.run("true")
        keeper.shell.write(PASTE.format("\n".join(lines)))
        keeper.shell.wait(lambda: len(keeper.asked) == 3, "question")

        assert keeper.lines[1:] == [lines[0], None]


@pytest.mark.parametrize(
    "line",
    [
        "shopt -s localvar_inherit; declare -u text _duetty_text slashes",
        "declare -l IFS HISTTIMEFORMAT=forbidden",
        "unset HISTCMD; HISTCMD=1/0",
    ],
)
def test_no_variable_changes_what_is_told(tmp_path: Path, line: str) -> None:
    with gated(tmp_path, "bash") as keeper:
        keeper.shell.run(line.replace("forbidden", "'echo '"))
        keeper.refuse("touch forbidden")

        assert keeper.lines[-1] == "touch forbidden"
        assert "forbidden" not in os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("line", "gated_after"),
    [
        ("trap : CHLD", False),
        ("trap 'echo x' WINCH", False),
        ("trap : 10", False),
        ("trap '' HUP", True),
        ("trap : EXIT DEBUG", True),
    ],
)
def test_a_shell_that_traps_signals_says_that_it_cannot_ask(
    tmp_path: Path, line: str, *, gated_after: bool
) -> None:
    (tmp_path / ".bashrc").write_text(f"{line}\n")
    with gated(tmp_path, "bash", armed=PASS) as keeper:
        keeper.shell.run("true")

        prompt = [mark for mark in keeper.shell.trusted if mark.kind is MarkKind.PROMPT][-1]
        assert prompt.gated == gated_after


def test_a_password_that_fish_reads_is_not_asked_about(tmp_path: Path) -> None:
    with gated(tmp_path, "fish") as keeper:
        keeper.shell.write("read -s -P 'secret: ' word; echo got (string length -- $word)\r")
        keeper.shell.wait_text("secret: ")
        keeper.shell.read_until_quiet()
        keeper.shell.write("rm -rf /forbidden\r")
        keeper.shell.wait_text("got 17")

        assert len(keeper.asked) == 1
        assert b"rm -rf" not in keeper.shell.output
        keeper.shell.read_until_quiet()
        keeper.refuse("touch forbidden")


def test_enter_in_vi_mode_of_fish_goes_back_to_inserting(tmp_path: Path) -> None:
    with gated(tmp_path, "fish") as keeper:
        keeper.shell.run("fish_vi_key_bindings")
        for keys in ("echo a", "\x1b", "\r", "echo b", "\r"):
            keeper.shell.write(keys)
            keeper.shell.read_until_quiet()

        assert keeper.lines == ["fish_vi_key_bindings", "echo a", "echo b"]
