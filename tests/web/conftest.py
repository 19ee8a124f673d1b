"""One Chromium for all tests, one server a module, one window a test."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.homes import settle_home
from tests.server_process import ServerProcess, running_server
from tests.web.browsing import FLAGS, Tab, browsing, chromium, written_home


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = settle_home(Path(path))
        written_home(home)
        with running_server(home) as started:
            yield started


@pytest.fixture
def tab(browser: Browser, server: ServerProcess) -> Iterator[Tab]:
    with browsing(browser, server) as opened:
        yield opened


@pytest.fixture(autouse=True)
def no_sessions_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test begins and ends with no session."""
    yield
    if "server" in request.fixturenames:
        client = request.getfixturevalue("server").client
        for session in client.get("/sessions"):
            client.delete(f"/sessions/{session['name']}")
