"""The server's side: callbacks, losses, and how a keeper is started."""

import asyncio
import os
import signal
import stat
from pathlib import Path

import pytest

from duetty.errors import (
    BadArguments,
    DuettyError,
    InstanceBusy,
    KeeperUnavailable,
    SessionExited,
    SessionNotFound,
)
from duetty.keeper.client import (
    KeeperClient,
    Reply,
    parse_error,
    parse_opened,
    parse_sessions,
    start_keeper,
)
from duetty.keeper.wire import MAX_FRAME_BYTES, Message
from tests.keeper.harness import RunningKeeper, eventually, halt, kill, order_of, wait_gone

pytestmark = pytest.mark.pty


def test_a_keeper_that_dies_fails_every_pending_request_and_is_told_once(
    keeper: RunningKeeper,
) -> None:
    client = keeper.connect()
    lost: list[KeeperUnavailable] = []
    answers: list[Reply | DuettyError] = []
    watched: list[int] = []

    def on_lost(error: KeeperUnavailable) -> None:
        lost.append(error)
        watched.append(client.fileno())

    client.listen(lost=on_lost)
    halt(keeper.pid)
    for _ in range(3):
        client.request("list", {}, on_reply=answers.append)

    kill(keeper.pid)
    eventually(lambda: client.wait(0.1), lambda _: bool(lost))

    assert [type(answer) for answer in answers] == [KeeperUnavailable] * 3
    assert len(lost) == 1
    assert watched[0] >= 0
    with pytest.raises(KeeperUnavailable):
        client.request("list", {}, on_reply=answers.append)


def test_a_keeper_that_does_not_answer_fails_a_call_in_bounded_time(
    keeper: RunningKeeper,
) -> None:
    client = keeper.connect()
    descriptors = os.listdir("/proc/self/fd")
    halt(keeper.pid)

    with pytest.raises(KeeperUnavailable):
        client.call("open", order_of(["true"]).fields(), timeout_s=0.05)
    os.kill(keeper.pid, signal.SIGCONT)

    # The late answer is nobody's: its master is closed, the session is listed.
    assert [kept.session for kept in eventually(lambda: parse_sessions(client.call("list")))] == [
        "s"
    ]
    assert os.listdir("/proc/self/fd") == descriptors


def test_nobody_answers_where_no_keeper_is(tmp_path: Path) -> None:
    with pytest.raises(KeeperUnavailable):
        KeeperClient.connect(tmp_path / "none")


def test_a_request_that_must_wait_says_so_and_is_sent_when_there_is_room(
    keeper: RunningKeeper,
) -> None:
    client = keeper.connect()
    waiting: list[bool] = []
    answers: list[Reply | DuettyError] = []
    client.listen(backlog=waiting.append)
    halt(keeper.pid)

    client.request("list", {"filler": "x" * (4 * 1024 * 1024)}, on_reply=answers.append)
    os.kill(keeper.pid, signal.SIGCONT)
    eventually(lambda: client.wait(0.1), lambda _: bool(answers))

    assert waiting == [True, False]
    assert [type(answer) for answer in answers] == [Reply]


def test_a_request_larger_than_a_frame_is_refused_and_the_connection_stays(
    keeper: RunningKeeper,
) -> None:
    client = keeper.connect()

    with pytest.raises(BadArguments):
        client.call("list", {"filler": "x" * MAX_FRAME_BYTES})

    assert parse_sessions(client.call("list")) == ()


def test_a_client_works_inside_an_event_loop(keeper: RunningKeeper) -> None:
    client = keeper.connect()

    async def ask(op: str, arguments: Message) -> Reply:
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

        def on_reply(outcome: Reply | DuettyError) -> None:
            if isinstance(outcome, DuettyError):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)

        client.request(op, arguments, on_reply=on_reply)
        return await asyncio.wait_for(answer, 5)

    async def flow() -> list[str]:
        asyncio.get_running_loop().add_reader(client.fileno(), client.on_readable)
        replies = await asyncio.gather(
            *(ask("open", order_of(["true"], session=f"{n}").fields()) for n in range(3))
        )
        asyncio.get_running_loop().remove_reader(client.fileno())
        return [keeper.hold(parse_opened(reply)).session.session for reply in replies]

    assert asyncio.run(flow()) == ["0", "1", "2"]


@pytest.mark.parametrize(
    "error",
    [
        SessionNotFound("s"),
        SessionExited("s", 3),
        InstanceBusy("busy", hint="wait", details={"pid": 1}),
        DuettyError("unexpected"),
    ],
)
def test_an_error_arrives_as_the_class_it_left_as(error: DuettyError) -> None:
    arrived = parse_error(
        {
            "error": error.code,
            "message": error.message,
            "hint": error.hint,
            "details": dict(error.details),
        }
    )

    assert type(arrived) is type(error)
    assert (arrived.message, arrived.hint, arrived.details) == (
        error.message,
        error.hint,
        error.details,
    )


def test_an_unknown_code_is_still_an_error() -> None:
    arrived = parse_error({"error": "from_the_future", "message": "new"})

    assert (type(arrived), arrived.message) == (DuettyError, "new")


def test_a_keeper_gets_none_of_the_servers_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUETTY_TOKEN", "secret")

    with RunningKeeper(tmp_path) as keeper:
        environment = Path(f"/proc/{keeper.pid}/environ").read_bytes()

    names = {entry.partition(b"=")[0] for entry in environment.split(b"\0")}
    assert names <= {b"PYTHONPATH", b"PATH", b"LANG", b""}


def test_a_keeper_is_detached_from_everything_of_its_starter(keeper: RunningKeeper) -> None:
    links = {
        name: os.readlink(f"/proc/{keeper.pid}/fd/{name}")
        for name in os.listdir(f"/proc/{keeper.pid}/fd")
    }

    assert os.getsid(keeper.pid) != os.getsid(0)
    assert os.readlink(f"/proc/{keeper.pid}/cwd") == "/"
    assert (links["0"], links["1"], links["2"]) == ("/dev/null", str(keeper.log), str(keeper.log))
    assert stat.S_IMODE(keeper.log.stat().st_mode) == 0o600
    # Lock, socket, epoll, wakeup pipe.
    assert len(links) == 3 + 5


def test_whoever_starts_a_keeper_second_gets_the_first(keeper: RunningKeeper) -> None:
    client = keeper.connect()

    again = start_keeper(keeper.socket, keeper.log)

    assert again == keeper.pid
    assert parse_sessions(client.call("list")) == ()


def test_a_keeper_that_cannot_start_says_why(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    with pytest.raises(KeeperUnavailable, match="is not private"):
        start_keeper(tmp_path / "s", tmp_path / "log")


def test_a_python_that_cannot_be_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(KeeperUnavailable):
        start_keeper(tmp_path / "s", tmp_path / "log", "/does/not/exist")
    with pytest.raises(KeeperUnavailable):
        start_keeper(tmp_path / "s", tmp_path / "log", "/bin/false")


def test_a_keeper_leaves_no_zombie_to_its_starter(tmp_path: Path) -> None:
    keeper = RunningKeeper(tmp_path)

    kill(keeper.pid)

    wait_gone(keeper.pid)
    with pytest.raises(ChildProcessError):
        os.waitpid(keeper.pid, os.WNOHANG)
