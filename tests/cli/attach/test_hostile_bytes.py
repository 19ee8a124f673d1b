"""Bytes that a program prints to get at the person's terminal, and the ways an attach can end.

Under a PTY that keeps every byte it was sent: what reaches it is what would reach a person.
"""

import os
import re
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminals import Watched, watched
from tests.server_process import ServerProcess, running_server

pytestmark = pytest.mark.pty

QUERIES = {
    "the title, as if typed": rb"\033[21t",
    "a setting (DECRQSS)": rb"\033P\$qm\033\\",
    "the cursor's place": rb"\033[6n",
    "device attributes": rb"\033[c\033[>c\033[=c",
    "the answerback": rb"\005",
    "a colour": rb"\033]11;?\007\033]4;1;?\007",
    "the clipboard": rb"\033]52;c;?\007",
    "the terminal's version": rb"\033[>q",
    "a mode": rb"\033[?2026\$p",
    "a termcap entry": rb"\033P+q544e\033\\",
}
TRICKS = {
    "writing the clipboard": rb"\033]52;c;ZXZpbA==\007",
    "a link to a script": rb"\033]8;;javascript:alert(1)\033\\link\033]8;;\033\\",
    "an image": rb"\033Pq#0;2;0;0;0#0~~\033\\\033_Gf=24,s=1,v=1;AAAA\033\\",
    "a file": rb"\033]1337;File=name=ZXZpbA==;inline=1:AAAA\007",
    "a notification": rb"\033]9;evil\007\033]777;notify;evil;evil\007",
    "a smaller window": rb"\033[8;5;10t\033[3;0;0t\033[2t",
    "a changed palette": rb"\033]4;1;#000000\007\033]10;#000000\007",
    "printing": rb"\033[5i evil \033[4i",
    "a passthrough of tmux": rb"\033Ptmux;\033\033]52;c;ZXZpbA==\007\033\\",
    "a private message": rb"\033^evil\033\\\033Xevil\033\\",
}

ALLOWED = re.compile(
    rb"\x1b\[[0-9;]*H|\x1b\[2?J|\x1b\[K|\x1b\[[0-9;:]*m|\x1b\[[0-9;]*r|\x1b\[\d q"
    rb"|\x1b\[\?(?:1|5|7|25|1000|1002|1003|1004|1006|1049|2004|2026|2027)[hl]"
    rb"|\x1b[=>]|\x1b\[22;0t|\x1b\[23;0t|\x1b\[\?u|\x1b\[c"
    rb"|\x1b\]2;[^\x00-\x1f\x7f]*\x1b\\|\x1b\]8;;\x1b\\|\x07"
)
"""Every sequence that attach ever writes."""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        yield server


@pytest.fixture
def session(server: ServerProcess) -> Iterator[str]:
    opened = server.client.post(
        "/sessions",
        {"command": "bash --norc --noprofile", "env": {"PS1": "in> ", "HOME": str(server.home)}},
    )
    # bash drops what is typed before it has its terminal.
    server.client.post(f"/sessions/{opened['name']}/wait", {"text": "in>"})
    yield opened["name"]
    server.command("kill", opened["name"])


def attached(terminal: Watched) -> Watched:
    terminal.wait_shown("in>")
    return terminal


@pytest.mark.parametrize("trick", [*QUERIES, *TRICKS])
@pytest.mark.sampled(3)
def test_hostile_output_never_reaches_the_persons_terminal(
    server: ServerProcess, session: str, trick: str
) -> None:
    sequence = {**QUERIES, **TRICKS}[trick].decode()
    script = server.home / "trick.sh"
    script.write_text(f'printf "{sequence}"; echo; echo do""ne\n')
    with watched(server.env, "attach", session, "--no-hints") as terminal:
        attached(terminal)
        terminal.type(b"stty -echo; clear; sh ~/trick.sh; stty echo\r")
        terminal.wait_shown("done")

        left = ALLOWED.sub(b"", terminal.received)
        assert b"\x1b" not in left, re.findall(rb"\x1b.{20}", left)
        assert not re.search(rb"[\x00-\x06\x0b-\x1f\x80-\x9f]", left.decode().encode("latin-1", "ignore").replace(b"\n", b"").replace(b"\r", b""))  # fmt: skip
        assert b"ZXZpbA" not in left
        assert b"javascript" not in left


def test_a_hostile_title_is_only_a_title(server: ServerProcess, session: str) -> None:
    with watched(server.env, "attach", session, "--no-hints") as terminal:
        attached(terminal)
        terminal.type(b"printf '\\033]2;fine\\302\\233 31m title\\007'\r")
        terminal.wait_received(b"\x1b]2;fine")

        titles = re.findall(rb"\x1b\]2;(.*?)\x1b\\", terminal.received)
        assert titles[-1].startswith(b"fine")
        assert b"\xc2\x9b" not in titles[-1]


def test_a_link_to_a_page_is_painted(server: ServerProcess, session: str) -> None:
    with watched(server.env, "attach", session, "--no-hints") as terminal:
        attached(terminal)
        terminal.type(rb"printf '\033]8;;https://a.example/\033\\page\033]8;;\033\\\n'" + b"\r")
        terminal.wait_received(b"\x1b]8;;https://a.example/\x1b\\page\x1b]8;;\x1b\\")


@pytest.mark.parametrize(
    "signum", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda each: each.name
)
def test_a_signal_ends_it_with_the_terminal_restored(
    server: ServerProcess, session: str, signum: signal.Signals
) -> None:
    with watched(server.env, "attach", session, "--no-hints") as terminal:
        attached(terminal)
        terminal.type(rb"printf '\033[?1049h\033[?1003h\033[?2004h\033[?25l\033[5 qmodes'" + b"\r")
        terminal.wait_shown("modes")
        assert terminal.now() != terminal.before
        os.kill(terminal.process.pid, signum)
        code = terminal.wait_ended()

        assert code == 128 + signum
        assert terminal.now() == terminal.before
        modes, alternate = terminal.modes()
        assert not alternate
        assert (modes.mouse_tracking.value, modes.bracketed_paste, modes.cursor_visible) == (0, False, True)  # type: ignore[attr-defined]  # fmt: skip
        assert modes.wraparound  # type: ignore[attr-defined]


def test_modes_of_the_program_are_mirrored_and_taken_back(
    server: ServerProcess, session: str
) -> None:
    with watched(server.env, "attach", session, "--no-hints") as terminal:
        attached(terminal)
        terminal.type(rb"printf '\033[?1002h\033[?1006h\033[?1004h\033[?1h\033[3 qon\n'" + b"\r")
        terminal.wait_shown("\non")
        terminal.wait_received(b"\x1b[?1002h\x1b[?1006h")
        terminal.wait_received(b"\x1b[?1004h")
        terminal.wait_received(b"\x1b[?1h")
        terminal.wait_received(b"\x1b[3 q")
        terminal.type(rb"printf '\033[?1002l\033[?1004l\033[?1l\033[0 qoff\n'" + b"\r")
        terminal.wait_received(b"\x1b[?1002l\x1b[?1006l")


def test_the_mouse_reaches_a_program_that_asked_for_it(server: ServerProcess, session: str) -> None:
    with watched(server.env, "attach", session, "--no-hints") as terminal:
        attached(terminal)
        terminal.type(rb"printf '\033[?1000h\033[?1006h'; cat -v" + b"\r")
        terminal.wait_received(b"\x1b[?1000h")
        terminal.type(b"\x1b[<0;7;5M\x1b[<0;7;5m\r")
        terminal.wait_shown("^[[<0;7;5M^[[<0;7;5m")


def test_a_terminal_with_the_kitty_keyboard_is_told_the_programs_flags(
    server: ServerProcess, session: str
) -> None:
    with watched(server.env, "attach", session, "--no-hints") as terminal:
        terminal.wait_received(b"\x1b[?u\x1b[c")
        terminal.type(b"\x1b[?0u\x1b[?62c")
        attached(terminal)
        terminal.type(rb"printf '\033[>1uflags\n'" + b"\r")
        terminal.wait_received(b"\x1b[>1u")
        terminal.type(b"\x1b[92;5u\x1b[92;5u")

        assert terminal.wait_ended() == 0
        assert "[detached]" in terminal.text()
        assert b"\x1b[<u" in terminal.received
        assert "62c" not in terminal.text()


def test_two_ctrl_backslash_in_a_paste_without_brackets_do_not_detach(
    server: ServerProcess, session: str
) -> None:
    with watched(server.env, "attach", session, "--no-hints") as terminal:
        attached(terminal)
        terminal.type(b"stty -isig; echo rea''dy; cat -v\r")
        terminal.wait_shown("\nready")
        terminal.type(b"one\x1c\x1ctwo\r")
        terminal.wait_shown("onetwo\nonetwo")  # the echo, and what cat makes of it
        terminal.type(b"three\r")
        terminal.wait_shown("three\nthree")
        terminal.type(b"\x1c\x1c")

        assert terminal.wait_ended() == 0
        assert "[detached]" in terminal.text()


def test_two_ctrl_backslash_with_a_key_between_them_do_not_detach(
    server: ServerProcess, session: str
) -> None:
    """Each read on its own, as a person presses them: what comes in one piece was pasted."""

    def mode() -> str:
        return server.client.get(f"/sessions/{session}/input/mode")["mode"]

    def captured() -> list[str]:
        keys = server.client.get(f"/sessions/{session}/input/keys", after=0)["keys"]
        return [each["key"] for each in keys]

    with watched(server.env, "attach", session, "--no-hints") as terminal:
        attached(terminal)
        terminal.type(b"\x1c")
        terminal.wait(lambda: mode() == "capture", "it was not captured")
        terminal.type(b"x")
        terminal.wait(lambda: captured() == ["x"], "the key did not come")
        terminal.type(b"\x1c")
        terminal.wait(lambda: mode() == "passthrough", "it was not released")
        terminal.type(b"echo st''ill here\r")
        terminal.wait_shown("\nstill here")

        assert terminal.process.poll() is None


def test_a_terminal_that_goes_away_ends_the_client_and_not_the_session(
    server: ServerProcess, session: str
) -> None:
    with watched(server.env, "attach", session, "--no-hints") as terminal:
        attached(terminal)
        terminal.hang_up()
        terminal.process.wait(60)
    assert server.client.get(f"/sessions/{session}")["state"] != "exited"


def test_stopped_from_outside_it_gives_the_terminal_back_and_paints_anew_when_it_goes_on(
    server: ServerProcess, session: str
) -> None:
    def is_stopped() -> bool:
        return Path(f"/proc/{terminal.process.pid}/stat").read_text().split()[2] == "T"

    with watched(server.env, "attach", session, "--no-hints") as terminal:
        attached(terminal)
        os.kill(terminal.process.pid, signal.SIGTSTP)
        terminal.wait(is_stopped, "it did not stop")
        assert terminal.now() == terminal.before
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.type(b"echo go''es on\r")
        terminal.wait_shown("goes on")

        assert terminal.now() != terminal.before


@pytest.mark.parametrize("size", [(1, 1), (2, 1), (3, 2), (300, 2)])
def test_no_terminal_is_too_small(
    server: ServerProcess, session: str, size: tuple[int, int]
) -> None:
    cols, rows = size
    with watched(server.env, "attach", session, cols=cols, rows=rows) as terminal:
        terminal.wait_received(b"\x1b[?7l")  # a screen this small may have nothing to draw
        terminal.type(b"echo some text that is longer than that\r")
        terminal.resize(cols=80, rows=24)
        # A line editor that is told of a new size while it draws may draw over itself.
        server.client.post(f"/sessions/{session}/wait", {"idle_ms": 500, "fresh": True})
        terminal.type(b"\x15echo wi''de\r")
        terminal.wait_shown("wide")
        terminal.type(b"\x1c\x1c")

        assert terminal.wait_ended() == 0


def test_a_session_that_is_not_there_is_told_before_the_terminal_is_touched(
    server: ServerProcess,
) -> None:
    with watched(server.env, "attach", "nowhere") as terminal:
        assert terminal.wait_ended() == 1
        assert "[session_not_found]" in terminal.text()
        assert b"\x1b[?7l" not in terminal.received


def test_attach_needs_a_terminal(server: ServerProcess, session: str) -> None:
    said = server.command("attach", session)

    assert said.returncode == 1
    assert "[needs_terminal]" in said.stderr


def test_a_flood_is_shown_to_its_end_and_keys_go_through_meanwhile(
    server: ServerProcess, session: str
) -> None:
    with watched(server.env, "attach", session, "--no-hints") as terminal:
        attached(terminal)
        terminal.type(
            b"yes 0123456789012345678901234567890123456789 | head -n 2000000; echo e''nd\r"
        )
        terminal.wait_shown("0123456789")
        terminal.type(b"echo ty''ped\r")
        terminal.wait_shown("typed")

        lines = terminal.text().split("\n")
        assert "end" in lines
        # Frames, not bytes: far less than the 82 MB that the program printed.
        assert len(terminal.received) < 20_000_000
