"""Rules about the table of speculative tokens by batch size."""

from collections.abc import Iterator

from roles.drafter.batch_table import KEY, read, tokens_at
from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.rules.launch import argument
from roles.drafter.rules.rule import ALL, error, rule, warning

_FIELD = f"drafter.options.{KEY}"


@rule("batch-table", methods=ALL, engines="0.24 and later")
def table(evidence: Evidence) -> Iterator[Finding]:
    """Tokens by batch size are a table that the engine knows and takes."""
    given = evidence.drafter.options.get(KEY)
    if given is None:
        return
    if evidence.engine.batch_table is False:
        yield error(
            _FIELD,
            f"engine {evidence.engine.version} knows no such key and does not start",
            "engine.source: release:0.33.0   (0.24.0 and later know it), or drafter.tokens alone",
        )
        return
    ranges, wrong = read(given)
    if wrong:
        yield error(_FIELD, f"the engine refuses it: {wrong[0]}", f"{_FIELD}: [[1, 4, 15], [5, 32, 5]]")
        return
    yield from _doubtful(evidence, max(one.tokens for one in ranges), tokens_at(ranges, 1))
    if any(one.tokens == 0 for one in ranges):
        yield warning(
            _FIELD,
            "where it says 0 a step is reported to be slower than without a drafter, and throughput to collapse at "
            "that batch size (vllm-project/vllm#49548)",
            "1 instead of 0, and measure at that batch size",
        )


def _doubtful(evidence: Evidence, most: int, alone: int) -> Iterator[Finding]:
    tokens = evidence.tokens
    if tokens is not None and most != tokens:
        cut = f"{most} in it are cut to {tokens}" if most > tokens else f"{tokens} are drafted at no batch size"
        yield warning(_FIELD, f"drafter.tokens is {tokens}: {cut}", f"drafter.tokens: {most}", most)
    if alone == 0:
        yield warning(
            _FIELD,
            "a request that is alone gets no drafts, and a gate has nothing to judge",
            "a range from 1 with tokens",
        )
    parallel = argument(evidence.server.args, "--data-parallel-size") if evidence.server else None
    if parallel is not None and parallel > 1:
        yield warning(_FIELD, "engines ignore it with data parallelism: all batches get drafter.tokens", "leave it out")


RULES = (table,)
