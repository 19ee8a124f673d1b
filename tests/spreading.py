"""How tests are spread over processes: a file is one piece, so that its server serves all of it."""

import os
from collections import Counter

import pytest

LAST = "tests/web/"
"""Playwright leaves a running loop in its thread, in which no anyio test can run after it."""

LONG = (
    "tests/faults/test_floods.py",
    "tests/cli/attach/test_in_a_terminal.py",
    "tests/edges/http/test_conformance.py",
    "tests/real/test_restart.py",
    "tests/session/test_runs.py",
    "tests/edges/mcp/test_jobs.py",
    "tests/cli/attach/test_hostile_bytes.py",
    "tests/cli/test_session_commands.py",
    "tests/ops/test_typed_lines.py",
    "tests/session/test_sharing.py",
    "tests/edges/mcp/test_tools.py",
    "tests/session/test_runs_after_keys.py",
    "tests/cli/test_instances.py",
    "tests/edges/http/test_network.py",
    "tests/edges/mcp/test_plain_calls_equal_sdk.py",
    "tests/sandbox/test_workspace_traps.py",
    "tests/contract/test_policy_matrix.py",
    "tests/sandbox/test_sessions.py",
    "tests/peers/test_conformance.py",
    "tests/sandbox/test_planted_git_files.py",
    "tests/hostile/test_connections.py",
    "tests/approvals/test_server.py",
    "tests/session/test_states.py",
    "tests/hub/test_forwarding.py",
    "tests/sandbox/test_git_files.py",
    "tests/policy/test_corpus.py",
    "tests/edges/http/test_attacks.py",
    "tests/web/test_terminal.py",
    "tests/web/test_sessions.py",
    "tests/web/test_screens.py",
    "tests/web/test_tools.py",
    "tests/web/approvals/test_answering.py",
    "tests/web/approvals/test_question_shown.py",
)
"""The files that take longest, the longest first, as they were measured: one that begins when the
others are done is waited for alone. A wrong order costs a minute and nothing else; `tests/docs` sees that each is there."""


def processes() -> int:
    """Tests mostly wait, for shells and for browsers: two for each core."""
    return 2 * len(os.sched_getaffinity(0))


def mark_slow_cases(items: list[pytest.Item]) -> None:
    """Of a function marked `sampled(every)` all cases are slow but the first of every so many."""
    cases: Counter[str] = Counter()
    for item in items:
        if (sampled := item.get_closest_marker("sampled")) is not None:
            function = item.nodeid.partition("[")[0]
            if cases[function] % sampled.args[0]:
                item.add_marker("slow")
            cases[function] += 1


def spread(items: list[pytest.Item]) -> None:
    """The order of files, long ones first; those of one file stay together and in their order."""
    ranks = {path: rank for rank, path in enumerate(LONG)}
    counts = Counter(_file(item) for item in items)

    def place(item: pytest.Item) -> tuple[bool, int, int]:
        path = _file(item)
        return path.startswith(LAST), ranks.get(path, len(LONG)), -counts[path]

    # By path first: files of equal length would else be mixed with each other.
    items.sort(key=_file)
    items.sort(key=place)


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
