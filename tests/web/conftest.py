"""One Chromium and one server for all tests of a process, one window for those of a file."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.homes import settle_home
from tests.server_process import ServerProcess, running_server
from tests.web.browsing import FLAGS, Tab, Window, chromium, written_home


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = settle_home(Path(path))
        written_home(home)
        with running_server(home) as started:
            yield started


@pytest.fixture(scope="module")
def window_options() -> dict[str, Any]:
    """What is particular about the window of a file."""
    return {}


@pytest.fixture(scope="module")
def windows(
    browser: Browser, server: ServerProcess, window_options: dict[str, Any]
) -> Iterator[list[Window]]:
    """The window that no test is in; none before the first, and after one that failed."""
    free: list[Window] = []
    yield free
    for each in free:
        each.close()


@pytest.fixture
def tab(
    browser: Browser,
    server: ServerProcess,
    window_options: dict[str, Any],
    windows: list[Window],
    request: pytest.FixtureRequest,
) -> Iterator[Tab]:
    window = windows.pop() if windows else Window(browser, server, **window_options)
    failed_before = request.session.testsfailed
    try:
        with window.tab() as opened:
            yield opened
        if request.session.testsfailed == failed_before:
            window.forget()
            windows.append(window)
    finally:
        if window not in windows:
            window.close()


@pytest.fixture(autouse=True)
def no_sessions_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test begins and ends with no session."""
    yield
    if "server" in request.fixturenames:
        client = request.getfixturevalue("server").client
        for session in client.get("/sessions"):
            client.delete(f"/sessions/{session['name']}")
