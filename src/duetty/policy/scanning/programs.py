"""Programs that need more than a pattern: what they do depends on paths, values or company.

Each function looks at one command and reports to whoever scans.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from posixpath import normpath

from duetty.policy.scanning.code import sql_is_destructive
from duetty.policy.scanning.commands import NETWORK, prints_nothing, program_name, programs_of
from duetty.policy.scanning.printed import printed
from duetty.policy.scanning.reading import UNKNOWN
from duetty.policy.scanning.use import UNPACKED, Scanner, Use
from duetty.policy.scanning.wrappers import SHELLS, inner_of, innermost
from duetty.policy.scanning.writes import (
    IMPORTANT,
    REBUILT,
    REMOTE,
    ROOTS,
    SYSTEM_PLACE,
    is_delicate,
    is_history,
)

ENTERING = frozenset("cd chdir pushd popd z".split())


def target_of(texts: Sequence[str]) -> str:
    """Where `cd` and its like go; without a word that tells, somewhere else."""
    operands = [text for text in texts[1:] if text[:1] not in ("-", "+", "")]
    if operands and texts[0] != "popd":
        return operands[-1]
    return "~" if len(texts) == 1 and texts[0] in ("cd", "chdir") else ".."


_GOING_BY: Mapping[str, tuple[str, ...]] = {
    "env": ("-C", "--chdir"),
    "sudo": ("-D", "--chdir"),
    "bwrap": ("--chdir",),
    "start-stop-daemon": ("-d", "--chdir"),
    "systemd-run": ("--working-directory",),
    "nsenter": ("--wd",),
    "unshare": ("--wd",),
    "parallel": ("--wd", "--workdir"),
    "tmux": ("-c",),
    "npm": ("-C", "--prefix"),
    "npx": ("-C", "--prefix"),
    "pnpm": ("-C", "--dir"),
    "yarn": ("--cwd",),
    "bun": ("--cwd",),
    "uv": ("--directory",),
    "poetry": ("-C", "--directory"),
    "mise": ("-C", "--cd"),
    "just": ("-d", "--working-directory"),
}
GOING = frozenset([*_GOING_BY, "git", "make", "gmake", "find", "gfind", "bfs"])
"""Programs that run others where one of their options says."""


def _goes(scanner: Scanner, use: Use) -> None:
    directory = use.value(*_GOING_BY.get(use.name, ("-C", "--directory")))
    if directory is not None:
        scanner.enter(directory)


def _enters(scanner: Scanner, use: Use) -> None:
    scanner.enter(target_of(use.texts))


def _rm(scanner: Scanner, use: Use) -> None:
    operands = use.operands()
    if not operands:
        return
    recursive = use.has("rR", "--recursive") or use.name == "rimraf"
    unknown = globbed = False
    for word in use.words[1:]:
        unknown = unknown or word.guessed or UNKNOWN in word.text
        globbed = globbed or word.glob
    if scanner.bases:
        # `cd X; rm Y` is `rm X/Y`.
        operands += [
            f"{base}/{path}"
            for base in scanner.bases
            for path in operands
            if path[:1] not in ("/", "~")
        ]
    for path in operands:
        plain = re.sub(r"/+", "/", path) if "//" in path else path
        if plain not in ("/", "~/"):
            plain = plain.rstrip("/") or "/"
        if recursive and (
            ROOTS.fullmatch(plain)
            or (plain and normpath(plain.replace("*", "x")) == "/")
            or (path.startswith(UNKNOWN) and path.strip(UNKNOWN) in ("/", "/*"))
        ):
            scanner.find(
                "whole_system_delete" if not plain.startswith(".git") else "recursive_delete",
                use.what,
            )
            return
        if is_history(path):
            scanner.find("tracks", use.what)
    if recursive:
        if (
            unknown
            or globbed
            or scanner.is_elsewhere
            or not all(REBUILT.fullmatch(path) and ".." not in path for path in operands)
        ):
            scanner.find("recursive_delete", use.what)
    elif (
        unknown
        or globbed
        or scanner.is_elsewhere
        or any(UNKNOWN in path or is_delicate(path) for path in operands)
    ):
        scanner.find("delete_outside", use.what)


_PLUS = "++"
"""Of compilers' names: written out, they would be read as expressions by a test of ours."""

_PROGRAM = re.compile(
    r"/(?:usr/)?s?bin/(?:rm|dd|shred|mkfs.*|unlink|truncate|(?:ba|z|da|k|c|tc|fi)?sh|busybox|python.*|perl)"
)
"""Copies and links of these hide what runs."""

_HIDDEN = frozenset(
    "rm dd shred mkfs unlink truncate sh bash zsh dash busybox python python3 perl".split()
)


def _copy(scanner: Scanner, use: Use) -> None:
    """cp, mv, ln, install, rsync, scp: the last operand is written."""
    operands = use.operands()
    into = (
        use.value("-t", "--target-directory") if use.name in ("cp", "mv", "ln", "install") else None
    )
    if not operands:
        return
    target = into or operands[-1]
    sources = operands if into else operands[:-1]
    if use.name == "mv":
        if target == "/dev/null":
            scanner.find("overwrite", use.what)
        for source in sources:
            if (scanner.class_of(source) or ROOTS.fullmatch(source)) and source not in (".", "*"):
                scanner.find("system_file", use.what)
        if any(
            source in ("*", ".", "~", "/")
            or (source.endswith("/*") and source.startswith(("/", "~")))
            for source in sources
        ):
            scanner.find("recursive_delete", use.what)
    if use.name in ("cp", "install", "ln", "scp", "rsync") and "/dev/null" in sources:
        scanner.find("overwrite", use.what)
    if use.name in ("scp", "rsync"):
        if REMOTE.match(target):
            _sent_to(scanner, use, target.partition(":")[2])
            return
        _remote_copy(scanner, use)
    if any(_PROGRAM.fullmatch(source) for source in sources) or any(
        simple.words[-1].text in _HIDDEN
        for word in use.words[1:]
        for reading in word.inner
        for simple in reading.commands
        if simple.words
    ):
        scanner.find("hidden_code", f"a program under another name: {use.what}")
    if use.name in ("cp", "mv") and IMPORTANT.search(target) and ".env" not in target:
        scanner.find("overwrite", use.what)
    if len(operands) > 1 or into:
        name = scanner.class_of(target)
        if name is not None:
            scanner.find(name, use.what)


_KEPT_BY_SYSTEM = re.compile(r"/(?:etc|boot|bin|sbin|lib\w*|usr/(?:bin|sbin|lib\w*))(?:/.*)?")
"""Where nobody deploys to: what another machine runs, and how it lets people in."""


def _sent_to(scanner: Scanner, use: Use, path: str) -> None:
    """What is copied to another machine, where a path without a beginning is in somebody's home."""
    place = path if path[:1] in ("/", "~") else f"~/{path}"
    name = scanner.class_of(place)
    if name == "system_file" and not _KEPT_BY_SYSTEM.fullmatch(place):
        return
    if name is not None:
        scanner.find(name, use.what)


_EMPTY = "/dev/null"


def _reads_nothing(use: Use) -> bool:
    """Whether what it writes is the end of an empty file, or of a command that prints nothing."""
    simple = use.simple
    last = simple.producers[-1] if simple.producers else None
    return any(sign == "<" and target.text == _EMPTY for sign, target in simple.redirects) or (
        last is not None and prints_nothing(last)
    )


_DD_WRITES = ("of=", "ofs=", "hof=", "hofs=", "wipe=", "hwipe=")
"""Of dd, and of its relatives for forensics."""


def _dd(scanner: Scanner, use: Use) -> None:
    for text in use.texts[1:]:
        if text.startswith(_DD_WRITES):
            path = text.partition("=")[2]
            scanner.written(
                path, use.what, empties="if=/dev/null" in use.texts or "count=0" in use.texts
            )
            if UNKNOWN in path:
                scanner.find("device_write", use.what)


def _tee(scanner: Scanner, use: Use) -> None:
    empties = not use.has("a", "--append") and _reads_nothing(use)
    for path in use.operands():
        scanner.written(path, use.what, empties=empties)
        said = [*use.simple.bodies, *(printed(each) for each in use.simple.producers[-1:] if each)]
        scanner.made[normpath(path)] = "\n".join(UNKNOWN if text is None else text for text in said)


_EVERY_LINE = r"(?:|[0-9]+,\$|[01]~1|[0-9$]+!|/(?!\^\$/)\^?(?:\.?[*+]?|\[\^?[^]]{0,8}\][*])\$?/|\\(.)\.[*]?\1)"
_PRINTS_NOTHING = re.compile(
    r"""\$_\s*=\s*(?:''|""|undef)|undef[\s(]*\$_|print\s+(?:if\s+0|unless\s+1)\b"""
)
"""Of perl's, for each line."""

_LEAVES_NOTHING = re.compile(
    rf"(?:^|[;{{\n]) ?{_EVERY_LINE} ?(?:[dDzQq]|c\b|c\\) ?(?:$|[;}}\n]|(?<=\\))"
)
"""A script of sed that deletes lines whatever stands in them; single blanks only."""

_BLANKS = re.compile(r"[ \t]+")

_REPLACES_ALL = re.compile(r"(?:^|[;{\s])s([/|,#!])\^?\.\*\$?\1\1")


def _in_place(scanner: Scanner, use: Use) -> None:
    """With `sed -i` and `perl -i` the operands are rewritten."""
    if use.has("i", "--in-place"):
        for path in use.operands():
            name = scanner.class_of(path)
            if name is not None:
                scanner.find(name, use.what)
        if (
            use.name == "perl"
            and use.has("n")
            and not any("print" in text or "say" in text for text in use.texts)
        ):
            scanner.find("overwrite", use.what)  # nothing is printed back
        if use.name == "perl" and any(map(_PRINTS_NOTHING.search, use.texts[1:])):
            scanner.find("overwrite", use.what)
        if any(_REPLACES_ALL.search(text) for text in use.texts[1:]):
            scanner.find("overwrite", use.what)
        if use.name in ("sed", "gsed"):
            script = use.value("--expression") or "".join(use.operands()[:1])
            prints = "p" in script or "w" in script or "=" in script
            if _LEAVES_NOTHING.search(_BLANKS.sub(" ", script)) or (
                use.has("n", "--quiet", "--silent") and not prints
            ):
                scanner.find("overwrite", use.what)


_EMPTIES = re.compile(r"(?:(?:%|(?:0|1)?,\$?)|\bg(?:lobal)?/\^?(?:\.\*?)?\$?/)\s*d(?:\b|elete)")
_ESCAPES = re.compile(r"(?:^|[|:]|\bsilent!?\s)\s*!\s*(.+)", re.DOTALL)
_EDITOR_DELETES = re.compile(
    r"\bdelete\(|\bsystem(?:list)?\(|delete-(?:file|directory)|shell-command|os\.(?:execute|remove)"
)


def _editor(scanner: Scanner, use: Use) -> None:
    """ex, ed, vim -es: scripted edits of what the system needs, and what they run."""
    for path in use.operands():
        name = scanner.class_of(path)
        if name is not None:
            scanner.find(name, use.what)
    said = use.texts[1:] + use.simple.bodies
    said += [text for each in use.simple.producers[-1:] if each and (text := printed(each))]
    scripted = use.name in ("ex", "ed") or any(
        text[:2] in ("-c", "-e", "-s", "+")
        or text[:1] == "+"
        or text in ("--cmd", "-es", "--headless")
        for text in use.texts[1:]
    )
    for text in said:
        if scripted and _EMPTIES.search(text):
            scanner.find("overwrite", use.what)
        if escaped := _ESCAPES.search(text):
            scanner.try_text(escaped[1], use.depth + 1)
        if _EDITOR_DELETES.search(text):
            scanner.find("recursive_delete", use.what)


def _last_written(letters: str) -> Callable[[Scanner, Use], None]:
    """Programs that write their second file; `letters` are their options with a value."""

    def look(scanner: Scanner, use: Use) -> None:
        files: list[str] = []
        before = ""
        for text in use.texts[1:]:
            if not (before[:1] == "-" and before[1:2] != "-" and before[-1] in letters) and (
                text[:1] != "-" or text == "-"
            ):
                files.append(text)
            before = text
        if len(files) > 1:
            scanner.written(files[-1], use.what)

    return look


def _ends_with_file(scanner: Scanner, use: Use) -> None:
    scanner.written(use.texts[-1], use.what)


_KEYS = re.compile(r"\.(?:pem|key|p12|pfx|crt|csr|cer|der)$", re.IGNORECASE)
"""Important where another program writes them; it is by openssl that they are made."""


_WRITING: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("pg_dump", "pg_dumpall", "pg_restore"), ("-f", "--file")),
    **dict.fromkeys(("mysqldump", "mariadb-dump"), ("-r", "--result-file", "-T", "--tab")),
    **dict.fromkeys(("mongodump", "mongoexport"), ("-o", "--out", "--archive")),
    **dict.fromkeys(("psql", "pgcli"), ("-o", "--output", "-L", "--log-file")),
    **dict.fromkeys(("tcpdump", "tshark", "dumpcap"), ("-w",)),
    **dict.fromkeys(("strace", "ltrace", "perf"), ("-o", "--output", "--log")),
    **dict.fromkeys(("genisoimage", "mkisofs", "xorrisofs"), ("-o", "-output")),
    "nmap": ("-oN", "-oX", "-oG", "-oA", "-oS"),
    "valgrind": ("--log-file", "--xml-file"),
    "gdb": ("-x",),
    "unar": ("-o", "--output-directory"),
    "unsquashfs": ("-d", "-dest"),
    "ssh-keygen": ("-f",),
    "jar": ("-f", "--file"),
    "pip": ("-t", "--target", "--prefix", "--root", "-d", "--dest", "--log"),
}
"""Options by which programs are told where to write, as far as it is not `-o`."""


def _told_to_write(scanner: Scanner, use: Use) -> None:
    """The class of the place that such an option names; ordinary files are none of its business."""
    path = use.value(*_WRITING[use.name])
    name = None if path is None else scanner.class_of(path)
    if name is not None:
        scanner.find(name, use.what)


def _output(scanner: Scanner, use: Use) -> None:
    path = use.value("-o", "--output", "-out", "--out") or use.clustered("o")
    if path is None:
        return
    if use.name == "openssl" and path == use.value("-in"):
        scanner.find("overwrite", use.what)  # emptied before it is read
    if use.name == "sort" and _EMPTY in use.texts:
        scanner.written(path, use.what, empties=True)
    elif use.name == "openssl" and _KEYS.search(path):
        name = scanner.class_of(path)
        if name is not None:
            scanner.find(name, use.what)
    else:
        scanner.written(path, use.what)


_FILE_OF_SED = re.compile(r"(?:^|[;{}\s/|,#0-9$!])w\s+(/\S+|~\S+)")
_FILE_OF_AWK = re.compile(r'>\s*"([^"]+)"')
_FILE_OF_SQL = re.compile(r"writefile\s*\(\s*'([^']+)'", re.IGNORECASE)
_SENT_BY_SQL = re.compile(
    r"""\bvacuum\s+(?:\w+\s+)?into\s+["']([^"']+)|^[ \t]*\.(?:output|once|backup|save|clone|log|trace|open)\s+(?:main\s+)?["']?([^"'\s]+)""",
    re.IGNORECASE | re.MULTILINE,
)
"""Where sqlite3 is told to put a copy, or what it prints."""


def _written_by_script(files: "re.Pattern[str]") -> Callable[[Scanner, Use], None]:
    """What a script on the command line writes to."""

    def look(scanner: Scanner, use: Use) -> None:
        for text in use.texts[1:]:
            for found in files.finditer(text):
                scanner.written(found[1], use.what)

    return look


_by_sed, _by_awk_script, _by_sql = map(
    _written_by_script, (_FILE_OF_SED, _FILE_OF_AWK, _FILE_OF_SQL)
)


def _sqlite(scanner: Scanner, use: Use) -> None:
    _by_sql(scanner, use)
    for text in (*use.texts[1:], *use.simple.bodies):
        for found in _SENT_BY_SQL.finditer(text):
            name = scanner.class_of(found[1] or found[2])
            if name is not None:
                scanner.find(name, use.what)


def _by_awk(scanner: Scanner, use: Use) -> None:
    _by_awk_script(scanner, use)
    if use.value("-i", "--include") == "inplace":
        program = next((text for text in use.operands() if text != "inplace"), "")
        # Without an action a pattern prints its lines.
        patterns = re.sub(r"\{[^{}]*\}|\bBEGIN\b|\bEND\b|[\s;]", "", program)
        if "print" not in program and patterns in ("", "0"):
            scanner.find("overwrite", use.what)
        for path in use.operands():
            scanner.written(path, use.what)


def _sed(scanner: Scanner, use: Use) -> None:
    _in_place(scanner, use)
    _by_sed(scanner, use)


def _patched(scanner: Scanner, use: Use) -> None:
    """patch, cpio: the directory they work in."""
    into = use.value("-d", "-D", "--directory")
    if into is not None and (scanner.class_of(into) or into in ("~", "/", "~/")):
        scanner.find("system_file", use.what)


def _fallocate(scanner: Scanner, use: Use) -> None:
    if use.has("pcz", "--punch-hole", "--collapse-range", "--zero-range"):
        scanner.written(use.texts[-1], use.what)


def _cmake(scanner: Scanner, use: Use) -> None:
    if use.texts[1:3] in (["-E", "remove_directory"], ["-E", "remove"], ["-E", "rm"]):
        _rm(scanner, Use("rm", use.words[2:], ["rm", "-r", *use.texts[3:]], use.simple, use.depth))


def _archive(scanner: Scanner, use: Use) -> None:
    if programs_of(use.simple.producers) & NETWORK:
        scanner.downloaded.add(UNPACKED)
    if any(scanner.class_of(path) == "device_write" for path in use.operands()):
        scanner.find("device_write", use.what)
    into = use.value(*_UNPACKS_TO.get(use.name, ("-C", "--directory")))
    mode = "".join(use.texts[1:2])
    unpacks = (
        use.name in ("unzip", "unrar")
        or (mode[:2] != "--" and "x" in mode[:8])
        or use.has("x", "--extract", "--get")
    )
    made = None if unpacks else _archive_made(use, mode)
    if made is not None and (name := scanner.class_of(made)) is not None:
        scanner.find(name, use.what)
    if use.name in ("unrar", "rar") and unpacks and len(operands := use.operands()) > 2:
        into = operands[-1]
    for place in [into] if into is not None else scanner.bases if unpacks else []:
        if scanner.class_of(place) or place in ("~", "/", "~/"):
            scanner.find("system_file", use.what)
    if use.name == "tar" and (
        use.has("", "--remove-files", "--recursive-unlink")
        or (use.has("P", "--absolute-names") and unpacks)
    ):
        scanner.find("overwrite", use.what)
    if use.name == "tar" and "--delete" in use.texts:
        scanner.find("overwrite", use.what)
    if use.name == "zip" and use.has("m", "--move"):
        scanner.find("overwrite", use.what)


_UNPACKS_TO: Mapping[str, tuple[str, ...]] = {
    "unzip": ("-d",),
    **dict.fromkeys(("7z", "7za", "7zz", "7zr"), ("-o",)),
}
_TAR = ("tar", "bsdtar", "gtar", "star")


def _archive_made(use: Use, mode: str) -> str | None:
    """The archive that is written, where it is told how to."""
    operands = use.operands()
    if use.name not in _TAR:
        # `zip A …`, `7z a A …`, `ar r A …`
        return "".join(operands[0 if use.name == "zip" else 1 :][:1]) or None
    if use.has("t", "--list", "--test-label") or (mode[:1] != "-" and "t" in mode):
        return None
    if mode[:1] != "-" and "f" in mode and len(use.texts) > 2:
        return use.texts[2]
    return use.value("-f", "--file") or use.clustered("f")


_KEEPING = ("-c", "-k", "-l", "-t", "--stdout", "--to-stdout", "--keep", "--list", "--test")


def _packs(scanner: Scanner, use: Use) -> None:
    """As gzip, put another file in each one's place: of the system's, or of everything."""
    if any(text in _KEEPING for text in use.texts[1:]) or (
        use.name in ("zstd", "lz4", "brotli") and not use.has("j", "--rm")
    ):
        return
    for path in use.operands():
        name = None if path.startswith("/var/log/") else scanner.class_of(path)
        whole = use.has("r", "--recursive") or path.endswith("*")
        if name is None and whole and path[:1] in ("/", "~") and ROOTS.fullmatch(path):
            name = "overwrite"
        if name is not None:
            scanner.find(name, use.what)


_TAKES_AWAY = re.compile("-[rwxXst]+")
"""A mode of chmod that looks like an option."""


def _mode(scanner: Scanner, use: Use) -> None:
    operands = use.operands()
    takes_away = use.name == "chmod" and any(map(_TAKES_AWAY.fullmatch, use.texts[1:]))
    for path in operands if takes_away else operands[1:]:
        if scanner.class_of(path) or path in ("~", "/"):
            scanner.find("permissions", use.what)
    if (
        use.name == "chmod"
        and re.fullmatch(r"[ugoa]*\+[rwx]*s[rwxt]*|[2467]7?[0-7]{3}", (use.operands() or [""])[0])
        and len((use.operands() or [""])[0]) != 3
    ):
        scanner.find("permissions", use.what)


def _kill(scanner: Scanner, use: Use) -> None:
    texts = use.texts[1:]
    targets = texts[1:] if texts and texts[0].startswith("-") and len(texts) > 1 else texts
    if texts[:1] in (["-s"], ["-n"], ["--signal"]):
        targets = texts[2:]
    if "-1" in targets or ("0" in targets and "-0" not in texts[:1]):
        scanner.find("shutdown", use.what)
    if "1" in targets:
        scanner.find("mass_kill", use.what)
    if any(UNKNOWN in target for target in targets) and (
        any(
            programs_of(reading.commands) - {"cat", "head", "tail"}
            for word in use.words
            for reading in word.inner
        )
        or scanner.has_run("pgrep", "pidof", "ps", "lsof")
    ):
        scanner.find("mass_kill", use.what)


_OF_MANY = (
    " bash dash zsh fish tcsh ksh node nodejs python python2 python3 pypy java ruby perl php deno bun dotnet beam.smp mono"
    " init systemd sshd ssh-agent dbus-daemon login getty agetty tmux screen zellij Xorg Xwayland gnome-shell plasmashell"
    " kwin_x11 NetworkManager cron crond rsyslogd dockerd containerd supervisord launchd WindowServer "
)
"""Names under which the whole machine runs, or whatever somebody has started."""

_SETS = re.compile(r"\[(.)\]|\[[^\]]*\]?")
_SIGNS = re.compile(r"[.*+?^$(){}\\/\s-]")
_LEAST = 3
"""Letters of a pattern below which it is found nearly everywhere."""

_VALUED_OF_PKILL = ("-t", "-g", "-G", "-P", "-s", "--signal", "--parent", "--terminal", "--group")


_SIGNAL = re.compile(r"-(?:SIG)?[A-Z]{3,}[0-9]?")


def _by_name(scanner: Scanner, use: Use) -> None:
    """pkill, killall: by a name or a pattern that may be anybody's."""
    patterns: list[str] = []
    letters = before = ""
    for text in use.texts[1:]:
        if before in ("-s", "--signal") and text.removeprefix("SIG") in ("KILL", "9"):
            scanner.find("mass_kill", use.what)
        if text[:1] == "-":
            letters += "" if text[:2] == "--" or _SIGNAL.fullmatch(text) else text[1:]
        elif before not in _VALUED_OF_PKILL:
            patterns.append(text)
        before = text
    picks = "uUv" if use.name == "pkill" else "ur"
    if (
        any(letter in letters for letter in picks)
        or (use.name == "pkill" and not patterns and any(each in letters for each in "tgGs"))
        or (patterns and scanner.is_elsewhere)
        or any(map(_is_broad, patterns))
    ):
        scanner.find("mass_kill", use.what)


def _is_broad(pattern: str) -> bool:
    """Whether it is found in more than one program's command line; no pattern of an agent's is run here."""
    for part in pattern.split("|"):
        letters = _SIGNS.sub("", _SETS.sub(r"\1", part))
        if UNKNOWN in part or len(letters) < _LEAST or letters in _OF_MANY:
            return True
    return False


def _before_host(texts: Sequence[str]) -> Sequence[str]:
    """The options of ssh itself, not of what it runs elsewhere."""
    inner = inner_of("ssh", texts)
    return texts[1 : inner[0].start] if inner else texts[1:]


_TUNNEL = re.compile(r"-[46AaCfGgKkMNnqsTtVvXxYy]*R.*|-o(?:[Rr]emote[Ff]orward|[Tt]unnel).*")


def _ssh(scanner: Scanner, use: Use) -> None:
    """With -R, whoever reaches the other machine reaches this one."""
    before = ""
    for text in _before_host(use.texts):
        if _TUNNEL.fullmatch(text) or (before == "-o" and _TUNNEL.fullmatch(f"-o{text}")):
            scanner.find("remote_shell", use.what)
        before = text


_FROM_ELSEWHERE = re.compile(
    r"(?:git\+)?(?:https?|ssh|ftp|git)://.*|(?:github|gitlab|bitbucket|gist):.*|git@.*|npm:.*://.*"
)
_IN_CLEAR = re.compile(
    r"(?:.*[=@+\s])?(?:http|ftp|git)://(?!localhost\b|127\.|\[::1\]|0\.0\.0\.0).*"
)
"""Whoever is on the way can put something else there."""

_RUNNING: Mapping[str, frozenset[str]] = {
    "npx": frozenset(),
    "bunx": frozenset(),
    "pnpx": frozenset(),
    "uvx": frozenset(),
    "npm": frozenset(["exec", "x", "init", "create"]),
    "pnpm": frozenset(["dlx", "create"]),
    "yarn": frozenset(["dlx", "create"]),
    "bun": frozenset(["x", "create"]),
    "pipx": frozenset(["run"]),
    "uv": frozenset(["run"]),
    "deno": frozenset(["run", "test", "install"]),
    "nix": frozenset(["run", "develop", "shell"]),
}
"""Programs that run what they download, with the subcommands that do so; none: always."""

_INSTALLING = frozenset("install i add get update upgrade".split())


def _runs_address(scanner: Scanner, use: Use) -> None:
    """`npx https://…` runs what comes from there; `pip install http://…`, what anybody on the way puts there."""
    if use.name in _GOING_BY:
        _goes(scanner, use)
    if ":" not in use.what:
        return
    operands = use.operands()
    subcommands = _RUNNING.get(use.name)
    package = ""
    if subcommands is not None and (not subcommands or subcommands.intersection(operands[:1])):
        package = "".join(operands[1:2] if subcommands else operands[:1])
    named = use.value("-p", "--package", "--from", "--spec", "--with") or ""
    if (
        _FROM_ELSEWHERE.fullmatch(package)
        or (package and _FROM_ELSEWHERE.fullmatch(named))
        or (not _INSTALLING.isdisjoint(operands[:3]) and any(map(_IN_CLEAR.fullmatch, use.texts)))
    ):
        scanner.find("remote_code", use.what)


def _fetched(scanner: Scanner, use: Use) -> None:
    """Other programs that download: to the file they are told, or to the last name of the address."""
    for target in (
        use.value("-o", "--out", "--output", "-O", "--output-file", "-P"),
        use.clustered("o"),
    ):
        if target and target != "-":
            scanner.written(target, use.what)
            scanner.downloaded.add(normpath(target))
    _named_by_address(scanner, use)


def _named_by_address(scanner: Scanner, use: Use) -> None:
    for text in use.operands():
        if "://" in text or "." in text:
            scanner.downloaded.add(
                normpath(text.partition("?")[0].rpartition("/")[2] or "index.html")
            )


def _remote_copy(scanner: Scanner, use: Use) -> None:
    """`scp host:x y`, `aws s3 cp s3://b/x y`: what comes from elsewhere."""
    operands = use.operands()
    if _EMPTY in operands and REMOTE.match(operands[-1]):
        scanner.find("overwrite", use.what)
    if len(operands) > 1 and REMOTE.match(operands[-2]) and not REMOTE.match(operands[-1]):
        source, target = operands[-2].rpartition("/")[2].rpartition(":")[2], operands[-1]
        into = f"{target}/{source}" if target in (".", "..") or target.endswith("/") else target
        scanner.downloaded.add(normpath(into))
        scanner.written(into, use.what)


def _curl(scanner: Scanner, use: Use) -> None:
    target = (
        use.value("-o", "--output") if use.name == "curl" else use.value("-O", "--output-document")
    ) or use.clustered("o" if use.name == "curl" else "O")
    if target and target not in ("-", "/dev/null"):
        scanner.written(target, use.what)
        scanner.downloaded.add(normpath(target))
    if use.name == "wget" and (into := use.value("-P", "--directory-prefix")):
        scanner.written(f"{into.rstrip('/')}/x", use.what)
    _named_by_address(scanner, use)
    data = use.value("-d", "--data", "--data-raw", "--data-binary", "--json") or ""
    if sql_is_destructive(data) or "_delete_by_query" in use.what:
        scanner.find("database", use.what)
    for option, value in pairwise(use.texts[1:]):
        if option in _TELLS_SERVER and _SERVER_DELETES.match(value):
            scanner.find("remote_delete", use.what)


_TELLS_SERVER = ("-Q", "--quote", "-X", "--request", "--prequote", "--postquote")
_SERVER_DELETES = re.compile(
    r"[-+*]?\s*(?:dele|x?rmd|rnfr|rm|rmdir|rename|expunge|uid\s+expunge|.*\\deleted)\b",
    re.IGNORECASE,
)
"""What FTP, SFTP, IMAP and POP3 servers are told to delete by."""


_ORDINARY_MODE = re.compile(r"[ugoa]*[+-][rwxX]+|0?[67][0-7][0-5]")


def _find(scanner: Scanner, use: Use) -> None:
    if any(text in ("-fprint", "-fprintf", "-fls", "-fprint0") for text in use.texts):
        target = use.value("-fprint", "-fprintf", "-fls", "-fprint0")
        if target:
            scanner.written(target, use.what)
    if "-execdir" in use.texts or "-okdir" in use.texts:
        scanner.enter("..")  # wherever it finds something
    for start, _, end in inner_of(use.name, use.texts):
        given = use.texts[start:end]
        words = innermost(program_name(given[0]), given)
        program = program_name(words[0])
        if program in ("chmod", "chown", "chgrp", "setfacl") and not (
            words[1:2]
            and _ORDINARY_MODE.fullmatch(words[1])
            and not any(text[:1] in ("/", "~") for text in use.texts[1:start])
        ):
            scanner.find("permissions", " ".join(use.texts[:end]))
        if program in ("rm", "unlink", "shred", "rmdir", "truncate"):
            scanner.find("recursive_delete", " ".join(use.texts[:end]))
        if program == "mv" and any(map(_is_everything, use.texts[1:start])):
            scanner.find("recursive_delete", " ".join(use.texts[:end]))
        if any(
            text == "{}" if program in ("tee", "sponge") else text.endswith("of={}")
            for text in words[1:]
        ) or (program in ("cp", "install", "ln") and len(words) > 2 and words[-1] == "{}"):
            scanner.find("overwrite", " ".join(use.texts[:end]))


def _is_everything(path: str) -> bool:
    return path[:1] in ("/", "~") and ROOTS.fullmatch(path.rstrip("/") or "/") is not None


_GIT_RUNS = frozenset(
    "-x --exec foreach run --tree-filter --index-filter --msg-filter --commit-filter --cmd".split()
)


_GIT_WATCHED = _GIT_RUNS | {"-c", "clone"}

_GIT_WRITES = frozenset(
    "clone init bundle worktree archive format-patch checkout-index diff log show shortlog range-diff diff-tree diff-index diff-files rev-list".split()
)
_GIT_OUTPUT = ("-o", "--output", "--output-directory", "--prefix")


def _git_writes(scanner: Scanner, use: Use) -> None:
    """Where git is told to put something that is no repository's."""
    path = use.value(*_GIT_OUTPUT)
    name = None if path is None else scanner.class_of(path)
    if name is not None:
        scanner.find(name, use.what)
    operands = use.operands()
    if "-C" in use.texts:
        operands = operands[1:]
    match operands:
        case ["bundle", "create", made, *_] if name := scanner.class_of(made):
            scanner.find(name, use.what)
        case ["clone", _, *_, into] | ["init", *_, into] | ["worktree", "add", into, *_] if (
            SYSTEM_PLACE.fullmatch(normpath(into))
        ):
            scanner.find("system_file", use.what)
        case ["init"] if any(map(SYSTEM_PLACE.fullmatch, scanner.bases)):
            scanner.find("system_file", use.what)
        case _:
            pass


_FILE = re.compile(
    r".*\.(?:py|pyi|ipynb|[cm]?[jt]sx?|json5?|jsonc|md|rst|txt|ya?ml|toml|lock|go|mod|sum|rs|[ch]|cc|cpp|cxx|hh|hpp|java|kts?|scala|rb|erb|php|css|scss|less|html?|vue|svelte"
    r"|sh|bash|zsh|fish|sql|xml|cfg|ini|conf|env|csv|tsv|svg|png|jpe?g|gif|pdf|swift|mm?|dart|lua|pl|pm|ex|exs|erl|hs|ml|clj|tf|tfvars|proto|gradle|properties|cmake|mk|tex|snap)"
    r"|(?:.*/)?(?:Makefile|Dockerfile|Gemfile|Rakefile|Procfile|LICENSE|README|CHANGELOG|\.[a-z][\w.-]*)|.+/|\./.*|.*[*?].*"
)
"""What hardly anybody calls a branch."""

_NEW_BRANCH = ("-b", "-B", "--orphan", "-t", "--track", "--detach", "-d")


def _git(scanner: Scanner, use: Use) -> None:
    texts = use.texts
    if "-C" in texts:
        _goes(scanner, use)
    if "checkout" in texts and not any(text in _NEW_BRANCH for text in texts):
        operands = use.operands()
        if operands[0] == "checkout" and any(map(_FILE.fullmatch, operands[1:])):
            scanner.find("git_discard", use.what)
    if "branch" in texts and use.has("d", "--delete") and use.has("r", "--remotes"):
        scanner.find("git_discard", use.what)  # of these git asks for nothing to be merged
    if "--prune-tags" in texts:
        scanner.find("git_discard", use.what)
    if not _GIT_WRITES.isdisjoint(texts):
        _git_writes(scanner, use)
    if _GIT_WATCHED.isdisjoint(texts):
        return
    for index in range(1, len(texts)):
        text = texts[index]
        if texts[index - 1] == "-c":
            value = text.partition("=")[2] if "=" in text else text
            if value.startswith("!"):
                scanner.try_text(value[1:], use.depth + 1)
        # What is there already git leaves alone; what is new may be run.
        if (
            text == "clone"
            and len(operands := use.operands()) > 2
            and operands[0] == "clone"
            and scanner.class_of(f"{operands[-1].rstrip('/')}/x") == "persistence"
        ):
            scanner.find("persistence", use.what)
        if text in _GIT_RUNS and index + 1 < len(texts):
            scanner.try_text(" ".join(texts[index + 1 :]), use.depth + 1)


_RELAYS = frozenset("nc ncat netcat socat telnet openssl cat tail".split())


def _shell(scanner: Scanner, use: Use) -> None:
    """Code that cannot be read, and a shell with `-i` between pipes and the network."""
    if use.name in ("pwsh", "powershell") and any(
        text.lower() in ("-encodedcommand", "-enc", "-e") for text in use.texts
    ):
        scanner.find("hidden_code", use.what)
    if (
        use.simple.producers
        and use.has("i")
        and use.texts[1:2] != ["-c"]
        and not programs_of(use.simple.producers).isdisjoint(_RELAYS)
    ):
        scanner.find("remote_shell", use.what)


_SERVER_WIPED = re.compile(
    r"(?:^|\\[rn]|[\s'\"])(?:flushall|flushdb|flush_all|shutdown|slaveof|replicaof)\b",
    re.IGNORECASE,
)
_HTTP_DELETE = re.compile(r"^\s*DELETE\s+\S+\s+HTTP/")


def _netcat(scanner: Scanner, use: Use) -> None:
    """A shell on the other end, and what a server is told in its own words."""
    simple = use.simple
    if programs_of(simple.producers) & SHELLS:
        scanner.find("remote_shell", use.what)
    if simple.producers or simple.bodies:
        said = [text for each in simple.producers[-1:] if each and (text := printed(each))]
        for text in simple.bodies + said:
            if _SERVER_WIPED.search(text):
                scanner.find("database", text)
            if _HTTP_DELETE.search(text):
                scanner.find("remote_delete", text)


STOPPING = frozenset("stop kill restart pause kill-session kill-window kill-pane".split())


def _container(scanner: Scanner, use: Use) -> None:
    """With `docker run -v /:/host`, the host's root in a container; and whatever a list of them tells to stop."""
    if not STOPPING.isdisjoint(use.texts[1:3]) and any(
        word.inner and UNKNOWN in word.text for word in use.words
    ):
        scanner.find("mass_kill", use.what)
    for index, text in enumerate(use.texts[1:], 1):
        if (
            use.texts[index - 1] in ("-v", "--volume") and text.startswith("/:")
        ) or text.startswith(("--volume=/:", "-v/:")):
            scanner.find("system_file", use.what)
        if text == "--privileged" or (text in ("--pid=host",) and "run" in use.texts):
            scanner.find("system_file", use.what)


def _ansible(scanner: Scanner, use: Use) -> None:
    said = use.value("-a", "--args")
    if said and "state=absent" in said:
        scanner.find("recursive_delete", use.what)
    if said:
        scanner.try_text(said, use.depth + 1)


_SERVING = frozenset(["http.server", "SimpleHTTPServer"])


def _serves(scanner: Scanner, use: Use) -> None:
    """A server of files: everybody who reaches the machine reads them."""
    if use.name.startswith("python") and _SERVING.isdisjoint(use.texts):
        return
    if use.name == "php" and not use.has("S"):
        return
    given = use.value("-d", "--directory", "-t", "-r", "--root")
    named = [] if use.name.startswith(("python", "php")) else use.operands()
    for directory in (*scanner.bases, *named, *([] if given is None else [given])):
        if ROOTS.fullmatch(directory.rstrip("/") or "/") and directory not in ("", "*"):
            scanner.find("exfiltration", use.what)


NO_HISTORY = ("HISTFILE=", "HISTSIZE=0")
"""Assignments after which a shell keeps no record."""


def _tracks(scanner: Scanner, use: Use) -> None:
    if any(
        text in ("HISTFILE", "HISTSIZE") or text.startswith(NO_HISTORY) for text in use.texts[1:]
    ):
        scanner.find("tracks", use.what)


_FTP_DELETES = re.compile(
    r"(?:^|[\n;])\s*-?(?:mdelete|mdel|delete|del|rmdir|rm|mrm)\s", re.IGNORECASE
)


_SMB_DELETES = re.compile(r"(?:^|[\n;])[ \t]*(?:deltree|del|rm|rmdir|rd|wdel)\b", re.IGNORECASE)


def _smb(scanner: Scanner, use: Use) -> None:
    said = [use.value("-c", "--command") or "", *use.simple.bodies]
    said += [text for each in use.simple.producers[-1:] if each and (text := printed(each))]
    if any(map(_SMB_DELETES.search, said)):
        scanner.find("remote_delete", use.what)


_OF_SUDO_VALUED = ("-u", "-g", "-h", "-p", "-C", "-T", "-U", "-D", "-R", "-t", "-r")


def _sudo(scanner: Scanner, use: Use) -> None:
    """With -e it edits, as somebody else, whatever is named."""
    _goes(scanner, use)
    before = ""
    for text in use.texts[1:]:
        if text[:1] != "-":
            if before not in _OF_SUDO_VALUED:
                return
        elif text == "--edit" or (
            text[1:2] != "-" and "e" in text and text[:2] not in _OF_SUDO_VALUED
        ):
            scanner.find("system_file", use.what)
            return
        before = text


def _many_in_one(scanner: Scanner, use: Use) -> None:
    """All of coreutils as one program: which of them it is, an option or the first word says."""
    given = use.value("--coreutils-prog", "--coreutils-prog-shebang")
    words = use.texts[1:] if given is None else [given, *use.texts[2:]]
    scanner.try_text(" ".join(words), use.depth + 1)


_BUILT_IN = re.compile(r"(^|[;\n][ \t]*)-(?=[a-z])")


def _sash(scanner: Scanner, use: Use) -> None:
    """A shell of which `-rm` is the builtin."""
    scanner.try_text(_BUILT_IN.sub(r"\1", use.value("-c") or ""), use.depth + 1)


def _ftp(scanner: Scanner, use: Use) -> None:
    said = use.simple.bodies + [
        text for each in use.simple.producers[-1:] if each and (text := printed(each))
    ]
    if any(_FTP_DELETES.search(text + "\n") for text in said):
        scanner.find("remote_delete", use.what)


def _make(scanner: Scanner, use: Use) -> None:
    """Variables on the command line are commands to make; SHELL is the one that runs all others."""
    _goes(scanner, use)
    for text in use.texts[1:]:
        name, sign, value = text.partition("=")
        if sign and name.isidentifier():
            if name == "SHELL" and program_name(value) not in SHELLS:
                scanner.find("hidden_code", use.what)
            scanner.try_text(value, use.depth + 1)


def _truncates(scanner: Scanner, use: Use) -> None:
    for path in use.operands():
        scanner.written(path, use.what)


def _mount(scanner: Scanner, use: Use) -> None:
    target = use.texts[-1]
    if any("remount" in text for text in use.texts) or (
        len(use.operands()) > 1
        and ROOTS.fullmatch(target)
        and not target.startswith(("/mnt", "/media", "/run", "/srv", "/opt"))
    ):
        scanner.find("system_file", use.what)


def _rmdir(scanner: Scanner, use: Use) -> None:
    if any(
        is_delicate(path) or not word.known for path in use.operands() for word in use.words[1:]
    ):
        scanner.find("delete_outside", use.what)


SPECIAL: dict[str, Callable[[Scanner, Use], None]] = {
    **dict.fromkeys(sorted(ENTERING), _enters),
    **dict.fromkeys(_GOING_BY, _goes),
    "rm": _rm,
    "rimraf": _rm,
    "unlink": _rm,
    "grm": _rm,
    "trash": _rm,
    "trash-put": _rm,
    "rmdir": _rmdir,
    "cp": _copy,
    "mv": _copy,
    "ln": _copy,
    "install": _copy,
    "rsync": _copy,
    "scp": _copy,
    "gcp": _copy,
    "gmv": _copy,
    "dd": _dd,
    "tee": _tee,
    "sponge": _tee,
    "touch": _truncates,
    "truncate": _truncates,
    "sed": _sed,
    **dict.fromkeys("awk gawk mawk nawk busybox-awk".split(), _by_awk),
    "sqlite3": _sqlite,
    **dict.fromkeys(_WRITING, _told_to_write),
    "uniq": _last_written("fsw"),
    "split": _last_written("ablnCt"),
    "xxd": _last_written("lscgon"),
    "ffmpeg": _ends_with_file,
    **dict.fromkeys(
        f"sort shuf tree iconv gcc g{_PLUS} cc c{_PLUS} clang clang{_PLUS} ld as nasm gfortran rustc go ghc pandoc xmllint xsltproc gpg gpg2 openssl dot"
        " esbuild protoc objcopy strip age yt-dlp".split(),
        _output,
    ),
    "patch": _patched,
    "cpio": _patched,
    "fallocate": _fallocate,
    "cmake": _cmake,
    "perl": _in_place,
    "ruby": _in_place,
    "gsed": _sed,
    "ex": _editor,
    "ed": _editor,
    "vim": _editor,
    "vi": _editor,
    "nvim": _editor,
    "nano": _editor,
    "emacs": _editor,
    "tar": _archive,
    "bsdtar": _archive,
    "unzip": _archive,
    "zip": _archive,
    **dict.fromkeys("7z 7za 7zz 7zr rar unrar ar gtar star".split(), _archive),
    **dict.fromkeys(
        "gzip gunzip pigz bzip2 bunzip2 pbzip2 xz unxz lzma zstd lz4 lzip lzop brotli compress uncompress".split(),
        _packs,
    ),
    "chmod": _mode,
    "chown": _mode,
    "chgrp": _mode,
    **dict.fromkeys("python python2 python3 php http-server live-server serve".split(), _serves),
    "kill": _kill,
    "pkill": _by_name,
    "killall": _by_name,
    "ssh": _ssh,
    "autossh": _ssh,
    **dict.fromkeys(
        "npx bunx pnpx uvx npm pnpm yarn bun pipx uv deno nix pip pip3 gem".split(), _runs_address
    ),
    "curl": _curl,
    "wget": _curl,
    **dict.fromkeys(
        "aria2c axel fetch http https xh xhs httpie curlie lwp-download".split(), _fetched
    ),
    "aws": _remote_copy,
    "gsutil": _remote_copy,
    "sftp": _ftp,
    "find": _find,
    "gfind": _find,
    "bfs": _find,
    "fd": _find,
    "fdfind": _find,
    "ftp": _ftp,
    "lftp": _ftp,
    "tftp": _ftp,
    "smbclient": _smb,
    "sudo": _sudo,
    "coreutils": _many_in_one,
    "sash": _sash,
    "make": _make,
    "gmake": _make,
    "git": _git,
    **dict.fromkeys(sorted(SHELLS), _shell),
    "nc": _netcat,
    "ncat": _netcat,
    "netcat": _netcat,
    "telnet": _netcat,
    "socat": _netcat,
    "docker": _container,
    "podman": _container,
    "nerdctl": _container,
    "ansible": _ansible,
    "ad-hoc": _ansible,
    "unset": _tracks,
    "export": _tracks,
    "mount": _mount,
}
