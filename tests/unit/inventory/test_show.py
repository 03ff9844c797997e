"""A resolved host, shown: complete, with its sources, readable back, without secrets."""

import json
from collections.abc import Callable

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from inventory.load import Inventory, load, with_changes
from inventory.show import as_json, as_yaml
from tests.unit.inventory.conftest import CHECKOUT, PATIENT, SMALL

JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
    | st.sampled_from(
        ["yes", "null", "1e5", "1e-5", "0x1f", "0o17", "010", "12:30", "2026-11-29", "a: b", "- a", "#", "~"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=9), inner, max_size=3)
    ),
    max_leaves=10,
)


@pytest.fixture(scope="module")
def read_once(tmp_path_factory: pytest.TempPathFactory) -> Inventory:
    path = tmp_path_factory.mktemp("show") / "hosts.yml"
    path.write_text(SMALL)
    return load(path)


@settings(PATIENT, max_examples=60)
@given(JSON)
def test_what_is_shown_reads_back_as_the_same_host(read_once: Inventory, value: JsonValue) -> None:
    """Any JSON in the drafter's config survives being shown as YAML and read again."""
    host = with_changes(read_once.hosts["ct129"], {"drafter.config": {"x": value}})
    nodes = yaml.safe_dump({"nodes": yaml.safe_load(SMALL)["nodes"]})
    shown = "".join(f"    {line}\n" for line in as_yaml(host).splitlines())
    again = read_once.path.with_name("again.yml")
    again.write_text(f"{nodes}hosts:\n  ct129:\n{shown}")
    assert load(again).hosts["ct129"].host == host.host


def test_every_value_has_its_place_behind_it(small: Inventory) -> None:
    mounts: JsonValue = [{"source": "/a", "target": "/b"}]
    host = with_changes(small.hosts["ct129"], {"server.port": 8001, "container.mounts": mounts})
    lines = [" ".join(line.split()) for line in as_yaml(host).splitlines()]
    wanted = [
        f"ctid: 129 # {small.path}:11 (hosts.ct129)",
        f"host: 10.0.0.129 # {small.path}:11 (derived)",
        "cores: 8 # default",
        "port: 8001 # flag",
        "mounts: # flag",
        "- {source: /a, target: /b, read_only: true}",
        "mode: '0666' # default",
    ]
    assert [line for line in wanted if line not in lines] == []


def test_a_text_of_several_lines_stays_on_one(small: Inventory) -> None:
    host = with_changes(small.hosts["ct129"], {"drafter.config.x": "a\nb", "drafter.revision": "yes"})
    lines = [line.split("#")[0].strip() for line in as_yaml(host).splitlines()]
    assert r'''x: "a\nb"''' in lines
    assert "revision: 'yes'" in lines


def test_secrets_are_shown_as_references(
    load_text: Callable[[str], Inventory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "hunter2")
    host = load_text(SMALL + "    server: {secrets: {VLLM_API_KEY: env:VLLM_API_KEY}}\n").hosts["ct130"]
    for shown in (as_yaml(host), json.dumps(as_json(host))):
        assert "env:VLLM_API_KEY" in shown
        assert "hunter2" not in shown


def test_json_has_the_host_and_the_places(small: Inventory) -> None:
    shown = as_json(small.hosts["ct129"])
    assert (shown["name"], shown["node"]) == ("ct129", "pve1")
    assert json.loads(json.dumps(shown["host"]))["container"]["net"]["ip"] == "10.0.0.129/24"
    assert isinstance(shown["origins"], dict)
    assert shown["origins"]["container.ctid"] == {
        "file": str(small.path),
        "line": 11,
        "layer": "hosts.ct129",
    }


def test_the_example_reads_back_too() -> None:
    example = load(CHECKOUT / "inventory" / "example.yml")
    for name, resolved in example.hosts.items():
        shown = yaml.safe_load(as_yaml(resolved))
        assert shown == resolved.host.model_dump(mode="json"), name
