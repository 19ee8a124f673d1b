"""`duetty ask` and `duetty agent`, through a real server, a real shell and a scripted model."""

import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.model_server import ModelServer, Reply, call, results, say
from tests.agent.talking import Asked, until
from tests.cli.terminals import tmux
from tests.homes import settle_home
from tests.server_process import ServerProcess

pytestmark = pytest.mark.pty


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def server(model: ModelServer) -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        started = ServerProcess(settle_home(Path(path)), **model.settings)
        started.start_with("duetty.agent.agents.RETRY_S = (0.01, 0.02)")
        try:
            yield started
        finally:
            started.end()


def test_the_agent_runs_a_command_and_says_what_came_of_it(
    server: ServerProcess, model: ModelServer
) -> None:
    model.script = [call("run", {"input": "echo it is $((6*7))"}), say("It says 42.")]

    asked = server.command("ask", "what is it?", cwd=server.home)

    assert asked.returncode == 0, asked.stderr
    assert "● run echo it is $((6*7))" in asked.stdout
    assert "it is 42" in asked.stdout
    assert "It says 42." in asked.stdout
    assert "it is 42" in results(model.requests[-1])[0]


def test_what_is_piped_in_is_what_the_message_is_about(
    server: ServerProcess, model: ModelServer
) -> None:
    model.script = [say("A comma.")]

    asked = server.command("ask", "-q", "why", input="error: expected ','\n", cwd=server.home)

    assert asked.stdout == "A comma.\n"
    said = str(model.requests[-1]["messages"][-1]["content"])
    assert said == "why\n\n<attached>\nerror: expected ','\n\n</attached>"


def test_in_a_session_of_the_persons_it_works_there(
    server: ServerProcess, model: ModelServer
) -> None:
    name = server.client.post("/sessions", {"cwd": str(server.home)})["name"]
    server.client.post(f"/sessions/{name}/run", {"input": "WHERE=here"})
    model.script = [call("run", {"input": "echo I am $WHERE"}), say("Here.")]

    asked = server.command("ask", "--session", name, "where?", stdin=subprocess.DEVNULL)

    assert "I am here" in asked.stdout


def test_as_json_each_line_is_an_event_and_the_last_one_the_end(
    server: ServerProcess, model: ModelServer
) -> None:
    model.script = [call("run", {"input": "true"}, "I look."), say("Fine.")]

    asked = server.command("ask", "--json", "go", cwd=server.home, stdin=subprocess.DEVNULL)

    told = [json.loads(line) for line in asked.stdout.splitlines()]
    kinds = [each["kind"] for each in told if each["kind"] not in ("text", "state")]
    assert kinds == ["answer", "call", "result", "answer", "end"]
    assert told[-1]["state"] == "idle"
    # Pieces may be left out where they come fast; each answer is whole.
    pieces = "".join(each["text"] for each in told if each["kind"] == "text")
    assert any(
        "I look.".startswith(pieces[:cut]) and "Fine.".startswith(pieces[cut:])
        for cut in range(len(pieces) + 1)
    )
    answers = [each["body"]["text"] for each in told if each["kind"] == "answer"]
    assert answers == ["I look.", "Fine."]


def test_a_person_who_sends_is_present_before_they_ask_for_the_first_events(
    server: ServerProcess, model: ModelServer
) -> None:
    model.script = [call("run", {"input": "rm -rf /srv/nothing-of-this-name"}), say("Fine.")]
    wanted = {"text": "go", "cwd": str(server.home), "attends": True, "wait_ms": 60_000}
    sent: list[dict[str, Any]] = []
    sending = threading.Thread(
        target=lambda: sent.append(server.client.post("/agent/messages", wanted, wait_s=90))
    )

    sending.start()
    until(lambda: bool(server.client.get("/approvals")["approvals"]))
    question = server.client.get("/approvals")["approvals"][0]
    server.client.post(f"/approvals/{question['id']}/decline", {})
    sending.join()

    assert sent[0]["answer"] == "Fine."


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ([say("Yes.")], 0, ""),
        ([say("To be or", finish="length")], 0, "cut off at its longest"),
        ([Reply(status=500, error="broken")] * 3, 1, "[model_unavailable]"),
        ([Reply(status=401, error="no")], 1, "[model_refused]"),
    ],
)
def test_the_exit_code_says_whether_it_answered(
    server: ServerProcess, model: ModelServer, script: list[Reply], code: int, said: str
) -> None:
    model.script = script

    asked = server.command("ask", "go", cwd=server.home, stdin=subprocess.DEVNULL)

    assert asked.returncode == code
    assert said in asked.stderr
    assert ("duetty agent resume" in asked.stderr) is (code == 1)


def test_ctrl_c_stops_it_and_keeps_what_it_had_said(
    server: ServerProcess, model: ModelServer
) -> None:
    rest = threading.Event()
    model.script = [say("Half of a long answer. " * 10, pieces=10, second_half=rest)]
    asking = subprocess.Popen(
        [sys.executable, "-m", "duetty", "ask", "go"],
        env=server.env,
        cwd=server.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert asking.stdout is not None
    first = asking.stdout.read(4)
    asking.send_signal(signal.SIGINT)
    _, complained = asking.communicate(timeout=30)
    rest.set()
    asked = Asked(server, server.client.get("/agent/conversations")[0]["id"])

    assert first == "Half"
    assert asking.returncode == 130
    assert f"duetty agent resume {asked.id}" in complained
    assert asked.info()["reason"] == "stopped by local"
    [kept] = asked.entries("fault")
    assert kept["text"].startswith("Half of")


def test_of_an_answer_that_begins_while_a_slow_reader_shows_the_last_nothing_is_lost(
    server: ServerProcess, model: ModelServer
) -> None:
    """What is said next is asked for from its beginning, however long the last answer was."""
    model.script = [
        call("list_sessions", {}, "Short 👍. "),
        say("A much longer answer, 👍 which must be whole. " * 20, pieces=60),
    ]

    asked = server.command("ask", "-q", "go", cwd=server.home, stdin=subprocess.DEVNULL)

    expected = "Short 👍. \n" + "A much longer answer, 👍 which must be whole. " * 20 + "\n"
    assert asked.stdout == expected


@pytest.mark.tmux
@pytest.mark.parametrize("cols", [50, 100])
def test_in_a_terminal_a_question_is_answered_with_a_key_at_any_width(
    server: ServerProcess, model: ModelServer, cols: int
) -> None:
    model.script = [
        call("run", {"input": "rm -rf /srv/nothing-of-this-name"}, "I make room. "),
        say("You declined, and that is fine: there is other room in directories of my own."),
    ]
    with tmux(server.home, server.env, cols=cols, rows=30) as terminal:
        terminal.duetty("ask", "make room")
        terminal.wait_shown("Approve? [y/N/a]")
        terminal.line("n")
        terminal.wait_outer("out · $0.0006")
        shown = " ".join(terminal.screen().split())  # a word that a row breaks would be two
        terminal.line("clear")
        terminal.duetty("agent", "list")
        terminal.wait_outer("TITLE")
        listed = terminal.screen()

    assert "● run rm -rf /srv/nothing-of-this-name" in shown
    assert "the agent asks for approval: rm -rf /srv/nothing-of-this-name" in shown
    assert "[approval_rejected]" in shown
    assert re.search(r"  idle +make room  ", listed)
    assert "You declined, and that is fine: there is other room in directories of my own." in shown


def test_in_a_session_no_key_answers_for_the_person(
    server: ServerProcess, model: ModelServer
) -> None:
    """What types there may be the agent."""
    model.script = [call("run", {"input": "rm -rf /srv/nothing"}), say("No.")]
    name = server.client.post("/sessions", {"cwd": str(server.home)})["name"]
    line = f"{sys.executable} -m duetty ask clean"

    told = server.client.post(f"/sessions/{name}/run", {"input": line, "max_wait_ms": 30_000})

    assert "Approve?" not in told["output"]
    assert told["exit_code"] == 0


def test_a_person_lists_shows_stops_and_resumes(server: ServerProcess, model: ModelServer) -> None:
    never = threading.Event()
    model.script = [call("run", {"input": "echo seen"}, "I look."), say("Late.", before=never)]
    sent = server.client.post("/agent/messages", {"text": "look closely", "cwd": str(server.home)})
    asked = Asked(server, sent["info"]["id"])
    until(lambda: asked.entries("result"))

    listed = server.command("agent", "list").stdout
    status = server.command("agent", "status").stdout
    stopped = server.command("agent", "stop", asked.id.removeprefix("agent-")).stdout
    model.script = [say("Resumed.")]
    resumed = server.command("agent", "resume", asked.id, stdin=subprocess.DEVNULL)
    shown = server.command("agent", "show", asked.id).stdout
    never.set()

    assert f"{asked.id}  running" in listed
    assert "look closely" in listed
    assert status == "running: thinking\n"
    assert stopped == f"{asked.id} is idle\n"
    assert resumed.returncode == 0
    assert "Resumed." in resumed.stdout
    assert shown.startswith("> look closely\nI look.\n● run echo seen\n")
    assert server.command("agent", "show", "nothing").returncode == 1
