"""The command line of a user with several machines at one hub."""

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.hub.conftest import Servers, wait_for
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

RULE = """
[[policy.rules]]
name = "ask-first"
decide = "ask"
command = ["touch **"]
"""


class Place:
    """Ann's machines north and south, where south asks first; her login; and an agent of hers."""

    def __init__(self, stack: ExitStack, home: Path) -> None:
        servers = Servers(stack)
        self.url = servers.hub.url()
        added = servers.hub.command("hub", "user", "add", "ann", "-L", "default")
        file = servers.hub.home / "ann.token"
        file.write_text(added.stdout)
        for name in ("north", "south"):
            machine = servers.start(name, DUETTY_APPROVAL_ASK="always")
            if name == "south":
                machine.kill()
                (machine.home / "config.toml").write_text(RULE, encoding="utf-8")
                machine.start("--hostname", name)
            assert machine.command("join", self.url, "--token-file", str(file)).returncode == 0
        given = {"scopes": ["read", "input", "control"]}
        token = servers.hub.client.post("/users/ann/tokens", given)["token"]
        self.agent: httpx.Client = servers.client(servers.hub, token)
        self.here = ServerProcess(home, DUETTY_KEYRING="no")
        assert self.here.command("login", self.url, "--token-file", str(file)).returncode == 0

    def told(self, *words: str) -> str:
        done = self.here.command(*words, "--hub", self.url)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(stack, tmp_path_factory.mktemp("here"))


def test_a_session_is_opened_on_the_machine_that_is_named(place: Place) -> None:
    unclear = place.here.command("new", "-d", "--hub", place.url)
    by_option = place.told("new", "-d", "--name", "one", "--server", "north")
    by_name = place.told("new", "-d", "--name", "south/one")
    names = place.here.command("list", "--everywhere", "--names").stdout.split()

    assert unclear.returncode == 1
    assert "north, south" in unclear.stderr or "south, north" in unclear.stderr
    assert "duetty --server NAME" in unclear.stderr
    assert (by_option, by_name) == ("north/one\n", "south/one\n")
    assert {"north/one", "south/one"} <= set(names)
    ended = place.here.command("kill", "north/one", "south/one", "south/none")
    assert (ended.returncode, ended.stderr.count("duetty:")) == (1, 1), ended.stderr
    assert not place.here.command("list", "--everywhere", "--names").stdout.split()


def test_a_question_is_listed_with_its_machine_and_answered_by_its_id(place: Place) -> None:
    made = place.agent.post("/sessions", json={"command": "bash", "server": "south"}).json()
    answers: list[str] = []

    def ask(line: str) -> threading.Thread:
        def run() -> None:
            ran = place.agent.post(f"/sessions/{made['id']}/run", json={"input": line})
            answers.append(ran.text)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    first = ask("touch asked && echo $((40+2))")
    wait_for(lambda: json.loads(place.told("approvals", "--json")) or answers or None)
    assert answers == []
    [question] = json.loads(place.told("approvals", "--wait", "--json"))
    shown = place.told("approvals")
    approved = place.told("approve", question["id"])
    first.join(60)
    second = ask("touch again")
    wait_for(lambda: json.loads(place.told("approvals", "--json")) or None)
    declined = place.told("decline")
    second.join(60)

    assert question["machine"] == "south"
    assert "on south" in shown
    assert f"--hub {place.url}" in shown
    assert "Approved:" in approved
    assert "Declined:" in declined
    assert "42" in answers[0]
    assert "declined" in answers[1]
    assert place.told("approvals").strip() == "Nothing waits for an answer."


def test_the_status_of_every_machine_is_shown(place: Place) -> None:
    shown = place.told("status")
    found = json.loads(place.told("status", "--json"))

    assert "north:\nDuetty" in shown
    assert "south:\nDuetty" in shown
    assert found["machines"].keys() == {"north", "south"}
