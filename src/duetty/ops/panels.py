"""Operations on panels: rows at an edge of a session's screen that the program gives up."""

from duetty.calls import Actor, Effect
from duetty.errors import Exhausted, InvalidOverlay, PanelNotFound
from duetty.ops.drawing import (
    JsonObject,
    background_of,
    changes_of,
    shown_panels,
    spans_of,
    writes_of,
)
from duetty.ops.operation import Operation, Route
from duetty.ops.services import Services
from duetty.surface import panel_json
from duetty.wire.params import SessionParams
from duetty.wire.results import Done
from duetty.wire.surface import (
    Created,
    CreatePanelParams,
    ElementParams,
    PanelInfo,
    PatchPanelParams,
    RegionWriteParams,
    SpansParams,
    UpdatePanelParams,
)

_PATH = "/sessions/{session}/panel"


async def _create(params: CreatePanelParams, services: Services, actor: Actor) -> Created:
    session = services.registry.find(params.session)
    panel = session.elements.add_panel(
        position=params.position,
        height=params.height,
        z=params.z,
        background=background_of(params.background),
        spans=spans_of(params.spans),
        focusable=bool(params.focusable),
        owner=actor.name,
    )
    return Created(id=panel.id)


async def _list(params: SessionParams, services: Services, actor: Actor) -> list[JsonObject]:
    return shown_panels(services.registry.find(params.session))


async def _get(params: ElementParams, services: Services, actor: Actor) -> JsonObject:
    session = services.registry.find(params.session)
    panel = session.elements.panel(params.id)
    return panel_json(panel, visible=session.layout.shows(panel.id))


async def _update(params: UpdatePanelParams, services: Services, actor: Actor) -> Done:
    elements = services.registry.find(params.session).elements
    elements.change_panel(
        params.id,
        position=params.position,
        height=params.height,
        z=params.z,
        spans=spans_of(params.spans),
    )
    return Done()


async def _patch(params: PatchPanelParams, services: Services, actor: Actor) -> Done:
    elements = services.registry.find(params.session).elements
    changes = changes_of(params, ("position", "height", "z", "focusable"))
    elements.change_panel(params.id, **changes)
    return Done()


async def _delete(params: ElementParams, services: Services, actor: Actor) -> Done:
    services.registry.find(params.session).elements.remove_panel(params.id)
    return Done()


async def _clear(params: SessionParams, services: Services, actor: Actor) -> Done:
    services.registry.find(params.session).elements.clear_panels()
    return Done()


async def _spans(params: SpansParams, services: Services, actor: Actor) -> Done:
    elements = services.registry.find(params.session).elements
    elements.write(elements.panel(params.id), spans=spans_of(params.spans))
    return Done()


async def _write(params: RegionWriteParams, services: Services, actor: Actor) -> Done:
    elements = services.registry.find(params.session).elements
    elements.write(elements.panel(params.id), writes=writes_of(params.writes))
    return Done()


CREATE = Operation(
    name="panel.create",
    summary="Take rows from an edge of a session's screen and show text there.",
    effect=Effect.DISPLAY,
    params=CreatePanelParams,
    result=Created,
    run=_create,
    route=Route(method="POST", path=_PATH, status=201),
    errors=(Exhausted,),
)
LIST = Operation(
    name="panel.list",
    summary="The panels of the current screen mode: top first, then highest z first.",
    effect=Effect.READ,
    params=SessionParams,
    result=list[PanelInfo],
    run=_list,
    route=Route(method="GET", path=_PATH),
)
GET = Operation(
    name="panel.get",
    summary="One panel, of either screen mode, and whether there is room for it.",
    effect=Effect.READ,
    params=ElementParams,
    result=PanelInfo,
    run=_get,
    route=Route(method="GET", path=f"{_PATH}/{{id}}"),
    errors=(PanelNotFound,),
)
UPDATE = Operation(
    name="panel.update",
    summary="Replace a panel's place, height and spans.",
    effect=Effect.DISPLAY,
    params=UpdatePanelParams,
    result=Done,
    run=_update,
    route=Route(method="PUT", path=f"{_PATH}/{{id}}", status=204),
    errors=(PanelNotFound, InvalidOverlay),
)
PATCH = Operation(
    name="panel.patch",
    summary="Move, resize or restack a panel, or change what it shows.",
    effect=Effect.DISPLAY,
    params=PatchPanelParams,
    result=Done,
    run=_patch,
    route=Route(method="PATCH", path=f"{_PATH}/{{id}}", status=204),
    errors=(PanelNotFound, InvalidOverlay),
)
DELETE = Operation(
    name="panel.delete",
    summary="Take a panel away; the program gets its rows back.",
    effect=Effect.DISPLAY,
    params=ElementParams,
    result=Done,
    run=_delete,
    route=Route(method="DELETE", path=f"{_PATH}/{{id}}", status=204),
    errors=(PanelNotFound,),
)
CLEAR = Operation(
    name="panel.clear",
    summary="Take every panel away, of both screen modes.",
    effect=Effect.DISPLAY,
    params=SessionParams,
    result=Done,
    run=_clear,
    route=Route(method="DELETE", path=_PATH, status=204),
)
SPANS = Operation(
    name="panel.spans",
    summary="Replace the named spans of a panel and leave the others.",
    effect=Effect.DISPLAY,
    params=SpansParams,
    result=Done,
    run=_spans,
    route=Route(method="POST", path=f"{_PATH}/{{id}}/spans", status=204),
    errors=(PanelNotFound, InvalidOverlay),
)
WRITE = Operation(
    name="panel.write",
    summary="Write text at places of a panel.",
    effect=Effect.DISPLAY,
    params=RegionWriteParams,
    result=Done,
    run=_write,
    route=Route(method="POST", path=f"{_PATH}/{{id}}/write", status=204),
    errors=(PanelNotFound, InvalidOverlay),
)
