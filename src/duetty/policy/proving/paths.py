"""Which paths hold what an agent should not be shown without a person's word.

By name only: this is pure, so links and mounts are not followed (the sandbox is
there for them).
"""

import re
from functools import cache, lru_cache
from posixpath import join, normpath
from typing import NamedTuple

from duetty.policy.late_pattern import late_pattern
from duetty.policy.proving.recogniser import Glob


class Place(NamedTuple):
    """Where a command would run: the workspace, and the directory after every `cd` so far."""

    workspace: str = ""
    """The directory the call named; empty when it named none."""
    base: str = ""

    def resolve(self, path: str) -> str:
        return normpath(join(self.base or self.workspace, path)) if path else path

    def after_cd(self, target: str) -> "Place":
        base = self.resolve(target)
        # What stands before `..` may be a link, and `cd -P` follows it: no way back is sure.
        return Place(self.workspace, f"{base}/." if ".." in target else base)

    @property
    def is_elsewhere(self) -> bool:
        """Whether some `cd` has left the directory the call named, in whichever direction."""
        return self.base not in ("", ".", self.workspace)


_WHOLE = r"""(?:
      \.env (?! \.(?:example|sample|template|dist|defaults?)$ ) (?:[.\-_][^/]*)?
    | (?!(?:example|sample|template|dist|defaults?)\.env) [^/]*\.env | env\.(?:prod(?:uction)?|stag(?:e|ing)|dev(?:elopment)?|local|live|test|qa|ci|docker)
    | \.flaskenv | \.dev\.vars (?! \.(?:example|sample|template)$ ) (?:\.[^/]*)?
    | \.?envrc | [._]netrc | \.pgpass | \.my(?:login)?\.cnf | \.npmrc | \.pypirc | \.yarnrc\.yml | \.htpasswd | \.s3cfg | \.boto
    | \.databrickscfg | rclone\.conf | wg[^/]*\.conf | \.claude\.json | cookies\.sqlite | [^/]*\.keychain(?:-db)?
    | [^/]*firebase-adminsdk[^/]*\.json | gha-creds-[^/]*\.json
    | [._](?:curl|wget|lftp|mutt|msmtp|fetchmail)rc | \.(?:x|ice)authority | pip\.(?:conf|ini) | nuget\.config
    | \.?mcp\.json | claude_desktop_config\.json | \.?cookies?(?:\.(?:txt|json|jar))? | oauth2?(?:[._-][^/]*)?\.(?:json|ya?ml)
    | [^/]*[._-]key(?:\.(?:json|txt|ya?ml))? | \.?vault(?:[._-][^/]*)?\.(?:json|ya?ml) | \.?vault[_-]pass(?:\.txt)?
    | database\.ya?ml | application-(?:prod|stag|live)[^/]*\.(?:properties|ya?ml) | appsettings\.(?:prod|stag|live)[^/]*\.json
    | \.git-credentials | \.terraformrc | [^/]*\.tfstate(?:\.backup)? | [^/]*\.tfvars
    | \.ssh | \.gnupg | \.aws | \.azure | \.kube | \.docker | \.config | \.oci | \.password-store | \.mozilla | \.local | keyrings
    | \.kaggle | \.m2 | \.snowsql | \.fly | \.netlify
    | \.[a-z_]*_?history | \.histfile | fish_history | \.lesshst | \.viminfo
    | (?:ssh_host_)?[a-z0-9_]*(?:rsa|dsa|ecdsa|ed25519)(?:_key)? | authorized_keys | known_hosts
    | (?:\.|aws_|db_|gcp_)?(?:credentials?|creds) (?:\.(?!py$|js$|ts$|go$|rs$|java$|rb$|md$)[^/]*)?
    | [^/]*(?:secret|passw(?:or)?d|api[_-]?key|access[_-]?token|private[_-]?key|service[_-]?account)s?[^/]*
        (?<!\.py)(?<!\.js)(?<!\.ts)(?<!\.go)(?<!\.rs)(?<!\.java)(?<!\.rb)(?<!\.md)(?<!\.tsx)(?<!\.jsx)(?<!\.c)(?<!\.h)(?<!\.cpp)
    | tokens? (?:\.(?:txt|json|ya?ml|env|ini))? | \.tokens? | [^/]*[_-]tokens?(?!/)
    | g?shadow-? | sudoers | [^/]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|ovpn|asc|gpg|cer)
    | wp-config\.php | environ | kcore | mem | docker\.sock | kubeconfig | wallet\.dat | auth\.json | local\.settings\.json | \.dockercfg
    )"""
_GIT_CONFIG = r"\.git/(?:[^/]+/)*config(?:\.worktree)?"

_COPY_ENDS = "~ .bak .backup .old .orig .save .swp .swo .tmp .copy".split()
_COPY_FRAMES = (("#", "#"), (".", ".swp"), (".", ".swo"))
"""What editors and people add to a name, for another copy of the same."""

_COPIED = "(?:" + "|".join(map(re.escape, _COPY_ENDS)) + "){0,2}"
_NAMES = (
    rf"(?:^|/)(?:(?:{_WHOLE}|{_GIT_CONFIG}){_COPIED}"
    rf"|\#{_WHOLE}{_COPIED}\#|\.{_WHOLE}{_COPIED}\.sw[op])(?:/|$)"
)
"""In small letters, as they are found in any case."""

_SECRET_NAMES = late_pattern(_NAMES, re.VERBOSE)


@cache
def _secret_in_any_case() -> "re.Pattern[str]":
    """For letters beyond ASCII, of which some are another case of these; seldom needed, and slower."""
    return re.compile(_NAMES, re.VERBOSE | re.IGNORECASE)


_DIRECTORIES = """.ssh .gnupg .aws .azure .kube .docker .config .oci .password-store .mozilla .local keyrings
    .kaggle .m2 .snowsql .fly .netlify""".split()

_CREDENTIALS = [
    owner + word + end
    for owner in ("", ".", "aws_", "db_", "gcp_")
    for word in ("credential", "credentials", "creds")
    for end in ("", ".*")
]
SECRET_GLOBS = [
    *""".env .env[._-]* *.env .*.env .flaskenv .dev.vars .dev.vars.* .envrc envrc [._]netrc .pgpass .my.cnf .mylogin.cnf .npmrc .pypirc .yarnrc.yml .htpasswd .s3cfg .boto .git-credentials
    env.prod env.production env.stage env.staging env.dev env.development env.local env.live env.test env.qa env.ci env.docker
    .databrickscfg rclone.conf wg*.conf .claude.json cookies.sqlite *.keychain *.keychain-db *firebase-adminsdk*.json gha-creds-*.json
    [._]curlrc [._]wgetrc [._]lftprc [._]muttrc [._]msmtprc [._]fetchmailrc .xauthority .iceauthority pip.conf pip.ini nuget.config
    mcp.json .mcp.json claude_desktop_config.json cookie cookies .cookie .cookies cookie.txt cookies.txt cookie.json cookies.json cookie.jar cookies.jar .cookie.txt .cookies.txt .cookie.json .cookies.json .cookie.jar .cookies.jar oauth*.json oauth*.y*ml
    *[._-]key *[._-]key.json *[._-]key.txt *[._-]key.y*ml vault*.json vault*.y*ml .vault*.json .vault*.y*ml vault[_-]pass .vault[_-]pass vault[_-]pass.txt .vault[_-]pass.txt
    database.y*ml application-[psl]*.properties application-[psl]*.y*ml appsettings.[psl]*.json
    *[_-]token *[_-]tokens .token .tokens .terraformrc *.tfstate *.tfstate.backup *.tfvars .*history .histfile fish_history .lesshst .viminfo
    *rsa *dsa *ed25519 *rsa_key *dsa_key *ed25519_key authorized_keys known_hosts
    token tokens token.txt tokens.txt token.json tokens.json token.y*ml tokens.y*ml token.env tokens.env token.ini tokens.ini
    shadow shadow- gshadow gshadow- sudoers
    *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk *.ovpn *.asc *.gpg *.cer
    wp-config.php environ kcore mem docker.sock kubeconfig wallet.dat auth.json local.settings.json .dockercfg""".split(),
    *_CREDENTIALS,
]
"""The same names as globs, no fewer; but for those that only a part of the name gives away."""

_TELLING = """secret passwd password api_key api-key apikey access_token access-token accesstoken private_key private-key privatekey
    service_account service-account serviceaccount""".split()

_CODE_ENDS = (
    ".py", ".js", ".ts", ".tsx", ".jsx", ".go", ".rs", ".java", ".rb", ".md", ".c", ".h", ".cpp"
)  # fmt: skip
"""A file of one of these is about secrets, and holds none."""

LEFT_OUT_COPIES = """*~ [#]*# *.bak *.backup *.old *.orig *.save *.sw[op] *.tmp *.copy""".split()
"""Copies of anything: too many to say of which."""
LEFT_OUT_DIRECTORIES = (".git", *_DIRECTORIES)
LEFT_OUT = [
    *""".env* *.env .flaskenv .dev.vars* env.[dpqst]* env.ci env.l[io][cv]* envrc [._]netrc .pgpass .my.cnf .mylogin.cnf .npmrc .pypirc .yarnrc.yml .htpasswd .s3cfg .boto .git-credentials .terraformrc .databrickscfg
    rclone.conf wg*.conf .claude.json cookies.sqlite *.keychain* *firebase-adminsdk*.json gha-creds-*.json
    [._]curlrc [._]wgetrc [._]lftprc [._]muttrc [._]msmtprc [._]fetchmailrc .*authority pip.conf pip.ini nuget.config *mcp.json claude_desktop_config.json cookie cookies .cookie* cookie.txt cookie.json cookie.jar cookies.txt cookies.json cookies.jar oauth*.json oauth*.y*ml
    *[._-]key *[._-]key.[jty]* *vault*.json *vault*.y*ml *vault[_-]pass *vault[_-]pass.txt database.y*ml application-[psl]* appsettings.[psl]*
    *[_-]token *[_-]tokens .token .tokens *.tfstate* *.tfvars [.f]*history .histfile .lesshst .viminfo *[dr]sa *[dr]sa_key *ed25519 *ed25519_key authorized_keys known_hosts
    token tokens token.[eiy]* tokens.[eiy]* token.txt tokens.txt token.json tokens.json *shadow *shadow- sudoers
    *.p[ep][mk] *.p12 *.pfx *.key *.keystore *.jks *.kdbx *.ovpn *.asc *.gpg *.cer
    wp-config.php environ kcore mem docker.sock kubeconfig wallet.dat auth.json local.settings.json .dockercfg
    *credential *credentials *creds *cred*.json *cred*.y*ml *cred*.[it][nx]* *secret *secrets *secret*.json *secret*.y*ml *secret*.[it][nx]* *secret*.env
    *passw*.json *passw*.y*ml *passw*.[it][nx]* *service?account*.json""".split(),
    *LEFT_OUT_COPIES,
]
"""What a search through a tree leaves out: globs of names, for programs that take such.

Of names that only a part gives away (`secrets.yaml`) those with the commonest endings of data:
a search that left out `secrets.py` would not tell the truth about the code. As few as can be,
since `diff` prints them.
"""

_PUBLIC = late_pattern(
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


_SOUGHT = late_pattern(
    r"passw(?:or)?d|passphrase|secret|credential|(?:api|access|private|auth|aws)\W?.{0,6}(?:key|token)|akia",
    re.IGNORECASE,
)
_INDEFINITE = late_pattern(r"\\.|\[\^?\]?[^]]*\]|.?[*?]|\{[0-9,]*\}")
_EITHER = late_pattern(r"[|\n]")
"""Between what a search looks for: each line of a pattern is one of its own."""
_SPECIFIC = late_pattern(r"[^\W_].*[^\W_]")


def search_problem(pattern: str) -> str | None:
    """Why a search through whole trees for this is not shown unasked: among the files may be any."""
    # One letter is in nearly every line; what may be there or not says nothing.
    if not all(_SPECIFIC.search(_INDEFINITE.sub("_", each)) for each in _EITHER.split(pattern)):
        return "shows most of every file below, whatever it holds"
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
    if type(path) is Glob and (why := _glob_problem(path, resolved)):
        return why
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


def _glob_problem(pattern: str, resolved: str) -> str | None:
    """What may be found by a pattern, whatever is there: a secret, or the directory above."""
    parts = resolved.lower().split("/")
    if any(_is_wild(part) and meet(part, "..") for part in pattern.split("/")):
        return f"{pattern!r} may find what is outside the workspace"
    if any(_is_wild(part) and may_be_secret(part) for part in parts) or _is_git_config(parts):
        return f"{pattern!r} may find secrets"
    return None


def pathspec_problem(pattern: str) -> str | None:
    """The same of git's own patterns, in which a leading dot and `/` are like any other sign."""
    pattern = pattern.lower()
    for part in {pattern, pattern.rpartition("/")[2], *pattern.split("/")}:
        if _is_wild(part) and (
            may_be_secret(part)
            or (not part.endswith(_CODE_ENDS) and part[0] in "*?[" and may_be_secret("." + part))
        ):
            return f"{pattern!r} may find secrets"
    return None


def _is_wild(part: str) -> bool:
    return "*" in part or "?" in part or "[" in part


def _is_git_config(parts: list[str]) -> bool:
    """Whether these can be a `config` somewhere below a `.git`."""
    return (
        any(meet(part, ".git") for part in parts[:-1])
        and any(meet(part, name) for part in _without_copy(parts[-1]) for name in ("config", "config.worktree"))
    )  # fmt: skip


@lru_cache(maxsize=1024)
def may_be_secret(part: str) -> bool:
    """Whether a glob for one name, in small letters, can find a secret; a leading dot finds only itself."""
    part = _STARS.sub("*", part)
    if _may_name_secret(part) or any(map(_may_name_secret, _without_copy(part))):
        return True
    # Within a frame a leading dot is a sign like any other.
    return any(
        _may_name_secret(each, dotted=True)
        for before, after in _COPY_FRAMES
        for inner in _without_start(part, before)
        for framed in _without_end(inner, after)
        for each in _without_copy(framed)
    )


def _may_name_secret(part: str, *, dotted: bool = False) -> bool:
    is_code = part.endswith(_CODE_ENDS)
    for name in (*_DIRECTORIES, *SECRET_GLOBS):
        if meet(part, name, dotted=dotted) and not (is_code and name in _CREDENTIALS):
            return True
    return not is_code and any(meet(part, f"*{word}*", dotted=dotted) for word in _TELLING)


def _without_copy(part: str) -> set[str]:
    """Globs for the names of which this one may find the name itself, a copy, or a copy's copy."""
    once = {rest for end in _COPY_ENDS for rest in _without_end(part, end)}
    return {
        part,
        *once,
        *(rest for one in once for end in _COPY_ENDS for rest in _without_end(one, end)),
    }


def _without_end(pattern: str, end: str) -> set[str]:
    """Globs that find a name where the pattern finds it with this end."""
    signs = _SIGN.findall(pattern)
    return {"".join(rest) for rest in _shortened(signs[::-1], end[::-1], turned=True)}


def _without_start(pattern: str, start: str) -> set[str]:
    """The same for a start; a dot there is found by itself only."""
    signs = _SIGN.findall(pattern)
    if start == "." and signs[:1] != ["."]:
        return set()
    return {"".join(rest) for rest in _shortened(signs, start)}


def _shortened(signs: list[str], text: str, *, turned: bool = False) -> list[list[str]]:
    reached = {0}
    for letter in text:
        found = set[int]()
        for at in reached:
            while at < len(signs) and signs[at] == "*":
                found.add(at)  # it takes the letter, and may take more
                at += 1
            if at < len(signs) and _same(signs[at], letter):
                found.add(at + 1)
        reached = found
    rests = [signs[at:] for at in reached]
    return [rest[::-1] if turned else rest for rest in rests if rest]


_STARS = late_pattern(r"\*{2,}")
_SIGN = late_pattern(r"\[[^]]*\]|.", re.DOTALL)


def meet(pattern: str, names: str, *, dotted: bool = False) -> bool:
    """Whether a shell may find by the pattern, in one directory, a name that the other glob describes.

    To a shell a dot at the beginning is found by itself only; to who says which names are meant
    it is a sign like any other, and so it is to a shell (`dotted`) where more stands before.
    """
    one, two = _SIGN.findall(pattern), _SIGN.findall(names)
    if not dotted and two[:1] == ["."] and one[:1] != ["."]:
        return False
    reached = {0}
    # Places in `two` that can be reached together with each place in `one`.
    for sign in [*one, ""]:
        pending = list(reached)
        while pending:  # a star of the second is left out
            at = pending.pop()
            if at < len(two) and two[at] == "*" and at + 1 not in reached:
                reached.add(at + 1)
                pending.append(at + 1)
        if sign == "":
            return len(two) in reached
        if sign == "*":
            # It takes whatever the second goes on with.
            reached = set(range(min(reached), len(two) + 1)) if reached else reached
        else:
            reached = {
                at if two[at] == "*" else at + 1
                for at in reached
                if at < len(two) and _same(sign, two[at])
            }
    return False


def _same(sign: str, other: str) -> bool:
    if sign in "*?" or other in "*?":
        return True
    if len(sign) > 1 and (sign[1] in "!^" or "-" in sign):
        return True  # all but some, or a range: not looked into
    if len(sign) > 1 and len(other) > 1:
        return True
    if len(other) > 1:
        sign, other = other, sign
    return other in sign[1:-1] if len(sign) > 1 else sign == other
