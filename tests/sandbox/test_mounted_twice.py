"""What is mounted in two places is hidden, and protected, in both."""

import os
import socket
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from duetty.errors import BadArguments
from duetty.sandbox import RequestedLevel, support
from duetty.sandbox.mounts import MountTable
from tests.sandbox.inside import (
    ATTEMPT,
    LEVELS,
    lasting_home,
    python_inside,
    reads,
    run_inside,
    writes,
)

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        support().bubblewrap is None or not support().has_landlock,
        reason="this machine has no user namespaces, no bubblewrap or no Landlock",
    ),
]


@pytest.fixture
def home() -> Iterator[Path]:
    with lasting_home() as path:
        (path / ".ssh/keys").mkdir(parents=True)
        (path / ".ssh/keys/id").write_text("SECRET")
        (path / "state").mkdir()
        (path / "state/token").write_text("SECRET")
        (path / "notes").write_text("fine")
        yield path


@pytest.fixture
def second() -> Iterator[Path]:
    path = Path(f"/var/lib/duetty second {os.getpid()}")
    path.mkdir()
    yield path
    path.rmdir()


@contextmanager
def mounted(*words: str | Path) -> Generator[None]:
    subprocess.run(["mount", *map(str, words)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(words[-1])], check=True)


@pytest.mark.parametrize("level", LEVELS)
def test_hidden_places_are_hidden_by_a_second_path_too(
    home: Path, second: Path, level: RequestedLevel
) -> None:
    paths = [second / name for name in (".ssh/keys/id", "state/token", "notes")]
    with mounted("--bind", home, second):
        said = python_inside(
            level, reads(*paths), workspace=home / "ws", home=home, hidden=(home / "state",)
        )

    assert said == "fine"


@pytest.mark.parametrize("level", LEVELS)
def test_a_part_of_a_hidden_place_that_is_mounted_elsewhere_is_hidden(
    home: Path, second: Path, level: RequestedLevel
) -> None:
    with mounted("--bind", home / ".ssh/keys", second):
        said = python_inside(level, reads(second / "id"), workspace=home / "ws", home=home)

    assert said == ""


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_mounted_in_a_hidden_place_is_hidden_where_it_came_from(
    home: Path, second: Path, level: RequestedLevel
) -> None:
    with mounted("-t", "tmpfs", "-o", "size=64k", "tmpfs", second):
        (second / "id").write_text("SECRET")
        with mounted("--bind", second, home / ".ssh/keys"):
            said = python_inside(level, reads(second / "id"), workspace=home / "ws", home=home)

    assert said == ""


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_mounted_over_a_second_path_stays_as_it_is(
    home: Path, second: Path, level: RequestedLevel
) -> None:
    with (
        mounted("--bind", home, second),
        mounted("-t", "tmpfs", "-o", "size=64k", "tmpfs", second),
    ):
        (second / ".ssh").mkdir()
        (second / ".ssh/readme").write_text("fine")

        said = python_inside(level, reads(second / ".ssh/readme"), workspace=home / "ws", home=home)

    assert said == "fine"


@pytest.mark.parametrize("level", LEVELS)
def test_a_second_path_in_a_workspace_opens_nothing_that_is_protected(
    home: Path, level: RequestedLevel
) -> None:
    for name in (".vscode", "free", "other"):
        (home / "ws" / name).mkdir()
    paths = ("other/tasks.json", ".vscode/tasks.json", "free/file")
    with mounted("--bind", home / "ws/.vscode", home / "ws/other"):
        said = python_inside(level, writes(*paths), workspace=home / "ws", home=home)

    assert said.count("DONE") == 1
    assert said.endswith("'DONE']")


def test_a_socket_of_another_program_is_covered_by_its_second_path(
    home: Path, second: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as server, mounted("--bind", home, second):
        server.bind(str(home / "outside/x.sock"))
        server.listen()
        path = str(second / "outside/x.sock")
        code = f"{ATTEMPT}\nprint(attempt(lambda: socket.socket(socket.AF_UNIX).connect({path!r})))"

        said = python_inside("bubblewrap", code, workspace=home / "ws")

    assert said == "Connection refused"


def test_the_servers_own_directory_is_no_workspace_by_a_second_path(
    home: Path, second: Path
) -> None:
    with mounted("--bind", home, second), pytest.raises(BadArguments, match="its own things"):
        run_inside(
            "any", ["/bin/true"], workspace=second / "state", hidden=(home / "state",), home=home
        )


def test_what_is_needed_is_shown_though_it_is_mounted_from_a_hidden_place(
    home: Path, second: Path
) -> None:
    (home / "whole/usr").mkdir(parents=True)
    with mounted("--bind", home / "whole/usr", second):
        table = MountTable()

        assert table.elsewhere([home / "whole"]) == [second]
        assert table.elsewhere([home / "whole"], needed=[second / "bin"]) == []
