"""Operations on sessions: open, list, look, change, signal, close, remove."""

import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from posixpath import normpath

import anyio

from duetty.calls import Actor, Effect
from duetty.errors import (
    BadCommand,
    BadWorkingDirectory,
    Conflict,
    ForkFailed,
    InvalidSessionName,
    InvalidTag,
    KeeperUnavailable,
    MaxSessions,
    MultipleSessions,
    NoActiveSession,
    NotAPerson,
    PolicyDenied,
    SandboxUnavailable,
    SessionExited,
    SessionNameConflict,
    StateUnwritable,
)
from duetty.ids import checked_session_name, checked_tag
from duetty.ops.judgements import PLAIN, RunsLine
from duetty.ops.operation import InSession, Operation, Route
from duetty.ops.rooms import HOW_TO_JOIN, listed_rooms, room_candidates
from duetty.ops.sandbox_choice import sandbox_order
from duetty.ops.selection import HOW_TO_START, Candidate, candidate_of, select
from duetty.ops.services import Services
from duetty.ops.shapes import session_info
from duetty.session import Bounds, OpenRequest, Session
from duetty.wire.params import (
    CloseParams,
    ListParams,
    OpenParams,
    ResizeParams,
    SelectParams,
    SessionParams,
    SignalParams,
    UpdateParams,
)
from duetty.wire.results import Done, SelectedSession, SessionInfo
from duetty.workspaces import workspace_of

MAX_SIZE = 1_000


def clamped(size: int) -> int:
    """Sizes are brought into range, not refused: that is the published contract."""
    return max(1, min(size, MAX_SIZE))


async def _open(params: OpenParams, services: Services, actor: Actor) -> SessionInfo:
    request = _open_request(params, services, actor)
    _keep_bound(services, actor, request.cwd or services.registry.home, given=request.tags)
    session = await services.registry.open(request)
    return session_info(session, services.node)


async def _check_open(params: OpenParams, services: Services, actor: Actor) -> None:
    request = _open_request(params, services, actor)
    _keep_bound(services, actor, request.cwd or services.registry.home, given=request.tags)
    await services.registry.check(request)


def _open_request(params: OpenParams, services: Services, actor: Actor) -> OpenRequest:
    settings = services.settings
    return OpenRequest(
        name=checked_session_name(params.name) if params.name is not None else None,
        command=params.command,
        cols=clamped(params.cols if params.cols is not None else settings.session_cols),
        rows=clamped(params.rows if params.rows is not None else settings.session_rows),
        cwd=params.cwd,
        env=services.agents.without_key(params.env or {}),
        inherit_env=params.inherit_env,
        tags=frozenset(checked_tag(tag) for tag in params.tags),
        integration=(
            params.integration if params.integration is not None else settings.session_integration
        ),
        sandbox=sandbox_order(params, settings, actor, services.registry),
        owner=actor.identity,
        keeps_name=params.keep_name,
        bounds=_bounds(params, services),
        left_by=actor.caller if params.background else None,
    )


def _bounds(params: OpenParams, services: Services) -> Bounds:
    run_ms = params.max_run_ms
    return Bounds(
        ends_at_ns=None if run_ms is None else services.clock.wall_ns() + run_ms * 1_000_000,
        max_output_bytes=params.max_output_bytes,
    )


async def _list(params: ListParams, services: Services, actor: Actor) -> list[SessionInfo]:
    wanted = {tag.strip() for given in params.tag for tag in given.split(",") if tag.strip()}
    sessions = [
        session
        for session in services.registry.sessions()
        if (not wanted or wanted & session.profile.tags)
        and actor.session in (None, session.profile.name)
    ]
    await _look_at(sessions)
    return [session_info(session, services.node) for session in sessions]


async def _look_at(sessions: list[Session]) -> None:
    """Only the running ones need the kernel; they are asked side by side."""
    running = [each for each in sessions if each.state().word in ("running", "unknown")]
    with anyio.move_on_after(1):
        async with anyio.create_task_group() as tasks:
            for session in running:
                tasks.start_soon(session.look)


async def _get(
    params: SessionParams, session: Session, services: Services, actor: Actor
) -> SessionInfo:
    await session.look()
    return session_info(session, services.node)


def _keep_bound(
    services: Services,
    actor: Actor,
    cwd: str,
    *,
    given: Iterable[str] = (),
    taken: Iterable[str] = (),
) -> None:
    """An actor that a rule binds by a tag does not choose the tag: only a person loosens."""
    if actor.kind == "person":
        return
    rules = services.deciding.rules + services.deciding.judging.projects.of(cwd)
    for rule in rules.rules:
        allows = rule.decide == "allow"
        tag = next(filter(rule.names_tag, sorted(given if allows else taken)), None)
        if tag is not None:
            change = "put on" if allows else "taken off"
            raise PolicyDenied(
                f"not done: a rule goes by the tag {tag!r}, so it is {change} by a person only",
                hint="have a person change the tags",
                details={
                    "reason": "denied_by_rule",
                    "rule": f"rule:{rule.name}",
                    "classes": [],
                    "tag": tag,
                },
            )


async def _check_update(
    params: UpdateParams, session: Session, services: Services, actor: Actor
) -> None:
    if params.workspace is not None:
        _check_workspace(params.workspace, actor, home=services.registry.home)
    tags, taken = session.profile.tags, set(params.remove_tags)
    _keep_bound(
        services,
        actor,
        session.cwd,
        given=set(params.add_tags) - tags - taken,
        taken=tags & taken,
    )


def _check_workspace(workspace: str, actor: Actor, *, home: str) -> None:
    if actor.kind != "person":
        raise NotAPerson(
            "only a person can set a session's workspace",
            hint="work inside the workspace that `session.get` shows",
        )
    if workspace and (not Path(workspace).is_dir() or not workspace_of(workspace, home)):
        raise BadWorkingDirectory(
            f"{workspace!r} cannot be a workspace",
            hint="give an absolute directory that exists: no home, no directory of the system",
        )


async def _update(
    params: UpdateParams, session: Session, services: Services, actor: Actor
) -> SessionInfo:
    await _check_update(params, session, services, actor)
    name = checked_session_name(params.name) if params.name is not None else None
    added = {checked_tag(tag) for tag in params.add_tags}
    removed = {checked_tag(tag) for tag in params.remove_tags}
    # Everything is checked before anything changes.
    if name is not None:
        services.registry.rename(session, name)
    if params.workspace is not None:
        services.registry.set_workspace(session, normpath(params.workspace or "/").rstrip("/"))
    if added or removed:
        services.registry.retag(session, (session.profile.tags | added) - removed)
    return session_info(session, services.node)


async def _resize(
    params: ResizeParams, session: Session, services: Services, actor: Actor
) -> SessionInfo:
    services.registry.resize(session, cols=clamped(params.cols), rows=clamped(params.rows))
    return session_info(session, services.node)


async def _signal(params: SignalParams, session: Session, services: Services, actor: Actor) -> Done:
    await services.registry.signal(session, signal.Signals[f"SIG{params.signal}"], whom=params.whom)
    return Done()


async def _close(
    params: CloseParams, session: Session, services: Services, actor: Actor
) -> SessionInfo:
    await services.registry.close(
        session,
        first=signal.Signals[f"SIG{params.signal}"],
        grace_s=_grace_s(params, services),
    )
    return session_info(session, services.node)


async def _remove(params: CloseParams, session: Session, services: Services, actor: Actor) -> Done:
    await services.registry.close(
        session,
        first=signal.Signals[f"SIG{params.signal}"],
        grace_s=_grace_s(params, services),
    )
    await services.registry.remove(session)
    return Done()


def _grace_s(params: CloseParams, services: Services) -> float:
    grace_ms = (
        params.grace_ms if params.grace_ms is not None else services.settings.session_grace_ms
    )
    return grace_ms / 1000


def own_candidates(services: Services, actor: Actor) -> list[Candidate]:
    """Those of this node."""
    return [
        candidate_of(session, services.node.hostname)
        for session in services.registry.sessions()
        if _may_be_meant(session, actor)
    ]


def _may_be_meant(session: Session, actor: Actor) -> bool:
    """A background run takes no input."""
    if session.is_exited or session.profile.id in session.left:
        return False
    is_confined = actor.confined is None or session.profile.sandbox != "none"
    return actor.session in (None, session.name) and is_confined


async def _select(params: SelectParams, services: Services, actor: Actor) -> SelectedSession:
    candidates: Sequence[Candidate] = own_candidates(services, actor)
    if params.room_tool is not None:
        rooms = await listed_rooms(services, actor.user)
        candidates = room_candidates(rooms, params.room_tool)
    elif services.candidates is not None:
        candidates = await services.candidates(actor)
    return selected(candidates, params)


def selected(candidates: Sequence[Candidate], params: SelectParams) -> SelectedSession:
    """Raises:
    NoActiveSession, MultipleSessions: as `select` does.
    """
    how = HOW_TO_START if params.room_tool is None else HOW_TO_JOIN
    found = select(candidates, remembered=params.remembered, how_to_start=how)
    return SelectedSession(
        session=found.name,
        session_id=found.session_id,
        machine=found.machine,
        reason="remembered" if found.session_id == params.remembered else "only",
    )


OPEN = Operation(
    name="session.open",
    summary="Open a session: a shell or a command on a new PTY.",
    effect=Effect.CONTROL,
    judged=RunsLine("command"),
    params=OpenParams,
    result=SessionInfo,
    run=_open,
    check=_check_open,
    route=Route(method="POST", path="/sessions", status=201),
    errors=(
        InvalidSessionName,
        InvalidTag,
        BadCommand,
        BadWorkingDirectory,
        SessionNameConflict,
        MaxSessions,
        ForkFailed,
        KeeperUnavailable,
        StateUnwritable,
        SandboxUnavailable,
    ),
)
LIST = Operation(
    name="session.list",
    summary="List the sessions, exited ones included, with what each is doing.",
    effect=Effect.READ,
    judged=PLAIN,
    params=ListParams,
    result=list[SessionInfo],
    run=_list,
    route=Route(method="GET", path="/sessions"),
    everywhere=True,
    shared=True,
)
SELECT = Operation(
    name="session.select",
    summary="The session that a call means that names none: the only active one, or the one chosen before.",
    effect=Effect.READ,
    judged=PLAIN,
    params=SelectParams,
    result=SelectedSession,
    run=_select,
    route=Route(method="GET", path="/select"),
    shared=True,
    errors=(NoActiveSession, MultipleSessions),
)
GET = Operation(
    name="session.get",
    summary="One session: name, process, size, tags, state and how it is known.",
    effect=Effect.READ,
    judged=PLAIN,
    params=SessionParams,
    result=SessionInfo,
    run=InSession(_get),
    route=Route(method="GET", path="/sessions/{session}"),
)
UPDATE = Operation(
    name="session.update",
    summary="Rename a session, add and remove tags, set its workspace; all of it or nothing.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=UpdateParams,
    result=SessionInfo,
    run=InSession(_update),
    check=InSession(_check_update),
    route=Route(method="PATCH", path="/sessions/{session}"),
    errors=(InvalidSessionName, InvalidTag, SessionNameConflict, BadWorkingDirectory, NotAPerson),
)
RESIZE = Operation(
    name="session.resize",
    summary="Change the size of a session's terminal.",
    effect=Effect.DISPLAY,
    judged=PLAIN,
    params=ResizeParams,
    result=SessionInfo,
    run=InSession(_resize),
    route=Route(method="POST", path="/sessions/{session}/resize"),
    errors=(SessionExited,),
)
SIGNAL = Operation(
    name="session.signal",
    summary="Send a signal to the foreground program or to the session's processes.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=SignalParams,
    result=Done,
    run=InSession(_signal),
    route=Route(method="POST", path="/sessions/{session}/signal", status=204),
    errors=(Conflict, SessionExited, KeeperUnavailable),
)
CLOSE = Operation(
    name="session.close",
    summary="End a session's processes, politely and then by KILL; it stays readable.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=CloseParams,
    result=SessionInfo,
    run=InSession(_close),
    route=Route(method="POST", path="/sessions/{session}/close"),
)
REMOVE = Operation(
    name="session.remove",
    summary="End a session and forget its screen and journal; its history stays.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=CloseParams,
    result=Done,
    run=InSession(_remove),
    route=Route(method="DELETE", path="/sessions/{session}", status=204),
)
