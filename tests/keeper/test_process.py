"""The keeper as a process: what it keeps, hands over, remembers and survives."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

import pytest

from duetty.errors import (
    BadArguments,
    Conflict,
    DuettyError,
    InstanceBusy,
    SessionExited,
    SessionNotFound,
)
from duetty.keeper.client import Exited, KeptSession, Reply, parse_opened, parse_sessions
from duetty.keeper.process import Options, main, parse_options
from duetty.keeper.wire import MAX_FRAME_BYTES, Channel, Message
from duetty.platform.terminal_probe import session_members
from tests.keeper.harness import (
    HOPPING,
    RunningKeeper,
    children_of,
    eventually,
    halt,
    kill,
    order_of,
    read_until,
    text_of,
    wait_exited,
    wait_gone,
)

pytestmark = pytest.mark.pty


def test_what_is_written_to_the_master_reaches_the_child(keeper: RunningKeeper) -> None:
    opened = keeper.open(keeper.connect(), ["cat"])

    os.write(opened.master, b"hello\n")

    assert read_until(opened.master, b"hello\r\nhello\r\n") == b"hello\r\nhello\r\n"


def test_a_master_is_handed_over_without_blocking(keeper: RunningKeeper) -> None:
    opened = keeper.open(keeper.connect(), ["sleep", "100"])

    assert not os.get_blocking(opened.master)


@pytest.mark.parametrize(
    ("command", "exit_code", "number"),
    [("exit 0", 0, None), ("exit 7", 7, None), ("kill -TERM $$", None, signal.SIGTERM)],
)
def test_the_end_of_a_child_is_told_and_remembered_until_forgotten(
    keeper: RunningKeeper, command: str, exit_code: int | None, number: int | None
) -> None:
    client = keeper.connect()
    exits: list[Exited] = []
    client.listen(exited=exits.append)

    opened = keeper.open(client, ["sh", "-c", command])
    kept = wait_exited(client)
    client.call("forget", {"session": "s"})

    assert exits == [Exited(session="s", exit_code=exit_code, signal=number)]
    assert kept == KeptSession(
        session="s",
        pid=opened.session.pid,
        tty=opened.session.tty,
        exited=True,
        exit_code=exit_code,
        signal=number,
    )
    assert parse_sessions(client.call("list")) == ()


def test_the_answer_to_open_comes_before_the_end_of_a_short_child(keeper: RunningKeeper) -> None:
    client = keeper.connect()
    order: list[str] = []
    client.listen(exited=lambda exited: order.append(f"{exited.session} ended"))

    def on_reply(outcome: Reply | DuettyError) -> None:
        assert isinstance(outcome, Reply)
        opened = keeper.hold(parse_opened(outcome))
        order.append(f"{opened.session.session} opened")

    for number in range(20):
        client.request("open", order_of(["true"], session=f"{number}").fields(), on_reply=on_reply)
    eventually(lambda: client.wait(0.1), lambda _: len(order) == 40)

    assert all(
        order.index(f"{number} opened") < order.index(f"{number} ended") for number in range(20)
    )


def test_a_session_outlives_its_server_and_is_adopted_with_the_same_process(
    keeper: RunningKeeper,
) -> None:
    script = (
        "import sys, time\n"
        "from duetty.keeper.client import KeeperClient, parse_opened\n"
        "from tests.keeper.harness import order_of\n"
        "client = KeeperClient.connect(sys.argv[1])\n"
        "opened = parse_opened(client.call('open', order_of(['cat']).fields()))\n"
        "print(opened.session.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", script, str(keeper.socket)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert server.stdin is not None
    assert server.stdout is not None
    pid = int(server.stdout.readline())

    server.kill()
    server.wait(60)
    server.stdin.close()
    server.stdout.close()
    client = keeper.connect()
    opened = keeper.adopt(client)
    os.write(opened.master, b"still here\n")

    assert [kept.pid for kept in client.sessions] == [pid]
    assert opened.session.pid == pid
    read_until(opened.master, b"still here\r\nstill here\r\n")


def test_bytes_printed_while_no_server_is_there_are_all_there_afterwards(
    keeper: RunningKeeper, tmp_path: Path
) -> None:
    client = keeper.connect()
    script = "while [ ! -e go ]; do sleep 0.01; done; touch gone; seq 1 20000"
    keeper.open(client, ["sh", "-c", script], cwd=str(tmp_path))
    client.close()
    keeper.drop_masters()

    (tmp_path / "go").touch()
    eventually((tmp_path / "gone").exists)
    opened = keeper.adopt(keeper.connect())

    assert text_of(opened.master) == "".join(f"{number}\n" for number in range(1, 20001))


def test_what_ended_while_no_server_is_there_is_in_the_next_hello_with_its_last_words(
    keeper: RunningKeeper, tmp_path: Path
) -> None:
    client = keeper.connect()
    script = "while [ ! -e go ]; do sleep 0.01; done; echo last words; exit 3"
    opened = keeper.open(client, ["sh", "-c", script], cwd=str(tmp_path))
    client.close()
    keeper.drop_masters()

    (tmp_path / "go").touch()
    eventually(lambda: children_of(keeper.pid), lambda pids: pids == [])
    client = keeper.connect()

    assert client.sessions == (
        KeptSession(
            session="s",
            pid=opened.session.pid,
            tty=opened.session.tty,
            exited=True,
            exit_code=3,
            signal=None,
        ),
    )
    assert text_of(keeper.adopt(client).master) == "last words\n"


def test_a_second_server_is_refused_and_told_who_the_first_is(keeper: RunningKeeper) -> None:
    first = keeper.connect()

    with pytest.raises(InstanceBusy) as caught:
        keeper.connect()

    assert caught.value.details == {"pid": os.getpid()}
    assert parse_sessions(first.call("list")) == ()


def test_a_server_that_left_makes_room_at_once(keeper: RunningKeeper) -> None:
    for _ in range(50):
        keeper.connect().close()

    assert keeper.connect().keeper_pid == keeper.pid


def test_a_server_that_leaves_as_the_next_one_arrives_is_not_in_its_way(
    keeper: RunningKeeper,
) -> None:
    first = keeper.connect()
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(5)
        raw.connect(str(keeper.socket))
        second = Channel(raw)
        first.call("list")  # the keeper has accepted the second by now
        halt(keeper.pid)

        second.send({"id": 1, "op": "hello", "version": 1})
        first.close()
        os.kill(keeper.pid, signal.SIGCONT)
        (hello,) = eventually(second.receive)

    assert hello.message["ok"] is True


def test_200_short_children_are_reaped_with_their_own_codes(keeper: RunningKeeper) -> None:
    client = keeper.connect()
    exits: list[Exited] = []
    client.listen(exited=exits.append)
    masters: deque[int] = deque()

    def on_reply(outcome: Reply | DuettyError) -> None:
        assert isinstance(outcome, Reply)
        masters.extend(outcome.fds)

    for number in range(200):
        order = order_of(["sh", "-c", f"exit {number}"], session=f"{number}")
        client.request("open", order.fields(), on_reply=on_reply)
    eventually(lambda: client.wait(0.1), lambda _: len(exits) == 200)

    for master in masters:
        os.close(master)
    assert sorted(exits, key=lambda exited: int(exited.session)) == [
        Exited(session=f"{number}", exit_code=number, signal=None) for number in range(200)
    ]
    assert children_of(keeper.pid) == []


def test_signals_reach_the_process_the_foreground_or_everyone(keeper: RunningKeeper) -> None:
    client = keeper.connect()
    shell = ["bash", "--norc", "--noprofile", "-i"]
    opened = keeper.open(client, shell, env={"PATH": "/usr/bin:/bin", "PS1": "ready> "})
    read_until(opened.master, b"ready> ")

    os.write(opened.master, b"sleep 1001 & sleep 1002\n")
    jobs = eventually(lambda: children_of(opened.session.pid), lambda pids: len(pids) == 2)
    eventually(
        lambda: [Path(f"/proc/{pid}/comm").read_text() for pid in jobs],
        lambda names: set(names) == {"sleep\n"},
    )
    eventually(lambda: os.tcgetpgrp(opened.master), lambda group: group in jobs)
    client.call("signal", {"session": "s", "signal": signal.SIGINT, "whom": "foreground"})
    background = eventually(lambda: children_of(opened.session.pid), lambda pids: len(pids) == 1)
    client.call("signal", {"session": "s", "signal": signal.SIGKILL, "whom": "all"})

    assert set(background) < set(jobs)
    wait_gone(background[0])
    assert wait_exited(client).signal == signal.SIGKILL


def test_those_who_start_others_all_the_time_are_ended(keeper: RunningKeeper) -> None:
    client = keeper.connect()
    opened = keeper.open(client, [sys.executable, "-c", HOPPING])
    read_until(opened.master, b"hopping")
    session = frozenset({opened.session.pid})

    client.call("signal", {"session": "s", "signal": signal.SIGKILL, "whom": "all"})

    assert wait_exited(client).signal == signal.SIGKILL
    time.sleep(1)  # they go on for longer than any patience, or not at all
    assert session_members(session) == []


@pytest.mark.parametrize("whom", ["process", "group"])
def test_a_signal_reaches_the_child(keeper: RunningKeeper, whom: str) -> None:
    client = keeper.connect()
    keeper.open(client, ["sleep", "100"])

    client.call("signal", {"session": "s", "signal": signal.SIGUSR1, "whom": whom})

    assert wait_exited(client).signal == signal.SIGUSR1


def test_no_signal_is_sent_on_behalf_of_a_child_that_has_ended(keeper: RunningKeeper) -> None:
    client = keeper.connect()
    keeper.open(client, ["true"])
    wait_exited(client)

    for whom in ("process", "group", "foreground", "all"):
        with pytest.raises(SessionExited):
            client.call("signal", {"session": "s", "signal": 1, "whom": whom})


@pytest.mark.parametrize(
    ("op", "arguments", "error"),
    [
        ("adopt", {"session": "none"}, SessionNotFound),
        ("forget", {"session": "none"}, SessionNotFound),
        ("probe", {"session": "none"}, SessionNotFound),
        ("signal", {"session": "s", "signal": 65, "whom": "all"}, BadArguments),
        ("signal", {"session": "s", "signal": 1, "whom": "them"}, BadArguments),
        ("take", {"session": "t", "pid": 4711, "tty": "/dev/pts/0"}, BadArguments),
        ("stop", {"grace_s": -1}, BadArguments),
        ("dance", {}, BadArguments),
        ("", {}, BadArguments),
    ],
)
def test_a_bad_request_costs_an_error_and_nothing_else(
    keeper: RunningKeeper, op: str, arguments: Message, error: type[DuettyError]
) -> None:
    client = keeper.connect()
    keeper.open(client, ["sleep", "100"])

    with pytest.raises(error) as caught:
        client.call(op, arguments)

    assert caught.type is error
    assert [kept.exited for kept in parse_sessions(client.call("list"))] == [False]


@pytest.mark.parametrize(
    "garbage",
    [
        (MAX_FRAME_BYTES + 1).to_bytes(4, "big"),
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0\0\0\2[]",
        b"\0\0\0\2{}",
        b'\0\0\0\x0d{"op":"list"}',
    ],
    ids=["oversize", "http", "no object", "no operation", "no hello"],
)
def test_a_connection_that_talks_nonsense_is_closed_and_the_sessions_stay(
    keeper: RunningKeeper, garbage: bytes
) -> None:
    client = keeper.connect()
    opened = keeper.open(client, ["cat"])
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(5)
        raw.connect(str(keeper.socket))

        raw.sendall(garbage)
        while raw.recv(4096):
            pass

    os.write(opened.master, b"fine\n")
    read_until(opened.master, b"fine\r\nfine\r\n")
    assert [kept.session for kept in parse_sessions(client.call("list"))] == ["s"]


@pytest.mark.root
def test_another_user_is_not_served(keeper: RunningKeeper) -> None:
    # Reaches the socket with root's file access, and still is somebody else to the kernel.
    script = (
        "import ctypes, os, socket, sys\n"
        "os.seteuid(65534)\n"
        "ctypes.CDLL(None).setfsuid(0)\n"
        "other = socket.socket(socket.AF_UNIX)\n"
        "other.connect(sys.argv[1])\n"
        "other.settimeout(5)\n"
        "print(other.recv(100))\n"
    )

    told = subprocess.run(
        [sys.executable, "-c", script, str(keeper.socket)],
        capture_output=True,
        timeout=60,
        check=True,
    )

    assert told.stdout == b"b''\n"
    assert '"connection_refused"' in keeper.log.read_text()


def test_a_server_that_talks_nonsense_loses_its_connection_and_no_session(
    keeper: RunningKeeper,
) -> None:
    client = keeper.connect()
    keeper.open(client, ["cat"])

    os.write(client.fileno(), b"\xff\xff\xff\xff")
    eventually(lambda: client.wait(0.1), lambda _: client.fileno() < 0)

    assert [kept.session for kept in keeper.connect().sessions] == ["s"]


def test_a_new_keeper_takes_over_what_a_killed_one_kept(keeper: RunningKeeper) -> None:
    client = keeper.connect()
    opened = keeper.open(client, ["cat"])
    kill(keeper.pid)
    keeper.start_again()
    client = keeper.connect()
    exits: list[Exited] = []
    client.listen(exited=exits.append)
    arguments: Message = {
        "session": "s",
        "pid": opened.session.pid,
        "tty": opened.session.tty,
    }

    client.call("take", arguments, fds=[opened.master])
    keeper.drop_masters()
    adopted = keeper.adopt(client)
    os.write(adopted.master, b"taken\n")
    read_until(adopted.master, b"taken\r\ntaken\r\n")
    client.call("signal", {"session": "s", "signal": signal.SIGTERM, "whom": "process"})
    kept = wait_exited(client)

    assert adopted.session == opened.session
    assert exits == [Exited(session="s", exit_code=None, signal=None)]
    assert (kept.exit_code, kept.signal) == (None, None)


def test_a_taken_session_whose_process_has_ended_is_known_to_have_ended(
    keeper: RunningKeeper,
) -> None:
    client = keeper.connect()
    opened = keeper.open(client, ["cat"])
    kill(keeper.pid)
    kill(opened.session.pid)
    keeper.start_again()
    client = keeper.connect()

    reply = client.call(
        "take",
        {"session": "s", "pid": opened.session.pid, "tty": opened.session.tty},
        fds=[opened.master],
    )
    other = client.call(
        # A process that is there, but does not lead this terminal's session.
        "take",
        {"session": "t", "pid": os.getpid(), "tty": opened.session.tty},
        fds=[opened.master],
    )

    assert (reply.fields["exited"], reply.fields["exit_code"]) == (True, None)
    assert (other.fields["exited"], other.fields["exit_code"]) == (True, None)


def test_only_the_master_of_the_named_terminal_is_taken(keeper: RunningKeeper) -> None:
    client = keeper.connect()
    opened = keeper.open(client, ["cat"])

    for fd, tty in ((opened.master, "/dev/pts/99999"), (0, opened.session.tty)):
        with pytest.raises(BadArguments):
            client.call("take", {"session": "t", "pid": 4711, "tty": tty}, fds=[fd])


def test_stop_hangs_up_on_everyone_and_kills_who_ignores_it_after_the_grace(
    keeper: RunningKeeper,
) -> None:
    client = keeper.connect()
    stubborn = keeper.open(
        client, ["sh", "-c", "trap '' HUP TERM; echo set; exec sleep 100"], session="stubborn"
    )
    read_until(stubborn.master, b"set")
    stopped = keeper.open(client, ["sleep", "100"], session="stopped")
    halt(stopped.session.pid)
    exits: list[Exited] = []
    client.listen(exited=exits.append)

    reply = client.call("stop", {"grace_s": 0.2})

    wait_gone(keeper.pid)
    assert reply.fields["left"] == 0
    assert exits == [
        Exited(session="stopped", exit_code=None, signal=signal.SIGHUP),
        Exited(session="stubborn", exit_code=None, signal=signal.SIGKILL),
    ]
    assert not keeper.socket.exists()


def test_sigterm_stops_the_keeper_in_order(keeper: RunningKeeper) -> None:
    client = keeper.connect()
    opened = keeper.open(client, ["sleep", "100"])

    os.kill(keeper.pid, signal.SIGTERM)

    wait_gone(opened.session.pid)
    wait_gone(keeper.pid)
    assert not keeper.socket.exists()


def test_a_keeper_that_is_stopping_opens_nothing(keeper: RunningKeeper) -> None:
    client = keeper.connect()
    opened = keeper.open(client, ["sh", "-c", "trap '' HUP; echo set; sleep 100"])
    read_until(opened.master, b"set")
    answers: list[Reply | DuettyError] = []

    client.request("stop", {"grace_s": 100}, on_reply=answers.append)
    with pytest.raises(Conflict):
        keeper.open(client, ["true"], session="late")
    os.kill(keeper.pid, signal.SIGTERM)
    os.kill(keeper.pid, signal.SIGTERM)  # a second one does not wait for the grace
    client.request("stop", {"grace_s": 0}, on_reply=answers.append)
    eventually(lambda: client.wait(0.1), lambda _: len(answers) == 2)

    wait_gone(keeper.pid)
    assert [answer.fields["left"] for answer in answers if isinstance(answer, Reply)] == [0, 0]


def test_a_hangup_does_not_end_the_keeper(keeper: RunningKeeper) -> None:
    os.kill(keeper.pid, signal.SIGHUP)

    assert keeper.connect().keeper_pid == keeper.pid


def test_a_keeper_with_nothing_to_keep_and_no_server_ends_itself(tmp_path: Path) -> None:
    keeper = RunningKeeper(tmp_path, orphan_s=0.05)

    wait_gone(keeper.pid)

    assert not keeper.socket.exists()


def test_a_keeper_does_not_end_itself_before_a_status_is_collected(tmp_path: Path) -> None:
    with RunningKeeper(tmp_path, orphan_s=0.2) as keeper:
        client = keeper.connect()
        opened = keeper.open(client, ["sh", "-c", "sleep 0.4; exit 7"])
        client.close()
        pidfd = os.pidfd_open(keeper.pid)

        wait_gone(opened.session.pid)
        ended, _, _ = select.select([pidfd], [], [], 0.4)

        os.close(pidfd)
        assert ended == []
        assert wait_exited(keeper.connect()).exit_code == 7


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["--socket", "s"],
        ["--socket", "s", "--log"],
        ["--socket", "s", "--log", "l", "--what", "w"],
        ["--socket", "s", "--log", "l", "--orphan-s", "soon"],
    ],
)
def test_wrong_options_are_told(argv: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert "usage:" in capfd.readouterr().err


def test_options_are_read() -> None:
    options = parse_options(["--log", "/l", "--socket", "/s", "--orphan-s", "2"])

    assert options == Options(socket="/s", log="/l", ready_fd=None, orphan_s=2.0)
