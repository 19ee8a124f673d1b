"""System calls that reach out of a sandbox past its file system: refused, and what needs them works."""

import os
import re
import resource
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from duetty.platform.seccomp import (
    ATTRIBUTES,
    OF_EVERY_FILE_SYSTEM,
    REFUSED,
    SET_FLAGS,
    SHARED,
    numbers,
)
from duetty.sandbox import RequestedLevel, support
from duetty.sandbox.wrap import LAUNCHER
from tests.sandbox.inside import LEVELS, python_inside, run_inside, settled_sockets

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
"""Debian's; the second is what ARM64 is made from."""

needs_both = pytest.mark.skipif(
    support().bubblewrap is None or not support().has_landlock,
    reason="this machine has no user namespaces, no bubblewrap or no Landlock",
)
needs_landlock = pytest.mark.skipif(not support().has_landlock, reason="no Landlock here")

CALLING = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    found = libc.syscall(ctypes.c_long(number), *(
        each if isinstance(each, ctypes.Array) else ctypes.c_long(each)
        for each in arguments
    ))
    return 'DONE' if found >= 0 else os.strerror(ctypes.get_errno())
"""


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Path]:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    with settled_sockets():
        yield workspace


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the same user outside, as the server is one.

    Without capabilities: one that has more than those inside is safe from them anyway.
    """
    bare = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    process = subprocess.Popen([*bare, "/bin/sleep", "600"])
    while "sleep" not in Path(f"/proc/{process.pid}/comm").read_text(encoding="utf-8"):
        time.sleep(0.005)
    yield process
    process.kill()
    process.wait()


def number(name: str) -> int:
    return numbers(os.uname().machine)[name]


@needs_landlock
def test_limits_of_a_process_outside_cannot_be_set(
    ws: Path, bystander: subprocess.Popen[bytes]
) -> None:
    before = resource.prlimit(bystander.pid, resource.RLIMIT_CPU)
    said = python_inside(
        "landlock",
        f"""{CALLING}
limit = (ctypes.c_uint64 * 2)(7, 7)
old = (ctypes.c_uint64 * 2)()
print(call({number("prlimit64")}, {bystander.pid}, 0, limit, 0))
print(call({number("prlimit64")}, {bystander.pid} | 1 << 32, 0, limit, old))
print(call({number("prlimit64")}, {bystander.pid}, 0, 0, old))
""",
        workspace=ws,
    )

    assert resource.prlimit(bystander.pid, resource.RLIMIT_CPU) == before
    assert said.splitlines() == ["Operation not permitted", "Operation not permitted", "DONE"]


@needs_landlock
def test_a_limit_at_an_address_whose_low_half_is_zero_is_seen(ws: Path) -> None:
    """The kernel reads 64 bits of the address; a filter 32 at a time."""
    said = python_inside(
        "landlock",
        f"""{CALLING}
print(call({number("prlimit64")}, os.getpid(), 0, 1 << 32, 0))
""",
        workspace=ws,
    )

    assert said == "Operation not permitted"


@needs_landlock
def test_scheduling_of_a_process_outside_cannot_be_changed(
    ws: Path, bystander: subprocess.Popen[bytes]
) -> None:
    before = os.getpriority(os.PRIO_PROCESS, bystander.pid)
    pid = bystander.pid
    # What is asked for a whole user would fail with another error, and change nothing.
    said = python_inside(
        "landlock",
        f"""{CALLING}
mask = (ctypes.c_ulong * 16)(1)
batch = (ctypes.c_int * 1)(0)
attributes = (ctypes.c_uint32 * 14)(56, 3)
for each in (
    call({number("setpriority")}, 0, {pid}, 19),
    call({number("setpriority")}, 1, {pid}, 19),
    call({number("setpriority")}, 2, 0, -20),
    call({number("setpriority")}, 2, os.getuid(), -20),
    call({number("sched_setaffinity")}, {pid}, 128, mask),
    call({number("sched_setscheduler")}, {pid}, 3, batch),
    call({number("sched_setparam")}, {pid}, batch),
    call({number("sched_setattr")}, {pid}, attributes, 0),
    call({number("ioprio_set")}, 1, {pid}, 3 << 13),
    call({number("ioprio_set")}, 3, 0, 7 << 13),
    call({number("ioprio_set")}, 3, os.getuid(), 7 << 13),
):
    print(each)
""",
        workspace=ws,
    )

    assert os.getpriority(os.PRIO_PROCESS, pid) == before
    assert os.sched_getscheduler(pid) == os.SCHED_OTHER
    assert set(said.splitlines()) == {"Operation not permitted"}


@needs_both
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "command",
    [
        "nice -n 5 true",
        "taskset 1 true",
        "chrt -b 0 true",
        "ionice -c 3 true",
        "prlimit --nofile=100 true",
        "prlimit --nofile",
        "ulimit -n 100",
        "bash -c 'ulimit -n 100'",
        "python3 -c 'import os; os.nice(1); os.sched_setaffinity(0, {0})'",
        "python3 -c 'import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))'",
        "python3 -c 'import os; os.setpriority(os.PRIO_PROCESS, 0, 19)'",
    ],
)
def test_programs_set_limits_and_priority_of_their_own(
    level: RequestedLevel, command: str, ws: Path
) -> None:
    done = run_inside(level, ["/bin/sh", "-c", command], workspace=ws)

    assert (done.returncode, done.stderr) == (0, "")


@needs_both
def test_processes_of_a_namespace_of_their_own_may_change_each_other(ws: Path) -> None:
    done = run_inside(
        "bubblewrap", ["/bin/sh", "-c", "renice -n 19 -p $$ && prlimit -p $$ -n=99"], workspace=ws
    )

    assert done.returncode == 0, done.stderr


@pytest.fixture
def shared_memory() -> Iterator[int]:
    """A segment of the machine, as databases and displays have them."""
    made = subprocess.run(["ipcmk", "-M", "64"], capture_output=True, text=True, check=True)
    segment = made.stdout.split()[-1]
    yield int(segment)
    subprocess.run(["ipcrm", "-m", segment], check=True)


REACHING = f"""{CALLING}
libc.shmat.restype = ctypes.c_void_p
def attached(id_):
    ctypes.set_errno(0)
    found = libc.shmat(id_, None, 0)
    return 'DONE' if found != ctypes.c_void_p(-1).value else os.strerror(ctypes.get_errno())
def made(found):
    return 'DONE' if found >= 0 else os.strerror(ctypes.get_errno())
"""


@needs_landlock
def test_memory_queues_and_semaphores_of_the_machine_are_out_of_reach(
    ws: Path, shared_memory: int
) -> None:
    said = python_inside(
        "landlock",
        f"""{REACHING}
print(attached({shared_memory}))
print(made(libc.shmctl({shared_memory}, 0, None)))
print(made(libc.shmget(0, 64, 0o600)))
print(made(libc.msgget(0, 0o600)))
print(made(libc.semget(0, 1, 0o600)))
print(made(libc.semctl(0, 0, 0)))
print(made(libc.semop(0, b'', 0)))
print(made(libc.msgrcv(0, b'', 0, 0, 0)))
print(made(libc.msgsnd(0, b'', 0, 0)))
print(made(libc.msgctl(0, 0, 0)))
name = ctypes.create_string_buffer(b'duetty-test')
print(call({number("mq_open")}, name, 0o102, 0o600, 0))
print(call({number("mq_unlink")}, name))
""",
        workspace=ws,
    )

    assert set(said.splitlines()) == {"Operation not permitted"}


@needs_both
def test_a_sandbox_with_memory_and_queues_of_its_own_may_use_them(
    ws: Path, shared_memory: int
) -> None:
    said = python_inside(
        "bubblewrap",
        f"""{REACHING}
print(attached({shared_memory}))
print(attached(libc.shmget(0, 64, 0o600)))
print(made(libc.msgget(0, 0o600)))
""",
        workspace=ws,
    )

    assert said.splitlines() == ["Invalid argument", "DONE", "DONE"]


@needs_both
@pytest.mark.parametrize("level", LEVELS)
def test_no_file_is_made_that_gives_its_owners_rights_to_whoever_runs_it(
    level: RequestedLevel, ws: Path
) -> None:
    """It would stay: with a server of root, whoever runs it outside is root."""
    attempts = {
        "chmod": "name, mode",
        "fchmod": "fd, mode",
        "fchmodat": "-100, name, mode",
        "fchmodat2": "-100, name, mode, 0",
        "creat": "new, mode",
        "open": "new, os.O_CREAT | os.O_WRONLY, mode",
        "openat": "-100, new, os.O_CREAT | os.O_WRONLY, mode",
        "mknod": "new, mode | 0o100000, 0",
        "mknodat": "-100, new, mode | 0o100000, 0",
    }
    known = numbers(os.uname().machine)
    lines = [
        f"print(call({known[name]}, {arguments}))"
        for name, arguments in attempts.items()
        if name in known
    ]
    lines += [f"print(call({known['openat']}, -100, here, os.O_TMPFILE | os.O_WRONLY, mode))"]
    (ws / "file").touch()
    said = python_inside(
        level,
        f"""{CALLING}
name, new, here = (ctypes.create_string_buffer(each) for each in (b'file', b'new', b'.'))
fd = os.open('file', os.O_RDONLY)
for mode in (0o4755, 0o2755, 0o6755, 0o2755 | 1 << 32):
    {"; ".join(lines)}
""",
        workspace=ws,
    )

    assert said.splitlines() == ["Operation not permitted"] * 4 * len(lines)
    assert [each.name for each in ws.iterdir()] == ["file"]
    assert (ws / "file").stat().st_mode & 0o6000 == 0


@needs_both
@pytest.mark.parametrize("level", LEVELS)
def test_modes_are_set_and_files_are_opened_as_ever(level: RequestedLevel, ws: Path) -> None:
    """A mode that nobody reads may have any bits."""
    (ws / "file").touch()
    (ws / "d").mkdir()
    said = python_inside(
        level,
        f"""{CALLING}
name, here, how = (ctypes.create_string_buffer(each) for each in (b'file', b'.', bytes(24)))
print(call({number("fchmodat")}, -100, name, 0o755))
print(call({number("openat")}, -100, name, os.O_RDONLY, 0o6777))
print(call({number("openat")}, -100, here, os.O_DIRECTORY, 0o6777))
print(call({number("openat")}, -100, here, os.O_TMPFILE | os.O_WRONLY, 0o600))
print(call({number("openat2")}, -100, name, how, 24))
os.chmod('d', 0o1777)
os.close(os.open('new', os.O_CREAT | os.O_WRONLY, 0o640))
""",
        workspace=ws,
    )

    assert said.splitlines() == ["DONE"] * 4 + ["Function not implemented"]
    assert [(ws / name).stat().st_mode & 0o7777 for name in ("file", "d")] == [0o755, 0o1777]
    assert (ws / "new").exists()


@needs_both
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "command",
    [
        "chmod 755 a && chmod +x a && chmod -R u+rwX,go= d",
        "cp -a d e && cp -p a f && install -m 755 a g && mkdir -m 700 h && mktemp -p .",
        "tar cf t.tar d a && mkdir x && tar xpf t.tar -C x && tar xf t.tar --xattrs -C x",
        "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x"
        " && git clone -q . ../c",
        'python3 -c \'import shutil; shutil.copytree("d", "p"); shutil.copy2("a", "q")\'',
        "touch -d yesterday d && ln d/b l",
        "sed -i s/x/y/ d/b && sort -o d/b d/b",
    ],
)
def test_everyday_programs_make_and_copy_files(
    level: RequestedLevel, command: str, ws: Path
) -> None:
    (ws / "a").write_text("x")
    (ws / "d").mkdir()
    (ws / "d/b").write_text("x")

    done = run_inside(level, ["/bin/sh", "-c", command], workspace=ws)

    assert (done.returncode, done.stderr) == (0, "")


@needs_landlock
def test_attributes_and_flags_of_files_outside_cannot_be_set(ws: Path) -> None:
    """Where bubblewrap stands before them, they are read-only by the mount."""
    outside = Path(f"/var/tmp/duetty-flags-{os.getpid()}")
    outside.touch()
    try:
        said = python_inside(
            "landlock",
            f"""{CALLING}
import fcntl
name = ctypes.create_string_buffer({str(outside)!r}.encode())
key, value = ctypes.create_string_buffer(b'user.x'), ctypes.create_string_buffer(b'y')
fd = os.open('own', os.O_CREAT | os.O_RDWR)
for number in {[number(name) for name in ATTRIBUTES]!r}:
    print(call(number, name, key, value, 1, 0, 0))
for request in {SET_FLAGS!r}:
    try:
        print(fcntl.ioctl(fd, request, bytes(128)))
    except OSError as error:
        print(error.strerror)
print(len(fcntl.ioctl(fd, 0x80086601, bytes(8))))
""",
            workspace=ws,
        )
    finally:
        outside.unlink()

    refused = ["Operation not supported"] * len(ATTRIBUTES)
    assert said.splitlines() == [*refused, *["Operation not permitted"] * len(SET_FLAGS), "8"]


SNAPSHOTS = {
    "btrfs": (
        0x50009401, 0x5000940E, 0x5000940F, 0x50009417, 0x50009418, 0x5000943F, 0x4008941A,
        0xC0C89425,
    ),
    "bcachefs": (0x4020BC10, 0x4020BC11, 0x4030BC1D, 0x4030BC1E),
    "ocfs2": (0x40186F04,),
}  # fmt: skip
"""Make, remove and change subvolumes, whatever is mounted over them and whatever Landlock says."""


@needs_both
@pytest.mark.parametrize("level", LEVELS)
def test_file_systems_make_no_snapshots_inside(level: RequestedLevel, ws: Path) -> None:
    requests = [each for kind in SNAPSHOTS.values() for each in kind]
    requests += [request | 1 << 32 for request in requests]  # the kernel reads the low half
    said = python_inside(
        level,
        f"""{CALLING}
fd, data = os.open('.', os.O_RDONLY), ctypes.create_string_buffer(4096)
print({{call({number("ioctl")}, fd, request, data) for request in {requests!r}}})
print('Operation not permitted' in
    [call({number("ioctl")}, fd, request, data) for request in {OF_EVERY_FILE_SYSTEM!r}])
print(call({number("ioctl")}, fd, 0x80086601, data))
""",
        workspace=ws,
    )

    # What `cp` asks is no secret: the file system says that it cannot, or that this is a directory.
    assert said.splitlines()[:2] == ["{'Operation not permitted'}", "False"]
    assert said.splitlines()[2] != "Operation not permitted"


@needs_both
@pytest.mark.parametrize("landlock", [0, 7])
def test_the_process_without_a_filter_is_out_of_reach(landlock: int, ws: Path) -> None:
    """bubblewrap's own: whoever writes its memory makes calls that are refused to everybody else."""
    said = python_inside(
        "bubblewrap",
        """
import os
for path in ('/proc/1/mem', '/proc/1/task/1/mem'):
    try:
        os.close(os.open(path, os.O_RDWR))
        print('OPEN')
    except OSError as error:
        print(error.strerror)
os.close(os.open('/proc/self/mem', os.O_RDWR))
""",
        workspace=ws,
        offered=replace(support(), landlock=landlock),
    )

    assert said.splitlines() == ["No such file or directory"] * 2


@needs_both
@pytest.mark.parametrize("level", LEVELS)
def test_files_cannot_be_leased(level: RequestedLevel, ws: Path) -> None:
    """Whoever opens one outside would wait for most of a minute, or take it for empty."""
    said = python_inside(
        level,
        f"""{CALLING}
fd, here = os.open('file', os.O_CREAT | os.O_RDWR), os.open('.', os.O_RDONLY)
print(call({number("fcntl")}, fd, 1024, 1), call({number("fcntl")}, fd, 1024 | 1 << 32, 0))
print(call({number("fcntl")}, here, 1026, 4), call({number("fcntl")}, here, 1040, 0))
import fcntl
fcntl.lockf(fd, fcntl.LOCK_EX)
print(fcntl.fcntl(fd, fcntl.F_GETLEASE), fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 50) >= 50)
""",
        workspace=ws,
    )

    assert said.splitlines() == [
        "Operation not permitted Operation not permitted",
        "Operation not permitted Operation not permitted",
        "2 True",
    ]


@needs_both
def test_no_socket_of_a_pair_reaches_one_outside(ws: Path) -> None:
    """One for datagrams is sent from to wherever a path leads."""
    outside = ws.parent / "outside.sock"
    code = f"""
import socket
def made(kind):
    try:
        one, other = socket.socketpair(socket.AF_UNIX, kind)
    except OSError as error:
        return error.strerror
    try:
        one.sendto(b'out', {str(outside)!r})
    except OSError:
        pass
    other.sendall(b'ok')
    return one.recv(9).decode()
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK,
             socket.SOCK_DGRAM, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, socket.SOCK_RAW):
    print(made(kind))
"""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(outside))
        server.setblocking(False)
        said = python_inside("landlock", code, workspace=ws)
        with pytest.raises(BlockingIOError):
            server.recv(9)

    assert said.splitlines() == ["ok"] * 3 + ["Operation not permitted"] * 3
    assert "Operation" not in python_inside("bubblewrap", code, workspace=ws)


@needs_both
@pytest.mark.parametrize("level", LEVELS)
def test_paths_without_links_are_told_inside_a_sandbox_too(level: RequestedLevel, ws: Path) -> None:
    """There openat2 is missing, as on an old kernel: a server in a sandbox is as careful as any."""
    (ws / "link").symlink_to("/etc")
    paths = ["/", "/etc/passwd", f"{ws}", f"{ws}/link", f"{ws}/link/passwd", f"{ws}/none"]
    said = python_inside(
        level,
        f"""
import importlib.util, os
spec = importlib.util.spec_from_file_location('launch', {str(LAUNCHER)!r})
launch = importlib.util.module_from_spec(spec)
spec.loader.exec_module(launch)
for path in {paths!r}:
    try:
        found, meant = os.fstat(launch.open_plain(path)), os.stat(path)
        print((found.st_dev, found.st_ino) == (meant.st_dev, meant.st_ino))
    except OSError as error:
        print(error.strerror)
""",
        workspace=ws,
    )

    loop = "Too many levels of symbolic links"
    assert said.splitlines() == ["True"] * 3 + [loop, loop, "No such file or directory"]


@needs_both
@pytest.mark.parametrize("level", LEVELS)
def test_every_call_that_is_refused_is_refused(level: RequestedLevel, ws: Path) -> None:
    calls = {name: number(name) for name in (*REFUSED, *(SHARED if level == "landlock" else ()))}
    said = python_inside(
        level,
        f"{CALLING}\nfor name, number in {calls!r}.items(): print(name, call(number, 0, 0, 0, 0, 0))",
        workspace=ws,
    )

    assert said.splitlines() == [f"{name} Operation not permitted" for name in calls]


def test_calls_that_make_mounts_or_reach_into_processes_are_all_known() -> None:
    """As of Linux 6.18; `listmount`, `statmount` and `listns` only read."""
    assert {
        "mount", "umount2", "pivot_root", "chroot", "unshare", "setns",
        "open_tree", "open_tree_attr", "move_mount", "mount_setattr",
        "fsopen", "fsconfig", "fsmount", "fspick",
        "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
        "pidfd_getfd", "kcmp",
        "keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd",
        "io_uring_setup", "io_uring_enter", "io_uring_register",
        "quotactl", "quotactl_fd", "acct", "swapon", "swapoff", "reboot", "lookup_dcookie",
        "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
    } <= set(REFUSED)  # fmt: skip


@pytest.mark.parametrize("machine", HEADERS)
def test_numbers_are_those_of_the_kernel(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip("the kernel's headers are not installed")
    found = re.findall(
        r"#define __NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[machine].read_text(encoding="utf-8")
    )
    known = {name: int(value) for name, value in found}
    newer = {
        "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "open_tree_attr": 467,
        "file_setattr": 469,
    }  # fmt: skip

    assert numbers(machine) == {name: (known | newer)[name] for name in numbers(machine)}
