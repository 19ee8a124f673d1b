"""Which arguments a query may give several times is known from their types."""

from typing import Annotated, Literal

import pytest
from pydantic import Field

from duetty.edges.http.arguments import takes_many


@pytest.mark.parametrize(
    "annotation",
    [
        list[str],
        list,
        tuple[int, ...],
        set[str],
        frozenset[str],
        list[str] | None,
        Annotated[list[str], Field()],
        Annotated[list[str] | None, Field()],
    ],
)
def test_a_collection_takes_many(annotation: object) -> None:
    assert takes_many(annotation)


@pytest.mark.parametrize(
    "annotation",
    [str, int, bool, str | None, Literal["list", "tuple"], dict[str, list[str]], Annotated[str, "list"]],
)  # fmt: skip
def test_a_single_value_takes_one_whatever_its_name(annotation: object) -> None:
    assert not takes_many(annotation)
