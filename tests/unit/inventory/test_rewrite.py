"""Writing a number of speculative tokens into an inventory that a person keeps."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from inventory.errors import UsageError
from inventory.load import load
from inventory.rewrite import write_tokens

HEAD = """\
# ours
version: 1
nodes:
  pve1: {api: {host: pve1.example.net, token: {id: "a@pve!b", secret: "env:TOKEN"}, fingerprint: "AB_PRINT"}, ssh: {host: pve1.example.net}}

defaults:   # all
  node: pve1
  container: {template: "local:vztmpl/u.tar.zst", storage: local-lvm, net: {bridge: vmbr0}}
  engine: {source: "release:0.33.0"}
  model: {path: /m, served_name: m}
""".replace("AB_PRINT", ":".join(["AB"] * 32))

OWN = """
hosts:
  # the first
  ct129:
    container: {ctid: 129, net: {ip: 10.0.0.1/24}}
    drafter:          # published last week
      method: dflash
      path: /d

      tokens: 15   # block_size - 1
    server: {port: 8001}

  ct130: {container: {ctid: 130, net: {ip: 10.0.0.2/24}}}
"""

SHARED = """  drafter: {method: ngram, tokens: 3}  # everybody
hosts:
  ct129:
    # comment
    container: {ctid: 129, net: {ip: 10.0.0.1/24}}
  ct130: {container: {ctid: 130, net: {ip: 10.0.0.2/24}}}
"""


def _write(folder: Path, text: str) -> Path:
    path = folder / "hosts.yml"
    path.write_text(HEAD + text)
    return path


def _tokens(path: Path, host: str) -> int | None:
    drafter = load(path).hosts[host].host.drafter
    return drafter.tokens if drafter else None


def test_only_the_number_changes(tmp_path: Path) -> None:
    path = _write(tmp_path, OWN)
    write_tokens(path, "ct129", 5)
    assert path.read_text() == (HEAD + OWN).replace("tokens: 15   #", "tokens: 5   #")


def test_what_is_said_already_is_not_written(tmp_path: Path) -> None:
    path = _write(tmp_path, OWN)
    assert write_tokens(path, "ct129", 15) is None
    assert path.read_text() == HEAD + OWN


def test_a_shared_number_stays_and_the_host_gets_its_own(tmp_path: Path) -> None:
    path = _write(tmp_path, SHARED)
    assert write_tokens(path, "ct129", 5) is not None
    assert (_tokens(path, "ct129"), _tokens(path, "ct130")) == (5, 3)
    assert path.read_text() == (HEAD + SHARED).replace("  ct129:\n", "  ct129:\n    drafter: {tokens: 5}\n")


@pytest.mark.parametrize("text", [OWN, SHARED])
def test_off_takes_the_drafter_away_and_keeps_its_words(text: str, tmp_path: Path) -> None:
    path = _write(tmp_path, text)
    write_tokens(path, "ct129", 0)
    assert _tokens(path, "ct129") is None
    assert "drafter: null" in path.read_text()
    if text is OWN:
        assert "    #   tokens: 15   # block_size - 1\n" in path.read_text()


def test_a_file_that_would_not_read_the_same_is_left_alone(tmp_path: Path) -> None:
    path = _write(tmp_path, SHARED)
    with pytest.raises(UsageError, match="not written in a way"):
        write_tokens(path, "ct130", 5)
    assert path.read_text() == HEAD + SHARED
    assert list(tmp_path.iterdir()) == [path]


KEY = "num_speculative_tokens_per_batch_size"
TABLE: JsonValue = [[1, 4, 15], [5, 32, 5]]

OPTIONS = OWN.replace(
    "      method: dflash\n",
    "      method: dflash\n      options:   # tried\n        draft_sample_method: greedy  # as before\n",
)
FLOW = OWN.replace("      method: dflash\n", "      method: dflash\n      options: {draft_sample_method: greedy}\n")
ONE_LINE = SHARED.replace("    # comment\n", "    drafter: {method: ngram, tokens: 4}  # mine\n")


def _options(path: Path, host: str) -> dict[str, object]:
    drafter = load(path).hosts[host].host.drafter
    options = drafter.options if drafter else {}
    return {key: value for key, value in options.items() if value is not None}  # null leaves one out


@pytest.mark.parametrize("text", [OWN, SHARED, OPTIONS, FLOW, ONE_LINE])
def test_a_table_by_batch_size_is_written_changed_and_taken_away(text: str, tmp_path: Path) -> None:
    path = _write(tmp_path, text)
    others = _options(path, "ct129")
    assert write_tokens(path, "ct129", 15, (KEY, TABLE)) is not None
    assert (_tokens(path, "ct129"), _options(path, "ct129")) == (15, {**others, KEY: TABLE})
    assert write_tokens(path, "ct129", 15, (KEY, TABLE)) is None
    assert write_tokens(path, "ct129", 8, (KEY, [[1, 9, 8]])) is not None
    assert (_tokens(path, "ct129"), _options(path, "ct129")) == (8, {**others, KEY: [[1, 9, 8]]})
    assert write_tokens(path, "ct129", 5, (KEY, None)) is not None
    assert (_tokens(path, "ct129"), _options(path, "ct129")) == (5, others)
    kept = {
        line
        for line in text.splitlines()
        if "tokens" not in line and "options" not in line and "drafter: {" not in line
    }
    assert kept <= set(path.read_text().splitlines())


def test_a_shared_table_is_taken_away_from_one_host_alone(tmp_path: Path) -> None:
    path = _write(tmp_path, SHARED.replace("tokens: 3}", f"tokens: 3, options: {{{KEY}: [[1, 8, 3]]}}}}"))
    write_tokens(path, "ct129", 2, (KEY, None))
    assert (_tokens(path, "ct129"), _options(path, "ct129")) == (2, {})
    assert (_tokens(path, "ct130"), _options(path, "ct130")) == (3, {KEY: [[1, 8, 3]]})
