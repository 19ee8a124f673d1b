"""What keeps agents is not theirs to change: the server, its settings, answers, and a project's rules."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from duetty.calls import Actor, Effect
from duetty.config import Settings
from duetty.errors import PolicyDenied
from duetty.ops.guardrail.server_files import OWN_FILES, OwnThings
from duetty.ops.rulebook.in_force import SHIPPED_RULES
from duetty.policy import Allow, Deny, Judged, Profile, decide
from tests.engine import Engine, running_engine
from tests.server_process import ServerProcess, running_server

ANNA = Actor(kind="person", name="anna")
AGENT = Actor(kind="agent", name="test")
OWN = OwnThings([Path("/home/u/.config/duetty"), Path("/home/u/mine/state")], "/home/u")

OURS = [
    "duetty",
    "/opt/x/bin/duetty",
    "python3 -m duetty",
    "python3.12 -X utf8 -m duetty",
    "python -mduetty",
    "python3 /opt/x/bin/duetty",
    "python3 /opt/lib/duetty/__main__.py",
    "uvx duetty",
    "uv run duetty",
    "uv tool run duetty",
    "pipx run duetty",
    "env X=1 duetty",
    "sudo -u me duetty",
    "DUETTY_POLICY_PROFILE=open setsid duetty",
    "nohup duetty",
]
CHANGING = [
    "server --replace",
    "-L x stop",
    "--instance x persist off",
    "approve 1",
    "decline 1",
    "token",
    "token create x",
    "servers add http://x",
    "approvals revoke 1",
    "upstreams remove x",
    "upstreams restart x",
    "keeper --socket x",
]


def judged(line: str, *, cwd: str = "/home/u/p", actor: Actor = AGENT) -> Judged:
    return Judged(
        operation="process.run",
        effect=Effect.CONTROL,
        actor=actor,
        cwd=cwd,
        command_line=line,
    )


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("called", OURS)
def test_no_command_that_changes_the_server_is_an_agents(called: str, profile: Profile) -> None:
    for command in CHANGING:
        line = f"{called} {command}"
        assert isinstance(decide(judged(line), SHIPPED_RULES, profile, can_ask=True), Deny), line


@pytest.mark.parametrize(
    "line", ["duetty list", "duetty status", "python3 -m duetty persist", "duetty servers list"]
)
def test_a_look_at_the_server_is(line: str) -> None:
    assert isinstance(decide(judged(line), SHIPPED_RULES, Profile.GUARDED, can_ask=True), Allow)


def decided(line: str, *, cwd: str = "/home/u/p", actor: Actor = AGENT) -> str | None:
    call = judged(line, cwd=cwd, actor=actor)
    found = OWN.judged(call, decide(call, SHIPPED_RULES, Profile.GUARDED, can_ask=True), [4711])
    return None if isinstance(found, Allow) else found.rule


@pytest.mark.parametrize(
    "line",
    [
        "rm .duetty/settings.json",
        "rm ./.duetty//settings.json",
        "echo '{}' > .duetty/settings.json",
        "echo '{}' >.duetty/settings.json",
        "mv .duetty x",
        "mv '.du'etty x",
        "cp other.json sub/.duetty/settings.json",
        "cd .duetty && rm settings.json",
        'python3 -c \'open(".duetty/settings.json", "w")\'',
        "echo x > ~/.config/duetty/config.toml",
        'echo x >> "$HOME/.config/duetty/config.toml"',
        "tee ~/.config/duetty/config.toml",
        "sed -i s/a/b/ /home/u/.config/duetty/config.toml",
        "ln -sf x ${HOME}/mine/state/default/token",
        "cp x $DUETTY_HOME/config.toml",
        'touch "${DUETTY_HOME}"/state/default/token',
        "curl --unix-socket /home/u/mine/state/server.sock http://x/server/stop",
        "echo x > ../.config/duetty/config.toml",
        "echo x > ../mine/state/x",
        "cd .. && echo x > mine/state/x",
        "cd ../mine && dd if=x of=state/x",
        "cd ../.config; cd duetty; echo x > config.toml",
    ],
)
def test_a_line_that_names_what_keeps_agents_asks(line: str) -> None:
    assert decided(line) == OWN_FILES
    assert decided(line, actor=ANNA) is None


@pytest.mark.parametrize(
    "line",
    [
        "cat /home/u/mine/state/default/token",
        "cat ~/.local/state/duetty/default/tok*",
        "cat ~/.local/state/duetty/*/token",
        "ls .duetty/settings.json /home/u/mine/state/default/*",
        "curl -H @$HOME/mine/state/default/token http://127.0.0.1:1",
        "cat ../mine/state/default/token",
        "cd ../mine/state/default && cat token",
        "cd ../mine/state/default && cat t*",
    ],
)
def test_a_line_that_reads_the_servers_own_token_asks(line: str) -> None:
    decision = OWN.judged(judged(line), Allow(rule="x", reason="by_profile"))

    assert decision.rule == OWN_FILES


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("echo " + "x" * 60_000, None),
        ("echo " + "ü" * 30_000 + " > out", None),
        ("echo '" + "aGVsbG8" * 8_000 + "' | base64 -d > out", None),
        ("ls .duetty/" + "*" * 60_000 + "/x", None),
        ("touch " + "x" * 60_000 + "/.duetty/rules", OWN_FILES),
        ("touch " + ".duetty/" * 7_000, OWN_FILES),
        ("cat /home/u/mine/state/" + "x/" * 30_000 + "token", OWN_FILES),
    ],
    ids=["word", "letters", "encoded", "stars", "behind", "often", "token"],
)
def test_a_long_line_is_judged_in_a_few_looks(line: str, rule: str | None) -> None:
    """With a look at all that follows for each character, these would take minutes."""
    found = OWN.judged(judged(line), Allow(rule="x", reason="by_profile"))

    assert (None if isinstance(found, Allow) else found.rule) == rule


def test_a_line_that_is_run_there_asks() -> None:
    assert decided("touch x", cwd="/home/u/p/.duetty") == OWN_FILES
    assert decided("touch x", cwd="/home/u/mine/state/default") == OWN_FILES
    assert decided("touch x", cwd="/home/u/mine") is None


@pytest.mark.parametrize(
    "line",
    [
        "cat .duetty/settings.json",
        "cat ~/.config/duetty/config.toml | head -3",
        "grep -c x '/home/u/mine/state/a b'",
        "cd .duetty && cat settings.json",
        "ls -la .duetty",
        "git diff .duetty/settings.json",
        "echo my.duetty > state",
        "make duetty",
        "cd src/duetty && touch x",
        "touch mine/states",
        "ls .duetty ~/.config/duetty",
        "echo x > ../other/config.toml",
        "cd .. && touch duetty state",
    ],
)
def test_a_line_that_only_reads_them_or_names_others_does_not(line: str) -> None:
    assert decided(line) is None


@pytest.mark.parametrize("line", ["kill 4711", "kill -9 1 4711", "sudo kill -s TERM -- -4711"])
def test_a_process_of_the_server_is_not_an_agents_to_end(line: str) -> None:
    assert decided(line) == "rule:own-processes"
    assert decided(line.replace("4711", "4712")) != "rule:own-processes"


@asynccontextmanager
async def engine_with(home: Path, profile: str) -> AsyncGenerator[Engine]:
    given = Settings(session_grace_ms=300, policy_profile=profile)
    async with running_engine(home, settings=given) as engine:
        with anyio.fail_after(60):
            yield engine


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.parametrize("profile", ["open", "guarded"])
async def test_the_open_profile_keeps_these_rules_too(home: Path, profile: str) -> None:
    project = home / "project"
    (project / ".duetty").mkdir(parents=True)
    (project / ".duetty/settings.json").write_text("{}")
    async with engine_with(home, profile) as engine:
        for line in (
            "duetty approve 1",
            "rm .duetty/settings.json",
            f"echo x > {home}/config.toml",
            f"kill {os.getpid()}",
        ):
            with pytest.raises(PolicyDenied):
                await engine.call("process.run", command=line, cwd=str(project))
        ran = await engine.call(
            "process.run", command="cat .duetty/settings.json", cwd=str(project)
        )

    assert ran.stdout == "{}"


@pytest.mark.pty
def test_what_a_server_started_does_not_change_it(home: Path) -> None:
    ours = f"DUETTY_HOME={home} {sys.executable} -m duetty"
    with running_server(home) as server:
        was = server.client.get("/server/info")["pid"]
        said = [
            server.client.post("/processes/run", {"command": f"{ours} {command}"})
            for command in (
                "stop",
                "persist off",
                "token create x --scope read",
                "servers remove x",
                "server --replace --bind 127.0.0.1:0",
            )
        ]
        seen = server.client.post("/processes/run", {"command": f"{ours} audit"})
        now = server.client.get("/server/info")["pid"]
        stays = server.client.get("/server/persist")["persistent"]

    assert [each["process"]["exit_code"] for each in said] == [1] * len(said)
    assert [each["stderr"] for each in said if "[not_a_person]" not in each["stderr"]] == []
    assert seen["process"]["exit_code"] == 0
    assert now == was
    assert stays


@pytest.mark.pty
@pytest.mark.parametrize("where", ["process", "session"])
@pytest.mark.parametrize("bare", ["", "env -i DUETTY_HOME={home} HOME={home} "])
def test_a_process_that_lost_its_parents_is_no_person_either(
    home: Path, where: str, bare: str
) -> None:
    said = home / "said"
    os.mkfifo(said)
    stop = f"{bare}{sys.executable} -m duetty stop > {said} 2>&1".format(home=home)
    line = f"(setsid sh -c '{stop}' &)"
    with running_server(home) as server:
        run_in(server, where, line)

        assert "[not_a_person]" in said.read_text()  # which waits for it
        assert server.client.is_up()


@pytest.mark.pty
@pytest.mark.parametrize(
    ("where", "bare"), [("process", ""), ("session", "env -i DUETTY_HOME={home} HOME={home} ")]
)
def test_what_a_killed_server_left_behind_is_no_person_to_the_next(
    home: Path, where: str, bare: str
) -> None:
    said, may_ask = home / "said", home / "may_ask"
    for fifo in (said, may_ask):
        os.mkfifo(fifo)
    stop = f"{bare}{sys.executable} -m duetty stop > {said} 2>&1".format(home=home)
    line = f"(setsid sh -c 'read x < {may_ask}; {stop}' >/dev/null 2>&1 &)"
    with running_server(home) as server:
        run_in(server, where, line)
        server.kill()
        server.start()
        may_ask.write_text("now\n")

        assert "[not_a_person]" in said.read_text()
        assert server.client.is_up()


def run_in(server: ServerProcess, where: str, line: str) -> None:
    if where == "process":
        server.client.post("/processes/run", {"command": line})
    else:
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        server.client.post("/sessions/s/run", {"input": line})
