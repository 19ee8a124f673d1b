"""A bound that many share: so many in all, so many for one credential, and some kept for people."""

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager

from duetty.calls import Actor
from duetty.errors import Exhausted


class Shares:
    """Counts by who holds them. `place` is what the bound is for each of, such as a session."""

    def __init__(self, what: str, *, most: int, each: int, for_people: int) -> None:
        self._what = what
        self._most = most
        self._each = each
        self._for_people = for_people
        self._held: Counter[tuple[str, str]] = Counter()
        self._in_all: Counter[str] = Counter()

    def take(self, actor: Actor, place: str = "") -> Callable[[], None]:
        """One more for this actor; gives how to give it back, which is done once.

        Raises:
            Exhausted: if it has its share, or there are too many.
        """
        mine = (place, actor.identity)
        is_person = actor.kind == "person"
        # The person at this machine has no share: nobody else comes by the unix socket.
        if self._held[mine] >= self._each and not (is_person and actor.token is None):
            raise Exhausted(
                f"this credential holds {self._each} {self._what}", hint="close some of them"
            )
        most = self._most if is_person else self._most - self._for_people
        if self._in_all[place] >= most:
            raise Exhausted(f"there are {most} {self._what}", hint="close some of them")
        self._held[mine] += 1
        self._in_all[place] += 1
        return once(lambda: self._give_back(mine, place))

    @contextmanager
    def taken(self, actor: Actor, place: str = "") -> Generator[None]:
        """One more while inside.

        Raises:
            Exhausted: as `take` does.
        """
        give_back = self.take(actor, place)
        try:
            yield
        finally:
            give_back()

    def _give_back(self, mine: tuple[str, str], place: str) -> None:
        self._held[mine] -= 1
        self._in_all[place] -= 1
        if not self._held[mine]:
            del self._held[mine]
        if not self._in_all[place]:
            del self._in_all[place]


def once(call: Callable[[], None]) -> Callable[[], None]:
    """The same, the first time."""
    left = [call]

    def called() -> None:
        if left:
            left.pop()()

    return called
