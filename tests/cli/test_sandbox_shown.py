"""That a person sees what a session is confined by, and what a machine can give."""

import json
from pathlib import Path
from typing import Any

import pytest

from duetty.cli.checks import asked_sandbox, disordered
from duetty.sandbox import support
from tests.sandbox.inside import settled_sockets
from tests.server_process import ServerProcess, running_server

needs_bubblewrap = pytest.mark.skipif(
    support().bubblewrap is None, reason="bubblewrap makes no namespaces here"
)


@needs_bubblewrap
def test_a_list_says_which_sessions_are_confined_if_any_is(home: Path) -> None:
    (home / "ws").mkdir()
    with settled_sockets(), running_server(home) as server:
        server.client.post("/sessions", {"name": "bare", "command": "bash"})
        before = server.command("list").stdout
        server.client.post(
            "/sessions",
            {
                "name": "apart",
                "command": "bash",
                "sandbox": "bubblewrap",
                "workspaces": [str(home / "ws")],
                "cwd": str(home / "ws"),
            },
        )
        after = server.command("list").stdout.splitlines()

    assert "SANDBOX" not in before
    assert "SANDBOX" in after[0]
    assert [each.split()[0] for each in after if "bubblewrap" in each] == ["apart"]


def findings(home: Path, **env: str) -> dict[str, dict[str, Any]]:
    said = ServerProcess(home, **env).command("doctor", "--json").stdout
    return {each["what"]: each for each in json.loads(said)}


def test_the_doctor_says_which_sandboxes_can_be_had(home: Path) -> None:
    offered = support()

    found = findings(home)

    assert (found["bubblewrap"]["verdict"] == "ok") == (offered.bubblewrap is not None)
    assert (found["landlock"]["verdict"] == "ok") == (offered.landlock >= 6)
    assert f"ABI {offered.landlock}" in found["landlock"]["summary"] or not offered.landlock
    assert "sandbox" not in found


def test_the_doctor_tells_when_what_is_asked_for_cannot_be_had() -> None:
    nothing = {"bubblewrap": False, "landlock": False}

    assert [each.verdict for each in asked_sandbox("any", nothing)] == ["broken"]
    assert list(asked_sandbox("any", nothing | {"landlock": True})) == []
    assert [each.what for each in asked_sandbox("bubblewrap", nothing | {"landlock": True})]
    assert list(asked_sandbox("none", nothing)) == []


def test_the_doctor_names_a_repository_that_was_put_out_of_use(tmp_path: Path) -> None:
    (tmp_path / ".git/objects").mkdir(parents=True)
    (tmp_path / ".git/refs").mkdir()
    (tmp_path / ".git/config").touch()
    before = [each.verdict for each in disordered([str(tmp_path)])]

    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")

    assert before == ["warning"]
    assert list(disordered([str(tmp_path)])) == []
