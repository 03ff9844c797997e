"""invoke tune: the number of speculative tokens that gives the most tok/s, predicted, proven, applied on request."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from inventory.errors import ExitCode, PreflightError, ServerError, SpecrailError, UsageError
from inventory.rewrite import write_tokens
from playbooks import bench, deploy, rollback
from playbooks.flags import whole_number
from playbooks.site import Site
from playbooks.survey import drafter_facts_of, release_facts
from roles.drafter.assess import wanted_config
from roles.tune.answer import Answer, answer
from roles.tune.course import ENOUGH, MEASURED_STARTS, next_to_measure, settle
from roles.tune.points import Point
from roles.tune.predict import predict
from roles.tune.table import tune_table


@dataclass(frozen=True)
class Options:
    """Flags; None leaves it to the inventory. measure_all: every k that there is."""

    apply: bool = False
    measure_all: bool = False
    prompts: str | None = None
    concurrency: str | None = None
    max_tokens: str | None = None


@dataclass(frozen=True)
class Confirmation:
    """A k that was predicted before it was measured."""

    speculative_tokens: int
    predicted: float
    low: float
    high: float
    measured: float

    def __str__(self) -> str:
        inside = "inside" if self.low <= self.measured <= self.high else "outside"
        return (
            f"k={self.speculative_tokens}: predicted {self.predicted:.1f} tok/s ({self.low:.1f}-{self.high:.1f}), "
            f"measured {self.measured:.1f}: {100 * (self.measured / self.predicted - 1):+.1f} %, {inside} the interval"
        )


@dataclass(frozen=True)
class TuneOutcome:
    """What was found, and what is in service now. stays: the k that the measurements settle on."""

    host: str
    found: Answer
    stays: int
    confirmations: tuple[Confirmation, ...]
    points: tuple[Point, ...]
    starts: int
    release: str | None
    words: str
    exit_code: ExitCode = ExitCode.DONE

    def as_json(self) -> dict[str, object]:
        """All of it."""
        return {
            **self.found.as_json(),
            "best": self.stays,
            "predicted_best": self.found.best,
            "points": [point.model_dump(mode="json") for point in self.points],
            "confirmations": [vars(one) for one in self.confirmations],
            "starts": self.starts,
            "release": self.release,
            "outcome": self.words,
        }

    def render(self) -> RenderableType:
        """The curve, prediction against measurement, and the next command."""
        lines = [Text(f"  {one}") for one in self.confirmations]
        return Group(tune_table(self.found, title=f"tune · {self.host}"), Text(), *lines, Text(f"  {self.words}"))


def run(site: Site, options: Options) -> TuneOutcome:
    """Measure, predict, confirm; then apply, or go back to the release that was there."""
    site.talk.headline(f"tune {site.name}")
    before, current = _where_it_is(site)
    largest = _largest(site)
    _as_wanted(site, current)
    tuning = _Tuning(site, options, current, largest)
    try:
        for k in range(largest, -1, -1) if options.measure_all else tuning.course():
            tuning.measure(k)
        stays = settle(answer(tuning.points))
        words = _apply(tuning, stays) if options.apply else _return(tuning, before, current, stays)
    except SpecrailError as error:
        error.why = (*error.why, _in_service_after(tuning, before, current))
        raise
    except KeyboardInterrupt:
        site.if_interrupted = (
            f"k={tuning.serving} is in service; back: invoke rollback --host {site.name} --to {before}"
        )
        raise
    return TuneOutcome(
        host=site.name,
        found=answer(tuning.points),
        stays=stays,
        confirmations=tuple(tuning.confirmations),
        points=tuple(tuning.points),
        starts=tuning.starts,
        release=release_facts(site).current,
        words=words,
    )


class _Tuning:
    """The measurements of one host, and what serves there now (serving: its k, 0 without a drafter)."""

    def __init__(self, site: Site, options: Options, serving: int, largest: int) -> None:
        self.site = site
        self.serving = serving
        self.starts = 0
        self.points: list[Point] = []
        self.confirmations: list[Confirmation] = []
        self.concurrency = whole_number("concurrency", options.concurrency) or site.host.bench.concurrency
        self._options = options
        self._largest = largest

    def course(self) -> Iterator[int]:
        """What serves already costs no start; then what `next_to_measure` says, while starts are left."""
        yield self.serving
        while self.starts < MEASURED_STARTS:
            k = next_to_measure(self.points, self._largest)
            if k is None:
                return
            yield k

    def measure(self, k: int) -> None:
        """Bring k into service, and measure it."""
        timed = {point.speculative_tokens for point in self.points}
        known = max(timed, default=0) >= min(ENOUGH, self._largest)
        expected = predict(self.points, self.concurrency).at(k) if known and k <= max(timed) else None
        self.serve(k)
        options = self._options
        outcome = bench.measure(
            self.site,
            bench.Options(
                prompts=options.prompts,
                concurrency=str(self.concurrency),
                max_tokens=options.max_tokens,
                against="none",
            ),
        )
        point = self._point(k, outcome)
        self.points.append(point)
        if expected is not None and k not in timed and point.tok_s is not None:
            self.confirmations.append(Confirmation(k, expected.tok_s, expected.low, expected.high, point.tok_s))

    def serve(self, k: int) -> None:
        """Deploy k through the gate, unless it serves already. Raises ServerError when the gate does not let it."""
        if k == self.serving:
            return
        self.site.begin_another()
        outcome = deploy.run(self.site, deploy.Options(tokens=str(k)))
        self.starts += 1
        if outcome.exit_code:
            raise ServerError(
                f"k={k} did not pass its gate, so it was not measured",
                where=["tune"],
                tries=[f"invoke deploy --host {self.site.name} --tokens {k}"],
            )
        self.serving = k

    def _point(self, k: int, outcome: bench.BenchOutcome) -> Point:
        if spoilt := [doubt for doubt in outcome.doubts if doubt.spoils]:
            raise ServerError(
                f"the run at k={k} says nothing: {spoilt[0].message}",
                where=["tune"],
                tries=[f"invoke bench --host {self.site.name}"],
            )
        window, speed = outcome.window, outcome.summary.decode_tok_s
        return Point(
            speculative_tokens=k,
            tok_s=speed * self.concurrency if speed else None,
            rounds=window.rounds if k else None,
            accepted=window.accepted if k else None,
            drafted=window.drafted if k else None,
            per_position_rates=window.per_position_rates[:k],
            concurrency=self.concurrency,
            block_size=self._largest + 1,
        )


def _where_it_is(site: Site) -> tuple[str, int]:
    """The release that serves, and its k. Raises UsageError where there is none."""
    facts = release_facts(site)
    current = facts.release(facts.current)
    if current is None or current.manifest is None or facts.current != facts.promoted:
        raise UsageError(
            "there is no promoted release to tune", where=[site.name], tries=[f"invoke deploy --host {site.name}"]
        )
    return current.id, current.manifest.tokens or 0


def _largest(site: Site) -> int:
    """The most tokens that make sense: what the drafter's block holds, else 8. Raises UsageError without a drafter."""
    drafter = site.host.drafter
    if drafter is None:
        raise UsageError(
            "the inventory gives this host no drafter", where=[site.name], tries=["drafter: in the inventory"]
        )
    config = wanted_config(drafter, drafter_facts_of(site)) or {}
    nested = config.get("dflash_config")
    block = config.get("block_size") or (nested.get("block_size") if isinstance(nested, dict) else None)
    return min(block - 1, 64) if isinstance(block, int) and block > 1 else max(ENOUGH, drafter.tokens)


def _as_wanted(site: Site, tokens: int) -> None:
    """Refuse to tune a host whose next deploy would change more than the number of tokens."""
    site.begin_another()
    planned = deploy.run(site, deploy.Options(tokens=str(tokens), dry_run=True))
    site.begin_another()
    if any(step.changes for step in planned.steps):
        raise PreflightError(
            "what serves is not what the inventory says, and tuning would change that too",
            where=["tune"],
            tries=[f"invoke deploy --host {site.name} --tokens {tokens}"],
        )


def _apply(tuning: _Tuning, stays: int) -> str:
    """Write it down first: what is in service is then never what nobody wanted."""
    site = tuning.site
    if site.inventory_file is None:
        raise UsageError("no file says what is wanted on this host", where=[site.name])
    place = write_tokens(site.inventory_file, site.name, stays)
    tuning.serve(stays)
    written = f"written to {place}" if place else "the inventory says so already"
    return f"k={stays} is in service; {written}" if stays else f"no speculation is in service; {written}"


def _in_service_after(tuning: _Tuning, before: str, tokens: int) -> str:
    """Go back after an error; the sentence that says what is in service now."""
    if tuning.serving == tokens:
        return f"In service: {before}, as before."
    try:
        _return(tuning, before, tokens, tokens)
    except SpecrailError as second:
        return f"Going back to {before} did not end well either: {second.what}"
    return f"In service again: {before}."


def _return(tuning: _Tuning, before: str, tokens: int, stays: int) -> str:
    """Back to the release that was there, or to one like it where it is gone."""
    site = tuning.site
    if tuning.serving != tokens:
        site.begin_another()
        if release_facts(site).release(before) is None:
            tuning.serve(tokens)
        else:
            rollback.run(site, before)
            tuning.starts += 1
    if stays == tokens:
        return f"k={tokens} is in service, and the best"
    keep = f"to keep the best: invoke deploy --host {site.name} --tokens {stays}"
    return f"{before} (k={tokens}) is in service again; {keep}"
