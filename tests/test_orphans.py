"""What is left behind below a process comes back to it, and leaves nothing behind when it ends."""

import subprocess
import sys

PARENT = """
import os, signal, subprocess, sys, time
from duetty.platform.orphans import adopt_orphans, forget_ended

assert adopt_orphans()
own = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
made = subprocess.run(["sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"], stdout=subprocess.PIPE, text=True)
orphan = int(made.stdout)
with open(f"/proc/{orphan}/stat") as file:
    print("adopted", file.read().rpartition(")")[2].split()[1] == str(os.getpid()))
print("lives", forget_ended(frozenset()))
os.kill(orphan, signal.SIGKILL)
os.waitid(os.P_PID, orphan, os.WEXITED | os.WNOWAIT)
ended = forget_ended(frozenset())
print("first look", ended == {orphan}, os.path.exists(f"/proc/{orphan}"))
print("second look", forget_ended(ended), os.path.exists(f"/proc/{orphan}"))
own.kill()
print("own", own.wait())
"""


def test_an_orphan_is_adopted_and_let_go_of_at_the_second_look() -> None:
    told = subprocess.run(
        [sys.executable, "-c", PARENT], capture_output=True, text=True, timeout=20, check=True
    )

    assert told.stdout.splitlines() == [
        "adopted True",
        "lives frozenset()",
        "first look True True",
        "second look frozenset() False",
        "own -9",
    ]
