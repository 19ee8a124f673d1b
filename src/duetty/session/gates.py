"""The gates of all sessions: where each is, and who answers what a shell asks there."""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import anyio.abc

from duetty.blocks import Phase
from duetty.calls import Actor
from duetty.errors import DuettyError
from duetty.ids import SessionId
from duetty.session.gate import Gate, Judge, Question, decide
from duetty.session.session import Session

log = logging.getLogger("duetty.sessions")

SOMEBODY = Actor(kind="agent", name="unknown")
"""Whoever wrote a line that an earlier server was asked about."""


class Gates:
    """Whether a shell asks is settled when it starts; a restarted server finds its gate again."""

    def __init__(
        self, scratch: Path, tasks: anyio.abc.TaskGroup, judge: Callable[[], Judge | None]
    ) -> None:
        self._scratch = scratch
        self._tasks = tasks
        self._judge = judge
        self._answering: dict[SessionId, anyio.CancelScope] = {}
        """What is being decided: one question of each shell, which can wait for one answer only."""

    def path(self, id_: SessionId) -> Path:
        return self._scratch / f"{id_}.gate"

    def open(self, session: Session) -> None:
        """Have this session's questions answered, if its shell asks any."""
        path = self.path(session.profile.id)
        if path.exists():
            session.gate = Gate(path, nonce=session.profile.nonce)
            if session.journal.end:
                session.gate.inherit(SOMEBODY)
                session.gate.has_begun = session.phase is not Phase.SILENT
            session.on_question = partial(self._start_answer, session)
            if session.question is not None:  # asked of the server before us; by whom is not known
                self._start_answer(session, replace(session.question, actor=SOMEBODY))

    def remove(self, id_: SessionId) -> None:
        Gate(self.path(id_), nonce="").remove()

    def _start_answer(self, session: Session, question: Question | None) -> None:
        """Another question, or none any more: whatever was asked before is over."""
        if (before := self._answering.pop(session.profile.id, None)) is not None:
            before.cancel()
        if question is not None:
            scope = self._answering[session.profile.id] = anyio.CancelScope()
            self._tasks.start_soon(self._answer, session, question, scope)

    async def _answer(self, session: Session, question: Question, scope: anyio.CancelScope) -> None:
        """Have it decided; the shell waits, for as long as that takes."""
        gate = session.gate
        if gate is None:
            return
        judge = self._judge()
        with scope:
            refusal = await decide(judge, session.name, question) if judge is not None else None
            if self._answering.get(session.profile.id) is not scope:
                return  # the line is gone, with Ctrl-C perhaps: the next question is about another
            del self._answering[session.profile.id]
            if session.question is question:
                session.question = None
            try:
                await gate.answer(question, refusal)
            except DuettyError as error:
                told = {"session": session.name, "reason": error.message}
                log.warning("gate_unanswered", extra=told)
