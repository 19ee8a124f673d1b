"""The caller's environment, as a session of theirs may have it."""

from collections.abc import Mapping


def callers_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Everything but what is Duetty's own: tokens, places and settings are no program's business."""
    return {name: value for name, value in env.items() if not name.startswith("DUETTY_")}
