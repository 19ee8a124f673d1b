"""Commands on sessions, against a real server: each as a person or a script would use it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duetty.cli.checks import limit_findings
from duetty.client import Client
from tests.cli.terminals import watched
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.pty]


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        yield server


@pytest.fixture
def session(server: ServerProcess) -> Iterator[str]:
    opened = server.client.post("/sessions", {"command": "bash", "tags": ["one"]})
    server.client.post(f"/sessions/{opened['name']}/wait", {"state": ["prompt"]})
    yield opened["name"]
    server.command("kill", opened["name"])


def told(server: ServerProcess, *arguments: str) -> Any:
    said = server.command(*arguments)
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


def test_sent_text_is_typed_and_enter_only_when_asked(server: ServerProcess, session: str) -> None:
    server.command("send", session, "echo", "one")
    server.command("send", session, " two", "--enter")
    waited = server.command("wait", session, "--regex", "\none t[w]o")

    assert waited.returncode == 0
    assert "echo one two\none two\n" in server.command("screen", session).stdout


def test_options_may_stand_before_between_and_after_the_words(
    server: ServerProcess, session: str
) -> None:
    said = [
        server.command("send", session, "-e", "echo", "be't'ween"),
        server.command("send", "--enter", session, "echo be'f'ore"),
        server.command("send", session, "echo", "--ent", "ab'br'eviated"),
        server.command("send", session, "- it'em' -5 --x", "-1.5", "-"),
        server.command("kill", "none", "--signal", "TERM", "nor-this"),
        server.command("kill", "none", "--signal=TERM", "nor-this"),
    ]

    assert [each.returncode for each in said] == [0, 0, 0, 0, 1, 1], [each.stderr for each in said]
    for text in ("between", "before", "abbreviated", "- it'em' -5 --x -1.5 -"):
        assert server.command("wait", session, "--text", text).returncode == 0
    assert said[4].stderr.count("session_not_found") == 2
    assert server.command("send", session, "x", "--no-such").returncode == 2


def test_a_session_whose_name_begins_with_a_dash_is_named_after_two_dashes(
    server: ServerProcess,
) -> None:
    made = told(server, "new", "-d", "--json", "--name=-e", "--", "cat")
    sent = server.command("send", "--", "-e", "-e --enter")
    typed = server.command("wait", "--text", "-e --enter", "--", "-e")
    killed = server.command("kill", "--", "-e")

    assert made["name"] == "-e"
    assert [each.returncode for each in (sent, typed, killed)] == [0, 0, 0], sent.stderr


def test_a_session_that_was_opened_or_renamed_is_told_as_json(server: ServerProcess) -> None:
    opened = told(server, "new", "-d", "--json", "--name", "told", "--", "cat")
    renamed = told(server, "rename", "told", "retold", "--json")
    shown = server.command("new", "--json")
    server.command("kill", "retold")

    assert (opened["name"], opened["state"] != "exited") == ("told", True)
    assert (renamed["id"], renamed["name"]) == (opened["id"], "retold")
    assert (shown.returncode, "[invalid_request]" in shown.stderr) == (1, True)


def test_bytes_piped_into_send_are_sent_as_they_are(server: ServerProcess, session: str) -> None:
    server.command("send", session, input="printf 'a\\tb\\n'\r")

    assert server.command("wait", session, "--text", "a       b").returncode == 0


def test_keys_are_pressed_by_name(server: ServerProcess, session: str) -> None:
    # A key is typed as it is: before the program has the terminal, the shell would drop it.
    server.command("send", session, "sh -c 'echo u''p; exec sleep 100'", "--enter")
    assert server.command("wait", session, "--regex", "(?m)^up").returncode == 0
    server.command("keys", session, "Ctrl-C")

    assert server.command("wait", session, "--state", "prompt").returncode == 0


def test_an_unknown_key_is_told_with_the_nearest(server: ServerProcess, session: str) -> None:
    said = server.command("keys", session, "Entre")

    assert (said.returncode, "[unknown_key]" in said.stderr, "Enter" in said.stderr) == (
        1,
        True,
        True,
    )


def test_a_wait_that_is_not_met_exits_with_124(server: ServerProcess, session: str) -> None:
    said = server.command("wait", session, "--text", "never", "--max-wait", "0.2")

    assert said.returncode == 124


def test_wait_needs_one_condition(server: ServerProcess, session: str) -> None:
    assert server.command("wait", session).returncode == 2
    assert server.command("wait", session, "--exit", "--idle", "1").returncode == 2


def test_a_screen_is_plain_in_a_pipe_and_coloured_when_asked(
    server: ServerProcess, session: str
) -> None:
    server.command("run", "-s", session, "printf '\\033[31mred\\033[m\\n'")

    assert "\x1b" not in server.command("screen", session).stdout
    assert "\x1b[31mred\x1b[m" in server.command("screen", session, "--colour", "always").stdout
    assert told(server, "screen", session, "--json")["cols"] == 80


def test_scrollback_is_told_from_either_end_or_whole(server: ServerProcess, session: str) -> None:
    server.command("run", "-s", session, "seq -f 'row %g' 1 200")

    oldest = server.command("scrollback", session, "--offset", "0", "-n", "5").stdout
    newest = server.command("scrollback", session, "-n", "5").stdout
    whole = server.command("scrollback", session, "--all").stdout

    assert "row 1\n" in oldest
    assert "row 200\n" in newest
    assert [line for line in whole.split("\n") if line.startswith("row")] == [
        f"row {at}" for at in range(1, 201)
    ]


def test_what_a_script_would_read_is_one_json_document(server: ServerProcess, session: str) -> None:
    server.client.post("/sessions", {"name": "untagged", "command": "sleep 1000"})
    server.command("run", "-s", session, "echo a-word-for-scripts")
    server.command("run", "-s", session, "true # later")

    listed = told(server, "list", "--tag", "one", "--json")
    status = told(server, "status", "--json")
    history = told(server, "history", "-s", session, "--json")
    found = told(server, "search", "scripts", "-s", session, "--json")
    screen = told(server, "screen", session, "--json")
    rows = told(server, "scrollback", session, "-n", "24", "--json")
    waited = told(server, "wait", session, "--regex", "a-w[a-z-]*", "--json")
    server.command("kill", "untagged")

    assert [each["name"] for each in listed] == [session]
    assert (status["running"], status["address"]) == (True, server.url())
    lines = [each["command_line"] for each in history]
    assert lines == ["true # later", "echo a-word-for-scripts"]  # as the API has them
    assert found[0]["block"]["id"] == history[1]["id"]
    assert rows["lines"] == screen["lines"]
    assert waited["match"] == "a-word-for-scripts"


def test_what_a_program_is_called_commands_no_terminal_of_who_lists_it(
    server: ServerProcess, home: Path
) -> None:
    evil = home / "d\x1b]0;owned\x07\x9b31m"
    evil.mkdir()
    env = {"HOME": str(home), "PS1": "> "}
    body = {"name": "evil", "cwd": str(evil), "command": "bash", "env": env}
    server.client.post("/sessions", body)
    server.client.post("/sessions/evil/run", {"input": "echo needle"})

    said = [
        server.command(*words).stdout
        for words in (("list",), ("history", "-s", "evil"), ("search", "needle", "-s", "evil"))
    ]
    server.command("kill", "evil")

    assert all("needle" in each for each in said[1:])
    assert "owned" in said[0]
    for each in said:
        assert not {"\x1b", "\x07", "\x9b"} & set(each)


def test_tables_have_colours_on_a_terminal_and_none_in_a_pipe(
    server: ServerProcess, session: str
) -> None:
    def shown(**env: str) -> bytes:
        with watched({**server.env, **env}, "list", cols=200) as terminal:
            assert terminal.wait_ended() == 0
            assert session in terminal.text()
            return terminal.received

    assert b"\x1b[32mprompt" in shown()
    assert b"\x1b[32m" not in shown(NO_COLOR="1")
    assert "\x1b" not in server.command("list").stdout


def test_a_session_is_renamed_and_found_by_its_new_name(server: ServerProcess) -> None:
    name = server.command("new", "-d", "--name", "before", "bash").stdout.strip()
    assert name == "before"

    assert server.command("rename", "before", "after").returncode == 0
    names = server.command("list", "--names").stdout.split()
    assert ("after" in names, "before" in names) == (True, False)
    assert server.command("kill", "after").returncode == 0
    assert "after" not in server.command("list", "--names").stdout.split()


def test_tags_are_shown_and_changed(server: ServerProcess, session: str) -> None:
    assert server.command("tag", session).stdout == "one\n"
    assert told(server, "tag", session, "--add", "two", "--remove", "one", "--json") == ["two"]


def test_killing_with_keep_leaves_the_screen_readable(server: ServerProcess, session: str) -> None:
    server.command("run", "-s", session, "echo last")

    assert server.command("kill", session, "--keep").returncode == 0
    assert "last" in server.command("screen", session).stdout
    assert told(server, "list", "--json")[0]["state"] == "exited"


def test_killing_several_tells_each_that_is_not_there(server: ServerProcess, session: str) -> None:
    said = server.command("kill", session, "nowhere")

    assert said.returncode == 1
    assert "[session_not_found]" in said.stderr
    assert session not in server.command("list", "--names").stdout.split()


def test_a_new_session_has_the_callers_directory_and_environment_but_no_secrets(
    server: ServerProcess, home: Path
) -> None:
    env = {**server.env, "MINE": "kept", "DUETTY_TOKEN": "secret"}
    opened = subprocess.run(
        [sys.executable, "-m", "duetty", "new", "-d", "sh", "-c", "echo $MINE/$DUETTY_TOKEN/$PWD; exec cat"],
        env=env, cwd=home, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    server.command("wait", opened, "--text", "kept")

    assert f"kept//{os.path.realpath(home)}" in server.command("screen", opened).stdout
    server.command("kill", opened)


def test_run_passes_on_what_is_piped_in(server: ServerProcess) -> None:
    counted = server.command("run", "wc", "-l", input="a\nb\nc\n")
    line = server.command("run", "tr a-z A-Z | rev", input="abc\n")

    assert (counted.stdout.strip(), counted.returncode) == ("3", 0)
    assert line.stdout == "CBA\n"


@pytest.mark.shells
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "dash"])
def test_piped_input_reaches_the_command_in_every_shell(server: ServerProcess, shell: str) -> None:
    opened = server.client.post("/sessions", {"command": shell})["name"]
    server.client.post(f"/sessions/{opened}/wait", {"state": ["prompt", "awaiting_input"]})
    said = server.command("run", "-s", opened, "cat; echo after", input="piped\n")
    server.command("kill", opened)

    assert said.stdout == "piped\nafter\n"


def test_a_command_that_never_reads_its_input_still_ends(server: ServerProcess) -> None:
    said = server.command("run", "echo", "done", input="x" * 1_000_000)

    assert (said.stdout, said.returncode) == ("done\n", 0)


def test_run_without_input_leaves_the_pipe_alone(server: ServerProcess) -> None:
    said = server.command("run", "-n", "read x", input="not for it\n")

    assert "awaiting_input" in said.stderr


def test_run_streams_lines_while_the_command_goes_on(server: ServerProcess) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "duetty", "run", "--stream", "for i in 1 2 3; do echo line $i; done; sleep 60"],
        env=server.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stdout is not None
    try:
        first = [running.stdout.readline() for _ in range(2)]
    finally:
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)

    assert first == ["line 1\n", "line 2\n"]


def test_streamed_output_is_whole_and_in_order(server: ServerProcess) -> None:
    said = server.command(
        "run", "--stream", "for i in $(seq 1 30); do echo line $i; sleep 0.02; done; (exit 4)"
    )

    assert said.stdout == "".join(f"line {at}\n" for at in range(1, 31))
    assert said.returncode == 4


def test_options_after_the_command_are_the_commands(server: ServerProcess) -> None:
    said = server.command("run", "echo", "--json", "-n")

    assert said.stdout == "--json -n\n"


def test_watch_tells_what_runs_and_how_it_ends(server: ServerProcess, session: str) -> None:
    watching = subprocess.Popen(
        [sys.executable, "-m", "duetty", "watch", "--json"],
        env=server.env, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert watching.stdout is not None
    seen: list[dict[str, Any]] = []
    reading = threading.Thread(
        target=lambda: seen.extend(json.loads(line) for line in watching.stdout or ())
    )
    reading.start()
    try:
        _wait(lambda: any(each.get("session") == session for each in seen))
        until_s = time.monotonic() + 60
        while not any(each.get("change") == "finished" for each in seen):
            # Its streams are being opened; there is no word for "all are".
            assert time.monotonic() < until_s
            server.command("run", "-s", session, "true")
        server.command("run", "-s", session, "false")
        _wait(lambda: any(each.get("exit_code") == 1 for each in seen))
    finally:
        watching.send_signal(signal.SIGINT)
        watching.wait(60)
        reading.join(60)
        watching.stdout.close()

    blocks = [each for each in seen if each.get("event") == "block" and each["session"] == session]
    assert [each["change"] for each in blocks[-2:]] == ["started", "finished"]
    assert (blocks[-2]["command_line"], blocks[-1]["exit_code"]) == ("false", 1)


def _wait(fact: Any) -> None:
    until_s = time.monotonic() + 60
    while not fact():
        assert time.monotonic() < until_s
        time.sleep(0.02)


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_recording_is_saved_and_replayed(
    server: ServerProcess, session: str, home: Path, version: str
) -> None:
    server.command("run", "-s", session, "echo to-be-replayed")
    target = home / "some.cast"

    saved = server.command("record", session, "-o", str(target), "--format", version)
    again = server.command("record", session, "-o", str(target))
    shown = server.command("replay", str(target), "--text")

    assert (saved.returncode, again.returncode) == (0, 1)
    assert "[file_exists]" in again.stderr
    assert json.loads(target.read_text().split("\n")[0])["version"] == int(version)
    assert target.stat().st_mode & 0o777 == 0o600
    assert "to-be-replayed" in shown.stdout
    assert "to-be-replayed" in server.command("replay", session, "--text").stdout


@pytest.mark.parametrize("options", [(), ("--force",)])
def test_a_recording_goes_into_a_pipe_and_never_takes_its_place(
    server: ServerProcess, session: str, home: Path, options: tuple[str, ...]
) -> None:
    pipe = home / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    reading = threading.Thread(target=lambda: heard.append(pipe.read_text()), daemon=True)
    reading.start()

    saved = server.command("record", session, "-o", str(pipe), *options)
    reading.join(60)

    assert (saved.returncode, pipe.is_fifo()) == (0, True)
    assert heard[0].startswith('{"version"')


def test_a_recording_replaces_what_a_link_leads_to(
    server: ServerProcess, session: str, home: Path
) -> None:
    link, target = home / "link.cast", home / "target.cast"
    target.write_text("old")
    link.symlink_to(target)

    saved = server.command("record", session, "-o", str(link), "--force")

    assert (saved.returncode, link.is_symlink()) == (0, True)
    assert target.read_text().startswith('{"version"')


@pytest.mark.parametrize("place", ["no-such/place.cast", "."])
def test_a_recording_that_cannot_be_written_is_not_called_a_server_that_is_gone(
    server: ServerProcess, session: str, home: Path, place: str
) -> None:
    said = server.command("record", session, "-f", "-o", str(home / place))

    assert (said.returncode, "[file_unwritable]" in said.stderr) == (1, True)


def test_what_is_no_recording_is_told(server: ServerProcess, home: Path) -> None:
    (home / "bad.cast").write_text("not json\n")

    said = server.command("replay", str(home / "bad.cast"), "--text")

    assert (said.returncode, "[bad_recording]" in said.stderr) == (1, True)


def test_tokens_are_made_listed_and_revoked(server: ServerProcess) -> None:
    made = told(server, "token", "create", "ci", "--scope", "read", "--expires", "8h", "--json")
    listed = told(server, "token", "list", "--json")
    server.command("token", "revoke", made["info"]["id"][:8])
    after = {each["id"]: each["valid"] for each in told(server, "token", "list", "--json")}

    assert made["info"]["scopes"] == ["read"]
    assert made["info"]["id"] in [each["id"] for each in listed]
    assert made["token"] not in json.dumps(listed)
    assert after[made["info"]["id"]] is False


def test_a_token_without_a_scope_is_not_made(server: ServerProcess) -> None:
    said = server.command("token", "create", "ci")

    assert (said.returncode, "--scope" in said.stderr) == (1, True)


def test_whether_the_server_stays_can_be_asked_and_set(server: ServerProcess) -> None:
    assert told(server, "persist", "--json") == {"persistent": True}
    assert told(server, "persist", "off", "--json") == {"persistent": False}
    assert told(server, "persist", "on", "--json") == {"persistent": True}


def test_settings_are_shown_with_where_they_came_from(home: Path) -> None:
    (home / "config.toml").write_text("[session]\ncols = 132\n")
    nowhere = ServerProcess(home, DUETTY_SESSION_ROWS="50")

    shown = told(nowhere, "config", "--json")
    changed = told(nowhere, "config", "show", "--changed", "--json")

    assert shown["session.cols"] == {"value": 132, "from": f"{home}/config.toml:2"}
    assert set(changed) == {"session.cols", "session.rows"}
    assert shown["server.bind"]["from"] == "default"
    assert nowhere.command("config", "path").stdout.strip() == f"{home}/config.toml"
    assert nowhere.command("config", "check").returncode == 0


def test_a_bad_setting_fails_the_check_with_its_line(home: Path) -> None:
    (home / "config.toml").write_text("[session]\ncolz = 132\n")

    said = ServerProcess(home).command("config", "check")

    assert (said.returncode, "config.toml:2" in said.stderr) == (1, True)


def test_the_doctor_finds_nothing_wrong_with_a_running_server(server: ServerProcess) -> None:
    found = told(server, "doctor", "--json")

    assert {each["what"] for each in found} >= {
        "python",
        "server",
        "keeper",
        "state",
        "disk",
        "limits",
        "mcp",
    }
    assert [each for each in found if each["verdict"] == "broken"] == []


def test_the_doctor_names_a_limit_that_is_nearly_reached() -> None:
    limit = {"what": "viewers", "most": 8, "each": 4, "each_source": 4, "for_people": 2}

    class Full(Client):
        def is_up(self) -> bool:
            return True

        def get(self, path: str, *, wait_s: float | None = 30, **query: object) -> Any:
            return {"open_files": 4096, "limits": [{**limit, "held": held} for held in (5, 6)]}

    found = list(limit_findings(Full(Path())))

    assert [(each.what, each.verdict) for each in found] == [
        ("open files", "ok"),
        ("limit", "warning"),
    ]
    assert found[1].summary.startswith("6 of 8 viewers are taken")


def test_the_doctor_tells_what_is_wrong_and_how_to_mend_it(home: Path) -> None:
    broken = ServerProcess(home)
    broken.paths.state.mkdir(parents=True, mode=0o755)
    broken.paths.state.chmod(0o755)
    (home / "config.toml").write_text("[nonsense]\nx = 1\n")

    said = broken.command("doctor")

    assert said.returncode == 1
    assert f"chmod 700 {broken.paths.state}" in said.stdout
    assert "✗ settings" in said.stdout


def test_a_person_sees_and_sets_the_workspace(server: ServerProcess, tmp_path: Path) -> None:
    (tmp_path / "app" / ".git").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    server.command("new", "-d", "-n", "placed", cwd=tmp_path / "app")

    shown = server.command("workspace", "placed").stdout
    moved = server.command("workspace", "placed", str(tmp_path / "other")).stdout
    wrong = server.command("workspace", "placed", "/etc")
    none = server.command("workspace", "placed", "--none").stdout

    assert (shown.strip(), moved.strip()) == (str(tmp_path / "app"), str(tmp_path / "other"))
    assert (wrong.returncode != 0, "cannot be a workspace" in wrong.stderr) == (True, True)
    assert none.strip() == "none"
