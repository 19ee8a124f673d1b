"""Programs that run another program: which words, or which text, do they run?

Data, and one function that reads it. What is not exact here is made up for by the
scan, which also tries every later word of a command as a program.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

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


def _wrapper(
    valued: str = "",
    skipped: int = 0,
    *,
    text: bool = False,
    text_options: str = "",
    only_after: str = "",
) -> Wrapper:
    return Wrapper(
        frozenset(valued.split()),
        skipped,
        text,
        frozenset(text_options.split()),
        only_after=frozenset(only_after.split()),
    )


def _only_options(text_options: str, valued: str = "") -> Wrapper:
    return Wrapper(
        frozenset(valued.split()), text_options=frozenset(text_options.split()), runs_operands=False
    )


SHELLS = frozenset(
    "sh bash zsh dash ksh mksh ash fish csh tcsh rbash yash pwsh powershell osh elvish nu xonsh cmd".split()
)

WRAPPERS: dict[str, Wrapper] = {
    "sudo": _wrapper(
        "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot"
    ),
    "doas": _wrapper("-u -C"),
    "su": _wrapper("-s -g -G --shell --group", 1, text_options="-c --command"),
    "runuser": _wrapper("-u -g -G -s --user", text_options="-c --command"),
    "pkexec": _wrapper("--user"),
    "gosu": _wrapper("", 1),
    "su-exec": _wrapper("", 1),
    "setpriv": _wrapper("--reuid --regid --groups"),
    "env": _wrapper("-u -C --unset --chdir", text_options="-S --split-string"),
    "nohup": _wrapper(),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -p --class --classdata"),
    "chrt": _wrapper("-T -P -D", 1),
    "taskset": _wrapper("-p", 1),
    "timeout": _wrapper("-s -k --signal --kill-after", 1),
    "gtimeout": _wrapper("-s -k", 1),
    "time": _wrapper("-f -o --format --output"),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "unbuffer": _wrapper(),
    "setsid": _wrapper(),
    "command": _wrapper(),
    "builtin": _wrapper(),
    "exec": _wrapper("-a"),
    "noglob": _wrapper(),
    "nocorrect": _wrapper(),
    "not": _wrapper(),
    "and": _wrapper(),
    "or": _wrapper(),
    "-": _wrapper(),
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "xargs": _wrapper(
        "-I -i -n -L -l -P -s -E -e -d -a --replace --max-args --max-lines --max-procs --max-chars --delimiter --arg-file --eof"
    ),
    "parallel": _wrapper(
        "-j -P -a -n -N -L -I --jobs --arg-file --max-args --colsep --joblog --results", text=True
    ),
    "watch": _wrapper("-n -d --interval", text=True),
    "entr": _wrapper(),
    "strace": _wrapper("-e -o -p -s -u -E -P -O -S -a -b -I"),
    "ltrace": _wrapper("-e -o -p -s -u -n -l -x -a"),
    "valgrind": _wrapper(),
    "perf": _wrapper("-e -o -F -p", 1, only_after="stat record trace"),
    "gdb": _wrapper("-ex -x -p", text_options="-ex -eval-command --eval-command"),
    "chroot": _wrapper("--userspec --groups", 1),
    "unshare": _wrapper("--map-user --map-group --propagation --setgroups -R -w -S -G"),
    "nsenter": _wrapper("-t -S -G --target"),
    "bwrap": _wrapper("--bind --ro-bind --dev --proc --tmpfs --chdir --setenv"),
    "firejail": _wrapper(),
    "systemd-run": _wrapper("-p -u -t --unit --property --slice --on-calendar --on-active -M -H"),
    "systemd-inhibit": _wrapper(),
    "flock": _wrapper("-w -E --timeout --conflict-exit-code", 1, text_options="-c --command"),
    "script": _only_options("-c --command", "-I -O -B -T -E -o -m"),
    "prlimit": _wrapper("--pid"),
    "cpulimit": _wrapper("-l -p -e"),
    "numactl": _wrapper(),
    "fakeroot": _wrapper("-l -s -i -f"),
    "proxychains": _wrapper("-f"),
    "proxychains4": _wrapper("-f"),
    "torsocks": _wrapper(),
    "eatmydata": _wrapper(),
    "xvfb-run": _wrapper("-s -n -e -f"),
    "dbus-run-session": _wrapper(),
    "rlwrap": _wrapper(),
    "ssh": _wrapper(
        "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B",
        1,
        text=True,
        text_options="",
    ),
    "mosh": _wrapper("-p --ssh", 1),
    "sshpass": _wrapper("-p -f -e"),
    "autossh": _wrapper("-M -i -p -L -R -o", 1, text=True),
    "pdsh": _wrapper("-w -l -x", text=True),
    "rsh": _wrapper("-l", 1, text=True),
    "eval": _wrapper(text=True),
    "trap": _wrapper(text=True),
    "coproc": _wrapper(),
    "nix-shell": _only_options("--run --command"),
    "direnv": _wrapper("", 2, only_after="exec"),
    "poetry": _wrapper("", 1, only_after="run exec x"),
    "pipenv": _wrapper("", 1, only_after="run exec x"),
    "uv": _wrapper("--with --python -p", 1, only_after="run"),
    "uvx": _wrapper("--with --from"),
    "npx": _wrapper("-p --package", text_options="-c --call"),
    "bunx": _wrapper(),
    "pnpx": _wrapper(),
    "bundle": _wrapper("", 1, only_after="run exec x"),
    "conda": _wrapper("-n -p --name --prefix", 1, only_after="run exec x"),
    "mise": _wrapper("", 1, only_after="run exec x"),
    "asdf": _wrapper("", 1, only_after="run exec x"),
    "dotenv": _wrapper("-f -e"),
    "aws-vault": _wrapper("", 2, only_after="exec"),
    "op": _wrapper("", 1, only_after="run exec x"),
    "doppler": _wrapper("", 1, only_after="run exec x"),
    "tsocks": _wrapper(),
    "caffeinate": _wrapper("-t -w"),
    "arch": _wrapper(),
    "setarch": _wrapper("", 1),
    "linux32": _wrapper(),
    "linux64": _wrapper(),
    "screen": _wrapper("-S -t -c -p"),
    "tmux": _wrapper(
        "-L -S -f -t -s -n -c -x -y",
        1,
        text=True,
        only_after="new new-session new-window neww split-window splitw run-shell run if-shell if respawn-pane popup display-popup",
    ),
    "ld.so": _wrapper("--library-path --preload"),
    "vagrant": _only_options("-c --command"),
    "multipass": _wrapper("", 2, only_after="exec"),
    "lxc": _wrapper("", 2, only_after="exec"),
    "adb": _wrapper("-s", 1, text=True, only_after="shell"),
    "wsl": _wrapper("-d -u"),
    "start-stop-daemon": _wrapper(
        "-p --pidfile -n --name -u --user -c --chuid -d --chdir -x --exec -a --startas"
    ),
    "hyperfine": _wrapper(
        "-w -r -n -m -M", text=True, text_options="-p --prepare -c --cleanup -s --setup"
    ),
    "complete": _only_options("-C -F", "-A -G -W -P -S -X -o"),
    "mapfile": _only_options("-C", "-d -n -O -s -u -c"),
    "readarray": _only_options("-C", "-d -n -O -s -u -c"),
    "bind": _only_options("-x"),
    "alias": _only_options(""),
    "abbr": _only_options(""),
    "make": _only_options("--eval", "-C -f -I -j -o -W"),
}

ELSEWHERE = frozenset(
    "sudo doas su runuser pkexec gosu su-exec setpriv chroot nsenter unshare machinectl systemd-nspawn proot"
    " ssh mosh autossh sshpass pdsh rsh adb ansible salt fab".split()
)
"""Those that run it as somebody else, on another machine or under another root; besides whatever starts containers."""

_FIND_RUNS = frozenset(["-exec", "-execdir", "-ok", "-okdir"])
_FD_RUNS = frozenset(["-x", "-X", "--exec", "--exec-batch"])
_TERMINALS = frozenset("xterm gnome-terminal konsole alacritty kitty".split())


def inner_of(program: str, words: Sequence[str]) -> list[Inner]:
    """What this command would run; `words` begins with the program."""
    if program in ("find", "gfind", "bfs"):
        return _after(words, _FIND_RUNS)
    if program in ("fd", "fdfind"):
        return _after(words, _FD_RUNS)
    if program in _TERMINALS:
        return _after(words, frozenset(["-e", "-x", "--"]))
    if program in SHELLS:
        return _shell(words)
    found = WRAPPERS.get(program)
    if found is None or (found.only_after and not found.only_after.intersection(words[1:4])):
        return []
    inner: list[Inner] = []
    at = 1
    skipped = 0
    while at < len(words):
        word = words[at]
        name, sign, _ = word.partition("=")
        if word in found.text_options and at + 1 < len(words):
            inner.append(new(Inner, (at + 1, True, at + 2)))
            at += 2
        elif word == "--":
            at += 1
            if skipped >= found.skipped or program in (
                "runuser",
                "setpriv",
                "op",
                "doppler",
                "aws-vault",
                "conda",
            ):
                break
        elif word.startswith("-") and len(word) > 1:
            at += 2 if word in found.valued else 1
        elif sign and program in ("env", "sudo", "doas") and name.isidentifier():
            at += 1
        elif skipped < found.skipped:
            skipped += 1
            at += 1
        else:
            break
    if at < len(words) and found.runs_operands:
        inner.append(new(Inner, (at, found.text, None)))
    return inner


_ENV_BLANKS = re.compile(r"\\[_tnrfv]")
_ENV_SPLIT = re.compile(r"-[a-zA-Z0]*S(.*)|--s[a-z-]*=(.*)", re.DOTALL)


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
        if word in ("--command", "-Command", "-command", "/c", "/C") or (
            word[:1] == "-" and word[:2] != "--" and word.endswith("c") and len(word) <= 8
        ):
            at = index + 1
            while at < len(words) and words[at][:1] in ("-", "+") and len(words[at]) > 1:
                at += 1
            return [new(Inner, (at, True, at + 1))] if at < len(words) else []
        if word[:10] == "--command=":
            return [Inner(index, is_text=True, end=index + 1)]
        if word[:1] not in ("-", "+"):
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
