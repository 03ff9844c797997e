"""The lab's models look like the published ones to whoever reads configs, headers and tokenizers."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.lab import models

PAIRS = [("Qwen3.6-27B", "Qwen3.6-27B-DFlash"), ("Qwen3-8B", "Qwen3-8B-DFlash-b16")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    models.make(made)
    return made


def read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text()))


def header(path: Path) -> tuple[dict[str, Any], int]:
    """A safetensors header, and the size that the file must have."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        tensors = json.loads(file.read(length))
    end = max(tensor["data_offsets"][1] for name, tensor in tensors.items() if name != "__metadata__")
    return tensors, 8 + length + end


@pytest.mark.parametrize(("target", "drafter"), PAIRS)
def test_weights_are_a_whole_safetensors_file_that_takes_no_room(folder: Path, target: str, drafter: str) -> None:
    path = folder / drafter / "model.safetensors"
    tensors, size = header(path)
    tensors.pop("__metadata__")
    assert path.stat().st_size == size > 2_000_000_000
    assert path.stat().st_blocks * 512 < 100_000
    assert len(tensors) == 58
    ends = sorted(tensor["data_offsets"] for tensor in tensors.values())
    assert all(one[1] == other[0] for one, other in pairwise(ends))


@pytest.mark.parametrize(("target", "drafter"), PAIRS)
def test_config_weights_and_target_agree(folder: Path, target: str, drafter: str) -> None:
    served, config = read(folder / target / "config.json"), read(folder / drafter / "config.json")
    served = served.get("text_config", served)
    tensors, _ = header(folder / drafter / "model.safetensors")
    taps = config["dflash_config"]["target_layer_ids"]
    assert tensors["fc.weight"]["shape"] == [config["hidden_size"], len(taps) * served["hidden_size"]]
    assert (config["num_target_layers"], config["vocab_size"]) == (served["num_hidden_layers"], served["vocab_size"])
    assert config["rope_theta"] == served["rope_theta"]
    trained = json.loads(tensors["__metadata__"]["specrail_lab"])
    assert trained["target_layer_ids"] == taps
    assert (trained["mask_token_id"], trained["layer_types"]) == (
        config["dflash_config"]["mask_token_id"],
        config["layer_types"],
    )


@pytest.mark.parametrize(("target", "drafter"), PAIRS)
def test_the_mask_token_is_the_first_row_behind_the_tokenizers_last_token(
    folder: Path, target: str, drafter: str
) -> None:
    tokens = {token["id"]: token["content"] for token in read(folder / target / "tokenizer.json")["added_tokens"]}
    decoder = read(folder / target / "tokenizer_config.json")["added_tokens_decoder"]
    assert {int(number): token["content"] for number, token in decoder.items()} == tokens
    assert read(folder / drafter / "config.json")["dflash_config"]["mask_token_id"] == max(tokens) + 1


def test_the_ids_that_were_guessed_in_the_field_are_used_ones(folder: Path) -> None:
    tokens = {token["id"]: token["content"] for token in read(folder / "Qwen3.6-27B/tokenizer.json")["added_tokens"]}
    assert tokens[248044] == "<|endoftext|>"
    assert tokens[248046] == "<|im_end|>"
    assert tokens[248063] == "<|fim_pad|>"
    assert read(models.WRONG_CONFIG)["dflash_config"]["mask_token_id"] in tokens
    assert max(tokens) == 248069


def test_making_them_again_changes_nothing(folder: Path) -> None:
    before = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    models.make(folder)
    assert {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()} == before
