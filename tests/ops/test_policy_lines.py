"""A line that an agent types, however it types it, is judged before the shell runs it."""

import os
from pathlib import Path

import anyio
import pytest

from duetty.blocks import Phase
from duetty.config import Settings
from duetty.errors import PolicyDenied
from duetty.ops.judging import deciding
from tests.engine import Engine, a_while_ago, running_engine
from tests.ops.at_a_shell import ANNA, session_of, typed

pytestmark = [pytest.mark.anyio, pytest.mark.shells]

SHELLS = ["bash", "zsh", "fish"]
GRAVE = "mkfs.ext4 /nowhere/at/all"
"""Does nothing should it run after all; then it would say so."""

REFUSED = "duetty: "


async def refused(engine: Engine) -> None:
    """The shell said that it may not, and the line did not run."""
    await engine.call("session.wait", session="s", text=REFUSED, max_wait_ms=30_000)
    await engine.call("session.wait", session="s", idle_ms=200, max_wait_ms=30_000)
    shown = "\n".join(engine.registry.find("s").screen(styled=False).text_lines)
    assert "mke2fs" not in shown
    assert "No such file" not in shown
    [call] = await engine.dispatcher.call(
        ANNA, "audit.list", {"operation": "input.line", "kind": "call", "decision": "ask"}
    )
    assert "mkfs" in call["judged"]["command_line"]


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_line_typed_character_by_character_is_judged(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        await typed(engine, *GRAVE, "\r")

        await refused(engine)


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_pasted_line_is_judged(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        await engine.call("input.paste", session="s", text=GRAVE)
        await engine.call("input.press", session="s", keys=["enter"])

        await refused(engine)


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_line_edited_with_arrow_keys_is_judged(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        await typed(engine, "kfs.ext4 /nowhere/at/all", "\x01", "m", "\r")

        await refused(engine)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
async def test_a_line_made_by_history_expansion_is_judged(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        person = {"session": "s", "input": f": {GRAVE}"}
        await engine.dispatcher.call(ANNA, "command.run", person)
        await typed(engine, "!!:1*\r")
        if shell == "zsh":
            await typed(engine, "\r")  # zsh shows what it made, if `histverify` is on

        await engine.call("session.wait", session="s", text=REFUSED, max_wait_ms=30_000)


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_harmless_line_runs(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        await typed(engine, "echo fi''ne\r")

        await engine.call("session.wait", session="s", text="fine", max_wait_ms=30_000)


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_run_right_behind_a_refused_line_has_its_own_end(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        told: list[tuple[str, int | None]] = []
        for number in range(5):
            await typed(engine, f"{GRAVE}/{number}\r")
            ran = await engine.run(f"echo out {number}")
            told.append((ran.output, ran.exit_code))

        assert told == [(f"out {number}", 0) for number in range(5)]


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_persons_own_line_is_not_asked_about(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        session = engine.registry.find("s")
        assert session.gate is not None
        prompts = session.gate.prompts
        await typed(engine, "echo armed\r")
        with anyio.fail_after(60):
            while session.gate.prompts == prompts or session.phase is not Phase.INPUT:
                await session.pulse.wait()
        a_while_ago(session.gate)
        line = {"session": "s", "data": f"{GRAVE}\r"}
        await engine.dispatcher.call(ANNA, "input.write", line)

        await engine.call(
            "session.wait",
            session="s",
            regex="mke2fs|No such|not found|Unknown",
            max_wait_ms=30_000,
        )


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_yes_lets_the_line_run(home: Path, shell: str) -> None:
    (home / "config.toml").write_text(
        '[[policy.rules]]\nname = "asks"\ndecide = "ask"\ncommand = ["touch **"]\n'
    )
    async with session_of(home, shell, approval_ask="always") as engine:
        desk = engine.services.approvals
        await typed(engine, "touch made && echo do''ne\r")
        while not desk.pending():
            with desk.subscribe() as entries:
                await entries.wait()
        assert not (home / "made").exists()
        answer = {"approval": desk.pending()[0].id}
        await engine.dispatcher.call(ANNA, "approval.approve", answer)

        await engine.call("session.wait", session="s", text="done", max_wait_ms=30_000)
        assert (home / "made").exists()


DISGUISED = f"X{GRAVE}\x01\x1b[C\x7f\r"
"""The X goes again: the text of these keys is another command's."""


async def test_ctrl_c_while_bash_reads_its_files_leaves_no_shell_that_asks_nobody(
    home: Path,
) -> None:
    held = home / "held"
    os.mkfifo(held)
    (home / ".bashrc").write_text(f"cat {held}\n")
    async with running_engine(home, settings=Settings(policy_profile="guarded")) as engine:
        session = await engine.open(command="bash")
        with anyio.fail_after(60):
            writer = await anyio.to_thread.run_sync(os.open, held, os.O_WRONLY)  # waits for cat
            session.write(b"\x03", actor=ANNA)
            await typed(engine, DISGUISED)

            await refused(engine)
        os.close(writer)


async def test_a_shell_that_becomes_another_program_is_not_typed_into(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "NEXT_PROMPT_S", 0.5)
    (home / ".bashrc").write_text("exec zsh -f\n")
    async with running_engine(home, settings=Settings(policy_profile="guarded")) as engine:
        session = await engine.open(command="bash")

        with pytest.raises(PolicyDenied) as refused:
            await typed(engine, DISGUISED)

        assert refused.value.details["rule"] == "gate"
        assert session.gate is not None
        assert not session.gate.has_begun
