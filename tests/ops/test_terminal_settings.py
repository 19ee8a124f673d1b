"""Keys of the terminal are not changed unasked: one of them ends a line."""

import pytest

from duetty.ops.judging.shell_hooks import touched_hook


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    "line",
    [
        "stty kill '^M'",
        "stty erase x",
        "stty erase '^H'",
        "stty werase x",
        "stty lnext x",
        "stty intr ''",
        "stty susp undef",
        "stty quit x",
        "stty stop x",
        "stty start x",
        "stty eol x",
        "stty eol2 x",
        "stty eof x",
        "stty rprnt x",
        "stty discard x",
        "stty status x",
        "stty swtch x",
        "stty -icrnl",
        "stty inlcr igncr",
        "stty raw",
        "stty -icanon min 1",
        "stty -isig",
        "stty istrip",
        "stty cs7",
        'stty "$saved"',
        "stty $(stty -g)",
        "stty 500:5:bf:8a3b:3:1c:7f:d:4:0:1:0:11:13:1a:0:12:f:17:16:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0",
        "stty sane kill x",
        "stty -F /dev/tty kill x",
        "stty -F $d raw",
        "/bin/stty kill x",
        "command stty kill x",
        "env stty kill x",
        "sudo stty kill x",
        "timeout 5 stty kill x",
        "busybox stty kill x",
        "true && stty kill x",
        "s'tty' kill x",
        "sh -c 'stty kill x'",
        "sudo sh -c 'true; stty kill x'",
        "tset -k x",
        "reset -e x",
    ],
)
def test_what_changes_keys_of_the_terminal_is_asked_about(shell: str, line: str) -> None:
    assert touched_hook(line, shell=shell) is not None


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    "line",
    [
        "stty",
        "stty -a",
        "stty --all",
        "stty size",
        "stty speed",
        "stty sane",
        "stty -echo",
        "stty -echo; read -r secret; stty echo",
        "stty rows 40 cols 120",
        "stty columns 80",
        "stty -F /dev/ttyUSB0",
        "stty -F /dev/ttyUSB0 115200 cs8 -cstopb -parenb",
        "stty -F /dev/ttyUSB0 -a",
        "stty size | cut -d' ' -f1",
        "sh -c 'stty size'",
        "sudo stty -a",
        "env TERM=xterm make kill",
        "reset",
        "tset",
        "man stty",
        "which stty",
        "grep -rn 'stty kill' src",
        "git commit -m 'stty kill is asked about'",
        "git reset -e",
    ],
)
def test_what_shows_them_or_puts_them_back_is_not(shell: str, line: str) -> None:
    assert touched_hook(line, shell=shell) is None


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_settings_that_are_kept_are_shown_unasked(shell: str) -> None:
    assert touched_hook("saved=$(stty -g)", shell=shell) is None
