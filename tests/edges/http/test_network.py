"""Where the server listens, by which names, behind what, for how many."""

import socket
import ssl
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus
from websockets.sync.client import connect

from duetty.client import Client
from tests.edges.http.asking import (
    address_of,
    browser_of,
    client_of,
    refusal,
    spoken,
    started,
    with_token,
)
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]


def certificate(directory: Path, name: str = "server") -> tuple[Path, Path]:
    cert, key = directory / f"{name}.crt", directory / f"{name}.key"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", cert,
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return cert, key


def failure(server: ServerProcess, *arguments: str) -> str:
    """What a server that cannot start says."""
    ended = server.command("server", "--bind", "127.0.0.1:0", *arguments)
    assert ended.returncode == 1
    return ended.stderr


# --- TLS ----------------------------------------------------------------------


def test_with_tls_everything_is_https_and_plain_http_gets_nothing(home: Path) -> None:
    cert, key = certificate(home)
    trusting = ssl.create_default_context(cafile=str(cert))

    with started(home, "--tls-cert", str(cert), "--tls-key", str(key)) as server:
        with client_of(server, verify=trusting) as http:
            health, sessions = http.get("/health"), http.get("/sessions")
            origin = http.get("/sessions", headers={"Origin": server.url()})
            plain = http.get("/sessions", headers={"Origin": server.url().replace("s", "", 1)})
        with pytest.raises(httpx.TransportError):
            httpx.get(server.url().replace("https", "http") + "/health")
        with browser_of(server, verify=trusting) as browser:
            cookie = browser.get(f"{server.url()}/auth/whoami")
            secure = next(iter(browser.cookies.jar)).secure
        local = Client(server.paths.server_socket).get("/health")

    assert server_scheme(health) == "https"
    assert (health.status_code, sessions.status_code, origin.status_code) == (200, 200, 200)
    assert refusal(plain) == (403, "origin_not_allowed")
    assert (cookie.status_code, secure) == (200, True)
    assert local == {"status": "ok"}


def test_a_websocket_is_reached_over_tls_below_a_prefix_and_nowhere_else(home: Path) -> None:
    cert, key = certificate(home)
    trusting = ssl.create_default_context(cafile=str(cert))
    files = ("--tls-cert", str(cert), "--tls-key", str(key))

    with started(home, *files, "--base-prefix", "/wsh") as server:
        secure = server.url().replace("https", "wss", 1)
        headers = {"Authorization": f"Bearer {server.token()}"}
        with connect(f"{secure}/ws/json", ssl=trusting, additional_headers=headers) as socket:
            first = socket.recv(60)
        with pytest.raises(InvalidStatus) as outside:
            connect(
                f"{secure.removesuffix('/wsh')}/ws/json", ssl=trusting, additional_headers=headers
            )
        with pytest.raises((InvalidMessage, ConnectionClosed, OSError)):
            connect(f"{secure.replace('wss', 'ws', 1)}/ws/json", additional_headers=headers)

    assert first == '{"connected":true}'
    assert outside.value.response.status_code == 404


def server_scheme(response: httpx.Response) -> str:
    return response.url.scheme


def test_with_tls_beyond_loopback_an_authorised_request_is_answered(home: Path) -> None:
    cert, key = certificate(home)
    trusting = ssl.create_default_context(cafile=str(cert))

    with (
        started(
            home, "--bind", "0.0.0.0:0", "--tls-cert", str(cert), "--tls-key", str(key)
        ) as server,
        client_of(server, verify=trusting) as http,
    ):
        answers = [http.get("/sessions").status_code for _ in range(150)]

    assert set(answers) == {200}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tls-cert", "CERT"], "server.tls_key is not"),
        (["--tls-key", "KEY"], "server.tls_cert is not"),
        (["--tls-cert", "CERT", "--tls-key", "/no/such/key"], "/no/such/key: No such file"),
        (["--tls-cert", "/no/such/cert", "--tls-key", "KEY"], "/no/such/cert: No such file"),
        (["--tls-cert", "CERT", "--tls-key", "OTHER"], "cannot use"),
        (["--tls-cert", "KEY", "--tls-key", "CERT"], "cannot use"),
        (["--tls-cert", "CERT", "--tls-key", "LOCKED"], "cannot use"),
    ],
    ids=["no key", "no cert", "key gone", "cert gone", "other's key", "swapped", "password"],
)
@pytest.mark.sampled(3)
def test_files_that_are_no_pair_are_one_clear_error(
    home: Path, arguments: list[str], says: str
) -> None:
    cert, key = certificate(home)
    _, other = certificate(home, "other")
    locked = home / "locked.key"
    subprocess.run(
        ["openssl", "ec", "-in", key, "-aes128", "-passout", "pass:x", "-out", locked],
        check=True,
        capture_output=True,
    )
    files = {"CERT": str(cert), "KEY": str(key), "OTHER": str(other), "LOCKED": str(locked)}

    said = failure(ServerProcess(home), *[files.get(each, each) for each in arguments])

    assert says in said
    assert "[bad_setting]" in said


# --- base prefix --------------------------------------------------------------


def test_below_a_prefix_everything_has_it_and_health_answers_without_it_too(home: Path) -> None:
    with started(home, "--base-prefix", "/wsh/") as server, client_of(server) as http:
        root = str(httpx.URL(server.url()).join("/")).rstrip("/")
        http.post("/sessions", json={"name": "s", "command": "sleep 100"})
        found = http.get("/sessions/s/screen")
        health = [http.get("/health"), http.get(f"{root}/health")]
        outside = [http.get(f"{root}/sessions"), http.get(f"{root}/wshx/sessions")]
        to_page = http.get("/")
        bare = http.get(f"{root}/wsh")
        with browser_of(server) as browser:
            [cookie] = browser.cookies.jar
            signed_in = browser.get("/sessions")
        described = http.get("/openapi.json").json()["servers"]
        local = Client(server.paths.server_socket).get("/sessions")
        url = server.url()

    assert url.endswith("/wsh")
    assert [each.status_code for each in health] == [200, 200]
    assert found.status_code == 200
    assert [refusal(each) for each in outside] == [(404, "not_found")] * 2
    assert [each.headers["location"] for each in (to_page, bare)] == ["/wsh/ui"] * 2
    assert (cookie.path, signed_in.status_code) == ("/wsh", 200)
    assert described == [{"url": "/wsh"}]
    assert [each["name"] for each in local] == ["s"]


def test_a_prefix_that_is_no_path_is_refused(home: Path) -> None:
    assert "[bad_setting]" in failure(ServerProcess(home), "--base-prefix", "/a/../b")


# --- names --------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9315", "127.0.0.1.evil.example", "", "localhost"]
)
@pytest.mark.parametrize("path", ["/sessions", "/health", "/ui", "/mcp", "/docs", "/nothing"])
def test_a_rebound_name_is_refused_even_with_the_token(
    http: httpx.Client, host: str, path: str
) -> None:
    response = http.get(path, headers={"Host": host})

    assert refusal(response) == (403, "origin_not_allowed")


@pytest.mark.parametrize("path", ["/ws/json", "/ws/view", "/nothing"])
def test_a_rebound_name_is_refused_at_an_upgrade_too(server: ServerProcess, path: str) -> None:
    lines = (
        f"GET {path} HTTP/1.1",
        "Host: evil.example",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        f"Authorization: Bearer {server.token()}",
    )

    heard = spoken(server, "\r\n".join((*lines, "", "")).encode())

    assert heard.startswith(b"HTTP/1.1 403 ")
    assert b'"origin_not_allowed"' in heard


def test_two_hosts_are_none(server: ServerProcess) -> None:
    host = f"127.0.0.1:{address_of(server)[1]}".encode()
    said = b"GET /health HTTP/1.1\r\nHost: %s\r\nHost: evil\r\nConnection: close\r\n\r\n" % host

    assert b" 403 " in spoken(server, said).split(b"\r\n")[0]


def test_localhost_means_either_loopback_address(server: ServerProcess, http: httpx.Client) -> None:
    port = address_of(server)[1]
    try:
        with socket.create_connection(("::1", port), timeout=60):
            pass
    except OSError:
        pytest.skip("this machine has no [::1]")

    assert httpx.get(f"http://[::1]:{port}/health").status_code == 200
    assert httpx.get(f"http://localhost:{port}/health").status_code == 200


def test_further_names_are_answered_when_the_settings_say_so(home: Path) -> None:
    with started(home, DUETTY_SERVER_HOSTS="term.example.org, box:1234") as server:
        port = address_of(server)[1]
        with client_of(server) as http:
            answers = {
                host: http.get("/sessions", headers={"Host": host}).status_code
                for host in ("term.example.org", f"term.example.org:{port}", "box:1234", "box")
            }
            proxied = http.get(
                "/sessions",
                headers={"Host": "term.example.org", "Origin": "https://term.example.org"},
            )

    assert list(answers.values()) == [200, 200, 200, 403]
    assert proxied.status_code == 200


def test_beyond_loopback_the_machines_own_address_is_a_name_and_the_start_is_loud(
    home: Path,
) -> None:
    server = ServerProcess(home)
    server.start("--bind", "0.0.0.0:0")
    try:
        port = address_of(server)[1]
        own = httpx.get(
            f"http://127.0.0.2:{port}/sessions",
            headers={"Authorization": f"Bearer {server.token()}"},
        )
        nobody = httpx.get(f"http://127.0.0.2:{port}/sessions")
        server.command("stop")
        assert server.process is not None
        assert server.process.stderr is not None
        said = server.process.stderr.read().decode()
    finally:
        server.end()

    assert (own.status_code, nobody.status_code) == (200, 401)
    assert "WARNING: Other machines can reach this server (0.0.0.0)" in said
    assert "Without TLS" in said


# --- CORS ---------------------------------------------------------------------


def test_a_listed_sites_page_may_call_with_a_token_and_never_with_a_cookie(home: Path) -> None:
    app = "https://app.example"
    with started(home, "--cors-origin", app) as server:
        with client_of(server) as http:
            called = http.get("/sessions", headers={"Origin": app})
            preflight = httpx.options(
                f"{server.url()}/sessions",
                headers={
                    "Origin": app,
                    "Access-Control-Request-Method": "POST",
                    "Access-Control-Request-Headers": "authorization, content-type",
                },
            )
            refused = httpx.get(f"{server.url()}/sessions", headers={"Origin": app})
            near = http.get("/sessions", headers={"Origin": "https://app.example.evil"})
        with browser_of(server) as browser:
            cookie = browser.get("/sessions", headers={"Origin": app})

    assert (called.status_code, called.headers["access-control-allow-origin"]) == (200, app)
    assert called.headers["vary"] == "Origin"
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == app
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert "Authorization" in preflight.headers["access-control-allow-headers"]
    # The page may read why it was refused.
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, app)
    assert refusal(near) == (403, "origin_not_allowed")
    assert "access-control-allow-origin" not in near.headers
    assert refusal(cookie) == (403, "origin_not_allowed")
    for answer in (called, preflight, refused):
        assert "access-control-allow-credentials" not in answer.headers


def test_nobody_is_allowed_in_from_elsewhere_unless_listed(http: httpx.Client) -> None:
    answers = [
        http.get("/sessions", headers={"Origin": "https://evil.example"}),
        http.options(
            "/sessions",
            headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"},
        ),
        http.get("/sessions", headers={"Origin": "null"}),
    ]

    assert {refusal(each) for each in answers} == {(403, "origin_not_allowed")}
    assert not any("access-control" in name for each in answers for name in each.headers)


@pytest.mark.parametrize("origin", ["*", "https://*.example", "app.example", "https://a/b", "null"])
@pytest.mark.sampled(4)
def test_an_origin_that_is_none_cannot_be_listed(home: Path, origin: str) -> None:
    assert "[bad_setting]" in failure(ServerProcess(home), "--cors-origin", origin)


# --- rate limit ---------------------------------------------------------------


def test_as_many_requests_a_second_as_the_limit_says_are_answered(home: Path) -> None:
    with started(home, "--rate-limit", "100") as server, client_of(server) as http:
        answers: list[int] = []
        for _ in range(300):  # three seconds at 100 a second: a burst alone would not do
            began_s = time.monotonic()
            answers.append(http.get("/health").status_code)
            time.sleep(max(0.0, began_s + 1 / 100 - time.monotonic()))  # and no faster after a halt

    assert set(answers) == {200}


def test_more_requests_are_told_when_to_come_again(home: Path) -> None:
    with started(home, "--rate-limit", "4") as server:
        with ThreadPoolExecutor(8) as pool, httpx.Client(base_url=server.url()) as client:
            answers = list(pool.map(client.get, ["/health"] * 200))
        limited = [each for each in answers if each.status_code == 429]
        local = [Client(server.paths.server_socket).get("/health") for _ in range(50)]
        time.sleep(max(int(each.headers["retry-after"]) for each in limited))
        later = httpx.get(f"{server.url()}/health")

    assert limited
    assert {refusal(each) for each in limited} == {(429, "rate_limited")}
    assert limited[0].headers["x-content-type-options"] == "nosniff"
    assert local == [{"status": "ok"}] * 50
    assert later.status_code == 200


def test_guessing_tokens_is_limited_too(home: Path) -> None:
    with started(home, "--rate-limit", "1") as server, with_token(server, "guess") as guesser:
        answers = [guesser.get("/sessions") for _ in range(30)]

    assert 429 in {each.status_code for each in answers}
