"""A field of the trail is one row of a table."""

from pathlib import Path
from typing import Any

import pytest

from duetty.ops.guardrail import trail_fields
from duetty.ops.guardrail.trail_fields import CALL, CALLER, OUTCOME, CallFacts, TrailField
from tests.engine import AGENT, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

OF_EVERY_RECORD = {"seq", "prev", "at_ns", "kind", "hash", "call"}


async def test_a_row_of_the_table_is_a_field_of_the_record(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: TrailField[CallFacts] = TrailField("asked", "could be", lambda facts: facts.can_ask)
    monkeypatch.setattr(trail_fields, "CALL", (*CALL, asked))

    async with running_engine(home) as engine:
        await engine.open(command="bash")
        await engine.run("true")
        asking = {"operation": "command.run"}
        records: list[dict[str, Any]] = await engine.dispatcher.call(AGENT, "audit.list", asking)
        call, outcome = sorted(records, key=lambda each: each["seq"])

    assert call["asked"] is True
    names = {each.name for each in (*CALLER, *CALL)} | {"asked"}
    assert set(call) - OF_EVERY_RECORD <= names
    assert set(outcome) - OF_EVERY_RECORD <= {each.name for each in OUTCOME}
