"""Which paths hold what an agent should not be shown without a person's word.

By name only: this is pure, so links and mounts are not followed (the sandbox is
there for them).
"""

import re
from fnmatch import fnmatchcase
from functools import cache
from posixpath import join, normpath
from typing import NamedTuple

from duetty.policy.recogniser import Glob


class Place(NamedTuple):
    """Where a command would run: the workspace, and the directory after every `cd` so far."""

    workspace: str = ""
    """The directory the call named; empty when it named none."""
    base: str = ""

    def resolve(self, path: str) -> str:
        return normpath(join(self.base or self.workspace, path)) if path else path

    def after_cd(self, target: str) -> "Place":
        return Place(self.workspace, self.resolve(target))


_NAMES = r"""(?:^|/)(?:
      \.env (?! \.(?:example|sample|template|dist|defaults?)$ ) (?:[.\-_][^/]*)?
    | \.?envrc | [._]netrc | \.pgpass | \.my\.cnf | \.npmrc | \.pypirc | \.yarnrc\.yml | \.htpasswd | \.s3cfg | \.boto
    | \.git-credentials | \.git/config | \.vault-token | \.terraformrc | [^/]*\.tfstate(?:\.backup)? | [^/]*\.tfvars
    | \.ssh | \.gnupg | \.aws | \.azure | \.kube | \.docker | \.config | \.oci | \.password-store | \.mozilla | \.local | keyrings
    | \.[a-z_]*_?history | \.histfile | fish_history | \.lesshst | \.viminfo
    | (?:ssh_host_)?[a-z0-9_]*(?:rsa|dsa|ecdsa|ed25519)(?:_key)? | authorized_keys | known_hosts
    | (?:aws_|db_|gcp_)?(?:credentials?|creds) (?:\.(?!py$|js$|ts$|go$|rs$|java$|rb$|md$)[^/]*)?
    | [^/]*(?:secret|passw(?:or)?d|api[_-]?key|access[_-]?token|private[_-]?key|service[_-]?account)s?[^/]*
        (?<!\.py)(?<!\.js)(?<!\.ts)(?<!\.go)(?<!\.rs)(?<!\.java)(?<!\.rb)(?<!\.md)(?<!\.tsx)(?<!\.jsx)(?<!\.c)(?<!\.h)(?<!\.cpp)
    | tokens? (?:\.(?:txt|json|ya?ml|env|ini))?
    | g?shadow-? | sudoers | [^/]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|ovpn|asc|gpg|cer)
    | wp-config\.php | environ | kcore | mem | docker\.sock | kubeconfig | wallet\.dat | auth\.json | local\.settings\.json | \.dockercfg
    )(?:/|$)"""
"""In small letters, as they are found in any case."""

_SECRET_NAMES = re.compile(_NAMES, re.VERBOSE)


@cache
def _secret_in_any_case() -> "re.Pattern[str]":
    """For letters beyond ASCII, of which some are another case of these; seldom needed, and slower."""
    return re.compile(_NAMES, re.VERBOSE | re.IGNORECASE)


_SECRET_SAMPLES = (
    ".env .env.local .netrc .npmrc .ssh .aws .git-credentials .bash_history id_rsa id_ed25519"
    " credentials credentials.json secrets.yaml secret.txt password.txt token.txt tokens.json server.key cert.pem"
    " shadow sudoers gshadow terraform.tfstate prod.tfvars service-account.json environ"
).split()
"""A glob that would find one of these is not a plain one."""

_PUBLIC = re.compile(
    r"/dev/null"
    r"|/etc/(?:os-release|lsb-release|debian_version|issue|timezone|localtime|shells|protocols|services|mime\.types)"
    r"|/proc/(?:cpuinfo|meminfo|version|uptime|loadavg|filesystems|stat|diskstats|vmstat)"
    r"|/usr/(?:include|share|src|lib|local/include|local/share)(?:/.*)?"
)
"""Outside every workspace, and the same for everybody."""


def is_secret(path: str) -> bool:
    if path.isascii():
        return _SECRET_NAMES.search(path.lower()) is not None
    return _secret_in_any_case().search(path) is not None


_SOUGHT = re.compile(
    r"passw(?:or)?d|passphrase|secret|credential|(?:api|access|private|auth|aws)\W?.{0,6}(?:key|token)|akia",
    re.IGNORECASE,
)
_EVERYTHING = re.compile(r"[.^$*+=]*")


def search_problem(pattern: str) -> str | None:
    """Why a search through whole trees for this is not shown unasked: among the files may be any."""
    if _EVERYTHING.fullmatch(pattern):
        return "shows every file below, whatever it holds"
    if _SOUGHT.search(pattern):
        return f"{pattern!r} looks for secrets"
    return None


def content_problem(path: str, place: Place) -> str | None:
    """Why the content of this path is not shown unasked."""
    if path == "-":
        return None
    if path.startswith("~"):
        return f"{path!r} is outside the workspace"
    resolved = place.resolve(path)
    if is_secret(resolved) or (path != resolved and is_secret(path)):
        return f"{path!r} may hold secrets"
    if type(path) is Glob and _finds_secrets(resolved):
        return f"{path!r} may find secrets"
    if resolved.startswith("//"):
        resolved = resolved[1:]
    if resolved.startswith("/"):
        home = place.workspace
        inside = bool(home) and (
            resolved == home or resolved.startswith(home if home.endswith("/") else home + "/")
        )
        if not inside and not _PUBLIC.fullmatch(resolved):
            return f"{path!r} is outside the workspace"
    elif resolved == ".." or resolved.startswith("../"):
        return f"{path!r} is outside the workspace"
    return None


def _finds_secrets(pattern: str) -> bool:
    for part in pattern.split("/"):
        if ("*" in part or "?" in part) and any(
            # A leading dot is found only by a leading dot.
            fnmatchcase(sample, part) and (sample[0] != "." or part[0] == ".")
            for sample in _SECRET_SAMPLES
        ):
            return True
    return False
