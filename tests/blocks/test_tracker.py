from hypothesis import given
from hypothesis import strategies as st

from duetty.blocks import BlockTracker, Closed, Opened, Phase, Progress
from duetty.shell import Mark, MarkKind


def mark(letter: str, at: int, **fields: object) -> Mark:
    told: dict[str, object] = {"trusted": True, **fields}
    return Mark(kind=MarkKind(letter), start=at, end=at + 10, **told)  # type: ignore[arg-type]  # as each test says


def applied(tracker: BlockTracker, *marks: Mark) -> list[Opened | Closed]:
    return [change for each in marks for change in tracker.apply(each)]


def test_a_command_is_a_block_from_output_to_done() -> None:
    tracker = BlockTracker()

    changes = applied(
        tracker,
        mark("A", 0, cwd="/a"),
        mark("B", 20),
        mark("C", 40, command_line="ls"),
        mark("D", 90, exit_code=3, cwd="/b"),
    )

    assert changes == [
        Opened(number=1, start=50, command_line="ls", cwd="/a", prompt_end=10, input_end=30),
        Closed(
            number=1,
            start=50,
            end=90,
            after_echo=False,
            command_line="ls",
            exit_code=3,
            cwd="/b",
        ),
    ]
    assert (tracker.phase, tracker.cwd) == (Phase.DONE, "/b")


def test_a_shell_that_tells_its_line_only_at_the_end_still_tells_it() -> None:
    tracker = BlockTracker()

    changes = applied(
        tracker, mark("A", 0), mark("B", 20), mark("C", 40), mark("D", 90, command_line="ls")
    )

    assert isinstance(changes[-1], Closed)
    assert changes[-1].command_line == "ls"


def test_without_an_output_mark_the_block_begins_behind_the_echoed_line() -> None:
    tracker = BlockTracker()

    changes = applied(tracker, mark("A", 0), mark("B", 20), mark("D", 90, exit_code=1))

    assert changes == [
        Closed(
            number=1,
            start=30,
            end=90,
            after_echo=True,
            command_line=None,
            exit_code=1,
            cwd=None,
            prompt_end=10,
        )
    ]


def test_commands_of_one_paste_are_a_block_each() -> None:
    tracker = BlockTracker()

    changes = applied(
        tracker,
        mark("A", 0),
        mark("B", 20),
        mark("C", 40),
        mark("D", 60, exit_code=0),
        mark("C", 80),
        mark("D", 100, exit_code=1),
    )

    assert [(type(each), each.number) for each in changes] == [
        (Opened, 1),
        (Closed, 1),
        (Opened, 2),
        (Closed, 2),
    ]


def test_a_prompt_without_a_done_closes_the_block_with_an_unknown_code() -> None:
    tracker = BlockTracker()

    changes = applied(tracker, mark("A", 0), mark("B", 20), mark("C", 40), mark("A", 90))

    assert isinstance(changes[-1], Closed)
    assert changes[-1].exit_code is None


def test_an_empty_line_is_no_block_but_another_prompt() -> None:
    tracker = BlockTracker()

    changes = applied(tracker, mark("A", 0), mark("B", 20), mark("A", 40), mark("B", 60))

    assert changes == []
    assert (tracker.phase, tracker.progress.prompts) == (Phase.INPUT, 2)


def test_a_redrawn_prompt_is_not_another_one() -> None:
    tracker = BlockTracker()

    applied(tracker, mark("A", 0), mark("B", 20), mark("B", 40))

    assert (tracker.phase, tracker.progress.prompts) == (Phase.INPUT, 1)


def test_a_continuation_prompt_is_a_phase_of_its_own() -> None:
    tracker = BlockTracker()

    applied(
        tracker,
        mark("A", 0),
        mark("B", 20),
        mark("A", 40, secondary=True),
        mark("B", 60, secondary=True),
    )

    assert (tracker.phase, tracker.progress.continued_at) == (Phase.CONTINUATION, 50)


def test_a_line_typed_to_a_shell_that_cannot_say_so_counts_as_entered() -> None:
    tracker = BlockTracker()
    applied(tracker, mark("A", 0), mark("B", 20))

    tracker.enter()
    entered = tracker.phase
    changes = applied(tracker, mark("D", 60, exit_code=0))

    assert (entered, tracker.phase, len(changes)) == (Phase.ENTERED, Phase.DONE, 1)


def test_a_process_that_is_gone_leaves_its_block_with_an_unknown_code() -> None:
    tracker = BlockTracker()
    applied(tracker, mark("A", 0), mark("B", 20), mark("C", 40))

    changes = tracker.abandon(99)

    assert [(each.end, each.exit_code) for each in changes] == [(99, None)]
    assert tracker.abandon(100) == ()


MARKS = st.builds(
    Mark,
    kind=st.sampled_from(MarkKind),
    start=st.integers(0, 10**6),
    end=st.integers(0, 10**6),
    trusted=st.booleans(),
    secondary=st.booleans(),
    exit_code=st.none() | st.integers(0, 255),
    command_line=st.none() | st.text(),
    cwd=st.none() | st.text(),
)


@given(st.lists(MARKS))
def test_any_marks_in_any_order_are_taken_and_untrusted_ones_change_nothing(
    marks: list[Mark],
) -> None:
    tracker, honest = BlockTracker(), BlockTracker()

    changes = applied(tracker, *marks)
    believed = applied(honest, *(each for each in marks if each.trusted))

    assert changes == believed
    assert tracker.progress == honest.progress


@given(st.lists(MARKS), st.lists(MARKS))
def test_a_tracker_restored_from_its_progress_goes_on_the_same(
    before: list[Mark], after: list[Mark]
) -> None:
    tracker = BlockTracker()
    applied(tracker, *before)

    restored = BlockTracker(Progress(**{k: getattr(tracker.progress, k) for k in Progress._fields}))

    assert applied(restored, *after) == applied(tracker, *after)


def test_the_line_that_ended_the_shell_has_the_shells_exit_code() -> None:
    tracker = BlockTracker()
    applied(tracker, mark("A", 0), mark("B", 20), mark("C", 40))

    (closed,) = tracker.abandon(70, exit_code=3)

    assert (closed.exit_code, closed.end) == (3, 70)


def test_a_line_sent_to_a_shell_that_announces_none_ends_with_the_shell() -> None:
    tracker = BlockTracker()
    applied(tracker, mark("A", 0), mark("B", 20))
    tracker.enter()

    (closed,) = tracker.abandon(70, exit_code=3, is_unannounced=True)

    assert (closed.start, closed.after_echo, closed.exit_code) == (30, True, 3)
