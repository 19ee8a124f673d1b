from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.keeper.harness import RunningKeeper


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[RunningKeeper]:
    running = RunningKeeper(tmp_path)
    yield running
    running.end()
