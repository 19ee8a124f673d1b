"""The HTTP door of a real server: contract, envelope, and who may come in."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.pty]


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        yield server


@pytest.fixture
def http(server: ServerProcess) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {server.token()}"}
    with httpx.Client(base_url=server.url(), headers=headers, timeout=30) as client:
        yield client


@pytest.fixture
def session(http: httpx.Client, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"t{abs(hash(request.node.name)) % 10**9}"
    assert http.post("/sessions", json={"name": name, "command": "bash"}).status_code == 201
    yield name
    http.delete(f"/sessions/{name}", params={"grace_ms": 0})


def code(response: httpx.Response) -> str:
    return response.json()["error"]["code"]


# --- contract -----------------------------------------------------------------


def test_health_answers_without_a_token(server: ServerProcess) -> None:
    response = httpx.get(f"{server.url()}/health")

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_a_wrong_method_and_an_unknown_path_are_coded_errors(http: httpx.Client) -> None:
    assert (http.post("/health").status_code, code(http.post("/health"))) == (
        405,
        "method_not_allowed",
    )
    assert (http.get("/nothing").status_code, code(http.get("/nothing"))) == (404, "not_found")


def test_the_root_leads_to_the_page(http: httpx.Client) -> None:
    response = http.get("/")

    assert (response.status_code, response.headers["location"]) == (307, "/ui")


def test_every_answer_carries_the_security_headers(http: httpx.Client) -> None:
    for response in (http.get("/health"), http.get("/nothing"), http.get("/sessions")):
        assert response.headers["x-frame-options"] == "DENY"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert "default-src 'self'" in response.headers["content-security-policy"]
        assert "geolocation=()" in response.headers["permissions-policy"]


def test_a_session_is_created_found_renamed_and_removed(http: httpx.Client) -> None:
    created = http.post("/sessions", json={"name": "alpha", "tags": ["zulu", "alpha", "mike"]})
    renamed = http.patch(
        "/sessions/alpha", json={"name": "beta", "add_tags": ["x"], "remove_tags": ["zulu"]}
    )
    removed = http.delete("/sessions/beta")

    assert (created.status_code, created.json()["tags"]) == (201, ["alpha", "mike", "zulu"])
    assert (renamed.status_code, renamed.json()["name"], renamed.json()["tags"]) == (
        200,
        "beta",
        ["alpha", "mike", "x"],
    )
    assert code(http.get("/sessions/alpha")) == "session_not_found"
    assert removed.status_code == 204
    assert code(http.get("/sessions/beta")) == "session_not_found"


def test_a_name_that_is_taken_is_a_conflict(http: httpx.Client, session: str) -> None:
    response = http.post("/sessions", json={"name": session})

    assert (response.status_code, code(response)) == (409, "session_name_conflict")


@pytest.mark.parametrize("name", ["", "a" * 65, "a b", "a/b", "..", ".", "a\n", "a;b", "\u202e"])
def test_a_name_that_is_none_is_refused(http: httpx.Client, name: str) -> None:
    response = http.post("/sessions", json={"name": name})

    assert (response.status_code, code(response)) == (400, "invalid_session_name")


def test_a_bad_tag_starts_no_process(http: httpx.Client) -> None:
    before = len(http.get("/sessions").json())

    response = http.post("/sessions", json={"tags": ["a b"]})

    assert (response.status_code, code(response)) == (400, "invalid_tag")
    assert len(http.get("/sessions").json()) == before


def test_a_patch_that_cannot_be_done_whole_is_not_done_at_all(
    http: httpx.Client, session: str
) -> None:
    response = http.patch(f"/sessions/{session}", json={"name": "other", "add_tags": ["a b"]})

    assert code(response) == "invalid_tag"
    assert http.get(f"/sessions/{session}").status_code == 200


def test_sessions_are_found_by_any_of_several_tags(http: httpx.Client) -> None:
    for name, tags in (("s1", ["build"]), ("s2", ["test"]), ("s3", ["build", "test"])):
        http.post("/sessions", json={"name": name, "tags": tags})

    def found(tag: str) -> set[str]:
        return {each["name"] for each in http.get("/sessions", params={"tag": tag}).json()}

    assert found("build") == {"s1", "s3"}
    assert found("test") == {"s2", "s3"}
    assert found("build,test") == {"s1", "s2", "s3"}
    assert found("deploy") == set()
    for name in ("s1", "s2", "s3"):
        http.delete(f"/sessions/{name}", params={"grace_ms": 0})


def test_input_of_any_content_type_reaches_the_program_verbatim(
    http: httpx.Client, session: str
) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "true"})
    for number in range(10):
        sent = http.post(f"/sessions/{session}/input", content=f"echo m{number}\r".encode())
        assert sent.status_code == 204
    waited = http.post(f"/sessions/{session}/wait", json={"text": "\nm9"})

    rows = http.get(f"/sessions/{session}/scrollback", params={"format": "plain"}).json()["lines"]
    assert waited.status_code == 200
    assert [row for row in rows if row in {f"m{n}" for n in range(10)}] == [
        f"m{n}" for n in range(10)
    ]


def test_a_screen_has_the_published_shape(http: httpx.Client) -> None:
    http.post(
        "/sessions",
        json={
            "name": "shape",
            "command": "sh -c 'printf \"\\033[1;31mred\\033[0m plain\"; sleep 100'",
        },
    )
    http.post("/sessions/shape/wait", json={"text": "plain"})

    styled = http.get("/sessions/shape/screen").json()
    plain = http.get("/sessions/shape/screen", params={"format": "plain"}).json()
    scrollback = http.get("/sessions/shape/scrollback").json()

    assert styled["lines"][0] == [
        {"text": "red", "fg": {"indexed": 1}, "bold": True},
        {"text": " plain"},
    ]
    assert plain["lines"] == ["red plain"] + [""] * 23
    assert styled["cursor"] == {"row": 0, "col": 9, "visible": True}
    assert (styled["rows"], styled["cols"], styled["total_lines"], styled["first_line_index"]) == (
        24,
        80,
        24,
        0,
    )
    assert styled["alternate_active"] is False
    assert isinstance(styled["last_activity_ms"], int)
    assert (scrollback["total_lines"], scrollback["offset"], len(scrollback["lines"])) == (
        24,
        0,
        24,
    )
    http.delete("/sessions/shape", params={"grace_ms": 0})


def test_scrollback_is_read_from_either_end(http: httpx.Client, session: str) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "seq 1 500"})

    def rows(**query: int) -> list[str]:
        return http.get(
            f"/sessions/{session}/scrollback", params={"format": "plain", **query}
        ).json()["lines"]

    first = rows(limit=3)
    last = rows(offset=-3, limit=2)
    assert first[-1] in ("1", "2")
    assert "500" in last[0] or "500" in last[1]
    assert rows(offset=10**9) == []


def test_a_run_answers_with_all_its_fields(http: httpx.Client, session: str) -> None:
    answer = http.post(
        f"/sessions/{session}/run", json={"input": "cd /tmp; echo out; (exit 4)"}
    ).json()

    known = {
        key: answer[key]
        for key in ("completed_by", "exit_code", "output", "state", "cwd", "continuation")
    }
    assert known == {
        "completed_by": "mark", "exit_code": 4, "output": "out", "state": "prompt", "cwd": "/tmp", "continuation": False,
    }  # fmt: skip
    assert answer["screen"]["rows"] == 24
    assert answer["generation"] > 0
    assert answer["duration_ms"] >= 0
    assert http.get(f"/sessions/{session}/blocks/{answer['block']}/output").json()["lines"] == [
        "out"
    ]


def test_an_exited_session_stays_readable_until_it_is_removed(http: httpx.Client) -> None:
    http.post("/sessions", json={"name": "gone", "command": "sh -c 'echo last words; exit 3'"})
    http.post("/sessions/gone/wait", json={"exit": True})

    info = http.get("/sessions/gone").json()
    screen = http.get("/sessions/gone/screen", params={"format": "plain"}).json()
    written = http.post("/sessions/gone/input", content=b"x")

    assert (info["state"], info["exit_code"], info["pid"]) == ("exited", 3, None)
    assert screen["lines"][0] == "last words"
    assert (written.status_code, code(written)) == (409, "session_exited")
    assert http.delete("/sessions/gone").status_code == 204
    assert http.get("/sessions/gone").status_code == 404


def test_everything_that_was_run_can_be_searched(http: httpx.Client, session: str) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "echo a-needle-in-the-hay"})

    hits = http.get("/search", params={"query": "needle"}).json()

    assert hits[0]["block"]["command_line"] == "echo a-needle-in-the-hay"
    start, end = hits[0]["matches"][0]
    assert hits[0]["snippet"][start:end] == "needle"


# --- bad input ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind", "status", "expected"),
    [
        (b"{", "application/json", 400, "invalid_request"),
        (b"[]", "application/json", 400, "invalid_request"),
        (b"[" * 100_000, "application/json", 400, "invalid_request"),
        (b'{"input": 1}', "application/json", 400, "invalid_request"),
        (b'{"input": "x", "nonsense": 1}', "application/json", 400, "invalid_request"),
        (b'{"input": "x", "until_regex": "("}', "application/json", 400, "invalid_request"),
        (b'{"input": "x"}', "text/plain", 415, "unsupported_media_type"),
        (b'{"input": "' + b"x" * 1_100_000 + b'"}', "application/json", 413, "body_too_large"),
    ],
    ids=["syntax", "list", "deep", "type", "unknown", "regex", "content type", "large"],
)
def test_a_bad_body_is_one_clear_error(
    http: httpx.Client, session: str, body: bytes, kind: str, status: int, expected: str
) -> None:
    response = http.post(f"/sessions/{session}/run", content=body, headers={"Content-Type": kind})

    assert (response.status_code, code(response)) == (status, expected)
    assert response.json()["error"]["message"]


def test_an_error_names_the_field_and_never_repeats_its_value(
    http: httpx.Client, session: str
) -> None:
    response = http.post(f"/sessions/{session}/run", json={"input": "ok", "max_wait_ms": "s3cret"})

    assert "max_wait_ms" in response.json()["error"]["details"]["fields"]
    assert "s3cret" not in response.text


def test_a_bad_directory_or_command_is_an_error_at_create(http: httpx.Client) -> None:
    no_directory = http.post("/sessions", json={"cwd": "/no/such/place"})
    no_command = http.post("/sessions", json={"command": "no-such-program-at-all"})

    assert (no_directory.status_code, code(no_directory)) == (400, "invalid_cwd")
    assert (no_command.status_code, code(no_command)) == (400, "invalid_command")


# --- who may come in ----------------------------------------------------------


def test_without_a_token_nothing_but_health_answers(server: ServerProcess) -> None:
    response = httpx.get(f"{server.url()}/sessions")

    assert (response.status_code, code(response)) == (401, "auth_required")
    assert response.headers["www-authenticate"] == "Bearer"


def test_a_wrong_token_is_told_from_none(server: ServerProcess) -> None:
    response = httpx.get(f"{server.url()}/sessions", headers={"Authorization": "Bearer wrong"})

    assert (response.status_code, code(response)) == (403, "auth_invalid")


def test_a_token_in_the_query_is_no_token(server: ServerProcess) -> None:
    response = httpx.get(f"{server.url()}/sessions", params={"token": server.token()})

    assert response.status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9315", "127.0.0.1.evil.example", ""]
)
def test_a_rebound_name_is_refused_even_with_the_token(http: httpx.Client, host: str) -> None:
    response = http.get("/sessions", headers={"Host": host})

    assert response.status_code in (400, 403)


def test_another_sites_page_is_refused_even_with_the_token(http: httpx.Client) -> None:
    response = http.get("/sessions", headers={"Origin": "https://evil.example"})

    assert (response.status_code, code(response)) == (403, "origin_not_allowed")


def test_a_link_signs_one_browser_in_once(server: ServerProcess) -> None:
    link = server.command("token", "--link").stdout.strip()

    with httpx.Client() as browser, httpx.Client() as thief:
        first = browser.get(link)
        second = thief.get(link)
        listed = browser.get(f"{server.url()}/sessions")
        stolen = thief.get(f"{server.url()}/sessions")

    cookie = first.headers["set-cookie"].lower()
    assert (first.status_code, first.headers["location"]) == (303, "/ui")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert (second.status_code, code(second)) == (403, "link_expired")
    assert (listed.status_code, stolen.status_code) == (200, 401)


def test_a_change_with_a_cookie_needs_a_page_of_ours(server: ServerProcess) -> None:
    link = server.command("token", "--link").stdout.strip()
    with httpx.Client(base_url=server.url()) as browser:
        browser.get(link)

        simple = browser.post("/sessions", content=b"{}", headers={"Content-Type": "text/plain"})
        cross = browser.post("/sessions", json={}, headers={"Sec-Fetch-Site": "cross-site"})

    assert (simple.status_code, cross.status_code) == (403, 403)
