"""What the checks say about a container's and a node's GPUs, and that errors stop a deploy."""

import json
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import PreflightError
from inventory.models import Gpus
from roles.gpu.check import check, check_node
from roles.gpu.facts import GpuFacts, parse
from roles.gpu.finding import Finding, refuse

CASES = sorted((Path(__file__).parents[2] / "cases" / "gpu").glob("*.json"))
WANT = Gpus(indices=(0, 1))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_findings_are_as_the_case_says(path: Path) -> None:
    case: dict[str, Any] = json.loads(path.read_text())
    ask = dict(case["ask"])
    want, host_driver = Gpus(indices=tuple(ask.pop("indices"))), ask.pop("host_driver", None)
    found = check(want, parse("\n".join(case["answer"])), host_driver, ask.pop("tensor_parallel"), **ask)
    assert [(one.check, one.severity) for one in found] == [(one["check"], one["severity"]) for one in case["findings"]]
    for finding, wanted in zip(found, case["findings"], strict=True):
        said = "\n".join((finding.message, *finding.why, *finding.tries))
        assert [words for words in wanted["says"] if words not in said] == []


def test_node_without_module_or_nodes_is_told_before_there_is_a_container() -> None:
    assert [one.check for one in check_node(WANT, GpuFacts())] == ["kernel-module"]
    module = GpuFacts(kernel_module="570.148.06", devices={"nvidia0": True, "nvidia1": True, "nvidiactl": True})
    (finding,) = check_node(WANT, module)
    assert finding.message == "the node has no /dev/nvidia-uvm, /dev/nvidia-uvm-tools"
    assert check_node(WANT, GpuFacts(kernel_module="1", devices=dict.fromkeys(WANT.devices, True))) == ()
    assert check_node(Gpus(), GpuFacts()) == ()


def test_one_error_is_told_as_itself() -> None:
    with pytest.raises(PreflightError, match="the container has no nvidia-smi") as told:
        refuse([Finding("no-userland", "error", "the container has no nvidia-smi", ("because",), ("sh x.run",))])
    assert told.value.why == ("because",)
    assert told.value.tries == ("sh x.run",)


def test_all_errors_are_told_at_once_and_warnings_with_them() -> None:
    with pytest.raises(PreflightError, match="2 things are wrong with the GPUs") as told:
        refuse(
            [
                Finding("a", "warning", "a little memory is held", tries=("wait",)),
                Finding("b", "error", "no uvm", tries=("nvidia-modprobe -u", "again")),
                Finding("c", "error", "no gpu1", tries=("again",)),
            ]
        )
    assert told.value.why == ("error: no uvm", "error: no gpu1", "warning: a little memory is held")
    assert told.value.tries == ("nvidia-modprobe -u", "again")


def test_warnings_stop_nothing() -> None:
    refuse([Finding("a", "warning", "a little memory is held")])
    refuse([])
