"""Lines that agents type are decided on when the shell is about to run them."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from duetty.blocks import Phase
from duetty.calls import Actor
from duetty.config import Settings
from duetty.errors import PolicyDenied
from duetty.events import Degraded
from duetty.session import Question, Session
from duetty.session.gate import MAX_TYPED_CHARS, Gate
from duetty.shell import Mark, MarkKind
from tests.engine import Engine, a_while_ago, running_engine, wait_phase

pytestmark = [pytest.mark.pty, pytest.mark.shells, pytest.mark.anyio]

AGENT = Actor(kind="agent", name="a")
PERSON = Actor(kind="person", name="p")


class Asked:
    """Refuses lines with `forbidden`; remembers what it was asked."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.answer_now = anyio.Event()
        self.answer_now.set()

    async def __call__(self, session: str, question: Question) -> str | None:
        self.questions.append(question)
        await self.answer_now.wait()
        return "duetty: refused" if "forbidden" in (question.line or "") else None

    @property
    def lines(self) -> list[str | None]:
        return [question.line for question in self.questions]


async def see(session: Session, text: str) -> None:
    with anyio.fail_after(60):
        while not any(text in str(line) for line in session.screen(styled=False).lines):
            await session.pulse.wait()


async def held_up(session: Session, home: Path) -> Path:
    """A person's command runs until somebody writes there."""
    held = home / "held"
    os.mkfifo(held)
    session.write(f"cat {held}\r".encode(), actor=PERSON)
    await wait_phase(session, Phase.RUNNING)
    return held


async def open_gated(engine: Engine, asked: Asked, shell: str) -> Session:
    engine.registry.judge = asked
    session = await engine.open(command=shell)
    await engine.run("true")
    return session


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_an_agents_line_is_asked_about_and_may_be_refused(home: Path, shell: str) -> None:
    async with running_engine(home) as engine:
        asked = Asked()
        session = await open_gated(engine, asked, shell)

        session.write(f"touch {home}/forbidden\r".encode(), actor=AGENT)
        await see(session, "duetty: refused")
        ran = await engine.run(f"ls {home}")

        assert asked.lines[0] == f"touch {home}/forbidden"
        assert asked.questions[0].actor == AGENT
        assert ran.exit_code == 0
        assert "forbidden" not in ran.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_a_persons_line_is_the_persons_business(home: Path, shell: str) -> None:
    async with running_engine(home) as engine:
        asked = Asked()
        session = await open_gated(engine, asked, shell)

        gate = session.gate
        assert gate is not None
        prompts = gate.prompts

        session.write(b"echo from an agent\r", actor=AGENT)
        with anyio.fail_after(60):
            while gate.prompts == prompts or session.phase is not Phase.INPUT:
                await session.pulse.wait()
        a_while_ago(gate)
        session.write(b"echo 'forb'idden\r", actor=PERSON)
        await see(session, "forbidden")

        assert asked.lines == ["echo from an agent"]


async def test_nothing_is_asked_before_an_agent_types(home: Path) -> None:
    async with running_engine(home) as engine:
        asked = Asked()
        await open_gated(engine, asked, "bash")

        ran = await engine.run("echo forbidden")

        assert ran.output.strip() == "forbidden"
        assert asked.lines == []


async def test_a_run_is_not_asked_about_again_after_an_agent_typed(home: Path) -> None:
    async with running_engine(home) as engine:
        asked = Asked()
        session = await open_gated(engine, asked, "bash")
        session.write(b"echo typed\r", actor=AGENT)
        await see(session, "typed")

        ran = await engine.run("echo forbidden")

        assert ran.exit_code == 0
        assert asked.lines == ["echo typed"]


async def test_a_line_typed_ahead_by_an_agent_is_asked_about_when_it_runs(home: Path) -> None:
    async with running_engine(home) as engine:
        asked = Asked()
        session = await open_gated(engine, asked, "bash")

        session.write(b"read x\r", actor=PERSON)
        await engine.call("session.wait", session="s", state=["awaiting_input"])
        session.write(b"answer\rtouch forbidden\r", actor=AGENT)
        session.write(b" ", actor=PERSON)
        await see(session, "duetty: refused")

        assert asked.lines == ["touch forbidden"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_every_line_an_agent_sent_ahead_is_the_agents_whoever_types_meanwhile(
    home: Path, shell: str
) -> None:
    async with running_engine(home) as engine:
        asked = Asked()
        session = await open_gated(engine, asked, shell)
        held = await held_up(session, home)
        session.write(b"echo one\rtouch forbidden\rtouch forbidden2\r", actor=AGENT)
        session.write(b" ", actor=PERSON)
        await anyio.to_thread.run_sync(held.write_text, "let go\n")
        with anyio.fail_after(60):
            while len(asked.lines) < 3:
                await session.pulse.wait()
        await see(session, "duetty: refused")

        typed = [line.strip() for line in asked.lines if line is not None]
        assert typed[-2:] == ["touch forbidden", "touch forbidden2"]
        assert {each.actor for each in asked.questions} == {AGENT}
        assert not [each for each in os.listdir(home) if each.startswith("forbidden")]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_a_line_that_an_agent_typed_is_asked_about_when_a_person_presses_enter(
    home: Path, shell: str
) -> None:
    async with running_engine(home) as engine:
        asked = Asked()
        session = await open_gated(engine, asked, shell)

        session.write(b"touch forbidden", actor=AGENT)
        await see(session, "touch forbidden")
        session.write(b"\r", actor=PERSON)
        await see(session, "duetty: refused")

        assert asked.questions[0].actor == AGENT


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("keys", ["-rf forbidden\x01rm \r", "touch forbidden"])
async def test_an_agents_line_between_a_persons_is_the_agents(
    home: Path, shell: str, keys: str
) -> None:
    async with running_engine(home) as engine:
        asked = Asked()
        session = await open_gated(engine, asked, shell)
        held = await held_up(session, home)
        session.write(b"ls -d /\r", actor=PERSON)
        session.write(keys.encode(), actor=AGENT)
        session.write(b"l" if keys.endswith("\r") else b"\r", actor=PERSON)
        await anyio.to_thread.run_sync(held.write_text, "let go\n")
        await see(session, "duetty: refused")

        assert {each.actor for each in asked.questions} == {AGENT}
        assert "forbidden" in (asked.lines[-1] or "")


async def test_a_half_line_typed_ahead_by_an_agent_stays_its_own_however_long_it_stands(
    home: Path,
) -> None:
    async with running_engine(home) as engine:
        asked = Asked()
        session = await open_gated(engine, asked, "bash")
        held = await held_up(session, home)
        session.write(b"touch forbidden", actor=AGENT)
        await anyio.to_thread.run_sync(held.write_text, "let go\n")
        await wait_phase(session, Phase.INPUT)
        assert session.gate is not None
        a_while_ago(session.gate)

        session.write(b"\r", actor=PERSON)
        await see(session, "duetty: refused")

        assert asked.questions[-1].actor == AGENT


async def test_lines_that_one_key_of_an_agent_makes_are_all_its_own(home: Path) -> None:
    async with running_engine(home) as engine:
        asked = Asked()
        session = await open_gated(engine, asked, "bash")
        held = home / "held"
        os.mkfifo(held)
        macro = f"""bind '"\\C-g": "cat {held}\\C-mtouch forbidden\\C-m"'"""
        await engine.dispatcher.call(PERSON, "command.run", {"session": "s", "input": macro})

        session.write(b"\x07", actor=AGENT)
        await wait_phase(session, Phase.RUNNING)
        session.write(b" ", actor=PERSON)
        await anyio.to_thread.run_sync(held.write_text, "let go\n")
        await see(session, "duetty: refused")

        assert {each.actor for each in asked.questions} == {AGENT}
        assert not (home / "forbidden").exists()


async def test_input_that_a_program_took_is_not_in_a_persons_next_line(home: Path) -> None:
    async with running_engine(home) as engine:
        asked = Asked()
        session = await open_gated(engine, asked, "bash")
        session.write(b"read x; read y\r", actor=PERSON)
        await engine.call("session.wait", session="s", state=["awaiting_input"])
        session.write(b"one\rtwo\r", actor=AGENT)
        await wait_phase(session, Phase.INPUT)
        gate = session.gate
        assert gate is not None
        a_while_ago(gate)

        session.write(b"echo 'forb'idden\r", actor=PERSON)
        await see(session, "forbidden")

        assert asked.lines == []


async def test_what_was_on_its_way_when_the_server_was_killed_is_not_taken_for_a_persons(
    home: Path,
) -> None:
    async with running_engine(home, keep_sessions=True) as engine:
        asked = Asked()
        session = await open_gated(engine, asked, "bash")
        held = await held_up(session, home)
        session.write(b"echo one\rtouch forbidden\r", actor=AGENT)

    again = Asked()
    async with running_engine(home, judge=again) as engine:
        session = engine.registry.find("s")
        session.write(b" ", actor=PERSON)
        await anyio.to_thread.run_sync(held.write_text, "let go\n")
        await see(session, "duetty: refused")

        assert not (home / "forbidden").exists()


async def test_a_gate_that_does_not_work_says_so_and_agents_type_no_more(home: Path) -> None:
    guarded = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=guarded) as engine:
        with anyio.fail_after(60):
            session = await engine.open(command="bash")
            await engine.run("true")
            await engine.call("input.write", session="s", data="echo ty''ped\r")
            await see(session, "typed")
            told: list[object] = []
            tap = session.log.tap
            assert tap is not None
            session.log.tap = lambda event: (told.append(event), tap(event))[1]
            await engine.dispatcher.call(
                PERSON, "command.run", {"session": "s", "input": "unset PS0 PROMPT_COMMAND"}
            )

            with pytest.raises(PolicyDenied) as refused:
                await engine.call("input.write", session="s", data="touch made\r")

            assert refused.value.details["rule"] == "gate"
            assert any(isinstance(each, Degraded) and each.part == "gate" for each in told)
            assert not (home / "made").exists()


async def test_the_shell_waits_for_as_long_as_the_decision_takes(home: Path) -> None:
    async with running_engine(home) as engine:
        asked = Asked()
        asked.answer_now = anyio.Event()
        session = await open_gated(engine, asked, "bash")

        session.write(b"echo lat''er\r", actor=AGENT)
        with anyio.fail_after(60):
            while not asked.questions:
                await session.pulse.wait()
        assert not any("later" in str(line) for line in session.screen(styled=False).lines)
        asked.answer_now.set()

        await see(session, "later")


async def test_a_question_outlives_the_server(home: Path) -> None:
    async with running_engine(home, keep_sessions=True) as engine:
        asked = Asked()
        asked.answer_now = anyio.Event()
        session = await open_gated(engine, asked, "bash")
        session.write(f"touch {home}/forbidden; echo ran\r".encode(), actor=AGENT)
        with anyio.fail_after(60):
            while not asked.questions:
                await session.pulse.wait()

    again = Asked()
    async with running_engine(home, judge=again) as engine:
        await see(engine.registry.find("s"), "duetty: refused")

        assert again.lines == [f"touch {home}/forbidden; echo ran"]
        assert not (home / "forbidden").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_a_line_that_was_refused_never_ran_and_has_no_exit_code(
    home: Path, shell: str
) -> None:
    async with running_engine(home) as engine:
        session = await open_gated(engine, Asked(), shell)
        line = f"touch {home}/forbidden"
        assert session.gate is not None
        session.gate.leave(line, actor=AGENT)

        await engine.run(line)
        after = await engine.run("echo fine")

        assert not (home / "forbidden").exists()
        assert (after.exit_code, after.output) == (0, "fine")
        refused = next(block for block in session.recent if block.command_line == line)
        assert refused.exit_code is None


def files_of_the_gate(home: Path) -> tuple[Path, Path]:
    (armed,) = home.rglob("*.gate.armed")
    return armed.with_suffix(""), armed


@pytest.mark.parametrize("left", ["bytes", "huge", "pipe", "directory", "link"])
async def test_whatever_a_program_leaves_in_the_place_that_says_whether_to_ask_the_shell_asks(
    home: Path, left: str
) -> None:
    async with running_engine(home, keep_sessions=True) as engine:
        asked = Asked()
        session = await open_gated(engine, asked, "bash")
        _, armed = files_of_the_gate(home)
        match left:
            case "bytes":
                armed.write_bytes(b"\xff")
            case "huge":
                os.truncate(armed, 1 << 40)
            case "pipe":
                armed.unlink()
                os.mkfifo(armed)
            case "directory":
                armed.unlink()
                armed.mkdir()
            case _:
                armed.unlink()
                armed.symlink_to("/dev/zero")
        session.write(f"touch {home}/forbidden\r".encode(), actor=AGENT)
        await see(session, "duetty: refused")

    async with running_engine(home, judge=Asked()) as engine:
        assert (await engine.run("echo still here")).exit_code == 0
        assert not (home / "forbidden").exists()


async def test_a_gate_that_somebody_fills_costs_its_line_and_nothing_else(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = anyio.Event()
    write = Gate._try_write  # pyright: ignore[reportPrivateUsage]

    def seen_write(gate: Gate, line: bytes) -> bool:
        if write(gate, line):
            return True
        tried.set()
        return False

    monkeypatch.setattr(Gate, "_try_write", seen_write)
    async with running_engine(home) as engine:
        asked = Asked()
        asked.answer_now = anyio.Event()
        session = await open_gated(engine, asked, "bash")
        gate, _ = files_of_the_gate(home)
        session.write(f"touch {home}/forbidden\r".encode(), actor=AGENT)
        with anyio.fail_after(60):
            while not asked.questions:
                await session.pulse.wait()
        # bash reads what comes until it ends: stopped, it leaves the pipe full.
        os.kill(session.profile.pid, signal.SIGSTOP)
        filling = os.open(gate, os.O_RDWR | os.O_NONBLOCK)
        with suppress(BlockingIOError):
            while os.write(filling, b"x" * 4096):
                pass

        asked.answer_now.set()
        with anyio.fail_after(60):
            await tried.wait()
        os.close(filling)
        os.kill(session.profile.pid, signal.SIGCONT)
        await see(session, "duetty: ")  # refused; or not answered, if that came first

        assert not (home / "forbidden").exists()
        assert engine.registry.find("s") is session


def test_what_is_too_long_to_be_kept_whole_is_not_kept(home: Path) -> None:
    gate = Gate(home / "gate", nonce="n")
    gate.make(always=False)
    bot = Actor(kind="agent", name="bot")
    asked = Mark(MarkKind.QUESTION, 0, 0, command_line="a\nb", lines=2)

    for size, line in ((10, "a\nb"), (MAX_TYPED_CHARS, None)):
        gate.note_prompt(gated=True, now_s=0)
        for data in (b"x" * size + b"\r", b"\x1b[200~a\nb\x1b[201~\r"):
            gate.expect(data, actor=bot, now_s=1, is_line_empty=lambda: True)

        assert gate.line_of(asked, are_keys_plain=lambda: True) == line
        assert gate.line_of(asked, are_keys_plain=lambda: False) is None


def test_a_shell_that_ran_a_line_unasked_is_not_believed_again(home: Path) -> None:
    gate = Gate(home / "gate", nonce="n")
    gate.make(always=False)
    gate.note_prompt(gated=True, now_s=0)
    gate.expect(b"a\r", actor=AGENT, now_s=1, is_line_empty=lambda: True)
    assert gate.note_output()  # a person's line may have been on its way
    gate.note_prompt(gated=True, now_s=2)
    assert gate.works

    gate.take_actor()
    assert gate.note_output() is None
    gate.note_prompt(gated=True, now_s=3)
    assert gate.note_output()
    gate.note_prompt(gated=True, now_s=4)
    assert not gate.works
