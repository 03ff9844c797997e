"""What this machine says about its driver, nodes, userland and CUDA, and what is wrong with it."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from inventory.models import Gpus, Paths
from inventory.shell import Shell, command
from inventory.ssh.ask import ask
from roles.gpu import facts as gpu_facts
from roles.gpu.check import check
from roles.gpu.facts import GpuFacts
from roles.gpu.finding import Finding

_CUDA = """
import json, sys
try:
    import torch
    there = torch.cuda.is_available()
    found = {"torch": torch.__version__, "cuda": torch.version.cuda, "available": there, "devices": []}
    for index in range(torch.cuda.device_count() if there else 0):
        about = torch.cuda.get_device_properties(index)
        found["devices"].append({"name": about.name, "capability": f"{about.major}.{about.minor}", "sum": float(torch.ones(1 << 20, device=f"cuda:{index}").sum())})
except Exception as error:
    found = {"error": f"{type(error).__name__}: {error}"}
print(json.dumps(found))
"""
_VERSION = 'import importlib.metadata as m; print(m.version("vllm"))'
_ASK_S = 180


@dataclass(frozen=True)
class Doctor:
    """One look at this machine.

    answer: what it said to the GPU role's question, as it came
    cuda:   what torch in the engine's Python sees, after a sum on each GPU; None where there is no engine
    engine: version of vLLM; None where there is none
    """

    answer: str
    facts: GpuFacts
    findings: tuple[Finding, ...]
    cuda: dict[str, object] | None
    engine: str | None

    @property
    def well(self) -> bool:
        """Whether nothing is in the way of an engine."""
        return bool(self.facts.gpus) and not any(finding.severity == "error" for finding in self.findings)

    def as_json(self) -> dict[str, object]:
        """All of it."""
        return {
            "answer": self.answer.splitlines(),
            "facts": asdict(self.facts),
            "findings": [finding.as_json() for finding in self.findings],
            "cuda": self.cuda,
            "engine": self.engine,
        }

    def lines(self) -> Iterator[str]:
        """For people."""
        facts = self.facts
        yield f"driver    {facts.kernel_module or 'no kernel module'}, userland {', '.join(facts.userland) or 'none'}"
        for gpu in facts.gpus:
            yield f"gpu {gpu.index}     {gpu.name}, {gpu.memory_used_mib} of {gpu.memory_total_mib} MiB used"
        shut = [name for name, opened in facts.devices.items() if not opened]
        yield f"nodes     {', '.join(facts.devices) or 'none'}{f'; shut: {shut}' if shut else ''}"
        yield f"engine    {f'vLLM {self.engine}' if self.engine else 'none'}"
        if self.cuda is not None:
            yield f"cuda      {self.cuda.get('error') or _cuda_words(self.cuda)}"
        for line in facts.unread:
            yield f"not understood: {line}"
        for finding in self.findings:
            yield f"{finding.severity}: {finding.message}"
            yield from (f"    {line}" for line in (*finding.why, *finding.tries))
        yield "nothing is in the way of an engine" if self.well else "not fit for an engine"


def doctor(shell: Shell, venv: str | None) -> Doctor:
    """Ask this machine. venv: folder whose bin has the engine's python; None asks for the GPUs alone."""
    questions = {"gpu": gpu_facts.question(Paths())}
    if venv is not None:
        python = f"{venv}/bin/python"
        questions["cuda"] = command(python, "-c", _CUDA)
        questions["engine"] = command(python, "-c", _VERSION)
    answers = ask(shell, questions, timeout_s=_ASK_S)
    facts = gpu_facts.parse(answers["gpu"].text)
    # A machine of its own has all the GPUs that its driver lists, and needs the nodes of each.
    want = Gpus(indices=tuple(gpu.index for gpu in facts.gpus) or (0,))
    findings = tuple(_of_this_machine(one) for one in check(want, facts, None, tensor_parallel=1))
    said = answers["cuda"].text.strip().splitlines() if "cuda" in answers else []
    cuda = json.loads(said[-1]) if said else None
    version = answers["engine"].text.strip() if "engine" in answers and answers["engine"].ok else None
    return Doctor(answers["gpu"].text, facts, (*findings, *_cuda_findings(facts, cuda)), cuda, version or None)


def _cuda_findings(facts: GpuFacts, cuda: dict[str, object] | None) -> Iterator[Finding]:
    if cuda is None or not facts.gpus:
        return
    if not cuda.get("available"):
        said = cuda.get("error") or f"torch {cuda.get('torch')} sees no GPU (built for CUDA {cuda.get('cuda')})"
        yield Finding(
            "cuda",
            "error",
            f"nvidia-smi lists {len(facts.gpus)} GPUs, CUDA does not start: {said}",
            why=("nvidia-smi needs neither nvidia-uvm nor a torch that fits the driver.",),
            tries=("nvidia-modprobe -c0 -u", "a torch for this driver's CUDA: nvidia-smi shows the newest it runs"),
        )


def _of_this_machine(finding: Finding) -> Finding:
    """The role speaks of a container and its node; here both are this machine."""

    def told(text: str) -> str:
        return text.replace("the container", "this machine").replace("on the node: ", "")

    return replace(
        finding,
        message=told(finding.message),
        why=tuple(map(told, finding.why)),
        tries=tuple(told(one) for one in finding.tries if "proxmox" not in one),
    )


def _cuda_words(cuda: dict[str, object]) -> str:
    devices = cuda.get("devices")
    names = [f"{one['name']} ({one['capability']})" for one in devices] if isinstance(devices, list) else []
    return f"torch {cuda.get('torch')} for CUDA {cuda.get('cuda')} computes on {', '.join(names) or 'no GPU'}"
