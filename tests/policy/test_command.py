"""`duetty policy check` and `explain`, as people and scripts use them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from duetty.cli.main import main


def duetty(*words: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "duetty", "policy", *words],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def test_lines_from_the_arguments_are_judged_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["policy", "check", "ls", "rm -rf src"])

    said = capsys.readouterr().out
    assert code == 10
    assert said.splitlines()[0] == "allow  ls"
    assert "ask    rm -rf src" in said
    assert "instead: " in said


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["ls"], 0),
        (["make"], 0),
        (["rm -rf x"], 10),
        (["--profile", "strict", "make"], 10),
        (["--mode", "headless", "make"], 11),
        (["--mode", "headless", "ls"], 0),
        (["--profile", "open", "rm -rf /"], 0),
    ],
)
def test_the_exit_code_tells_the_strictest_decision(words: list[str], code: int) -> None:
    assert main(["policy", "check", *words]) == code


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
        "classes": ["whole_system_delete"],
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
        process.wait(timeout=10)
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


def test_explain_shows_words_scan_and_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "explain", "git log -1"]) == 0
    proven = capsys.readouterr().out
    assert "⟨git⟩ ⟨log⟩ ⟨-1⟩" in proven
    assert "--no-pager" in proven
    assert "command_name" in proven

    assert main(["policy", "explain", "X=rm; sudo $X -rf src"]) == 0
    found = capsys.readouterr().out
    assert "not literal" in found
    assert "recursive_delete: rm -rf src" in found

    main(["policy", "explain", "make", "$X"])
    assert "nothing found" in capsys.readouterr().out
    main(["policy", "explain", "make 'x'"])
    assert "not known to only read: make" in capsys.readouterr().out
    main(["policy", "explain", "$X"])
    assert "unreadable which program" in capsys.readouterr().out


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
