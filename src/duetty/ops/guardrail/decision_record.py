"""A decision with what it takes to make it again, ask about it and record it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from duetty.approvals import Edited, Question
from duetty.audit import MAX_TEXT
from duetty.errors import PolicyDenied
from duetty.policy import (
    CLASSES,
    Allow,
    Analysis,
    Ask,
    Decision,
    Deny,
    Judged,
    Mode,
    Profile,
    RuleSet,
    analyse_whole,
    to_json,
)
from duetty.session import Session
from duetty.store import ApprovalRecord

MAX_DETAIL = 1_000

STRICTNESS: dict[type[Decision], int] = {Allow: 0, Ask: 1, Deny: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    judged: Judged
    rules: RuleSet
    digest: str
    """Of the rules; the same rules again make the same decision again."""

    profile: Profile
    decision: Decision
    besides: str = ""
    """Digest of what a question is also about: variables, a shell, text for one, arguments of a tool."""

    arguments: str = ""
    """Of a tool, as the person who is asked reads them."""

    purpose: str | None = None
    """What for, in the caller's own words."""

    @property
    def is_rebuilt(self) -> bool:
        """Whether what runs is made of the words that were judged: a process of its own, in the strict gate."""
        judged = self.judged
        is_strict = self.profile is Profile.STRICT and judged.actor.kind != "person"
        return (is_strict or judged.mode is Mode.HEADLESS) and judged.operation.startswith(
            "process."
        )

    def unproven(self, why: str, *, instead: str = "") -> "Decided":
        """Asked about, whatever was found before."""
        decision = Ask(
            rule=f"profile:{self.profile}",
            reason="not_provable",
            detail=why,
            instead=instead,
        )
        return replace(self, decision=decision, besides="")

    def also_about(self, what: str, fact: str = "") -> "Decided":
        """A question that says this too, and whose answer is for this and nothing else."""
        decision = self.decision
        if not isinstance(decision, Ask):
            return self
        if fact:
            decision = replace(decision, detail=f"{decision.detail}; {fact}")
        besides = sha256(f"{self.besides}\n{what}".encode("utf-8", "surrogatepass")).hexdigest()
        return replace(self, decision=decision, besides=besides)

    def too_long(self, text: str, most: int) -> "Decided":
        """Denied, because no person could read all of the question."""
        assert isinstance(self.decision, Ask)
        why = f"it has {len(text)} characters, and a person is asked about {most} at most: {excerpt(text)}"
        instead = "give what is long as `stdin` or in a file, and run a shorter line"
        return replace(self, decision=as_deny(replace(self.decision, detail=why, instead=instead)))

    def withheld(self) -> "Decided":
        """Typed at a password prompt: judged like any line, and nowhere kept or shown as one."""
        decision = self.decision
        if not isinstance(decision, Allow):
            decision = Deny(
                rule=decision.rule,
                reason=decision.reason,
                detail="a program reads this without an echo, so it is kept nowhere and no person"
                " can be asked about it; as a command it would be asked about",
                instead="leave the program and run it at the session's own prompt, or in a session"
                " with that program as command",
            )
        return replace(self, judged=replace(self.judged, command_line=None), decision=decision)


EXCERPT_CHARS, HEAD_CHARS, TAIL_CHARS = 200, 120, 40
"""Of a line that is only named; what is left out is counted between head and tail."""


def excerpt(text: str) -> str:
    """The beginning and the end, which tell which one it is."""
    if len(text) <= EXCERPT_CHARS:
        return text
    left_out = f" [... {len(text) - HEAD_CHARS - TAIL_CHARS} characters ...] "
    return f"{text[:HEAD_CHARS]}{left_out}{text[-TAIL_CHARS:]}"


def denied(
    decision: Deny, judged: Judged, *, unattended: bool = False, writable: Sequence[str] = ()
) -> PolicyDenied:
    """`writable`: what a sandbox may write here."""
    where = ", and no person is there to ask" if unattended else ""
    return PolicyDenied(
        f"not run: {decision.detail}{where}",
        hint=_ways_on(decision, judged, unattended=unattended, writable=writable),
        details={
            "reason": decision.reason,
            "rule": decision.rule,
            "classes": list(decision.classes),
            "operation": judged.operation,
            "nobody_to_ask": unattended,
        },
    )


_IN_WORKSPACE = frozenset(
    {"recursive_delete", "delete_outside", "overwrite", "permissions", "system_file"}
)


def _ways_on(
    decision: Deny, judged: Judged, *, unattended: bool, writable: Sequence[str]
) -> str | None:
    """What the caller itself can do, and how a person could be reached."""
    ways = [decision.instead] if decision.instead else []
    if unattended:
        if judged.workspace and not _IN_WORKSPACE.isdisjoint(decision.classes):
            ways.append(f"paths inside the workspace {judged.workspace} need no answer")
        opens_confined = not (judged.operation.startswith("process.") or judged.dialect == "elwood")
        is_contained = decision.reason == "destructive" and not judged.sandbox
        if is_contained and writable and opens_confined:
            places = ", ".join(writable[:3])
            ways.append(
                f'allowed in a session opened with sandbox "any", which writes {places} only'
            )
        ways.append(
            "a person can answer on Duetty's page (`duetty token link`) or in `duetty attach`:"
            " ask them to open one, then call again"
        )
    return "; ".join(ways) or None


def as_deny(ask: Ask) -> Deny:
    return Deny(
        rule=ask.rule,
        reason=ask.reason,
        detail=ask.detail,
        classes=ask.classes,
        instead=ask.instead,
    )


def _classes(ask: Ask, every: Analysis | None) -> tuple[str, ...]:
    if every is None or not every.scan.findings:
        return ask.classes
    # A decision needs one class to ask; the person who answers sees each of them.
    return tuple(dict.fromkeys((*ask.classes, *every.scan.classes)))


def edited_of(
    decided: Decided, asked: Question | ApprovalRecord, session: Session | None
) -> Edited:
    """What a changed line does that the question did not say."""
    decision = decided.decision
    if isinstance(decision, Allow):
        return Edited()
    if isinstance(decision, Deny):
        return Edited(denied=decision.detail)
    now = question_of(decided, session)
    fresh = tuple(each for each in now.classes if each not in asked.classes)
    is_known = now.rule == asked.rule or (now.classes and not fresh)
    if not fresh and is_known:
        return Edited()
    return Edited(
        reason=now.reason,
        rule=now.rule,
        classes=fresh,
        suggestion=now.suggestion,
    )


def question_of(decided: Decided, session: Session | None) -> Question:
    ask, judged = decided.decision, decided.judged
    assert isinstance(ask, Ask)
    line = judged.command_line
    every = (
        None
        if line is None
        else analyse_whole(line, judged.cwd, judged.shell, judged.workspace, judged.home)
    )
    classes = _classes(ask, every)
    grave = any(CLASSES[each].grave for each in classes if each in CLASSES)
    reason, operation = ask.detail, judged.operation
    if judged.tool is not None:
        operation = f"mcp__{judged.tool[0]}__{judged.tool[1]}"
        reason = f"{reason}. Arguments, in the agent's words: {decided.arguments}"
    return Question(
        operation=operation,
        actor=judged.actor,
        session=None if session is None else session.name,
        session_id=None if session is None else session.profile.id,
        command_line=line,
        cwd=judged.cwd or None,
        reason=reason,
        rule=ask.rule,
        classes=classes,
        suggestion=ask.instead or None,
        purpose=decided.purpose,
        context=None if line is None else json.dumps(judged.to_json()),
        project=judged.workspace,
        policy=f"{decided.digest}{decided.besides}",
        can_stand=(
            judged.actor.conversation is not None
            if judged.tool is not None
            else every is not None and not grave and not decided.besides and every.doubt is None
        ),
    )


def decision_record(decided: Decided, *, can_ask: bool) -> dict[str, object]:
    """The decision as the trail keeps it, with what it takes to make it again."""
    kept = to_json(decided.decision, canonical=decided.is_rebuilt)
    if isinstance(detail := kept.get("detail"), str):
        kept["detail"] = detail[:MAX_DETAIL]
    kept |= {"profile": str(decided.profile), "policy": decided.digest, "can_ask": can_ask}
    return kept


def judged_record(decided: Decided) -> dict[str, object]:
    """What policy saw. A line that is too long to be kept is too long to be read there too."""
    kept = decided.judged.to_json()
    line = decided.judged.command_line
    if line is not None and len(line) > MAX_TEXT:
        digest = sha256(line.encode("utf-8", "surrogatepass")).hexdigest()
        kept |= {"command_line": line[:MAX_TEXT], "chars": len(line), "sha256": digest}
    return kept
