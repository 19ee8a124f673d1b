"""The examples: a terminal, a script and a browser page as tool hosts of one hub."""

import functools
import http.server
import re
import shutil
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

from duetty.cli.commands.server import HUB_BIND
from tests.hub.echo_host import EXAMPLES, echo_host
from tests.server_process import running_server

pytestmark = [pytest.mark.pty, pytest.mark.browser]

DOCS = EXAMPLES.parent / "docs"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def served(directory: Path) -> Generator[str]:
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Quiet, directory=str(directory))
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_terminal_a_script_and_a_page_work_in_one_conversation(home: Path) -> None:
    with (
        served(EXAMPLES) as site,
        running_server(home, DUETTY_POLICY_PROFILE="open", DUETTY_SERVER_CORS_ORIGINS=site) as hub,
        echo_host(hub.url(), hub.token(), "Script") as script,
        sync_playwright() as playwright,
        httpx.Client(
            base_url=hub.url(), headers={"Authorization": f"Bearer {hub.token()}"}, timeout=60
        ) as client,
    ):
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.goto(f"{site}/echo_host.html")
        page.get_by_label("Hub").fill(hub.url())
        page.get_by_label("Token").fill(hub.token())
        page.get_by_role("button", name="Join").click()
        expect(page.locator("#state")).to_contain_text("joined as", timeout=30_000)
        shown = page.locator("#state").text_content() or ""

        rooms = {each["title"]: each for each in client.get("/rooms").json()}
        session = client.post("/sessions", json={"command": "bash"}).json()["id"]
        ran = client.post(f"/sessions/{session}/run", json={"input": "echo from the terminal"})
        text = ran.json()["output"]
        for room in (script, rooms["Echo page"]["session_id"]):
            answer = client.post(
                f"/rooms/{room}/call", json={"tool": "echo", "args": {"text": text}}
            )
            text = answer.json()["result"]["text"]
        expect(page.locator("#calls")).to_have_text("echo: from the terminal\n", timeout=30_000)
        browser.close()

    assert text == "from the terminal"
    assert set(rooms) == {"Script", "Echo page"}
    assert rooms["Echo page"]["file_key"] == "/echo_host.html"
    assert shown.endswith(rooms["Echo page"]["session_id"])


def test_both_examples_work_as_the_docs_tell_it_with_a_token_that_may_only_join(
    home: Path,
) -> None:
    with (
        served(EXAMPLES) as site,
        running_server(home, DUETTY_SERVER_CORS_ORIGINS=site) as hub,
        sync_playwright() as playwright,
    ):
        own = hub.command("hub", "user", "add", "ann", "-L", "default").stdout.strip()
        made = hub.command("hub", "token", "create", "ann", "--scope", "join", "-L", "default")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.goto(f"{site}/echo_host.html")
        offered = page.get_by_label("Hub").input_value()
        state = page.locator("#state")
        page.get_by_label("Hub").fill(hub.url())
        for token, told in (("nonsense", "this token is not valid"), (made.stdout, "joined as")):
            page.get_by_label("Token").fill(token.strip())
            page.get_by_role("button", name="Join").click()
            expect(state).to_contain_text(told, timeout=30_000)
        with (
            echo_host(hub.url(), made.stdout.strip(), "Script"),
            httpx.Client(
                base_url=hub.url(), headers={"Authorization": f"Bearer {own}"}, timeout=60
            ) as ann,
        ):
            rooms = ann.get("/rooms").json()
            answers = [
                ann.post(
                    f"/rooms/{each['session_id']}/call",
                    json={"tool": "echo", "args": {"text": "hi"}},
                ).json()["result"]["text"]
                for each in rooms
            ]
        browser.close()

    documented = (DOCS / "rooms.md").read_text(encoding="utf-8").partition("`GET /rooms` lists")[2]
    of_room, of_tool = re.findall(r"`(\w+)`", documented.partition(". ")[0]), rooms[0]["tools"][0]
    assert {each["title"] for each in rooms} == {"Script", "Echo page"}
    assert answers == ["hi", "hi"]
    assert {*rooms[0], *of_tool} == {*of_room}
    assert offered == f"http://{HUB_BIND}"
    assert HUB_BIND in (EXAMPLES / "echo_host.py").read_text(encoding="utf-8")
