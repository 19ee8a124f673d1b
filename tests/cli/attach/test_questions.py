"""A question to a person in an attached terminal: seen there, and answered there."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duetty.cli.attach.approval_prompt import SETTLE_S, Answer, Asking
from tests.approvals.asking import RULES, AgentCall, outcomes, waiting
from tests.cli.terminals import Tmux, tmux, wait_for
from tests.server_process import ServerProcess, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """Asks only when somebody is there: the attached terminal."""
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home:
        (Path(home) / "config.toml").write_text(RULES)
        with running_server(Path(home)) as server:
            command = "bash --norc --noprofile"
            session = {"name": "s", "command": command, "env": {"PS1": "in> "}}
            server.client.post("/sessions", session)
            yield server


@pytest.fixture
def terminal(server: ServerProcess) -> Iterator[Tmux]:
    with tmux(server.home, server.env) as terminal:
        terminal.duetty("attach", "s", "--no-hints")
        terminal.wait_shown("in>")
        yield terminal
        terminal.press("C-\\", "C-\\")
        terminal.wait_outer("[detached]")


def answered(terminal: Tmux, key: str) -> None:
    terminal.wait_shown("$ touch made")
    # A key that comes with the question is not meant for it.
    until_s = time.monotonic() + SETTLE_S
    wait_for(lambda: time.monotonic() > until_s, lambda: "")
    terminal.press("C-\\")
    terminal.wait_shown("y: yes, this once")
    terminal.press(key)
    terminal.wait_gone("$ touch made")


@pytest.mark.pty
@pytest.mark.tmux
def test_a_person_says_yes_in_the_attached_terminal(server: ServerProcess, terminal: Tmux) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]
    answered(terminal, "y")
    call.over()

    [told] = [
        each
        for each in server.client.get("/approvals", settled="true")["approvals"]
        if each["id"] == approval
    ]
    assert call.status == 200
    assert (told["state"], told["via"]) == ("granted", "attach")
    assert (server.home / "made").exists()
    assert outcomes(server, approval) == ["granted"]


@pytest.mark.pty
@pytest.mark.tmux
def test_a_person_says_no_in_the_attached_terminal(server: ServerProcess, terminal: Tmux) -> None:
    call = AgentCall(server, "touch made two")
    approval = waiting(server)["id"]
    answered(terminal, "n")
    call.over()

    assert (call.status, call.answer["error"]["code"]) == (403, "approval_rejected")
    assert outcomes(server, approval) == ["rejected"]
    assert not (server.home / "two").exists()


@pytest.mark.pty
@pytest.mark.tmux
def test_what_is_typed_meanwhile_goes_to_the_program_and_an_answer_from_elsewhere_is_seen(
    server: ServerProcess, terminal: Tmux
) -> None:
    server.client.post("/sessions", {"name": "other"})
    call = AgentCall(server, "touch made three", path="/sessions/other/run")
    approval = waiting(server)["id"]
    terminal.wait_shown("asks for command.run in session other")
    terminal.type("y")
    terminal.wait_shown("in> y")

    server.client.post(f"/approvals/{approval}/decline")
    call.over()
    terminal.wait_gone("asks for command.run")

    assert outcomes(server, approval) == ["rejected"]
    terminal.press("C-u")
    terminal.wait_gone("in> y")  # keys that are read with it would be taken for a paste


def question(id_: str = "a", *, line: str = "rm x", state: str = "pending") -> dict[str, Any]:
    return {
        "id": id_,
        "state": state,
        "actor": "agent:bot",
        "operation": "command.run",
        "session": "s",
        "cwd": "/work",
        "shown": line,
        "reason": "it removes\u202e a file",
        "suggestion": None,
        "choices": [
            {"covers": "once", "says": "this call", "rule": None},
            {"covers": "session", "says": "the same line here", "rule": "allow rm x here"},
            {"covers": "always", "says": "the same line", "rule": "allow rm x\u202e always"},
        ],
    }


def told(*, line: str = "rm x", can_answer: bool = True) -> Asking:
    asking = Asking(can_answer=can_answer)
    asking.tell({"type": "approvals", "approvals": [question(line=line)]}, 10.0)
    return asking


def test_two_keys_make_an_answer_and_any_other_leaves_the_question() -> None:
    asking = told()
    asking.rows(cols=80, rows=24)

    begun = asking.begin(20.0)
    left = asking.take(b"x")
    again = asking.begin(21.0), asking.take(b"y")

    assert (begun, left, again) == (True, None, (True, Answer("a", granted=True)))
    assert not asking.is_answering


def test_each_way_to_say_yes_is_shown_with_its_key_and_taken_by_it() -> None:
    asking = told()
    before = asking.rows(cols=80, rows=24)
    asking.begin(20.0)

    unseen = asking.take(b"s")
    asking.begin(21.0)
    shown = asking.rows(cols=80, rows=24)
    answer = asking.take(b"s")
    asking.begin(22.0)
    asking.rows(cols=80, rows=24)
    by_kitty = asking.take(b"\x1b[97u")

    assert not any("this session" in row for row in before)
    assert "s: this session: the same line here" in shown
    assert "a: always: allow rm x\\u202e always" in shown
    assert not any(row.startswith(("p:", "h:")) for row in shown)
    assert unseen is None
    assert answer == Answer("a", granted=True, covers="session", rule="allow rm x here")
    assert by_kitty == Answer("a", granted=True, covers="always", rule="allow rm x\u202e always")


def test_where_there_is_no_room_for_every_way_only_once_is_offered() -> None:
    asking = told()
    asking.rows(cols=80, rows=7)
    asking.begin(20.0)
    rows = asking.rows(cols=80, rows=7)

    assert not any("session: " in row for row in rows)
    assert asking.take(b"s") is None
    asking.begin(21.0)
    assert asking.take(b"y") == Answer("a", granted=True)


def test_a_key_that_comes_with_the_question_is_not_meant_for_it() -> None:
    asking = told()
    asking.rows(cols=80, rows=24)

    assert not asking.begin(10.0 + SETTLE_S / 2)
    assert asking.begin(10.0 + SETTLE_S)


def test_what_was_answered_elsewhere_is_not_answered_here_nor_is_the_next_one() -> None:
    asking = told()
    asking.tell({"type": "approval", "approval": question("b")}, 11.0)
    asking.rows(cols=80, rows=24)
    asking.begin(20.0)

    asking.tell({"type": "approval", "approval": question(state="granted")}, 21.0)

    assert not asking.is_answering
    assert not asking.begin(21.1)


@pytest.mark.parametrize("reason", ["too long", "only looks"])
def test_what_cannot_be_shown_whole_or_by_who_only_looks_is_not_answered(reason: str) -> None:
    asking = told(line="x " * 3_000) if reason == "too long" else told(can_answer=False)
    rows = asking.rows(cols=80, rows=24)

    assert "duetty appr" in rows[-1]
    assert len(rows) < 24
    assert not asking.begin(20.0)


def test_the_whole_line_is_shown_and_nothing_in_it_hides() -> None:
    rows = told(line="echo " + "word " * 40 + "漢").rows(cols=40, rows=24)

    text = "".join(rows)
    assert text.count("word") == 40
    assert "\\u6f22" in text
    assert "\\u202e" in text
    assert all(len(row) < 40 for row in rows)
