"""Overlays, panels, the keyboard and the screen mode, as they cross the boundary.

Attributes of elements are not here: they come from `surface/values.py`.

Numbers of spans and bytes of text are not checked here: what is too much has a
code of its own, and depends on whether the element is new.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, Field, create_model, field_validator

from duetty.surface import Element, Overlay, Panel, attributes_of
from duetty.wire.base import Params, Result
from duetty.wire.params import MAX_INPUT_CHARS, SessionParams

MAX_LEASE_MS = 3_600_000
MAX_KEYS_WAIT_MS = 300_000
MAX_ATTRIBUTE_CHARS = 1_000

ColourName = Literal["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"]
Extent = Annotated[int, Field(ge=0, le=65_535)]
Place = Annotated[int, Field(ge=-65_535, le=65_535)]
Z = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
Part = Annotated[int, Field(ge=0, le=255)]


class RgbShape(Params):
    r: Part
    g: Part
    b: Part


ColourShape = ColourName | RgbShape


class BackgroundShape(Params):
    bg: ColourShape


class Looks(Params):
    text: str = Field(
        description="a line end begins the next row; control characters are not shown"
    )
    fg: ColourShape | None = None
    bg: ColourShape | None = None
    bold: bool | None = None
    italic: bool | None = None
    underline: bool | None = None

    @field_validator("text")
    @classmethod
    def _whole(cls, text: str) -> str:
        if not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text):
            raise ValueError("holds half of a surrogate pair")
        return text


class SpanShape(Looks):
    id: str | None = Field(None, max_length=1_000, description="names it for later changes")


class NamedSpanShape(SpanShape):
    id: str = Field(max_length=1_000, description="every span of this name is replaced")  # type: ignore[assignment]


class RegionWriteShape(Looks):
    row: Extent = Field(description="within the element, from 0")
    col: Extent = Field(description="within the element, from 0")


Shape = TypeVar("Shape", bound=BaseModel)


def _shape_of(kind: type[Element]) -> Callable[[type[Shape]], type[Shape]]:
    """Gives a shape the attributes of this kind of element: arguments those that callers may give."""

    def completed(shape: type[Shape]) -> type[Shape]:
        is_answer = issubclass(shape, Result)
        fields: dict[str, Any] = {
            each.name: (
                each.type if is_answer else each.type | None,
                Field(
                    each.default if is_answer else None,
                    description=each.description or None,
                    max_length=MAX_ATTRIBUTE_CHARS
                    if str in (each.type, *get_args(each.type))
                    else None,
                ),
            )
            for each in attributes_of(kind)
            if is_answer or each.given
        }
        return create_model(
            shape.__name__,
            __base__=shape,
            __module__=shape.__module__,
            __doc__=shape.__doc__,
            **fields,
        )

    return completed


# --- arguments ------------------------------------------------------------------


class ElementParams(SessionParams):
    id: str = Field(max_length=1_000, description="id of the overlay or panel")


@_shape_of(Overlay)
class CreateOverlayParams(SessionParams):
    x: Place = Field(description="first column, counted over the whole surface from 0")
    y: Place = Field(description="first row")
    width: Extent
    height: Extent
    spans: list[SpanShape]
    z: Z | None = Field(None, description="higher is on top; above all others when left out")
    background: BackgroundShape | None = Field(
        None, description="fills the rectangle; without it what is below shows where no text is"
    )


class UpdateOverlayParams(ElementParams):
    spans: list[SpanShape]


@_shape_of(Overlay)
class PatchOverlayParams(ElementParams):
    x: Place | None = None
    y: Place | None = None
    z: Z | None = None
    width: Extent | None = None
    height: Extent | None = None
    background: BackgroundShape | None = Field(None, description="null takes it away")
    spans: list[SpanShape] | None = None


@_shape_of(Panel)
class CreatePanelParams(SessionParams):
    position: Literal["top", "bottom"]
    height: Extent = Field(description="rows that the program gives up while it is shown")
    z: Z | None = Field(None, description="higher gets its rows first, and is nearer to the edge")
    background: BackgroundShape | None = None
    spans: list[SpanShape] = Field(default_factory=list[SpanShape])


class UpdatePanelParams(ElementParams):
    position: Literal["top", "bottom"]
    height: Extent
    z: Z
    spans: list[SpanShape]


@_shape_of(Panel)
class PatchPanelParams(ElementParams):
    position: Literal["top", "bottom"] | None = None
    height: Extent | None = None
    z: Z | None = None
    background: BackgroundShape | None = Field(None, description="null takes it away")
    spans: list[SpanShape] | None = None


class SpansParams(ElementParams):
    spans: list[NamedSpanShape] = Field(description="names that are not there are ignored")


class RegionWriteParams(ElementParams):
    writes: list[RegionWriteShape] = Field(
        description="drawn above the spans; one at the same place replaces the earlier one"
    )


class BatchParams(ElementParams):
    type: Literal["overlay", "panel"]
    spans: list[NamedSpanShape] | None = None
    writes: list[RegionWriteShape] | None = None


class CaptureParams(SessionParams):
    lease_ms: int = Field(
        60_000,
        ge=100,
        le=MAX_LEASE_MS,
        description="the capture ends after this time unless it is renewed, by asking again or "
        "by reading keys",
    )
    owner: str | None = Field(
        None, max_length=200, description="in whose name; the actor's own when left out"
    )


class ReleaseParams(SessionParams):
    owner: str | None = Field(
        None, max_length=200, description="only this owner's capture; every owner's when left out"
    )


class FocusParams(SessionParams):
    id: str = Field(max_length=1_000, description="id of a focusable overlay or panel")


class KeysParams(SessionParams):
    after: int = Field(0, ge=0, description="only keys after this seq")
    wait_ms: int = Field(
        0, ge=0, le=MAX_KEYS_WAIT_MS, description="wait so long for a key while captured"
    )
    limit: int = Field(256, ge=1, le=1_024)
    owner: str | None = Field(None, max_length=200, description="whose lease this renews")


class TypeParams(SessionParams):
    data: str = Field(max_length=MAX_INPUT_CHARS, description="what a person typed")
    encoding: Literal["utf8", "base64"] = "utf8"


# --- answers ----------------------------------------------------------------------


class Created(Result):
    id: str


class ElementInfo(Result):
    """Fields that have their default are left out."""

    id: str
    z: int
    spans: list[SpanShape]
    background: BackgroundShape | None = None
    region_writes: list[RegionWriteShape] | None = None


@_shape_of(Overlay)
class OverlayInfo(ElementInfo):
    x: int
    y: int
    width: int
    height: int


@_shape_of(Panel)
class PanelInfo(ElementInfo):
    position: Literal["top", "bottom"]
    height: int
    visible: bool = Field(description="false: there is no room for it, or the other mode is shown")


class ModeInfo(Result):
    mode: Literal["passthrough", "capture"]
    owners: list[str] = Field(description="who captures the keyboard")
    lease_ms: int | None = Field(description="until the capture ends, unless it is renewed")


class ScreenModeInfo(Result):
    mode: Literal["normal", "alt"]


class FocusInfo(Result):
    focused: str | None


class KeyInfo(Result):
    seq: int
    key: str | None = Field(description="null when it is no key that we know")
    modifiers: list[str]
    text: str
    raw: list[int] = Field(description="the bytes that the keyboard sent")
    target: str | None = Field(description="the element that had the focus")
    at_ms: int


class KeysInfo(Result):
    keys: list[KeyInfo]
    last_seq: int = Field(description="give it as `after` to go on")
    missed: int = Field(description="keys after `after` that were not kept until now")
    mode: Literal["passthrough", "capture"]


class Typed(Result):
    mode: Literal["passthrough", "capture"] = Field(description="after what was typed")
    bytes: int = Field(description="how many the program got")


class SurfaceInfo(Result):
    """Everything drawn over and beside the program, whole."""

    overlays: list[OverlayInfo]
    panels: list[PanelInfo]
    screen_mode: Literal["normal", "alt"]
    input_mode: Literal["passthrough", "capture"]
    focused: str | None
    cols: int
    rows: int
    program_rows: int
    top: int
