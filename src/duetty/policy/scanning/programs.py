"""Programs that need more than a pattern: what they do depends on paths, values or company.

Each function looks at one command and reports to the scanner.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from duetty.policy.late_pattern import late_pattern
from duetty.policy.proving.paths import is_secret
from duetty.policy.scanning.findings import UNKNOWN, Simple, program_name
from duetty.policy.scanning.interpreters import sql_is_destructive
from duetty.policy.scanning.patterns import BY_PROGRAM
from duetty.policy.scanning.places import (
    IMPORTANT,
    OWN,
    REMOTE,
    ROOTS,
    TEMPORARY,
    Place,
    deleted_classes,
    written_class,
)
from duetty.policy.scanning.wrappers import SHELLS, inner_of

NETWORK = frozenset(
    "curl wget fetch aria2c lynx w3m links http https xh httpie axel nc ncat netcat socat ftp tftp scp sftp rsync ssh telnet aws gsutil".split()
)
SENDERS = NETWORK | frozenset(
    "dig nslookup host ping mail mailx sendmail mutt swaks openssl s3cmd rclone wormhole croc gh".split()
)
UNPACKED = "*"
"""Among the downloaded: an archive that was unpacked on the way."""


class Scanner(Protocol):
    """Where findings go: what is found, fetched, written with which text, written to, run.

    `tried`: text that a shell may run, of which only what is found counts. `code`: of some
    other language. `run`: one command.
    """

    unreadable: list[str]

    def find(self, name: str, what: str) -> None: ...
    def downloads(self, path: str) -> None: ...
    def makes(self, path: str, text: str) -> None: ...
    def written(self, path: str, use: "Use", *, empties: bool = False) -> None: ...
    def tried(self, text: str, place: Place, depth: int) -> None: ...
    def code(self, code: str, place: Place, depth: int, *, backquotes: bool) -> None: ...
    def run(self, words: Sequence[str], simple: Simple, place: Place, depth: int) -> None: ...


class Use(NamedTuple):
    """One command, as the functions for single programs see it."""

    name: str
    words: Sequence[str]
    simple: Simple
    place: Place
    depth: int

    @property
    def what(self) -> str:
        return " ".join(self.words)

    def operands(self) -> list[str]:
        """Words that are not options; after `--`, all of them."""
        found: list[str] = []
        ended = False
        for text in self.words[1:]:
            if not ended and text == "--":
                ended = True
            elif ended or text[:1] != "-" or text == "-":
                found.append(text)
        return found

    def has(self, letters: str, *names: str) -> bool:
        for text in self.words[1:]:
            if text[:1] != "-":
                continue
            if text == "--":
                return False
            if text[1:2] != "-":
                for letter in letters:
                    if letter in text:
                        return True
            elif len(text) > 3:
                given = text.partition("=")[0]
                for name in names:
                    if name.startswith(given):
                        return True
        return False

    def values(self, *options: str) -> list[str]:
        """What each of these options is given: behind it, attached, or at the end of a cluster."""
        found: list[str] = []
        for index, text in enumerate(self.words):
            if text[:1] != "-":
                continue
            name, sign, value = text.partition("=")
            for option in options:
                if text == option or (
                    len(option) == 2 < len(text) < 6 and text[1] != "-" and text[-1] == option[1]
                ):
                    found += self.words[index + 1 : index + 2]
                elif sign and name == option:
                    found.append(value)
                elif len(option) == 2 and text.startswith(option):
                    found.append(text[2:])
        return found


# --- deleting and overwriting ---------------------------------------------------------

_DEEP = frozenset("rimraf trash srm del-cli".split())


def _rm(scanner: Scanner, use: Use) -> None:
    recursive = use.has("rR", "--recursive") or use.name in _DEEP
    for path in use.operands():
        for name in deleted_classes(use.place, path, recursive=recursive):
            scanner.find(name, use.what)


_PROGRAM = late_pattern(r"(?:/(?:usr/)?s?bin/)?(?:rm|dd|shred|mkfs.*|unlink|truncate)")
"""Copies and links of these hide what runs."""

_SETUID = late_pattern(r"[ugoa]*\+[rwx]*s[rwxt]*|[2467][0-7]{3}")


def _copy(scanner: Scanner, use: Use) -> None:
    """cp, mv, ln, install, rsync, scp: the last operand is written."""
    operands = use.operands()
    into = use.values("-t", "--target-directory") if use.name not in ("rsync", "scp") else []
    sources = operands if into else operands[:-1]
    if not sources:
        return
    target = into[0] if into else operands[-1]
    _copied_to(scanner, use, target)
    if "/dev/null" in sources and IMPORTANT.search(target):
        scanner.find("overwrite", use.what)
    if any(map(_PROGRAM.fullmatch, sources)) and not target.endswith("/"):
        scanner.find("hidden_code", f"a program under another name: {use.what}")
    if use.name == "mv":
        _moved(scanner, use, sources, target)
    elif use.name in ("scp", "rsync"):
        if REMOTE.match(sources[0]):
            scanner.downloads(target)
        _mirrored(scanner, use, sources, target)
    elif use.name == "install" and any(map(_SETUID.fullmatch, use.values("-m", "--mode"))):
        scanner.find("permissions", use.what)


def _copied_to(scanner: Scanner, use: Use, target: str) -> None:
    if use.name in ("scp", "rsync") and REMOTE.match(target):
        path = target.partition(":")[2]
        place = use.place._replace(is_elsewhere=True, workspace="\0")
        use = use._replace(place=place)
        target = path if path[:1] in ("/", "~") else f"~/{path}"
    scanner.written(target, use)


def _moved(scanner: Scanner, use: Use, sources: Sequence[str], target: str) -> None:
    if target == "/dev/null":
        scanner.find("overwrite", use.what)
    for source in sources:
        where = use.place.where(source)
        if where in ("around", "git"):
            scanner.find("workspace_delete", use.what)
        elif where == "outside":
            top = source.rstrip("/*") or "/"
            if top[:1] in "/~" and top.count("/") < 2 and ROOTS.fullmatch(top):
                scanner.find("system_file", use.what)
            scanner.written(source, use)


def _mirrored(scanner: Scanner, use: Use, sources: Sequence[str], target: str) -> None:
    options = [word for word in use.words if word.startswith(("--del", "--remove-s"))]
    if not options or use.has("n", "--dry-run"):
        return
    lost = sources if options[0].startswith("--remove") else [target]
    if any(REMOTE.match(each) or use.place.where(each) not in OWN for each in lost):
        scanner.find("mirror_delete", use.what)


def _truncate(scanner: Scanner, use: Use) -> None:
    for path in use.operands():
        if not path.lstrip("+-").isdigit():
            scanner.written(path, use, empties=use.has("s", "--size"))


def _dd(scanner: Scanner, use: Use) -> None:
    empties = "if=/dev/null" in use.words or "count=0" in use.words
    for text in use.words[1:]:
        name, _, path = text.partition("=")
        if name in ("of", "ofs", "hof", "hofs", "wipe", "hwipe"):
            scanner.written(path, use, empties=empties)
            if path[:1] == UNKNOWN:
                scanner.find("device_write", use.what)


def _tee(scanner: Scanner, use: Use) -> None:
    empties = ("<", "/dev/null") in use.simple.redirects and not use.has("a", "--append")
    for path in use.operands():
        scanner.written(path, use, empties=empties)
        scanner.makes(path, "\n".join(fed_texts(use.simple)))


def _in_place(scanner: Scanner, use: Use) -> None:
    """With `sed -i`, `perl -i` and their like the operands are rewritten."""
    if use.has("i", "--in-place"):
        for path in use.operands():
            if " " not in path:
                scanner.written(path, use)


_FILE_OF_SED = late_pattern(r"(?:^|[;{}\s/|,#0-9$!])w\s+([/~]\S+)")
_FILE_OF_AWK = late_pattern(r'>\s*"([^"]+)"')
_SED_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:\\.|[^/\\\n])*/[IM]*)"
_SED_COMMAND = late_pattern(
    rf"[\s;{{}}]*(?:{_SED_ADDRESS}(?:\s*,\s*(?:[+~]?\d+|{_SED_ADDRESS}))?)?[\s!]*"
    r"(?:[sy](?P<sign>[^\s\w])(?:\\.|(?!(?P=sign)).)*(?P=sign)(?:\\.|(?!(?P=sign)).)*(?P=sign)(?P<flags>[a-zA-Z0-9]*)"
    r"|e(?P<run>[^\n]*)|[aic](?:\\.|[^\n\\])*|[rRwW][^\n]*|[btT:]\s*[^;\n]*|[^\s;])",
    re.DOTALL,
)
"""One command of a script of sed, with what is before it."""


def _sed(scanner: Scanner, use: Use) -> None:
    """`sed -i`, and scripts that write a file (`w`) or run what they read (`e`)."""
    _in_place(scanner, use)
    for script in use.values("-e", "--expression") or use.operands()[:1]:
        for found in _FILE_OF_SED.finditer(script):
            scanner.written(found[1], use)
        if "e" not in script or len(script) > 4096:
            continue
        for found in _SED_COMMAND.finditer(script):
            if found["run"] and found["run"].strip():
                scanner.tried(found["run"].strip(" \t;}"), use.place, use.depth)
            elif found["run"] is not None or "e" in (found["flags"] or "").partition("w")[0]:
                scanner.unreadable.append("sed runs what it reads")


def _awk(scanner: Scanner, use: Use) -> None:
    for text in use.words[1:]:
        for found in _FILE_OF_AWK.finditer(text):
            scanner.written(found[1], use)


_ESCAPES = late_pattern(r"(?:^|[|:]|\bsilent!?\s)\s*!\s*(.+)", re.DOTALL)


def _editor(scanner: Scanner, use: Use) -> None:
    """ex, ed, vim -es: what of the system they open, and what a script of theirs runs."""
    for path in use.operands():
        scanner.written(path, use)
    for text in (*use.words[1:], *use.simple.bodies):
        if escaped := _ESCAPES.search(text):
            scanner.tried(escaped[1], use.place, use.depth)
        scanner.code(text, use.place, use.depth, backquotes=False)


_TAKES_AWAY = late_pattern("-[rwxXst]+")
"""A mode of chmod that looks like an option."""


def _mode(scanner: Scanner, use: Use) -> None:
    operands = use.operands()
    recursive = use.has("R", "--recursive")
    has_mode = use.name != "setfacl" and not any(map(_TAKES_AWAY.fullmatch, use.words[1:]))
    for path in operands[has_mode:]:
        where = use.place.where(path)
        if where not in OWN and (
            recursive
            or path in ("/", "~")
            or (where != "unknown" and "/.ssh" not in path and written_class(use.place, path))
        ):
            scanner.find("permissions", use.what)
    if use.name == "chmod" and any(map(_SETUID.fullmatch, operands[:1])):
        scanner.find("permissions", use.what)


# --- find -------------------------------------------------------------------------------

_NARROWS = frozenset("-name -iname -path -ipath -wholename -regex -iregex".split())
_REMOVES = frozenset("rm unlink rmdir truncate srm".split())
_PERMITS = frozenset("chmod chown chgrp setfacl".split())
_ORDINARY_MODE = late_pattern(r"[ugoa]*[+-][rwxX]+|0?[67][0-7][0-5]")


def _find(scanner: Scanner, use: Use) -> None:
    words = use.words
    starts = ([] if use.name == "fd" else _starts_of(words)) or ["."]
    for option, value in pairwise(words):
        if option in ("-fprint", "-fprintf", "-fls", "-fprint0"):
            scanner.written(value, use)
    removes = "-delete" in words
    for start, _, end in inner_of(use.name, words):
        given = words[start:end]
        inner = _innermost(given)
        program = program_name(inner[0])
        if (
            program in _REMOVES
            or _overwrites(program, inner)
            or (program == "mv" and starts[0][:1] in "/~")
        ):
            removes = True
        elif program in _PERMITS:
            ordinary = any(map(_ORDINARY_MODE.fullmatch, inner[1:2]))
            if not all(
                use.place.where(path) in OWN or (ordinary and path[:1] not in "/~")
                for path in starts
            ):
                scanner.find("permissions", use.what)
        else:
            path = f"{starts[0].rstrip('/')}/found"
            filled = [word.replace("{}", path) for word in given]
            scanner.run(filled, use.simple, use.place, use.depth + 1)
    if removes:
        _find_removes(scanner, use, starts)


def _find_removes(scanner: Scanner, use: Use, starts: Sequence[str]) -> None:
    narrow = _is_narrow(use.words)
    for path in starts:
        searched = f"{path}/*.found" if narrow and path not in ("/", "~", TEMPORARY) else path
        if use.place.where(searched) not in OWN:
            names = deleted_classes(use.place, path, recursive=True)
            for name in names or ("recursive_delete",):
                scanner.find(name, use.what)


def _is_narrow(words: Sequence[str]) -> bool:
    """Whether only files with certain names are found, in each of several cases."""
    names = [
        index
        for index, word in enumerate(words[:-1])
        if word in _NARROWS
        and words[index - 1] not in ("!", "-not")
        and words[index + 1].strip("*.?/")
    ]
    cases = 1 + sum(word in ("-o", "-or") for word in words)
    return len(names) >= cases or (cases == 1 and "-empty" in words)


def _starts_of(words: Sequence[str]) -> list[str]:
    """Where `find` begins to look: the operands before its first test."""
    starts: list[str] = []
    for word in words[1:]:
        if word[:1] in ("(", "!") or (word[:1] == "-" and len(word) > 2):
            break
        if word[:1] != "-":
            starts.append(word)
    return starts


def _overwrites(program: str, words: Sequence[str]) -> bool:
    """Whether each file that is found is written over."""
    copies = program in ("cp", "install", "ln") and len(words) > 2
    return any(word.endswith("of={}") for word in words) or (
        words[-1] == "{}" and (copies or program in ("tee", "sponge"))
    )


def _innermost(words: Sequence[str]) -> Sequence[str]:
    """The words that are run in the end: `sudo env nice -n 5 rm`."""
    for _ in range(4):
        inner = [each for each in inner_of(program_name(words[0]), words) if not each.is_text]
        if not inner:
            break
        words = words[inner[-1].start :]
    return words


# --- writing by options -------------------------------------------------------------------

_WRITES: dict[str, tuple[tuple[str, ...], str]] = {}
for _line in """
    sort shuf tree iconv gcc cc clang ld as nasm gfortran rustc go ghc pandoc xmllint xsltproc dot esbuild protoc age yt-dlp gpg gpg2: -o --output
    aria2c axel fetch http https xh: -o --out --output -O --output-file
    curl: -o --output
    wget: -O --output-document -P --directory-prefix -o
    openssl: -out -keyout
    pg_dump pg_dumpall pg_restore: -f --file
    mysqldump mariadb-dump: -r --result-file
    mongodump mongoexport: -o --out --archive
    psql strace ltrace perf: -o --output -L --log-file
    tcpdump tshark dumpcap: -w
    nmap: -oN -oX -oG -oA
    jar: -f
    patch: -d --directory -o
    pip pip3: -t --target --prefix --root --log
    cpio: -D --directory
    unar: -o --output-directory
    split objcopy strip ffmpeg fallocate: -o last
    touch mknod nano emacs gzip gunzip bzip2 bunzip2 xz unxz lzma: all
""".strip().splitlines():
    _names, _, _given = _line.partition(":")
    _options = tuple(word for word in _given.split() if word[0] == "-")
    _WRITES.update(dict.fromkeys(_names.split(), (_options, _given.split()[-1])))


def _writes(scanner: Scanner, use: Use) -> None:
    """Programs that take the file they write from an option, from their last word, or from each word."""
    options, mode = _WRITES[use.name]
    paths = use.values(*options)
    if mode == "all" and not use.has("cklt", "--stdout", "--keep", "--list", "--test"):
        paths += use.operands()
    elif mode == "last":
        paths += use.operands()[1:][-1:]
    for path in paths:
        scanner.written(path, use)


_SERVER_DELETES = late_pattern(
    r"[-+*]?\s*(?:dele|x?rmd|rnfr|rm|rmdir|rename|expunge|uid\s+expunge|.*\\deleted)\b",
    re.IGNORECASE,
)


def _downloads(scanner: Scanner, use: Use) -> None:
    """What it fetches may be run by the same line."""
    _writes(scanner, use)
    for path in use.values(*_WRITES[use.name][0]):
        scanner.downloads(path)
    if use.name == "wget" or use.has("O", "--remote-name"):
        for text in use.operands():
            name = text.partition("?")[0].rpartition("/")[2]
            scanner.downloads(name or "index.html")
    data = "".join(use.values("-d", "--data", "--data-raw", "--data-binary", "--json"))
    if sql_is_destructive(data) or "_delete_by_query" in use.what:
        scanner.find("database", use.what)
    if any(map(_SERVER_DELETES.match, use.values("-Q", "--quote", "-X", "--request"))):
        scanner.find("remote_delete", use.what)


_OWN_PLACES = late_pattern(r"/(?:usr/local|opt|srv|var/www|root|home/[^/]+)(?:/.*)?")
_UNPACKS_TO = {"unzip": ("-d",), "7z": ("-o",), "7za": ("-o",), "7zz": ("-o",)}
_TAR = ("tar", "bsdtar", "gtar")


def _archive(scanner: Scanner, use: Use) -> None:
    mode = "".join(use.words[1:2])
    has_dash = mode[:1] == "-"
    letters = mode if mode.isalpha() and len(mode) < 7 else ""  # as in `tar xzf`, `7z x`
    if use.name == "unzip" or "x" in letters or use.has("x", "--extract", "--get"):
        if not use.has("l", "--list"):
            _unpacks(scanner, use)
    elif use.name not in _TAR:
        for path in use.operands()[use.name != "zip" :][:1]:
            scanner.written(path, use)
    elif not use.has("t", "--list") and (has_dash or "t" not in mode):
        for path in use.values("-f", "--file") or use.operands()[1:2]:
            scanner.written(path, use)
    deletes = use.has(
        "", "--remove-files", "--recursive-unlink", "--delete", "--absolute-names", "--move"
    )
    if deletes or (use.has("m") and use.name == "zip") or (use.has("P") and use.name in _TAR):
        scanner.find("overwrite", use.what)


def _unpacks(scanner: Scanner, use: Use) -> None:
    into = use.values(*_UNPACKS_TO.get(use.name, ("-C", "--directory")))
    if not into and use.place.cwd != use.place.workspace:
        into = ["."]
    for path in into:
        whole = use.place.resolve(path) or path
        if whole in ("/", "~") or (
            written_class(use.place, path) and not _OWN_PLACES.fullmatch(whole)
        ):
            scanner.find("system_file", use.what)
    if any(each.words and program_name(each.words[0]) in NETWORK for each in use.simple.producers):
        scanner.downloads(UNPACKED)


# --- processes ----------------------------------------------------------------------------

_OF_MANY = frozenset(
    "bash sh zsh fish dash tcsh ksh init systemd sshd ssh-agent dbus-daemon login getty agetty tmux screen Xorg Xwayland gnome-shell NetworkManager cron crond rsyslogd"
    " dockerd containerd launchd WindowServer kubelet udevd node nodejs python python2 python3 java ruby perl php deno bun".split()
)
"""Names of the machine's own processes, or of anything a person started."""

_OF_USER = late_pattern("-[a-z]*[uU]|--e?uid.*|--user.*")


def _kill(scanner: Scanner, use: Use) -> None:
    words = [*use.words[1:]]
    if words[:1] in (["-s"], ["-n"], ["--signal"]):
        words = words[2:]
    elif words and words[0][:1] == "-" and len(words) > 1:
        words = words[1:]
    if "-1" in words or ("0" in words and "-0" not in use.words[1:2]):
        scanner.find("shutdown", use.what)
    if "1" in words or (UNKNOWN in use.what and names_all(use.simple.inner)):
        scanner.find("mass_kill", use.what)


def names_all(commands: Sequence[Simple]) -> bool:
    """Whether these print the numbers of every process, or of every one that a user has."""
    words = [word for each in commands for word in each.words]
    if "ps" in words:
        picks = any("/" in word and "{" in word for word in words)
        return not picks and {"grep", "egrep", "rg"}.isdisjoint(words)
    return "pgrep" in words and any(map(_OF_USER.fullmatch, words))


def _fuser(scanner: Scanner, use: Use) -> None:
    if use.has("k", "--kill") and any(path[:1] == "/" for path in use.operands()):
        scanner.find("shutdown", use.what)


_VALUED_OF_PKILL = frozenset("-t -g -G -P -s -u -U --signal --parent".split())
_LETTERS = late_pattern("-[a-z]+")
_SIGNS = late_pattern(r"[.*+?^$(){}\\/\s\[\]-]")


def _by_name(scanner: Scanner, use: Use) -> None:
    """pkill, killall: by a name or a pattern that may be anybody's."""
    patterns = [
        text
        for before, text in pairwise(use.words)
        if text[:1] != "-" and before not in _VALUED_OF_PKILL
    ]
    letters = "".join(text for text in use.words[1:] if _LETTERS.fullmatch(text))
    picks = "u" in letters or "--inverse" in use.words or (use.name == "pkill" and "v" in letters)
    if (
        picks
        or use.place.is_elsewhere
        or not patterns
        or any(map(_OF_USER.fullmatch, use.words))
        or any(_is_broad(part) for pattern in patterns for part in pattern.split("|"))
    ):
        scanner.find("mass_kill", use.what)


def _is_broad(pattern: str) -> bool:
    """Whether it is found in nearly every command line, or is the machine's own."""
    letters = _SIGNS.sub("", pattern)
    return len(letters.replace(UNKNOWN, "")) < 3 or not {letters, program_name(pattern)}.isdisjoint(
        _OF_MANY
    )


# --- other machines ------------------------------------------------------------------------

_TUNNEL = late_pattern(r"-[46AaCfGgKkMNnqsTtVvXxYy]*R.*|-o(?:[Rr]emote[Ff]orward|[Tt]unnel).*")


def _ssh(scanner: Scanner, use: Use) -> None:
    """With -R, clients of the other machine reach this one."""
    for before, text in pairwise(["", *_own_options(use)]):
        if _TUNNEL.fullmatch(text) or (before == "-o" and _TUNNEL.fullmatch(f"-o{text}")):
            scanner.find("remote_shell", use.what)


def _own_options(use: Use) -> Sequence[str]:
    """The words of a wrapper itself, before what it runs."""
    inner = inner_of(use.name, use.words)
    return use.words[1 : inner[0].start] if inner else use.words[1:]


_ELSEWHERE = late_pattern(
    r"(?:git\+)?(?:https?|ssh|ftp|git)://.*|(?:github|gitlab|bitbucket|gist):.*|git@.*"
)
_IN_CLEAR = late_pattern(
    r"(?:.*[=@+\s])?(?:http|ftp|git)://(?!localhost\b|127\.|\[::1\]|0\.0\.0\.0).*"
)
_FETCHES = {
    "npx": "", "bunx": "", "pnpx": "", "uvx": "", "npm": "exec x init create", "pnpm": "dlx create", "yarn": "dlx create",
    "bun": "x create", "pipx": "run", "uv": "run", "deno": "run test install", "nix": "run develop shell",
}  # fmt: skip
"""Programs that run what they download, with the subcommands that do so; none: always."""

_INSTALLING = frozenset("install i add get".split())
_STARTING = frozenset("exec dlx x run".split())


def _runs_packages(scanner: Scanner, use: Use) -> None:
    """`npx https://…` runs what comes from there; `pip install http://…`, what anybody on the way puts there."""
    if use.name in _WRITES:
        _writes(scanner, use)
    operands = use.operands()
    known = _FETCHES.get(use.name)
    started = [word for word in use.words[1:] if word != "--"]
    while started and (started[0][:1] == "-" or started[0] in _STARTING):
        del started[0]
    runs_any = not _STARTING.isdisjoint(operands[:1])
    if started and (started[0] in BY_PROGRAM or (runs_any and started[0] in SPECIAL)):
        scanner.run(started, use.simple, use.place, use.depth + 1)
    if ":" not in use.what:
        return
    fetches = known is not None and (not known or "".join(operands[:1]) in known.split())
    if (fetches and any(map(_ELSEWHERE.fullmatch, operands[bool(known) :][:1]))) or (
        not _INSTALLING.isdisjoint(operands[:3]) and any(map(_IN_CLEAR.fullmatch, use.words))
    ):
        scanner.find("remote_code", use.what)


_RELAYS = frozenset("nc ncat netcat socat telnet openssl cat tail".split())
_WIPES = late_pattern(
    r"(?:^|\\[rn]|[\s'\"])(?:flushall|flushdb|flush_all|shutdown|slaveof|replicaof)\b",
    re.IGNORECASE,
)
_HTTP_DELETE = late_pattern(r"\s*DELETE\s+\S+\s+HTTP/")
_FTP_DELETES = late_pattern(
    r"(?:^|[\n;])\s*-?(?:mdelete|mdel|delete|del|deltree|wdel|rmdir|rd|rm|mrm)\b", re.IGNORECASE
)


def _netcat(scanner: Scanner, use: Use) -> None:
    """A shell on the other end, and commands in a server's own language."""
    if any(each.words and program_name(each.words[0]) in SHELLS for each in use.simple.producers):
        scanner.find("remote_shell", use.what)
    for text in fed_texts(use.simple):
        if _WIPES.search(text):
            scanner.find("database", text)
        if _HTTP_DELETE.match(text):
            scanner.find("remote_delete", text)


def _shell(scanner: Scanner, use: Use) -> None:
    """A shell with `-i` between pipes and the network, and code that cannot be read."""
    if use.name in ("pwsh", "powershell") and any(word.lower()[:2] == "-e" for word in use.words):
        scanner.find("hidden_code", use.what)
    fed_by = [program_name(each.words[0]) for each in use.simple.producers if each.words]
    if use.has("i") and use.words[1] != "-c" and not _RELAYS.isdisjoint(fed_by):
        scanner.find("remote_shell", use.what)


def _ftp(scanner: Scanner, use: Use) -> None:
    if any(
        map(_FTP_DELETES.search, (*use.values("-c", "-e", "--command"), *fed_texts(use.simple)))
    ):
        scanner.find("remote_delete", use.what)


def fed_texts(simple: Simple) -> list[str]:
    """Texts that a command is given to read, where they are written on the line."""
    texts = [*simple.bodies]
    for each in simple.producers[-1:]:
        texts += each.bodies
        if each.words and each.words[0] in ("echo", "printf"):
            texts.append(
                " ".join(word for word in each.words[1:] if word not in ("-n", "-e", "-ne"))
            )
    return texts


def _container(scanner: Scanner, use: Use) -> None:
    """With `docker run -v /:/host`, the host's root in a container."""
    is_open = "run" in use.words and not {"--privileged", "--pid=host"}.isdisjoint(use.words)
    if is_open or any(mount.startswith("/:") for mount in use.values("-v", "--volume")):
        scanner.find("system_file", use.what)


def _ansible(scanner: Scanner, use: Use) -> None:
    for text in use.values("-a", "--args"):
        if "state=absent" in text:
            scanner.find("recursive_delete", use.what)
        scanner.tried(text, use.place._replace(is_elsewhere=True), use.depth)


# --- git, make and the rest -------------------------------------------------------------------

_FILE = late_pattern(
    r".*\.(?:py|pyi|ipynb|[cm]?[jt]sx?|json5?|jsonc|md|rst|txt|ya?ml|toml|lock|go|mod|sum|rs|[ch]|cc|cpp|cxx|hh|hpp|java|kts?|scala|rb|erb|php|css|scss|less|html?|vue|svelte"
    r"|sh|bash|zsh|fish|sql|xml|cfg|ini|conf|env|csv|tsv|svg|png|jpe?g|gif|pdf|swift|dart|lua|pl|ex|exs|hs|clj|tf|proto|gradle|properties|cmake|mk|tex|snap)"
    r"|(?:.*/)?(?:Makefile|Dockerfile|Gemfile|Rakefile|LICENSE|README|CHANGELOG|\.[a-z][\w.-]*)|.+/|\./.*|.*[*?].*"
)
"""What hardly anybody calls a branch."""

_NEW_BRANCH = frozenset("-b -B --orphan -t --track --detach -d".split())
_GIT_RUNS = frozenset(
    "-x --exec foreach run --tree-filter --index-filter --msg-filter --commit-filter".split()
)
_GIT_MAKES = frozenset(["clone", "init", "bundle"])


def _git(scanner: Scanner, use: Use) -> None:
    words, operands = use.words, use.operands()
    does = operands[0] if operands else ""
    if (
        (
            does == "checkout"
            and _NEW_BRANCH.isdisjoint(words)
            and any(map(_FILE.fullmatch, operands[1:]))
        )
        or "--prune-tags" in words
        or ("branch" in words and use.has("d", "--delete") and use.has("r", "--remotes"))
    ):
        scanner.find("git_discard", use.what)
    if does != "commit":
        for path in use.values("-o", "--output", "--output-directory", "--prefix"):
            scanner.written(path, use)
    if does in _GIT_MAKES and len(operands) > 1:
        made = operands[2] if operands[1] == "create" and len(operands) > 2 else operands[-1]
        scanner.written(made, use)
        scanner.written(f"{made.rstrip('/')}/x", use)
    for index, text in enumerate(words[:-1]):
        if text == "-c" and "=" in words[index + 1]:
            scanner.tried(
                words[index + 1].partition("=")[2].removeprefix("!"), use.place, use.depth
            )
        elif text in _GIT_RUNS:
            scanner.tried(" ".join(words[index + 1 :]), use.place, use.depth)


_RULES = late_pattern(r"\n|\\n|\\t|[:;]")


def _make(scanner: Scanner, use: Use) -> None:
    """Variables on the command line are commands to make; SHELL is the one that runs all others."""
    rules = use.values("-E", "--eval")
    for text in use.words[1:]:
        name, sign, value = text.partition("=")
        if sign and name.isidentifier():
            if name == "SHELL" and program_name(value) not in SHELLS:
                scanner.find("hidden_code", use.what)
            scanner.tried(value, use.place, use.depth)
    if use.has("f", "--file"):
        rules += [*use.simple.bodies, *(" ".join(each.words[1:]) for each in use.simple.inner)]
    for text in rules:
        for line in _RULES.split(text.replace("$(shell ", "$(")):
            scanner.tried(line.strip("\t @-"), use.place, use.depth)


def _tracks(scanner: Scanner, use: Use) -> None:
    for text in use.words[1:]:
        if text.startswith(("HISTFILE=", "HISTSIZE=0")) or (
            use.name == "unset" and text in ("HISTFILE", "HISTSIZE")
        ):
            scanner.find("tracks", use.what)


def _sudo(scanner: Scanner, use: Use) -> None:
    """With -e it edits, as another user, whatever is named."""
    if not {"-e", "--edit"}.isdisjoint(_own_options(use)):
        scanner.find("system_file", use.what)


def _cmake(scanner: Scanner, use: Use) -> None:
    if use.words[1:2] == ["-E"] and use.words[2:3] in (["remove_directory"], ["remove"], ["rm"]):
        _rm(scanner, use._replace(words=["rm", "-r", *use.words[3:]]))


_UPLOADING = ("-T", "--upload-file", "--post-file", "--body-file")
_DUMPERS = frozenset(
    "pg_dump pg_dumpall mysqldump mariadb-dump mongodump mongoexport slapcat".split()
)
_TELLS_ALL = frozenset(["env", "printenv", "set", "declare", "export"])
_WHOLE_PLACES = frozenset(["~", "/", "~/", "/home", "/etc", "/root"])
_COPIERS = frozenset("scp rsync sftp aws gsutil rclone s3cmd croc wormhole".split())


def reads_secrets(simple: Simple) -> bool:
    if not simple.words:
        return False
    name = program_name(simple.words[0])
    return (
        (name in _TELLS_ALL and len(simple.words) <= 2)
        or name in _DUMPERS
        or (name in ("tar", "zip", "7z") and not _WHOLE_PLACES.isdisjoint(simple.words))
        or any(map(is_secret, simple.words[1:]))
        or any(sign == "<" and is_secret(target) for sign, target in simple.redirects)
    )


def sends_secrets(use: Use) -> bool:
    """Whether a program that sends is given a secret to send."""
    simple, words = use.simple, use.words
    if any(map(reads_secrets, (*simple.producers, *simple.inner))) or any(
        sign == "<" and is_secret(target) for sign, target in simple.redirects
    ):
        return True
    if use.name in ("curl", "wget", "http", "xh", "gh"):
        given = [text.rpartition("@")[2].rpartition("=")[2] for text in words[1:] if "@" in text]
        given += use.values(*_UPLOADING)
        given += words[2:] if use.name == "gh" and "gist" in words[1:3] else []
        return any(map(is_secret, given))
    if use.name not in _COPIERS or (
        use.name in ("aws", "gsutil") and {"cp", "mv", "sync"}.isdisjoint(words[1:4])
    ):
        return False
    used = use.values("-i", "-F", "-e")
    local = [text for text in words[1:] if not REMOTE.match(text) and text not in used]
    goes_out = use.name not in ("scp", "rsync") or len(local) < len(words) - 1
    return goes_out and any(map(is_secret, local))


_Look = Callable[[Scanner, Use], None]


def _all(names: str, look: _Look) -> dict[str, _Look]:
    return dict.fromkeys(names.split(), look)


SPECIAL: dict[str, _Look] = {
    **dict.fromkeys(_WRITES, _writes),
    **_all("rm unlink rmdir trash trash-put rimraf srm del-cli", _rm),
    **_all("cp mv ln install rsync scp gcp gmv", _copy),
    **_all("dd dcfldd dc3dd", _dd),
    **_all("tee sponge", _tee),
    **_all("sed gsed", _sed),
    **_all("perl ruby", _in_place),
    **_all("awk gawk mawk nawk", _awk),
    **_all("ex ed vim vi nvim", _editor),
    **_all("tar bsdtar gtar unzip zip 7z 7za 7zz rar unrar ar", _archive),
    **_all("chmod chown chgrp setfacl", _mode),
    **_all("pkill killall", _by_name),
    **_all("ssh autossh", _ssh),
    **_all("npx bunx pnpx uvx npm pnpm yarn bun pipx uv deno nix pip pip3 gem", _runs_packages),
    **_all("curl wget aria2c axel fetch http https xh", _downloads),
    **_all("find bfs fd", _find),
    **_all("sftp ftp lftp tftp smbclient", _ftp),
    **_all("nc ncat netcat telnet socat", _netcat),
    **_all("docker podman nerdctl", _container),
    **_all("unset export", _tracks),
    **dict.fromkeys(sorted(SHELLS), _shell),
    "truncate": _truncate, "kill": _kill, "fuser": _fuser, "git": _git, "make": _make, "ansible": _ansible, "sudo": _sudo, "cmake": _cmake,
}  # fmt: skip
