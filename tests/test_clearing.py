"""Trees that programs made go, however they made them, and hold nobody up."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from duetty import removal
from duetty.removal import ASIDE, remove_trees

PATIENCE_S = 60


def wait_for(holds: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def nested(place: Path, *, depth: int, name: str = "d" * 40) -> None:
    """Deeper than a path can say, and than Python recurses."""
    place.mkdir()
    at = os.open(place, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)


def test_a_tree_deeper_than_python_recurses_goes(tmp_path: Path) -> None:
    nested(tmp_path / "tree", depth=3_000)

    remove_trees(tmp_path / "tree")

    assert not (tmp_path / "tree").exists()  # at once: somebody may want the name
    wait_for(lambda: not list(tmp_path.iterdir()))


def test_a_wide_tree_and_one_that_forbids_a_look_go_together(tmp_path: Path) -> None:
    wide, shut = tmp_path / "wide", tmp_path / "shut"
    for number in range(500):
        (wide / str(number)).mkdir(parents=True)
    (shut / "inner" / "most").mkdir(parents=True)
    (shut / "inner").chmod(0)

    remove_trees(wide, shut, tmp_path / "never")

    wait_for(lambda: not list(tmp_path.iterdir()))


def test_no_link_is_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    (kept / "below").mkdir(parents=True)
    (kept / "file").write_text("x")
    tree = tmp_path / "tree"
    for number in range(50):
        (tree / str(number)).mkdir(parents=True)
        (tree / str(number) / "link").symlink_to(kept)
    (tree / "link").symlink_to(kept)

    remove_trees(tree)

    wait_for(lambda: [each.name for each in tmp_path.iterdir()] == ["kept"])
    assert (kept / "file").read_text() == "x"
    assert (kept / "below").is_dir()


def test_a_few_files_go_without_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    (tree / "tmp").mkdir(parents=True)
    (tree / "stdout").write_text("x")
    monkeypatch.setattr(removal.subprocess, "run", None)

    remove_trees(tree)

    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_taken_away_now_is_left_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "no process more")

    nested(tmp_path / "tree", depth=2)
    monkeypatch.setattr(removal.subprocess, "run", fails)

    remove_trees(tmp_path / "tree")
    [left] = tmp_path.iterdir()

    assert left.name.startswith(ASIDE)
