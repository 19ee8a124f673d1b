"""Overlays and panels of one session: kept, counted, bounded, focused; and what the program sees."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from uuid import UUID

import anyio
import pytest

from duetty.errors import (
    AlreadyInAltScreen,
    BadArguments,
    Exhausted,
    InvalidOverlay,
    NotFocusable,
    NotInAltScreen,
    OverlayNotFound,
    PanelNotFound,
)
from duetty.events import ElementsChanged, Resized
from duetty.session.elements import (
    MAX_ELEMENT_BYTES,
    MAX_ELEMENTS,
    MAX_TEXT_BYTES,
    MAX_TEXTS,
    MAX_Z,
    Elements,
    kept_from,
)
from duetty.session.elements_file import NAME, read_elements
from duetty.surface import (
    Overlay,
    Panel,
    RegionWrite,
    TextSpan,
    compose,
    overlay_from,
    panel_from,
    set_scene,
)
from duetty.vt import Terminal
from tests.engine import Engine, running_engine


class Told:
    """Whoever owns the elements: notes whether each change was one of rows."""

    def __init__(self) -> None:
        self.changes: list[bool] = []

    def __call__(self, relayout: bool) -> None:
        self.changes.append(relayout)


def elements() -> Elements:
    return Elements(Told())


def overlay(store: Elements, *, z: int | None = None, text: str = "t") -> Overlay:
    return store.add_overlay(z=z, x=0, y=0, width=5, height=1, spans=(TextSpan(text=text),))


def panel(store: Elements, *, z: int | None = None, height: int = 1, edge: str = "top") -> Panel:
    return store.add_panel(z=z, position=edge, height=height)


# --- the store ----------------------------------------------------------------


def test_an_element_has_an_id_that_nobody_can_guess() -> None:
    made = overlay(elements())

    assert UUID(made.id).version == 4


def test_without_a_z_an_element_is_above_all_that_were_there() -> None:
    store = elements()

    zs = [overlay(store, z=z).z for z in (None, None, 10, None, 3, None)]

    assert zs == [0, 1, 10, 11, 3, 12]
    assert panel(store).z == 0


def test_the_highest_z_of_all_leaves_the_next_one_a_z_too() -> None:
    store = elements()

    overlay(store, z=MAX_Z)

    assert overlay(store).z == MAX_Z


def test_overlays_are_listed_lowest_first_and_panels_by_edge_and_z() -> None:
    store = elements()
    high, low = overlay(store, z=5), overlay(store, z=1)
    bottom, top_low, top_high = (
        panel(store, z=9, edge="bottom"),
        panel(store, z=1),
        panel(store, z=2),
    )

    assert store.overlays() == (low, high)
    assert store.panels() == (top_high, top_low, bottom)


@pytest.mark.parametrize("add", [overlay, panel])
def test_there_is_a_bound_on_elements_over_both_screen_modes(add: object) -> None:
    store = elements()
    make = overlay if add is overlay else panel
    for _ in range(MAX_ELEMENTS - 1):
        make(store)
    store.enter_alt()
    make(store)

    with pytest.raises(Exhausted):
        make(store)


@pytest.mark.parametrize(
    "spans",
    [
        (TextSpan(text="x"),) * (MAX_TEXTS + 1),
        (TextSpan(text="x" * (MAX_TEXT_BYTES + 1)),),
        (TextSpan(text="日" * (MAX_TEXT_BYTES // 3 + 1)),),
        (TextSpan(text="x" * MAX_TEXT_BYTES),) * (MAX_ELEMENT_BYTES // MAX_TEXT_BYTES + 1),
    ],
    ids=["spans", "bytes", "wide bytes", "all bytes"],
)
def test_too_much_text_is_a_limit_for_a_new_element_and_invalid_for_an_old_one(
    spans: tuple[TextSpan, ...],
) -> None:
    store = elements()
    made = overlay(store)

    with pytest.raises(Exhausted):
        store.add_overlay(z=None, x=0, y=0, width=1, height=1, spans=spans)
    with pytest.raises(InvalidOverlay):
        store.change_overlay(made.id, spans=spans)

    assert store.overlays() == (made,)


def test_region_writes_are_bounded_over_all_calls() -> None:
    store = elements()
    made = panel(store)
    row = tuple(RegionWrite(row=0, col=col, text="x") for col in range(MAX_TEXTS))
    store.write(store.panel(made.id), writes=row)
    store.write(store.panel(made.id), writes=row)

    with pytest.raises(InvalidOverlay):
        store.write(store.panel(made.id), writes=(RegionWrite(row=1, col=0, text="x"),))

    assert len(store.panel(made.id).region_writes) == MAX_TEXTS


def test_a_batch_that_is_too_much_changes_nothing() -> None:
    store = elements()
    made = store.add_overlay(
        z=0, x=0, y=0, width=1, height=1, spans=(TextSpan(text="old", id="a"),)
    )

    with pytest.raises(InvalidOverlay):
        store.write(
            made,
            spans=(TextSpan(text="new", id="a"),),
            writes=(RegionWrite(row=0, col=0, text="x" * (MAX_TEXT_BYTES + 1)),),
        )

    assert store.overlay(made.id) == made


def test_all_text_of_a_session_has_a_bound() -> None:
    store = elements()
    large = (TextSpan(text="x" * MAX_TEXT_BYTES),) * (MAX_ELEMENT_BYTES // MAX_TEXT_BYTES)
    for _ in range(4):
        store.add_overlay(z=None, x=0, y=0, width=1, height=1, spans=large)

    with pytest.raises(Exhausted):
        overlay(store)

    store.clear_overlays()
    assert overlay(store)


def test_only_what_concerns_rows_shares_them_out_anew() -> None:
    told = Told()
    store = Elements(told)
    made = panel(store)

    overlay(store)
    store.change_panel(made.id, spans=(TextSpan(text="new"),), background="red")
    store.change_panel(made.id, height=2)
    store.remove_panel(made.id)

    assert told.changes == [True, False, False, True, True]


def test_what_does_not_exist_cannot_be_changed() -> None:
    store = elements()

    for call in (store.overlay, store.remove_overlay, store.change_overlay):
        with pytest.raises(OverlayNotFound):
            call("nobody")
    for call in (store.panel, store.remove_panel, store.change_panel):
        with pytest.raises(PanelNotFound):
            call("nobody")


# --- focus, screen mode -------------------------------------------------------


REMOVALS: list[Callable[[Elements, str], None]] = [
    Elements.remove_overlay,
    lambda store, _: store.clear_overlays(),
    lambda store, _: store.unfocus(),
]


@pytest.mark.parametrize("remove", REMOVALS, ids=["delete", "clear", "unfocus"])
def test_the_focus_goes_with_its_element(remove: Callable[[Elements, str], None]) -> None:
    store = elements()
    made = overlay(store)
    store.change_overlay(made.id, focusable=True)
    store.focus(made.id)
    assert store.focused == made.id

    remove(store, made.id)

    assert store.focused is None


def test_only_an_element_that_takes_keys_can_have_the_focus() -> None:
    store = elements()
    made = overlay(store)

    with pytest.raises(NotFocusable):
        store.focus(made.id)
    with pytest.raises(BadArguments) as caught:
        store.focus("nobody")

    assert caught.value.code == "invalid_request"
    assert store.focused is None


def test_leaving_the_alt_mode_deletes_its_elements_and_their_focus() -> None:
    store = elements()
    normal = overlay(store)
    store.enter_alt()
    alt = store.add_overlay(z=None, x=0, y=0, width=1, height=1, focusable=True)
    taken = panel(store)
    store.focus(alt.id)
    assert (store.overlays(), store.panels()) == ((alt,), (taken,))
    assert store.overlay(normal.id) == normal

    store.exit_alt()

    assert (store.screen_mode, store.focused) == ("normal", None)
    assert (store.overlays(), store.panels()) == ((normal,), ())
    with pytest.raises(OverlayNotFound):
        store.overlay(alt.id)


def test_a_mode_that_is_shown_cannot_be_entered_again() -> None:
    store = elements()

    with pytest.raises(NotInAltScreen):
        store.exit_alt()
    store.enter_alt()
    with pytest.raises(AlreadyInAltScreen):
        store.enter_alt()


def test_only_the_panels_that_are_shown_take_rows() -> None:
    store = elements()
    panel(store, height=3)

    store.enter_alt()
    panel(store, height=1)

    assert store.layout(rows=10).program_rows == 9


# --- surviving ----------------------------------------------------------------


def test_what_was_kept_goes_on_where_it_was() -> None:
    store = elements()
    overlay(store, z=7)
    store.change_overlay(overlay(store).id, focusable=True, background="red")
    panel(store)
    store.focus(store.overlays()[-1].id)
    store.enter_alt()

    again = elements()
    kept = store.kept(cols=80, rows=24)
    again.restore(kept_from(kept.to_json()))

    assert again.kept(cols=80, rows=24).to_json() == kept.to_json()
    assert (again.screen_mode, again.focused) == ("alt", store.focused)
    assert overlay(again).z == 9


# --- in a session -------------------------------------------------------------


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    async with running_engine(home) as engine:
        await engine.open(command="bash")
        with anyio.fail_after(60):
            yield engine


@pytest.mark.anyio
@pytest.mark.pty
async def test_panels_change_the_programs_size_and_nothing_else(engine: Engine) -> None:
    session = engine.registry.find("s")
    await engine.run("echo before")

    top = await engine.call("panel.create", session="s", position="top", height=2)
    await engine.call("panel.create", session="s", position="bottom", height=3)
    within = await engine.run("stty size; echo within")
    info = await engine.call("session.get", session="s")
    await engine.call("panel.delete", session="s", id=top.id)
    after = await engine.run("stty size")
    await engine.call("panel.clear", session="s")
    last = await engine.run("stty size")

    assert within.output == "19 80\nwithin"
    assert within.screen["rows"] == 19
    assert "echo before" in "\n".join(within.screen["lines"])
    assert (info.rows, info.cols) == (24, 80)
    assert (after.output, last.output) == ("21 80", "24 80")
    assert session.terminal_size == (80, 24)


@pytest.mark.anyio
@pytest.mark.pty
async def test_overlays_change_nothing_that_the_program_can_see(engine: Engine) -> None:
    await engine.run("trap 'echo resized' WINCH; echo ready")
    session = engine.registry.find("s")
    before = session.screen(styled=True)

    made = await engine.call(
        "overlay.create", session="s", x=0, y=0, width=80, height=24, spans=[{"text": "x"}]
    )
    await engine.call("overlay.patch", session="s", id=made.id, x=3)
    await engine.call("overlay.delete", session="s", id=made.id)

    assert session.screen(styled=True) == before
    later = await engine.run("echo later")  # a shell that was told of a size would say so by now
    assert "\nresized" not in "\n".join(later.screen["lines"])


@pytest.mark.anyio
@pytest.mark.pty
async def test_a_new_size_of_the_surface_keeps_the_panels_rows(engine: Engine) -> None:
    await engine.call("panel.create", session="s", position="bottom", height=4)

    resized = await engine.call("session.resize", session="s", cols=100, rows=30)
    small = await engine.run("stty size")
    await engine.call("session.resize", session="s", cols=100, rows=4)
    [hidden] = await engine.call("panel.list", session="s")
    await engine.call("session.resize", session="s", cols=100, rows=30)
    [back] = await engine.call("panel.list", session="s")

    assert (resized.cols, resized.rows) == (100, 30)
    assert small.output == "26 100"
    assert (hidden["visible"], back["visible"]) == (False, True)
    assert engine.registry.find("s").terminal_size == (100, 26)


@pytest.mark.anyio
@pytest.mark.pty
async def test_a_follower_is_told_of_elements_and_sizes(engine: Engine) -> None:
    session = engine.registry.find("s")
    await engine.run("true")

    with session.log.subscribe() as entries:
        await engine.call("overlay.create", session="s", x=0, y=0, width=1, height=1, spans=[])
        await engine.call("panel.create", session="s", position="top", height=2)
        events = [(await entries.receive()) for _ in range(3)]

    assert [getattr(each, "event", None) for each in events] == [
        ElementsChanged(),
        Resized(cols=80, rows=24, program_rows=22, top=2),
        ElementsChanged(),
    ]


@pytest.mark.anyio
@pytest.mark.pty
async def test_the_programs_own_alternate_screen_is_another_thing(engine: Engine) -> None:
    """Case 103 of the reference."""
    made = await engine.call("overlay.create", session="s", x=0, y=0, width=1, height=1, spans=[])

    await engine.run("printf '\\033[?1049h'", max_wait_ms=30_000)
    assert engine.registry.find("s").alternate_active
    within = await engine.call("screen_mode.get", session="s")
    listed = await engine.call("overlay.list", session="s")
    await engine.call("screen_mode.enter_alt", session="s")
    await engine.run("printf '\\033[?1049l'", max_wait_ms=30_000)
    assert not engine.registry.find("s").alternate_active

    assert within.mode == "normal"
    assert [each["id"] for each in listed] == [made.id]
    assert (await engine.call("screen_mode.get", session="s")).mode == "alt"


@pytest.mark.anyio
@pytest.mark.pty
async def test_elements_of_an_exited_session_stay(engine: Engine) -> None:
    made = await engine.call("panel.create", session="s", position="top", height=2)
    overlay = await engine.call(
        "overlay.create", session="s", x=0, y=0, width=1, height=1, spans=[]
    )
    await engine.call("session.close", session="s")

    panels = await engine.call("panel.list", session="s")
    overlays = await engine.call("overlay.list", session="s")
    await engine.call("panel.delete", session="s", id=made.id)

    assert [each["id"] for each in panels] == [made.id]
    assert [each["id"] for each in overlays] == [overlay.id]
    assert await engine.call("panel.list", session="s") == []


@pytest.mark.anyio
@pytest.mark.pty
async def test_elements_outlive_the_server_and_a_rename(home: Path) -> None:
    async with running_engine(home, keep_sessions=True) as engine:
        await engine.open(command="bash", rows=20)
        await engine.run("true")
        await engine.call(
            "panel.create", session="s", position="bottom", height=5, spans=[{"text": "kept"}]
        )
        await engine.call("session.update", session="s", name="renamed")
        before = await engine.call("elements.get", session="renamed")

    async with running_engine(home) as engine:
        with anyio.fail_after(60):
            after = await engine.call("elements.get", session="renamed")
            info = await engine.call("session.get", session="renamed")
            size = await engine.run("stty size", session="renamed")
            await engine.call("panel.clear", session="renamed")
            freed = await engine.run("stty size", session="renamed")

    assert after == before
    assert (info.rows, size.output, freed.output) == (20, "15 80", "20 80")


@pytest.mark.anyio
@pytest.mark.pty
async def test_elements_are_on_disk_a_moment_after_they_changed(engine: Engine) -> None:
    session = engine.registry.find("s")
    directory = session.journal.directory

    made = await engine.call("panel.create", session="s", position="top", height=1)
    with anyio.fail_after(60):
        while (kept := read_elements(directory)) is None:
            await anyio.sleep(0.01)
    await engine.call("panel.delete", session="s", id=made.id)
    with anyio.fail_after(60):
        while (directory / NAME).exists():
            await anyio.sleep(0.01)

    assert [each.id for each in kept.panels] == [made.id]


def test_a_file_that_cannot_be_read_is_no_file(tmp_path: Path) -> None:
    for damage in ("", "[]", "{}", '{"overlays": [1], "panels": []}', "\x00"):
        (tmp_path / NAME).write_text(damage)
        assert read_elements(tmp_path) is None


@pytest.mark.anyio
@pytest.mark.pty
async def test_a_viewer_composes_what_the_server_composes(engine: Engine) -> None:
    await engine.run("printf 'wide 日本語\\n\\033[31mred\\033[m\\n'")
    for position, height, z in (("top", 2, 3), ("bottom", 1, 3), ("bottom", 30, 1)):
        await engine.call(
            "panel.create",
            session="s",
            position=position,
            height=height,
            z=z,
            background={"bg": "blue"},
            spans=[{"text": f"{position} é日"}],
        )
    for x in (-2, 4, 75):
        await engine.call(
            "overlay.create",
            session="s",
            x=x,
            y=3,
            width=9,
            height=2,
            z=0,
            spans=[{"text": "日本語日本"}],
        )
    session = engine.registry.find("s")

    told = await engine.call("elements.get", session="s")
    terminal = Terminal(cols=told["cols"], rows=told["program_rows"])
    terminal.feed(session.dump())
    scene = set_scene(
        [overlay_from(each, made=at) for at, each in enumerate(told["overlays"])],
        [panel_from(each, made=at) for at, each in enumerate(told["panels"])],
        cols=told["cols"],
        rows=told["rows"],
        screen_mode=told["screen_mode"],
    )
    viewed = compose(terminal.grid(), terminal.cursor, scene)

    cols, rows = session.profile.cols, session.profile.rows
    served = compose(session.grid(), terminal.cursor, session.elements.scene(cols=cols, rows=rows))
    assert viewed == served
    assert (scene.layout.program_rows, len(viewed.rows)) == (21, 24)
    assert viewed.text_lines[0].startswith("top é日")
    assert viewed.text_lines[-1].startswith("bottom é日")
