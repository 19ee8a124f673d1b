"""Ways out that a program inside prepares for the next one that starts in its workspace."""

import os
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest

from duetty.sandbox import Limits, Places, RequestedLevel, SandboxRequest, hidden_files, wrap
from duetty.sandbox.landlock import beside
from tests.sandbox.inside import (
    ATTEMPT,
    LEVELS,
    lasting_home,
    needs_both,
    ordinary_user,
    python_inside,
    reads,
    run_inside,
    writes,
)

pytestmark = needs_both


@pytest.fixture
def home() -> Iterator[Path]:
    with lasting_home() as path:
        yield path


# --- links ----------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("target", ["..", "ABSOLUTE"])
def test_a_link_to_what_is_protected_elsewhere_opens_nothing(
    home: Path, level: RequestedLevel, target: str
) -> None:
    (home / "bin").mkdir()
    (home / ".bashrc").write_text("safe")
    (home / "ws/.local").symlink_to(str(home) if target == "ABSOLUTE" else target)

    said = python_inside(
        level,
        writes(home / "outside/new", home / ".bashrc", home / "bin/ls", "in-the-workspace"),
        workspace=home / "ws",
        home=home,
    )

    assert said.count("DONE") == 1
    assert said.endswith("'DONE']")
    assert (home / ".bashrc").read_text() == "safe"


def exchanged_for_a_link(place: Path, target: Path) -> Callable[[], None]:
    """What a process of an earlier sandbox does between the look and the start."""

    def exchange() -> None:
        place.rename(place.with_name("aside"))
        place.symlink_to(target)

    return exchange


@pytest.mark.parametrize("level", LEVELS)
def test_a_directory_exchanged_for_a_link_at_the_last_moment_opens_nothing(
    home: Path, level: RequestedLevel
) -> None:
    for repository in (home / "ws/sub", home / "outside"):
        subprocess.run(["git", "init", "-q", str(repository)], check=True)

    done = run_inside(
        level,
        ["/bin/sh", "-c", f"echo x > {home}/outside/new; echo y > {home}/ws/sub/new"],
        workspace=home / "ws",
        home=home,
        before=exchanged_for_a_link(home / "ws/sub", home / "outside"),
    )

    assert done.returncode != 0
    assert not (home / "outside/new").exists()


def test_what_was_to_be_hidden_and_was_moved_at_the_last_moment_stops_the_start(home: Path) -> None:
    (home / "ws/of/server").mkdir(parents=True)
    (home / "ws/of/server/token").write_text("SECRET")

    def move() -> None:
        (home / "ws/of").rename(home / "ws/moved")
        (home / "ws/of/server").mkdir(parents=True)

    done = run_inside(
        "bubblewrap",
        ["/bin/sh", "-c", f"cat {home}/ws/*/server/token"],
        workspace=home / "ws",
        hidden=(home / "ws/of/server",),
        home=home,
        before=move,
    )

    assert done.returncode == 125
    assert "meanwhile" in done.stderr
    assert "SECRET" not in done.stdout


def test_what_is_hidden_in_a_workspace_cannot_be_renamed_away(home: Path) -> None:
    (home / "ws/of/server").mkdir(parents=True)
    (home / "ws/of/server/token").write_text("SECRET")
    code = f"{ATTEMPT}\nprint(attempt(lambda: os.rename('of', 'mine')), os.listdir('of/server'))"

    said = python_inside(
        "bubblewrap", code, workspace=home / "ws", hidden=(home / "ws/of/server",), home=home
    )

    assert said == "Device or resource busy []"


# --- the home -------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("claimed", ["/nonexistent", "/run", "/tmp"])
def test_another_home_in_the_environment_shows_no_credentials(
    home: Path, level: RequestedLevel, claimed: str
) -> None:
    (home / ".ssh").mkdir()
    (home / ".ssh/id_ed25519").write_text("SECRET")
    code = f"{ATTEMPT}\nattempt(lambda: print(open({str(home / '.ssh/id_ed25519')!r}).read()))"

    said = python_inside(level, code, workspace=home / "ws", home=home, env={"HOME": claimed})

    assert said == ""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("known", ["", "OTHER"])
def test_a_server_with_another_home_shows_no_credentials(
    home: Path, level: RequestedLevel, known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HOME may be missing, or another one, where a server is started by a service or by sudo."""

    def account_home(_uid: int) -> str:
        return str(home)

    monkeypatch.setattr(hidden_files, "account_home", account_home)
    (home / ".ssh").mkdir()
    (home / ".ssh/id_ed25519").write_text("SECRET")
    (home / "other").mkdir()

    said = python_inside(
        level,
        reads(home / ".ssh/id_ed25519"),
        workspace=home / "ws",
        home=home / "other" if known else None,
    )

    assert said == ""


WHEN_TOLD = """
import time
open('ready', 'w').close()
while not os.path.exists('go'):
    time.sleep(0.01)
"""


@pytest.mark.parametrize("level", LEVELS)
def test_credentials_that_come_after_the_start_are_hidden(
    home: Path, level: RequestedLevel
) -> None:
    """A cover goes with the file that it covers, and what is not there has none."""
    new = [".netrc", ".kube/config", ".cargo/credentials.toml", ".config/gh/hosts.yml"]
    new.append("servers/config.toml")
    for name in (".cargo", ".config", "projects", "servers"):
        (home / name).mkdir()
    (home / ".git-credentials").write_text("old")
    (home / "projects/plain").write_text("readable")
    (home / "top").write_text("readable, too")

    def log_in() -> None:
        until_s = time.monotonic() + 20
        while not (home / "ws/ready").exists() and time.monotonic() < until_s:
            time.sleep(0.01)
        for name in (*new, ".fresh"):
            (home / name).parent.mkdir(exist_ok=True)
            (home / name).write_text("SECRET")
        (home / ".fresh").rename(home / ".git-credentials")
        (home / "projects/new").write_text("later")
        (home / "ws/go").touch()

    person = Thread(target=log_in)
    plain = (home / "projects/plain", home / "top", home / "projects/new", "ready")
    said = python_inside(
        level,
        f"{ATTEMPT}{WHEN_TOLD}{reads(*plain, *(home / each for each in (*new, '.git-credentials')))}"
        f"\nprint(attempt(lambda: os.listdir({str(home)!r})))",
        workspace=home / "ws",
        home=home,
        hidden=(home / "servers/config.toml",),
        before=person.start,
    )
    person.join()

    # A directory with something hidden in it cannot be listed where Landlock alone hides.
    listed = "DONE" if level == "bubblewrap" else "Permission denied"
    assert said.split("\n") == ["readable", "readable, too", "later", "", listed]


def test_a_home_in_a_directory_that_cannot_be_listed_can_be_read(home: Path) -> None:
    (home / "of/person").mkdir(parents=True)
    (home / "of/person/plain").write_text("readable")
    (home / "of/person/.netrc").write_text("SECRET")
    (home / "of").chmod(0o111)
    with ordinary_user(home / "of/person"):
        found = beside(
            f"{home}/of", {f"{home}/of/person/.netrc", f"{home}/of/person/.config/duetty"}
        )

    assert found == [f"{home}/of/person/plain"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_home_that_a_caller_names_shows_no_private_place(
    tmp_path: Path, home: Path, level: RequestedLevel
) -> None:
    (tmp_path / "of-others").write_text("SECRET")
    code = f"{ATTEMPT}\nattempt(lambda: print(open({str(tmp_path / 'of-others')!r}).read()))"

    said = python_inside(level, code, workspace=home / "ws", home=home, env={"HOME": str(tmp_path)})

    assert said == ""


@pytest.mark.parametrize("level", LEVELS)
def test_credentials_behind_a_link_are_hidden_where_they_are(
    home: Path, level: RequestedLevel
) -> None:
    (home / "dotfiles/aws").mkdir(parents=True)
    (home / "dotfiles/aws/credentials").write_text("SECRET")
    (home / ".aws").symlink_to(home / "dotfiles/aws")
    paths = [str(home / ".aws/credentials"), str(home / "dotfiles/aws/credentials")]
    code = f"{ATTEMPT}\nprint([attempt(lambda: print(open(p).read())) for p in {paths!r}])"

    said = python_inside(level, code, workspace=home / "ws", home=home)

    assert said.startswith("[")
    assert "SECRET" not in said


@pytest.mark.parametrize("level", LEVELS)
def test_a_callers_variables_are_the_commands_and_nobody_elses(
    home: Path, level: RequestedLevel
) -> None:
    """LD_PRELOAD would run its code in bubblewrap, or in the launcher, before anything is confined."""
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LD_PRELOAD": "/nowhere.so", "SECRET": "s3"}

    wrapped = wrap(
        ["/usr/bin/env"],
        env,
        cwd="/",
        order=SandboxRequest(asked=level, home=str(home)),
        places=Places(hidden=()),
    )
    done = run_inside(level, ["/usr/bin/env"], workspace=home / "ws", env={"SECRET": "s3"})

    assert set(wrapped.env) == {"PATH"}
    assert "s3" not in " ".join(wrapped.argv)
    assert "SECRET=s3" in done.stdout.splitlines()


# --- repositories ---------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_git_files_modules_and_worktrees_are_protected(home: Path, level: RequestedLevel) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    repository, other = home / "ws/repo", home / "outside/other"
    for each in (repository, other):
        subprocess.run([*git, "init", "-q", str(each)], check=True)
        subprocess.run(
            [*git, "-C", str(each), "commit", "-q", "--allow-empty", "-m", "x"], check=True
        )
    subprocess.run(
        [*git, "-C", str(repository), "submodule", "--quiet", "add", str(other), "part"], check=True
    )
    subprocess.run(
        [*git, "-C", str(repository), "worktree", "add", "-q", "../tree", "HEAD"],
        check=True,
        capture_output=True,
    )
    (repository / ".envrc").write_text("safe")
    paths = (
        "repo/part/.git",
        "repo/.git/modules/part/hooks/pre-commit",
        "repo/.git/modules/part/config",
        "repo/.git/worktrees/tree/commondir",
        "repo/.git/worktrees/tree/gitdir",
        "tree/.git",
        "repo/.envrc",
        "repo/.gitmodules",
        "repo/new",
    )

    said = python_inside(level, writes(*paths), workspace=home / "ws", home=home)

    # Where Landlock protects a file, its directory takes no new ones.
    assert said.count("DONE") == (1 if level == "bubblewrap" else 0)
    assert said.startswith("[")


def test_a_repository_can_be_kept_whole(home: Path) -> None:
    for words in (["ws"], ["--bare", "ws/.git/modules/deep/part"]):
        subprocess.run(["git", "init", "-q", *words], cwd=home, check=True)
    inner = (".git/modules/new", ".git/modules/deep/new", ".git/modules/deep/part/config")
    paths = (".git/index", ".git/commondir", ".git/config", *inner, "fine")

    said = python_inside(
        "bubblewrap", writes(*paths), workspace=home / "ws", home=home, whole_git=True
    )

    assert said == str(["Read-only file system"] * 6 + ["DONE"])


def test_what_is_hidden_in_something_protected_opens_nothing_on_the_way(home: Path) -> None:
    (home / "ws/.vscode/deep/secret").mkdir(parents=True)

    said = python_inside(
        "bubblewrap",
        writes(".vscode/new", ".vscode/deep/new", ".vscode/deep/secret/new", "fine"),
        workspace=home / "ws",
        hidden=(home / "ws/.vscode/deep/secret",),
    )

    assert said == str(["Read-only file system"] * 3 + ["DONE"])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("made", ["many files", "many repositories"])
@pytest.mark.sampled(3)
def test_many_files_do_not_hide_a_repository(home: Path, level: RequestedLevel, made: str) -> None:
    subprocess.run(["git", "init", "-q", str(home / "ws/zzz")], check=True)
    for number in range(6_000 if made == "many files" else 60):
        if made == "many files":
            (home / f"ws/{number}").touch()
        else:
            (home / f"ws/{number}/.git").mkdir(parents=True)

    said = python_inside(
        level, writes("zzz/.git/hooks/pre-commit", "zzz/.git/config"), workspace=home / "ws"
    )

    assert said.startswith("[")
    assert "DONE" not in said


def test_long_names_beside_a_repository_do_not_keep_landlock_from_starting(home: Path) -> None:
    subprocess.run(["git", "init", "-q", str(home / "ws/repo")], check=True)
    for number in range(1_500):
        (home / f"ws/repo/{number:05}{'n' * 200}").touch()

    assert python_inside("landlock", "print('ok')", workspace=home / "ws") == "ok"


@pytest.mark.parametrize("level", LEVELS)
def test_a_git_directory_of_another_name_is_protected(home: Path, level: RequestedLevel) -> None:
    for name in ("p/.bare", "alone.git"):
        subprocess.run(["git", "init", "-q", "--bare", str(home / "ws" / name)], check=True)
    (home / "ws/p/.git").write_text("gitdir: ./.bare\n")
    subprocess.run(
        ["git", "init", "-q", "--separate-git-dir", str(home / "ws/store"), str(home / "ws/sg")],
        check=True,
    )
    paths = (
        "p/.bare/hooks/pre-commit",
        "p/.bare/config",
        "p/.git",
        "store/hooks/x",
        "store/config",
        "alone.git/hooks/x",
        "alone.git/config",
    )

    said = python_inside(level, writes(*paths), workspace=home / "ws")

    assert said.startswith("[")
    assert "DONE" not in said


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_hidden_stays_so_where_it_is_protected_too(
    home: Path, level: RequestedLevel
) -> None:
    (home / ".npmrc").write_text("SECRET")
    subprocess.run(["git", "init", "-q", str(home / ".password-store")], check=True)
    (home / ".password-store/.envrc").write_text("SECRET")
    paths = [str(home / ".npmrc"), str(home / ".password-store/.envrc")]
    paths.append(str(home / ".password-store/.git/config"))
    code = f"{ATTEMPT}\nprint([attempt(lambda: print(open(p).read())) for p in {paths!r}])"

    said = python_inside(level, code, workspace=home, home=home)

    assert said.endswith("]")
    assert "SECRET" not in said
    assert "repositoryformatversion" not in said


@pytest.mark.parametrize("name", ["a b", "a\rb", "a\nb", "a\\040b"])
def test_odd_names_keep_no_sandbox_from_starting(home: Path, name: str) -> None:
    subprocess.run(["git", "init", "-q", str(home / "ws" / name / "repo")], check=True)

    said = python_inside("bubblewrap", "print('ok')", workspace=home / "ws" / name)

    assert said == "ok"


# --- sockets --------------------------------------------------------------------


def test_a_socket_bound_by_a_name_without_a_directory_is_covered(home: Path) -> None:
    program = (
        "import os, socket, sys; os.chdir(sys.argv[1]); s = socket.socket(socket.AF_UNIX); "
        "s.bind('near.sock'); s.listen(); print('bound', flush=True); sys.stdin.read()"
    )
    daemon = subprocess.Popen(
        ["/usr/bin/python3", "-c", program, str(home / "outside")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == b"bound\n"
        path = str(home / "outside/near.sock")
        code = f"{ATTEMPT}\nprint(attempt(lambda: socket.socket(socket.AF_UNIX).connect({path!r})))"

        said = python_inside("bubblewrap", code, workspace=home / "ws")
    finally:
        daemon.communicate(timeout=30)

    assert said == "Connection refused"


def test_a_socket_bound_through_a_link_is_covered(home: Path) -> None:
    (home / "link").symlink_to(home / "outside")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(home / "link/x.sock"))
        server.listen()
        path = str(home / "outside/x.sock")
        code = f"{ATTEMPT}\nprint(attempt(lambda: socket.socket(socket.AF_UNIX).connect({path!r})))"

        said = python_inside("bubblewrap", code, workspace=home / "ws")

    assert said == "Connection refused"


def test_abstract_sockets_are_out_of_reach_with_a_network_too(home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0duetty-tricks-{os.getpid()}")
        server.listen()
        name = f"\\0duetty-tricks-{os.getpid()}"
        code = f"{ATTEMPT}\nprint(attempt(lambda: socket.socket(socket.AF_UNIX).connect('{name}')))"

        said = python_inside("bubblewrap", code, workspace=home / "ws", network=True)

    assert said == "Operation not permitted"


@pytest.mark.root
@pytest.mark.skipif(os.getuid() != 0, reason="makes a directory of another user")
def test_a_strangers_socket_keeps_no_sandbox_from_starting(home: Path) -> None:
    theirs = home / "theirs"
    theirs.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(theirs / "x.sock"))
        server.listen()
        theirs.chmod(0o700)
        os.chown(theirs, 65_534, 65_534)
        path = str(theirs / "x.sock")
        code = f"{ATTEMPT}\nprint(attempt(lambda: socket.socket(socket.AF_UNIX).connect({path!r})))"

        said = python_inside("bubblewrap", code, workspace=home / "ws")

    assert said == "Permission denied"


@pytest.mark.root
@pytest.mark.skipif(os.getuid() != 0, reason="makes a directory of another user")
@pytest.mark.parametrize("ours", ["named", "of another"])
def test_a_socket_that_an_access_list_opens_is_covered(home: Path, ours: str) -> None:
    theirs = home / "theirs"
    theirs.mkdir()
    who = 0 if ours == "named" else 4_321
    entries = [(1, 7, -1), (2, 7, who), (4, 0, -1), (16, 7, -1), (32, 0, -1)]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *each) for each in entries)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(theirs / "x.sock"))
        server.listen()
        os.chown(theirs, 65_534, 65_534)
        try:
            os.setxattr(theirs, "system.posix_acl_access", acl)
        except OSError as error:
            pytest.skip(f"no access control lists here: {error}")
        path = str(theirs / "x.sock")
        code = f"{ATTEMPT}\nprint(attempt(lambda: socket.socket(socket.AF_UNIX).connect({path!r})))"

        said = python_inside("bubblewrap", code, workspace=home / "ws")

    assert said == ("Connection refused" if ours == "named" else "Permission denied")


# --- memory ---------------------------------------------------------------------


def test_files_in_the_private_place_are_bounded_like_memory(home: Path) -> None:
    code = f"""{ATTEMPT}
def fill():
    with open('/tmp/big', 'wb') as file:
        for _ in range(80):
            file.write(bytes(1 << 20))
print(attempt(fill))"""

    said = python_inside("bubblewrap", code, workspace=home / "ws", limits=Limits(memory_mib=64))

    assert said == "No space left on device"
