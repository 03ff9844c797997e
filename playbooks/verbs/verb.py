"""What every verb is made of: its task, the flags that all have, and the way to its playbook."""

import errno
import functools
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from invoke import Exit, Task, task

from playbooks.endings import exit_code, like_ctrl_c

if TYPE_CHECKING:
    from playbooks.outcome import Outcome
    from playbooks.site import Site

COMMON = {
    "host": "a host or a group of the inventory; may be given several times",
    "inventory": "inventory file (default: inventory/hosts.yml, or the practice ground's)",
    "json": "print facts as JSON on stdout",
}

# Flags of those that change what a host serves.
CHANGES = {
    "tokens": "speculative tokens a round, instead of the inventory's; 0 switches speculation off",
    "drafter-config": "JSON file merged over the drafter's config.json",
    "allow-drafter-errors": "deploy although the drafter check found errors; the gate still decides",
    "update": "follow a pull request or branch that has moved on",
    "adopt": "take over a container that specrail did not make",
}


def run_on_hosts(
    name: str,
    action: "Callable[[Site], Outcome]",
    host: list[str],
    inventory: str | None,
    json: bool,
    *,
    stop_at_failure: bool = True,
) -> None:
    """Do one thing on each host that was named, and end with the exit code that comes of it."""
    from playbooks.cli import run_verb

    code = run_verb(name, action, hosts=host, inventory=inventory, as_json=json, stop_at_failure=stop_at_failure)
    if code:
        raise Exit(code=code)


def verb(**options: Any) -> Callable[[Callable[..., None]], Task[Any]]:
    """A task whose Ctrl-C is told and ends with 130 also in the first second, while its playbook is being loaded.

    SIGTERM (143) and SIGHUP (129) do the same.
    """

    def made(body: Callable[..., None]) -> Task[Any]:
        @functools.wraps(body)
        def run(*words: Any, **flags: Any) -> None:
            with like_ctrl_c():
                try:
                    body(*words, **flags)
                    sys.stdout.flush()
                except KeyboardInterrupt:
                    sys.stderr.write(f"{options.get('name', body.__name__)}: interrupted\n")
                    raise Exit(code=exit_code()) from None
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    sys.stderr.write(f"{options.get('name', body.__name__)}: not all was written: {error.strerror}\n")
                    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what stdout still holds would fail once more
                    raise Exit(code=1) from None

        # Short flags would be given out by order: -i one thing here and another there, and -h no help.
        made_of: Task[Any] = task(**{"auto_shortflags": False, **options})(run)
        return made_of

    return made
