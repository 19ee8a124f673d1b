"""The command line against a real server."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from duetty import __version__
from duetty.cli import main as cli
from tests.sandbox.inside import needs_both
from tests.server_process import ServerProcess, is_alive, running_server

pytestmark = [pytest.mark.pty]


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        yield server


def test_the_version_is_told(server: ServerProcess) -> None:
    assert server.command("--version").stdout == f"duetty {__version__}\n"


def test_a_token_that_cannot_be_read_is_one_clear_error(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As inside a sandbox, which hides it; a directory cannot be read by root either."""
    monkeypatch.setenv("DUETTY_HOME", str(home))
    (home / "state/default/token").mkdir(parents=True)

    assert cli.main(["token"]) == 1
    assert "[refused]" in capsys.readouterr().err


def test_the_version_is_told_before_anything_is_loaded(server: ServerProcess) -> None:
    code = (
        "import sys; from duetty.cli.main import main; main(['--version']); "
        "heavy = {'asyncio', 'ssl', 'json', 'subprocess', 'anyio', 'pydantic', 'starlette', 'rich', 'duetty.config'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], env=server.env, capture_output=True, text=True, check=True
    )

    assert done.stdout == f"duetty {__version__}\n[]\n"


def test_every_command_has_help_and_both_functions() -> None:
    for command in cli.COMMANDS.values():
        module = cli._load(command)  # pyright: ignore[reportPrivateUsage] - what the table promises
        assert callable(module.add_arguments)
        assert callable(module.run)


def test_a_mistyped_command_is_told_its_nearest_name(server: ServerProcess) -> None:
    said = server.command("histroy")

    assert said.returncode == 2
    assert "did you mean 'history'?" in said.stderr


def test_a_server_prints_its_address_a_link_that_works_once_and_a_configuration(home: Path) -> None:
    server = ServerProcess(home)
    started = subprocess.Popen(
        [*server.program, "server", "--bind", "127.0.0.1:0"], env=server.env, stdout=subprocess.PIPE
    )
    assert started.stdout is not None
    try:
        printed = ""
        while "\n}\n" not in printed:
            printed += os.read(started.stdout.fileno(), 4_096).decode()
        url = server.url()
        links = re.findall(r"http://\S+/login\?code=\S+", printed)
        followed = [httpx.get(links[0]) for _ in range(2)] if links else []
    finally:
        server.command("stop")
        started.stdout.close()
        ended = started.wait(60)

    assert printed.startswith(f"Duetty is running at {url}\n")
    assert printed.splitlines()[1].startswith("guardrail: guarded · boundary: none")
    assert '"mcpServers"' in printed
    assert [link.startswith(f"{url}/") for link in links] == [True]
    assert ["set-cookie" in answer.headers for answer in followed] == [True, False]
    assert ended == 0


def test_run_prints_the_output_and_exits_with_the_commands_code(server: ServerProcess) -> None:
    done = server.command("run", "--", "sh", "-c", "echo out; exit 7")

    assert (done.returncode, done.stdout) == (7, "out\n")


def test_run_uses_the_callers_directory_and_environment(server: ServerProcess, home: Path) -> None:
    server.env["CALLER"] = "mine"
    done = server.command("run", "pwd; echo $CALLER", cwd=home)

    assert done.stdout == f"{os.path.realpath(home)}\nmine\n"


def test_run_as_json_tells_everything(server: ServerProcess) -> None:
    done = server.command("run", "--json", "--", "false")

    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert (answer["exit_code"], answer["completed_by"], answer["output"]) == (1, "mark", "")


def test_run_leaves_no_session_behind(server: ServerProcess) -> None:
    server.command("run", "true")

    assert json.loads(server.command("list", "--json").stdout) == []


def test_run_that_takes_too_long_exits_with_124(server: ServerProcess) -> None:
    done = server.command("run", "--max-wait", "0.5", "sleep 100")

    assert done.returncode == 124
    assert "still running" in done.stderr


def test_run_of_a_program_that_asks_does_not_hang(server: ServerProcess) -> None:
    done = server.command("run", "read x")

    assert done.returncode == 125
    assert "awaiting_input" in done.stderr


def test_list_shows_a_session_and_what_it_does(server: ServerProcess) -> None:
    server.client.post("/sessions", {"name": "work", "command": "bash", "tags": ["t"]})

    shown = server.command("list").stdout
    server.client.delete("/sessions/work")

    assert "work" in shown
    assert "bash" in shown


def test_history_and_search_show_what_was_run(server: ServerProcess) -> None:
    server.command("run", "echo some-unusual-word")

    history = server.command("history", "--json")
    found = server.command("search", "unusual")
    nothing = server.command("search", "never-printed-anywhere-zzz")

    assert json.loads(history.stdout)[0]["command_line"] == "echo some-unusual-word"
    assert "echo some-unusual-word" in found.stdout
    assert nothing.returncode == 1


@needs_both
def test_status_says_which_of_guardrail_and_boundary_is_on(home: Path) -> None:
    with running_server(
        home, DUETTY_POLICY_PROFILE="strict", DUETTY_SESSION_SANDBOX="landlock"
    ) as server:
        confined = server.command("status").stdout
    with running_server(home) as server:
        server.client.post("/sessions", {"name": "bare"})
        server.client.post("/sessions", {"name": "kept", "sandbox": "any"})
        mixed = server.command("status").stdout
        doctor = server.command("doctor").stdout

    assert "guardrail: strict · boundary: landlock\n" in confined
    assert "guardrail: guarded · boundary: none (1 of 2 sessions have one)\n" in mixed
    assert "guardrail: guarded · boundary: none" in doctor


def test_status_tells_address_and_processes(server: ServerProcess) -> None:
    status = json.loads(server.command("status", "--json").stdout)

    assert status["running"] is True
    assert status["address"] == server.url()
    assert is_alive(status["keeper_pid"])


def test_the_token_file_is_the_owners_alone(server: ServerProcess) -> None:
    assert server.command("token").stdout.strip() == server.token()
    assert server.paths.token_file.stat().st_mode & 0o077 == 0


def test_the_token_that_is_printed_opens_the_api(server: ServerProcess) -> None:
    token = server.command("token").stdout.strip()

    answer = httpx.get(f"{server.url()}/sessions", headers={"Authorization": f"Bearer {token}"})

    assert answer.status_code == 200


def test_without_a_server_commands_say_so_and_exit_with_3(home: Path) -> None:
    nowhere = ServerProcess(home)

    for command in (
        ("list",),
        ("history",),
        ("search", "x"),
        ("status",),
        ("token", "--link"),
    ):
        said = nowhere.command(*command)
        assert (said.returncode, "Traceback" in said.stderr) == (3, False), command


@pytest.mark.parametrize("options", [(), ("--keep-sessions",)])
def test_to_stop_what_does_not_run_is_no_error(home: Path, options: tuple[str, ...]) -> None:
    said = ServerProcess(home).command("stop", *options)

    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith("No server running")


@pytest.mark.parametrize(
    "command",
    [
        ("attach", "none"),
        ("detach", "none"),
        ("keys", "none", "Enter"),
        ("kill", "none"),
        ("record", "none"),
        ("rename", "none", "other"),
        ("screen", "none"),
        ("scrollback", "none"),
        ("send", "none", "text"),
        ("tag", "none", "--add", "x"),
        ("wait", "none", "--text", "x"),
        ("watch", "none"),
    ],
    ids=lambda command: command[0],
)
def test_a_session_that_is_not_there_is_told_and_not_waited_for(
    server: ServerProcess, command: tuple[str, ...]
) -> None:
    said = server.command(*command)

    assert (said.returncode, said.stdout) == (1, "")
    assert "[session_not_found]" in said.stderr or "[needs_terminal]" in said.stderr


def test_run_without_a_server_starts_one_for_as_long_as_it_is_needed(home: Path) -> None:
    alone = ServerProcess(home)
    try:
        done = alone.command("run", "echo hello")
        status = json.loads(alone.command("status", "--json").stdout)
    finally:
        alone.command("stop")

    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert status["running"] is True


def test_a_bad_setting_stops_the_server_with_file_and_line(home: Path) -> None:
    (home / "config.toml").write_text("[session]\ncolz = 3\n")

    said = ServerProcess(home).command("server")

    assert said.returncode == 1
    assert "config.toml:2" in said.stderr
    assert "session.cols" in said.stderr


def test_a_taken_port_is_told_with_what_to_do(server: ServerProcess, home: Path) -> None:
    address = server.url().removeprefix("http://")

    said = ServerProcess(home).command("server", "--bind", address)

    assert said.returncode == 1
    assert "[bad_setting]" in said.stderr
    assert "127.0.0.1:0" in said.stderr
