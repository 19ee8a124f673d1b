"""Each edge, each bound, each credential: a greedy client beside a person, who works on. Figures: benchmarks/hostile.py."""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.viewing import View
from tests.hostile.beside import (
    COLS,
    ECHO_P95_S,
    GROWN_BYTES,
    LIST_P95_S,
    ROWS,
    attacked,
    coloured_cells,
    measured,
    prepare,
    token_of,
)
from tests.hostile.greedy import ATTACKS, Credential, cases
from tests.server_process import ServerProcess, running_server

pytestmark = pytest.mark.pty

ATTACK_S, BEGUN_S, CALM_S = 2.0, 0.3, 0.5
HOPS = 10
"""How often, from a key to its echo, a process waits for a processor that others have."""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        prepare(server)
        yield server


@pytest.fixture(scope="module")
def person(server: ServerProcess) -> Iterator[View]:
    view = View(server, "echo", is_person=True)
    yield view
    view.close()


def test_the_large_session_is_large_and_coloured(server: ServerProcess) -> None:
    assert coloured_cells(server) >= COLS * (ROWS - 1)


@pytest.mark.parametrize(("attack", "credential"), list(cases()))
@pytest.mark.sampled(13)
def test_a_person_works_on_beside_a_greedy_client(
    server: ServerProcess, person: View, attack: str, credential: Credential
) -> None:
    token = token_of(server, credential)
    logged = server.paths.log_file.stat().st_size if server.paths.log_file.exists() else 0
    seen: Counter[str] = Counter()
    for is_last in (False, False, True):
        calm = measured(server, person, CALM_S)
        with attacked(server, attack, token, ATTACK_S + BEGUN_S) as client:
            client.begun()
            found = measured(server, person, ATTACK_S)
        seen.update(client.seen)  # a round after the first may find its share taken by that
        assert found.grown_bytes <= GROWN_BYTES
        # What a processor that others have costs is known from the same moments, and is none of ours.
        room_s = HOPS * found.crowded_s
        echo_s, list_s = calm.echo_p95_s + room_s, calm.list_p95_s + room_s
        if found.echo_p95_s <= ECHO_P95_S + echo_s and found.list_p95_s <= LIST_P95_S + list_s:
            break
        assert not is_last, f"{found} beside {calm}"

    assert server.process is not None
    assert server.process.poll() is None
    assert seen["tried"] > 0
    assert (seen["taken"] > 0) == (credential in ATTACKS[attack].admits), seen
    assert crashes(server, logged) == []


def crashes(server: ServerProcess, since: int) -> list[str]:
    if not server.paths.log_file.exists():
        return []
    with server.paths.log_file.open("rb") as log:
        log.seek(since)
        entries = [json.loads(line) for line in log]
    return [
        str(each.get("trace", each["event"]))[-1_000:]
        for each in entries
        if "trace" in each or each["level"] == "error"
    ]
