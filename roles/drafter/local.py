"""A drafter and its target in folders of this machine, read as the same folders on a host would answer."""

import base64
import codecs
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from inventory.errors import UsageError
from roles.drafter import facts
from roles.drafter.facts import FILES, SHARDS, TOKENIZER_BYTES, WHOLE_BYTES, DrafterFacts
from roles.drafter.header import LIMIT_BYTES

_HINT_BYTES = 256
"""Of a file whose header would be absurdly long: enough to tell what it is instead."""


def read(drafter: Path | None, target: Path | None = None, tokenizer: Path | None = None) -> DrafterFacts:
    """Read what a check wants to know. Of weights, only the header; of no file more than facts reads on a host.

    drafter, target: a folder, or a config.json of any name
    tokenizer:       a folder with tokenizer_config.json or tokenizer.json, where that is not the target's
    Raises UsageError for a path that is not there or may not be read.
    """
    try:
        lines = [
            *_configs("target", target),
            *_configs("drafter", drafter),
            *_tokenizer(tokenizer or target, named=tokenizer is not None),
            *_weights(drafter),
        ]
    except OSError as error:
        tries = ["invoke drafter FOLDER --target FOLDER", "invoke drafter config.json"]
        raise UsageError(f"{error.filename or drafter}: {error.strerror or error}", tries=tries) from error
    return facts.parse("".join(lines))


def is_text(path: Path) -> bool:
    """Whether a file begins as text does, JSON's for one: UTF-8 without NUL. Raises OSError."""
    with path.open("rb") as file:
        start = file.read(_HINT_BYTES)
    try:
        # The last character may be cut in two.
        return "\0" not in codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False


def with_config(have: DrafterFacts, config: Mapping[str, object]) -> DrafterFacts:
    """The same folders with another config for the drafter."""
    return replace(have, drafter_config=config)


def _configs(folder: str, path: Path | None) -> Iterator[str]:
    if path is None:
        return
    if not path.is_dir():
        yield _file(f"{folder}/config.json", path, WHOLE_BYTES)
        return
    for name, (_, file) in FILES.items():
        if name.startswith(f"{folder}/") and "tokenizer" not in name and (path / file).is_file():
            yield _file(name, path / file, WHOLE_BYTES)


def _tokenizer(path: Path | None, *, named: bool) -> Iterator[str]:
    if path is None or (not path.is_dir() and not named):
        return
    if not path.is_dir():
        settings = path.name == "tokenizer_config.json"
        yield _file(
            f"target/{'tokenizer_config' if settings else 'tokenizer'}.json",
            path,
            WHOLE_BYTES if settings else TOKENIZER_BYTES,
        )
        return
    for file, limit in (("tokenizer_config.json", WHOLE_BYTES), ("tokenizer.json", TOKENIZER_BYTES)):
        if (path / file).is_file():
            yield _file(f"target/{file}", path / file, limit)


def _weights(path: Path | None) -> Iterator[str]:
    if path is None or not path.is_dir():
        return
    files = sorted(file for file in path.iterdir() if file.is_file() and "\n" not in file.name)
    for file in files:
        yield f"size {file.stat().st_size} {file.name}\n"
    for file in [file for file in files if file.suffix == ".safetensors"][:SHARDS]:
        yield f"header {_packed(_header(file))} {file.name}\n"


def _header(path: Path) -> bytes:
    with path.open("rb") as file:
        start = file.read(8)
        length = int.from_bytes(start, "little")
        return start + file.read(length if length <= LIMIT_BYTES else _HINT_BYTES - len(start))


def _file(name: str, path: Path, limit: int) -> str:
    with path.open("rb") as file:
        return f"file {name} {_packed(file.read(limit))}\n"


def _packed(data: bytes) -> str:
    return base64.b64encode(data).decode()
