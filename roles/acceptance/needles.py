"""The words that a line of a log must have to be looked at."""


def says_something(raw: bytes) -> bool:
    """Whether a line has a word that any of the readers looks for: nearly all lines of a log have none."""
    low = raw.lower()
    return (
        b"accept" in low
        or b"draft" in low
        or b"throughput" in low
        or b" tput" in low
        or b"speculat" in low
        or b"decoding metrics" in low
        or b"version" in low
        or b"position" in low
        or b"vllm:" in low
        or b"engine (v" in low
        or b"auxiliary" in low
        or b"eval time" in low
        or b" batch" in low
        or b"stats" in low
        or b"process_start_time" in low
        or b'"message":[' in low  # journalctl's numbers hide the words
        or b'"message": [' in low
    )
