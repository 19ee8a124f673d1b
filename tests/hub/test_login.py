"""`duetty login`: a hub's machines from any terminal, with the user's own token and nothing else."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.hub.conftest import Servers, wait_for
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(stack)


@pytest.fixture(scope="module")
def token(servers: Servers) -> Path:
    added = servers.hub.command("hub", "user", "add", "ann", "-L", "default")
    file = servers.hub.home / "ann.token"
    file.write_text(added.stdout)
    machine = servers.start("laptop")
    joined = machine.command("join", servers.hub.url(), "--token-file", str(file))
    assert joined.returncode == 0, joined.stderr
    machine.client.post("/sessions", {"name": "build", "command": "bash"})
    return file


@pytest.fixture
def elsewhere(servers: Servers, token: Path, tmp_path: Path) -> ServerProcess:
    """A machine without a server, whose user logged in."""
    here = ServerProcess(tmp_path, DUETTY_KEYRING="no")
    done = here.command("login", servers.hub.url(), "--token-file", str(token))
    assert done.returncode == 0, done.stderr
    assert "as ann" in done.stdout
    return here


def test_a_login_is_kept_in_a_file_for_its_user_only(
    elsewhere: ServerProcess, servers: Servers
) -> None:
    file = elsewhere.paths.config_file.parent / "hubs.json"

    assert file.stat().st_mode & 0o077 == 0
    assert elsewhere.command("login").stdout.strip() == servers.hub.url()
    assert elsewhere.command("login", "--out", servers.hub.url()).returncode == 0
    assert "build" not in elsewhere.command("list", "--everywhere").stdout


def test_sessions_of_every_machine_are_listed_and_used(
    elsewhere: ServerProcess, servers: Servers
) -> None:
    def listed() -> str | None:
        found = elsewhere.command("list", "--everywhere").stdout
        return found if "build" in found else None

    assert "build" in wait_for(listed)
    ran = elsewhere.command("run", "--hub", servers.hub.url(), "-s", "build", "echo", "far")

    assert (ran.returncode, ran.stdout) == (0, "far\n")


def test_commands_name_a_session_with_its_machine(
    elsewhere: ServerProcess, servers: Servers
) -> None:
    hub = ("--hub", servers.hub.url())
    ran = elsewhere.command("run", *hub, "-s", "laptop/build", "echo", "both")
    screen = elsewhere.command("screen", *hub, "laptop/build")
    unknown = elsewhere.command("screen", *hub, "desktop/build")

    assert (ran.returncode, ran.stdout) == (0, "both\n"), ran.stderr
    assert (screen.returncode, "both" in screen.stdout) == (0, True), screen.stderr
    assert "desktop" in unknown.stderr


def test_a_session_is_shared_for_a_time_and_taken_back(
    elsewhere: ServerProcess, servers: Servers
) -> None:
    servers.hub.command("hub", "user", "add", "bob", "-L", "default")
    hub = ("--hub", servers.hub.url())

    shared = elsewhere.command("share", "build", "bob", "--role", "drive", "--for", "2h", *hub)
    [share] = json.loads(elsewhere.command("share", "--json", *hub).stdout)
    revoked = elsewhere.command("share", "--revoke", share["id"], *hub)
    left = json.loads(elsewhere.command("share", "--json", *hub).stdout)
    alone = elsewhere.command("share", "build", *hub)

    assert shared.returncode == 0, shared.stderr
    assert (share["session"], share["user"], share["role"]) == ("build", "bob", "drive")
    assert (revoked.returncode, left) == (0, [])
    assert (alone.returncode, "a user is missing" in alone.stderr) == (1, True)


ROOT = Path(__file__).parents[2]


def test_a_login_is_kept_in_the_keyring_where_there_is_one(
    servers: Servers, token: Path, tmp_path: Path
) -> None:
    ring = tmp_path / "ring.json"
    here = ServerProcess(
        tmp_path,
        PYTHON_KEYRING_BACKEND="tests.hub.file_keyring.FileKeyring",
        PYTHONPATH=str(ROOT),
        TEST_KEYRING_FILE=str(ring),
    )

    done = here.command("login", servers.hub.url(), "--token-file", str(token))
    kept, file = json.loads(ring.read_text()), here.paths.config_file.parent / "hubs.json"
    listed = here.command("list", "--everywhere").stdout
    out = here.command("login", "--out", servers.hub.url())

    assert "the system's keyring" in done.stdout, done.stderr
    assert list(kept.values()) == [token.read_text().strip()]
    assert token.read_text().strip() not in file.read_text()
    assert "build" in listed
    assert out.returncode == 0, out.stderr
    assert json.loads(ring.read_text()) == {}
