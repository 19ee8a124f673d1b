"""Pictures of the real page for docs/, made with a real server, real shells and Chromium.

Usage: screenshots.py [DIRECTORY]        (default docs/pictures)
"""

import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.agent.model_server import ModelServer, call, say
from tests.homes import settle_home
from tests.server_process import ServerProcess, running_server
from tests.web.browsing import FLAGS, PHONE, Tab, browsing, chromium

DESKTOP: ViewportSize = {"width": 1320, "height": 820}
TABLET: ViewportSize = {"width": 820, "height": 1100}

WAIT_S = 60
PAUSE_S = 0.7
"""A person's, so that recordings look like one."""

BASHRC = r"""
PS1='\[\e[32m\]\w\[\e[0m\] \[\e[35m\]main\[\e[0m\] $ '
pytest() {
  local row dots
  for row in 0 1 2 3 4 5 6 7 8 9 10 11; do
    dots=$(printf '%*s' $((22 + row * 2)) '' | tr ' ' .)
    printf 'tests/api/test_%s.py \e[32m%s\e[0m' "$(printf 'retry\nauth\npool\n' | sed -n "$((row % 3 + 1))p")" "$dots"
    [ $((row % 5)) = 3 ] && printf '\e[31mF\e[0m'
    printf '\n'
  done
  printf '\n\e[1;31mFAILED\e[0m tests/api/test_retry.py::test_backoff - \e[31mAssertionError\e[0m: 3 != 4\n'
  printf '\e[31m2 failed\e[0m, \e[32m213 passed\e[0m in 1.41s\n'
  sleep 0.4
  return 1
}
build() {
  for step in 8 21 34 47 62; do printf '\rreading sources... [%3d%%] api/client' $step; sleep 0.05; done
  printf '\n\e[33mwarning\e[0m: document is not in any toctree\n'
}
export -f pytest build
cd ~/api 2>/dev/null
"""

RULES = """
[[policy.rules]]
name = "publishing"
decide = "deny"
command = ["npm publish **", "twine upload **"]
why = "releases are made by CI, from a tag"
matches = ["twine upload dist/*"]
not_matches = ["npm pack"]

[[policy.rules]]
name = "migrations"
decide = "ask"
command = ["alembic upgrade **"]
why = "the database is shared"
"""

TRACKER = """
from mcp import types as t
from mcp.server import Server
from mcp.server.stdio import stdio_server
import anyio

TEXT = {"type": "string"}

def tool(name, title, description, *fields, **hints):
    schema = {"type": "object", "properties": {each: TEXT for each in fields}, "required": list(fields)}
    return t.Tool(name=name, title=title, description=description, input_schema=schema, annotations=t.ToolAnnotations(**hints))

TOOLS = [
    tool("find_issues", "Find issues", "Issues whose text holds these words.", "words", read_only_hint=True),
    tool("comment", "Comment", "Adds a comment to an issue.", "issue", "text", destructive_hint=False),
    tool("delete_issue", "Delete an issue", "Deletes an issue for good.", "issue", destructive_hint=True),
]

async def list_tools(ctx, params):
    return t.ListToolsResult(tools=TOOLS)

async def call_tool(ctx, params):
    return t.CallToolResult(content=[t.TextContent(text="3 issues: #12 retries too early, #31 flaky test, #40 docs")])

async def main():
    server = Server("tracker", version="2.1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())

anyio.run(main)
"""


def settle(home: Path) -> Path:
    """Rules of one's own, and a server of tools behind this one."""
    (home / "tracker.py").write_text(TRACKER)
    upstream = f"command = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(home / 'tracker.py'))}]\nsandbox = 'none'\n"
    (home / "config.toml").write_text(f"[upstreams.tracker]\n{upstream}{RULES}")
    return home


def accept_tools(server: ServerProcess) -> None:
    """As a person does who has looked at them."""
    deadline_s = time.monotonic() + WAIT_S
    answer = server.client.get("/upstreams")
    while (found := answer["upstreams"][0])["state"] != "quarantined":
        assert time.monotonic() < deadline_s, found
        answer = server.client.get("/upstreams", after=answer["seq"], wait_ms=1_000)
    server.client.post("/upstreams/tracker/trust", {"fingerprint": found["fingerprint"]})


def prepare(server: ServerProcess) -> None:
    """Sessions as they are on a working day."""
    (server.home / "api/src").mkdir(parents=True)
    (server.home / "api/tests").mkdir()
    (server.home / "api/README.md").write_text("# api\n")
    (server.home / ".bashrc").write_text(BASHRC)
    client = server.client

    def opened(name: str, *lines: str, tags: tuple[str, ...] = (), command: str = "bash") -> None:
        client.post(
            "/sessions",
            {"name": name, "command": command, "tags": list(tags), "cols": 92, "rows": 34},
        )
        for line in lines:
            client.post(f"/sessions/{name}/run", {"input": line})
            time.sleep(PAUSE_S)

    opened(
        "fix-flaky-test",
        "ls --color",
        "git status --short 2>/dev/null; true",
        "pytest -q tests/api",
        tags=("api",),
    )
    opened("docs-build", "build", tags=("docs",))
    opened("postgres-upgrade", "echo 'FATAL: role \"app\" does not exist'", tags=("ops",))
    client.write("/sessions/postgres-upgrade/input", b"exit 1\n")
    opened("release", "echo 'Publishing 0.2.0'", tags=("api",))
    client.post("/sessions/release/wait", {"state": ["prompt"]})
    client.write("/sessions/release/input", b"read -p 'Push tag v0.2.0 to origin? [y/N] ' answer\n")
    opened("monitor", command="htop -d 600")
    client.post("/sessions/release/wait", {"state": ["awaiting_input"]})


@cache
def token_of_claude(server: ServerProcess) -> str:
    wanted = {"name": "claude", "scopes": ["read", "input", "control"]}
    return str(server.client.post("/tokens", wanted)["token"])


def as_claude(server: ServerProcess) -> httpx.Client:
    headers = {"authorization": f"Bearer {token_of_claude(server)}"}
    return httpx.Client(base_url=server.url(), headers=headers, timeout=120)


@contextmanager
def asking(browser: Browser, server: ServerProcess, *lines: str) -> Generator[None]:
    """While an agent's lines wait for a person's answer. A page is open, so that somebody can be asked."""
    with (
        browsing(browser, server) as tab,
        as_claude(server) as agent,
        ThreadPoolExecutor(len(lines)) as calls,
    ):
        tab.goto("approvals")
        tab.page.get_by_text("Nothing waits for you").wait_for()
        for line in lines:
            body = {"input": line, "why": "the tests pass now; publish the fix"}
            calls.submit(agent.post, "/sessions/fix-flaky-test/run", json=body)
            tab.page.locator("[data-approval]").get_by_text(
                line.split("\u202e")[0]
            ).first.wait_for()
        yield
        for each in server.client.get("/approvals")["approvals"]:
            server.client.post(f"/approvals/{each['id']}/decline", {"note": "open a pull request"})


def draw(server: ServerProcess) -> None:
    with as_claude(server) as agent:
        agent.post(
            "/sessions/fix-flaky-test/overlay",
            json={
                "x": 58,
                "y": 5,
                "width": 32,
                "height": 4,
                "background": {"bg": {"r": 28, "g": 33, "b": 48}},
                "spans": [
                    {"text": " What I found\n", "bold": True, "fg": "yellow"},
                    {"text": " retry.py:41 waits "},
                    {"text": "2**n", "fg": "cyan"},
                    {"text": ", the\n test expects "},
                    {"text": "2**(n-1)", "fg": "cyan"},
                    {"text": ".\n"},
                    {"text": " Fixing the code, not the test.", "italic": True},
                ],
            },
        ).raise_for_status()
        agent.post(
            "/sessions/fix-flaky-test/panel",
            json={
                "position": "bottom",
                "height": 1,
                "background": {"bg": {"r": 22, "g": 27, "b": 40}},
                "spans": [
                    {"text": " ━━━━━━━━━━━━", "fg": "blue"},
                    {"text": "━━━━━━━━ ", "fg": {"r": 60, "g": 70, "b": 90}},
                    {"text": "3/5  reproduce → bisect → "},
                    {"text": "fix", "bold": True, "underline": True},
                    {"text": " → test → push"},
                ],
            },
        ).raise_for_status()


def session(tab: Tab) -> None:
    tab.goto("s/fix-flaky-test")
    tab.wait_ready("fix-flaky-test")
    tab.wait_text("fix-flaky-test", "2 failed")


def recording(page: Page) -> None:
    page.wait_for_selector("i[data-is]")
    page.keyboard.press("8")


def opened_record(page: Page) -> None:
    asked = page.locator("#trail [data-kind=call]").filter(has_text="git push --force")
    asked.get_by_role("button").click()


def opened_tool(page: Page) -> None:
    page.locator("[data-tool=delete_issue]").locator("summary").first.click()


def changed_rules(tab: Tab) -> None:
    tab.goto("policy?view=text")
    text = tab.page.locator("#rules")
    expect(text).to_have_value(re.compile("publishing"))
    text.fill(text.input_value().replace('decide = "deny"', 'decide = "ask"'))
    tab.page.get_by_role("button", name="Review changes").click()
    tab.page.locator("#review [data-is=new]").wait_for()


def side_by_side(tab: Tab) -> None:
    session(tab)
    for keys, name in (("Control+Shift+|", "docs-build"), ("Control+Shift+D", "monitor")):
        tab.press(keys)
        tab.page.get_by_role("option", name=name).click()
        tab.wait_ready(name)


def shared(tab: Tab) -> None:
    tab.goto("share?session=fix-flaky-test")
    tab.page.get_by_label("For whom").fill("grace")
    tab.page.get_by_role("button", name="Create").click()
    tab.page.get_by_label("Link", exact=True).wait_for()


def in_contrast(tab: Tab) -> None:
    tab.goto("settings")
    tab.page.locator("#theme").select_option("contrast")
    session(tab)


def ask_agent(server: ServerProcess, model: ModelServer) -> str:
    """A conversation that has mended something and waits for an answer; its id."""
    place = server.home / "api"
    (place / "cart.py").write_text("def total(prices):\n    return max(prices)\n")
    (place / "check.sh").write_text("python3 -c 'import cart; assert cart.total([1, 2]) == 3'\n")
    model.script = [
        call("run", {"input": "sh check.sh"}, "I run the check first."),
        call(
            "edit_file",
            {"path": "cart.py", "old": "max(prices)", "new": "sum(prices)"},
            "`total` takes the **largest** price. It should sum them.",
        ),
        call("run", {"input": "sh check.sh"}),
        call("run", {"input": "git push --force origin main"}, "It passes. I publish it."),
        say("I did not publish it: you declined. The fix is in `cart.py`."),
    ]
    wanted = {"text": "the check fails: fix it, then publish", "cwd": str(place)}
    return str(server.client.post("/agent/messages", wanted, wait_s=WAIT_S)["info"]["id"])


def conversation(tab: Tab, id_: str) -> None:
    tab.goto(f"agent/{id_}")
    tab.page.get_by_role("button", name="Approve once").wait_for()


def shoot(browser: Browser, server: ServerProcess, model: ModelServer, directory: Path) -> None:
    def picture(name: str, what: Callable[[Tab], None], **options: Any) -> None:
        settings: dict[str, Any] = {"viewport": DESKTOP, **options}
        with browsing(browser, server, **settings) as tab:
            what(tab)
            tab.page.locator("#connection[data-is=live]").wait_for(state="attached")
            tab.wait_still()
            tab.page.wait_for_timeout(1500)  # small pictures come twice a second
            tab.page.screenshot(path=directory / f"{name}.png")

    phone = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
    picture("sessions", lambda tab: tab.goto())
    picture("phone-sessions", lambda tab: tab.goto(), **phone)
    picture("blocks", lambda tab: session(tab))
    draw(server)
    picture("desktop", lambda tab: session(tab))
    picture("light", lambda tab: session(tab), color_scheme="light")
    picture("phone", lambda tab: session(tab), **phone)
    picture("tablet", lambda tab: session(tab), viewport=TABLET, has_touch=True)
    picture("history", lambda tab: tab.goto("history?q=failed"))
    picture(
        "palette",
        lambda tab: (
            session(tab),
            tab.press("Control+Shift+K"),
            tab.page.wait_for_selector("dialog"),
            tab.type("re"),
        )[0],
    )
    picture(
        "recording", lambda tab: (tab.goto("recordings/fix-flaky-test"), recording(tab.page))[0]
    )
    with asking(browser, server, "git push --force origin HEAD:main"):
        question = f"approvals/{server.client.get('/approvals')['approvals'][0]['id']}"
        picture("approval", lambda tab: session(tab))
        picture("approval-light", lambda tab: session(tab), color_scheme="light")
        picture("phone-approval", lambda tab: tab.goto(question), **phone)
        picture(
            "phone-approval-light", lambda tab: tab.goto(question), color_scheme="light", **phone
        )
        picture("phone-asks", lambda tab: session(tab), **phone)
        picture(
            "tablet-approvals", lambda tab: tab.goto("approvals"), viewport=TABLET, has_touch=True
        )
    with asking(
        browser, server, "git reset --hard HEAD~3 && git clean -fdx", "rm -rf build/ \u202egpj.txt"
    ):
        picture("approvals", lambda tab: tab.goto("approvals"))
    picture("approvals-none", lambda tab: tab.goto("approvals"))
    picture(
        "audit", lambda tab: (tab.goto("audit?session=fix-flaky-test"), opened_record(tab.page))[0]
    )
    picture("phone-audit", lambda tab: tab.goto("audit"), **phone)
    picture("policy", lambda tab: tab.goto("policy?command=git+push+--force+origin+main"))
    picture("tools", lambda tab: (tab.goto("tools"), opened_tool(tab.page))[0])
    picture("policy-diff", changed_rules)
    picture("split", side_by_side)
    picture(
        "text", lambda tab: (session(tab), tab.press("Control+Shift+X"))[0], color_scheme="light"
    )
    with as_claude(server) as agent:
        agent.post("/sessions/fix-flaky-test/input/capture", json={}).raise_for_status()
        picture("capture", lambda tab: session(tab))
        agent.post("/sessions/fix-flaky-test/input/release", json={}).raise_for_status()
    with browsing(browser, server) as tab:  # somebody who can be asked
        tab.goto("approvals")
        id_ = ask_agent(server, model)
        tab.page.locator("[data-approval]").first.wait_for()
        picture("agent", lambda tab: conversation(tab, id_))
        picture("phone-agent", lambda tab: conversation(tab, id_), **phone)
        tab.page.get_by_role("button", name="Decline").first.click()
    picture("contrast", in_contrast)
    picture("share", shared)
    picture("settings", lambda tab: tab.goto("settings"))


def main() -> None:
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures")
    directory.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        ModelServer() as model,
        running_server(settle(settle_home(Path(home))), **model.settings) as server,
        sync_playwright() as playwright,
    ):
        prepare(server)
        accept_tools(server)
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        shoot(browser, server, model, directory)
        browser.close()


if __name__ == "__main__":
    main()
