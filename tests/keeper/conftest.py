from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.keeper.harness import RunningKeeper


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[RunningKeeper]:
    with RunningKeeper(tmp_path) as running:
        yield running
