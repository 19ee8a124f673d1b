"""A bound that many share: each credential its part, and some of it for people."""

import pytest

from duetty.calls import Actor
from duetty.errors import Exhausted
from duetty.ops.shares import Shares

AGENT, OTHER = (Actor(kind="agent", name="x", token=token) for token in "ab")
LOCAL = Actor(kind="person", name="local")
BROWSER = Actor(kind="person", name="browser", token="c")


def taken(shares: Shares, actor: Actor, place: str = "") -> int:
    """How many more it gets."""
    for count in range(1_000):
        try:
            shares.take(actor, place)
        except Exhausted:
            return count
    raise AssertionError("it is not bounded")


def test_one_credential_gets_its_share_and_agents_leave_some_for_people() -> None:
    shares = Shares("things", most=10, each=4, for_people=3)

    assert [taken(shares, each) for each in (AGENT, OTHER, BROWSER, LOCAL)] == [4, 3, 3, 0]


def test_the_person_at_this_machine_has_no_share() -> None:
    assert taken(Shares("things", most=10, each=4, for_people=3), LOCAL) == 10


def test_what_is_given_back_can_be_taken_again_and_is_given_back_once() -> None:
    shares = Shares("things", most=2, each=1, for_people=0)
    give_back = shares.take(AGENT)
    shares.take(OTHER)

    give_back()
    give_back()

    assert [taken(shares, each) for each in (AGENT, OTHER, LOCAL)] == [1, 0, 0]


def test_places_have_bounds_of_their_own() -> None:
    shares = Shares("things", most=2, each=2, for_people=1)

    assert [taken(shares, AGENT, place) for place in ("s", "t")] == [1, 1]


def test_a_share_ends_with_its_block_however_that_ends() -> None:
    shares = Shares("things", most=1, each=1, for_people=0)
    with pytest.raises(KeyError), shares.taken(AGENT):
        raise KeyError

    assert taken(shares, AGENT) == 1
