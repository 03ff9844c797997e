"""A target made expensive without changing what it says: `python -m tests.gpu.heavier MODEL OUT --width 1048576`.

A tiny model's step is the launch of its kernels, whatever k is. With MLPs padded by zeros (silu(0) * 0 and rows of
zeros in down_proj: the function stays) a step reads as many bytes as that of a model of a few billion weights.
"""

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint16]
"""Weights of 16 bits, whatever they mean: zeros are zeros in each."""


def main() -> None:
    """Write the heavier model."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.heavier", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--width", type=int, default=1 << 20, help="intermediate_size of each layer (default: 1048576)")
    asked = parser.parse_args()
    shutil.copytree(asked.model, asked.out, dirs_exist_ok=True, copy_function=shutil.copyfile)
    config = json.loads((asked.model / "config.json").read_text())
    (asked.out / "config.json").write_text(json.dumps({**config, "intermediate_size": asked.width}, indent=1))
    widen(asked.model / "model.safetensors", asked.out / "model.safetensors", asked.width)


def widen(weights: Path, out: Path, width: int) -> None:
    """Copy a safetensors file of 16-bit weights with every MLP `width` wide.

    The format: eight bytes with the header's length, the header (JSON), the tensors
    (https://huggingface.co/docs/safetensors, "Format").
    """
    data = weights.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__", {"format": "pt"})
    tensors = {name: _widened(name, _tensor(about, data[8 + size :]), width) for name, about in header.items()}
    entries: dict[str, object] = {"__metadata__": metadata}
    end = 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.nbytes
        entries[name] = {"dtype": header[name]["dtype"], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    head = json.dumps(entries).encode()
    head += b" " * (-len(head) % 8)
    with out.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for tensor in tensors.values():
            file.write(tensor.tobytes())


def _tensor(about: dict[str, list[int]], data: bytes) -> Words:
    begin, end = about["data_offsets"]
    return np.frombuffer(data[begin:end], dtype=np.uint16).reshape(about["shape"])


def _widened(name: str, tensor: Words, width: int) -> Words:
    if name.endswith(("gate_proj.weight", "up_proj.weight")):
        return np.pad(tensor, ((0, width - tensor.shape[0]), (0, 0)))
    if name.endswith("down_proj.weight"):
        return np.ascontiguousarray(np.pad(tensor, ((0, 0), (0, width - tensor.shape[1]))))
    return np.ascontiguousarray(tensor)


if __name__ == "__main__":
    main()
