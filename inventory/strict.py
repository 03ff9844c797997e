"""The base of all inventory models."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Port = Annotated[int, Field(ge=1, le=65535)]


class Model(BaseModel):
    """Strict: an unknown key is an error, and nothing changes after it was read."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=False,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,  # a value may be a secret in the wrong place
    )


def refuse(complaints: Iterable[str]) -> None:
    """Raise one ValueError with all complaints, if there are any."""
    if said := "; ".join(complaints):
        raise ValueError(said)
