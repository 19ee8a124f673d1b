import pytest

from duetty.blocks import Phase, Probe, State, derive_state

READING = Probe(known=True, reading=True)
PASSWORD = Probe(known=True, reading=True, echo=False)
BUSY = Probe(known=True)
REFUSED = Probe(known=False)


@pytest.mark.parametrize(
    ("phase", "alternate", "exited", "probe", "expected"),
    [
        (Phase.INPUT, False, False, None, State(word="prompt", known_by="marks")),
        (Phase.DONE, False, False, None, State(word="prompt", known_by="marks")),
        (Phase.INPUT, True, False, None, State(word="prompt", known_by="marks")),
        (Phase.RUNNING, False, False, None, State(word="running", known_by="marks")),
        (Phase.RUNNING, False, False, BUSY, State(word="running", known_by="marks")),
        (Phase.RUNNING, False, False, REFUSED, State(word="running", known_by="marks")),
        (Phase.RUNNING, True, False, READING, State(word="fullscreen", known_by="terminal")),
        (Phase.RUNNING, False, False, READING, State(word="awaiting_input", known_by="kernel")),
        (Phase.RUNNING, False, False, PASSWORD, State(word="awaiting_password", known_by="kernel")),
        (
            Phase.RUNNING,
            False,
            False,
            Probe(known=False, echo=False),
            State(word="awaiting_password", known_by="kernel"),
        ),
        (Phase.SILENT, False, False, BUSY, State(word="running", known_by="kernel")),
        (Phase.SILENT, False, False, READING, State(word="awaiting_input", known_by="kernel")),
        (Phase.SILENT, False, False, REFUSED, State(word="unknown", known_by="nothing")),
        (Phase.SILENT, False, False, None, State(word="unknown", known_by="nothing")),
        (
            Phase.CONTINUATION,
            False,
            False,
            None,
            State(word="awaiting_input", known_by="marks", continuation=True),
        ),
        (Phase.RUNNING, True, True, READING, State(word="exited", known_by="keeper")),
    ],
)
def test_each_set_of_facts_has_one_state(
    phase: Phase, alternate: bool, exited: bool, probe: Probe | None, expected: State
) -> None:
    state = derive_state(
        phase=phase, alternate_active=alternate, exited=exited, is_shell=False, probe=probe
    )

    assert state == expected


def test_a_shell_without_marks_that_reads_the_terminal_is_at_its_prompt() -> None:
    probe = Probe(known=True, reading=True, by_shell=True, canonical=False)

    state = derive_state(
        phase=Phase.SILENT, alternate_active=False, exited=False, is_shell=True, probe=probe
    )

    assert state == State(word="prompt", known_by="kernel")
