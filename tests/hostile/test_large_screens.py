"""A screen of a million coloured cells, and those who look at others meanwhile."""

import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from tests.edges.http.asking import client_of, refusal
from tests.server_process import ServerProcess, running_server

pytestmark = pytest.mark.pty

PAINT = r"""
import sys
out = []
for n in range(1000 * 998):
    out.append("\x1b[38;2;%d;%d;%dm\x1b[48;5;%dm%c" % (n % 256, n * 7 % 256, n * 13 % 256, n % 256, 65 + n % 26))
sys.stdout.write("".join(out)); sys.stdout.flush()
import time; time.sleep(10000)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
        client_of(server) as http,
    ):
        paint = Path(home) / "paint.py"
        paint.write_text(PAINT)
        http.post("/sessions", json={"name": "s", "command": "bash"})
        made = http.post(
            "/sessions",
            json={"name": "large", "command": f"python3 {paint}", "cols": 1000, "rows": 1000},
        )
        assert made.status_code == 201, made.text
        idle = http.post("/sessions/large/wait", json={"idle_ms": 1000, "max_wait_ms": 60000})
        assert idle.status_code == 200
        yield server


def longest_wait_s(server: ServerProcess, doing: Callable[[], object]) -> float:
    """The longest that somebody else waited for an answer, while this was done."""
    work = threading.Thread(target=doing)
    waited: list[float] = []
    with client_of(server) as other:
        other.get("/sessions/s")
        work.start()
        while work.is_alive() or not waited:
            began_s = time.monotonic()
            assert other.get("/sessions/s").status_code == 200
            waited.append(time.monotonic() - began_s)
            time.sleep(0.005)
        work.join()
    return max(waited)


@pytest.mark.parametrize("path", ["snapshot?format=vt", "screen?format=styled"])
def test_a_document_of_a_large_screen_holds_up_nobody(server: ServerProcess, path: str) -> None:
    answers: list[httpx.Response] = []

    def ask() -> None:
        with client_of(server) as http:
            answers.append(http.get(f"/sessions/large/{path}"))

    waited_s = longest_wait_s(server, ask)

    assert answers[0].status_code == 200, answers[0].text[:300]
    assert waited_s < 1.0, "it was nine seconds"


@pytest.mark.parametrize("kind", ["html", "svg", "png"])
def test_a_picture_that_is_too_large_is_refused_before_the_work(
    server: ServerProcess, kind: str
) -> None:
    with client_of(server) as http:
        began_s = time.monotonic()
        answer = http.get("/sessions/large/snapshot", params={"format": kind})

    assert refusal(answer)[1] == "document_too_large", answer.text[:300]
    assert time.monotonic() - began_s < 1.0


def test_viewers_of_a_large_screen_hold_up_nobody(server: ServerProcess) -> None:
    snapshots: list[bytes] = []

    def view() -> None:
        with connect(
            f"{server.url().replace('http', 'ws', 1)}/ws/view",
            additional_headers={"Authorization": f"Bearer {server.token()}"},
            max_size=None,
        ) as page:
            page.send(json.dumps({"type": "open", "stream": 1, "session": "large"}))
            while True:
                message = page.recv(60)
                if isinstance(message, bytes):
                    snapshots.append(message)
                    return

    def views() -> None:
        threads = [threading.Thread(target=view) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    waited_s = longest_wait_s(server, views)

    assert len(snapshots) == 4
    assert min(map(len, snapshots)) > 1_000_000
    assert waited_s < 1.5, "nine seconds for each of them"
