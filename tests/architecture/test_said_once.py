"""What is said once: one definition, and everything else made from it."""

from pathlib import Path

import pytest

from duetty.surface import Element, Overlay, Panel, attributes_of
from duetty.wire import surface as shapes

SOURCE = Path(__file__).parents[2] / "src/duetty"
MADE_FROM_IT = (
    "surface/to_json.py",
    "wire/surface.py",
    "ops/elements.py",
    "ops/element_shapes.py",
    "session/elements_file.py",
)
GIVEN = {
    Overlay: (shapes.CreateOverlayParams, shapes.PatchOverlayParams),
    Panel: (shapes.CreatePanelParams, shapes.PatchPanelParams),
}
TOLD = {Overlay: shapes.OverlayInfo, Panel: shapes.PanelInfo}


@pytest.mark.parametrize("kind", [Overlay, Panel])
def test_an_attribute_of_an_element_is_in_arguments_and_answers(kind: type[Element]) -> None:
    names = {each.name for each in attributes_of(kind)}
    given = {each.name for each in attributes_of(kind) if each.given}

    assert {"focusable", "owner"} <= names
    assert names <= set(TOLD[kind].model_fields)
    for arguments in GIVEN[kind]:
        assert names & set(arguments.model_fields) == given


@pytest.mark.parametrize("file", MADE_FROM_IT)
def test_no_attribute_of_an_element_is_named_where_all_of_them_are_meant(file: str) -> None:
    text = (SOURCE / file).read_text(encoding="utf-8")

    named = [each.name for each in attributes_of(Panel) if f"{each.name}:" in text]

    # The surface as a whole has a screen mode too.
    assert [name for name in named if name not in ("screen_mode", "owner")] == []
