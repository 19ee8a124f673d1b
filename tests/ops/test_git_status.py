"""What git says of a work tree, and what it must not run on the way there."""

import subprocess
from pathlib import Path

import pytest

from duetty.ops.git_status import Status, git_status, parse_status, repository_of

pytestmark = pytest.mark.anyio


def git(place: Path, *words: str) -> None:
    env = {"HOME": str(place), "PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}
    own = ["-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(
        ["git", *own, *words], cwd=place, env=env, check=True, capture_output=True, timeout=60
    )


async def status_of(place: Path) -> Status:
    repository = repository_of(str(place))
    assert repository is not None
    return await git_status(repository)


def committed(place: Path) -> Path:
    place.mkdir(exist_ok=True)
    git(place, "init", "-q")
    (place / "kept").write_text("1\n")
    (place / "gone").write_text("1\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "first")
    return place


async def test_branch_staged_modified_and_untracked_are_told(tmp_path: Path) -> None:
    place = committed(tmp_path / "work")
    (place / "kept").write_text("two\n")
    (place / "gone").unlink()
    (place / "new file").write_text("")
    git(place, "add", "new file")
    (place / "other").write_text("")
    (place / "below").mkdir()

    found = await status_of(place / "below")

    assert (found.root, found.branch, found.upstream) == (str(place), "main", None)
    assert found.commit is not None
    assert found.staged == [("new file", "added")]
    assert found.modified == [("gone", "deleted"), ("kept", "modified")]
    assert found.untracked == ["other"]
    assert not found.truncated


async def test_ahead_and_behind_are_counted_against_the_branch_that_is_followed(
    tmp_path: Path,
) -> None:
    origin = committed(tmp_path / "origin")
    git(tmp_path, "clone", "-q", str(origin), "work")
    place = tmp_path / "work"
    git(place, "commit", "-q", "--allow-empty", "-m", "mine")
    git(place, "commit", "-q", "--allow-empty", "-m", "mine too")
    git(origin, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(place, "fetch", "-q")

    found = await status_of(place)

    assert (found.upstream, found.ahead, found.behind) == ("origin/main", 2, 1)


async def test_a_linked_work_tree_and_a_repository_without_commits_are_read(tmp_path: Path) -> None:
    place = committed(tmp_path / "work")
    git(place, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    (tmp_path / "linked" / "kept").write_text("two\n")
    (tmp_path / "fresh").mkdir()
    git(tmp_path / "fresh", "init", "-q")

    linked, fresh = await status_of(tmp_path / "linked"), await status_of(tmp_path / "fresh")

    assert (linked.branch, linked.modified) == ("side", [("kept", "modified")])
    assert (fresh.branch, fresh.commit) == ("main", None)


async def test_no_program_of_the_repository_runs(tmp_path: Path) -> None:
    place = committed(tmp_path / "work")
    (place / ".gitattributes").write_text("* filter=mine diff=mine\n")
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 >> {ran}\ncat\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "filter.mine.clean", "filter.mine.process", "diff.external"):
        git(place, "config", key, str(program))
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "post-index-change").symlink_to(program)
    git(place, "config", "core.hooksPath", str(hooks))
    (place / "kept").write_text("8\n")  # as long as before, so that git has to read it
    subprocess.run(
        ["git", "status"], cwd=place, capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    assert ran.exists(), "a plain `git status` runs it, or this test shows nothing"
    ran.unlink()

    found = await status_of(place)

    assert not ran.exists()
    assert ("kept", "modified") in found.modified


async def test_nothing_of_the_repository_is_changed(tmp_path: Path) -> None:
    place = committed(tmp_path / "work")
    (place / "kept").touch()
    before = {path: path.read_bytes() for path in (place / ".git").rglob("*") if path.is_file()}

    await status_of(place)

    assert before == {
        path: path.read_bytes() for path in (place / ".git").rglob("*") if path.is_file()
    }


def test_outside_of_a_repository_and_inside_of_git_there_is_none(tmp_path: Path) -> None:
    place = committed(tmp_path / "work")

    assert repository_of(str(tmp_path)) is None
    assert repository_of(str(place / ".git" / "refs")) is None


def test_lines_that_are_not_known_are_left_out() -> None:
    found = parse_status("# branch.ab x y\0001 M\0\0! ignored\0? a\nb\0z", root="/w")

    assert found == Status(root="/w", untracked=["a\nb"])
