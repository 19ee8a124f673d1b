"""A process that writes a trail as fast as it can and says what was acknowledged; it gets killed."""

import os
import sys
from pathlib import Path

from duetty.audit import Limits, Trail
from duetty.clock import SystemClock
from duetty.store import Store


def main() -> None:
    directory = Path(sys.argv[1])
    trail = Trail(
        directory,
        clock=SystemClock(),
        limits=Limits(file_bytes=20_000, files=int(sys.argv[2])),
        store=Store.open(directory.with_name("db")),
        sync_s=0.01,
    )
    while True:
        seq = trail.record("call", operation="command.run", arguments={"input": "x" * 200})
        os.write(1, b"%d\n" % seq)


main()
