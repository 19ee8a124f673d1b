"""Policy: a call and the rules in, Allow, Ask or Deny out.

`decide` is all of it. `explain` tells how a command line was read, `load_rules` reads
the rules of people and projects. A guardrail, not a boundary: that is the sandbox.

Pure. Knows nothing of people, sessions, files or time.
"""

from duetty.policy.analysis import Analysis, analyse, analyse_whole
from duetty.policy.decide import decide, question_about, visible
from duetty.policy.decisions import (
    Allow,
    Ask,
    Canonical,
    Decision,
    Deny,
    Judged,
    Mode,
    Profile,
    Reason,
    to_json,
)
from duetty.policy.late_pattern import compile_patterns
from duetty.policy.rules import Names, Rule, RuleSet, load_rules, rule_lines
from duetty.policy.scanning.catalogue import CATALOGUE, CLASSES, DestructiveClass
from duetty.policy.scanning.places import home_elsewhere

__all__ = [
    "CATALOGUE",
    "CLASSES",
    "Allow",
    "Analysis",
    "Ask",
    "Canonical",
    "Decision",
    "Deny",
    "DestructiveClass",
    "Judged",
    "Mode",
    "Names",
    "Profile",
    "Reason",
    "Rule",
    "RuleSet",
    "analyse",
    "analyse_whole",
    "compile_patterns",
    "decide",
    "home_elsewhere",
    "load_rules",
    "question_about",
    "rule_lines",
    "to_json",
    "visible",
]
