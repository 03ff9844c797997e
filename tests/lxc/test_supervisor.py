"""A host whose inventory names the other supervisor from now on: the old one's engine must not keep the port and the GPUs."""

import os
import signal
from pathlib import Path

from tests.e2e.survival.ground import eventually
from tests.e2e.survival.inventories import QUICK, Changes
from tests.lxc.ground import UNIT, LxcGround


def keepers(ground: LxcGround) -> list[str]:
    """What keeps an engine running: for each engine its parent's command."""
    parents = []
    for engine in ground.engines():
        status = Path(f"/proc/{engine}/status").read_text()
        parent = status.partition("\nPPid:\t")[2].partition("\n")[0]
        parents.append(Path(f"/proc/{parent}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip())
    return parents


def test_from_systemd_to_a_process_and_back(ground: LxcGround) -> None:
    by_process: Changes = {**QUICK, "defaults.server.supervisor": "process"}
    deploy = ground.run("deploy", "--tokens", ground.other_tokens(), inventory=ground.inventory(by_process))
    assert deploy.code == 0, deploy.all
    (keeper,) = keepers(ground)
    assert keeper.endswith("control.sh supervise")
    assert ground.show("LoadState", "ActiveState") == ("not-found", "inactive")
    status = ground.run("status", inventory=ground.inventory(by_process))
    assert "serves Qwen3.6-27B" in status.all
    (old,) = ground.engines()
    os.kill(old, signal.SIGKILL)
    eventually(lambda: ground.engines() not in ([], [old]) and ground.serves(), "the supervisor starts another one")

    ground.converge(ground.other_tokens())
    (keeper,) = keepers(ground)
    assert keeper.endswith("init") or "systemd" in keeper
    assert ground.show("ActiveState", "UnitFileState") == ("active", "enabled")
    assert ground.inside("pgrep -f '[c]ontrol.sh supervise'").out == ""
    assert ground.inside(f"systemd-analyze verify /etc/systemd/system/{UNIT}").err == ""
