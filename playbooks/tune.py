"""invoke tune: the number of speculative tokens that gives the most tok/s, predicted, proven, applied on request."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from inventory.errors import ExitCode, PreflightError, ServerError, SpecrailError, UsageError
from inventory.rewrite import write_tokens
from playbooks import container, deploy
from playbooks.changing import locked, record
from playbooks.inside import plan_inside
from playbooks.reach import get_in
from playbooks.site import Site
from playbooks.survey import drafter_facts_of, release_facts, survey
from playbooks.tokens import tokens_changed
from playbooks.tune_by_batch import USUAL, as_lists, check_engine, doubts, proven, table_of
from playbooks.tune_measure import Load, concurrencies, measure
from playbooks.tune_outcome import Confirmation, TuneOutcome
from playbooks.tune_trials import Trials
from roles.drafter.assess import wanted_config
from roles.drafter.batch_table import KEY
from roles.release.manifest import Manifest
from roles.tune.answer import Answer, answer
from roles.tune.course import ENOUGH, MEASURED_STARTS, next_to_measure, settle
from roles.tune.points import Point


@dataclass(frozen=True)
class Options:
    """Flags; None leaves it to the inventory.

    measure_all: every k that there is; concurrency: one, or several; per_batch_size: a table for the engine
    """

    apply: bool = False
    measure_all: bool = False
    per_batch_size: bool = False
    prompts: str | None = None
    concurrency: str | None = None
    max_tokens: str | None = None


def run(site: Site, options: Options) -> TuneOutcome:
    """Measure, predict, confirm; then apply, or go back to the release that was there.

    Everything that is started before the end is on trial: whatever happens here, the host goes back by itself.
    """
    load = _load(site, options)
    site.talk.headline(f"tune {site.name}")
    get_in(site)
    manifest = _in_service(site)
    if options.per_batch_size:
        check_engine(site, manifest)
    before, current = manifest.id, None if manifest.varies else manifest.tokens or 0
    largest = _largest(site)
    _as_wanted(site, current)
    with locked(site), record(site, None, ("tune: find the best number of speculative tokens",)):
        trials = Trials(site, before, current, load_s=site.host.bench.timeout_s * len(load.concurrencies))
        tuning = _Tuning(trials, load, largest)
        try:
            for k in tuning.all_of_them() if options.measure_all else tuning.course():
                tuning.measure(k)
            found = answer(tuning.points)
            outcome = tuning.outcome(found, settle(found))
            if options.per_batch_size:
                outcome = _with_table(trials, load, outcome, apply=options.apply)
            ended = _apply(trials, outcome) if options.apply else _return(trials, outcome)
        except KeyboardInterrupt:
            trials.leave()
            raise
        except SpecrailError as error:
            if trials.on_trial or not trials.starts:  # else the error says already what became of it
                error.why = (*error.why, _in_service_after(trials))
            raise
        trials.tidy()
    return ended


class _Tuning:
    """What was measured so far, and what was predicted before it was."""

    def __init__(self, trials: Trials, load: Load, largest: int) -> None:
        self.trials = trials
        self.points: list[Point] = []
        self._confirmations: list[Confirmation] = []
        self._load = load
        self._largest = largest
        self._frozen: Answer | None = None

    def course(self) -> Iterator[int]:
        """What serves already costs no start; then what `next_to_measure` says, while starts are left."""
        yield self._largest if self.trials.serving is None else self.trials.serving
        while self.trials.starts < MEASURED_STARTS:
            k = next_to_measure(self.points, self._largest)
            if k is None:
                return
            yield k

    def all_of_them(self) -> Iterator[int]:
        """The course, so that there is something predicted, and then all others."""
        yield from self.course()
        self._frozen = answer(self.points)
        done = {point.speculative_tokens for point in self.points}
        yield from (k for k in range(self._largest, -1, -1) if k not in done)

    def measure(self, k: int) -> None:
        """Bring k into service, and measure it."""
        known = max((point.speculative_tokens for point in self.points), default=0)
        expected = self._frozen or (answer(self.points) if known >= max(k, min(ENOUGH, self._largest)) else None)
        self.trials.serve(k)
        try:
            new = tuple(measure(self.trials.site, self._load, k, self._largest + 1))
        except ServerError as error:
            error.at(f"k={k}")
            raise
        self.points += new
        if expected is not None:
            self._confirmations += _compared(expected, new)

    def outcome(self, found: Answer, stays: int) -> TuneOutcome:
        """As far as it is known before anything is applied."""
        return TuneOutcome(
            host=self.trials.site.name,
            found=found,
            stays=stays,
            confirmations=tuple(sorted(self._confirmations, key=lambda one: (one.concurrency, one.speculative_tokens))),
            points=tuple(self.points),
            starts=self.trials.starts,
            release=None,
            words="",
        )


def _compared(expected: Answer, measured: tuple[Point, ...]) -> Iterator[Confirmation]:
    for prediction in expected.by_concurrency:
        for point in measured:
            k = point.speculative_tokens
            if point.kind or point.concurrency != prediction.concurrency or point.tok_s is None:
                continue
            if k < len(prediction.speeds):
                speed = prediction.at(k)
                yield Confirmation(k, point.concurrency or 1, speed.tok_s, speed.low, speed.high, point.tok_s)


def _load(site: Site, options: Options) -> Load:
    said = options.concurrency or (USUAL if options.per_batch_size else None)
    load = Load(concurrencies(said, site.host.bench.concurrency), options.prompts, options.max_tokens)
    if options.per_batch_size and len(load.concurrencies) < 2:
        raise UsageError("--per-batch-size needs several concurrencies", tries=[f"--concurrency {USUAL}"])
    return load


def _in_service(site: Site) -> Manifest:
    """The release that serves. Raises UsageError without one that is promoted."""
    facts = release_facts(site)
    current = facts.release(facts.current)
    if current is None or current.manifest is None or facts.current != facts.promoted:
        raise UsageError(
            "there is no promoted release to tune", where=[site.name], tries=[f"invoke deploy --host {site.name}"]
        )
    return current.manifest


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


def _as_wanted(site: Site, tokens: int | None) -> None:
    """Refuse to tune a host whose next deploy would change more than the number of tokens."""
    if tokens is not None:
        site.change(tokens_changed(site.host, tokens, name=site.name))
    with site.talk.work("preflight", "look at the node, the container and the host") as work:
        outside = container.look(site, adopt=False)
        inside = plan_inside(site, survey(site), deploy.Options())
        work.done("what serves is what the inventory says, but for the number of tokens")
    site.change_back()
    if any(step.changes for step in (*outside.steps, *inside.steps)):
        flag = "" if tokens is None else f" --tokens {tokens}"
        raise PreflightError(
            "what serves is not what the inventory says, and tuning would change that too",
            where=["tune"],
            why=[step.summary for step in (*outside.steps, *inside.steps) if step.changes],
            tries=[f"invoke deploy --host {site.name}{flag}"],
        )


def _with_table(trials: Trials, load: Load, outcome: TuneOutcome, *, apply: bool) -> TuneOutcome:
    """With the table by batch size, where more than one number is in it; on trial and measured if it is to be kept."""
    table = table_of(outcome.found)
    if not table:
        return replace(outcome, notes=("one number is the best at every batch size: there is no table to write",))
    if not apply:
        return replace(outcome, table=table)
    confirmed = proven(trials, load, outcome.found, table)
    return replace(
        outcome,
        table=table,
        confirmations=(*outcome.confirmations, *confirmed),
        notes=tuple(doubts(confirmed, outcome.points)),
    )


def _apply(trials: Trials, outcome: TuneOutcome) -> TuneOutcome:
    """Keep the best: through its gate first, then into the inventory."""
    site, stays = trials.site, outcome.stays
    what = outcome.what
    if outcome.table is None and stays == trials.tokens:
        trials.go_back("tune: what was there is the best")
    else:
        if outcome.table is None:
            trials.serve(stays)
        kept = trials.keep()
        if not kept.stays:
            words = f"{what} is the best, but did not pass its gate; {kept.arrival.back if kept.arrival else ''}"
            return _ended(trials, outcome, words, kept.exit_code)
    if site.inventory_file is None:
        raise UsageError("no file says what is wanted on this host", where=[site.name])
    tokens = outcome.most_tokens
    place = write_tokens(
        site.inventory_file, site.name, tokens, (KEY, as_lists(outcome.table) if outcome.table else None)
    )
    written = f"written to {place}" if place else "the inventory says so already"
    return _ended(trials, outcome, f"{what} is in service; {written}")


def _return(trials: Trials, outcome: TuneOutcome) -> TuneOutcome:
    """Leave the host as it was."""
    before, tokens, stays = trials.before, trials.tokens, outcome.stays
    trials.go_back("tune: measured")
    name = trials.site.name
    if outcome.table is not None:
        keep = f"to try and keep the table: invoke tune --host {name} --per-batch-size --apply"
    elif stays == tokens:
        return _ended(trials, outcome, f"{before} (k={tokens}) is in service, and the best")
    else:
        keep = f"to keep the best: invoke deploy --host {name} --tokens {stays}"
    return _ended(trials, outcome, f"{before} is in service again, as before; {keep}")


def _ended(trials: Trials, outcome: TuneOutcome, words: str, code: ExitCode = ExitCode.DONE) -> TuneOutcome:
    release = release_facts(trials.site).current
    return replace(outcome, starts=trials.starts, release=release, words=words, exit_code=code)


def _in_service_after(trials: Trials) -> str:
    """Go back after an error; the sentence that says what is in service now."""
    try:
        return f"In service now: {trials.go_back('tune: it could not go on')}."
    except SpecrailError as second:
        return f"Going back to {trials.before} did not end well either, the host does it by itself: {second.what}"
