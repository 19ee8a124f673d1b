"""Read-only uses of git.

A repository's own configuration can make even these run programs, so every one of them
runs with the same words and variables (`_HARDENED`, `_VARIABLES`): no pager, no hooks, no
monitor, no signature check, no fetching of what is missing; and those that show changes
without external diffs and text converters. A subcommand that has no such options (`range-diff`,
`status -v`) is not here. Filters (`filter.*.clean`) of a hostile `.git/config` remain:
nothing switches them off, and the sandbox is there for them.
"""

import re

from duetty.policy.late_pattern import late_pattern
from duetty.policy.proving.specs.coreutils import searched
from duetty.policy.proving.specs.spec import Spec, Use, revision_problem, spec

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
    + " -gimEF -n:count -L:lines --oneline --graph --decorate?code --no-decorate --decorate-refs=text --all --branches?text --tags?text --remotes?text --glob=text --exclude=text"
    " --max-count=count --skip=count --since=text --after=text --until=text --before=text --author=text --committer=text --grep=text --grep-reflog=text"
    " --all-match --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --merges --no-merges --min-parents=count --max-parents=count"
    " --first-parent --pretty?text --format=text --abbrev-commit --no-abbrev-commit --date=text --relative-date --reverse --follow --full-diff --full-history"
    " --dense --sparse --simplify-merges --simplify-by-decoration --ancestry-path?code --topo-order --date-order --author-date-order --left-right --left-only"
    " --right-only --cherry-pick --cherry-mark --cherry --boundary --walk-reflogs --not --no-walk?code --parents --children --notes?text --log-size --source"
    " --no-mailmap --use-mailmap --mailmap --encoding=code --count --objects --timestamp --diff-merges=code"
)
_REFS = "--sort=text --format=text --contains?text --no-contains?text --merged?text --no-merged?text --points-at=text --color?code --no-color --column?code --no-column -i --ignore-case --count=count --omit-empty"

_SIGNATURE = late_pattern(r"%[-+ ]?G|%\(\*?signature")
"""In a format: runs gpg, and which gpg is the repository's choice."""

_CONTROL_SIGN = r"(?!00|09|0a|0d)(?:[01][0-9a-f]|7f|[89a-f][0-9a-f])"
_CONTROL = late_pattern(rf"%[-+ ]?x{_CONTROL_SIGN}", re.IGNORECASE)
_CONTROL_OF_REFS = late_pattern(rf"%x?{_CONTROL_SIGN}", re.IGNORECASE)

_FORMAT = late_pattern(
    r"(?:oneline|short|medium|full|fuller|reference|email|mboxrd|raw|t?format:.*|.*%.*)?\Z",
    re.DOTALL,
)
"""A name that git itself gives a meaning, or a format in words."""

_NESTED = frozenset({"remerge", "r"})
"""Ways to show a merge that make it again, with the repository's merge drivers."""


def _format(use: Use) -> str | None:
    return _format_problem(use, _CONTROL)


def _format_problem(use: Use, control: re.Pattern[str]) -> str | None:
    for name, value in use.options:
        if value is None:
            continue
        if name in ("--format", "--pretty") and not _FORMAT.match(value) and control is _CONTROL:
            return f"{value!r} is a format that the repository's settings may define"
        if name in ("--format", "--pretty", "--sort", "--group"):
            if _SIGNATURE.search(value):
                return "a format that checks signatures runs a program"
            if control.search(value):
                return "prints control characters"
        elif name == "--diff-merges" and value in _NESTED:
            return "merging anew runs merge drivers"
        elif name == "--submodule" and value not in ("short", "log"):
            return "changes within submodules are shown with their text converters"
    return None


_LISTING = ("--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
"""Options that make a list of it, and take the next word for their value."""


def _listing(use: Use) -> str | None:
    """Without `--list` a name is a thing to make."""
    if use.operands and not use.has("--list", *_LISTING):
        return "a name without --list would be made"
    return _refs(use)


def _tag(use: Use) -> str | None:
    if use.operands and not use.has("--list", "-l", *_LISTING):
        return "a name without --list would be made"
    return _refs(use)


def _refs(use: Use) -> str | None:
    return _format_problem(use, _CONTROL_OF_REFS)


def _dry(use: Use) -> str | None:
    return None if use.has("-n", "--dry-run") else "git clean without --dry-run deletes"


def _unasked(use: Use) -> str | None:
    return None if use.has("-n") else "git remote show without -n asks the remote"


def _grep(use: Use) -> str | None:
    """In what is tracked: what is committed is shown by every other subcommand too."""
    if use.has("-e"):
        for operand in use.operands[:1]:  # no pattern then
            if why := revision_problem(operand, use.place):
                return why
    return searched(use, through_trees=True)


_CONFIG_KEY = late_pattern(
    r"(?:user\.(?:name|email)|init\.defaultbranch|core\.[a-z]+|pull\.[a-z]+|push\.[a-z]+|branch\.[\w./-]+\.(?:remote|merge)|remote\.[\w-]+\.url)",
    re.IGNORECASE,
)


def _config(use: Use) -> str | None:
    if use.has("--get") and all(
        _CONFIG_KEY.fullmatch(key or "") for name, key in use.options if name == "--get"
    ):
        return None
    return "git config may set, and may show secrets"


_HARDENED = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.sshCommand=/bin/false",
    "diff.external=",
    "diff.submodule=short",
    "status.submoduleSummary=false",
    "log.diffMerges=separate",
    "log.showSignature=false",
    "format.pretty=medium",
    "gpg.program=/bin/false",
    "gpg.openpgp.program=/bin/false",
    "gpg.x509.program=/bin/false",
    "gpg.ssh.program=/bin/false",
    "safe.bareRepository=explicit",
)
"""Settings that a repository's own do not count against.

The last one is about directories that are a repository by what is in them: a clone may bring
one along, settings and all, as it cannot bring a `.git`.
"""

_VARIABLES = ("GIT_ALLOW_PROTOCOL=", "GIT_NO_LAZY_FETCH=1")
"""A partial clone fetches what is missing when it is looked at, by whatever way its settings name: by none."""

_QUIET = ("--no-ext-diff", "--no-textconv")
"""Whatever shows changes: drivers have names of their own, so no setting switches them off."""

_TRACKED = ("--dense",)
"""Changes nothing, and is refused where `git diff` would compare any two directories, file by file:
outside a repository, and for what is outside of it (`--no-index`, unsaid).
"""

_SHOW = spec(_LOG, "revision", digits=True, check=_format, hardened_options=_QUIET)

# fmt: off
GIT: Spec = spec(
    "-vP --version --no-pager --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs",
    hardened=("--no-pager", "--no-optional-locks", *(f for each in _HARDENED for f in ("-c", each))),
    variables=_VARIABLES,
    subcommands={
        "version": spec("--build-options"),
        "status": spec("-sbz -u?code --short --branch --porcelain?code --long --untracked-files?code --ignored?code --column?code --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?code --show-stash --ignore-submodules?code", "revision"),
        "log": _SHOW,
        "show": _SHOW,
        "diff": spec(_DIFF + " -123q --cached --staged --merge-base --base --ours --theirs -0", "revision", check=_format, hardened_options=(*_TRACKED, *_QUIET)),
        "diff-tree": spec(_LOG + " --root --stdin --no-commit-id", "revision", check=_format, hardened_options=_QUIET),
        "diff-index": spec(_DIFF + " -m --cached --merge-base", "revision", check=_format, hardened_options=_QUIET),
        "diff-files": spec(_DIFF + " -q -0", "revision", check=_format, hardened_options=_QUIET),
        "rev-list": spec(_LOG + " --count --header --objects", "revision", digits=True, check=_format),
        "rev-parse": spec("-q --verify --quiet --short?count --abbrev-ref?code --symbolic --symbolic-full-name --all --branches?text --tags?text --remotes?text --show-toplevel --show-prefix --show-cdup --show-superproject-working-tree --git-dir --absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --shared-index-path --git-path=code --revs-only --no-revs --flags --no-flags --default=code --path-format=code --show-object-format?code", "revision"),
        "branch": spec("-arvl --all --remotes --list --show-current --verbose --abbrev?count --no-abbrev " + _REFS, "text", check=_listing),
        "tag": spec("-l -n?count --list --create-reflog " + _REFS, "text", check=_tag),
        "for-each-ref": spec(_REFS + " --shell --perl --python", "text", check=_refs),
        "show-ref": spec("-hds --head --heads --branches --tags --verify --hash?count --abbrev?count -q --quiet --dereference", "text"),
        "show-branch": spec("-ar --all --remotes --list --topo-order --date-order --current --sha1-name --no-name --merge-base --independent", "text"),
        "name-rev": spec("--tags --refs=text --exclude=text --all --name-only --no-undefined --always", "text"),
        "merge-base": spec("-a --all --octopus --independent --is-ancestor --fork-point", "text"),
        "cherry": spec("-v --abbrev?count", "text"),
        "symbolic-ref": spec("-q --quiet --short", "text", at_most=1, at_least=1),
        "describe": spec("--all --tags --contains --long --always --abbrev=count --candidates=count --exact-match --debug --dirty?text --broken?text --match=text --exclude=text --first-parent", "text"),
        "ls-files": spec("-cdmoisukztvf -x:text --cached --deleted --modified --others --ignored --stage --unmerged --killed --resolve-undo --exclude=text --exclude-standard --error-unmatch --full-name --recurse-submodules --abbrev?count --directory --no-empty-directory --eol --deduplicate --sparse --format=text", "names", check=_refs),
        "ls-tree": spec("-drtlz --name-only --name-status --object-only --long --full-name --full-tree --abbrev?count --format=text", "text", check=_refs),
        "cat-file": spec("-tspe --batch-check", "revision", at_most=2, at_least=1),
        "blame": spec("-bltsewcpfnk -L:text -M?code -C?code -S:none --root --show-stats --progress --no-progress --score-debug --show-name --show-number --porcelain --line-porcelain --incremental --show-email --date=text --since=text --color-lines --color-by-age --abbrev=count --ignore-rev=text --first-parent --reverse", "revision", hardened_options=("--no-textconv",)),
        "annotate": spec("-lts -L:text", "revision", hardened_options=("--no-textconv",)),
        "shortlog": spec("-nsec -w?code --numbered --summary --email --committer --group=text --all --no-merges --merges --since=text --until=text --author=text --format=text", "revision", check=_format),
        "reflog": spec(_LOG, "none", digits=True, check=_format, hardened_options=_QUIET, subcommands={"show": _SHOW, "list": spec("")}),
        "grep": spec("-nivwlLchHEFGaIopWqrz -e:text -A:count -B:count -C:count -m:count --line-number --column --ignore-case --invert-match --word-regexp --files-with-matches --name-only --files-without-match --count --extended-regexp --basic-regexp --fixed-strings --cached --text --max-depth=count --recursive --no-recursive --full-name --null --only-matching --color?code --no-color --break --heading --show-function --function-context --after-context=count --before-context=count --context=count --threads=count --and --or --not --all-match --quiet --max-count=count", "text+revision", digits=True, check=_grep),
        "stash": spec(
            "",
            bare=False,
            subcommands={
                "list": spec(_LOG, digits=True, check=_format, hardened_options=_QUIET),
                "show": spec(_DIFF + " -u --include-untracked --only-untracked", "text", at_most=1, check=_format, hardened_options=_QUIET),
            },
        ),
        "remote": spec(
            "-v --verbose",
            subcommands={
                "get-url": spec("--push --all", "text", at_most=1),
                "show": spec("-n", "text", check=_unasked),
            },
        ),
        "worktree": spec("", bare=False, subcommands={"list": spec("-vz --verbose --porcelain")}),
        "submodule": spec("", bare=False, subcommands={"status": spec("--cached --recursive", "names")}),
        "notes": spec("", bare=False, subcommands={"list": spec("", "text"), "show": spec("", "text")}),
        "bisect": spec("", bare=False, subcommands={"log": spec("")}),
        "config": spec("--get=text --local --global --system --worktree --show-origin --show-scope --type=code --bool --int --default=text", check=_config, plain=True),
        "count-objects": spec("-vH --verbose --human-readable"),
        "check-ignore": spec("-vqnz --verbose --quiet --non-matching --no-index", "names"),
        "check-attr": spec("-az --all --cached", "text"),
        "clean": spec("-ndxXq -e:text --dry-run --quiet --exclude=text", "names", check=_dry),
        "var": spec("-l", "none", at_least=1),
    },
)
# fmt: on
