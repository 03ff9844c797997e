"""What takes several values after one another: `--log A B`, as a shell writes `--log serve.log*`, or words alone."""

import sys
from collections.abc import Sequence
from typing import Any

from invoke import Task
from invoke.parser import Argument

FLAGS = frozenset({"log", "compare"})
WORDS = frozenset({"runs", "files"})


class Several(Argument):
    """Takes every word up to the next flag. Invoke asks for values as long as there is no raw one."""

    expected = 0
    """How many words will come without a flag: Invoke gives an argument one more as long as it has no value."""

    @property
    def value(self) -> Any:
        """What has come; None, so that Invoke goes on, until all that is expected has."""
        return None if len(self._value or []) < self.expected else super().value

    @value.setter
    def value(self, value: Any) -> None:
        self.set_value(value)

    def set_value(self, value: Any, cast: bool = True) -> None:
        """Add a value. True is how Invoke says that no more are coming."""
        del cast
        if value is not True:
            self._value = [*(self._value or []), value]


class TakesSeveral(Task[Any]):
    """A task whose flags in FLAGS are such ones, and whose words are those of its argument in WORDS."""

    def get_arguments(self, ignore_unknown_help: bool | None = None) -> list[Argument]:
        """The task's arguments, in Invoke's order."""
        found = super().get_arguments(ignore_unknown_help=ignore_unknown_help)
        return [
            _flag(one) if one.name in FLAGS else self._words(one, found) if one.name in WORDS else one for one in found
        ]

    def _words(self, argument: Argument, all_of_them: Sequence[Argument]) -> Argument:
        """Positional exactly when words are there: Invoke has no positional arguments that may be left out."""
        switches = {f"--{one.names[0]}" for one in all_of_them if one.kind is bool}
        verbs = {word for word in sys.argv[1:] if word.rpartition(".")[2] == self.name}
        several = _flag(argument)
        flagged = f"--{argument.names[0]}" in sys.argv
        several.expected = 0 if flagged else words_after(verbs, switches)
        several.positional = several.expected > 0
        several.optional = not several.positional
        return several


def words_after(verbs: set[str], switches: set[str], *, until: frozenset[str] = frozenset()) -> int:
    """How many words of its own the command line gives a verb, by one of its names: those that are no flag's values.

    switches: flags without a value; until: flags that end the row, because another verb may follow them.
    """
    words = iter(sys.argv[1:])
    count = 0
    if not any(word in verbs for word in words):
        return 0
    for word in words:
        if word.partition("=")[0] in until:
            break
        if not word.startswith("-"):
            count += 1
        elif word not in switches and "=" not in word:
            next(words, None)
    return count


def _flag(argument: Argument) -> Several:
    return Several(names=argument.names, kind=str, help=argument.help, optional=True, attr_name=argument.attr_name)
