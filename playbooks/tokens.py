"""What a number of speculative tokens changes in what is wanted on a host."""

from pydantic import JsonValue

from inventory.errors import UsageError
from inventory.models import Host
from roles.drafter.batch_table import KEY


def tokens_changed(host: Host, tokens: int, *, name: str) -> dict[str, JsonValue]:
    """Inventory values for so many tokens a round whatever the batch size is; 0 is without speculation.

    Raises UsageError where there is no drafter that could draft them.
    """
    if tokens == 0:
        return {"drafter": None}
    if host.drafter is None:
        raise UsageError(
            f"the inventory gives this host no drafter, so nothing can draft {tokens} tokens",
            where=[name],
            why=["drafter: null takes away what defaults and groups say."],
            tries=[
                f"drafter: {{path: FOLDER, tokens: {tokens}}}   below hosts.{name} in the inventory",
                f"invoke inventory.show --host {name}   names the line of every value",
            ],
        )
    table: dict[str, JsonValue] = {f"drafter.options.{KEY}": None} if KEY in host.drafter.options else {}
    return {"drafter.tokens": tokens, **table}
