"""What a child finds when it starts, and what is told when it cannot."""

import errno
import os
import resource
import signal
import sys
from pathlib import Path

import pytest

from duetty.errors import (
    BadArguments,
    BadCommand,
    BadWorkingDirectory,
    CommandTooLong,
    DuettyError,
    ForkFailed,
    SessionNameConflict,
)
from duetty.keeper import spawn
from duetty.keeper.client import KeeperClient, parse_opened, parse_sessions, start_keeper
from duetty.keeper.wire import Message
from tests.keeper.harness import (
    RunningKeeper,
    children_of,
    eventually,
    order_of,
    read_all,
    read_until,
    text_of,
    wait_gone,
)

pytestmark = pytest.mark.pty

OF_NOHUP = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
OF_THE_C_LIBRARY = 1 << 31 | 1 << 32
"""Signals 32 and 33: it lets no program touch them, and some parents leave them ignored."""


def descriptors(pid: int) -> list[str]:
    return sorted(os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd"))


def test_a_child_gets_exactly_the_given_environment(keeper: RunningKeeper) -> None:
    env = {"PATH": "/usr/bin:/bin", "EMPTY": "", "GREETING": "grüß\udcff dich", "A": "b=c"}

    opened = keeper.open(keeper.connect(), ["env"], env=env)

    shown = read_all(opened.master).decode("utf-8", "surrogateescape").split("\r\n")
    assert dict(line.split("=", 1) for line in shown if line) == env


def test_an_empty_environment_stays_empty(keeper: RunningKeeper) -> None:
    opened = keeper.open(keeper.connect(), ["env"], env={})

    assert text_of(opened.master) == ""


def test_a_large_environment_and_command_arrive_whole(keeper: RunningKeeper) -> None:
    env = {"PATH": "/usr/bin:/bin"} | {f"V{number}": "v" * 100_000 for number in range(6)}
    argv = ["sh", "-c", "cat /proc/$$/environ /proc/$$/cmdline | wc -c", "a" * 100_000]
    sent = "\0".join([*(f"{name}={value}" for name, value in env.items()), *argv, ""])

    opened = keeper.open(keeper.connect(), argv, env=env)

    assert int(text_of(opened.master)) == len(sent)


def test_a_child_has_its_terminal_and_the_handed_descriptor_and_no_other(
    keeper: RunningKeeper,
) -> None:
    client = keeper.connect()
    keeper.open(client, ["sleep", "100"], session="other")

    opened = keeper.open(client, ["ls", "/proc/self/fd"], handed={9: "secret"})

    # 3 is the directory that ls reads.
    assert text_of(opened.master).split() == ["0", "1", "2", "3", "9"]


def test_a_handed_text_is_read_from_its_descriptor_to_the_end(keeper: RunningKeeper) -> None:
    handed = {3: "three", 9: "x" * 4096, 4: "four"}

    opened = keeper.open(keeper.connect(), ["sh", "-c", "cat <&3; cat <&4; cat <&9"], handed=handed)

    assert text_of(opened.master) == "threefour" + "x" * 4096


def test_a_long_handed_text_is_read_from_its_descriptor_to_the_end(keeper: RunningKeeper) -> None:
    """Longer than a pipe holds: whoever wrote it into one would wait for ever."""
    handed = {9: "x" * 1_000_000}

    opened = keeper.open(keeper.connect(), ["sh", "-c", "wc -c <&9"], handed=handed)

    assert text_of(opened.master).strip() == "1000000"


def test_a_child_leads_a_session_in_the_foreground_of_its_own_terminal(
    keeper: RunningKeeper,
) -> None:
    look = (
        "import os;"
        "print(os.getsid(0) == os.getpgrp() == os.tcgetpgrp(0) == os.getpid(),"
        " os.ttyname(os.open('/dev/tty', os.O_RDWR)), os.ttyname(0), os.getcwd(),"
        " *os.get_terminal_size())"
    )

    opened = keeper.open(keeper.connect(), [sys.executable, "-c", look], cwd="/usr")

    tty = opened.session.tty
    assert text_of(opened.master).split() == ["True", "/dev/tty", tty, "/usr", "80", "24"]


def test_a_keeper_raises_its_own_limit_of_descriptors_and_not_its_childrens(
    tmp_path: Path,
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    with RunningKeeper(tmp_path) as keeper:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

        opened = keeper.open(keeper.connect(), ["sh", "-c", "ulimit -Sn; ulimit -Hn"])

        assert text_of(opened.master).split() == ["512", str(hard)]
        assert resource.prlimit(keeper.pid, resource.RLIMIT_NOFILE) == (hard, hard)


def test_a_child_has_default_signals_and_the_mask_and_score_of_the_keepers_starter(
    tmp_path: Path,
) -> None:
    command = "grep -E 'SigBlk|SigIgn' /proc/self/status; umask; "
    command += "cat /proc/self/oom_score_adj"
    before = {number: signal.signal(number, signal.SIG_IGN) for number in OF_NOHUP}
    try:
        with RunningKeeper(tmp_path) as keeper:
            opened = keeper.open(keeper.connect(), ["sh", "-c", command])
            _, blocked, _, ignored, umask, score = text_of(opened.master).split()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

    assert int(blocked, 16) == 0
    assert int(ignored, 16) & ~OF_THE_C_LIBRARY == 0
    own = os.umask(0o22)
    os.umask(own)
    assert umask == f"{own:04o}"
    assert score == Path("/proc/self/oom_score_adj").read_text().strip()


def test_the_command_is_looked_up_in_the_given_path_and_directory(
    keeper: RunningKeeper, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    program = tmp_path / "here" / "greet"
    program.write_text("#!/bin/sh\necho from here\n")
    program.chmod(0o755)
    client = keeper.connect()

    by_path = keeper.open(client, ["greet"], session="a", env={"PATH": f"/nowhere:{tmp_path}/here"})
    by_relative_path = keeper.open(
        client, ["greet"], session="b", cwd=str(tmp_path), env={"PATH": "here"}
    )
    by_directory = keeper.open(client, ["./greet"], session="c", cwd=str(tmp_path / "here"))

    outputs = [text_of(opened.master) for opened in (by_path, by_relative_path, by_directory)]
    assert outputs == ["from here\n"] * 3


def test_utf8_is_erased_by_character_in_a_cooked_line(keeper: RunningKeeper) -> None:
    opened = keeper.open(keeper.connect(), ["sh", "-c", 'read x; echo "<$x>"'])

    os.write(opened.master, "aé\x7fb\n".encode())

    read_until(opened.master, b"<ab>")


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"cwd": "/does/not/exist"}, BadWorkingDirectory),
        ({"cwd": "/etc/passwd"}, BadWorkingDirectory),
        ({"cwd": "relative"}, BadWorkingDirectory),
        ({"argv": ["/does/not/exist"]}, BadCommand),
        ({"argv": ["no-such-command"]}, BadCommand),
        ({"argv": ["/etc/passwd"]}, BadCommand),
        ({"argv": ["/etc"]}, BadCommand),
        ({"argv": [""]}, BadCommand),
        ({"argv": ["true", "x" * 200_000]}, CommandTooLong),
        ({"argv": []}, BadArguments),
        ({"argv": "true"}, BadArguments),
        ({"argv": ["true", "nul\0"]}, BadArguments),
        ({"argv": ["true", "\ud800"]}, BadArguments),
        ({"env": {"A=B": "c"}}, BadArguments),
        ({"env": {"A": 1}}, BadArguments),
        ({"env": None}, BadArguments),
        ({"cols": 0}, BadArguments),
        ({"rows": 65536}, BadArguments),
        ({"handed": {"2": "text"}}, BadArguments),
        ({"handed": {"nine": "text"}}, BadArguments),
        ({"handed": {"9": "x" * (1024 * 1024 + 1)}}, BadArguments),
        ({"session": ""}, BadArguments),
    ],
)
@pytest.mark.sampled(3)
def test_what_cannot_be_opened_is_told_and_leaves_nothing_behind(
    keeper: RunningKeeper, wrong: Message, error: type[DuettyError]
) -> None:
    client = keeper.connect()
    before = descriptors(keeper.pid)

    with pytest.raises(error) as caught:
        client.call("open", {**order_of(["true"]).fields(), **wrong})

    assert caught.type is error
    assert parse_sessions(client.call("list")) == ()
    assert eventually(lambda: children_of(keeper.pid), lambda pids: pids == []) == []
    assert descriptors(keeper.pid) == before


def test_a_file_without_permission_to_run_is_a_bad_command(
    keeper: RunningKeeper, tmp_path: Path
) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n")

    with pytest.raises(BadCommand, match="Permission denied"):
        keeper.open(keeper.connect(), ["script"], env={"PATH": str(tmp_path)})


def test_a_session_name_is_given_once(keeper: RunningKeeper) -> None:
    client = keeper.connect()
    keeper.open(client, ["sleep", "100"])

    with pytest.raises(SessionNameConflict):
        keeper.open(client, ["sleep", "100"])


def test_a_keeper_out_of_descriptors_says_so_and_goes_on(keeper: RunningKeeper) -> None:
    client = keeper.connect()
    keeper.open(client, ["cat"], session="first")
    before = descriptors(keeper.pid)
    limits = resource.prlimit(keeper.pid, resource.RLIMIT_NOFILE)
    numbers = [int(name) for name in os.listdir(f"/proc/{keeper.pid}/fd")]

    refusals: list[str] = []
    for spare in range(1, 6):  # each point at which descriptors can run out
        resource.prlimit(keeper.pid, resource.RLIMIT_NOFILE, (max(numbers) + spare, limits[1]))
        with pytest.raises(ForkFailed) as caught:
            keeper.open(client, ["true"], handed={9: "text"})
        refusals.append(caught.value.message)
    resource.prlimit(keeper.pid, resource.RLIMIT_NOFILE, limits)

    assert set(refusals) == {"cannot start a process: Too many open files"}
    assert descriptors(keeper.pid) == before
    assert text_of(keeper.open(client, ["echo", "again"]).master) == "again\n"


def test_a_machine_out_of_processes_says_so_and_leaks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    order = spawn.parse_order(order_of(["true"], handed={9: "text"}).fields())
    before = sorted(os.listdir("/proc/self/fd"))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    monkeypatch.setattr(os, "fork", refuse)

    with pytest.raises(ForkFailed) as caught:
        spawn.start(order, spawn.Surroundings(nofile=(1024, 1024), oom_score_adj=None))

    assert (caught.value.code, caught.value.message) == (
        "fork_failed",
        "cannot start a process: Resource temporarily unavailable",
    )
    assert "limit of processes" in (caught.value.hint or "")
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask


@pytest.mark.root
def test_a_machine_out_of_ptys_says_so(tmp_path: Path) -> None:
    # A devpts of its own, in a mount namespace of its own, with room for one.
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\n"
        "exec unshare --mount sh -c 'mount -t devpts -o newinstance,ptmxmode=0666,max=1 new /dev/pts"
        " && mount --bind /dev/pts/ptmx /dev/ptmx"
        f' && exec {sys.executable} "$@"\' sh "$@"\n'
    )
    python.chmod(0o755)
    pid = start_keeper(tmp_path / "s", tmp_path / "log", str(python))
    client = KeeperClient.connect(tmp_path / "s")

    first = parse_opened(client.call("open", order_of(["sleep", "100"], session="a").fields()))
    with pytest.raises(ForkFailed, match="No space left"):
        client.call("open", order_of(["sleep", "100"], session="b").fields())

    client.call("stop", {"grace_s": 0})
    client.close()
    os.close(first.master)
    wait_gone(pid)
