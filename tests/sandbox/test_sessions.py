"""Sessions in a sandbox: as exact as any other, and confined."""

import os
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from duetty.calls import Actor, Confinement
from duetty.config import Settings, find_paths
from duetty.errors import (
    BadArguments,
    BadWorkingDirectory,
    PolicyDenied,
    Refused,
    SandboxUnavailable,
)
from duetty.events import Degraded, Entry
from duetty.ops.oversight import of_every_instance
from duetty.sandbox import Places, RequestedLevel, SandboxRequest, Support, support, wrap
from tests.engine import Engine, running_engine
from tests.sandbox.inside import LEVELS, settled_sockets

PERSON = Actor(kind="person", name="anna")

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.pty,
    pytest.mark.skipif(
        support().bubblewrap is None or not support().has_landlock,
        reason="this machine has no user namespaces, no bubblewrap or no Landlock",
    ),
]


@asynccontextmanager
async def sandboxed(home: Path, **settings: object) -> AsyncGenerator[Engine]:
    workspace = home / "ws"
    workspace.mkdir(exist_ok=True)
    given: dict[str, object] = {
        "session_grace_ms": 300,
        "policy_profile": "open",
        "session_sandbox": "bubblewrap",
        "sandbox_workspaces": (str(workspace),),
        **settings,
    }
    started = running_engine(home, settings=Settings(**given))  # type: ignore[arg-type]
    with settled_sockets():
        async with started as engine:
            with anyio.fail_after(60):
                yield engine


async def run_by_a_person(engine: Engine, line: str) -> Any:
    """What policy would ask an agent about, before a sandbox had anything to refuse."""
    person = Actor(kind="person", name="p")
    return await engine.dispatcher.call(person, "command.run", {"session": "s", "input": line})


@pytest.mark.shells
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "dash"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.sampled(3)
async def test_exit_codes_and_output_are_exact_inside(
    home: Path, level: RequestedLevel, shell: str
) -> None:
    async with sandboxed(home, session_sandbox=level) as engine:
        await engine.open(command=shell, cwd=str(home / "ws"))

        ran = [await engine.run(line) for line in ("echo hello", "false", "sh -c 'exit 42'")]

        assert [(each.exit_code, each.completed_by) for each in ran] == [
            (0, "mark"),
            (1, "mark"),
            (42, "mark"),
        ]
        assert ran[0].output.strip() == "hello"
        assert (await engine.call("session.get", session="s")).sandbox == level


@pytest.mark.parametrize("level", LEVELS)
async def test_only_the_workspace_is_written(home: Path, level: RequestedLevel) -> None:
    async with sandboxed(home, session_sandbox=level) as engine:
        await engine.open(cwd=str(home / "ws"))

        inside = await engine.run("echo x > made")
        outside = await engine.run(f"echo x > {home}/made")

        assert (inside.exit_code, outside.exit_code) == (0, 1)
        assert (home / "ws/made").read_text() == "x\n"
        assert not (home / "made").exists()


@pytest.mark.parametrize("level", LEVELS)
async def test_tokens_and_sockets_of_the_server_are_hidden(
    home: Path, level: RequestedLevel
) -> None:
    async with sandboxed(home, session_sandbox=level) as engine:
        (engine.paths.state / "token").write_text("SECRET")
        await engine.open(cwd=str(home / "ws"))

        read = await run_by_a_person(
            engine, f"cat {engine.paths.state}/token {engine.paths.state}/duetty.db"
        )
        sockets = await run_by_a_person(engine, f"ls {engine.paths.runtime}/*.sock")

        assert (read.exit_code, "SECRET" in read.output) == (1, False)
        assert sockets.exit_code != 0


@pytest.mark.parametrize("level", LEVELS)
async def test_a_terminal_cannot_be_typed_into_from_inside(
    home: Path, level: RequestedLevel
) -> None:
    """TIOCSTI: CVE-2017-5226."""
    (home / "ws").mkdir()
    (home / "ws/push.py").write_text(
        "import fcntl, termios\n"
        "for request in (termios.TIOCSTI, 0x541C, termios.TIOCSTI | 1 << 32):\n"
        "    try:\n"
        "        fcntl.ioctl(0, request & 0xFFFFFFFF, b'x')\n"
        "        print('DONE')\n"
        "    except PermissionError:\n"
        "        print('refused')\n"
    )
    async with sandboxed(home, session_sandbox=level) as engine:
        await engine.open(cwd=str(home / "ws"))

        ran = await engine.run("/usr/bin/python3 push.py")

        assert ran.output.split() == ["refused"] * 3


@pytest.mark.parametrize("level", LEVELS)
async def test_interrupts_job_control_and_resizing_work_inside(
    home: Path, level: RequestedLevel
) -> None:
    async with sandboxed(home, session_sandbox=level) as engine:
        session = await engine.open(cwd=str(home / "ws"))
        await engine.run("true")

        await engine.run("sleep 60", max_wait_ms=200)
        await engine.call("input.interrupt", session="s")
        await engine.call("session.wait", session="s", state=["prompt"], max_wait_ms=30_000)
        interrupted = await engine.run("echo code $?")

        line = "sh -c 'echo star''ted; exec sleep 60'\r"
        await engine.call("input.write", session="s", data=line)
        await engine.call("session.wait", session="s", text="started", max_wait_ms=30_000)
        await engine.call("input.write", session="s", data="\x1a")
        await engine.call("session.wait", session="s", state=["prompt"], max_wait_ms=30_000)
        jobs = await engine.run("jobs")
        await engine.call("session.resize", session="s", cols=91, rows=33)
        size = await engine.run("stty size")

        assert "code 130" in interrupted.output
        assert "sleep 60" in jobs.output
        assert size.output.strip() == "33 91"
        assert not session.is_exited


async def test_the_directory_of_a_call_widens_nothing(home: Path) -> None:
    """CVE-2025-59532."""
    async with sandboxed(home) as engine:
        await engine.open(cwd="/")

        ran = await engine.run(f"pwd; touch /made {home}/made")

        assert ran.output.splitlines()[0] == "/"
        assert ran.exit_code == 1


async def test_an_agent_may_tighten_and_never_widen(home: Path) -> None:
    async with sandboxed(home) as engine:
        for arguments in (
            {"sandbox": "none"},
            {"sandbox": "landlock"},
            {"workspaces": ["/"]},
            {"workspaces": [str(home)]},
            {"workspaces": [f"{home}/ws/.."]},
            {"workspaces": [f"{home}/ws/.git"]},
            {"workspaces": [f"{home}/ws/.git/hooks"]},
            {"workspaces": [f"{home}/ws/deep/.vscode"]},
            {"workspaces": [f"{home}/ws/.local/bin"]},
        ):
            with pytest.raises(PolicyDenied):
                await engine.call("session.open", name="s", **arguments)
        with pytest.raises(PolicyDenied):  # what is in a workspace could be exchanged for a link
            await engine.call("session.open", name="s", workspaces=[f"{home}/ws/part"])
        same = {"name": "same", "workspaces": [f"{home}/ws"], "cwd": f"{home}/ws"}
        opened = await engine.call("session.open", **same)
        nothing: list[str] = []
        await engine.call("session.open", name="narrow", workspaces=nothing, cwd=f"{home}/ws")
        ran = await engine.run("touch y", session="narrow")

        assert opened.sandbox == "bubblewrap"
        assert ran.exit_code == 1


async def test_an_agent_may_ask_for_a_sandbox_that_is_not_the_rule(home: Path) -> None:
    async with sandboxed(home, session_sandbox="none") as engine:
        session = await engine.open(sandbox="any")

        assert session.profile.sandbox == "bubblewrap"


async def test_a_person_chooses_freely(home: Path) -> None:
    async with sandboxed(home) as engine:
        chosen = {"name": "s", "sandbox": "none"}
        bare = await engine.dispatcher.call(PERSON, "session.open", chosen)
        (home / "mine").mkdir()
        wide = {"name": "w", "workspaces": [str(home / "mine")]}
        await engine.dispatcher.call(PERSON, "session.open", wide)
        ran = await engine.run(f"touch {home}/mine/x", session="w")

        assert (bare.sandbox, ran.exit_code) == ("none", 0)


async def test_the_level_outlives_the_server(home: Path) -> None:
    async with sandboxed(home) as engine:
        await engine.open(cwd=str(home / "ws"))
        await engine.run("true")
        record = engine.registry.find("s")
        engine.store.flush()
        [stored] = [each for each in engine.store.sessions() if each.id == record.profile.id]

        assert stored.sandbox == "bubblewrap"


async def test_what_cannot_be_had_is_an_error_and_nothing_runs(home: Path) -> None:
    nothing = Support(
        bubblewrap=None,
        bubblewrap_reason="bubblewrap is not installed",
        landlock=0,
        machine="x86_64",
    )
    every: tuple[RequestedLevel, ...] = ("any", "bubblewrap", "landlock")
    for asked in every:
        with pytest.raises(SandboxUnavailable):
            wrap(
                ["/bin/true"],
                {},
                cwd="/",
                order=SandboxRequest(asked=asked),
                places=Places(hidden=()),
                offered=nothing,
            )


async def test_where_user_namespaces_are_off_the_best_is_landlock_and_it_says_so(
    home: Path,
) -> None:
    without = replace(support(), bubblewrap=None, bubblewrap_reason="no user namespaces")

    def wrapped(asked: RequestedLevel) -> str:
        order, places = SandboxRequest(asked=asked), Places(hidden=())
        return wrap(["/bin/true"], {}, cwd="/", order=order, places=places, offered=without).level

    assert wrapped("any") == "landlock"
    with pytest.raises(SandboxUnavailable):
        wrapped("bubblewrap")


@pytest.mark.parametrize(
    ("workspace", "why"),
    [
        ("/", "whole machine"),
        ("/nowhere/at/all", "No such file"),
        ("/etc/passwd", "not a directory"),
        ("/proc", "belongs to the kernel"),
        ("/proc/self/fd", "belongs to the kernel"),
        ("/sys", "belongs to the kernel"),
        ("/dev", "belongs to the kernel"),
        ("/dev/shm", "belongs to the kernel"),
    ],
)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.sampled(3)
async def test_a_workspace_is_a_directory_for_files_and_not_all_there_is(
    home: Path, level: RequestedLevel, workspace: str, why: str
) -> None:
    async with sandboxed(home, session_sandbox=level, sandbox_workspaces=(workspace,)) as engine:
        with pytest.raises(BadArguments, match=why):
            await engine.open()


@pytest.mark.parametrize("level", LEVELS)
async def test_a_server_that_is_started_later_is_hidden_too(
    home: Path, level: RequestedLevel
) -> None:
    """By its usual places: this one was told of others."""
    token = home / ".local/state/duetty/default/token"
    settings = home / ".config/duetty/config.toml"
    async with sandboxed(home, session_sandbox=level) as engine:
        await engine.open(cwd=str(home / "ws"))
        await engine.run("true")
        for file in (token, settings):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("SECRET")

        read = await run_by_a_person(engine, f"cat {token} {settings}")

        assert (read.exit_code, "SECRET" in read.output) == (1, False)
        assert settings.parent.stat().st_mode & 0o777 == 0o700


async def test_no_directory_is_made_where_no_sandbox_is_asked_for(home: Path) -> None:
    async with sandboxed(home, session_sandbox="none") as engine:
        await engine.open()

        assert not (home / ".config/duetty").exists()
        assert not (home / ".local/state/duetty").exists()


async def test_the_servers_own_directory_is_no_workspace(home: Path) -> None:
    async with sandboxed(home, sandbox_workspaces=(str(home / "state/default"),)) as engine:
        with pytest.raises(BadArguments):
            await engine.open()


@pytest.mark.parametrize(
    ("moved", "beside", "is_whole"),
    [("dh", "", True), ("dh", "project", False), (".", "", False), ("..", "", False)],
)
def test_a_home_of_servers_alone_is_hidden_as_a_whole(
    tmp_path: Path, moved: str, beside: str, is_whole: bool
) -> None:
    """Settings that somebody makes there later are in it; where the person works, they alone are."""
    person = tmp_path / "person"
    paths = find_paths({"DUETTY_HOME": os.path.normpath(person / moved)})
    for each in (paths.state, person, paths.config_file.parent / beside):
        each.mkdir(parents=True, exist_ok=True)

    found = of_every_instance(paths, home=str(person))

    assert {paths.state.parent, paths.runtime.parent, paths.config_file} <= set(found)
    assert (paths.config_file.parent in found) == is_whole


async def test_a_directory_that_is_not_there_inside_is_told(home: Path, tmp_path: Path) -> None:
    async with sandboxed(home) as engine:
        with pytest.raises(BadWorkingDirectory):
            await engine.open(cwd=str(tmp_path))


@pytest.mark.parametrize("level", LEVELS)
async def test_a_command_inside_reads_the_stdin_it_was_given(
    home: Path, level: RequestedLevel
) -> None:
    async with sandboxed(home, session_sandbox=level) as engine:
        await engine.open(cwd=str(home / "ws"))

        written = await engine.run("cat > made", stdin="it's\n" * 10_000)

        assert (written.exit_code, written.output) == (0, "")
        assert (home / "ws/made").read_text() == "it's\n" * 10_000


async def test_closing_ends_everything_inside(home: Path) -> None:
    async with sandboxed(home) as engine:
        session = await engine.open(cwd=str(home / "ws"))
        await engine.run("(setsid sleep 1234 &)")

        await engine.call("session.close", session="s")

        listed = await anyio.run_process(["ps", "-eo", "ppid,args"])
        assert session.is_exited
        assert b"sleep 1234" not in listed.stdout


@pytest.mark.parametrize("level", LEVELS)
async def test_commands_without_a_terminal_are_confined_too(
    home: Path, level: RequestedLevel
) -> None:
    async with sandboxed(home, session_sandbox=level) as engine:
        where = {"cwd": str(home / "ws"), "max_file_mib": 1}
        wrote = await engine.call("process.run", command="echo x > made; cat", stdin="in", **where)
        refused = await engine.call("process.run", command=f"echo x > {home}/made", **where)
        with pytest.raises(PolicyDenied):
            await engine.call("process.run", command="true", sandbox="none")

        assert (wrote.process.sandbox, wrote.stdout) == (level, "in")
        assert (home / "ws/made").exists()
        assert refused.process.exit_code != 0
        assert not (home / "made").exists()


async def test_a_confined_command_can_be_stopped_with_all_it_started(home: Path) -> None:
    async with sandboxed(home) as engine:
        started = await engine.call(
            "process.start", command="sleep 4321 & sleep 4321", cwd=str(home / "ws")
        )
        await engine.call("process.stop", process=started.id, grace_ms=200)

        listed = await anyio.run_process(["ps", "-eo", "args"])
        assert b"sleep 4321" not in listed.stdout


@pytest.mark.parametrize("level", LEVELS)
async def test_a_line_typed_by_an_agent_is_judged_inside_too(
    home: Path, level: RequestedLevel
) -> None:
    async with sandboxed(home, session_sandbox=level, policy_profile="guarded") as engine:
        await engine.open(cwd=str(home / "ws"))
        await engine.run("true")

        with pytest.raises(Refused):
            await engine.call("input.write", session="s", data="rm -rf .git\r")


async def test_a_repository_that_a_session_broke_is_told_when_it_ends(home: Path) -> None:
    async with sandboxed(home) as engine:
        subprocess.run(["git", "init", "-q", str(home / "ws")], check=True)
        await engine.dispatcher.call(PERSON, "session.open", {"name": "s", "command": "bash"})
        session = engine.registry.find("s")
        assert session.degraded is None
        told: list[Degraded] = []
        with session.log.subscribe() as entries:
            await run_by_a_person(engine, f"rm {home}/ws/.git/HEAD")
            await engine.dispatcher.call(PERSON, "input.write", {"session": "s", "data": "exit\n"})
            while not told:
                entry = await entries.receive()
                if isinstance(entry, Entry) and isinstance(entry.event, Degraded):
                    told.append(entry.event)

        assert told == [Degraded(part="workspace", reason=session.degraded)]
        assert f"{home}/ws/.git/HEAD" in (session.degraded or "")


CONFINED = Actor(kind="agent", name="local", confined=Confinement(sandbox="any"))


@pytest.mark.parametrize("asked", ["none", "landlock"])
async def test_a_confined_connection_opens_nothing_with_less(home: Path, asked: str) -> None:
    async with sandboxed(home, session_sandbox="none") as engine:
        for operation, more in (
            ("session.open", {"name": "s"}),
            ("process.run", {"command": "true"}),
            ("process.start", {"command": "true"}),
        ):
            with pytest.raises(PolicyDenied) as denied:
                await engine.dispatcher.call(CONFINED, operation, {**more, "sandbox": asked})

            assert denied.value.details["rule"] == "mcp --sandbox"


async def test_a_confined_connection_has_its_own_workspace_and_names_no_other(home: Path) -> None:
    (home / "own").mkdir()
    actor = replace(CONFINED, confined=Confinement(sandbox="any", workspaces=(str(home / "own"),)))
    async with sandboxed(home, session_sandbox="none") as engine:
        await engine.dispatcher.call(actor, "session.open", {"name": "s", "cwd": str(home / "own")})
        ran = await engine.run(f"touch mine; touch {home}/ws/theirs; echo $PIP_CACHE_DIR")

        with pytest.raises(PolicyDenied):
            await engine.dispatcher.call(actor, "session.open", {"workspaces": [str(home / "ws")]})

        assert (home / "own/mine").exists()
        assert not (home / "ws/theirs").exists()
        assert str(engine.paths.state / "caches") in ran.output


async def test_a_confined_connection_does_nothing_in_a_bare_session(home: Path) -> None:
    async with sandboxed(home, session_sandbox="none") as engine:
        await engine.open()
        for operation, more in (
            ("command.run", {"input": "touch escaped"}),
            ("input.write", {"data": "touch escaped\r"}),
            ("session.close", {}),
        ):
            with pytest.raises(PolicyDenied, match="no sandbox"):
                await engine.dispatcher.call(CONFINED, operation, {"session": "s", **more})

        bare = await engine.call("process.start", command="sleep 60", sandbox="none")
        with pytest.raises(PolicyDenied, match="no sandbox"):
            await engine.dispatcher.call(CONFINED, "process.stop", {"process": bare.id})
        screen = await engine.dispatcher.call(CONFINED, "screen.get", {"session": "s"})

        assert screen is not None
        assert not (home / "escaped").exists()


async def test_what_a_confined_connection_runs_is_judged_as_confined(home: Path) -> None:
    async with sandboxed(home, session_sandbox="none", policy_profile="guarded") as engine:
        for actor in (CONFINED, replace(CONFINED, confined=None)):
            await engine.dispatcher.call(actor, "process.run", {"command": "true"})

        trail = "".join(each.read_text() for each in engine.paths.state.rglob("*.jsonl"))

        calls = [line for line in trail.splitlines() if '"process.run"' in line]
        assert [
            '"sandbox":"closed"' in line.replace(" ", "") for line in calls if "judged" in line
        ] == [
            True,
            False,
        ]


@pytest.mark.parametrize("level", LEVELS)
async def test_the_guardrail_asks_only_at_the_edge_of_a_sandbox(
    home: Path, level: RequestedLevel
) -> None:
    async with sandboxed(home, session_sandbox=level, policy_profile="guarded") as engine:
        await engine.open(command="bash", cwd=str(home / "ws"))

        contained = await engine.run("rm -rf /usr/share/doc; echo tried; rm -rf /nowhere")
        process = await engine.call("process.run", command="rm -rf /usr/share/doc", cwd=str(home))
        with pytest.raises(PolicyDenied) as refused:
            await engine.run("mkdir -p x/.git; rm -rf .git")

    assert "tried" in contained.output
    assert process.process.exit_code != 0
    assert Path("/usr/share/doc").exists()
    assert refused.value.details["classes"] == ["workspace_delete"]
