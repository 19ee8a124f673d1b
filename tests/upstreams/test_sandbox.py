"""A program in a sandbox: what it may not do, and that it is not started with less."""

import tempfile
from pathlib import Path

import anyio
import pytest

import duetty
from duetty.errors import SandboxUnavailable
from duetty.sandbox import SandboxRequest, support
from duetty.upstreams import Program
from tests.sandbox.inside import settled_sockets
from tests.upstreams.running import HERE, WAIT_S, Home, named, plain, trusted, until


def ordered(workspace: Path) -> SandboxRequest:
    return SandboxRequest(asked="bubblewrap", workspaces=(str(workspace),))


@pytest.mark.skipif(support().bubblewrap is None, reason="bubblewrap may make no namespaces here")
@pytest.mark.skipif(
    Path("/tmp") in HERE.resolve().parents or Path("/tmp") in Path(duetty.__file__).parents,
    reason="a sandbox has a /tmp of its own, and this checkout lies there",
)
async def test_a_program_in_a_sandbox_writes_its_workspace_and_nothing_else(
    tmp_path: Path,
) -> None:
    workspace, outside = tmp_path / "workspace", HERE / "written-by-a-test"
    workspace.mkdir()
    home = Home(tmp_path)
    home.environment["HOME"] = "/"
    table = plain(tools=named("write", "echo")) | {"cwd": str(workspace)}

    def sandbox(program: Program) -> SandboxRequest:
        return ordered(workspace)

    async with home.running(it=table, sandbox=sandbox) as upstreams:
        with settled_sockets():
            upstream = await trusted(upstreams)
        assert upstream.link is not None
        with anyio.fail_after(WAIT_S):
            inside = await upstreams.call("it", "write", {"path": str(workspace / "file")})
            refused = await upstreams.call("it", "write", {"path": str(outside)})

        assert upstream.link.sandbox == "bubblewrap"
        assert inside["content"][0]["text"] == "written"
        assert (workspace / "file").read_text(encoding="utf-8") == "written"
        assert refused["isError"]
        assert not outside.exists()


async def test_a_sandbox_that_cannot_be_had_is_an_error_and_nothing_starts(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)

    def sandbox(program: Program) -> SandboxRequest:
        raise SandboxUnavailable("no sandbox can be had")

    async with home.running(it=plain(), sandbox=sandbox) as upstreams:
        upstream = upstreams.find("it")
        await until(upstreams, lambda: upstream.state == "failed")

        assert isinstance(upstream.error, SandboxUnavailable)
        assert upstream.retry_at_ns is None


@pytest.mark.skipif(support().bubblewrap is None, reason="bubblewrap may make no namespaces here")
async def test_a_program_that_its_sandbox_hides_is_not_said_to_be_missing(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        program = Path(place) / "program"
        program.write_text("#!/bin/sh\nexec cat\n", encoding="utf-8")
        program.chmod(0o755)
        table = {"command": str(program), "sandbox": "bubblewrap", "cwd": "/"}
        async with Home(tmp_path).running(it=table) as upstreams:
            upstream = upstreams.find("it")
            await until(upstreams, lambda: upstream.state == "failed")

            assert upstream.error is not None
            assert "its sandbox may hide the file" in str(upstream.error.hint)


async def test_one_that_is_late_in_a_sandbox_is_told_to_need_the_network(tmp_path: Path) -> None:
    table = plain(mute=True) | {"start_timeout": 1}
    async with Home(tmp_path).running(it=table, free=table | {"network": True}) as upstreams:
        late, free = upstreams.find("it"), upstreams.find("free")
        await until(upstreams, lambda: late.state == free.state == "failed")

        assert late.error is not None
        assert free.error is not None
        assert "network = true" in str(late.error.hint)
        assert "network" not in str(free.error.hint)
