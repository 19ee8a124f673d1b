"""Files of git's in a workspace: whatever is in them, a sandbox starts, and what git obeys is protected."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from duetty.errors import SandboxUnavailable
from duetty.sandbox import RequestedLevel
from duetty.sandbox.bounded_reads import bytes_of
from duetty.sandbox.git_config import Named, parse_named
from duetty.sandbox.protected_files import protected
from tests.sandbox.inside import LEVELS, lasting_home, needs_both, python_inside, writes

pytestmark = needs_both


@pytest.fixture
def home() -> Iterator[Path]:
    with lasting_home() as path:
        yield path


def git(*words: str | Path) -> None:
    subprocess.run(["git", "-c", "init.defaultBranch=main", *map(str, words)], check=True)


# --- what may be in a file ----------------------------------------------------------


def a_fifo(file: Path) -> None:
    os.mkfifo(file)


def a_link_without_end(file: Path) -> None:
    file.symlink_to("/dev/zero")


def a_large_file(file: Path) -> None:
    with file.open("wb") as large:
        large.truncate(64 << 30)


def a_name_with_a_nul(file: Path) -> None:
    file.write_bytes(b"gitdir: a\0b\n[core]\nhooksPath = a\0b\n[include]\npath = c\0d\n")


def a_long_name(file: Path) -> None:
    file.write_text("gitdir: " + "n" * 10_000 + "\n[core]\nhooksPath = " + "n" * 5_000)


def not_text(file: Path) -> None:
    file.write_bytes(b"gitdir: \xff\xfe\n[core]\nhooksPath = \xff/\xfe\n")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("place", ["sub/.git", "sub/.git/commondir", "sub/.git/config"])
@pytest.mark.parametrize(
    "made",
    [a_fifo, a_link_without_end, a_large_file, a_name_with_a_nul, a_long_name, not_text],
)
@pytest.mark.sampled(5)
def test_whatever_a_file_of_git_is_a_sandbox_starts(
    home: Path, level: RequestedLevel, place: str, made: Callable[[Path], None]
) -> None:
    file = home / "ws" / place
    file.parent.mkdir(parents=True)
    if place != "sub/.git":
        (home / "ws/tree").mkdir()
        (home / "ws/tree/.git").write_text(f"gitdir: {file.parent}\n")
    made(file)

    assert python_inside(level, "print('ok')", workspace=home / "ws", timeout_s=20) == "ok"


def test_only_files_are_read_and_no_more_of_them_than_was_asked_for(home: Path) -> None:
    os.mkfifo(home / "fifo")
    (home / "file").write_bytes(b"x" * 100)
    (home / "link").symlink_to("file")

    for place in (home / "fifo", home, Path("/dev/null"), Path("/dev/zero")):
        for through_links in (True, False):
            with pytest.raises(OSError, match="no file"):
                bytes_of(place, 10, through_links=through_links)
    with pytest.raises(OSError, match="symbolic links"):
        bytes_of(home / "link", 10, through_links=False)

    assert bytes_of(home / "file", 10, through_links=False) == b"x" * 10
    assert bytes_of(home / "link", 200, through_links=True) == b"x" * 100


def test_what_follows_a_nul_is_not_part_of_the_name(home: Path) -> None:
    """As git itself reads it."""
    git("init", "-q", "--bare", home / "ws/a/b/c/d/store")
    (home / "ws/.git").write_bytes(b"gitdir: a/b/c/d/store\0more\n")

    assert home / "ws/a/b/c/d/store/config" in protected([home / "ws"])


@pytest.mark.parametrize(
    ("place", "many"),
    [(".git/modules", 101), (".git/modules/a/b", 101), (".git/worktrees", 101), ("src", 1_001)],
)
def test_every_look_at_directories_has_an_end(
    home: Path, place: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duetty.sandbox.protected_files.MAX_LOOKED_AT", 1_000)
    git("init", "-q", home / "ws")
    for number in range(many):
        (home / "ws" / place / str(number)).mkdir(parents=True)

    with pytest.raises(SandboxUnavailable):
        protected([home / "ws"])


def test_configurations_that_name_one_another_come_to_an_end(home: Path) -> None:
    git("init", "-q", home / "ws")
    names = [f"[include]\npath = {number}\n" for number in range(40)]
    for number in range(40):
        (home / f"ws/.git/{number}").write_text("".join(names))
    (home / "ws/.git/config").write_text("".join(names))

    found = protected([home / "ws"])

    assert {home / f"ws/.git/{number}" for number in range(40)} <= set(found)


def test_more_configuration_than_a_person_writes_is_refused(home: Path) -> None:
    for number in range(20):
        git("init", "-q", home / f"ws/{number}")
        with (home / f"ws/{number}/.git/config").open("a") as config:
            config.write(f"#{'x' * 250}\n" * 1_000)

    with pytest.raises(SandboxUnavailable):
        protected([home / "ws"])


# --- what a configuration names -------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("[core]\n\thooksPath = tools/hooks\n", "repo/tools/hooks/pre-commit"),
        ('[core] HOOKSPATH = "tools/hooks" ; ours\n', "repo/tools/hooks/pre-commit"),
        ("# \\\n[core]\nhooksPath = tools/\\\nhooks\n", "repo/tools/hooks/pre-commit"),
        ("[core]\nhooksPath = WS/tools/hooks\n", "tools/hooks/pre-commit"),
        ("[core]\nhooksPath = ~/ws/tools/hooks\n", "tools/hooks/pre-commit"),
        ("[include]\npath = ../tools/config\n", "repo/tools/config"),
        ('[includeIf "gitdir:/nowhere"]\npath = ../tools/config\n', "repo/tools/config"),
        ("[include]\npath = ../tools/first\n", "repo/tools/second"),
        ("[include]\npath = ../tools/first\n", "repo/tools/hooks/pre-commit"),
    ],
)
@pytest.mark.sampled(5)
def test_what_a_configuration_names_is_protected(
    home: Path, level: RequestedLevel, text: str, target: str
) -> None:
    ws = home / "ws"
    git("init", "-q", ws / "repo")
    for tools in (ws / "tools", ws / "repo/tools"):
        (tools / "hooks").mkdir(parents=True)
        for name in ("config", "second", "hooks/pre-commit"):
            (tools / name).write_text("")
        (tools / "first").write_text("[include]\npath = second\n[core]\nhooksPath = tools/hooks\n")
    with (ws / "repo/.git/config").open("a") as config:
        config.write(text.replace("WS", str(ws)))

    said = python_inside(level, writes(target, "free"), workspace=ws, home=home)

    # Where Landlock protects a file, its directory takes no new ones.
    assert said.endswith("'DONE']" if level == "bubblewrap" else "]")
    assert said.count("DONE") == (1 if level == "bubblewrap" else 0)


@pytest.mark.parametrize("kind", ["bare", "worktree", "submodule", "the person's", "absent"])
def test_hooks_are_found_where_git_looks_for_them(home: Path, kind: str) -> None:
    ws, config = home / "ws", home / "ws/repo/.git/config"
    git("init", "-q", ws / "repo")
    git("-C", ws / "repo", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")  # fmt: skip
    expected = ws / "repo/tools"
    if kind == "bare":
        git("init", "-q", "--bare", ws / "store")
        config, expected = ws / "store/config", ws / "store/tools"
    elif kind == "worktree":
        git("-C", ws / "repo", "worktree", "add", "-q", ws / "tree")
        expected = ws / "tree/tools"
    elif kind == "submodule":
        allow = ("-c", "protocol.file.allow=always", "-C", ws / "repo")
        git(*allow, "submodule", "--quiet", "add", ws / "repo", "part")
        config, expected = ws / "repo/.git/modules/part/config", ws / "repo/part/tools"
    elif kind == "the person's":
        config = home / ".gitconfig"
    if kind != "absent":  # an empty one is made then: whoever made it later would be obeyed
        expected.mkdir()
    with config.open("a") as file:
        file.write("[core]\nhooksPath = tools\n")

    assert protected([ws], homes=[home])[expected] == ws
    assert list(expected.iterdir()) == []


def test_names_that_lead_out_or_mean_everything_protect_nothing(home: Path) -> None:
    git("init", "-q", home / "ws")
    before = protected([home / "ws"])
    with (home / "ws/.git/config").open("a") as config:
        config.write("[core]\nhooksPath = /dev/null\nhooksPath = .\nhooksPath = ../outside\n")
        config.write("[include]\npath = /etc/hostname\npath = ../..\n")

    assert protected([home / "ws"]) == before


def test_hooks_in_another_workspace_are_protected(home: Path) -> None:
    (home / "outside/hooks").mkdir()
    git("init", "-q", home / "ws")
    git("-C", home / "ws", "config", "core.hooksPath", home / "outside/hooks")

    found = protected([home / "ws", home / "outside"])

    assert found[home / "outside/hooks"] == home / "outside"


def test_a_configuration_is_read_as_git_reads_it() -> None:
    text = b"""
[core]
    hooksPath = a b ; comment \\
    hookspath = "c ; d "   # comment
    worktree = ../..
[core "part"] x = y
[includeIf "onbranch:\\"]\\""] path = e\\tf
[include]
    path
    path = "g\\"h" i
[other]
    path = no
    hooksPath = no
"""

    assert parse_named(text) == Named(
        hooks=("a b", "c ; d "), includes=("e\tf", 'g"h i'), worktrees=("../..",)
    )
