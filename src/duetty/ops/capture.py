"""Operations on a session's keyboard: who has it, what was typed, which element it is for."""

import base64

import anyio

from duetty.calls import Actor, Effect, Scope
from duetty.errors import BadArguments, NotFocusable
from duetty.ops.judgements import PLAIN, Types
from duetty.ops.operation import InSession, Operation, Route
from duetty.ops.services import Services
from duetty.session import CapturedKey, Session, owner_name
from duetty.wire.params import SessionParams
from duetty.wire.results import Done
from duetty.wire.surface import (
    CaptureParams,
    FocusInfo,
    FocusParams,
    KeyInfo,
    KeysInfo,
    KeysParams,
    ModeInfo,
    ReleaseParams,
    Typed,
    TypeParams,
)


async def _mode(
    params: SessionParams, session: Session, services: Services, actor: Actor
) -> ModeInfo:
    keyboard = session.keyboard
    left_s = keyboard.lease_left_s
    return ModeInfo(
        mode=keyboard.mode,
        owners=list(keyboard.owners),
        lease_ms=None if left_s is None else int(left_s * 1000),
    )


async def _capture(
    params: CaptureParams, session: Session, services: Services, actor: Actor
) -> Done:
    keyboard = session.keyboard
    keyboard.capture(params.owner or owner_name(actor), lease_s=params.lease_ms / 1000)
    return Done()


async def _release(
    params: ReleaseParams, session: Session, services: Services, actor: Actor
) -> Done:
    session.keyboard.release(params.owner)
    return Done()


async def _focused(
    params: SessionParams, session: Session, services: Services, actor: Actor
) -> FocusInfo:
    return FocusInfo(focused=session.elements.focused)


async def _focus(params: FocusParams, session: Session, services: Services, actor: Actor) -> Done:
    session.elements.focus(params.id)
    return Done()


async def _unfocus(
    params: SessionParams, session: Session, services: Services, actor: Actor
) -> Done:
    session.elements.unfocus()
    return Done()


async def _keys(params: KeysParams, session: Session, services: Services, actor: Actor) -> KeysInfo:
    with session.keyboard.reading(params.owner or owner_name(actor)):
        with anyio.move_on_after(params.wait_ms / 1000):
            await _wait_key(session, after=params.after)
        return _read(session, params)


async def _wait_key(session: Session, *, after: int) -> None:
    keyboard = session.keyboard
    while keyboard.mode == "capture" and not keyboard.captured(after=after):
        await session.pulse.wait()


def _read(session: Session, params: KeysParams) -> KeysInfo:
    keyboard = session.keyboard
    found = keyboard.captured(after=params.after)
    taken = found[: params.limit]
    first = found[0].seq if found else keyboard.last_seq + 1
    return KeysInfo(
        keys=[_key(each) for each in taken],
        last_seq=taken[-1].seq if taken else keyboard.last_seq,
        missed=max(first - params.after - 1, 0),
        mode=keyboard.mode,
    )


def _key(captured: CapturedKey) -> KeyInfo:
    key = captured.key
    return KeyInfo(
        seq=captured.seq,
        key=key.name,
        modifiers=list(key.modifiers),
        text=key.text,
        raw=list(key.raw),
        target=captured.target,
        at_ms=captured.at_ns // 1_000_000,
    )


async def _type(params: TypeParams, session: Session, services: Services, actor: Actor) -> Typed:
    data = params.data.encode("utf-8", "surrogatepass")
    if params.encoding == "base64":
        try:
            data = base64.b64decode(params.data, validate=True)
        except ValueError as error:
            raise BadArguments(f"data: not base64: {error}") from error
    forwarded = session.keyboard.type(data, actor=actor)
    return Typed(mode=session.keyboard.mode, bytes=forwarded)


MODE = Operation(
    name="input.mode",
    summary="Whether keys typed at viewers go to the program or are captured.",
    effect=Effect.READ,
    judged=PLAIN,
    params=SessionParams,
    result=ModeInfo,
    run=InSession(_mode),
    route=Route(method="GET", path="/sessions/{session}/input/mode"),
)
CAPTURE = Operation(
    name="input.capture",
    summary="Take the keys typed at viewers, until released or the lease ends.",
    effect=Effect.INPUT,
    judged=PLAIN,
    params=CaptureParams,
    result=Done,
    run=InSession(_capture),
    route=Route(method="POST", path="/sessions/{session}/input/capture", status=204),
)
RELEASE = Operation(
    name="input.release",
    summary="Give the keyboard back to the program and take the focus away.",
    effect=Effect.INPUT,
    judged=PLAIN,
    params=ReleaseParams,
    result=Done,
    run=InSession(_release),
    route=Route(method="POST", path="/sessions/{session}/input/release", status=204),
)
FOCUSED = Operation(
    name="input.focused",
    summary="Which overlay or panel the keys are meant for.",
    effect=Effect.READ,
    judged=PLAIN,
    params=SessionParams,
    result=FocusInfo,
    run=InSession(_focused),
    route=Route(method="GET", path="/sessions/{session}/input/focus"),
)
FOCUS = Operation(
    name="input.focus",
    summary="Say that the keys are meant for this overlay or panel.",
    effect=Effect.DISPLAY,
    judged=PLAIN,
    params=FocusParams,
    result=Done,
    run=InSession(_focus),
    route=Route(method="POST", path="/sessions/{session}/input/focus", status=204),
    errors=(NotFocusable,),
)
UNFOCUS = Operation(
    name="input.unfocus",
    summary="Say that the keys are meant for no element.",
    effect=Effect.DISPLAY,
    judged=PLAIN,
    params=SessionParams,
    result=Done,
    run=InSession(_unfocus),
    route=Route(method="POST", path="/sessions/{session}/input/unfocus", status=204),
)
KEYS = Operation(
    name="input.keys",
    summary="Captured keys after a seq, waiting for one if asked; renews the reader's lease.",
    effect=Effect.READ,
    judged=PLAIN,
    params=KeysParams,
    result=KeysInfo,
    run=InSession(_keys),
    # A read-only viewer sees what programs show, not what a person types for an element.
    needs=Scope.INPUT,
    route=Route(method="GET", path="/sessions/{session}/input/keys"),
    waits=True,
)
TYPE = Operation(
    name="input.type",
    summary="Type as a person at a viewer does: subject to capture, Ctrl+\\ toggles it.",
    effect=Effect.INPUT,
    judged=Types("data"),
    params=TypeParams,
    result=Typed,
    run=InSession(_type),
    route=Route(method="POST", path="/sessions/{session}/input/type"),
)
