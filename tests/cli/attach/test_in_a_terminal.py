"""`duetty attach` in a real terminal: tmux runs it, types into it, and tells what it shows."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminals import Tmux, tmux, wait_for
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.pty, pytest.mark.tmux]


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        yield server


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return re.sub(r"[^a-z_]", "", request.node.name)[-40:]


def opened(server: ServerProcess, name: str, command: str = "bash --norc --noprofile") -> str:
    server.client.post(
        "/sessions",
        {"name": name, "command": command, "env": {"PS1": "in> ", "HOME": str(server.home)}},
    )
    return name


def attached(terminal: Tmux, name: str, *options: str) -> None:
    terminal.duetty("attach", name, "--no-hints", *options)
    terminal.wait_shown("in>")


def test_what_is_typed_is_run_and_shown(server: ServerProcess, name: str) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        attached(terminal, name)
        terminal.line("echo $((6*7))")
        terminal.wait_shown("\n42\n")


def test_two_ctrl_backslash_detach_and_leave_the_terminal_as_it_was(
    server: ServerProcess, name: str
) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        terminal.line("stty -g > before")
        attached(terminal, name)
        terminal.press("C-\\", "C-\\")
        terminal.wait_outer("[detached]")
        terminal.line("stty -g | cmp - before && echo restored")
        terminal.wait_shown("\nrestored")

        assert terminal.ask("#{alternate_on} #{mouse_any_flag} #{cursor_flag}") == "0 0 1"
    assert server.client.get(f"/sessions/{name}")["state"] != "exited"


def test_the_end_of_the_session_is_told_with_its_exit_code(
    server: ServerProcess, name: str
) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        attached(terminal, name)
        terminal.line("echo last words; exit 3")
        terminal.wait_outer("[exited 3]")

        assert "\nlast words\n" in terminal.screen()


def test_what_was_on_the_terminal_before_is_in_its_scrollback(
    server: ServerProcess, name: str
) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        terminal.line("echo from-before")
        attached(terminal, name)

        assert "from-before" not in terminal.screen()
        assert "\nfrom-before\n" in terminal.history()


def test_rows_that_scroll_off_are_in_the_terminals_own_scrollback(
    server: ServerProcess, name: str
) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        attached(terminal, name)
        terminal.line("seq -f 'row %g.' 1 200")
        terminal.wait_shown("row 200.")

        assert re.findall(r"row (\d+)\.\n", terminal.history()) == [str(at) for at in range(1, 201)]


def test_scrollback_from_before_attaching_comes_along_as_far_as_asked(
    server: ServerProcess, name: str
) -> None:
    opened(server, name)
    server.command("run", "-s", name, "seq -f 'row %g.' 1 100")
    with tmux(server.home, server.env) as some, tmux(server.home, server.env) as none:
        attached(some, name, "--scrollback", "20")
        attached(none, name, "--scrollback", "none")

        rows = re.findall(r"row (\d+)\.\n", some.history())
        assert rows == [str(at) for at in range(101 - len(rows), 101)]
        assert 24 + 20 > len(rows) >= 24
        assert len(re.findall(r"row (\d+)\.\n", none.history())) <= 24


def test_vim_is_drawn_and_leaves_no_trace(server: ServerProcess, name: str) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        attached(terminal, name)
        terminal.line("echo above")
        terminal.wait_shown("\nabove")
        terminal.line("vim -u NONE -N file.txt")
        terminal.wait_shown('"file.txt"')
        assert terminal.ask("#{alternate_on}") == "1"
        terminal.type("ihello 漢字 world")
        terminal.press("Escape")
        terminal.wait_shown("hello 漢字 world")
        terminal.line(":q!")
        terminal.wait_shown("\nabove")

        assert terminal.ask("#{alternate_on}") == "0"
        assert "hello" not in terminal.screen()


def test_attaching_while_vim_runs_shows_vim_and_then_the_shell(
    server: ServerProcess, name: str
) -> None:
    opened(server, name)
    server.client.post(f"/sessions/{name}/run", {"input": "echo early"})
    server.client.post(f"/sessions/{name}/run", {"input": "vim -u NONE -N other.txt"})
    with tmux(server.home, server.env) as terminal:
        terminal.duetty("attach", name, "--no-hints")
        terminal.wait_shown('"other.txt"')
        terminal.line(":q!")
        terminal.wait_shown("\nearly")

        assert "other.txt" in terminal.screen()  # the command line, not vim
        assert "~\n" not in terminal.screen()


def test_less_scrolls_both_ways(server: ServerProcess, name: str) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        attached(terminal, name)
        terminal.line("seq -f 'row %g.' 1 100 | less")
        terminal.wait_shown("row 23.")
        terminal.press("Space")
        terminal.wait_shown("row 46.")
        terminal.press("k")
        terminal.wait_shown("row 23.")
        terminal.press("q")
        terminal.wait_gone("row 23.")


def test_htop_runs_with_its_colours(server: ServerProcess, name: str) -> None:
    opened(server, name)
    with tmux(server.home, server.env, cols=100) as terminal:
        attached(terminal, name)
        terminal.line("htop")
        terminal.wait_shown("Load average")
        # The heading of its columns: black on green, whatever else this machine's htop shows.
        heading = re.compile(r"\x1b\[(?:\d+;)*42(?:;\d+)*m")
        wait_for(
            lambda: heading.search(terminal.screen(styled=True)) is not None,
            lambda: f"no green heading:\n{terminal.screen(styled=True)}",
        )
        terminal.press("q")
        terminal.wait_gone("Load average")


def test_colours_of_the_palette_and_true_ones_pass(server: ServerProcess, name: str) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        attached(terminal, name)
        terminal.line(r"printf '\033[38;5;208mpal\033[48;2;1;2;3mette\033[m \033[1;31mred\033[m\n'")
        terminal.wait_shown("\npalette red")

        styled = terminal.screen(styled=True)
        assert "\x1b[38;5;208mpal" in styled
        assert re.search(r"\x1b\[(?:\d+;)*48;2;1;2;3mette", styled)  # not the line that was typed
        assert re.search(r"\x1b\[[0-9;]*1[0-9;]*m.*red", styled)
        assert "\x1b[31m" in styled


def test_underlines_of_other_kinds_pass(server: ServerProcess, name: str) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        attached(terminal, name)
        terminal.line(r"printf '\033[4:3mcurly\033[m \033[9mstruck\033[m\n'")
        terminal.wait_shown("\ncurly struck")

        styled = terminal.screen(styled=True)
        assert re.search(r"4:3m.*curly", styled)
        assert re.search(r"\x1b\[9m.*struck", styled)


def test_wide_characters_keep_their_columns(server: ServerProcess, name: str) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        attached(terminal, name)
        terminal.line("clear; printf '漢字|x\\nabcd|x\\n'")
        terminal.wait_shown("\nabcd|x\n")

        rows = terminal.rows_shown()
        assert rows[:2] == ["漢字|x", "abcd|x"]


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


@pytest.mark.parametrize(
    "line",
    [
        FAMILY + " |",
        FAMILY + "|",
        "ab" + FAMILY + FAMILY + "cd|",
        "\U0001f3f3\ufe0f\u200d\U0001f308 |",
        "a\u200db |",
    ],
    ids=["family", "family-bar", "two-families", "rainbow-flag", "letters"],
)
def test_a_terminal_that_joins_characters_in_its_own_way_keeps_the_rest_of_the_screen(
    server: ServerProcess, name: str, line: str
) -> None:
    opened(server, name)
    with tmux(server.home, server.env, cols=60, rows=12) as terminal:
        attached(terminal, name)
        (server.home / f"{name}.txt").write_text(f"{line}\nXYZ\n0123456789\n")
        terminal.line(f"clear; cat {server.home}/{name}.txt; echo don''e")
        terminal.wait_shown("done")
        shown = terminal.rows_shown()

    assert (shown[1], shown[2]) == ("XYZ", "0123456789")
    assert shown[0].rstrip().endswith(line[-1])


def test_a_paste_has_brackets_where_the_program_asked_for_them(
    server: ServerProcess, name: str
) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        attached(terminal, name)
        terminal.line(r"printf '\033[?2004hwan''ted\n'; cat -v")
        terminal.wait_shown("\nwanted")
        terminal.paste("first")
        terminal.press("Enter")
        terminal.wait_shown("^[[200~first^[[201~\n^[[200~first^[[201~")
        terminal.press("C-c")
        terminal.line(r"printf '\033[?2004lunwan''ted\n'; cat -v")
        terminal.wait_shown("\nunwanted")
        terminal.paste("second")
        terminal.press("Enter")
        terminal.wait_shown("\nsecond\nsecond")


def test_the_mouse_is_the_programs_only_while_it_wants_it(server: ServerProcess, name: str) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        attached(terminal, name)
        flags = "#{mouse_button_flag} #{mouse_sgr_flag}"
        terminal.line(r"printf '\033[?1002h\033[?1006hwan''ted\n'; cat -v")
        terminal.wait_shown("\nwanted")
        wait_for(lambda: terminal.ask(flags) == "1 1", lambda: terminal.ask(flags))
        terminal.type("\x1b[<0;7;5M\x1b[<0;7;5m")
        terminal.press("Enter")
        terminal.wait_shown("^[[<0;7;5M^[[<0;7;5m\n^[[<0;7;5M^[[<0;7;5m")
        terminal.press("C-c")
        # What is typed before the shell is back is dropped with the interrupt.
        terminal.wait_shown("^C\nin>")
        terminal.line(r"printf '\033[?1002l\033[?1006l'")
        wait_for(lambda: terminal.ask(flags) == "0 0", lambda: terminal.ask(flags))


def test_kitty_keys_are_not_wished_of_a_terminal_without_them(
    server: ServerProcess, name: str
) -> None:
    """tmux has no such keyboard: a program that wants it gets the old keys, and leaving works."""
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        attached(terminal, name)
        terminal.line(r"printf '\033[>1uwan''ted\n'; cat -v")
        terminal.wait_shown("\nwanted")
        terminal.press("C-a", "Up", "Enter")
        terminal.wait_shown("\n^A^[[A")
        terminal.press("C-\\", "C-\\")
        terminal.wait_outer("[detached]")


def test_a_new_size_reaches_the_program(server: ServerProcess, name: str) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        attached(terminal, name)
        terminal.line("stty size")
        terminal.wait_shown("\n24 80")
        terminal.resize(cols=60, rows=15)
        wait_for(
            lambda: server.client.get(f"/sessions/{name}")["cols"] == 60, lambda: "no new size"
        )
        terminal.line("stty size")
        terminal.wait_shown("\n15 60")


def test_two_terminals_share_a_session_of_the_smaller_size(
    server: ServerProcess, name: str
) -> None:
    opened(server, name)
    with (
        tmux(server.home, server.env, cols=80, rows=24) as large,
        tmux(server.home, server.env, cols=40, rows=10) as small,
    ):
        attached(large, name)
        attached(small, name)
        large.wait_shown("·" * 40 + "\n")
        small.line("echo from-small")
        large.wait_shown("\nfrom-small")
        small.press("C-\\", "C-\\")
        small.wait_outer("[detached]")
        large.wait_gone("·")
        large.line("stty size")
        large.wait_shown("\n24 80")


def test_who_holds_the_size_sets_it_for_everybody(server: ServerProcess, name: str) -> None:
    opened(server, name)
    with (
        tmux(server.home, server.env, cols=40, rows=10) as small,
        tmux(server.home, server.env, cols=80, rows=24) as large,
    ):
        attached(small, name)
        attached(large, name, "--hold")
        large.line("stty size")
        large.wait_shown("\n24 80")
        assert server.client.get(f"/sessions/{name}")["cols"] == 80


def test_somebody_who_only_looks_changes_nothing(server: ServerProcess, name: str) -> None:
    opened(server, name)
    with (
        tmux(server.home, server.env) as driver,
        tmux(server.home, server.env, cols=40, rows=10) as onlooker,
    ):
        attached(driver, name)
        onlooker.duetty("attach", name, "--no-hints", "--read-only")
        onlooker.wait_shown("in>")
        onlooker.line("echo not-typed")
        driver.line("stty size")
        onlooker.wait_shown("\n24 80")
        onlooker.press("C-c")
        onlooker.wait_outer("[detached]")

        assert "not-typed" not in driver.screen()


def test_detach_sends_every_attached_terminal_away(server: ServerProcess, name: str) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as one, tmux(server.home, server.env) as other:
        attached(one, name)
        attached(other, name)

        assert server.command("detach", name).returncode == 0
        one.wait_outer("[detached]")
        other.wait_outer("[detached]")
    assert server.client.get(f"/sessions/{name}")["state"] != "exited"


def test_killing_the_session_ends_the_attached_terminal(server: ServerProcess, name: str) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        attached(terminal, name)
        server.command("kill", name)
        terminal.wait_outer("[")

        assert re.search(r"^\[(removed|exited.*)\]$", terminal.screen(), re.MULTILINE)


def test_a_hint_tells_how_to_leave_and_goes_by_itself(server: ServerProcess, name: str) -> None:
    opened(server, name)
    with tmux(server.home, server.env) as terminal:
        terminal.duetty("attach", name)
        terminal.wait_shown(f"{name} · Ctrl+\\ twice detaches")
        terminal.wait_gone("detaches")


def test_duetty_alone_opens_a_session_here_and_shows_it(server: ServerProcess) -> None:
    here = server.home / "some-directory"
    here.mkdir(exist_ok=True)
    (server.home / ".bashrc").write_text("PS1='in> '\n")
    with tmux(server.home, {**server.env, "MINE": "kept", "DUETTY_TOKEN": "secret"}) as terminal:
        terminal.line(f"cd {here}")
        terminal.duetty("--no-hints")
        terminal.wait_shown("in>")
        terminal.line("echo $MINE-$DUETTY_TOKEN-$PWD; echo $DUETTY_SESSION; stty size")
        terminal.wait_shown(f"\nkept--{here}")
        terminal.wait_shown("\n24 80")
        terminal.duetty("attach", "--no-hints")
        terminal.wait_shown("[nested_session]")
        terminal.line("exit")
        terminal.wait_outer("[exited")


def test_without_a_server_duetty_starts_one(home: Path) -> None:
    alone = ServerProcess(home)
    (home / ".bashrc").write_text("PS1='in> '\n")
    try:
        with tmux(home, alone.env) as terminal:
            terminal.duetty("--name", "first", "--no-hints")
            terminal.wait_shown("in>")
            terminal.line("echo $DUETTY_SESSION")
            terminal.wait_shown("\nfirst")
            terminal.line("exit")
            terminal.wait_outer("[exited 0]")
    finally:
        alone.command("stop")


def test_a_killed_server_is_waited_for_and_the_session_goes_on(home: Path, name: str) -> None:
    with running_server(home) as server:
        opened(server, name)
        with tmux(home, server.env) as terminal:
            attached(terminal, name)
            terminal.line("echo before-the-end; sleep 2; echo after-the-end")
            terminal.wait_shown("\nbefore-the-end")
            server.kill()
            terminal.wait_shown("the server is gone")
            server.start()
            terminal.wait_shown("\nafter-the-end")
            terminal.wait_gone("the server")
            terminal.line("echo still-here")
            terminal.wait_shown("\nstill-here")

            assert terminal.history().count("\nbefore-the-end\n") == 1


def test_a_server_that_stays_away_is_given_up(home: Path, name: str) -> None:
    with running_server(home) as server:
        opened(server, name)
        with tmux(home, server.env) as terminal:
            attached(terminal, name, "--give-up", "0.5")
            server.kill()
            terminal.wait_outer("[the server is gone")
            terminal.line("echo code $?")
            terminal.wait_shown("\ncode 3")
