"""Folders of this machine are read as a host's would be, and never beyond what is needed."""

import json
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inventory.errors import UsageError
from roles.drafter import facts, local
from roles.drafter.header import LIMIT_BYTES
from tests.local_shell import LocalShell
from tests.unit.drafter.weights import encode, shapes

CONFIG = {"architectures": ["DFlashDraftModel"], "dflash_config": {"mask_token_id": 7}}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    drafter, target = tmp_path / "drafter", tmp_path / "target"
    drafter.mkdir()
    target.mkdir()
    (drafter / "config.json").write_text(json.dumps(CONFIG))
    (target / "config.json").write_text(json.dumps({"num_hidden_layers": 6}))
    (target / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": {"7": {"content": "<|MASK|>"}}}))
    data, size = encode(shapes(layers=2))
    with (drafter / "model.safetensors").open("wb") as file:
        file.write(data)
        file.truncate(size)
    return drafter, target


def test_same_folders_read_here_and_on_a_host_say_the_same(folders: tuple[Path, Path]) -> None:
    drafter, target = folders
    (target / "generation_config.json").write_text('{"pad_token_id": 3}')
    (drafter / "model.safetensors.index.json").write_text('{"weight_map": {"a": "model.safetensors"}}')
    host = facts.parse(LocalShell().run(facts.question(str(target), str(drafter))).stdout)
    assert local.read(drafter, target) == host
    assert host.header is not None


def test_config_of_any_name_is_read_alone(tmp_path: Path) -> None:
    (tmp_path / "some-drafter.json").write_text(json.dumps(CONFIG))
    (tmp_path / "model.safetensors").write_bytes(b"not looked at")
    found = local.read(tmp_path / "some-drafter.json", tmp_path / "some-drafter.json")
    assert found.drafter_config == found.target_config == CONFIG
    assert found.header is None
    assert found.files == {}


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
def test_tokenizer_can_be_somewhere_else(name: str, tmp_path: Path, folders: tuple[Path, Path]) -> None:
    token = {"id": 9, "content": "<|x|>"}
    by_name: dict[str, Any] = {
        "tokenizer.json": {"added_tokens": [token]},
        "tokenizer_config.json": {"added_tokens_decoder": {"9": token}},
    }
    elsewhere = tmp_path / name
    elsewhere.write_text(json.dumps(by_name[name]))
    assert local.read(*folders, tokenizer=elsewhere).added_tokens == {9: "<|x|>"}
    assert local.read(*folders, tokenizer=tmp_path).added_tokens == {9: "<|x|>"}
    assert local.read(*folders).added_tokens == {7: "<|MASK|>"}


def test_pointer_in_place_of_weights_is_said(folders: tuple[Path, Path]) -> None:
    drafter, _ = folders
    (drafter / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n")
    header = local.read(drafter).header
    assert header is not None
    assert "Git LFS pointer" in header.problems[0]


def test_path_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as told:
        local.read(tmp_path / "gone")
    assert told.value.what == f"{tmp_path / 'gone'}: No such file or directory"
    assert "invoke drafter config.json" in told.value.tries


class Counting:
    """Counts the bytes that are read of files whose name ends in .safetensors."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = 0
        real = Path.open

        def opened(path: Path, *arguments: Any, **named: Any) -> IO[Any]:
            file = real(path, *arguments, **named)
            return self.watch(file) if path.suffix == ".safetensors" else file

        monkeypatch.setattr(Path, "open", opened)

    def watch(self, file: IO[Any]) -> IO[Any]:
        counting = self

        class Watched:
            def __enter__(self) -> "Watched":
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def read(self, size: int) -> Any:
                assert size >= 0, "all of it would be read"
                counting.asked += size
                return file.read(size)

        return Watched()  # type: ignore[return-value]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(length=st.integers(0, 2**64 - 1) | st.integers(0, LIMIT_BYTES + 10), body=st.binary(max_size=300))
def test_no_length_that_a_file_claims_makes_it_read_beyond_the_bound(
    length: int, body: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Property: of weights, what is asked for is the header as long as its length says, and never above the limit."""
    (tmp_path / "a.safetensors").write_bytes(length.to_bytes(8, "little") + body)
    with monkeypatch.context() as patch:
        counting = Counting(patch)
        local.read(tmp_path)
    assert counting.asked <= 8 + (length if length <= LIMIT_BYTES else 248)
