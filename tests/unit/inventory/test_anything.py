"""Whatever is written in a file, the answer is an inventory or an InventoryError."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, TypeAdapter, ValidationError

from inventory.complaints import keys_below
from inventory.errors import InventoryError
from inventory.load import Inventory, load
from inventory.models import Host, Node
from inventory.names import AbsolutePath, HostName, is_host_name
from tests.unit.inventory.conftest import PATIENT, SMALL

WORDS = sorted({name for model in (Host, Node) for path in keys_below(model) for name in path})
KEYS = st.sampled_from([*WORDS, "hosts", "ct129", "pve1", "<<", "HF_TOKEN"]) | st.text(max_size=4)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["pve1", "ct129", "env:T", "release:0.33.0", "10.0.0.1/24", "/m", "dhcp", "hf_aB1cdefgh"])
)
TREES: st.SearchStrategy[JsonValue] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
PIECES = st.lists(
    st.sampled_from(
        [*"{}[]:,-?&*!|>'\"%@`#~ \n\t", "a", "hosts", "<<", ": ", "\n  ", "- ", "!!int ", "&a ", "*a", "---\n"]
    )
    | st.characters(),
    max_size=40,
).map("".join)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("anything") / "hosts.yml"


def answer(file: Path, content: bytes) -> Inventory | InventoryError:
    file.write_bytes(content)
    try:
        return load(file)
    except InventoryError as error:
        str(error).encode()  # whatever was met, the message can be printed
        return error


@PATIENT
@given(st.binary(max_size=60))
def test_any_bytes_are_answered(file: Path, content: bytes) -> None:
    answer(file, content)


@PATIENT
@given(PIECES)
def test_any_text_is_answered(file: Path, text: str) -> None:
    answer(file, text.encode("utf-8", "surrogatepass"))


@PATIENT
@given(st.dictionaries(st.sampled_from(["defaults", "groups", "nodes", "hosts", "version", "x"]), TREES))
def test_any_tree_is_answered(file: Path, tree: JsonValue) -> None:
    answer(file, yaml.safe_dump(tree, allow_unicode=True).encode("utf-8", "surrogatepass"))


@PATIENT
@given(st.sampled_from([path for path in keys_below(Host) if len(path) > 1]), TREES)
def test_any_value_in_any_place_of_a_host_is_answered(file: Path, path: tuple[str, ...], value: JsonValue) -> None:
    tree = yaml.safe_load(SMALL)
    at = tree["hosts"]["ct129"]
    for part in path[:-1]:
        at = at.setdefault(part, {})
    at[path[-1]] = value
    answer(file, yaml.safe_dump(tree, allow_unicode=True).encode("utf-8", "surrogatepass"))


@PATIENT
@given(st.text() | st.from_regex(r"[A-Za-z0-9.\-]{0,70}", fullmatch=True))
def test_a_host_name_is_one_label_or_is_refused(text: str) -> None:
    """Whatever passes may stand in a path, a unit and a DNS name as it is."""
    try:
        name = TypeAdapter(HostName).validate_python(text)
    except ValidationError:
        assert not is_host_name(text)
        return
    assert is_host_name(text)
    assert name == text
    assert 0 < len(name) <= 63
    assert name.replace("-", "a").isascii()
    assert name.replace("-", "a").isalnum()
    assert name[0] != "-" != name[-1]


@PATIENT
@given(st.text() | st.text(alphabet="/.a-_ ,=%'\"\\\n~").map(lambda text: f"/{text}"))
def test_a_path_is_plain_and_absolute_or_is_refused(text: str) -> None:
    """Whatever passes needs no quoting in a unit, a mount option or a property string, and leads where it says."""
    try:
        path = TypeAdapter(AbsolutePath).validate_python(text)
    except ValidationError:
        return
    assert path == text
    assert path.startswith("/")
    assert not set(path) - set("/_@+.-") - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    assert path == "/" or not {"", ".", ".."} & set(path[1:].split("/"))
