"""Specifications: which uses of a program are known to only read."""

import subprocess
from pathlib import Path

import pytest

from duetty.policy.proving.paths import Place, content_problem
from duetty.policy.proving.recogniser import Line, recognise
from duetty.policy.proving.specs import PROGRAMS, Proof, prove


def proves(text: str, cwd: str = "") -> bool:
    line = recognise(text)
    assert isinstance(line, Line), line
    return isinstance(prove(line, cwd), Proof)


@pytest.mark.parametrize(
    ("reads", "does_more"),
    [
        ("sort -k2 names.txt", "sort -o names.txt names.txt"),
        ("sort --reverse a", "sort --compress-program=./x a"),
        ("sort --reverse a", "sort --rev a"),
        ("uniq a", "uniq a b"),
        ("xxd a", "xxd a b"),
        ("tail -n 5 a", "tail -f a"),
        ("date +%F", "date -s now"),
        ("date -u", "date 010100002020"),
        ("hostname", "hostname new"),
        ("find . -name '*.py'", "find . -delete"),
        ("find . -type f -print", "find . -exec id ';'"),
        ("sed -n 1,5p a", "sed -n '1w b' a"),
        ("sed s/a/b/g a", "sed s/a/b/e a"),
        ("sed s/a/b/ a", "sed -i s/a/b/ a"),
        ("rg -n xy src", "rg --pre ./x y"),
        ("grep -E x a", "grep -P x a"),
        ("grep -rn xy .", "grep -f /etc/shadow a"),
        ("grep -rn TODO .", "grep -rn password ."),
        ("grep password src/form.py", "grep -R 'API[_-]KEY' src"),
        ("grep -rn xy .", "grep -r '' ."),
        ("grep -rn $'xy\\nyz' .", "grep -rn $'xy\\n' ."),
        ("rg -e $'xy' src", "git grep $'xy\\n'"),
        ("grep -c . a", "grep -rh . ."),
        ("rg xy src", "rg -uuu ."),
        ("rg xy src", "rg -i -e secret"),
        ("rg . a.txt", "rg -uu . conf.d"),
        ("rg -e . a.txt", "rg -uu -e . src a.txt"),
        ("rg --files src", "rg --files --json -uu ."),
        ("rg --type-list", "rg --type-list --json ."),
        ("rg --files -uu", "rg --files -c ."),
        ("grep -d skip . a", "grep -d rec . src"),
        ("grep -d read . a", "grep --directories=recu . src"),
        ("git grep xy", "git grep -n 'BEGIN RSA PRIVATE KEY'"),
        ("find / -name core", "find / -name id_rsa"),
        ("find . -name '*.txt'", "find . -iname '*.PEM'"),
        ("find . -not -name .env", "find . -type f -path '*/.ssh/*'"),
        ("find . -not -path './.config/*' -print", "find . -name x -o -name .env"),
        ("jq .a.b a.json", "jq env a.json"),
        ("jq '.[] | select(.a == 1) | keys' a.json", "jq '$ENV.X' a.json"),
        ("git log -5", "git log -c core.pager=x"),
        ("git log -p", "git log --output=x"),
        ("git diff --stat", "git diff --ext-diff"),
        ("git branch -a", "git branch new"),
        ("git branch --list 'a*'", "git branch -D a"),
        ("git branch --contains abc", "git branch abc"),
        ("git tag -l", "git tag v1"),
        ("jq '.[] | {id, name: .x}' a.json", "jq '.[] | {id, name: env}' a.json"),
        ("jq '{a: 1, b}' a.json", "jq -n '{a: if true then 1, env else 0 end}'"),
        ("jq '{if: 1, env}' a.json", "jq -n '{a: if true then 1 else 2, env end}'"),
        ("jq '{a: if . then 1 else 2 end, b}' a.json", "jq '{a, env | 1}' a.json"),
        ("jq '{end: 1, b: 2}' a.json", "jq '{a: {end: if . then 1, env end}}' a.json"),
        ("tr a-z A-Z", "tr a-z '\\n-~'"),
        ("tr ' ' '\\n'", "tr a '\\b'"),
        ("tr 'é' e", "tr ab '«Û'"),
        ("paste -d '\\t' a b", "paste -d '\\b' a b"),
        ("gzip -l a.gz", "gzip a"),
        ("gzip -lv a.gz", "gzip -ld a.gz"),
        ("git stash list", "git stash"),
        ("git clean -nd", "git clean -fd"),
        ("git config --get user.name", "git config --list"),
        ("git log --format=%h", "git log --format=%G?"),
        ("git status", "git -C /x status"),
        ("printf '%s' a", "printf -v x a"),
        ("printf '%d' 3", "printf '%d' 'a[0]'"),
        ("printf '%5.2f%%' 3", "printf '%1$d' 'path[$(id)]'"),
        ("printf '%-5s|' a", 'printf "%\'n" PATH'),
        ("printf %s a", "printf '%*d' 1 2"),
        ("printf 'a\\n'", "printf 'a\\b'"),
        ("test -f a", "test -v a"),
        ("test 1 -eq 1", "test a -eq 1"),
        ("ps aux", "ps auxe"),
        ("ps -ef", "ps -uxe"),
        ("ps -eo pid,comm", "ps -auxewww"),
        ("ps -u alice", "ps -e -ux"),
        ("ps -u 1000,0 -o pid", "ps -gxe"),
        ("ps -eLf", "ps -H -Te"),
        ("ps -ef --forest", "ps -ef -o args"),
        ("ps -C node -o args", "ps -e -C ''"),
        ("ps -u root", "ps -u lee"),
        ("command -v ls", "command ls"),
        ("python3 --version", "python3 --version -c 1"),
        ("pip list", "pip install x"),
        ("docker ps", "docker rm x"),
        ("systemctl status nginx", "systemctl stop nginx"),
        ("echo -n a", "echo '\\e[2J'"),
        ("cat a.txt", "cat .env"),
        ("zcat a.log.gz", "zcat id_rsa.gz"),
        ("zgrep -n xy a.log.gz", "zgrep xy id_rsa.gz"),
        ("zgrep -e xy a.gz", "zgrep -f x a.gz"),
        ("zgrep 'x y' a.gz", "zgrep x $'a\\nb.gz'"),
        ("zgrep xy a.gz", 'zgrep "it\'s" a.gz'),
        ("dpkg -L bash", "dpkg -i x.deb"),
        ("dpkg -l", "dpkg -r bash"),
        ("dpkg-query -S /bin/ls", "dpkg x.deb"),
        ("apt-cache policy curl", "apt-cache gencaches"),
        ("iostat", "iostat 1"),
        ("mpstat 1 2", "mpstat 5"),
        ("lsns -t net", "lsns -x"),
        ("lslocks", "lslocks x"),
        ("sed -n '1~2p' a", "sed -n '1~2w b' a"),
        ("git remote show -n origin", "git remote show origin"),
        ("who am i", "who /var/log/wtmp"),
        ("expr 3 \\* 4", "find . \\( -name a -exec id \\; \\)"),
        ("helm version", "helm upgrade"),
        ("tsc --version", "cargo --version"),
        ("cat docs/a.md", "cat ../a.md"),
        ("cat docs/*.md", "cat /etc/s*"),
        ("cat src/secrets.py", "cat secrets.yaml"),
        ("cd src && cat a.txt", "cd / && cat etc/hostname"),
        ("cd src", "cd -"),
    ],
)
def test_a_use_that_reads_is_proven_and_one_that_does_more_is_not(
    reads: str, does_more: str
) -> None:
    assert proves(reads)
    assert not proves(does_more)


def test_a_cd_that_may_fail_is_judged_in_both_places() -> None:
    assert not proves("cd src || cat ../a.txt")
    assert not proves("cd a && cd b && cd c && cd d && ls")


@pytest.mark.parametrize(
    "text",
    [
        "cd /tmp/evil && git status",
        "cd /tmp/evil; git log",
        "cd ../other && git diff",
        "cd -P link/.. && git status",
        "cd src && git status",
        "cd src && /usr/bin/git log",
        "cd vendor || git status",
    ],
)
def test_git_is_not_proven_where_another_repository_may_be(text: str) -> None:
    assert not proves(text, "/work/a")
    assert not proves(text)


def test_git_after_a_cd_that_stays_is_proven() -> None:
    assert proves("cd . && git status")
    assert proves("cd /work/a && git status", "/work/a")
    assert proves("git status && cd src && ls", "/work/a")


def test_the_workspace_is_where_the_call_runs() -> None:
    assert proves("cat /work/a/b.txt", "/work/a")
    assert not proves("cat /work/ab.txt", "/work/a")
    assert not proves("cat id_rsa", "/home/me/.ssh")
    assert not proves("cat config", "/home/me/.ssh")
    assert not proves("cat ../b.txt", "/work/a")


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "a/.env.prod",
        "id_rsa",
        "/proc/self/environ",
        "//etc//shadow",
        "x/../.ssh/id",
        "~/x",
        "a.pem",
        "API_KEY.txt",
        "src/ID_RSA",
        ".Env",
        "\u017fhadow",  # a long s is a capital's other small letter
    ],
)
def test_secrets_are_known_by_their_names(path: str) -> None:
    assert content_problem(path, Place())


@pytest.mark.parametrize(
    "path",
    [
        "prod.env",
        "staging.env",
        "config/prod.env",
        "env.prod",
        "env.staging",
        ".flaskenv",
        ".dev.vars",
        ".dev.vars.production",
        ".token",
        "github_token",
        ".github_token",
        "deploy-token",
        ".credentials",
        ".mylogin.cnf",
        ".databrickscfg",
        ".kaggle/kaggle.json",
        "rclone.conf",
        "app-firebase-adminsdk-1.json",
        ".claude.json",
        ".m2/settings.xml",
        ".snowsql/config",
        ".fly/config.yml",
        ".netlify/config.json",
        "gha-creds-1.json",
        "wg0.conf",
        "cookies.sqlite",
        "login.keychain",
        "login.keychain-db",
        ".curlrc",
        ".wgetrc",
        "_curlrc",
        ".msmtprc",
        "deploy_key",
        "ops/deploy-key",
        "sa-key.json",
        "oauth.json",
        "oauth2-client.json",
        "cookies.txt",
        ".cookies",
        ".Xauthority",
        ".mcp.json",
        "NuGet.Config",
        ".pip/pip.conf",
        "config/database.yml",
        "application-prod.properties",
        "src/main/resources/application-production.yml",
        "appsettings.Production.json",
        "vault.yml",
        "group_vars/vault.yaml",
        ".vault_pass",
        ".vault-pass.txt",
    ],
)
def test_settings_that_hold_tokens_are_secret(path: str) -> None:
    assert content_problem(path, Place())


@pytest.mark.parametrize("name", [".env", "id_rsa", "auth.json", "prod.env", ".npmrc", "a.key"])
@pytest.mark.parametrize(
    "copy",
    [
        "{}~",
        "{}.bak",
        "{}.backup",
        "{}.old",
        "{}.orig",
        "{}.save",
        "{}.swp",
        "{}.tmp",
        "{}.copy",
        "{}.bak~",
        "#{}#",
        ".{}.swp",
        ".{}.swo",
        "a/{}.orig",
        "{}.old/x",
    ],
)
def test_a_copy_of_a_secret_is_one(name: str, copy: str) -> None:
    assert content_problem(copy.format(name), Place())


@pytest.mark.parametrize(
    "path",
    [
        "tokenizer.py",
        "tokens.py",
        "test_token.py",
        "src/refresh_token/a.py",
        "secrets.py",
        "env.ts",
        "env.py",
        "env.sh",
        "environment.yml",
        ".env.example",
        ".env.sample",
        ".env.template",
        "example.env",
        "main.py~",
        "#main.py#",
        ".main.py.swp",
        "notes.old",
        "a.c.orig",
        "keychain.py",
        "CLAUDE.md",
        ".claude/settings.json",
        "nginx.conf",
        "cookies.py",
        "cookie.ts",
        "keys.py",
        "public/keyboard.json",
        "hotkey.py",
        "monkey.json",
        "oauth.py",
        "oauth.md",
        "src/vault.rs",
        "database.py",
        "database.yml.example",
        "application.yml",
        "application-dev.properties",
        "appsettings.json",
        ".eslintrc",
        ".eslintrc.json",
        ".prettierrc",
        "tsconfig.json",
        "mcp.md",
    ],
)
def test_code_and_examples_are_not_secret(path: str) -> None:
    assert content_problem(path, Place()) is None


def test_git_runs_without_pager_hooks_and_helpers() -> None:
    line = recognise("git diff HEAD")
    assert isinstance(line, Line)
    proof = prove(line)
    assert isinstance(proof, Proof)

    argv = proof.hardened[0].words
    assert argv[:5] == ("env", "GIT_ALLOW_PROTOCOL=", "GIT_NO_LAZY_FETCH=1", "git", "--no-pager")
    assert "core.fsmonitor=false" in argv
    assert argv[-5:] == ("diff", "--dense", "--no-ext-diff", "--no-textconv", "HEAD")


def test_options_are_put_to_the_subcommand_that_takes_them() -> None:
    for text, ending in {
        "git reflog -p": ("reflog", "--no-ext-diff", "--no-textconv", "-p"),
        "git reflog show -p": ("reflog", "show", "--no-ext-diff", "--no-textconv", "-p"),
        "git stash list -p": ("stash", "list", "--no-ext-diff", "--no-textconv", "-p"),
        "git reflog --grep list -p": (
            *("reflog", "--no-ext-diff", "--no-textconv"),
            *("--grep", "list", "-p"),
        ),
        "git -P log -p": ("-P", "log", "--no-ext-diff", "--no-textconv", "-p"),
    }.items():
        line = recognise(text)
        assert isinstance(line, Line)
        proof = prove(line)
        assert isinstance(proof, Proof)

        assert proof.hardened[0].words[-len(ending) :] == ending


def test_a_line_that_needs_nothing_runs_as_given() -> None:
    for text in (
        "ls",
        "grep -n xy a",
        "git --version",
        "git config --get user.name",
        "diff -q a b",
    ):
        line = recognise(text)
        assert isinstance(line, Line)
        proof = prove(line)
        assert isinstance(proof, Proof)

        assert proof.hardened == line.commands, text


def test_no_specification_is_for_a_program_that_runs_others() -> None:
    assert not {"sudo", "env", "xargs", "sh", "bash", "eval", "nice", "awk", "make"} & set(PROGRAMS)


def test_hardened_git_still_works(tmp_path: Path) -> None:
    place = str(tmp_path)
    subprocess.run(["git", "init", "-q", place], check=True)
    (tmp_path / "a").touch()
    subprocess.run(["git", "-C", place, "add", "a"], check=True)
    author = ["-c", "user.name=n", "-c", "user.email=e@e"]
    subprocess.run(["git", "-C", place, *author, "commit", "-qm", "x"], check=True)

    for text in (
        "git log -1",
        "git status",
        "git diff HEAD",
        "git blame a",
        "git show",
        "git stash list",
        "git branch -a",
        "git reflog -1",
        "git grep xy",
    ):
        line = recognise(text)
        assert isinstance(line, Line)
        proof = prove(line)
        assert isinstance(proof, Proof)
        done = subprocess.run(proof.hardened[0].words, cwd=place, capture_output=True, check=False)
        assert done.returncode in (0, 1), text
        assert done.stderr == b"", text


def test_git_takes_no_directory_for_a_repository_that_a_clone_brought_along(tmp_path: Path) -> None:
    place, sprung = tmp_path / "brought", tmp_path / "sprung"
    subprocess.run(["git", "init", "-q", "--bare", str(place)], check=True)
    for key, value in {
        "core.bare": "false",
        "core.worktree": str(place),
        "filter.x.clean": f"touch {sprung}; cat",
    }.items():
        subprocess.run(["git", "config", "-f", f"{place}/config", key, value], check=True)
    (place / "info" / "attributes").write_text("a filter=x\n")
    (place / "a").write_text("1\n")
    subprocess.run(["git", "add", "a"], cwd=place, check=True)
    assert sprung.exists()
    sprung.unlink()
    (place / "a").write_text("2\n")
    line = recognise("git status")
    assert isinstance(line, Line)
    proof = prove(line)
    assert isinstance(proof, Proof)

    subprocess.run(proof.hardened[0].words, cwd=place, capture_output=True, check=False)

    assert not sprung.exists()
