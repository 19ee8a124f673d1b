"""What each role of a share may do through the hub, and no more."""

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from tests.edges.http.asking import refusal
from tests.hub.conftest import Servers, wait_for
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]


class Home:
    """Ann shares a session of her machine, which asks about what an agent runs, with bob."""

    def __init__(self, stack: ExitStack) -> None:
        self.servers = Servers(stack)
        self.people = {name: self._person(name) for name in ("ann", "bob")}
        self.agent = self._client("hub", "token", "create", "ann")
        self.machine = self.servers.start("box", DUETTY_POLICY_PROFILE="strict")
        file = Path(self.machine.home) / "hub.token"
        file.write_text(self._made("hub", "token", "create", "ann", "--scope", "join"))
        url = self.servers.hub.url()
        assert self.machine.command("join", url, "--token-file", str(file)).returncode == 0

    def _made(self, *words: str) -> str:
        done = self.servers.hub.command(*words, "-L", "default")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().splitlines()[-1]

    def _client(self, *words: str) -> httpx.Client:
        return self.servers.client(self.servers.hub, self._made(*words))

    def _person(self, name: str) -> httpx.Client:
        return self._client("hub", "user", "add", name)

    def shared(self, role: str) -> str:
        """A session that bob has in this role; its id."""
        made = self.people["ann"].post("/sessions", json={"command": "bash"}).json()
        for each in self.people["ann"].get("/shares").json():
            if each["role"] == "moderate":  # those that allow less stay, and must not count
                self.people["ann"].delete(f"/shares/{each['id']}")
        given = {"session": made["id"], "user": "bob", "role": role}
        assert self.people["ann"].post("/shares", json=given).status_code == 201
        return made["id"]


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with ExitStack() as stack:
        yield Home(stack)


def refused_or_done(answer: httpx.Response) -> str:
    return "done" if answer.is_success else refusal(answer)[1]


@pytest.mark.parametrize(
    ("role", "looks", "types", "renames", "ends"),
    [
        ("watch", "done", "scope_missing", "scope_missing", "scope_missing"),
        ("drive", "done", "done", "scope_missing", "scope_missing"),
        ("moderate", "done", "done", "done", "done"),
    ],
)
def test_a_role_lets_do_what_it_says(
    home: Home, role: str, looks: str, types: str, renames: str, ends: str
) -> None:
    id_, bob = home.shared(role), home.people["bob"]
    place = f"/sessions/{id_}"

    did = (
        bob.get(f"{place}/screen"),
        bob.post(f"{place}/run", json={"input": "echo hi"}),
        bob.patch(place, json={"name": f"now-{role}"}),
        bob.delete(place),
    )

    assert tuple(map(refused_or_done, did)) == (looks, types, renames, ends)
    hints = [each.json()["error"]["hint"] for each in did if not each.is_success]
    assert all("duetty share" in hint for hint in hints), hints


@pytest.mark.parametrize(("role", "may"), [("watch", False), ("drive", False), ("moderate", True)])
def test_only_who_moderates_answers_a_question_about_the_session(
    home: Home, role: str, may: bool
) -> None:
    id_ = home.shared(role)
    answers: list[httpx.Response] = []
    line = f"touch by-{role}"
    asking = threading.Thread(
        target=lambda: answers.append(home.agent.post(f"/sessions/{id_}/run", json={"input": line}))
    )
    machine = home.machine.client
    seq = machine.get("/approvals")["seq"]
    waiting = threading.Thread(  # ann, at the machine itself, until the question is there
        target=lambda: machine.get("/approvals", after=seq, wait_ms=30_000, wait_s=60)
    )
    waiting.start()
    wait_for(lambda: machine.post("/policy/check", {"command": "touch x"})["can_ask"] or None)
    asking.start()
    question = wait_for(lambda: _pending(home.machine, line))

    node = machine.get("/server/hub")["machine"]
    done = _approved_on_the_page(home, f"{node}/{question['id']}")
    if not may:
        machine.post(f"/approvals/{question['id']}/decline", {})
    asking.join(60)
    waiting.join(60)

    assert (done["type"] == "result") == may, done
    assert answers[0].is_success == may, answers[0].text
    assert (home.machine.home / f"by-{role}").exists() == may


def _approved_on_the_page(home: Home, approval: str) -> dict[str, Any]:
    """The answer to bob's page; an id in a path could not name the machine."""
    headers = {"Authorization": home.people["bob"].headers["Authorization"]}
    url = f"ws{home.servers.hub.url()[4:]}/ws/view"
    with connect(url, additional_headers=headers) as page:
        asked = {"operation": "approval.approve", "arguments": {"approval": approval}}
        page.send(json.dumps({"type": "call", "id": 7, **asked}))
        while (answer := json.loads(page.recv(30))).get("id") != 7:
            pass
    return answer


def _pending(machine: ServerProcess, line: str) -> dict[str, Any] | None:
    found = machine.client.get("/approvals")["approvals"]
    return next((each for each in found if each["shown"] == line), None)
