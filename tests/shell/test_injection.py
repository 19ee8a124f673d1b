import os
from pathlib import Path

import pytest

from duetty.shell import Injection, integrate

SCRIPTS = Path("/opt/it's here")


def injected(*argv: str, **env: str) -> Injection:
    return integrate(argv, env, nonce="n0nce", scripts=SCRIPTS)


def test_bash_reads_our_script_in_place_of_its_rc_file() -> None:
    assert injected("/bin/bash", "-i", TERM="xterm") == Injection(
        argv=["/bin/bash", "--rcfile", "/opt/it's here/duetty.bash", "-i"],
        env={"TERM": "xterm"},
        handed={9: "n0nce\n"},
        shell="bash",
    )


@pytest.mark.parametrize(
    ("argv", "flags"),
    [(["bash", "-l"], ["-l"]), (["-bash"], ["-l"]), (["bash", "-il"], ["-il"])],
)
def test_a_login_bash_stays_a_login_shell(argv: list[str], flags: list[str]) -> None:
    assert injected(*argv, ENV="~/.shrc") == Injection(
        argv=["bash", "--posix", *flags],
        env={"ENV": "/opt/it's here/duetty.bash", "_DUETTY_ENV": "~/.shrc"},
        handed={9: "n0nce\n"},
        shell="bash",
    )


def test_zsh_is_given_our_directory_and_told_of_the_users() -> None:
    assert injected("zsh", "--login", ZDOTDIR="/z") == Injection(
        argv=["zsh", "--login"],
        env={"ZDOTDIR": "/opt/it's here/zsh", "_DUETTY_ZDOTDIR": "/z"},
        handed={9: "n0nce\n"},
        shell="zsh",
    )


def test_an_old_note_of_ours_is_not_taken_for_the_users_value() -> None:
    assert injected("zsh", _DUETTY_ZDOTDIR="/old").env == {"ZDOTDIR": "/opt/it's here/zsh"}


def test_fish_is_told_to_read_our_script() -> None:
    assert injected("fish") == Injection(
        argv=["fish", "--init-command", "source '/opt/it\\'s here/duetty.fish'"],
        env={},
        handed={9: "n0nce\n"},
        shell="fish",
    )


@pytest.mark.parametrize(
    ("behind", "shell", "script"),
    [("dash", "sh", "duetty.sh"), ("busybox", "ash", "duetty.ash"), ("bash", "bash", "duetty.sh")],
)
def test_sh_is_what_stands_behind_the_name(
    tmp_path: Path, behind: str, shell: str, script: str
) -> None:
    program = tmp_path / behind
    program.touch(0o755)
    (tmp_path / "sh").symlink_to(program)

    injection = injected("sh", "-i", PATH=str(tmp_path))

    assert injection == Injection(
        argv=["sh", "-i"],
        env={"PATH": str(tmp_path), "ENV": f"/opt/it's here/{script}"},
        handed={9: "n0nce\n"},
        shell=shell,
    )


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["bash", "-c", "true"],
        ["bash", "script"],
        ["bash", "--norc"],
        ["bash", "--noprofile", "-l"],
        ["zsh", "-f"],
        ["fish", "--no-config"],
        ["python3"],
        ["/usr/bin/env", "bash"],
        ["nosuch/sh"],
        [""],
        ["-"],
    ],
)
def test_anything_but_a_plain_shell_is_started_as_it_is(argv: list[str]) -> None:
    env = {"PATH": os.defpath}

    injection = integrate(argv, env, nonce="n0nce", scratch=Path("/dev/shm/x"))

    assert injection == Injection(argv=argv, env=env, reason=injection.reason)
    assert injection.reason


def test_a_path_that_a_shell_would_expand_is_not_given_to_it() -> None:
    injection = integrate(["bash", "-l"], {}, nonce="n0nce", scripts=Path("/opt/$x"))

    assert injection.shell is None
    assert injection.reason == "the path of the scripts would be expanded"


def test_bash_is_told_of_its_scratch_file() -> None:
    injection = integrate(["bash"], {}, nonce="n0nce", scratch=Path("/dev/shm/x"))

    assert injection.env == {"_DUETTY_SCRATCH": "/dev/shm/x"}


def test_a_nonce_that_a_prompt_could_change_is_refused() -> None:
    with pytest.raises(ValueError, match="nonce"):
        integrate(["bash"], {}, nonce="$(id)")


def test_every_script_is_in_the_package() -> None:
    home = Path(integrate(["zsh"], {}, nonce="n0nce").env["ZDOTDIR"]).parent

    assert {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()} == {
        "duetty.ash",
        "duetty.bash",
        "duetty.fish",
        "duetty.sh",
        "fish-confined.fish",
        "fish-confined.sh",
        "zsh/.zshenv",
    }
