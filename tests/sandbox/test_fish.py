"""fish inside: it has a place for what it must write, and everything else is the user's own."""

import shutil
from pathlib import Path

import pytest

from duetty.config import Settings
from duetty.sandbox import RequestedLevel, support
from duetty.shell import confined
from tests.engine import running_engine
from tests.sandbox.inside import LEVELS, run_inside, settled_sockets

pytestmark = [
    pytest.mark.shells,
    pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed"),
    pytest.mark.skipif(
        support().bubblewrap is None or not support().has_landlock,
        reason="this machine has no user namespaces, no bubblewrap or no Landlock",
    ),
]


def person(place: Path) -> Path:
    """A home with things for fish in it."""
    config = place / "home/.config/fish"
    (config / "functions").mkdir(parents=True)
    (config / "conf.d").mkdir()
    (config / "functions/greet.fish").write_text("function greet; echo greeted; end\n")
    (config / "conf.d/mine.fish").write_text(
        "set -g early (set -q XDG_CONFIG_HOME; echo $status)\n"
    )
    (config / "config.fish").write_text("set -g from_config yes\n")
    (config / "fish_variables").write_text("# VERSION: 3.0\nSETUVAR known:before\n")
    return place / "home"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", [(), ("-i",)])
@pytest.mark.sampled(3)
def test_fish_complains_of_nothing_and_knows_what_the_person_has(
    level: RequestedLevel, kind: tuple[str, ...], tmp_path: Path
) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    home = person(tmp_path)
    code = (
        "set -U fresh 1; greet; echo $from_config $known $fresh $early;"
        " env | grep -e XDG_ -e _DUETTY"
    )

    with settled_sockets():
        done = run_inside(
            level,
            confined(["/usr/bin/fish", *kind, "-c", code]),
            workspace=workspace,
            home=home,
            env={"TERM": "xterm-256color"},
        )

    assert done.stderr == ""
    assert done.stdout.splitlines() == ["greeted", "yes before 1 1"]
    assert "fresh" not in (home / ".config/fish/fish_variables").read_text()


@pytest.mark.parametrize("level", LEVELS)
def test_variables_for_the_persons_directories_are_as_they_were(
    level: RequestedLevel, tmp_path: Path
) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    home = person(tmp_path)
    moved = {"XDG_CONFIG_HOME": f"{home}/.config", "XDG_DATA_HOME": f"{home}/data"}

    with settled_sockets():
        done = run_inside(
            level,
            confined(["/usr/bin/fish", "-c", "set -U a 1; env | grep -e XDG_ -e _DUETTY | sort"]),
            workspace=workspace,
            home=home,
            env=moved,
        )

    assert (done.stderr, done.stdout.splitlines()) == ("", [f"{k}={v}" for k, v in moved.items()])


def test_a_fish_that_can_write_its_directories_is_left_alone(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    workspace.mkdir()

    with settled_sockets():
        done = run_inside(
            "landlock",
            confined(["/usr/bin/fish", "-c", "set -U kept 1; echo $__fish_config_dir"]),
            workspace=workspace,
        )

    assert (done.stdout, done.stderr) == (f"{workspace}/.config/fish\n", "")
    assert "kept:1" in (workspace / ".config/fish/fish_variables").read_text()


@pytest.mark.anyio
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("bound", [{}, {"max_file_mib": 1}])
async def test_a_command_in_fish_has_nothing_but_its_own_output(
    home: Path, level: RequestedLevel, bound: dict[str, int]
) -> None:
    person(home)
    (home / "home").rename(home / "elsewhere")
    (home / "elsewhere/.config").rename(home / ".config")
    (home / "ws").mkdir()
    settings = Settings(
        policy_profile="open", session_sandbox=level, sandbox_workspaces=(str(home / "ws"),)
    )
    with settled_sockets():
        async with running_engine(home, settings=settings) as engine:
            ran = await engine.call(
                "process.run",
                command="set -U fresh 1; echo $fresh",
                shell="fish",
                cwd=str(home / "ws"),
                **bound,
            )

    assert (ran.stdout, ran.stderr) == ("1\n", "")


def test_other_shells_are_started_as_ever() -> None:
    for argv in (["/bin/bash", "-i"], ["zsh"], ["fish", "--no-config"], []):
        assert confined(argv) == argv


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.parametrize("level", LEVELS)
async def test_a_session_of_fish_complains_of_nothing(home: Path, level: RequestedLevel) -> None:
    (home / "ws").mkdir()
    settings = Settings(
        session_grace_ms=300,
        policy_profile="open",
        session_sandbox=level,
        sandbox_workspaces=(str(home / "ws"),),
    )
    with settled_sockets():
        async with running_engine(home, settings=settings) as engine:
            await engine.open(command="fish", cwd=str(home / "ws"))

            ran = await engine.run("set -U fresh 1; echo $fresh")
            lines = (await engine.call("screen.get", session="s", format="plain"))["lines"]

    assert ran.output == "1"
    assert "error" not in "\n".join(map(str, lines))
