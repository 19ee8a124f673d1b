"""The table of what a machine has: what is missing is said, and never guessed."""

import socket

import pytest

from duetty.errors import CapabilityMissing
from duetty.platform import capabilities
from duetty.platform.capabilities import CAPABILITIES, Capability, check_required


def test_this_machine_has_all_that_is_required() -> None:
    check_required()

    assert {each.name for each in CAPABILITIES if each.is_required} == {
        "proc",
        "peer_credentials",
        "pidfd",
    }


def test_a_machine_without_peer_credentials_gets_a_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "SO_PEERCRED")

    with pytest.raises(CapabilityMissing) as raised:
        check_required()

    assert raised.value.code == "capability_missing"
    assert raised.value.details == {"capability": "peer_credentials"}


def test_the_doctor_shows_a_no_with_what_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    from duetty.cli.checks import capability_findings

    table = (
        Capability("one", "this", "nothing else", lambda: True),
        Capability("two", "that", "it is refused", lambda: False),
        Capability("three", "all", "it does not start", lambda: False, is_required=True),
    )
    monkeypatch.setattr(capabilities, "CAPABILITIES", table)

    found = [(each.what, each.verdict, each.summary, each.mend) for each in capability_findings()]

    assert found == [
        ("one", "ok", "yes: this", None),
        ("two", "warning", "no: that", "without it: it is refused"),
        ("three", "broken", "no: all", "without it: it does not start"),
    ]
