"""What a program inside a sandbox tries, and does not get. One test each, at both levels."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from duetty.sandbox import Limits, RequestedLevel, hidden_files, support
from tests.sandbox.inside import (
    ATTEMPT,
    LEVELS,
    PYTHON,
    needs_both,
    python_inside,
    run_inside,
    settled_sockets,
)

pytestmark = needs_both


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    workspace = tmp_path / "ws"
    workspace.mkdir()
    return workspace


@pytest.fixture
def outside() -> Iterator[Path]:
    """A directory that no sandbox replaces."""
    path = Path(f"/var/lib/duetty-test-{os.getpid()}")
    try:
        path.mkdir()
    except PermissionError:
        path = Path.home() / path.name
        path.mkdir()
    with settled_sockets(changing=True):
        yield path
        subprocess.run(["rm", "-rf", str(path)], check=True)


@pytest.mark.parametrize("level", LEVELS)
def test_the_workspace_can_be_written(level: RequestedLevel, ws: Path) -> None:
    (ws / "old").write_text("x")

    said = python_inside(
        level,
        "import os; open('new', 'w').write('y'); os.rename('old', 'older'); os.mkdir('d'); print('ok')",
        workspace=ws,
    )

    assert said == "ok"
    assert sorted(each.name for each in ws.iterdir()) == ["d", "new", "older"]


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_outside_can_be_written(level: RequestedLevel, ws: Path, outside: Path) -> None:
    (outside / "kept").write_text("kept")
    code = f"""{ATTEMPT}
outside = {str(outside)!r}
print([attempt(act) for act in (
    lambda: open(outside + '/new', 'w'),
    lambda: open(outside + '/kept', 'a'),
    lambda: os.truncate(outside + '/kept', 0),
    lambda: os.unlink(outside + '/kept'),
    lambda: os.rename(outside + '/kept', 'mine'),
    lambda: os.mkdir(outside + '/d'),
    lambda: os.symlink('/etc', outside + '/link'),
    lambda: os.link(outside + '/kept', 'hard'),
    lambda: os.mknod(outside + '/fifo', 0o010600),
)])"""

    said = python_inside(level, code, workspace=ws)

    assert "DONE" not in said
    assert said.startswith("[")
    assert (outside / "kept").read_text() == "kept"
    assert [each.name for each in outside.iterdir()] == ["kept"]


def test_modes_and_times_outside_stay_as_they_are(ws: Path, outside: Path) -> None:
    """Landlock cannot forbid this; docs/sandbox.md says so."""
    (outside / "kept").write_text("kept")
    code = f"""{ATTEMPT}
path = {str(outside / "kept")!r}
print([attempt(act) for act in (lambda: os.chmod(path, 0o777), lambda: os.utime(path, (1, 1)))])"""

    assert "DONE" not in python_inside("bubblewrap", code, workspace=ws)


@pytest.mark.parametrize("level", LEVELS)
def test_there_is_no_network(level: RequestedLevel, ws: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"""{ATTEMPT}
import socket
def tcp(): socket.create_connection(('127.0.0.1', {port}), timeout=2)
def udp(): socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53))
def raw(): socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
def vsock(): socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
print([attempt(act) for act in (tcp, udp, raw, vsock)])"""

        said = python_inside(level, code, workspace=ws)

        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()
    assert said.startswith("[")
    assert "DONE" not in said


@pytest.mark.parametrize("level", LEVELS)
def test_the_network_is_there_when_it_is_allowed(level: RequestedLevel, ws: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port})); print('ok')"

        assert python_inside(level, code, workspace=ws, network=True) == "ok"


@pytest.mark.parametrize("level", LEVELS)
def test_sockets_of_other_programs_cannot_be_reached(
    level: RequestedLevel, ws: Path, outside: Path
) -> None:
    """A path to a unix socket leads around a read-only root: agents' keys, docker, ourselves."""
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as abstract:
        server.bind(str(outside / "agent.sock"))
        server.listen()
        abstract.bind(f"\0duetty-test-{os.getpid()}")
        abstract.listen()
        code = f"""{ATTEMPT}
import socket
def path(): socket.socket(socket.AF_UNIX).connect({str(outside / "agent.sock")!r})
def abstract(): socket.socket(socket.AF_UNIX).connect('\\0duetty-test-{os.getpid()}')
print([attempt(act) for act in (path, abstract)])"""

        said = python_inside(level, code, workspace=ws)

    assert said.startswith("[")
    assert "DONE" not in said


@pytest.mark.parametrize("level", LEVELS)
def test_the_server_can_be_neither_traced_nor_signalled(level: RequestedLevel, ws: Path) -> None:
    victim = subprocess.Popen(["sleep", "60"])
    try:
        code = f"""{ATTEMPT}
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def checked(found):
    if found < 0:
        raise OSError(ctypes.get_errno(), 'refused')
pid = {victim.pid}
print([attempt(act) for act in (
    lambda: checked(libc.ptrace(16, pid, 0, 0)),
    lambda: checked(libc.syscall(310, pid, 0, 0, 0, 0, 0)),
    lambda: os.kill(pid, 9),
    lambda: open(f'/proc/{{pid}}/mem', 'rb'),
    lambda: open(f'/proc/{{pid}}/environ', 'rb').read(),
)])"""

        said = python_inside(level, code, workspace=ws)

        assert said.startswith("[")
        assert "DONE" not in said
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


@pytest.mark.parametrize("level", LEVELS)
def test_the_token_cannot_be_read(level: RequestedLevel, ws: Path, outside: Path) -> None:
    state = outside / "state"
    state.mkdir()
    (state / "token").write_text("SECRET")
    code = f"""{ATTEMPT}
import glob
path = {str(state / "token")!r}
print([attempt(lambda: print(open(p).read())) for p in (path, '/proc/self/root' + path, '/proc/1/root' + path)])
print(glob.glob({str(state)!r} + '/*'))"""

    said = python_inside(level, code, workspace=ws, hidden=(state,))

    assert "SECRET" not in said
    assert "DONE" not in said
    assert said.endswith("[]")


@pytest.mark.parametrize("level", LEVELS)
def test_credentials_in_the_home_directory_are_hidden(
    level: RequestedLevel, ws: Path, outside: Path
) -> None:
    (outside / ".ssh").mkdir()
    (outside / ".ssh/id_ed25519").write_text("SECRET")
    (outside / ".netrc").write_text("SECRET")
    (outside / "notes").write_text("fine")
    code = f"""{ATTEMPT}
home = {str(outside)!r}
for name in ('.ssh/id_ed25519', '.netrc', 'notes'):
    attempt(lambda: print(open(home + '/' + name).read()))"""

    said = python_inside(level, code, workspace=ws, home=outside)

    assert said == "fine"


@pytest.mark.parametrize("level", LEVELS)
def test_proc_is_no_way_out(level: RequestedLevel, ws: Path, outside: Path) -> None:
    code = f"""{ATTEMPT}
print([attempt(act) for act in (
    lambda: open('/proc/sys/kernel/core_pattern', 'a'),  # opened only: this is the machine's own
    lambda: open('/proc/sys/net/ipv4/ip_forward', 'a'),
    lambda: open('/proc/sysrq-trigger', 'a'),
    lambda: open('/proc/1/root{outside}/new', 'w'),
    lambda: open('/proc/self/root{outside}/new', 'w'),
    lambda: open('/proc/self/cwd/../../..{outside}/new', 'w'),
)])"""

    said = python_inside(level, code, workspace=ws)

    assert said.startswith("[")
    assert "DONE" not in said
    assert list(outside.iterdir()) == []


def test_other_processes_cannot_be_seen(ws: Path) -> None:
    """Landlock has no PID namespace: there they can be seen, not touched."""
    code = "import os; print(sum(name.isdigit() for name in os.listdir('/proc')))"

    assert int(python_inside("bubblewrap", code, workspace=ws)) <= 3


@pytest.mark.parametrize("level", LEVELS)
def test_namespaces_and_mounts_are_refused(level: RequestedLevel, ws: Path) -> None:
    code = f"""{ATTEMPT}
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def checked(found):
    if found < 0:
        raise OSError(ctypes.get_errno(), 'refused')
print([attempt(act) for act in (
    lambda: checked(libc.unshare(0x10000000)),
    lambda: checked(libc.mount(b'none', b'/mnt', b'tmpfs', 0, None)),
    lambda: checked(libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)),
    lambda: checked(libc.syscall(321, 0, 0, 0)),
    lambda: checked(libc.syscall(425, 1, 0)),
)])"""

    said = python_inside(level, code, workspace=ws)

    assert said.startswith("[")
    assert "DONE" not in said


@pytest.mark.parametrize("level", LEVELS)
def test_hooks_and_rc_files_in_the_workspace_cannot_be_changed(
    level: RequestedLevel, ws: Path
) -> None:
    subprocess.run(["git", "init", "-q", str(ws)], check=True)
    (ws / ".envrc").write_text("safe")
    (ws / ".vscode").mkdir()
    (ws / "src").mkdir()
    code = f"""{ATTEMPT}
print([attempt(act) for act in (
    lambda: open('.git/hooks/pre-commit', 'w'),
    lambda: open('.git/config', 'a'),
    lambda: os.rename('.git/hooks', '.git/old'),
    lambda: open('.envrc', 'w'),
    lambda: os.unlink('.envrc'),
    lambda: open('.vscode/tasks.json', 'w'),
)])
open('src/main.py', 'w').write('fine')
if {level == "bubblewrap"}:  # where Landlock protects a file, its directory takes no new ones
    open('.git/index', 'w').write('fine')"""

    said = python_inside(level, code, workspace=ws)

    assert said.startswith("[")
    assert "DONE" not in said
    assert (ws / "src/main.py").read_text() == "fine"


def test_a_repository_cannot_be_renamed_away_with_its_hooks(ws: Path) -> None:
    subprocess.run(["git", "init", "-q", str(ws)], check=True)
    code = f"{ATTEMPT}\nprint(attempt(lambda: os.rename('.git', 'elsewhere')))"

    assert python_inside("bubblewrap", code, workspace=ws) == "Device or resource busy"


def no_home(_uid: int) -> str:
    return ""


def test_a_fork_bomb_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch, outside: Path) -> None:
    """As an ordinary user: the kernel counts no processes of root, which docs/sandbox.md says."""
    user = 65_534 if os.getuid() == 0 else None
    if user is not None:
        # Of what root's server shows inside, that user may see nothing, wherever it stands.
        wrapping = sys.modules["duetty.sandbox.wrap"]
        launcher = shutil.copy(wrapping.LAUNCHER, outside)
        monkeypatch.setattr(wrapping, "LAUNCHER", Path(launcher))
        monkeypatch.setattr(wrapping, "PYTHON", PYTHON)
        monkeypatch.setattr(sys, "prefix", "/usr")
        monkeypatch.setattr(sys, "base_prefix", "/usr")
        monkeypatch.setattr(hidden_files, "account_home", no_home)
    code = """
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
except BlockingIOError:
    print('stopped', made < 60)
"""

    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        if user is not None:
            os.chown(place, user, user)
        done = run_inside(
            "bubblewrap",
            [PYTHON, "-I", "-c", code],
            workspace=Path(place),
            limits=Limits(processes=60),
            user=user,
        )

    assert (done.stdout.strip(), done.stderr) == ("stopped True", "")


@pytest.mark.parametrize("level", LEVELS)
def test_a_memory_bomb_ends_itself_only(level: RequestedLevel, ws: Path) -> None:
    code = """
held = []
try:
    while len(held) < 100:
        held.append(bytearray(16 << 20))
except MemoryError:
    print('refused', len(held) <= 16)
"""

    said = python_inside(level, code, workspace=ws, limits=Limits(memory_mib=256))

    assert said == "refused True"


@pytest.mark.parametrize("level", LEVELS)
def test_files_and_descriptors_and_time_are_bounded(level: RequestedLevel, ws: Path) -> None:
    code = f"""{ATTEMPT}
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
print(attempt(lambda: open('big', 'wb', buffering=0).write(b'x' * (3 << 20)) and os.truncate('big', 3 << 20)))
print(attempt(lambda: [os.dup(0) for _ in range(200)]))
print(resource.getrlimit(resource.RLIMIT_CPU)[0])"""
    limits = Limits(file_mib=1, open_files=100, cpu_s=7)

    said = python_inside(level, code, workspace=ws, limits=limits).splitlines()

    assert said == ["File too large", "Too many open files", "7"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_program_is_told_that_its_processor_time_is_over(level: RequestedLevel, ws: Path) -> None:
    code = "import signal; signal.signal(signal.SIGXCPU, lambda *_: exit('over'))\nwhile True: pass"

    said = python_inside(level, code, workspace=ws, limits=Limits(cpu_s=1))

    assert said == "1: over\n"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("program", "code", "why"),
    [("/bin/no such", 127, "No such file or directory"), ("/etc/passwd", 126, "Permission denied")],
)
def test_a_program_that_cannot_be_run_is_named(
    level: RequestedLevel, ws: Path, program: str, code: int, why: str
) -> None:
    done = run_inside(level, [program], workspace=ws)

    assert (done.returncode, done.stderr) == (code, f"duetty: {program}: {why}\n")


def test_nothing_lives_on_after_the_sandbox(ws: Path) -> None:
    mark = f"duetty-test-{os.getpid()}"

    run_inside(
        "bubblewrap",
        ["/bin/sh", "-c", f"exec 1>/dev/null 2>&1; setsid sh -c ': {mark}; sleep 60' & sleep 0.2"],
        workspace=ws,
    )

    # bubblewrap ends a moment before the kernel has ended everything in its namespace.
    until_s = time.monotonic() + 30
    while f": {mark};" in subprocess.check_output(["ps", "-eo", "args"], text=True):
        assert time.monotonic() < until_s
        time.sleep(0.02)


@pytest.mark.parametrize("level", LEVELS)
def test_a_repository_without_hooks_gets_none(level: RequestedLevel, ws: Path) -> None:
    subprocess.run(["git", "init", "-q", "--template=", str(ws / "below/it")], check=True)
    code = f"{ATTEMPT}\nprint(attempt(lambda: open('below/it/.git/hooks/pre-commit', 'w')))"

    assert "DONE" not in python_inside(level, code, workspace=ws)
    assert list((ws / "below/it/.git/hooks").iterdir()) == []


@pytest.mark.root
@pytest.mark.parametrize(
    ("level", "has_landlock"), [("bubblewrap", True), ("bubblewrap", False), ("landlock", True)]
)
def test_secrets_of_the_machine_are_hidden_where_root_runs_the_server(
    level: RequestedLevel, has_landlock: bool, ws: Path
) -> None:
    said = python_inside(
        level,
        f"""{ATTEMPT}
def read(path): assert open(path).read()
print([attempt(lambda: read(path)) for path in ('/etc/passwd', '/etc/group')])
try: print(len(open('/etc/shadow').read()))
except OSError: print(0)""",
        workspace=ws,
        offered=support() if has_landlock else replace(support(), landlock=0),
    )

    assert said.splitlines() == ["['DONE', 'DONE']", "0"]


@pytest.mark.parametrize("level", LEVELS)
def test_no_pressure_of_the_machine_is_watched(level: RequestedLevel, ws: Path) -> None:
    code = f"{ATTEMPT}\nprint(attempt(lambda: os.open('/proc/pressure/cpu', os.O_RDWR)))"

    assert "DONE" not in python_inside(level, code, workspace=ws)


@pytest.mark.parametrize("level", LEVELS)
def test_the_version_of_a_file_outside_stays_as_it_is(
    level: RequestedLevel, ws: Path, outside: Path
) -> None:
    (outside / "file").touch()
    code = f"""{ATTEMPT}
import fcntl
fd = os.open({str(outside / "file")!r}, os.O_RDONLY)
print([attempt(lambda: fcntl.ioctl(fd, request, (12345).to_bytes(8, 'little')))
    for request in (0x40087602, 0x40047602, 0x40086604, 0x40046604)])"""

    said = python_inside(level, code, workspace=ws)

    assert said.startswith("[")
    assert "DONE" not in said


@pytest.mark.root
@pytest.mark.parametrize("level", LEVELS)
def test_what_is_mounted_outside_after_the_start_cannot_be_written(
    level: RequestedLevel, ws: Path, outside: Path
) -> None:
    """Mounts come in where they are shared; Landlock stands behind them."""
    stick = outside / "stick"
    stick.mkdir()
    code = f"""{ATTEMPT}
import time
open('ready', 'w').close()
for _ in range(1000):
    if os.path.exists('go'): break
    time.sleep(0.01)
print(os.path.exists({str(stick / "there")!r}), attempt(lambda: open({str(stick / "new")!r}, 'w')))"""

    def plug_in() -> None:
        for _ in range(2000):
            if (ws / "ready").exists():
                break
            time.sleep(0.01)
        subprocess.run(["mount", "-t", "tmpfs", "none", str(stick)], check=True)
        (stick / "there").touch()
        (ws / "go").touch()

    subprocess.run(["mount", "--bind", str(outside), str(outside)], check=True)
    subprocess.run(["mount", "--make-shared", str(outside)], check=True)
    person = Thread(target=plug_in)
    person.start()
    try:
        said = python_inside(level, code, workspace=ws)
    finally:
        person.join()
        subprocess.run(["umount", "--lazy", "--recursive", str(outside)], check=True)

    # It did come in: else this would show nothing.
    assert said == "True Permission denied"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("network", [False, True])
def test_terminals_and_control_groups_of_the_machine_are_out_of_reach(
    level: RequestedLevel, ws: Path, network: bool
) -> None:
    groups = [str(each) for each in Path("/sys/fs/cgroup").glob("**/cgroup.procs")][:5]
    code = f"""{ATTEMPT}
import fcntl
fd = os.open('/dev/null', os.O_RDWR)
print([attempt(lambda: fcntl.ioctl(fd, request, b'x')) for request in (0x5412, 0x541C, 0x5401)])
print([attempt(lambda: open(path, 'w').write('0')) for path in {groups!r}])
print(attempt(lambda: os.mkdir('/sys/fs/cgroup/duetty-x')))"""

    terminals, written, made = python_inside(level, code, workspace=ws, network=network).split("\n")

    # The third only asks: without a filter each of them would be told the same.
    no, other = "Operation not permitted", "Inappropriate ioctl for device"
    assert terminals == str([no, no, other])
    assert written.count("'") == 2 * len(groups)
    assert "DONE" not in written + made
