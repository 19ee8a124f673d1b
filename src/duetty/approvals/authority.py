"""Who may answer a question, and how far the answer may go."""

from duetty.approvals.question import Answer, may_see
from duetty.calls import Actor, Scope
from duetty.errors import ApprovalNotFound, NotAPerson, ScopeMissing
from duetty.store import ApprovalRecord

ANSWERING = frozenset({Scope.APPROVE, Scope.ADMIN})
"""What a person's credential must allow, one of them."""


def may_answer(actor: Actor) -> bool:
    return actor.kind == "person" and bool(ANSWERING & actor.scopes)


def check_may_answer(actor: Actor) -> None:
    """Raises:
    NotAPerson: for an agent or a node, whatever its credential allows.
    ScopeMissing: for a person whose credential does not allow it.
    """
    if actor.kind != "person":
        raise NotAPerson(
            "an agent's credential cannot answer for a person",
            hint="answer on the page, in an attached terminal, or with `duetty approve`",
        )
    if not may_answer(actor):
        raise ScopeMissing(
            "answering needs the scope 'approve' or 'admin'",
            details={"needs": sorted(ANSWERING), "has": sorted(actor.scopes)},
        )


def check_reaches(actor: Actor, record: ApprovalRecord, answer: Answer) -> None:
    """Raises:
    ApprovalNotFound: if the question is not about the one session that the actor may reach.
    ScopeMissing: if the answer goes beyond a yes or no to what was asked.
    """
    if not may_see(actor, session=record.session, session_id=record.session_id):
        raise ApprovalNotFound(record.id)
    if Scope.ADMIN in actor.scopes and actor.session is None:
        return
    if answer.covers not in ("once", "session"):
        raise too_little("a yes beyond the session needs the scope 'admin', for all sessions")
    if answer.command_line is not None and not {Scope.ADMIN, Scope.INPUT} & actor.scopes:
        raise too_little("changing the command line needs the scope 'input' or 'admin'")


def too_little(message: str) -> ScopeMissing:
    return ScopeMissing(message, hint="answer yes or no, once or for the session")
