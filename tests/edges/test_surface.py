"""Overlays, panels, capture, focus and screen mode over HTTP, as the published contract has them.

The numbers in the docstrings are the cases of the contract.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

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


@pytest.fixture(scope="module")
def client(server: ServerProcess) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {server.token()}"}
    with httpx.Client(base_url=server.url(), headers=headers, timeout=60) as client:
        yield client


Body = dict[str, Any]


class Http:
    """One session's part of the API."""

    def __init__(self, client: httpx.Client, name: str) -> None:
        self.client = client
        self.name = name

    def call(self, method: str, path: str, body: object = None) -> httpx.Response:
        return self.client.request(method, f"/sessions/{self.name}{path}", json=body)

    def get(self, path: str) -> Any:
        response = self.call("GET", path)
        assert response.status_code == 200, response.text
        return response.json()

    def create(self, path: str, **fields: object) -> str:
        response = self.call("POST", path, fields)
        assert response.status_code == 201, response.text
        return response.json()["id"]

    def done(self, method: str, path: str, body: object = None) -> None:
        response = self.call(method, path, body)
        assert (response.status_code, response.content) == (204, b""), response.text

    def refused(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        response = self.call(method, path, body)
        return response.status_code, response.json()["error"]["code"]

    def overlay(self, **fields: object) -> str:
        return self.create(
            "/overlay",
            **({"x": 1, "y": 2, "width": 10, "height": 1, "spans": [{"text": "hi"}]} | fields),
        )


@pytest.fixture
def http(client: httpx.Client, request: pytest.FixtureRequest) -> Iterator[Http]:
    name = f"t{abs(hash(request.node.name)) % 10**9}"
    created = client.post("/sessions", json={"name": name, "command": "cat", "rows": 24})
    assert created.status_code == 201
    yield Http(client, name)
    client.delete(f"/sessions/{name}", params={"grace_ms": 0})


# --- overlays -----------------------------------------------------------------


def test_an_overlay_is_given_back_as_it_was_made(http: Http) -> None:
    """89."""
    made = http.overlay(
        spans=[
            {"text": "hi", "fg": "red", "bold": True},
            {"text": "x", "bg": {"r": 1, "g": 2, "b": 3}},
        ],
        background={"bg": "blue"},
        focusable=True,
        z=7,
    )

    assert UUID(made).version == 4
    overlay = http.get(f"/overlay/{made}")
    assert overlay.pop("owner")
    assert overlay == {
        "id": made,
        "x": 1,
        "y": 2,
        "z": 7,
        "width": 10,
        "height": 1,
        "background": {"bg": "blue"},
        "spans": [
            {"text": "hi", "fg": "red", "bold": True},
            {"text": "x", "bg": {"r": 1, "g": 2, "b": 3}},
        ],
        "focusable": True,
    }


def test_overlays_are_listed_by_z_and_cleared_at_once(http: Http) -> None:
    """90."""
    high, low = http.overlay(z=9), http.overlay(z=1)

    listed = [each["id"] for each in http.get("/overlay")]
    http.done("DELETE", "/overlay")

    assert listed == [low, high]
    assert http.get("/overlay") == []


def test_an_overlay_is_moved_without_losing_its_text(http: Http) -> None:
    """91."""
    made = http.overlay()
    before = http.get(f"/overlay/{made}")

    http.done("PATCH", f"/overlay/{made}", {"x": 5, "y": 6, "z": 7})

    assert http.get(f"/overlay/{made}") == before | {"x": 5, "y": 6, "z": 7}


def test_a_deleted_or_unknown_overlay_is_not_found(http: Http) -> None:
    """92."""
    made = http.overlay()
    http.done("DELETE", f"/overlay/{made}")

    for id_ in (made, "nobody"):
        calls: list[tuple[str, str, Body | None]] = [
            ("GET", "", None),
            ("PUT", "", {"spans": []}),
            ("DELETE", "", None),
            ("PATCH", "", {}),
            ("POST", "/spans", {"spans": []}),
            ("POST", "/write", {"writes": []}),
        ]
        for method, part, body in calls:
            refused = http.refused(method, f"/overlay/{id_}{part}", body)
            assert refused == (404, "overlay_not_found")


def test_put_replaces_the_spans_and_nothing_else(http: Http) -> None:
    """93."""
    made = http.overlay(background={"bg": "red"}, focusable=True)
    before = http.get(f"/overlay/{made}")

    http.done("PUT", f"/overlay/{made}", {"spans": [{"text": "new"}]})

    assert http.get(f"/overlay/{made}") == before | {"spans": [{"text": "new"}]}


def test_only_the_named_span_changes_and_with_all_its_fields(http: Http) -> None:
    """94."""
    spans = [
        {"id": "label", "text": "CPU", "bold": True},
        {"id": "value", "text": "1", "fg": "red"},
    ]
    made = http.overlay(spans=spans)

    http.done(
        "POST",
        f"/overlay/{made}/spans",
        {"spans": [{"id": "value", "text": "2"}, {"id": "nobody", "text": "?"}]},
    )

    assert http.get(f"/overlay/{made}")["spans"] == [spans[0], {"id": "value", "text": "2"}]


def test_region_writes_are_kept_in_order_with_their_styles(http: Http) -> None:
    """95."""
    made = http.overlay()
    writes = [
        {"row": 0, "col": 1, "text": "a", "fg": "green"},
        {"row": 0, "col": 5, "text": "b", "underline": True},
    ]

    http.done("POST", f"/overlay/{made}/write", {"writes": writes})

    assert http.get(f"/overlay/{made}")["region_writes"] == writes


def test_writes_at_other_cells_add_and_at_the_same_cell_replace(http: Http) -> None:
    """104."""
    made = http.overlay()
    path = f"/overlay/{made}/write"

    http.done("POST", path, {"writes": [{"row": 0, "col": 0, "text": "a"}]})
    http.done("POST", path, {"writes": [{"row": 0, "col": 4, "text": "b"}]})
    http.done("POST", path, {"writes": [{"row": 0, "col": 0, "text": "A"}]})

    assert http.get(f"/overlay/{made}")["region_writes"] == [
        {"row": 0, "col": 4, "text": "b"},
        {"row": 0, "col": 0, "text": "A"},
    ]


def test_a_patch_may_change_text_and_focus_and_take_the_background_away(http: Http) -> None:
    made = http.overlay(background={"bg": "red"})

    http.done(
        "PATCH",
        f"/overlay/{made}",
        {"background": None, "spans": [{"text": "new"}], "focusable": True, "x": None},
    )

    overlay = http.get(f"/overlay/{made}")
    assert "background" not in overlay
    assert (overlay["spans"], overlay["focusable"], overlay["x"]) == ([{"text": "new"}], True, 1)


@pytest.mark.parametrize(
    "fields",
    [
        {"x": "one"},
        {"x": 70_000},
        {"width": -1},
        {"z": 2**31},
        {"spans": "text"},
        {"spans": [{"fg": "red"}]},
        {"spans": [{"text": "x", "fg": "purple"}]},
        {"spans": [{"text": "x", "fg": {"r": 256, "g": 0, "b": 0}}]},
        {"background": "red"},
        {"unknown": 1},
    ],
)
def test_an_overlay_that_is_none_is_refused(http: Http, fields: dict[str, object]) -> None:
    body: Body = {"x": 0, "y": 0, "width": 1, "height": 1, "spans": []}
    body |= fields

    assert http.refused("POST", "/overlay", body) == (400, "invalid_request")
    assert http.get("/overlay") == []


def test_half_a_character_is_refused_and_nothing_is_kept(http: Http) -> None:
    response = http.client.post(
        f"/sessions/{http.name}/overlay",
        content=rb'{"x":0,"y":0,"width":1,"height":1,"spans":[{"text":"a\ud800"}]}',
        headers={"Content-Type": "application/json"},
    )

    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_request")
    assert http.get("/overlay") == []


def test_what_must_be_given_must_be_given(http: Http) -> None:
    assert http.refused("POST", "/overlay", {"x": 0, "y": 0, "spans": []})[0] == 400
    assert http.refused("POST", "/panel", {"height": 1})[0] == 400
    assert http.refused("PUT", f"/overlay/{http.overlay()}", {})[0] == 400


def test_limits_are_told_by_their_codes(http: Http) -> None:
    """96."""
    many = [{"text": "x"}] * 4_097
    body = {"x": 0, "y": 0, "width": 1, "height": 1, "spans": many}
    made = http.overlay()
    panel = http.create("/panel", position="top", height=1)

    assert http.refused("POST", "/overlay", body) == (429, "resource_limit_reached")
    assert http.refused("PUT", f"/overlay/{made}", {"spans": many}) == (400, "invalid_overlay")
    assert http.refused("PATCH", f"/panel/{panel}", {"spans": many}) == (400, "invalid_overlay")
    long = [{"row": 0, "col": 0, "text": "x" * 65_537}]
    refused = http.refused("POST", f"/overlay/{made}/write", {"writes": long})
    assert refused == (400, "invalid_overlay")


def test_the_257th_overlay_is_one_too_many(http: Http) -> None:
    for _ in range(256):
        http.overlay(spans=[])

    body: Body = {"x": 0, "y": 0, "width": 1, "height": 1, "spans": []}
    assert http.refused("POST", "/overlay", body) == (429, "resource_limit_reached")


def test_a_session_that_does_not_exist_has_no_elements(client: httpx.Client) -> None:
    nobody = Http(client, "nobody")

    for path in ("/overlay", "/panel", "/input/mode", "/input/focus", "/screen_mode", "/elements"):
        assert nobody.refused("GET", path) == (404, "session_not_found")
    assert nobody.refused("POST", "/input/capture") == (404, "session_not_found")


# --- panels -------------------------------------------------------------------


def test_a_panel_without_room_is_hidden_until_there_is_some(http: Http) -> None:
    """97."""
    http.call("POST", "/resize", {"cols": 80, "rows": 10})
    first = http.create("/panel", position="top", height=8, z=10)
    second = http.create("/panel", position="bottom", height=3, z=5)

    assert http.get(f"/panel/{first}")["visible"] is True
    assert http.get(f"/panel/{second}")["visible"] is False
    assert http.get("/screen")["rows"] == 2

    http.done("DELETE", f"/panel/{first}")

    assert http.get(f"/panel/{second}")["visible"] is True
    assert http.get("/screen")["rows"] == 7


def test_panels_at_both_edges_leave_the_rest_to_the_program(http: Http) -> None:
    """98."""
    bottom = http.create("/panel", position="bottom", height=3)
    top = http.create("/panel", position="top", height=2, spans=[{"text": "status"}])

    listed = http.get("/panel")

    assert [(each["id"], each["visible"]) for each in listed] == [(top, True), (bottom, True)]
    assert http.get("/screen")["rows"] == 19
    assert http.get("")["rows"] == 24


def test_a_panel_is_changed_whole_or_in_part(http: Http) -> None:
    """99."""
    made = http.create("/panel", position="top", height=2, background={"bg": "red"}, focusable=True)

    whole = {"position": "bottom", "height": 4, "z": 3, "spans": [{"text": "x"}]}
    http.done("PUT", f"/panel/{made}", whole)
    after_put = http.get(f"/panel/{made}")
    http.done("PATCH", f"/panel/{made}", {"height": 1})
    after_patch = http.get(f"/panel/{made}")
    assert http.get("/screen")["rows"] == 23
    http.done("DELETE", "/panel")

    assert after_put.items() >= {**whole, "background": {"bg": "red"}, "focusable": True}.items()
    assert after_patch == after_put | {"height": 1}
    assert http.get("/screen")["rows"] == 24
    assert http.refused("GET", f"/panel/{made}") == (404, "panel_not_found")
    assert http.refused("PUT", f"/panel/{made}", whole) == (404, "panel_not_found")


def test_panels_take_spans_and_writes_like_overlays(http: Http) -> None:
    made = http.create("/panel", position="top", height=1, spans=[{"id": "a", "text": "1"}])

    http.done("POST", f"/panel/{made}/spans", {"spans": [{"id": "a", "text": "2"}]})
    http.done("POST", f"/panel/{made}/write", {"writes": [{"row": 0, "col": 9, "text": "w"}]})

    panel = http.get(f"/panel/{made}")
    assert panel["spans"] == [{"id": "a", "text": "2"}]
    assert panel["region_writes"] == [{"row": 0, "col": 9, "text": "w"}]


def test_a_batch_is_done_whole_or_not_at_all(http: Http) -> None:
    made = http.overlay(spans=[{"id": "a", "text": "1"}])
    writes = [{"row": 0, "col": 0, "text": "w"}]
    body = {"id": made, "type": "overlay", "spans": [{"id": "a", "text": "2"}], "writes": writes}

    http.done("POST", "/elements/batch", body)
    after = http.get(f"/overlay/{made}")
    long = [{"row": 1, "col": 1, "text": "x" * 65_537}]
    refused = http.refused(
        "POST", "/elements/batch", body | {"spans": [{"id": "a", "text": "3"}], "writes": long}
    )

    assert (after["spans"], after["region_writes"]) == ([{"id": "a", "text": "2"}], writes)
    assert refused == (400, "invalid_overlay")
    assert http.get(f"/overlay/{made}") == after
    missing = http.refused("POST", "/elements/batch", body | {"type": "panel"})
    assert missing == (404, "panel_not_found")


# --- screen mode --------------------------------------------------------------


def test_the_screen_mode_is_entered_and_left_once(http: Http) -> None:
    """100."""
    assert http.get("/screen_mode") == {"mode": "normal"}
    assert http.refused("POST", "/screen_mode/exit_alt") == (409, "not_in_alt_screen")

    http.done("POST", "/screen_mode/enter_alt")

    assert http.get("/screen_mode") == {"mode": "alt"}
    assert http.refused("POST", "/screen_mode/enter_alt") == (409, "already_in_alt_screen")
    http.done("POST", "/screen_mode/exit_alt")
    assert http.get("/screen_mode") == {"mode": "normal"}


def test_each_screen_mode_has_its_own_elements(http: Http) -> None:
    """101."""
    normal = http.overlay()
    http.done("POST", "/screen_mode/enter_alt")
    empty = http.get("/overlay")
    alt = http.overlay()
    listed = http.get("/overlay")
    http.done("POST", "/screen_mode/exit_alt")

    assert empty == []
    assert [(each["id"], each["screen_mode"]) for each in listed] == [(alt, "alt")]
    assert [each["id"] for each in http.get("/overlay")] == [normal]
    assert http.refused("GET", f"/overlay/{alt}") == (404, "overlay_not_found")


def test_panels_of_the_alt_mode_give_their_rows_back_when_it_is_left(http: Http) -> None:
    """102."""
    http.create("/panel", position="top", height=2)
    http.done("POST", "/screen_mode/enter_alt")
    alone = http.get("/screen")["rows"]
    http.create("/panel", position="bottom", height=5)
    within = http.get("/screen")["rows"]

    http.done("POST", "/screen_mode/exit_alt")

    assert (alone, within, http.get("/screen")["rows"]) == (24, 19, 22)


# --- input capture ------------------------------------------------------------


def test_capture_and_release_can_be_said_twice(http: Http) -> None:
    """105."""
    assert http.get("/input/mode")["mode"] == "passthrough"
    http.done("POST", "/input/capture")
    http.done("POST", "/input/capture")
    assert http.get("/input/mode")["mode"] == "capture"
    http.done("POST", "/input/release")
    http.done("POST", "/input/release")
    assert http.get("/input/mode") == {"mode": "passthrough", "owners": [], "lease_ms": None}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/input/mode"),
        ("GET", "/input/capture"),
        ("GET", "/input/release"),
        ("PUT", "/input/capture"),
        ("GET", "/input/unfocus"),
        ("GET", "/screen_mode/enter_alt"),
    ],
)
def test_a_wrong_verb_is_not_allowed(http: Http, method: str, path: str) -> None:
    """106."""
    assert http.refused(method, path) == (405, "method_not_allowed")


def test_the_focus_is_given_read_and_taken(http: Http) -> None:
    """107."""
    made = http.overlay(focusable=True)
    assert http.get("/input/focus") == {"focused": None}

    http.done("POST", "/input/focus", {"id": made})

    assert http.get("/input/focus") == {"focused": made}
    http.done("POST", "/input/unfocus")
    assert http.get("/input/focus") == {"focused": None}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/overlay/{id}"),
        ("DELETE", "/overlay"),
        ("POST", "/input/release"),
        ("POST", "/screen_mode/exit_alt"),
    ],
)
def test_the_focus_goes_with_release_and_with_its_element(
    http: Http, method: str, path: str
) -> None:
    """108."""
    if path.endswith("exit_alt"):
        http.done("POST", "/screen_mode/enter_alt")
    made = http.overlay(focusable=True)
    http.done("POST", "/input/focus", {"id": made})

    http.done(method, path.format(id=made))

    assert http.get("/input/focus") == {"focused": None}


def test_what_takes_no_keys_or_is_unknown_cannot_be_focused(http: Http) -> None:
    """109."""
    made = http.overlay()

    refused = http.refused("POST", "/input/focus", {"id": made})

    assert refused == (400, "not_focusable")
    assert http.refused("POST", "/input/focus", {"id": "nobody"}) == (400, "invalid_request")


def test_the_hotkey_toggles_the_mode_and_is_not_passed_on(http: Http) -> None:
    """110, the server's part."""
    toggled = http.call("POST", "/input/type", {"data": "\x1c"}).json()
    swallowed = http.call("POST", "/input/type", {"data": "captured"}).json()
    freed = http.call("POST", "/input/type", {"data": "\x1cpassed\r"}).json()
    waited = http.call("POST", "/wait", {"text": "passed"})

    assert toggled == {"mode": "capture", "bytes": 0}
    assert swallowed == {"mode": "capture", "bytes": 0}
    assert freed == {"mode": "passthrough", "bytes": 7}
    assert waited.status_code == 200
    assert "captured" not in str(waited.json()["screen"])


def test_captured_keys_are_read_with_the_element_they_are_for(http: Http) -> None:
    made = http.overlay(focusable=True)
    http.done("POST", "/input/capture", {"lease_ms": 5_000})
    http.done("POST", "/input/focus", {"id": made})
    http.call("POST", "/input/type", {"data": "a\x1b[A"})

    first = http.get("/input/keys?wait_ms=5000&limit=1")
    rest = http.get(f"/input/keys?after={first['last_seq']}")

    [key] = first["keys"]
    assert key.pop("at_ms") > 0
    assert key == {
        "seq": 1,
        "key": "a",
        "modifiers": [],
        "text": "a",
        "raw": [97],
        "target": made,
    }
    assert [(each["seq"], each["key"]) for each in rest["keys"]] == [(2, "ArrowUp")]
    assert (rest["mode"], rest["missed"], rest["last_seq"]) == ("capture", 0, 2)


def test_the_keyboard_comes_back_when_the_lease_ends(http: Http) -> None:
    http.done("POST", "/input/capture", {"lease_ms": 100, "owner": "dead agent"})

    # Nobody reads in the owner's name, so the wait ends with the lease.
    answer = http.get("/input/keys?wait_ms=20000&owner=somebody-else")

    assert (answer["mode"], answer["keys"]) == ("passthrough", [])
    assert http.get("/input/mode")["owners"] == []


def test_one_owner_releases_only_its_own(http: Http) -> None:
    http.done("POST", "/input/capture", {"owner": "ws-1"})
    http.done("POST", "/input/capture", {"owner": "ws-2"})

    http.done("POST", "/input/release", {"owner": "ws-1"})

    mode = http.get("/input/mode")
    assert (mode["mode"], mode["owners"]) == ("capture", ["ws-2"])
    assert 0 < mode["lease_ms"] <= 60_000


def test_input_of_the_api_is_not_subject_to_capture(http: Http) -> None:
    http.done("POST", "/input/capture")

    written = http.client.post(f"/sessions/{http.name}/input", content=b"through\r")

    assert written.status_code == 204
    assert http.call("POST", "/wait", {"text": "through"}).status_code == 200


# --- the whole ----------------------------------------------------------------


def test_a_viewer_reads_everything_that_is_drawn_at_once(http: Http) -> None:
    overlay = http.overlay(focusable=True)
    panel = http.create("/panel", position="top", height=2)
    http.done("POST", "/input/focus", {"id": overlay})
    http.done("POST", "/input/capture")

    whole = http.get("/elements")

    assert [each["id"] for each in whole.pop("overlays")] == [overlay]
    assert [each["id"] for each in whole.pop("panels")] == [panel]
    assert whole == {
        "screen_mode": "normal",
        "input_mode": "capture",
        "focused": overlay,
        "cols": 80,
        "rows": 24,
        "program_rows": 22,
        "top": 2,
    }
