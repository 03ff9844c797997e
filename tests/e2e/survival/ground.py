"""A practice ground with a host, the commands that are started against it, and what must be so afterwards."""

import itertools
import time
from collections.abc import Callable
from pathlib import Path

from tests.e2e.person import Person, Said
from tests.e2e.survival.command import PATIENCE_S, Command
from tests.e2e.survival.inventories import QUICK, Changes
from tests.e2e.survival.on_host import OnHost, Seen
from tests.lab.ground import Lab

CTID = 129
HOST = "ct129"

_SLOW_DISK = """\
import sys, time

class Slow:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "{module}":
            print("loading", name, file=sys.stderr, flush=True)
            time.sleep({seconds})

sys.meta_path.insert(0, Slow)
"""
"""A sitecustomize.py."""


class Ground(OnHost):
    """The host ct129 of one lab, and the person who works on it."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        super().__init__(lab, CTID)
        self.person = Person(lab, folder)
        self._commands: list[Command] = []
        self._tokens = itertools.cycle(range(3, 15))
        self._builds = itertools.count(100)
        self._names = itertools.count()

    # ------------------------------------------------------------------------------------ commands

    def inventory(self, changes: Changes = QUICK) -> Path:
        """An inventory of its own with these values."""
        return self.person.writes(f"hosts-{next(self._names)}.yml", changes)

    def start(self, *words: str, inventory: Path | None = None, slow_to_load: str | None = None) -> Command:
        """Start `invoke WORDS --host ct129` (unless the words name a host).

        slow_to_load: a module that says so on stderr when it is loaded, and then is not loaded for a long time
        """
        environment = self.person.environment(inventory or self.inventory())
        if slow_to_load:
            environment["PYTHONPATH"] = str(self._slow_disk(slow_to_load))
        command = Command(words if "--host" in words else (*words, "--host", HOST), environment)
        self._commands.append(command)
        return command

    def _slow_disk(self, module: str) -> Path:
        folder = self.person.folder / f"slow-{module}"
        folder.mkdir(exist_ok=True)
        (folder / "sitecustomize.py").write_text(_SLOW_DISK.format(module=module, seconds=PATIENCE_S))
        return folder

    def run(self, *words: str, inventory: Path | None = None) -> Said:
        """Run a command to its end."""
        return self.start(*words, inventory=inventory).end()

    def other_tokens(self) -> str:
        """A number of speculative tokens that is not in service: what makes a deploy have something to do."""
        in_service = self.tokens_of(self.seen().current)
        return str(next(number for number in self._tokens if number != in_service))

    def another_build(self) -> Changes:
        """A change that makes the host need a venv that it does not have, of the same engine."""
        return {f"hosts.{HOST}.engine.torch_backend": f"cu{next(self._builds)}"}

    def clean_up(self) -> None:
        """End what a test has left running, and heal the lab."""
        for command in self._commands:
            command.clean_up()
        self._commands.clear()
        for fault in self.lab.status()["faults"]:
            name, *ctid = fault.split()
            self.lab.fault(name, on=False, **({"ctid": int(ctid[0])} if ctid else {}))

    # -------------------------------------------------------------------------------- what must be so

    def converge(self, tokens: str) -> Said:
        """Deploy with nothing in the way; it must come to rest with that many tokens in service."""
        ended = self.run("deploy", "--tokens", tokens)
        assert ended.code == 0, ended.all
        assert self.seen().settled, ended.all
        assert self.serves(), ended.all
        assert self.tokens_of(self.seen().current) == int(tokens), ended.all
        return ended

    def pends(self, *, previous: str | None) -> Seen:
        """What is current must be unconfirmed, its way back armed, and `previous` still promoted."""
        seen = self.seen()
        assert seen.pending is not None, seen
        assert seen.pending["release"] == seen.current
        assert (seen.pending["previous"] or None, seen.promoted) == (previous, previous)
        assert seen.pending["nonce"] in seen.timers
        return seen

    def rests(self, promoted: str | None) -> Seen:
        """Wait for the end of what the host was told last: a command there goes on when the one who sent it dies.

        What is current must then be promoted, or pending with `promoted` as its way back.
        """

        def rests() -> bool:
            seen = self.seen()
            if seen.pending is None:
                return seen.current == seen.promoted
            return seen.pending["nonce"] in seen.timers and seen.pending["release"] == seen.current

        eventually(rests, "the host rests")
        seen = self.seen()
        if seen.pending is not None:
            self.pends(previous=promoted)
        for release in {seen.current, seen.promoted} - {None}:
            assert release in seen.releases
        return seen

    def goes_back_to(self, before: Seen) -> None:
        """Wait until the host has gone back, without anybody's help, from an activation to what was promoted `before`."""
        times = before.events.count("reverted")
        eventually(lambda: self.events().count("reverted") > times, "the host goes back")
        eventually(self.serves, "the server is back")
        seen = self.seen()
        assert (seen.current, seen.promoted, seen.pending) == (before.promoted, before.promoted, None)
        assert len(self.engines()) == 1
        assert seen.timers == ()


def eventually(condition: Callable[[], bool], what: str) -> None:
    """Wait until something is so; the bound only ends a test that has failed anyway."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"did not come to be: {what}"
        time.sleep(0.1)
