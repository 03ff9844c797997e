"""The practice ground as tests and tasks hold it: a folder, a daemon, and what can be done to them."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from inventory.errors import DeadlineExceeded, SpecrailError, UnreachableError, UsageError
from tests.lab import control, processes
from tests.lab.layout import Layout
from tests.lab.lxc import needs, template
from tests.lab.lxc.bed import sweep
from tests.lab.processes import Process

CHECKOUT = Path(__file__).resolve().parents[2]
_ALREADY_RUNNING = 75  # tests.lab.daemon's exit status
_CONTROL_WORD = re.compile(r"[A-Za-z0-9_@+=.,/-]+")


@dataclass(frozen=True)
class Traffic:
    """What came in since the start or the last reset; machines by name ("pve1", "ct129"). Logins are neither read nor write."""

    connections: dict[str, int] = field(default_factory=dict)
    execs: dict[str, int] = field(default_factory=dict)
    api_reads: int = 0
    api_writes: int = 0
    api_logins: int = 0

    @property
    def all_execs(self) -> int:
        """Exec requests on all machines together."""
        return sum(self.execs.values())

    def since(self, earlier: "Traffic") -> "Traffic":
        """What came after an earlier reading."""
        return Traffic(
            connections=_less(self.connections, earlier.connections),
            execs=_less(self.execs, earlier.execs),
            api_reads=self.api_reads - earlier.api_reads,
            api_writes=self.api_writes - earlier.api_writes,
            api_logins=self.api_logins - earlier.api_logins,
        )


Kind = Literal["sandbox", "lxc"]


class Lab:
    """One practice ground in a folder of its own. Many can run at once.

    containers: what `up` makes them of; "lxc" needs root and what tests.lab.lxc.needs lists

    Errors: UsageError for what means nothing, UnreachableError when the daemon does not run, SpecrailError when it
    does not come up.
    """

    def __init__(self, folder: Path, containers: Kind = "sandbox") -> None:
        self._kind = containers
        self._root_tar: Path | None = None
        self.layout = Layout(folder.absolute())
        self._daemon: subprocess.Popen[bytes] | None = None
        self._leash: int | None = None

    def __enter__(self) -> "Lab":
        self.up(leashed=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    @property
    def inventory(self) -> Path:
        """The inventory file that points at this lab."""
        return self.layout.inventory

    # ------------------------------------------------------------------------------ up and down

    def up(self, *, leashed: bool = False, timeout_s: float = 60) -> None:
        """Start the daemon and return when everything answers; does nothing when it runs.

        The first time, LXC containers need a minute or two more, for their root file system.

        leashed: the daemon ends when this process does, however it ends.
        """
        self._check_folder()
        if self.running() and (kind := self.status()["kind"]) != self._kind:
            raise UsageError(
                f"a practice ground with {kind} containers runs in {self.layout.folder}",
                where=("lab",),
                tries=("invoke lab.down",),
            )
        if self._kind == "lxc":
            needs.check()
            self._root_tar = template.ensure()
        self.layout.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        deadline = time.monotonic() + timeout_s
        try:
            while not self.running():
                self._start_daemon(leashed=leashed)
                self._wait(deadline)
            if self._daemon and self._daemon_pid() not in {None, 0, self._daemon.pid}:
                # Ours came second. Let it see that, or it would take the folder when the first one goes.
                self._daemon.wait(max(1.0, deadline - time.monotonic()))
                self._daemon = None
        except BaseException:  # also Ctrl-C: nothing that was begun here stays
            if self._daemon and self._daemon.poll() is None:
                self.down()
            raise

    def down(self, *, timeout_s: float = 20) -> None:
        """End it: no process, no open port, nothing in the folder but logs. Also cleans up after a daemon that died."""
        deadline = time.monotonic() + timeout_s
        while pid := self._daemon_pid():
            try:
                control.ask(self.layout.control, {"do": "down"}, timeout_s=5)
            except OSError:  # it is only starting, already ending, or stuck
                if time.monotonic() > deadline:
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        if self._daemon:
            try:
                self._daemon.wait(max(1.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:  # it lost a race for the folder, or cannot end
                self._daemon.kill()
                self._daemon.wait()
            self._daemon = None
        if self._leash is not None:
            os.close(self._leash)
            self._leash = None
        while processes.kill(self.layout.folder):
            time.sleep(0.005)
        sweep(self.layout)
        if self.layout.mark.exists():
            self.layout.clear()

    def running(self) -> bool:
        """Whether the daemon answers."""
        try:
            control.ask(self.layout.control, {"do": "status"})
        except OSError:
            return False
        return True

    def _wait(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise DeadlineExceeded("the lab does not come up", where=("lab",), why=self._last_words(), log=self._log())
        time.sleep(0.02)

    def _start_daemon(self, *, leashed: bool) -> None:
        if self._daemon and (status := self._daemon.poll()) != _ALREADY_RUNNING:
            if status is not None:
                self._daemon = None
                raise SpecrailError(
                    f"the lab's daemon ended with status {status}",
                    where=("lab",),
                    why=self._last_words(),
                    log=self._log(),
                )
            return
        if self._daemon_pid():  # somebody else's is starting or ending
            return
        self.layout.logs.mkdir(exist_ok=True)
        argv = [sys.executable, "-m", "tests.lab.daemon", str(self.layout.folder)]
        if self._root_tar:
            argv += ["--lxc-root", str(self._root_tar)]
        inherited: tuple[int, ...] = ()
        if leashed:
            if self._leash is not None:
                os.close(self._leash)
            read_end, self._leash = os.pipe()
            argv += ["--while-open", str(read_end)]
            inherited = (read_end,)
        with (self.layout.logs / "daemon.log").open("ab") as log:
            self._daemon = subprocess.Popen(
                argv,
                cwd=CHECKOUT,
                env={
                    key: value for key, value in os.environ.items() if key not in (processes.LAB, processes.CONTAINER)
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=inherited,
                start_new_session=True,  # Ctrl-C at the terminal is not meant for it
            )
        for descriptor in inherited:
            os.close(descriptor)

    def _daemon_pid(self) -> int | None:
        """The pid of the daemon that holds the folder."""
        try:
            with self.layout.lock.open() as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return int(lock.read() or 0) or None
        except (FileNotFoundError, ValueError):
            pass
        return None

    def _check_folder(self) -> None:
        folder = self.layout.folder
        if not _CONTROL_WORD.fullmatch(str(folder)):
            raise UsageError(
                f"{folder} cannot be a lab's folder",
                where=("lab",),
                why=("Its path has a character that an inventory's paths may not have (a space, a quote ...).",),
                tries=("invoke lab.up --folder /tmp/lab",),
            )
        known = {self.layout.mark, self.layout.lock, self.layout.logs}
        if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not known & set(folder.iterdir()))):
            raise UsageError(
                f"{folder} is there already and is no lab's folder",
                where=("lab",),
                why=("A lab empties its folder when it starts.",),
                tries=("invoke lab.up --folder SOME/NEW/FOLDER",),
            )

    def _last_words(self) -> list[str]:
        log = self.layout.logs / "daemon.log"
        return log.read_text(errors="replace").splitlines()[-5:] if log.exists() else []

    def _log(self) -> str:
        return f"tail {self.layout.logs / 'daemon.log'}"

    # ------------------------------------------------------------------------------ what can be done

    def status(self) -> dict[str, Any]:
        """API, node, containers and faults, as JSON."""
        return self._ask({"do": "status"})

    def reset(self) -> None:
        """Destroy the containers, switch the faults off, heal the GPUs, count from zero."""
        self._ask({"do": "reset"})

    def fault(self, name: str, on: bool = True, **arguments: Any) -> None:
        """Switch a fault; tests.lab.faults lists them with their arguments."""
        self._ask({"do": "fault", "name": name, "on": on, "arguments": arguments}, tries=("invoke lab.fault",))

    def gpu(self, **changes: Any) -> dict[str, Any]:
        """Replace keys of gpu.json (see tests.lab.gpus.Gpus) and return all of it."""
        return self._ask({"do": "gpu", "changes": changes})

    def traffic(self) -> Traffic:
        """What came in."""
        counts = self._ask({"do": "traffic"})
        api = {f"api_{kind}": number for kind, number in counts["api"].items()}
        return Traffic(connections=counts["connections"], execs=counts["execs"], **api)

    def start(self, ctid: int) -> None:
        """`pct start`, without the way through the node's shell."""
        self._power("start", ctid)

    def stop(self, ctid: int) -> None:
        """`pct stop`: its processes are killed."""
        self._power("stop", ctid)

    def reboot(self, ctid: int) -> None:
        """`pct reboot`: its processes are asked, then killed."""
        self._power("reboot", ctid)

    def processes(self, ctid: int) -> list[Process]:
        """What runs in a container."""
        return processes.of_lab(self.layout.folder, ctid)

    def kill(self, ctid: int, pattern: str, number: signal.Signals = signal.SIGKILL) -> int:
        """Signal the container's processes whose command line matches a regular expression; returns how many."""
        found = [process for process in self.processes(ctid) if re.search(pattern, " ".join(process.argv))]
        for process in found:
            os.kill(process.pid, number)
        return len(found)

    def _power(self, verb: str, ctid: int) -> None:
        answer = self._ask({"do": "power", "verb": verb, "ctid": ctid})
        if answer["status"]:
            raise UsageError(answer["stderr"].strip(), where=("lab", f"ct{ctid}", verb))

    def _ask(self, request: dict[str, Any], tries: tuple[str, ...] = ()) -> dict[str, Any]:
        try:
            answer = control.ask(self.layout.control, request)
        except TimeoutError as error:
            ways = ("invoke lab.down", self._log())
            raise UnreachableError("the lab does not answer", where=("lab",), tries=ways) from error
        except OSError as error:
            raise UnreachableError("the lab is not up", where=("lab",), tries=("invoke lab.up",)) from error
        if "error" in answer:
            raise UsageError(str(answer["error"]), where=("lab",), tries=tries)
        return answer


def _less(now: dict[str, int], earlier: dict[str, int]) -> dict[str, int]:
    return {name: count - earlier.get(name, 0) for name, count in now.items() if count != earlier.get(name, 0)}
