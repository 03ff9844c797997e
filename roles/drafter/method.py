"""Which method a drafter is served with, by what its config says of itself."""

from collections.abc import Mapping

from roles.drafter import values


def declared(config: Mapping[str, object]) -> str | None:
    """The method for --speculative-config; None when the config names none: then it can be a model of its own.

    An engine guesses it from the folder's name instead, so that a renamed folder is served as something else.
    """
    said = values.text(config, "speculators_model_type")
    if said is not None:
        return said
    names = " ".join(values.texts(config, "architectures") or ()).lower()
    kind = (values.text(config, "model_type") or "").lower()
    if "dflash" in names or "dflash_config" in config:
        return "dflash"
    for word, method in _WORDS:
        if word in names or word in kind:
            return method
    return None


_WORDS = (
    ("eagle3", "eagle3"),
    ("eagle", "eagle"),
    ("mlpspeculator", "mlp_speculator"),
    ("mlp_speculator", "mlp_speculator"),
    ("mtp", "mtp"),
    ("dspark", "dspark"),
)
