"""Read-only uses of git.

A repository's own configuration can make even these run programs (`core.fsmonitor`,
external diffs, textconv, gpg), so they run hardened: no pager, no hooks, no external
diff, no signature check. Filters of a hostile `.git/config` remain; the sandbox is
there for them.
"""

import re

from duetty.policy.specs.coreutils import searched
from duetty.policy.specs.spec import Spec, Use, spec

_DIFF = (
    "-psurtabwRzWBD -U:count -M?code -C?code -S:text -G:text -X?code -l:count"
    " --patch --no-patch --unified=count --raw --patch-with-raw --patch-with-stat --minimal --patience --histogram --anchored=text"
    " --diff-algorithm=code --stat?code --numstat --shortstat --compact-summary --dirstat?code --cumulative --summary --name-only --name-status"
    " --color?code --no-color --color-moved?code --no-color-moved --color-moved-ws=code --word-diff?code --word-diff-regex=text --color-words?text"
    " --no-renames --rename-empty --no-rename-empty --check --ws-error-highlight=code --full-index --binary --abbrev?count"
    " --break-rewrites?code --find-renames?code --find-copies?code --find-copies-harder --irreversible-delete --diff-filter=code --pickaxe-all --pickaxe-regex"
    " --relative?names --no-relative --text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines"
    " --ignore-matching-lines=text --inter-hunk-context=count --function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules?code"
    " --submodule?code --src-prefix=text --dst-prefix=text --no-prefix --line-prefix=text --ita-invisible-in-index --stat-width=count --stat-count=count"
    " --indent-heuristic --no-indent-heuristic --cc --combined-all-paths --no-notes"
)
_LOG = (
    _DIFF
    + " -gimEF -n:count -L:text --oneline --graph --decorate?code --no-decorate --decorate-refs=text --all --branches?text --tags?text --remotes?text --glob=text --exclude=text"
    " --max-count=count --skip=count --since=text --after=text --until=text --before=text --author=text --committer=text --grep=text --grep-reflog=text"
    " --all-match --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --merges --no-merges --min-parents=count --max-parents=count"
    " --first-parent --pretty?text --format=text --abbrev-commit --no-abbrev-commit --date=text --relative-date --reverse --follow --full-diff --full-history"
    " --dense --sparse --simplify-merges --simplify-by-decoration --ancestry-path?code --topo-order --date-order --author-date-order --left-right --left-only"
    " --right-only --cherry-pick --cherry-mark --cherry --boundary --walk-reflogs --not --no-walk?code --parents --children --notes?text --log-size --source"
    " --no-mailmap --use-mailmap --mailmap --encoding=code --count --objects --timestamp --diff-merges=code"
)
_REFS = "--sort=text --format=text --contains?text --no-contains?text --merged?text --no-merged?text --points-at=text --color?code --no-color --column?code --no-column -i --ignore-case --count=count --omit-empty"

_GPG = re.compile(r"%-?G")


def _no_signatures(use: Use) -> str | None:
    """`%G?` in a format runs gpg, and which gpg is the repository's choice."""
    if any(value is not None and _GPG.search(value) for _, value in use.options):
        return "a format that checks signatures runs a program"
    return None


_LISTING = ("--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
"""Options that make a list of it, and take the next word for their value."""


def _listing(use: Use) -> str | None:
    """Without `--list` a name is a thing to make."""
    if use.operands and not use.has("--list", *_LISTING):
        return "a name without --list would be made"
    return _no_signatures(use)


def _tag(use: Use) -> str | None:
    if use.operands and not use.has("--list", "-l", *_LISTING):
        return "a name without --list would be made"
    return _no_signatures(use)


def _dry(use: Use) -> str | None:
    return None if use.has("-n", "--dry-run") else "git clean without --dry-run deletes"


_CONFIG_KEY = re.compile(
    r"(?:user\.(?:name|email)|init\.defaultbranch|core\.[a-z]+|pull\.[a-z]+|push\.[a-z]+|branch\.[\w./-]+\.(?:remote|merge)|remote\.[\w-]+\.url)",
    re.IGNORECASE,
)


def _config(use: Use) -> str | None:
    if use.has("--get") and all(
        _CONFIG_KEY.fullmatch(key or "") for name, key in use.options if name == "--get"
    ):
        return None
    return "git config may set, and may show secrets"


_QUIET = ("--no-ext-diff", "--no-textconv")

_SHOW = spec(_LOG, "revision", digits=True, check=_no_signatures, hardened_options=_QUIET)

GIT: Spec = spec(
    "-vP --version --no-pager --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs",
    hardened=(
        "--no-pager",
        "--no-optional-locks",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "diff.external=",
        "-c",
        "log.showSignature=false",
        "-c",
        "gpg.program=false",
    ),
    subcommands={
        "version": spec("--build-options"),
        "status": spec(
            "-sbvz -u?code --short --branch --porcelain?code --long --verbose --untracked-files?code --ignored?code --column?code --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?code --show-stash --ignore-submodules?code",
            "revision",
        ),
        "log": _SHOW,
        "show": _SHOW,
        "whatchanged": _SHOW,
        "diff": spec(
            _DIFF + " -123q --cached --staged --merge-base --base --ours --theirs -0",
            "revision",
            hardened_options=_QUIET,
        ),
        "diff-tree": spec(
            _LOG + " --root --stdin --no-commit-id", "revision", hardened_options=_QUIET
        ),
        "diff-index": spec(
            _DIFF + " -m --cached --merge-base", "revision", hardened_options=_QUIET
        ),
        "diff-files": spec(_DIFF + " -q -0", "revision", hardened_options=_QUIET),
        "range-diff": spec(
            _DIFF + " --creation-factor=count --no-dual-color", "revision", hardened_options=_QUIET
        ),
        "rev-list": spec(
            _LOG + " --count --header --objects", "revision", digits=True, check=_no_signatures
        ),
        "rev-parse": spec(
            "-q --verify --quiet --short?count --abbrev-ref?code --symbolic --symbolic-full-name --all --branches?text --tags?text --remotes?text --show-toplevel --show-prefix --show-cdup --show-superproject-working-tree --git-dir --absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --shared-index-path --git-path=code --revs-only --no-revs --flags --no-flags --default=code --path-format=code --show-object-format?code",
            "revision",
        ),
        "branch": spec(
            "-arvl --all --remotes --list --show-current --verbose --abbrev?count --no-abbrev "
            + _REFS,
            "text",
            check=_listing,
        ),
        "tag": spec("-l -n?count --list --create-reflog " + _REFS, "text", check=_tag),
        "for-each-ref": spec(_REFS + " --shell --perl --python", "text", check=_no_signatures),
        "show-ref": spec(
            "-hds --head --heads --branches --tags --verify --hash?count --abbrev?count -q --quiet --dereference",
            "text",
        ),
        "show-branch": spec(
            "-ar --all --remotes --list --topo-order --date-order --current --sha1-name --no-name --merge-base --independent",
            "text",
        ),
        "name-rev": spec(
            "--tags --refs=text --exclude=text --all --name-only --no-undefined --always", "text"
        ),
        "merge-base": spec("-a --all --octopus --independent --is-ancestor --fork-point", "text"),
        "cherry": spec("-v --abbrev?count", "text"),
        "symbolic-ref": spec("-q --quiet --short", "text", at_most=1, at_least=1),
        "describe": spec(
            "--all --tags --contains --long --always --abbrev=count --candidates=count --exact-match --debug --dirty?text --broken?text --match=text --exclude=text --first-parent",
            "text",
        ),
        "ls-files": spec(
            "-cdmoisukztvf -x:text --cached --deleted --modified --others --ignored --stage --unmerged --killed --resolve-undo --exclude=text --exclude-standard --error-unmatch --full-name --recurse-submodules --abbrev?count --directory --no-empty-directory --eol --deduplicate --sparse --format=text",
            "names",
        ),
        "ls-tree": spec(
            "-drtlz --name-only --name-status --object-only --long --full-name --full-tree --abbrev?count --format=text",
            "text",
        ),
        "cat-file": spec("-tspe --batch-check", "revision", at_most=2, at_least=1),
        "blame": spec(
            "-bltsewcpfnk -L:text -M?code -C?code -S:none --root --show-stats --progress --no-progress --score-debug --show-name --show-number --porcelain --line-porcelain --incremental --show-email --date=text --since=text --color-lines --color-by-age --abbrev=count --ignore-rev=text --first-parent --reverse",
            "revision",
            hardened_options=("--no-textconv",),
        ),
        "annotate": spec("-lts -L:text", "revision", hardened_options=("--no-textconv",)),
        "shortlog": spec(
            "-nsec -w?code --numbered --summary --email --committer --group=text --all --no-merges --merges --since=text --until=text --author=text --format=text",
            "revision",
            check=_no_signatures,
        ),
        "reflog": spec(
            _LOG,
            "none",
            digits=True,
            check=_no_signatures,
            subcommands={"show": _SHOW, "list": spec("")},
        ),
        "grep": spec(
            "-nivwlLchHEFGaIopWqrz -e:text -A:count -B:count -C:count -m:count --line-number --column --ignore-case --invert-match --word-regexp --files-with-matches --name-only --files-without-match --count --extended-regexp --basic-regexp --fixed-strings --cached --untracked --exclude-standard --no-exclude-standard --text --max-depth=count --recursive --no-recursive --full-name --null --only-matching --color?code --no-color --break --heading --show-function --function-context --after-context=count --before-context=count --context=count --threads=count --and --or --not --all-match --quiet --max-count=count",
            "text+revision",
            digits=True,
            check=lambda use: searched(use, through_trees=True),
        ),
        "stash": spec(
            "",
            bare=False,
            subcommands={
                "list": spec(_LOG, digits=True, check=_no_signatures, hardened_options=_QUIET),
                "show": spec(
                    _DIFF + " -u --include-untracked --only-untracked",
                    "text",
                    at_most=1,
                    hardened_options=_QUIET,
                ),
            },
        ),
        "remote": spec(
            "-v --verbose", subcommands={"get-url": spec("--push --all", "text", at_most=1)}
        ),
        "worktree": spec("", bare=False, subcommands={"list": spec("-vz --verbose --porcelain")}),
        "submodule": spec(
            "", bare=False, subcommands={"status": spec("--cached --recursive", "names")}
        ),
        "notes": spec(
            "", bare=False, subcommands={"list": spec("", "text"), "show": spec("", "text")}
        ),
        "bisect": spec("", bare=False, subcommands={"log": spec("")}),
        "config": spec(
            "--get=text --local --global --system --worktree --show-origin --show-scope --type=code --bool --int --default=text",
            check=_config,
        ),
        "count-objects": spec("-vH --verbose --human-readable"),
        "check-ignore": spec("-vqnz --verbose --quiet --non-matching --no-index", "names"),
        "check-attr": spec("-az --all --cached", "text"),
        "clean": spec("-ndxXq -e:text --dry-run --quiet --exclude=text", "names", check=_dry),
        "var": spec("-l", "none", at_least=1),
    },
)
