"""Does somebody read the terminal? Real programs, real /proc."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from duetty.keeper.client import KeeperClient, Opened, parse_probe
from duetty.platform.terminal_probe import Probe, probe
from tests.keeper.harness import RunningKeeper, eventually, halt, read_until, wait_state

pytestmark = pytest.mark.pty


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def probe_of(client: KeeperClient, holds: Callable[[Probe], bool]) -> Probe:
    return eventually(lambda: parse_probe(client.call("probe", {"session": "s"})), holds)


@pytest.mark.parametrize(
    ("argv", "via"),
    [
        (["cat"], "read"),
        (["bash", "-c", "read x"], "read"),
        (["bash", "-c", "read -s x"], "read"),
        (["dash", "-c", "read x"], "read"),
        (["sh", "-c", "cat; true"], "read"),
        (["bash", "-c", "cat </dev/tty | sleep 100"], "read"),
        (python("input()"), "read"),
        (python("import getpass; getpass.getpass()"), "read"),
        (python("import select; select.select([0], [], [])"), "select"),
        (python("import select as s; p = s.poll(); p.register(0, s.POLLIN); p.poll()"), "poll"),
        (python("import select as s; p = s.epoll(); p.register(0, s.EPOLLIN); p.poll()"), "epoll"),
        (
            python("import threading; t = threading.Thread(target=input); t.start(); t.join()"),
            "read",
        ),
    ],
    ids=[
        *("cat", "read", "read -s", "dash read", "child of a shell", "/dev/tty in a pipeline"),
        *("input", "getpass", "select", "poll", "epoll", "thread"),
    ],
)
def test_a_program_that_waits_for_its_terminal_is_a_reader(
    keeper: RunningKeeper, argv: list[str], via: str
) -> None:
    client = keeper.connect()
    opened = keeper.open(client, argv)

    found = probe_of(client, lambda found: found.reader is not None)

    assert found.reader is not None
    assert found.reader.via == via
    assert os.getpgid(found.reader.pid) == found.foreground == opened.session.pid
    assert found.known


@pytest.mark.parametrize(
    ("argv", "commands"),
    [
        (["sleep", "100"], {"sleep"}),
        (["bash", "-c", "sleep 100; true"], {"bash", "sleep"}),
        (["bash", "-c", "sleep 100 | cat"], {"bash", "sleep", "cat"}),
        (["bash", "-c", "while :; do :; done"], {"bash"}),
    ],
    ids=["sleep", "child of a shell", "pipe", "busy"],
)
def test_a_program_that_does_something_else_is_not_a_reader(
    keeper: RunningKeeper, argv: list[str], commands: set[str]
) -> None:
    client = keeper.connect()
    keeper.open(client, argv)

    found = probe_of(client, lambda found: set(found.commands) == commands)

    assert (found.reader, found.known, found.processes) == (None, True, len(commands))


@pytest.mark.parametrize(
    "wait",
    [
        "import select as s; p = s.poll(); p.register(0, s.POLLPRI); print('set'); p.poll()",
        "import select as s; p = s.epoll(); p.register(0, s.EPOLLPRI); print('set'); p.poll()",
        "import select; print('set'); select.select([], [], [0])",
        "import threading; print('set'); threading.Event().wait()",
        "import os; end, _ = os.pipe(); print('set'); os.read(end, 1)",
    ],
    ids=["poll", "epoll", "select", "futex", "pipe"],
)
def test_a_program_that_waits_for_something_else_is_not_a_reader(
    keeper: RunningKeeper, wait: str
) -> None:
    client = keeper.connect()
    opened = keeper.open(client, python(wait))
    read_until(opened.master, b"set")
    wait_state(opened.session.pid, "S")

    found = parse_probe(client.call("probe", {"session": "s"}))

    assert (found.reader, found.known) == (None, True)


def test_a_dead_process_that_nobody_reaped_does_not_count(keeper: RunningKeeper) -> None:
    client = keeper.connect()
    die = "os.fork() or os._exit(0); os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)"
    keeper.open(client, python(f"import os; {die}; input()"))

    found = probe_of(client, lambda found: found.reader is not None)

    assert found.processes == 1


def test_an_interactive_shell_reads_at_its_prompt_and_its_job_takes_the_foreground(
    keeper: RunningKeeper,
) -> None:
    client = keeper.connect()
    shell = ["bash", "--norc", "--noprofile", "-i"]
    opened = keeper.open(client, shell, env={"PATH": "/usr/bin:/bin", "PS1": "ready> "})
    read_until(opened.master, b"ready> ")

    at_prompt = probe_of(client, lambda found: found.reader is not None)
    os.write(opened.master, b"sleep 100\n")
    running = probe_of(client, lambda found: found.commands == ("sleep",))
    os.write(opened.master, b"\x1a")
    back = probe_of(client, lambda found: found.foreground == opened.session.pid)

    assert at_prompt.foreground == opened.session.pid
    assert at_prompt.commands == ("bash",)
    assert (running.reader, running.known, running.processes) == (None, True, 1)
    assert back.commands == ("bash",)


def test_a_wait_that_was_stopped_and_continued_is_still_seen(keeper: RunningKeeper) -> None:
    # The kernel shows it as restart_syscall then.
    code = "import select as s; p = s.poll(); p.register(0, s.POLLIN); p.poll(100_000)"
    client = keeper.connect()
    opened = keeper.open(client, python(code))
    probe_of(client, lambda found: found.reader is not None)

    stop_and_continue(opened)

    found = probe_of(client, lambda found: found.reader is not None)
    assert found.reader is not None
    assert found.reader.via == "poll"


def test_a_sleep_that_was_stopped_and_continued_is_still_a_sleep(keeper: RunningKeeper) -> None:
    client = keeper.connect()
    opened = keeper.open(client, ["sleep", "100"])
    probe_of(client, lambda found: found.commands == ("sleep",))

    stop_and_continue(opened)

    found = probe_of(client, lambda found: found.known)
    assert found.reader is None


def stop_and_continue(opened: Opened) -> None:
    halt(opened.session.pid)
    os.kill(opened.session.pid, signal.SIGCONT)
    wait_state(opened.session.pid, "S")


def test_a_session_that_has_ended_has_no_foreground_and_nothing_known(
    keeper: RunningKeeper,
) -> None:
    client = keeper.connect()
    keeper.open(client, ["true"])

    found = probe_of(client, lambda found: found.foreground is None)

    assert found == Probe(None, None, known=False, processes=0, commands=())


def test_a_group_nobody_is_in_is_unknown(tmp_path: Path) -> None:
    found = probe(os.getpid(), "/dev/pts/0", 2**22 + 1)

    assert found == Probe(2**22 + 1, None, known=False, processes=0, commands=())


@pytest.fixture
def reading(keeper: RunningKeeper) -> Opened:
    client = keeper.connect()
    opened = keeper.open(client, ["cat"])
    probe_of(client, lambda found: found.reader is not None)
    return opened


def test_another_architecture_is_unknown(reading: Opened) -> None:
    pid, tty = reading.session.pid, reading.session.tty

    found = probe(pid, tty, pid, machine="riscv64")

    assert found == Probe(pid, None, known=False, processes=1, commands=("cat",))


def test_another_terminal_is_not_ours(reading: Opened) -> None:
    pid = reading.session.pid

    found = probe(pid, "/dev/pts/99999", pid)

    assert found == Probe(pid, None, known=True, processes=1, commands=("cat",))


def proc_of(pid: int, directory: Path) -> Path:
    """A /proc in which this process looks as it does in the real one, so far."""
    task = directory / str(pid) / "task" / str(pid)
    task.mkdir(parents=True)
    for name in ("comm", "fd", "fdinfo", "mem"):
        (directory / str(pid) / name).symlink_to(f"/proc/{pid}/{name}")
    return task


def test_a_process_we_may_not_look_at_is_unknown(reading: Opened, tmp_path: Path) -> None:
    pid, tty = reading.session.pid, reading.session.tty
    task = proc_of(pid, tmp_path / "proc")
    (task / "syscall").mkdir()  # cannot be read, as another user's

    found = probe(pid, tty, pid, proc=str(tmp_path / "proc"))

    assert found == Probe(pid, None, known=False, processes=1, commands=("cat",))


def test_a_kernel_that_does_not_show_system_calls_is_unknown(
    reading: Opened, tmp_path: Path
) -> None:
    pid, tty = reading.session.pid, reading.session.tty
    proc_of(pid, tmp_path / "proc")

    found = probe(pid, tty, pid, proc=str(tmp_path / "proc"))

    assert not found.known


@pytest.mark.parametrize(
    "call",
    [
        "0 0xffffffffffffffff 0x0 0x0 0x0 0x0 0x0 0x0 0x0",
        "7 0xffffffffffffffff 0xffffffffffffffff 0x0 0x0 0x0 0x0 0x0 0x0",
        "7 0x1 0x1 0x0 0x0 0x0 0x0 0x0 0x0",
        "23 0xffffffffffffffff 0x1 0x0 0x0 0x0 0x0 0x0 0x0",
        "23 0x400 0xffffffffffffffff 0x0 0x0 0x0 0x0 0x0 0x0",
        "232 0xffffffffffffffff 0x0 0x0 0x0 0x0 0x0 0x0 0x0",
        "232 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0",
        "-1 0x0 0x0",
        "running",
        "",
    ],
)
def test_nothing_a_program_passes_to_the_kernel_raises(
    reading: Opened, tmp_path: Path, call: str
) -> None:
    pid, tty = reading.session.pid, reading.session.tty
    task = proc_of(pid, tmp_path / "proc")
    (task / "syscall").write_text(call + "\n")

    found = probe(pid, tty, pid, proc=str(tmp_path / "proc"), machine="x86_64")

    assert found.reader is None


def test_the_system_calls_of_another_architecture_are_read_by_its_own_numbers(
    reading: Opened, tmp_path: Path
) -> None:
    pid, tty = reading.session.pid, reading.session.tty
    task = proc_of(pid, tmp_path / "proc")
    (task / "syscall").write_text("63 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n")

    found = probe(pid, tty, pid, proc=str(tmp_path / "proc"), machine="aarch64")

    assert found.reader is not None
    assert found.reader == (pid, "read", 0)


def waits(beside: str) -> list[str]:
    """A program that waits for its terminal and for `other`."""
    wait = (
        "p = s.poll(); p.register(0, s.POLLIN); p.register(other, s.POLLIN); print('set'); p.poll()"
    )
    return python(f"import os, select as s, socket; {beside}; {wait}")


@pytest.mark.parametrize(
    "beside",
    [
        "other, end = socket.socketpair()",
        "other, end = os.pipe()",
        "other = os.eventfd(0)",
    ],
    ids=["pair", "pipe", "eventfd"],
)
def test_a_program_that_can_wake_itself_is_a_reader_all_the_same(
    keeper: RunningKeeper, beside: str
) -> None:
    client = keeper.connect()
    keeper.open(client, waits(beside))

    found = probe_of(client, lambda found: found.reader is not None)

    assert found.reader is not None
    assert found.known


@pytest.mark.parametrize(
    "beside",
    [
        "at = socket.create_server(('127.0.0.1', 0)); other = socket.create_connection(at.getsockname())",
        "other, end = socket.socketpair(); os.fork() or (other.close(), os.setpgid(0, 0), end.recv(1)); end.close()",
    ],
    ids=["connection", "pair with another process"],
)
def test_a_program_that_relays_a_connection_is_not_called_a_reader(
    keeper: RunningKeeper, beside: str
) -> None:
    client = keeper.connect()
    opened = keeper.open(client, waits(beside))
    read_until(opened.master, b"set")
    wait_state(opened.session.pid, "S")

    found = parse_probe(client.call("probe", {"session": "s"}))

    assert found.reader is None
