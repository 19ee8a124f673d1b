"""A bare PTY with a shell on it, in a tight loop; the measure for everything else.

Run as a program of its own, with the standard library only, so that nothing of
Duetty takes part: no event loop, no other thread, and a fork as cheap as the
keeper's. Requests are lines of JSON on stdin, answers on stdout.
"""

import fcntl
import json
import os
import re
import signal
import struct
import sys
import termios
import time
from typing import Any, NoReturn

IUTF8 = 0o40000
READ_BYTES = 65_536
MARK_BYTES = 512
"""More than any mark of these benchmarks is long; a mark may be cut by two reads."""


class BarePty:
    """The same shell with the same integration, and nothing behind the PTY."""

    def __init__(self, order: dict[str, Any]) -> None:
        nonce = re.escape(order["nonce"].encode())
        end = rb"[^\x07\x1b]*(?:\x07|\x1b\\)"
        self._nonce = order["nonce"].encode()
        self._done = re.compile(rb"\x1b\]133;D[^\x07\x1b]*;nonce=" + nonce + end)
        self._input = re.compile(rb"\x1b\]133;B;nonce=" + nonce + end)
        self._seen = b""
        started_ns = time.perf_counter_ns()
        self._pid, self._fd = _start(order)
        self._is_ready = False
        self._until_ready()
        self.start_ns = time.perf_counter_ns() - started_ns

    def trips(self, line: bytes, *, count: int, rested: bool) -> list[int]:
        """Nanoseconds from the write of a line to its done-mark.

        With `rested` each begins at a prompt that is ready; else right behind
        the one before, so that the prompt between them counts.
        """
        taken: list[int] = []
        for _ in range(count):
            if rested:
                self._until_ready()
            started_ns = time.perf_counter_ns()
            self._until_ready()
            os.write(self._fd, line)
            self._is_ready = False
            self._until(self._done)
            taken.append(time.perf_counter_ns() - started_ns)
        return taken

    def flood(self, line: bytes) -> tuple[int, int]:
        """Nanoseconds and bytes from the write of a line to its done-mark, which ends a long output."""
        self._until_ready()
        self._is_ready = False
        fd, nonce = self._fd, self._nonce
        received = 0
        tail = b""
        started_ns = time.perf_counter_ns()
        os.write(fd, line)
        while True:
            chunk = os.read(fd, READ_BYTES)
            received += len(chunk)
            joined = tail + chunk
            if nonce in joined and (found := self._done.search(joined)):
                self._seen = joined[found.end() :]
                return time.perf_counter_ns() - started_ns, received
            tail = joined[-MARK_BYTES:]

    def end(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.close(self._fd)
        os.waitpid(self._pid, 0)

    def _until_ready(self) -> None:
        """Until the prompt of this line is there; there is one for each line."""
        if not self._is_ready:
            self._until(self._input)
            self._is_ready = True

    def _until(self, mark: re.Pattern[bytes]) -> None:
        """Read until the mark; what comes behind it is kept for the next one."""
        seen = self._seen
        while (found := mark.search(seen)) is None:
            seen += os.read(self._fd, READ_BYTES)
        self._seen = seen[found.end() :]


def _start(order: dict[str, Any]) -> tuple[int, int]:
    master, slave = os.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    modes = termios.tcgetattr(slave)
    modes[0] |= IUTF8
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    ends: dict[int, int] = {}
    for number, text in order["handed"].items():
        ends[int(number)], write_end = os.pipe()
        os.write(write_end, text.encode())
        os.close(write_end)
    pid = os.fork()
    if pid == 0:
        _become(order, slave, ends)
    os.close(slave)
    for end in ends.values():
        os.close(end)
    return pid, master


def _become(order: dict[str, Any], slave: int, ends: dict[int, int]) -> NoReturn:
    try:
        os.login_tty(slave)
        for number, end in ends.items():
            os.dup2(end, number)
        os.chdir(order["cwd"])
        os.execvpe(order["argv"][0], order["argv"], order["env"])
    finally:
        os._exit(127)


def _answer(request: dict[str, Any], open_ptys: dict[int, BarePty]) -> object:
    match request["op"]:
        case "start":
            pty = BarePty(request)
            open_ptys[request["pty"]] = pty
            return pty.start_ns
        case "trips":
            line = request["line"].encode()
            pty = open_ptys[request["pty"]]
            return pty.trips(line, count=request["count"], rested=request["rested"])
        case "flood":
            return open_ptys[request["pty"]].flood(request["line"].encode())
        case _:
            open_ptys.pop(request["pty"]).end()
            return None


def main() -> None:
    open_ptys: dict[int, BarePty] = {}
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line), open_ptys)), flush=True)
    for pty in open_ptys.values():
        pty.end()


if __name__ == "__main__":
    main()
