"""How much of the loop, and of what it reads, one credential may have while others want some.

Paid for afterwards: who has used more than its share waits for its next answer or message until that
is made up for. One that owes too much, or goes on for too long, is refused and its connection closed.
A connection that has shown no credential answers for itself.
"""

import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from time import perf_counter, thread_time
from types import coroutine
from typing import Any, TypeVar

from duetty.calls import Actor
from duetty.clock import Clock
from duetty.workers import PAYS

LOOP_SHARE, LOOP_AT_ONCE_S = 0.5, 0.5
"""Seconds of the loop's time a second. Alone, a credential may have all of it."""

OTHERS_S = 1.0
"""Who asked for something so long ago still counts as another user who is there."""

BYTES_PER_S, BYTES_AT_ONCE = 16 * 1024 * 1024, 64 * 1024 * 1024
MESSAGES_PER_S = 2_000
"""Requests and WebSocket messages; a quick typist sends twenty."""

MAX_OWED_S = 5.0
"""Who owes more is refused."""

GREEDY_S = 30.0
"""A WebSocket that has to wait at every message for so long is closed."""

MAX_OWNERS = 4_096
"""Owners remembered; the one not heard of for longest starts anew."""

T = TypeVar("T")


@dataclass(slots=True)
class _Bucket:
    left: float
    at_s: float


class Bucket:
    """So much a second for each owner, and `at_once` after a pause: what a second gives, by default."""

    def __init__(self, per_s: float, clock: Clock, *, at_once: float | None = None) -> None:
        self._per_s = per_s
        self._at_once = per_s if at_once is None else at_once
        self._clock = clock
        self._owners: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, owner: str) -> float:
        """One, if there is one: 0, or the seconds until there is."""
        bucket = self._filled(owner)
        if bucket.left < 1:
            return (1 - bucket.left) / self._per_s
        bucket.left -= 1
        return 0.0

    def spend(self, owner: str, amount: float) -> None:
        """So much, whether it is there or owed from now on."""
        self._filled(owner).left -= amount

    def owed_s(self, owner: str) -> float:
        """The seconds until nothing is owed."""
        bucket = self._owners.get(owner)
        if bucket is None or bucket.left >= 0:  # it only fills meanwhile
            return 0.0
        return max(0.0, -self._filled(owner).left / self._per_s)

    def _filled(self, owner: str) -> _Bucket:
        now_s = self._clock.monotonic_s()
        bucket = self._owners.get(owner)
        if bucket is None:
            bucket = self._owners[owner] = _Bucket(self._at_once, now_s)
            if len(self._owners) > MAX_OWNERS:
                self._owners.popitem(last=False)
        self._owners.move_to_end(owner)
        bucket.left = min(self._at_once, bucket.left + (now_s - bucket.at_s) * self._per_s)
        bucket.at_s = now_s
        return bucket


class Allowance:
    """Of one kind, for one owner: what is left of it, and when that was so."""

    __slots__ = ("_at_once", "_at_s", "_per_s", "amount")

    def __init__(self, per_s: float, at_once: float, now_s: float) -> None:
        self._per_s = per_s
        self._at_once = self.amount = at_once
        self._at_s = now_s

    def spend(self, amount: float, now_s: float) -> None:
        """So much, whether it is there or owed from now on."""
        left = self.amount + (now_s - self._at_s) * self._per_s
        self.amount = (left if left < self._at_once else self._at_once) - amount
        self._at_s = now_s

    def owed_s(self, now_s: float) -> float:
        """The seconds until nothing is owed."""
        self.spend(0, now_s)
        return max(0.0, -self.amount / self._per_s)


class _Account:
    __slots__ = ("messages", "read", "time")

    def __init__(self, now_s: float) -> None:
        self.time = Allowance(LOOP_SHARE, LOOP_AT_ONCE_S, now_s)
        self.read = Allowance(BYTES_PER_S, BYTES_AT_ONCE, now_s)
        self.messages = Allowance(MESSAGES_PER_S, MESSAGES_PER_S, now_s)


class Fairness:
    """What each owner has used: a credential, or a connection without one.

    Asked several times for each of thousands of messages a second: so it has one account for each owner,
    and most questions need neither the time nor a sum.
    """

    def __init__(self, clock: Clock) -> None:
        self._now_s = clock.monotonic_s
        self._accounts: OrderedDict[str, _Account] = OrderedDict()
        self._last = self._before = ("", -math.inf)
        """The two owners who were heard last, and when."""

    def heard(self, owner: str) -> None:
        if self._last[0] != owner:
            self._before = self._last
        self._last = (owner, self._now_s())

    def asked(self, owner: str, size: int = 0) -> None:
        """A request or a message came."""
        now_s = self._now_s()
        if self._last[0] != owner:
            self._before = self._last
        self._last = (owner, now_s)
        account = self._account(owner, now_s)
        account.messages.spend(1, now_s)
        if size:
            account.read.spend(size, now_s)

    def read(self, owner: str, size: int) -> None:
        now_s = self._now_s()
        self._account(owner, now_s).read.spend(size, now_s)

    def ran(self, owner: str, seconds: float) -> None:
        now_s = self._now_s()
        self._account(owner, now_s).time.spend(seconds, now_s)

    def _account(self, owner: str, now_s: float) -> _Account:
        account = self._accounts.get(owner)
        if account is None:
            account = self._accounts[owner] = _Account(now_s)
            if len(self._accounts) > MAX_OWNERS:
                self._accounts.popitem(last=False)
        else:
            self._accounts.move_to_end(owner)
        return account

    def owed_s(self, owner: str) -> float:
        """How long it has to wait until it has what it used."""
        account = self._accounts.get(owner)
        if account is None or (
            account.time.amount >= 0 and account.read.amount >= 0 and account.messages.amount >= 0
        ):
            return 0.0  # it only fills meanwhile
        now_s = self._now_s()
        traffic_s = max(account.read.owed_s(now_s), account.messages.owed_s(now_s))
        return max(traffic_s, self._owed_time_s(owner, account, now_s))

    def owed_time_s(self, owner: str) -> float:
        """The same for the loop's time only; a caller that is alone owes none."""
        account = self._accounts.get(owner)
        if account is None or account.time.amount >= 0:
            return 0.0
        return self._owed_time_s(owner, account, self._now_s())

    def _owed_time_s(self, owner: str, account: _Account, now_s: float) -> float:
        other = self._before if self._last[0] == owner else self._last
        return account.time.owed_s(now_s) if now_s - other[1] < OTHERS_S else 0.0


def is_free(actor: Actor) -> bool:
    """Whether it skips the queue: the person at this machine."""
    return actor.kind == "person" and actor.token is None


SHORT_S, KNOWN_S = 0.001, 0.01
"""A turn that took no longer than the first was hardly interrupted; the second: so old may the last reading of
the processor's clock be, by which the longer ones are judged."""


class _Spent:
    """What a turn of the loop cost. The clock of a thread's processor time is a call of the kernel, which for a
    short turn takes longer than the turn: it is asked only where the loop may have been interrupted.
    """

    def __init__(self) -> None:
        self._read_s = -math.inf
        self._spent_s = 0.0

    def since(self, began_s: float) -> float:
        now_s = perf_counter()
        took_s = now_s - began_s
        if took_s <= SHORT_S and now_s - self._read_s <= KNOWN_S:
            return took_s
        before_s, self._spent_s, self._read_s = self._spent_s, thread_time(), now_s
        return took_s if took_s <= SHORT_S else min(took_s, self._spent_s - before_s)


_spent = _Spent()


@coroutine
def timed(awaited: Awaitable[T], ran: Callable[[float], object]) -> Generator[Any, Any, T]:
    """The same; `ran` gets the processor time of each turn, and of what workers do for it."""
    PAYS.set(ran)
    steps = awaited.__await__()
    sent: Any = None
    error: BaseException | None = None
    while True:
        began_s = perf_counter()
        try:
            if error is not None:
                waited_for = steps.throw(error)
            else:
                waited_for = next(steps) if sent is None else steps.send(sent)
        except StopIteration as ended:
            return ended.value
        finally:
            ran(_spent.since(began_s))
        sent = error = None
        try:
            sent = yield waited_for
        except BaseException as thrown:  # noqa: BLE001 - whatever it is, it is theirs to see
            error = thrown
