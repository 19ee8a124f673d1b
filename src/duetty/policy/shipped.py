"""The rules that Duetty brings along.

Apart from `ops`, so that the command line can judge by them without a server behind it.
"""

from duetty.policy.analysis import Analysis
from duetty.policy.rules import load_rules

PROGRAM = "duetty"

_CALLED = (
    "duetty", "python* -mduetty", "python* *duetty", "python* *duetty/__main__.py",
    "* run duetty", "* tool run duetty",
)  # fmt: skip
"""How our own program is started (`-m` is an option before its name), besides by what policy sees through anyway (`env`, `setsid`, `uvx`, a path)."""


def _ours(*commands: str) -> list[str]:
    return [f"{called} {command}" for called in _CALLED for command in commands]


# fmt: off
_RULES: list[dict[str, object]] = [
    {
        "name": "answers-are-for-people",
        "decide": "deny",
        "actor": ["agent", "node"],
        "command": _ours(
            "approve **", "decline **", "approvals revoke **", "upstreams trust **", "upstreams on **", "upstreams off **",
            "upstreams add **", "upstreams remove **", "upstreams restart **", "upstreams accept **",
            "upstreams withdraw **", "upstreams import **",
        ),
        "matches": [
            "duetty approve 1", "cd x && duetty decline 2 --note no", "python3 -X utf8 -m duetty approve 1",
            "pipx run duetty -L x approve 1", "/opt/venv/bin/python /opt/venv/bin/duetty approve 1",
        ],
        "not_matches": ["duetty approvals", "duetty list", "duetty upstreams tools"],
        "why": "an agent cannot answer for a person",
    },
    {
        "name": "own-server",
        "decide": "deny",
        "actor": ["agent", "node"],
        "command": [
            *_ours(
                "server **", "stop **", "persist on **", "persist off **", "token **", "servers add **", "servers remove **", "keeper **",
            ),
            "python* -m duetty.* **", "python* -mduetty.* **", "pkill *duetty* **", "killall *duetty* **",
            *(f"systemctl {verb} *duetty* **" for verb in ("stop", "restart", "kill", "edit", "disable", "mask")),
        ],
        "matches": [
            "duetty token", "duetty -L x stop", "DUETTY_POLICY_PROFILE=open setsid duetty server --replace", "python3 -m duetty stop",
            "uvx duetty persist off", "uv tool run duetty stop", "pkill -9 -f duetty.*server",
        ],
        "not_matches": ["duetty status", "duetty persist", "duetty servers", "pkill -f pytest"],
        "why": "the server, its tokens and what it is set to are a person's",
    },
    {
        "name": "own-agent",
        "decide": "ask",
        "actor": ["agent", "node"],
        "command": _ours("ask **", "agent resume **"),
        "matches": ["duetty ask 'go on'", "make 2>&1 | duetty ask why", "python3 -m duetty agent resume 3f2a"],
        "not_matches": ["duetty agent list", "duetty agent log 3f2a", "echo ask"],
        "why": "it spends a model's money beyond this one's own limits",
    },
]
# fmt: on

SHIPPED: dict[str, object] = {"rules": _RULES}

_EXAMPLES = ("matches", "not_matches")

SHIPPED_RULES = load_rules(
    {"rules": [{key: rule[key] for key in rule if key not in _EXAMPLES} for rule in _RULES]},
    "shipped",
)
"""Without their examples: a test checks those, not every start."""


def may_hold(analysis: Analysis) -> bool:
    """Whether a shipped rule can be about this line: all of them are about our own program.

    To look for its name is a tenth of the work of asking each rule.
    """
    for words in analysis.commands:
        for word in words:
            if PROGRAM in word:
                return True
    return False
