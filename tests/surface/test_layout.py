"""Which panels get their rows, and where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetty.surface import Edge, Layout, Panel, lay_out
from tests.surface.strategies import panels


def panel(name: str, position: Edge, *, height: int, z: int) -> Panel:
    return Panel(id=name, position=position, height=height, z=z)


def rows_of(layout: Layout) -> dict[str, int]:
    return {each.panel.id: each.row for each in layout.placed}


def test_without_panels_the_program_has_every_row() -> None:
    assert lay_out([], rows=24) == Layout(program_rows=24, top=0)


def test_at_both_edges_the_highest_z_is_outermost() -> None:
    layout = lay_out(
        [
            panel("top low", "top", height=1, z=1),
            panel("top high", "top", height=2, z=5),
            panel("bottom low", "bottom", height=1, z=2),
            panel("bottom high", "bottom", height=2, z=4),
        ],
        rows=24,
    )

    assert rows_of(layout) == {"top high": 0, "top low": 2, "bottom high": 22, "bottom low": 21}
    assert (layout.top, layout.program_rows) == (3, 18)


def test_a_panel_that_does_not_fit_is_left_out_and_a_smaller_one_may_follow() -> None:
    layout = lay_out(
        [
            panel("first", "top", height=8, z=10),
            panel("too high", "bottom", height=3, z=5),
            panel("small", "bottom", height=1, z=1),
        ],
        rows=10,
    )

    assert rows_of(layout) == {"first": 0, "small": 9}
    assert (layout.shows("small"), layout.shows("too high")) == (True, False)
    assert layout.program_rows == 1


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_one_row_is_always_left_to_the_program(rows: int) -> None:
    layout = lay_out([panel("greedy", "top", height=rows, z=0)], rows=rows)

    assert layout == Layout(program_rows=rows, top=0)


def test_between_equal_z_the_top_edge_and_then_the_older_one_gets_its_rows() -> None:
    older = Panel(id="b", position="top", height=3, z=0, made=1)
    newer = Panel(id="a", position="top", height=3, z=0, made=2)
    bottom = Panel(id="c", position="bottom", height=3, z=0, made=0)

    layout = lay_out([bottom, newer, older], rows=4)

    assert [each.panel for each in layout.placed] == [older]


@given(given=st.lists(panels, max_size=8), rows=st.integers(1, 30), data=st.data())
def test_rows_are_shared_out_whole_and_in_any_order_alike(
    given: list[Panel], rows: int, data: st.DataObject
) -> None:
    layout = lay_out(given, rows=rows)
    shuffled = lay_out(data.draw(st.permutations(given)), rows=rows)

    taken = [row for each in layout.placed for row in range(each.row, each.row + each.panel.height)]
    program = list(range(layout.top, layout.top + layout.program_rows))
    assert layout == shuffled
    assert layout.program_rows >= 1
    assert sorted(taken + program) == list(range(rows))
