"""What the agent is for: seven scenarios, the same by every door. A real server, shell and upstream."""

import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from tests.agent.doors import Door
from tests.agent.model_server import ModelServer, call, results, say
from tests.agent.talking import agent_server, until
from tests.server_process import running_server
from tests.upstreams.running import named, plain

Scenario = Callable[[Path, Path, Door], None]


def fixes_a_failing_test_with_an_upstream_and_one_approval(
    home: Path, project: Path, door: Door
) -> None:
    (project / "AGENTS.md").write_text("Prices are whole numbers of cents.\n")
    (project / "cart.py").write_text("def total(prices):\n    return max(prices)\n")
    (project / "check.sh").write_text(
        'python3 -B -c "import cart; assert cart.total([1, 2]) == 3, cart.total([1, 2])"\n'
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

        task = door.ask(server, "fix the failing test", project)
        task.approve("conversation")  # the second call of the tool is not asked about
        info = task.end()

        assert info["state"] == "idle"
        assert "sum(prices)" in (project / "cart.py").read_text()
        told = results(model.requests[-1])
        assert "exit code 1" in told[1]
        assert "-    return max(prices)\n+    return sum(prices)" in told[2]
        assert "exit code 0" in told[3]
        assert "whole numbers of cents" in json.dumps(model.requests[0]["messages"])
        assert len(server.client.get("/approvals", settled="true")["approvals"]) == 1
        trail = server.client.get("/audit", limit=200)
        calls = [each for each in trail if each.get("conversation") == task.id]
        assert {"upstreams.call", "command.run"} <= {each["operation"] for each in calls}


def answers_an_interactive_installer(home: Path, project: Path, door: Door) -> None:
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

        info = door.ask(server, "install it", project).end()

        assert info["state"] == "idle"
        told = results(model.requests[-1])
        assert "waits for input" in told[0]
        assert "waits for input" in told[1]
        assert "installed y in /opt/x" in told[2]


def is_stopped_in_the_middle_and_what_runs_is_left_or_interrupted(
    home: Path, project: Path, door: Door
) -> None:
    never = threading.Event()
    with ModelServer() as model, agent_server(home, model) as server:
        model.script = [
            call("run", {"input": "sleep 300"}),
            say("never said", before=never),
            say("I see that you stopped me."),
        ]
        task = door.ask(server, "wait", project)
        session = until(lambda: task.info()["session"])

        def state() -> str:
            return server.client.get(f"/sessions/{session}")["state"]

        until(lambda: state() == "running")
        task.stop()
        left = state()
        stopped = task.info()
        task.go_on()
        until(lambda: len(model.requests) == 2)
        task.stop(interrupt=True)
        until(lambda: state() == "prompt")
        task.go_on()
        info = task.end()
        never.set()

        assert (stopped["state"], left) == ("idle", "running")
        assert info["state"] == "idle"
        assert "Stopped by" in results(model.requests[-1])[0]
        assert task.entries("answer")[-1]["text"] == "I see that you stopped me."


def survives_sigkill_of_the_server_and_goes_on_with_nothing_run_twice(
    home: Path, project: Path, door: Door
) -> None:
    with ModelServer() as model, agent_server(home, model) as server:
        model.script = [
            call("run", {"input": "echo once >> ran; cat go"}),
            call("run", {"input": "echo after"}),
            say("Done, and once."),
        ]
        subprocess.run(["mkfifo", "go"], cwd=project, check=True)
        task = door.ask(server, "do it", project)
        assert task.id
        until((project / "ran").exists)
        port = server.url().rpartition(":")[2]

        server.kill()
        server.start("--bind", f"127.0.0.1:{port}")
        (project / "go").write_text("go\n")
        task.go_on()
        until(lambda: task.entries("answer")[-1]["text"])
        info = task.end()

        assert info["state"] == "idle"
        assert (project / "ran").read_text() == "once\n"
        assert results(model.requests[-1])[0].startswith("Unknown: the server ended")


def is_refused_a_destructive_line_and_finds_another_way(
    home: Path, project: Path, door: Door
) -> None:
    (project / "build").mkdir()
    with ModelServer() as model, agent_server(home, model) as server:
        model.script = [
            call("run", {"input": "rm -rf /srv/precious"}),
            call("run", {"input": "rm -rf build"}),
            say("I removed the build directory only."),
        ]

        task = door.ask(server, "make room", project)
        task.decline()
        info = task.end()

        assert info["state"] == "idle"
        assert not (project / "build").exists()
        assert "[approval_rejected]" in results(model.requests[1])[0]


def borrows_the_model_of_a_connected_host(home: Path, project: Path, door: Door) -> None:
    asked: list[str] = []

    def complete(params: object) -> str:
        asked.append(str(params))
        if len(asked) > 1:
            return "It is 42."
        wanted = json.dumps({"tool": "run", "arguments": {"input": "echo $((40+2))"}})
        return f"I run it.\n```tool\n{wanted}\n```"

    with running_server(home) as server:
        door.lend(server, complete)

        task = door.ask(server, "what is it?", project)
        info = task.end()

        assert info["state"] == "idle"
        assert task.entries("answer")[-1]["text"] == "It is 42."
        assert task.entries("answer")[-1]["model"] == "lent"
        assert "42" in asked[-1]


def runs_out_of_budget_asks_and_ends_in_a_clear_state(
    home: Path, project: Path, door: Door
) -> None:
    with ModelServer() as model, agent_server(home, model, DUETTY_AGENT_MAX_TOKENS="500") as server:
        model.script = [call("run", {"input": f"echo {n}"}) for n in range(9)]

        task = door.ask(server, "count", project)
        first = task.wait("awaiting_approval")["approval"]
        task.approve()
        until(lambda: (task.info()["approval"] or first)["id"] != first["id"])
        task.decline()
        info = task.end()

        assert "has used 480 tokens" in first["reason"]
        assert first["reason"].endswith("Go on with 500 tokens more?")
        assert (info["state"], info["code"]) == ("failed", "agent_limit")
        assert info["tokens_in"] + info["tokens_out"] <= 1000


SCENARIOS: tuple[Scenario, ...] = (
    fixes_a_failing_test_with_an_upstream_and_one_approval,
    answers_an_interactive_installer,
    is_stopped_in_the_middle_and_what_runs_is_left_or_interrupted,
    survives_sigkill_of_the_server_and_goes_on_with_nothing_run_twice,
    is_refused_a_destructive_line_and_finds_another_way,
    borrows_the_model_of_a_connected_host,
    runs_out_of_budget_asks_and_ends_in_a_clear_state,
)


def name_of(scenario: Scenario) -> str:
    return scenario.__name__


def new_project(home: Path) -> Path:
    place = home / "work"
    place.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "trunk"], cwd=place, check=True)
    return place
