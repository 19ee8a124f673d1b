"""`duetty policy check` and `explain`, as people and scripts use them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from duetty.cli.main import main
from duetty.policy.shipped import PROGRAM, SHIPPED_RULES


def duetty(*words: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "duetty", "policy", *words],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def test_lines_from_the_arguments_are_judged_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["policy", "check", "ls", "rm -rf /data/src"])

    said = capsys.readouterr().out
    assert code == 10
    assert said.splitlines()[0] == "allow  ls"
    assert "ask    rm -rf /data/src" in said
    assert "instead: " in said


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["ls"], 0),
        (["make"], 0),
        (["rm -rf /x"], 10),
        (["rm -rf x"], 0),
        (["--cwd", "/work/a", "rm -rf /work/a/x"], 0),
        (["--cwd", "/work/a", "--workspace", "/work/b", "rm -rf x"], 10),
        (["--sandbox", "closed", "rm -rf /usr"], 0),
        (["--profile", "strict", "make"], 10),
        (["--mode", "headless", "make"], 11),
        (["--mode", "headless", "ls"], 0),
        (["--profile", "open", "rm -rf /"], 0),
    ],
)
def test_the_exit_code_tells_the_strictest_decision(words: list[str], code: int) -> None:
    assert main(["policy", "check", *words]) == code


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["duetty approve 1"], 11),
        (["cd x && duetty decline 2"], 11),
        (["x=due; ${x}tty approve 1"], 11),
        (["sudo sh -c 'duetty approve 1'"], 11),
        (["duetty stop"], 11),
        (["duetty list"], 0),
        (["--profile", "open", "duetty approve 1"], 11),
        (["--profile", "open", "duetty list; $x"], 0),
    ],
)
def test_the_shipped_rules_count_as_on_the_server(words: list[str], code: int) -> None:
    assert main(["policy", "check", *words]) == code


def test_what_is_shipped_is_about_our_own_program() -> None:
    assert all(PROGRAM in pattern for rule in SHIPPED_RULES.rules for pattern in rule.command)


def test_json_lines_are_answered_one_by_one() -> None:
    asked = [
        {"id": 1, "command": "ls -la"},
        {"id": "two", "command": "rm -rf /", "cwd": "/work"},
        {"id": None, "command": "\ud800"},
        {"command": "make"},
        {"id": 1, "command": "ls -la"},
    ]
    lines = [json.dumps(each) for each in asked] + [
        "",
        "not json",
        "[1]",
        '{"id": 3}',
        '{"command": 4}',
    ]

    done = duetty(
        "check", "--profile", "strict", "--mode", "headless", "--jsonl", stdin="\n".join(lines)
    )

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert answers[0] == {
        "id": 1,
        "decision": "allow",
        "reason": "proven",
        "rule": "spec:ls",
        "classes": [],
    }
    assert answers[1] == {
        "id": "two",
        "decision": "deny",
        "reason": "destructive",
        "rule": "catalogue:whole_system_delete",
        "classes": ["whole_system_delete", "workspace_delete"],
    }
    assert [each["decision"] for each in answers] == [
        "allow",
        "deny",
        "deny",
        "deny",
        "allow",
        *["deny"] * 4,
    ]
    assert {each["rule"] for each in answers[5:]} == {"bad_input"}
    assert [each["error"]["code"] for each in answers[5:]] == [
        "not_json",
        "not_an_object",
        "no_command",
        "no_command",
    ]
    assert done.stderr == ""


def test_a_json_line_is_judged_where_it_says_that_it_runs() -> None:
    lines = [json.dumps({"command": "cat /work/a", "cwd": cwd}) for cwd in ("/work", "/home")]

    done = duetty("check", "--profile", "strict", "--jsonl", stdin="\n".join(lines))

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["decision"] for each in answers] == ["allow", "ask"]


def test_a_json_line_names_its_workspace_and_its_sandbox() -> None:
    lines = [
        json.dumps({"command": "rm -rf x", "cwd": "/work/a", **more})
        for more in ({}, {"workspace": "/work/b"}, {"workspace": "/work/b", "sandbox": "open"})
    ]

    done = duetty("check", "--jsonl", stdin="\n".join(lines))

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["decision"] for each in answers] == ["allow", "ask", "allow"]


def test_the_workspace_is_the_repository_that_a_line_runs_in(tmp_path: Path) -> None:
    below = tmp_path / "app" / "src"
    below.mkdir(parents=True)
    (tmp_path / "app" / ".git").mkdir()

    assert main(["policy", "check", "--cwd", str(below), "rm -rf ../build"]) == 0
    assert main(["policy", "check", "--cwd", str(below), "rm -rf .."]) == 10


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--shell", "fish", r"r\x6d -rf ~/x"], 10),
        (["--shell", "fish", "for f in *; echo $f; end"], 0),
        (["--shell", "fish", r"duetty appr\x6fve 1"], 11),
        (["--shell", "zsh", "--profile", "strict", "echo 'a''b'"], 10),
        (["--shell", "sh", "--profile", "strict", "echo 'a''b'"], 0),
        (["--profile", "strict", "echo 'a''b'"], 0),
        ([r"r\x6d -rf x"], 0),
    ],
)
def test_a_line_is_judged_as_the_shell_reads_it_that_is_named(words: list[str], code: int) -> None:
    assert main(["policy", "check", *words]) == code


def test_a_line_is_explained_as_the_shell_reads_it_that_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["policy", "explain", "--shell", "fish", r"r\x6d -rf x"])

    assert "runs       rm -rf x" in capsys.readouterr().out


def test_a_json_line_names_the_shell_that_reads_it() -> None:
    lines = [
        json.dumps({"command": "true >| rm -rf ~/x", **({"shell": shell} if shell else {})})
        for shell in ("fish", "bash", "")
    ]

    done = duetty("check", "--jsonl", stdin="\n".join(lines))

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["decision"] for each in answers] == ["ask", "allow", "allow"]


@pytest.mark.parametrize(
    ("line", "identity", "code"),
    [
        ('{"id": 7, "command": null}', 7, "no_command"),
        ('{"id": "a", "command": "ls", "cwd": 3}', "a", "bad_cwd"),
        ('{"id": "a", "command": "ls", "shell": "nu"}', "a", "bad_shell"),
        ('{"id": "a", "command": "ls", "shell": ["fish"]}', "a", "bad_shell"),
        ('{"id": "a", "command": "ls", "sandbox": "shut"}', "a", "bad_sandbox"),
        ('{"id": NaN, "command": "ls"}', None, "not_json"),
        ("[" * 100_000, None, "not_json"),
        ('"ls"', None, "not_an_object"),
        ('{"id": 1, "command": "' + "a" * 1_200_000 + '"}', None, "too_long"),
    ],
)
def test_a_line_that_cannot_be_judged_is_told_and_the_next_one_is_judged(
    line: str, identity: object, code: str
) -> None:
    done = duetty("check", "--jsonl", stdin=f'{line}\n{{"id": 2, "command": "ls"}}\n')

    told, judged = [json.loads(each) for each in done.stdout.splitlines()]
    assert (told["id"], told["decision"], told["error"]["code"]) == (identity, "deny", code)
    assert (judged["id"], judged["decision"]) == (2, "allow")
    assert done.returncode == 0


def test_bytes_that_are_no_text_are_told() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "duetty", "policy", "check", "--jsonl"],
        input=b'{"id": 1, "command": "\xff"}\n{"id": 2, "command": "ls"}',
        capture_output=True,
        check=False,
    )

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["decision"] for each in answers] == ["deny", "allow"]


def test_a_reader_that_goes_away_ends_the_run_quietly(tmp_path: Path) -> None:
    asked = tmp_path / "asked.jsonl"
    asked.write_text('{"command": "ls"}\n' * 20_000)
    reads, writes = os.pipe()
    os.close(reads)

    with asked.open() as lines:
        done = subprocess.run(
            [sys.executable, "-m", "duetty", "policy", "check", "--jsonl"],
            stdin=lines,
            stdout=writes,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    os.close(writes)

    assert "Traceback" not in done.stderr


def test_a_waiting_script_gets_its_answer_at_once() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "duetty", "policy", "check", "--jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    try:
        process.stdin.write('{"id": 1, "command": "ls"}\n')
        process.stdin.flush()
        first = json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()

    assert first["decision"] == "allow"


def test_rules_of_a_file_are_heeded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '[policy]\nprofile = "strict"\n[[policy.rules]]\nname = "no-ls"\ndecide = "deny"\ncommand = "ls **"\n'
    )

    code = main(["policy", "check", "--rules", str(rules), "ls -la"])

    assert code == 11
    assert "denied_by_rule, rule:no-ls" in capsys.readouterr().out


def test_a_broken_rule_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[policy]\n\n[[policy.rules]]\ndecide = "perhaps"\n')

    assert main(["policy", "check", "--rules", str(rules), "ls"]) == 1
    assert "line 3" in capsys.readouterr().err
    rules.write_text("nonsense")
    assert main(["policy", "check", "--rules", str(rules), "ls"]) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("policy = 3", "policy must be a table"),
        ("policy = []", "policy must be a table"),
        ("policy = 'rules'", "policy must be a table"),
        ("[[policy]]\nrules = []", "policy must be a table"),
        ("[policy]\nrules = 3", "policy.rules must be a list of tables"),
        ("[policy]\nrules = ['x']", "a rule must be a table"),
        ("[policy]\nprofile = ['open']", "no profile"),
        ("a = " + "[" * 3000 + "]" * 3000, "recursion"),
    ],
)
def test_a_file_of_another_shape_is_told_as_a_bad_setting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(text + "\n")

    code = main(["policy", "check", "--rules", str(rules), "ls"])

    told = capsys.readouterr().err
    assert code == 1
    assert said in told
    assert "[bad_setting]" in told


def test_explain_shows_words_and_scan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "explain", "git log -1"]) == 0
    proven = capsys.readouterr().out
    assert "⟨git⟩ ⟨log⟩ ⟨-1⟩" in proven
    assert "--no-pager" in proven

    assert main(["policy", "explain", "X=rm; sudo $X -rf /data/src"]) == 0
    found = capsys.readouterr().out
    assert "not literal" in found
    assert "recursive_delete: rm -rf /data/src" in found

    main(["policy", "explain", "make", "$X"])
    assert "nothing found" in capsys.readouterr().out
    main(["policy", "explain", "make 'x'"])
    assert "not known to only read: make" in capsys.readouterr().out
    main(["policy", "explain", "$X"])
    assert "unreadable which program" in capsys.readouterr().out


def test_explain_judges_where_the_line_would_run(capsys: pytest.CaptureFixture[str]) -> None:
    main(["policy", "explain", "--profile", "strict", "--cwd", "/work", "cat /work/a.txt"])
    assert "every command is known to only read" in capsys.readouterr().out

    main(["policy", "explain", "--profile", "strict", "--cwd", "/home", "cat /work/a.txt"])
    assert "outside the workspace" in capsys.readouterr().out


def test_judging_needs_no_server_code() -> None:
    heavy = [
        "anyio",
        "pydantic",
        "starlette",
        "mcp",
        "uvicorn",
        "rich",
        "sqlite3",
        "duetty.ops",
        "duetty.session",
    ]
    program = "import sys; from duetty.cli.main import main; main(['policy', 'check', 'ls']); print([m for m in %r if m in sys.modules])"

    done = subprocess.run(
        [sys.executable, "-c", program % (heavy,)], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "[]"
