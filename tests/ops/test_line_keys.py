"""Keys that make a line editor run code: refused while something that can run may be on the line."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from duetty.blocks import Phase
from duetty.calls import Actor
from duetty.config import Settings
from duetty.errors import PolicyDenied
from duetty.ops.judging.line_keys import LineKeys, Where
from tests.engine import Engine, child_env, running_engine, wait_phase

UP, LEFT, ALT_O = "\x1b[A", "\x1b[D", "\x1bo"


def runs(*writes: str, shown: str | None = "") -> list[bool]:
    keys = LineKeys()
    return [keys.runs_code("s", each, Where(prompts=1, shown=shown)) for each in writes]


@pytest.mark.parametrize(
    "writes",
    [
        ["ls $(x)\t"],
        ["ls $(x", ")", "\t"],
        ["ls `x`\x18*"],
        ["echo $(x)\x1b\x05"],
        ["cat (x)" + ALT_O],
        ["ls *(e:'x':)\t"],
        ["!!\t"],
        [UP, "\t"],
        [UP + "\t"],
        ["\x10\t"],
        ["\x19\t"],
        ["\x12x\t"],
        ["\x1b.\t"],
        ["\x1b[200~ls $(x)\x1b[201~\t"],
        ["\x1b[200~ls $(x)\x1b[201~", LEFT, "\x04"],
        ["cat (x\r", ALT_O],
        ["\x1b", "i$(x)", "\x1b"],
        ["ls $(x)\x15\t"],
        ["ls $(x)\x03", "ls fi\t"],
        ["print -z '\\x24\\x28x\\x29'\r\t"],
        ["\x16\x1b[200~$(x)\x1b\x05\x1b[201~"],
        ["echo ", "\x16", "\x1b[200~ $(x)\t\x1b[201~"],
        ["\x1b[HkA\t"],
        ["$(x)", "\ufffd"],
        ["$(x)", "\u00c5"],
    ],
)
def test_a_key_that_could_run_what_is_on_the_line_is_seen(writes: list[str]) -> None:
    assert runs(*writes)[-1]


@pytest.mark.parametrize(
    "writes",
    [
        ["ls fi\t"],
        ["git chec\t\t", "ma\t"],
        ["ls $(x)\r"],
        ["ls $(x)" + LEFT + "\x7f\x01\x05\x0b\x0c\r"],
        [UP, UP, UP, "\r"],
        ["\x12make\r"],
        ["\x1b[200~a\tb\x1b[201~\r"],
        ["\x1b[200~if true; then\n\techo $x\nfi\x1b[201~\r"],
        ["\x1a", "\x1c"],
    ],
)
def test_plain_editing_and_completion_are_left_alone(writes: list[str]) -> None:
    assert not any(runs(*writes))


def test_what_is_shown_on_the_line_counts_whoever_typed_it() -> None:
    assert runs("\t", shown="ls $(x)") == [True]
    assert runs("\t", shown="ls fi") == [False]
    assert runs("\t", shown=None) == [True]


def test_what_is_not_shown_is_there_all_the_same() -> None:
    keys = LineKeys()

    keys.runs_code("s", "ls $(x)", Where(prompts=1))

    assert keys.runs_code("s", "\t", Where(prompts=1, shown="", settled=True))
    assert keys.runs_code("s", "\t", Where(prompts=1, shown="ls", settled=True))


def test_a_new_prompt_is_a_new_line() -> None:
    keys = LineKeys()

    assert not keys.runs_code("s", "echo $(x)\r", Where(prompts=1))
    assert keys.runs_code("s", "\t", Where(prompts=1))
    assert not keys.runs_code("s", "ls \t", Where(prompts=2))
    assert not keys.runs_code("other", "\t", Where(prompts=1))


def test_a_prompt_that_was_not_drawn_after_the_keys_is_none() -> None:
    """Typed while a command runs, they stand on the line of the next prompt, or of a later one."""
    keys = LineKeys()
    keys.runs_code("s", "true\recho $(x)", Where(prompts=1, at_prompt=False))

    assert keys.runs_code("s", "\t", Where(prompts=2))
    assert keys.runs_code("s", "\t", Where(prompts=3, settled=True))
    assert not keys.runs_code("s", "ls \t", Where(prompts=4))


def test_a_second_line_written_with_the_first_is_not_gone_with_it() -> None:
    keys = LineKeys()
    keys.runs_code("s", "true\recho $(x)", Where(prompts=1))

    assert keys.runs_code("s", "\t", Where(prompts=2))


@pytest.mark.parametrize("key", ["\x0f", "\x11"])
def test_what_a_key_may_carry_to_the_next_line_is_not_gone_with_this_one(key: str) -> None:
    keys = LineKeys()
    assert not keys.runs_code("s", "ls" + key, Where(prompts=1))

    assert keys.runs_code("s", "\t", Where(prompts=1, settled=True))
    assert keys.runs_code("s", "\t", Where(prompts=2, settled=True))
    assert not keys.runs_code("s", "\t", Where(prompts=3, settled=True))


def test_what_somebody_else_wrote_may_be_anything_until_the_next_prompt() -> None:
    keys = LineKeys()

    assert keys.runs_code("s", "\t", Where(prompts=1, strange=True, settled=True))
    assert not keys.runs_code("s", "\x03", Where(prompts=1, strange=True, settled=True))
    assert not keys.runs_code("s", "ls \t", Where(prompts=2))


def test_of_a_session_that_is_not_known_the_line_is_not_either() -> None:
    assert LineKeys().runs_code("s", "\t", Where(prompts=1, touched=True))


@pytest.mark.parametrize(
    "writes",
    [
        ["\x18\x05"],
        ["rm x", "\x18e"],
        ["\x1bv"],
        ["\x1be"],
        ["\x1b", "o"],
        ["\x1bh"],
        ["\x1bx"],
        ["\x1bOP"],
        ["\x1b@x"],
        ["\x1b", "@x"],
        ["\x1b:expand-word"],
    ],
)
def test_keys_that_start_programs_or_macros_are_never_pressed(writes: list[str]) -> None:
    assert runs(*writes)[-1]


@pytest.mark.parametrize(
    "writes",
    [
        ["\x1b", "k", ":expand-word"],
        ["\x1b[H", "v"],
        ["\x1bk@x"],
        ["\x1b", "\x1b[200~iecho $(x)\x1b[201~"],
        ["\x1b[200~x\x1b\x05\x1b[201~", "$(x)\x1b[200~\x1b\x05\x1b[201~"],
        ["echo @-1:*\t\t"],
        ["echo $(x)\x07"],
        ["echo $(x)\x0e"],
        ["echo $(x)\x11"],
        ["echo $(x)\x1b[H"],
        ["echo $(x)\x00"],
    ],
)
def test_a_key_is_what_it_is_in_the_worst_of_keymaps(writes: list[str]) -> None:
    assert runs(*writes)[-1]


def test_a_paste_for_a_shell_that_takes_none_is_keys() -> None:
    keys = LineKeys()

    pasted = "\x1b[200~if x; then\n\techo $(y)\nfi\x1b[201~"
    assert not keys.runs_code("s", pasted, Where(prompts=1))
    assert keys.runs_code("t", pasted, Where(prompts=1, pastes=False))


async def gated(engine: Engine, shell: str) -> None:
    person = Actor(kind="person", name="anna")
    await engine.dispatcher.call(person, "session.open", {"name": "s", "command": shell})
    session = engine.registry.find("s")
    await engine.run("true")
    await wait_phase(session, Phase.INPUT)


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize("profile", ["guarded", "strict"])
@pytest.mark.parametrize(
    ("shell", "line", "key"),
    [
        ("zsh", "ls $(touch made)", "\t"),
        ("zsh", "ls `touch made`", "\x18*"),
        ("bash", "echo $(touch made)", "\x1b\x05"),
        ("fish", "cat (touch made)", "\x1bo"),
    ],
)
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "key by key"])
async def test_no_key_runs_what_an_agent_typed(
    home: Path, profile: str, shell: str, line: str, key: str, at_once: bool
) -> None:
    settings = Settings(session_grace_ms=300, policy_profile=profile)
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await gated(engine, shell)
            if not at_once:
                await engine.call("input.write", session="s", data=line)
            keys = (line if at_once else "") + key
            with pytest.raises(PolicyDenied) as refused:
                await engine.call("input.write", session="s", data=keys)
            if key == "\t":
                with pytest.raises(PolicyDenied):
                    await engine.call("input.press", session="s", keys=["Up", "Tab"])
            # Not Ctrl-C, which fish drops now and then when it is busy with a line.
            await engine.call("input.press", session="s", keys=["Ctrl-U"])
            session = engine.registry.find("s")
            while session.has_half_line():
                await session.pulse.wait()
            ran = await engine.run("echo fine")

        assert refused.value.details["rule"] == "gate"
        assert ran.output == "fine"
        assert not (home / "made").exists()


async def settle(engine: Engine) -> None:
    """Until the shell has had all the time that it could show or hide a line in."""
    session = engine.registry.find("s")
    while not session.is_settled_at_prompt():
        await anyio.sleep(0.05)


BEFORE: dict[str, Callable[[Engine], Awaitable[Any]]] = {
    "small": lambda engine: engine.call("session.resize", session="s", rows=2, cols=20),
    "no echo": lambda engine: engine.run("stty -echo"),
    "dumb": lambda engine: engine.run("TERM=dumb"),
    "as it is": lambda engine: engine.run("true"),
}


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize(
    ("shell", "before", "line", "key"),
    [
        ("zsh", "as it is", "echo $(touch made)" + "a" * 3_000, "\t"),
        ("zsh", "small", "echo $(touch made)" + "a" * 300, "\t"),
        ("bash", "small", "echo $(touch made)" + "a" * 300, "\x1b\x05"),
        ("bash", "no echo", "echo $(touch made)", "\x1b\x05"),
        ("bash", "dumb", "echo $(touch made)" + "a" * 300, "\x1b\x05"),
        ("fish", "small", "ls (touch made)" + "a" * 300, "\x1bo"),
        ("zsh", "as it is", "echo $(touch made)\x16\r", "\t"),
        ("zsh", "as it is", "echo $(touch made)", "\x11"),
    ],
)
async def test_a_line_that_is_not_to_be_seen_is_not_run_by_a_key(
    home: Path, shell: str, before: str, line: str, key: str
) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await gated(engine, shell)
            await BEFORE[before](engine)
            await wait_phase(engine.registry.find("s"), Phase.INPUT)
            await engine.call("input.write", session="s", data=line)
            if line.endswith("\r"):  # it looks like a program that reads
                await engine.call("session.wait", session="s", state=["awaiting_input"])
            else:
                await settle(engine)
            with pytest.raises(PolicyDenied) as refused:
                await engine.call("input.write", session="s", data=key)

        assert refused.value.details["rule"] == "gate"
        assert not (home / "made").exists()


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize(
    ("shell", "line", "key"),
    [
        ("bash", "echo $(touch made)", "\x1b\x05"),
        ("zsh", "echo $(touch made)", "\t"),
        ("fish", "ls (touch made)", "\x1bo"),
    ],
)
async def test_a_persons_part_of_the_line_is_not_run_by_an_agents_key(
    home: Path, shell: str, line: str, key: str
) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    person = Actor(kind="person", name="anna")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await gated(engine, shell)
            await engine.call("input.write", session="s", data="true\r")  # the line before is known
            await settle(engine)
            await engine.call("session.resize", session="s", rows=2, cols=20)
            hidden = {"session": "s", "data": line + "a" * 300}
            await engine.dispatcher.call(person, "input.write", hidden)
            await settle(engine)
            with pytest.raises(PolicyDenied):
                await engine.call("input.write", session="s", data=key)
            session = engine.registry.find("s")
            before = session.prompts
            while session.prompts == before or session.phase is not Phase.INPUT:
                # More than once: fish drops it now and then when it is busy with a line.
                await engine.call("input.write", session="s", data="\x03")
                await settle(engine)
            await engine.call("input.write", session="s", data="ls ma\t")

        assert not (home / "made").exists()


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
async def test_no_key_of_vi_runs_what_an_agent_typed(home: Path) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    env = {**child_env(home), "EDITOR": "vi"}
    async with running_engine(home, settings=settings, env=env) as engine:
        with anyio.fail_after(60):
            await gated(engine, "zsh")
            for key in ("\x07", "\x04", "\x1b=", "\x1b:expand-word\r", "\x1b[H:expand-word\r"):
                with pytest.raises(PolicyDenied):
                    await engine.call("input.write", session="s", data="echo $(touch made)" + key)

        assert not (home / "made").exists()


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
async def test_an_editor_that_runs_the_line_is_not_started(home: Path) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await gated(engine, "bash")
            await engine.call("input.write", session="s", data="touch made")
            with pytest.raises(PolicyDenied):
                await engine.call("input.write", session="s", data="\x18\x05")

        assert not (home / "made").exists()


ONE_KEY = "python3 -c 'import os, tty; tty.setcbreak(0); os.read(0, 1)'"


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize(
    ("program", "reason"),
    [(ONE_KEY, "destructive"), ("read -k1", "not_provable")],  # the latter is the shell itself
)
async def test_what_a_program_leaves_to_the_shell_is_judged_by_its_text(
    home: Path, program: str, reason: str
) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await gated(engine, "zsh")
            (home / "precious").mkdir()
            await engine.run(program, max_wait_ms=5_000)
            await engine.call("session.wait", session="s", state=["awaiting_input"])
            data = f"xecho $(rm -rf {home}/precious)\t"
            with pytest.raises(PolicyDenied) as refused:
                await engine.call("input.write", session="s", data=data)

        assert refused.value.details["reason"] == reason
        assert (home / "precious").exists()


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
async def test_read_with_a_line_editor_runs_nothing_that_was_not_asked_about(home: Path) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await gated(engine, "bash")
            (home / "precious").mkdir()
            await engine.call("input.write", session="s", data=f": $(rm -rf {home}/precious)\r")
            await engine.call("session.wait", session="s", text="duetty: ", max_wait_ms=30_000)
            await engine.run("read -e x", max_wait_ms=5_000)
            for _ in range(2):
                await engine.call("input.write", session="s", data="\x1b[A")
                await engine.call("session.wait", session="s", idle_ms=300, max_wait_ms=5_000)
            with pytest.raises(PolicyDenied):
                await engine.call("input.write", session="s", data="\x1b\x05")

        assert (home / "precious").exists()


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("program", "keys"),
    [
        ("vi f", ["ihello\x1b", ":q!\r"]),
        ("less made", ["\x1b[6~", "q"]),
        ("python3 -q", ["print(1)\r", "\x04"]),
        ("cat > f", ["hello\r", "\x04"]),
    ],
)
async def test_keys_that_a_program_took_are_not_held_against_the_next_line(
    home: Path, shell: str, program: str, keys: list[str]
) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    (home / "made").write_text("here: v=1\n" * 100)
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await gated(engine, shell)
            await engine.run(program, max_wait_ms=5_000)
            for key in keys:
                await engine.call("session.wait", session="s", idle_ms=100, max_wait_ms=5_000)
                await engine.call("input.write", session="s", data=key)
            await engine.call("session.wait", session="s", state=["prompt"], max_wait_ms=30_000)
            await engine.call("input.write", session="s", data="echo v=1: @*K \r")
            await engine.call("session.wait", session="s", text="v=1: @", max_wait_ms=30_000)


def test_a_paste_in_pieces_is_text_to_its_end() -> None:
    keys, where = LineKeys(), Where(prompts=1)
    for piece in ("\x1b[200~cat", " vv.txt\rls *", "\x1b[201~"):
        assert not keys.runs_code("s", piece, where)
    assert not keys.runs_code("s", "\r", where)


@pytest.mark.parametrize("piece", ["\t", "\x1b\x05", "x\x16", "\x18\x05"])
def test_a_paste_in_pieces_hides_no_key(piece: str) -> None:
    keys, where = LineKeys(), Where(prompts=1)
    assert not keys.runs_code("s", "\x1b[200~echo $(ls)", where)
    assert keys.runs_code("s", piece, where)
    assert not keys.runs_code("s", "\x03", where)
    assert keys.runs_code("s", piece, where)


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
async def test_a_key_sent_ahead_of_the_prompt_is_no_way_around(home: Path) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await gated(engine, "zsh")
            await engine.run("sleep 60", max_wait_ms=300)
            with pytest.raises(PolicyDenied):
                await engine.call("input.write", session="s", data="ls $(touch made)\t")

        assert not (home / "made").exists()


@pytest.mark.anyio
@pytest.mark.pty
async def test_a_program_that_reads_gets_its_tabs(home: Path) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await gated(engine, "bash")
            await engine.run("cat", max_wait_ms=5_000)
            await engine.call("input.write", session="s", data="f(x)\ty\r")
            await engine.call("session.wait", session="s", text="f(x)", max_wait_ms=30_000)


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize(("shell", "key"), [("bash", "\x1b\x05"), ("zsh", "\t")])
async def test_a_shell_on_the_other_screen_is_a_shell(home: Path, shell: str, key: str) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await gated(engine, shell)
            await engine.run("printf '\\033[?1049h'")
            with pytest.raises(PolicyDenied):
                await engine.call("input.write", session="s", data="echo $(touch made)" + key)

    assert not (home / "made").exists()


@pytest.mark.anyio
@pytest.mark.pty
async def test_a_program_at_rest_gets_the_keys_that_a_shell_would_not(home: Path) -> None:
    """Nobody has looked at it: the kernel is asked whether it reads."""
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await gated(engine, "bash")
            await engine.run("cat", max_wait_ms=5_000)
            await engine.call("input.write", session="s", data="a (b)\r")
            await engine.call("session.wait", session="s", text="a (b)", max_wait_ms=30_000)
            await engine.call("session.wait", session="s", state=["awaiting_input"])
            await engine.call("input.write", session="s", data="\x04")
            await engine.call("session.wait", session="s", state=["prompt"], max_wait_ms=30_000)


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
async def test_what_looks_like_a_comment_runs_in_zsh_and_is_judged(home: Path) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await gated(engine, "zsh")
            with pytest.raises(PolicyDenied):
                await engine.run("echo hi # ; rm -rf ./nowhere")
            ran = await engine.run("echo '#1'")

    assert ran.output == "#1"


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_a_password_that_a_run_types_is_in_no_record(home: Path, shell: str) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await gated(engine, shell)
            await engine.run("read -s word", max_wait_ms=5_000)
            await engine.call(
                "session.wait", session="s", state=["awaiting_input", "awaiting_password"]
            )
            await engine.run("SEKRET-of-mine", max_wait_ms=5_000)
            person = Actor(kind="person", name="anna")
            records = await engine.dispatcher.call(person, "audit.list", {"limit": 1_000})

    assert "SEKRET" not in str(records)


@pytest.mark.parametrize(
    ("keys", "completes", "runs"),
    [
        ("cat RE\t", True, False),
        ("cat src/a-b.p\t", True, False),
        ("git -C 'x;touch made;' checkout \t", True, True),
        ("git -C x\\;touch\\ made\\; add \t", True, True),
        ('unzip "x;touch made;" \t', True, True),
        ("git -c core.fsmonitor=./x add \t", True, True),
        ("make \t", False, True),
    ],
)
def test_completion_is_for_plain_words_and_in_strict_for_none(
    keys: str, *, completes: bool, runs: bool
) -> None:
    where = Where(prompts=1, completes=completes)

    assert LineKeys().runs_code("s", keys, where) == runs
