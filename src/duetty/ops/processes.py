"""Operations on commands without a terminal: run, start, list, read, stop."""

import signal
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from duetty.calls import Actor, Effect
from duetty.config import Settings, is_directory
from duetty.errors import (
    BadCommand,
    BadWorkingDirectory,
    ForkFailed,
    MaxProcesses,
    ProcessIdConflict,
    ProcessNotFound,
)
from duetty.ops.guardrail.surroundings import found_shell, runs_code
from duetty.ops.judgements import PLAIN, RunsLine
from duetty.ops.operation import Operation, Route
from duetty.ops.sandbox_choice import sandbox_order
from duetty.ops.services import Services
from duetty.ops.shapes import time_text
from duetty.processes import PROVEN_PATH, Limits, Order, Output, Process
from duetty.wire.params import Nothing
from duetty.wire.processes import (
    ProcessInfo,
    ProcessOutput,
    ReadProcessParams,
    RunProcessParams,
    RunProcessResult,
    StartProcessParams,
    StopProcessParams,
)


async def _start(params: StartProcessParams, services: Services, actor: Actor) -> ProcessInfo:
    return _info(await _started(params, services, params.timeout_ms, actor))


async def _check_start(params: StartProcessParams, services: Services, actor: Actor) -> None:
    processes = services.processes
    if params.id is not None and any(each.id == params.id for each in processes.all()):
        raise ProcessIdConflict(params.id)
    cwd = _directory(params.cwd, processes.environment.get("HOME"))
    # A directory may be on a disk that takes its time.
    if not await anyio.to_thread.run_sync(is_directory, cwd):
        raise BadWorkingDirectory(f"{cwd!r} is not a directory")
    sandbox_order(params, services.settings, actor, services.registry)


async def _run(params: RunProcessParams, services: Services, actor: Actor) -> RunProcessResult:
    timeout_ms = params.timeout_ms or services.settings.process_timeout_ms
    process = await _started(params, services, timeout_ms, actor)
    # A caller who goes leaves it running, until its bound; it can be found in the list.
    await process.ended.wait()
    limit = params.max_output_bytes or services.settings.run_output_bytes
    stdout, stdout_omitted = _bounded(process.stdout, limit)
    stderr, stderr_omitted = _bounded(process.stderr, limit)
    return RunProcessResult(
        process=_info(process),
        stdout=stdout,
        stderr=stderr,
        stdout_omitted_bytes=stdout_omitted,
        stderr_omitted_bytes=stderr_omitted,
        message=_message(process, timeout_ms),
    )


async def _list(params: Nothing, services: Services, actor: Actor) -> list[ProcessInfo]:
    services.processes.sweep()
    return [_info(process) for process in services.processes.all()]


async def _read(params: ReadProcessParams, services: Services, actor: Actor) -> ProcessOutput:
    process = services.processes.find(params.process)
    with anyio.move_on_after(params.wait_ms / 1000):
        await _wait(process, params)
    stdout = process.stdout.read(params.stdout_offset, params.max_bytes)
    stderr = process.stderr.read(params.stderr_offset, params.max_bytes)
    out, out_end = _text(stdout.data, stdout.end, process.stdout)
    err, err_end = _text(stderr.data, stderr.end, process.stderr)
    return ProcessOutput(
        process=_info(process),
        stdout=out,
        stderr=err,
        stdout_offset=stdout.offset,
        stderr_offset=stderr.offset,
        stdout_next=out_end,
        stderr_next=err_end,
    )


async def _wait(process: Process, params: ReadProcessParams) -> None:
    if params.wait_ms and params.wait_for == "end":
        await process.ended.wait()
    while (
        params.wait_ms
        and process.is_running
        and process.stdout.total_bytes <= params.stdout_offset
        and process.stderr.total_bytes <= params.stderr_offset
    ):
        await process.wait_changed()


async def _stop(params: StopProcessParams, services: Services, actor: Actor) -> ProcessInfo:
    process = services.processes.find(params.process)
    first = signal.Signals[f"SIG{params.signal}"]
    await process.stop(first, grace_s=params.grace_ms / 1000)
    return _info(process)


async def _started(
    params: StartProcessParams, services: Services, timeout_ms: int | None, actor: Actor
) -> Process:
    settings, processes = services.settings, services.processes
    order = Order(
        command=params.command,
        shell=found_shell(
            params.shell or settings.process_shell, processes.environment.get("PATH")
        ),
        cwd=_directory(params.cwd, processes.environment.get("HOME")),
        env=services.agents.without_key(_environment(params, processes.environment)),
        stdin=params.stdin_bytes(),
        limits=_limits(params, settings),
        owner=actor.identity,
        sandbox=sandbox_order(params, settings, actor, services.registry),
        hidden=services.registry.hidden,
        words=params.proven,
    )
    timeout_s = None if timeout_ms is None else timeout_ms / 1000
    return await processes.start(order, id_=params.id, timeout_s=timeout_s)


def _environment(params: StartProcessParams, inherited: Mapping[str, str]) -> dict[str, str]:
    if params.proven is None:
        return {**inherited, **params.env}
    # What was proven by name must be the program of that name, and nothing may make it another.
    plain = {name: value for name, value in inherited.items() if not runs_code(name)}
    path = {"PATH": PROVEN_PATH} if params.is_by_name else {}
    return {**plain, **path, **params.env}


def _directory(cwd: str | None, home: str | None) -> str:
    start = home if home and is_directory(home) else "/"
    if cwd is None or cwd == "~":
        return start
    return str(Path(start, cwd[2:])) if cwd.startswith("~/") else str(Path(start, cwd))


def _limits(params: StartProcessParams, settings: Settings) -> Limits:
    return Limits(
        cpu_s=_tighter(params.max_cpu_s, settings.process_cpu_s),
        memory_mib=_tighter(params.max_memory_mib, settings.process_memory_mib),
        file_mib=_tighter(params.max_file_mib, settings.process_file_mib),
    )


def _tighter(asked: int | None, setting: int) -> int | None:
    """A caller may ask for less than the setting allows, never for more; 0 is no limit."""
    known = [limit for limit in (asked, setting) if limit]
    return min(known, default=None)


def _info(process: Process) -> ProcessInfo:
    number = process.exit_signal
    return ProcessInfo(
        id=process.id,
        pid=process.pid,
        command=process.command,
        cwd=process.cwd,
        state="running" if process.is_running else "exited",
        exit_code=process.exit_code,
        exit_signal=None if number is None else signal.Signals(number).name.removeprefix("SIG"),
        timed_out=process.timed_out,
        stopped=process.stopped,
        leftovers=not process.is_running and not process.is_quiet,
        started_at=time_text(process.started_at_ns),
        duration_ms=round(process.duration_s * 1000, 3),
        stdout_bytes=process.stdout.total_bytes,
        stderr_bytes=process.stderr.total_bytes,
        sandbox=process.sandbox,
    )


def _message(process: Process, timeout_ms: int) -> str | None:
    if process.timed_out:
        return f"the command took longer than {timeout_ms} ms and was ended"
    if process.exit_signal is not None:
        return f"the command was ended by {signal.Signals(process.exit_signal).name}"
    if process.exit_code:
        return f"the command ended with exit code {process.exit_code}"
    return None


def _text(data: bytes, end: int, output: Output) -> tuple[str, int]:
    """As text; a character of which the last bytes are still to come is left for the next read."""
    if output.is_open or end < output.total_bytes:
        cut = _incomplete(data)
        if 0 < cut < len(data):
            data, end = data[:-cut], end - cut
    return data.decode("utf-8", "replace"), end


def _incomplete(data: bytes) -> int:
    """How many bytes at the end begin a character without ending it."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return 0
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < length else 0
    return 0


def _bounded(output: Output, limit: int) -> tuple[str, int]:
    """All of it, or its two ends with a line between them that says what is missing."""
    decoded = partial(bytes.decode, encoding="utf-8", errors="replace")
    if output.total_bytes <= limit:
        return decoded(output.read(0, limit).data), 0
    head = output.read(0, limit // 2).data
    tail = output.read(-(limit - limit // 2), limit).data
    omitted = output.total_bytes - len(head) - len(tail)
    return f"{decoded(head)}\n[… {omitted} bytes left out …]\n{decoded(tail)}", omitted


RUN = Operation(
    name="process.run",
    summary="Run a command in a process of its own, without a terminal, and wait for its end.",
    effect=Effect.CONTROL,
    judged=RunsLine("command"),
    params=RunProcessParams,
    result=RunProcessResult,
    run=_run,
    check=_check_start,
    route=Route(method="POST", path="/processes/run"),
    errors=(BadCommand, BadWorkingDirectory, ForkFailed, MaxProcesses, ProcessIdConflict),
    waits=True,
)
START = Operation(
    name="process.start",
    summary="Start a command in a process of its own, without a terminal, and leave it running.",
    effect=Effect.CONTROL,
    judged=RunsLine("command"),
    params=StartProcessParams,
    result=ProcessInfo,
    run=_start,
    check=_check_start,
    route=Route(method="POST", path="/processes", status=201),
    errors=(BadCommand, BadWorkingDirectory, ForkFailed, MaxProcesses, ProcessIdConflict),
)
LIST = Operation(
    name="process.list",
    summary="List the commands without a terminal, ended ones that are still readable included.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=list[ProcessInfo],
    run=_list,
    route=Route(method="GET", path="/processes"),
)
READ = Operation(
    name="process.read",
    summary="What a command printed on each of its streams, from an offset on.",
    effect=Effect.READ,
    judged=PLAIN,
    params=ReadProcessParams,
    result=ProcessOutput,
    run=_read,
    route=Route(method="GET", path="/processes/{process}"),
    errors=(ProcessNotFound,),
    waits=True,
)
STOP = Operation(
    name="process.stop",
    summary="End a command and everything it started, politely and then by KILL.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=StopProcessParams,
    result=ProcessInfo,
    run=_stop,
    route=Route(method="POST", path="/processes/{process}/stop"),
    errors=(ProcessNotFound,),
)
