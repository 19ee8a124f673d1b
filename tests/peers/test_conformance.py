"""The official conformance suite, at both revisions, against the product's MCP edge."""

import json
from pathlib import Path

import pytest

from tests.peers.conftest import MODULES, run_node

SUITE = MODULES / "@modelcontextprotocol/conformance/dist/index.js"

LEAST = {"2025-11-25": 81, "2026-07-28": 194}
"""Checks that pass today: fewer would mean that a scenario no longer reached us."""


@pytest.mark.pty
@pytest.mark.parametrize("revision", LEAST)
def test_every_applicable_check_passes(
    node: Path, fixture_url: str, revision: str, tmp_path: Path
) -> None:
    ran = run_node(
        node, str(SUITE), "server", "--url", fixture_url, "--requirements", revision, "-o", str(tmp_path)
    )  # fmt: skip

    checks = [
        (path.parent.name, check)
        for path in tmp_path.glob("*/checks.json")
        for check in json.loads(path.read_text())
    ]
    failed = {
        (scenario, check["id"], check.get("errorMessage"))
        for scenario, check in checks
        if check["status"] == "FAILURE"
    }
    passed = sum(check["status"] == "SUCCESS" for _, check in checks)
    assert failed == set(), ran.stdout[-3000:]
    assert passed >= LEAST[revision]
