"""Search programs, and the one question most tools answer harmlessly: which version."""

from duetty.policy.late_pattern import late_pattern
from duetty.policy.proving.paths import LEFT_OUT, LEFT_OUT_DIRECTORIES, content_problem
from duetty.policy.proving.specs.coreutils import binutils_problem, searched
from duetty.policy.proving.specs.spec import Spec, Use, spec

_VERSIONS = """
python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 pypy pypy3 pip pip3 uv ruff
node nodejs npm ruby gem perl php java javac gcc cc clang clang-format ld gold lld make gmake cmake ninja
autoconf automake libtool pkg-config m4 bison flex gdb strace git svn docker podman buildah gh bash zsh fish ksh tmux screen
vim nvim nano emacs curl wget openssl ssh rsync tar gzip bzip2 xz zip unzip jq yq rg fd fdfind ag fzf bat batcat tree sed gawk awk grep find
sort ls cat head tail sqlite3 psql mysql mariadb redis-cli redis-server postgres systemctl shellcheck shfmt protoc
env printenv man ldd bc split less xargs timeout nice nohup tee cp mv rm mkdir rmdir touch chmod chown ln install bunzip2 zcat patch
brew apt apt-get dpkg rpm dnf yum pacman apk zypper snap flatpak duetty
deno tsc eslint prettier black mypy aws lsns lslocks lsipc iostat mpstat zgrep dpkg-query apt-cache
""".split()
"""Programs whose `--version` prints one line and ends, and reads nothing of the directory it is in.

Many more print a version, but run the project's code first, fetch or run the version that it asks for,
or look there for another copy of themselves: rustup's (`rustc`, `cargo`), yarn, pnpm, bundler, tox,
flake8, pytest, pylint, poetry, pdm, composer, hg, rails, bazel, dotnet, sbt, erl, elixir, jest,
webpack, terraform, ansible, mise. A program is listed only where it is known to print its version and do nothing else.
"""

_PLUSES = [f"{name}+{'+'}" for name in ("g", "c", "clang")]
"""Spelled in two halves: `g++` would read as a regular expression."""

_EXACT = """
go version; go env GOPATH; go env GOROOT; openssl version; node -v; nodejs -v; npm -v
python -V; python3 -V; pip -V; pip3 -V; ruby -v; perl -v; php -v; java -version; javac -version; gem -v
tmux -V; ssh -V; nginx -v; docker -v; docker version; make -v; gcc -v; kubectl version --client; helm version; helm version --client; helm version --short; nvim -v
curl -V; psql -V; mysql -V; clang -v; gcc -dumpversion; gcc -dumpmachine
xcode-select -p; sw_vers; brew --prefix; dpkg --print-architecture; apt list --installed; rpm -qa
"""
"""Whole lines that are known, and nothing but them."""

EXACT_VARIABLES: dict[str, tuple[str, ...]] = {"go": ("GOTOOLCHAIN=local",)}
"""What such a line runs with: a `go.mod` may ask for another Go, which would be fetched and run."""

_RG = (
    "-cFHIiLlnNoqsSUvVwxpu0. -A:count -B:count -C:count -e:text -g:text -M:count -m:count -r:text -t:code -T:code -d:count -j:count -E:code"
    " --count --count-matches --fixed-strings --with-filename --no-filename --ignore-case --follow --files --files-with-matches --files-without-match"
    " --line-number --no-line-number --only-matching --quiet --no-messages --smart-case --case-sensitive --multiline --multiline-dotall --invert-match"
    " --word-regexp --line-regexp --pretty --unrestricted --null --after-context=count --before-context=count --context=count --regexp=text --glob=patterns"
    " --iglob=patterns --glob-case-insensitive --max-columns=count --max-columns-preview --max-count=count --replace=text --type=code --type-not=code"
    " --type-list --max-depth=count --threads=count --encoding=code --color=code --colors=code --column --no-column --heading --no-heading --hidden"
    " --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --no-ignore-global --json --stats --sort=code --sortr=code --trim --vimgrep"
    " --text --byte-offset --crlf --passthru --no-config --one-file-system --max-filesize=code --context-separator=text --field-match-separator=text"
    " --no-mmap --mmap --line-buffered --block-buffered --binary --debug --no-unicode --engine=code --hyperlink-format=none"
)


_RG_MODES = ("-c", "-l", "--count", "--count-matches", "--files-with-matches", "--files-without-match", "--json")  # fmt: skip
_FILE = late_pattern(
    r".*[^/]\.(?:c|cc|cpp|css|csv|go|h|html?|java|js|jsonl?|jsx|lock|log|md|php|py|rb|rs|rst|sh|sql|toml|tsx?|txt|xml|ya?ml)"
)
"""Names that directories seldom have: `conf.d` is one."""
_RG_ESCAPES = late_pattern(r"\\[xuU]")


def _rg(use: Use) -> str | None:
    if any(
        name.endswith("-separator") and _RG_ESCAPES.search(value or "")
        for name, value in use.options
    ):
        return "prints control characters"
    if use.has("--files", "--type-list"):
        if use.has(*_RG_MODES):  # rg 14 searches then, and there is no pattern to look at
            return "a list of files that may be a search"
        paths = use.operands
        return next((why for path in paths if (why := content_problem(path, use.place))), None)
    return _through(use)


def _through(use: Use) -> str | None:
    """Programs that search trees unless they are given files."""
    return searched(
        use, through_trees=lambda paths: not paths or not all(map(_FILE.fullmatch, paths))
    )


_FD = (
    "-HIusigFaLlpd0q1 -t:code -e:code -E:text -d:count -S:code -c:code -j:count -o:code --hidden --no-ignore --no-ignore-vcs --unrestricted --case-sensitive"
    " --ignore-case --glob --regex --fixed-strings --absolute-path --list-details --follow --full-path --print0 --max-depth=count --min-depth=count"
    " --exact-depth=count --exclude=text --type=code --extension=code --size=code --changed-within=text --changed-before=text --color=code --max-results=count"
    " --quiet --show-errors --strip-cwd-prefix --one-file-system"
)


def _zgrep(use: Use) -> str | None:
    """A script of the shell's, so only words that it need not quote; what is packed is as secret as its name."""
    given = (*use.operands, *(value or "" for _, value in use.options))
    if any("'" in word or "\n" in word for word in given):
        return "a word that the script behind zgrep would have to quote"
    unpacked = tuple(type(path)(path.removesuffix(".gz")) for path in use.operands)
    return searched(use._replace(operands=unpacked), through_trees=False)


def _measured(use: Use) -> str | None:
    return "never ends" if len(use.operands) == 1 else None


_QUERIES = frozenset("-l -L -s -S --list --listfiles --status --search".split())


def _queried(use: Use) -> str | None:
    return None if use.has(*_QUERIES) else "dpkg that does more than list"


_DPKG = "-lLsS --list --listfiles --status --search"


def _lists(use: Use) -> str | None:
    return None if use.has("-l", "--list") else "gzip without -l packs or unpacks"


_QUIET_SYSTEMCTL = ("--no-pager",)

# fmt: off
TOOLS: dict[str, Spec] = {
    "rg": spec(
        _RG,
        "listed",
        check=_rg,
        hardened=("--no-config",),
        # The last glob that fits decides, and those without regard to case come after the others.
        hardened_last=tuple(f"--iglob=!{name}" for name in (*LEFT_OUT_DIRECTORIES, *LEFT_OUT)),
    ),
    "fd": spec(_FD, "text+names"),
    "fdfind": spec(_FD, "text+names"),
    "tokei": spec("-f --files -s:code --sort=code -e:text", "content"),
    "scc": spec("--by-file --no-complexity --no-cocomo -s:code", "content"),
    # what is packed: names and sizes
    "gzip": spec("-lvq --list --verbose --quiet", "content", at_least=1, check=_lists),
    "zgrep": spec("-EFivwxcLlohHnsqb -A:count -B:count -C:count -e:text -m:count --ignore-case --count --line-number --extended-regexp --fixed-strings --word-regexp --only-matching --no-filename --with-filename", "listed", digits=True, check=_zgrep),
    # binaries, looked at and never loaded
    "nm": spec("-aACDgnorSuP --demangle? --dynamic --extern-only --defined-only --undefined-only", "content", check=binutils_problem),
    "size": spec("-ABdoxt", "content", check=binutils_problem),
    "readelf": spec("-ahlSsedrnVAWn -x:code -p:code --all --file-header --program-headers --section-headers --symbols --dynamic --notes --wide", "content", check=binutils_problem),
    "objdump": spec("-adDfhprRtTxCws -j:code --disassemble --all-headers --file-headers --section-headers --syms --dynamic-syms --demangle", "content", check=binutils_problem),
    # lists of what is installed
    **{
        name: spec(
            "-V --version",
            hardened=("--disable-pip-version-check",),
            subcommands={
                "list": spec("--format=code --not-required --user --local -l"),
                "show": spec("-f --files --verbose", "code", at_least=1),
                "check": spec(""),
            },
        )
        for name in ("pip", "pip3")
    },
    # It shows what it has in a pager where it can.
    **{
        name: spec(_DPKG, "code", check=_queried, hardened=("--no-pager",))
        for name in ("dpkg", "dpkg-query")
    },
    "apt-cache": spec(
        "",
        bare=False,
        subcommands={
            name: spec("", "code", at_least=1)
            for name in "policy show showpkg depends rdepends madison search".split()
        },
    ),
    # the machine
    "iostat": spec("-cdhkmstxyz", "count", at_most=2, check=_measured),
    "mpstat": spec("-Au -P:code", "count", at_most=2, check=_measured),
    "lsns": spec("-lJnruW -t:code -p:count -o:code --json --list --noheadings --type=code", "count"),
    "lslocks": spec("-bJinru -p:count -o:code --json --bytes --noheadings"),
    "lsipc": spec("-mqsgbceJltny --json --list --shmems --queues --semaphores --global --human"),
    # services, as seen
    "systemctl": spec(
        "--version --no-pager --user --system --failed --all -a",
        bare=False,
        hardened=_QUIET_SYSTEMCTL,
        subcommands={
            "status": spec("-l -n:count --no-pager --full --lines=count --user", "code", at_least=1),
            **{
                name: spec("-q --quiet --user --no-pager", "code", at_least=1)
                for name in ("is-active", "is-enabled", "is-failed")
            },
            **{
                name: spec("-a --all --failed --no-pager --no-legend --type=code -t:code --state=code --user", "code")
                for name in ("list-units", "list-unit-files", "list-timers", "list-sockets")
            },
        },
    ),
    "docker": spec(
        "-v --version",
        bare=True,
        subcommands={
            "ps": spec("-aqlsn -n:count -f:text --all --quiet --latest --size --no-trunc --filter=text --last=count"),
            "images": spec("-aq -f:text --all --quiet --digests --no-trunc --filter=text", "code"),
            "version": spec(""),
        },
    ),
}
# fmt: on


EXACT: frozenset[tuple[str, ...]] = frozenset(
    [(name, "--version") for name in (*_VERSIONS, *_PLUSES)]
    + [tuple(line.split()) for line in _EXACT.replace("\n", ";").split(";") if line.strip()]
)
