"""Doors that were not attacked before: TLS, a base prefix, names of a network address, links, directories, other nodes, upstreams."""

import ctypes
import json
import os
import resource
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from duetty.config import find_paths, make_private
from duetty.errors import StateUnwritable
from tests.edges.http.asking import address_of, client_of, spoken, started
from tests.edges.http.test_network import certificate
from tests.faults.server_facts import MIB, resident_bytes
from tests.server_process import ServerProcess, running_server

pytestmark = pytest.mark.pty

NOBODY = 65534


# --- TLS, prefix, network -----------------------------------------------------


def test_handshakes_that_stand_still_leave_room_for_one_that_goes_on(home: Path) -> None:
    cert, key = certificate(home)
    trusting = ssl.create_default_context(cafile=str(cert))
    with (
        started(home, "--tls-cert", str(cert), "--tls-key", str(key)) as server,
        ExitStack() as held,
    ):
        assert server.process is not None
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (256, 256))
        for _ in range(300):
            with suppress(OSError):
                held.enter_context(socket.create_connection(address_of(server), timeout=5))
        with client_of(server, verify=trusting) as http:
            answered = http.get("/sessions").status_code
        listed = server.command("list")

    assert answered == 200
    assert listed.returncode == 0


@pytest.mark.parametrize(
    "path",
    ["/sessions", "//sessions", "/x/../sessions", "/wsh/../sessions", "/%77sh/../sessions", "/wshx/sessions", "/wsh%2fsessions", "/wsh//sessions", "/WSH/sessions"],
)  # fmt: skip
def test_below_a_prefix_nothing_answers_beside_it(prefixed: ServerProcess, path: str) -> None:
    host, port = address_of(prefixed)
    request = (
        f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {prefixed.token()}\r\n"
        "Connection: close\r\n\r\n"
    )

    heard = spoken(prefixed, request.encode())

    assert heard[:13] in (b"HTTP/1.1 404 ", b"HTTP/1.1 400 ")


@pytest.fixture(scope="module")
def prefixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with started(tmp_path_factory.mktemp("d"), "--base-prefix", "/wsh") as server:
        yield server


def test_on_every_address_other_names_and_strangers_are_refused(home: Path) -> None:
    with started(home, "--bind", "0.0.0.0:0") as server:
        port = httpx.URL(server.url()).port
        url = f"http://127.0.0.1:{port}/sessions"
        bearer = {"Authorization": f"Bearer {server.token()}"}
        answers = [
            httpx.get(url, headers=headers).status_code
            for headers in (
                {},
                {"Authorization": "Bearer guess"},
                {**bearer, "Host": "evil.example"},
                {**bearer, "Origin": "http://evil.example"},
                {**bearer, "X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "localhost"},
            )
        ]

    assert answers == [401, 403, 403, 403, 200]


# --- links --------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with running_server(tmp_path_factory.mktemp("d")) as server:
        yield server


def test_of_many_who_use_a_link_at_once_one_signs_in(server: ServerProcess) -> None:
    link = server.command("token", "--link").stdout.strip()

    def use(_: int) -> bool:
        return "set-cookie" in httpx.get(link, follow_redirects=False).headers

    with ThreadPoolExecutor(10) as pool:
        signed_in = list(pool.map(use, range(20)))

    assert sum(signed_in) == 1


@pytest.mark.parametrize("code", ["", "x", "a" * 5_000, "%00", "..%2f..", "é"])
def test_a_guessed_link_signs_nobody_in(server: ServerProcess, code: str) -> None:
    answer = httpx.get(f"{server.url()}/login?code={code}", follow_redirects=False)

    assert "set-cookie" not in answer.headers
    assert answer.status_code < 500


# --- directories and processes ------------------------------------------------


def test_a_runtime_directory_that_somebody_else_put_there_is_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = tmp_path / "link"
    link.symlink_to(elsewhere)
    file = tmp_path / "file"
    file.touch()
    places = [link, file]
    if os.getuid() == 0:
        theirs = tmp_path / "theirs"
        theirs.mkdir()
        os.chown(theirs, NOBODY, NOBODY)
        places.append(theirs)

    for place in places:
        with pytest.raises(StateUnwritable):
            make_private(place)


@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged by a call of Linux")
def test_a_link_that_takes_a_directorys_name_meanwhile_changes_nothing_elsewhere(
    tmp_path: Path,
) -> None:
    """The swap comes at every moment that a program of another user could choose."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    place, link, over = tmp_path / "place", tmp_path / "link", threading.Event()
    link.symlink_to(elsewhere)
    exchange = ctypes.CDLL(None, use_errno=True).renameat2

    def swap() -> None:
        while not over.is_set():
            exchange(-100, bytes(place), -100, bytes(link), 2)

    place.mkdir()
    own = os.open(place, os.O_DIRECTORY)
    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        deadline_s = time.monotonic() + 2
        while time.monotonic() < deadline_s and elsewhere.stat().st_mode & 0o055:
            os.fchmod(own, 0o755)  # so that there is something to close
            with suppress(StateUnwritable):
                make_private(place)
    finally:
        over.set()
        swapping.join()
        os.close(own)

    assert elsewhere.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("name", ["token.new", "duetty.db.count", "server.lock", "server.sock"])
def test_a_link_that_waits_in_the_states_place_leads_nothing_elsewhere(
    home: Path, tmp_path: Path, name: str
) -> None:
    """Whoever can write there is the user; a link that a backup or an accident left is not followed to harm."""
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    paths = find_paths({"DUETTY_HOME": str(home)})
    place = paths.runtime if name.endswith(".sock") else paths.state
    make_private(place)
    (place / name).symlink_to(victim)
    server = ServerProcess(home)
    with suppress(AssertionError):  # it may as well refuse to start
        server.start()
    server.end()

    assert victim.read_text() == "untouched"


def test_a_crash_leaves_no_memory_in_a_file_and_programs_keep_their_own_limit(home: Path) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if hard == 0:
        pytest.skip("no program here may leave one")
    allowed = "import resource as r; most = r.getrlimit(r.RLIMIT_CORE)[1]; "
    server = ServerProcess(home)
    server.start(change=f"{allowed} r.setrlimit(r.RLIMIT_CORE, (most, most))")

    def core(pid: int) -> str:
        lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
        return next(line.split()[4] for line in lines if line.startswith("Max core file size"))

    try:
        assert server.process is not None
        opened = server.client.post("/sessions", {"name": "core", "command": "bash"})
        limits = core(server.process.pid), core(opened["pid"])
    finally:
        server.end()

    assert limits == ("0", "unlimited" if hard == resource.RLIM_INFINITY else str(hard))


# --- other nodes, upstreams ---------------------------------------------------

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def _endless(connection: socket.socket, first: bytes, rest: bytes) -> None:
    with connection, suppress(OSError):
        connection.recv(65536)
        connection.sendall(first)
        while rest:
            connection.sendall(rest)


HOSTILE_NODES: dict[str, Callable[[socket.socket], None]] = {
    "endless body": lambda each: _endless(each, HEAD + b"\r\n[", b" " * 65536),
    "endless head": lambda each: _endless(each, HEAD, b"X: " + b"x" * 60_000 + b"\r\n"),
    "no HTTP": lambda each: _endless(each, os.urandom(100), b""),
    "no JSON": lambda each: _endless(each, HEAD + b"Content-Length: 9\r\n\r\n{\xff\xff\xff\xff,]]]", b""),
    "deep JSON": lambda each: _endless(each, HEAD + b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000, b""),
    "a redirect": lambda each: _endless(each, b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n", b""),
}  # fmt: skip


@contextmanager
def node_that(answer: Callable[[socket.socket], None]) -> Generator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    threading.Thread(target=answer, args=(connection,), daemon=True).start()
                    del connection

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)  # else it stays in accept, and the socket open
        thread.join(5)


@pytest.mark.parametrize("kind", HOSTILE_NODES)
def test_a_hostile_node_costs_its_own_answers_and_nothing_else(
    server: ServerProcess, kind: str
) -> None:
    before = resident_bytes(server)
    with node_that(HOSTILE_NODES[kind]) as address, client_of(server) as http:
        http.post("/servers", json={"address": address, "token": "secret-of-the-node"})
        asked = http.get("/sessions", params={"server": address})
        everywhere = http.get("/sessions")
        http.request("DELETE", "/servers", params={"address": address})

    assert asked.status_code >= 400
    assert "error" in asked.json()
    assert "secret-of-the-node" not in asked.text
    assert everywhere.status_code == 200
    assert resident_bytes(server) - before < 64 * MIB
    assert server.client.is_up()


UPSTREAM = """
import sys
kind = sys.argv[1]
out = sys.stdout.buffer
if kind == "an endless line":
    while True:
        out.write(b"x" * 65536)
elif kind == "endless lines":
    while True:
        out.write(b'{"jsonrpc":"2.0","method":"x"}' * 1000 + bytes([10]))
elif kind == "no text":
    out.write(bytes(range(256)) * 100 + bytes([10]))
    out.flush()
sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["an endless line", "endless lines", "no text"])
def test_a_hostile_upstream_costs_its_own_tools_and_nothing_else(home: Path, kind: str) -> None:
    program = home / "hostile.py"
    program.write_text(UPSTREAM)
    (home / "config.toml").write_text(
        f"[upstreams.bad]\ncommand = {json.dumps(sys.executable)}\nargs = {json.dumps([str(program), kind])}\n"
    )
    with running_server(home) as server:
        before = highest = resident_bytes(server)
        server.client.post("/upstreams/bad/restart", {})
        deadline_s = time.monotonic() + 2
        while time.monotonic() < deadline_s:
            assert server.client.get("/sessions") == []
            highest = max(highest, resident_bytes(server))
        listed = server.client.get("/upstreams")["upstreams"]
        state = next(each["state"] for each in listed if each["name"] == "bad")

    assert highest - before < 96 * MIB
    assert state not in ("ready", "connected")
