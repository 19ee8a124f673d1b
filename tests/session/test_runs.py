"""Running command lines in real shells: right exit code, directory and output each time."""

from pathlib import Path

import anyio
import pytest

from duetty.blocks import Phase
from duetty.errors import BadArguments, SessionBusy, SessionExited
from tests.engine import Engine, wait_phase

pytestmark = [pytest.mark.anyio, pytest.mark.shells]


LINES = [
    ("true", 0, ""),
    ("false", 1, ""),
    ("sleep 0.3; echo done", 0, "done"),
    ("printf 'a\\nb\\nc\\n' | sort -r | head -2", 0, "c\nb"),
    ("printf 'no newline'", 0, "no newline"),
    ("printf 'one\\ntwo\\n'; false", 1, "one\ntwo"),
    ("printf '\\033[2J\\033[H'; echo after", 0, "after"),
    ("printf '\\033]133;D;0\\007'; printf '\\033]133;A\\007'; echo forged; false", 1, "forged"),
    ("printf 'progress 10%%\\rprogress 100%%\\n'", 0, "progress 100%"),
    ("printf 'caf\\303\\251 \\346\\227\\245\\n'", 0, "café 日"),
    ("sh -c 'exit 3'", 3, ""),
    ("sh -c 'kill -9 $$'", 137, None),
    ("no-such-command-here", 127, None),
    ("echo x >&2", 0, "x"),
    ("seq 1 200 | tail -1", 0, "200"),
]


@pytest.mark.parametrize(("line", "exit_code", "output"), LINES, ids=[line for line, *_ in LINES])
@pytest.mark.sampled(4)
async def test_a_command_line_gives_its_own_exit_code_and_output(
    engine: Engine, shell: str, line: str, exit_code: int, output: str | None
) -> None:
    await engine.open(command=shell)

    answer = await engine.run(line)
    after = await engine.run("echo next")

    assert (answer.completed_by, answer.exit_code) == ("mark", exit_code)
    assert output is None or answer.output == output
    assert (after.exit_code, after.output) == (0, "next")


async def test_exit_in_a_subshell_is_the_lines_exit_code(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)
    line = "(exit 3)" if shell != "fish" else "fish -c 'exit 3'"

    answer = await engine.run(line)

    assert (answer.completed_by, answer.exit_code, answer.output) == ("mark", 3, "")


async def test_cd_changes_the_directory_that_is_reported(
    engine: Engine, shell: str, home: Path
) -> None:
    place = home / "with space é"
    place.mkdir()
    await engine.open(command=shell, cwd=str(home))

    before = await engine.run("true")
    after = await engine.run(f"cd '{place}'")

    assert before.cwd == str(home)
    assert after.cwd == str(place)


async def test_the_directory_is_known_while_the_command_behind_cd_still_runs(
    engine: Engine, shell: str, home: Path
) -> None:
    (home / "place").mkdir()
    (home / "link").symlink_to("place")
    await engine.open(command=shell, cwd=str(home))

    asked = await engine.run("cd place && cat")
    told = await engine.call("session.get", session="s")
    await engine.call("input.press", session="s", keys=["Ctrl-D"], wait="end")
    by_link = await engine.run(f"cd '{home}/link'")
    there = await engine.run("cat")

    assert (asked.completed_by, asked.cwd, told.cwd) == ("input", f"{home}/place", asked.cwd)
    assert there.cwd == by_link.cwd  # by the name that its shell has for it


async def test_an_alias_and_a_function_run_as_commands(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)
    define = (
        "function greet; echo hi $argv; return 4; end"
        if shell == "fish"
        else "greet() { echo hi $1; return 4; }"
    )

    defined = await engine.run(define)
    aliased = await engine.run("alias later='echo later'")
    called = await engine.run("greet you")
    by_alias = await engine.run("later now")

    assert (defined.exit_code, aliased.exit_code) == (0, 0)
    assert (called.exit_code, called.output) == (4, "hi you")
    assert (by_alias.exit_code, by_alias.output) == (0, "later now")


async def test_a_background_job_does_not_hold_the_line(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)

    answer = await engine.run("sleep 30 &")
    after = await engine.run("echo next")

    assert (answer.completed_by, answer.exit_code) == ("mark", 0)
    assert after.output == "next"


@pytest.mark.parametrize("shell", ["bash", "zsh", "dash"])
async def test_a_here_document_is_one_command(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)

    answer = await engine.run("cat <<EOF\nfirst\nsecond\nEOF")

    assert (answer.completed_by, answer.exit_code, answer.output) == ("mark", 0, "first\nsecond")


async def test_a_paste_of_several_lines_runs_them_all(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)

    answer = await engine.run("echo one\necho two\nfalse")

    assert (answer.completed_by, answer.exit_code) == ("mark", 1)
    assert answer.output == "one\ntwo"


async def test_a_loop_over_several_lines_is_one_answer(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)
    loop = (
        "for i in 1 2 3\necho $i\nend" if shell == "fish" else "for i in 1 2 3\ndo\necho $i\ndone"
    )

    answer = await engine.run(loop)

    assert (answer.completed_by, answer.exit_code, answer.output) == ("mark", 0, "1\n2\n3")


@pytest.mark.parametrize("line", ["", "   ", "# only a comment"])
@pytest.mark.sampled(3)
async def test_a_line_that_does_nothing_ends_at_once(engine: Engine, shell: str, line: str) -> None:
    await engine.open(command=shell)
    await engine.run("true")

    answer = await engine.run(line, max_wait_ms=60_000)
    after = await engine.run("echo next")

    assert answer.completed_by == "mark"
    assert after.output == "next"


@pytest.mark.parametrize("shell", ["bash", "zsh", "dash"])
async def test_an_unfinished_line_is_told_at_once_and_can_be_finished(
    engine: Engine, shell: str
) -> None:
    await engine.open(command=shell)

    asked = await engine.run("echo 'first", max_wait_ms=30_000)
    ended = await engine.run("second'")

    assert (asked.completed_by, asked.state, asked.continuation) == (
        "input",
        "awaiting_input",
        True,
    )
    assert (ended.completed_by, ended.exit_code, ended.output) == ("mark", 0, "first\nsecond")


@pytest.mark.parametrize(
    ("shell", "code"), [("bash", 2), ("zsh", None), ("dash", 2), ("fish", None)]
)
async def test_a_line_that_does_not_parse_ends_with_the_shells_code_or_an_unknown_one(
    engine: Engine, shell: str, code: int | None
) -> None:
    await engine.open(command=shell)
    await engine.run("true")

    answer = await engine.run("echo )", max_wait_ms=30_000)
    after = await engine.run("echo next")

    assert answer.completed_by == "mark"
    assert answer.exit_code == code
    assert "unexpected" in answer.output.lower() or "parse" in answer.output
    assert after.output == "next"


@pytest.mark.parametrize(
    "text",
    [
        "cat <<'EOF'\nsome\ntext\nEOF",
        "echo )\n\n\n  echo two",
        "echo one\necho )",
        "\n".join(["echo )", *("echo more" for _ in range(60))]),
    ],
    ids=["a here-document", "blank lines", "the last one", "many lines"],
)
async def test_several_lines_that_fish_refuses_do_not_become_part_of_the_next(
    engine: Engine, text: str
) -> None:
    await engine.open(command="fish")

    refused = await engine.run(text, max_wait_ms=30_000)
    after = [await engine.run(line) for line in ("echo next", "echo and\necho another")]

    assert (refused.completed_by, refused.exit_code) == ("mark", None)
    assert [(each.exit_code, each.output) for each in after] == [(0, "next"), (0, "and\nanother")]


async def test_exit_ends_the_session_with_its_code_and_leaves_it_readable(
    engine: Engine, shell: str
) -> None:
    session = await engine.open(command=shell)
    await engine.run("echo before")

    answer = await engine.run("exit 7")
    await engine.call("session.wait", session="s", exit=True, max_wait_ms=30_000)

    assert (answer.completed_by, answer.exit_code, answer.state) == ("exit", 7, "exited")
    assert session.exit_code == 7
    screen = await engine.call("screen.get", session="s", format="plain")
    assert "before" in screen["lines"]
    with pytest.raises(SessionExited):
        await engine.run("echo gone")


async def test_a_program_that_asks_is_an_answer_and_can_be_answered(
    engine: Engine, shell: str
) -> None:
    await engine.open(command=shell)

    asked = await engine.run("read x")
    answered = await engine.run("yes")
    after = await engine.run("echo got $x")

    assert (asked.completed_by, asked.state) == ("input", "awaiting_input")
    assert (answered.completed_by, answered.exit_code) == ("mark", 0)
    assert after.output == "got yes"


async def test_a_command_that_never_ends_is_answered_at_the_deadline_and_goes_on(
    engine: Engine, shell: str
) -> None:
    await engine.open(command=shell)

    answer = await engine.run("echo started; sleep 100", max_wait_ms=600)
    await engine.call("input.interrupt", session="s")
    waited = await engine.call("session.wait", session="s", state=["prompt"], max_wait_ms=30_000)

    assert (answer.completed_by, answer.exit_code, answer.state) == ("deadline", None, "running")
    assert answer.output == "started"
    assert waited.state == "prompt"


async def test_a_text_that_was_asked_for_ends_the_wait(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)

    answer = await engine.run("echo ready; sleep 100", until_text="ready", max_wait_ms=30_000)

    assert (answer.completed_by, answer.match) == ("text", "ready")


async def test_a_command_that_prints_the_text_last_has_its_exit_code(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duetty.session.runs.ENDS_S", 30.0)  # a busy machine
    await engine.open(command="bash")

    answer = await engine.run("echo ready; (exit 3)", until_text="ready")

    assert (answer.completed_by, answer.exit_code, answer.state) in [
        ("text", 3, "prompt"),
        ("mark", 3, "prompt"),
    ]


async def test_runs_on_one_session_queue_in_order(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)
    answers: dict[int, str] = {}

    async def run(number: int) -> None:
        answers[number] = (await engine.run(f"echo {number}")).output

    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(run, number)

    assert answers == {number: str(number) for number in range(5)}


async def test_a_queued_run_is_not_typed_into_a_program_that_an_earlier_one_left_running(
    engine: Engine, shell: str
) -> None:
    await engine.open(command=shell)
    refused: list[SessionBusy] = []

    async def second() -> None:
        try:
            await engine.run("echo second")
        except SessionBusy as error:
            refused.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.run, "read x")
        await anyio.sleep(0)
        tasks.start_soon(second)

    assert [error.code for error in refused] == ["session_busy"]


async def test_the_blocks_of_a_session_tell_what_was_run(
    engine: Engine, shell: str, home: Path
) -> None:
    await engine.open(command=shell, cwd=str(home))
    await engine.run("echo 'a; b' | cat")
    await engine.run("sh -c 'exit 5'")

    blocks = await engine.call("block.list", session="s")
    output = await engine.call("block.output", session="s", block=blocks[1].id)

    assert [(block.command_line, block.exit_code, block.cwd) for block in blocks] == [
        ("sh -c 'exit 5'", 5, str(home)),
        ("echo 'a; b' | cat", 0, str(home)),
    ]
    assert (output.lines, output.total_lines) == (["a; b"], 1)


async def test_long_output_comes_with_head_tail_and_a_count(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)

    answer = await engine.run("seq 1 100000", max_output_bytes=2_000)
    page = await engine.call(
        "block.output", session="s", block=answer.block, offset=49_999, limit=2
    )
    last = await engine.call("block.output", session="s", block=answer.block, offset=-1)

    lines = answer.output.split("\n")
    assert (lines[0], lines[-1]) == ("1", "100000")
    assert answer.omitted_lines > 90_000
    assert len(lines) - 1 + answer.omitted_lines == 100_000
    assert (page.lines, page.total_lines) == (["50000", "50001"], 100_000)
    assert last.lines == ["100000"]


async def test_each_block_of_a_paste_has_its_own_line(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)

    answer = await engine.run("echo a\necho b\nfalse")
    blocks = (await engine.call("block.list", session="s"))[::-1]

    assert answer.exit_code == 1
    told = [(block.command_line, block.exit_code) for block in blocks]
    if shell in ("zsh", "fish"):  # one line to them, and so one block
        assert told == [("echo a\necho b\nfalse", 1)]
    else:
        assert told == [("echo a", 0), ("echo b", 0), ("false", 1)]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_a_tab_in_a_line_is_text(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)

    answer = await engine.run("printf 'a\tb\\n' | tr '\\t' -")

    assert (answer.exit_code, answer.output) == (0, "a-b")


@pytest.mark.parametrize("character", ["\x00", "\x03", "\x04", "\x08", "\x1b[201~", "\x7f", "\x0b"])
async def test_a_line_with_control_characters_is_refused_before_it_is_typed(
    engine: Engine, character: str
) -> None:
    await engine.open(command="fish")

    with pytest.raises(BadArguments, match="keys") as refused:
        await engine.run(f"echo a{character}b")
    after = await engine.run("echo fine")

    assert refused.value.code == "invalid_request"
    assert (after.exit_code, after.output) == (0, "fine")


async def test_a_comment_prints_nothing(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)

    for _ in range(5):
        answer = await engine.run("# nothing to do" if shell != "zsh" else ": # nothing")
        assert (answer.completed_by, answer.output) == ("mark", "")


async def test_a_line_that_runs_is_known_while_it_runs(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)
    await engine.run("true")

    await engine.call("input.write", session="s", data="cat /dev/zero | sleep 30\r")
    running = None
    while running is None:
        blocks = (await engine.call("block.list", session="s"))[::-1]
        running = next((block for block in blocks if block.running), None)
        await anyio.sleep(0.01)

    assert running.command_line == "cat /dev/zero | sleep 30"


async def test_a_line_edited_on_its_way_is_known_as_it_runs(engine: Engine) -> None:
    session = await engine.open(command="bash")
    await engine.run("true")
    await wait_phase(session, Phase.INPUT)  # before it, the kernel edits

    await engine.call("input.write", session="s", data="sleeep 30\x1b[D\x1b[D\x1b[D\x1b[D\x7f\r")
    lines: list[str | None] = []
    while not lines:
        blocks = await engine.call("block.list", session="s")
        lines = [block.command_line for block in blocks if block.running]
        await anyio.sleep(0.01)

    assert lines == ["sleep 30"]


@pytest.mark.parametrize("typed", [False, True], ids=["run", "typed"])
async def test_the_line_that_ends_the_shell_is_told_with_its_exit_code(
    engine: Engine, shell: str, typed: bool
) -> None:
    session = await engine.open(command=shell)
    await engine.run("true")

    if typed:
        await engine.call("input.write", session="s", data="exit 3\r")
        await engine.call("session.wait", session="s", exit=True)
    else:
        await engine.run("exit 3")

    last = session.recent[-1]
    assert (last.command_line, last.exit_code) == ("exit 3", 3)


async def test_no_command_is_said_to_take_no_time(engine: Engine, shell: str) -> None:
    session = await engine.open(command=shell)

    answers = [await engine.run("true") for _ in range(5)]
    slow = await engine.run("sleep 0.2")

    assert all(answer.duration_ms > 0 for answer in answers)
    assert all(block.duration_ms is None or block.duration_ms > 0 for block in session.recent)
    assert slow.duration_ms > 100
