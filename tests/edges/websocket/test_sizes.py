"""Three viewers of one session, and the size that follows."""

import anyio
import httpx
import pytest

from tests.edges.websocket.connect import viewing
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


def size_of(http: httpx.Client, session: str) -> tuple[int, int]:
    info = http.get(f"/sessions/{session}").json()
    return info["cols"], info["rows"]


async def test_the_smallest_decides_until_one_holds_the_size_and_everybody_is_told(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    async with viewing(server) as one, viewing(server) as two, viewing(server) as three:
        await one.open(session, size={"cols": 200, "rows": 30}, role="attach")
        await two.open(session, size={"cols": 100, "rows": 60})
        await three.open(session, size={"cols": 90, "rows": 40})
        smallest = size_of(http, session)
        await two.say("hold", stream=1, on=True)
        held = await one.until(lambda told: told.get("cols") == 100 and told["rows"] == 60)
        mine = await two.until(lambda told: told.get("holder") == "you")
        await three.say("size", stream=1, cols=20, rows=5)
        await two.say("size", stream=1, cols=110, rows=61)
        await one.until(lambda told: told.get("cols") == 110)
        await two.say("close", stream=1)
        given_up = await one.until(lambda told: told.get("cols") == 20)
    with anyio.fail_after(60):
        while http.get(f"/sessions/{session}").json()["clients"]:
            await anyio.sleep(0.01)
    with_nobody = size_of(http, session)

    assert smallest == (90, 30)
    assert (held["holder"], mine["cols"]) == ("other", 100)
    assert (given_up["rows"], given_up["holder"]) == (5, "nobody")
    assert with_nobody in ((20, 5), (200, 30))  # as whoever left last had it


async def test_after_a_change_of_size_the_screen_is_the_session_s(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "seq -s ' ' 1 300"})

    async with viewing(server) as viewer:
        await viewer.open(session)
        http.post(f"/sessions/{session}/resize", json={"cols": 50, "rows": 12})
        await viewer.until(lambda told: told.get("cols") == 50)
        while viewer.snapshots < 2:
            await viewer.take()
        await viewer.type(b"echo do''ne\r")
        await viewer.until_shown("\ndone")
        http.post(f"/sessions/{session}/wait", json={"state": ["prompt"]})
        end = http.get(f"/sessions/{session}/screen", params={"format": "plain"}).json()
        while viewer.lines() != end["lines"]:
            await viewer.take()

    assert viewer.lines() == end["lines"]


async def test_panels_take_rows_from_the_program_and_every_viewer_sees_them(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    async with viewing(server) as viewer:
        await viewer.open(session)
        http.post(f"/sessions/{session}/panel", json={"position": "top", "height": 3})
        size = await viewer.until(lambda told: told.get("top") == 3)
        elements = await viewer.until(lambda told: bool(told.get("panels")))
        await viewer.type(b"stty size\r")
        await viewer.until_shown("21 80")
        http.delete(f"/sessions/{session}/panel")
        back = await viewer.until(lambda told: told.get("program_rows") == 24)

    assert (size["rows"], size["program_rows"]) == (24, 21)
    assert elements["panels"][0]["visible"] is True
    assert back["top"] == 0
