"""The rules that Duetty brings along, and which rules are in force with somebody's own.

Apart from `ops`, so that the command line can judge by them without a server behind it.
"""

from duetty.policy.analysis import Analysis
from duetty.policy.decisions import Profile
from duetty.policy.rules import RuleSet, load_rules

PROGRAM = "duetty"

SHIPPED: dict[str, object] = {
    "rules": [
        {
            "name": "answers-are-for-people",
            "decide": "deny",
            "actor": ["agent", "node"],
            "command": [
                "duetty approve **",
                "duetty decline **",
                "duetty upstreams trust **",
                "duetty upstreams on **",
                "duetty upstreams add **",
            ],
            "matches": ["duetty approve 1", "cd x && duetty decline 2 --note no"],
            "not_matches": ["duetty approvals", "duetty list", "duetty upstreams tools"],
            "why": "an agent cannot answer for a person",
        },
        {
            "name": "own-server",
            "decide": "ask",
            "actor": ["agent", "node"],
            "command": ["duetty token **", "duetty stop **"],
            "matches": ["duetty token", "duetty stop"],
            "not_matches": ["duetty status"],
            "why": "it hands out the server's own token, or ends the server",
        },
    ]
}

SHIPPED_RULES = load_rules(SHIPPED, "shipped")


def in_force(own: RuleSet, profile: Profile) -> RuleSet:
    """A person's rules and the shipped ones; the open profile asks nobody whom the person did not name."""
    return own if profile is Profile.OPEN else SHIPPED_RULES + own


def may_hold(analysis: Analysis) -> bool:
    """Whether a shipped rule can be about this line: all of them are about our own program.

    To look for its name is a tenth of the work of asking each rule.
    """
    for words in analysis.commands:
        for word in words:
            if PROGRAM in word:
                return True
    return False
