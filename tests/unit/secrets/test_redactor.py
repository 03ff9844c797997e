"""No secret survives in a text, in any of the forms that programs print it in."""

import base64
import json
import shlex
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import CommandError, InventoryError, Problem, SpecrailError, UsageError
from inventory.secrets import MASK, Redactor, Secret

SECRETS = st.text(st.characters(exclude_categories=["Cs"]), min_size=6, max_size=60)

FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda value: value,
    "repr": lambda value: repr(value)[1:-1],
    "json": lambda value: json.dumps(value)[1:-1],
    "json, not ascii": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "json, slashes": lambda value: json.dumps(value)[1:-1].replace("/", "\\/"),
    "shell": shlex.quote,
    "shell, backslash": lambda value: "'" + value.replace("'", "'\\''") + "'",
    "percent": lambda value: quote(value, safe=""),
    "percent, path": quote,
    "percent, lower": lambda value: _lower(quote(value, safe="")),
    "percent, encodeURIComponent": lambda value: quote(value, safe="!'()*"),
    "form": quote_plus,
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64, unpadded": lambda value: base64.b64encode(value.encode()).decode().rstrip("="),
    "base64, url": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
}


def _lower(text: str) -> str:
    head, *escapes = text.split("%")
    return head + "".join("%" + escape[:2].lower() + escape[2:] for escape in escapes)


def redactor(*values: str) -> Redactor:
    redact = Redactor()
    for value in values:
        redact.add(value)
    return redact


@pytest.mark.parametrize("form", FORMS)
@given(value=SECRETS, before=st.text(), after=st.text())
def test_a_planted_secret_does_not_survive(form: str, value: str, before: str, after: str) -> None:
    """For any secret of at least 6 characters, in each form, between any texts."""
    shown = FORMS[form](value)
    assert shown not in redactor(value)(before + shown + after)


@given(user=st.text(st.characters(max_codepoint=255)), value=SECRETS)
def test_a_secret_in_a_basic_authorization_header_does_not_survive(user: str, value: str) -> None:
    """Whatever stands before it: the middle of its base64, which no neighbour changes, is gone."""
    data = f"{user}:{value}".encode()
    header = base64.b64encode(data).decode()
    start = -(-len(f"{user}:".encode()) * 8 // 6)
    assert header[start : len(data) * 8 // 6] not in redactor(value)(header)


@given(st.lists(SECRETS, min_size=1, max_size=4), st.data())
def test_of_several_secrets_none_survives(values: list[str], data: st.DataObject) -> None:
    """Also where one is part of another, or stands right beside it."""
    text = "".join(data.draw(st.lists(st.sampled_from([*values, "x", " "]), max_size=12)))
    shown = redactor(*values)(text)
    assert not [value for value in values if value in shown]


@given(st.text())
def test_a_text_without_secrets_stays_as_it_is(text: str) -> None:
    """The secret has letters that `text` is not likely to have in that order; nothing else is touched."""
    assert redactor("\0secret\0")(text) == text


def test_the_longest_is_replaced_first() -> None:
    assert redactor("abcdef", "abcdefghij")("x abcdefghij y abcdef z") == f"x {MASK} y {MASK} z"


def test_the_lines_of_a_private_key_are_hidden_one_by_one() -> None:
    key = "-----BEGIN KEY-----\nAAAAB3NzaC1\nc2VjcmV0\n-----END KEY-----\n"
    redact = redactor(key)
    assert [redact(line) for line in ["a AAAAB3NzaC1", "c2VjcmV0 b"]] == [f"a {MASK}", f"{MASK} b"]


@pytest.mark.parametrize("value", ["", "abcde"])
def test_a_value_too_short_to_be_hidden_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(UsageError) as caught:
        Redactor().add(value)
    assert not value or value not in str(caught.value)


def test_secrets_can_be_added_as_they_were_resolved() -> None:
    redact = Redactor()
    redact.add(Secret("canary-0123"))
    assert redact("a canary-0123") == f"a {MASK}"


def test_longest_bounds_what_may_be_left_of_a_secret_at_a_cut() -> None:
    assert Redactor().longest == 0
    assert redactor("canary-0123").longest >= len(json.dumps("canary-0123")) - 2


def test_every_text_of_an_error_is_cleaned() -> None:
    secret = "canary-0123"
    error = CommandError(
        f"what {secret}", exit_status=1, where=[f"where {secret}"], why=[f"why {secret}"], tries=[secret], log=secret
    )
    cleaned = redactor(secret).error(error)
    assert cleaned is error
    for text in (str(cleaned), repr(cleaned), json.dumps(cleaned.as_json()), str(cleaned.args)):
        assert "canary" not in text
    assert cleaned.exit_status == 1


def test_the_problems_of_an_inventory_are_cleaned() -> None:
    problem = Problem("hosts.yml", 3, "hosts.ct129.token", "canary-0123 is no reference", "canary-0123?")
    cleaned = redactor("canary-0123").error(InventoryError([problem]))
    assert "canary" not in str(cleaned) + repr(cleaned.problems)
    assert cleaned.problems[0].line == 3


def test_an_error_without_a_log_stays_without() -> None:
    assert redactor("canary-0123").error(SpecrailError("fine")).log is None
