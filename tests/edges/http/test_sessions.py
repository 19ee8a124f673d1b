"""Sessions over HTTP, as published."""

import httpx
import pytest

from tests.edges.http.asking import code, refusal
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]


# --- health, routing, headers -------------------------------------------------


def test_health_answers_without_a_token(server: ServerProcess) -> None:
    response = httpx.get(f"{server.url()}/health")

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_a_wrong_method_is_told_all_the_right_ones(http: httpx.Client) -> None:
    health, sessions = http.post("/health"), http.put("/sessions", json={})

    assert refusal(health) == (405, "method_not_allowed")
    assert {each.strip() for each in health.headers["allow"].split(",")} == {"GET", "HEAD"}
    assert {each.strip() for each in sessions.headers["allow"].split(",")} == {
        "GET",
        "HEAD",
        "POST",
    }


def test_an_unknown_path_is_a_coded_error(http: httpx.Client) -> None:
    assert refusal(http.get("/nothing")) == (404, "not_found")
    assert refusal(http.get("/sessions/")) == (404, "not_found")


def test_a_head_request_is_answered_like_a_get_without_its_body(http: httpx.Client) -> None:
    response = http.head("/sessions")

    assert (response.status_code, response.content) == (200, b"")


def test_the_root_leads_to_the_page(http: httpx.Client) -> None:
    response = http.get("/")
    page = http.get("/ui")

    assert (response.status_code, response.headers["location"]) == (307, "/ui")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")


@pytest.mark.parametrize("path", ["/health", "/nothing", "/sessions", "/ui", "/docs", "/%00"])
def test_every_answer_carries_the_security_headers(http: httpx.Client, path: str) -> None:
    headers = http.get(path).headers

    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "geolocation=()" in headers["permissions-policy"]
    assert headers["cross-origin-opener-policy"] == "same-origin"


def test_answers_of_the_api_are_not_kept_by_anybody(http: httpx.Client) -> None:
    assert http.get("/sessions").headers["cache-control"] == "no-store"


def test_the_server_says_who_it_is(http: httpx.Client) -> None:
    info = http.get("/server/info").json()

    assert all(isinstance(info[key], str) for key in ("hostname", "version", "server_id"))
    assert http.get("/server/info").json()["server_id"] == info["server_id"]


def test_the_server_stays_until_it_is_told_otherwise(http: httpx.Client) -> None:
    before = http.get("/server/persist").json()
    off = http.put("/server/persist", json={"persistent": False}).json()
    read = http.get("/server/persist").json()
    on = http.put("/server/persist", json={"persistent": True}).json()
    bad = http.put("/server/persist", json={"persistent": "perhaps"})

    assert [before, off, read, on] == [
        {"persistent": True},
        {"persistent": False},
        {"persistent": False},
        {"persistent": True},
    ]
    assert refusal(bad) == (400, "invalid_request")


# --- sessions -----------------------------------------------------------------


def test_a_session_is_created_found_renamed_and_removed(http: httpx.Client) -> None:
    created = http.post("/sessions", json={"name": "alpha", "tags": ["zulu", "alpha", "mike"]})
    found = http.get("/sessions/alpha")
    renamed = http.patch(
        "/sessions/alpha", json={"name": "beta", "add_tags": ["x"], "remove_tags": ["zulu"]}
    )
    old, new = http.get("/sessions/alpha"), http.get("/sessions/beta")
    removed = http.delete("/sessions/beta")

    assert (created.status_code, created.json()["tags"]) == (201, ["alpha", "mike", "zulu"])
    assert (found.status_code, found.json()["name"]) == (200, "alpha")
    assert (renamed.status_code, renamed.json()["name"], renamed.json()["tags"]) == (
        200,
        "beta",
        ["alpha", "mike", "x"],
    )
    assert refusal(old) == (404, "session_not_found")
    assert new.status_code == 200
    assert (removed.status_code, removed.content) == (204, b"")
    assert refusal(http.get("/sessions/beta")) == (404, "session_not_found")


def test_a_session_has_the_published_fields(http: httpx.Client, session: str) -> None:
    info = http.get(f"/sessions/{session}").json()

    assert all(isinstance(info[key], str) for key in ("name", "server", "command"))
    assert (info["rows"], info["cols"]) == (24, 80)
    assert isinstance(info["pid"], int)
    assert (info["clients"], info["tags"]) == (0, [])


def test_a_name_that_is_taken_is_a_conflict(http: httpx.Client, session: str) -> None:
    response = http.post("/sessions", json={"name": session})

    assert refusal(response) == (409, "session_name_conflict")


def test_a_rename_to_a_name_that_is_taken_changes_nothing(
    http: httpx.Client, session: str, quiet: str
) -> None:
    response = http.patch(f"/sessions/{session}", json={"name": quiet, "add_tags": ["x"]})

    assert refusal(response) == (409, "session_name_conflict")
    assert http.get(f"/sessions/{session}").json()["tags"] == []


def test_a_session_that_is_not_there_is_not_found_whatever_is_asked(http: httpx.Client) -> None:
    answers = [
        http.get("/sessions/none"),
        http.delete("/sessions/none"),
        http.post("/sessions/none/input", content=b"x"),
        http.get("/sessions/none/screen"),
        http.patch("/sessions/none", json={}),
        http.post("/sessions/none/detach"),
        http.get("/sessions/none/idle", params={"timeout_ms": 1}),
    ]

    assert {refusal(each) for each in answers} == {(404, "session_not_found")}


def test_what_is_typed_into_one_session_is_not_seen_in_another(
    http: httpx.Client, session: str, quiet: str
) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "echo only-here"})

    other = http.get(f"/sessions/{quiet}/screen", params={"format": "plain"}).json()
    assert not any("only-here" in line for line in other["lines"])


def test_everything_about_a_new_session_can_be_read(http: httpx.Client, session: str) -> None:
    at = f"/sessions/{session}"

    assert http.get(f"{at}/screen").status_code == 200
    assert http.get(f"{at}/scrollback").status_code == 200
    assert http.get(f"{at}/input/mode").json()["mode"] == "passthrough"
    assert http.get(f"{at}/overlay").json() == []
    assert http.get(f"{at}/panel").json() == []


def test_every_session_in_the_list_says_when_something_last_happened(
    http: httpx.Client, session: str
) -> None:
    listed = http.get("/sessions").json()

    assert session in [each["name"] for each in listed]
    assert all(isinstance(each["last_activity_ms"], int) for each in listed)


@pytest.mark.parametrize("name", ["", "a" * 65, "a b", "a/b", "..", ".", "a\n", "a;b", "\u202e"])
def test_a_name_that_is_none_is_refused(http: httpx.Client, name: str) -> None:
    assert refusal(http.post("/sessions", json={"name": name})) == (400, "invalid_session_name")


@pytest.mark.parametrize("name", ["a" * 64, "Ärger", "a-b_c.d", "日本"])
def test_a_name_may_have_letters_of_any_script(http: httpx.Client, name: str) -> None:
    created = http.post("/sessions", json={"name": name, "command": "sleep 100"})

    assert (created.status_code, created.json()["name"]) == (201, name)
    assert http.get(f"/sessions/{name}").status_code == 200
    assert http.delete(f"/sessions/{name}", params={"grace_ms": 0}).status_code == 204


def test_a_session_without_a_name_gets_a_number(http: httpx.Client) -> None:
    name = http.post("/sessions", json={"command": "sleep 100"}).json()["name"]

    assert name.isdecimal()
    http.delete(f"/sessions/{name}", params={"grace_ms": 0})


def test_sizes_are_brought_into_range_not_refused(http: httpx.Client) -> None:
    made = http.post(
        "/sessions", json={"name": "sized", "command": "sleep 100", "rows": 0, "cols": 99999}
    ).json()
    resized = http.post("/sessions/sized/resize", json={"rows": 5000, "cols": -3}).json()

    assert (made["rows"], made["cols"]) == (1, 1000)
    assert (resized["rows"], resized["cols"]) == (1000, 1)
    http.delete("/sessions/sized", params={"grace_ms": 0})


def test_the_environment_of_a_session_can_be_added_to(http: httpx.Client) -> None:
    http.post("/sessions", json={"name": "env", "command": "bash", "env": {"K": "a value"}})

    ran = http.post("/sessions/env/run", json={"input": "echo $K"}).json()

    assert ran["output"] == "a value"
    http.delete("/sessions/env", params={"grace_ms": 0})


def test_an_exited_session_stays_readable_until_it_is_removed(http: httpx.Client) -> None:
    http.post("/sessions", json={"name": "gone", "command": "sh -c 'echo last words; exit 3'"})
    http.post("/sessions/gone/wait", json={"exit": True})

    info = http.get("/sessions/gone").json()
    screen = http.get("/sessions/gone/screen", params={"format": "plain"}).json()
    written = http.post("/sessions/gone/input", content=b"x")

    assert (info["state"], info["exit_code"], info["pid"]) == ("exited", 3, None)
    assert screen["lines"][0] == "last words"
    assert refusal(written) == (409, "session_exited")
    assert http.delete("/sessions/gone").status_code == 204
    assert http.get("/sessions/gone").status_code == 404


def test_detaching_a_session_that_nobody_is_attached_to_is_done_at_once(
    http: httpx.Client, session: str
) -> None:
    assert http.post(f"/sessions/{session}/detach").status_code == 204
    assert http.get(f"/sessions/{session}").status_code == 200


def test_a_call_may_name_this_server_and_no_other(http: httpx.Client, session: str) -> None:
    host = http.get("/server/info").json()["hostname"]
    at = f"/sessions/{session}/screen"

    assert http.get(at, params={"server": host}).status_code == 200
    assert refusal(http.get(at, params={"server": "elsewhere"})) == (404, "server_not_found")
    assert refusal(http.post("/sessions", json={"server": "elsewhere"})) == (
        404,
        "server_not_found",
    )
    assert refusal(http.get("/sessions", params={"server": "elsewhere"})) == (
        404,
        "server_not_found",
    )


# --- tags ---------------------------------------------------------------------


def test_a_bad_tag_starts_no_process(http: httpx.Client) -> None:
    before = len(http.get("/sessions").json())

    response = http.post("/sessions", json={"tags": ["a b"]})

    assert refusal(response) == (400, "invalid_tag")
    assert len(http.get("/sessions").json()) == before


def test_a_patch_that_cannot_be_done_whole_is_not_done_at_all(
    http: httpx.Client, session: str
) -> None:
    response = http.patch(f"/sessions/{session}", json={"name": "other", "add_tags": ["a b"]})

    assert code(response) == "invalid_tag"
    assert http.get(f"/sessions/{session}").status_code == 200


def test_sessions_are_found_by_any_of_several_tags(http: httpx.Client) -> None:
    for name, tags in (("s1", ["build"]), ("s2", ["test"]), ("s3", ["build", "test"])):
        http.post("/sessions", json={"name": name, "tags": tags, "command": "sleep 100"})

    def found(**query: object) -> set[str]:
        return {each["name"] for each in http.get("/sessions", params=query).json()}  # type: ignore[arg-type]

    assert found(tag="build") == {"s1", "s3"}
    assert found(tag="test") == {"s2", "s3"}
    assert found(tag="build, test") == {"s1", "s2", "s3"}
    assert found(tag=["build", "test"]) == {"s1", "s2", "s3"}
    assert found(tag="deploy") == set()
    assert found(tag="") >= {"s1", "s2", "s3"}
    for name in ("s1", "s2", "s3"):
        http.delete(f"/sessions/{name}", params={"grace_ms": 0})


def test_a_renamed_session_keeps_its_tags(http: httpx.Client, session: str) -> None:
    http.patch(f"/sessions/{session}", json={"add_tags": ["kept"]})
    http.patch(f"/sessions/{session}", json={"name": "moved"})

    found = [each["name"] for each in http.get("/sessions", params={"tag": "kept"}).json()]
    http.patch("/sessions/moved", json={"name": session})

    assert found == ["moved"]


def test_a_tag_is_there_once_and_one_that_is_not_there_can_be_removed(
    http: httpx.Client, session: str
) -> None:
    http.patch(f"/sessions/{session}", json={"add_tags": ["build"]})

    again = http.patch(f"/sessions/{session}", json={"add_tags": ["build"]}).json()
    unknown = http.patch(f"/sessions/{session}", json={"remove_tags": ["nothing"]}).json()

    assert (again["tags"], unknown["tags"]) == (["build"], ["build"])


@pytest.mark.parametrize(
    ("command", "exit_code"),
    [("exit 3", 3), ("  exit 4", 4), ("exec sh -c 'exit 5'", 5), ("umask 022", 0), (":", 0)],
)
def test_a_lone_builtin_is_a_command_of_the_shell(
    http: httpx.Client, command: str, exit_code: int
) -> None:
    made = http.post("/sessions", json={"command": command})
    assert made.status_code == 201, made.text
    name = made.json()["name"]

    ended = http.post(f"/sessions/{name}/wait", json={"exit": True})

    assert ended.status_code == 200
    assert http.get(f"/sessions/{name}").json()["exit_code"] == exit_code
    http.delete(f"/sessions/{name}")
