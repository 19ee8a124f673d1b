"""What a new session gets from the server, and what is left when it cannot be opened."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest

from duetty.client import session_path
from duetty.errors import BadCommand, BadWorkingDirectory, CommandTooLong, DuettyError
from tests.engine import Engine, running_engine
from tests.faults.server_facts import eventually, run
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.pty]

SECRETS = {
    "DUETTY_TOKEN": "secret-token",
    "DUETTY_ANYTHING_SECRET": "secret-else",
    "DUETTY_RUN_OUTPUT_BYTES": "30000",
}


@pytest.fixture
def server(home: Path) -> Iterator[ServerProcess]:
    with running_server(home, TMUX="outer", TERM="dumb", COLUMNS="999", **SECRETS) as server:
        yield server


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    async with running_engine(home) as engine:
        await engine.open(command="bash")
        with anyio.fail_after(60):
            yield engine


def environment(server: ServerProcess, session: str) -> dict[str, str]:
    """As the kernel has it, which no shell can hide."""
    pid = server.client.get(session_path(session))["pid"]
    entries = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry)


@pytest.mark.parametrize("command", ["bash", "dash", "sleep 1000"])
def test_a_child_gets_a_clean_environment(server: ServerProcess, command: str) -> None:
    server.client.post("/sessions", {"name": "s", "command": command})

    env = environment(server, "s")

    ours = {key: value for key, value in env.items() if key.startswith("DUETTY_")}
    assert ours.pop("DUETTY_SESSION") == "s"
    assert ours.pop("DUETTY_URL") == server.url()
    assert not any("secret" in value for value in env.values())
    assert not SECRETS.keys() & env.keys()
    assert (env["TERM"], env["HOME"]) == ("xterm-256color", str(server.home))
    assert ours.pop("DUETTY_INSIDE") == str(server.paths.server_socket)
    assert ours == {"DUETTY_HOME": str(server.home)}
    assert not {"TMUX", "COLUMNS", "LINES"} & env.keys()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "dash"])
@pytest.mark.shells
def test_programs_cannot_find_the_nonce_or_the_token(server: ServerProcess, shell: str) -> None:
    server.client.post("/sessions", {"name": "s", "command": shell})
    run(server, "true")
    journal = server.paths.journals / server.client.get(session_path("s"))["id"]
    printed = b"".join(path.read_bytes() for path in journal.glob("*.segment"))
    nonce = printed.partition(b"nonce=")[2][:32].decode()

    seen = run(
        server,
        "env; cat /proc/self/environ /proc/self/cmdline | tr '\\0' '\\n'; ls -l /proc/self/fd",
    )

    assert len(nonce) == 32
    assert seen["exit_code"] == 0
    assert nonce not in seen["output"]
    assert server.token() not in seen["output"]
    pid = server.client.get(session_path("s"))["pid"]
    assert nonce.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
    assert nonce.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_child_has_a_session_group_and_terminal_of_its_own(server: ServerProcess) -> None:
    server.client.post("/sessions", {"name": "s", "command": "bash"})
    info = server.client.get("/server/info")

    pid = server.client.get(session_path("s"))["pid"]
    tty = run(server, "tty")["output"]

    assert os.getsid(pid) == os.getpgid(pid) == pid
    assert pid not in (info["pid"], info["keeper_pid"])
    assert tty.startswith("/dev/pts/")
    # bash opens /dev/tty for a moment while it draws its prompt.
    eventually(lambda: opened_files(pid) == {tty})


def opened_files(pid: int) -> set[str]:
    return {str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()}


def traces(engine: Engine) -> tuple[set[str], set[str], set[str], list[str]]:
    """Everything that opening a session makes."""
    keeper = engine.registry.keeper_pid
    return (
        {path.name for path in engine.paths.journals.iterdir()},
        {path.name for path in engine.paths.scratch.iterdir()},
        set(Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()),
        sorted(os.listdir(f"/proc/{keeper}/fd")),
    )


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param({"cwd": "/nonexistent/below"}, BadWorkingDirectory, id="no directory"),
        pytest.param({"cwd": "/etc/passwd"}, BadWorkingDirectory, id="a file"),
        pytest.param({"cwd": "relative"}, BadWorkingDirectory, id="a relative directory"),
        pytest.param({"cwd": "/" + "x" * 5000}, BadWorkingDirectory, id="a name too long"),
        pytest.param({"command": "nonexistent-program"}, BadCommand, id="no program"),
        pytest.param({"command": "/nonexistent/program -x"}, BadCommand, id="no path"),
        pytest.param({"command": "/etc"}, BadCommand, id="a directory"),
        pytest.param({"command": "echo " + "ü" * 70_000}, CommandTooLong, id="too long"),
        pytest.param({"command": "/etc/passwd"}, BadCommand, id="not executable"),
        pytest.param({"command": ""}, BadCommand, id="empty"),
        pytest.param({"command": "   "}, BadCommand, id="blank"),
        pytest.param({"command": "echo 'open"}, BadCommand, id="an open quote"),
        pytest.param({"command": "echo a\0b"}, DuettyError, id="a NUL"),
        pytest.param({"env": {"A=B": "x"}}, DuettyError, id="a bad variable"),
        pytest.param({"env": {"A": "x" * 3_000_000}}, DuettyError, id="too much environment"),
    ],
)
@pytest.mark.sampled(4)
async def test_a_session_that_cannot_be_opened_leaves_nothing_behind(
    engine: Engine, arguments: dict[str, object], error: type[DuettyError]
) -> None:
    await engine.run("true")
    before = traces(engine)

    with pytest.raises(error):
        await engine.call("session.open", name="bad", **arguments)
    while traces(engine) != before:
        await anyio.sleep(0.01)

    assert [each.name for each in await engine.call("session.list")] == ["s"]
    assert (await engine.run("echo alive")).output == "alive"
    again = await engine.call("session.open", name="bad", command="bash")
    assert again.name == "bad"


@pytest.mark.anyio
@pytest.mark.parametrize("code", ["invalid_cwd", "invalid_command"])
async def test_the_codes_of_a_failed_opening_are_the_published_ones(
    engine: Engine, code: str
) -> None:
    arguments = {
        "invalid_cwd": {"cwd": "/no/such/place"},
        "invalid_command": {"command": "no-such"},
    }

    with pytest.raises(DuettyError) as caught:
        await engine.call("session.open", **arguments[code])

    assert caught.value.code == code
    assert caught.value.hint


def test_a_port_that_is_taken_ends_the_server_with_a_clear_error(
    server: ServerProcess, tmp_path: Path
) -> None:
    taken = server.url().removeprefix("http://")

    second = ServerProcess(tmp_path / "second").command("server", "--bind", taken)

    assert second.returncode == 1
    assert "[bad_setting]" in second.stderr
    assert taken in second.stderr
