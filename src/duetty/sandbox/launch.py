"""Limits, Landlock and the system call filter, then the command: `launch.py SPEC -- COMMAND …`.

A program of its own: started as `python -I -S launch.py`, it imports nothing but
the standard library, and fails rather than start the command with less than was
asked for.
"""

import ctypes
import json
import os
import resource
import stat
import struct
import sys
from typing import Any

FAILED = 125

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_WRITE = _WRITE_FILE | _TRUNCATE | _REFER | sum(1 << bit for bit in range(4, 13))
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_DROP_BOUNDING, _MAX_CAPABILITIES, _CAPABILITY_VERSION = 24, 64, 0x20080522
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")

libc = ctypes.CDLL(None, use_errno=True)


def main(words: list[str]) -> None:
    spec: dict[str, Any] = json.loads(words[0])
    command = words[2:]
    limit(spec.get("limits", {}))
    if "read" in spec:
        confine(spec["read"], spec["write"], network=spec["network"])
        drop_capabilities()
    if "seccomp" in spec:
        install_filter(bytes.fromhex(spec["seccomp"]))
    os.execvp(command[0], command)  # noqa: S606 - its purpose


def limit(limits: dict[str, int]) -> None:
    for name, value in limits.items():
        number = getattr(resource, f"RLIMIT_{name.upper()}")
        _, hard = resource.getrlimit(number)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (value, value))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def confine(read: list[str], write: list[str], *, network: bool) -> None:
    abi = call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    handled = _READ | _WRITE | (_IOCTL_DEV if abi >= 5 else 0)
    attributes = struct.pack("QQQ", handled, 3 if abi >= 4 and not network else 0, 3)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = call(_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    for path in read:
        allow(ruleset, path, _READ & handled)
    for path in write:
        allow(ruleset, path, (_READ | _WRITE) & handled)
    terminal = [os.ttyname(0)] if os.isatty(0) else []
    for path in (*_DEVICES, *terminal):
        allow(ruleset, path, (_READ_FILE | _WRITE_FILE | _IOCTL_DEV) & handled)
    no_new_privileges()
    call(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)


def drop_capabilities() -> None:
    """Root without the powers of root, for good: some of them read what Landlock forbids."""
    if os.geteuid() != 0:
        return
    for capability in range(_MAX_CAPABILITIES):
        if libc.prctl(_DROP_BOUNDING, capability, 0, 0, 0):
            break  # the kernel knows no more
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    if libc.capset(header, bytes(24)):
        raise OSError(ctypes.get_errno(), "capabilities could not be dropped")


def allow(ruleset: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # gone meanwhile, or not ours to see: not allowed then
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            access &= _OF_FILES
        rule = struct.pack("=Qi", access, fd)
        call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0))
    finally:
        os.close(fd)


def install_filter(program: bytes) -> None:
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    no_new_privileges()
    if libc.prctl(_SET_SECCOMP, _FILTER, header, 0, 0):
        raise OSError(ctypes.get_errno(), "the system call filter was refused")


def no_new_privileges() -> None:
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs was refused")


def call(number: int, *arguments: Any) -> int:
    found: int = libc.syscall(number, *arguments)
    if found < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return found


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Exception as error:  # noqa: BLE001 - whatever it is, the command is not started
        sys.stderr.write(f"duetty: the sandbox could not be made: {error}\n")
        os._exit(FAILED)
