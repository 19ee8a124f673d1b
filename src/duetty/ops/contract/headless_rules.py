"""The headless gate: which requests may run without a viewer, before policy judges the line.

Pure and total, so that it can be tested apart. Policy proves a command line in a
plain environment with nothing piped in; what would make that proof worthless is
refused here, even where a person could be asked, because a person would be shown the line only.
"""

from collections.abc import Iterable

from duetty.ops.contract.failures import Blocked, InvalidMode
from duetty.ops.contract.request import Request
from duetty.wire.contract import Action, Intent

SUBSET: frozenset[tuple[Action, Intent | None]] = frozenset(
    {("execute", "execute_command"), ("read_output", None), ("terminate", None), ("list", None)}
)
"""Combinations of action and intent that headless mode has."""

HARMLESS_VARIABLES = frozenset(
    {"LANG", "LANGUAGE", "TZ", "COLUMNS", "LINES", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"}
)  # fmt: skip
"""Besides LC_*. Others can name code (PATH, LD_PRELOAD, BASH_ENV, GIT_…, PAGER …)."""


def check_headless(request: Request) -> None:
    """Raises:
    InvalidMode: if this action and intent cannot be headless.
    Blocked: if its environment could change what the judged command does.
    """
    if request.mode != "headless":
        return
    if (request.action, request.intent) not in SUBSET:
        raise InvalidMode(
            f"{request.intent} needs a terminal that a person can see",
            fields={"invocation.mode": "interactive only"},
            allowed=("interactive",),
        )
    unproven = unproven_variables(request.execution.env)
    if unproven:
        raise Blocked(
            "not run: these variables could change what the command does",
            hint=f"leave {', '.join(unproven[:5])} out, or run it interactively",
            fields={
                "execution.env": f"headless takes {', '.join(sorted(HARMLESS_VARIABLES))}, LC_*"
            },
            reason="not_provable",
            rule="headless:env",
            classes=[],
        )


def check_piped(request: Request, *, is_allowed: bool) -> None:
    """`is_allowed`: policy lets the line run without a question.

    Raises:
        Blocked: if a person would have to answer for a line without seeing what is piped into it.
    """
    if request.execution.stdin and not is_allowed:
        raise Blocked(
            "not run: what is piped into a command that is not proven could be anything",
            hint="pipe into a command that only reads, or run it interactively",
            fields={"execution.stdin": "only for commands that policy proves"},
            reason="not_provable",
            rule="headless:stdin",
            classes=[],
        )


def unproven_variables(names: Iterable[str]) -> list[str]:
    return sorted(
        name[:100]
        for name in names
        if name not in HARMLESS_VARIABLES and not name.startswith("LC_")
    )
