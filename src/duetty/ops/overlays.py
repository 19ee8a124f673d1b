"""Operations on overlays: what is drawn above a session's screen and takes no rows."""

from duetty.calls import Actor, Effect
from duetty.errors import Exhausted, InvalidOverlay, OverlayNotFound
from duetty.ops.drawing import (
    JsonObject,
    background_of,
    changes_of,
    shown_overlays,
    spans_of,
    writes_of,
)
from duetty.ops.operation import Operation, Route
from duetty.ops.services import Services
from duetty.surface import overlay_json
from duetty.wire.params import SessionParams
from duetty.wire.results import Done
from duetty.wire.surface import (
    Created,
    CreateOverlayParams,
    ElementParams,
    OverlayInfo,
    PatchOverlayParams,
    RegionWriteParams,
    SpansParams,
    UpdateOverlayParams,
)

_PATH = "/sessions/{session}/overlay"


async def _create(params: CreateOverlayParams, services: Services, actor: Actor) -> Created:
    session = services.registry.find(params.session)
    overlay = session.elements.add_overlay(
        x=params.x,
        y=params.y,
        z=params.z,
        width=params.width,
        height=params.height,
        background=background_of(params.background),
        spans=spans_of(params.spans),
        focusable=bool(params.focusable),
        owner=actor.name,
    )
    return Created(id=overlay.id)


async def _list(params: SessionParams, services: Services, actor: Actor) -> list[JsonObject]:
    return shown_overlays(services.registry.find(params.session))


async def _get(params: ElementParams, services: Services, actor: Actor) -> JsonObject:
    return overlay_json(services.registry.find(params.session).elements.overlay(params.id))


async def _update(params: UpdateOverlayParams, services: Services, actor: Actor) -> Done:
    elements = services.registry.find(params.session).elements
    elements.change_overlay(params.id, spans=spans_of(params.spans))
    return Done()


async def _patch(params: PatchOverlayParams, services: Services, actor: Actor) -> Done:
    elements = services.registry.find(params.session).elements
    changes = changes_of(params, ("x", "y", "z", "width", "height", "focusable"))
    elements.change_overlay(params.id, **changes)
    return Done()


async def _delete(params: ElementParams, services: Services, actor: Actor) -> Done:
    services.registry.find(params.session).elements.remove_overlay(params.id)
    return Done()


async def _clear(params: SessionParams, services: Services, actor: Actor) -> Done:
    services.registry.find(params.session).elements.clear_overlays()
    return Done()


async def _spans(params: SpansParams, services: Services, actor: Actor) -> Done:
    elements = services.registry.find(params.session).elements
    elements.write(elements.overlay(params.id), spans=spans_of(params.spans))
    return Done()


async def _write(params: RegionWriteParams, services: Services, actor: Actor) -> Done:
    elements = services.registry.find(params.session).elements
    elements.write(elements.overlay(params.id), writes=writes_of(params.writes))
    return Done()


CREATE = Operation(
    name="overlay.create",
    summary="Draw a box of text above a session's screen, for every viewer.",
    effect=Effect.DISPLAY,
    params=CreateOverlayParams,
    result=Created,
    run=_create,
    route=Route(method="POST", path=_PATH, status=201),
    errors=(Exhausted,),
)
LIST = Operation(
    name="overlay.list",
    summary="The overlays of the current screen mode, lowest first.",
    effect=Effect.READ,
    params=SessionParams,
    result=list[OverlayInfo],
    run=_list,
    route=Route(method="GET", path=_PATH),
)
GET = Operation(
    name="overlay.get",
    summary="One overlay, of either screen mode.",
    effect=Effect.READ,
    params=ElementParams,
    result=OverlayInfo,
    run=_get,
    route=Route(method="GET", path=f"{_PATH}/{{id}}"),
    errors=(OverlayNotFound,),
)
UPDATE = Operation(
    name="overlay.update",
    summary="Replace an overlay's spans.",
    effect=Effect.DISPLAY,
    params=UpdateOverlayParams,
    result=Done,
    run=_update,
    route=Route(method="PUT", path=f"{_PATH}/{{id}}", status=204),
    errors=(OverlayNotFound, InvalidOverlay),
)
PATCH = Operation(
    name="overlay.patch",
    summary="Move, resize or restack an overlay, or change what it shows.",
    effect=Effect.DISPLAY,
    params=PatchOverlayParams,
    result=Done,
    run=_patch,
    route=Route(method="PATCH", path=f"{_PATH}/{{id}}", status=204),
    errors=(OverlayNotFound, InvalidOverlay),
)
DELETE = Operation(
    name="overlay.delete",
    summary="Take an overlay away; what was under it shows again.",
    effect=Effect.DISPLAY,
    params=ElementParams,
    result=Done,
    run=_delete,
    route=Route(method="DELETE", path=f"{_PATH}/{{id}}", status=204),
    errors=(OverlayNotFound,),
)
CLEAR = Operation(
    name="overlay.clear",
    summary="Take every overlay away, of both screen modes.",
    effect=Effect.DISPLAY,
    params=SessionParams,
    result=Done,
    run=_clear,
    route=Route(method="DELETE", path=_PATH, status=204),
)
SPANS = Operation(
    name="overlay.spans",
    summary="Replace the named spans of an overlay and leave the others.",
    effect=Effect.DISPLAY,
    params=SpansParams,
    result=Done,
    run=_spans,
    route=Route(method="POST", path=f"{_PATH}/{{id}}/spans", status=204),
    errors=(OverlayNotFound, InvalidOverlay),
)
WRITE = Operation(
    name="overlay.write",
    summary="Write text at places of an overlay.",
    effect=Effect.DISPLAY,
    params=RegionWriteParams,
    result=Done,
    run=_write,
    route=Route(method="POST", path=f"{_PATH}/{{id}}/write", status=204),
    errors=(OverlayNotFound, InvalidOverlay),
)
