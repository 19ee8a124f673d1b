"""Named tuples made in one step: several for each line that is judged for the first time."""

from typing import Any, Protocol, TypeVar, cast

_Tuple = TypeVar("_Tuple")


class _New(Protocol):
    def __call__(self, kind: type[_Tuple], fields: tuple[object, ...], /) -> _Tuple: ...


new = cast(_New, cast(Any, tuple).__new__)
"""A named tuple of all its fields in order, without the detour of its own constructor."""
