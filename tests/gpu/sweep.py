"""Each number of speculative tokens served and measured here, and what two of them predict for the rest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inventory.errors import SpecrailError
from playbooks import bench
from playbooks.tune_outcome import Confirmation
from roles.load.history import Run
from roles.tune.points import Point
from roles.tune.predict import predict
from tests.gpu.serving import Machine


@dataclass(frozen=True)
class Measured:
    """One k at one concurrency, and how its server came up. gate: the verdict; None without speculation."""

    k: int
    concurrency: int
    point: Point
    run: Run
    gate: str | None
    start_s: float | None
    per_position_rates: tuple[float, ...]
    acceptance_length: float | None


@dataclass(frozen=True)
class Failed:
    """A k that did not come into service, or could not be measured."""

    k: int
    why: str


@dataclass(frozen=True)
class Load:
    """What each server is asked. prompts: how many of the fixed ones, or a JSONL file."""

    prompts: str
    max_tokens: int
    concurrencies: tuple[int, ...]


def sweep(machine: Machine, ks: Sequence[int], load: Load) -> Iterator[Measured | Failed]:
    """Serve each k in turn, and measure it at each concurrency."""
    for k in ks:
        try:
            yield from _measure(machine, k, load)
        except SpecrailError as error:
            yield Failed(k, "\n".join((error.what, *error.why)))


def _measure(machine: Machine, k: int, load: Load) -> Iterator[Measured | Failed]:
    arrival = machine.serve(k)
    if arrival.ending not in {"promoted", "kept"}:
        yield Failed(k, f"its gate says {arrival.gate.verdict.outcome if arrival.gate else 'nothing'}")
        return
    for streams in load.concurrencies:
        options = bench.Options(
            prompts=load.prompts, concurrency=str(streams), max_tokens=str(load.max_tokens), against="none"
        )
        outcome = bench.measure(machine.site, options)
        window, speed = outcome.window, outcome.summary.decode_tok_s
        point = Point(
            speculative_tokens=k,
            tok_s=speed * streams if speed else None,
            rounds=window.rounds if k else None,
            accepted=window.accepted if k else None,
            drafted=window.drafted if k else None,
            per_position_rates=window.per_position_rates[:k],
            concurrency=streams,
            block_size=machine.largest + 1,
        )
        yield Measured(
            k=k,
            concurrency=streams,
            point=point,
            run=outcome.run,
            gate=arrival.gate.verdict.outcome if arrival.gate else None,
            start_s=round(arrival.started.seconds, 1) if arrival.started else None,
            per_position_rates=window.per_position_rates,
            acceptance_length=window.acceptance_length,
        )


def foretold(measured: Sequence[Measured], concurrency: int) -> list[Confirmation]:
    """What the largest k and the smallest that speculates predict for those between them, beside what was measured.

    Empty where fewer than three k speculated.
    """
    speeds = {one.k: one.point for one in measured if one.concurrency == concurrency and one.point.tok_s is not None}
    speculating = sorted(k for k in speeds if k)
    if len(speculating) < 3:
        return []
    ends = (speculating[0], speculating[-1])
    told = predict([speeds[k] for k in ends], concurrency)
    return [
        Confirmation(k, concurrency, told.at(k).tok_s, told.at(k).low, told.at(k).high, speeds[k].tok_s or 0)
        for k in speculating[1:-1]
    ]
