"""What the agent is for, each by the command line and by MCP: a real server, shell and upstream."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.model_server import ModelServer, call, results, say
from tests.agent.talking import WAYS, Asked, agent_server, until
from tests.upstreams.running import named, plain

pytestmark = pytest.mark.pty

Ask = Callable[..., Asked]


@pytest.fixture(params=WAYS)
def ask(request: pytest.FixtureRequest) -> Ask:
    return WAYS[str(request.param)]


@pytest.fixture
def project(home: Path) -> Path:
    place = home / "work"
    place.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "trunk"], cwd=place, check=True)
    return place


def test_it_fixes_a_failing_test_with_the_terminal_and_an_upstream_and_one_approval(
    home: Path, project: Path, ask: Ask
) -> None:
    (project / "AGENTS.md").write_text("Prices are whole numbers of cents.\n")
    (project / "cart.py").write_text("def total(prices):\n    return max(prices)\n")
    (project / "check.sh").write_text(
        'python3 -c "import cart; assert cart.total([1, 2]) == 3, cart.total([1, 2])"\n'
    )
    table = plain(tools=named("ticket"), trust="untrusted")
    lines = [f"[upstreams.tracker]\ncommand = {json.dumps(table['command'])}"]
    lines.append(f"args = {json.dumps(table['args'])}")
    (home / "config.toml").write_text("\n".join(lines) + "\n")
    with ModelServer() as model, agent_server(home, model) as server:
        info = until(
            lambda: [
                each
                for each in server.client.get("/upstreams")["upstreams"]
                if each["fingerprint"] is not None
            ]
        )[0]
        trust = {"fingerprint": info["fingerprint"]}
        server.client.post("/upstreams/tracker/trust", trust)
        model.script = [
            call("mcp__tracker__ticket", {"id": 7}, "The ticket first."),
            call("run", {"input": "sh check.sh"}),
            call("edit_file", {"path": "cart.py", "old": "max(prices)", "new": "sum(prices)"}),
            call("run", {"input": "sh check.sh"}),
            call("mcp__tracker__ticket", {"id": 7, "state": "done"}),
            say("Mended: it summed nothing."),
        ]

        asked = ask(server, "fix the failing test", project)
        asked.approve("conversation")  # the second call of the tool is not asked about
        info = asked.end()

        assert info["state"] == "idle"
        assert "sum(prices)" in (project / "cart.py").read_text()
        told = results(model.requests[-1])
        assert "exit code 1" in told[1]
        assert "-    return max(prices)\n+    return sum(prices)" in told[2]
        assert "exit code 0" in told[3]
        assert "whole numbers of cents" in json.dumps(model.requests[0]["messages"])
        assert len(server.client.get("/approvals", settled="true")["approvals"]) == 1
        trail = server.client.get("/audit", limit=200)
        calls = [each for each in trail if each.get("conversation") == asked.id]
        assert {"upstreams.call", "command.run"} <= {each["operation"] for each in calls}


def test_it_answers_an_interactive_installer(home: Path, project: Path, ask: Ask) -> None:
    (project / "install.sh").write_text(
        'printf "Licence? [y/n] "; read a; printf "Where? "; read b; echo "installed $a in $b"\n'
    )
    with ModelServer() as model, agent_server(home, model) as server:
        model.script = [
            call("run", {"input": "sh install.sh"}),
            call("type", {"data": "y\n"}),
            call("type", {"data": "/opt/x\n"}),
            say("It is installed."),
        ]

        info = ask(server, "install it", project).end()

        assert info["state"] == "idle"
        told = results(model.requests[-1])
        assert "waits for input" in told[0]
        assert "waits for input" in told[1]
        assert "installed y in /opt/x" in told[2]


def test_it_is_stopped_in_the_middle_and_what_runs_is_left_or_interrupted(
    home: Path, project: Path, ask: Ask
) -> None:
    with ModelServer() as model, agent_server(home, model) as server:
        model.script = [call("run", {"input": "sleep 300"}), say("I see that you stopped me.")]
        asked = ask(server, "wait", project)
        session = until(lambda: asked.info()["session"])
        until(lambda: server.client.get(f"/sessions/{session}")["state"] == "running")

        stopped = server.client.post(f"/agent/conversations/{asked.id}/stop", {})
        left = server.client.get(f"/sessions/{session}")["state"]
        asked.end()
        server.client.post(f"/agent/conversations/{asked.id}/stop", {"interrupt": True})
        until(lambda: server.client.get(f"/sessions/{session}")["state"] == "prompt")
        server.client.post(f"/agent/conversations/{asked.id}/resume", {})
        asked.wait("idle")

        assert (stopped["state"], left) == ("idle", "running")
        assert "Stopped by" in results(model.requests[-1])[0]
        assert asked.entries("answer")[-1]["text"] == "I see that you stopped me."


def test_it_survives_sigkill_of_the_server_and_goes_on_with_nothing_run_twice(
    home: Path, project: Path, ask: Ask
) -> None:
    with ModelServer() as model, agent_server(home, model) as server:
        model.script = [
            call("run", {"input": "echo once >> ran; cat go"}),
            call("run", {"input": "echo after"}),
            say("Done, and once."),
        ]
        subprocess.run(["mkfifo", "go"], cwd=project, check=True)
        asked = ask(server, "do it", project)
        assert asked.id
        until((project / "ran").exists)

        server.kill()
        server.start()
        (project / "go").write_text("go\n")
        if asked.process is None:  # the command line does it by itself
            assert asked.info()["code"] == "agent_interrupted"
            server.client.post(f"/agent/conversations/{asked.id}/resume", {})
        until(lambda: asked.entries("answer")[-1]["text"])
        info = asked.end()

        assert info["state"] == "idle"
        assert (project / "ran").read_text() == "once\n"
        assert results(model.requests[-1])[0].startswith("Unknown: the server ended")


def test_it_is_refused_a_destructive_line_and_finds_another_way(
    home: Path, project: Path, ask: Ask
) -> None:
    (project / "build").mkdir()
    with ModelServer() as model, agent_server(home, model) as server:
        model.script = [
            call("run", {"input": "rm -rf /srv/precious"}),
            call("run", {"input": "rm -rf build"}),
            say("I removed the build directory only."),
        ]

        asked = ask(server, "make room", project)
        approval = asked.wait("awaiting_approval")["approval"]
        server.client.post(f"/approvals/{approval['id']}/decline", {"note": "not mine"})
        info = asked.end()

        assert info["state"] == "idle"
        assert not (project / "build").exists()
        assert "[approval_rejected]" in results(model.requests[1])[0]


def test_it_runs_out_of_budget_asks_and_ends_in_a_clear_state(
    home: Path, project: Path, ask: Ask
) -> None:
    with ModelServer() as model, agent_server(home, model, DUETTY_AGENT_MAX_TOKENS="500") as server:
        model.script = [call("run", {"input": f"echo {n}"}) for n in range(9)]

        asked = ask(server, "count", project)
        first = asked.wait("awaiting_approval")["approval"]
        server.client.post(f"/approvals/{first['id']}/approve", {})
        second = until(
            lambda: (
                (asked.info()["approval"] or first)["id"] != first["id"]
                and asked.info()["approval"]
            )
        )
        server.client.post(f"/approvals/{second['id']}/decline", {})
        info = asked.end()

        assert "480 tokens used" in first["reason"]
        assert (info["state"], info["code"]) == ("failed", "agent_limit")
        assert info["tokens_in"] + info["tokens_out"] <= 1000
