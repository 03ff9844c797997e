"""The one renderer: every file that specrail writes on a host comes out of here."""

import json
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from inventory.shell import command

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,  # a name that is missing is an error here, not an empty word on a host
    keep_trailing_newline=True,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=False,  # noqa: S701 - shell scripts, units and JSON, not HTML
)
_ENVIRONMENT.filters["q"] = lambda value: command(str(value))
_ENVIRONMENT.filters["argv"] = lambda words: command(*(str(word) for word in words))
_ENVIRONMENT.filters["json"] = lambda value: json.dumps(value, sort_keys=True)


def render(name: str, **values: object) -> str:
    """The template `name` (a path below templates/) with `values` filled in.

    `q` quotes one word for a shell, `argv` a list of words, `json` writes JSON.
    Raises jinja2.UndefinedError when the template asks for a value that was not given: a fault of ours, never a user's.
    """
    return _ENVIRONMENT.get_template(name).render(values)
