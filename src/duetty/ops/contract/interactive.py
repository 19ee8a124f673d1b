"""Interactive routes: a session that a person can see."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import anyio

from duetty.blocks import Phase
from duetty.errors import (
    ApprovalUnanswered,
    BadArguments,
    Deadline,
    DuettyError,
    MultipleSessions,
    NoActiveSession,
    Refused,
    SessionBusy,
)
from duetty.ops.contract.failures import (
    USE_LISTED,
    InvalidPayload,
    Partial,
    TargetNotFound,
    TimedOut,
    timed_out,
)
from duetty.ops.contract.owners import session_of, sessions_of
from duetty.ops.contract.steps import DIALECT, Doing, Outcome
from duetty.ops.contract.view import is_seen, obtain_view
from duetty.ops.contract.words import line_of
from duetty.ops.selection import candidate_of, select
from duetty.ops.services import Services
from duetty.session import Session
from duetty.wire.contract import Executed, OutputRead, TargetInfo, Terminated

READ_LINES = 2_000
"""Of a command's output that a read looks at, from its end."""

REMOVE_S = 5.0
"""To take a terminal away again that was opened for a command which may not run."""

STARTED_S = 3.0
"""How long such a terminal's shell may take to read the files it begins with."""

_BUSY = "it was not typed; look with read_output at what runs there, wait for its end, or open another terminal"

_AT_REST = ("prompt", "awaiting_input", "awaiting_password", "fullscreen", "exited")


async def execute(doing: Doing) -> Outcome:
    request = doing.request
    if request.target is not None:
        session = session_of(doing.services, doing.actor, request.target)
        if session.is_exited:
            raise TargetNotFound(
                "this terminal has ended", fields=USE_LISTED, reason="session_exited"
            )
        await obtain_view(doing, session)
        await _check_directory(doing)
        return await _run(doing, session, opened=False)
    if request.intent == "open_only":
        await obtain_view(doing, None)
        session = await _open(doing)
        opened = Executed(
            status="opened",
            opened=True,
            exit_code=None,
            output=None,
            cwd=session.cwd,
            state=session.state().word,
        )
        return _target(session), opened
    free = _free_session(doing)
    if free is not None:
        with _reserved(doing.services, free):
            await _check_directory(doing)
            return await _run(doing, free, opened=False)
    await obtain_view(doing, None)
    session = await _open(doing)
    try:
        with _reserved(doing.services, session):
            return await _run(doing, session, opened=True)
    except (Refused, BadArguments, ApprovalUnanswered):
        await _take_away(doing, session)
        raise


async def _check_directory(doing: Doing) -> None:
    """Of a command that begins where its terminal is: the same request gets the same answer, whichever is free.

    Raises:
        BadWorkingDirectory: as opening a terminal there would.
    """
    place = doing.request.runtime.default_cwd
    if place is not None:
        await doing.services.registry.check_directory(place)


@contextmanager
def _reserved(services: Services, session: Session) -> Generator[None]:
    """While inside, no other call without a target takes it for free."""
    services.taken.add(session.profile.id)
    try:
        yield
    finally:
        services.taken.discard(session.profile.id)


def _free_session(doing: Doing) -> Session | None:
    """The caller's newest terminal of this contract that waits for a command line in a person's sight.

    Not where the call says what kind of terminal it wants.
    """
    request = doing.request
    about = {"cols", "rows", "name", "shell", "sandbox"} & request.runtime.model_fields_set
    if about or {"cwd", "env"} & request.execution.model_fields_set:
        return None
    free = [
        each
        for each in sessions_of(doing.services, doing.actor)
        if DIALECT in each.profile.tags
        and each.profile.owner == doing.actor.identity
        and (doing.actor.confined is None or each.profile.sandbox != "none")
        and each.prompt.has_marks
        and each.state().word == "prompt"
        and not each.run_lock.locked()
        and each.profile.id not in doing.services.taken
        and is_seen(doing.services, each)
    ]
    return max(free, key=lambda each: each.profile.created_at_ns, default=None)


async def _open(doing: Doing) -> Session:
    run, runtime = doing.request.execution, doing.request.runtime
    info = await doing.call(
        "session.open",
        {
            "name": runtime.name,
            "command": runtime.shell,
            "cols": runtime.cols,
            "rows": runtime.rows,
            "cwd": run.cwd or runtime.default_cwd,
            "env": run.env or None,
            "sandbox": runtime.sandbox,
            "tags": [DIALECT],
        },
    )
    return doing.services.registry.find(info.name)


async def _take_away(doing: Doing, session: Session) -> None:
    with anyio.move_on_after(REMOVE_S, shield=True):
        with anyio.move_on_after(STARTED_S):
            # Ended in the middle of a person's own files, it could leave a lock of theirs behind.
            while session.prompt.phase is Phase.SILENT and not session.is_exited:
                await session.pulse.wait()
        try:
            await doing.call("session.remove", {"session": session.name, "grace_ms": 200})
        except DuettyError:
            return  # it stays, and can be seen in the list


async def _run(doing: Doing, session: Session, *, opened: bool) -> Outcome:
    request = doing.request
    command = request.execution.command or ""
    line = command if request.words is None else line_of(request.words, session.profile.shell_kind)
    try:
        ran = await doing.call(
            "command.run",
            {
                "session": session.name,
                "input": line,
                "stdin": request.execution.stdin,
                "max_wait_ms": doing.timeout_ms,
                "max_output_bytes": doing.output_bytes,
                "screen": False,
            },
        )
    except ApprovalUnanswered:
        raise  # nothing was typed
    except Deadline as error:
        raise timed_out(
            error.message,
            hint=_BUSY,
            target=_target(session),
            timeout_ms=doing.timeout_ms,
            reason=SessionBusy.code,
        ) from error
    if ran.completed_by == "deadline":
        message = f"it did not end within {doing.timeout_ms} ms and goes on"
        raise _timed_out(doing, session, message, output=ran.output)
    return _target(session), Executed(
        status=_status(ran),
        opened=opened,
        exit_code=ran.exit_code,
        output=ran.output,
        omitted_bytes=ran.omitted_bytes,
        cwd=ran.cwd,
        state=ran.state,
        duration_ms=ran.duration_ms,
        known_by=ran.completed_by,
    )


def _status(ran: Any) -> Any:
    if ran.completed_by == "input":
        return "awaiting_password" if ran.state == "awaiting_password" else "awaiting_input"
    return "fullscreen" if ran.completed_by == "fullscreen" else "completed"


def _timed_out(doing: Doing, session: Session, message: str, *, output: str | None) -> TimedOut:
    hint = "look with read_output, or give it up with terminate; execute would type it again"
    return timed_out(
        message,
        hint=hint,
        target=_target(session),
        still_running=True,
        partial=Partial(output=output),
        timeout_ms=doing.timeout_ms,
    )


def _meant(doing: Doing) -> Session:
    """The terminal that is named, or the only one there is.

    Raises:
        TargetNotFound: if there is none, or none of this name.
        InvalidPayload: if there are several, and none is named.
    """
    services, actor, target = doing.services, doing.actor, doing.request.target
    if target is None:
        own = [each for each in sessions_of(services, actor) if not each.is_exited]
        try:
            target = select([candidate_of(each, services.node.hostname) for each in own]).name
        except NoActiveSession as error:
            raise TargetNotFound(
                error.message, hint="execute opens one", fields=USE_LISTED, reason=error.code
            ) from error
        except MultipleSessions as error:
            raise InvalidPayload(
                error.message,
                hint=error.hint,
                fields=USE_LISTED,
                reason=error.code,
                candidates=error.details["candidates"],
            ) from error
    return session_of(services, actor, target)


async def read_output(doing: Doing) -> Outcome:
    session = _meant(doing)
    if doing.request.timeout_ms is not None and session.state().word not in _AT_REST:
        await _wait_rest(doing, session)
    name = {"session": session.name}
    info = await doing.call("session.get", name)
    screen = await doing.call("screen.get", {**name, "format": "plain"})
    lines = [str(line).rstrip() for line in screen["lines"]]
    blocks = await doing.call("block.list", {**name, "limit": 1})
    output, omitted, last = None, 0, blocks[0] if blocks else None
    if last is not None:
        page = await doing.call(
            "block.output", {**name, "block": last.id, "offset": -READ_LINES, "limit": READ_LINES}
        )
        kept = _last_lines(page.lines, doing.output_bytes)
        output, omitted = "\n".join(kept), page.total_lines - len(kept)
    return _target(session), OutputRead(
        state=info.state,
        command=last.command_line if last is not None else None,
        exit_code=_exit_code(info, last),
        exit_signal=info.exit_signal,
        output=output,
        omitted_lines=omitted,
        screen=lines,
        cwd=info.cwd,
    )


def _exit_code(info: Any, last: Any | None) -> int | None:
    """Of the last command; where its end was the terminal's own, how that ended."""
    if last is None or (last.exit_code is None and info.state == "exited"):
        return info.exit_code
    return last.exit_code


async def _wait_rest(doing: Doing, session: Session) -> None:
    """Wait until the command has ended or waits for input; at most the caller's timeout."""
    wait = {"state": list(_AT_REST), "max_wait_ms": doing.request.timeout_ms}
    try:
        await doing.call("session.wait", {"session": session.name, **wait})
    except Deadline:
        return  # what there is by now is the answer
    except DuettyError:
        if not session.is_exited:
            raise


def _last_lines(lines: list[str], limit_bytes: int) -> list[str]:
    """As many whole lines from the end as fit; at least the end of the last one."""
    kept: list[str] = []
    room = limit_bytes
    for line in reversed(lines):
        room -= len(line.encode("utf-8", "replace")) + 1
        if room < 0:
            break
        kept.append(line)
    if lines and not kept:
        return [lines[-1].encode("utf-8", "replace")[-limit_bytes:].decode("utf-8", "ignore")]
    return kept[::-1]


async def terminate(doing: Doing) -> Outcome:
    session = _meant(doing)
    was_running = not session.is_exited
    info = await doing.call("session.close", {"session": session.name})
    return _target(session), Terminated(
        state=info.state,
        exit_code=info.exit_code,
        exit_signal=info.exit_signal,
        was_running=was_running,
    )


def _target(session: Session) -> TargetInfo:
    return TargetInfo(session=session.name, mode="interactive", sandbox=session.profile.sandbox)
