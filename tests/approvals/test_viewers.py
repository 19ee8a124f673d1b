"""Questions as viewers see them: told when asked, told when settled, answered from the page."""

import json
import tempfile
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import websockets

from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

RULES = '[[policy.rules]]\nname = "asks"\ndecide = "ask"\ncommand = ["touch **"]\n'


def signed_in(server: ServerProcess) -> str:
    """The cookie of a browser that followed a one-time link."""
    link = server.client.post("/server/link")["link"]
    with httpx.Client(follow_redirects=False) as browser:
        browser.get(link)
        return f"duetty={browser.cookies['duetty']}"


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
                    additional_headers={"Cookie": signed_in(server)},
                    origin=url,  # type: ignore[arg-type]  # a NewType of str
                )
                answers: list[httpx.Response] = []

                async def ask() -> None:
                    answers.append(await agent.post("/sessions/s/run", json=run))

                async with page as socket, anyio.create_task_group() as tasks:

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
