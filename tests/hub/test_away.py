"""A machine that is not connected any more: known as away, with its sessions, until it is back or forgotten."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from tests.edges.http.asking import refusal
from tests.hub.conftest import Servers, wait_for
from tests.hub.nats_server import NatsServer
from tests.hub.test_mcp import call
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

AT_ONCE_S = 2.0
"""Below the time that a call waits for a machine which went away under it."""


class Home:
    """A hub with ann, and what becomes of her machines."""

    def __init__(self, stack: ExitStack, **env: str) -> None:
        self.servers = Servers(stack, **env)
        self.hub = self.servers.hub
        self.token = self.user("ann")

    def user(self, name: str) -> str:
        done = self.hub.command("hub", "user", "add", name, "-L", "default")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def joined(self, name: str, hub: ServerProcess | None = None) -> ServerProcess:
        """A machine of ann's with a session `build`, known to the hub."""
        machine = self.servers.start(name)
        file = Path(machine.home) / "hub.token"
        file.write_text(self.token)
        made = machine.client.post("/sessions", {"name": "build", "command": "bash"})
        done = machine.command("join", (hub or self.hub).url(), "--token-file", str(file))
        assert done.returncode == 0, done.stderr
        wait_for(lambda: self.ann(hub).get(f"/sessions/{made['id']}").status_code == 200 or None)
        return machine

    def ann(self, hub: ServerProcess | None = None, token: str | None = None) -> httpx.Client:
        return self.servers.client(hub or self.hub, token or self.token)


@pytest.fixture
def home() -> Iterator[Home]:
    with ExitStack() as stack:
        yield Home(stack)


def health(ann: httpx.Client, machine: str) -> str | None:
    found = [each for each in ann.get("/servers").json() if each["hostname"] == machine]
    return found[0]["health"] if found else None


def is_away(ann: httpx.Client, machine: str) -> Callable[[], bool | None]:
    return lambda: health(ann, machine) == "away" or None


def test_a_machine_that_was_killed_is_listed_as_away_with_its_sessions(
    home: Home, tmp_path: Path
) -> None:
    laptop, ann = home.joined("laptop"), home.ann()
    bob = home.ann(token=home.user("bob"))
    laptop.kill()
    wait_for(is_away(ann, "laptop"))
    session = next(each for each in ann.get("/sessions").json() if each["name"] == "build")
    here = ServerProcess(tmp_path, DUETTY_KEYRING="no")
    file = tmp_path / "token"
    file.write_text(home.token)
    here.command("login", home.hub.url(), "--token-file", str(file))

    listed = here.command("list", "--everywhere").stdout
    machines = home.hub.command("hub", "machines", "-L", "default").stdout
    ran = ann.post(f"/sessions/{session['id']}/run", json={"input": "echo hi"}, timeout=AT_ONCE_S)
    opened = ann.post("/sessions", json={"server": "laptop"}, timeout=AT_ONCE_S)
    of_model = call(ann, "wsh_run_command", input="echo hi")["structuredContent"]
    of_bob = (bob.get("/servers").json(), bob.get("/sessions").json())

    since = session["away_since"]
    assert f"away since {since[:19].replace('T', ' ')}" in listed
    assert f"away since {since[:19].replace('T', ' ')}" in machines
    assert refusal(ran) == (503, "server_unavailable")
    assert ran.json()["error"]["details"] == {
        "server": "laptop",
        "health": "away",
        "executed": False,
    }
    assert "it is away since" in ran.json()["error"]["message"]
    assert refusal(opened) == (503, "server_unavailable")
    assert of_model["error"]["code"] == "no_active_session"
    assert [(each["name"], each["awaySince"]) for each in of_model["away"]] == [
        ("laptop/build", since)
    ]
    assert of_bob == ([], [])


def test_what_is_away_is_known_over_a_restart_of_the_hub_and_back_when_it_joins(home: Home) -> None:
    laptop = home.joined("laptop")
    laptop.kill()
    wait_for(is_away(home.ann(), "laptop"))
    port = home.hub.url().rpartition(":")[2]
    wait_for(lambda: home.hub.paths.hub_file.exists() or None)
    home.hub.kill()
    home.hub.bind = ("--bind", f"127.0.0.1:{port}")
    home.hub.start("--hostname", "hub")

    ann = home.ann()
    assert health(ann, "laptop") == "away"

    laptop.start("--hostname", "laptop")
    wait_for(lambda: health(ann, "laptop") == "healthy" or None)
    [session] = ann.get("/sessions").json()
    assert session["away_since"] is None
    assert (
        ann.post(f"/sessions/{session['id']}/run", json={"input": "echo hi"}).json()["output"]
        == "hi"
    )


def test_a_call_that_names_no_machine_means_the_one_that_is_there(home: Home) -> None:
    laptop = home.joined("laptop")
    home.joined("desktop")
    ann = home.ann()
    laptop.kill()
    wait_for(is_away(ann, "laptop"))

    opened = ann.post("/sessions", json={"name": "fresh", "command": "bash"})
    named = ann.post("/sessions/build/run", json={"input": "echo hi"})

    assert opened.json()["server"] == "desktop"
    assert named.json()["output"] == "hi"


def test_a_machine_that_leaves_on_purpose_or_is_removed_is_not_away(home: Home) -> None:
    leaving, killed = home.joined("leaving"), home.joined("killed")
    ann = home.ann()
    assert home.hub.command("hub", "machines", "remove", "killed", "-L", "default").returncode == 1
    assert leaving.command("join", "--leave").returncode == 0
    killed.kill()
    wait_for(is_away(ann, "killed"))
    assert health(ann, "leaving") is None

    done = home.hub.command("hub", "machines", "remove", "killed", "-L", "default")

    assert done.returncode == 0, done.stderr
    assert ann.get("/servers").json() == []
    assert ann.get("/sessions").json() == []


def test_the_next_user_of_a_name_does_not_see_the_machines_of_the_one_before(home: Home) -> None:
    laptop = home.joined("laptop")
    connected = home.joined("desktop")
    laptop.kill()
    wait_for(is_away(home.ann(), "laptop"))
    home.hub.client.delete("/users/ann")
    wait_for(lambda: connected.client.get("/server/hub")["state"] != "joined" or None)

    next_one = home.ann(token=home.user("ann"))

    assert next_one.get("/servers").json() == []


def test_a_machine_is_forgotten_after_the_time_of_the_setting() -> None:
    with ExitStack() as stack:
        home = Home(stack, DUETTY_HUB_FORGET_S="2")
        laptop, ann = home.joined("laptop"), home.ann()
        laptop.kill()
        wait_for(is_away(ann, "laptop"))

        wait_for(lambda: health(ann, "laptop") is None or None)

        assert ann.get("/sessions").json() == []


# --- replicas ---------------------------------------------------------------------------


@pytest.fixture
def replicas(own_server: NatsServer) -> Iterator[tuple[Home, ServerProcess]]:
    with ExitStack() as stack:
        home = Home(stack, DUETTY_HUB_ENGINE=own_server.url)
        other = home.servers.start("replica-b", DUETTY_HUB_ENGINE=own_server.url)
        wait_for(lambda: home.ann(other).get("/servers").status_code == 200 or None)
        yield home, other


def test_every_replica_knows_what_is_away(replicas: tuple[Home, ServerProcess]) -> None:
    home, other = replicas
    laptop, ann = home.joined("laptop"), home.ann(other)
    wait_for(lambda: health(ann, "laptop") == "healthy" or None)
    laptop.kill()

    wait_for(is_away(ann, "laptop"))
    ran = ann.post("/sessions/build/run", json={"input": "echo hi"}, timeout=AT_ONCE_S)

    assert refusal(ran) == (503, "server_unavailable")
    assert ran.json()["error"]["details"]["executed"] is False
    [session] = ann.get("/sessions").json()
    assert session["away_since"] is not None


def test_a_machine_that_dies_with_its_replica_is_away(replicas: tuple[Home, ServerProcess]) -> None:
    home, other = replicas
    laptop, ann = home.joined("laptop"), home.ann(other)
    wait_for(lambda: health(ann, "laptop") == "healthy" or None)
    before = datetime.now(UTC)
    home.hub.kill()
    laptop.kill()

    wait_for(is_away(ann, "laptop"))
    since = datetime.fromisoformat(ann.get("/servers/laptop").json()["away_since"])

    assert since >= before
