"""How long a share of a hub's session lasts."""

from pathlib import Path

from duetty.hub import Users
from tests.test_clock import SetClock


def test_a_shares_time_is_up_although_the_clock_was_set_back(tmp_path: Path) -> None:
    clock = SetClock()
    users = Users(tmp_path / "users.json", clock)
    users.add("bob")
    users.share(owner=None, node="n", session="s", user="bob", role="watch", for_s=3)
    before = len(users.of("bob"))

    clock.passed_s += 4
    clock.set_by_s = -3600

    assert (before, users.of("bob")) == (1, [])
