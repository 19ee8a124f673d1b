r"""Lines of fish at a real fish: run or typed, none hides from the question by how it is spelled."""

from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from duetty.config import Settings
from duetty.errors import DuettyError, PolicyDenied
from tests.engine import Engine, running_engine
from tests.ops.at_a_shell import session_of

pytestmark = [pytest.mark.anyio, pytest.mark.pty, pytest.mark.shells]


@pytest.mark.parametrize(
    "line",
    [
        "eval (string join '' to uch)' made'",
        "env (string join '' to uch) made",
        "string join '' to 'uch made' | source",
        "source (string join '' to 'uch made' | psub)",
        "sh -c (string join '' to uch)' made'",
    ],
)
async def test_a_computed_command_does_not_run_unasked(home: Path, line: str) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await engine.open(command="fish")
            await engine.run("true")
            with pytest.raises(PolicyDenied):
                await engine.run(line)
            await engine.call("input.write", session="s", data=line + "\r")
            await engine.call(
                "session.wait", session="s", text="duetty: not run", max_wait_ms=30_000
            )

    assert not (home / "made").exists()


async def _settled(engine: Engine) -> None:
    await engine.call("session.wait", session="s", idle_ms=300, max_wait_ms=30_000)


async def _given(engine: Engine, line: str) -> None:
    """Run, then typed."""
    with suppress(DuettyError):
        await engine.run(line, max_wait_ms=5_000)
    with suppress(DuettyError):
        await engine.call("input.write", session="s", data=line + "\r")
    await _settled(engine)


DELETING = [
    r"r\x6d -rf victim",
    r"\u0072m -rf victim",
    r"\162m -rf victim",
    r"rm -\x72f victim",
    r"echo 'it\'s'; rm -rf victim #'",
    "true >| rm -rf victim",
    "true 2>| rm -rf victim",
    "true &| rm -rf victim",
    "echo 'rm -rf victim' >| source",
    r"command r\x6d -rf victim",
    r"eval r\x6d -rf victim",
    r'fish -c "r\x6d -rf victim"',
    r"alias q=r\x6d; q -rf victim",
    r"if test 1 = 1; and true; r\x6d -rf victim; end",
    r"i\x66 true; rm -rf victim; e\x6ed",
    "set x rm; $x -rf victim",
    "{rm,-rf,victim}",
    "echo -s r m' -rf victim' | source",
    r"argparse 'm/max=!r\x6d -rf victim' -- --max=1",
]


async def test_no_spelling_of_fish_deletes_unasked(home: Path) -> None:
    victim = home / "victim"
    victim.mkdir()
    deleted: list[str] = []
    async with session_of(home, "fish", policy_profile="guarded") as engine:
        for line in DELETING:
            await _given(engine, line)
            if not victim.exists():
                deleted.append(line)
                victim.mkdir()

    assert deleted == []


async def test_no_spelling_of_fish_gets_around_a_rule(home: Path) -> None:
    (home / "config.toml").write_text(
        '[[policy.rules]]\nname = "asks"\ndecide = "ask"\ncommand = ["touch **"]\n'
    )
    async with session_of(home, "fish", policy_profile="guarded") as engine:
        for line in (r"t\x6fuch made", "true >| touch made"):
            await _given(engine, line)

    assert not (home / "made").exists()


async def test_no_spelling_of_fish_hides_what_is_typed_into_one_within_bash(home: Path) -> None:
    (home / "victim").mkdir()
    async with session_of(home, "bash", policy_profile="guarded") as engine:
        await engine.call("input.write", session="s", data="fish\r")
        await _settled(engine)
        with suppress(DuettyError):
            await engine.call("input.write", session="s", data="r\\x6d -rf victim\r")
        await _settled(engine)

    assert (home / "victim").exists()


async def test_no_spelling_of_fish_hides_the_servers_own_files(home: Path) -> None:
    (home / ".duetty").mkdir()
    (home / ".duetty" / "x").touch()
    async with session_of(home, "fish", policy_profile="guarded") as engine:
        await _given(engine, r"rm .du\x65tty/x")

    assert (home / ".duetty" / "x").exists()


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("fish", r"r\x6d -rf victim"),
        ("/usr/bin/fish", "true >| rm -rf victim"),
        ("fish", r"echo 'it\'s'; rm -rf victim #'"),
        ("bash", r"fish -c 'r\x6d -rf victim'"),
    ],
)
async def test_no_spelling_of_fish_deletes_unasked_without_a_terminal(
    home: Path, shell: str, line: str
) -> None:
    (home / "victim").mkdir()
    settings = Settings(policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60), pytest.raises(PolicyDenied):
            await engine.call("process.run", command=line, shell=shell, cwd=str(home))

    assert (home / "victim").exists()


async def test_what_is_fed_to_fish_is_read_as_fish_reads_it(home: Path) -> None:
    (home / "victim").mkdir()
    settings = Settings(policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60), pytest.raises(PolicyDenied):
            await engine.call(
                "process.run", command="fish", stdin="r\\x6d -rf victim\n", cwd=str(home)
            )

    assert (home / "victim").exists()


async def test_lines_that_only_fish_reads_run_without_a_terminal(home: Path) -> None:
    settings = Settings(policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            ran = await engine.call(
                "process.run",
                command="for i in (seq 2); echo '<'$i'>'; end",
                shell="fish",
                cwd=str(home),
            )

    assert ran.stdout.split() == ["<1>", "<2>"]


@pytest.mark.parametrize(
    "line",
    [
        "for i in 1 2; echo '<'$i'>'; end",
        "if test -d .; and true; echo '<1>'; echo '<2>'; end",
        r"begin; echo \<1\>; echo '<2>'; end | cat",
        "echo '<1>' &| cat; echo '<'(math 1+1)'>'",
        r"printf '<%s>\n' 1 2 # it's",
    ],
)
async def test_everyday_lines_of_fish_run_and_are_typed_unasked(home: Path, line: str) -> None:
    async with session_of(home, "fish", policy_profile="guarded") as engine:
        ran = await engine.run(line)
        await engine.call("input.write", session="s", data="clear\r")
        await _settled(engine)
        await engine.call("input.write", session="s", data=line + "\r")
        await engine.call("session.wait", session="s", text="\n<2>", max_wait_ms=30_000)

    assert ran.output.split() == ["<1>", "<2>"]


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("fish", r"echo 'it\'s'; touch made #'"),
        ("zsh", "setopt rcquotes"),
        ("zsh", "echo 'a'';touch made;'"),
    ],
)
async def test_strict_types_nothing_that_is_proven_of_other_shells_only(
    home: Path, shell: str, line: str
) -> None:
    async with session_of(home, shell, policy_profile="strict") as engine:
        await engine.call("input.write", session="s", data=line + "\r")
        await engine.call("session.wait", session="s", text="duetty: not run", max_wait_ms=30_000)

    assert not (home / "made").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_strict_types_what_is_proven_of_this_shell(home: Path, shell: str) -> None:
    async with session_of(home, shell, policy_profile="strict") as engine:
        await engine.call("input.write", session="s", data="echo 'a  b'\r")
        await engine.call("session.wait", session="s", text="\na  b", max_wait_ms=30_000)
