"""Invoke as `./run invoke` starts it: wrong usage ends with exit code 2 and the word that was meant."""

import difflib
import os
import re
import sys

from invoke import Exit, ParseError, Program
from invoke import __version__ as invoke_version

from inventory.errors import ExitCode


class VerbProgram(Program):
    """Plain `invoke` ends with 1 for a mistyped flag as for a verb that failed; a script must tell them apart."""

    def parse_tasks(self) -> None:
        """Read the verbs and their flags. Raises Exit(2) for what is none."""
        try:
            super().parse_tasks()
        except ParseError as error:
            raise Exit(self._words(error), code=ExitCode.USAGE) from error

    def parse_core(self, argv: list[str] | None) -> None:
        """Read invoke's own flags. Raises Exit(2) for what is none."""
        try:
            super().parse_core(argv)
        except ParseError as error:
            raise Exit(str(error), code=ExitCode.USAGE) from error

    def _words(self, error: ParseError) -> str:
        said = str(error)
        met = re.search(r"No idea what '(.*)' is", said)
        typed = {verb: alias for alias, verb in self.parser.contexts.aliases.items()}  # bench.run is typed as bench
        verb = getattr(error.context, "name", None)
        verb = typed.get(verb, verb)
        lines = [f"{verb}: {said}" if verb else said]
        if met:
            word = met[1]
            verbs = [*self.parser.contexts, *typed.values()]
            known = list(error.context.flags) if word.startswith("-") and error.context else verbs
            lines[0] = f"{f'{verb}: ' if verb else ''}there is no {'flag' if word.startswith('-') else 'verb'} {word}"
            if near := difflib.get_close_matches(word, known, 3):
                lines.append(f"  Try:  {'   '.join(near)}")
        lines.append(f"  See:  invoke {verb} --help" if verb else "  See:  invoke --list")
        return "\n".join(lines)


program = VerbProgram(name="Invoke", binary="invoke", binary_names=["invoke", "inv"], version=invoke_version)

if __name__ == "__main__":
    try:
        program.run()
    except BrokenPipeError:  # `| head` has read enough of a list; nobody is left to be told so
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
