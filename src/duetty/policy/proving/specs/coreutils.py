"""Read-only uses of the everyday programs: files, text, the machine, the shell's own.

Left out on purpose, among others: what writes (`-o`, `--output`, a second operand of
`uniq` and `xxd`), what runs programs (`sort --compress-program`, `find -exec`), what
never ends (`tail -f`, `yes`), what shows the environment, and every interpreter.
"""

import re
from collections.abc import Callable, Sequence

from duetty.policy.late_pattern import late_pattern
from duetty.policy.proving.paths import (
    LEFT_OUT,
    LEFT_OUT_COPIES,
    LEFT_OUT_DIRECTORIES,
    content_problem,
    is_secret,
    search_problem,
)
from duetty.policy.proving.recogniser import Glob
from duetty.policy.proving.specs.spec import Spec, Use, spec

_NUMBER = late_pattern(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_PRINTED_TEXT = frozenset("sbqc")
_PRINTED = _PRINTED_TEXT | frozenset("diuoxXeEfgG")
_CONVERSION = r"%[-+ 0#]*(?:[1-9][0-9]*)?(?:\.[0-9]*)?"
_FORMAT = late_pattern(rf"(?:[^%]|%%|{_CONVERSION}[a-zA-Z])*")
"""Nothing but these: what is left (`%1$d`, `%'n`, `%*d`) some shell knows, and we do not."""
_LETTERS = late_pattern(rf"%%|{_CONVERSION}([a-zA-Z])")

_ESCAPES = late_pattern(r"\\[abceEfvxuU0-9]")
_CONTROL = "prints control characters"


def glob_problem(words: Sequence[str]) -> str | None:
    """For programs of which each word counts by its place."""
    if any(type(word) is Glob for word in words):
        return "a glob may be more words than one"
    return None


def echo_problem(words: tuple[str, ...]) -> str | None:
    r"""Some shells turn `\e` into an escape even without `-e`; a terminal would obey it."""
    if any(_ESCAPES.search(word) for word in words):
        return _CONTROL
    return None


def printf_problem(words: tuple[str, ...]) -> str | None:
    """`%n` and `-v` assign, and zsh computes the arguments of `%d`: only text and plain numbers."""
    if not words or words[0].startswith("-"):
        return "printf that does more than print"
    if why := glob_problem(words):
        return why
    letters = [letter for letter in _LETTERS.findall(words[0]) if letter]
    if not _FORMAT.fullmatch(words[0]) or not set(letters) <= _PRINTED:
        return "a printf conversion that does more than print"
    # The format is used again while words remain.
    if any(
        letters[number % len(letters)] not in _PRINTED_TEXT and not _NUMBER.fullmatch(word)
        for number, word in enumerate(words[1:] if letters else ())
    ):
        return "a printf number that a shell may compute"
    return echo_problem(words)


_UNARY = frozenset("-e -f -d -r -w -x -s -L -h -n -z -b -c -p -S -k -g -u -O -G".split())
_BINARY_TEXT = frozenset(["=", "==", "!=", "-nt", "-ot", "-ef"])
_BINARY_NUMBER = frozenset(["-eq", "-ne", "-lt", "-le", "-gt", "-ge"])


def test_problem(words: tuple[str, ...]) -> str | None:
    """`test` and `[`: `-v` looks into an array subscript, and zsh computes numbers."""
    if why := glob_problem(words):
        return why
    if words[:1] == ("!",):
        words = words[1:]
    match words:
        case (_,) | ():
            return None
        case (operator, _) if operator in _UNARY:
            return None
        case (_, operator, _) if operator in _BINARY_TEXT:
            return None
        case (left, operator, right) if operator in _BINARY_NUMBER:
            if _NUMBER.fullmatch(left) and _NUMBER.fullmatch(right):
                return None
            return "a comparison that a shell may compute"
        case _:
            return "a test that is not known to only look"


def _date(use: Use) -> str | None:
    if use.operands and not use.operands[0].startswith("+"):
        return "an operand of date sets the clock"
    return None


_TR_PRINTS = late_pattern(r"\\(?!0{1,3}(?![0-7]))[0-7abfv]|(?:\\[0-7nrt]+|[\t\n])-|[^\t\n -~]")


def _tr(use: Use) -> str | None:
    """What stands second is printed; NUL between names is for `xargs -0` and its like.

    From a tab to a letter there are control characters, and of a letter beyond ASCII its bytes count.
    """
    return _CONTROL if any(map(_TR_PRINTS.search, use.operands[1:])) else None


def _escapes(use: Use) -> str | None:
    """For programs of which the named options know escapes as `printf` does."""
    if any(
        name in ("--printf", "-e", "-d", "--delimiters") and _ESCAPES.search(value or "")
        for name, value in use.options
    ):
        return _CONTROL
    return None


def binutils_problem(use: Use) -> str | None:
    """A word `@FILE` stands for options that are in the file, and some load a plugin."""
    given = (*use.operands, *(value for _, value in use.options if value is not None))
    return "options out of a file" if any(word.startswith("@") for word in given) else None


_SLEEP = late_pattern(r"[0-9]{1,4}(?:\.[0-9]{1,9})?[sm]?")


def _sleep(use: Use) -> str | None:
    return None if all(map(_SLEEP.fullmatch, use.operands)) else "sleep without an end in sight"


_SED_ADDRESS = r"(?:[0-9]+(?:~[0-9]+)?|\$|/[^/\\\n;{}]+/)"
_SED_SCRIPT = late_pattern(
    rf"(?:{_SED_ADDRESS}(?:,(?:{_SED_ADDRESS}|\+[0-9]+))?!?)?[pdq=]"
    r"|(?:[0-9]+(?:,[0-9]+)?)?s(?P<mark>[/|,#:@])(?:(?!(?P=mark))[^\n\\]|\\[^\n])*(?P=mark)"
    r"(?:(?!(?P=mark))[^\n\\]|\\[^\n])*(?P=mark)[gpIi0-9]*"
)


_SED_ESCAPES = late_pattern(r"\\[acdfovx]")


def _sed(use: Use) -> str | None:
    """Only printing, deleting and replacing on the way out; no `e`, `w`, `r`, files or blocks."""
    scripts = [value or "" for name, value in use.options if name in ("-e", "--expression")]
    paths = use.operands
    if not scripts:
        if not use.operands:
            return "sed without a script"
        scripts, paths = [use.operands[0]], use.operands[1:]
    if why := glob_problem(scripts):
        return why
    for script in scripts:
        if _SED_ESCAPES.search(script):
            return _CONTROL
        for part in script.split(";") if "s" not in script else [script]:
            if not _SED_SCRIPT.fullmatch(part.strip(" ")):
                return "a sed script that is not known to only print"
    return next((why for path in paths if (why := content_problem(path, use.place))), None)


_FIND_TESTS = frozenset(
    """-name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype -type -xtype -size -mtime
    -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -newermt -perm -user -group -uid -gid -links -inum -samefile
    -maxdepth -mindepth -fstype -used -printf -context""".split()
)
_FIND_FLAGS = frozenset(
    """-print -print0 -ls -prune -quit -true -false -depth -xdev -mount -empty -readable -writable -executable -nouser
    -nogroup -daystart -follow -noleaf -not -and -or -a -o ! , ( ) -H -L -P -noignore_readdir_race
    -ignore_readdir_race -nowarn -warn""".split()
)


_NEWER = late_pattern(r"-newer[aBcm][aBcmt]")
_FIND_NAMES = frozenset("-name -iname -path -ipath -wholename -iwholename -lname -ilname".split())


def find_problem(words: tuple[str, ...]) -> str | None:
    """Every word of the expression is known: tests, and actions that print names.

    Names are shown whatever they are, but a search for names of keys means their content.
    """
    remaining = iter(words)
    in_paths = True
    before = ""
    for word in remaining:
        if in_paths and word[:1] not in ("-", "(", "!"):
            continue
        if type(word) is Glob:
            return "a glob may be more words than one"
        if word in _FIND_FLAGS:
            in_paths = in_paths and word in ("-H", "-L", "-P")
        elif word in _FIND_TESTS or _NEWER.fullmatch(word):
            in_paths = False
            value = next(remaining, None)
            if value is None:
                return f"{word} needs a value"
            if type(value) is Glob:
                return "a glob may be more words than one"
            if word == "-printf" and _ESCAPES.search(value):
                return _CONTROL
            if word in _FIND_NAMES and before not in ("!", "-not") and is_secret(value):
                return f"find {word} {value} looks for secrets"
        else:
            return f"find {word} is not known to only print names"
        before = word
    return None


_JQ_TOKEN = late_pattern(
    r"""\s+ | "(?:[^"\\]|\\[^(])*" | \.\.(?!\.) | \.?\[ | \] | \.[A-Za-z_][A-Za-z0-9_]* | \. | [|,:?{}()+*/%<>=!-] | [0-9]+
      | (?P<name>[a-z_@][A-Za-z0-9_]*) """,
    re.VERBOSE,
)
_JQ_KEY = late_pattern(r"\s*[:,}]")
_JQ_NAMES = frozenset(
    """and or not if then elif else end as reduce true false null keys keys_unsorted length map map_values select
    sort sort_by group_by unique unique_by min max min_by max_by add any all range floor sqrt to_entries from_entries
    with_entries has in inside contains startswith endswith ltrimstr rtrimstr split join ascii_downcase
    ascii_upcase test match capture scan sub gsub tostring tonumber type empty first last nth limit flatten reverse
    index rindex indices tojson fromjson paths leaf_paths values del explode recurse abs
    arrays objects strings numbers booleans nulls iterables scalars @csv @tsv @json @text @html @uri @sh @base64
    todate fromdate""".split()
)


def _jq(use: Use) -> str | None:
    """A filter of paths and pure functions: none that reads the environment, a file or a module."""
    if not use.operands:
        return None
    position = 0
    form = use.operands[0]
    if "\\u" in form:
        return _CONTROL
    opened: list[str] = []
    before = ""
    while position < len(form):
        token = _JQ_TOKEN.match(form, position)
        if token is None:
            return "a jq filter that is not known to only select"
        text = token[0].strip()
        # Only in an object of its own, and before what follows a key: `{a: if . then 1, env end}` has none.
        is_key = opened[-1:] == ["{"] and before in ("{", ",") and _JQ_KEY.match(form, token.end())
        if token["name"] and not is_key and text not in _JQ_NAMES:
            return "a jq filter that is not known to only select"
        if text in ("{", "(", "[", ".[") or (text == "if" and not is_key):
            opened.append(text)
        elif (text in ("}", ")", "]") or (text == "end" and not is_key)) and opened:
            opened.pop()
        before = text or before
        position = token.end()
    return None


_PS_LETTERS = late_pattern(r"[axufjlvwrhT]+")
_PS_WHO = late_pattern(
    r"[0-9]{1,9}(?:,[0-9]{1,9})*|root|[a-jlmnrsuvwx]*[bdiyz][a-z0-9_-]*|(?:pts/|tty)[0-9]+"
)
_PS_SHAPES = frozenset(["-H", "-L", "-T", "-m", "--forest"])
_PS_FORMATS = frozenset(["-f", "-F", "-l", "-j", "-y", "-c", "-M"])
"""Threads and trees, of which two do not go together, and formats, which do not with one's own."""


def _ps(use: Use) -> str | None:
    """BSD letters come without a dash; `e` among them shows environments.

    procps reads all words again as BSD letters, dash or not, when it cannot make sense of them
    otherwise: a user it does not know (`-uxe`), two formats (`-H -Te`, `-ef -o args`). So a name is
    one that holds a letter which is none of those, before any that would take the rest for its value.
    """
    if not all(map(_PS_LETTERS.fullmatch, use.operands)):
        return "ps with an operand that may show environments"
    for name, value in use.options:
        if value is None or name in ("-o", "-C", "--sort"):
            if value == "" or "env" in (value or ""):
                return "ps that shows environments"
        elif not _PS_WHO.fullmatch(value):
            return f"{value!r} may be letters to ps, of which one shows environments"
    given = {name for name, _ in use.options}
    if "-e" in given and (
        use.operands
        or len(_PS_SHAPES & given) > 1
        or ("-o" in given and not _PS_FORMATS.isdisjoint(given))
    ):
        return "ps that may read -e as showing environments"
    return None


def _zcat(use: Use) -> str | None:
    """What is packed is as secret as its name without the end says."""
    unpacked = (type(path)(path.removesuffix(".gz")) for path in use.operands)
    return next((why for path in unpacked if (why := content_problem(path, use.place))), None)


def _ulimit(use: Use) -> str | None:
    return "a new limit" if use.operands else None


_SUM = (
    "-bctwz --binary --text --zero --tag --check --ignore-missing --quiet --status --strict --warn"
)

_LS = (
    "-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -I:text -w:count -T:count --all --almost-all --author --escape"
    " --block-size=code --ignore-backups --color?code --directory --dired --classify?code --file-type --format=code"
    " --full-time --group-directories-first --no-group --human-readable --si --dereference-command-line --hide=patterns"
    " --hyperlink?code --indicator-style=code --inode --ignore=patterns --kibibytes --dereference --numeric-uid-gid"
    " --literal --hide-control-chars --show-control-chars --quote-name --quoting-style=code --reverse --recursive"
    " --size --sort=code --time=code --time-style=text --tabsize=count --width=count --context --zero"
)

_GREP = (
    "-EFGivwxcLlmoqsbHhnTUzrRaIyV -A:count -B:count -C:count -e:text -m:count -D:code -d:code"
    " --extended-regexp --fixed-strings --basic-regexp --regexp=text --ignore-case --no-ignore-case --invert-match"
    " --word-regexp --line-regexp --count --color?code --colour?code --files-without-match --files-with-matches"
    " --max-count=count --only-matching --quiet --silent --no-messages --byte-offset --with-filename --no-filename"
    " --label=text --line-number --initial-tab --null --after-context=count --before-context=count --context=count"
    " --text --binary-files=code --exclude=patterns --exclude-dir=patterns --include=patterns --recursive"
    " --dereference-recursive --line-buffered --null-data --binary --devices=code --directories=code"
)

_TREE = (
    "-adfilxpugshDFrtcUvqNQSACnX -L:count -P:text -I:text --noreport --du --si --inodes --device --filelimit:count"
    " --dirsfirst --filesfirst --charset=code --sort=code --gitignore --prune --matchdirs --ignore-case --timefmt=text"
    " --filelimit=count --info --metafirst -J"
)

_WC = "-clLmw --bytes --chars --lines --words --max-line-length --total=code"

# fmt: off
COREUTILS: dict[str, Spec] = {
    # the shell's own, in every shell the same
    "pwd": spec("-LP --logical --physical"),
    "cd": spec("-LP", "names", at_most=1),
    "true": spec("", "text"),
    "false": spec("", "text"),
    ":": spec("", "text"),
    "type": spec("-at", "code"),
    "command": spec("-vV", "code", at_least=1, check=lambda use: None if use.options else "command runs a program"),
    "hash": spec(""),
    "jobs": spec("-lp"),
    "times": spec(""),
    "umask": spec("-S"),
    "ulimit": spec("-aHScdfflmnpstuv", "count", check=_ulimit),
    "sleep": spec("", "code", at_most=1, check=_sleep),
    # names and attributes of files
    "ls": spec(_LS, "names"),
    "dir": spec(_LS, "names"),
    "vdir": spec(_LS, "names"),
    "tree": spec(_TREE, "names"),
    "exa": spec("-laghHimSTuUrRFdD1BnotxG -L:count -s:code -I:text --long --all --tree --level=count --git --icons --header --color=code --sort=code --oneline --group-directories-first", "names"),
    "eza": spec("-laghHimSTuUrRFdD1BnotxG -L:count -s:code -I:text --long --all --tree --level=count --git --icons?code --header --color?code --sort=code --oneline --group-directories-first", "names"),
    "lsd": spec("-laAFhrRtSdX1 --long --all --almost-all --tree --depth=count --color=code --icon=code", "names"),
    "stat": spec("-LftZ -c:text --dereference --file-system --format=text --printf=text --terse --cached=code -x -s", "names", check=_escapes),
    "file": spec("-bhikLNprSv0 -e:code -F:text --brief --mime --mime-type --mime-encoding --dereference --no-dereference --extension --separator=text --keep-going --raw --version --no-buffer --no-pad --print0", "names"),
    "basename": spec("-az -s:text --multiple --suffix=text --zero", "text", at_least=1),
    "dirname": spec("-z --zero", "text", at_least=1),
    "realpath": spec("-emLPsqz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --relative-to=names --relative-base=names --strip --no-symlinks --zero", "names"),
    "readlink": spec("-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero", "names"),
    "du": spec("-0abcDhHklLmPsSx -B:code -d:count -t:code --null --all --apparent-size --bytes --total --dereference-args --max-depth=count --human-readable --inodes --dereference --no-dereference --separate-dirs --si --summarize --threshold=code --time?code --time-style=text --exclude=patterns --one-file-system --block-size=code", "names"),
    "df": spec("-aBhHiklPTv -B:code -t:code -x:code --all --block-size=code --human-readable --si --inodes --local --no-sync --output?code --portability --sync --total --type=code --print-type --exclude-type=code", "names"),
    "pathchk": spec("-pP", "names"),
    # content of files
    "cat": spec("-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting", "content"),
    "tac": spec("-br -s:text --before --regex --separator=text", "content"),
    "head": spec("-qvz -n:count -c:count --bytes=count --lines=count --quiet --silent --verbose --zero-terminated", "content", digits=True),
    "tail": spec("-qvz -n:count -c:count --bytes=count --lines=count --quiet --silent --verbose --zero-terminated", "content", digits=True),
    "wc": spec(_WC, "content"),
    "nl": spec("-p -b:text -d:text -f:text -h:text -i:count -l:count -n:code -s:text -v:count -w:count --body-numbering=text --number-format=code --number-separator=text --number-width=count --starting-line-number=count --line-increment=count", "content"),
    "od": spec("-abcdfhilosxv -A:code -j:count -N:count -S?count -t:code -w?count --address-radix=code --skip-bytes=count --read-bytes=count --format=code --output-duplicates --width?count --strings?count --endian=code", "content"),
    "hexdump": spec("-bcCdovx -n:count -s:count -e:text --canonical --length=count --skip=count --no-squeezing --one-byte-octal --one-byte-char", "content", check=_escapes),
    "hd": spec("-bcCdovx -n:count -s:count", "content"),
    "xxd": spec("-abCeipuE -c:count -g:count -l:count -o:count -s:count", "content", at_most=1),
    "strings": spec("-af -n:count -t:code -e:code --all --bytes=count --radix=code --print-file-name --encoding=code", "content", digits=True, check=binutils_problem),
    "cut": spec("-nsz -b:text -c:text -d:text -f:text --bytes=text --characters=text --delimiter=text --fields=text --complement --only-delimited --output-delimiter=text --zero-terminated", "content"),
    "paste": spec("-sz -d:text --delimiters=text --serial --zero-terminated", "content", check=_escapes),
    "join": spec("-iz -a:count -e:text -j:count -o:text -t:text -v:count -1:count -2:count --ignore-case --check-order --nocheck-order --header --zero-terminated", "content", at_most=2),
    "comm": spec("-123z --check-order --nocheck-order --output-delimiter=text --total --zero-terminated", "content", at_most=2),
    "cmp": spec("-bls -i:text -n:count --print-bytes --ignore-initial=text --verbose --bytes=count --quiet --silent", "content", at_most=4),
    "diff": spec(
        "-qsceunyptTrNwbBiEZadH -c?count -u?count -C:count -U:count -W:count -x:text -I:text -L:text -F:text --normal --brief --report-identical-files --context?count --unified?count"
        " --side-by-side --width=count --left-column --suppress-common-lines --show-c-function --show-function-line=text --label=text --expand-tabs --initial-tab --tabsize=count --recursive"
        " --no-dereference --new-file --unidirectional-new-file --ignore-file-name-case --exclude=patterns --ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change"
        " --ignore-all-space --ignore-blank-lines --ignore-matching-lines=text --text --strip-trailing-cr --minimal --speed-large-files --color?code",
        "content",
        at_most=2,
        at_least=2,
        # Two directories are compared file by file, with or without -r.
        hardened_last=tuple(f"-x{name}" for name in (*LEFT_OUT_DIRECTORIES, *LEFT_OUT)),
        # Names only; where it stands first it is no other option's value.
        hardened_when=lambda words: words[0] not in ("-q", "--brief", "-rq", "-qr"),
    ),
    "sort": spec("-bdfghiMnrRVcCmsuz -k:text -t:text --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --sort=code --version-sort --check?code --debug --key=text --merge --stable --field-separator=text --unique --zero-terminated --parallel=count", "content"),
    "uniq": spec("-cdDiuz -f:count -s:count -w:count --count --repeated --all-repeated?code --skip-fields=count --group?code --ignore-case --skip-chars=count --unique --check-chars=count --zero-terminated", "content", at_most=1),
    "shuf": spec("-erz -i:code -n:count --echo --repeat --input-range=code --head-count=count --zero-terminated", "content"),
    "tr": spec("-cCdst --complement --delete --squeeze-repeats --truncate-set1", "text", at_most=2, at_least=1, check=_tr),
    "rev": spec("-0 --zero", "content"),
    "fold": spec("-bs -w:count --bytes --spaces --width=count", "content", digits=True),
    "fmt": spec("-cstu -w:count -p:text -g:count --crown-margin --split-only --tagged-paragraph --uniform-spacing --width=count --prefix=text", "content", digits=True),
    "pr": spec("-adfFJmrtTv -h:text -l:count -w:count -o:count -W:count -n?text", "content", digits=True),
    "expand": spec("-i -t:text --initial --tabs=text", "content", digits=True),
    "unexpand": spec("-a -t:text --all --first-only --tabs=text", "content", digits=True),
    "column": spec("-tx -s:text -o:text -c:count --table --separator=text --output-separator=text --output-width=count --fillrows", "content"),
    "base64": spec("-w:count --wrap=count", "content", at_most=1),
    "base32": spec("-w:count --wrap=count", "content", at_most=1),
    "cksum": spec("-a:code --algorithm=code --untagged --tag --raw --base64", "content"),
    "sum": spec("-rs", "content"),
    **dict.fromkeys("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum".split(), spec(_SUM, "content")),
    "shasum": spec("-a:count -bctUps", "content"),
    "md5": spec("-qr", "content"),
    "tsort": spec("", "content"),
    "zcat": spec("", "content", check=_zcat),
    "look": spec("-df", "text+content", at_most=2),
    "sed": spec("-nrEsuz -e:text --quiet --silent --regexp-extended --expression=text --separate --null-data --posix", "listed", check=_sed),
    "jq": spec("-nrRsScCMaej --null-input --raw-output --raw-input --slurp --sort-keys --color-output --monochrome-output --ascii-output --exit-status --join-output --tab --compact-output --indent=count", "text+content", check=_jq),
    **{
        name: spec(
            _GREP,
            "listed",
            digits=True,
            check=lambda use: grep_problem(use),
            hardened_last=(*(f"--exclude-dir={name}" for name in (*LEFT_OUT_DIRECTORIES, *LEFT_OUT_COPIES)), *(f"--exclude={name}" for name in LEFT_OUT)),
            hardened_when=lambda words: goes_through_trees(words),
        )
        for name in ("grep", "egrep", "fgrep")
    },
    # the machine and who is on it
    "date": spec("-uR -d:text -I?code -r:names --utc --universal --date=text --iso-8601?code --rfc-3339=code --rfc-email --reference=names", "text", at_most=1, check=_date),
    "cal": spec("-13jmsyw", "code"),
    "ncal": spec("-13jMSywbeho", "code"),
    "uptime": spec("-ps --pretty --since"),
    "uname": spec("-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --hardware-platform --operating-system"),
    "arch": spec(""),
    "hostname": spec("-sfdiIA --short --fqdn --long --domain --ip-address --all-ip-addresses"),
    "hostid": spec(""),
    "hostnamectl": spec("", subcommands={"status": spec("")}),
    "nproc": spec("--all --ignore=count"),
    "free": spec("-bkmghltwv -c:count -s:count --bytes --kilo --mega --giga --human --si --lohi --total --wide", check=lambda use: "free -s never ends" if use.has("-s") and not use.has("-c") else None),
    "lscpu": spec("-aBbcJxy -e?code -p?code --all --json --extended?code --parse?code --bytes"),
    "lsblk": spec("-abdDfilmnoOpPrsStTJ -o:code --all --bytes --nodeps --fs --json --output=code --list --paths --tree", "names"),
    "lsmem": spec("-abJnPr --all --summary?code"),
    "lspci": spec("-vtnkm -s:code"),
    "lsusb": spec("-vt -s:code"),
    "lsmod": spec(""),
    "lsb_release": spec("-aidrcsv --all --id --description --release --codename --short"),
    "vmstat": spec("-asdwtn", "count", at_most=2, check=lambda use: "vmstat never ends" if len(use.operands) == 1 else None),
    "getconf": spec("-a", "code", at_most=2),
    "locale": spec("-ack --all-locales --charmaps --category-name --keyword-name", "code"),
    "timedatectl": spec("", subcommands={"status": spec("")}),
    "id": spec("-agGnruzZ --group --groups --name --real --user --zero --context", "code", at_most=1),
    "whoami": spec(""),
    "logname": spec(""),
    "groups": spec("", "code"),
    "users": spec(""),
    "who": spec("-abdHlmpqrstTuw --all --boot --heading --count", "code", at_most=2, check=lambda use: "who of a file" if len(use.operands) == 1 else None),
    "w": spec("-hsfoi", "code", at_most=1),
    "tty": spec("-s --silent --quiet"),
    "which": spec("-as --all", "code", at_least=1),
    "whereis": spec("-bmsu", "code", at_least=1),
    "ps": spec("-aAdefFjlLMNwTHycm -C:code -o:code -p:code -u:code -U:code -g:code -G:code -t:code --sort=code --pid=code --ppid=code --forest --no-headers --headers --user=code", "text", check=_ps),
    "pgrep": spec("-laflnoxvciw -u:code -U:code -P:code -g:code -t:code -d:text --list-name --list-full --full --newest --oldest --exact --count", "text", at_most=1),
    "pidof": spec("-sxq", "code"),
    "pstree": spec("-aAcglnpsStTuUZ -H:count", "code", at_most=1),
    "mount": spec("-lv"),
    "findmnt": spec("-aADfilnrRst -o:code -t:code --all --df --json --list --output=code", "names"),
    "stty": spec("-a --all", "code", at_most=1, check=lambda use: (None if use.operands in ((), ("size",), ("speed",)) else "stty sets the terminal")),
    "tput": spec("", "code", at_most=1, at_least=1, check=lambda use: (None if use.operands[0] in ("cols", "lines", "colors", "longname") else "tput writes to the terminal")),
    # arithmetic and sequences
    "seq": spec("-w -f:text -s:text --equal-width --format=text --separator=text", "count", at_most=3, at_least=1),
    "expr": spec("", "text", at_least=1),
    "factor": spec("-h", "count"),
    "numfmt": spec("-z -d:text --from=code --to=code --suffix=text --format=text --field=code --header?count --padding=count --round=code --grouping --delimiter=text", "text"),
}
# fmt: on


_RECURSIVE = late_pattern(r"--(?:recursive|dereference-recursive|directories.*)|-[^-]*[rRd].*")


def goes_through_trees(words: Sequence[str]) -> bool:
    """Whether a `grep` of these words may; a word that only looks like it does no harm."""
    return any(map(_RECURSIVE.fullmatch, words))


def grep_problem(use: Use) -> str | None:
    """The first operand is the pattern, unless `-e` gave one; the others are read."""
    return searched(
        use,
        through_trees=use.has("-r", "-R", "--recursive", "--dereference-recursive")
        or any(
            value not in ("read", "skip")  # it may be shortened: -d rec
            for name, value in use.options
            if name in ("-d", "--directories")
        ),
    )


def searched(use: Use, *, through_trees: bool | Callable[[Sequence[str]], bool]) -> str | None:
    """A search for its first operand, or what `-e` gives, in the other operands.

    A tree is searched without the files that are secret by their names (`LEFT_OUT`, which
    are put to the command when it runs). What is secret otherwise is not looked for,
    and not shown by showing everything.
    """
    paths = use.operands
    patterns = [value or "" for name, value in use.options if name in ("-e", "--regexp")]
    if not patterns:
        if not paths:
            return "a search without a pattern"
        patterns, paths = [paths[0]], paths[1:]
    if why := glob_problem(patterns):
        return why
    if through_trees(paths) if callable(through_trees) else through_trees:
        if use.has("-v", "--invert-match") and not use.has("-c", "--count"):
            return "shows most of every file below, whatever it holds"
        for pattern in patterns:
            if why := search_problem(pattern):
                return why
        if why := next(map(_inner_problem, filter(_INNER.search, paths)), None):
            return why
    for path in paths:
        if why := content_problem(path, use.place):
            return why
    return None


_INNER = late_pattern(r"(?:^|/)\.git(?:/|$)")


def _inner_problem(path: str) -> str:
    return f"{path!r} has the repository's own settings below it"
