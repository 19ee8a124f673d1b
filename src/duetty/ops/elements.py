"""Operations on overlays and panels: the same nine for both kinds.

An overlay is drawn above a session's screen and takes no rows; a panel is rows at
an edge that the program gives up. `KINDS` says where the two differ.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from duetty.calls import Actor, Effect
from duetty.errors import Exhausted, InvalidOverlay, NotFound, OverlayNotFound, PanelNotFound
from duetty.ops.element_shapes import (
    JsonObject,
    background_of,
    changes_of,
    given_of,
    shown_overlays,
    shown_panels,
    spans_of,
    writes_of,
)
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import InSession, Operation, Route
from duetty.ops.services import Services
from duetty.session import Elements, Session
from duetty.surface import Overlay, Panel, overlay_json, panel_json
from duetty.wire.base import Params
from duetty.wire.params import SessionParams
from duetty.wire.results import Done
from duetty.wire.surface import (
    Created,
    CreateOverlayParams,
    CreatePanelParams,
    ElementParams,
    OverlayInfo,
    PanelInfo,
    PatchOverlayParams,
    PatchPanelParams,
    RegionWriteParams,
    SpansParams,
    UpdateOverlayParams,
    UpdatePanelParams,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What one kind of element has of its own."""

    noun: str
    value: type[Overlay | Panel]
    missing: type[NotFound]
    info: Any
    create: type[Params]
    update: type[Params]
    patch: type[Params]
    placed: Sequence[str]
    """Fields that say where it is and how large."""

    replaced: Sequence[str]
    """Those of them that a PUT gives, beside the spans."""

    add: Callable[..., Overlay | Panel]
    find: Callable[[Elements, str], Overlay | Panel]
    change: Callable[..., object]
    remove: Callable[[Elements, str], object]
    clear: Callable[[Elements], object]
    shown: Callable[[Session], list[JsonObject]]
    shape: Callable[[Session, Any], JsonObject]
    summaries: "Summaries"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summaries:
    create: str
    list: str
    get: str
    update: str
    delete: str


KINDS = (
    Kind(
        noun="overlay",
        value=Overlay,
        missing=OverlayNotFound,
        info=OverlayInfo,
        create=CreateOverlayParams,
        update=UpdateOverlayParams,
        patch=PatchOverlayParams,
        placed=("x", "y", "z", "width", "height"),
        replaced=(),
        add=Elements.add_overlay,
        find=Elements.overlay,
        change=Elements.change_overlay,
        remove=Elements.remove_overlay,
        clear=Elements.clear_overlays,
        shown=shown_overlays,
        shape=lambda _session, overlay: overlay_json(overlay),
        summaries=Summaries(
            create="Draw a box of text above a session's screen, for every viewer.",
            list="The overlays of the current screen mode, lowest first.",
            get="One overlay, of either screen mode.",
            update="Replace an overlay's spans.",
            delete="Take an overlay away; what was under it shows again.",
        ),
    ),
    Kind(
        noun="panel",
        value=Panel,
        missing=PanelNotFound,
        info=PanelInfo,
        create=CreatePanelParams,
        update=UpdatePanelParams,
        patch=PatchPanelParams,
        placed=("position", "height", "z"),
        replaced=("position", "height", "z"),
        add=Elements.add_panel,
        find=Elements.panel,
        change=Elements.change_panel,
        remove=Elements.remove_panel,
        clear=Elements.clear_panels,
        shown=shown_panels,
        shape=lambda session, panel: panel_json(panel, visible=session.layout.shows(panel.id)),
        summaries=Summaries(
            create="Take rows from an edge of a session's screen and show text there.",
            list="The panels of the current screen mode: top first, then highest z first.",
            get="One panel, of either screen mode, and whether there is room for it.",
            update="Replace a panel's place, height and spans.",
            delete="Take a panel away; the program gets its rows back.",
        ),
    ),
)


def operations_of(kind: Kind) -> tuple[Operation[Any, Any], ...]:
    """The nine operations on one kind of element."""

    async def create(params: Any, session: Session, services: Services, actor: Actor) -> Created:
        element = kind.add(
            session.elements,
            **{name: getattr(params, name) for name in kind.placed},
            background=background_of(params.background),
            spans=spans_of(params.spans),
            **given_of(params, kind.value),
            owner=actor.name,
        )
        return Created(id=element.id)

    async def list_(
        params: SessionParams, session: Session, services: Services, actor: Actor
    ) -> list[JsonObject]:
        return kind.shown(session)

    async def get(
        params: ElementParams, session: Session, services: Services, actor: Actor
    ) -> JsonObject:
        return kind.shape(session, kind.find(session.elements, params.id))

    async def update(params: Any, session: Session, services: Services, actor: Actor) -> Done:
        kind.change(
            session.elements,
            params.id,
            **{name: getattr(params, name) for name in kind.replaced},
            spans=spans_of(params.spans),
        )
        return Done()

    async def patch(params: Any, session: Session, services: Services, actor: Actor) -> Done:
        changes = changes_of(params, kind.placed)
        kind.change(session.elements, params.id, **changes, **given_of(params, kind.value))
        return Done()

    async def delete(
        params: ElementParams, session: Session, services: Services, actor: Actor
    ) -> Done:
        kind.remove(session.elements, params.id)
        return Done()

    async def clear(
        params: SessionParams, session: Session, services: Services, actor: Actor
    ) -> Done:
        kind.clear(session.elements)
        return Done()

    async def spans(
        params: SpansParams, session: Session, services: Services, actor: Actor
    ) -> Done:
        elements = session.elements
        elements.write(kind.find(elements, params.id), spans=spans_of(params.spans))
        return Done()

    async def write(
        params: RegionWriteParams, session: Session, services: Services, actor: Actor
    ) -> Done:
        elements = session.elements
        elements.write(kind.find(elements, params.id), writes=writes_of(params.writes))
        return Done()

    noun, described = kind.noun, kind.summaries
    an = "an overlay" if noun == "overlay" else "a panel"
    every = f"/sessions/{{session}}/{noun}"
    one = f"{every}/{{id}}"
    changing: tuple[type[NotFound] | type[InvalidOverlay], ...] = (kind.missing, InvalidOverlay)
    return (
        Operation(
            name=f"{noun}.create",
            summary=described.create,
            effect=Effect.DISPLAY,
            judged=PLAIN,
            params=kind.create,
            result=Created,
            run=InSession(create),
            route=Route(method="POST", path=every, status=201),
            errors=(Exhausted,),
        ),
        Operation(
            name=f"{noun}.list",
            summary=described.list,
            effect=Effect.READ,
            judged=PLAIN,
            params=SessionParams,
            result=list[kind.info],
            run=InSession(list_),
            route=Route(method="GET", path=every),
        ),
        Operation(
            name=f"{noun}.get",
            summary=described.get,
            effect=Effect.READ,
            judged=PLAIN,
            params=ElementParams,
            result=kind.info,
            run=InSession(get),
            route=Route(method="GET", path=one),
            errors=(kind.missing,),
        ),
        Operation(
            name=f"{noun}.update",
            summary=described.update,
            effect=Effect.DISPLAY,
            judged=PLAIN,
            params=kind.update,
            result=Done,
            run=InSession(update),
            route=Route(method="PUT", path=one, status=204),
            errors=changing,
        ),
        Operation(
            name=f"{noun}.patch",
            summary=f"Move, resize or restack {an}, or change what it shows.",
            effect=Effect.DISPLAY,
            judged=PLAIN,
            params=kind.patch,
            result=Done,
            run=InSession(patch),
            route=Route(method="PATCH", path=one, status=204),
            errors=changing,
        ),
        Operation(
            name=f"{noun}.delete",
            summary=described.delete,
            effect=Effect.DISPLAY,
            judged=PLAIN,
            params=ElementParams,
            result=Done,
            run=InSession(delete),
            route=Route(method="DELETE", path=one, status=204),
            errors=(kind.missing,),
        ),
        Operation(
            name=f"{noun}.clear",
            summary=f"Take every {noun} away, of both screen modes.",
            effect=Effect.DISPLAY,
            judged=PLAIN,
            params=SessionParams,
            result=Done,
            run=InSession(clear),
            route=Route(method="DELETE", path=every, status=204),
        ),
        Operation(
            name=f"{noun}.spans",
            summary=f"Replace the named spans of {an} and leave the others.",
            effect=Effect.DISPLAY,
            judged=PLAIN,
            params=SpansParams,
            result=Done,
            run=InSession(spans),
            route=Route(method="POST", path=f"{one}/spans", status=204),
            errors=changing,
        ),
        Operation(
            name=f"{noun}.write",
            summary=f"Write text at places of {an}.",
            effect=Effect.DISPLAY,
            judged=PLAIN,
            params=RegionWriteParams,
            result=Done,
            run=InSession(write),
            route=Route(method="POST", path=f"{one}/write", status=204),
            errors=changing,
        ),
    )


ELEMENTS = tuple(operation for kind in KINDS for operation in operations_of(kind))
