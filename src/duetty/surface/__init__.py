"""Screen, panels and overlays, as one viewer sees them. Pure: cells in, frames out.

Knows nothing of sessions, viewers' connections or who drew what.
"""

from duetty.surface.compose import (
    Composer,
    Frame,
    GridReader,
    Scene,
    compose,
    drawing_order,
    set_scene,
)
from duetty.surface.layout import Layout, Placed, lay_out
from duetty.surface.to_json import overlay_from, overlay_json, panel_from, panel_json
from duetty.surface.values import (
    COLOUR_NAMES,
    ColourName,
    Edge,
    Element,
    ElementColour,
    Overlay,
    Panel,
    RegionWrite,
    ScreenMode,
    TextSpan,
    attributes_of,
    with_spans,
    written,
)

__all__ = [
    "COLOUR_NAMES",
    "ColourName",
    "Composer",
    "Edge",
    "Element",
    "ElementColour",
    "Frame",
    "GridReader",
    "Layout",
    "Overlay",
    "Panel",
    "Placed",
    "RegionWrite",
    "Scene",
    "ScreenMode",
    "TextSpan",
    "attributes_of",
    "compose",
    "drawing_order",
    "lay_out",
    "overlay_from",
    "overlay_json",
    "panel_from",
    "panel_json",
    "set_scene",
    "with_spans",
    "written",
]
