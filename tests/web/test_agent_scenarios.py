"""The scenarios of the agent (tests/agent/scenarios.py), each by a person who sits before the page."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.agent.doors import PageDoor
from tests.agent.scenarios import SCENARIOS, Scenario, name_of, new_project
from tests.web.browsing import written_home

pytestmark = [pytest.mark.browser, pytest.mark.pty]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=name_of)
def test_on_the_page_the_agent(scenario: Scenario, browser: Browser, home: Path) -> None:
    written_home(home)
    with ExitStack() as stack:
        scenario(home, new_project(home), PageDoor(stack, browser))
