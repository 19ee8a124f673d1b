"""Operations on all elements of a session at once: the whole, batches, and the screen mode."""

from duetty.calls import Actor, Effect
from duetty.errors import (
    AlreadyInAltScreen,
    InvalidOverlay,
    NotInAltScreen,
    OverlayNotFound,
    PanelNotFound,
)
from duetty.ops.element_shapes import JsonObject, spans_of, surface_shape, writes_of
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import InSession, Operation, Route
from duetty.ops.services import Services
from duetty.session import Session
from duetty.wire.params import SessionParams
from duetty.wire.results import Done
from duetty.wire.surface import BatchParams, ScreenModeInfo, SurfaceInfo


async def _elements(
    params: SessionParams, session: Session, services: Services, actor: Actor
) -> JsonObject:
    return surface_shape(session)


async def _batch(params: BatchParams, session: Session, services: Services, actor: Actor) -> Done:
    elements = session.elements
    element = elements.overlay(params.id) if params.type == "overlay" else elements.panel(params.id)
    elements.write(
        element, spans=spans_of(params.spans or ()), writes=writes_of(params.writes or ())
    )
    return Done()


async def _mode(
    params: SessionParams, session: Session, services: Services, actor: Actor
) -> ScreenModeInfo:
    return ScreenModeInfo(mode=session.elements.screen_mode)


async def _enter_alt(
    params: SessionParams, session: Session, services: Services, actor: Actor
) -> Done:
    session.elements.enter_alt()
    return Done()


async def _exit_alt(
    params: SessionParams, session: Session, services: Services, actor: Actor
) -> Done:
    session.elements.exit_alt()
    return Done()


ELEMENTS = Operation(
    name="elements.get",
    summary="Everything drawn over and beside the program, with the sizes: what a viewer draws.",
    effect=Effect.READ,
    judged=PLAIN,
    params=SessionParams,
    result=SurfaceInfo,
    run=InSession(_elements),
    route=Route(method="GET", path="/sessions/{session}/elements"),
)
BATCH = Operation(
    name="elements.batch",
    summary="Replace named spans and write at places of one element, all of it or nothing.",
    effect=Effect.DISPLAY,
    judged=PLAIN,
    params=BatchParams,
    result=Done,
    run=InSession(_batch),
    route=Route(method="POST", path="/sessions/{session}/elements/batch", status=204),
    errors=(InvalidOverlay, OverlayNotFound, PanelNotFound),
)
MODE = Operation(
    name="screen_mode.get",
    summary="Which set of elements is shown, normal or alt.",
    effect=Effect.READ,
    judged=PLAIN,
    params=SessionParams,
    result=ScreenModeInfo,
    run=InSession(_mode),
    route=Route(method="GET", path="/sessions/{session}/screen_mode"),
)
ENTER_ALT = Operation(
    name="screen_mode.enter_alt",
    summary="Hide the normal overlays and panels and begin a second, empty set.",
    effect=Effect.DISPLAY,
    judged=PLAIN,
    params=SessionParams,
    result=Done,
    run=InSession(_enter_alt),
    route=Route(method="POST", path="/sessions/{session}/screen_mode/enter_alt", status=204),
    errors=(AlreadyInAltScreen,),
)
EXIT_ALT = Operation(
    name="screen_mode.exit_alt",
    summary="Delete the second set of overlays and panels and show the normal ones again.",
    effect=Effect.DISPLAY,
    judged=PLAIN,
    params=SessionParams,
    result=Done,
    run=InSession(_exit_alt),
    route=Route(method="POST", path="/sessions/{session}/screen_mode/exit_alt", status=204),
    errors=(NotInAltScreen,),
)
