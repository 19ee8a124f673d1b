"""Search programs, and the one question most tools answer harmlessly: which version."""

from duetty.policy.paths import content_problem
from duetty.policy.specs.coreutils import searched
from duetty.policy.specs.spec import Spec, Use, spec

_VERSIONS = """
python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 pypy pypy3 pip pip3 pipx uv uvx poetry pdm hatch conda mamba ruff black mypy
pyright isort flake8 pylint pytest tox nox pre-commit node nodejs npm npx yarn pnpm corepack bun deno tsc eslint prettier jest vite webpack ruby gem bundle
bundler rake rails irb perl php composer cargo rustc rustup rustfmt clippy-driver gofmt java javac jshell kotlin kotlinc scala sbt dotnet swift
swiftc ghc cabal stack ocaml opam elixir mix erl lua luajit julia R Rscript gcc g++ cc c++ clang clang++ clang-format clang-tidy ld gold lld make gmake cmake
ninja meson bazel autoconf automake libtool pkg-config m4 bison flex gdb lldb strace valgrind git hg svn docker podman buildah kubectl helm terraform
tofu ansible vagrant packer aws gcloud az gh glab heroku bash zsh fish dash ksh tmux screen vim nvim nano emacs curl wget openssl ssh
rsync tar gzip bzip2 xz zip unzip jq yq rg fd fdfind ag fzf bat batcat tree sed gawk awk grep find sort ls cat head tail
sqlite3 psql mysql mariadb mongosh redis-cli redis-server postgres nginx apache2 httpd systemctl ffmpeg convert magick pandoc hugo shellcheck
env printenv man ldd bc split less xargs timeout nice nohup tee cp mv rm mkdir rmdir touch chmod chown ln install gzip bunzip2 zcat patch
shfmt protoc grpcurl nvim code just task direnv mise asdf nix brew apt apt-get dpkg rpm dnf yum pacman apk zypper snap flatpak duetty
""".split()
"""Programs whose `--version` prints one line and ends."""

_EXACT = """
go version; go env GOPATH; go env GOROOT; terraform version; helm version --client; openssl version; cargo version; cargo -V; rustc -V; rustc -vV; node -v; nodejs -v; npm -v; yarn -v; pnpm -v; bun -v
python -V; python3 -V; pip -V; pip3 -V; ruby -v; perl -v; php -v; java -version; javac -version; java --version; scala -version; kotlin -version
tmux -V; ssh -V; nginx -v; docker -v; docker version; gem -v; make -v; gcc -v; vim --version; kubectl version --client; rustup show; nvim -v; rustup toolchain list
deno -V; curl -V; psql -V; mysql -V; ansible --version; code -v; dotnet --list-sdks; dotnet --info; swift -version; lua -v; clang -v; tsc -v; gcc -dumpversion; gcc -dumpmachine; composer -V
xcode-select -p; sw_vers; brew --prefix; dpkg --print-architecture; dpkg -l; apt list --installed; rpm -qa; npm prefix; npm root; npm root -g; npm config get registry
"""
"""Whole lines that are known, and nothing but them."""

_RG = (
    "-cFHIiLlnNoqsSUvVwxpu0. -A:count -B:count -C:count -e:text -g:text -M:count -m:count -r:text -t:code -T:code -d:count -j:count -E:code"
    " --count --count-matches --fixed-strings --with-filename --no-filename --ignore-case --follow --files --files-with-matches --files-without-match"
    " --line-number --no-line-number --only-matching --quiet --no-messages --smart-case --case-sensitive --multiline --multiline-dotall --invert-match"
    " --word-regexp --line-regexp --pretty --unrestricted --null --after-context=count --before-context=count --context=count --regexp=text --glob=text"
    " --iglob=text --glob-case-insensitive --max-columns=count --max-columns-preview --max-count=count --replace=text --type=code --type-not=code"
    " --type-list --max-depth=count --threads=count --encoding=code --color=code --colors=code --column --no-column --heading --no-heading --hidden"
    " --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --no-ignore-global --json --stats --sort=code --sortr=code --trim --vimgrep"
    " --text --byte-offset --crlf --passthru --no-config --one-file-system --max-filesize=code --context-separator=text --field-match-separator=text"
    " --no-mmap --mmap --line-buffered --block-buffered --binary --debug --no-unicode --engine=code --hyperlink-format=none"
)


def _rg(use: Use) -> str | None:
    if use.has("--files", "--type-list"):
        paths = use.operands
        return next((why for path in paths if (why := content_problem(path, use.place))), None)
    return _through(use)


def _through(use: Use) -> str | None:
    """Programs that search trees unless they are given files."""
    given = use.operands[1:]
    return searched(
        use,
        through_trees=not given or not all("." in path.rpartition("/")[2][1:] for path in given),
    )


_FD = (
    "-HIusigFaLlpd0q1 -t:code -e:code -E:text -d:count -S:code -c:code -j:count -o:code --hidden --no-ignore --no-ignore-vcs --unrestricted --case-sensitive"
    " --ignore-case --glob --regex --fixed-strings --absolute-path --list-details --follow --full-path --print0 --max-depth=count --min-depth=count"
    " --exact-depth=count --exclude=text --type=code --extension=code --size=code --changed-within=text --changed-before=text --color=code --max-results=count"
    " --quiet --show-errors --strip-cwd-prefix --one-file-system"
)
_AG = (
    "-aAcDfFgGHilLnoQrRsSuUvwz -A:count -B:count -C:count -G:text -m:count --ignore=text --ignore-dir=text --hidden --depth=count --files-with-matches"
    " --literal --case-sensitive --ignore-case --smart-case --word-regexp --count --nocolor --color --nogroup --heading --noheading --numbers --vimgrep"
)

_QUIET_SYSTEMCTL = ("--no-pager",)

TOOLS: dict[str, Spec] = {
    "rg": spec(_RG, "text", check=_rg, digits=False, hardened=("--no-config",)),
    "fd": spec(_FD, "text+names"),
    "fdfind": spec(_FD, "text+names"),
    "ag": spec(_AG.replace("z ", " ", 1), "text+content", check=_through),
    "cloc": spec(
        "--quiet --by-file --json --csv --exclude-dir=text --include-lang=code", "content"
    ),
    "tokei": spec("-f --files -s:code --sort=code -e:text", "content"),
    "scc": spec("--by-file --no-complexity --no-cocomo -s:code", "content"),
    # binaries, looked at and never loaded
    "nm": spec(
        "-aACDgnorSuP --demangle? --dynamic --extern-only --defined-only --undefined-only",
        "content",
    ),
    "size": spec("-ABdoxt", "content"),
    "readelf": spec(
        "-ahlSsedrnVAWn -x:code -p:code --all --file-header --program-headers --section-headers --symbols --dynamic --notes --wide",
        "content",
    ),
    "objdump": spec(
        "-adDfhprRtTxCwSsM -j:code --disassemble --all-headers --file-headers --section-headers --syms --dynamic-syms --demangle",
        "content",
    ),
    # lists of what is installed
    **{
        name: spec(
            "-V --version",
            subcommands={
                "list": spec("--format=code --not-required --user --local -l"),
                "show": spec("-f --files --verbose", "code", at_least=1),
                "freeze": spec("--all --user --local -l"),
                "check": spec(""),
            },
        )
        for name in ("pip", "pip3")
    },
    "npm": spec(
        "-v --version",
        subcommands={
            name: spec(
                "-ga --depth=count --all --global --json --long --prod --dev --parseable --omit=code",
                "code",
            )
            for name in ("ls", "list", "ll")
        },
    ),
    # services, as seen
    "systemctl": spec(
        "--version --no-pager --user --system --failed --all -a",
        bare=False,
        hardened=_QUIET_SYSTEMCTL,
        subcommands={
            "status": spec(
                "-l -n:count --no-pager --full --lines=count --user", "code", at_least=1
            ),
            **{
                name: spec("-q --quiet --user --no-pager", "code", at_least=1)
                for name in ("is-active", "is-enabled", "is-failed")
            },
            **{
                name: spec(
                    "-a --all --failed --no-pager --no-legend --type=code -t:code --state=code --user",
                    "code",
                )
                for name in ("list-units", "list-unit-files", "list-timers", "list-sockets")
            },
        },
    ),
    "docker": spec(
        "-v --version",
        bare=True,
        subcommands={
            "ps": spec(
                "-aqlsn -n:count -f:text --all --quiet --latest --size --no-trunc --filter=text --last=count"
            ),
            "images": spec("-aq -f:text --all --quiet --digests --no-trunc --filter=text", "code"),
            "version": spec(""),
        },
    ),
}


EXACT: frozenset[tuple[str, ...]] = frozenset(
    [(name, "--version") for name in _VERSIONS]
    + [tuple(line.split()) for line in _EXACT.replace("\n", ";").split(";") if line.strip()]
)
