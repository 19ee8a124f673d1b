"""With real shells: a line that prepares what a later one would run unasked does not run itself."""

from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from duetty.errors import PolicyDenied
from tests.ops.at_a_shell import session_of, typed

pytestmark = [pytest.mark.anyio, pytest.mark.pty, pytest.mark.shells]


@pytest.mark.parametrize(
    ("shell", "lines"),
    [
        ("bash", [r"PS1='\044(\162m -rf {v}) '"]),
        ("bash", ["read -r PS1 <<< '$(rm -rf {v})'"]),
        ("bash", ["for PS1 in '$(rm -rf {v})'; do :; done"]),
        ("bash", [r"PS4='\044(\162m -rf {v})'", "set -x", "true"]),
        ("bash", ["PS1='$'", "PS1+='(rm -rf {v})'"]),
        ("bash", ["alias ls=", "ls rm -rf {v}"]),
        ("bash", ["alias ls='ls #'", "{{ ls '\rrm -rf {v}\r: # '\r}}"]),
        ("bash", ["alias :='#'", "{{ : '\rrm -rf {v}\r: '\r}}"]),
        ("bash", ["read -r x <<< 'a[$(rm -rf {v})]'", "[[ x -eq 1 ]]"]),
        ("bash", ["for x in 'a[$(rm -rf {v})]'; do :; done", "(( x ))"]),
        ("bash", ["unset SRANDOM", "read -r SRANDOM <<< 'a[$(rm -rf {v})]'", "true"]),
        (
            "bash",
            ["stty kill '^M'", "{{ : # x rm -rf {v}\r\r}}\r{{ : # x \\\nrm -rf {v}\n}}\n"],
        ),
        (
            "bash",
            [
                "x=_due; [[ ${{x}}tty_base+=4 -eq 0 ]]",
                "{{ : # x rm -rf {v}",
                "",
                "}}",
                "{{ : # x \\",
                "rm -rf {v}",
                "}}",
            ],
        ),
        ("zsh", ["alias ls=", "ls rm -rf {v}"]),
        ("fish", ["alias ls ' '", "ls rm -rf {v}"]),
    ],
)
async def test_what_a_line_prepares_is_not_run_by_the_next(
    home: Path, tmp_path: Path, shell: str, lines: list[str]
) -> None:
    kept = tmp_path / "kept"
    (kept / "inside").mkdir(parents=True)

    async with session_of(home, shell, policy_profile="guarded") as engine:
        with anyio.fail_after(60):
            for line in lines:
                with suppress(PolicyDenied):
                    await typed(engine, line.format(v=kept) + "\r")
                await engine.call("session.wait", session="s", idle_ms=300, max_wait_ms=10_000)

    assert (kept / "inside").exists()


@pytest.mark.parametrize(
    ("shell", "line", "shown"),
    [
        ("bash", r"PS1='\u:\w\$ '; stty size; i=0; ((i++)); [[ $i -eq 1 ]] && echo o''k", "ok"),
        ("bash", "alias ll='ls -l'; for v in HOME; do echo o''k ${!v}; done", "ok"),
        ("zsh", "PROMPT='%~ %# '; stty -a >/dev/null; (( i = 1 + 1 )); echo o''k", "ok"),
        ("fish", "alias ll 'ls -l'; stty size; echo o''k", "ok"),
    ],
)
async def test_everyday_settings_run_unasked(home: Path, shell: str, line: str, shown: str) -> None:
    async with session_of(home, shell, policy_profile="guarded") as engine:
        ran = await engine.run(line)

    assert shown in ran.output
