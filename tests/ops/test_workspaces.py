"""A session's workspace: where agents change files without a question, and who may set it."""

from pathlib import Path

import anyio
import pytest

from duetty.config import Settings
from duetty.errors import BadWorkingDirectory, NotAPerson, PolicyDenied
from duetty.workspaces import workspace_of
from tests.engine import running_engine
from tests.ops.at_a_shell import ANNA

GUARDED = Settings(session_grace_ms=300, policy_profile="guarded")


@pytest.mark.parametrize(
    ("directory", "workspace"),
    [
        ("/home/anna/app/src/deep", "/home/anna/app"),
        ("/home/anna/notes", "/home/anna/notes"),
        ("/home/anna", ""),
        ("/home/bob", ""),
        ("/home", ""),
        ("/", ""),
        ("/etc/nginx", ""),
        ("/usr/local/src", ""),
        ("/tmp", ""),
        ("/tmp/build", "/tmp/build"),
        ("/var/www", ""),
        ("/var/www/site", "/var/www/site"),
        ("/app", "/app"),
        ("/opt", ""),
        ("/opt/tool", "/opt/tool"),
        ("relative", ""),
        ("/home/anna/app/../../bob", ""),
    ],
)
def test_the_workspace_of_a_directory(
    monkeypatch: pytest.MonkeyPatch, directory: str, workspace: str
) -> None:
    repository = "/home/anna/app/.git"
    monkeypatch.setattr("os.path.lexists", lambda path: str(path) == repository)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]

    assert workspace_of(directory, "/home/anna") == workspace


def test_a_home_that_is_a_repository_is_no_workspace(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "notes").mkdir()

    assert workspace_of(str(tmp_path / "notes"), str(tmp_path)) == str(tmp_path / "notes")


@pytest.mark.anyio
@pytest.mark.pty
async def test_agents_delete_inside_unasked_and_outside_not_at_all(home: Path) -> None:
    project = home / "project"
    for each in (project / "old", project / ".git"):
        each.mkdir(parents=True)
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            opened = await engine.call(
                "session.open", name="s", command="bash", cwd=str(project / "old")
            )
            assert opened.workspace == str(project)
            await engine.run("cd .. && rm -rf ./old")
            assert not (project / "old").exists()
            for line in (
                "rm -rf .git",
                "rm -rf /nowhere/other",
                "rm -rf .",
                "cd /nowhere; rm -rf other",
            ):
                with pytest.raises(PolicyDenied) as refused:
                    await engine.run(line)
                assert refused.value.hint is not None
                assert "duetty attach" in refused.value.hint
            assert (project / ".git").exists()


@pytest.mark.anyio
@pytest.mark.pty
async def test_a_directory_that_a_call_names_never_widens_the_workspace(home: Path) -> None:
    project = home / "project"
    project.mkdir()
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            await engine.call("session.open", name="s", command="bash", cwd=str(project))
            await engine.run("cd /mnt")
            info = await engine.call("session.get", session="s")
            with pytest.raises(PolicyDenied):
                await engine.run("rm -rf nowhere")
            with pytest.raises(PolicyDenied):
                await engine.call("process.run", command="rm -rf ssh", cwd="/etc")

    assert info.workspace == str(project)


@pytest.mark.anyio
@pytest.mark.pty
async def test_a_person_sets_the_workspace_and_it_is_kept(home: Path) -> None:
    for name in ("one", "two"):
        (home / name).mkdir()
    async with running_engine(home, settings=GUARDED, keep_sessions=True) as engine:
        with anyio.fail_after(60):
            await engine.call("session.open", name="s", command="bash", cwd=str(home / "one"))
            with pytest.raises(NotAPerson):
                await engine.call("session.update", session="s", workspace=str(home / "two"))
            for wrong in ("/", str(home), "/etc", "nowhere", str(home / "missing")):
                with pytest.raises(BadWorkingDirectory):
                    await engine.dispatcher.call(
                        ANNA, "session.update", {"session": "s", "workspace": wrong}
                    )
            given = {"session": "s", "workspace": str(home / "two")}
            changed = await engine.dispatcher.call(ANNA, "session.update", given)
            assert changed.workspace == str(home / "two")
    async with running_engine(home, settings=GUARDED) as engine:
        kept = await engine.call("session.get", session="s")
        none = await engine.dispatcher.call(
            ANNA, "session.update", {"session": "s", "workspace": ""}
        )

    assert kept.workspace == str(home / "two")
    assert none.workspace is None
