"""Bytes that are no text: shown as U+FFFD, kept as they are."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import anyio
import pytest

from duetty.client import session_path
from tests.engine import Engine, running_engine
from tests.faults.server_facts import answers, refused, run
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.pty]

ODD = "caf\ufffd"


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    async with running_engine(home) as engine:
        await engine.open(command="bash")
        await engine.run("true")
        with anyio.fail_after(60):
            yield engine


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        yield server


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("printed", "raw", "shown"),
    [
        pytest.param("caf\\xe9", b"caf\xe9", ODD, id="Latin-1"),
        pytest.param("a\\xff\\xfeb", b"a\xff\xfeb", "a\ufffd\ufffdb", id="never UTF-8"),
        pytest.param("a\\x00\\x00b", b"a\x00\x00b", "ab", id="NUL"),
        pytest.param("x\\xe6\\x97y", b"x\xe6\x97y", "x\ufffdy", id="cut short"),
        pytest.param("\\xed\\xa0\\x80.", b"\xed\xa0\x80.", None, id="surrogate"),
        pytest.param("\\xc0\\xaf.", b"\xc0\xaf.", None, id="overlong"),
        pytest.param("\\xf4\\x90\\x80\\x80.", b"\xf4\x90\x80\x80.", None, id="beyond Unicode"),
        pytest.param("a\\x9b31mb", b"a\x9b31mb", None, id="C1 control"),
        pytest.param("\\x01\\x02.", b"\x01\x02.", ".", id="C0 control"),
    ],
)
async def test_bytes_that_are_no_text_are_kept_and_shown_as_such(
    engine: Engine, printed: str, raw: bytes, shown: str | None
) -> None:
    answer = await engine.run(f"printf '{printed}\\n'; (exit 3)")

    session = engine.registry.find("s")
    block = session.recent[-1]
    assert block.end is not None
    assert session.journal.read(block.start, block.end) == raw + b"\r\n"
    assert (answer.exit_code, answer.completed_by) == (3, "mark")
    if shown is not None:
        assert answer.output == shown
    answer.output.encode()
    assert json.loads(answer.model_dump_json())["output"] == answer.output
    for style in ("plain", "styled"):
        screen = await engine.call("screen.get", session="s", format=style)
        json.dumps(screen, ensure_ascii=False).encode()


@pytest.mark.anyio
async def test_a_character_written_in_pieces_is_one_character(engine: Engine) -> None:
    answer = await engine.run(
        "printf '\\xe6'; sleep 0.1; printf '\\x97'; sleep 0.1; printf '\\xa5\\n'"
    )

    assert answer.output == "日"
    assert any("日" in line for line in answer.screen["lines"])


@pytest.mark.anyio
async def test_the_output_of_random_bytes_ends_with_its_exit_code(
    engine: Engine, home: Path
) -> None:
    (home / "noise").write_bytes(Random(1).randbytes(3_000_000))

    answer = await engine.run(f"cat {home}/noise; (exit 9)")
    mended = await engine.run("reset; echo calm")

    assert (answer.exit_code, answer.completed_by) == (9, "mark")
    json.loads(answer.model_dump_json())
    assert mended.exit_code == 0


def test_answers_are_json_whatever_a_program_printed(server: ServerProcess) -> None:
    run(server, "printf '\\x1b]2;t\\xff\\xfe\\x07'; printf 'a\\xff\\x00\\xed\\xa0\\x80\\x9b\\n'")

    found = [
        server.client.get(path)
        for path in (
            "/sessions",
            session_path("s"),
            session_path("s", "/screen"),
            session_path("s", "/scrollback"),
            session_path("s", "/blocks"),
            session_path("s", "/blocks/1/output"),
            "/history",
            "/search?query=a",
        )
    ]

    assert all(found)
    assert answers(server, "s")


def test_a_directory_whose_name_is_no_text_breaks_nothing(server: ServerProcess) -> None:
    answer = run(server, "mkdir $'d\\xff'; cd $'d\\xff'; (exit 3)")
    inside = run(server, "pwd | od -An -c | tr -d ' '")
    info = server.client.get(session_path("s"))
    server.kill()
    server.start()
    listed = server.client.get("/sessions")
    after = run(server, "cd ..; mkdir ok; cd ok")

    assert (answer["exit_code"], answer["completed_by"]) == (3, "mark")
    assert "d377" in inside["output"]
    assert info["cwd"].endswith("/d\ufffd")
    assert [each["cwd"] for each in listed] == [info["cwd"]]
    assert after["cwd"].endswith("/ok")


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("name", "\ud800", "invalid_session_name"),
        ("tags", ["\ud800"], "invalid_tag"),
        ("command", "\ud800", "invalid_request"),
        ("cwd", "/\ud800", "invalid_request"),
        ("env", {"A": "\ud800"}, "invalid_request"),
        ("env", {"\ud800": "A"}, "invalid_request"),
    ],
)
def test_half_a_character_in_a_call_is_a_coded_error(
    server: ServerProcess, field: str, value: object, code: str
) -> None:
    with refused(code):
        server.client.post("/sessions", {"name": "new", "command": "bash", field: value})

    assert [each["name"] for each in server.client.get("/sessions")] == ["s"]


def test_half_a_character_in_input_is_a_coded_error(server: ServerProcess) -> None:
    with refused("invalid_request"):
        run(server, "echo \ud800")
    with refused("invalid_request"):
        server.client.post(session_path("s", "/paste"), {"text": "\udcff"})

    assert answers(server, "s")
