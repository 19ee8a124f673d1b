"""Text on standard input is a program only for what reads its program there."""

import pytest

from duetty.ops.guardrail.surroundings import fed_text
from duetty.wire.processes import StartProcessParams


def fed(command: str) -> bool:
    params = StartProcessParams.model_validate({"command": command, "stdin": "echo hello\n"})
    return fed_text(params, command) is not None


@pytest.mark.parametrize(
    "command",
    [
        "bash",
        "/bin/sh",
        "bash -s",
        "sh -e",
        "bash /dev/stdin",
        "env bash",
        "timeout 5 sh",
        "cat | sh",
        "sh -c bash",
        "fish",
        ". /dev/stdin",
        "source /dev/fd/0",
        "sh -c 'eval \"$(cat)\"'",
    ],
)
def test_a_shell_that_reads_its_program_is_judged_by_it(command: str) -> None:
    assert fed(command)


@pytest.mark.parametrize(
    "command",
    ["cat", "fish -c cat", "bash -c 'cat > note'", "sh script.sh", "wc -l", "fish --command cat"],
)
def test_data_for_a_program_is_not_read_as_a_script(command: str) -> None:
    assert not fed(command)
