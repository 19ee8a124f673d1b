"""Short turns of the processor: asked for, never forced."""

import os
import subprocess
import sys

import pytest

from duetty.platform.short_turns import ask_short_turns

PROGRAM = """
import os
from duetty.platform.short_turns import ask_short_turns
before = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK, os.getpriority(os.PRIO_PROCESS, 0)
heard = ask_short_turns()
after = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK, os.getpriority(os.PRIO_PROCESS, 0)
child = os.fork()
if child == 0:
    os._exit(bool(os.sched_getscheduler(0) & os.SCHED_RESET_ON_FORK))
print(heard, before == after, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_asking_changes_neither_policy_nor_niceness_and_programs_do_not_inherit_it() -> None:
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    ).stdout

    assert said == "True True 0\n"


@pytest.mark.parametrize("machine", ["sparc", ""])
def test_a_machine_that_we_do_not_know_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, machine: str
) -> None:
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("", "", "", "", machine)))

    assert not ask_short_turns()
