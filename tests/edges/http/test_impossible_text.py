"""Texts that the system cannot take are refused at the boundary, wherever they are said."""

from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from duetty.ops import OPERATIONS
from tests.edges.http.asking import refusal

pytestmark = [pytest.mark.pty]

NOT_FOR_THE_SYSTEM = ("\0", "/tmp/\0x", "\ud800", "/tmp/\udfff")
FIELDS = [
    pytest.param(operation.params, field, id=f"{name}-{field}")
    for name, operation in OPERATIONS.items()
    for field in operation.params.model_fields
    if field in {"cwd", "workspaces", "shell", "env"}
]


@pytest.mark.parametrize(("params", "field"), FIELDS)
@pytest.mark.parametrize("text", NOT_FOR_THE_SYSTEM)
def test_a_place_or_a_variable_that_cannot_be_one_is_a_bad_argument(
    params: Any, field: str, text: str
) -> None:
    shaped = {"env": [{"NAME": text}, {text: "value"}], "workspaces": [[text]]}
    for value in shaped.get(field, [text]):
        with pytest.raises(ValidationError) as caught:
            params.model_validate({field: value})
        assert field in {problem["loc"][0] for problem in caught.value.errors()}


def test_a_directory_that_is_not_utf8_can_be_meant() -> None:
    opened = OPERATIONS["session.open"].params.model_validate({"cwd": "/tmp/\udcff"})

    assert opened.cwd.encode("utf-8", "surrogateescape") == b"/tmp/\xff"


@pytest.mark.parametrize("path", ["/policy/rules", "/search?query=x"])
def test_a_query_with_a_nul_in_a_path_is_a_bad_request(http: httpx.Client, path: str) -> None:
    response = http.get(path + ("&" if "?" in path else "?") + "cwd=%00")

    assert refusal(response) == (400, "invalid_request")
    assert "cwd" in response.json()["error"]["details"]["fields"]
