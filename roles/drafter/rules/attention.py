"""Rules about sliding and full layers, the window, and the gates that make an engine forget it."""

from collections.abc import Iterator

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.rules.rule import error, rule, warning
from roles.drafter.values import boolean, integer

_KINDS = {"full_attention", "sliding_attention"}
_NEWER = "engine.source: release:0.33.0"


@rule("layer-types")
def length_and_words(evidence: Evidence) -> Iterator[Finding]:
    """layer_types names one of two kinds for each layer."""
    types, layers = evidence.view.layer_types, evidence.view.layers
    if types is None:
        return
    if layers is not None and len(types) != layers:
        yield error(
            "layer_types",
            f"{len(types)} are listed for {layers} layers: the engine does not start",
            "one entry for each of num_hidden_layers",
            evidence.settled("layer_types"),
        )
    if strange := sorted(set(types) - _KINDS):
        yield error(
            "layer_types",
            f"{strange[0][:40]!r} is no kind of layer",
            "full_attention or sliding_attention",
            evidence.settled("layer_types"),
        )


@rule("window-gate")
def forgotten_window(evidence: Evidence) -> Iterator[Finding]:
    """A window counts only with use_sliding_window: true; transformers drops it otherwise."""
    view = evidence.view
    if not view.slides or integer(view.nested, "swa_window_size"):
        return
    if view.window is None or view.window <= 0:
        yield error(
            "sliding_window",
            "layers slide and no window is given: the engine does not start, or runs them as full ones",
            "sliding_window and use_sliding_window: true, from the published config",
            evidence.settled("sliding_window"),
        )
    elif _gated(evidence) and boolean(view.body, "use_sliding_window") is not True:
        yield error(
            "use_sliding_window",
            f"it is not true, so the window of {view.window} is dropped: sliding layers run as full, or are refused",
            "drafter.config: {use_sliding_window: true}",
            True,
        )


@rule("window-unused")
def window_without_layers(evidence: Evidence) -> Iterator[Finding]:
    """A window that no layer uses is a sign that layer_types were lost."""
    view = evidence.view
    if not view.slides and view.attention and view.window and boolean(view.body, "use_sliding_window"):
        given = "layer_types has no sliding layer" if view.layer_types else "there are no layer_types"
        yield warning(
            "layer_types",
            f"a window of {view.window} is given and {given}: all layers run as full ones",
            "take layer_types from the published config of the same revision",
            evidence.settled("layer_types"),
        )


@rule("window-small")
def window_below_the_block(evidence: Evidence) -> Iterator[Finding]:
    """A window is wider than the block that is drafted."""
    view = evidence.view
    if view.slides and view.window and view.block and 0 < view.window < view.block:
        yield warning(
            view.window_field,
            f"a window of {view.window} is narrower than the block of {view.block}",
            "compare with the published config",
            evidence.settled("sliding_window"),
        )


@rule("engine-ignores-layer-types", engines="0.20-0.24")
def ignored(evidence: Evidence) -> Iterator[Finding]:
    """Engines before 0.25 run sliding layers as full ones and say nothing."""
    if evidence.view.slides and evidence.engine.layer_types == "ignored" and evidence.engine.dflash is not False:
        yield error(
            "layer_types",
            f"engine {evidence.engine.version} ignores them and runs all layers as full ones: acceptance halves "
            "from position 0 on",
            f"{_NEWER}   (0.26.0 and later run them as trained)",
        )


@rule("engine-refuses-mixed", engines="0.25")
def refused(evidence: Evidence) -> Iterator[Finding]:
    """Engine 0.25 does not start with sliding and full layers side by side."""
    if evidence.view.mixed and evidence.engine.layer_types == "uniform":
        yield error(
            "layer_types",
            f"engine {evidence.engine.version} refuses sliding and full layers side by side",
            f"{_NEWER}   (0.26.0 and later run them as trained)",
        )


@rule("engine-runner", engines="0.26 and later")
def old_runner(evidence: Evidence) -> Iterator[Finding]:
    """Mixed layers need the V2 model runner."""
    off = evidence.server is not None and evidence.server.env.get("VLLM_USE_V2_MODEL_RUNNER") == "0"
    if evidence.view.mixed and evidence.engine.needs_v2 and off:
        yield error(
            "server.env.VLLM_USE_V2_MODEL_RUNNER",
            "it is 0, and sliding and full layers side by side run on the V2 model runner only",
            "leave it out: the engine chooses the right runner",
            "1",
        )


@rule("engine-cpu", engines="CPU builds")
def on_a_cpu(evidence: Evidence) -> Iterator[Finding]:
    """On CPUs DFlash runs since 0.25, and mixed layers nowhere: they need Triton."""
    engine = evidence.engine
    if not engine.cpu or engine.dflash is False:
        return
    if engine.layer_types == "ignored":
        yield error(
            "drafter.method",
            f"engine {engine.version} runs no DFlash on a CPU",
            "engine.source: release:0.32.0   (0.25.0 and later do)",
        )
    elif evidence.view.mixed:
        yield error(
            "layer_types",
            f"engine {engine.version} is a CPU build without Triton: it refuses sliding and full layers side by side",
            "a drafter whose layers are all alike, or a GPU",
        )


@rule("engine-evicts-context", engines="0.26")
def evicted(evidence: Evidence) -> Iterator[Finding]:
    """Engine 0.26.0 is reported to lose the context of a drafter's sliding layers."""
    if evidence.view.mixed and evidence.engine.slides_evicted:
        yield warning(
            "layer_types",
            f"engine {evidence.engine.version} is reported to evict the context of sliding drafter layers "
            "(vllm-project/vllm#50169: 2 % acceptance instead of 33 %)",
            _NEWER,
        )


def _gated(evidence: Evidence) -> bool:
    """Whether the config's class drops a window without use_sliding_window: Qwen's do."""
    model_type = evidence.view.body.get("model_type")
    return model_type is None or (isinstance(model_type, str) and model_type.startswith("qwen"))


RULES = (
    length_and_words,
    forgotten_window,
    window_without_layers,
    window_below_the_block,
    ignored,
    refused,
    old_runner,
    on_a_cpu,
    evicted,
)
