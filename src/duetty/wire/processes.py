"""Arguments and results of commands without a terminal, as they cross the boundary."""

from typing import Annotated, Literal, Self

from pydantic import Field, PrivateAttr, field_validator

from duetty.wire.base import MAX_ARGUMENT_BYTES, Params, Result, SystemText, system_bytes, variables
from duetty.wire.params import MAX_WAIT_MS, SignalName, StdinParams
from duetty.wire.results import Approved

MAX_READ_BYTES = 1_048_576

ProcessId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="id of the process")]


class StartProcessParams(StdinParams):
    command: SystemText = Field(
        description="command line for the shell, with all that a shell can do", max_length=1_000_000
    )
    cwd: SystemText | None = Field(None, description="directory to run in; the home when left out")
    env: dict[SystemText, SystemText] = Field(
        default_factory=dict[str, str], description="variables added to the environment"
    )
    shell: SystemText | None = Field(None, description="shell that reads it: a name or a path")
    timeout_ms: int | None = Field(
        None, ge=1, le=MAX_WAIT_MS, description="it is ended after this time"
    )
    max_cpu_s: int | None = Field(None, ge=1, le=2**31, description="CPU time of each process")
    max_memory_mib: int | None = Field(
        None, ge=1, le=2**31, description="address space of each process"
    )
    max_file_mib: int | None = Field(
        None, ge=1, le=2**31, description="size of each file it writes"
    )
    sandbox: Literal["none", "any", "landlock", "bubblewrap"] | None = Field(
        None, description="what it runs in; any is the best there is; an agent may only tighten"
    )
    workspaces: list[SystemText] | None = Field(
        None,
        description="what it may write in a sandbox; an agent may leave out some of the workspaces"
        " that the settings name, and name no others",
        max_length=16,
    )
    id: ProcessId | None = Field(None, description="id to know it by; chosen when left out")

    _proven: tuple[str, ...] | None = PrivateAttr(None)
    """Set by the policy that proved the command; no caller can set it."""

    _is_by_name: bool = PrivateAttr(False)

    @property
    def proven(self) -> tuple[str, ...] | None:
        """The words to run in place of any text; empty where a plain shell must read `command`."""
        return self._proven

    @property
    def is_by_name(self) -> bool:
        """What was proven is known of the system's programs of these names."""
        return self._is_by_name

    def as_proven(self, command: str, words: tuple[str, ...] | None, *, by_name: bool) -> Self:
        """The same call for what was accepted: rebuilt from its words."""
        made = self.model_copy(update={"command": command, "shell": None})
        made._proven = words or ()
        made._is_by_name = by_name
        return made

    @field_validator("command")
    @classmethod
    def _not_empty(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("is empty")
        if system_bytes(text) > MAX_ARGUMENT_BYTES:
            # A proven command may run as words; its caller does not see that.
            raise ValueError(f"must have at most {MAX_ARGUMENT_BYTES} bytes: no shell takes more")
        return text

    @field_validator("env")
    @classmethod
    def _plain_env(cls, env: dict[str, str]) -> dict[str, str]:
        return variables(env)


class RunProcessParams(StartProcessParams):
    max_output_bytes: int | None = Field(
        None, ge=256, le=16_777_216, description="of each stream in the answer; the rest is read"
    )


class ProcessParams(Params):
    process: ProcessId


class ReadProcessParams(ProcessParams):
    stdout_offset: int = Field(0, description="first byte; negative counts from the end")
    stderr_offset: int = Field(0, description="first byte; negative counts from the end")
    max_bytes: int = Field(32_768, ge=0, le=MAX_READ_BYTES, description="of each stream")
    wait_ms: int = Field(
        0, ge=0, le=MAX_WAIT_MS, description="wait so long for something new, or the end"
    )
    wait_for: Literal["output", "end"] = Field("output", description="what the wait is for")


class StopProcessParams(ProcessParams):
    signal: SignalName = Field("TERM", description="sent first; KILL follows after the grace")
    grace_ms: int = Field(2_000, ge=0, le=60_000, description="time until KILL")


class ProcessInfo(Result):
    id: str
    pid: int
    command: str
    cwd: str
    state: Literal["running", "exited"]
    exit_code: int | None = Field(description="null while it runs, and after a signal")
    exit_signal: str | None
    timed_out: bool
    stopped: bool
    leftovers: bool = Field(description="ended, but something it started still holds its output")
    started_at: str
    duration_ms: float
    stdout_bytes: int
    stderr_bytes: int
    sandbox: str = Field("none", description="what it runs in: none, landlock or bubblewrap")
    approved: Approved | None = Field(
        default=None,
        description="how a person answered for it: in the answer to process.run or process.start",
    )


class ProcessOutput(Result):
    process: ProcessInfo
    stdout: str
    stderr: str
    stdout_offset: int = Field(description="where the text begins; later than asked for if gone")
    stderr_offset: int
    stdout_next: int = Field(description="offset for the next read")
    stderr_next: int


class RunProcessResult(Result):
    process: ProcessInfo
    stdout: str
    stderr: str
    stdout_omitted_bytes: int
    stderr_omitted_bytes: int
    message: str | None = Field(description="one sentence, when it did not end with 0")
