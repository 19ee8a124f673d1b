"""Programs that run another program: which words, or which text, do they run?

Data, and one function that reads it.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from duetty.policy.late_pattern import late_pattern
from duetty.policy.values import new


class Inner(NamedTuple):
    """What a wrapper runs: from this word on, or the words joined to a text."""

    start: int
    is_text: bool = False
    end: int | None = None


class Wrapper(NamedTuple):
    valued: frozenset[str] = frozenset()
    """Options followed by a value of their own."""
    skipped: int = 0
    """Operands before the program."""
    text: bool = False
    """Whether the rest is joined and read by a shell."""
    text_options: frozenset[str] = frozenset()
    """Options whose value a shell reads."""
    runs_operands: bool = True
    """Whether the operands are a program, and not only the values of such options."""
    only_after: frozenset[str] = frozenset()
    """First operands after which a program follows; empty when it always does."""


SHELLS = frozenset(
    "sh bash zsh dash ksh mksh ash fish csh tcsh rbash yash pwsh powershell osh elvish nu xonsh cmd".split()
)

_TABLE = """
    sudo: -C -D -R -T -U -g -h -p -r -t -u --chdir --chroot --group --host --prompt --user
    doas: -C -u
    su: -G -g -s --group --shell | skips 1, reads --command -c
    runuser: -G -g -s -u --user | reads --command -c
    pkexec: --user
    gosu su-exec setarch:  | skips 1
    setpriv: --groups --regid --reuid
    env: -C -u --chdir --unset | reads --split-string -S
    nohup unbuffer setsid shx command builtin noglob nocorrect not and or - busybox toybox entr valgrind firejail systemd-inhibit numactl torsocks eatmydata dbus-run-session rlwrap coproc bunx pnpx tsocks arch linux32 linux64:
    nice: -n --adjustment
    ionice: -c -n -p --class --classdata
    chrt: -D -P -T | skips 1
    taskset: -p | skips 1
    timeout: -k -s --kill-after --signal | skips 1
    gtimeout: -k -s | skips 1
    time: -f -o --format --output
    stdbuf: -e -i -o --error --input --output
    exec: -a
    xargs: -E -I -L -P -a -d -e -i -l -n -s --arg-file --delimiter --eof --max-args --max-chars --max-lines --max-procs --replace
    parallel: -I -L -N -P -a -j -n --arg-file --colsep --joblog --jobs --max-args --results | text
    watch: -d -n --interval | text
    strace: -E -I -O -P -S -a -b -e -o -p -s -u
    ltrace: -a -e -l -n -o -p -s -u -x
    perf: -F -e -o -p | skips 1, after record stat trace
    gdb: -ex -p -x | reads --eval-command -eval-command -ex
    chroot: --groups --userspec | skips 1
    unshare: -G -R -S -w --map-group --map-user --propagation --setgroups
    nsenter: -G -S -t --target
    bwrap: --bind --chdir --dev --proc --ro-bind --setenv --tmpfs
    systemd-run: -H -M -p -t -u --on-active --on-calendar --property --slice --unit
    flock: -E -w --conflict-exit-code --timeout | skips 1, reads --command -c
    script: -B -E -I -O -T -m -o | reads --command -c, only options
    prlimit: --pid
    cpulimit: -e -l -p
    fakeroot: -f -i -l -s
    proxychains proxychains4: -f
    xvfb-run: -e -f -n -s
    ssh: -B -D -E -F -I -J -L -O -Q -R -S -W -b -c -e -i -l -m -o -p -w | skips 1, text
    mosh: -p --ssh | skips 1
    sshpass: -e -f -p
    autossh: -L -M -R -i -o -p | skips 1, text
    pdsh: -l -w -x | text
    rsh: -l | skips 1, text
    eval trap:  | text
    nix-shell:  | reads --command --run, only options
    direnv aws-vault multipass lxc:  | skips 2, after exec
    poetry pipenv bundle mise asdf op doppler:  | skips 1, after exec run x
    uv: -p --python --with | skips 1, after run
    uvx: --from --with
    npx: -p --package | reads --call -c
    conda: -n -p --name --prefix | skips 1, after exec run x
    dotenv: -e -f
    caffeinate: -t -w
    screen: -S -c -p -t
    tmux: -L -S -c -f -n -s -t -x -y | skips 1, text, after display-popup if if-shell new new-session new-window neww popup respawn-pane run run-shell send send-keys split-window splitw
    ld.so: --library-path --preload
    vagrant:  | reads --command -c, only options
    adb: -s | skips 1, text, after shell
    wsl: -d -u
    start-stop-daemon: -a -c -d -n -p -u -x --chdir --chuid --exec --name --pidfile --startas --user
    hyperfine: -M -m -n -r -w | text, reads --cleanup --prepare --setup -c -p -s
    complete: -A -G -P -S -W -X -o | reads -C -F, only options
    mapfile readarray: -O -c -d -n -s -u | reads -C, only options
    bind:  | reads -x, only options
    alias abbr:  | only options
    make: -C -I -W -f -j -o | reads --eval, only options
"""
"""Names, their options that have a value, and what is special: `skips` so many operands, the rest is a `text` for
a shell, options whose value a shell `reads` (or `only` these run anything), a program follows only `after` a word."""


def _wrapper(valued: str, how: str) -> Wrapper:
    options = {words[0]: words[1:] for part in how.split(",") if (words := part.split())}
    return Wrapper(
        frozenset(valued.split()),
        int(options.get("skips", ["0"])[0]),
        "text" in options,
        frozenset(options.get("reads", ())),
        "only" not in options,
        frozenset(options.get("after", ())),
    )


WRAPPERS: dict[str, Wrapper] = {}
for _line in _TABLE.strip().splitlines():
    _names, _, _rest = _line.partition(":")
    _valued, _, _how = _rest.partition("|")
    WRAPPERS.update(dict.fromkeys(_names.split(), _wrapper(_valued, _how)))

FAR = frozenset(
    "ssh mosh autossh sshpass pdsh rsh adb ansible salt fab kubectl oc gcloud heroku fly flyctl railway".split()
)
"""Those that run it on another machine."""

ELSEWHERE = FAR | frozenset("su chroot nsenter unshare machinectl systemd-nspawn proot".split())
"""Those that run it as another user, on another machine or under another root; besides whatever starts containers."""

_AFTER = {
    **dict.fromkeys(("find", "bfs"), frozenset(["-exec", "-execdir", "-ok", "-okdir"])),
    "fd": frozenset(["-x", "-X", "--exec", "--exec-batch"]),
    **dict.fromkeys(
        "xterm gnome-terminal konsole alacritty kitty".split(), frozenset(["-e", "-x", "--"])
    ),
}
"""Words behind which a command stands, to its end or a `;`."""

_ENDS_EARLY = frozenset("runuser setpriv op doppler aws-vault conda".split())
"""Of these `--` stands before the program, whatever was left out."""


def inner_of(program: str, words: Sequence[str]) -> list[Inner]:
    """What this command would run; `words` begins with the program."""
    if program in _AFTER:
        return _after(words, _AFTER[program])
    if program in SHELLS:
        return _shell(words)
    found = WRAPPERS.get(program)
    if found is None or (found.only_after and not found.only_after.intersection(words[1:4])):
        return []
    inner: list[Inner] = []
    at, skipped, count = 1, found.skipped, len(words)
    sets_variables = program in ("env", "sudo", "doas")
    while at < count:
        word = words[at]
        if word in found.text_options and at + 1 < count:
            inner.append(new(Inner, (at + 1, True, at + 2)))
            at += 2
        elif word == "--":
            at += 1
            if skipped <= 0 or program in _ENDS_EARLY:
                break
        elif word[:1] == "-" and len(word) > 1:
            at += 2 if word in found.valued else 1
        elif sets_variables and word.partition("=")[0] != word:
            at += 1
        elif skipped > 0:
            skipped -= 1
            at += 1
        else:
            break
    if at < count and found.runs_operands:
        inner.append(new(Inner, (at, found.text, None)))
    return inner


_ENV_BLANKS = late_pattern(r"\\[_tnrfv]")
_ENV_SPLIT = late_pattern(r"-[a-zA-Z0]*S(.*)|--s[a-z-]*=(.*)", re.DOTALL)


def split_strings(words: Sequence[str]) -> list[str]:
    """What `env -S` makes words of, with the words behind it: blanks may be written as escapes."""
    found: list[str] = []
    for index, word in enumerate(words[1:], 1):
        if word[:1] != "-":
            break
        if split := _ENV_SPLIT.fullmatch(word):
            text = " ".join([split[1] or split[2] or "", *words[index + 1 :]])
            found.append(_ENV_BLANKS.sub(" ", text).partition("\\c")[0])
    return found


def _after(words: Sequence[str], runs: frozenset[str]) -> list[Inner]:
    inner: list[Inner] = []
    for index, word in enumerate(words):
        if word in runs:
            end = next(
                (i for i in range(index + 1, len(words)) if words[i] in (";", "+")), len(words)
            )
            if index + 1 < end:
                inner.append(Inner(index + 1, end=end))
    return inner


def _shell(words: Sequence[str]) -> list[Inner]:
    """`sh -c TEXT`, also as `-xc`, `-ec`, `-lc` and with options between."""
    for index, word in enumerate(words[1:], 1):
        if word in ("--command", "-C", "--init-command", "-Command", "-command", "/c", "/C") or (
            word[:1] == "-" and word[:2] != "--" and word.endswith("c") and len(word) <= 8
        ):
            at = index + 1
            while at < len(words) and words[at][:1] in ("-", "+") and len(words[at]) > 1:
                at += 1
            return [new(Inner, (at, True, at + 1))] if at < len(words) else []
        if word.startswith(("--command=", "--init-command=")):
            return [Inner(index, is_text=True, end=index + 1)]
        if word[:1] not in ("-", "+") and words[index - 1] not in ("-O", "+O", "-o", "+o"):
            return []
    return []


def reads_commands_from_stdin(words: Sequence[str]) -> bool:
    """Whether a shell started so takes its commands from standard input."""
    if _shell(words):
        return False
    valued = False
    for word in words[1:]:
        if valued:
            valued = False
        elif word in ("-s", "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
            return True
        elif word in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
            valued = True
        elif word[:1] not in ("-", "+"):
            return False
    return words[0] != "cmd"
