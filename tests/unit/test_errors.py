"""Errors as a tired person reads them."""

from inventory.errors import DrafterRefused, InventoryError, LockedError, Problem, ProxmoxError, SpecrailError


def test_an_error_says_where_what_why_and_what_to_do() -> None:
    error = SpecrailError(
        "the wheel is gone",
        where=["engine"],
        why=["It was made in April."],
        tries=["engine.source: release:0.33.0", "engine.build: source"],
        log="invoke logs --host ct129",
    )
    assert str(error.at("deploy ct129")) == (
        "deploy ct129 · engine: the wheel is gone\n"
        "  It was made in April.\n"
        "  Try:  engine.source: release:0.33.0\n"
        "   or:  engine.build: source\n"
        "  Log:  invoke logs --host ct129"
    )


def test_remedies_that_belong_together_are_not_offered_as_alternatives() -> None:
    assert "  Do:   a\n  and:  b" in str(DrafterRefused("wrong", tries=["a", "b"]))


def test_programs_get_the_same_facts() -> None:
    told = LockedError("locked by anna", where=["ct129"], tries=["invoke status --host ct129"]).as_json()
    assert (told["error"], told["exit_code"], told["where"]) == ("LockedError", 5, ["ct129"])
    assert told["tries"] == ["invoke status --host ct129"]


def test_an_inventory_error_lists_every_problem_with_its_place() -> None:
    error = InventoryError(
        [Problem("hosts.yml", 3, "hosts.x.engin", "unknown", "engine?"), Problem("hosts.yml", None, "nodes", "missing")]
    )
    assert str(error).splitlines() == [
        "2 things are wrong in the inventory",
        "  hosts.yml:3: hosts.x.engin: unknown (engine?)",
        "  hosts.yml: nodes: missing",
    ]


def test_a_failed_task_has_no_http_status() -> None:
    assert ProxmoxError("task failed").status is None
