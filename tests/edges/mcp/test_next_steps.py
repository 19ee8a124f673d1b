"""What a model is told next, once: after a key, a refusal, a deadline, a full-screen program."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.types import TextContent

from tests.edges.mcp.connect import call, connected
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


class Terminal:
    """One session and the calls on it."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name

    async def run(self, line: str, **more: object) -> dict[str, Any]:
        given = {"session": self.name, "input": line, "view": "output", **more}
        return await call(self.client, "wsh_run_command", **given)

    async def send(self, *keys: str, **more: object) -> dict[str, Any]:
        given = {"keys": list(keys)} if keys else {}
        return await call(self.client, "wsh_send_input", session=self.name, **given, **more)

    async def fail(self, tool: str, **arguments: object) -> tuple[str, dict[str, Any]]:
        """All that the model reads of a failure, and its structure."""
        result = await self.client.call_tool(tool, {"session": self.name, **arguments})
        assert result.is_error
        texts = [each.text for each in result.content if isinstance(each, TextContent)]
        return "\n".join(texts), dict(result.structured_content or {})


@pytest.fixture
async def terminal(server: ServerProcess) -> AsyncGenerator[Terminal]:
    async with connected("stdio-2026", server) as client:
        opened = await call(client, "wsh_create_session", command="bash")
        yield Terminal(client, opened["session"])
        await call(client, "wsh_manage_session", session=opened["session"], action="kill")


async def test_a_key_and_its_effect_are_one_call(terminal: Terminal) -> None:
    started = await terminal.run("vi -u NONE -n note || true")
    typed = await terminal.send(input="ihello")
    left = await terminal.send(input="\x1b:wq\r", wait=True, view="output")

    assert (started["state"], started["foreground"]["name"][:2]) == ("fullscreen", "vi")
    assert (typed["state"], typed["terminal"], typed["changed"]["0"]) == (
        "fullscreen",
        "raw",
        "hello",
    )
    assert typed["cursor"] == {"row": 0, "col": 5}
    assert (left["state"], left["exit_code"], left["completed_by"]) == ("prompt", 0, "mark")
    assert not left["output"].startswith("\n")


async def test_the_output_of_a_full_screen_program_is_its_screen_without_blank_rows(
    terminal: Terminal,
) -> None:
    shown = await terminal.run("seq 3 > three; less three")
    lines = shown["output"].split("\n")

    assert lines[:3] == ["1", "2", "3"]
    assert all(lines)


async def test_a_view_of_the_difference_has_only_rows_that_changed(terminal: Terminal) -> None:
    await terminal.run("seq 200 > many; less many")
    down = await terminal.send("Down", view="diff")
    nothing = await terminal.send("Up", "Down", view="diff")

    assert down["changed"]["0"] == "2"
    assert nothing["changed"] == {}
    assert "screen" not in down


async def test_a_password_is_answered_and_the_end_is_seen_in_one_call(terminal: Terminal) -> None:
    asked = await terminal.run("read -rsp 'Password: ' x; echo; echo ${#x}")
    told = await terminal.send(input="geheim\r", wait=True, view="output")

    assert (asked["state"], asked["terminal"]) == ("awaiting_password", "no_echo")
    assert (told["output"].strip(), told["exit_code"]) == ("6", 0)
    assert "geheim" not in json.dumps(told)


async def test_an_interrupt_says_whether_it_had_an_effect(terminal: Terminal) -> None:
    await terminal.fail("wsh_run_command", input="sleep 600", max_wait_ms=200)
    ended = await terminal.send("Ctrl-C")
    await terminal.run("seq 30")
    pressed = await terminal.send("Ctrl-C")
    line = "(trap '' INT; exec sleep 600)"
    await terminal.fail("wsh_run_command", input=line, max_wait_ms=300)
    deaf = await terminal.send("Ctrl-C")
    back = await terminal.run("echo back", reset=True)

    assert (ended["state"], "note" in ended) == ("prompt", False)
    assert not {"29", "30"} & {*pressed["changed"].values()}  # its run told them
    assert deaf["state"] == "running"
    assert "no effect" in deaf["note"]
    assert deaf["foreground"]["name"] == "sleep"
    assert (back["output"], back["exit_code"]) == ("back", 0)


async def test_a_passed_deadline_names_the_program_and_how_to_watch_it(terminal: Terminal) -> None:
    text, told = await terminal.fail(
        "wsh_run_command", input="sleep 600 | cat", max_wait_ms=200, view="output"
    )
    listed = await call(terminal.client, "wsh_list_sessions", session=terminal.name)

    assert "still running after" in text
    assert "wsh_await_quiesce" in text
    assert told["foreground"]["name"] == listed["foreground"]["name"] == "sleep"
    assert "screen" not in told


async def test_a_refusal_says_its_message_once_and_repeats_nothing(terminal: Terminal) -> None:
    line = "rm -rf /etc/" + "x" * 5_000
    text, told = await terminal.fail("wsh_run_command", input=line, view="output")

    assert text.count(told["error"]["message"]) == 1
    assert len(text) < 800
    assert "operation" not in told
    assert "screen" not in told


async def test_a_wait_for_a_text_says_what_matched_and_where(terminal: Terminal) -> None:
    line = "echo starting; sleep 0.2; echo 'listening on port 8080 now'; sleep 600"
    ran = await terminal.run(line, until_regex=r"port \d+")
    waited = await call(
        terminal.client, "wsh_await_quiesce", session=terminal.name, until="listening"
    )

    assert (ran["match"], ran["match_line"]) == ("port 8080", "listening on port 8080 now")
    assert (waited["match"], waited["match_line"]) == ("listening", "listening on port 8080 now")


async def test_a_line_that_is_typed_is_not_what_a_wait_looks_for(terminal: Terminal) -> None:
    await terminal.fail("wsh_run_command", input="sleep 600; echo ready", max_wait_ms=200)
    _, told = await terminal.fail("wsh_await_quiesce", until="ready", max_wait_ms=300)
    await terminal.send("Ctrl-C")
    await terminal.run("mkfifo fifo; (read x < fifo; echo it is ready) &")
    _, still = await terminal.fail("wsh_await_quiesce", until="ready", max_wait_ms=300)
    await terminal.run("echo > fifo")
    waited = await call(
        terminal.client, "wsh_await_quiesce", session=terminal.name, until="is ready"
    )

    assert told["error"]["code"] == still["error"]["code"] == "wait_timeout"
    assert waited["match_line"].endswith("it is ready")


async def test_rows_beyond_the_scrollback_are_said_to_be_none(terminal: Terminal) -> None:
    page = await call(
        terminal.client, "wsh_get_scrollback", session=terminal.name, offset=5_000, format="plain"
    )

    assert page["lines"] == []
    assert "beyond" in page["note"]


async def test_a_line_that_is_not_complete_says_so(terminal: Terminal) -> None:
    begun = await terminal.run('echo "open')
    reset = await terminal.run("echo next", reset=True)

    assert (begun["output"], begun["state"]) == ("", "awaiting_input")
    assert "not complete" in begun["note"]
    assert reset["output"] == "next"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_the_rest_of_a_line_is_taken_from_the_host_that_began_it_and_from_no_other(
    server: ServerProcess, shell: str
) -> None:
    end = "end" if shell == "fish" else "fi"
    async with connected("stdio-2026", server) as client, connected("stdio-2025", server) as other:
        opened = await call(client, "wsh_create_session", command=shell)
        terminal = Terminal(client, opened["session"])
        begun = await terminal.run("if true" if shell == "fish" else "if true; then")
        text, told = await Terminal(other, terminal.name).fail("wsh_run_command", input="ls")
        rest = await terminal.run("echo 'it''s'")
        ended = await terminal.run(end)
        await terminal.run("echo 'open")
        reset = await Terminal(other, terminal.name).run("echo next", reset=True)
        await call(client, "wsh_manage_session", session=terminal.name, action="kill")

    assert begun["state"] == rest["state"] == "awaiting_input"
    assert "another actor began" in text
    assert "reset: true" in told["error"]["hint"]
    assert (ended["output"], ended["exit_code"]) == ("its", 0)
    assert reset["output"] == "next"


@pytest.mark.parametrize(
    ("shell", "line", "way"),
    [("fish", "cat <<E\nx\nE", "as stdin"), ("bash", "$EDITOR x", "by its name")],
)
async def test_a_line_that_cannot_be_read_is_refused_with_a_way_that_a_model_can_go(
    server: ServerProcess, shell: str, line: str, way: str
) -> None:
    async with connected("stdio-2026", server) as client:
        opened = await call(client, "wsh_create_session", command=shell)
        text, _ = await Terminal(client, opened["session"]).fail("wsh_run_command", input=line)
        await call(client, "wsh_manage_session", session=opened["session"], action="kill")

    assert way in text


async def test_a_shell_whose_terminal_is_raw_is_no_prompt_and_a_reset_cures_it(
    server: ServerProcess,
) -> None:
    async with connected("stdio-2026", server) as client:
        opened = await call(client, "wsh_create_session", command="dash")
        terminal = Terminal(client, opened["session"])
        left = await terminal.run("stty raw -echo")
        text, told = await terminal.fail("wsh_run_command", input="echo hi", view="output")
        cured = await terminal.run("echo hi", reset=True)

    assert (left["state"], left["terminal"]) == ("awaiting_input", "raw")
    assert "reset: true" in text
    assert told["error"]["code"] == "session_busy"
    assert (cured["output"], cured["state"]) == ("hi", "prompt")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_a_terminal_left_raw_is_named_at_the_prompt_or_mended_by_the_shell(
    server: ServerProcess, shell: str
) -> None:
    leave_raw = "python3 -c 'import tty; tty.setraw(0)'"
    async with connected("stdio-2026", server) as client:
        opened = await call(client, "wsh_create_session", command=shell)
        terminal = Terminal(client, opened["session"])
        left = await terminal.run(leave_raw)
        after = await terminal.run("stty -a")
        cured = await terminal.run("stty -a", reset=True)

    assert left["state"] == "prompt"
    is_raw = "-opost" in after["output"]
    assert (left.get("terminal") == "raw") is is_raw
    assert ("reset: true" in left.get("note", "")) is is_raw
    assert "terminal" not in cured
    assert "-opost" not in cured["output"]


async def test_a_file_of_any_text_is_one_call(terminal: Terminal) -> None:
    content = 'it\'s "x" `y` $(z) \\ !! # é 漢字 🎉\tTab\n' * 400
    written = await terminal.run("cat > app.py", stdin=content)
    summed = await terminal.run("wc -c < app.py")

    assert (written["exit_code"], written["output"]) == (0, "")
    assert summed["output"].strip() == str(len(content.encode()))


async def test_a_command_in_the_background_leaves_the_session_free_and_its_end_is_told_once(
    terminal: Terminal,
) -> None:
    begun = await terminal.run("echo one; sleep 0.2; echo two; exit 4", background=True)
    free = await terminal.run("echo free")
    with anyio.fail_after(60):
        while "ended" not in (told := await terminal.run("sleep 0.05")):
            pass
    again = await terminal.run("echo again")
    page = await call(
        terminal.client, "wsh_get_scrollback", session=begun["background"], format="plain"
    )

    assert (begun["completed_by"], begun["state"]) == ("background", "running")
    assert "ended" not in free
    [ended] = told["ended"]
    assert (ended["session"], ended["exit_code"]) == (begun["background"], 4)
    assert "ended" not in again
    assert page["lines"][:2] == ["one", "two"]


async def test_a_command_in_the_background_ends_with_its_deadline(terminal: Terminal) -> None:
    await terminal.run("sleep 600", background=True, max_wait_ms=100)
    with anyio.fail_after(60):
        while "ended" not in (told := await terminal.run("sleep 0.05")):
            pass

    assert told["ended"][0]["exit_code"] == 129


async def test_the_end_of_a_command_whose_deadline_passed_is_told(terminal: Terminal) -> None:
    await terminal.fail("wsh_run_command", input="sleep 0.4; (exit 5)", max_wait_ms=100)
    waited = await call(terminal.client, "wsh_await_quiesce", session=terminal.name, timeout_ms=700)

    assert [each["exit_code"] for each in waited["ended"]] == [5]


async def test_a_refused_command_does_not_run_in_the_background_either(terminal: Terminal) -> None:
    text, _ = await terminal.fail("wsh_run_command", input="rm -rf /etc /usr", background=True)
    listed = await call(terminal.client, "wsh_list_sessions", tag=["background"])

    assert "not run" in text
    assert all("rm -rf" not in each["command"] for each in listed["sessions"])


async def test_a_session_that_has_ended_gives_its_name_up(terminal: Terminal) -> None:
    await terminal.fail("wsh_run_command", input="exit 3")
    opened = await call(terminal.client, "wsh_create_session", name=terminal.name, command="bash")
    ran = await terminal.run("echo new")

    assert (opened["session"], ran["output"]) == (terminal.name, "new")


async def test_a_session_that_was_asked_to_keeps_its_name_until_it_is_removed(
    terminal: Terminal,
) -> None:
    name = f"{terminal.name}-kept"
    made = {"name": name, "command": "sh -c true"}
    await call(terminal.client, "wsh_create_session", keep_name=True, **made)
    await call(terminal.client, "wsh_await_quiesce", session=name, end=True)
    with pytest.raises(MCPError, match="keeps its name until it is removed") as refused:
        await terminal.client.call_tool("wsh_create_session", made)
    await call(terminal.client, "wsh_manage_session", session=name, action="kill")
    again = await call(terminal.client, "wsh_create_session", **made)

    assert refused.value.error.data["code"] == "session_name_conflict"
    assert "wsh_manage_session kill" in refused.value.error.data["hint"]
    assert again["session"] == name


async def test_an_input_of_several_commands_says_how_far_it_came(terminal: Terminal) -> None:
    lines = "echo one\nsleep 600\ntouch behind-it"
    _, told = await terminal.fail("wsh_run_command", input=lines, max_wait_ms=500, view="output")
    stopped = await terminal.send("Ctrl-C")
    left = await terminal.run("ls behind-it")

    assert told["output"] == "one"
    assert told["note"].startswith("1 of its commands ended; this one has not: sleep 600.")
    assert told["note"].endswith("Those behind it run when it ends")
    assert stopped["state"] in ("prompt", "running")  # then what is behind it runs
    assert left["output"] == "behind-it"
    asked = await terminal.run("echo one\nread x")
    await terminal.run("y")
    assert (asked["state"], "note" in asked) == ("awaiting_input", False)


async def test_an_answer_with_the_screen_has_its_rows_once(terminal: Terminal) -> None:
    shown = await call(
        terminal.client, "wsh_run_command", session=terminal.name, input="seq 90 | less"
    )
    paged = await terminal.send("Space", view="both")

    found = await terminal.send("G", until="90")
    plain = await terminal.send("g", view="output")
    left = await terminal.send("q", wait=True)

    assert (shown["state"], "screen" in shown, "output" in shown) == ("fullscreen", True, False)
    assert ("output" in found, "90" in found["changed"].values()) == (False, True)
    assert (plain["output"].split("\n")[0], "changed" in plain) == ("1", False)
    assert not {"ends_at", "ended"} & (found.keys() | left.keys())  # it is driven, not left
    assert ("screen" in paged, "output" in paged, "changed" in paged) == (True, False, False)


async def test_a_pager_that_searches_a_large_file_answers_with_what_it_found(
    terminal: Terminal,
) -> None:
    await terminal.run("seq 3000000 > numbers; less numbers", max_wait_ms=60_000)
    found = await terminal.send(input="/^2345678\r")
    left = await terminal.send("q")

    assert found["changed"]["0"] == "2345678"
    assert left["state"] == "prompt"


RELAY = r"""
import os, time, tty
tty.setraw(0)
os.write(1, b"\x1b[?1049h\x1b[H")
if program := os.fork():
    os.waitpid(program, 0)
    os.write(1, b"\x1b[?1049l")
else:
    os.setsid()
    while (key := os.read(0, 1)) != b"q":
        os.write(1, key.upper())
"""


async def test_a_key_for_a_program_that_has_its_terminal_read_by_another_has_its_effect(
    terminal: Terminal,
) -> None:
    """As tmux and ssh do, of which the kernel says that they never read."""
    await terminal.run("cat > relay.py", stdin=RELAY)
    await terminal.run("python3 relay.py")
    pressed = await terminal.send("x", view="diff")
    left = await terminal.send("q", wait=True)

    assert (pressed["changed"], pressed["completed_by"]) == ({"0": "X"}, "fullscreen")
    assert left["state"] == "prompt"


async def test_a_key_too_many_for_a_pager_is_no_part_of_the_next_run(terminal: Terminal) -> None:
    await terminal.send("q")
    ran = await terminal.run("echo next")

    assert (ran["output"], ran["exit_code"]) == ("next", 0)


async def test_a_pager_says_how_it_is_left_and_a_line_that_went_into_a_program_is_said_to(
    terminal: Terminal,
) -> None:
    paged = await terminal.run("seq 1000 | less -X")
    again = await terminal.run("git status")
    await terminal.run("true", reset=True)
    edited = await terminal.run("vi -u NONE -n note")
    typed = await terminal.run("echo hi")
    ran = await terminal.run("echo hi", reset=True)

    assert "q leaves it" in paged["note"]
    assert "q leaves it" in again["note"]
    assert "note" not in edited
    assert "no shell ran it" in typed["note"]
    assert (ran["output"], "note" in ran) == ("hi", False)


async def test_what_follows_a_full_screen_program_is_told_without_what_it_drew(
    terminal: Terminal,
) -> None:
    await terminal.run("vi -u NONE -n fresh; echo saved; cat fresh")
    left = await terminal.send(input="ihello\x1b:wq\r", wait=True, view="output")
    await terminal.run("vi -u NONE -n note")
    quit_ = await terminal.send(input=":q!\r")

    assert left["output"] == "saved\nhello"
    assert "changed" not in left
    assert all("echo saved" not in row for row in quit_["changed"].values())


async def test_an_inner_shell_answers_several_lines_with_their_output_alone(
    terminal: Terminal,
) -> None:
    await terminal.run("PS1='inner$ ' bash --norc --noprofile")
    looped = await terminal.run("for i in 1 2\ndo echo $i\ndone")
    written = await terminal.run("cat > file <<'EOF'\nhello!\nEOF")
    read = await terminal.run("cat file")
    expanded = await terminal.run('echo "a!b"')
    _, fed = await terminal.fail("wsh_run_command", input="cat > file", stdin="x", view="output")
    await terminal.run("exit")

    assert [each["output"] for each in (looped, written, read)] == ["1\n2", "", "hello!"]
    assert "set +H" in expanded["note"]
    assert "here-document" in fed["error"]["hint"]


async def test_the_answer_to_a_question_is_not_repeated_before_the_next_one_hides_its_echo(
    terminal: Terminal,
) -> None:
    await terminal.run("read -rp 'Name: ' n; read -rsp 'Password: ' p; echo")
    asked = await terminal.run("joe")

    assert (asked["state"], asked["output"]) == ("awaiting_password", "Password: ")


async def test_a_line_that_was_not_typed_says_which_program_has_the_terminal(
    terminal: Terminal,
) -> None:
    await terminal.run("python3 -u -m http.server 0 --bind 127.0.0.1", until="Serving")
    text, told = await terminal.fail(
        "wsh_run_command", input="echo hi", max_wait_ms=200, view="output"
    )
    await terminal.send("Ctrl-C", wait=True)

    assert "python3 (pid " in text
    assert "another session" in told["error"]["hint"]
    assert told["state"] == "running"


async def test_carriage_returns_that_a_terminal_cannot_keep_are_named(terminal: Terminal) -> None:
    cut = await terminal.run("cat > file <<'E'\r\na\r\nE\r\nwc -c < file\r\n")
    kept = await terminal.run("cat > file && wc -c < file", stdin="a\r\n")
    one = await terminal.run("echo one\r\n")

    assert (cut["output"], "stdin" in cut["note"]) == ("2", True)
    assert (kept["output"], one["output"]) == ("3", "one")
    assert "note" not in kept
    assert "note" not in one


async def test_a_caller_bounds_the_text_of_an_answer(terminal: Terminal) -> None:
    ran = await terminal.run("seq 100000", max_output_bytes=300)

    assert len(ran["output"]) < 600
    assert ran["output"].endswith("99999\n100000")
    assert ran["block"]


async def test_a_deadline_in_a_raw_terminal_does_not_advise_ctrl_c(terminal: Terminal) -> None:
    text, told = await terminal.fail(
        "wsh_run_command", input="stty raw -echo; sleep 600", max_wait_ms=500, view="output"
    )
    cured = await terminal.run("echo fine", reset=True)

    assert told["terminal"] == "raw"
    assert "reset: true" in text
    assert cured["output"] == "fine"


async def test_a_repl_answers_without_the_prompt_that_was_there_before(terminal: Terminal) -> None:
    await terminal.run("python3 -q")
    answers = [
        await terminal.run(text)
        for text in ("class A:\n    x = 1\n\n", "def g():\n    return 7\n\nprint(g())\n", "g()")
    ]
    await terminal.run("exit()")

    assert [each["output"] for each in answers] == ["", "7", "7"]


async def test_the_program_that_reads_is_named_and_not_the_one_that_started_it(
    terminal: Terminal,
) -> None:
    shown = await terminal.run("sh -c 'vi -u NONE -n note; true'")
    await terminal.send(input=":q!\r", wait=True)

    assert shown["foreground"]["name"].startswith("vi")


@pytest.mark.parametrize("way", ["stdio-2025", "http-2025", "http-2026"])
async def test_a_file_of_8_mb_is_one_call_over_every_way_in(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        opened = await call(client, "wsh_create_session", command="bash")
        given = {"session": opened["session"], "input": "wc -c", "stdin": "it's!\n\n\n\n" * 800_000}
        ran = await call(client, "wsh_run_command", **given, view="output")
        await call(client, "wsh_manage_session", session=opened["session"], action="kill")

    assert ran["output"].strip() == "7200000"
