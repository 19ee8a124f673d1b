"""What a program inside leaves behind, and the person's own git, outside, would run afterwards."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from duetty.sandbox import RequestedLevel, disorders
from duetty.sandbox.git_config import parse_named
from duetty.sandbox.protected_files import protected
from tests.sandbox.inside import LEVELS, lasting_home, needs_both, run_inside

pytestmark = needs_both

EVIL = "#!/bin/sh\ntouch RAN\n"
CONFIG = '[core]\n\tfsmonitor = "touch RAN;false"\n'


@pytest.fixture
def home() -> Iterator[Path]:
    with lasting_home() as path:
        git(path, "init", "-q", path / "ws")
        (path / "ws/file").write_text("first\n")
        git(path, "-C", path / "ws", "add", "file")
        git(path, "-C", path / "ws", "commit", "-q", "-m", "first")
        yield path


def git(home: Path, *words: str | Path) -> str:
    """As the person has it, outside. Its exit code is nobody's business here."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *who, *map(str, words)], env=env, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def inside(level: RequestedLevel, home: Path, script: str, *, whole_git: bool = False) -> str:
    """What each line did is shown by what the person's git does afterwards."""
    script = script.replace("RAN", f"{home}/ran")
    done = run_inside(
        level, ["/bin/sh", "-c", script], workspace=home / "ws", home=home, whole_git=whole_git
    )
    assert "sandbox could not be made" not in done.stderr
    return done.stdout + done.stderr


def set_up(home: Path, files: dict[str, str]) -> None:
    """Files as a person has them; `-> target` is a link."""
    for name, content in files.items():
        place = home / "ws" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if content.startswith("-> "):
            place.symlink_to(content.removeprefix("-> "))
        elif name == ".git/config":
            with place.open("a") as config:
                config.write(content)
        else:
            place.write_text(content)
            place.chmod(0o755)


PLAIN = "#!/bin/sh\n"

AT_A_COMMIT = [
    pytest.param(
        {"tools/pre-commit.sh": PLAIN, ".git/hooks/pre-commit": "-> ../../tools/pre-commit.sh"},
        "tools/pre-commit.sh",
        id="a link",
    ),
    pytest.param(
        {"a/b": PLAIN, "c/d": "-> ../a/b", ".git/hooks/pre-commit": "-> ../../c/d"},
        "c/d",
        id="a link to a link",
    ),
    pytest.param(
        {"a/t/hook": PLAIN, "a/tools": "-> t", ".git/hooks/pre-commit": "-> ../../a/tools/hook"},
        "a/tools/hook",
        id="a link on the way",
    ),
    pytest.param(
        {"made/by": PLAIN, ".git/hooks/pre-commit": "-> ../../tools/deep/missing"},
        "tools/deep/missing",
        id="a link to nothing yet",
    ),
    pytest.param(
        {".git/config": "[core]\nhooksPath = my/own/hooks\n"},
        "my/own/hooks/pre-commit",
        id="hooks in no directory yet",
    ),
    pytest.param(
        {
            ".git/config": "[core]\nhooksPath = hooks\n",
            "tools/x": PLAIN,
            "hooks/pre-commit": "-> ../tools/x",
        },
        "tools/x",
        id="a link in hooks elsewhere",
    ),
]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("files", "target"), AT_A_COMMIT)
@pytest.mark.sampled(5)
def test_no_hook_leads_to_what_was_written_inside(
    home: Path, level: RequestedLevel, files: dict[str, str], target: str
) -> None:
    set_up(home, files)
    above = os.path.dirname(target)
    write = f"printf '{EVIL}' > {target}; chmod 755 {target}\n".replace("\n", "\\n", 2)

    inside(
        level, home,
        f"mkdir -p {above}; {write}rm -f {target}; {write}mv {above} away; mkdir -p {above}; {write}",
    )  # fmt: skip
    git(home, "-C", home / "ws", "commit", "-q", "--allow-empty", "-m", "second")

    assert not (home / "ran").exists()


@pytest.mark.parametrize("level", LEVELS)
def test_hooks_that_are_a_link_are_not_exchanged(home: Path, level: RequestedLevel) -> None:
    subprocess.run(["rm", "-rf", str(home / "ws/.git/hooks")], check=True)
    set_up(home, {"tools/hooks/commit-msg": PLAIN, ".git/hooks": "-> ../tools/hooks"})

    inside(
        level, home,
        f"cd tools/hooks; printf '{EVIL}' > pre-commit; chmod 755 pre-commit; cd ../../.git; "
        f"rm hooks; mkdir hooks; cd hooks; printf '{EVIL}' > pre-commit; chmod 755 pre-commit",
    )  # fmt: skip
    git(home, "-C", home / "ws", "commit", "-q", "--allow-empty", "-m", "second")

    assert (home / "ws/.git/hooks").is_symlink()
    assert not (home / "ran").exists()


PROGRAMS = [
    '[filter "x"]\nclean = tools/run %f\n',
    '[diff "x"]\ntextconv = sh ./tools/run\n',
    '[core]\nfsmonitor = "\\"$(git rev-parse --show-toplevel)/tools/run\\""\n',
    "[core]\npager = TERM=dumb tools/run\n",
    '[merge "x"]\ndriver = WS/tools/run %O %A %B\n',
    "[credential]\nhelper = !tools/run\n",
    "[alias]\nst = !tools/run --now\n",
    '[new "x"]\nsetting = tools/run\n',
    "[include]\npath = ../part\n",
]


@pytest.mark.parametrize("text", PROGRAMS)
def test_programs_in_the_workspace_that_git_is_told_to_run_are_protected(
    home: Path, text: str
) -> None:
    set_up(home, {"tools/run": PLAIN, ".git/config": text.replace("WS", str(home / "ws"))})
    set_up(home, {"part": "[alias]\nx = !tools/run\n"})

    assert protected([home / "ws"])[home / "ws/tools/run"] == home / "ws"


@pytest.mark.parametrize("level", LEVELS)
def test_a_filter_is_not_written_inside(home: Path, level: RequestedLevel) -> None:
    set_up(home, {"tools/clean": "#!/bin/sh\ncat\n", ".gitattributes": "* filter=x\n"})
    set_up(home, {".git/config": '[filter "x"]\nclean = tools/clean %f\n'})

    inside(level, home, "echo 'touch RAN' >> tools/clean; rm tools/clean; echo new > file")
    git(home, "-C", home / "ws", "add", "file")

    assert not (home / "ran").exists()


def test_what_is_worked_on_stays_free_whatever_a_configuration_says(home: Path) -> None:
    set_up(home, {"Makefile": "", "package.json": "", "src/main.c": "", "run.py": "", "test": ""})
    before = protected([home / "ws"])
    set_up(home, {".git/config": """
[alias]
    v = !jq .version package.json
    m = !make -f Makefile test
    d = diff src
    s = !cd src
[remote "o"]
    url = https://host/src/main.c
[branch "x"]
    merge = src/main.c
[user]
    name = run.py
"""})  # fmt: skip

    assert protected([home / "ws"]) == before


def test_words_of_a_configuration_are_those_that_could_be_files() -> None:
    text = b"""
[alias]
    a = "!f() { sh tools/x.sh; }; f"
    b = log --format=%h
[core]
    fsmonitor = true
    pager = "${HOME}/bin/p | less"
[extensions]
    worktreeConfig
[remote "o"]
    url = git://host/path
    fetch = +refs/heads/*:refs/remotes/o/*
    uploadpack = /opt/x
"""
    found = parse_named(text)

    assert found.has_worktree_config
    assert {"tools/x.sh", "./bin/p", "/opt/x"} <= set(found.words)
    assert not [each for each in found.words if "refs" in each or "host" in each]
    assert "true" not in found.words
    for off in (b"worktreeConfig = false", b"worktreeConfig =", b"other = true", b""):
        assert not parse_named(b"[extensions]\n" + off).has_worktree_config


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("place", ["ws", "tree"])
def test_no_configuration_of_a_worktree_is_made_inside(
    home: Path, level: RequestedLevel, place: str
) -> None:
    git(home, "-C", home / "ws", "config", "extensions.worktreeConfig", "true")
    git(home, "-C", home / "ws", "worktree", "add", "-q", "tree")
    (home / "ws/.git/config.worktree").unlink(missing_ok=True)
    where = ".git" if place == "ws" else ".git/worktrees/tree"

    inside(level, home, f"printf '{CONFIG}' > {where}/config.worktree".replace("\n", "\\n"))
    git(home, "-C", home / ("ws" if place == "ws" else "ws/tree"), "status")

    assert not (home / "ran").exists()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("condition", ["include", 'includeIf "onbranch:main"'])
@pytest.mark.parametrize("name", [".gitconfig.local", "some/where/config"])
def test_no_included_configuration_is_made_inside(
    home: Path, level: RequestedLevel, condition: str, name: str
) -> None:
    set_up(home, {".git/config": f"[{condition}]\npath = ../{name}\n"})

    inside(
        level, home,
        f"mkdir -p some/where; printf '{CONFIG}' > {name}".replace("\n", "\\n"),
    )  # fmt: skip
    said = git(home, "-C", home / "ws", "status", "--short")

    assert not (home / "ran").exists()
    assert "fatal" not in said


def test_no_more_is_made_than_a_person_could_mean(home: Path) -> None:
    names = "".join(f"path = ../made/{number}\n" for number in range(1_000))
    set_up(home, {".git/config": f"[include]\n{names}"})

    with pytest.raises(Exception, match="too much"):
        protected([home / "ws"])

    assert len(list((home / "ws/made").iterdir())) < 100


NAMED = (
    ".hg/hgrc", "part/.hg/hgrc", ".jj/repo/config.toml", ".pre-commit-config.yaml", ".husky/x",
    "lefthook.yml", ".bashrc.d/x", ".p10k.zsh", ".fzf.bash", ".nvm/nvm.sh", ".asdf/asdf.sh",
)  # fmt: skip


@pytest.mark.parametrize("level", LEVELS)
def test_settings_of_other_programs_are_protected(home: Path, level: RequestedLevel) -> None:
    set_up(home, {**dict.fromkeys(NAMED, "safe"), "dot/rc": "safe", ".zshrc": "-> dot/rc"})
    set_up(home, {"src/Makefile": "", "src/package.json": ""})
    paths = (*NAMED, "dot/rc", "src/Makefile", "src/package.json")

    inside(level, home, "".join(f"echo changed >> {each};" for each in paths))

    changed = [each for each in paths if "changed" in (home / "ws" / each).read_text()]
    assert changed == ["src/Makefile", "src/package.json"]


@pytest.mark.parametrize("level", LEVELS)
def test_settings_of_mercurial_are_not_made_inside(home: Path, level: RequestedLevel) -> None:
    (home / "ws/part/.hg/store").mkdir(parents=True)

    inside(level, home, "echo '[hooks]' > part/.hg/hgrc")

    assert (home / "ws/part/.hg/hgrc").read_text() == ""


# --- repositories that are put out of use -----------------------------------------------

BARE = (
    "mkdir -p {0}/objects {0}/refs; echo 'ref: refs/heads/main' > {0}/HEAD; printf '[core]\\n\\t"
    "repositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = {1}\\n\\tfsmonitor = "
    '"touch RAN;false"\\n\' > {0}/config;'
)

OUT_OF_USE = [
    pytest.param("rm .git/HEAD;" + BARE.format(".", "."), ".", ".git/HEAD", id="no HEAD"),
    pytest.param("echo x > .git/HEAD;" + BARE.format(".", "."), ".", ".git/HEAD", id="bad HEAD"),
    pytest.param("mv .git/refs .git/r;" + BARE.format(".", "."), ".", ".git/refs", id="no refs"),
    pytest.param(BARE.format("docs", ".."), "docs", "docs/config", id="within"),
    pytest.param(
        BARE.format("x", "..") + "echo ../x > .git/commondir;",
        ".",
        ".git/commondir",
        id="commondir",
    ),
]


@pytest.mark.parametrize(("script", "where", "told"), OUT_OF_USE)
@pytest.mark.sampled(2)
def test_a_repository_that_was_put_out_of_use_is_told(
    home: Path, script: str, where: str, told: str
) -> None:
    assert disorders([home / "ws"]) == []

    inside("bubblewrap", home, script)
    found = [each.path for each in disorders([home / "ws"])]
    git(home, "-C", home / "ws" / where, "status")

    assert (home / "ran").exists()  # which docs/sandbox.md says: it cannot be held back
    assert home / "ws" / told in found


@pytest.mark.parametrize(("script", "where", "told"), OUT_OF_USE)
def test_a_person_who_asks_for_it_is_safe_from_repositories_within(
    home: Path, script: str, where: str, told: str
) -> None:
    """`safe.bareRepository=explicit`, as docs/sandbox.md recommends."""
    inside("bubblewrap", home, script)
    git(home, "config", "--global", "safe.bareRepository", "explicit")
    git(home, "-C", home / "ws" / where, "status")

    assert (home / "ran").exists() == (told == ".git/commondir")


@pytest.mark.parametrize(("script", "where", "told"), OUT_OF_USE)
@pytest.mark.parametrize("level", LEVELS)
def test_a_repository_that_is_kept_whole_stays_in_use(
    home: Path, level: RequestedLevel, script: str, where: str, told: str
) -> None:
    (home / "ws/docs").mkdir()
    inside(level, home, script, whole_git=True)
    git(home, "-C", home / "ws", "status")

    assert not (home / "ran").exists()


def test_repositories_of_every_usual_kind_are_in_order(home: Path) -> None:
    ws = home / "ws"
    (ws / "empty/.git").mkdir(parents=True)
    git(home, "clone", "-q", "--bare", ws, ws / "bare.git")
    git(home, "clone", "-q", "--separate-git-dir", ws / "store", ws, ws / "apart")
    git(home, "-C", ws, "worktree", "add", "-q", "tree")
    git(home, "-C", ws, "-c", "protocol.file.allow=always", "submodule", "add", "-q", ws, "part")
    git(home, "-C", ws, "checkout", "-q", "--detach")
    git(home, "-C", ws, "config", "core.fsmonitor", "true")
    git(home, "-C", ws, "config", "alias.x", "!true")

    assert disorders([ws]) == []
