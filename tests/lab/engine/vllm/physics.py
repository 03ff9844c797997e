"""How long the lab's GPUs take: two cards that wait for memory, where each further token of a verify costs time.

One stream as the field report measured it: 41.0 ms a token without speculation, 41.9 + 1.87 k ms a round with it.
More streams as measured on an H200: verifying 16 tokens for many streams is slower than not speculating.
"""

_PLAIN_MS = 41.0
_ROUND_MS = 41.9
_DRAFTED_TOKEN_MS = 1.87
_FURTHER_STREAM_MS = 0.163
_FURTHER_STREAM_TOKEN_MS = 0.247
_PROMPT_TOKEN_MS = 0.6


def step_s(decoding: int, k: int, prefill: int) -> float:
    """Seconds of one engine step: a round of `decoding` running requests with k drafted tokens each, and new prompts.

    prefill: tokens of the prompts that this step also processes
    """
    alone_ms = _ROUND_MS + _DRAFTED_TOKEN_MS * k if k else _PLAIN_MS
    further = max(0, decoding - 1)
    further_ms = further * (_FURTHER_STREAM_MS + _FURTHER_STREAM_TOKEN_MS * (k + 1))
    return (alone_ms + further_ms + prefill * _PROMPT_TOKEN_MS) / 1000
