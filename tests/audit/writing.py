"""A process that writes a trail as fast as it can and says what was acknowledged; it gets killed."""

import os
import sys
from pathlib import Path

from duetty.audit import Limits, Trail
from duetty.clock import SystemClock


def main() -> None:
    trail = Trail(
        Path(sys.argv[1]), clock=SystemClock(), limits=Limits(file_bytes=20_000, files=1_000)
    )
    while True:
        seq = trail.record("call", operation="command.run", arguments={"input": "x" * 200})
        os.write(1, b"%d\n" % seq)


main()
