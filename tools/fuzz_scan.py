"""The scan against real bash: no string in which `rm` runs may be one that `guarded` allows.

Usage: fuzz_scan.py [--strings N] [--seed N]

A command is put into quotes, expansions, groups and here-documents, one around the
other, and every string that `guarded` would run unasked is run by bash: in an empty
directory, with a PATH on which `rm` is a stub that leaves a file behind, and little
else. Tests use the same functions for a bounded run.
"""

import argparse
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from duetty.calls import Actor, Effect
from duetty.policy import Allow, Judged, Mode, Profile, RuleSet, decide

SHELLS_AT_ONCE = 4
RUN_S = 3

_COMMANDS = [
    "$(rm -rf ~/x)",
    "`rm -rf ~/x`",
    "; rm -rf ~/x ;",
    "; rm -rf ~/x #",
    "\nrm -rf ~/x\n",
    "$((a[$(rm -rf ~/x)]))",
    "<(rm -rf ~/x)",
    "& rm -rf ~/x &",
    "${a[$(rm -rf ~/x)]}",
    "$[$(rm -rf ~/x)]",
]

_AROUND = """\
"@@"
'@@'
\\'@@\\'
\\"@@\\"
${a:-@@}
${a-@@}
${HOME+@@}
${HOME#@@}
${HOME%@@}
${HOME/x/@@}
${HOME//@@/y}
${HOME^@@}
${HOME:@@}
${HOME:0:@@}
${a:=@@}
${a?@@}
"${a:-@@}"
"${HOME#@@}"
"${HOME/x/@@}"
"${HOME//@@/y}"
$'@@'
$"@@"
{a,@@}
[@@]
$(echo @@)
`echo @@`
$((@@))
"$(echo @@)"
<<<@@
<<E↵@@↵E↵
<<'E'↵@@↵E↵
<<-E↵␉@@↵␉E↵
cat <<E↵@@↵E↵
cat <<E↵it's @@ it's↵E↵
\\↵@@
#@@
\\#@@
a#@@
\\\\@@
\\\\ @@
!@@
(@@)
@(@@)
{ @@; }
( echo @@ )
$(cat <<E↵@@↵E↵)
"$(cat <<E↵@@↵E↵)"
$(cat <<'E'↵@@↵E↵)
${a[@@]}
a[@@]=1
a["@@"]=1
[[ @@ ]]
[[ -n @@ ]]
[ @@ ]
case x in @@) ;; esac
case @@ in x) ;; esac
x=@@
x=(@@)
x=([@@]=1)
declare x=@@
export "x=@@"
echo $# @@
echo ${#a} @@
$'\\'@@'
$'\\\\@@'
"\\`@@"
"\\$@@"
"\\\\@@"
\\$@@
\\`@@
`echo "@@"`
`echo '@@'`
`echo \\`echo @@\\``
$(case x in x) echo @@;; esac)
$( (echo @@) )
$(# @@↵)
$(echo a # @@↵)
$(echo ')' @@)
$(echo "(" @@)
for x in @@; do :; done
for ((x=@@; x<1; x++)); do :; done
((@@))
$(( (1) + @@ ))
if true; then echo @@; fi
f() { echo @@; }; f
echo a|cat @@
"a'b" @@
'a"b' @@
"it's" @@ 'so'
${a:-"@@"}
${a:-b @@}
${a:-b "c" @@}
${a:-b 'c' @@}
"${a:-"@@"}"
"${a:-'@@'}"
"${a:-b '@@' c}"
"${a:-don't @@ can't}"
"${a:-\\"@@\\"}"
"${a:-\\'@@}"
${a:-'@@'}
${a:-$'@@'}
"${a#'@@'}"
"${HOME%'@@'}"
"${a:-$'@@'}"
"${a:-$"@@"}"
{fd}>&1 @@
2>&1 @@
>/dev/null @@
&>/dev/null @@
~@@
*@@
?@@
@@=1
@@()
a+=@@
let @@
test -n @@
printf %s @@
"${a:-{@@}}"
"${a:-\\}@@}"
${a:-\\}@@}
"${a:-}@@"
${a:-}}@@
${a:-{}@@}
$((1<<2)) @@
$(( 1 << 2 ))↵@@
[[ a =~ @@ ]]
[[ a =~ (@@) ]]
[[ a == @@ ]]
[[ a == ']]' && -n @@ ]]
"${@:-@@}"
${!a@@}
"${!a:-@@}"
"${a@Q}@@"
<(echo @@)
>(cat @@)
$(<@@)
coproc echo @@
time echo @@
select x in @@; do break; done
while [ -n @@ ]; do break; done
until [ -z @@ ]; do break; done
function f { echo @@; }; f
␉@@
␍@@
␋@@
\u00a0@@"""

_SHOWN = str.maketrans({"↵": "\n", "␉": "\t", "␍": "\r", "␋": "\x0b"})
AROUND = [line.translate(_SHOWN).split("@@", 1) for line in _AROUND.split("\n")]


def strings(seed: int) -> Iterator[str]:
    """Endless, and none of them twice."""
    chance = random.Random(seed)  # noqa: S311 - strings to try, not secrets
    made: set[str] = set()
    while True:
        text = chance.choice(_COMMANDS)
        for _ in range(chance.randint(1, 4)):
            before, after = chance.choice(AROUND)
            text = before + text + after
        if chance.random() < 0.7:
            text = f"echo {text}"
        if text not in made:
            made.add(text)
            yield text


def is_allowed(text: str) -> bool:
    judged = Judged(
        operation="command.run",
        effect=Effect.INPUT,
        actor=Actor(kind="agent", name="fuzz"),
        mode=Mode.INTERACTIVE,
        command_line=text,
    )
    return isinstance(decide(judged, RuleSet(), Profile.GUARDED, can_ask=True), Allow)


def that_run_rm(texts: Sequence[str]) -> list[str]:
    """Those in which bash runs `rm`."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        programs = Path(place, "bin")
        programs.mkdir()
        stub = programs / "rm"
        stub.write_text('#!/bin/sh\n: > "$RAN"\n')
        stub.chmod(0o755)
        (programs / "cat").symlink_to("/bin/cat")

        def ran(numbered: tuple[int, str]) -> bool:
            number, text = numbered
            home = Path(place, str(number))
            home.mkdir()
            _run(text, home, {"PATH": str(programs), "RAN": str(home / "ran")})
            return (home / "ran").exists()

        with ThreadPoolExecutor(SHELLS_AT_ONCE) as shells:
            return [
                text
                for text, hit in zip(texts, shells.map(ran, enumerate(texts)), strict=True)
                if hit
            ]


def _run(text: str, home: Path, env: dict[str, str]) -> None:
    """Run it, and wait until whatever it started has ended: all of it holds the pipe."""
    reading, writing = os.pipe()
    try:
        shell = subprocess.Popen(  # noqa: S603 - in an empty directory, with a stub for `rm` and hardly more
            ["/bin/bash", "--norc", "--noprofile", "-c", text],
            cwd=home,
            env={**env, "HOME": str(home), "LANG": "C.UTF-8"},
            pass_fds=[writing],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    finally:
        os.close(writing)
    with shell:
        ended, _, _ = select.select([reading], [], [], RUN_S)
        os.close(reading)
        if not ended:
            os.killpg(shell.pid, signal.SIGKILL)


def missed(texts: Sequence[str]) -> list[str]:
    """Those that would run unasked, and run `rm`."""
    return that_run_rm([text for text in texts if is_allowed(text)])


def main() -> int:
    parser = argparse.ArgumentParser(description="The scan against real bash.")
    parser.add_argument("--strings", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=time.monotonic_ns())
    arguments = parser.parse_args()
    texts = strings(arguments.seed)
    tried = 0
    found: list[str] = []
    while tried < arguments.strings:
        some = [next(texts) for _ in range(min(2_000, arguments.strings - tried))]
        tried += len(some)
        found += missed(some)
        sys.stderr.write(f"seed {arguments.seed}: {tried} strings, {len(found)} missed\n")
    for text in sorted(found, key=len):
        sys.stdout.write(f"{text!r}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
