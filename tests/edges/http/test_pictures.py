"""A session as a document: bytes for a terminal, a page, a picture, a recording."""

import json
import struct
from pathlib import Path
from xml.etree import ElementTree

import httpx
import pytest

from duetty.ops.pictures import FontMissing, _png, monospace_family  # pyright: ignore[reportPrivateUsage] - drawing on a machine without fonts
from duetty.vt import Terminal
from tests.edges.http.asking import refusal
from tests.engine import running_engine

pytestmark = [pytest.mark.pty]

needs_font = pytest.mark.skipif(monospace_family() is None, reason="no monospace font here")


def snapshot(http: httpx.Client, session: str, kind: str, **query: object) -> httpx.Response:
    return http.get(f"/sessions/{session}/snapshot", params={"format": kind, **query})  # type: ignore[arg-type]


def test_a_snapshot_for_terminals_makes_the_same_screen_again(
    http: httpx.Client, session: str
) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "printf '\\033[1;31mred\\033[0m 日本'"})

    taken = snapshot(http, session, "vt")
    again = Terminal(cols=80, rows=24)
    again.feed(taken.content)

    screen = http.get(f"/sessions/{session}/screen", params={"format": "plain"}).json()
    assert taken.headers["content-type"] == "application/octet-stream"
    assert list(again.screen(styled=False).text_lines) == screen["lines"]


def test_a_snapshot_as_a_page_shows_text_and_runs_nothing(http: httpx.Client, session: str) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "printf '<script>alert(1)</script>'"})

    page = snapshot(http, session, "html")

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert "<script" not in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text


def test_a_snapshot_as_a_picture_holds_the_screens_text(http: httpx.Client, session: str) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "echo in-the-picture"})

    picture = snapshot(http, session, "svg")
    root = ElementTree.fromstring(picture.text)

    assert picture.headers["content-type"] == "image/svg+xml"
    assert "in-the-picture" in [element.text for element in root.iter()]


@needs_font
def test_a_snapshot_shows_panels_and_overlays_when_they_are_asked_for(
    http: httpx.Client, session: str
) -> None:
    path = f"/sessions/{session}"
    http.post(f"{path}/panel", json={"position": "top", "height": 2, "spans": [{"text": "PANEL"}]})
    overlay = {"x": 3, "y": 4, "width": 20, "height": 1, "spans": [{"text": "OVER\x1b[31mLAY"}]}
    assert http.post(f"{path}/overlay", json=overlay).status_code == 201
    http.post(f"{path}/run", json={"input": "clear; echo the-programs-own"})

    for kind in ("vt", "html", "svg"):
        bare = snapshot(http, session, kind).text
        whole = snapshot(http, session, kind, elements=True).text
        assert "the-programs-own" in bare, kind
        assert "PANEL" not in bare, kind
        assert "PANEL" in whole, kind
        assert "the-programs-own" in whole, kind
    again = Terminal(cols=80, rows=24)
    again.feed(snapshot(http, session, "vt", elements=True).content)
    rows = again.screen(styled=False).text_lines
    heights = [
        float(
            ElementTree.fromstring(snapshot(http, session, "svg", elements=each).text).attrib[
                "height"
            ]
        )
        for each in (False, True)
    ]

    assert rows[0] == "PANEL"
    assert rows[2].startswith("the-programs-own")
    assert rows[4][3:].startswith("OVER")
    assert heights[1] - heights[0] == 2 * 16


def test_a_snapshot_as_pixels_is_as_large_as_the_screen(http: httpx.Client, session: str) -> None:
    once, twice = (snapshot(http, session, "png", scale=scale) for scale in (1, 2))

    assert once.headers["content-type"] == "image/png"
    assert once.content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", once.content[16:24])
    assert (width, height) == (694, 404)
    assert struct.unpack(">II", twice.content[16:24]) == (1388, 808)


def test_a_picture_that_would_be_too_large_is_refused(http: httpx.Client) -> None:
    http.post(
        "/sessions", json={"name": "huge", "command": "sleep 100", "cols": 1000, "rows": 1000}
    )

    refused = snapshot(http, "huge", "png", scale=4)

    assert refusal(refused) == (429, "document_too_large")
    http.delete("/sessions/huge", params={"grace_ms": 0})


def test_a_machine_without_fonts_says_so(tmp_path: Path) -> None:
    with pytest.raises(FontMissing) as missing:
        _png("<svg/>", 1, (str(tmp_path),))

    assert missing.value.hint is not None
    assert "fonts-dejavu" in missing.value.hint


@pytest.mark.parametrize("version", [2, 3])
def test_a_recording_has_what_was_printed_and_nobodys_secret(
    http: httpx.Client, session: str, version: int
) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "echo on-record"})

    recording = http.get(f"/sessions/{session}/recording", params={"version": version})
    header, *events = [json.loads(line) for line in recording.text.splitlines()]

    assert recording.headers["content-type"] == "application/x-asciicast"
    assert header["version"] == version
    assert "on-record\r\n" in "".join(text for _, kind, text in events if kind == "o")
    assert "nonce=" + "-" * 32 in recording.text


def test_a_recording_of_another_version_is_refused(http: httpx.Client, session: str) -> None:
    refused = http.get(f"/sessions/{session}/recording", params={"version": 1})

    assert refusal(refused) == (400, "invalid_request")


def test_a_recording_of_a_journal_that_turned_over_begins_with_a_screen(
    http: httpx.Client,
) -> None:
    """What the emulator writes for itself is no recording: it is drawn."""
    http.post("/sessions", json={"name": "long", "command": "bash"})
    ran = http.post(
        "/sessions/long/run",
        json={
            "input": "head -c 80000000 /dev/zero | tr '\\0' x | fold -w 79",
            "max_wait_ms": 60_000,
        },
    )

    with http.stream("GET", "/sessions/long/recording") as recording:
        lines = recording.iter_lines()
        header, first = json.loads(next(lines)), json.loads(next(lines))

    assert ran.json()["exit_code"] == 0
    assert (header["version"], first[1]) == (3, "o")
    assert "DUETTY" not in first[2]
    assert "x" * 79 in first[2]
    http.delete("/sessions/long", params={"grace_ms": 0})


async def test_where_an_answer_is_json_a_document_is_a_value_in_it(home: Path) -> None:
    async with running_engine(home) as engine:
        await engine.open("s", command="cat")

        picture = await engine.call("session.snapshot", session="s", format="svg")
        recording = await engine.call("session.recording", session="s")

    assert (picture.media_type, picture.encoding) == ("image/svg+xml", "utf8")
    assert picture.data.startswith("<svg")
    assert json.loads(recording.data.splitlines()[0])["version"] == 3
