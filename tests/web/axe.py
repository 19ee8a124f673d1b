"""axe-core, put into the page that a test shows."""

from pathlib import Path
from typing import Any

import pytest

from tests.web.browsing import Tab

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
THEMES = ("dark", "light", "contrast")
WINDOW: dict[str, Any] = {"bypass_csp": True}
"""axe is put into the page from outside, which its policy forbids to everybody else."""


def findings(tab: Tab) -> list[str]:
    """What is serious about the screen as it stands, by every rule, in every theme."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: cd web && npm ci")
    problems: list[str] = []
    for theme in (*THEMES[1:], THEMES[0]):
        _put_theme(tab, theme)
        problems += _findings(tab, theme)
    return problems


def _put_theme(tab: Tab, theme: str) -> None:
    """As when it is chosen in another window, so that the screen stays as it is."""
    tab.page.evaluate(
        """(theme) => {
          localStorage.setItem("duetty.prefs", JSON.stringify({theme}));
          dispatchEvent(new StorageEvent("storage", {key: "duetty.prefs"}));
        }""",
        theme,
    )
    assert tab.page.evaluate("document.documentElement.dataset.theme") == theme
    tab.wait_still()


def _findings(tab: Tab, theme: str) -> list[str]:
    if not tab.page.evaluate("'axe' in window"):
        tab.page.add_script_tag(path=AXE)
    result: dict[str, Any] = tab.page.evaluate(
        "axe.run(document, {resultTypes: ['violations'], preload: false, iframes: false})"
    )
    return [
        f"{theme}: {each['id']} ({each['impact']}): {node['html'][:160]} {[check.get('message') for check in node['any'][:1]]}"
        for each in result["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]
