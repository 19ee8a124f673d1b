"""What stands between a call and its effect, put together: trail, approvals, deciding."""

import logging
import os
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from duetty.approvals import Approvals
from duetty.audit import Filters, Limits, Trail, records
from duetty.calls import Actor
from duetty.clock import Clock
from duetty.config import Paths, Settings
from duetty.errors import StateUnwritable
from duetty.ops.guardrail.decision_path import Deciding
from duetty.ops.guardrail.judge import Judging
from duetty.ops.guardrail.question_context import SessionQuestions
from duetty.ops.guardrail.server_files import OwnThings
from duetty.ops.rule_names import RULE_NAMES
from duetty.ops.rulebook.book import Rulebook
from duetty.session import RecordedRun, Registry
from duetty.store import Store
from duetty.upstreams import Upstreams, no_upstreams

RUNS_LOOK = 200
"""Runs looked at for whose the blocks of a killed server are."""

SETTLED_LOOK = 1_000
"""Records looked through for answers that the store did not get any more."""

log = logging.getLogger("duetty.oversight")


@dataclass(frozen=True, slots=True, kw_only=True)
class Oversight:
    trail: Trail
    approvals: Approvals
    deciding: Deciding
    upstreams: Upstreams
    runs_of: Callable[[str], list[RecordedRun]]
    """The runs of a session that the trail knows of, newest first."""


@contextmanager
def open_oversight(
    paths: Paths,
    settings: Settings,
    clock: Clock,
    *,
    store: Store,
    registry: Registry,
    upstreams: Callable[[], Upstreams] = no_upstreams,
) -> Generator[Oversight]:
    """Before the first session is opened or restored: from here on nothing runs undecided.

    Raises:
        BadSetting: if a rule is broken.
        StateUnwritable: if the trail's directory cannot be used.
    """
    book = Rulebook(paths.config_file, RULE_NAMES)
    limits = Limits(file_bytes=settings.audit_file_mib << 20, files=settings.audit_files)
    registry.hidden = (*registry.hidden, *of_every_instance(paths, home=registry.home))
    opened = partial(
        Trail, clock=clock, limits=limits, store=store, required=settings.audit_required
    )
    with _opened(paths.audit, opened) as trail:
        tools = upstreams()
        judging = Judging(
            settings=settings,
            book=book,
            clock=clock,
            home=registry.home,
            own_things=OwnThings(registry.hidden, registry.home),
            own_pids=lambda: (os.getpid(), registry.keeper_pid or os.getpid()),
            tools=tools,
        )
        questions = SessionQuestions(registry, judging)
        approvals = Approvals(
            store,
            trail,
            clock,
            wait_s=settings.approval_wait_s,
            ask=settings.approval_ask,
            context=questions,
        )
        left = store.open_approvals()
        approvals.restore(left, store.standing_approvals(), settled=_settled(trail) if left else {})
        deciding = Deciding(
            settings=settings,
            clock=clock,
            registry=registry,
            approvals=approvals,
            trail=trail,
            judging=judging,
            questions=questions,
        )
        registry.listen(ended=lambda session: approvals.withdraw(session.profile.id))
        yield Oversight(
            trail=trail,
            approvals=approvals,
            deciding=deciding,
            upstreams=tools,
            runs_of=partial(_runs_of, trail),
        )


def of_every_instance(paths: Paths, *, home: str) -> tuple[Path, ...]:
    """Where servers of this person keep their things: none of them is for a sandbox's eyes.

    The settings' whole directory where it is ours alone: a file that is replaced, or
    made, while a sandbox runs is seen inside. The usual places of servers that keep them
    elsewhere than this one are added by the sandbox itself, which makes them before it starts.
    """
    places = (paths.state.parent, paths.runtime.parent, paths.config_file)
    config = paths.config_file.parent
    if config in (Path(home), *Path(home).parents):
        return places
    if config.name == "duetty":
        with suppress(OSError):
            config.mkdir(mode=0o700, parents=True, exist_ok=True)
    elif not _is_ours_alone(config, places):
        return places  # a DUETTY_HOME with things of the person in it
    return (*places, config)


def _is_ours_alone(directory: Path, places: Collection[Path]) -> bool:
    try:
        return all(each in places for each in directory.iterdir())
    except OSError:
        return False


def _opened(directory: Path, opened: Callable[[Path], Trail]) -> Trail:
    try:
        return opened(directory)
    except OSError as error:
        raise StateUnwritable(
            f"cannot use the audit trail in {directory}: {error.strerror}",
            hint="check that the directory is yours, can be written and has space left",
        ) from error


def _runs_of(trail: Trail, session: str) -> list[RecordedRun]:
    """The runs of a session that the trail has, newest first."""
    found = records(trail.directory, Filters(kind="call", operation="command.run"), limit=RUNS_LOOK)
    return [
        RecordedRun(
            command_line=str(each.fields["judged"].get("command_line")),
            at_ns=each.at_ns,
            actor=Actor(kind=each.fields["actor"]["kind"], name=each.fields["actor"]["name"]),
        )
        for each in found
        if each.fields.get("session_id") == session and "judged" in each.fields
    ]


def _settled(trail: Trail) -> dict[str, str]:
    ended = ("granted", "rejected", "expired", "withdrawn")
    found = records(trail.directory, Filters(kind="approval"), limit=SETTLED_LOOK)
    return {
        str(each.fields["approval"]): str(each.fields["event"])
        for each in found
        if each.fields.get("event") in ended
    }
