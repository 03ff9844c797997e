"""The tiny models as a rung can read them: releases with transformers 4 do not know how transformers 5 writes."""

import json
import shutil
from pathlib import Path

from tests.lab.ladder.install import Rung

_FIRST_WITH_TRANSFORMERS_5 = (0, 20)


def models_for(rung: Rung, models: Path, folder: Path) -> Path:
    """A folder with the models for this rung: `models` itself, or a rewritten copy below `folder`."""
    if rung.numbers >= _FIRST_WITH_TRANSFORMERS_5:
        return models
    for model in sorted(models.glob("tiny-*")):
        copy = folder / model.name
        shutil.copytree(model, copy, dirs_exist_ok=True)
        for file, rewrite in (("tokenizer_config.json", _tokenizer), ("config.json", _config)):
            path = copy / file
            if path.exists():
                path.unlink()  # copied as it was, which may be read-only
                path.write_text(json.dumps(rewrite(json.loads((model / file).read_text())), indent=1))
    return folder


def _tokenizer(config: dict[str, object]) -> dict[str, object]:
    dropped = {"backend", "is_local", "local_files_only", "extra_special_tokens"}
    kept = {key: value for key, value in config.items() if key not in dropped}
    return {**kept, "tokenizer_class": "PreTrainedTokenizerFast"}


def _config(config: dict[str, object]) -> dict[str, object]:
    rope = config.get("rope_parameters")
    theta = {"rope_theta": rope["rope_theta"]} if isinstance(rope, dict) and "rope_theta" in rope else {}
    dtype = config.get("torch_dtype") or config.get("dtype") or "bfloat16"
    kept = {key: value for key, value in config.items() if key not in {"rope_parameters", "dtype"}}
    return {**kept, **theta, "torch_dtype": dtype}
