"""A line gets its own result, whoever else types and whatever still runs."""

from pathlib import Path

import anyio
import pytest

from duetty.calls import Actor
from duetty.errors import BadArguments, Deadline, SessionBusy, WaitTimeout
from duetty.session import runs
from duetty.session.lane import Lane
from tests.engine import Engine

pytestmark = [pytest.mark.anyio, pytest.mark.shells]

PERSON = Actor(kind="person", name="somebody")


async def test_a_line_after_one_that_still_runs_waits_for_its_turn(
    engine: Engine, shell: str
) -> None:
    await engine.open(command=shell)
    await engine.run("true")

    first = await engine.run("sh -c 'sleep 0.6; echo FIRST; exit 7'", max_wait_ms=200)
    second = await engine.run("echo second; false")
    third = await engine.run("echo third")

    assert first.completed_by == "deadline"
    assert (second.exit_code, second.output, second.completed_by) == (1, "second", "mark")
    assert (third.exit_code, third.output) == (0, "third")


async def test_a_line_that_somebody_else_has_just_sent_is_waited_for(
    engine: Engine, shell: str
) -> None:
    await engine.open(command=shell)
    await engine.run("true")

    await engine.call("input.write", session="s", data="sleep 0.3; echo TYPED\r")
    answer = await engine.run("echo mine")

    assert (answer.exit_code, answer.output) == (0, "mine")


async def test_a_line_typed_ahead_while_ours_runs_is_not_our_result(
    engine: Engine, shell: str
) -> None:
    await engine.open(command=shell)
    await engine.run("true")

    async def person() -> None:
        await anyio.sleep(0.15)
        await engine.call("input.write", session="s", data="echo typed by a person\r")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(person)
        answer = await engine.run("sleep 0.5; echo agent")
        assert (answer.exit_code, answer.output.splitlines()[-1]) == (0, "agent")


async def test_half_a_line_of_somebody_else_is_not_glued_to_ours(
    engine: Engine, shell: str
) -> None:
    await engine.open(command=shell)
    await engine.run("true")
    begun = {"session": "s", "data": "echo partial"}
    await engine.dispatcher.call(PERSON, "input.write", begun)

    with pytest.raises(SessionBusy, match="another actor") as refused:
        await engine.run("echo mine")
    await engine.call("input.press", session="s", keys=["Ctrl-U"])
    answer = await engine.run("echo mine")

    assert refused.value.details["line"] == "echo partial"
    assert answer.output == "mine"


async def test_half_a_line_of_our_own_is_taken_back_before_the_run(
    engine: Engine, shell: str
) -> None:
    await engine.open(command=shell)
    await engine.run("true")
    await engine.call("input.write", session="s", data="echo partial")

    answer = await engine.run("echo mine")

    assert (answer.output, answer.exit_code) == ("mine", 0)


@pytest.mark.parametrize("line", ['echo "unfinished', "if true", "echo ("])
async def test_fish_tells_an_unfinished_line_and_takes_the_rest(engine: Engine, line: str) -> None:
    await engine.open(command="fish")
    await engine.run("true")

    asked = await engine.run(line, max_wait_ms=30_000)

    assert (asked.completed_by, asked.state, asked.continuation) == (
        "input",
        "awaiting_input",
        True,
    )


async def test_output_of_any_size_is_whole_when_the_limit_allows(
    engine: Engine, shell: str
) -> None:
    await engine.open(command=shell)
    await engine.run("echo before")

    for count, limit in ((100_000, 16_777_216), (100_000, 1_000_000), (60_000, 200_000)):
        answer = await engine.run(f"seq {count}", max_output_bytes=limit)
        lines = answer.output.split("\n")
        assert (lines[0], lines[-1]) == ("1", str(count))
        assert answer.omitted_bytes >= 0
        if answer.omitted_bytes == 0:
            assert len(lines) == count


async def test_hundreds_of_pasted_commands_all_answer(engine: Engine) -> None:
    await engine.open(command="bash")

    answer = await engine.run("\n".join(f"echo line{n}" for n in range(300)))

    assert answer.output.split("\n") == [f"line{n}" for n in range(300)]


async def test_a_tab_is_text_on_its_way_in_and_out(engine: Engine, home: Path) -> None:
    (home / "abcfile").touch()
    for shell in ("bash", "zsh", "dash", "fish"):
        await engine.open(shell, command=shell, cwd=str(home))
        typed = await engine.run("echo 'a\tb' | od -An -c", session=shell)
        printed = await engine.run("printf 'a\\tb\\n'", session=shell)
        coloured = await engine.run("printf 'caf\u00e9\\t\\033[32mb  \\033[0m\\n'", session=shell)
        assert typed.output.split() == ["a", "\\t", "b", "\\n"]
        assert printed.output == "a\tb"
        assert coloured.output == "caf\u00e9\tb  "


async def test_a_long_line_is_no_slower_than_its_length(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)
    text = "x" * (3_000 if shell == "dash" else 20_000)

    answer = await engine.run(f"echo {text} | wc -c", max_wait_ms=30_000)

    assert (answer.completed_by, answer.output.strip()) == ("mark", str(len(text) + 1))


@pytest.mark.parametrize(
    ("shell", "rc", "text"),
    [
        ("bash", ".bashrc", "PROMPT_COMMAND='sleep 2'\n"),
        ("zsh", ".zshrc", "precmd() { sleep 2 }\n"),
    ],
)
async def test_a_slow_prompt_shifts_no_result(
    engine: Engine, home: Path, shell: str, rc: str, text: str
) -> None:
    (home / rc).write_text(text)
    await engine.open(command=shell)

    first = await engine.run("sh -c 'echo one; exit 4'")
    second = await engine.run("echo two")

    assert (first.exit_code, first.output) == (4, "one")
    assert (second.exit_code, second.output) == (0, "two")


async def test_an_rc_file_that_takes_long_is_waited_for(
    engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "SHELL_START_S", 0.3)
    (home / ".bashrc").write_text("sleep 1\n")
    await engine.open(command="bash")

    first = await engine.run("echo one")
    info = await engine.call("session.get", session="s")

    assert (first.completed_by, first.output) == ("mark", "one")
    assert info.integration == "bash"


async def test_an_rc_file_that_starts_another_shell_costs_one_wait_and_is_told(
    engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "SHELL_START_S", 1.0)
    (home / ".bashrc").write_text("exec bash --norc\n")
    await engine.open(command="bash")

    first = await engine.run("echo one")
    info = await engine.call("session.get", session="s")
    second = await engine.run("echo two", max_wait_ms=60_000)

    assert "one" in first.output
    assert (info.integration, info.integration_reason is not None) == ("none", True)
    assert second.completed_by == "input"


async def test_a_pattern_that_would_search_for_ever_is_refused_and_nobody_waits(
    engine: Engine,
) -> None:
    await engine.open(command="bash")
    await engine.open("other", command="bash")

    async def hostile() -> None:
        with pytest.raises((BadArguments, WaitTimeout)):
            await engine.call("session.wait", session="s", regex="(a|a)*b", max_wait_ms=3_000)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hostile)
        await engine.run("echo " + "a" * 40)
        assert (await engine.run("echo alive", session="other")).output == "alive"


async def test_text_that_the_terminal_wrapped_is_found(engine: Engine) -> None:
    await engine.open(command="bash")
    await engine.call("input.write", session="s", data="printf '%076dNEEDLE3\\n' 0\r")

    waited = await engine.call("session.wait", session="s", text="0NEEDLE3", max_wait_ms=30_000)

    assert waited.match == "0NEEDLE3"


async def test_a_line_for_a_program_that_never_reads_is_not_typed_and_says_so(
    engine: Engine,
) -> None:
    await engine.open(command="bash")
    await engine.run("true")
    await engine.run("sleep 100", max_wait_ms=200)

    with pytest.raises(Deadline) as caught:
        await engine.run("echo later", max_wait_ms=300)

    assert "not typed" in caught.value.message


async def test_processes_that_end_at_once_are_all_told(engine: Engine) -> None:
    async def brief(number: int) -> None:
        await engine.open(f"b{number}", command="/bin/true")
        await engine.call("session.wait", session=f"b{number}", exit=True, max_wait_ms=30_000)

    async with anyio.create_task_group() as tasks:
        for number in range(40):
            tasks.start_soon(brief, number)

    assert {each.exit_code for each in await engine.call("session.list")} == {0}


async def test_a_real_time_signal_breaks_no_list(engine: Engine) -> None:
    await engine.open(command="bash")
    killed = await engine.run("kill -40 $$")

    assert (killed.completed_by, killed.exit_code) == ("exit", 168)

    assert (await engine.call("session.list"))[0].exit_signal == "SIG40"


async def test_a_key_stops_floods_for_a_moment_and_a_line_of_a_run_does_not(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    hushed: list[str] = []

    def hush(_lane: Lane) -> None:
        hushed.append("hush")

    monkeypatch.setattr(Lane, "hush", hush)
    session = await engine.open(command="bash")
    await engine.run("true")

    await engine.run("echo one")
    by_runs = list(hushed)
    session.write(b"x", actor=session.prompt.actor)

    assert (by_runs, hushed) == ([], ["hush"])
