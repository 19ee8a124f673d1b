"""Input and screens over HTTP, as published."""

from typing import Any

import httpx
import pytest

from tests.edges.http.asking import refusal

pytestmark = [pytest.mark.pty]


def shown(http: httpx.Client, name: str, printed: str, *, rows: int = 24) -> None:
    """A session that shows what `printf` makes of this."""
    command = f"sh -c 'stty -echo; printf \"{printed}\"; printf END; exec sleep 1000'"
    made = http.post("/sessions", json={"name": name, "command": command, "rows": rows})
    assert made.status_code == 201, made.text
    assert http.post(f"/sessions/{name}/wait", json={"text": "END"}).status_code == 200


def screen(http: httpx.Client, name: str, **query: Any) -> Any:
    return http.get(f"/sessions/{name}/screen", params=query).json()


def scrollback(http: httpx.Client, name: str, **query: Any) -> Any:
    return http.get(f"/sessions/{name}/scrollback", params=query).json()


def end(http: httpx.Client, name: str) -> None:
    http.delete(f"/sessions/{name}", params={"grace_ms": 0, "signal": "KILL"})


def test_input_of_any_content_type_reaches_the_program_verbatim(
    http: httpx.Client, session: str
) -> None:
    for number in range(10):
        sent = http.post(f"/sessions/{session}/input", content=f"echo m{number}\r".encode())
        assert (sent.status_code, sent.content) == (204, b"")
    waited = http.post(f"/sessions/{session}/wait", json={"text": "\nm9"})

    rows = scrollback(http, session, format="plain")["lines"]
    assert waited.status_code == 200
    assert [row for row in rows if row in {f"m{n}" for n in range(10)}] == [
        f"m{n}" for n in range(10)
    ]


def test_a_fresh_session_has_as_many_lines_as_rows(http: httpx.Client, quiet: str) -> None:
    assert scrollback(http, quiet)["total_lines"] == 24


def test_lines_that_left_the_screen_are_counted_the_same_everywhere(
    http: httpx.Client, session: str
) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "seq 1 100"})

    now = screen(http, session)

    assert now["first_line_index"] > 0
    assert now["total_lines"] == now["first_line_index"] + len(now["lines"])
    assert now["total_lines"] == scrollback(http, session)["total_lines"]


def test_a_screen_has_the_published_shape(http: httpx.Client) -> None:
    shown(http, "shape", "\\033[1;31mred\\033[0m plain ")

    styled, plain = screen(http, "shape"), screen(http, "shape", format="plain")

    assert styled["lines"][0] == [
        {"text": "red", "fg": {"indexed": 1}, "bold": True},
        {"text": " plain END"},
    ]
    assert styled["lines"][1] == []
    assert plain["lines"] == ["red plain END"] + [""] * 23
    assert styled["cursor"] == {"row": 0, "col": 13, "visible": True}
    assert (styled["rows"], styled["cols"], styled["first_line_index"]) == (24, 80, 0)
    assert styled["alternate_active"] is False
    assert isinstance(styled["last_activity_ms"], int)
    end(http, "shape")


def test_blank_ends_of_lines_are_trimmed_unless_they_have_a_colour(http: httpx.Client) -> None:
    shown(http, "blank", "one  \\r\\n\\033[41mtwo  \\033[0m   \\r\\n")

    lines = screen(http, "blank")["lines"]

    assert lines[:2] == [[{"text": "one"}], [{"text": "two  ", "bg": {"indexed": 1}}]]
    end(http, "blank")


@pytest.mark.parametrize("mode", ["47", "1047", "1049", "25;1049"])
def test_the_alternate_screen_is_known_and_leaves_the_history_alone(
    http: httpx.Client, mode: str
) -> None:
    command = (
        f'sh -c \'stty -echo; seq 1 50; printf "\\033[?{mode}hALT"; read x; '
        f'printf "\\033[?{mode}lBACK"; exec sleep 1000\''
    )
    http.post("/sessions", json={"name": "alt", "command": command, "rows": 5})
    http.post("/sessions/alt/wait", json={"text": "ALT"})

    inside, inside_rows = screen(http, "alt"), scrollback(http, "alt")
    http.post("/sessions/alt/input", content=b"\r")
    http.post("/sessions/alt/wait", json={"text": "BACK"})
    outside, rows = screen(http, "alt"), scrollback(http, "alt", format="plain")

    assert (inside["alternate_active"], len(inside_rows["lines"])) == (True, 5)
    assert outside["alternate_active"] is False
    assert rows["lines"][:50] == [str(number) for number in range(1, 51)]
    end(http, "alt")


def test_the_epoch_grows_with_every_change(http: httpx.Client, session: str, quiet: str) -> None:
    unchanged = [screen(http, quiet)["epoch"] for _ in range(2)]
    before = screen(http, session)["epoch"]
    http.post(f"/sessions/{session}/run", json={"input": "echo change"})

    assert unchanged[0] == unchanged[1]
    assert screen(http, session)["epoch"] > before


def test_scrollback_is_read_from_either_end(http: httpx.Client, session: str) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "seq 1 500"})

    def rows(**query: int) -> list[str]:
        return scrollback(http, session, format="plain", **query)["lines"]

    first = rows(limit=3)
    last = rows(offset=-3, limit=2)
    assert first[-1] in ("1", "2"), first
    assert "500" in last[0] or "500" in last[1]
    told = scrollback(http, session, format="plain", offset=-3, limit=2)
    assert told["offset"] == told["total_lines"] - 3
    assert rows(offset=10**9) == []
    assert len(rows(limit=99_999)) == len(rows(limit=10_000))


def test_a_format_that_is_none_is_refused(http: httpx.Client, session: str) -> None:
    assert refusal(http.get(f"/sessions/{session}/screen", params={"format": "x"})) == (
        400,
        "invalid_request",
    )


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


def test_keys_and_pastes_reach_the_program(http: httpx.Client, session: str) -> None:
    pasted = http.post(f"/sessions/{session}/paste", json={"text": "echo pasted"}).json()
    pressed = http.post(f"/sessions/{session}/keys", json={"keys": ["Enter"]}).json()
    waited = http.post(f"/sessions/{session}/wait", json={"text": "\npasted"})
    unknown = http.post(f"/sessions/{session}/keys", json={"keys": ["Hyper-Q"]})

    assert pasted["bytes"] >= len("echo pasted")
    assert pressed == {"bytes": 1, "after": None, "had_effect": None}
    assert waited.status_code == 200
    assert refusal(unknown) == (400, "unknown_key")


def test_a_signal_reaches_the_foreground_program(http: httpx.Client, session: str) -> None:
    http.post(f"/sessions/{session}/input", content=b"sleep 1000\r")
    began = http.post(f"/sessions/{session}/wait", json={"state": ["running"]})

    sent = http.post(f"/sessions/{session}/signal", json={"signal": "INT"})

    assert (began.status_code, sent.status_code) == (200, 204)
    waited = http.post(f"/sessions/{session}/wait", json={"state": ["prompt"]})
    assert waited.json()["state"] == "prompt"


@pytest.mark.parametrize(
    "wanted", [{"text": "never"}, {"regex": "nev[e]r"}, {"state": ["fullscreen"]}, {"exit": True}]
)
def test_a_wait_is_for_what_was_asked_and_ends_in_time(
    http: httpx.Client, quiet: str, wanted: dict[str, Any]
) -> None:
    waited = http.post(f"/sessions/{quiet}/wait", json={**wanted, "max_wait_ms": 200})

    assert refusal(waited) == (408, "wait_timeout")


def test_a_wait_says_what_it_met(http: httpx.Client, session: str) -> None:
    http.post(f"/sessions/{session}/input", content=b"echo fo''und-7\r")
    by_regex = http.post(f"/sessions/{session}/wait", json={"regex": "found-[0-9]"}).json()
    http.post(f"/sessions/{session}/input", content=b"exit\r")
    by_exit = http.post(f"/sessions/{session}/wait", json={"exit": True}).json()

    assert (by_regex["reason"], by_regex["match"]) == ("text", "found-7")
    assert (by_exit["reason"], by_exit["state"]) == ("exit", "exited")


def test_everything_that_was_run_can_be_searched(http: httpx.Client, session: str) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "echo a-needle-in-the-hay"})

    hits = http.get("/search", params={"query": "needle"}).json()

    assert hits[0]["block"]["command_line"] == "echo a-needle-in-the-hay"
    start, stop = hits[0]["matches"][0]
    assert hits[0]["snippet"][start:stop] == "needle"
