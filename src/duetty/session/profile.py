"""What is fixed about a session when it is opened, and the little that may change."""

from dataclasses import dataclass, field

from duetty.ids import SessionId
from duetty.session.bounds import NO_BOUNDS, Bounds
from duetty.shell import ShellKind, shell_kind


@dataclass(slots=True, kw_only=True)
class Profile:
    """Name, tags, size and workspace change; the rest is as opened."""

    id: SessionId
    name: str
    argv: tuple[str, ...]
    command: str
    """The command as it was asked for; what people see in lists."""

    shell: str | None
    """Name of the shell's kind when marks are injected."""

    integration_reason: str | None
    """Why there are no marks, when there are none."""

    nonce: str
    created_at_ns: int
    cwd: str
    pid: int
    tty: str
    cols: int
    rows: int
    tags: set[str] = field(default_factory=set[str])
    is_shell: bool = False
    sandbox: str = "none"
    """What it runs in: none, landlock or bubblewrap."""

    network: bool = True
    """Whether that lets it reach the network."""

    workspace: str = ""
    """What an agent may change here without a question; a person may set another."""

    keeps_name: bool = False
    """No other session gets its name before it is removed."""

    bounds: Bounds = NO_BOUNDS
    owner: str | None = None
    """Identity of the actor that opened it; None for one of an earlier version."""

    shell_kind: ShellKind = field(init=False)
    """What differs between shells; kept, because each chunk of output asks for it."""

    def __post_init__(self) -> None:
        self.shell_kind = shell_kind(self.shell)

    def forget_shell(self, reason: str) -> None:
        """No marks come, or none any more."""
        self.shell = None
        self.shell_kind = shell_kind(None)
        self.integration_reason = reason

    @property
    def integration(self) -> str:
        return self.shell or "none"
