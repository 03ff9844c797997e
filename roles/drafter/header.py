"""The header of a safetensors file: names and shapes of its tensors, from its first bytes alone."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

LIMIT_BYTES = 4_194_304
"""Longest header that is read; a drafter's is about 10 KB."""

_DIMENSIONS = 16
_LFS = b"version https://git-lfs"
_BITS = {"F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "BF16": 16, "F16": 16, "I16": 16, "U16": 16}


@dataclass(frozen=True)
class Tensor:
    """One tensor. dtype as the file spells it ("BF16"); offsets count from the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Header:
    """What the headers of one or more files say together.

    problems: what is wrong with the files themselves, one line each, naming the file
    """

    tensors: dict[str, Tensor] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Shape of a tensor, if it is there."""
        tensor = self.tensors.get(name)
        return tensor.shape if tensor else None


def read(data: bytes, file_size: int | None = None, name: str = "model.safetensors") -> Header:
    """Read the first bytes of a file. Any bytes are read: what is wrong is in `problems`.

    data:      8 bytes of length and the header, at least; more is ignored
    file_size: of the whole file, to see a download that was cut; None when unknown
    """
    if data.startswith(_LFS):
        return Header(problems=(f"{name} is a Git LFS pointer, not the weights: git lfs pull",))
    if len(data) < 8:
        return Header(problems=(f"{name} is cut: {len(data)} bytes",))
    length = int.from_bytes(data[:8], "little")
    if length > LIMIT_BYTES:
        return Header(problems=(f"{name} is no safetensors file: its header would be {length} bytes long",))
    if len(data) < 8 + length:
        return Header(problems=(f"{name} is cut within its header: {len(data)} of {8 + length} bytes",))
    try:
        entries = json.loads(data[8 : 8 + length])
    except (ValueError, RecursionError):
        return Header(problems=(f"{name} has a header that is no JSON",))
    if not isinstance(entries, dict):
        return Header(problems=(f"{name} has a header that is no JSON object",))
    metadata = entries.pop("__metadata__", None)
    tensors: dict[str, Tensor] = {}
    problems = []
    for key, entry in entries.items():
        if (tensor := _tensor(entry)) is None:
            problems.append(f"{name}: the entry of {key[:80]!r} is not understood")
        else:
            tensors[key] = tensor
    problems += _sizes(tensors, length, file_size, name)
    return Header(
        tensors=tensors,
        metadata={k: v for k, v in metadata.items() if isinstance(v, str)} if isinstance(metadata, dict) else {},
        problems=tuple(problems),
    )


def join(headers: Iterable[Header]) -> Header:
    """Several files of one model as one header; a tensor that is in two of them is a problem."""
    tensors: dict[str, Tensor] = {}
    metadata: dict[str, str] = {}
    problems: list[str] = []
    for header in headers:
        problems += [f"two files hold {key}" for key in header.tensors if key in tensors]
        tensors.update(header.tensors)
        metadata.update(header.metadata)
        problems += header.problems
    return Header(tensors=tensors, metadata=metadata, problems=tuple(problems))


def _tensor(entry: object) -> Tensor | None:
    if not isinstance(entry, dict):
        return None
    dtype, shape, offsets = entry.get("dtype"), _counts(entry.get("shape")), _counts(entry.get("data_offsets"))
    if not isinstance(dtype, str) or shape is None or offsets is None or len(offsets) != 2:
        return None
    begin, end = offsets
    return Tensor(dtype=dtype, shape=shape, begin=begin, end=end) if begin <= end else None


def _counts(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list) or len(value) > _DIMENSIONS:
        return None
    counts = tuple(one for one in value if isinstance(one, int) and not isinstance(one, bool) and 0 <= one < 2**63)
    return counts if len(counts) == len(value) else None


def _sizes(tensors: dict[str, Tensor], length: int, file_size: int | None, name: str) -> list[str]:
    problems = []
    for key, tensor in tensors.items():
        bits = _BITS.get(tensor.dtype)
        elements = 1
        for side in tensor.shape:
            elements *= side
        if bits and elements * bits != (tensor.end - tensor.begin) * 8:
            problems.append(f"{name}: {key} does not have the size that its shape says")
    whole = 8 + length + max((tensor.end for tensor in tensors.values()), default=0)
    if file_size is not None and file_size != whole:
        cut = "cut, a download that did not end" if file_size < whole else "longer than its header says"
        problems.append(f"{name} is {cut}: {file_size} of {whole} bytes")
    return problems
