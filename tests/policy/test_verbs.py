"""Programs that the catalogue does not know, told to delete."""

import pytest

from duetty.policy import Profile
from tests.policy.labelled import decided


@pytest.mark.parametrize(
    "line",
    [
        "acme delete project 5",
        "acme --region eu db destroy main",
        "acme apps:destroy web",
        "acme delete-cluster main",
        "acme dropCollection users",
        "acme sync --delete-extra",
        "sudo acme uninstall x",
    ],
)
def test_a_verb_that_deletes_is_asked_about(line: str) -> None:
    decision = decided(line, Profile.GUARDED)

    assert (decision.reason, decision.classes) == ("destructive", ("other_delete",))


@pytest.mark.parametrize(
    "line",
    [
        "acme delete project 5 --dry-run",
        "acme delete --help",
        "acme list deleted",
        "acme open src/delete.py",
        "acme show remove.txt",
        "pytest -k delete",
        "npm uninstall lodash",
        "git checkout delete-button",
        "mkdir purge",
        "make drop",
    ],
)
def test_a_verb_that_only_names_something_is_not(line: str) -> None:
    assert decided(line, Profile.GUARDED).reason in ("by_profile", "proven")
