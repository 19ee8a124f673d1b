"""System calls that no program inside needs, as a filter program for the kernel.

What is refused is refused with an error, not by a signal: programs try, and go
on. On another architecture than those below there is no filter, and no sandbox.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
CLONE_NEW = 0x7E020000
"""CLONE_NEW* of every namespace but time, which shares a bit with the exit signal."""

SET_FLAGS = (
    0x40086602, 0x40046602, 0x401C5820, 0x40806685, 0x40087602, 0x40047602, 0x40086604, 0x40046604,
    0x800C6613, 0x6609, 0x40047211,
)  # fmt: skip
"""Of a file, by a descriptor that can only read: FS_IOC_SETFLAGS and its 32-bit form, FSSETXATTR, ENABLE_VERITY;
FS_IOC_SETVERSION and EXT4_IOC_SETVERSION with theirs; SET_ENCRYPTION_POLICY, EXT4_IOC_MIGRATE, FAT_IOCTL_SET_ATTRIBUTES.
"""

OF_FILE_SYSTEMS = (0x9400, 0xBC00)
"""What btrfs and bcachefs are asked, by a descriptor of a directory: snapshots, and more of the kind.

Neither mounts nor Landlock are: a snapshot shows what is covered, and stands where nothing may be written.
"""

OF_EVERY_FILE_SYSTEM = (0x40049409, 0x4020940D, 0xC0189436, 0x81009431)
"""FICLONE, FICLONERANGE, FIDEDUPERANGE and GETFSLABEL: they began with btrfs. `cp` clones."""

REFLINK = 0x40186F04
"""OCFS2_IOC_REFLINK: a copy by two paths."""

LEASES = (1024, 1026, 1040)
"""F_SETLEASE, F_NOTIFY and F_SETDELEG: a process that opens such a file waits, or gets EAGAIN; so do we."""

SET_ID = 0o6000
"""S_ISUID and S_ISGID: a user who runs such a file becomes its owner, outside of every sandbox."""

O_CREATES = 0o100 | 0o20000000
"""O_CREAT, and the bit that only O_TMPFILE has: without them a mode is whatever was in the register."""

_EPERM, _ENOSYS, _EOPNOTSUPP = 1, 38, 95
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN, _AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
_NUMBER, _ARCH, _ARG0, _ARG1, _ARG2, _ARG3 = 0, 4, 16, 24, 32, 40
_HIGH = 4
"""From the low half of an argument to the high one, on little-endian machines: both of ours."""

_X32 = 0x40000000
_TYPE_OF_REQUEST, _TYPE_OF_SOCKET = 0xFF00, 0xF
_CONNECTED = (1, 5)
"""SOCK_STREAM and SOCK_SEQPACKET: one of a pair reaches only the other."""

REFUSED = (
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    "io_uring_setup", "io_uring_enter", "io_uring_register",
    "bpf", "perf_event_open", "userfaultfd",
    "keyctl", "add_key", "request_key",
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
    "mount", "umount2", "pivot_root", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount",
    "fspick", "mount_setattr", "unshare", "setns", "chroot",
    "open_tree_attr",
    "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "nfsservctl",
    "name_to_handle_at", "open_by_handle_at", "syslog", "settimeofday", "clock_settime",
    "adjtimex", "clock_adjtime", "vhangup", "lookup_dcookie", "fanotify_init",
)  # fmt: skip

SHARED = (
    "shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semtimedop", "semctl",
    "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink",
)  # fmt: skip
"""Memory, semaphores and queues that are found by number or name, in all of the machine."""

ATTRIBUTES = (
    "setxattr", "lsetxattr", "fsetxattr", "setxattrat",
    "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "file_setattr",
)  # fmt: skip
"""Of files outside too, where nothing but Landlock stands before them, which knows nothing of these."""

_MODES = {"chmod": _ARG1, "fchmod": _ARG1, "fchmodat": _ARG2, "fchmodat2": _ARG2,
          "creat": _ARG1, "mknod": _ARG1, "mknodat": _ARG2}  # fmt: skip
"""Which argument is the mode of a file."""

_OPENS = {"open": (_ARG1, _ARG2), "openat": (_ARG2, _ARG3)}
"""Which are flags and mode."""

_UNREADABLE = ("clone3", "openat2")
"""Their arguments are in memory, where a filter cannot look. Programs fall back to clone and openat."""

_OF_A_PROCESS = ("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")
"""Their first argument is a process; 0 is the one that calls."""

_OF_PROCESSES = {"setpriority": 0, "ioprio_set": 1}
"""What their first argument must be for the second to be one process, and not a group or a user."""

_SAME = {
    "pidfd_getfd": 438, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
    "fspick": 433, "mount_setattr": 442, "quotactl_fd": 443, "clone3": 435,
    "process_madvise": 440, "open_tree_attr": 467, "openat2": 437, "fchmodat2": 452,
    "setxattrat": 463, "removexattrat": 466, "file_setattr": 469,
}  # fmt: skip
"""Newer calls have one number everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Architecture:
    audit: int
    numbers: dict[str, int]


_ARCHITECTURES = {
    "x86_64": _Architecture(
        audit=0xC000003E,
        numbers=_SAME
        | {
            "ioctl": 16, "fcntl": 72, "socket": 41, "socketpair": 53, "clone": 56,
            "ptrace": 101, "syslog": 103, "vhangup": 153, "pivot_root": 155, "adjtimex": 159,
            "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166,
            "swapon": 167, "swapoff": 168, "reboot": 169, "init_module": 175, "delete_module": 176,
            "quotactl": 179, "nfsservctl": 180, "lookup_dcookie": 212, "clock_settime": 227,
            "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272,
            "perf_event_open": 298, "fanotify_init": 300, "name_to_handle_at": 303,
            "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310,
            "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "kexec_file_load": 320,
            "bpf": 321, "userfaultfd": 323,
            "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66,
            "shmdt": 67, "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "semtimedop": 220,
            "mq_open": 240, "mq_unlink": 241, "setpriority": 141, "sched_setparam": 142,
            "sched_setscheduler": 144, "sched_setaffinity": 203, "ioprio_set": 251,
            "prlimit64": 302, "sched_setattr": 314,
            "open": 2, "openat": 257, "creat": 85, "mknod": 133, "mknodat": 259,
            "chmod": 90, "fchmod": 91, "fchmodat": 268,
            "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190,
            "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199,
        },
    ),
    "aarch64": _Architecture(
        audit=0xC00000B7,
        numbers=_SAME
        | {
            "ioctl": 29, "fcntl": 25, "socket": 198, "socketpair": 199, "clone": 220,
            "ptrace": 117, "syslog": 116, "vhangup": 58, "pivot_root": 41, "adjtimex": 171,
            "chroot": 51, "acct": 89, "settimeofday": 170, "mount": 40, "umount2": 39,
            "swapon": 224, "swapoff": 225, "reboot": 142, "init_module": 105, "delete_module": 106,
            "quotactl": 60, "nfsservctl": 42, "lookup_dcookie": 18, "clock_settime": 112,
            "kexec_load": 104, "add_key": 217, "request_key": 218, "keyctl": 219, "unshare": 97,
            "perf_event_open": 241, "fanotify_init": 262, "name_to_handle_at": 264,
            "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270,
            "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "kexec_file_load": 294,
            "bpf": 280, "userfaultfd": 282,
            "shmget": 194, "shmat": 196, "shmctl": 195, "semget": 190, "semop": 193, "semctl": 191,
            "shmdt": 197, "msgget": 186, "msgsnd": 189, "msgrcv": 188, "msgctl": 187,
            "semtimedop": 192, "mq_open": 180, "mq_unlink": 181, "setpriority": 140,
            "sched_setparam": 118, "sched_setscheduler": 119, "sched_setaffinity": 122,
            "ioprio_set": 30, "prlimit64": 261, "sched_setattr": 274,
            "openat": 56, "mknodat": 33, "fchmod": 52, "fchmodat": 53,
            "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7,
            "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
        },
    ),
}  # fmt: skip


def numbers(machine: str) -> Mapping[str, int]:
    """Of every call that a filter names."""
    return _ARCHITECTURES[machine].numbers


def filter_program(
    machine: str, *, families: Sequence[int], own_namespaces: bool | None = None
) -> bytes | None:
    """The filter for this architecture, with sockets of these families only; None for others.

    A pair of connected sockets (`socketpair`) reaches no other process and is always allowed
    between processes of the sandbox, as AF_UNIX. Of datagrams, where any may be opened.

    `own_namespaces` says whether processes, queues and shared memory inside are
    the sandbox's own. Where they are the machine's, a process changes limits and
    scheduling of itself only, and there is no System V IPC. By default they
    are its own where unix sockets may be opened: both need a place apart. So do
    attributes of files, which are read-only there by the mount.
    """
    if own_namespaces is None:
        own_namespaces = AF_UNIX in families
    architecture = _ARCHITECTURES.get(machine)
    if architecture is None:
        return None
    number = architecture.numbers
    steps: list[bytes] = [
        _step(_LOAD, _ARCH),
        _step(_EQUAL, architecture.audit, 1, 0),
        _step(_RETURN, _ERRNO | _ENOSYS),  # a 32-bit program: its calls have other numbers
        _step(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        steps += [_step(_AT_LEAST, _X32, 0, 1), _step(_RETURN, _ERRNO | _ENOSYS)]
    for name in _UNREADABLE:
        steps += [_step(_EQUAL, number[name], 0, 1), _step(_RETURN, _ERRNO | _ENOSYS)]
    for name in REFUSED if own_namespaces else (*REFUSED, *SHARED):
        steps += [_step(_EQUAL, number[name], 0, 1), _step(_RETURN, _ERRNO | _EPERM)]
    steps += _only_if(number["clone"], _ARG0, [_step(_ANY_BIT, CLONE_NEW, 0, 1)])
    # Of both the kernel reads the low half only, as these tests do.
    steps += _only_if(number["fcntl"], _ARG1, _is_one_of(LEASES))
    requests = (TIOCSTI, TIOCLINUX, REFLINK, *(() if own_namespaces else SET_FLAGS))
    steps += _ioctls(number["ioctl"], requests)
    if not own_namespaces:
        steps += _only_themselves(number)
        for name in ATTRIBUTES:  # as where a file system has none: programs go on without
            steps += [_step(_EQUAL, number[name], 0, 1), _step(_RETURN, _ERRNO | _EOPNOTSUPP)]
    steps += _plain_modes(number)
    steps += _families(number["socket"], families)
    pair = number["socketpair"]
    steps += _families(pair, [AF_UNIX]) if own_namespaces else _connected_pairs(pair)
    steps.append(_step(_RETURN, _ALLOW))
    return b"".join(steps)


def _only_if(number: int, argument: int, tests: list[bytes]) -> list[bytes]:
    """Refuse this call when the tests on the low half of an argument lead there."""
    body = [_step(_LOAD, argument), *tests, _step(_RETURN, _ERRNO | _EPERM), _step(_RETURN, _ALLOW)]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _is_one_of(values: Sequence[int]) -> list[bytes]:
    """For `_only_if`."""
    last = len(values) - 1
    return [_step(_EQUAL, each, last - at, int(at == last)) for at, each in enumerate(values)]


def _ioctls(number: int, refused: Sequence[int]) -> list[bytes]:
    kept = [_step(_EQUAL, each, 0, 1) for each in OF_EVERY_FILE_SYSTEM]
    allowed = [step for each in kept for step in (each, _step(_RETURN, _ALLOW))]
    types = [*allowed, _step(_AND, _TYPE_OF_REQUEST), *_is_one_of(OF_FILE_SYSTEMS)]
    ahead = len(refused) + len(types) - 1
    single = [_step(_EQUAL, each, ahead - at, 0) for at, each in enumerate(refused)]
    return _only_if(number, _ARG1, [*single, *types])


def _connected_pairs(number: int) -> list[bytes]:
    types = [_step(_EQUAL, each, len(_CONNECTED) - at) for at, each in enumerate(_CONNECTED)]
    tests = [_step(_LOAD, _ARG1), _step(_AND, _TYPE_OF_SOCKET), *types]
    return _only_if(number, _ARG0, [_step(_EQUAL, AF_UNIX, 0, len(tests)), *tests])


def _plain_modes(number: Mapping[str, int]) -> list[bytes]:
    """No file that makes its runner another user: it would stay when the sandbox is gone."""
    steps: list[bytes] = []
    for name, mode in _MODES.items():
        if name in number:
            steps += _only_if(number[name], mode, [_step(_ANY_BIT, SET_ID, 0, 1)])
    for name, (flags, mode) in _OPENS.items():
        if name in number:
            tests = [
                _step(_ANY_BIT, O_CREATES, 0, 3),
                _step(_LOAD, mode),
                _step(_ANY_BIT, SET_ID, 0, 1),
            ]
            steps += _only_if(number[name], flags, tests)
    return steps


def _only_themselves(number: Mapping[str, int]) -> list[bytes]:
    """Limits and scheduling of other processes: a CPU limit of one second kills, too.

    Nice values and limits are the same user's to set, and Landlock knows nothing of them.
    """
    steps: list[bytes] = []
    for name in _OF_A_PROCESS:
        steps += _only_if(number[name], _ARG0, [_step(_EQUAL, 0, 1, 0)])
    for name, one in _OF_PROCESSES.items():
        tests = [_step(_EQUAL, one, 0, 2), _step(_LOAD, _ARG1), _step(_EQUAL, 0, 1, 0)]
        steps += _only_if(number[name], _ARG0, tests)
    # Nothing to set means that it only asks. An address has two halves; a process, one.
    tests = [
        _step(_EQUAL, 0, 5, 0),
        _step(_LOAD, _ARG2),
        _step(_EQUAL, 0, 0, 2),
        _step(_LOAD, _ARG2 + _HIGH),
        _step(_EQUAL, 0, 1, 0),
    ]
    return steps + _only_if(number["prlimit64"], _ARG0, tests)


def _families(number: int, families: Sequence[int]) -> list[bytes]:
    body = [
        _step(_LOAD, _ARG0),
        *(_step(_EQUAL, family, len(families) - at, 0) for at, family in enumerate(families)),
        _step(_RETURN, _ERRNO | _EPERM),
        _step(_RETURN, _ALLOW),
    ]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
