"""Questions of upstreams that wait for a person: forms, addresses to open, completions to write.

Each ends once: by an answer, or when its caller goes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any, Literal

import anyio

from duetty.clock import Clock
from duetty.errors import Exhausted, QuestionNotFound

Kind = Literal["form", "url", "sampling"]

MAX_WAITING = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    upstream: str
    kind: Kind
    asker: str
    """Who made the call during which it came; empty where that is not known."""

    request: Mapping[str, Any]
    """As the upstream sent it."""

    asked_ns: int
    id: str = field(default_factory=lambda: token_hex(5))


class Questions:
    def __init__(self, clock: Clock, changed: Callable[[], None]) -> None:
        self._clock = clock
        self._changed = changed
        self._waiting: dict[str, tuple[Question, anyio.Event]] = {}
        self._answers: dict[str, dict[str, Any]] = {}

    def all(self) -> list[Question]:
        """Oldest first."""
        return [question for question, _ in self._waiting.values()]

    async def ask(
        self, upstream: str, kind: Kind, request: Mapping[str, Any], *, asker: str
    ) -> dict[str, Any]:
        """The answer of a person; for as long as it is waited for.

        Raises:
            Exhausted: too many wait already.
        """
        if len(self._waiting) >= MAX_WAITING:
            raise Exhausted(f"{MAX_WAITING} questions of upstreams wait for a person")
        question = Question(
            upstream=upstream,
            kind=kind,
            asker=asker,
            request=request,
            asked_ns=self._clock.wall_ns(),
        )
        answered = anyio.Event()
        self._waiting[question.id] = question, answered
        self._changed()
        try:
            await answered.wait()
            return self._answers.pop(question.id)
        finally:
            self._waiting.pop(question.id, None)
            self._answers.pop(question.id, None)
            self._changed()

    def find(self, id_: str) -> Question:
        """Raises:
        QuestionNotFound: if it does not wait (any more).
        """
        if id_ not in self._waiting or id_ in self._answers:
            raise QuestionNotFound(id_)
        return self._waiting[id_][0]

    def settle(self, id_: str, answer: dict[str, Any]) -> None:
        """Raises:
        QuestionNotFound: if it does not wait (any more).
        """
        self.find(id_)
        self._answers[id_] = answer
        self._waiting[id_][1].set()
