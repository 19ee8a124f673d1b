"""A bound that many share: each credential its part, and some of it for people."""

import pytest

from duetty.calls import Actor
from duetty.errors import Exhausted
from duetty.ops.bounds import Bounds
from duetty.ops.shares import Shares

AGENT, OTHER = (Actor(kind="agent", name="x", token=token) for token in "ab")
LOCAL = Actor(kind="person", name="local")
BROWSER = Actor(kind="person", name="browser", token="c")


def bound(most: int, *, each: float = 1, each_source: float = 1, for_people: float = 0) -> Shares:
    return Shares(
        "things", most=lambda: most, each=each, each_source=each_source, for_people=for_people
    )


def taken(shares: Shares, actor: Actor, place: str = "") -> int:
    """How many more it gets."""
    for count in range(1_000):
        try:
            shares.take(actor, place)
        except Exhausted:
            return count
    raise AssertionError("it is not bounded")


def test_one_credential_gets_its_share_and_agents_leave_some_for_people() -> None:
    shares = bound(10, each=0.4, for_people=0.3)

    assert [taken(shares, each) for each in (AGENT, OTHER, BROWSER, LOCAL)] == [4, 3, 3, 0]


def test_the_person_at_this_machine_has_no_share() -> None:
    assert taken(bound(10, each=0.4, for_people=0.3), LOCAL) == 10


def test_a_host_at_the_unix_socket_has_room_that_agents_with_tokens_leave() -> None:
    host = Actor(kind="agent", name="local")
    shares = bound(10, each=0.4, for_people=0.4)

    assert [taken(shares, each) for each in (AGENT, OTHER, host, BROWSER)] == [4, 2, 2, 2]


def test_what_is_given_back_can_be_taken_again_and_is_given_back_once() -> None:
    shares = bound(2, each=0.5)
    give_back = shares.take(AGENT)
    shares.take(OTHER)

    give_back()
    give_back()

    assert [taken(shares, each) for each in (AGENT, OTHER, LOCAL)] == [1, 0, 0]


def test_places_have_bounds_of_their_own() -> None:
    shares = bound(2, for_people=0.5)

    assert [taken(shares, AGENT, place) for place in ("s", "t")] == [1, 1]


def test_a_share_ends_with_its_block_however_that_ends() -> None:
    shares = bound(1)
    with pytest.raises(KeyError), shares.taken(AGENT):
        raise KeyError

    assert taken(shares, AGENT) == 1


def test_agents_at_one_other_machine_share_its_part_and_people_there_do_not() -> None:
    shares = bound(10, each=0.4, each_source=0.5, for_people=0.2)
    there = [Actor(kind="agent", name="x", token=token, source="192.0.2.1") for token in "de"]
    person = Actor(kind="person", name="browser", token="f", source="192.0.2.1")

    assert [taken(shares, each) for each in (*there, OTHER, person)] == [4, 1, 3, 2]


def test_a_bound_counts_amounts_and_follows_what_it_is_made_from() -> None:
    most = [100]
    shares = Shares("bytes", most=lambda: most[0], each=0.5, each_source=1, for_people=0)
    give_back = shares.take(AGENT, amount=40)
    with pytest.raises(Exhausted):
        shares.take(AGENT, amount=11)

    most[0] = 200
    shares.take(AGENT, amount=60)
    give_back()

    assert shares.held == 60


def test_every_bound_leaves_something_to_others_and_to_people() -> None:
    for rule, shares in Bounds():
        if rule.name != "strangers":
            assert 0 < shares.each < shares.most, rule.name
            assert 0 < shares.each_source < shares.most, rule.name
            assert 0 < shares.for_people < shares.most, rule.name
            assert shares.each_source + shares.for_people <= shares.most, rule.name
