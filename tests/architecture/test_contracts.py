"""Each import contract exists and bites."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

BREAKS = [
    ("vt/terminal.py", "import asyncio", "The core does no I/O"),
    ("vt/terminal.py", "import time", "The core does no I/O"),
    ("shell/marks.py", "import pydantic", "The core does no I/O"),
    ("blocks/tracker.py", "import socket", "The core does no I/O"),
    ("policy/decide.py", "import pydantic", "The core does no I/O"),
    ("policy/scanning/scan.py", "import time", "The core does no I/O"),
    ("policy/rules.py", "import duetty.store", "Data flows up, calls flow down"),
    (
        "policy/proving/specs/spec.py",
        "import duetty.policy.scanning.reader",
        "What may allow a line",
    ),
    ("surface/compose.py", "import pydantic", "The core does no I/O"),
    ("surface/values.py", "import duetty.events", "Data flows up, calls flow down"),
    ("session/session.py", "import pyghostty", "Only the adapter knows the emulator"),
    ("edges/http/app.py", "import duetty.session", "A session is reached through dispatch"),
    ("edges/http/app.py", "import duetty.vt", "Edges speak to ops, and to nothing behind it"),
    (
        "edges/mcp/elicitation.py",
        "import duetty.approvals",
        "Edges speak to ops, and to nothing behind it",
    ),
    ("edges/http/app.py", "import duetty.edges.web", "Edges do not know each other"),
    ("client/client.py", "import duetty.ops", "The client carries no server"),
    ("keeper/process.py", "import anyio", "The keeper process needs the standard library"),
    ("ops/sessions.py", "import duetty.keeper.client", "Only a session (and server start-up)"),
    ("journal/journal.py", "import duetty.store", "Data flows up, calls flow down"),
    ("store/store.py", "import duetty.session", "Data flows up, calls flow down"),
    ("utils/__init__.py", "", "Data flows up, calls flow down"),
    ("cli/bridge.py", "import mcp", "The stdio bridge is a pump"),
    ("edges/mcp/dialects/wsh.py", "import mcp", "A dialect maps names and shapes"),
    ("session/pulse.py", "import duetty.session.runs", "No cycles, at any depth"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("contracts")
    shutil.copytree(
        ROOT / "src/duetty", place / "src/duetty", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", place)
    return place


def lint(place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=place,
        env={"PYTHONPATH": str(place / "src"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_contract_is_kept(copy: Path) -> None:
    linted = lint(copy)

    assert linted.returncode == 0, linted.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"), BREAKS, ids=[f"{m}: {i}" for m, i, _ in BREAKS]
)
def test_a_contract_bites(copy: Path, module: str, line: str, contract: str) -> None:
    path = copy / "src/duetty" / module
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{before or ''}\n{line}\n")
    try:
        linted = lint(copy)
    finally:
        if before is None:
            shutil.rmtree(path.parent)
        else:
            path.write_text(before)

    broken = [row for row in linted.stdout.splitlines() if row.endswith("BROKEN")]
    assert linted.returncode == 1
    assert any(row.startswith(contract) for row in broken), linted.stdout
