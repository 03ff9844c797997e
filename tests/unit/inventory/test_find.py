"""Which file is the inventory."""

from pathlib import Path

import pytest

from inventory.errors import UsageError
from inventory.find import LAB, OWN, VARIABLE, Found, find


def write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("hosts: {}\n")
    return path


def test_the_first_that_is_named_or_there_is_taken(tmp_path: Path) -> None:
    lab = write(tmp_path / LAB)
    assert find(None, tmp_path, {}) == Found(lab, is_lab=True)
    own = write(tmp_path / OWN)
    assert find(None, tmp_path, {}) == Found(own, is_lab=False)
    assert find("", tmp_path, {VARIABLE: ""}) == Found(own, is_lab=False)
    by_variable, by_flag = write(tmp_path / "variable.yml"), write(tmp_path / "flag.yml")
    environ = {VARIABLE: str(by_variable)}
    assert find(None, tmp_path, environ) == Found(by_variable, is_lab=False)
    assert find(str(by_flag), tmp_path, environ) == Found(by_flag, is_lab=False)


def test_the_lab_is_known_by_whatever_way_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / LAB)
    monkeypatch.chdir(tmp_path)
    assert find(".lab/../.lab/hosts.yml", tmp_path, {}).is_lab


@pytest.mark.parametrize(("name", "said"), [("gone.yml", "which is not there"), (".", "which is not a file")])
def test_what_is_named_and_not_there_is_not_passed_over(tmp_path: Path, name: str, said: str) -> None:
    write(tmp_path / OWN)
    asked = str(tmp_path / name)
    with pytest.raises(UsageError, match=rf"^--inventory names .*{said}") as caught:
        find(asked, tmp_path, {})
    assert caught.value.tries
    with pytest.raises(UsageError, match=rf"^{VARIABLE} names .*{said}"):
        find(None, tmp_path, {VARIABLE: asked})


def test_nothing_at_all_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        find(None, tmp_path, {})
    assert [one.split("   ")[0] for one in caught.value.tries] == [
        "invoke lab.up",
        "cp inventory/example.yml inventory/hosts.yml",
    ]
