"""What the engine reads of a model's folder: configs, the tokenizer's ids, and the header of the weights."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class ModelError(Exception):
    """A folder that the real engine refuses, in its words. `kind` is the exception that it would have raised."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Target:
    """The fields of the served model's config.json that matter here; multimodal configs have them below text_config."""

    architecture: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    layers: int
    kv_layers: int
    """Layers with full attention: only they keep keys and values."""
    kv_heads: int
    head_dim: int
    max_position_embeddings: int
    last_used_token: int
    """Ids above it, up to vocab_size, are rows of the embedding that no token uses."""

    @property
    def parameters(self) -> int:
        """Roughly how many weights the model has: MLP, attention and two embeddings."""
        layer = self.hidden_size * (3 * self.intermediate_size + 4 * self.hidden_size)
        return self.layers * layer + 2 * self.vocab_size * self.hidden_size

    @property
    def kv_bytes_per_token(self) -> int:
        """Size of a token's keys and values in bf16."""
        return self.kv_layers * 2 * self.kv_heads * self.head_dim * 2


@dataclass(frozen=True)
class Weights:
    """The header of a safetensors file: the tensors' shapes, and what the trainer wrote about the training."""

    shapes: dict[str, tuple[int, ...]]
    metadata: dict[str, str]
    size_bytes: int


def read_config(folder: Path) -> dict[str, Any]:
    """Read config.json. Raises ModelError where the folder or the file is missing, or the text is not JSON."""
    try:
        config = json.loads((folder / "config.json").read_text())
    except (FileNotFoundError, NotADirectoryError):
        raise ModelError(
            "ValueError",
            f"Invalid repository ID or local directory specified: '{folder}'.\n"
            "Please verify the following requirements:\n"
            "1. Provide a valid Hugging Face repository ID.\n"
            "2. Specify a local directory that contains a recognized configuration file.\n"
            "   - For Hugging Face models: ensure the presence of a 'config.json'.\n"
            "   - For Mistral models: ensure the presence of a 'params.json'.\n",
        ) from None
    except ValueError:
        raise ModelError(
            "OSError", f"It looks like the config file at '{folder}/config.json' is not a valid JSON file."
        ) from None
    return dict(config)


def read_target(folder: Path) -> Target:
    """Read the served model. Raises ModelError for a folder that holds none."""
    config = read_config(folder)
    text = config.get("text_config", config)
    try:
        return Target(
            architecture=config["architectures"][0],
            vocab_size=text["vocab_size"],
            hidden_size=text["hidden_size"],
            intermediate_size=text["intermediate_size"],
            layers=text["num_hidden_layers"],
            kv_layers=text.get("layer_types", []).count("full_attention") or text["num_hidden_layers"],
            kv_heads=text["num_key_value_heads"],
            head_dim=text["head_dim"],
            max_position_embeddings=text["max_position_embeddings"],
            last_used_token=_last_used_token(folder),
        )
    except (KeyError, IndexError, TypeError) as error:
        raise ModelError("ValueError", f"No model architectures are specified (the config lacks {error})") from None


def read_weights(folder: Path) -> Weights:
    """Read the header of model.safetensors. Raises ModelError for a missing, foreign or truncated file."""
    path = folder / "model.safetensors"
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > min(size, 100_000_000):
                raise ModelError("SafetensorError", "Error while deserializing header: header too large")
            header = json.loads(file.read(length))
    except FileNotFoundError:
        raise ModelError("RuntimeError", f"Cannot find any model weights with `{folder}`") from None
    except ValueError:
        raise ModelError("SafetensorError", "Error while deserializing header: invalid JSON in header") from None
    metadata = header.pop("__metadata__", {})
    end = max((tensor["data_offsets"][1] for tensor in header.values()), default=0)
    if size != 8 + length + end:
        raise ModelError(
            "SafetensorError", "Error while deserializing header: incomplete metadata, file not fully covered"
        )
    return Weights({name: tuple(tensor["shape"]) for name, tensor in header.items()}, metadata, size)


def _last_used_token(folder: Path) -> int:
    """Return the highest id that the tokenizer knows; without a tokenizer every id counts as unused."""
    try:
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
    except FileNotFoundError:
        return -1
    return max((token["id"] for token in tokenizer["added_tokens"]), default=-1)
