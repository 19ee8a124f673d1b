"""The repository that a session stands in, in its head: a branch and counts, files on demand, nothing elsewhere."""

import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.web.browsing import PHONE, Tab

pytestmark = [pytest.mark.browser, pytest.mark.pty]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One commit ahead of the branch that it follows, one behind; a file of each kind."""
    place = tmp_path / "work"
    place.mkdir()

    def git(*words: str) -> None:
        named = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *named, *words], cwd=place, check=True, capture_output=True)

    git("init", "-b", "main")
    (place / "known.txt").write_text("one\n")
    git("add", ".")
    git("commit", "-m", "one")
    git("checkout", "-b", "theirs")
    git("commit", "--allow-empty", "-m", "theirs")
    git("checkout", "main")
    git("branch", "--set-upstream-to=theirs")
    git("commit", "--allow-empty", "-m", "ours")
    (place / "staged.txt").write_text("two\n")
    git("add", "staged.txt")
    (place / "known.txt").write_text("other\n")
    (place / "new \u202egpj.txt").write_text("three\n")
    return place


def test_branch_and_changes_stand_in_the_head_and_follow_what_is_run(
    tab: Tab, repository: Path, tmp_path: Path
) -> None:
    client = tab.server.client
    client.post("/sessions", {"name": "s", "command": "bash", "cwd": str(repository)})
    tab.open("s")
    chip = tab.page.get_by_role("button", name="Git: ")
    expect(chip).to_have_text("⎇ main↑1↓1±3")
    expect(chip).to_have_accessible_name(
        "Git: main, 1 ahead, 1 behind; 1 staged, 1 modified, 1 untracked"
    )

    chip.click()
    shown = tab.page.get_by_role("dialog", name="Changes in the repository")
    expect(shown).to_contain_text("1 ahead, 1 behind of theirs")
    expect(shown.get_by_role("listitem")).to_have_text(
        ["staged.txtadded", "known.txtmodified", "new U+202Egpj.txt"]
    )
    tab.page.keyboard.press("Escape")
    expect(shown).to_have_count(0)
    expect(chip).to_be_focused()

    client.post("/sessions/s/run", {"input": "git add . && git checkout -qb other"})
    expect(chip).to_have_accessible_name("Git: other; 3 staged")
    client.post("/sessions/s/run", {"input": f"cd {tmp_path}"})
    expect(chip).to_have_count(0)
    client.post("/sessions/s/run", {"input": "cd -"})
    expect(chip).to_have_count(1)


def test_on_a_phone_it_stands_beside_the_name_and_opens_within_the_screen(
    tab: Tab, repository: Path
) -> None:
    tab.page.set_viewport_size(PHONE)
    tab.server.client.post("/sessions", {"name": "s", "command": "bash", "cwd": str(repository)})
    tab.open("s")
    chip = tab.page.get_by_role("button", name="Git: ")
    expect(chip).to_be_in_viewport(ratio=1)

    chip.click()
    shown = tab.page.get_by_role("dialog", name="Changes in the repository")
    expect(shown).to_be_in_viewport(ratio=1)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
