"""A bound that many share: so many in all, so many for one credential and one source, and some kept for people."""

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager

from duetty.calls import Actor
from duetty.errors import Exhausted


class Shares:
    """Counts by who holds them. `place` is what the bound is for each of, such as a session."""

    def __init__(
        self,
        what: str,
        *,
        most: Callable[[], int],
        each: float,
        each_source: float,
        for_people: float,
    ) -> None:
        self._what = what
        self._most = most
        self._each = each
        self._each_source = each_source
        self._for_people = for_people
        self._held: Counter[tuple[str, str]] = Counter()
        """By place, and by credential, by source and in all (an empty name)."""

    @property
    def most(self) -> int:
        return self._most()

    @property
    def each(self) -> int:
        return int(self.most * self._each)

    @property
    def each_source(self) -> int:
        return int(self.most * self._each_source)

    @property
    def for_people(self) -> int:
        return int(self.most * self._for_people)

    @property
    def held(self) -> int:
        """In all; where there is one for each place, in the fullest of them."""
        return max((count for (_, owner), count in self._held.items() if not owner), default=0)

    def take(self, actor: Actor, place: str = "", *, amount: int = 1) -> Callable[[], None]:
        """So many more for this actor; gives how to give them back, which is done once.

        Raises:
            Exhausted: if it has its share, or there are too many.
        """
        is_person = actor.kind == "person"
        in_all = self._most()
        reserve = 0 if is_person else int(in_all * self._for_people)
        if not is_person and actor.token is None and not actor.source:
            reserve //= 2  # hosts at the unix socket come before agents with a token
        most = in_all - reserve
        owners = [(place, "")]
        # The person at this machine needs no share: only they use the unix socket.
        if not (is_person and actor.token is None):
            owners.append((place, actor.identity))
            if self._held[owners[-1]] + amount > int(in_all * self._each):
                self._refuse(f"this credential may hold {self.each} {self._what}")
        if actor.source and not is_person:
            owners.append((place, f"source:{actor.source}"))
            if self._held[owners[-1]] + amount > self.each_source:
                self._refuse(f"agents at one machine may hold {self.each_source} {self._what}")
        if self._held[place, ""] + amount > most:
            self._refuse(f"there may be {most} {self._what}")
        for owner in owners:
            self._held[owner] += amount
        return _Held(self, owners, amount)

    def _refuse(self, message: str) -> None:
        raise Exhausted(message, hint="end some of them, or wait until they end")

    @contextmanager
    def taken(self, actor: Actor, place: str = "", *, amount: int = 1) -> Generator[None]:
        """So many more while inside.

        Raises:
            Exhausted: as `take` does.
        """
        give_back = self.take(actor, place, amount=amount)
        try:
            yield
        finally:
            give_back()

    def give_back(self, owners: list[tuple[str, str]], amount: int) -> None:
        for owner in owners:
            self._held[owner] -= amount
            if not self._held[owner]:
                del self._held[owner]


class _Held:
    """What was taken; called, it gives that back, the first time."""

    __slots__ = ("_amount", "_owners", "_shares")

    def __init__(self, shares: Shares, owners: list[tuple[str, str]], amount: int) -> None:
        self._shares: Shares | None = shares
        self._owners = owners
        self._amount = amount

    def __call__(self) -> None:
        shares, self._shares = self._shares, None
        if shares is not None:
            shares.give_back(self._owners, self._amount)
