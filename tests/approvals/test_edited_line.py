"""A line that a person puts in place of the one asked for is judged like the call itself."""

import json
import os
import pty
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duetty.client import RemoteError
from tests.approvals.asking import AgentCall, asking_server, outcomes, waiting
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

RULES = """
[[policy.rules]]
name = "asks"
decide = "ask"
command = ["touch **"]

[[policy.rules]]
name = "asks-otherwise"
decide = "ask"
command = ["mkdir **"]
why = "it makes a directory"

[[policy.rules]]
name = "not-where-it-is-tagged"
decide = "deny"
tag = ["kept"]
command = ["ls **"]

[[policy.rules]]
name = "not-in-this-dialect"
decide = "deny"
dialect = ["terminal"]
command = ["date **"]
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with asking_server(RULES, tags=("kept",)) as server:
        yield server


def refused(server: ServerProcess, approval: str, line: str, **more: Any) -> RemoteError:
    with pytest.raises(RemoteError) as told:
        server.client.post(f"/approvals/{approval}/approve", {"command_line": line, **more})
    return told.value


def doomed(server: ServerProcess) -> tuple[Path, str]:
    """A repository's own directory, and the line that would remove it."""
    place = Path(tempfile.mkdtemp(dir=server.home)) / ".git"
    place.mkdir()
    (place / "file").touch()
    return place, f"rm -rf {place}"


def test_an_edit_has_no_control_characters_either(server: ServerProcess) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]

    told = refused(server, approval, "echo a\x03touch b")
    server.client.post(f"/approvals/{approval}/decline", {})
    call.over()

    assert (told.status, told.code) == (400, "invalid_request")
    assert "U+0003" in str(told)
    assert outcomes(server, approval) == ["rejected"]


def test_an_edit_that_does_what_nobody_was_asked_about_needs_a_second_word(
    server: ServerProcess,
) -> None:
    place, line = doomed(server)
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]

    first = refused(server, approval, line, confirm=True)  # nobody was told yet
    still = place.exists()
    again = refused(server, approval, line)
    other = refused(server, approval, f"{line} {place}/file", confirm=True)  # not what was told
    approved = server.client.post(
        f"/approvals/{approval}/approve", {"command_line": line, "confirm": True}
    )
    call.over()

    assert [each.code for each in (first, again, other)] == ["edit_unconfirmed"] * 3
    assert first.status == 409
    assert first.details["classes"] == ["workspace_delete"]
    assert first.details["command_line"] == line
    assert first.details["reason"]
    assert "confirm" in (first.hint or "")
    assert still
    assert approved["edited"] == line
    assert call.status == 200
    assert not place.exists()
    assert outcomes(server, approval) == ["granted"]


@pytest.mark.parametrize(
    ("line", "rule"),
    [("mkdir {home}/new", "asks-otherwise"), ("$x nothing", "profile:guarded")],
)
def test_an_edit_that_another_rule_asks_about_is_told(
    server: ServerProcess, line: str, rule: str
) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]

    told = refused(server, approval, line.format(home=server.home))
    server.client.post(f"/approvals/{approval}/decline")
    call.over()

    assert (told.code, told.details["classes"]) == ("edit_unconfirmed", [])
    assert rule in str(told.details["rule"])


def test_an_edit_that_the_same_question_would_ask_about_runs_at_once(server: ServerProcess) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]

    server.client.post(f"/approvals/{approval}/approve", {"command_line": "touch other"})
    call.over()

    assert call.status == 200
    assert (server.home / "other").exists()


def test_an_edit_is_judged_by_the_tags_of_its_session(server: ServerProcess) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]

    told = refused(server, approval, "ls /", confirm=True)
    server.client.post(f"/approvals/{approval}/decline")
    call.over()

    assert told.code == "policy_denied"


def test_an_edit_of_a_headless_call_is_judged_as_headless(server: ServerProcess) -> None:
    place, line = doomed(server)
    call = AgentCall(
        server,
        "",
        path="/terminal",
        body={
            "action": "execute",
            "invocation": {"mode": "headless"},
            "execution": {"command": "touch made"},
        },
    )
    approval = waiting(server)["id"]

    destructive = refused(server, approval, line, confirm=True)
    dialect = refused(server, approval, "date -u", confirm=True)
    server.client.post(f"/approvals/{approval}/approve", {"command_line": "echo instead"})
    call.over()

    assert (destructive.code, dialect.code) == ("policy_denied",) * 2
    assert place.exists()
    assert call.answer["result"]["stdout"] == "instead\n"


def test_an_edit_of_a_question_of_an_earlier_server_is_judged_alike(
    server: ServerProcess,
) -> None:
    _, line = doomed(server)
    call = AgentCall(server, "touch kept")
    approval = waiting(server)["id"]
    server.command("stop", "--keep-sessions")
    server.wait_ended()
    call.over()
    server.start()

    told = refused(server, approval, line)
    tagged = refused(server, approval, "ls /")
    server.client.post(f"/approvals/{approval}/decline")

    assert (told.code, told.details["classes"]) == ("edit_unconfirmed", ["workspace_delete"])
    assert tagged.code == "policy_denied"


def test_the_command_line_shows_the_changed_line_and_so_does_the_trail(
    server: ServerProcess,
) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]

    said = server.command("approve", approval, "--edit", "touch changed-by-hand")
    call.over()
    trail = server.command("audit", "--kind", "approval").stdout
    calls = json.loads(server.command("audit", "--json", "--kind", "approval").stdout)
    granted = next(each for each in calls if each["event"] == "granted")
    whole = server.command("audit", "--call", granted["call"]).stdout

    assert said.returncode == 0, said.stderr
    assert "changed to: touch changed-by-hand" in said.stdout
    assert "changed to: touch changed-by-hand" in trail
    assert whole.count("changed to: touch changed-by-hand") == 2  # the answer, and what ran
    assert (server.home / "changed-by-hand").exists()


def test_the_command_line_tells_what_an_edit_does_before_it_is_confirmed(
    server: ServerProcess,
) -> None:
    place, line = doomed(server)
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]

    first = server.command("approve", approval, "--edit", line, stdin=subprocess.DEVNULL)
    still = place.exists()
    second = server.command("approve", approval, "--edit", line, "--confirm")
    call.over()

    assert (first.returncode, second.returncode) == (1, 0), second.stderr
    assert "--confirm" in first.stderr
    assert still
    assert f"changed to: {line}" in second.stdout
    assert not place.exists()


def test_a_person_at_a_terminal_is_asked_about_the_edit(server: ServerProcess) -> None:
    place, line = doomed(server)
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]
    master, slave = pty.openpty()
    os.write(master, b"y\n")

    said = subprocess.run(
        [sys.executable, "-m", "duetty", "approve", approval, "--edit", line],
        env=server.env,
        stdin=slave,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(slave)
    os.close(master)
    call.over()

    assert said.returncode == 0, said.stderr
    assert "Run it all the same?" in said.stderr
    assert not place.exists()
