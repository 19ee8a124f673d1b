"""The list of servers: who is in it, how each is, and who may not be."""

import json
import socket
from contextlib import suppress

import pytest

from tests.edges.http.asking import code, refusal
from tests.hub.conftest import Servers, wait_for
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]


def test_the_server_itself_stands_first_in_the_list(servers: Servers) -> None:
    own, *_ = servers.http.get("/servers").json()

    info = servers.http.get("/server/info").json()
    assert own["hostname"] == "hub"
    assert (own["address"], own["health"], own["role"]) == ("local", "healthy", "member")
    assert own["server_id"] == info["server_id"]
    assert servers.http.get("/servers/hub").json()["address"] == "local"


def test_a_server_that_was_added_becomes_healthy_and_says_who_it_is(servers: Servers) -> None:
    beta = servers.start("beta")

    added = servers.add(beta)

    assert added.status_code == 201
    assert added.json() == {"address": beta.url(), "health": "connecting"}
    entry = servers.wait_health(beta.url(), "healthy")
    assert entry["hostname"] == "beta"
    assert entry["server_id"] == beta.client.get("/server/info")["server_id"]
    assert beta.token() not in servers.http.get("/servers").text
    assert servers.http.get("/servers/BETA").json()["address"] == beta.url()
    assert refusal(servers.add(beta)) == (409, "server_already_registered")
    assert servers.http.delete("/servers/beta").status_code == 204
    assert refusal(servers.http.get("/servers/beta")) == (404, "server_not_found")


@pytest.mark.parametrize(
    "address",
    [
        "ftp://127.0.0.1:1",
        "127.0.0.1:9315",
        "http://",
        "http://:9315",
        "http://0.0.0.0:9315",
        "http://[::]:9315",
        "http://169.254.169.254",
        "http://[::ffff:169.254.169.254]",
        "http://2852039166",
        "http://user:secret@127.0.0.1:9315",
        "http://127.0.0.1:9315/?a=b",
        "http://127.0.0.1:9315/../x",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "http://a b:1",
        "http://a\r\nb:1",
        "http://224.0.0.1:80",
        "",
        None,
    ],
)
def test_what_is_no_address_of_a_server_is_refused(servers: Servers, address: str | None) -> None:
    answer = servers.http.post("/servers", json={"address": address})

    assert refusal(answer) == (400, "invalid_request")


def test_an_address_is_needed_and_a_token_must_fit_into_a_header(servers: Servers) -> None:
    without = servers.http.post("/servers", json={})
    injecting = servers.http.post(
        "/servers", json={"address": "http://127.0.0.1:1", "token": "a\r\nX-Evil: 1"}
    )

    assert refusal(without) == (400, "invalid_request")
    assert refusal(injecting) == (400, "invalid_request")


def test_unknown_servers_and_the_server_itself_cannot_be_removed(servers: Servers) -> None:
    assert refusal(servers.http.delete("/servers/nobody")) == (404, "server_not_found")
    assert refusal(servers.http.delete("/servers/hub")) == (404, "server_not_found")


def test_a_server_that_is_this_one_is_rejected_for_good(servers: Servers) -> None:
    assert servers.add(servers.hub).status_code == 201

    entry = servers.wait_health(servers.hub.url(), "rejected")

    assert "itself" in entry["reason"]
    # It has no name of its own, so its place is what it is called by.
    place = servers.hub.url().removeprefix("http://")
    assert servers.http.delete(f"/servers/{place}").status_code == 204


def test_a_second_server_of_the_same_name_is_rejected(
    servers: Servers, node: ServerProcess
) -> None:
    twin = servers.start("Alpha")
    servers.add(twin)

    entry = servers.wait_health(twin.url(), "rejected")

    assert "alpha" in entry["reason"].lower()
    assert servers.http.get("/sessions", params={"server": "alpha"}).status_code == 200
    place = twin.url().removeprefix("http://")
    assert servers.http.delete(f"/servers/{place}").status_code == 204


def test_the_same_server_under_another_address_is_rejected(
    servers: Servers, node: ServerProcess
) -> None:
    other = node.url().replace("127.0.0.1", "localhost")
    servers.http.post("/servers", json={"address": other, "token": node.token()})

    entry = servers.wait_health(other, "rejected")

    assert node.url() in entry["reason"]
    assert servers.http.delete(f"/servers/{other.removeprefix('http://')}").status_code == 204


def test_a_server_that_does_not_answer_is_unavailable_and_can_be_removed(servers: Servers) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        servers.http.post("/servers", json={"address": address})

        entry = servers.wait_health(address, "unavailable")

    assert entry["hostname"] is None
    place = address.removeprefix("http://")
    named = servers.http.get("/sessions", params={"server": place})
    assert refusal(named) == (503, "server_unavailable")
    assert servers.http.delete(f"/servers/{place}").status_code == 204


def test_a_wrong_token_makes_a_server_unavailable_and_ours_is_never_sent(servers: Servers) -> None:
    """What comes to a listener instead of a server is read, not believed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        servers.http.post("/servers", json={"address": address})
        connection, _ = listener.accept()
        with connection:
            heard = connection.recv(65536)
            connection.sendall(b"HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\n{}")
        entry = servers.wait_health(address, "unavailable")
        servers.http.delete(f"/servers/{address.removeprefix('http://')}")

    assert heard.startswith(b"GET /server/info HTTP/1.1\r\n")
    assert b"authorization" not in heard.lower()
    assert servers.hub.token().encode() not in heard
    assert "token" in entry["reason"]


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnope",
        b'HTTP/1.1 200 OK\r\nContent-Length: 31\r\n\r\n{"hostname":"../x","server_id":1}',
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000,
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        b"",
    ],
)
def test_whatever_answers_instead_of_a_server_does_no_harm(servers: Servers, said: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        servers.http.post("/servers", json={"address": address})
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            with suppress(ConnectionError):
                connection.sendall(said)
        entry = wait_for(
            lambda: (
                entry
                if (entry := servers.entry(address))["health"] in ("unavailable", "rejected")
                else None
            )
        )
        servers.http.delete(f"/servers/{address.removeprefix('http://')}")

    assert entry["reason"]
    assert servers.http.get("/health").status_code == 200


def test_servers_are_remembered_and_their_tokens_kept_private(servers: Servers) -> None:
    gamma = servers.start("gamma")
    second = servers.start("second-hub")
    client = servers.client(second)
    client.post("/servers", json={"address": gamma.url(), "token": gamma.token()})
    kept = second.paths.servers_file

    second.kill()
    second.start("--hostname", "second-hub")

    client = servers.client(second)
    found = wait_for(
        lambda: (
            entry if (entry := client.get("/servers").json()[1])["health"] == "healthy" else None
        )
    )
    assert found["hostname"] == "gamma"
    assert kept.stat().st_mode & 0o777 == 0o600
    trail = client.get("/audit", params={"operation": "server.add"}).text
    assert gamma.token() not in trail
    assert json.loads(kept.read_text())["servers"][0]["token"] == gamma.token()


def test_networks_that_the_settings_block_are_refused(
    servers: Servers, node: ServerProcess
) -> None:
    careful = servers.client(servers.start("careful", DUETTY_HUB_BLOCK="127.0.0.0/8"))
    choosy = servers.client(servers.start("choosy", DUETTY_HUB_ALLOW="10.0.0.0/8"))

    blocked = careful.post("/servers", json={"address": node.url()})
    by_name = careful.post("/servers", json={"address": "http://localhost:1"})
    not_allowed = choosy.post("/servers", json={"address": node.url()})
    allowed = choosy.post("/servers", json={"address": "http://10.255.255.1:9"})

    assert refusal(blocked) == (400, "invalid_request")
    assert refusal(by_name) == (400, "invalid_request")
    assert refusal(not_allowed) == (400, "invalid_request")
    assert allowed.status_code == 201


def test_only_an_administrator_changes_the_list(servers: Servers) -> None:
    made = servers.http.post("/tokens", json={"name": "t", "scopes": ["read", "input", "control"]})
    limited = servers.client(servers.hub, made.json()["token"])

    assert limited.get("/servers").status_code == 200
    added = limited.post("/servers", json={"address": "http://127.0.0.1:1"})
    removed = limited.delete("/servers/alpha")

    assert (code(added), code(removed)) == ("scope_missing", "scope_missing")
