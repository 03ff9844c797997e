"""One number of tokens, measured at every concurrency that was asked for: the points of a tuning."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from inventory.errors import ServerError, SpecrailError
from playbooks import bench
from playbooks.flags import whole_number
from playbooks.site import Site
from roles.acceptance.counters import Counters, delta, read
from roles.acceptance.window import Window, pool
from roles.load.client import get
from roles.load.endpoint import Endpoint
from roles.load.result import Progress
from roles.tune.busy import busy_speed
from roles.tune.points import Point


@dataclass(frozen=True)
class Load:
    """What each point is measured with. concurrencies: rising."""

    concurrencies: tuple[int, ...]
    prompts: str | None
    max_tokens: str | None


def concurrencies(said: str | None, default: int) -> tuple[int, ...]:
    """--concurrency: a number, or several. Raises UsageError."""
    if said is None:
        return (default,)
    found = {whole_number("concurrency", part.strip()) or 0 for part in said.split(",")}
    return tuple(sorted(found))


def measure(site: Site, load: Load, tokens: int | None, block: int | None) -> Iterator[Point]:
    """The points of what serves now; those of classes of prompts too, where requests come one at a time.

    tokens: k; None where it depends on the batch size. block: the drafter's largest k, and one; None: not known.
    Raises ServerError for a run that says nothing.
    """
    for streams in load.concurrencies:
        counted = _ByClass()
        outcome = bench.measure(
            site,
            bench.Options(prompts=load.prompts, concurrency=str(streams), max_tokens=load.max_tokens, against="none"),
            each=counted if streams == 1 and tokens else None,
            on_trial=True,
        )
        if spoilt := [doubt for doubt in outcome.doubts if doubt.spoils]:
            raise ServerError(f"the run says nothing: {spoilt[0].message}", tries=[f"invoke bench --host {site.name}"])
        whole = _point(outcome.window, tokens, streams, block, _speed(outcome, streams))
        yield whole
        yield from _of_classes(whole, counted)


def _point(window: Window, tokens: int | None, streams: int, block: int | None, speed: float | None) -> Point:
    drafts = tokens != 0
    k = tokens if tokens is not None else window.k or len(window.per_position_rates)
    return Point(
        speculative_tokens=k,
        tok_s=speed,
        rounds=window.rounds if drafts else None,
        accepted=window.accepted if drafts else None,
        drafted=window.drafted if drafts else None,
        per_position_rates=window.per_position_rates[:k],
        concurrency=streams,
        block_size=block,
    )


def _speed(outcome: bench.BenchOutcome, streams: int) -> float | None:
    """tok/s of all streams together after their first tokens."""
    if streams == 1:
        return outcome.summary.decode_tok_s
    requests = (outcome.run.summary or {}).get("requests")
    return busy_speed(requests, streams) if isinstance(requests, list) else None


def _of_classes(whole: Point, counted: "_ByClass") -> Iterator[Point]:
    """A class's speed follows from its acceptance: a round takes as long whatever the text is."""
    if whole.tok_s is None or whole.length is None or len(counted.windows) < 2:
        return
    for kind, window in sorted(counted.windows.items()):
        if window.rounds and window.accepted is not None:
            yield whole.model_copy(
                update={
                    "kind": kind,
                    "tok_s": whole.tok_s * (1 + window.accepted / window.rounds) / whole.length,
                    "rounds": window.rounds,
                    "accepted": window.accepted,
                    "drafted": window.drafted,
                    "per_position_rates": window.per_position_rates[: whole.speculative_tokens],
                }
            )


class _ByClass:
    """Counts the rounds of each class by reading the counters between two requests: call it after each."""

    def __init__(self) -> None:
        self._windows: defaultdict[str, list[Window]] = defaultdict(list)
        self._before: Counters | None = None

    @property
    def windows(self) -> dict[str, Window]:
        """What each class came to. The last round of a request may be counted with the next one's."""
        return {kind: pool(windows) for kind, windows in self._windows.items()}

    def __call__(self, endpoint: Endpoint, now: Progress) -> None:
        try:
            counters = read(get(endpoint, "/metrics")[1])
        except SpecrailError:
            self._before = None
            return
        if self._before is not None and not now.warming_up:
            self._windows[now.latest.prompt.kind].append(delta(self._before, counters))
        self._before = counters
