"""What every shape at the boundary has in common."""

from pydantic import BaseModel, ConfigDict


class Params(BaseModel):
    """Arguments of an operation: an unknown one is an error, not a silence."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Result(BaseModel):
    """What an operation answers with."""

    model_config = ConfigDict(frozen=True)
