"""The scenarios by the command line and by MCP; those on the page are in tests/web/test_agent_scenarios.py."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.agent.doors import CliDoor, McpDoor
from tests.agent.scenarios import SCENARIOS, Scenario, name_of, new_project

pytestmark = pytest.mark.pty

DOORS = {"cli": CliDoor, "mcp": McpDoor}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=name_of)
def test_the_agent(scenario: Scenario, door: str, home: Path) -> None:
    with ExitStack() as stack:
        scenario(home, new_project(home), DOORS[door](stack))
