"""Completion scripts in the shells they are for."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from duetty.cli import main as cli
from duetty.cli.completion_scripts import SCRIPTS
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.pty, pytest.mark.shells]

BIN = str(Path(sys.executable).parent)


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home), PATH=f"{BIN}:{os.environ['PATH']}") as server,
    ):
        server.client.post("/sessions", {"name": "build-one", "command": "cat"})
        server.client.post("/sessions", {"name": "build-two", "command": "cat"})
        for shell in SCRIPTS:
            (server.home / f"duetty.{shell}").write_text(server.command("completion", shell).stdout)
        yield server


def bash(server: ServerProcess, *words: str) -> set[str]:
    listed = " ".join(f"'{word}'" for word in words)
    script = (
        f"source {server.home}/duetty.bash; COMP_WORDS=(duetty {listed}); "
        f"COMP_CWORD={len(words)}; _duetty; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    return set(_run(server, "bash", "--norc", "-c", script))


def fish(server: ServerProcess, line: str) -> set[str]:
    said = _run(
        server,
        "fish",
        "--no-config",
        "-c",
        f"source {server.home}/duetty.fish; complete -C '{line}'",
    )
    return {each.split("\t")[0] for each in said}


def _run(server: ServerProcess, *argv: str) -> list[str]:
    done = subprocess.run(argv, env=server.env, capture_output=True, text=True, timeout=60, check=True)  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_script_knows_every_command(shell: str) -> None:
    script = SCRIPTS[shell]()

    assert [
        name for name, command in cli.COMMANDS.items() if not command.hidden and name not in script
    ] == []
    assert "keeper" not in script.split()


def test_bash_completes_commands_flags_choices_and_names(server: ServerProcess) -> None:
    assert bash(server, "scr") == {"screen", "scrollback"}
    assert bash(server, "attach", "--read") == {"--read-only"}
    assert bash(server, "screen", "--colour", "a") == {"auto", "always"}
    assert bash(server, "attach", "build") == {"build-one", "build-two"}
    assert bash(server, "run", "-s", "build-o") == {"build-one"}
    assert bash(server, "persist", "o") == {"on", "off"}


def test_fish_completes_commands_flags_choices_and_names(server: ServerProcess) -> None:
    assert fish(server, "duetty scr") == {"screen", "scrollback"}
    assert fish(server, "duetty attach --read") == {"--read-only"}
    assert fish(server, "duetty screen --colour a") >= {"auto", "always"}
    assert fish(server, "duetty attach build") == {"build-one", "build-two"}
    assert fish(server, "duetty run -s build-o") == {"build-one"}
    assert fish(server, "duetty persist o") == {"on", "off"}


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("duetty scrollb", "duetty scrollback"),
        ("duetty attach --read", "duetty attach --read-only"),
        ("duetty screen --colour alw", "duetty screen --colour always"),
        ("duetty attach build-o", "duetty attach build-one"),
    ],
)
def test_zsh_completes_what_is_typed(server: ServerProcess, typed: str, completed: str) -> None:
    name = server.client.post("/sessions", {"command": "zsh -f", "env": {"PS1": "%% "}})["name"]
    try:
        # A session is not told where the server keeps its things.
        setup = (
            f"export DUETTY_HOME={server.home}; autoload -Uz compinit; compinit -u -D; "
            f"source {server.home}/duetty.zsh; echo re''ady"
        )
        server.command("send", name, setup, "--enter")
        assert server.command("wait", name, "--text", "ready").returncode == 0
        server.command("send", name, typed)
        server.command("keys", name, "Tab")
        waited = server.command("wait", name, "--text", completed, "--max-wait", "15")

        assert waited.returncode == 0, server.command("screen", name).stdout
    finally:
        server.command("kill", name)


START = {
    "bash": ("bash --norc --noprofile", "source {home}/duetty.bash"),
    "zsh": ("zsh -f", "autoload -Uz compinit; compinit -u -D; source {home}/duetty.zsh"),
    "fish": ("fish --no-config", "source {home}/duetty.fish"),
}

MENTIONS = [
    ("duetty ask @no", "duetty ask @notes.txt"),
    ('duetty ask "why @no', 'duetty ask "why @notes.txt'),
    ("duetty ask 'and @deep/e", "duetty ask 'and @deep/er.txt"),
    ("duetty ask explain @session:build-o", "duetty ask explain @session:build-one"),
    ("duetty ask -s elsewhere @oth", "duetty ask -s elsewhere @other.txt"),
]


@pytest.mark.parametrize("shell", START)
def test_a_shell_completes_what_an_at_names(server: ServerProcess, shell: str) -> None:
    here, there = server.home / "here", server.home / "there"
    for path in (here / "notes.txt", here / "deep/er.txt", there / "other.txt", there / ".git/x"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    command, setup = START[shell]
    client = server.client
    if not any(each["name"] == "elsewhere" for each in client.get("/sessions")):
        client.post("/sessions", {"name": "elsewhere", "cwd": str(there)})
    opened = client.post("/sessions", {"command": command, "cwd": str(here), "cols": 120})
    name = opened["name"]
    try:
        prepared = f"export DUETTY_HOME={server.home}; {setup.format(home=server.home)}"
        client.write(f"/sessions/{name}/input", f"{prepared}; echo re''ady\n".encode())
        assert server.command("wait", name, "--text", "ready").returncode == 0
        for typed, completed in MENTIONS:
            client.write(f"/sessions/{name}/input", f"{typed}\t".encode())
            waited = server.command("wait", name, "--text", completed, "--max-wait", "15")
            assert waited.returncode == 0, server.command("screen", name).stdout
            client.write(f"/sessions/{name}/input", b"\x15")
    finally:
        server.command("kill", name)


def test_completing_without_a_server_says_nothing(home: Path) -> None:
    nowhere = ServerProcess(home, PATH=f"{BIN}:{os.environ['PATH']}")
    (home / "duetty.bash").write_text(nowhere.command("completion", "bash").stdout)

    assert bash(nowhere, "attach", "b") == set() or bash(nowhere, "attach", "b") == {""}
