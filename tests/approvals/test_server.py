"""Approvals and audit through a real server: killed, restarted, asked over HTTP and the CLI."""

import http.client
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from duetty.client import RemoteError
from tests.approvals.asking import AgentCall, asking_server, outcomes, waiting
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    with asking_server() as server:
        yield server


def test_a_person_approves_from_the_command_line(server: ServerProcess) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)

    listed = server.command("approvals")
    said = server.command("approve", approval["id"][:4], "--note", "fine")
    call.over()

    assert "$ touch made" in listed.stdout
    assert said.returncode == 0, said.stderr
    assert call.status == 200
    assert (server.home / "made").exists()
    assert outcomes(server, approval["id"]) == ["granted"]


def test_a_person_declines_from_the_command_line(server: ServerProcess) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)

    said = server.command("decline", "--note", "not now")
    call.over()

    assert said.returncode == 0, said.stderr
    assert (call.status, call.answer["error"]["code"]) == (403, "approval_rejected")
    assert "not now" in call.answer["error"]["message"]
    assert outcomes(server, approval["id"]) == ["rejected"]
    assert "rejected by local" in server.command("approvals", "--all").stdout


def test_a_standing_approval_is_shown_saved_used_and_revoked(server: ServerProcess) -> None:
    call = AgentCall(server, "touch made")
    waiting(server)

    blind = server.command("approve", "--always", stdin=-3)  # no terminal, nobody saw the rule
    said = server.command("approve", "--always", "--yes")
    call.over()
    again = AgentCall(server, "touch made")
    again.over()
    listed = json.loads(server.command("approvals", "standing", "--json").stdout)
    server.command("approvals", "revoke", listed[0]["id"])

    assert (blind.returncode, said.returncode) == (1, 0)
    assert "allow command.run of 'touch made'" in said.stderr
    assert (call.status, again.status) == (200, 200)
    assert server.command("approvals", "standing").stdout == "No standing approvals.\n"


def test_a_yes_for_a_time_is_shown_wherever_a_person_looks_until_it_is_taken_back(
    server: ServerProcess,
) -> None:
    call = AgentCall(server, "git push --force nowhere one")
    waiting(server)
    offered = server.command("approvals").stdout
    said = server.command("approve", "--for", "90m")
    call.over()
    other = AgentCall(server, "git push --force nowhere two")
    other.over()

    [standing] = server.client.get("/approvals/standing")
    listed, status = server.command("approvals").stdout, server.command("status").stdout
    server.kill()
    server.start()
    [kept] = server.client.get("/approvals/standing")
    unasked = AgentCall(server, "git push --force nowhere three")
    unasked.over()
    covered = [
        each for each in server.client.get("/audit", kind="approval") if each["event"] == "covered"
    ]
    back = server.command("approvals", "revoke", standing["id"][:4])
    again = AgentCall(server, "git push --force nowhere two")
    server.client.post(f"/approvals/{waiting(server)['id']}/decline")
    again.over()

    assert "--for session" in offered
    assert "--for hour" in offered
    assert "every line of this agent that is asked about as git_rewrite" in offered
    assert (said.returncode, back.returncode) == (0, 0)
    assert f"duetty approvals revoke {standing['id'][:4]}" in said.stdout
    assert (call.status, other.status, unasked.status, again.status) == (200, 200, 200, 403)
    assert (standing["covers"], standing["classes"]) == ("hours", ["git_rewrite"])
    assert (standing["uses"], kept["uses"], kept["expires_at"]) == (1, 1, standing["expires_at"])
    assert "Answers that still stand (1):" in listed
    assert "used 1 time" in listed
    assert "git_rewrite" in status
    assert [each["approval"] for each in covered] == [standing["id"]] * 2


def test_a_yes_for_the_project_holds_in_its_sessions_and_in_no_other(server: ServerProcess) -> None:
    for name, place in (("top", "app"), ("deep", "app/sub"), ("other", "other")):
        (server.home / place).mkdir(exist_ok=True)
        (server.home / place.split("/")[0] / ".git").mkdir(exist_ok=True)
        server.client.post("/sessions", {"name": name, "cwd": str(server.home / place)})
    line = "git push --force nowhere"
    call = AgentCall(server, line, path="/sessions/top/run")
    waiting(server)
    said = server.command("approve", "--for", "project")
    call.over()
    server.kill()
    server.start()
    deep = AgentCall(server, line, path="/sessions/deep/run")
    deep.over()
    other = AgentCall(server, line, path="/sessions/other/run")
    server.client.post(f"/approvals/{waiting(server)['id']}/decline")
    other.over()

    [standing] = server.client.get("/approvals/standing")
    assert said.returncode == 0, said.stderr
    assert (call.status, deep.status, other.status) == (200, 200, 403)
    assert (standing["covers"], standing["project"]) == ("project", str(server.home / "app"))
    assert standing["uses"] == 1


def test_a_question_is_taken_back_when_new_rules_refuse_its_line(server: ServerProcess) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]

    written = server.client.get("/policy/rules/text")
    denies = '[[policy.rules]]\nname = "no"\ndecide = "deny"\ncommand = ["touch **"]\n'
    server.client.put("/policy/rules/text", {"text": denies, "base": written["hash"]})
    call.over()

    assert (call.status, call.answer["error"]["code"]) == (403, "policy_denied")
    assert outcomes(server, approval) == ["withdrawn"]
    assert not (server.home / "made").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--for", "9h"), 1, "8"),
        (("--for", "0m"), 1, "greater than 0"),
        (("--for", "ever"), 2, "none of session, project, hour"),
        (("--for", "project"), 1, "cannot hold for a project"),
        (("--for", "1h", "--always"), 2, "not allowed with"),
    ],
)
def test_an_answer_that_cannot_be_given_says_why_and_the_question_stays(
    server: ServerProcess, arguments: tuple[str, ...], code: int, told: str
) -> None:
    # Without a project: its directory is the file system's root.
    server.client.post("/sessions", {"name": "root", "cwd": "/"})
    call = AgentCall(server, "touch made", path="/sessions/root/run")
    approval = waiting(server)

    said = server.command("approve", *arguments)

    assert said.returncode == code
    assert told in said.stderr
    assert waiting(server)["id"] == approval["id"]
    server.client.post(f"/approvals/{approval['id']}/decline")
    call.over()


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        ({"covers": "forever"}, 400, "invalid_request"),
        ({"covers": "hours", "hours": 8.5}, 400, "invalid_request"),
        ({"covers": "hours", "hours": 0}, 400, "invalid_request"),
        ({"covers": "session", "hours": 1}, 400, "invalid_request"),
        ({"covers": "project"}, 400, "answer_not_offered"),
    ],
)
def test_over_http_it_is_told_by_a_code(
    server: ServerProcess, answer: dict[str, object], status: int, code: str
) -> None:
    server.client.post("/sessions", {"name": "root", "cwd": "/"})
    call = AgentCall(server, "touch made", path="/sessions/root/run")
    approval = waiting(server)

    with pytest.raises(RemoteError) as refused:
        server.client.post(f"/approvals/{approval['id']}/approve", answer)

    assert (refused.value.status, refused.value.code) == (status, code)
    server.client.post(f"/approvals/{approval['id']}/decline")
    call.over()


def test_a_question_survives_a_killed_server_and_ends_once(server: ServerProcess) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)
    time.sleep(0.2)  # the store writes within a tenth of a second; a kill before that asks anew

    server.kill()
    call.over()
    server.start()
    left = waiting(server)
    server.client.post(f"/approvals/{left['id']}/approve")
    again = AgentCall(server, "touch made")
    again.over()

    assert left["id"] == approval["id"]
    assert not call.status
    assert again.status == 200
    assert outcomes(server, approval["id"]) == ["granted"]
    assert server.command("audit", "verify").returncode == 0


def test_a_question_survives_a_stopped_server(server: ServerProcess) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)

    server.command("stop", "--keep-sessions")
    server.wait_ended()
    call.over()
    server.start()

    assert waiting(server)["id"] == approval["id"]
    server.client.post(f"/approvals/{approval['id']}/decline")
    assert outcomes(server, approval["id"]) == ["rejected"]


def test_a_client_that_goes_away_takes_its_question_along(server: ServerProcess) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)
    seq = server.client.get("/approvals")["seq"]

    call.hang_up()
    call.over()
    after = server.client.get("/approvals", after=seq, wait_ms=10_000)

    assert after["approvals"] == []
    assert outcomes(server, approval["id"]) == ["withdrawn"]
    assert not (server.home / "made").exists()


def test_the_servers_own_token_cannot_approve(server: ServerProcess) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)
    address = urlsplit(server.url())

    agent = http.client.HTTPConnection(address.hostname or "", address.port)
    agent.request("POST", f"/approvals/{approval['id']}/approve", "{}", call.headers)
    response = agent.getresponse()
    body = json.loads(response.read())
    agent.request("POST", "/server/link", "{}", call.headers)  # nor become a person who can
    link = agent.getresponse()
    link_body = json.loads(link.read())
    agent.close()
    server.client.post(f"/approvals/{approval['id']}/decline")
    call.over()

    assert (response.status, body["error"]["code"]) == (403, "not_a_person")
    assert (link.status, link_body["error"]["code"]) == (403, "not_a_person")
    assert call.status == 403


def test_the_trail_is_shown_verified_and_exported(server: ServerProcess) -> None:
    AgentCall(server, "echo hello").over()

    shown = server.command("audit", "--operation", "command.run")
    as_json = json.loads(server.command("audit", "--json", "--text", "echo hello").stdout)
    recent = json.loads(server.command("audit", "--json", "--since", "1h").stdout)
    older = server.client.get("/audit", since_s=3600.5, until_s=3000)
    exported = server.command("audit", "export").stdout.splitlines()
    verified = server.command("audit", "verify")

    assert "echo hello" in shown.stdout
    assert as_json[0]["judged"]["command_line"] == "echo hello"
    assert "echo hello" in json.dumps(recent)
    assert older == []
    assert [json.loads(line)["seq"] for line in exported] == list(range(1, len(exported) + 1))
    assert (verified.returncode, "intact." in verified.stdout) == (0, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("audit", "export", "--kind", "call"), "takes no --kind"),
        (("audit", "verify", "--since", "1h"), "takes no --since"),
        (("approvals", "revoke"), "which standing approval"),
        (("policy", "check", "--rules", "/nowhere", "ls"), "/nowhere cannot be read"),
    ],
)
def test_what_would_be_ignored_is_refused(
    server: ServerProcess, words: tuple[str, ...], said: str
) -> None:
    done = server.command(*words)

    assert done.returncode == 1
    assert said in done.stderr
    assert "internal_error" not in done.stderr


def test_a_tampered_record_is_named_by_the_command_line(server: ServerProcess) -> None:
    AgentCall(server, "echo hello").over()
    [path] = server.paths.audit.glob("*.jsonl")
    content = path.read_bytes()
    place = content.index(b"echo hello")
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"echo HELLO")

    verified = server.command("audit", "verify")

    record = content[:place].count(b"\n") + 1
    assert verified.returncode == 1
    assert f"line {record}, record {record}: the record was changed" in verified.stdout


def test_a_broken_rule_refuses_to_start(home: Path) -> None:
    (home / "config.toml").write_text('[[policy.rules]]\nname = "x"\ndecide = "maybe"\n')

    with pytest.raises(AssertionError, match=r"config\.toml, line 1"):
        ServerProcess(home).start()


def test_a_program_in_a_session_cannot_answer_for_a_person(server: ServerProcess) -> None:
    """A script hides from policy what it runs; who started it does not."""
    script = server.home / "sly.sh"
    script.write_text(f"{sys.executable} -m duetty approve; echo code $?\n")
    (server.home / "env.sh").write_text(f"export DUETTY_HOME={server.home}\n")
    call = AgentCall(server, "touch made")
    approval = waiting(server)
    server.client.post("/sessions", {"name": "sly"})

    for line in ("", "setsid -w "):
        said = server.client.post(
            "/sessions/sly/run", {"input": f". ./env.sh; {line}sh ./sly.sh", "max_wait_ms": 30_000}
        )
        assert "not_a_person" in said["output"], said["output"]
    server.client.post(f"/approvals/{approval['id']}/decline")
    call.over()

    assert outcomes(server, approval["id"]) == ["rejected"]
