"""A project's settings by a link: used if they are some, and told of nothing if not."""

import json
from pathlib import Path

import pytest

from duetty.clock import SystemClock
from duetty.errors import BadSetting, PolicyDenied
from duetty.ops.rulebook.in_force import ProjectRules

SECRET = "SECRET-KEYNAME"
HIDDEN = [
    json.dumps({SECRET: 1}),
    json.dumps({"policy": {SECRET: 1}}),
    json.dumps({"policy": {"profile": SECRET}}),
    json.dumps({"policy": {"rules": [{"decide": "deny", SECRET: 1}]}}),
    json.dumps({"policy": {"rules": [{"decide": SECRET}]}}),
    f'{{"{SECRET}": 1, "{SECRET}": 2}}',
    SECRET,
]


@pytest.mark.parametrize("text", HIDDEN)
@pytest.mark.parametrize("linked", ["settings.json", ".duetty"])
def test_what_a_link_leads_to_is_not_told(tmp_path: Path, text: str, linked: str) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "settings.json").write_text(text)
    project = tmp_path / "project"
    project.mkdir()
    if linked == ".duetty":
        (project / ".duetty").symlink_to(hidden)
    else:
        (project / ".duetty").mkdir()
        (project / ".duetty/settings.json").symlink_to(hidden / "settings.json")

    with pytest.raises(PolicyDenied) as refused:
        ProjectRules(SystemClock()).of(str(project))

    assert SECRET not in f"{refused.value.message} {refused.value.hint} {refused.value.details}"
    assert "it is a link" in refused.value.message


def test_a_file_of_the_project_is_told_of_as_ever(tmp_path: Path) -> None:
    (tmp_path / ".duetty").mkdir()
    (tmp_path / ".duetty/settings.json").write_text(HIDDEN[0])

    with pytest.raises(BadSetting, match=SECRET):
        ProjectRules(SystemClock()).read(tmp_path / ".duetty/settings.json")


def test_settings_that_a_link_leads_to_hold(tmp_path: Path) -> None:
    (tmp_path / "shared.json").write_text('{"policy": {"profile": "strict"}}')
    (tmp_path / ".duetty").mkdir()
    (tmp_path / ".duetty/settings.json").symlink_to(tmp_path / "shared.json")

    assert ProjectRules(SystemClock()).of(str(tmp_path)).profile == "strict"
