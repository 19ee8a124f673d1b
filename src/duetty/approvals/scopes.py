"""How far a yes can go: what is offered for a question, in which words, and what it covers then.

Each choice is narrow, and says in one sentence what it lets through. All are for the agent
that asked, and for no line that is grave or whose text does not tell what it does.
"""

import os
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from duetty.approvals.question import Question
from duetty.store import ApprovalRecord, Covers, StandingRecord

HOURS = 1.0

CATALOGUE = "catalogue:"
"""How the rule of a question begins that policy asks for a class; all others were written by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    covers: Covers
    says: str
    """What runs unasked then, to be read beside the question."""

    rule: str | None = None
    """The same in full, as it is kept and listed; None for `once`, which leaves nothing."""


def choices(asked: ApprovalRecord) -> tuple[Choice, ...]:
    """The ways to say yes to this, narrowest first."""
    once = Choice(covers="once", says="this call and nothing after it")
    line = asked.command_line
    if not asked.can_stand:
        return (once,)
    if line is None:
        tool = Choice(
            covers="conversation",
            says="this tool, whatever it is given, for the rest of this conversation",
            rule=f"allow {asked.operation} for conversation {asked.conversation}",
        )
        return (once,) if asked.conversation is None else (once, tool)
    agent = f"{asked.actor_kind} {asked.actor_name!a}"
    what = f"{asked.operation} of {line!a}"
    here = f"{what} in {asked.cwd or 'any directory'}"
    offered = [once]
    if asked.conversation is not None:
        offered.append(
            Choice(
                covers="conversation",
                says="the same line, in this directory, for the rest of this conversation",
                rule=f"allow {here} for conversation {asked.conversation}",
            )
        )
    if asked.session_id is not None:
        offered.append(
            Choice(
                covers="session",
                says="the same line by this agent, in this directory, until this session ends",
                rule=f"allow {here} for {agent}, in session {asked.session!a} only",
            )
        )
    if is_inside(asked.cwd, asked.project):
        offered.append(
            Choice(
                covers="project",
                says=f"the same line by this agent, anywhere in {asked.project}, in every session,"
                " until you take it back",
                rule=f"allow {what} anywhere in {asked.project} for {agent}",
            )
        )
    if (place := _place(asked)) is not None:
        classes = " or ".join(asked.classes)
        offered.append(
            Choice(
                covers="hours",
                says=f"every line of this agent that is asked about as {classes}, {place}, until"
                " the time is up; never what a rule of yours asks about or denies",
                rule=f"allow what is asked about as {classes} {place} for {agent}",
            )
        )
    else:
        offered.append(
            Choice(
                covers="hours",
                says="the same line by this agent, in this directory, in every session, until the"
                " time is up",
                rule=f"allow {here} for {agent}",
            )
        )
    offered.append(
        Choice(
            covers="always",
            says="the same line by this agent, in this directory, in every session, until you take"
            " it back",
            rule=f"allow {here} for {agent}",
        )
    )
    return tuple(offered)


def _place(asked: ApprovalRecord) -> str | None:
    """Where a class of questions can be let through for a time; None: only the line itself can."""
    if not asked.classes or not (asked.rule or "").startswith(CATALOGUE):
        return None
    if is_inside(asked.cwd, asked.project):
        return f"anywhere in {asked.project}"
    return None if asked.session_id is None else f"in session {asked.session!a}"


def bounds(asked: ApprovalRecord, covers: Covers) -> dict[str, Any]:
    """The fields of a standing approval that a later call must match."""
    line = {"operation": asked.operation, "command_line": asked.command_line}
    session = {"session_id": asked.session_id, "session": asked.session}
    project = {"project": asked.project}
    if covers == "conversation":
        return line | ({} if asked.command_line is None else {"cwd": asked.cwd})
    if covers == "session":
        return line | session | {"cwd": asked.cwd}
    if covers == "project":
        # In another directory the line may do something else: then something else asks, or finds more.
        return line | project | {"asked_by": asked.rule, "classes": asked.classes}
    if covers == "hours" and _place(asked) is not None:
        inside = is_inside(asked.cwd, asked.project)
        return {"classes": asked.classes} | (project if inside else session)
    return line | {"cwd": asked.cwd}


def is_covered(question: Question, standing: StandingRecord) -> bool:
    """Whether a yes that stands covers this: everything that it names is the same again."""
    if (standing.actor_kind, standing.actor_name) != (question.actor.kind, question.actor.name):
        return False
    if standing.session_id not in (None, question.session_id):
        return False
    if standing.project is not None and not (
        standing.project == question.project and is_inside(question.cwd, standing.project)
    ):
        return False
    if standing.asked_by not in (None, question.rule):
        return False
    if standing.covers == "conversation":  # the actor is the conversation
        return (standing.operation, standing.command_line, standing.cwd) == (
            question.operation,
            question.command_line,
            None if question.command_line is None else question.cwd,
        )
    if standing.command_line is None:
        return (
            bool(question.classes)
            and set(question.classes) <= set(standing.classes)
            and (question.rule or "").startswith(CATALOGUE)
        )
    return (
        standing.operation == question.operation
        and standing.command_line == question.command_line
        and (standing.project is not None or standing.cwd == question.cwd)
        and (standing.project is None or set(question.classes) <= set(standing.classes))
    )


def is_inside(directory: str | None, project: str) -> bool:
    """Whether a directory is the project's own, wherever links lead."""
    if not directory or not project:
        return False
    return PurePath(os.path.realpath(directory)).is_relative_to(os.path.realpath(project))
