"""What code on the command line starts, and what of it cannot be read."""

import pytest

from duetty.policy import Allow, Ask, Profile
from duetty.policy.scanning.started import Started, language_of, started_by
from tests.policy.labelled import decided


@pytest.mark.parametrize(
    ("code", "language", "command"),
    [
        ('import os; os.system("ls -l")', "python", "ls -l"),
        ('import subprocess; subprocess.run(["ls", "-l"], check=True)', "python", "ls -l"),
        ("import subprocess; subprocess.run(args=['ls', d])", "python", "ls"),
        ('os.system("r" + "m x")', "python", "rm x"),
        ('os.system("r" "m x")', "python", "rm x"),
        ("os.system('''rm x''')", "python", "rm x"),
        ('system("r"."m x")', "perl", "rm x"),
        ('exec "r"."m", "x";', "perl", "rm x"),
        ('system "r" "m x" if true', "ruby", "rm x"),
        ('system("r"."m x");', "php", "rm x"),
        ('os.execute("r".."m x")', "lua", "rm x"),
        ('BEGIN { system("r" "m x") }', "awk", "rm x"),
        ('require("child_process").spawnSync("r"+"m", ["x"], {cwd: d})', "js", "rm x"),
    ],
)
def test_what_is_started_by_literals_is_read(code: str, language: str, command: str) -> None:
    started = started_by(code, language)

    assert (started.commands, started.unknown) == ((command,), False)


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("os.system(sys.stdin.read())", "python"),
        ('os.system(f"ls {x}")', "python"),
        ('os.system("RM X".lower())', "python"),
        ("from os import system as s; s(c)", "python"),
        ("import subprocess as p; p.run(c, shell=True)", "python"),
        ("import os; f = os.system; f(c)", "python"),
        ('subprocess.run(["sh", "-c", c])', "python"),
        ('subprocess.run([c, "x"])', "python"),
        ("system $_", "perl"),
        ("`$c`", "perl"),
        ("qx{$c}", "perl"),
        ('open(F, "|$c")', "perl"),
        ("system $_ if /x/", "ruby"),
        ("`#{c}`", "ruby"),
        ("%x{#{c}}", "ruby"),
        ("system($c);", "php"),
        ("echo `$c`;", "php"),
        ('$f = "sys"; $f("x");', "php"),
        ("os.execute(c)", "lua"),
        ('os["exe".."cute"]("x")', "lua"),
        ("{ system($0) }", "awk"),
        ('{ print | "sh" }', "awk"),
        ('{ print $1 | "/bin/bash -s" }', "awk"),
        ("{ print | c }", "awk"),
        ("{ c | getline x }", "awk"),
        ('require("child_process").execSync(c)', "js"),
        ('const e = require("child_process").execSync; e("x")', "js"),
        ("require(c)", "js"),
        ('x["rm" + c]("/")', "js"),
    ],
)
def test_what_only_a_run_tells_is_not_known(code: str, language: str) -> None:
    assert started_by(code, language).unknown


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("import platform; print(platform.system())", "python"),
        ("import subprocess; print(subprocess.PIPE)", "python"),
        ('print("os.system(x)")  # os.system(y)', "python"),
        ("print(sys.argv[1] + 'b')", "python"),
        ("print if /system|exec/", "perl"),
        ("s/a/b/; print", "perl"),
        ('puts "a#{1 + 1}"', "ruby"),
        ("echo PHP_VERSION;", "php"),
        ("print(1)", "lua"),
        ("/a|b/ { print $1 }", "awk"),
        ('$1 ~ /a|b/ || $2 { print | "sort -u" }', "awk"),
        ('BEGIN { "date" | getline d }', "awk"),
        ("console.log(/a/.exec(x))", "js"),
        ('console.log(x["a" + i])', "js"),
        ('const {execSync} = require("child_process")', "js"),
        ("system($x)", ""),
    ],
)
def test_code_that_starts_nothing_is_left_alone(code: str, language: str) -> None:
    assert started_by(code, language) == Started()


def test_literals_with_which_something_is_done_are_assembled() -> None:
    assert started_by('c = "r"; c += "m x"; os.system(c)', "python").assembled
    assert not started_by("os.system(sys.argv[1])", "python").assembled


def test_a_language_is_known_by_its_interpreter() -> None:
    names = ["python3.12", "pypy3", "perl", "ruby3.1", "nodejs", "bun", "php8", "luajit", "gawk"]

    assert [*map(language_of, names)] == [
        *("python", "python", "perl", "ruby", "js", "js", "php", "lua", "awk")
    ]
    assert language_of("tclsh") == ""


@pytest.mark.parametrize(
    "line",
    [
        "awk '{system($0)}' cmds.txt",
        "awk -v x=1 '{print | \"sh\"}' cmds.txt",
        "awk -F , -e '{system($1)}' cmds.txt",
        "sed e cmds.txt",
        "sed -n -e 's/a/b/ge' cmds.txt",
        "sed --expression='1,/x/!e' cmds.txt",
        "python3 -c 'import os; os.system(os.environ[\"C\"])'",
        "ruby -e 'exec ENV[\"C\"]'",
        "cat cmds | xargs sudo",
        "cat cmds | xargs -n1 nice -n 5",
        "bash /dev/fd/3",
        "python3 /proc/self/fd/7",
        ". /dev/fd/9",
    ],
)
def test_guarded_asks_where_a_program_runs_what_it_reads(line: str) -> None:
    decision = decided(line, Profile.GUARDED)

    assert isinstance(decision, Ask)
    assert decision.reason == "not_provable"


@pytest.mark.parametrize(
    "line",
    [
        "sed 's/a/e/' a.txt",
        "sed 's/x/y/we' a.txt",
        "sed -e '/^e/p' -e 's|/e|e f|' a.txt",
        "sed '/e/a e' a.txt",
        "awk -f e.awk a.txt",
        "awk -v e=1 '{print e}' a.txt",
        "ls | xargs -n1 command -v",
        "sqlite3 a.db 'select * from system'",
    ],
)
def test_what_only_looks_like_it_is_left_alone(line: str) -> None:
    assert isinstance(decided(line, Profile.GUARDED), Allow)
