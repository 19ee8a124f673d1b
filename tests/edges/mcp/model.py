"""Tasks as a model would solve them: with tool calls only, counted in calls, bytes and time."""

import json
import shlex
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.types import TextContent


@dataclass(slots=True, kw_only=True)
class Spent:
    """What a task cost."""

    calls: int = 0
    bytes: int = 0
    """Of text that the model was given to read."""

    wall_s: float = 0.0


class Model:
    """One session and the calls on it."""

    def __init__(self, client: Client, session: str, place: Path) -> None:
        self._client = client
        self.session = session
        self.place = place
        self.spent = Spent()

    async def use(self, tool: str, **arguments: object) -> dict[str, Any]:
        began_s = time.perf_counter()
        result = await self._client.call_tool(tool, arguments)
        self.spent.wall_s += time.perf_counter() - began_s
        self.spent.calls += 1
        self.spent.bytes += sum(
            len(block.text.encode()) for block in result.content if isinstance(block, TextContent)
        )
        content = result.structured_content
        assert isinstance(content, dict), result.content
        assert not result.is_error, content
        return content  # pyright: ignore[reportUnknownVariableType]  # JSON

    async def run(self, line: str, **arguments: object) -> dict[str, Any]:
        wanted = {"session": self.session, "view": "output", **arguments}
        return await self.use("wsh_run_command", input=line, **wanted)

    async def press(self, *keys: str, text: str | None = None) -> None:
        given: dict[str, object] = {"keys": list(keys)} if keys else {}
        if text is not None:
            given["input"] = text
        await self.use("wsh_send_input", session=self.session, **given)

    async def settle(self) -> None:
        """Let a program that was told to leave do so before the next line is typed."""
        await self.use("wsh_await_quiesce", session=self.session, timeout_ms=300)

    async def screen(self) -> str:
        seen = await self.use("wsh_get_screen", session=self.session, format="plain")
        return "\n".join(seen["lines"])


async def edit_in_vim(model: Model) -> None:
    """Change one word of a file with vim and leave it."""
    path = model.place / "notes.txt"
    path.write_text("one\ntwo\nthree\n")
    opened = await model.run(f"vim -u NONE -N {shlex.quote(str(path))}")
    assert opened["completed_by"] == "fullscreen"
    left = await model.run(":2s/two/zwei/ | wq")
    assert (left["completed_by"], left["state"], left["exit_code"]) == ("mark", "prompt", 0)
    assert path.read_text() == "one\nzwei\nthree\n"


async def bisect(model: Model) -> None:
    """Find the commit that broke something, in a repository of 32."""
    place = shlex.quote(str(model.place / "repo"))
    script = (
        f"git init -q {place} && cd {place} && git config user.email a@b && git config user.name a && "
        'for i in $(seq 1 32); do [ "$i" -ge 21 ] && echo broken > state || echo fine > state; '
        "echo $i > n; git add -A; git commit -qm c$i; done; git log --oneline | wc -l"
    )
    made = await model.run(script, max_wait_ms=60_000)
    assert made["output"].strip() == "32"
    await model.run("git bisect start HEAD HEAD~31")
    found = await model.run("git bisect run grep -q fine state", max_wait_ms=60_000)
    assert "is the first bad commit" in found["output"]
    shown = await model.run("git --no-pager log -1 --format=%s refs/bisect/bad")
    assert shown["output"] == "c21"


async def answer_installer(model: Model) -> None:
    """Go through the questions of an installer, a password among them."""
    path = model.place / "install.sh"
    path.write_text(
        'read -p "Directory [/opt]: " d\nread -sp "Password: " p; echo\n'
        'read -p "Continue? [y/N] " a\n[ "$a" = y ] && echo "installed in $d with ${#p} letters"\n'
    )
    asked = await model.run(f"bash {shlex.quote(str(path))}")
    assert (asked["completed_by"], asked["state"]) == ("input", "awaiting_input")
    hidden = await model.run("/srv/app")
    assert hidden["state"] == "awaiting_password"
    sure = await model.run("secret")
    assert sure["state"] == "awaiting_input"
    done = await model.run("y")
    assert "installed in /srv/app with 6 letters" in done["output"]
    assert (done["completed_by"], done["exit_code"]) == ("mark", 0)


async def drive_repl_and_pager(model: Model) -> None:
    """Compute something in Python's REPL, look at a page in less, leave both."""
    begun = await model.run("python3 -q")
    assert begun["completed_by"] == "input"
    await model.run("squares = [n * n for n in range(10)]")
    summed = await model.run("print('sum', sum(squares))")
    assert "sum 285" in summed["output"]
    left = await model.run("exit()")
    assert (left["completed_by"], left["exit_code"]) == ("mark", 0)
    paged = await model.run("seq 1 500 | less")
    assert paged["completed_by"] == "fullscreen"
    found = await model.run("/^250$", view="screen", format="plain")
    assert found["screen"]["lines"][0] == "250"
    await model.press("q")
    await model.settle()
    assert (await model.run("echo out"))["output"] == "out"


async def find_in_log(model: Model) -> None:
    """Find the one failing line in 50,000."""
    path = model.place / "server.log"
    lines = [f"2026-11-16 12:00:{n % 60:02} worker {n % 8} ok request {n}" for n in range(50_000)]
    lines[31_337] = "2026-11-16 12:00:17 worker 1 FAILED request 31337: timeout"
    path.write_text("\n".join(lines) + "\n")
    found = await model.run(f"grep -n FAILED {shlex.quote(str(path))}")
    assert found["output"].startswith("31338:")


async def three_servers(model: Model) -> None:
    """Start three servers, see that they answer, stop one, see that it no longer does."""
    names = [f"{model.session}-web{n}" for n in range(3)]
    ports: list[str] = []
    for name in names:
        await model.use("wsh_create_session", name=name, cwd=str(model.place))
        begun = await model.use(
            "wsh_run_command",
            session=name,
            input="python3 -u -m http.server 0 --bind 127.0.0.1",
            until_regex=r"port (\d+)",
            view="output",
            max_wait_ms=30_000,
        )
        assert begun["completed_by"] == "text"
        ports.append(begun["match"].removeprefix("port "))
    probe = f"""for p in {" ".join(ports)}; do python3 -c "
import sys, urllib.request
urllib.request.urlopen('http://127.0.0.1:' + sys.argv[1]).read()" $p 2>/dev/null && echo up || echo down; done"""
    assert (await model.run(probe))["output"].split() == ["up", "up", "up"]
    await model.use("wsh_manage_session", session=names[1], action="kill")
    assert (await model.run(probe))["output"].split() == ["up", "down", "up"]
    for name in (names[0], names[2]):
        await model.use("wsh_manage_session", session=name, action="kill")


async def recover_from_fullscreen(model: Model) -> None:
    """Somebody left an editor open; see it, leave it, go on."""
    path = shlex.quote(str(model.place / "left.txt"))
    await model.run(f"vim -u NONE -N {path}")
    await model.press(text="ihalf a line")
    listed = await model.use("wsh_list_sessions", session=model.session)
    assert listed["state"] == "fullscreen"
    assert "half a line" in await model.screen()
    await model.press("Escape")
    left = await model.run(":q!")
    assert (left["completed_by"], left["state"]) == ("mark", "prompt")


TASKS: dict[str, Callable[[Model], Awaitable[None]]] = {
    "edit a file in vim": edit_in_vim,
    "bisect a repository": bisect,
    "answer an interactive installer": answer_installer,
    "drive a REPL and less": drive_repl_and_pager,
    "find a line in 50,000": find_in_log,
    "run three servers, stop one": three_servers,
    "recover from an editor left open": recover_from_fullscreen,
}
NEEDS = {
    "edit a file in vim": "vim",
    "bisect a repository": "git",
    "drive a REPL and less": "less",
    "recover from an editor left open": "vim",
}


async def solve(client: Client, what: str, session: str, place: Path) -> Spent:
    """One task in a session of its own."""
    await client.call_tool(
        "wsh_create_session", {"name": session, "command": "bash", "cwd": str(place)}
    )
    model = Model(client, session, place)
    try:
        await TASKS[what](model)
    finally:
        await client.call_tool("wsh_manage_session", {"session": session, "action": "kill"})
    return model.spent


def shown(spent: Spent) -> str:
    return json.dumps(
        {"calls": spent.calls, "bytes": spent.bytes, "wall_ms": round(spent.wall_s * 1000)}
    )
