"""What a shell is about to run is known to the letter, or asked about; and it is not run without an answer."""

from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from duetty.blocks import Phase
from duetty.calls import Actor
from duetty.errors import DuettyError, PolicyDenied
from duetty.events import Degraded
from duetty.ops.judging import deciding, judge
from duetty.ops.judging.made import Made
from duetty.session import Session, gate
from tests.engine import Engine, a_while_ago, wait_phase
from tests.ops.at_a_shell import ANNA, session_of, typed

pytestmark = [pytest.mark.anyio, pytest.mark.shells]


@pytest.fixture(autouse=True)
def lines_ahead_are_left_to_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is judged before it is typed (see test_typed_lines) would leave these nothing to see."""

    def as_it_is(judging: judge.Judging, made: Made, keys: str, session: Session) -> Made:
        return made

    monkeypatch.setattr(judge.Judging, "_of_lines_ahead", as_it_is)


@pytest.fixture
def victim(home: Path) -> Path:
    place = home / "victim"
    (place / "within").mkdir(parents=True)
    return place


async def typed_in_lines(engine: Engine, text: str) -> None:
    """Each when the shell asks for it."""
    *lines, last = text.splitlines(keepends=True)
    for line in lines:
        before = session(engine).journal.end
        await typed(engine, line)
        while (
            session(engine).phase is not Phase.CONTINUATION or session(engine).journal.end == before
        ):
            await session(engine).pulse.wait()
    await typed(engine, last)


def session(engine: Engine) -> Session:
    return engine.registry.find("s")


async def refused(engine: Engine, told: str = "duetty: ") -> None:
    await engine.call("session.wait", session="s", text=told, max_wait_ms=30_000)
    await engine.call("session.wait", session="s", idle_ms=200, max_wait_ms=30_000)


async def at_next_prompt(engine: Engine, before: int) -> None:
    while prompts(engine) == before or session(engine).phase is not Phase.INPUT:
        await session(engine).pulse.wait()


def prompts(engine: Engine) -> int:
    found = session(engine).gate
    assert found is not None
    return found.prompts


# --- what history joins ---------------------------------------------------------


@pytest.mark.parametrize("begun", ["{ echo a \\\r\r", "{ : # x \\\r", "{ cat <<E\rE\r: # \\\r"])
async def test_a_line_that_bash_runs_apart_is_not_taken_for_what_its_history_joins(
    home: Path, victim: Path, begun: str
) -> None:
    async with session_of(home, "bash") as engine:
        await typed_in_lines(engine, f"{begun}rm -rf {victim}\r}}\r")
        await refused(engine)

        assert victim.exists()


DECOY = "{{ : # x rm -rf {victim}\n\n}}"


@pytest.mark.parametrize(
    ("before", "pasted"),
    [
        # What history puts in has as many lines more as were joined.
        ("echo 'a\nb'", "{{ : # x \\\nrm -rf {victim}\n!echo\n}}"),
        ("echo 'a\nb'", "{{ echo a \\\n\nrm -rf {victim}\n!echo\n!echo\n}}"),
        # Something harmless that looks alike stands elsewhere in the paste.
        ("echo rm -rf {victim}", DECOY + "\n{{ : # x \\\n!echo:1*\n}}"),
        ("true", "{{ : # x \\\nrm -rf {victim}\n}}\n" + f": {'a' * 190}\n" * 95 + DECOY),
        # To bash CR LF are two line ends.
        ("true", "true\r\n" * 3 + "{{ : # x \\\nrm -rf {victim}\n}}\n" + DECOY),
    ],
)
@pytest.mark.parametrize("by", ["paste", "run"])
async def test_neither_history_nor_a_decoy_makes_up_for_what_was_joined(
    home: Path, victim: Path, before: str, pasted: str, by: str
) -> None:
    async with session_of(home, "bash") as engine:
        await engine.run(before.format(victim=victim))
        text = pasted.format(victim=victim)
        with suppress(DuettyError):
            if by == "run":
                await engine.run(text, max_wait_ms=5_000)
            else:
                await engine.call("input.paste", session="s", text=text)
                await typed(engine, "\r")
                await refused(engine)
        await wait_phase(session(engine), Phase.INPUT)

        assert victim.exists()


HEAD = ": && # x \\\rrm -rf {victim} ' &&\r:\r"
TAIL = ": && # x rm -rf {victim} ' &&\n:\n\n: && # x rm -rf {victim} ' &&\n:"
"""Together one command; the tail alone looks in history like the whole."""


@pytest.mark.parametrize("ahead", ["\r", "true\r", "# c\r", ""])
@pytest.mark.parametrize("by", ["keys", "run"])
async def test_what_was_typed_before_is_part_of_the_line(
    home: Path, victim: Path, ahead: str, by: str
) -> None:
    async with session_of(home, "bash") as engine:
        await wait_phase(session(engine), Phase.INPUT)
        await typed(engine, ahead + HEAD.format(victim=victim))
        await engine.call("session.wait", session="s", idle_ms=300, max_wait_ms=5_000)
        tail = TAIL.format(victim=victim)
        with suppress(DuettyError):
            if by == "run":
                await engine.run(tail, max_wait_ms=3_000)
            else:
                await typed(engine, tail.replace("\n", "\r") + "\r")
        await engine.call("session.wait", session="s", idle_ms=500, max_wait_ms=5_000)

        assert victim.exists()


async def test_a_line_end_that_history_puts_in_is_seen(home: Path, victim: Path) -> None:
    async with session_of(home, "bash") as engine:
        for line in (": 'x/!:1:h:t\\\n/'", f': "$(: # !:1:h:t rm -rf {victim}\n)"'):
            with suppress(DuettyError):
                await engine.run(line, max_wait_ms=3_000)
        await engine.call("session.wait", session="s", idle_ms=300, max_wait_ms=5_000)

        assert victim.exists()


@pytest.mark.parametrize("profile", ["guarded", "strict"])
@pytest.mark.parametrize(
    "keys",
    [
        # bash counts no line that its history took away, and has what `:p` only printed.
        ["ls -l\r", "!nosuchevent\r", "ls; \\\r", "echo !ls:1:p \\\r", "rm -rf {victim}\r"],
        [": 'x/y\r}}/'\r", "!nosuch\r", "{{ : # x \\\r", "rm -rf {victim}; : !?x/y?:1:h:t\r"],
        [
            "echo 'zz/!?zz?:1:h:t:p/'\r",
            "rm -rf {victim} \\\r",
            "--help !?zz?:1:h:t:p\r",
            "\r",
        ],
        # Enter is a key that drops the line, in a terminal so set.
        [
            "stty kill '^M'\r",
            "{{ : # x rm -rf {victim}\r\r}}\r{{ : # x \\\nrm -rf {victim}\n}}\n",
        ],
        # After an error within it bash counts its lines from there.
        [
            "true\r",
            "\x1b[200~{{ : ${{u?}}\n\n{{ : # x rm -rf {victim}\n}}\n}}\n{{ : # x \\\nrm -rf {victim}\n}}\x1b[201~\r",
        ],
        # The count of lines, under a name put together.
        [
            "\x1b[200~{{ : # x rm -rf {victim}\n\n}}\nx=_due; [[ ${{x}}tty_further+=4 -eq 0 ]]\n"
            "{{ : # x \\\nrm -rf {victim}\n}}\x1b[201~\r"
        ],
        ["\x1b[200~PS2=\n!nosuch\nls; \\\n: !ls:0:p \\\nrm -rf {victim}\x1b[201~\r"],
    ],
)
async def test_lines_are_counted_by_what_no_line_can_change(
    home: Path, victim: Path, keys: list[str], profile: str
) -> None:
    async with session_of(home, "bash", policy_profile=profile) as engine:
        for each in keys:
            with suppress(DuettyError):
                await typed(engine, each.format(victim=victim))
            await engine.call("session.wait", session="s", idle_ms=300, max_wait_ms=5_000)

        assert victim.exists()


async def test_after_history_that_is_not_there_the_next_line_runs(home: Path) -> None:
    async with session_of(home, "bash") as engine:
        await typed(engine, "echo armed\r")
        await wait_phase(session(engine), Phase.INPUT)
        await engine.run('echo "wow!nosuch"')

        assert (await engine.run("echo hi")).output.strip() == "hi"


async def test_a_long_run_is_not_asked_about_again(home: Path) -> None:
    async with session_of(home, "bash") as engine:
        await typed(engine, "echo armed\r")
        await wait_phase(session(engine), Phase.INPUT)
        body = "".join(f"some text of line {number}\n\n" for number in range(300))
        ran = await engine.run(f"cat > long <<'E'\n{body}E\nwc -l < long")

        assert ran.output.strip() == "600"


async def test_what_history_runs_under_a_computed_name_is_asked_about(
    home: Path, victim: Path
) -> None:
    async with session_of(home, "bash") as engine:
        await typed(engine, f"echo -rf {victim}\r")
        await wait_phase(session(engine), Phase.INPUT)
        await typed(engine, "f=fc; $f -s echo=rm echo\r")
        await refused(engine)
        listed = await engine.run("fc -l -1; fc -ln -2 -1")

        assert victim.exists()
        assert listed.exit_code == 0


FORGED = (
    "(for x in ${{!_d*}}; do [[ $x = *y_gate ]] && g=${{!x}}; [[ $x = *y_nonce ]] && n=${{!x}}; done; sleep 1; "
    'echo "$n 7 allow" > "$g") &\r'
)


@pytest.mark.parametrize(
    "keys",
    [
        ["unset SRANDOM\r", "SRANDOM=7\r", FORGED, "sleep 1.5\r", "rm -rf {victim}\r"],
        ["unset SRANDOM\r", "read -r SRANDOM <<< 'a[$(rm -rf {victim})]'\r", "true\r"],
        [
            "\x1b[200~for x in ${{!_d*}}; do [[ $x = *y_gate ]] && g=${{!x}}; done; a=med; "
            'printf 2 > "$g.ar$a"\nrm -rf {victim}\x1b[201~\r'
        ],
    ],
)
async def test_an_answer_is_neither_forged_nor_done_without(
    home: Path, victim: Path, keys: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def untouched(line: str, *, shell: str | None) -> None:
        """Only what the shell does itself is tried."""

    monkeypatch.setattr(judge, "touched_hook", untouched)
    async with session_of(home, "bash") as engine:
        for each in keys:
            with suppress(DuettyError):
                await typed(engine, each.format(victim=victim))
            await engine.call("session.wait", session="s", idle_ms=2_000, max_wait_ms=10_000)

        assert victim.exists()


async def test_a_comment_before_a_command_of_a_paste_hides_nothing_and_nobody_is_asked(
    home: Path,
) -> None:
    async with session_of(home, "bash") as engine:
        text = "# first\n\necho on''e\n\n# then\n# more\necho tw''o"
        await engine.call("input.paste", session="s", text=text)
        await typed(engine, "\r")
        await engine.call("session.wait", session="s", regex="(?m)^one$", max_wait_ms=30_000)
        await engine.call("session.wait", session="s", regex="(?m)^two$", max_wait_ms=30_000)


async def test_a_line_that_nobody_can_tell_is_asked_about_with_what_history_has(
    home: Path, victim: Path
) -> None:
    async with session_of(home, "bash") as engine:
        # Keys that are no text: nobody knows what they make.
        await typed_in_lines(engine, f"{{ : # y\x7fx \\\rrm -rf {victim}\r}}\r")
        await refused(
            engine, "could not tell what it is about to run; its history has { : # x rm -rf"
        )

        assert victim.exists()


@pytest.mark.parametrize(
    "line",
    [
        "echo one \\\r  two\r",
        "\x1b[200~f() {\n\n  echo one two\n\n}\nf\x1b[201~\r",
        "cat <<E\rone two\rE\r",
        "for i in one; do\r\recho $i two; done\r",
    ],
)
async def test_lines_in_pieces_run_when_what_was_typed_tells_them(home: Path, line: str) -> None:
    async with session_of(home, "bash") as engine:
        await typed(engine, "echo armed\r")
        before = prompts(engine)
        await at_next_prompt(engine, before - 1)
        await typed(engine, line)
        await engine.call("session.wait", session="s", regex="(?m)^one two", max_wait_ms=30_000)


async def test_a_run_in_pieces_is_not_asked_about_again(home: Path) -> None:
    async with session_of(home, "bash") as engine:
        await typed(engine, "echo armed\r")
        told = [
            await engine.run(line)
            for line in (
                "echo one \\\n  two",
                "f() {\n\n  echo one two\n}\nf",
                "cat <<E\none two\n\nE",
            )
        ]

        assert [(each.output.strip(), each.exit_code) for each in told] == [("one two", 0)] * 3


# --- what takes the question away -----------------------------------------------


async def test_ps0_stays_between_the_commands_of_one_paste(home: Path, victim: Path) -> None:
    async with session_of(home, "bash") as engine:
        # As a file that an agent sourced may have left it.
        await engine.dispatcher.call(
            ANNA, "command.run", {"session": "s", "input": "declare -n r=PS0"}
        )
        await engine.call("input.paste", session="s", text=f"r=\nrm -rf {victim}")
        await typed(engine, "\r")
        await refused(engine)

        assert victim.exists()


async def test_a_file_that_sets_ps0_is_read_to_its_end(home: Path) -> None:
    (home / "rc").write_text("PS0=x\necho read\n")
    async with session_of(home, "bash") as engine:
        ran = await engine.run(". ~/rc")

        assert ran.output.splitlines()[-1] == "read"


async def test_a_shell_that_has_no_descriptors_to_ask_with_ends(home: Path, victim: Path) -> None:
    async with session_of(home, "bash") as engine:
        limit = {"session": "s", "input": "no_room() { ulimit -Sn 0; }"}
        await engine.dispatcher.call(ANNA, "command.run", limit)
        await engine.call(
            "input.paste", session="s", text=f"no_room\nulimit -Sn 1024; rm -rf {victim}"
        )
        await typed(engine, "\r")
        with anyio.fail_after(30):
            while not session(engine).is_exited:
                await session(engine).pulse.wait()

        assert victim.exists()


async def test_a_question_that_comes_while_one_waits_takes_nothing_back(
    home: Path, victim: Path
) -> None:
    """Whoever got hold of the nonce may say that the shell asks about something else."""
    async with session_of(home, "bash", approval_ask="always") as engine:
        forged = home / "forged"
        nonce = session(engine).profile.nonce
        line = f"while ! [ -s {forged} ]; do sleep 0.01; done; cat {forged} > /dev/tty"
        await engine.dispatcher.call(ANNA, "command.run", {"session": "s", "input": f"({line}) &"})
        await typed(engine, f"rm -rf {victim}\r")
        while (question := session(engine).question) is None:
            await session(engine).pulse.wait()
        told: list[object] = []
        tap = session(engine).log.tap
        assert tap is not None
        session(engine).log.tap = lambda event: (told.append(event), tap(event))[1]
        forged.write_text(f"\x1b]133;Q;nonce={nonce};id={question.id};cmdline='ls'\x07")
        while not any(isinstance(each, Degraded) and each.part == "gate" for each in told):
            await anyio.sleep(0.01)

        assert session(engine).question is question
        assert victim.exists()
        [asked] = engine.services.approvals.pending()
        assert asked.command_line == f"rm -rf {victim}"


# --- whose a line is ------------------------------------------------------------


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("profile", ["guarded", "strict"])
async def test_what_an_agent_left_on_the_line_is_the_agents_when_a_person_ends_it(
    home: Path, victim: Path, ahead: bool, profile: str
) -> None:
    async with session_of(home, "bash", policy_profile=profile) as engine:
        before = prompts(engine)
        if ahead:
            if profile == "strict":
                return  # keys for a line are not taken there while something runs
            await typed(engine, "sleep 0.5\r", f"m -rf {victim} \x01r\x05#\x16\x16\x16\r")
        else:
            await typed(engine, f"ls\rrm -rf {victim} #\x16\r")
        await at_next_prompt(engine, before)
        await engine.call("session.wait", session="s", text=f"rm -rf {victim}", max_wait_ms=30_000)
        found = session(engine).gate
        assert found is not None
        a_while_ago(found)
        for key in ("left", "enter"):
            await engine.dispatcher.call(ANNA, "input.press", {"session": "s", "keys": [key]})
        await refused(engine)

        assert victim.exists()


# --- what history puts into a run -----------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize(
    "line",
    [
        "^echo ^",
        "^echo ^^",
        "!:1-$",
        "!:s/echo //",
        "!:1 !:2 !:3",
        '"!:1" !:2-$',
        "true; !:1-3",
        'true "it\'s"; !:1-$ ; true "it\'s"',
    ],
)
async def test_a_run_that_history_makes_another_of_is_judged_as_that(
    home: Path, victim: Path, shell: str, line: str
) -> None:
    async with session_of(home, shell) as engine:
        await engine.run(f"echo rm -rf {victim}")
        with pytest.raises(PolicyDenied, match="rm -rf"):
            await engine.run(line)
        await wait_phase(session(engine), Phase.INPUT)

        assert victim.exists()


@pytest.mark.parametrize("shell", ["bash", "zsh"])
async def test_a_run_that_only_looks_like_it_runs(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        ran = [
            await engine.run(line)
            for line in ("echo 'hi!there'", "[ a != b ] && echo hi", "! false")
        ]

        assert [(each.output, each.exit_code) for each in ran] == [
            ("hi!there", 0),
            ("hi", 0),
            ("", 0),
        ]


@pytest.mark.parametrize(
    "gone",
    ["unfunction -m '_duetty*'", "foo() { return 0; }; functions -c foo builtin"],
)
async def test_zsh_without_its_hooks_is_not_typed_into(
    home: Path, victim: Path, gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "NEXT_PROMPT_S", 0.3)
    monkeypatch.setattr(gate, "PROMPT_S", 0.2)
    (home / "gone.zsh").write_text(f"{gone}\n")
    async with session_of(home, "zsh") as engine:
        await typed(engine, "source ~/gone.zsh\r")
        await engine.call("session.wait", session="s", idle_ms=300, max_wait_ms=5_000)
        with pytest.raises(PolicyDenied) as refused:
            await typed(engine, f"rm -rf {victim}\r")

        assert refused.value.details["rule"] == "gate"
        assert victim.exists()


@pytest.mark.parametrize(
    ("writes", "is_agents"),
    [
        (["rm -rf x #\x16\r"], True),
        (["ls\rrm -rf x #\x16", "\r"], True),
        (["rm x\t\r"], True),  # in a menu of completions, Enter chooses
        (["rm -rf x"], True),
        (["ls\r"], False),
        (["lss\x7f\x1b[D\x05\r"], False),
        (["\x1b[200~ls\x1b[201~", "\r"], False),
    ],
)
def test_an_enter_is_one_only_after_keys_that_leave_it_so(
    home: Path, writes: list[str], is_agents: bool
) -> None:
    asking = gate.Gate(home / "gate", nonce="n")
    asking.make(always=False)
    bot = Actor(kind="agent", name="bot")
    for data in writes:
        asking.expect(data.encode(), actor=bot, now_s=0, is_line_empty=lambda: False)
    asking.note_prompt(gated=True, now_s=1)
    asking.expect(b"x\r", actor=ANNA, now_s=9, is_line_empty=lambda: True)

    assert (asking.take_actor() is not None) == is_agents
