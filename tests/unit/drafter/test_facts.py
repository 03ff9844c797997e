"""What a real shell reads of a target's and a drafter's folder, without loading weights, and any answer at all."""

import base64
import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.drafter.facts import DrafterFacts, parse, question
from roles.drafter.header import LIMIT_BYTES
from tests.unit.drafter.weights import encode, shapes

TOKENIZER = {
    "version": "1.0",
    "added_tokens": [
        {"id": 248044, "content": "<|endoftext|>", "special": True},
        {"id": 248046, "content": "<|im_end|>"},
    ],
    "normalizer": {"type": "NFC"},
    "model": {"vocab": {f"word{number}": number for number in range(30_000)}},
}


class Folders:
    """A target's folder and a drafter's."""

    def __init__(self, root: Path) -> None:
        self.model, self.drafter = root / "the model", root / "drafter"
        self.model.mkdir()
        self.drafter.mkdir()
        (self.model / "config.json").write_text('{"text_config": {"hidden_size": 5120}}')
        (self.drafter / "config.json").write_text('{"block_size": 16, "name": "ü"}')

    def weights(self, name: str = "model.safetensors", *, layers: int = 5, cut: int = 0) -> None:
        """A sparse file with a real header: no bytes of weights are written."""
        data, size = encode(shapes(layers=layers))
        with (self.drafter / name).open("wb") as file:
            file.write(data)
            file.truncate(size - cut)

    def answer(self, *, drafter: bool = True) -> str:
        asked = question(str(self.model), str(self.drafter) if drafter else None)
        ran = subprocess.run(["dash", "-c", asked], capture_output=True, text=True, check=True)
        assert ran.stderr == ""
        return ran.stdout

    def ask(self, *, drafter: bool = True) -> DrafterFacts:
        return parse(self.answer(drafter=drafter))


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


def test_configs_and_header_are_read(folders: Folders) -> None:
    folders.weights()
    facts = folders.ask()
    assert facts.target_config == {"text_config": {"hidden_size": 5120}}
    assert facts.drafter_config == {"block_size": 16, "name": "ü"}
    assert facts.header is not None
    assert facts.header.problems == ()
    assert facts.header.shape("fc.weight") == (5120, 25600)
    assert facts.files["model.safetensors"] > 3_000_000_000
    assert facts.unread == ()


def test_weights_are_not_read_beyond_their_header(folders: Folders) -> None:
    folders.weights()
    assert len(folders.answer()) < 20_000


def test_download_that_was_cut_is_seen(folders: Folders) -> None:
    folders.weights(cut=1)
    header = folders.ask().header
    assert header is not None
    assert "did not end" in header.problems[0]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n", "Git LFS pointer"),
        (b"\xff" * 4096, "its header would be 18446744073709551615 bytes long"),
        ((LIMIT_BYTES + 1).to_bytes(8, "little") + b" " * 5000, "its header would be 4194305 bytes"),
        (b"", "is cut: 0 bytes"),
        (b"abc", "is cut: 3 bytes"),
    ],
)
def test_what_is_no_weights_file_is_told_without_reading_it(folders: Folders, content: bytes, says: str) -> None:
    (folders.drafter / "model.safetensors").write_bytes(content)
    header = folders.ask().header
    assert header is not None
    assert says in header.problems[0]
    assert len(folders.answer()) < 1500


def test_shards_that_the_index_names_are_one_model(folders: Folders) -> None:
    folders.weights("a.safetensors", layers=1)
    folders.weights("stray.safetensors", layers=2)
    index = {"weight_map": {"fc.weight": "a.safetensors", "x": "b.safetensors"}}
    (folders.drafter / "model.safetensors.index.json").write_text(json.dumps(index))
    header = folders.ask().header
    assert header is not None
    assert header.problems == ("b.safetensors is missing: the index names it",)
    assert len(header.tensors) == 14


@pytest.mark.parametrize("indent", [None, 2])
def test_added_tokens_are_read_from_the_beginning_of_the_tokenizer(folders: Folders, indent: int | None) -> None:
    (folders.model / "tokenizer.json").write_text(json.dumps(TOKENIZER, indent=indent))
    assert folders.ask().added_tokens == {248044: "<|endoftext|>", 248046: "<|im_end|>"}
    assert len(folders.answer()) < 400_000


def test_added_tokens_are_read_from_the_tokenizers_config(folders: Folders) -> None:
    decoder = {"151643": {"content": "<|endoftext|>"}, "x": {"content": "y"}, "7": "broken"}
    (folders.model / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": decoder}))
    assert folders.ask().added_tokens == {151643: "<|endoftext|>"}


def test_folder_that_is_not_there_is_no_drafter(folders: Folders, tmp_path: Path) -> None:
    facts = parse(
        subprocess.run(
            ["dash", "-c", question(str(folders.model), str(tmp_path / "gone"))],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    assert (facts.drafter_config, facts.header, facts.files) == (None, None, {})


def test_method_without_a_folder_asks_for_the_target_only(folders: Folders) -> None:
    folders.weights()
    facts = folders.ask(drafter=False)
    assert facts.target_config is not None
    assert (facts.drafter_config, facts.header, facts.files) == (None, None, {})


def test_broken_config_is_unread_not_absent(folders: Folders) -> None:
    (folders.drafter / "config.json").write_text('{"block_size": 16,')
    facts = folders.ask()
    assert facts.drafter_config is None
    assert facts.unread == ("drafter/config.json is no JSON object",)


pieces = st.sampled_from(
    ["file ", "header ", "size ", "target/config.json ", "drafter/index ", "a.safetensors", "12 ", "\n"]
)
packed = st.binary(max_size=40).map(lambda data: base64.b64encode(data).decode() + " ")
documents = st.sampled_from(
    ['{"weight_map": {"a": 1}}', '{"weight_map": []}', '{"added_tokens_decoder": [1]}', '"added_tokens": [1, {}]']
)


@given(
    st.text()
    | st.lists(pieces | packed | documents.map(lambda text: base64.b64encode(text.encode()).decode())).map("".join)
)
def test_any_answer_is_read(answer: str) -> None:
    """Property: no answer raises, and sizes are never negative."""
    assert all(size >= 0 for size in parse(answer).files.values())
