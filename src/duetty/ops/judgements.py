"""How a call of an operation is judged: each operation says it, and there is no default."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunsLine:
    """It runs a command line."""

    line: str
    """The argument that holds it."""


@dataclass(frozen=True, slots=True)
class Types:
    """It types into a session: a line that it ends is judged like one that is run."""

    text: str
    """The argument that holds what is typed."""


@dataclass(frozen=True, slots=True)
class CallsTool:
    """It reaches an upstream, named by the argument `upstream`."""

    tool: str
    """The argument that names the tool, prompt or resource."""

    arguments: str | None = None
    """The argument that holds what the upstream is given."""

    is_asked_by_upstream: bool = False
    """The upstream asks for it: `tool` names its request, and there is no tool of that name."""

    is_question: bool = False
    """A person answers it in any case, so policy asks no question before it."""


@dataclass(frozen=True, slots=True)
class Plain:
    """Its name, its effect and who calls say all that policy needs."""


PLAIN = Plain()

Judgement = RunsLine | Types | CallsTool | Plain
