"""What is known of simple commands by their programs' names: who sends, decodes, prints."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from duetty.policy.proving.paths import is_secret
from duetty.policy.scanning.printed import printed
from duetty.policy.scanning.reading import UNKNOWN, Simple
from duetty.policy.scanning.wrappers import inner_of
from duetty.policy.scanning.writes import REMOTE

NETWORK = frozenset(
    "curl wget fetch aria2c lynx w3m links http https xh httpie axel nc ncat netcat socat ftp tftp scp sftp rsync ssh telnet aws gsutil".split()
)
SENDERS = frozenset(
    [
        *NETWORK,
        *"dig nslookup host ping mail mailx sendmail mutt swaks openssl s3cmd rclone nslookup wormhole croc gh".split(),
    ]
)
DECODERS = frozenset(
    "base64 base32 basenc xxd rev tr gzip gunzip zcat bzip2 bzcat xz xzcat zstd zstdcat uudecode openssl gpg od hexdump sed awk gawk perl python python3 ruby node php tac cut"
    " fold paste tail head dd iconv uncompress unlz4 lz4 7z unzip bunzip2 brotli strings jq printf".split()
)
INTERPRETERS = re.compile(
    r"(?:python|pypy)[0-9.]*|perl[0-9.]*|ruby[0-9.]*|node|nodejs|php[0-9.]*|lua[0-9.]*|luajit|osascript|tclsh[0-9.]*|wish|expect|Rscript|R|julia|groovy|bun|deno|guile|racket|sbcl|elixir|irb|ghci|scala|swift|jshell|emacs|emacsclient"
)


def program_name(text: str) -> str:
    """The program's own name: without its directory, zsh's `=` and Windows' ending."""
    name = text.rpartition("/")[2] or text
    if name[:1] == "=" and len(name) > 1:
        name = name[1:]
    return name.removesuffix(".exe")


def shown(what: str) -> str:
    """Short, on one line, with nothing a terminal would obey."""
    text = what.replace(UNKNOWN, "…")
    if not text.isprintable():
        text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    return text if len(text) <= 120 else text[:119] + "…"


def programs_of(commands: "Iterable[Simple | None]") -> set[str]:
    names: set[str] = set()
    for each in commands:
        if each is None or not each.words:
            continue
        texts = [word.text for word in each.words]
        names.add(program_name(texts[0]))
        for _ in range(3):  # sudo curl …, timeout 5 curl …
            inner = [
                found for found in inner_of(program_name(texts[0]), texts) if not found.is_text
            ]
            if not inner:
                break
            texts = texts[inner[0].start :]
            names.add(program_name(texts[0]))
    return names


def printed_by_all(commands: "Sequence[Simple]") -> str | None:
    """What a pipeline of one `echo`, `printf` or `cat <<EOF` prints."""
    if len(commands) != 1:
        return None
    only = commands[0]
    if (
        only.words
        and program_name(only.words[0].text) == "cat"
        and len(only.words) == 1
        and only.bodies
    ):
        return "\n".join(only.bodies)
    return printed(only)


def written_by(simple: Simple) -> str | None:
    """What `echo`, `printf` or `cat <<EOF` writes into the file behind it."""
    return printed_by_all(
        [Simple(words=simple.words, bodies=simple.bodies, producers=simple.producers)]
    )


def prints_nothing(simple: Simple) -> bool:
    texts = [word.text for word in simple.words]
    return not texts or texts in (
        [":"],
        ["true"],
        ["cat", "/dev/null"],
        ["echo", "-n"],
        ["echo", "-n", ""],
        ["printf", ""],
    )


_DUMPERS = frozenset(
    "pg_dump pg_dumpall mysqldump mariadb-dump mongodump mongoexport redis-dump slapcat".split()
)
"""Programs that print a whole database: whatever is secret in it is among it."""


def prints_without_end(simple: Simple) -> bool:
    """`yes`, `cat /dev/zero`: a file that takes it fills the disk, and what was in it is gone."""
    texts = [word.text for word in simple.words]
    return texts[:1] == ["yes"] or (
        texts[:1] == ["cat"]
        and not {"/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"}.isdisjoint(texts)
    )


def reads_secrets(simple: Simple) -> bool:
    if not simple.words:
        return False
    name = program_name(simple.words[0].text)
    if name in ("env", "printenv", "set", "declare", "export") and len(simple.words) <= 2:
        return True
    if name in _DUMPERS:
        return True
    if name in ("tar", "zip", "7z") and any(
        word.text in ("~", "/", "~/", "/home", "/etc", "/root") for word in simple.words[1:]
    ):
        return True
    return any(is_secret(word.text) for word in simple.words[1:]) or any(
        sign == "<" and is_secret(target.text) for sign, target in simple.redirects
    )


_UPLOADING = ("-T", "--upload-file", "--post-file", "--body-file")
_IDENTITIES = ("-i", "-F", "-e")
"""Options that name a key or a configuration to use, not to send."""


def uploads_secrets(name: str, texts: Sequence[str]) -> bool:
    """Whether a program that sends is given a secret file to send; `texts` begins with it."""
    pairs = [*pairwise(texts)]
    if name in ("curl", "wget", "http", "xh", "gh"):
        given = [text.rpartition("@")[2].rpartition("=")[2] for text in texts[1:] if "@" in text]
        given += [value for option, value in pairs if option in _UPLOADING]
        given += [
            text.partition("=")[2] for text in texts if text.partition("=")[0] in _UPLOADING[1:]
        ]
        if name == "gh" and "gist" in texts[1:3]:
            given += texts[2:]
        return any(map(is_secret, given))
    if name in ("scp", "rsync", "sftp", "aws", "gsutil", "rclone", "s3cmd", "croc", "wormhole"):
        used = {value for option, value in pairs if option in _IDENTITIES}
        local = [text for text in texts[1:] if not REMOTE.match(text) and text not in used]
        goes_out = name not in ("scp", "rsync") or any(map(REMOTE.match, texts[1:]))
        return goes_out and any(map(is_secret, local))
    return False
