"""Code handed to an interpreter on the command line, and SQL handed to a client.

Patterns over text: they find the plain cases and say when code builds code, which is
then as good as unreadable.
"""

import re
from typing import NamedTuple

from duetty.policy.proving.paths import is_secret
from duetty.policy.scanning.reading import UNKNOWN
from duetty.policy.scanning.writes import IMPORTANT, ROOTS, written_class


class CodeFindings(NamedTuple):
    findings: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    """String literals that the code hands to a shell."""
    unreadable: str | None


_DELETES = re.compile(
    r"rmtree|removedirs|os\s*\.\s*(?:remove|unlink|rmdir|truncate)|\.unlink\(|\.rmdir\(|rmSync|rmdirSync|unlinkSync|truncateSync|(?:fs|promises)\s*\.\s*(?:rm|rmdir|unlink)\b|rm_rf|rm_r\b|remove_entry|remove_dir|"
    r"FileUtils\s*\.\s*(?:rm|remove)|File\s*\.\s*(?:delete|unlink|truncate)|Dir\s*\.\s*(?:rmdir|delete|unlink)|rimraf|remove_tree|\bunlink\b|\brmdir\b|os\.remove|deltree|Remove-Item|removeItem\(|removeSync|fs\.rm|Deno\.remove|delete-file|delete-directory|\bfile\s+delete\b|\brm\(|os\.Remove|RemoveAll|remove_dir_all|removeSync|deleteDir\(|deleteRecursively|FileUtils\.delete|Files\.delete|\.delete\(\)|\bunlink\(|vim\.fn\.delete|\bdelete\([\"'][^)]*[\"']r?f?[\"']?\)"
)
_SHELLS_OUT = re.compile(
    r"system|subprocess|popen|\bexec[lv]?[pe]*\b|spawn|child_process|execSync|execFile|shell_exec|passthru|proc_open|qx|%x|`|\bsh\b|Runtime|Process|do shell script|getline|\bpipe\b|\|\s*\"|Deno\.run|Deno\.Command|Bun\.\$|IO\.|Open3|invoke|os\.exec|\bcmd\b"
)
_BUILDS = re.compile(
    r"b64decode|b64_decode|base64|decode\(|decode64|fromhex|unhexlify|\bexec\s*\(|\beval\b|\bcompile\s*\(|__import__|getattr|globals\(|importlib|builtins|atob|Buffer\.from|fromCharCode|\bpack\s*\(|\bunpack|codecs|zlib|marshal|rot_?13|\[::-1\]|reversed\(|chr\s*\(|\bchr\b|\.reverse|str_rot13|strrev|hex2bin|gzinflate|Function\(|vm\.run|instance_eval|\bsend\(|sprintf|\\x[0-9a-f]{2}|\\[0-7]{3}|urlopen|requests\.|urllib|Net::HTTP|fetch\(|https?\.get|open-uri|LWP",
    re.IGNORECASE,
)
_REACHES = re.compile(
    r"getattr\s*\(|__import__|globals\(\)|\beval\s*\(|\bexec\s*\(|\bFunction\(|__builtins__"
)
"""Ways to a function by a name that is made at run time."""

_DECODES = re.compile(
    r"b64decode|b64_decode|base64_decode|decode_base64|decode64|fromhex|unhexlify|atob|fromCharCode|hex2bin|gzinflate|str_rot13|rot_?13|marshal|zlib\.decompress|\[::-1\]|strrev|chr\(",
    re.IGNORECASE,
)
_EVALUATES = re.compile(
    r"\bexec\s*\(|\beval\b|\bcompile\s*\(|\bFunction\(|getattr\s*\(\s*__import__"
)
_STOPS = re.compile(
    r"\bto (?:shut down|restart|log out)\b|win32api\.InitiateSystemShutdown|reboot\("
)
_REMOTE = re.compile(
    r"urlopen|requests\.|urllib|Net::HTTP|fetch\(|https?\.get|open-uri|LWP|\b(?:curl|wget)\b|file_get_contents\(\s*.https?:|curl_exec",
    re.IGNORECASE,
)
_RUNS = re.compile(
    r"\bexec\s*\(|\beval\b|\bcompile\s*\(|system|subprocess|popen|Function\(|vm\.run|instance_eval|__import__|\bload(?:string)?\s*\("
)
_SOCKET = re.compile(
    r"socket|TCPSocket|fsockopen|net\.connect|net\.Socket|/inet/tcp|/dev/tcp", re.IGNORECASE
)
_CONTROL = re.compile(
    r"dup2|pty|subprocess|/bin/(?:ba|z|da)?sh|\bsh -i|exec|spawn|system|popen|getline",
    re.IGNORECASE,
)
_KILLS = re.compile(
    r"os\.kill\(\s*-?1\b|\bloop\s*(?:do\b|\{)\s*fork\b|fork\s*(?:\(\s*\))?\s*while|while\s*(?:\(?\s*(?:1|True|true)\s*\)?)\s*[:{]?\s*(?:os\.)?fork|fork\(\)\s*while|os\.fork\(\)"
)
_OPENS = re.compile(
    r"""open\(\s*["'](/dev/(?!null|tty|std|u?random|zero)[^"']+|/etc/[^"']+|~?/?[^"']*\.(?:bashrc|zshrc|profile|ssh/[^"']*))["']\s*,\s*["'][wa+]|write_?(?:file|text|bytes)?(?:sync)?\(\s*["'](/dev/(?!null|tty|std)[^"']+|/etc/[^"']+)["']""",
    re.IGNORECASE,
)

_EMPTIES = re.compile(
    r"""open\(\s*["']([^"']+)["']\s*,\s*["']w|Path\(\s*["']([^"']+)["']\s*\)\s*\.\s*write_(?:text|bytes)\(|(?:writeFile(?:Sync)?|file_put_contents|File\.write)\(\s*["']([^"']+)["']"""
)
_PATH = r"""["']([/~][^"']*)["']"""
_WRITERS = re.compile(
    # Path("/etc/x").write_text(…), and by whatever name it was imported
    rf"""\w\(\s*{_PATH}\s*\)\s*\.\s*(?:write_(?:text|bytes)|rename|replace|chmod|symlink_to|hardlink_to|touch|open\(\s*["'][wax])"""
    # open("/etc/x", "w"), and what else writes its first path
    rf"""|\bopen(?:Sync)?[\s(]+{_PATH}\s*,\s*(?:mode\s*=\s*)?["'][rbt]*[wax+]"""
    rf"""|\b(?:write|writeFile|appendFile|write_file|file_put_contents|createWriteStream|outputFile|truncate|chmod|chown|lchown)(?:Sync)?[\s(]+(?:0?o?[0-7]+\s*,\s*)?{_PATH}"""
    # move, rename: what is at the one place goes, what is at the other is replaced
    rf"""|\b(?:move|renames?|mv|moveFile)(?:Sync)?[\s(]+{_PATH}"""
    rf"""|\b(?:move|renames?|mv|moveFile|copy\w*|cp|cp_r|symlink|link|linkto)(?:Sync)?[\s(]+[^()]{{1,80}}?,\s*{_PATH}"""
    # perl: open F, ">/etc/x" and open(F, ">", "/etc/x")
    r"""|\bopen[\s(]+[^;"']{1,40},\s*["']\+?[<>]{0,1}>\s*([/~][^"']*)["']"""
    rf"""|\bopen[\s(]+[^;"']{{1,40}},\s*["']\+?[<>]{{0,1}}[<>](?::[\w:()-]+)?["']\s*,\s*{_PATH}"""
)
"""Calls that write to a path which is spelled out; `move` and its like take it away as well."""

_MOVERS = re.compile(r"\b(?:move|renames?|mv|moveFile)(?:Sync)?[\s(]")

_ENDS_ALL = re.compile(
    r"""\bkill[\s(]+["']?-?\w+["']?\s*(?:,|=>)\s*-1\b|\b(?:process\s*\.\s*|posix_)kill\s*\(\s*-1\b"""
)
"""A signal to every process there is."""

_STRINGS = re.compile(
    r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|`([^`]*)`|[qQ]\{([^}]*)\}|(?:%x|qx)[\[({/]([^\])}/]*)',
    re.DOTALL,
)

_HOLES = re.compile(r"[$#]?\{[^{}]*\}|%[sdr]|%\(\w+\)s")
"""Where a language puts a value into a text."""

_SQL = re.compile(
    r"""\bdrop\s+(?:database|table|schema|user|role|index|view|materialized|keyspace|collection|tablespace|owned|column|type|function|sequence|trigger|extension|graph|policy|stream|bucket|measurement|series)\b
      | \btruncate\s+(?:table\s+)?["`\w.] | \bdelete\s+from\s+["`\w.\[\]]+\s*(?:;|$|"|'|\)|--|returning\b|limit\b|order\s+by\b|using\b(?!.*\bwhere\b)|where\s+(?:1\s*=\s*1|true)) | \bupdate\s+["`\w.]+\s+set\s+(?!.*\bwhere\b)
      | \balter\s+table\b.*\bdrop\b | \bdetach\s+delete\b | \bdelete\s+n\b | flush(?:all|db)\b | dropdatabase | \.drop(?:user|role|all(?:users|roles\w*)|index)?\( | dropcollection | dropindexes | delete(?:many|_many)\(\s*\{\s*\} | \.remove\(\s*\{?\s*\}?\s*\)
      | \.(?:delete|destroy)_all\b | (?:::|->)(?:truncate\(|forcedelete\() | (?:::query\(\)|\btable\([^)]*\))->delete\(\) | \bschema::drop | \.all\(\)\.delete\(\) | objects\.[\w.()]*\.delete\(\)
      | \bpurge\s+(?:binary|master|table) | \breset\s+(?:master|slave) | \bshutdown\s*(?:;|$) | \bpg_terminate_backend | \bxp_cmdshell | \bcopy\b.*\bto\s+program | \\!\s*rm | \.shell\s+rm | \binto\s+(?:out|dump)file""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def sql_is_destructive(text: str) -> bool:
    return len(text) < 65_536 and _SQL.search(text) is not None


def _texts_in(code: str) -> list[str]:
    """The string literals."""
    return [
        next((part for part in found.groups() if part is not None), "")
        for found in _STRINGS.finditer(code)
    ]


def code_findings(code: str) -> CodeFindings:
    findings: list[tuple[str, str]] = []
    shown = code[:100]
    if _DELETES.search(code):
        findings.append(("recursive_delete", shown))
    if _SOCKET.search(code) and _CONTROL.search(code):
        findings.append(("remote_shell", shown))
    # The cheaper half of a condition stands first: these run over all the code.
    runs = _RUNS.search(code) is not None
    if runs and _REMOTE.search(code):
        findings.append(("remote_code", shown))
    if _REMOTE.search(code) and any(map(is_secret, _texts_in(code))):
        findings.append(("exfiltration", shown))
    if _KILLS.search(code):
        findings.append(("fork_bomb", shown))
    if opened := _OPENS.search(code):
        path = opened[1] or opened[2]
        findings.append(("device_write" if path.startswith("/dev/") else "system_file", shown))
    if (emptied := _EMPTIES.search(code)) and IMPORTANT.search(emptied[emptied.lastindex or 0]):
        findings.append(("overwrite", shown))
    for found in _WRITERS.finditer(code):
        path = found[found.lastindex or 0]
        name = written_class(path)
        if name is None and ROOTS.fullmatch(path) and _MOVERS.match(found[0]):
            name = "system_file"
        if name is not None:
            findings.append((name, shown))
            break
    if _STOPS.search(code) or _ENDS_ALL.search(code):
        findings.append(("shutdown", shown))
    if runs and _DECODES.search(code):
        findings.append(("hidden_code", shown))
    if sql_is_destructive(code):
        findings.append(("database", shown))
    if _EVALUATES.search(code) and _BUILDS.search(code):
        findings.append(("hidden_code", shown))
    commands: list[str] = []
    unreadable = None
    shells_out = _SHELLS_OUT.search(code) is not None
    if shells_out:
        strings = _texts_in(code)
        joined = " ".join(strings)
        holes = (_HOLES.sub(UNKNOWN, each) for each in strings)
        # `"rm " $1`, `["rm", "-rf", d]`: what is put in or behind is not known.
        open_ended = [f"{each}{UNKNOWN}" if each[-1:].isspace() else each for each in holes]
        commands = [*strings, joined, *open_ended, f"{joined} {UNKNOWN}"]
    if _REACHES.search(code) or ((runs or shells_out) and _BUILDS.search(code)):
        unreadable = "code that makes code"
    return CodeFindings(tuple(findings), tuple(commands), unreadable)
