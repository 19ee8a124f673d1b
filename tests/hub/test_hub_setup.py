"""A hub is set up with what it prints itself: each command and hint works as it stands there."""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest

from duetty.cli.commands import approvals
from duetty.client import Client
from duetty.config import find_paths
from tests.hub.nats_server import nats_server
from tests.server_process import START_S, ServerProcess

pytestmark = [pytest.mark.pty]


class HubProcess:
    """`duetty hub` as a person starts it, and what it printed."""

    def __init__(self, home: Path) -> None:
        self.here = ServerProcess(home, DUETTY_KEYRING="no")
        self.paths = find_paths(self.here.env, instance="hub")
        self.client = Client(self.paths.server_socket)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "duetty", "hub", "--bind", "127.0.0.1:0"],
            env=self.here.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        self.banner = ""
        while "hub token create" not in self.banner:
            line = self._process.stdout.readline()
            assert line, self.banner
            self.banner += line
        self.url = re.findall(r"running at (\S+)", self.banner)[0]

    def typed(self, line: str) -> subprocess.CompletedProcess[str]:
        """Run a command as the banner or a hint shows it."""
        words = shlex.split(line)
        assert words[0].endswith("duetty"), line
        return self.here.command(*words[1:], input="")

    def end(self) -> None:
        self.here.command("stop", "-L", "hub")
        self._process.wait(START_S)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture(scope="module")
def running() -> Iterator[HubProcess]:
    with tempfile.TemporaryDirectory(
        prefix="d-", dir="/tmp", ignore_cleanup_errors=True
    ) as directory:
        hub = HubProcess(Path(directory))
        yield hub
        hub.end()


@pytest.fixture
def hub(running: HubProcess) -> Iterator[HubProcess]:
    """Without users; the person's own server does not run, has joined nothing and knows no hub."""
    yield running
    here = running.here
    here.command("stop")
    for file in (here.paths.join_file, here.paths.config_file.parent / "hubs.json"):
        file.unlink(missing_ok=True)
    for user in running.client.get("/users"):
        running.client.delete(f"/users/{user['name']}")


def shown(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, text
    return found[1]


def test_the_banner_of_a_hub_says_the_next_two_steps_and_they_work(hub: HubProcess) -> None:
    added = hub.typed(shown(hub.banner, r"1\. .*:  (.*)"))
    joined = hub.here.command(
        *shown(hub.banner, r"2\. .*: +duetty (.*)").split(), input=added.stdout
    )
    token = hub.typed(shown(hub.banner, r"The hub.s own token: +(.*)"))
    agent = hub.typed(shown(hub.banner, r"\n +(\S.* hub token create ann)"))

    assert (added.returncode, joined.returncode) == (0, 0), added.stderr + joined.stderr
    assert "joined as a machine of ann" in joined.stdout
    assert (token.returncode, token.stdout.strip()) == (0, hub.paths.token_file.read_text().strip())
    assert (agent.returncode, "read" in agent.stderr) == (0, True)


def test_a_second_hub_names_the_hub_that_runs_and_not_the_persons_own_server(
    hub: HubProcess,
) -> None:
    second = hub.here.command("hub", "--bind", "127.0.0.1:0")
    hinted = shown(second.stderr, r"end it with `(.*?)`")

    assert "[instance_busy]" in second.stderr
    assert "duetty server" not in second.stderr
    assert hinted == "duetty -L hub stop"


def test_a_hub_says_that_its_engine_needs_jetstream(home: Path) -> None:
    with nats_server(jetstream=False) as engine:
        refused = ServerProcess(home).command(
            "hub", "--bind", "127.0.0.1:0", "--engine", engine.url
        )

    assert refused.returncode == 1
    assert "without JetStream" in refused.stderr
    assert "[engine_unavailable]" in refused.stderr
    assert "`nats-server -js`" in refused.stderr


def test_a_token_that_is_missing_wrong_or_for_a_machine_gets_a_hint_that_helps_at_a_hub(
    hub: HubProcess,
) -> None:
    hub.here.command("hub", "user", "add", "ann")
    missing = hub.here.command("login", hub.url, input="")
    wrong = hub.here.command("login", hub.url, input="nonsense")
    machine = hub.here.command("hub", "token", "create", "ann", "--scope", "join")
    joins_only = hub.here.command("login", hub.url, input=machine.stdout)
    hinted = [
        re.findall(r"`(duetty hub .*?)`", each.stderr) for each in (missing, wrong, joins_only)
    ]
    made = hub.typed(hinted[0][0].replace("USER", "ann"))
    done = hub.here.command("login", hub.url, input=made.stdout)

    assert [each.returncode for each in (missing, wrong, joins_only)] == [1, 1, 1]
    assert hinted == [["duetty hub token create USER --person"]] * 3
    assert "duetty token" not in wrong.stderr
    assert (done.returncode, "as ann" in done.stdout) == (0, True)


def test_a_persons_own_token_is_the_same_however_it_was_made(hub: HubProcess) -> None:
    hub.here.command("hub", "user", "add", "ann")
    hub.here.command("hub", "token", "create", "ann", "--person")

    listed = json.loads(hub.here.command("hub", "token", "list", "--json").stdout)
    first, second = (each for each in listed if each["valid"])

    assert first["scopes"] == second["scopes"]
    assert set(first["scopes"]) == {"read", "input", "control", "approve", "join"}


def test_tokens_of_a_user_that_was_removed_are_no_longer_listed(hub: HubProcess) -> None:
    for user in ("gone", "stays"):
        hub.here.command("hub", "user", "add", user)
    hub.here.command("hub", "user", "remove", "gone")

    listed = hub.here.command("hub", "token", "list").stdout

    assert "stays" in listed
    assert "gone" not in listed


def test_a_hub_that_does_not_answer_is_called_a_hub(home: Path) -> None:
    done = ServerProcess(home).command("login", "http://127.0.0.1:9", input="token")

    assert done.returncode == 3
    assert "no hub answers at http://127.0.0.1:9" in done.stderr
    assert "`duetty hub`" in done.stderr
    assert "duetty server" not in done.stderr


def test_a_machine_that_no_hub_has_gets_a_hint_for_this_command_line(hub: HubProcess) -> None:
    logged_in(hub, "ann")

    unknown = hub.here.command("list", "--hub", hub.url, "--server", "nobody")

    assert "[server_not_found]" in unknown.stderr
    assert "GET /" not in unknown.stderr
    assert hub.typed(shown(unknown.stderr, r"`(.*?)`")).returncode == 0


def test_a_wrong_hub_leaves_the_machine_with_the_one_that_it_joined(hub: HubProcess) -> None:
    token = hub.here.command("hub", "user", "add", "ann").stdout
    joined = hub.here.command("join", hub.url, input=token)

    unreachable = hub.here.command("join", "http://127.0.0.1:9", input=token)
    refused = hub.here.command("join", hub.url, input="nonsense")
    after = hub.here.command("join")
    left = hub.here.command("join", "--leave")
    again = hub.here.command("join", "--leave")

    assert (joined.returncode, unreachable.returncode, refused.returncode) == (0, 1, 1)
    assert after.stdout == joined.stdout
    assert "joined as a machine of ann" in after.stdout
    assert left.stdout == f"Left {hub.url}.\n"
    assert again.stdout == "This server has joined no hub.\n"


def test_the_hub_lists_all_machines_with_their_users_and_a_user_only_their_own(
    hub: HubProcess,
) -> None:
    hub.client.post("/sessions", {"command": "cat"})
    hub.here.command("join", hub.url, input=logged_in(hub, "ann"))
    hub.here.command("hub", "user", "add", "bob")

    listed = hub.here.command("hub", "machines")
    [machine] = json.loads(hub.here.command("servers", "--hub", hub.url, "--json").stdout)

    assert re.search(r"MACHINE +USER .*\n\S+ +ann ", listed.stdout), listed.stdout
    assert (machine["address"].partition(":")[0], machine["sessions"]) == ("node", 0)


def test_a_session_is_shared_and_read_at_the_hub_of_the_login_without_naming_it(
    hub: HubProcess,
) -> None:
    hub.here.command("join", hub.url, input=logged_in(hub, "ann"))
    hub.here.command("hub", "user", "add", "bob")
    hub.here.command("new", "-d", "--name", "build", "bash")
    [machine] = json.loads(hub.here.command("servers", "--hub", hub.url, "--json").stdout)
    elsewhere = ServerProcess(hub.here.home / "away", DUETTY_KEYRING="no")
    made = hub.here.command("hub", "token", "create", "ann", "--person")
    elsewhere.command("login", hub.url, input=made.stdout)

    ran = elsewhere.command("run", "-s", f"{machine['hostname']}/build", "echo", "far")
    shared = elsewhere.command("share", "build", "bob")
    listed = elsewhere.command("share")

    assert (ran.returncode, ran.stdout) == (0, "far\n"), ran.stderr
    assert shared.returncode == 0, shared.stderr
    assert listed.stdout == shared.stdout
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n", shared.stdout), shared.stdout


class AskedClient:
    """Of a hub where one question waits."""

    def get(self, path: str, **_query: object) -> object:
        question = dict.fromkeys(("session", "cwd", "edited", "suggestion"), None) | {
            "id": "eb33f00d",
            "state": "pending",
            "expires_at": "2026-11-18T15:00:00.000Z",
            "actor": "agent",
            "operation": "command.run",
            "shown": "make",
            "reason": "a rule says so",
            "choices": [{"covers": "once", "says": "this call"}],
        }
        return [] if path.endswith("standing") else {"seq": 1, "approvals": [question]}


@pytest.mark.parametrize(
    ("named", "options"),
    [
        ({"hub": "http://hub", "instance": "default"}, " --hub http://hub"),
        ({"hub": None, "instance": "hub"}, " -L hub"),
        ({"hub": None, "instance": "default"}, ""),
    ],
)
def test_the_lines_that_answer_a_question_reach_the_server_that_asked(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    named: dict[str, str | None],
    options: str,
) -> None:
    monkeypatch.delenv("DUETTY_INSTANCE", raising=False)

    def reach_each(_arguments: Namespace) -> dict[str, AskedClient]:
        return {"": AskedClient()}

    monkeypatch.setattr(approvals, "reach_each", reach_each)

    approvals.run(Namespace(act=None, all=False, wait=False, json=False, server=None, **named))

    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert f"duetty approve eb33{options}" in printed
    assert f"duetty decline eb33{options}" in printed


def logged_in(hub: HubProcess, user: str) -> str:
    """The user's own token."""
    token = hub.here.command("hub", "user", "add", user).stdout
    assert hub.here.command("login", hub.url, input=token).returncode == 0
    return token
