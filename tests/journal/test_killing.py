import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.pty
@pytest.mark.parametrize("kind", ["pty", "pipe", "ahead"])
def test_a_server_killed_at_any_instant_loses_and_doubles_no_byte(
    tmp_path: Path, kind: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.journal.killing", tmp_path / "j", kind, "100", "1"],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    outcome = json.loads(ran.stdout)
    assert outcome["fruitful"] >= 50
    assert outcome["bytes"] > 1 << 17
