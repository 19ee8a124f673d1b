"""An engine in process, and the four shells: what most files here begin with."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from tests.engine import Engine, running_engine

SHELLS = ("bash", "zsh", "fish", "dash")


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    async with running_engine(home) as engine:
        with anyio.fail_after(90):
            yield engine
