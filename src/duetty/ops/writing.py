"""Operations that write to a session: bytes, keys, a paste, an interrupt."""

import base64

from duetty.calls import Actor, Effect
from duetty.errors import BadArguments, UnknownKey
from duetty.ops.judgements import PLAIN, Types
from duetty.ops.operation import Operation, Route
from duetty.ops.services import Services
from duetty.wire.params import PasteParams, PressParams, SessionParams, WriteParams
from duetty.wire.results import Done, Written


async def _write(params: WriteParams, services: Services, actor: Actor) -> Written:
    session = services.registry.find(params.session)
    data = params.data.encode("utf-8", "surrogatepass")
    if params.encoding == "base64":
        try:
            data = base64.b64decode(params.data, validate=True)
        except ValueError as error:
            raise BadArguments(f"data: not base64: {error}") from error
    session.write(data, actor=actor)
    return Written(bytes=len(data))


async def _press(params: PressParams, services: Services, actor: Actor) -> Written:
    session = services.registry.find(params.session)
    return Written(bytes=session.press(params.keys, actor=actor))


async def _paste(params: PasteParams, services: Services, actor: Actor) -> Written:
    session = services.registry.find(params.session)
    return Written(bytes=session.paste(params.text, actor=actor))


async def _interrupt(params: SessionParams, services: Services, actor: Actor) -> Done:
    await services.registry.interrupt(services.registry.find(params.session), actor=actor)
    return Done()


WRITE = Operation(
    name="input.write",
    summary="Write bytes to a session, verbatim.",
    effect=Effect.INPUT,
    judged=Types("data"),
    params=WriteParams,
    result=Written,
    run=_write,
    route=Route(method="POST", path="/sessions/{session}/input", status=204, raw_body="data"),
)
PRESS = Operation(
    name="input.press",
    summary="Press named keys, encoded as the program's terminal mode asks for.",
    effect=Effect.INPUT,
    judged=Types("keys"),
    params=PressParams,
    result=Written,
    run=_press,
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
    run=_paste,
    route=Route(method="POST", path="/sessions/{session}/paste"),
)
INTERRUPT_OP = Operation(
    name="input.interrupt",
    summary="Do what Ctrl-C does.",
    effect=Effect.INPUT,
    judged=PLAIN,
    params=SessionParams,
    result=Done,
    run=_interrupt,
    route=Route(method="POST", path="/sessions/{session}/interrupt", status=204),
)
