"""`duetty run --sandbox`: a command that can write in this directory only."""

from pathlib import Path

import pytest

from duetty.sandbox import support
from tests.sandbox.inside import settled_sockets
from tests.server_process import running_server

LEVELS = [
    pytest.param(
        "bubblewrap",
        marks=pytest.mark.skipif(support().bubblewrap is None, reason="no bubblewrap here"),
    ),
    pytest.param(
        "landlock", marks=pytest.mark.skipif(support().landlock < 6, reason="no Landlock here")
    ),
]


@pytest.mark.parametrize("level", LEVELS)
def test_a_command_is_confined_to_this_directory_and_reads_what_is_piped_in(
    home: Path, level: str
) -> None:
    here = home / "it's here"
    here.mkdir()
    line = f"cat > written; touch {home}/outside; exit 3"
    with settled_sockets(), running_server(home) as server:
        said = server.command("run", f"--sandbox={level}", line, input="piped\n", cwd=here)

    assert said.returncode == 3
    assert [each.name for each in here.iterdir()] == ["written"]
    assert (here / "written").read_text() == "piped\n"
    assert not (home / "outside").exists()


def test_a_session_that_is_there_gets_no_other_sandbox(home: Path) -> None:
    with running_server(home) as server:
        server.client.post("/sessions", {"name": "bare", "command": "bash"})
        said = server.command("run", "-s", "bare", "--sandbox=any", "touch", str(home / "ran"))

    assert said.returncode == 1
    assert "keeps the sandbox it was opened with" in said.stderr
    assert not (home / "ran").exists()


def test_on_another_machine_somebody_must_say_what_may_be_written(home: Path) -> None:
    with running_server(home) as server:
        said = server.command("run", "--server", "elsewhere", "--sandbox=any", "true")

    assert said.returncode == 1
    assert "--workspace" in said.stderr
