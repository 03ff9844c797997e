"""`invoke inventory.*`: what is wanted, before anybody is asked for it."""

from invoke import Collection, Context, Exit

from playbooks.verbs.verb import COMMON, verb


@verb(name="show", iterable=["host"], help=COMMON)
def inventory_show(_: Context, host: list[str], inventory: str | None = None, json: bool = False) -> None:
    """Print what the inventory comes to for a host, and the file and line of every value. Secrets stay references.

    Example: invoke inventory.show --host ct129
    """
    from playbooks import inventory as playbook

    if code := playbook.show(host, inventory, as_json=json):
        raise Exit(code=code)


@verb(name="schema")
def inventory_schema(_: Context) -> None:
    """Print the JSON Schema of the inventory file, for editors.

    Example: invoke inventory.schema > inventory/schema.json
    """
    from playbooks import inventory as playbook

    playbook.schema()


@verb(name="check", help={"inventory": COMMON["inventory"], "json": COMMON["json"]})
def inventory_check(_: Context, inventory: str | None = None, json: bool = False) -> None:
    """Read the inventory and list everything that is wrong with it.

    Example: invoke inventory.check
    """
    from playbooks import inventory as playbook

    if code := playbook.check(inventory, as_json=json):
        raise Exit(code=code)


verbs = Collection("inventory", inventory_show, inventory_schema, inventory_check)
