"""Headless routes: a process of its own with pipes, and no prompt behind it."""

from pathlib import Path
from secrets import token_hex
from typing import Any

from duetty.calls import Effect
from duetty.ops.contract.failures import Partial, timed_out
from duetty.ops.contract.headless_rules import check_piped
from duetty.ops.contract.owners import process_of
from duetty.ops.contract.steps import DIALECT, Doing, Outcome
from duetty.ops.contract.words import line_of
from duetty.policy import Allow, Judged, Mode
from duetty.shell import OTHER_SHELL
from duetty.wire.contract import Executed, OutputRead, TargetInfo, Terminated


async def execute(doing: Doing) -> Outcome:
    request = doing.request
    line = request.execution.command or ""
    if request.words is not None:
        line = line_of(request.words, OTHER_SHELL)
    cwd = _directory(doing)
    if request.execution.stdin:
        check_piped(request, is_allowed=_is_allowed(doing, line, cwd))
    order: dict[str, object] = {
        "id": token_hex(6),
        "command": line,
        "cwd": cwd,
        "env": request.execution.env or None,
        "stdin": request.execution.stdin,
        "timeout_ms": doing.timeout_ms,
        "sandbox": request.runtime.sandbox,
    }
    if request.runtime.background:
        info = await doing.call("process.start", order)
        return _target(info), Executed(
            status="running",
            opened=False,
            exit_code=None,
            output=None,
            cwd=info.cwd,
            state="running",
        )
    ran = await doing.call("process.run", order | {"max_output_bytes": doing.output_bytes})
    if ran.process.timed_out:
        raise timed_out(
            f"it did not end within {doing.timeout_ms} ms and was ended",
            target=_target(ran.process),
            partial=Partial(stdout=ran.stdout, stderr=ran.stderr),
            timeout_ms=doing.timeout_ms,
        )
    return _target(ran.process), Executed(
        status="completed",
        opened=False,
        exit_code=ran.process.exit_code,
        exit_signal=_signal(ran.process),
        output=None,
        stdout=ran.stdout,
        stderr=ran.stderr,
        omitted_bytes=ran.stdout_omitted_bytes + ran.stderr_omitted_bytes,
        cwd=ran.process.cwd,
        state="exited",
        duration_ms=ran.process.duration_ms,
        known_by="exit",
    )


def _directory(doing: Doing) -> str:
    """Whole, so that the directory which policy sees is the one it runs in."""
    home = doing.services.processes.environment.get("HOME") or "/"
    asked = doing.request.execution.cwd or doing.request.runtime.default_cwd or "~"
    if asked == "~":
        return home
    return str(Path(home, asked[2:])) if asked.startswith("~/") else asked


def _is_allowed(doing: Doing, line: str, cwd: str) -> bool:
    """Whether policy lets the line run without a question; the call itself is decided again."""
    judged = Judged(
        operation="process.run",
        effect=Effect.CONTROL,
        actor=doing.actor,
        dialect=DIALECT,
        mode=Mode.HEADLESS,
        cwd=cwd,
        command_line=line,
    )
    return isinstance(doing.services.deciding.judging.decide(judged).decision, Allow)


async def read_output(doing: Doing) -> Outcome:
    process = process_of(doing.services, doing.actor, doing.request.target or "")
    runtime, limit = doing.request.runtime, doing.output_bytes
    read = await doing.call(
        "process.read",
        {
            "process": process.id,
            "stdout_offset": -limit if runtime.stdout_offset is None else runtime.stdout_offset,
            "stderr_offset": -limit if runtime.stderr_offset is None else runtime.stderr_offset,
            "max_bytes": limit,
            "wait_ms": doing.request.timeout_ms or 0,
            "wait_for": "end",
        },
    )
    info = read.process
    return _target(info), OutputRead(
        state=_state(info),
        command=info.command,
        exit_code=info.exit_code,
        exit_signal=_signal(info),
        output=None,
        stdout=read.stdout,
        stderr=read.stderr,
        stdout_next=read.stdout_next,
        stderr_next=read.stderr_next,
        cwd=info.cwd,
    )


async def terminate(doing: Doing) -> Outcome:
    process = process_of(doing.services, doing.actor, doing.request.target or "")
    was_running = process.is_running
    info = await doing.call("process.stop", {"process": process.id})
    return _target(info), Terminated(
        state=_state(info),
        exit_code=info.exit_code,
        exit_signal=_signal(info),
        was_running=was_running,
    )


def _target(info: Any) -> TargetInfo:
    return TargetInfo(session=info.id, mode="headless", sandbox=info.sandbox)


def _signal(info: Any) -> str | None:
    """As a terminal's end tells it."""
    return None if info.exit_signal is None else f"SIG{info.exit_signal}"


def _state(info: Any) -> Any:
    return "running" if info.state == "running" else "exited"
