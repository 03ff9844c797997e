"""What lies in the folders of a target and its drafter: configs, the tokenizer's added tokens, the weights' header."""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from inventory.shell import command
from roles.drafter import header as safetensors
from roles.drafter.header import LIMIT_BYTES, Header

WHOLE_BYTES = 1_048_576
"""Longest config that is read."""

TOKENIZER_BYTES = 262_144
"""How much of a tokenizer.json is read: its added tokens stand first."""

SHARDS = 16
"""How many files of weights have their header read."""

FILES = {
    "target/config.json": ("model", "config.json"),
    "target/generation_config.json": ("model", "generation_config.json"),
    "target/tokenizer_config.json": ("model", "tokenizer_config.json"),
    "drafter/config.json": ("drafter", "config.json"),
    "drafter/index": ("drafter", "model.safetensors.index.json"),
}
"""Name in the answer -> which folder, which file; read whole up to WHOLE_BYTES."""


@dataclass(frozen=True)
class DrafterFacts:
    """One reading of both folders. None: there is no such file.

    added_tokens: id -> text, of the target's tokenizer
    header:       of all safetensors files of the drafter together; None when there is none
    files:        sizes in bytes of the drafter's files
    unread:       what was there and not understood, by name
    """

    target_config: Mapping[str, object] | None = None
    target_generation: Mapping[str, object] | None = None
    drafter_config: Mapping[str, object] | None = None
    added_tokens: Mapping[int, str] | None = None
    header: Header | None = None
    files: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()


def question(model_path: str, drafter_path: str | None) -> str:
    """What to ask. Weights are never read beyond their header, and no header beyond LIMIT_BYTES."""
    asks = "\n".join(
        f'whole {name} "${folder}/{file}"'
        for name, (folder, file) in FILES.items()
        if folder == "model" or drafter_path
    )
    weights = "" if drafter_path is None else _WEIGHTS
    return f"""model={command(model_path)}
drafter={command(drafter_path or "")}
packed() {{ base64 | tr -d '\\n'; }}
whole() {{ # NAME FILE
  [ -f "$2" ] && printf 'file %s %s\\n' "$1" "$(head -c {WHOLE_BYTES} "$2" | packed)"
}}
{asks}
# The added tokens stand before the vocabulary, which is long.
tokenizer=$model/tokenizer.json
[ -f "$tokenizer" ] && printf 'file target/tokenizer.json %s\\n' \\
  "$(head -c {TOKENIZER_BYTES} "$tokenizer" | sed '/^  "normalizer"/q' | packed)"
{weights}:
"""


# An absurd length is no header: then a few bytes tell what the file is instead.
_WEIGHTS = f"""for file in "$drafter"/*; do
  [ -f "$file" ] && printf 'size %s %s\\n' "$(wc -c <"$file" | tr -d ' ')" "${{file##*/}}"
done
shards=0
for file in "$drafter"/*.safetensors; do
  [ -f "$file" ] && [ "$shards" -lt {SHARDS} ] || continue
  shards=$((shards + 1))
  length=$(head -c 8 "$file" | od -An -tu8 | tr -d ' ')
  take=256
  [ "${{#length}}" -le 8 ] && [ "${{length:-0}}" -le {LIMIT_BYTES} ] && take=$((8 + ${{length:-0}}))
  printf 'header %s %s\\n' "$(head -c "$take" "$file" | packed)" "${{file##*/}}"
done
"""


def parse(answer: str) -> DrafterFacts:
    """Read the answer to `question`. Any text is read; what is not understood is in `unread`."""
    texts: dict[str, str] = {}
    sizes: dict[str, int] = {}
    heads: dict[str, bytes] = {}
    unread: list[str] = []
    for line in answer.splitlines():
        word, _, rest = line.partition(" ")
        first, _, second = rest.partition(" ")
        if word == "file" and (content := _unpacked(second)) is not None:
            texts[first] = content.decode("utf-8", "replace")
        elif word == "size" and re.fullmatch(r"[0-9]{1,18}", first):
            sizes[second] = int(first)
        elif word == "header" and (content := _unpacked(first)) is not None:
            heads[second] = content
        elif line.strip():
            unread.append(line[:80])
    configs = {name: _object(name, texts, unread) for name in FILES}
    return DrafterFacts(
        target_config=configs["target/config.json"],
        target_generation=configs["target/generation_config.json"],
        drafter_config=configs["drafter/config.json"],
        added_tokens=_added_tokens(configs["target/tokenizer_config.json"], texts.get("target/tokenizer.json")),
        header=_header(heads, sizes, configs["drafter/index"]),
        files=sizes,
        unread=tuple(unread),
    )


def _unpacked(encoded: str) -> bytes | None:
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None


def _object(name: str, texts: Mapping[str, str], unread: list[str]) -> dict[str, object] | None:
    if name not in texts:
        return None
    try:
        found = json.loads(texts[name])
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        unread.append(f"{name} is no JSON object")
        return None
    return found


def _added_tokens(config: Mapping[str, object] | None, tokenizer: str | None) -> dict[int, str] | None:
    """From tokenizer_config.json (added_tokens_decoder) or the beginning of tokenizer.json (added_tokens)."""
    decoder = (config or {}).get("added_tokens_decoder")
    tokens: dict[int, str] = {}
    if isinstance(decoder, dict) and decoder:
        for key, entry in decoder.items():
            if re.fullmatch(r"[0-9]{1,9}", key):
                _add(tokens, int(key), entry)
    else:
        for entry in _list_after('"added_tokens"', tokenizer or ""):
            _add(tokens, entry.get("id") if isinstance(entry, dict) else None, entry)
    return tokens or None


def _add(tokens: dict[int, str], token: object, entry: object) -> None:
    content = entry.get("content") if isinstance(entry, dict) else None
    if isinstance(token, int) and isinstance(content, str):
        tokens[token] = content


def _list_after(key: str, text: str) -> list[object]:
    """The JSON list that is the value of `key` in a text that may be cut; [] when it is not whole."""
    found = re.search(rf"{key}\s*:\s*(?=\[)", text)
    if not found:
        return []
    try:
        value, _ = json.JSONDecoder().raw_decode(text, found.end())
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, list) else []


def _header(heads: Mapping[str, bytes], sizes: Mapping[str, int], index: Mapping[str, object] | None) -> Header | None:
    weight_map = (index or {}).get("weight_map")
    wanted = {name for name in weight_map.values() if isinstance(name, str)} if isinstance(weight_map, dict) else set()
    missing = tuple(f"{name} is missing: the index names it" for name in sorted(wanted - sizes.keys()))
    if not heads and not missing:
        return None
    # Beside an index, only the files that it names are the model.
    parts = [
        safetensors.read(data, sizes.get(name), name) for name, data in heads.items() if name in wanted or not wanted
    ]
    return safetensors.join([*parts, Header(problems=missing)])
