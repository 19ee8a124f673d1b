"""What approvals ask about, as it is now: sessions by their ids, and lines as the rules judge them."""

import json
from dataclasses import replace

from duetty.approvals import Edited
from duetty.errors import SessionNotFound
from duetty.ops.guardrail.decision_record import edited_of
from duetty.ops.guardrail.judge import Judging
from duetty.policy import Judged
from duetty.session import Registry
from duetty.store import ApprovalRecord


class SessionQuestions:
    def __init__(self, registry: Registry, judging: Judging) -> None:
        self._registry = registry
        self._judging = judging

    def name_of(self, session_id: str) -> str | None:
        try:
            session = self._registry.find(session_id)
        except SessionNotFound:
            return None
        return session.name if session.profile.id == session_id else None

    def has_ended(self, session_id: str) -> bool:
        try:
            return self._registry.find(session_id).is_exited
        except SessionNotFound:
            return True

    def judge_edited(self, record: ApprovalRecord, line: str) -> Edited:
        """Of a question whose call ended with an earlier server: by what is kept of it."""
        if record.context is None:
            return Edited(denied="what it was asked for is not known any more")
        judged = Judged.from_json(json.loads(record.context))
        return edited_of(self._judging.decide(replace(judged, command_line=line)), record, None)
