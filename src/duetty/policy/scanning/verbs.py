"""Words that mean *delete* to most programs: for programs that the catalogue does not know."""

import re
from collections.abc import Sequence

from duetty.policy.late_pattern import late_pattern

WITHIN = 6
"""Operands among which the verb is looked for."""

_VERBS = (
    "delete|del|destroy|drop|purge|wipe|erase|remove|rm|rmi|expunge|uninstall|unpublish|revoke|terminate|nuke|obliterate"
    "|truncate|flushall|flushdb|decommission|deprovision|teardown|undeploy|deregister|unregister|factory-reset|zap"
    "|delete-all|remove-all|reset-all|poweroff|reboot|shutdown|deleteall|dropall|removeall|wipefs|unlink|shred"
)
_WHOLE = frozenset(_VERBS.split("|"))
_PART = late_pattern(
    rf"(?:{_VERBS})[-_:][a-z0-9_:-]+|[a-z0-9_:-]*[-_:](?:{_VERBS})|(?:delete|drop|destroy|purge|remove|erase|wipe|terminate)[A-Z][A-Za-z]*"
)
"""`delete-context`, `apps:destroy`, `dropCollection`."""

_HINT = late_pattern(
    r"del|destroy|drop|purge|wip|eras|rem|rm|expung|uninst|unpub|revok|termin|nuk|oblit|trunc|flush|decom|deprov|tear|unde|dereg|unreg|reset|zap|power|reboot|shut|unlink|shred",
    re.IGNORECASE,
)
"""In each of these there is one of those."""

_OPTION = late_pattern(
    r"--?(?:delete|destroy|purge|wipe|erase|expunge|drop|nuke|uninstall|zap|remove-all|factory-reset|force-delete)(?:[-_=].*)?"
)
_HARMLESS = ("--dry-run", "--simulate", "--what-if", "--whatif", "--help", "--no-act", "--preview")

EXEMPT = frozenset(
    # where such a word names something: a test, a target, a file, a branch, a message
    "pytest jest vitest mocha rspec phpunit go cargo make gmake npm yarn pnpm bun tox nox gradle gradlew mvn ctest bazel just task cmake ninja meson"
    " code subl open xdg-open less more bat man info vim vi nvim nano emacs emacsclient ed ex git gh glab hg svn jj tig lazygit mail mailx mutt"
    " export unset set local declare typeset readonly alias unalias cd pushd popd mkdir touch read shift trap return exit source . eval let getopts bind"
    " tmux screen ssh scp rsync curl wget http https xh httpie ping dig host nslookup whois nmap ffmpeg convert magick tar zip unzip 7z gzip gunzip bzip2 xz"
    " jq yq sed awk gawk mawk grep rg sort diff patch cp mv ln install chmod chown chgrp tee split kill pkill killall pgrep ps top htop watch strace gdb"
    " python python3 node ruby perl php deno java javac gcc clang rustc tsc eslint prettier ruff black mypy pylint flake8 docker-compose"
    " find bfs fd say figlet cowsay notify-send logger write wall fzf rename basename dirname".split()
)


def tells_to_delete(words: Sequence[str], operands: Sequence[str], *, catalogued: bool) -> bool:
    """Whether these words (without the program) tell it to; `catalogued` programs only by a whole word."""
    if not _HINT.search("\0".join(words)) or operands[:1] == ["cache"]:
        return False  # nearly always
    for operand in operands[:WITHIN]:
        if operand.lower() in _WHOLE or (
            not catalogued
            # Letters of one case have no parts.
            and not (operand.isalpha() and operand.islower())
            and _PART.fullmatch(operand)
        ):
            break
    else:
        if catalogued:
            return False
        options = [word for word in words if word[:1] == "-"]
        if not any(map(_OPTION.fullmatch, options)):
            return False
    return not any(word.startswith(_HARMLESS) for word in words)
