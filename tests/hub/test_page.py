"""The page of a hub: machines as groups, their terminals, questions answered from a phone, recordings."""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.hub.conftest import Servers, wait_for
from tests.server_process import ServerProcess
from tests.web.browsing import DESKTOP, FLAGS, PHONE, TABLET, WAIT_MS, Tab, chromium

pytestmark = [pytest.mark.pty, pytest.mark.browser]

SHOTS = os.environ.get("DUETTY_TEST_SHOTS")
"""A directory for pictures of what the tests saw."""


class Home:
    """A hub with ann, her laptop and her server; the server asks before it runs what an agent wants."""

    def __init__(self, stack: ExitStack) -> None:
        self.servers = Servers(stack)
        self.hub = self.servers.hub
        self.token = self._user("ann")
        self.machines = {
            name: self._machine(name, **env)
            for name, env in (("laptop", {}), ("server", {"DUETTY_POLICY_PROFILE": "strict"}))
        }

    def _user(self, name: str) -> str:
        done = self.hub.command("hub", "user", "add", name, "-L", "default")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _machine(self, name: str, **env: str) -> ServerProcess:
        machine = self.servers.start(name, **env)
        file = Path(machine.home) / "hub.token"
        file.write_text(self.token)
        done = machine.command("join", self.hub.url(), "--token-file", str(file))
        assert done.returncode == 0, done.stderr
        machine.client.post("/sessions", {"name": "build", "command": "bash"})
        return machine


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with ExitStack() as stack:
        yield Home(stack)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def tab(home: Home, browser: Browser) -> Iterator[Tab]:
    """Ann's browser, signed in by a link of the hub."""
    context = browser.new_context(viewport=DESKTOP, color_scheme="dark")
    context.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    page = context.new_page()
    made = Tab(home.hub, page)
    page.on("pageerror", lambda error: made.problems.append(str(error)))
    link = home.hub.command("hub", "link", "ann", "-L", "default").stdout.strip()
    page.goto(link)
    yield made
    context.close()
    assert not made.problems, made.problems


def _shoot(tab: Tab, name: str) -> None:
    if SHOTS is None:
        return
    for size, viewport in (("desktop", DESKTOP), ("tablet", TABLET), ("phone", PHONE)):
        tab.page.set_viewport_size(viewport)
        tab.page.wait_for_timeout(300)
        tab.page.screenshot(path=f"{SHOTS}/{name}-{size}.png")
    tab.page.set_viewport_size(DESKTOP)


def test_machines_are_groups_and_a_session_of_each_is_used(home: Home, tab: Tab) -> None:
    tab.goto()
    for machine in ("laptop", "server"):
        card = tab.page.locator(f"[data-group={machine}] [data-session='{machine}/build']")
        expect(card).to_be_visible()
    _shoot(tab, "groups")

    tab.page.locator("[data-session='laptop/build'] a").click()
    tab.wait_ready("laptop/build")
    tab.type("echo from-$((40 + 2))\n")
    tab.wait_text("laptop/build", "from-42")
    _shoot(tab, "session")
    output = home.machines["laptop"].client.get("/sessions/build/blocks")[0]

    assert output["command_line"] == "echo from-$((40 + 2))"
    assert tab.page.url.endswith("/ui/s/laptop/build")


def test_a_session_is_opened_on_the_machine_that_was_chosen(home: Home, tab: Tab) -> None:
    tab.goto()
    tab.page.get_by_role("button", name="New session", exact=True).first.click()
    tab.page.get_by_label("Machine").select_option("server")
    tab.page.get_by_label("Name").fill("fresh")
    tab.page.get_by_role("button", name="Open", exact=True).click()
    tab.wait_ready("server/fresh")
    names = {each["name"] for each in home.machines["server"].client.get("/sessions")}
    home.machines["server"].client.delete("/sessions/fresh")

    assert names == {"build", "fresh"}


def test_a_question_of_a_machine_is_answered_from_a_phone(home: Home, tab: Tab) -> None:
    tab.page.set_viewport_size(PHONE)
    tab.goto("approvals")
    agent = home.servers.client(home.hub, _agent_token(home))
    answers: list[Any] = []

    def ask() -> None:
        asked = {"input": "touch asked-for", "server": "server"}
        answers.append(agent.post("/sessions/build/run", json=asked))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        question = tab.page.get_by_text("touch asked-for").first
        expect(question).to_be_visible()
        _shoot(tab, "question")
        tab.page.set_viewport_size(PHONE)
        button = tab.page.get_by_role("button", name="Approve once")
        expect(button).to_be_enabled()
        button.click()
    finally:
        asking.join(60)
    [answer] = answers

    assert answer.status_code == 200, answer.text
    assert (Path(home.machines["server"].home) / "asked-for").exists()
    trail = home.machines["server"].command("audit", "list", "--json").stdout
    assert "ann@" in trail


def _agent_token(home: Home) -> str:
    done = home.hub.command("hub", "token", "create", "ann", "-L", "default")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def test_a_recording_of_a_machine_is_played(home: Home, tab: Tab) -> None:
    home.machines["laptop"].client.post("/sessions/build/run", {"input": "echo recorded"})
    tab.goto("recordings/laptop/build")
    expect(tab.page.get_by_role("button", name="Play")).to_be_visible()
    _shoot(tab, "recording")


def test_screens_of_one_machine_say_which_and_can_be_turned_to_another(
    home: Home, tab: Tab
) -> None:
    home.machines["laptop"].client.post("/sessions/build/run", {"input": "echo only-laptop"})
    tab.goto("history")
    tab.page.get_by_label("Machine").select_option("laptop")
    expect(tab.page.get_by_text("echo only-laptop").first).to_be_visible()
    _shoot(tab, "history")
    tab.page.get_by_label("Machine").select_option("server")
    expect(tab.page.get_by_text("echo only-laptop")).to_have_count(0)


def test_a_terminal_goes_on_when_its_machine_has_come_back(home: Home, tab: Tab) -> None:
    machine = home.machines["laptop"]
    tab.open("laptop/build")
    tab.type("echo before-it-left\n")
    tab.wait_text("laptop/build", "before-it-left")
    machine.kill()
    expect(tab.page.get_by_text("cannot be asked").first).to_be_visible()
    machine.start("--hostname", "laptop")
    wait_for(lambda: machine.client.get("/server/hub").get("state") == "joined" or None)
    machine.client.post("/sessions/build/run", {"input": "echo after-it-came"})
    tab.wait_text("laptop/build", "after-it-came")

    assert "before-it-left" in tab.text("laptop/build")


def test_a_machine_that_is_away_is_shown_so_with_its_sessions(home: Home, tab: Tab) -> None:
    machine = home.machines["laptop"]
    tab.goto()
    group = tab.page.locator("[data-group=laptop]")
    card = group.locator("[data-session='laptop/build']")
    expect(card).to_be_visible()
    machine.kill()
    try:
        expect(tab.page.get_by_role("heading", name="laptop · away since")).to_be_visible()
        expect(card).to_contain_text("away since")
        _shoot(tab, "away")
        tab.page.get_by_role("button", name="New session", exact=True).first.click()
        expect(tab.page.get_by_label("Name")).to_be_visible()
        offered = tab.page.get_by_role("dialog").get_by_role("option", name="laptop")
        expect(offered).to_have_count(0)
    finally:
        machine.start("--hostname", "laptop")
    tab.page.keyboard.press("Escape")

    expect(tab.page.get_by_role("heading", name="laptop", exact=True)).to_be_visible()
    expect(card).not_to_contain_text("away")
