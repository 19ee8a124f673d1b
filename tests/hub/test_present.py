"""A person at the hub is present on its machines: their questions are asked, and what happens there is seen."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
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
    """A hub with ann, two machines that ask before they run what an agent wants, and ann elsewhere."""

    def __init__(self, stack: ExitStack, directory: Path) -> None:
        self.servers = Servers(stack)
        self.hub = self.servers.hub
        self.token = self._made("hub", "user", "add", "ann")
        self.agent = self.servers.client(self.hub, self._made("hub", "token", "create", "ann"))
        self.machines = {name: self._machine(name) for name in ("laptop", "desktop")}
        self.here = ServerProcess(directory, DUETTY_KEYRING="no")
        file = directory / "token"
        file.write_text(self.token)
        done = self.here.command("login", self.hub.url(), "--token-file", str(file))
        assert done.returncode == 0, done.stderr

    def _made(self, *words: str) -> str:
        done = self.hub.command(*words, "-L", "default")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().splitlines()[-1]

    def _machine(self, name: str) -> ServerProcess:
        machine = self.servers.start(name, DUETTY_POLICY_PROFILE="strict")
        file = Path(machine.home) / "hub.token"
        file.write_text(self.token)
        done = machine.command("join", self.hub.url(), "--token-file", str(file))
        assert done.returncode == 0, done.stderr
        machine.client.post("/sessions", {"name": "build", "command": "bash"})
        return machine

    def asks(self, machine: str, line: str) -> httpx.Response:
        return self.agent.post("/sessions/build/run", json={"input": line, "server": machine})

    @contextmanager
    def running(self, *words: str) -> Generator["subprocess.Popen[str]"]:
        program = [sys.executable, "-m", "duetty", *words]
        with subprocess.Popen(
            program, env=self.here.env, stdout=subprocess.PIPE, text=True, bufsize=1
        ) as process:
            try:
                yield process
            finally:
                process.kill()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with ExitStack() as stack:
        yield Home(stack, tmp_path_factory.mktemp("here"))


def is_present(home: Home, machine: str) -> bool | None:
    """Whether that machine would ask."""
    told = home.machines[machine].client.post("/policy/check", {"command": "touch x"})
    return told["can_ask"] or None


@contextmanager
def waiting(home: Home) -> Generator[None]:
    with home.running("approvals", "--wait", "--hub", home.hub.url()):
        yield


@contextmanager
def looking(home: Home, *messages: dict[str, Any]) -> Generator[None]:
    """What `duetty attach` and the page say."""
    headers = {"Authorization": f"Bearer {home.token}"}
    with connect(f"ws{home.hub.url()[4:]}/ws/view", additional_headers=headers) as viewer:
        for each in messages:
            viewer.send(json.dumps(each))
        yield


def attached(home: Home) -> AbstractContextManager[None]:
    opens = [
        {"type": "open", "stream": number, "session": f"{name}/build", "kind": "attach"}
        for number, name in enumerate(home.machines, 1)
    ]
    return looking(home, *opens)


def page(home: Home) -> AbstractContextManager[None]:
    return looking(home, {"type": "watch", "on": True})


PRESENT: dict[str, Callable[[Home], AbstractContextManager[None]]] = {
    "wait": waiting,
    "attached": attached,
    "page": page,
}


@pytest.mark.parametrize("how", PRESENT)
@pytest.mark.parametrize("machine", ["laptop", "desktop"])
def test_who_is_at_the_hub_is_asked_by_its_machines(home: Home, machine: str, how: str) -> None:
    refused = home.asks(machine, "touch unasked")
    answers: list[httpx.Response] = []
    line = f"touch asked-{how}"
    asking = threading.Thread(target=lambda: answers.append(home.asks(machine, line)))

    def asked() -> dict[str, Any] | None:
        found = home.here.command("approvals", "--json", "--hub", home.hub.url()).stdout
        return next((each for each in json.loads(found or "[]") if each["shown"] == line), None)

    with PRESENT[how](home):
        wait_for(lambda: is_present(home, machine))
        asking.start()
        question = wait_for(asked)
        done = home.here.command("approve", question["id"], "--hub", home.hub.url())
    asking.join(60)

    assert refusal(refused) == (403, "policy_denied")
    assert done.returncode == 0, done.stderr
    assert answers[0].status_code == 200, answers[0].text
    assert (home.machines[machine].home / f"asked-{how}").exists()
    assert not (home.machines[machine].home / "unasked").exists()


def test_waiting_for_questions_shows_the_one_that_came_up_and_its_machine(home: Home) -> None:
    asking = threading.Thread(target=lambda: home.asks("desktop", "touch shown"))
    with home.running("approvals", "--wait", "--json", "--hub", home.hub.url()) as process:
        wait_for(lambda: is_present(home, "desktop"))
        asking.start()
        assert process.stdout is not None
        [question] = json.loads(process.stdout.read())

    home.here.command("decline", question["id"], "--hub", home.hub.url())
    asking.join(60)
    assert (question["machine"], question["shown"]) == ("desktop", "touch shown")


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (("--hub",), {"laptop/build", "desktop/build"}),
        (("--server", "laptop"), {"laptop/build"}),
        (("--server", "laptop", "build"), {"laptop/build"}),
        (("laptop/build",), {"laptop/build"}),
    ],
)
def test_watching_a_hub_or_a_machine_of_it_tells_what_happens_there(
    home: Home, words: tuple[str, ...], seen: set[str]
) -> None:
    words = ("--hub", home.hub.url()) if words == ("--hub",) else words
    found: list[dict[str, Any]] = []
    begun = {f"{name}/build": f"echo on-{name}" for name in home.machines}

    def lines() -> set[tuple[str, str]]:
        return {
            (each["session"], each["command_line"])
            for each in found
            if each["event"] == "block" and each["change"] == "started"
        }

    with home.running("watch", "--json", *words) as process:
        assert process.stdout is not None
        reading = threading.Thread(
            target=lambda: found.extend(json.loads(line) for line in process.stdout or ())
        )
        reading.start()
        deadline = wait_for(lambda: _ran_until_seen(home, lines, seen))
        process.terminate()
        reading.join(30)

    assert deadline
    assert lines() == {(name, begun[name]) for name in seen}


def _ran_until_seen(home: Home, lines: Any, seen: set[str]) -> bool | None:
    """The watcher may not look yet when the first line runs."""
    for name, machine in home.machines.items():
        machine.client.post("/sessions/build/run", {"input": f"echo on-{name}"})
    return {session for session, _ in lines()} >= seen or None


def test_watching_a_machine_that_no_hub_knows_is_refused(home: Home) -> None:
    done = home.here.command("watch", "--server", "nowhere")

    assert done.returncode == 1
    assert "no hub knows a machine 'nowhere'" in done.stderr
