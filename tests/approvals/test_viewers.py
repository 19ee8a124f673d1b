"""Questions as viewers see them: told when asked, told when settled, answered from the page."""

import json
import tempfile
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import websockets
from anyio.abc import TaskStatus

from tests.server_process import running_server
from tests.signed_in import PageKey, cookie_of

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

RULES = '[[policy.rules]]\nname = "asks"\ndecide = "ask"\ncommand = ["touch **"]\n'


async def test_the_page_is_told_of_a_question_and_answers_it() -> None:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as name:
        home = Path(name)
        (home / "config.toml").write_text(RULES)
        with running_server(home) as server, anyio.fail_after(60):
            server.client.post("/sessions", {"name": "s"})
            url = server.url()
            headers = {"Authorization": f"Bearer {server.token()}"}
            run = {"input": "touch made", "max_wait_ms": 30_000}
            async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as agent:
                unseen = await agent.post("/sessions/s/run", json=run)
                assert (unseen.status_code, unseen.json()["error"]["code"]) == (
                    403,
                    "policy_denied",
                )
                page = websockets.connect(
                    f"{url.replace('http', 'ws')}/ws/view",
                    additional_headers={"Cookie": cookie_of(server)},
                    origin=url,  # type: ignore[arg-type]  # a NewType of str
                )
                answers: list[httpx.Response] = []

                async def ask() -> None:
                    answers.append(await agent.post("/sessions/s/run", json=run))

                async with page as socket, anyio.create_task_group() as tasks:
                    await socket.send(PageKey().answer(await socket.recv()))

                    async def until(type_: str) -> dict[str, Any]:
                        while True:
                            message = json.loads(await socket.recv())
                            if message["type"] == type_:
                                return message

                    await socket.send(json.dumps({"type": "watch", "on": True}))
                    assert (await until("approvals"))["approvals"] == []
                    tasks.start_soon(ask)
                    asked = (await until("approval"))["approval"]
                    assert (asked["state"], asked["command_line"]) == ("pending", "touch made")
                    call = {
                        "type": "call",
                        "id": 1,
                        "operation": "approval.approve",
                        "arguments": {"approval": asked["id"], "via": "page"},
                    }
                    await socket.send(json.dumps(call))
                    settled = (await until("approval"))["approval"]
                    assert (settled["state"], settled["via"]) == ("granted", "page")
                assert answers[0].status_code == 200
                assert (home / "made").exists()


async def test_every_stream_of_events_tells_of_a_question_and_its_end() -> None:
    """One question, asked and declined, as `/ws/json`, the session's own and both SSE streams see it."""
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as name:
        home = Path(name)
        (home / "config.toml").write_text(RULES)
        with running_server(home, DUETTY_APPROVAL_ASK="always") as server, anyio.fail_after(60):
            server.client.post("/sessions", {"name": "s"})
            server.client.post("/sessions", {"name": "other"})
            seen: dict[str, list[tuple[str, str]]] = {}
            answers: list[httpx.Response] = []
            url = server.url()
            headers = {"Authorization": f"Bearer {server.token()}"}
            async with (
                httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as agent,
                anyio.create_task_group() as tasks,
            ):

                async def socket(path: str, *, task_status: TaskStatus[None]) -> None:
                    address = url.replace("http", "ws") + path
                    async with websockets.connect(address, additional_headers=headers) as peer:
                        assert json.loads(await peer.recv()) == {"connected": True}
                        if path != "/ws/json":  # that one tells without being asked
                            wanted = {"method": "subscribe", "params": {"events": ["approval"]}}
                            await peer.send(json.dumps({"id": 1, **wanted}))
                            assert "result" in json.loads(await peer.recv())
                        task_status.started()
                        while len(seen.setdefault(path, [])) < 2:
                            message = json.loads(await peer.recv())
                            if message.get("event") == "approval":
                                told = message.get("params") or message["approval"]
                                seen[path].append((told["session"], told["state"]))

                async def stream(path: str, *, task_status: TaskStatus[None]) -> None:
                    async with agent.stream("GET", path) as response:
                        lines = response.aiter_lines()
                        await anext(lines)  # the list or the screen comes first
                        task_status.started()
                        event = ""
                        while len(seen.setdefault(path, [])) < 2:
                            line = await anext(lines)
                            if line.startswith("event: "):
                                event = line.removeprefix("event: ")
                            elif line.startswith("data: ") and event == "approval":
                                data = json.loads(line.removeprefix("data: "))
                                told = data.get("params") or data["approval"]
                                seen[path].append((told["session"], told["state"]))

                await tasks.start(socket, "/ws/json")
                await tasks.start(socket, "/sessions/s/ws/json")
                await tasks.start(stream, "/events")
                await tasks.start(stream, "/sessions/s/events")

                async def ask() -> None:
                    run = {"input": "touch made", "max_wait_ms": 30_000}
                    answers.append(await agent.post("/sessions/s/run", json=run))

                tasks.start_soon(ask)
                found = (await agent.get("/approvals")).json()
                while not found["approvals"]:
                    more = {"after": found["seq"], "wait_ms": 1_000}
                    found = (await agent.get("/approvals", params=more)).json()
                [asked] = found["approvals"]
                await anyio.to_thread.run_sync(
                    server.client.post, f"/approvals/{asked['id']}/decline"
                )

            assert answers[0].json()["error"]["code"] == "approval_rejected"
            ways = ("/ws/json", "/sessions/s/ws/json", "/events", "/sessions/s/events")
            assert seen == {each: [("s", "pending"), ("s", "rejected")] for each in ways}
