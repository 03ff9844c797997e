"""What goes wrong is said on one screen, with what to do and the right exit code, and nothing is changed by it."""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.e2e.host import CTID, Seen, base_of, broken, look, serves
from tests.e2e.person import HOST, QUICK, Person, Said, rows
from tests.e2e.survival.command import Command
from tests.lab import control
from tests.lab.ground import Lab

SCREEN_ROWS = 25
DEPLOY = f"deploy --host {HOST}"
CHANGE = f"{DEPLOY} --tokens 6"

Refused = Callable[..., Said]


@pytest.fixture
def refused(lab: Lab, person: Person, promoted: Seen) -> Refused:
    """Type a line that is refused before anything is touched: one screen, what to do, nothing changed."""

    def type_it(line: str, code: int, *, inventory: Path | None = None, **environment: str) -> Said:
        before = look(lab)
        said = person.types(line, inventory=inventory, **environment)
        assert said.code == code, said.all
        assert said.out == ""
        assert "Traceback" not in said.err
        assert rows(said.err) <= SCREEN_ROWS
        assert look(lab) == before
        return said

    return type_it


def write(tmp_path: Path, person: Person, old: str, new: str) -> Path:
    """The person's inventory with one text replaced."""
    text = person.inventory.read_text()
    assert text.count(old) >= 1
    file = tmp_path / "hosts.yml"
    file.write_text(text.replace(old, new, 1))
    return file


def with_changes(person: Person, name: str, **changes: object) -> Path:
    """The person's inventory with values at dotted paths, whose dots are written as double underscores."""
    return person.writes(f"{name}.yml", {**QUICK, **{key.replace("__", "."): value for key, value in changes.items()}})


# ------------------------------------------------------------------------------------- usage and inventory


def test_a_wrong_host_name_is_told_the_nearest_one(refused: Refused) -> None:
    said = refused("deploy --host ct192", 2)
    assert "'ct192'" in said.err
    assert "did you mean 'ct129'?" in said.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--tokens five", "--tokens wants a whole number"),
        ("--tokens 99", "at most 64"),
        ("--drafter-config nowhere.json", "nowhere.json: No such file"),
        ("--drafter-config README.md", "README.md is not JSON"),
        ("--inconclusive perhaps", "keep or revert"),
    ],
)
def test_a_flag_that_means_nothing_is_refused_in_its_own_words(refused: Refused, flags: str, words: str) -> None:
    assert words in refused(f"{DEPLOY} {flags}", 2).err


@pytest.mark.parametrize("line", ["deploy --host ct129 --tokens 5", "tune --host ct129"])
def test_tokens_without_a_drafter_are_refused_with_what_the_inventory_lacks(
    line: str, refused: Refused, person: Person
) -> None:
    said = refused(line, 2, inventory=with_changes(person, "no-drafter", hosts__ct129__drafter=None))
    assert "the inventory gives this host no drafter" in said.all
    assert "drafter:" in said.err.split("Try:")[1]


def test_lines_that_are_no_number_are_refused(refused: Refused) -> None:
    assert "--lines wants a whole number" in refused(f"logs --host {HOST} --lines many", 2).err


def test_a_typo_in_the_inventory_is_told_file_line_and_what_was_meant(
    refused: Refused, person: Person, tmp_path: Path
) -> None:
    inventory = write(tmp_path, person, "      source: pr:40898", "      sorce: pr:40898")
    (line,) = [number for number, text in enumerate(inventory.read_text().splitlines(), 1) if "sorce" in text]
    said = refused(DEPLOY, 2, inventory=inventory)
    assert f"{inventory}:{line}: " in said.err
    assert "did you mean" in said.err
    assert "source" in said.err


def test_broken_yaml_is_told_file_and_line(refused: Refused, person: Person, tmp_path: Path) -> None:
    inventory = write(tmp_path, person, "  engine:\n", "  engine: {\n")
    assert re.search(rf"{re.escape(str(inventory))}:\d+", refused(DEPLOY, 2, inventory=inventory).err)


def test_all_that_is_wrong_is_told_at_once(refused: Refused, person: Person, tmp_path: Path) -> None:
    first = write(tmp_path, person, "      source: pr:40898", "      sorce: pr:40898")
    first.write_text(first.read_text().replace("cores: 8", "cores: eight", 1))
    said = refused(DEPLOY, 2, inventory=first)
    assert "sorce" in said.err
    assert "cores" in said.err


def test_a_missing_inventory_is_named_with_who_named_it(refused: Refused) -> None:
    said = refused(f"{DEPLOY} --inventory nowhere/hosts.yml", 2)
    assert "--inventory names nowhere/hosts.yml, which is not there" in said.err


def test_a_literal_secret_is_refused_and_not_shown(refused: Refused, person: Person, tmp_path: Path) -> None:
    reference = re.search(r"VLLM_API_KEY: (\S+)", person.inventory.read_text())
    assert reference is not None
    inventory = write(tmp_path, person, reference[1], "sk-literally-the-key-4711")
    said = refused(DEPLOY, 2, inventory=inventory)
    assert "VLLM_API_KEY" in said.err
    assert "env:" in said.err
    assert "4711" not in said.err


def test_a_secret_that_is_not_set_is_named(refused: Refused, person: Person) -> None:
    inventory = with_changes(person, "unset", defaults__server__secrets={"VLLM_API_KEY": "env:NOBODY_SET_THIS"})
    assert "NOBODY_SET_THIS" in refused(DEPLOY, 2, inventory=inventory).err


# ------------------------------------------------------------------------------------- the node


def test_a_node_whose_api_is_down_is_unreachable(lab: Lab, refused: Refused) -> None:
    with broken(lab, "api-down"):
        said = refused(DEPLOY, 6)
    assert "Connection refused" in said.error
    assert "systemctl status pveproxy" in said.error


def test_a_node_whose_sshd_is_down_is_unreachable(lab: Lab, refused: Refused) -> None:
    with broken(lab, "node-ssh-down"):
        said = refused(DEPLOY, 6)
    assert "pve1: 127.0.0.1:" in said.error
    assert "ssh -v -p" in said.error


def test_a_container_whose_sshd_is_down_is_unreachable(lab: Lab, refused: Refused) -> None:
    with broken(lab, "ssh-down", ctid=CTID):
        said = refused(DEPLOY, 6)
    assert "ct129: 127.0.0.1:" in said.error
    assert "ssh -v -p" in said.error


def test_a_refused_token_is_told_with_the_command_that_shows_it(lab: Lab, refused: Refused) -> None:
    with broken(lab, "token-refused"):
        said = refused(DEPLOY, 1)
    assert "llm@pve!deploy" in said.error
    assert "Try:  pveum user token list llm@pve" in said.error


def test_a_token_without_the_right_is_told_which_and_how_to_grant_it(lab: Lab, refused: Refused) -> None:
    denial = {"status": 403, "message": "Permission check failed (/vms/129, VM.Audit)"}
    with broken(lab, "api-error", method="GET", path="/lxc/129/config", **denial):
        said = refused(DEPLOY, 1)
    assert "VM.Audit" in said.error
    assert "pveum " in said.error


def test_without_quorum_nothing_is_tried(lab: Lab, refused: Refused) -> None:
    with broken(lab, "quorum-lost"):
        said = refused(DEPLOY, 1)
    assert "no quorum" in said.error
    assert "pvecm status" in said.error


# ------------------------------------------------------------------------------------- the host


def test_a_full_disk_is_refused_before_anything_is_written(lab: Lab, refused: Refused) -> None:
    with broken(lab, "disk-full", ctid=CTID):
        said = refused(CHANGE, 1)
    assert "the disk is full: 0 MB are free" in said.error
    assert "du -xsh" in said.error
    assert f"pct resize {CTID} rootfs" in said.error


def test_a_full_disk_is_no_reason_to_refuse_what_writes_nothing(lab: Lab, person: Person, promoted: Seen) -> None:
    with broken(lab, "disk-full", ctid=CTID):
        said = person.types(DEPLOY)
    assert said.code == 0
    assert "nothing to do" in said.out


def test_a_driver_that_does_not_match_is_told_with_the_installer(lab: Lab, refused: Refused) -> None:
    with broken(lab, "gpu-mismatch", ctid=CTID, version="565.57.01"):
        said = refused(DEPLOY, 1)
    assert "580.95.05" in said.error
    assert "565.57" in said.error
    assert "NVIDIA-Linux-x86_64-580.95.05.run --no-kernel-modules" in said.error


def test_a_lost_gpu_is_told(lab: Lab, refused: Refused) -> None:
    with broken(lab, "gpu-lost", index=1):
        said = refused(DEPLOY, 1)
    assert "a GPU is lost" in said.error
    assert "dmesg" in said.error


@pytest.fixture
def stopped(lab: Lab, promoted: Seen, person: Person) -> Iterator[None]:
    """The server does not run, as after an operator's stop. Afterwards a deploy starts it again."""
    control = base_of(lab) / "control.sh"
    subprocess.run([control, "stop"], check=True, env={"PATH": os.environ["PATH"]})
    assert not serves(lab)
    yield
    said = person.types(DEPLOY)
    assert said.code == 0, said.all
    assert "was started again and answers" in said.out
    assert serves(lab)


def test_a_port_that_a_stranger_has_is_told(lab: Lab, stopped: None, refused: Refused, promoted: Seen) -> None:
    with broken(lab, "port-taken", ctid=CTID):
        said = refused(DEPLOY, 1)
    assert "is taken by something that is not this service" in said.error
    assert "ss -ltnp" in said.error


def test_memory_that_somebody_holds_is_told_with_the_share_that_fits(
    lab: Lab, stopped: None, refused: Refused, promoted: Seen
) -> None:
    with broken(lab, "vram-held", index=0, mib=30000):
        said = refused(DEPLOY, 1)
    assert re.search(r"GPU 0: somebody else holds 3000\d MiB of 49140 MiB", said.error)
    assert "server.gpu_memory_utilization: 0." in said.error


def test_a_host_that_somebody_else_works_on_is_locked(lab: Lab, refused: Refused) -> None:
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    owner = {"who": "berta", "controller": "bertas-laptop", "controller_boot": "another", "pid": 1, "verb": "rollback"}
    lease = {"operation": "0123456789", "nonce": "0123456789", "boot_id": boot_id, "expires": int(time.time()) + 80}
    lock = base_of(lab) / "lock"
    lock.mkdir()
    try:
        (lock / "details.json").write_text(json.dumps(owner | lease))
        said = refused(CHANGE, 5)
    finally:
        (lock / "details.json").unlink()
        lock.rmdir()
    assert "locked by berta at bertas-laptop: rollback" in said.error
    assert f"invoke status --host {HOST}" in said.error


# ------------------------------------------------------------------------------------- a container that is locked


def test_a_container_that_a_backup_holds_is_waited_for_until_ctrl_c(lab: Lab, person: Person, promoted: Seen) -> None:
    inventory = with_changes(person, "cores", defaults__container__cores=4)
    with broken(lab, "ct-locked", ctid=CTID, lock="backup"):
        before = look(lab)
        deploy = Command(tuple(DEPLOY.split()), person.environment(inventory))
        deploy.until("waiting for it")
        deploy.interrupt()
        ended = deploy.end()
        after = look(lab)
    assert ended.code == 130, ended.all
    assert "CT is locked (backup)" in ended.all
    assert "interrupted; nothing was changed" in ended.all
    assert "Traceback" not in ended.all
    assert (after.config, after.current, after.promoted) == (before.config, before.current, before.promoted)
    assert after.settled
    assert b'"interrupted"' in after.audit.splitlines()[-1]


# ------------------------------------------------------------------------------------- the engine


def pull(person: Person, number: int) -> Path:
    """An inventory that asks for another pull request."""
    return with_changes(person, f"pr-{number}", hosts__ct129__engine={"source": f"pr:{number}"})


def test_a_pull_request_that_does_not_exist_is_told(refused: Refused, person: Person) -> None:
    said = refused(DEPLOY, 1, inventory=pull(person, 49999))
    assert "pull request 49999 is not known to file://" in said.error
    assert "git ls-remote" in said.error


BUILDS: Mapping[int, tuple[str, str]] = {
    50001: ("undefined symbol", "engine.build: source"),
    50004: ("this source changes compiled code", "csrc/layernorm_kernels.cu"),
}


@pytest.mark.parametrize("number", BUILDS)
def test_a_build_that_fails_leaves_the_release_alone(lab: Lab, person: Person, promoted: Seen, number: int) -> None:
    said = person.types(DEPLOY, inventory=pull(person, number))
    assert said.code == 1
    for words in BUILDS[number]:
        assert words in said.error
    assert rows(said.error) <= SCREEN_ROWS
    assert "Traceback" not in said.err
    after = look(lab)
    assert (after.current, after.promoted, after.releases, after.servers, after.config) == (
        promoted.current,
        promoted.promoted,
        promoted.releases,
        promoted.servers,
        promoted.config,
    )
    assert after.venvs == promoted.venvs
    assert serves(lab)


DEATHS: Mapping[int, tuple[str, ...]] = {
    50002: (
        "ended with status 1 while it started",
        "GPU memory ran out",
        "torch.OutOfMemoryError: CUDA out of memory",
        "Try:  server.max_model_len: smaller",
    ),
    50003: (
        "its first completion failed",
        "a kernel touched memory it must not",
        "CUDA error: an illegal memory access was encountered",
        "engine.source: another one",
    ),
}


@pytest.mark.parametrize("number", DEATHS)
def test_a_server_that_dies_is_gone_back_from_with_its_root_cause(
    lab: Lab, person: Person, promoted: Seen, number: int
) -> None:
    said = person.types(DEPLOY, inventory=pull(person, number))
    assert said.code == 1
    for words in DEATHS[number]:
        assert words in said.error
    assert f"In service now: reverted to {promoted.promoted}, which answers" in said.error
    assert f"invoke logs --host {HOST}" in said.error
    assert rows(said.error) <= SCREEN_ROWS
    assert "Traceback" not in said.err
    after = look(lab)
    assert (after.current, after.promoted, after.config) == (promoted.promoted, promoted.promoted, promoted.config)
    assert after.settled
    assert serves(lab)


# ------------------------------------------------------------------------------------- after all of it


def test_a_device_that_is_missing_is_attached_and_the_server_started_again(
    lab: Lab, person: Person, promoted: Seen
) -> None:
    """What a check inside would call a missing GPU is what the plan is about to bring."""
    control.ask(lab.layout.control, {"do": "pct", "argv": ["set", str(CTID), "--delete", "dev1"]})
    lab.reboot(CTID)
    said = person.types(DEPLOY)
    assert said.code == 0, said.all
    after = look(lab)
    assert (after.config, after.current, after.releases) == (promoted.config, promoted.current, promoted.releases)
    assert serves(lab)
