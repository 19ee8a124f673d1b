"""What is installed is pinned by hash, and no file names a host to get it from."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted(path.name for path in ROOT.glob("requirements*.lock"))
ENTRY = re.compile(r"[\w.\-\[\]]+==\S+( ; [^\n\\]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n")


def test_there_are_locks_and_no_file_that_records_hosts() -> None:
    assert "requirements.lock" in LOCKS
    assert not (ROOT / "uv.lock").exists()


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_is_pinned_packages_with_hashes_and_nothing_else(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")

    left = ENTRY.sub("", text)

    assert ENTRY.search(text)
    assert left == ""
