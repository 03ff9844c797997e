"""Flags that take several values after one another: `--log A B`, as a shell's `--log serve.log*` writes them."""

from typing import Any

from invoke import Task
from invoke.parser import Argument

NAMES = frozenset({"log", "compare"})


class Several(Argument):
    """Takes every word up to the next flag. Invoke asks for values as long as there is no raw one."""

    def set_value(self, value: Any, cast: bool = True) -> None:
        """Add a value. True is how Invoke says that no more are coming."""
        del cast
        if value is not True:
            self._value = [*(self._value or []), value]


class TakesSeveral(Task):  # type: ignore[type-arg]
    """A task whose flags in NAMES are such ones."""

    def get_arguments(self, ignore_unknown_help: bool | None = None) -> list[Argument]:
        """The task's arguments, in Invoke's order."""
        found = super().get_arguments(ignore_unknown_help=ignore_unknown_help)
        return [_several(argument) if argument.name in NAMES else argument for argument in found]


def _several(argument: Argument) -> Argument:
    return Several(names=argument.names, kind=str, help=argument.help, optional=True, attr_name=argument.attr_name)
