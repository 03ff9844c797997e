"""Proxmox's values are read as it writes them, and written back unharmed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.container import properties

WORD = st.from_regex(r"[A-Za-z0-9:/._+-]{1,12}", fullmatch=True)
KEY = st.from_regex(r"[a-z][a-z0-9]{0,7}", fullmatch=True)


@given(first=st.none() | WORD, rest=st.dictionaries(KEY, WORD, max_size=5))
def test_a_property_string_is_written_as_it_was_read(first: str | None, rest: dict[str, str]) -> None:
    """parse(dump(x)) == x, with and without a value whose name PVE leaves out."""
    values = {"default-key": first, **rest} if first is not None else rest
    assert properties.parse(properties.dump(values, "default-key"), "default-key") == values


def test_the_first_value_may_have_its_name() -> None:
    assert properties.parse("path=/dev/nvidia0,mode=0666", "path") == properties.parse("/dev/nvidia0,mode=0666", "path")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8G", 8 * 1024**3),
        ("512M", 512 * 1024**2),
        ("1.5T", 3 * 1024**4 // 2),
        ("4K", 4096),
        ("1024", 1024),
        ("0", 0),
        ("", None),
        ("8GB", None),
        ("-1G", None),
        ("8g", None),
    ],
)
def test_sizes(text: str, size: int | None) -> None:
    assert properties.size_bytes(text) == size


@given(st.text())
def test_any_text_is_a_size_or_none(text: str) -> None:
    """Never an exception: configs are written by people, too."""
    assert properties.size_bytes(text) is None or isinstance(properties.size_bytes(text), int)


@pytest.mark.parametrize(
    "text", ["Prod;specrail", "specrail prod", "prod,specrail", " prod ; specrail;", "prod;PROD;specrail"]
)
def test_tags_however_they_are_separated(text: str) -> None:
    assert properties.tags(text) == {"prod", "specrail"}


def test_no_tags() -> None:
    assert properties.tags("") == frozenset()


def test_numbered_values_are_found_by_number() -> None:
    config = {"dev10": "ten", "dev2": "two", "device": "no", "mp0": "no", "dev": "no"}
    assert list(properties.numbered(config, "dev").items()) == [(2, "two"), (10, "ten")]


@pytest.mark.parametrize(
    ("text", "on"), [("1", True), ("yes", True), ("On", True), ("0", False), ("", False), (None, False)]
)
def test_booleans(text: str | None, on: bool) -> None:
    assert properties.is_on(text) is on
