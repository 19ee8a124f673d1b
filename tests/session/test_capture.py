"""The keyboard: who has it, for how long, and what no one can take."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from duetty.calls import Actor
from duetty.clock import SystemClock
from duetty.errors import Exhausted, SessionExited
from duetty.events import Event, EventLog, InputModeChanged, KeysTyped
from duetty.session.capture import LEASE_S, MAX_OWNERS, RING_BYTES, RING_KEYS, Keyboard
from duetty.session.elements import Elements
from duetty.session.pulse import Pulse
from duetty.vt import Key
from duetty.wire.surface import KeysInfo
from tests.engine import Engine, running_engine

pytestmark = pytest.mark.anyio

PERSON = Actor(kind="person", name="pat")
LONG_S = 1_000.0
TOGGLE_KEY = Key(b"\x1c", "\\", ("ctrl",))


class FakeSession:
    """What a keyboard needs of a session, with nothing behind it."""

    def __init__(self, *, echo: bool = True, canonical: bool = True) -> None:
        self.events: list[Event] = []
        self.log = EventLog(SystemClock(), tap=self.events.append)
        self.pulse = Pulse()
        self.elements = Elements(lambda relayout: None)
        self.got = b""
        self.echo, self.canonical = echo, canonical

    def write(self, data: bytes, *, actor: Actor) -> None:
        self.got += data

    def echo_and_canonical(self) -> tuple[bool, bool]:
        return self.echo, self.canonical

    def typed(self) -> list[bytes]:
        return [each.raw for each in self.events if isinstance(each, KeysTyped)]

    def modes(self) -> list[tuple[str, str]]:
        return [
            (each.mode, each.reason) for each in self.events if isinstance(each, InputModeChanged)
        ]


@pytest.fixture
async def session() -> FakeSession:
    return FakeSession()


@pytest.fixture
async def keyboard(session: FakeSession) -> AsyncIterator[Keyboard]:
    keyboard = Keyboard(session, SystemClock(), line_settings=session.echo_and_canonical)
    yield keyboard
    keyboard.close()


async def a_longer_lease_has_ended() -> None:
    """Returns when a keyboard that nobody renewed was released."""
    witness = FakeSession()
    keyboard = Keyboard(witness, SystemClock(), line_settings=witness.echo_and_canonical)
    keyboard.capture("nobody", lease_s=0.08)
    with anyio.fail_after(60):
        while keyboard.mode == "capture":
            await witness.pulse.wait()


# --- where keys go ------------------------------------------------------------


async def test_keys_go_to_the_program_and_to_whoever_follows(
    session: FakeSession, keyboard: Keyboard
) -> None:
    with session.log.subscribe():
        forwarded = keyboard.type(b"a\x1b[A", actor=PERSON)

    assert (forwarded, session.got) == (4, b"a\x1b[A")
    assert session.events == [
        KeysTyped(
            raw=b"a\x1b[A",
            keys=(Key(b"a", "a", text="a"), Key(b"\x1b[A", "ArrowUp")),
            mode="passthrough",
            target=None,
        )
    ]
    assert keyboard.captured(after=0) == []


async def test_nobody_is_told_when_nobody_listens(session: FakeSession, keyboard: Keyboard) -> None:
    keyboard.type(b"a", actor=PERSON)

    assert (session.got, session.events) == (b"a", [])


async def test_captured_keys_are_kept_for_the_owner_and_not_forwarded(
    session: FakeSession, keyboard: Keyboard
) -> None:
    made = session.elements.add_overlay(z=0, x=0, y=0, width=1, height=1, focusable=True)
    session.elements.focus(made.id)
    keyboard.capture("agent", lease_s=LONG_S)

    forwarded = keyboard.type(b"ab", actor=PERSON)

    assert (forwarded, session.got) == (0, b"")
    assert [(each.seq, each.key.name, each.target) for each in keyboard.captured(after=0)] == [
        (1, "a", made.id),
        (2, "b", made.id),
    ]
    assert [each.seq for each in keyboard.captured(after=1)] == [2]
    assert session.typed() == [b"ab"]


async def test_a_password_is_neither_told_nor_captured(
    session: FakeSession, keyboard: Keyboard
) -> None:
    keyboard.capture("agent", lease_s=LONG_S)
    session.echo = False

    with session.log.subscribe():
        keyboard.type(b"secret\r", actor=PERSON)

    assert session.got == b"secret\r"
    assert (session.typed(), keyboard.captured(after=0)) == ([], [])


async def test_a_shell_that_edits_its_line_is_no_password_prompt(
    session: FakeSession, keyboard: Keyboard
) -> None:
    session.echo = session.canonical = False
    keyboard.capture("agent", lease_s=LONG_S)

    keyboard.type(b"x", actor=PERSON)

    assert (session.got, len(keyboard.captured(after=0))) == (b"", 1)


async def test_the_oldest_captured_keys_make_room(keyboard: Keyboard) -> None:
    keyboard.capture("agent", lease_s=LONG_S)

    for _ in range(RING_KEYS + 5):
        keyboard.type(b"k", actor=PERSON)
    many = keyboard.captured(after=0)
    for _ in range(40):
        keyboard.type(b"\x1b[200~" + b"p" * 16_000 + b"\x1b[201~", actor=PERSON)

    assert (many[0].seq, many[-1].seq) == (6, RING_KEYS + 5)
    assert sum(len(each.key.raw) for each in keyboard.captured(after=0)) <= RING_BYTES


async def test_the_next_owner_does_not_see_what_was_typed_for_an_earlier_one(
    keyboard: Keyboard,
) -> None:
    keyboard.capture("first", lease_s=LONG_S)
    keyboard.type(b"x", actor=PERSON)
    keyboard.release()

    keyboard.capture("second", lease_s=LONG_S)
    keyboard.type(b"y", actor=PERSON)

    assert [(each.seq, each.key.name) for each in keyboard.captured(after=0)] == [(2, "y")]


# --- Ctrl+\ -------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [b"\x1c", b"\x1b[92;5u", b"\x1b[92;69u", b"\x1b[92:124;5:1u", b"\x1b[27;5;92~"],
    ids=["legacy", "kitty", "num lock", "alternates", "xterm"],
)
async def test_the_hotkey_toggles_and_reaches_neither_the_program_nor_the_owner(
    session: FakeSession, keyboard: Keyboard, key: bytes
) -> None:
    keyboard.capture("agent", lease_s=LONG_S)

    keyboard.type(key, actor=PERSON)
    between = keyboard.mode
    keyboard.type(key, actor=PERSON)

    assert (between, keyboard.mode, keyboard.owners) == (
        "passthrough",
        "capture",
        ("person:pat",),
    )
    assert (session.got, keyboard.captured(after=0)) == (b"", [])
    assert session.modes() == [
        ("capture", "capture"),
        ("passthrough", "toggle"),
        ("capture", "capture"),
    ]


async def test_the_hotkey_glued_to_other_keys_parts_them(
    session: FakeSession, keyboard: Keyboard
) -> None:
    with session.log.subscribe():
        forwarded = keyboard.type(b"ab\x1ccd\x1cef", actor=PERSON)

    assert (forwarded, session.got) == (4, b"abef")
    assert [each.key.name for each in keyboard.captured(after=0)] == ["c", "d"]
    assert session.typed() == [b"ab", b"\x1c", b"cd", b"\x1c", b"ef"]
    assert TOGGLE_KEY in [
        key for each in session.events if isinstance(each, KeysTyped) for key in each.keys
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b[200~a\x1cb\x1b[201~",  # text that somebody pastes
        b"\x1b[92;6u",  # with shift it is another key
        b"\x1b[92;1u",
        b"\\",
    ],
)
async def test_what_only_looks_like_the_hotkey_is_forwarded(
    session: FakeSession, keyboard: Keyboard, data: bytes
) -> None:
    keyboard.type(data, actor=PERSON)

    assert (session.got, keyboard.mode) == (data, "passthrough")


async def test_letting_the_hotkey_go_does_nothing(session: FakeSession, keyboard: Keyboard) -> None:
    keyboard.type(b"\x1b[92;5:1u\x1b[92;5:3u", actor=PERSON)

    assert (session.got, keyboard.mode) == (b"", "capture")


async def test_a_paste_that_never_ends_does_not_hide_the_hotkey(
    session: FakeSession, keyboard: Keyboard
) -> None:
    keyboard.capture("agent", lease_s=LONG_S)

    keyboard.type(b"\x1b[200~stuck", actor=PERSON)
    keyboard.type(b"\x1c", actor=PERSON)
    keyboard.type(b"\x1b[200~stuck\x1c", actor=PERSON)

    assert session.modes()[1] == ("passthrough", "toggle")
    assert keyboard.mode == "capture"


# --- owners and leases --------------------------------------------------------


async def test_a_capture_ends_with_its_lease(session: FakeSession, keyboard: Keyboard) -> None:
    made = session.elements.add_overlay(z=0, x=0, y=0, width=1, height=1, focusable=True)
    session.elements.focus(made.id)
    keyboard.capture("agent", lease_s=0.02)

    with anyio.fail_after(60):
        while keyboard.mode == "capture":
            await session.pulse.wait()

    assert session.modes() == [("capture", "capture"), ("passthrough", "lease")]
    assert session.elements.focused is None


async def test_asking_again_renews_and_tells_nobody(
    session: FakeSession, keyboard: Keyboard
) -> None:
    keyboard.capture("agent", lease_s=0.02)
    keyboard.capture("agent", lease_s=LONG_S)

    await a_longer_lease_has_ended()

    assert keyboard.mode == "capture"
    assert session.modes() == [("capture", "capture")]


async def test_a_lease_does_not_run_out_while_its_owner_reads(
    session: FakeSession, keyboard: Keyboard
) -> None:
    keyboard.capture("agent", lease_s=0.02)

    with keyboard.reading("agent"):
        await a_longer_lease_has_ended()
        while_reading = keyboard.mode
    with anyio.fail_after(60):
        while keyboard.mode == "capture":
            await session.pulse.wait()

    assert while_reading == "capture"


class FakeClock(SystemClock):
    """Time that passes when the test says so."""

    now_s = 0.0

    def monotonic_s(self) -> float:
        return self.now_s


async def test_a_person_who_captured_the_keyboard_keeps_it_by_typing(session: FakeSession) -> None:
    clock = FakeClock()
    keyboard = Keyboard(session, clock, line_settings=session.echo_and_canonical)
    keyboard.type(b"\x1c", actor=PERSON)

    clock.now_s = LEASE_S - 1
    before = keyboard.lease_left_s
    keyboard.type(b"x", actor=Actor(kind="person", name="somebody else"))
    by_another = keyboard.lease_left_s
    keyboard.type(b"x", actor=PERSON)
    after = keyboard.lease_left_s
    keyboard.release()

    assert (before, by_another, after, keyboard.lease_left_s) == (1, 1, LEASE_S, None)


async def test_somebody_elses_reading_renews_nothing(
    session: FakeSession, keyboard: Keyboard
) -> None:
    keyboard.capture("agent", lease_s=0.02)

    with keyboard.reading("somebody"), anyio.fail_after(60):
        while keyboard.mode == "capture":
            await session.pulse.wait()


async def test_an_owner_that_goes_takes_nothing_from_another(
    session: FakeSession, keyboard: Keyboard
) -> None:
    keyboard.capture("one", lease_s=LONG_S)
    keyboard.capture("two", lease_s=LONG_S)

    keyboard.release("one")
    with_two = keyboard.mode
    keyboard.release("two")

    assert (with_two, keyboard.mode) == ("capture", "passthrough")
    assert session.modes() == [("capture", "capture"), ("passthrough", "release")]


async def test_release_is_for_all_and_may_be_said_twice(
    session: FakeSession, keyboard: Keyboard
) -> None:
    keyboard.capture("one", lease_s=LONG_S)
    keyboard.capture("two", lease_s=LONG_S)

    keyboard.release()
    keyboard.release()

    assert (keyboard.mode, keyboard.owners) == ("passthrough", ())
    assert session.modes() == [("capture", "capture"), ("passthrough", "release")]


async def test_there_is_a_bound_on_owners(keyboard: Keyboard) -> None:
    for number in range(MAX_OWNERS):
        keyboard.capture(f"owner {number}", lease_s=LONG_S)

    with pytest.raises(Exhausted):
        keyboard.capture("one too many", lease_s=LONG_S)
    keyboard.capture("owner 0", lease_s=LONG_S)


# --- in a session -------------------------------------------------------------


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    async with running_engine(home) as engine:
        await engine.open(command="bash")
        await engine.run("true")
        with anyio.fail_after(60):
            yield engine


@pytest.mark.pty
async def test_typed_keys_run_a_command_unless_they_are_captured(engine: Engine) -> None:
    typed = await engine.call("input.type", session="s", data="echo typed-$((1+1))\r")
    await engine.call("session.wait", session="s", text="typed-2")
    await engine.call("input.capture", session="s")
    captured = await engine.call("input.type", session="s", data="echo never\r")
    sent = await engine.run("echo sent")

    assert (typed.mode, typed.bytes) == ("passthrough", 20)
    assert (captured.mode, captured.bytes) == ("capture", 0)
    assert (sent.output, sent.exit_code) == ("sent", 0)
    assert "never" not in "\n".join(sent.screen["lines"])


@pytest.mark.pty
async def test_a_reader_waits_for_a_captured_key(engine: Engine) -> None:
    await engine.call("input.capture", session="s")
    answers: list[KeysInfo] = []

    async def read() -> None:
        answers.append(await engine.call("input.keys", session="s", wait_ms=20_000))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        while not engine.registry.find("s").pulse.waiters:
            await anyio.sleep(0.001)
        await engine.call("input.type", session="s", data="\x1b[1;5A")

    [answer] = answers
    assert [(each.key, each.modifiers, bytes(each.raw)) for each in answer.keys] == [
        ("ArrowUp", ["ctrl"], b"\x1b[1;5A")
    ]


@pytest.mark.pty
async def test_a_reader_is_answered_at_once_when_the_keyboard_is_released(engine: Engine) -> None:
    await engine.call("input.capture", session="s")

    answers: list[KeysInfo] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_release_when_waited_for, engine)
        answers.append(await engine.call("input.keys", session="s", wait_ms=20_000))

    [answer] = answers
    assert (answer.keys, answer.mode) == ([], "passthrough")


async def _release_when_waited_for(engine: Engine) -> None:
    while not engine.registry.find("s").pulse.waiters:
        await anyio.sleep(0.001)
    await engine.call("input.release", session="s")


@pytest.mark.pty
async def test_a_reader_that_comes_late_is_told_what_it_missed(engine: Engine) -> None:
    await engine.call("input.capture", session="s")
    for _ in range(RING_KEYS // 64 + 1):
        await engine.call("input.type", session="s", data="x" * 64)

    late = await engine.call("input.keys", session="s", limit=10)
    rest = await engine.call("input.keys", session="s", after=late.last_seq, limit=1024)

    assert (late.missed, len(late.keys), late.keys[0].seq) == (64, 10, 65)
    assert (rest.missed, rest.keys[0].seq) == (0, 75)


@pytest.mark.pty
async def test_a_password_typed_while_captured_reaches_only_the_program(engine: Engine) -> None:
    await engine.call("input.capture", session="s")
    await engine.run("read -s -r answer", max_wait_ms=30_000)
    await engine.call("session.wait", session="s", state=["awaiting_password", "awaiting_input"])

    await engine.call("input.write", session="s", data="x\r")
    await engine.run(
        "python3 -c 'import getpass; print(len(getpass.getpass()))'", max_wait_ms=30_000
    )
    await engine.call("input.type", session="s", data="hunter2\r")
    await engine.call("session.wait", session="s", regex=r"^7$", max_wait_ms=30_000)

    keys = await engine.call("input.keys", session="s")
    assert keys.keys == []


@pytest.mark.pty
async def test_typing_at_an_exited_session_is_a_conflict(engine: Engine) -> None:
    await engine.call("session.close", session="s")

    with pytest.raises(SessionExited):
        await engine.call("input.type", session="s", data="x")
