"""Attach over ssh: a real sshd on loopback, a real ssh in a real terminal."""

import os
import pwd
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.terminals import Tmux, tmux, wait_for
from tests.server_process import ServerProcess, running_server

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")

pytestmark = [
    pytest.mark.pty,
    pytest.mark.tmux,
    pytest.mark.skipif(
        SSHD is None or shutil.which("ssh") is None, reason="not installed: sshd or ssh"
    ),
]

CONFIG = """\
HostKey {home}/host
AuthorizedKeysFile {home}/user.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
PrintMotd no
"""


class Machine:
    """What is reached over ssh: this machine, by a way of its own."""

    def __init__(self, server: ServerProcess, port: int) -> None:
        self._server = server
        self._port = port

    def ssh(self, *command: str, **env: str) -> str:
        """The line that runs a command of ours there, in a terminal."""
        home = self._server.home
        there = {"DUETTY_HOME": str(home), **env}
        return shlex.join(
            [
                *("ssh", "-F", "none", "-tt", "-i", f"{home}/user", "-p", str(self._port)),
                *("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"),
                *("-o", "LogLevel=ERROR", "-o", "IdentityAgent=none"),
                f"{pwd.getpwuid(os.getuid()).pw_name}@127.0.0.1",
                shlex.join(["env", *(f"{name}={value}" for name, value in there.items())])
                + " "
                + shlex.join([sys.executable, "-m", "duetty", *command]),
            ]
        )


@contextmanager
def sshd(home: Path) -> Generator[int]:
    """The port where a connection gets an sshd of its own; no port is taken twice, none is guessed."""
    program = SSHD
    assert program is not None
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where no init system has made it
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / name)], check=True
        )
    (home / "sshd_config").write_text(CONFIG.format(home=home))
    daemons: list[subprocess.Popen[bytes]] = []

    def accept(listener: socket.socket) -> None:
        with suppress(OSError), (home / "sshd.log").open("ab") as log:
            while True:
                connection, _ = listener.accept()
                with connection:
                    daemons.append(
                        subprocess.Popen(
                            [program, "-i", "-e", "-f", str(home / "sshd_config")],
                            stdin=connection.fileno(),
                            stdout=connection.fileno(),
                            stderr=log,
                        )
                    )

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept, args=(listener,))
        accepting.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join(60)
            for daemon in daemons:
                daemon.terminate()
                daemon.wait(60)


@pytest.fixture
def server(home: Path) -> Iterator[ServerProcess]:
    with running_server(home) as server:
        server.client.post("/sessions", {"name": "far", "command": "bash"})
        server.client.post("/sessions/far/wait", {"state": ["prompt"]})
        yield server


@pytest.fixture
def machine(server: ServerProcess) -> Iterator[Machine]:
    with sshd(server.home) as port:
        yield Machine(server, port)


@pytest.fixture
def person(server: ServerProcess) -> Iterator[Tmux]:
    with tmux(server.home, server.env) as terminal:
        yield terminal


def viewers(server: ServerProcess) -> int:
    return server.client.get("/sessions/far")["clients"]


def begin(person: Tmux, server: ServerProcess, line: str) -> None:
    person.line(f"clear; {line}")
    wait_for(lambda: viewers(server) == 1, lambda: f"not attached:\n{person.screen()}")


def settings(person: Tmux, name: str) -> str:
    """The outer terminal's settings, as its own shell tells them."""
    person.line(f"clear; stty -g > {name}; echo to''ld-{name}")
    person.wait_outer(f"told-{name}")
    return (person.home / name).read_text()


def test_over_ssh_keys_sizes_and_letters_pass_and_the_terminal_is_restored(
    server: ServerProcess, machine: Machine, person: Tmux
) -> None:
    before = settings(person, "before")

    begin(person, server, machine.ssh("attach", "far"))
    person.line("echo ty''ped 日本 ä")
    person.wait_shown("typed 日本 ä")
    person.resize(cols=100, rows=30)
    wait_for(
        lambda: server.client.get("/sessions/far")["cols"] == 100,
        lambda: f"the size did not arrive:\n{person.screen()}",
    )
    person.line("stty size")
    person.wait_shown("30 100")
    person.press("C-\\", "C-\\")
    person.wait_outer("[detached]")

    wait_for(lambda: viewers(server) == 0, lambda: "the server still counts who has left")
    assert server.client.get("/sessions/far")["state"] == "prompt"
    assert person.ask("#{alternate_on}") == "0"
    assert settings(person, "after") == before


@pytest.mark.parametrize(
    "env",
    [
        {"TERM": "vt100", "LC_ALL": "C"},
        {"TERM": "no-such-terminal", "LC_ALL": "POSIX"},
        {"TERM": "", "LANG": "xx_XX.ISO-8859-1"},
    ],
    ids=["vt100 in C", "unknown", "none and another coding"],
)
def test_over_ssh_any_terminal_and_locale_will_do(
    server: ServerProcess, machine: Machine, person: Tmux, env: dict[str, str]
) -> None:
    begin(person, server, machine.ssh("attach", "far", **env))
    person.line("printf '\\033[31mre''d\\033[0m 日本\\n'")
    person.wait_shown("red 日本")
    person.press("C-\\", "C-\\")

    person.wait_outer("[detached]")


def test_a_lost_ssh_connection_ends_the_attached_terminal_and_not_the_session(
    server: ServerProcess, machine: Machine, person: Tmux
) -> None:
    begin(person, server, machine.ssh("attach", "far"))
    person.line("echo st''ill here")
    person.wait_shown("still here")
    person.press("Enter")
    person.type("~.")  # ssh's own way to drop a connection
    wait_for(
        lambda: person.screen().rstrip().endswith("outer>"),  # nobody is left to tidy up before it
        lambda: f"not back:\n{person.screen()}",
    )

    wait_for(lambda: viewers(server) == 0, lambda: "the viewer stayed")
    assert server.client.get("/sessions/far")["state"] == "prompt"
