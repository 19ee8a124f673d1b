"""Who may be the keeper of a path, and who may reach it."""

import os
import socket
import stat
from pathlib import Path

import pytest

from duetty.errors import InstanceBusy, KeeperUnavailable
from duetty.keeper.claim import claim
from duetty.platform.peers import credentials_of
from tests.keeper.harness import RunningKeeper, kill


def test_the_socket_is_private_from_the_start(tmp_path: Path) -> None:
    umask = os.umask(0)

    lock, listener = claim(str(tmp_path / "run" / "s"))

    os.umask(umask)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "run", tmp_path / "run/s")]
    assert modes == [0o700, 0o600]
    listener.close()
    os.close(lock)


def test_a_path_has_one_keeper(tmp_path: Path) -> None:
    lock, listener = claim(str(tmp_path / "s"))

    with pytest.raises(InstanceBusy):
        claim(str(tmp_path / "s"))

    listener.close()
    os.close(lock)


def test_a_socket_that_nobody_answers_is_replaced(keeper: RunningKeeper) -> None:
    kill(keeper.pid)
    left_behind = keeper.socket.exists()

    keeper.start_again()

    assert left_behind
    assert keeper.connect().keeper_pid == keeper.pid


def test_a_socket_that_somebody_else_answers_is_left_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(path)
        other.listen()

        with pytest.raises(InstanceBusy):
            claim(path)
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(path)

            assert credentials_of(asking) == (os.getpid(), os.getuid())


def test_a_file_in_the_place_of_the_socket_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("precious")

    with pytest.raises(KeeperUnavailable):
        claim(str(tmp_path / "s"))

    assert (tmp_path / "s").read_text() == "precious"


def test_a_directory_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    with pytest.raises(KeeperUnavailable):
        claim(str(tmp_path / "s"))


def test_a_path_that_is_too_long_for_a_socket_is_told(tmp_path: Path) -> None:
    with pytest.raises(KeeperUnavailable):
        claim(str(tmp_path / ("s" * 120)))
