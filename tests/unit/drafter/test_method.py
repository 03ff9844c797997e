"""Which method a config asks for, and when it asks for none."""

from typing import Any

import pytest

from roles.drafter.method import declared


@pytest.mark.parametrize(
    ("config", "method"),
    [
        ({"architectures": ["DFlashDraftModel"]}, "dflash"),
        ({"dflash_config": {}}, "dflash"),
        ({"speculators_model_type": "eagle3", "architectures": ["Eagle3Speculator"]}, "eagle3"),
        ({"architectures": ["LlamaForCausalLMEagle3"]}, "eagle3"),
        ({"architectures": ["EagleLlamaForCausalLM"]}, "eagle"),
        ({"model_type": "mlp_speculator"}, "mlp_speculator"),
        ({"architectures": ["Qwen3NextMTP"]}, "mtp"),
        ({"architectures": ["Qwen3DSparkModel"]}, "dspark"),
        ({"architectures": ["LlamaForCausalLM"], "model_type": "llama"}, None),
        ({"architectures": "DFlashDraftModel", "model_type": 5}, None),
        ({}, None),
    ],
)
def test_method_is_what_the_config_says_of_itself(config: dict[str, Any], method: str | None) -> None:
    assert declared(config) == method
