"""A practice ground whose containers are real, and what only those can be asked."""

import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from tests.e2e.survival.ground import CTID, Ground, eventually
from tests.e2e.survival.on_host import Seen

UNIT = "specrail-vllm.service"


@dataclass(frozen=True)
class Said:
    """What a command in a container said."""

    status: int
    out: str
    err: str


class LxcGround(Ground):
    """A lab with LXC containers, and the commands that were started."""

    def inside(self, script: str, ctid: int = CTID) -> Said:
        """Run a script in a container as `pct exec` does: it needs no network and no sshd there."""
        return self.node("pct", "exec", str(ctid), "--", "sh", "-c", script)

    def node(self, *words: str) -> Said:
        """Run a command in the node's sandbox."""
        environment = {**os.environ, "PATH": f"{self.lab.layout.node / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
        return Said(done.returncode, done.stdout, done.stderr)

    def ssh(self, script: str, ctid: int = CTID) -> Said:
        """Run a script through the container's sshd, whoever it is."""
        address = self.lab.status()["containers"][f"ct{ctid}"]["address"]
        options = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "BatchMode=yes", "ConnectTimeout=5")
        words = ["ssh", "-q", "-F", "none", "-i", str(self.lab.layout.login_key)]
        words += [word for option in options for word in ("-o", option)]
        done = subprocess.run([*words, f"root@{address}", script], capture_output=True, text=True, timeout=60)
        return Said(done.returncode, done.stdout, done.stderr)

    def show(self, *properties: str, unit: str = UNIT) -> tuple[str, ...]:
        """Properties of a unit, in the order that they are named in."""
        asked = " ".join(f"--property={name}" for name in properties)
        lines = self.inside(f"systemctl show {asked} {unit}").out.splitlines()
        values = dict(line.partition("=")[::2] for line in lines)
        return tuple(values.get(name, "") for name in properties)

    def init(self, ctid: int = CTID) -> int:
        """Process id, on this machine, of a container's process 1."""
        for process in self.lab.processes(ctid):
            status = Path(f"/proc/{process.pid}/status")
            if status.exists() and status.read_text().partition("\nNSpid:")[2].partition("\n")[0].split()[2:] == ["1"]:
                return process.pid
        raise AssertionError(f"container {ctid} has no process 1: it does not run")

    # -------------------------------------------------------------- what Ground reads from a sandbox's files

    @property
    def base(self) -> Path:
        return Path(f"/proc/{self.init()}/root/opt/specrail/vllm")

    def seen(self) -> Seen:
        listed = self.inside("systemctl list-units --plain --no-legend --state=active 'specrail-vllm-revert-*.timer'")
        names = [line.split()[0] for line in listed.out.splitlines()]
        timers = tuple(name.removeprefix("specrail-vllm-revert-").removesuffix(".timer") for name in names)
        return replace(super().seen(), timers=timers)

    def models(self) -> tuple[str, ...]:
        program = (
            "import json, urllib.request as u; "
            f"q = u.Request('http://127.0.0.1:8000/v1/models', headers={{'Authorization': 'Bearer {self.api_key}'}}); "
            "print(*(m['id'] for m in json.load(u.urlopen(q, timeout=5))['data']))"
        )
        said = self.inside(f'exec python3 -c "{program}"')
        return tuple(said.out.split()) if said.status == 0 else ()

    def log(self) -> str:
        """The engine's log."""
        path = Path(f"/proc/{self.init()}/root/var/log/specrail/vllm/serve.log")
        return path.read_text(errors="replace") if path.exists() else ""

    def reboot_inside(self) -> None:
        """Reboot from inside, and wait until another boot has come up."""
        before = self.inside("cat /proc/sys/kernel/random/boot_id").out
        assert before
        self.inside("systemctl reboot")

        def came_up() -> bool:
            boot = self.inside("cat /proc/sys/kernel/random/boot_id").out
            running = self.inside("systemctl is-system-running").out.strip()
            return boot not in ("", before) and running in ("running", "degraded")

        eventually(came_up, "the container has come up again")
