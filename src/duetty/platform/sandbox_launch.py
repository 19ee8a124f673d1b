"""The last steps before a confined command: `sandbox_launch.py FD -- COMMAND …`, with what to do read from FD.

Looks whether the mounts are those that were meant, sets limits, Landlock and the system call
filter, and becomes the command with its own environment. A program of its own: started as
`python -I -S sandbox_launch.py`, it imports little and nothing but the standard library (each module
would be felt at every start), and fails rather than start the command with less than was asked for.
"""

import ctypes
import errno
import marshal
import os
import resource
import stat
import struct
import sys
from typing import Any

FAILED, NOT_RUN, NOT_FOUND = 125, 126, 127
"""As shells have them: no sandbox; no program that could be run; no program."""

CPU_GRACE_S = 2
"""From the signal that says why (SIGXCPU) to the one that cannot be ignored."""

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_WRITE = _WRITE_FILE | _TRUNCATE | _REFER | sum(1 << bit for bit in range(4, 13))
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_SCOPES = 3
"""Abstract unix sockets and signals: to processes of the same sandbox only."""

_CREATE, _ADD_RULE, _RESTRICT, _OPENAT2 = 444, 445, 446, 437
_NO_SYMLINKS, _NO_MAGIC_LINKS = 4, 2
_AT_FDCWD = -100
_DROP_BOUNDING, _MAX_CAPABILITIES, _CAPABILITY_VERSION = 24, 64, 0x20080522
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_OF_THE_SANDBOX = ("/proc", "/dev")
"""Mounted by bubblewrap itself, with all that is in them."""

libc = ctypes.CDLL(None, use_errno=True)


def main(words: list[str]) -> None:
    fd = int(words[0])
    with os.fdopen(fd, "rb") as file:
        spec: dict[str, Any] = marshal.loads(file.read())  # noqa: S302 - our own server wrote it
    command = words[2:]
    if (mounts := spec.get("mounts")) is not None:
        check_mounts(mounts["expected"], mounts["known"])
    limit(spec["limits"])
    rules = spec["landlock"]
    if rules is not None:
        confine(**rules)
    if spec["drops_capabilities"]:
        drop_capabilities()
    install_filter(spec["seccomp"])
    try:
        os.execvpe(command[0], command, spec["env"])  # noqa: S606 - its purpose
    except OSError as error:
        sys.stderr.write(f"duetty: {command[0]}: {error.strerror}\n")
        os._exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUN)


# --- mounts ---------------------------------------------------------------------


def check_mounts(expected: dict[str, list[int] | None], known: list[str]) -> None:
    """Whether each mount is there, of the file that was looked at, and nothing else can be written.

    bubblewrap goes by names, and a name may lead elsewhere by the time it is used: a process
    of an earlier sandbox in the same workspace can see to that.
    """
    found = writable_mounts()
    for point, identity in expected.items():
        if point not in found:
            raise OSError(errno.ESTALE, f"{point} was moved meanwhile")
        if identity is not None:
            try:
                now = os.lstat(point)
            except OSError:
                raise OSError(errno.ESTALE, f"{point} was moved meanwhile") from None
            if [now.st_dev, now.st_ino] != identity:
                raise OSError(errno.ESTALE, f"{point} was exchanged meanwhile")
    for point, is_writable in found.items():
        if is_writable and point not in expected and not _is_of(point, (*known, *_OF_THE_SANDBOX)):
            raise OSError(errno.ESTALE, f"{point} could be written")


def writable_mounts() -> dict[str, bool]:
    """Every mount point, and whether what is mounted there last can be written."""
    found: dict[str, bool] = {}
    with open(
        "/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape", newline="\n"
    ) as file:
        for line in file:
            fields = line.split(" ")
            found[plain_name(fields[4])] = "rw" in fields[5].split(",")
    return found


def plain_name(name: str) -> str:
    """A name without the escapes that the kernel writes for blanks, line ends and backslashes."""
    for code in ("040", "011", "012", "134"):
        name = name.replace(f"\\{code}", chr(int(code, 8)))
    return name


def _is_of(point: str, places: tuple[str, ...]) -> bool:
    return any(point == place or point.startswith(f"{place}/") for place in places)


# --- limits ---------------------------------------------------------------------


def limit(limits: dict[str, int]) -> None:
    for name, value in limits.items():
        number = getattr(resource, f"RLIMIT_{name.upper()}")
        _, hard = resource.getrlimit(number)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        most = value
        if name == "cpu":
            most = value + CPU_GRACE_S if hard == resource.RLIM_INFINITY else hard
            most = min(most, value + CPU_GRACE_S)
            value = min(value, max(1, most - 1))
        resource.setrlimit(number, (value, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# --- Landlock -------------------------------------------------------------------


def confine(read: list[str], write: list[str], *, network: bool, behind_mounts: bool) -> None:
    """`behind_mounts`: mounts hide existing paths; these rules are about contents and writes."""
    abi = call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    handled = _WRITE | _READ_FILE
    if not behind_mounts:
        handled |= _READ | (_IOCTL_DEV if abi >= 5 else 0)
    ports = 3 if abi >= 4 and not network else 0
    attributes = struct.pack("QQQ", handled, ports, _SCOPES)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = call(_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    for path in read:
        allow(ruleset, path, _READ & handled)
    for path in write:
        allow(ruleset, path, (_READ | _WRITE) & handled)
    for path in _DEVICES:
        allow(ruleset, path, (_READ_FILE | _WRITE_FILE | _IOCTL_DEV) & handled)
    for fd in (0, 1, 2):
        if os.isatty(fd):  # opened again by its own name: /dev/stderr
            terminal = os.open(f"/proc/self/fd/{fd}", os.O_PATH | os.O_CLOEXEC)
            rule(ruleset, terminal, (_READ_FILE | _WRITE_FILE | _IOCTL_DEV) & handled)
    no_new_privileges()
    call(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)


def allow(ruleset: int, path: str, access: int) -> None:
    try:
        fd = open_plain(path)
    except OSError:
        return  # gone meanwhile, exchanged for a link, or not ours to see: not allowed then
    rule(ruleset, fd, access)


def rule(ruleset: int, fd: int, access: int) -> None:
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            access &= _OF_FILES
        beneath = struct.pack("=Qi", access, fd)
        call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), beneath, ctypes.c_uint32(0))
    finally:
        os.close(fd)


def open_plain(path: str) -> int:
    """A descriptor of what is there, by a path without any link in it.

    Raises:
        OSError: if there is nothing, or a link on the way (ELOOP).
    """
    how = struct.pack("QQQ", os.O_PATH | os.O_CLOEXEC, 0, _NO_SYMLINKS | _NO_MAGIC_LINKS)
    try:
        return call(_OPENAT2, _AT_FDCWD, os.fsencode(path), how, ctypes.c_size_t(len(how)))
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
    return _open_by_steps(path)  # in a sandbox ourselves


def _open_by_steps(path: str) -> int:
    fd = os.open("/" if path.startswith("/") else ".", os.O_PATH | os.O_CLOEXEC)
    for name in path.split("/"):
        if not name:
            continue
        try:
            below = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
        finally:
            os.close(fd)
        fd = below
        if stat.S_ISLNK(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return fd


# --- powers ---------------------------------------------------------------------


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
