"""What is known of a program by the word that calls it: its name, and which parts of the scan it needs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from duetty.policy.proving.specs.coreutils import COREUTILS
from duetty.policy.scanning.commands import INTERPRETERS, SENDERS, program_name
from duetty.policy.scanning.patterns import BY_PROGRAM, globbed
from duetty.policy.scanning.programs import SPECIAL
from duetty.policy.scanning.use import Scanner, Use
from duetty.policy.scanning.verbs import EXEMPT
from duetty.policy.scanning.wrappers import ELSEWHERE, SHELLS, WRAPPERS

AWK = frozenset("awk gawk mawk nawk original-awk".split())

SED = frozenset(["sed", "gsed"])

SQL = frozenset(
    "psql mysql mariadb sqlite3 sqlite cockroach clickhouse-client clickhouse duckdb sqlcmd mssql-cli bq mongosh mongo cqlsh snowsql trino presto usql pgcli mycli litecli beeline hive"
    " spark-sql impala-shell db2 sqlplus isql osql tsql influx redis-cli valkey-cli keydb-cli arangosh cypher-shell ysqlsh questdb turso wrangler supabase edgedb surreal dolt rails django-admin artisan console prisma".split()
)

DATA = frozenset(
    "echo printf grep egrep fgrep zgrep rg ag ack which whereis type apropos whatis tldr help cat ls head tail wc cd mkdir touch basename dirname logger"
    " notify-send say figlet cowsay test [ [[ comm uniq cut tr read hash stat realpath readlink pgrep pidof true false : date seq sleep".split()
)
"""Programs to which their words are data: a command among them runs nothing."""

MESSENGERS = frozenset("git gh glab hg svn jj".split())
"""Programs that are given messages, which may speak of anything."""

RUNNERS = frozenset(
    "docker podman nerdctl kubectl oc lxc incus machinectl multipass vagrant gcloud heroku fly flyctl railway wsl crictl ctr docker-compose".split()
)
"""Programs that start another one elsewhere, and hand it their standard input."""

SCRIPTED = frozenset(
    "make gmake ed ex vi vim gdb lldb sftp ftp lftp tmux screen at batch bc dc m4".split()
)
FILES_ONLY = frozenset("tee sponge patch psql mysql sqlite3".split())

FILTERS = frozenset(
    "cat tac sort uniq grep egrep fgrep rg sed gsed awk gawk mawk jq yq cut head tail nl fmt fold paste join comm tr rev column expand unexpand iconv shuf"
    " base64 xxd strings perl envsubst xmllint tidy prettier black jsonlint csvcut mlr".split()
)
"""Programs that print what is in the files they are given."""

SUBSCRIPTED = frozenset(
    "test [ [[ printf read declare typeset local export readonly let unset wait mapfile readarray".split()
)
"""Builtins that evaluate an array subscript even within single quotes."""

_RUNS_OTHERS = frozenset(
    [
        *WRAPPERS,
        *SHELLS,
        *AWK,
        *SED,
        *SQL,
        *"find gfind bfs fd fdfind source . hash at batch crontab argparse".split(),
    ]
)
"""Programs that run what they are given, in one way or another."""


_OTHER_NAMES = {
    "manage.py": "django-admin",
    "k": "kubectl",
    "tf": "terraform",
    "cmd.exe": "cmd",
    "powershell.exe": "powershell",
    "gmake": "make",
    "zf_rm": "rm",
    "zf_rmdir": "rmdir",
    "zf_mv": "mv",
    "zf_chmod": "chmod",
    "zf_chown": "chown",
    "zf_ln": "ln",
    "zmv": "mv",
    "dcfldd": "dd",
    "dc3dd": "dd",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    name: str
    """The program's own, where it goes by several."""
    is_odd: bool
    """Whether the name it is called by is more than letters and figures."""
    catalogued: bool
    """Whether a pattern of the catalogue may match."""
    special: Callable[[Scanner, Use], None] | None
    runs_others: bool
    is_elsewhere: bool
    """Whether what it runs has another user, machine or file system."""
    is_interpreter: bool
    sends: bool
    is_swept: bool
    """Whether later words may be commands."""
    takes_verbs: bool
    """Whether `delete` among its words means what it says."""
    is_subscripted: bool


@lru_cache(maxsize=2_048)
def traits(called: str) -> Traits:
    """What is known of the program that a command's first word calls."""
    given = program_name(called)
    name = _OTHER_NAMES.get(given, given)
    interpreter = INTERPRETERS.fullmatch(name) is not None
    return Traits(
        name=name,
        is_odd=not (given.isalnum() and given.isascii()),
        catalogued=name in BY_PROGRAM or bool(globbed(name)),
        special=SPECIAL.get(name),
        runs_others=name in _RUNS_OTHERS or interpreter,
        is_elsewhere=name in RUNNERS or name in ELSEWHERE,
        is_interpreter=interpreter,
        sends=name in SENDERS,
        is_swept=name not in DATA,
        takes_verbs=not (
            name in EXEMPT
            or name in DATA
            or name in COREUTILS
            or name in SHELLS
            or (name in WRAPPERS and not WRAPPERS[name].only_after)
            or name in SQL
            or interpreter
        ),
        is_subscripted=name in SUBSCRIPTED,
    )
