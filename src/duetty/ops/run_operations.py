"""Operations that wait: run a command line, wait for something in a session."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from duetty.calls import Actor, Effect
from duetty.errors import (
    Deadline,
    IdleTimeout,
    SessionBusy,
    SessionExited,
    WaitTimeout,
)
from duetty.ops.judgements import PLAIN, RunsLine
from duetty.ops.operation import InSession, Operation, Route
from duetty.ops.services import Services
from duetty.ops.shapes import (
    EXCERPT_CHARS,
    block_info,
    exit_code_of,
    foreground_info,
    left_info,
)
from duetty.session import (
    Block,
    Found,
    Left,
    Needle,
    Run,
    RunAnswer,
    Session,
    row_of,
    screen_shape,
    wait_block,
    wait_exit,
    wait_idle,
    wait_state,
    wait_text,
)
from duetty.wire.params import MAX_IDLE_MS, IdleParams, Nothing, RunParams, WaitParams, WatchParams
from duetty.wire.results import (
    Background,
    BlockInfo,
    Ended,
    Idle,
    LeftRunning,
    RunResult,
    ScreenCursor,
    WaitResult,
)

INTERRUPT_S = 2.0
"""For Ctrl-C after the caller has gone."""


async def _run(params: RunParams, session: Session, services: Services, actor: Actor) -> RunResult:
    fed_from = await _kept_input(params, services, session)
    run = Run(
        session=session,
        line=params.input,
        actor=actor,
        quiet_s=params.timeout_ms / 1000,
        clock=services.clock,
        until=needle_of(params.until_text, params.until_regex),
        fed_from=fed_from,
    )
    try:
        return await _answer(run, params, services, actor)
    finally:
        if fed_from is not None and (run.has_begun or run.completed_by or not run.typed):
            fed_from.unlink(missing_ok=True)  # else the shell has yet to open it


async def _kept_input(params: RunParams, services: Services, session: Session) -> Path | None:
    if params.stdin is None or session.is_exited:
        return None
    keep = services.registry.scratch.keep_input
    return await anyio.to_thread.run_sync(keep, session.profile.id, params.stdin_bytes())


async def _answer(run: Run, params: RunParams, services: Services, actor: Actor) -> RunResult:
    session = run.session
    try:
        with anyio.move_on_after(params.max_wait_ms / 1000) as bound:

            async def gone() -> None:
                if params.interrupt and run.typed and not bound.cancel_called:
                    await services.registry.interrupt(session, actor=actor)
                    await run.wait()

            await _run_in_turn(session, run, gone)
    except BaseException:
        run.close()
        raise
    if not run.typed:
        run.close()
        raise _not_typed(session)
    limit = params.max_output_bytes or services.settings.run_output_bytes
    answer = await run.answer(output_limit=limit)
    if params.interrupt and answer.completed_by == "deadline":
        await services.registry.interrupt(session, actor=actor)
    return await run_result(answer, session, params, services, actor)


def _not_typed(session: Session) -> Deadline:
    program = session.foreground
    if program is None:
        return Deadline(
            f"the line was not typed: {session.name!r} was not ready for it in that time",
            hint="earlier calls, or a slow prompt, took it; give a longer max_wait_ms",
        )
    return Deadline(
        f"the line was not typed: {program.name} (pid {program.pid}) has had the terminal of "
        f"{session.name!r} for {program.since_s:g} s and reads nothing",
        hint="run it in another session; or press Ctrl-C first; or wait longer for the end of that program",
        details={"state": session.state().word},
    )


async def _ended(params: Nothing, services: Services, actor: Actor) -> list[Ended]:
    """Each is returned once."""
    found: list[Ended] = []
    for session, wanted, left in _left_by(actor, services):
        block = _ended_block(session, wanted)
        if wanted == session.profile.id and session.is_exited:
            found.append(_ended_session(session))
        elif block is not None:
            found.append(
                Ended(
                    session=session.name,
                    block=block.id,
                    command_line=(block.command_line or "")[:EXCERPT_CHARS] or None,
                    exit_code=block.exit_code,
                    duration_ms=block.duration_ms,
                    bound_reached=left.bound_reached,
                )
            )
        else:
            continue
        services.registry.end_was_told(session, wanted)
    return found


async def _left_running(params: Nothing, services: Services, actor: Actor) -> list[LeftRunning]:
    return [
        LeftRunning(
            session=session.name,
            session_id=session.profile.id,
            block=None if wanted == session.profile.id else wanted,
            running=not session.is_exited and _ended_block(session, wanted) is None,
        )
        for session, wanted, _ in _left_by(actor, services)
    ]


def _left_by(actor: Actor, services: Services) -> list[tuple[Session, str, Left]]:
    """What this caller stopped waiting for and got no end of: the session, the id, the rest."""
    return [
        (session, wanted, left)
        for session in services.registry.sessions()
        if actor.session in (None, session.name)
        for wanted, left in session.left.items()
        if _is_for(left.caller, actor, services)
    ]


def _ended_block(session: Session, wanted: str) -> Block | None:
    return next((each for each in session.recent if each.id == wanted), None)


def _is_for(caller: str, actor: Actor, services: Services) -> bool:
    """It was this caller who left it, or a host of the same user that has gone."""
    identity, _, connection = caller.partition("\t")
    if actor.identity != identity:
        return False
    return connection in ("", actor.connection) or not services.hosts.is_connected(connection)


def _ended_session(session: Session) -> Ended:
    took_ns = (session.exited_at_ns or 0) - session.profile.created_at_ns
    return Ended(
        session=session.name,
        block=None,
        command_line=session.profile.command[:EXCERPT_CHARS],
        exit_code=exit_code_of(session),
        duration_ms=round(took_ns / 1e6, 3),
        bound_reached=session.bound_reached,
    )


def _running(session: Session, answer: RunAnswer) -> str | None:
    """What an input of several commands has come to, where it has not come to its end."""
    block = session.prompt.open_block
    if answer.completed_by in ("mark", "exit") or block is None or block.command_line is None:
        return None
    return block.command_line[:EXCERPT_CHARS]


async def _check_run(params: RunParams, services: Services, actor: Actor) -> None:
    needle_of(params.until_text, params.until_regex)


def needle_of(text: str | list[str] | None, pattern: str | list[str] | None) -> Needle | None:
    return None if text is None and pattern is None else Needle(text=text, pattern=pattern)


def _match(session: Session, found: Found | None) -> dict[str, Any]:
    """What matched which text, and where."""
    if found is None:
        return {"match": None}
    return {
        "match": found.text,
        "match_line": found.line,
        "matched": found.wanted,
        "match_row": row_of(session, found),
    }


async def _run_in_turn(session: Session, run: Run, gone: Callable[[], Awaitable[None]]) -> None:
    """`gone`: for a caller who has gone, before it is the next one's turn."""
    queued = session.run_lock.locked()
    async with session.run_lock:
        if queued and (await session.look()).word not in ("prompt", "exited"):
            raise SessionBusy(
                f"an earlier call left a program running in {session.name!r}",
                hint="look at its screen; answer or interrupt the program, then call again",
                details={"state": session.state().word},
            )
        try:
            await run.start()
            await run.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(INTERRUPT_S, shield=True):
                await gone()
            raise


async def run_result(
    answer: RunAnswer, session: Session, params: WatchParams, services: Services, who: Actor
) -> RunResult:
    output, blocks = answer.output, answer.blocks
    shown = (
        await screen_shape(session, styled=params.format == "styled", owner=who.identity)
        if params.screen
        else None
    )
    alternate = session.alternate_active
    changed = _changed(session, who, shown, is_wanted=params.changes)
    cursor = session.cursor
    last = blocks[-1] if blocks else session.prompt.open_block
    block = answer.next_block if last is None else last.id
    goes_on: Background | None = None
    for each in blocks:
        if (left := session.left.get(each.id)) is not None and left.caller == who.caller:
            services.registry.end_was_told(session, each.id)  # this answer has it
    is_early = answer.completed_by in ("deadline", "text") and not alternate
    # A full-screen program is no work that goes on: its caller drives it.
    if is_early and block and (last is None or last.is_open):
        start = session.journal.end if last is None else last.start
        left = _left(params, session, who, now_ns=services.clock.wall_ns(), start=start)
        services.registry.leave(session, block, left)
        goes_on = left_info(session, left, last, block)
    return RunResult(
        completed_by=answer.completed_by,
        exit_code=answer.exit_code,
        output=output.text if output else None,
        output_bytes=output.total_bytes if output else 0,
        omitted_bytes=output.omitted_bytes if output else 0,
        omitted_lines=output.omitted_lines if output else 0,
        block=block,
        blocks=[block.id for block in blocks],
        running=_running(session, answer),
        state=answer.state.word,
        state_known_by=answer.state.known_by,
        continuation=answer.state.continuation,
        into_program=answer.into_program,
        cwd=answer.cwd,
        duration_ms=answer.duration_ms,
        generation=answer.generation,
        **_match(session, answer.match),
        screen=shown,
        foreground=foreground_info(session),
        terminal=session.terminal_mode,
        cursor=ScreenCursor(row=cursor.row, col=cursor.col, visible=cursor.visible),
        changed=changed,
        background=goes_on,
    )


def _changed(
    session: Session, who: Actor, shown: Mapping[str, Any] | None, *, is_wanted: bool
) -> dict[int, str] | None:
    """The rows that are news to the caller, if wanted; from now on it has seen all of them."""
    alternate = session.alternate_active
    if is_wanted:
        return session.shown.changes(who.caller, session.rows(), alternate=alternate)
    if shown is not None:
        session.shown.saw(who.caller, shown["lines"], alternate=alternate)
    elif who.kind == "agent":
        now = session.activity.generation
        session.shown.had_output(who.caller, session.rows, now, alternate=alternate)
    return None


def _left(params: WatchParams, session: Session, who: Actor, *, now_ns: int, start: int) -> Left:
    """What an agent leaves running in a session of its own has bounds; in a person's it has none."""
    if who.kind != "agent" or session.profile.owner != who.identity:
        return Left(caller=who.caller, start=start)
    return Left(
        caller=who.caller,
        start=start,
        ends_at_ns=now_ns + params.max_run_ms * 1_000_000,
        max_output_bytes=params.max_run_bytes,
    )


async def _wait(
    params: WaitParams, session: Session, services: Services, actor: Actor
) -> WaitResult:
    found: _Found | None = None
    with anyio.move_on_after(params.max_wait_ms / 1000):
        try:
            found = await _condition(session, params)
        except anyio.EndOfStream:
            raise SessionExited(session.name, session.exit_code) from None
    if found is None:
        error = IdleTimeout if params.idle_ms is not None else WaitTimeout
        raise error(
            f"session {session.name!r} did not get there within {params.max_wait_ms} ms",
            hint="what it waits for can be read from its state and screen",
            details={
                "state": session.state().word,
                "generation": session.activity.generation,
                "screen": await screen_shape(
                    session, styled=params.format == "styled", owner=actor.identity
                ),
            },
        )
    reason, match, block = found
    state = session.state()
    if state.word == "unknown":
        state = await session.look()
    return WaitResult(
        reason=reason,  # type: ignore[arg-type]  # one of the five words below
        generation=session.activity.generation,
        state=state.word,
        state_known_by=state.known_by,
        **_match(session, match),
        foreground=foreground_info(session),
        terminal=session.terminal_mode,
        block=block,
        exit_code=exit_code_of(session),
        screen=await screen_shape(session, styled=params.format == "styled", owner=actor.identity),
        scrollback_lines=session.total_rows,
        last_activity_ms=int(session.activity.quiet_s() * 1000),
    )


_Found = tuple[str, Found | None, BlockInfo | None]


async def _condition(session: Session, params: WaitParams) -> _Found:
    if params.idle_ms is not None:
        await wait_idle(
            session,
            quiet_s=params.idle_ms / 1000,
            last_generation=params.last_generation,
            fresh=params.fresh,
        )
        return "idle", None, None
    if (needle := needle_of(params.text, params.regex)) is not None:
        return "text", await wait_text(session, needle), None
    if params.block is not None:
        block = await wait_block(session, after=params.block)
        return "block", None, block_info(block, session.name)
    if params.exit:
        await wait_exit(session)
        return "exit", None, None
    await wait_state(session, params.state)
    return "state", None, None


async def _idle(params: IdleParams, session: Session, services: Services, actor: Actor) -> Idle:
    with anyio.move_on_after(min(params.max_wait_ms, MAX_IDLE_MS) / 1000) as bound:
        try:
            await wait_idle(
                session,
                quiet_s=min(params.timeout_ms, MAX_IDLE_MS) / 1000,
                last_generation=params.last_generation,
                fresh=params.fresh,
            )
        except anyio.EndOfStream:
            raise SessionExited(session.name, session.exit_code) from None
    if bound.cancelled_caught:
        raise IdleTimeout(
            f"session {session.name!r} did not fall silent within {params.max_wait_ms} ms",
            hint="what it does can be read from its state and screen",
            details={"generation": session.activity.generation, "state": session.state().word},
        )
    return Idle(
        screen=await screen_shape(session, styled=params.format == "styled", owner=actor.identity),
        scrollback_lines=session.total_rows,
        generation=session.activity.generation,
        last_activity_ms=int(session.activity.quiet_s() * 1000),
    )


RUN = Operation(
    name="command.run",
    summary="Type a command line into a session and wait for its end.",
    effect=Effect.INPUT,
    judged=RunsLine("input"),
    params=RunParams,
    result=RunResult,
    run=InSession(_run),
    check=_check_run,
    route=Route(method="POST", path="/sessions/{session}/run"),
    waits=True,
    errors=(Deadline, SessionBusy),
)
ENDED = Operation(
    name="command.ended",
    summary="Commands that this caller stopped waiting for and that have ended since; each is returned once.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=list[Ended],
    run=_ended,
    route=Route(method="GET", path="/ended"),
    shared=True,
)
LEFT = Operation(
    name="command.left",
    summary="Commands that this caller stopped waiting for and whose end no answer to it has had yet.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=list[LeftRunning],
    run=_left_running,
    route=Route(method="GET", path="/left"),
    shared=True,
)
WAIT = Operation(
    name="session.wait",
    summary="Wait for silence, a text, the end of a command, a state or the exit.",
    effect=Effect.READ,
    judged=PLAIN,
    params=WaitParams,
    result=WaitResult,
    run=InSession(_wait),
    route=Route(method="POST", path="/sessions/{session}/wait"),
    waits=True,
    errors=(IdleTimeout, WaitTimeout, SessionExited),
)
IDLE = Operation(
    name="session.idle",
    summary="Wait until the session has printed nothing for a while.",
    effect=Effect.READ,
    judged=PLAIN,
    params=IdleParams,
    result=Idle,
    run=InSession(_idle),
    route=Route(method="GET", path="/sessions/{session}/idle"),
    waits=True,
    errors=(IdleTimeout, SessionExited),
)
