"""Who may call: what is shown once works once, what expires expires, and everything is bounded."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from duetty.calls import EVERY_SCOPE, Actor, Scope
from duetty.errors import Exhausted, TokenNotFound
from duetty.ops import Access
from duetty.ops.access import (
    BROWSER_S,
    KEPT_NS,
    LINK_S,
    MAX_BROWSERS,
    MAX_LINKS,
    MAX_TOKENS,
    TICKET_S,
)
from duetty.store import Store

PERSON = Actor(kind="person", name="somebody")


@dataclass
class FakeClock:
    now_s: float = 1_000.0

    def monotonic_s(self) -> float:
        return self.now_s

    def wall_ns(self) -> int:
        return int(self.now_s * 1e9)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def access(tmp_path: Path, clock: FakeClock) -> Iterator[Access]:
    with Store.open(tmp_path / "store.db", clock=clock) as store:
        yield Access(store, clock, own_token="own")


def test_the_servers_own_token_allows_everything(access: Access) -> None:
    actor = access.by_token("own")

    assert actor is not None
    assert (actor.scopes, actor.session, actor.token) == (EVERY_SCOPE, None, None)
    assert access.by_token("other") is None
    assert access.by_token("") is None
    assert access.by_token("\udcff") is None


def test_a_token_allows_what_it_was_made_for_until_it_expires(
    access: Access, clock: FakeClock
) -> None:
    token, record = access.issue("ci", scopes=[Scope.READ], session="build", expires_in_s=60)

    assert access.by_token(token) == Actor(
        kind="agent",
        name="ci",
        scopes=frozenset({Scope.READ}),
        session="build",
        session_id="build",
        token=record.id,
    )
    clock.now_s += 60
    assert access.by_token(token) is None


def test_a_scope_that_a_later_version_wrote_allows_nothing_here(
    access: Access, tmp_path: Path, clock: FakeClock
) -> None:
    token, _ = access.issue("x", scopes=["read", "time_travel"])  # type: ignore[list-item]

    actor = access.by_token(token)

    assert actor is not None
    assert actor.scopes == frozenset({Scope.READ})


# --- tickets ------------------------------------------------------------------


def test_a_ticket_works_once(access: Access) -> None:
    ticket = access.new_ticket(PERSON)

    assert access.by_ticket(ticket) == PERSON
    assert access.by_ticket(ticket) is None


def test_a_ticket_works_for_thirty_seconds(access: Access, clock: FakeClock) -> None:
    in_time, late = access.new_ticket(PERSON), access.new_ticket(PERSON)

    clock.now_s += TICKET_S - 0.001
    assert access.by_ticket(in_time) == PERSON
    clock.now_s += 0.001
    assert access.by_ticket(late) is None


def test_tickets_that_wait_are_bounded_and_old_ones_make_room(
    access: Access, clock: FakeClock
) -> None:
    for _ in range(access.bounds["tickets"].most):
        access.new_ticket(PERSON)

    with pytest.raises(Exhausted):
        access.new_ticket(PERSON)
    clock.now_s += TICKET_S
    assert access.by_ticket(access.new_ticket(PERSON)) == PERSON


def test_a_ticket_dies_with_the_token_that_bought_it(access: Access) -> None:
    token, record = access.issue("x", scopes=[Scope.READ])
    buyer = access.by_token(token)
    assert buyer is not None
    ticket = access.new_ticket(buyer)

    access.revoke(record.id)

    assert access.by_ticket(ticket) is None


# --- browsers -----------------------------------------------------------------


def test_a_link_works_once_and_for_ten_minutes(access: Access, clock: FakeClock) -> None:
    used, late = access.new_link_code(), access.new_link_code()

    cookie = access.sign_in(used)
    clock.now_s += LINK_S + 1

    assert cookie is not None
    assert access.by_cookie(cookie) is not None
    assert (access.sign_in(used), access.sign_in(late), access.sign_in("")) == (None, None, None)


def test_links_are_bounded_and_the_newest_work(access: Access) -> None:
    codes = [access.new_link_code() for _ in range(MAX_LINKS + 1)]

    assert access.sign_in(codes[0]) is None
    assert access.sign_in(codes[-1]) is not None


def test_a_browser_is_signed_in_for_a_month(access: Access, clock: FakeClock) -> None:
    cookie = access.sign_in(access.new_link_code())
    assert cookie is not None

    clock.now_s += BROWSER_S - 1
    assert access.by_cookie(cookie) is not None
    clock.now_s += 1
    assert access.by_cookie(cookie) is None


def test_when_many_browsers_sign_in_the_oldest_is_signed_out(
    access: Access, clock: FakeClock
) -> None:
    cookies: list[str | None] = []
    for _ in range(MAX_BROWSERS + 1):
        clock.now_s += 0.001
        cookies.append(access.sign_in(access.new_link_code()))

    assert access.by_cookie(cookies[0] or "") is None
    assert access.by_cookie(cookies[1] or "") is not None
    assert access.by_cookie(cookies[-1] or "") is not None


# --- bounds -------------------------------------------------------------------


def test_tokens_are_bounded_and_a_revoked_one_makes_room(access: Access) -> None:
    made = [access.issue("x", scopes=[Scope.READ])[1] for _ in range(MAX_TOKENS)]

    with pytest.raises(Exhausted):
        access.issue("x", scopes=[Scope.READ])
    access.revoke(made[0].id)
    access.issue("x", scopes=[Scope.READ])


def test_a_revoked_token_stays_listed_for_a_month(access: Access, clock: FakeClock) -> None:
    _, record = access.issue("x", scopes=[Scope.READ])
    access.revoke(record.id)

    access.issue("y", scopes=[Scope.READ])
    listed = [each.id for each in access.tokens()]
    clock.now_s += KEPT_NS / 1e9 + 1
    access.issue("z", scopes=[Scope.READ])

    assert record.id in listed
    assert record.id not in [each.id for each in access.tokens()]


def test_a_token_that_is_not_there_cannot_be_revoked(access: Access) -> None:
    with pytest.raises(TokenNotFound):
        access.revoke("none")


# --- live connections ---------------------------------------------------------


def test_revoking_closes_what_the_token_holds_open_once(access: Access) -> None:
    token, record = access.issue("x", scopes=[Scope.READ])
    actor = access.by_token(token)
    assert actor is not None
    closed: list[str] = []

    with (
        access.live.joined(actor, lambda: closed.append("mine")),
        access.live.joined(PERSON, lambda: closed.append("another's")),
    ):
        access.revoke(record.id)
        access.revoke(record.id)

    assert closed == ["mine"]


def test_a_connection_that_ended_is_not_closed_again(access: Access) -> None:
    token, record = access.issue("x", scopes=[Scope.READ])
    actor = access.by_token(token)
    assert actor is not None
    closed: list[str] = []

    with access.live.joined(actor, lambda: closed.append("late")):
        pass
    access.revoke(record.id)

    assert closed == []


async def test_an_expired_token_closes_what_it_holds_open(access: Access, clock: FakeClock) -> None:
    token, _ = access.issue("x", scopes=[Scope.READ], expires_in_s=60)
    actor = access.by_token(token)
    assert actor is not None
    closed = anyio.Event()

    async with anyio.create_task_group() as tasks:
        with access.live.joined(actor, closed.set), anyio.fail_after(60):
            tasks.start_soon(access.close_expired)
            clock.now_s += 60
            await closed.wait()
        tasks.cancel_scope.cancel()


def test_a_tokens_time_is_up_although_the_clock_was_set_back(tmp_path: Path) -> None:
    clock = SetBackClock()
    with Store.open(tmp_path / "store.db", clock=clock) as store:
        access = Access(store, clock, own_token="own")
        token, _ = access.issue("x", scopes=[Scope.READ], expires_in_s=3)
        actor = access.by_token(token)
        assert actor is not None

        clock.passed_s += 4
        clock.set_by_s = -3600

        assert access.by_token(token) is None
        assert not access.is_good(actor)


@dataclass
class SetBackClock:
    passed_s: float = 1_000.0
    set_by_s: float = 0.0

    def monotonic_s(self) -> float:
        return self.passed_s

    def wall_ns(self) -> int:
        return int((1_000_000 + self.passed_s + self.set_by_s) * 1e9)
