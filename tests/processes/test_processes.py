"""Commands without a terminal, through their operations: real processes, real pipes."""

import base64
import os
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest

from duetty.calls import Actor
from duetty.config import Settings
from duetty.errors import (
    BadArguments,
    BadCommand,
    BadWorkingDirectory,
    CommandTooLong,
    MaxProcesses,
    PolicyDenied,
    ProcessNotFound,
)
from duetty.processes import Output, Processes
from tests.engine import Engine, running_engine
from tests.server_process import is_alive

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


@pytest.fixture
async def engine(home: Path) -> AsyncGenerator[Engine]:
    async with running_engine(home) as engine:
        yield engine


async def run(engine: Engine, command: str, **arguments: object) -> Any:
    with anyio.fail_after(60):
        return await engine.call("process.run", command=command, **arguments)


async def ended(engine: Engine, process: str) -> Any:
    with anyio.fail_after(60):
        return await engine.call("process.read", process=process, wait_ms=20_000, wait_for="end")


async def wait_dead(pid: int) -> None:
    with anyio.fail_after(60):
        while is_alive(pid):
            await anyio.sleep(0.01)


async def test_stdout_and_stderr_are_kept_apart_and_the_exit_code_is_known(engine: Engine) -> None:
    result = await run(engine, "echo out; echo err >&2; exit 3")

    assert (result.stdout, result.stderr) == ("out\n", "err\n")
    assert result.process.exit_code == 3
    assert result.message == "the command ended with exit code 3"


async def test_what_the_system_takes_no_more_of_is_no_want_of_processes(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = engine.services.processes
    inherited = {**processes.environment, "BIG": "x" * 140_000}
    monkeypatch.setattr(processes, "environment", inherited)

    with pytest.raises(CommandTooLong) as refused:
        await run(engine, "true")

    assert refused.value.code == "command_too_long"


async def test_everything_that_a_shell_can_do_works(engine: Engine) -> None:
    result = await run(engine, "false || echo a && printf 'b\\n' | tr b c; cat <<X\nd\nX")

    assert result.stdout == "a\nc\nd\n"
    assert result.message is None


@pytest.mark.shells
@pytest.mark.parametrize("shell", ["sh", "bash", "zsh", "fish"])
async def test_stdin_reaches_the_program_as_bytes_in_every_shell(
    engine: Engine, shell: str
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    odd = bytes(range(256)) + "'\"$`\\ ü漢".encode()

    result = await run(
        engine,
        "od -An -v -tx1 | tr -d ' \\n'",
        shell=shell,
        stdin=base64.b64encode(odd).decode(),
        stdin_encoding="base64",
    )

    assert bytes.fromhex(result.stdout) == odd


@pytest.mark.shells
async def test_a_script_for_fish_is_piped_to_it_as_it_stands(engine: Engine) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")

    result = await run(
        engine, "fish", stdin="set x 'a \"b\" $HOME'\nfor i in 1 2\n echo $i $x\nend\n"
    )

    assert result.stdout == '1 a "b" $HOME\n2 a "b" $HOME\n'


async def test_a_command_without_stdin_sees_its_end_at_once(engine: Engine) -> None:
    assert (await run(engine, "cat")).process.exit_code == 0


async def test_more_stdin_than_the_program_reads_does_no_harm(engine: Engine) -> None:
    result = await run(engine, "head -c 3", stdin="abc" * 1_000_000)

    assert result.stdout == "abc"


async def test_directory_and_variables_are_as_asked_for(engine: Engine, tmp_path: Path) -> None:
    result = await run(engine, 'pwd; echo "$WORD"', cwd=str(tmp_path), env={"WORD": "a b"})

    assert result.stdout == f"{tmp_path}\na b\n"


async def test_the_servers_own_variables_stay_with_it(engine: Engine) -> None:
    assert "DUETTY" not in (await run(engine, "env")).stdout


async def test_a_command_beyond_its_time_is_ended_with_all_it_started(engine: Engine) -> None:
    result = await run(engine, "sleep 1000 & echo $!; wait", timeout_ms=300)

    assert result.process.timed_out
    assert result.message == "the command took longer than 300 ms and was ended"
    await wait_dead(int(result.stdout))


async def test_a_command_that_ignores_the_polite_signal_is_killed(engine: Engine) -> None:
    result = await run(
        engine, "trap '' TERM; echo $$; while :; do sleep 0.05; done", timeout_ms=300
    )

    assert result.process.exit_signal == "KILL"
    await wait_dead(int(result.stdout))


async def test_a_run_does_not_wait_for_what_it_left_in_the_background(engine: Engine) -> None:
    result = await run(engine, "sleep 1000 & echo $!")

    assert result.process.exit_code == 0
    assert result.process.leftovers
    await engine.call("process.stop", process=result.process.id)
    await wait_dead(int(result.stdout))


async def test_a_large_output_is_bounded_in_the_answer_and_whole_on_disk(engine: Engine) -> None:
    result = await run(engine, "seq 1 300000", max_output_bytes=1000)

    total = sum(len(f"{n}\n") for n in range(1, 300_001))
    assert result.stdout.startswith("1\n2\n")
    assert result.stdout.endswith("299999\n300000\n")
    assert f"{result.stdout_omitted_bytes} bytes left out" in result.stdout
    assert result.process.stdout_bytes == total
    page = await engine.call(
        "process.read", process=result.process.id, stdout_offset=1_000_000, max_bytes=14
    )
    whole = "".join(f"{n}\n" for n in range(1, 300_001))
    assert page.stdout == whole[1_000_000:1_000_014]


async def test_a_background_command_is_polled_stopped_and_listed(engine: Engine) -> None:
    started = await engine.call("process.start", command="echo ready; while :; do sleep 0.05; done")
    with anyio.fail_after(60):
        first = await engine.call("process.read", process=started.id, wait_ms=10_000)
    stopped = await engine.call("process.stop", process=started.id)
    listed = await engine.call("process.list")

    assert first.stdout == "ready\n"
    assert first.process.state == "running"
    assert (stopped.state, stopped.exit_signal, stopped.stopped) == ("exited", "TERM", True)
    assert [each.id for each in listed] == [started.id]


async def test_a_caller_who_goes_leaves_the_command_running(engine: Engine) -> None:
    with anyio.move_on_after(0.3):
        await engine.call("process.run", command="sleep 0.6; echo done", id="mine")

    result = await ended(engine, "mine")

    assert result.stdout == "done\n"
    assert result.process.exit_code == 0


async def test_many_commands_run_at_once(engine: Engine) -> None:
    results: dict[int, str] = {}

    async def one(n: int) -> None:
        results[n] = (await run(engine, f"sleep 0.1; echo {n}")).stdout

    async with anyio.create_task_group() as tasks:
        for n in range(20):
            tasks.start_soon(one, n)

    assert results == {n: f"{n}\n" for n in range(20)}


async def test_characters_are_not_cut_between_two_reads(engine: Engine) -> None:
    result = await run(engine, "printf 'aü漢𝄞z'")
    text, at = "", 0
    while at < result.process.stdout_bytes:
        page = await engine.call(
            "process.read", process=result.process.id, stdout_offset=at, max_bytes=4
        )
        text, at = text + page.stdout, page.stdout_next

    assert text == "aü漢𝄞z"


async def test_bytes_that_are_no_text_are_replaced(engine: Engine) -> None:
    assert (await run(engine, "printf 'a\\377b'")).stdout == "a\ufffdb"


async def test_limits_bind_the_command_and_not_the_server(engine: Engine) -> None:
    cpu = await run(engine, "while :; do :; done", max_cpu_s=1, timeout_ms=15_000)
    file = await run(engine, "head -c 3000000 /dev/zero > big; wc -c < big", max_file_mib=1)

    assert cpu.process.exit_signal in ("XCPU", "KILL")
    assert int(file.stdout.split()[-1]) <= 2**20


async def test_a_setting_cannot_be_widened_by_a_caller(home: Path) -> None:
    async with running_engine(home, settings=Settings(process_cpu_s=7)) as engine:
        result = await run(engine, "ulimit -t", max_cpu_s=1_000)

    assert result.stdout == "7\n"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"command": "true", "cwd": "/nowhere"}, BadWorkingDirectory),
        ({"command": "true", "shell": "no-such-shell"}, BadCommand),
        ({"command": " "}, BadArguments),
        ({"command": "true\0"}, BadArguments),
        ({"command": "cat", "stdin": "?", "stdin_encoding": "base64"}, BadArguments),
    ],
)
async def test_what_cannot_be_started_is_an_error_with_a_code(
    engine: Engine, arguments: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await engine.call("process.run", **arguments)
    assert await engine.call("process.list") == []


async def test_an_unknown_process_is_an_error(engine: Engine) -> None:
    with pytest.raises(ProcessNotFound):
        await engine.call("process.read", process="nobody")


async def test_there_is_a_bound_on_how_many_run(home: Path) -> None:
    async with running_engine(home, settings=Settings(process_max=1)) as engine:
        started = await engine.call("process.start", command="sleep 1000")
        with pytest.raises(MaxProcesses):
            await engine.call("process.start", command="true")
        await engine.call("process.stop", process=started.id)

        assert (await run(engine, "echo again")).stdout == "again\n"


async def test_the_bound_holds_for_commands_that_start_at_once(home: Path) -> None:
    outcomes: list[str] = []
    async with running_engine(home, settings=Settings(process_max=2)) as engine:

        async def one() -> None:
            try:
                await engine.call("process.start", command="sleep 1000")
                outcomes.append("started")
            except MaxProcesses:
                outcomes.append("refused")

        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(one)

    assert sorted(outcomes) == ["refused"] * 4 + ["started"] * 2


async def test_commands_end_with_the_server_and_leave_no_file(home: Path) -> None:
    async with running_engine(home) as engine:
        started = await engine.call("process.start", command="sleep 1000 & sleep 1000")
        left = engine.paths.state / "processes"
        assert list(left.iterdir())

    assert not is_alive(started.pid)
    assert list(left.iterdir()) == []


async def test_what_a_killed_server_left_behind_is_ended_by_the_next(home: Path) -> None:
    async with running_engine(home) as engine:
        started = await engine.call("process.start", command="sleep 1000")
        place = engine.paths.state / "processes"
        kept = home / "kept"
        shutil.copytree(place, kept)
        later = Processes(
            directory=kept,
            environment={},
            most=1,
            output_bytes=1,
            clock=engine.services.clock,
            tasks=engine.services.processes._tasks,  # pyright: ignore[reportPrivateUsage]
        )

        later.clear_leftovers()

        result = await ended(engine, started.id)

    assert result.process.exit_signal == "KILL"
    assert list(kept.iterdir()) == []


async def test_a_number_that_now_belongs_to_another_process_is_left_alone(
    engine: Engine,
) -> None:
    place = engine.paths.state / "processes" / "old"
    place.mkdir(parents=True)
    (place / "pid").write_text(f"{os.getpid()} 1\n")

    engine.services.processes.clear_leftovers()

    assert is_alive(os.getpid())
    assert not place.exists()


def test_beyond_its_bound_an_output_keeps_its_end(tmp_path: Path) -> None:
    output = Output(tmp_path / "out", limit_bytes=10)
    for _ in range(1000):
        output.append(b"0123456789" * 100)

    head, tail = output.read(0, 100), output.read(-5, 100)

    assert (head.data, tail.data) == (b"0123456789", b"56789")
    assert output.total_bytes == 1_000_000
    assert (tmp_path / "out").stat().st_size == 10
    gone = output.read(500_000, 10)
    assert gone.offset > 500_000
    output.close()


@pytest.mark.parametrize("cwd", ["/" + "a" * 300, "/dev/null/x"])
async def test_a_directory_that_cannot_be_is_told_as_such(engine: Engine, cwd: str) -> None:
    for operation in ("process.run", "process.start", "session.open"):
        with pytest.raises(BadWorkingDirectory):
            await engine.call(operation, command="true", cwd=cwd)


async def test_a_directory_that_nobody_may_look_at_is_told_as_such(engine: Engine) -> None:
    if os.access("/proc/1/root", os.R_OK):
        pytest.skip("this user may look there")
    for operation in ("process.run", "process.start", "session.open"):
        with pytest.raises(PolicyDenied, match="may not be looked at"):
            await engine.call(operation, command="true", cwd="/proc/1/root")
        with pytest.raises(BadWorkingDirectory):  # whom no project's rules are for
            await engine.dispatcher.call(
                Actor(kind="person", name="anna"),
                operation,
                {"command": "true", "cwd": "/proc/1/root"},
            )
