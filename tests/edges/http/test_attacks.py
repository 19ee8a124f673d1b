"""Attacks over HTTP, each tried and refused."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from duetty.edges.http import arguments, peer
from tests.edges.http.asking import address_of, client_of, code, refusal, spoken, started
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]


def head(server: ServerProcess, line: str, *headers: str, token: bool = True) -> bytes:
    host, port = address_of(server)
    lines = [line, f"Host: {host}:{port}", "Connection: close", *headers]
    if token:
        lines.append(f"Authorization: Bearer {server.token()}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def answer(heard: bytes) -> tuple[int, str]:
    top, _, body = heard.partition(b"\r\n\r\n")
    return int(top.split(b" ")[1]), json.loads(body)["error"]["code"]


# --- bodies -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind", "status", "expected"),
    [
        (b"{", "application/json", 400, "invalid_request"),
        (b"[]", "application/json", 400, "invalid_request"),
        (b"[" * 100_000, "application/json", 413, "body_too_large"),
        (b"\xff\xfe", "application/json", 400, "invalid_request"),
        (b'{"input": 1}', "application/json", 400, "invalid_request"),
        (b'{"input": "x", "nonsense": 1}', "application/json", 400, "invalid_request"),
        (b'{"input": "x", "until_regex": "("}', "application/json", 400, "invalid_request"),
        (b'{"input": "x", "max_wait_ms": ' + b"9" * 5000 + b"}", "application/json", 400, "invalid_request"),
        (b'{"input": "x"}', "text/plain", 415, "unsupported_media_type"),
        (b'{"input": "x"}', "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        (b'{"input": "' + b"x" * 1_100_000 + b'"}', "application/json", 413, "body_too_large"),
    ],
    ids=["syntax", "list", "deep", "not utf-8", "type", "unknown", "regex", "number", "plain", "form", "large"],
)  # fmt: skip
@pytest.mark.sampled(3)
def test_a_bad_body_is_one_clear_error(
    http: httpx.Client, session: str, body: bytes, kind: str, status: int, expected: str
) -> None:
    response = http.post(f"/sessions/{session}/run", content=body, headers={"Content-Type": kind})

    assert refusal(response) == (status, expected)
    assert response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("announced", "refused"),
    [
        (arguments.MAX_BODY_BYTES + 1, (413, "body_too_large")),
        (10**12, (413, "body_too_large")),
        (99999999999999999999, (400, "invalid_request")),  # more than a length can be
    ],
)
def test_a_body_that_announces_too_much_is_refused_before_it_comes(
    server: ServerProcess, announced: int, refused: tuple[int, str]
) -> None:
    said = head(server, "POST /sessions HTTP/1.1", f"Content-Length: {announced}")

    assert answer(spoken(server, said)) == refused


def test_a_body_in_chunks_is_bounded_all_the_same(http: httpx.Client, session: str) -> None:
    chunks = (b"x" * 65536 for _ in range(32))

    response = http.post(f"/sessions/{session}/input", content=chunks)

    assert refusal(response) == (413, "body_too_large")


def test_an_error_names_the_field_and_never_repeats_its_value(
    http: httpx.Client, session: str
) -> None:
    response = http.post(f"/sessions/{session}/run", json={"input": "ok", "max_wait_ms": "s3cret"})

    assert "max_wait_ms" in response.json()["error"]["details"]["fields"]
    assert "s3cret" not in response.text


def test_a_bad_directory_or_command_is_an_error_at_create(http: httpx.Client) -> None:
    no_directory = http.post("/sessions", json={"cwd": "/no/such/place"})
    no_command = http.post("/sessions", json={"command": "no-such-program-at-all"})

    assert refusal(no_directory) == (400, "invalid_cwd")
    assert refusal(no_command) == (400, "invalid_command")


# --- another site's page ------------------------------------------------------


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])  # fmt: skip
def test_another_sites_simple_post_types_nothing(
    server: ServerProcess, http: httpx.Client, quiet: str, kind: str
) -> None:
    before = http.get(f"/sessions/{quiet}/idle", params={"timeout_ms": 10}).json()["generation"]

    simple = httpx.post(
        f"{server.url()}/sessions/{quiet}/input",
        content=b"touch /tmp/owned\r",
        headers={"Content-Type": kind, "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    )  # fmt: skip
    without_origin = httpx.post(
        f"{server.url()}/sessions/{quiet}/input", content=b"x", headers={"Content-Type": kind}
    )

    after = http.get(f"/sessions/{quiet}/idle", params={"timeout_ms": 10}).json()["generation"]
    assert (code(simple), code(without_origin)) == ("origin_not_allowed", "auth_required")
    assert after == before


# --- paths and queries --------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/sessions/..%2ftokens",
        "/sessions/%2e%2e%2ftokens",
        "/sessions/a%2fscreen",
        "/sessions/a%5c..%5cb",
        "/sessions/a%00b",
        "/sessions/a%0d%0aX-Injected:%20yes",
        "/sessions/a%1b[31m",
        "/sessions/%ff",
        "/sessions/%zz",
        "/sessions/%",
    ],
)
def test_a_path_with_tricks_in_it_is_not_well_formed(server: ServerProcess, path: str) -> None:
    heard = spoken(server, head(server, f"GET {path} HTTP/1.1"))

    assert answer(heard) == (400, "invalid_request")
    assert b"x-injected" not in heard.lower()


@pytest.mark.parametrize("name", ["..", ".", "...", "a" * 65, "a" * 5000, "~", "a;b", "%252e%252e"])
def test_a_name_that_cannot_be_is_a_session_that_is_not_there(
    server: ServerProcess, name: str
) -> None:
    heard = spoken(server, head(server, f"GET /sessions/{name} HTTP/1.1"))

    assert answer(heard) == (404, "session_not_found")


@pytest.mark.parametrize(
    "query", ["limit=1&limit=2", "limit=%ff", "limit=", "limit=1e3", "&".join(["x=1"] * 500)]
)
def test_a_malformed_query_is_a_coded_error(http: httpx.Client, query: str) -> None:
    assert refusal(http.get(f"/history?{query}")) == (400, "invalid_request")


# --- requests that are none ---------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        b"NONSENSE\r\n\r\n",
        b"GET / HTTP/1.1\r\nBad Header: x\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /\x00 HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ids=["words", "header name", "version", "tls", "nul", "length", "smuggling"],
)
def test_bytes_that_are_no_request_get_the_one_envelope(server: ServerProcess, said: bytes) -> None:
    heard = spoken(server, said)

    assert answer(heard) == (400, "invalid_request")
    assert b"x-content-type-options: nosniff" in heard


def test_a_header_cannot_be_put_into_the_answer(server: ServerProcess) -> None:
    said = head(server, "GET /login?code=x%0d%0aSet-Cookie:%20duetty=owned HTTP/1.1", token=False)

    heard = spoken(server, said)

    assert answer(heard) == (403, "link_expired")
    assert b"set-cookie" not in heard.lower()


@pytest.mark.parametrize(
    ("second", "refused"),
    [
        ("Authorization: Bearer another", (403, "auth_invalid")),
        ("Origin: http://evil.example", (403, "origin_not_allowed")),
        ("Host: evil.example", (403, "origin_not_allowed")),
    ],
)
def test_of_two_headers_the_second_one_counts_too(
    server: ServerProcess, second: str, refused: tuple[int, str]
) -> None:
    host, port = address_of(server)

    good = (f"Authorization: Bearer {server.token()}", f"Origin: http://{host}:{port}")

    heard = spoken(server, head(server, "GET /sessions HTTP/1.1", *good, second, token=False))

    assert answer(heard) == refused


def test_a_recordings_file_name_holds_no_header(http: httpx.Client) -> None:
    http.post("/sessions", json={"name": "日本", "command": "sleep 100"})

    disposition = http.get("/sessions/日本/recording").headers["content-disposition"]

    assert disposition == 'attachment; filename="__.cast"'
    http.delete("/sessions/日本", params={"grace_ms": 0})


@pytest.mark.parametrize("filling", ["one", "many"])
def test_a_head_that_is_too_large_is_refused(server: ServerProcess, filling: str) -> None:
    headers = (
        ["X-Big: " + "a" * 2 * peer.MAX_HEAD_BYTES]
        if filling == "one"
        else [f"X-{n}: {'a' * 100}" for n in range(2_000)]
    )
    said = head(server, "GET /health HTTP/1.1", *headers)

    # It need not have been sent to its end.
    heard = spoken(server, said[:-2])

    assert answer(heard) == (431, "headers_too_large")


def test_a_head_that_never_ends_is_cut_off(server: ServerProcess) -> None:
    """A client that sends a byte now and then holds a connection for seconds, not for ever."""
    with socket.create_connection(address_of(server), timeout=30) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\n")
        began_s = time.monotonic()
        ended = False
        while not ended and time.monotonic() - began_s < 3 * peer.HEAD_S:
            try:
                slow.sendall(b"X")
                slow.settimeout(0.5)
                ended = slow.recv(1) == b""
            except TimeoutError:
                continue
            except OSError:
                ended = True

    assert ended


def test_a_connection_that_says_nothing_is_cut_off(server: ServerProcess) -> None:
    with socket.create_connection(address_of(server), timeout=60) as silent:
        try:
            heard = silent.recv(1)
        except ConnectionError:
            heard = b""

    assert heard == b""


def test_a_local_connection_that_says_nothing_is_cut_off_too(server: ServerProcess) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.settimeout(60)
        silent.connect(str(server.paths.server_socket))
        try:
            heard = silent.recv(1)
        except ConnectionError:
            heard = b""

    assert heard == b""
    assert peer.HEAD_S < 8


def locally(server: ServerProcess, said: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as local:
        local.settimeout(60)
        local.connect(str(server.paths.server_socket))
        local.sendall(said)
        return b"".join(iter(lambda: local.recv(65536), b""))


@pytest.mark.parametrize("said", [b"\x99\0\0\0\x04what", b"{}\n", b"GET\r\n\r\n", b"\0" * 64])
def test_what_a_local_client_says_first_is_a_request_or_refused(
    server: ServerProcess, said: bytes
) -> None:
    assert answer(locally(server, said)) == (400, "invalid_request")


@pytest.mark.parametrize("kind", ["raw", "json"])
def test_a_local_client_cannot_follow_a_session_that_does_not_exist(
    server: ServerProcess, kind: str
) -> None:
    headers = (
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )
    asked = "\r\n".join((f"GET /sessions/nobody/ws/{kind} HTTP/1.1", "Host: x", *headers, "", ""))

    assert answer(locally(server, asked.encode())) == (404, "session_not_found")


# --- logs, processes, files ---------------------------------------------------


def test_what_a_caller_sends_cannot_write_a_line_of_its_own_into_the_log(home: Path) -> None:
    with started(home) as server:
        with client_of(server) as http:
            http.get("/sessions/x", headers={"User-Agent": "x\x1b[31m"})
            http.post("/sessions", json={"name": "a\nforged", "tags": ["b\x1b]0;owned\x07"]})
        spoken(server, b'GET /\n{"event": "forged"}\x1b[2J\r\n\r\n')
        log = server.paths.log_file.read_bytes() if server.paths.log_file.exists() else b""

    assert b"\x1b" not in log
    for line in log.splitlines():
        assert json.loads(line)["event"] != "forged"


def test_the_log_escapes_what_is_logged() -> None:
    import logging

    from duetty.startup.log_files import FieldsFormatter

    record = logging.makeLogRecord(
        {"msg": "said", "reason": "a\n\x1b[31m\u2028\x9b", "levelname": "INFO"}
    )
    line = FieldsFormatter().format(record)

    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["reason"] == "a\n\x1b[31m\u2028\x9b"


def test_no_secret_is_in_a_command_line_an_environment_or_the_log(home: Path) -> None:
    with started(home) as server:
        token = server.token()
        with client_of(server) as http:
            named = http.post("/tokens", json={"name": "x", "scopes": ["read"]}).json()["token"]
            http.post("/sessions", json={"name": "s", "command": "bash"})
            http.get("/sessions", headers={"Authorization": "Bearer wrong-but-secret"})
            child = http.get("/sessions/s").json()["pid"]
            environment = http.post("/sessions/s/run", json={"input": "env"}).json()["output"]
        assert server.process is not None
        places = [
            Path(f"/proc/{pid}/{what}").read_bytes()
            for pid in (server.process.pid, child)
            for what in ("cmdline", "environ")
        ]
        log = server.paths.log_file.read_bytes() if server.paths.log_file.exists() else b""
        database = server.paths.database.read_bytes()

    for secret in (token, named, "wrong-but-secret"):
        assert not any(secret.encode() in place for place in (*places, log, database))
        assert secret not in environment
    assert server.paths.token_file.stat().st_mode & 0o777 == 0o600
    assert server.paths.database.stat().st_mode & 0o077 == 0


@pytest.mark.root
def test_another_user_of_the_machine_gets_nothing_from_the_socket(home: Path) -> None:
    """The directory keeps them out; here it is opened, and the peer's uid still does."""
    with started(home) as server:
        path = server.paths.server_socket
        for place in (path.parent, *path.parent.parents):
            if place == Path("/tmp"):
                break
            place.chmod(0o755)
        path.chmod(0o777)
        program = (
            "import os, socket, sys\n"
            "os.setgid(65534); os.setuid(65534)\n"
            "s = socket.socket(socket.AF_UNIX); s.settimeout(10)\n"
            "try:\n"
            "    s.connect(sys.argv[1]); s.sendall(b'GET /sessions HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n')\n"
            "    print(len(s.recv(100)))\n"
            "except ConnectionError:\n"
            "    print(0)\n"
        )
        got = subprocess.run(
            [sys.executable, "-c", program, str(path)],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
            env={"PATH": os.environ["PATH"]},
        )
        own = server.client.get("/health")

    assert got.stdout.strip() == "0"
    assert own == {"status": "ok"}
