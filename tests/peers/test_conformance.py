"""The official conformance suite, at both revisions: against the product's MCP edge, and against its client of upstreams."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.peers.conftest import HERE, MODULES, ROOT, run_node

SUITE = MODULES / "@modelcontextprotocol/conformance/dist/index.js"

LEAST = {"2025-11-25": 81, "2026-07-28": 194}
"""Checks that pass today: fewer would mean that a scenario no longer reached us."""

LEAST_AS_CLIENT = {"2025-11-25": 200, "2026-07-28": 430}

EXTENSIONS = {
    "auth/client-credentials-jwt": "signs with a private key, which no table can name",
    "auth/enterprise-managed-authorization": "needs an identity provider's assertion",
    "auth/dpop": "proves possession of a key with each request; the SDK does not",
    "auth/dpop-nonce": "the same",
    "auth/wif-jwt-bearer": "needs a workload's own identity",
}
"""Of OAuth, outside the protocol itself; the suite scores none of them. Why each fails."""


@pytest.mark.pty
@pytest.mark.parametrize("revision", LEAST)
def test_every_applicable_check_passes(
    node: Path, fixture_url: str, revision: str, tmp_path: Path
) -> None:
    ran = run_node(
        node, str(SUITE), "server", "--url", fixture_url, "--requirements", revision, "-o", str(tmp_path)
    )  # fmt: skip

    checks = checks_in(tmp_path)
    failed = {
        (scenario, check["id"], check.get("errorMessage"))
        for scenario, check in checks
        if check["status"] == "FAILURE"
    }
    passed = sum(check["status"] == "SUCCESS" for _, check in checks)
    assert failed == set(), ran.stdout[-3000:]
    assert passed >= LEAST[revision]


@pytest.fixture(scope="module")
def upstream_client(node: Path) -> Iterator[str]:
    """Our client of upstreams, loaded once: the command by which the suite runs a scenario."""
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp") as place:
        address = f"{place}/client"
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.peers.upstream_client", address],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield f"{sys.executable} -I -S {HERE / 'send_scenario.py'} {address}"
        finally:
            process.kill()
            process.wait(60)
            process.stdout.close()


@pytest.mark.parametrize("revision", LEAST_AS_CLIENT)
def test_our_client_of_upstreams_passes_every_scenario_but_extensions_of_oauth(
    node: Path, upstream_client: str, revision: str, tmp_path: Path
) -> None:
    ran = run_node(
        node, str(SUITE), "client", "--command", upstream_client, "--requirements", revision,
        "-o", str(tmp_path),
    )  # fmt: skip

    checks = [
        (scenario, check)
        for scenario, check in checks_in(tmp_path)
        if re.sub(r"-\d{4}-\d\d-\d\dT.*", "", scenario) not in EXTENSIONS
    ]
    failed = {
        (scenario, check["id"], check.get("errorMessage"))
        for scenario, check in checks
        if check["status"] == "FAILURE"
    }
    passed = sum(check["status"] == "SUCCESS" for _, check in checks)
    assert failed == set(), ran.stdout[-3000:]
    assert passed >= LEAST_AS_CLIENT[revision]


def checks_in(directory: Path) -> list[tuple[str, dict[str, Any]]]:
    """Scenario and check."""
    return [
        (str(path.parent.relative_to(directory)), check)
        for path in directory.rglob("checks.json")
        for check in json.loads(path.read_text())
    ]
