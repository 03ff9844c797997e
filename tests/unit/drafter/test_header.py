"""The header of safetensors files: read from the first bytes, and any bytes at all are an answer."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.drafter.header import LIMIT_BYTES, join, read
from tests.unit.drafter.weights import encode, shapes


def wrapped(body: bytes) -> bytes:
    return len(body).to_bytes(8, "little") + body


def test_names_shapes_and_metadata_are_read() -> None:
    data, size = encode(shapes(), format="pt")
    found = read(data, size)
    assert found.problems == ()
    assert len(found.tensors) == 58
    assert found.shape("fc.weight") == (5120, 25600)
    assert found.shape("lm_head.weight") is None
    assert found.metadata == {"format": "pt"}


def test_what_follows_the_header_is_not_looked_at() -> None:
    data, size = encode(shapes(layers=1))
    assert read(data + b"\x00" * 100, size) == read(data, size)


@pytest.mark.parametrize(
    ("data", "size", "says"),
    [
        (b"", 0, "is cut: 0 bytes"),
        (b"\x01\x02", 2, "is cut: 2 bytes"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3460000000\n", 130, "Git LFS pointer"),
        ((LIMIT_BYTES + 1).to_bytes(8, "little") + b"{}", None, "its header would be 4194305 bytes long"),
        (b"\xff" * 16, None, "no safetensors file"),
        (encode(shapes())[0][:500], None, "is cut within its header: 500 of"),
        (encode(shapes())[0], 1_000_000, "a download that did not end: 1000000 of"),
        (encode({"a": [2]})[0], 10_000, "longer than its header says"),
        (wrapped(b"not json"), None, "no JSON"),
        (wrapped(b"[]"), None, "no JSON object"),
        (wrapped(b"\xff\xfe{}"), None, "no JSON"),
        (wrapped(b"[" * 100_000), None, "no JSON"),
        (wrapped(b'{"a":{"dtype":"BF16","shape":[2,"3"],"data_offsets":[0,12]}}'), None, "the entry of 'a'"),
        (wrapped(b'{"a":{"dtype":"BF16","shape":[2],"data_offsets":[4,0]}}'), None, "the entry of 'a'"),
        (wrapped(b'{"a":{"dtype":"BF16","shape":[-2],"data_offsets":[0,4]}}'), None, "the entry of 'a'"),
        (wrapped(b'{"a":{"dtype":"BF16","shape":[3],"data_offsets":[0,4]}}'), None, "a does not have the size"),
    ],
)
def test_broken_file_is_a_problem_that_names_it(data: bytes, size: int | None, says: str) -> None:
    (problem,) = read(data, size, "model-00001.safetensors").problems
    assert problem.startswith("model-00001.safetensors")
    assert says in problem


def test_real_files_header_is_read() -> None:
    """A published layout in small: 2 layers, 3 captured layers of a target 128 wide."""
    data = (Path(__file__).parents[2] / "cases" / "drafter" / "tiny-dflash.header").read_bytes()
    found = read(data, 888_968)
    assert found.problems == ()
    assert found.shape("fc.weight") == (128, 384)
    assert len(found.tensors) == 25


def test_shards_are_one_model_and_a_tensor_in_two_of_them_is_a_problem() -> None:
    one, two = (read(*encode({name: [2], "norm.weight": [2]})) for name in ("a", "b"))
    both = join([one, two])
    assert set(both.tensors) == {"a", "b", "norm.weight"}
    assert both.problems == ("two files hold norm.weight",)


entries = st.dictionaries(
    st.text(max_size=5),
    st.fixed_dictionaries(
        {
            "dtype": st.sampled_from(["BF16", "X", None]),
            "shape": st.lists(st.integers(), max_size=20),
            "data_offsets": st.lists(st.integers(), max_size=3),
        }
    )
    | st.none(),
)


@given(
    st.binary() | st.binary().map(wrapped) | entries.map(lambda value: wrapped(json.dumps(value).encode())),
    st.integers(),
)
def test_any_bytes_are_read(data: bytes, size: int) -> None:
    """Property: no file makes the reader raise, and a size that fits nothing is a problem."""
    found = read(data, size)
    assert found.problems or size == 8 + int.from_bytes(data[:8], "little") + max(
        (tensor.end for tensor in found.tensors.values()), default=0
    )
