"""What is proven only reads and only shows: tried with the real programs, where somebody set traps."""

import os
import re
import shutil
import subprocess
import time
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetty.policy.proving.paths import (
    _NAMES,  # pyright: ignore[reportPrivateUsage]  # the globs say the same, and are held to it
    _TELLING,  # pyright: ignore[reportPrivateUsage]
    LEFT_OUT,
    LEFT_OUT_DIRECTORIES,
    Place,
    content_problem,
    is_secret,
    may_be_secret,
    meet,
    pathspec_problem,
    search_problem,
)
from duetty.policy.proving.recogniser import Glob, Line, rebuild, recognise
from duetty.policy.proving.specs import Proof, Refuted, prove
from duetty.policy.proving.specs.tools import EXACT


def proved(text: str, cwd: str = "") -> Proof | Refuted:
    line = recognise(text)
    assert isinstance(line, Line), line
    return prove(line, cwd)


def proves(text: str) -> bool:
    return isinstance(proved(text), Proof)


def run(text: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """What would run in place of the text, as a process of its own."""
    proof = proved(text)
    assert isinstance(proof, Proof), (text, proof)
    return as_it_stands(rebuild(proof.hardened, proof.line.joins), cwd)


def as_it_stands(text: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["/bin/bash", "--norc", "--noprofile", "-c", text],
        cwd=cwd, env=plain, capture_output=True, text=True, check=False, timeout=60,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


# --- globs ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "uniq data/a*",
        "xxd data/a*",
        "base64 data/a*",
        "cd data*",
        "diff data/a*",
        "git tag --format a*",
        "git tag --list --format a*",
        "git branch --format a*",
        "git tag --format=a*",
        "git symbolic-ref refs/heads/*",
        "git log a*",
        "git show data/a*",
        "git grep a* data",
        "grep -v .e* README.md",
        "grep a* README.md",
        "grep -e a* README.md",
        "rg a* src",
        "nl -s .e* README.md",
        "tac -s .e* README.md",
        "sort -k a* b.txt",
        "head -n 1* b.txt",
        "sed a* b.txt",
        "sed -e a* b.txt",
        "jq a* b.json",
        "date a*",
        "expr a*",
        "ps a*",
        "which a*",
        "id a*",
        "seq 1* 2",
        "test -f a*",
        "[ a* ]",
        "find . -name a*",
        "find . -newer data/* -print",
        "printf a*",
        "printf '%s %d' a* 3",
        "fd a* src",
        "pip show a*",
        "systemctl status a*",
    ],
)
def test_a_glob_does_not_stand_where_the_number_of_words_counts(text: str) -> None:
    assert not proves(text)


@pytest.mark.parametrize(
    "text",
    [
        "ls src/*.py",
        "cat docs/*.md",
        "wc -l src/*.py src/a.c",
        "grep -n main src/*.py",
        "grep -e main src/*.py",
        "sed -n 1,5p src/*.py",
        "jq .a src/?.json",
        "rg -n main src/*.py",
        "find src/* -name '*.py'",
        "stat src/*",
        "echo src/*",
        "grep -rn --include=*.py TODO src",
        "ls -d .*",
    ],
)
def test_a_glob_may_stand_for_any_number_of_files_to_read(text: str) -> None:
    assert proves(text)


@pytest.mark.parametrize("text", ["cat *", "cat *.md", "ls -*", "wc -l --files0-from=*"])
def test_a_glob_that_may_find_an_option_is_not_proven(text: str) -> None:
    line = recognise(text)

    assert not isinstance(line, Line) or not isinstance(prove(line), Proof)


@pytest.mark.parametrize("program", ["uniq", "xxd"])
def test_what_a_glob_would_have_overwritten(program: str, tmp_path: Path) -> None:
    """The trap is one: with two files the second is written to."""
    if not shutil.which(program):
        pytest.skip(f"no {program}")
    (tmp_path / "a1").write_text("one\n")
    (tmp_path / "a2").write_text("two\n")

    as_it_stands(f"{program} a*", tmp_path)

    assert (tmp_path / "a2").read_text() != "two\n"
    assert not proves(f"{program} a*")


# --- secrets ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        ".e*", ".en?", ".envr*", ".e*.production", ".git/conf*", ".gi*/config", ".g*/c*", ".git/m*/a/config",
        ".git/*/a/config", ".kub*/config", ".k*/x", ".htpass*", ".pgpas?", "./*_ecdsa", "./*a", "id_*", "a/*.pe?", "./*key",
        "./*.json", "./*.y?ml", "./*.txt", "src/*", ".*", ".?/x", "a/.?/../x", ".E*", "./*SECRET*", "api?key", "data/*.csv", ".gi?/config", ".git/confi?", ".git/x/config.worktre?",
        "id_rsa.b*", ".env?", "..e*.swp", "..?nv.swp", "./?.env?", ".id_r*.sw?", ".git/conf*.bak", "a/p?.env", "a/?_token", "a/?.key~", ".git/confi?~", "a/x.ke?~", ".np?rc.bak", ".npmr?.old~", "#.np?rc#", "..n?mrc.swp", "..?pmrc.swo", ".?npmrc.swp", "a/?.npmrc?",
    ],
)  # fmt: skip
def test_a_glob_that_can_find_a_secret_shows_nothing(pattern: str) -> None:
    assert content_problem(Glob(pattern), Place())


@pytest.mark.parametrize(
    "pattern",
    [
        "docs/*.md",
        "src/*.py",
        "src/?.txt",
        "src/*.ts",
        "a/b?/c.h",
        "src/main*.rs",
        ".github/*.md",
        "a/?.py~",
        "src/?.c.orig",
    ],
)
def test_a_glob_that_cannot_is_read(pattern: str) -> None:
    assert content_problem(Glob(pattern), Place()) is None


@pytest.mark.parametrize(
    "end",
    [
        "pem",
        "key",
        "p12",
        "pfx",
        "jks",
        "keystore",
        "kdbx",
        "ppk",
        "ovpn",
        "asc",
        "gpg",
        "cer",
        "tfstate",
        "tfvars",
    ],
)
def test_a_glob_for_an_ending_of_keys_is_one_that_can(end: str) -> None:
    assert content_problem(Glob(f"a?.{end[:-1]}?"), Place())
    assert any(fnmatchcase(f"server.{end}", each) for each in LEFT_OUT)


SECRET_NAME = st.from_regex(re.compile(_NAMES, re.VERBOSE), fullmatch=True).filter(
    lambda path: path.isascii() and path.isprintable() and not set("*?[") & set(path)
)


@given(SECRET_NAME)
@settings(max_examples=500, deadline=None)
def test_every_secret_name_is_among_the_globs(path: str) -> None:
    parts = [part for part in path.lower().split("/") if part]

    assert is_secret(path)
    assert ".git" in parts or any(may_be_secret(part) for part in parts)


@given(SECRET_NAME)
@settings(max_examples=500, deadline=None)
def test_a_search_leaves_out_every_name_that_is_secret_as_a_whole(path: str) -> None:
    parts = [part for part in path.lower().split("/") if part]
    if any(word in part for part in parts for word in (*_TELLING, "cred")):
        return  # those that a part gives away: with the endings that are data

    left_out = (*LEFT_OUT, *LEFT_OUT_DIRECTORIES)
    assert any(fnmatchcase(part, each) for part in parts for each in left_out)


_PARTS = st.text(alphabet="ab.*?", min_size=1, max_size=6)


@given(_PARTS, _PARTS, st.text(alphabet="ab.", min_size=1, max_size=6))
@settings(max_examples=2000, deadline=None)
def test_globs_that_find_the_same_name_meet(one: str, two: str, name: str) -> None:
    if _finds(one, name) and fnmatchcase(name, two):
        assert meet(one, two)
    assert meet(one, name) == _finds(one, name)


def _finds(pattern: str, name: str) -> bool:
    return fnmatchcase(name, pattern) and (name[0] != "." or pattern[0] == ".")


TREE_SECRETS = {
    ".env": "TOKEN=hidden",
    "a/.env.local": "TOKEN=hidden",
    ".git/config": "TOKEN=hidden",
    "deep/er/id_rsa": "TOKEN=hidden",
    ".ssh/config": "TOKEN=hidden",
    ".npmrc": "TOKEN=hidden",
    "config/secrets.yaml": "TOKEN=hidden",
    "server.key": "TOKEN=hidden",
    "credentials.json": "TOKEN=hidden",
    "main.tfstate": "TOKEN=hidden",
    "prod.env": "TOKEN=hidden",
    ".env~": "TOKEN=hidden",
    "#.env#": "TOKEN=hidden",
    "id_rsa.bak": "TOKEN=hidden",
    ".ssh.old/config": "TOKEN=hidden",
    "github_token": "TOKEN=hidden",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in TREE_SECRETS.items():
        for root in ("", "other"):
            path = tmp_path / root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text} {root}\n")
    for name in (
        "src/main.py",
        "src/secrets.py",
        ".github/ci.yml",
        "src/credentials.py",
        "app.yaml",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("TOKEN=shown\n")
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "grep -r TOKEN .",
        "grep -rn TOKEN",
        "grep -R TOKEN . --include='*'",
        "grep -rh --include=.env TOKEN .",
        "grep -d recurse TOKEN .",
        "grep --directories=recurse TOKEN .",
        "grep -rhe TOKEN .",
        "grep -r -e TOKEN --include=.env --include='*' .",
        "grep -rh 'TO[A-Z]*N' . | sort",
        "egrep -r TOKEN .",
        "diff -rN . other",
        "diff -r . other",
        "diff . other",
        "diff -x -q -rN . other",
        "diff -I -rq -r . other",
        "rg --hidden TOKEN",
        "rg -uu TOKEN .",
        "rg --hidden -g .env TOKEN",
        "rg -g '.*' TOKEN",
    ],
)  # fmt: skip
def test_a_search_through_a_tree_leaves_secrets_out(text: str, tree: Path) -> None:
    program = text.split()[0]
    if not shutil.which(program):
        pytest.skip(f"no {program}")

    found = run(text, tree)

    assert "hidden" not in found.stdout
    if program.endswith("grep"):
        assert "exclude" not in found.stderr
        if "--include=.env TOKEN" not in text:
            assert "shown" in found.stdout


def test_what_shows_two_directories_side_by_side_is_asked_about() -> None:
    """It takes no option that leaves anything out."""
    assert not proves("sdiff a other")


def test_git_compares_no_directories_that_it_does_not_track(tree: Path) -> None:
    assert "hidden" in as_it_stands("git diff a other/a", tree).stdout

    assert "hidden" not in run("git diff a other/a", tree).stdout


@pytest.mark.parametrize("pattern", ["*.[a-f]nv", ".[!x]nv", ".[^x]nv", "[a-k]d_rsa"])
def test_a_set_may_hold_any_sign(pattern: str) -> None:
    assert pathspec_problem(pattern)


@pytest.mark.parametrize("pattern", ["*" * 8000 + ".c", ".bak*" * 99 + ".c", "*?~" * 99 + ".c"])
def test_stars_are_soon_looked_through(pattern: str) -> None:
    begun = time.process_time()

    may_be_secret(pattern)

    assert time.process_time() - begun < 2


def test_code_about_secrets_is_searched(tree: Path) -> None:
    found = run("grep -rl TOKEN .", tree)

    assert set(found.stdout.split()) == {
        "./src/main.py",
        "./src/secrets.py",
        "./src/credentials.py",
        "./.github/ci.yml",
        "./app.yaml",
    }


@pytest.mark.parametrize(
    "text",
    [
        "grep -rh '[A-Z]' .",
        "grep -rh . .",
        "grep -rhE 'foo|x' .",
        "grep -rhE 'foo|' .",
        "grep -rh 'x*' .",
        "grep -rhv foo .",
        "grep -r -e foo -e '' .",
        "rg -v foo",
        "grep -r url .git",
        "grep -r url ./.git/modules",
        "grep -r -- foo .",
        "diff -- a b",
    ],
)
def test_a_search_that_shows_nearly_everything_is_asked_about(text: str) -> None:
    assert not proves(text)


def test_what_is_specific_is_searched_for() -> None:
    for pattern in (
        "TODO",
        "TODO|FIXME",
        r"class \w+",
        "import os",
        "rm -rf",
        r"TODO\|FIXME",
        "f.*o",
    ):
        assert search_problem(pattern) is None, pattern


@pytest.mark.parametrize(
    "text",
    [
        "git log -p -- '.e*'",
        "git log -p -- '*nv'",
        "git diff HEAD -- ':(icase).ENV'",
        "git log -L 1,9:.env",
        "git log -L:main:.env",
        "git grep -e foo HEAD:.env",
        "git grep foo -- '*.pem'",
        "git grep --untracked foo",
        "git show HEAD:.git/config",
    ],
)
def test_git_does_not_show_secrets_that_are_named_in_its_own_ways(text: str) -> None:
    assert not proves(text)


def test_git_takes_its_own_patterns_for_code() -> None:
    for text in ("git grep -n TODO -- '*.py'", "git log -p -- '*.md'", "git log -L 1,5:src/a.py"):
        assert proves(text), text


# --- versions ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    """rustc --version; cargo --version; rustup --version; rustup show; rustc -V; rustfmt --version; yarn --version; yarn -v; pnpm -v
    tox --version; flake8 --version; pytest --version; pylint --version; poetry --version; pdm --version; hg --version; rails --version; bundle --version
    bazel --version; dotnet --version; dotnet --info; jest --version; webpack --version; sbt --version; composer --version; terraform version
    ansible --version; elixir --version; erl --version; corepack --version; npm ls; npm ls --depth=0; npm list; npm root; npm config get registry
    mise --version; asdf --version; valgrind --version; pip freeze""".replace("\n", ";").split(";"),
)
def test_what_may_run_the_projects_code_to_tell_a_version_asks(text: str) -> None:
    assert not proves(text.strip())


def test_go_tells_its_own_version_whatever_a_project_asks_for() -> None:
    proof = proved("go version && go env GOPATH")

    assert isinstance(proof, Proof)
    assert [each.words[:3] for each in proof.hardened] == [("env", "GOTOOLCHAIN=local", "go")] * 2


@pytest.mark.slow  # it starts every program of this machine that has a version
def test_versions_of_what_is_installed_here_read_nothing_of_the_directory(tmp_path: Path) -> None:
    """Files that programs have been seen to run or to obey, all at once."""
    hit = tmp_path / "hit"
    marks = {
        "conftest.py": f"open({str(hit)!r}, 'a').write('x')\n",
        "sitecustomize.py": f"open({str(hit)!r}, 'a').write('x')\n",
        "usercustomize.py": f"open({str(hit)!r}, 'a').write('x')\n",
        "pip.py": f"open({str(hit)!r}, 'a').write('x')\n",
        ".erlang": f'file:write_file("{hit}", <<"x">>).\n',
        ".gdbinit": f"shell touch {hit}\n",
        ".vimrc": f"call system('touch {hit}')\n",
        ".exrc": f"!touch {hit}\n",
        "Makefile": f"$(shell touch {hit})\n",
        "GNUmakefile": f"$(shell touch {hit})\n",
        ".npmrc": f"node-options=--require {tmp_path}/evil.js\nscript-shell={tmp_path}/evil\n",
        "evil.js": f"require('fs').writeFileSync({str(hit)!r}, 'x')\n",
        "package.json": '{"packageManager": "npm@99.0.0"}',
        "php.ini": f"auto_prepend_file={tmp_path}/evil.php\n",
        "evil.php": f"<?php touch({str(hit)!r});",
    }
    for name, text in marks.items():
        (tmp_path / name).write_text(text)

    for words in sorted(EXACT):
        if words[0] in ("apt", "dpkg", "rpm", "duetty") or not shutil.which(words[0]):
            continue
        run(" ".join(words), tmp_path)

        assert not hit.exists(), words


# --- git --------------------------------------------------------------------------


def _git(*words: str, cwd: Path, stdin: str = "") -> str:
    who = ["-c", "user.name=n", "-c", "user.email=e@e", "-c", "protocol.file.allow=always"]
    return subprocess.run(
        ["git", *who, *words], cwd=cwd, check=True, capture_output=True, text=True, input=stdin
    ).stdout


class Traps:
    """A repository whose own settings run a program wherever git lets them."""

    def __init__(self, root: Path) -> None:
        self.hits = root / "hits"
        self.root = root
        self.repo = root / "repo"
        self.repo.mkdir()
        self._commits()
        self._signed()
        self._submodule()
        (self.repo / "a.x").write_text("stashed\n")
        _git("stash", "push", "-q", "a.x", cwd=self.repo)
        (self.repo / "a.x").write_text("changed\n")
        for settings_of in (self.repo / ".git", self.repo / ".git/modules/sub"):
            self._arm(settings_of / "config")

    def sprung(self) -> set[str]:
        found = set(self.hits.read_text().split()) if self.hits.exists() else set[str]()
        self.hits.unlink(missing_ok=True)
        return found

    def trap(self, name: str) -> str:
        path = self.root / f"trap-{name}"
        path.write_text(f"#!/bin/sh\necho {name} >> '{self.hits}'\n")
        path.chmod(0o755)
        return str(path)

    def _commit(self, text: str, message: str) -> None:
        (self.repo / "a.x").write_text(text)
        _git("add", ".", cwd=self.repo)
        _git("commit", "-qm", message, cwd=self.repo)

    def _commits(self) -> None:
        _git("init", "-q", "-b", "main", cwd=self.repo)
        (self.repo / ".gitattributes").write_text("*.x diff=evil merge=evil\n")
        self._commit("one\n", "first")
        self._commit("two\n", "second")
        _git("checkout", "-q", "-b", "side", "HEAD~1", cwd=self.repo)
        self._commit("three\n", "side")
        _git("checkout", "-q", "main", cwd=self.repo)
        _git("merge", "-q", "-s", "ours", "-m", "merged", "side", cwd=self.repo)

    def _signed(self) -> None:
        for kind in ("SSH SIGNATURE", "SIGNED MESSAGE", "PGP SIGNATURE"):
            parent = _git("rev-parse", "HEAD", cwd=self.repo).strip()
            tree = _git("rev-parse", "HEAD^{tree}", cwd=self.repo).strip()
            who = "n <e@e> 1700000000 +0000"
            signature = f"gpgsig -----BEGIN {kind}-----\n abc\n -----END {kind}-----"
            made = (
                f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n{signature}\n\nx\n"
            )
            commit = _git("hash-object", "-t", "commit", "-w", "--stdin", cwd=self.repo, stdin=made)
            _git("update-ref", "refs/heads/main", commit.strip(), cwd=self.repo)

    def _submodule(self) -> None:
        other = self.root / "other"
        other.mkdir()
        _git("init", "-q", "-b", "main", cwd=other)
        (other / ".gitattributes").write_text("*.x diff=evil\n")
        (other / "s.x").write_text("1\n")
        _git("add", ".", cwd=other)
        _git("commit", "-qm", "s", cwd=other)
        _git("submodule", "add", "-q", str(other), "sub", cwd=self.repo)
        _git("commit", "-qm", "sub", cwd=self.repo)
        (self.repo / "sub/s.x").write_text("2\n")

    def _arm(self, config: Path) -> None:
        hooks = self.root / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("post-index-change", "reference-transaction", "post-checkout"):
            (hooks / name).write_text(f"#!/bin/sh\necho hook >> '{self.hits}'\n")
            (hooks / name).chmod(0o755)
        settings = {
            "core.hooksPath": str(hooks),
            "log.showSignature": "true",
            "format.pretty": "%h %G? %s",
            "pretty.alias": "%G? %GK",
            "log.diffMerges": "remerge" if _git_version() >= (2, 36) else "separate",
            "diff.submodule": "diff",
            "status.submoduleSummary": "true",
            "merge.evil.driver": self.trap("merge") + " %A",
            "gpg.ssh.allowedSignersFile": "/dev/null",
            "credential.helper": "!" + self.trap("credential"),
        }
        for key, name in {
            "core.fsmonitor": "fsmonitor", "core.pager": "pager", "pager.log": "pager", "core.sshCommand": "ssh",
            "diff.external": "external", "diff.evil.textconv": "textconv", "diff.evil.command": "command",
            "gpg.program": "gpg", "gpg.openpgp.program": "gpg", "gpg.x509.program": "x509", "gpg.ssh.program": "gpg-ssh",
        }.items():  # fmt: skip
            settings[key] = self.trap(name)
        for key, value in settings.items():
            _git("config", "-f", str(config), key, value, cwd=self.root)


def _git_version() -> tuple[int, ...]:
    said = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in said.split()[2].split(".")[:2])


@pytest.fixture(scope="module")
def traps(tmp_path_factory: pytest.TempPathFactory) -> Traps:
    return Traps(tmp_path_factory.mktemp("traps"))


GIT_LINES = """
git status; git status --short; git log; git log -p; git log -p -m; git log -p --cc; git log -p --diff-merges=on; git log -S two; git log -L 1,1:a.x
git log -g -p; git log --check -p; git log --stat -3; git log --follow -p a.x; git log -p --submodule=log; git show; git show HEAD:a.x; git show --stat
git diff; git diff HEAD~3; git diff --stat; git diff --submodule; git diff --word-diff; git diff-tree -p HEAD; git diff-index -p HEAD; git diff-files -p
git reflog -p; git reflog show -p; git reflog; git stash list -p; git stash list; git stash show -p; git blame a.x; git annotate a.x; git shortlog -sn HEAD
git branch -a; git for-each-ref; git tag -l; git describe --always --dirty; git grep two; git ls-files -m; git ls-files --others; git cat-file -p HEAD:a.x
git cherry -v main side; git submodule status; git worktree list; git clean -n; git check-ignore -v x; git remote -v; git remote show -n origin; git rev-list --count HEAD
git log --format='%h %s'; git log --pretty=oneline; git config --get core.pager; git --no-pager log -p -1; git log -p | head -3; git rev-parse HEAD
"""


@pytest.mark.parametrize(
    "text", [line.strip() for line in GIT_LINES.replace("\n", ";").split(";") if line.strip()]
)
def test_git_runs_nothing_that_a_repository_names(text: str, traps: Traps) -> None:
    traps.sprung()

    done = run(text, traps.repo)

    assert traps.sprung() == set()
    assert done.returncode in (0, 1), done.stderr


@pytest.mark.parametrize(
    ("text", "sprung"),
    [
        ("git status", "fsmonitor"),
        ("git log", "x509"),
        ("git log", "gpg-ssh"),
        ("git log -p", "command"),
        ("git reflog -p", "textconv"),
        ("git reflog show -p", "textconv"),
        ("git stash list -p", "textconv"),
        ("git blame a.x", "textconv"),
        ("git log --pretty=alias", "gpg-ssh"),
        ("git log --format='% G?'", "gpg-ssh"),
    ],
)
def test_the_traps_are_traps(text: str, sprung: str, traps: Traps) -> None:
    traps.sprung()

    as_it_stands(text, traps.repo)

    assert sprung in traps.sprung()


@pytest.mark.parametrize(
    "text",
    [
        "git status -v",
        "git range-diff a..b c..d",
        "git whatchanged -3",
        "git log -p --remerge-diff",
        "git log -p --diff-merges=remerge",
        "git log -p --diff-merges=r",
        "git show --submodule=diff",
        "git diff --submodule=diff",
        "git log '--format=%+G?'",
        "git log --format='% G?'",
        "git log --format='%-GK'",
        "git log --pretty='%GS'",
        "git log --pretty=alias",
        "git for-each-ref --format='%(signature)'",
        "git for-each-ref --format='%(*signature:grade)'",
        "git branch --format='%(signature:key)'",
        "git diff-tree --format='%GS' HEAD",
    ],
)
def test_git_is_not_proven_where_it_cannot_be_held(text: str) -> None:
    assert not proves(text)


def test_settings_are_told_as_they_are(traps: Traps) -> None:
    assert run("git config --get core.hooksPath", traps.repo).stdout.strip().endswith("/hooks")


@pytest.mark.parametrize("way", ["ssh", "upload", "ext", "http"])
def test_git_does_not_fetch_what_is_missing(way: str, tmp_path: Path) -> None:
    source, clone, hit = tmp_path / "source", tmp_path / "clone", tmp_path / "hit"
    source.mkdir()
    _git("init", "-q", "-b", "main", cwd=source)
    (source / "f").write_text("x\n")
    _git("add", ".", cwd=source)
    _git("commit", "-qm", "x", cwd=source)
    _git("config", "uploadpack.allowFilter", "true", cwd=source)
    words = ("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{source}", str(clone))
    _git(*words, cwd=tmp_path)
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{hit}'\n")
    trap.chmod(0o755)
    settings = {
        "ssh": {"remote.origin.url": "ssh://nowhere/x", "core.sshCommand": str(trap)},
        "upload": {"remote.origin.uploadpack": str(trap), "protocol.file.allow": "always"},
        "ext": {"remote.origin.url": f"ext::{trap}", "protocol.ext.allow": "always"},
        "http": {
            "remote.origin.url": "http://127.0.0.1:9/x",
            "credential.helper": f"!{trap}",
            "protocol.http.allow": "always",
        },
    }[way]
    for key, value in settings.items():
        _git("config", key, value, cwd=clone)

    done = run("git show HEAD:f", clone)

    assert done.returncode != 0
    assert not hit.exists()
    assert "127.0.0.1" not in done.stderr
    if way != "http":
        as_it_stands("git show HEAD:f", clone)
        assert hit.exists()  # the trap is one


# --- control characters -------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        r"find . -printf '\033[2J'",
        r"find . -printf '\x1b'",
        r"stat --printf='\033[2J' a",
        r"stat --printf '\e' a",
        r"tr a '\033'",
        r"tr 'a-b' '\1-\2'",
        r"sed 's/a/\x1b[2J/' a",
        r"sed 's/a/\o033/' a",
        r"sed 's/a/\d027/' a",
        r"sed 's/a/\c[/' a",
        r"""jq -r '"\u001b"' a.json""",
        "jq -r '[27] | implode' a.json",
        "jq -r '27 | ascii' a.json",
        "git log --format='%x1b[2J'",
        "git log --format=%x9b",
        "git for-each-ref --format='%1b[2J'",
        "git ls-tree --format='%x1b' HEAD",
        r"rg --context-separator='\x1b' foo src",
    ],
)
def test_control_characters_are_not_printed_by_a_format_either(text: str) -> None:
    assert not proves(text)


@pytest.mark.parametrize(
    "text",
    [
        r"find . -type f -printf '%s %p\n'",
        r"stat --printf='%s\t%n\n' a",
        r"tr '\n' '\0'",
        r"tr -d '\r'",
        r"tr '\000' '\n'",
        "git log --format='%h%x09%s%x00'",
        "git for-each-ref --format='%(refname)%00'",
        r"sed 's/\s/ /' a",
    ],
)
def test_tabs_line_ends_and_nul_are_printed(text: str) -> None:
    assert proves(text)


# --- others -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "nm @options",
        "strings @options",
        "strings -e @options a",
        "objdump -d @options",
        "readelf @options",
        "size @options",
        "objdump -S a.out",
        "lspci -q",
        "sleep infinity",
        "sleep 9d",
        "diff -l a b",
        "cloc HEAD",
    ],
)
def test_small_ways_to_more_than_reading(text: str) -> None:
    assert not proves(text)


def test_a_file_of_options_is_obeyed(tmp_path: Path) -> None:
    """Why `@FILE` is not proven; one of the options that can be in it is `--plugin`."""
    if not shutil.which("nm"):
        pytest.skip("no nm")
    (tmp_path / "options").write_text("--help\n")

    assert "--plugin" in as_it_stands("nm @options", tmp_path).stdout
