"""A plan is carried out against a node, whatever the node and the line do meanwhile."""

from collections.abc import Callable
from typing import Any

import pytest

from inventory.errors import (
    AlreadyExists,
    ConfigChanged,
    ConnectionLost,
    DeadlineExceeded,
    GuestLocked,
    NoQuorum,
    NotFound,
    PermissionDenied,
    ProxmoxError,
    TaskFailed,
)
from inventory.models import Container
from inventory.pve.api import Proxmox
from roles.container import facts
from roles.container.apply import apply
from roles.container.node import NodeFacts
from roles.container.plan import plan
from roles.container.steps import Attach, Create, Restart, Start
from roles.step import Step, nothing
from tests.unit.container.ground import FILE, RootShell, prepare, want
from tests.unit.fake_node import Connect, FakeNode

NODE = NodeFacts(
    pve=(9, 0, 10),
    driver="570.148.06",
    devices=dict.fromkeys(("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"), "device"),
)
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9k me@there"
ALL = {
    "cores": 16,
    "features": ["nesting", "keyctl"],
    "mounts": [{"source": "/tank/models", "target": "/models"}],
    "gpus": {"indices": [0]},
    "net": {"ip": "10.1.230.172/24", "gateway": "10.1.230.1"},
    "tags": ["specrail", "gpu"],
}
CREATE = "/nodes/pve1/lxc"
CONFIG = "/nodes/pve1/lxc/129/config"
START = "/nodes/pve1/lxc/129/status/start"


class Bench:
    """A prepared node and what there is to converge it."""

    def __init__(self, fake: FakeNode, connect: Connect) -> None:
        prepare(fake)
        self.fake = fake
        self.shell = RootShell(fake)
        self.lines: list[str] = []
        self.pauses: list[float] = []
        self.on_pause: Callable[[], None] = lambda: None
        self.now = 0.0
        self.pve: Proxmox = connect(sleep=self._sleep, clock=lambda: self.now)

    def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        self.on_pause()

    def plan(self, wanted: Container, **more: Any) -> list[Step]:
        return plan("ct129", wanted, facts.read(self.pve, wanted.ctid), NODE, KEY, **more)

    def apply(self, steps: list[Step]) -> tuple[str, ...]:
        return apply(steps, self.pve, self.shell, self.lines.append)

    def converge(self, **wanted: Any) -> list[str]:
        """Plan, apply, and say which steps there were."""
        steps = self.plan(want(**wanted))
        self.apply(steps)
        return [type(step).__name__ for step in steps if step.changes]

    def begin(self, steps: list[Step]) -> object:
        """Send the create call of a plan and go away; answers its task."""
        create = next(step for step in steps if isinstance(step, Create))
        return self.pve.post(CREATE, create.fields)

    @property
    def config(self) -> dict[str, Any]:
        config: dict[str, Any] = self.fake.ct(129).config
        return config

    def sent(self, method: str, path: str) -> int:
        return sum((verb, where) == (method, f"/api2/json{path}") for verb, where, _ in self.fake.requests)


@pytest.fixture
def bench(fake: FakeNode, connect: Connect) -> Bench:
    return Bench(fake, connect)


def writes(bench: Bench) -> list[tuple[str, str]]:
    return [(method, path) for method, path, _ in bench.fake.requests if method != "GET"]


# ---------------------------------------------------------------- the whole way


def test_from_nothing_to_a_running_container_with_a_gpu(bench: Bench) -> None:
    assert bench.converge(**ALL) == ["Create", "Attach", "Start"]
    ct = bench.fake.ct(129)
    assert ct.status == "running"
    assert ct.config["cores"] == 16
    assert ct.config["dev0"] == "/dev/nvidia0,mode=0666"
    assert ct.config["mp0"] == "/tank/models,mp=/models,ro=1"
    assert ct.config["features"] == "keyctl=1,nesting=1"
    assert bench.shell.scripts[0].startswith("pct set 129 --features keyctl=1,nesting=1 --dev0 /dev/nvidia0,mode=0666 ")
    assert "TASK OK" in bench.lines


def test_a_second_time_there_is_nothing_to_do(bench: Bench) -> None:
    bench.converge(**ALL)
    before = len(writes(bench))
    steps = bench.plan(want(**ALL))
    assert steps == [nothing("container", "container 129 is as wanted")]
    bench.apply(steps)
    assert len(writes(bench)) == before
    assert len(bench.shell.scripts) == 1


def test_a_key_lets_us_in(bench: Bench) -> None:
    bench.converge()
    body = next(body for method, path, body in bench.fake.requests if (method, path) == ("POST", f"/api2/json{CREATE}"))
    assert b"ssh-public-keys=ssh-ed25519+AAAAC3NzaC1lZDI1NTE5AAAAIJ9k+me%40there%0A" in body


def test_changes_reach_a_running_container(bench: Bench) -> None:
    bench.converge()
    mac = bench.config["net0"]
    assert bench.converge(cores=16, memory_mib=65536, net={"bridge": "vmbr0", "mtu": 1400}, rootfs_gib=100) == [
        "Update",
        "Resize",
    ]
    assert (bench.config["cores"], bench.config["memory"]) == (16, 65536)
    assert bench.config["rootfs"].endswith("size=100G")
    assert "mtu=1400" in bench.config["net0"]
    assert mac.split("hwaddr=")[1][:17] in bench.config["net0"]


def test_a_change_that_needs_a_restart_gets_one(bench: Bench) -> None:
    bench.converge(gpus={"indices": [0]})
    assert bench.converge(gpus={"indices": [0], "mode": "0660"}, nameserver="10.1.230.1") == [
        "Update",
        "Attach",
        "Restart",
    ]
    assert bench.config["dev0"] == "/dev/nvidia0,mode=0660"
    assert bench.config["nameserver"] == "10.1.230.1"
    assert bench.fake.ct(129).pending == {}


def test_what_others_set_stays(bench: Bench) -> None:
    bench.converge(gpus={"indices": [0]})
    bench.config.update(description="ours", protection=1, tags="prod;specrail", dev9="/dev/net/tun")
    bench.converge(cores=4)
    assert {key: bench.config[key] for key in ("description", "protection", "tags", "dev9")} == {
        "description": "ours",
        "protection": 1,
        "tags": "prod;specrail",
        "dev9": "/dev/net/tun",
    }


def test_an_adopted_container_becomes_ours(bench: Bench) -> None:
    bench.fake.add_ct(129, "ct129", status="running", config={"rootfs": "local-lvm:vm-129-disk-0,size=64G"})
    bench.apply(bench.plan(want(), adopt=True))
    assert bench.config["tags"] == "specrail"
    assert not any(step.changes for step in bench.plan(want()))


def test_a_dry_plan_changes_nothing(bench: Bench) -> None:
    bench.plan(want(**ALL))
    assert writes(bench) == []
    assert bench.shell.scripts == []


def test_warnings_of_tasks_are_handed_on(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    original = bench.fake._start_steps

    async def with_warning(ct: Any, user: str, skiplock: bool = False) -> None:
        await original(ct, user, skiplock)
        bench.fake.tasklog[-1]["log"].append("WARN: Systemd 255 detected")

    monkeypatch.setattr(bench.fake, "_start_steps", with_warning)
    view = bench.fake._task_view
    monkeypatch.setattr(
        bench.fake,
        "_task_view",
        lambda task, listing=False: {
            **view(task, listing),
            **({"exitstatus": "WARNINGS: 1"} if task["type"] == "vzstart" else {}),
        },
    )
    assert bench.apply(bench.plan(want())) == ("WARN: Systemd 255 detected",)


# ---------------------------------------------------------------- create


def test_a_create_whose_answer_was_lost_is_recognised(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = bench.plan(want())
    post = bench.pve.post

    def lossy(path: str, *args: Any, **kwargs: Any) -> Any:
        if path == CREATE:
            post(path, *args, **kwargs)
            bench.fake.fail("POST", CREATE, 596, "Connection timed out", times=1)
        return post(path, *args, **kwargs)

    monkeypatch.setattr(bench.pve, "post", lossy)
    bench.apply(steps)
    assert bench.fake.ct(129).status == "running"
    assert bench.sent("POST", CREATE) == 2


def test_a_create_that_was_lost_before_it_arrived_is_repeated(bench: Bench) -> None:
    bench.fake.fail("POST", CREATE, 595, "Connection refused", times=2)
    assert bench.converge() == ["Create", "Start"]
    assert bench.sent("POST", CREATE) == 3


def test_a_create_that_outlived_us_is_waited_for(bench: Bench) -> None:
    steps = bench.plan(want())
    task = bench.begin(steps)
    waited = Create(role="container", action="create", summary="", ctid=129, fields={}, task=str(task))
    bench.apply([waited, *steps[1:]])
    assert bench.sent("POST", CREATE) == 1
    assert bench.fake.ct(129).status == "running"


def test_somebody_of_ours_was_faster(bench: Bench) -> None:
    steps = bench.plan(want())
    bench.begin(steps)
    bench.apply(steps)
    assert bench.fake.ct(129).status == "running"


def test_somebody_else_was_faster(bench: Bench) -> None:
    steps = bench.plan(want())
    bench.fake.add_ct(129, "db", status="running")
    with pytest.raises(AlreadyExists):
        bench.apply(steps)
    assert bench.fake.ct(129).name == "db"


def test_a_create_that_fails_says_why(bench: Bench) -> None:
    steps = bench.plan(want())
    bench.fake.storages["local"]["volumes"].clear()
    bench.fake.store_file("local", "other.tar.zst", 1, content="vztmpl")
    with pytest.raises(TaskFailed, match="does not exist") as failed:
        bench.apply(steps)
    assert failed.value.tries[0].startswith(f"pveam update && pveam download local {FILE}")
    assert bench.fake.ct(129) is None


def test_a_container_that_is_not_ours_after_the_create_is_left_alone(bench: Bench) -> None:
    steps = bench.plan(want())
    task = bench.begin(steps)
    bench.config["tags"] = "prod"
    waited = Create(role="container", action="create", summary="", ctid=129, fields={}, task=str(task))
    with pytest.raises(ProxmoxError, match="not ours after its create task ended"):
        bench.apply([waited, *steps[1:]])
    assert bench.fake.ct(129).status == "stopped"


def test_without_the_right_nothing_is_created(fake: FakeNode, connect: Connect) -> None:
    bench = Bench(fake, connect)
    fake.acl.clear()
    prepare(fake, without="VM.Allocate")
    with pytest.raises(PermissionDenied) as refused:
        bench.converge()
    assert "pveum acl modify /vms/129" in refused.value.tries[0]
    assert fake.ct(129) is None


def test_without_quorum_nothing_is_created(bench: Bench) -> None:
    bench.fake.lose_quorum()
    with pytest.raises(NoQuorum):
        bench.converge()
    assert bench.fake.ct(129) is None


# ---------------------------------------------------------------- locks


def test_a_lock_that_goes_away_is_waited_for(bench: Bench) -> None:
    bench.converge()
    steps = bench.plan(want(cores=4))
    bench.fake.snapshot_lock(129, "backup")
    bench.on_pause = lambda: bench.fake.unlock(129) if len(bench.pauses) == 3 else None
    bench.apply(steps)
    assert bench.config["cores"] == 4
    assert bench.pauses == [5.0, 5.0, 5.0]
    assert [line for line in bench.lines if "waiting" in line] == ["CT is locked (backup): waiting for it, up to 300 s"]


def test_a_plan_made_under_a_lock_works_when_the_lock_is_gone(bench: Bench) -> None:
    bench.converge()
    bench.fake.snapshot_lock(129, "backup")
    steps = bench.plan(want(cores=4))
    bench.fake.unlock(129)
    bench.apply(steps)
    assert bench.config["cores"] == 4


def test_a_lock_that_stays_is_reported(bench: Bench) -> None:
    bench.converge()
    bench.fake.snapshot_lock(129, "migrate")
    with pytest.raises(GuestLocked) as locked:
        bench.converge(cores=4)
    assert any(line.startswith("pct unlock 129") for line in locked.value.tries)
    assert 300 <= bench.now < 310


def test_a_held_config_lock_is_waited_for(bench: Bench) -> None:
    bench.converge()
    bench.fake.call(bench.fake.hold_config_lock(129, None))
    bench.on_pause = lambda: bench.fake.release_config_lock(129)
    bench.converge(cores=4)
    assert bench.config["cores"] == 4


def test_a_start_that_meets_a_lock_is_repeated(bench: Bench) -> None:
    bench.converge()
    bench.fake.ct(129).status = "stopped"
    bench.fake.snapshot_lock(129, "snapshot")
    bench.on_pause = lambda: bench.fake.unlock(129)
    assert bench.converge() == ["Start"]
    assert bench.fake.ct(129).status == "running"
    assert bench.sent("POST", START) == 3


def test_the_root_shell_waits_for_a_lock_too(bench: Bench) -> None:
    bench.converge()
    steps = bench.plan(want(gpus={"indices": [0]}))
    bench.fake.snapshot_lock(129, "backup")
    bench.on_pause = lambda: bench.fake.unlock(129)
    bench.apply(steps)
    assert bench.config["dev0"] == "/dev/nvidia0,mode=0666"
    assert len(bench.shell.scripts) == 2


# ---------------------------------------------------------------- others, and broken lines


def test_a_config_that_somebody_changed_is_not_overwritten(bench: Bench) -> None:
    bench.converge()
    steps = bench.plan(want(cores=4))
    bench.config["memory"] = 1024
    with pytest.raises(ConfigChanged):
        bench.apply(steps)
    assert bench.config["cores"] == 8


def test_a_snapshot_meanwhile_is_no_change(bench: Bench) -> None:
    bench.converge()
    steps = bench.plan(want(cores=4))
    bench.fake.ct(129).snapshots["pre"] = {"cores": 8}
    bench.config["parent"] = "pre"
    bench.apply(steps)
    assert bench.config["cores"] == 4


def test_an_update_whose_answer_was_lost_is_recognised(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.converge()
    steps = bench.plan(want(cores=4, tags=["gpu"], net={"bridge": "vmbr0", "mtu": 1400}, features=[]))
    put = bench.pve.put

    def lossy(path: str, *args: Any, **kwargs: Any) -> Any:
        put(path, *args, **kwargs)
        bench.fake.fail("PUT", CONFIG, 596, "Connection timed out", times=1)
        return put(path, *args, **kwargs)

    monkeypatch.setattr(bench.pve, "put", lossy)
    bench.apply(steps[:1])
    assert bench.config["cores"] == 4
    assert bench.sent("PUT", CONFIG) == 2


def test_an_update_that_never_arrives_is_reported(bench: Bench) -> None:
    bench.converge()
    bench.fake.fail("PUT", CONFIG, 596, "Connection timed out")
    with pytest.raises(ConnectionLost):
        bench.converge(cores=4)


def test_a_line_that_drops_everything_for_a_moment_is_survived(bench: Bench) -> None:
    bench.converge()
    steps = bench.plan(want(cores=4))
    bench.fake.flaky_network(drop_rate=1.0)
    bench.on_pause = lambda: bench.fake.flaky_network()
    bench.apply(steps)
    assert bench.config["cores"] == 4


def test_a_disk_that_somebody_grew_meanwhile_is_fine(bench: Bench) -> None:
    bench.converge()
    steps = bench.plan(want(rootfs_gib=100))
    bench.config["rootfs"] = bench.config["rootfs"].replace("64G", "100G")
    bench.apply(steps)
    assert bench.config["rootfs"].endswith("size=100G")


def test_a_container_that_somebody_started_meanwhile_is_fine(bench: Bench) -> None:
    bench.converge()
    bench.fake.ct(129).status = "stopped"
    steps = bench.plan(want())
    bench.fake.ct(129).status = "running"
    bench.apply(steps)
    assert [type(step) for step in steps] == [Start]


def test_a_device_that_vanished_is_named_by_the_root_shell(bench: Bench) -> None:
    bench.converge()
    bench.shell.missing = {"/dev/nvidia-uvm"}
    with pytest.raises(NotFound, match="Device /dev/nvidia-uvm does not exist") as refused:
        bench.converge(gpus={"indices": [0]})
    assert refused.value.where == ("pve1", "pct set")
    assert refused.value.tries[0].startswith("nvidia-modprobe -c0 -u -m")
    assert refused.value.why[-1].startswith("It was: pct set 129 --dev0 /dev/nvidia0,mode=0666")


def test_a_device_that_vanished_stops_the_start(bench: Bench) -> None:
    bench.converge()
    ct = bench.fake.ct(129)
    ct.status, ct.start_error = "stopped", "Device /dev/nvidia-uvm does not exist"
    with pytest.raises(TaskFailed) as failed:
        bench.converge()
    assert failed.value.tries[0].startswith("nvidia-modprobe -c0 -u -m")


def test_high_availability_that_starts_nothing_is_reported(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.converge()
    ct = bench.fake.ct(129)
    ct.status = "stopped"
    monkeypatch.setattr(bench.pve, "post", lambda *_, **__: None)
    with pytest.raises(DeadlineExceeded, match="does not run 120 s after its start task ended"):
        bench.converge()


def test_a_step_of_another_room_is_a_fault_of_ours(bench: Bench) -> None:
    with pytest.raises(TypeError):
        bench.apply([Step(role="engine", action="build", summary="build an engine")])


def test_steps_say_what_they_are_for_programs(bench: Bench) -> None:
    steps = bench.plan(want(**ALL))
    assert [step.as_json()["action"] for step in steps] == ["create", "update", "start"]
    assert isinstance(steps[1], Attach)
    assert not any(isinstance(step, Restart) for step in steps)
