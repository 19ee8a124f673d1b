"""Operations that write to a session: bytes, keys, a paste, an interrupt."""

import base64

import anyio

from duetty.calls import Actor, Effect
from duetty.errors import BadArguments, SessionBusy, SessionExited, UnknownKey
from duetty.ops.judgements import PLAIN, Types
from duetty.ops.operation import InSession, Operation, Route
from duetty.ops.run_operations import needle_of, run_result
from duetty.ops.services import Services
from duetty.ops.shapes import session_info
from duetty.session import Run, RunAnswer, Session, reset
from duetty.wire.params import PasteParams, PressParams, SessionParams, TypingParams, WriteParams
from duetty.wire.results import Done, SessionInfo, Written

INTERRUPT = b"\x03"

SETTLED_S = 0.15
"""A program that printed nothing for this long after a key has shown what it makes of it."""

COMPUTED_S = 5.0
"""A pager may search a large file before it draws, on a machine that is busy."""

INTERRUPTED_S = 1.0
"""A program may have to tidy up before Ctrl-C ends it."""

TURN_S = 0.2
"""A reset waits so long for a run to end by itself."""


async def _write(
    params: WriteParams, session: Session, services: Services, actor: Actor
) -> Written:
    data = params.data.encode("utf-8", "surrogatepass")
    if params.encoding == "base64":
        try:
            data = base64.b64decode(params.data, validate=True)
        except ValueError as error:
            raise BadArguments(f"data: not base64: {error}") from error
    return await _typed(session, data, params, services, actor)


async def _press(
    params: PressParams, session: Session, services: Services, actor: Actor
) -> Written:
    return await _typed(session, session.pressed(params.keys), params, services, actor)


async def _paste(
    params: PasteParams, session: Session, services: Services, actor: Actor
) -> Written:
    return Written(bytes=session.paste(params.text, actor=actor), after=None, had_effect=None)


async def _typed(
    session: Session, data: bytes, params: TypingParams, services: Services, actor: Actor
) -> Written:
    """Write it, and wait for what comes of it, as far as the caller wants to."""
    if params.wait == "none":
        session.write(data, actor=actor)
        return Written(bytes=len(data), after=None, had_effect=None)
    session.shown.presses(
        actor.caller,
        session.rows,
        session.activity.generation,
        alternate=session.alternate_active,
    )
    is_interrupt = data == INTERRUPT
    before = session.foreground
    run = Run(
        session=session,
        line=data.decode("utf-8", "replace"),
        actor=actor,
        quiet_s=params.timeout_ms / 1000,
        clock=services.clock,
        until=needle_of(params.until_text, params.until_regex),
    )
    bound_s = params.max_wait_ms / 1000
    if params.wait == "settle":
        run.quiet_s = INTERRUPTED_S if is_interrupt else SETTLED_S
        bound_s = 2 * INTERRUPTED_S if is_interrupt else 4 * SETTLED_S
        if session.alternate_active:
            bound_s = COMPUTED_S
    run.watch(data)
    try:
        session.write(data, actor=actor)
        with anyio.move_on_after(bound_s):
            await run.wait()
    except BaseException:
        run.close()
        raise
    limit = params.max_output_bytes or services.settings.run_output_bytes
    answer = await run.answer(output_limit=limit)
    now = session.foreground
    is_same = before is not None and now is not None and before.pid == now.pid
    return Written(
        bytes=len(data),
        after=await run_result(answer, session, params, services, actor),
        had_effect=_had_effect(answer, is_same=is_same) if is_interrupt else None,
    )


def _had_effect(answer: RunAnswer, *, is_same: bool) -> bool | None:
    """Whether an interrupt did anything: the program has ended, or printed something."""
    if not is_same or answer.completed_by in ("mark", "exit"):
        return True
    printed = answer.output.text.replace("^C", "").strip() if answer.output else ""
    return None if printed else False


async def _reset(
    params: SessionParams, session: Session, services: Services, actor: Actor
) -> SessionInfo:
    with anyio.move_on_after(TURN_S) as bound:
        await session.run_lock.acquire()
    try:
        # Without the lock, too: its holder may wait for the very program that is to be ended.
        await reset(services.registry, session, actor=actor, clock=services.clock)
    finally:
        if not bound.cancelled_caught:
            session.run_lock.release()
    return session_info(session, services.node)


async def _interrupt(
    params: SessionParams, session: Session, services: Services, actor: Actor
) -> Done:
    await services.registry.interrupt(session, actor=actor)
    return Done()


WRITE = Operation(
    name="input.write",
    summary="Write bytes to a session, verbatim.",
    effect=Effect.INPUT,
    judged=Types("data"),
    params=WriteParams,
    result=Written,
    run=InSession(_write),
    route=Route(method="POST", path="/sessions/{session}/input", status=204, raw_body="data"),
)
PRESS = Operation(
    name="input.press",
    summary="Press named keys, encoded as the program's terminal mode asks for.",
    effect=Effect.INPUT,
    judged=Types("keys"),
    params=PressParams,
    result=Written,
    run=InSession(_press),
    route=Route(method="POST", path="/sessions/{session}/keys"),
    errors=(UnknownKey,),
)
PASTE = Operation(
    name="input.paste",
    summary="Paste text, bracketed when the program asked for it.",
    effect=Effect.INPUT,
    judged=Types("text"),
    params=PasteParams,
    result=Written,
    run=InSession(_paste),
    route=Route(method="POST", path="/sessions/{session}/paste"),
)
RESET = Operation(
    name="session.reset",
    summary="Back to the shell's prompt: end what has the terminal, clear the line, put the terminal right.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=SessionParams,
    result=SessionInfo,
    run=InSession(_reset),
    route=Route(method="POST", path="/sessions/{session}/reset"),
    waits=True,
    errors=(SessionBusy, SessionExited),
)
INTERRUPT_OP = Operation(
    name="input.interrupt",
    summary="Do what Ctrl-C does.",
    effect=Effect.INPUT,
    judged=PLAIN,
    params=SessionParams,
    result=Done,
    run=InSession(_interrupt),
    route=Route(method="POST", path="/sessions/{session}/interrupt", status=204),
)
