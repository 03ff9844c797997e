"""What --speculative-config gets: a value, turned into JSON by json and by nothing else."""

from inventory.models import Drafter


def speculative_config(drafter: Drafter, folder: str | None) -> dict[str, object]:
    """The value for one release.

    folder: where that release keeps the drafter (config.json and links to the weights); None for methods that bring no
            model of their own. The method is always said: an engine guesses it from "dflash" in the folder's path.
    """
    options = {key: value for key, value in drafter.options.items() if value is not None}
    own = {"method": drafter.method, "num_speculative_tokens": drafter.tokens}
    model = {} if folder is None else {"model": folder}
    return {**options, **model, **own}
