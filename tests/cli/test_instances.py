"""Several servers of one user."""

from pathlib import Path

import pytest

from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]


def test_two_instances_run_side_by_side_with_sessions_of_their_own(home: Path) -> None:
    caller = ServerProcess(home)
    try:
        for instance in ("one", "two"):
            opened = caller.command("new", "-L", instance, "-d", "--name", f"in-{instance}", "cat")
            assert opened.stdout == f"in-{instance}\n", opened.stderr

        assert caller.command("list", "-L", "one", "--names").stdout == "in-one\n"
        assert caller.command("list", "-L", "two", "--names").stdout == "in-two\n"
        assert caller.command("list").returncode == 3
    finally:
        for instance in ("one", "two"):
            caller.command("stop", "-L", instance)


def test_the_environment_names_an_instance_too(home: Path) -> None:
    caller = ServerProcess(home, DUETTY_INSTANCE="other")
    try:
        caller.command("new", "-d", "--name", "there", "cat")

        assert caller.command("list", "-L", "other", "--names").stdout == "there\n"
    finally:
        caller.command("stop")


def test_a_server_that_was_told_to_stay_stays(home: Path) -> None:
    caller = ServerProcess(home)
    try:
        caller.command("new", "-d", "--name", "last", "cat")
        caller.command("persist", "on")
        caller.command("kill", "last")

        assert caller.command("list").returncode == 0
        assert "stays" in caller.command("persist").stdout
    finally:
        caller.command("stop")


def test_an_instance_whose_name_is_a_path_is_refused(home: Path) -> None:
    said = ServerProcess(home).command("list", "-L", "../elsewhere")

    assert (said.returncode, "[bad_setting]" in said.stderr) == (1, True)
