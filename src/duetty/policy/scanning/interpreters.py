"""Code handed to an interpreter, and SQL handed to a client: what of it destroys, as far as it is literal.

Patterns over text, for all languages at once. What only a run would tell is not guessed at.
"""

import re
from collections.abc import Iterator

from duetty.policy.late_pattern import late_pattern
from duetty.policy.proving.paths import is_secret
from duetty.policy.scanning.places import IMPORTANT, ROOTS, Place, deleted_classes, written_class

MAX_CODE = 262_144

_TEXT = r"""(?:[rbuf]{0,2}"((?:[^"\\\n]|\\.)*)"|[rbuf]{0,2}'((?:[^'\\\n]|\\.)*)')"""
_STRING = late_pattern(_TEXT)
_LEAD = r"[\s(]{1,4}(?:[\w.]{1,40}\(\s*){0,2}"
"""From a call's name to its first text: `rmtree(os.path.expanduser("~/x"))`."""

_DELETES = late_pattern(
    r"(?:\b(rmtree|remove_tree|removedirs|rm_rf!?|rm_r|rm_f|remove_entry_secure|remove_dir|rimraf|rmSync|rmdirSync|rmdir|removeSync|RemoveAll|remove_dir_all|deltree|delete-directory|(?<![\w.])rm(?=\())"
    r"|(?:\b(?:os|fs|promises|File|Dir|FileUtils|Deno|fn)\s*\.\s*|\bcall )(?:remove|delete|rm|truncate|rmdir)(?:Sync)?|\b(?:unlink(?:Sync)?|truncateSync|delete-file))"
    rf"{_LEAD}{_TEXT}"
)
_OF_PATH = late_pattern(
    rf"""\w\(\s*{_TEXT}\s*\)\s*\.\s*(unlink|rmdir|deleteDir|deleteRecursively|write_(?:text|bytes)|rename|replace|touch|symlink_to|chmod|open\(\s*["'][wax])"""
)
_HOME = late_pattern(
    r"""(?:rmtree|rm_rf|rmSync|remove_tree)[\s(]{1,3}(?:[^;\n]{0,60}(?:Path\.home\(\)|homedir\(\)|Dir\.home|environ\[.HOME.\]|ENV\[.HOME.\]|\$ENV\{HOME\}|getcwd\(\)|process\.cwd\(\)|Dir\.pwd)\s*\)|["'](?:/|~)["'])"""
)
_SWEEPS = late_pattern(
    r"""(?:glob|walk|listdir|scandir|iterdir|readdirSync|rglob|Dir\.glob|find)[\s(]{1,3}["'](/|~|/\*+|\*+|\.|/(?:etc|home|usr|var|root|boot)[^"']*)["']"""
)
_DELETES_ANY = late_pattern(
    r"\b(?:rmtree|os\.(?:remove|unlink|rmdir)|unlink|rmSync|unlinkSync|rm_rf|File\.delete|FileUtils\.rm)\b"
)
_WRITES = late_pattern(
    rf"""\bopen(?:Sync)?[\s(]+{_TEXT}\s*,\s*(?:mode\s*=\s*)?["'][rbt]*[wax+]"""
    rf"""|\b(?:writeFile|appendFile|file_put_contents|createWriteStream|outputFile|File\.write|IO\.write|truncate|chmod|chown)(?:Sync)?[\s(]+(?:0?o?[0-7]+\s*,\s*)?{_TEXT}"""
    rf"""|\b(?:move|renames?|mv|copy\w*|cp|cp_r|symlink|link)(?:Sync)?[\s(]+[^()\n]{{1,80}}?,\s*{_TEXT}"""
    r"""|\bopen[\s(]+[^;"'\n]{1,40},\s*["']\+?>{1,2}\s*([^"'\s]+)["']()"""
    rf"""|\bopen[\s(]+[^;"'\n]{{1,40}},\s*["']\+?>{{1,2}}(?::[\w:()-]+)?["']\s*,\s*{_TEXT}"""
)
_MOVES = late_pattern(rf"\b(?:move|renames?|mv)(?:Sync)?[\s(]+{_TEXT}")
_EMPTIES = late_pattern(
    r"""open\(\s*["']([^"']+)["']\s*,\s*["']w[bt+]?["']\s*\)(?:\.close\(\)|\.truncate|\s*(?:$|[;\n]))|(?:writeFileSync|file_put_contents|File\.write)\(\s*["']([^"']+)["']\s*,\s*(?:""|'')"""
)
_STARTS = late_pattern(
    r"\b(?:system|popen\d?|getoutput|getstatusoutput|run|call|check_call|check_output|Popen|exec[lv]?[pe]{0,2}|execSync|execFile(?:Sync)?|spawn(?:Sync|lp?e?|vp?e?)?|shell_exec|passthru|proc_open|capture[23]e?|Command|do shell script|shell-command|os\.execute|execute|os:cmd|posix_spawnp?|shell|sh)"
    r"\s*[\s(\[{]{1,4}(?:[\w.]{1,30}\(\s*|shell\s*=\s*\w+,\s*)?(?=[rbuf]{0,2}[\"'`])"
)
_BACKQUOTED = late_pattern(
    r"""`([^`\n]+)`|(?:%x|qx|(?:system|exec)[\s(]+qw)\s*(?:\(([^)\n]*)\)|\{([^}\n]*)\}|\[([^\]\n]*)\])|\bopen[\s(]+[^;"'\n]{1,40},\s*["']\|([^"'\n]+)"""
)
_AWK_PIPES = late_pattern(r'"((?:[^"\\]|\\.)*)"\s*\|&?\s*getline|\|&?\s*"((?:[^"\\]|\\.)*)"')
_JOINED = late_pattern(r"""(["'])(?:\s*(?:\+|\.\.?)\s*|[ \t]+)\1""")
"""Between two texts that are put together: `"r" + "m"`."""

_COMMA = late_pattern(r"\s*,\s*\[?\s*")
_HOLES = late_pattern(r"[$#]?\{[^{}]*\}|%[sdr]|%\(\w+\)s|\$\w+")
"""Where a language puts a value into a text."""

_ENCODED = r"(?:b64decode|b64_decode|base64_decode|decode_base64|decode64|fromhex|unhexlify|atob|Buffer\.from|fromCharCode|hex2bin|gzinflate|str_rot13|rot_?13|marshal|zlib\.decompress|\[::-1\]|strrev|\breverse\b|\bpack\s*\(|\bchr\s*\(|codecs\.decode|\\x[0-9a-f]{2}\\x|\.join\()"
_FETCHED = r"(?:urlopen|requests\.get|urllib|Net::HTTP|fetch\(|https?\.get|open-uri|LWP|URI\.open|file_get_contents\(\s*.https?:|(?:\w{1,30}\([^;\n()]{0,60}?|`\s*)\b(?:curl|wget)\b)"
_RUNS = r"(?<![.\w])(?:exec|eval|system|os\.system|os\.popen|subprocess\.\w+|popen|execSync|Function|instance_eval|compile|__import__|getattr|load(?:string)?)\s*[(\s]"
_DECODES = late_pattern(_ENCODED, re.IGNORECASE)
_FETCHES = late_pattern(_FETCHED, re.IGNORECASE)
_HIDDEN = late_pattern(rf"{_RUNS}[^;\n]{{0,80}}?{_ENCODED}", re.IGNORECASE)
_REMOTE = late_pattern(rf"{_RUNS}[^;\n]{{0,80}}?{_FETCHED}", re.IGNORECASE)
_CONTROL = late_pattern(
    r"dup2|pty\.spawn|/inet/(?:tcp|udp)|\bsh\s+<&|(?:exec|popen)[\s(]+[\"']?(?:ba)?sh[\"']|IO\.popen\(\w+,|/bin/(?:ba|z|da)?sh|[\"'](?:ba|z)?sh[\"']\s*,\s*[\"']-i|cmd\.exe"
)
_SOCKET = late_pattern(
    r"socket\.socket|\.connect\(|TCPSocket|fsockopen|net\.connect|net\.Socket|/inet/tcp|/dev/tcp|IO::Socket|use Socket"
)
_FORKS = late_pattern(
    r"\bloop\s*(?:do\b|\{)\s*fork\b|fork\s*(?:\(\s*\))?\s*while|while\s*(?:\(?\s*(?:1|True|true)\s*\)?)\s*[:{]?\s*(?:os\.)?fork"
)
_ENDS_ALL = late_pattern(
    r"""os\.kill\(\s*-?1\s*,|\bkill[\s(]+["']?-?\w+["']?\s*(?:,|=>)\s*-1\b|\b(?:process\s*\.\s*|posix_)kill\s*\(\s*-1\b|to (?:shut down|restart|log out)\b"""
)
_SENDS = late_pattern(
    r"\.(?:post|put|sendall|request|upload\w*)\(|urlopen\(|fetch\(|curl_exec|http_build"
)
_READS = late_pattern(
    rf"\b(?:open|read_text|readFileSync|file_get_contents|File\.read|Path)[\s(]+{_TEXT}"
)
_EXECUTES_SQL = late_pattern(
    rf"""\b(?:execute(?:script|many)?|query|exec|run|sql)\(\s*(?:[rbuf]{{0,2}}\"\"\"(.*?)\"\"\"|{_TEXT})""",
    re.DOTALL,
)

_SQL = late_pattern(
    r"""\bdrop\s+(?:database|table|schema|user|role|index|view|materialized|keyspace|collection|tablespace|owned|column|type|function|sequence|trigger|extension|graph|policy|stream|bucket|measurement|series)(?:[\s`\[/]+\S|"\w)
      | \btruncate\s+(?:table\s+)?["`\w.] | \bdelete\s+from\s+["`\w.\[\]]+\s*(?:;|$|"|'|\)|--|returning\b|limit\b|order\s+by\b|using\b(?!.*\bwhere\b)|where\s+(?:1\s*=\s*1|true)) | \bupdate\s+["`\w.]+\s+set\s+(?!.*\bwhere\b)
      | \balter\s+table\b.*\bdrop\b | \bdetach\s+delete\b | \bdelete\s+n\b | flush(?:all|db)\b | dropdatabase | \.drop(?:user|role|all(?:users|roles\w*)|index)?\( | dropcollection | dropindexes | delete(?:many|_many)\(\s*\{\s*\} | \.remove\(\s*\{?\s*\}?\s*\)
      | \.(?:delete|destroy)_all\b | (?:::|->)(?:truncate\(|forcedelete\() | (?:::query\(\)|\btable\([^)]*\))->delete\(\) | \bschema::drop | \.all\(\)\.delete\(\) | objects\.[\w.()]*\.delete\(\)
      | \bpurge\s+(?:binary|master|table) | \breset\s+(?:master|slave) | \bshutdown\s*(?:;|$) | \bpg_terminate_backend | \bxp_cmdshell | \bcopy\b.*\bto\s+program | \\!\s*rm | \.shell\s+rm | \binto\s+(?:out|dump)file""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_IF_EXISTS = late_pattern(r"\bdrop\s+(?:table|view|index|trigger)\s+if\s+exists\b", re.IGNORECASE)


_SQL_VALUE = late_pattern(r"(?:\bvalues\s*\(|\blike\b|,)\s*'(?:[^']|'')*'", re.IGNORECASE)
"""What is only stored or looked for."""


def sql_is_destructive(text: str) -> bool:
    return len(text) < 65_536 and _SQL.search(_SQL_VALUE.sub("", text)) is not None


def _last(found: "re.Match[str]") -> str:
    return next((part for part in found.groups()[::-1] if part), "")


def _deleted(code: str, place: Place) -> Iterator[tuple[str, str]]:
    for found in _DELETES.finditer(code):
        path = found[2] or found[3] or ""
        for name in deleted_classes(place, path, recursive=found[1] is not None):
            yield name, found[0]
    if (found := _HOME.search(code)) is not None:
        yield "whole_system_delete", found[0]
    if _DELETES_ANY.search(code) and (found := _SWEEPS.search(code)) is not None:
        yield "recursive_delete", found[0]


def _written(code: str, place: Place) -> Iterator[tuple[str, str]]:
    for found in _OF_PATH.finditer(code):
        path = found[1] or found[2] or ""
        deletes = found[3] in ("unlink", "rmdir", "deleteDir", "deleteRecursively")
        for name in deleted_classes(place, path, recursive=False) if deletes else ():
            yield name, found[0]
        if name := written_class(place, path):
            yield name, found[0]
    for found in _WRITES.finditer(code):
        if name := written_class(place, _last(found)):
            yield name, found[0]
    for found in _MOVES.finditer(code):
        path = _last(found)
        if path[:1] in ("/", "~") and (ROOTS.fullmatch(path) or written_class(place, path)):
            yield "system_file", found[0]
    for found in _EMPTIES.finditer(code):
        if IMPORTANT.search(_last(found)):
            yield "overwrite", found[0]


def _code_findings(code: str) -> Iterator[tuple[str, str]]:
    if _FETCHES.search(code) and (found := _REMOTE.search(code)) is not None:
        yield "remote_code", found[0]
    if _DECODES.search(code) and (found := _HIDDEN.search(code)) is not None:
        yield "hidden_code", found[0]
    if _SOCKET.search(code) and (found := _CONTROL.search(code)) is not None:
        yield "remote_shell", found[0]
    if (found := _FORKS.search(code)) is not None:
        yield "fork_bomb", found[0]
    if (found := _ENDS_ALL.search(code)) is not None:
        yield "shutdown", found[0]
    if _SENDS.search(code):
        for found in _READS.finditer(code):
            if is_secret(_last(found)):
                yield "exfiltration", found[0]
    for found in _EXECUTES_SQL.finditer(code):
        if sql_is_destructive(_IF_EXISTS.sub("", _last(found))):
            yield "database", found[0]


def code_findings(code: str, place: Place) -> Iterator[tuple[str, str]]:
    """Classes of the catalogue in this code, with the words that made us think of them."""
    code = _JOINED.sub("", code)
    yield from _deleted(code, place)
    yield from _written(code, place)
    yield from _code_findings(code)


def started_lines(code: str, *, backquotes: bool) -> Iterator[str]:
    """Shell lines that the code starts, where they are written in it.

    A value that is put into one stands as an ordinary word: what it is, only a run would tell.
    """
    code = _JOINED.sub("", code)
    for call in _STARTS.finditer(code):
        at, words = call.end(), list[str]()
        is_list = "[" in call[0]
        while (found := _STRING.match(code, at)) is not None:
            text = (found[1] if found[1] is not None else found[2]).replace("\\n", "\n")
            words.append(re.sub(r"\\(.)", r"\1", text))
            comma = _COMMA.match(code, found.end())
            if comma is None:
                break
            at = comma.end()
        if words:
            filled = [_HOLES.sub("x", word) for word in words]
            is_words = is_list or (len(filled) > 1 and " " not in filled[0])
            yield " ".join(map(_quoted, filled)) if is_words else filled[0]
    if backquotes:
        for found in _BACKQUOTED.finditer(code):
            yield _HOLES.sub("x", _last(found))
    for found in _AWK_PIPES.finditer(code):
        yield found[1] or found[2]


def _quoted(word: str) -> str:
    return (
        word
        if word.replace("-", "").replace("/", "").isalnum()
        else "'" + word.replace("'", "'\"'\"'") + "'"
    )
