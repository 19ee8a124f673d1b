"""What changed since the last release, one file for each change."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_WORDS = 60
NO_CHANGES = {"README.md", "template.md.jinja"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    pytest.importorskip("towncrier", reason="`make install-dev` installs it")
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "changes", tmp_path / "changes")
    return tmp_path


def changelog(project: Path) -> subprocess.CompletedProcess[str]:
    build = ("-m", "towncrier", "build", "--yes", "--version", "9.9.9", "--date", "2030-01-02")
    return subprocess.run(
        [sys.executable, *build], cwd=project, capture_output=True, text=True, check=False
    )


def test_every_change_is_short() -> None:
    files = [each for each in (ROOT / "changes").iterdir() if each.name not in NO_CHANGES]

    long = [each.name for each in files if len(each.read_text().split()) > MOST_WORDS]

    assert long == []


def test_changes_become_a_release_above_the_last_one(project: Path) -> None:
    (project / "changes" / "doctor-fits.fixed.md").write_text("`duetty doctor` fits.\n")
    (project / "changes" / "a-door.added.md").write_text("There is a door.\n")

    done = changelog(project)

    assert done.returncode == 0, done.stderr
    above, _, below = (project / "CHANGELOG.md").read_text().partition("## 0.1.0")
    assert "## 9.9.9 — 2030-01-02" in above
    assert "### Added\n\n- There is a door.\n" in above
    assert "### Fixed\n\n- `duetty doctor` fits.\n" in above
    assert "### Added" in below
    assert {each.name for each in (project / "changes").iterdir()} == NO_CHANGES


def test_a_file_of_an_unknown_kind_is_refused(project: Path) -> None:
    (project / "changes" / "doctor-fits.mended.md").write_text("`duetty doctor` fits.\n")

    done = changelog(project)

    assert done.returncode != 0
    assert "doctor-fits.mended.md" in done.stdout + done.stderr
