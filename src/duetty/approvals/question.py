"""A question to a person, and its possible answers."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from duetty.calls import Actor, RecordKind
from duetty.store import ApprovalRecord, Covers


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """The warning for a command line that a person gives instead of the one asked for."""

    denied: str | None = None
    """Why it may not run at all."""

    reason: str | None = None
    """Why a person has to be asked about it too, where the question did not say so."""

    rule: str | None = None
    classes: tuple[str, ...] = ()
    """Those that the question did not name."""

    suggestion: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything that the answer depends on."""

    operation: str
    actor: Actor
    session: str | None = None
    session_id: str | None = None
    command_line: str | None = None
    cwd: str | None = None
    reason: str
    rule: str | None = None
    classes: tuple[str, ...] = ()
    suggestion: str | None = None
    purpose: str | None = None
    """What for, in the asker's own words. No answer depends on it."""

    project: str = ""
    """Path of the workspace, for an answer that is to hold in all of it; empty where there is none."""

    policy: str = ""
    """Digest of the rules in force: an answer given under others is void."""

    context: str | None = None
    """What was judged, to judge a changed line alike when the asking call is gone."""

    judge: Callable[[str], Edited] | None = field(default=None, compare=False, repr=False)
    """Judges a changed line as the asking call would be, with all that comes besides the words."""

    can_stand: bool = False
    """Whether the line always does the same, so that an answer may cover it again."""

    @property
    def digest(self) -> str:
        """What an answer is bound to."""
        facts = (
            self.operation,
            self.actor.kind,
            self.actor.name,
            self.session_id,
            self.command_line,
            self.cwd,
            self.policy,
        )
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person says."""

    granted: bool
    covers: Covers = "once"
    hours: float | None = None
    """For how long, where `covers` is hours; None is one."""

    command_line: str | None = None
    """To be run in place of the one that was asked for."""

    confirm: bool = False
    """The person saw the warning about the changed line, and confirms it."""

    rule: str | None = None
    """What the person was shown of what would be kept; for `always` it must be given."""

    note: str | None = None


UNUSABLE = "unusable answer"
"""Note of an automatic no: the form came back empty or with other fields."""

HostAsk = Callable[[ApprovalRecord], Awaitable[Answer | None]]
"""Puts the question to the person at the asking agent's own host; None if they gave no answer.

The MCP edge hands one in with a call whose client can be asked (elicitation). It
is cancelled when an answer comes from elsewhere.
"""


def may_see(actor: Actor, *, session: str | None, session_id: str | None) -> bool:
    """Whether a question about this session, or about none, is one for this actor."""
    if actor.session is None:
        return True
    if actor.session_id is not None:
        return actor.session_id == session_id  # whatever it is called now
    return actor.session == session


class Recorder(Protocol):
    """The audit trail, as far as it is needed here."""

    def record(self, kind: RecordKind, **fields: object) -> int: ...
