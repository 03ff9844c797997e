"""invoke drafter.search: try values for fields that nobody knows, and keep the config that accepts most."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from inventory.errors import UsageError
from inventory.models import Drafter
from playbooks.changing import locked, record
from playbooks.drafter import judge
from playbooks.flags import whole_number
from playbooks.reach import get_in
from playbooks.search_outcome import SearchOutcome, cost
from playbooks.search_state import SearchState, key_of
from playbooks.search_steps import Search, bring_up_best, measure_all
from playbooks.site import Site
from playbooks.survey import Survey, survey
from playbooks.tokens import tokens_changed
from roles.acceptance.few_rounds import MOST_ROUNDS
from roles.acceptance.race import beaten_values
from roles.drafter.assess import wanted_config
from roles.drafter.config import merge, sha256
from roles.drafter.finding import Finding, refuse
from roles.drafter.vary import Candidate, Field, combinations, read
from roles.drafter.vary_check import Check, refuse_unusable

_DOUBT = {"error": 100, "warning": 1}


@dataclass(frozen=True)
class Options:
    """Flags."""

    vary: Sequence[str] = ()
    tokens: str | None = None
    rounds: str | None = None
    allow_drafter_errors: bool = False
    fresh: bool = False
    dry_run: bool = False


def run(site: Site, options: Options) -> SearchOutcome:
    """Measure candidate after candidate, a few rounds each, and bring up the best as a deploy does: gate and all.

    Ends on the best one, or on what was promoted before: also where the best cannot be told from another.
    """
    tokens = whole_number("tokens", options.tokens)
    if tokens is not None:
        site.change(tokens_changed(site.host, tokens, name=site.name))
    most_rounds = whole_number("rounds", options.rounds, least=10) or MOST_ROUNDS
    site.talk.headline(f"{site.verb} {site.name}")
    get_in(site)
    search = _prepare(site, survey(site), options, most_rounds)
    told = cost(search.candidates, len(search.measured), _start_s(search), most_rounds)
    site.talk.note(told)
    outcome = SearchOutcome(
        host=site.name,
        candidates=search.candidates,
        runners=tuple(one.runner for one in search.measured),
        beaten=(),
        confidence=site.host.gate.confidence,
        cost=told,
        dry_run=options.dry_run,
    )
    if options.dry_run:
        return outcome
    with locked(site), record(site, None, (f"search among {len(search.candidates)} drafter configs",)):
        search.seen = survey(site)
        measure_all(search)
        runners = tuple(one.runner for one in search.measured)
        outcome = replace(outcome, runners=runners, beaten=beaten_values(runners, outcome.confidence))
        outcome = bring_up_best(search, outcome)
    search.state.forget()
    return outcome


def _prepare(site: Site, seen: Survey, options: Options, most_rounds: int) -> Search:
    host = site.host
    if host.drafter is None or host.drafter.path is None:
        raise UsageError("there is no drafter with a config to search in", where=[site.name])
    config = wanted_config(host.drafter, seen.drafter) or {}
    fields = read(options.vary, config)
    alone = _alone(site, host.drafter, seen)
    refuse_unusable(fields, config, alone, unread=options.allow_drafter_errors)
    key = key_of([list(options.vary), sha256(config), host.drafter.tokens, host.engine.source, host.model.path])
    state = SearchState(site.state, site.name, key)
    if options.fresh:
        state.forget()
    candidates = _likeliest_first(site, host.drafter, seen, fields, alone)
    if not options.allow_drafter_errors:
        _refuse_what_no_search_mends(site, host.drafter, seen, candidates, fields)
    wanted = [candidate.choice for candidate in candidates]
    measured = [one for one in state.load() if one.choice in wanted]
    return Search(site, seen, candidates, state, measured, most_rounds)


def _refuse_what_no_search_mends(
    site: Site, drafter: Drafter, seen: Survey, candidates: tuple[Candidate, ...], fields: tuple[Field, ...]
) -> None:
    """Errors in fields that are not varied would spoil every candidate. Raises DrafterRefused."""
    best = min(candidates, key=lambda candidate: candidate.doubts)
    varied = {field.place for field in fields}
    report = judge(site.host, _with(drafter, best.overlay), seen)
    refuse([finding for finding in report.findings if finding.field not in varied])


def _alone(site: Site, drafter: Drafter, seen: Survey) -> Check:
    def check(field: Field, value: JsonValue) -> tuple[Finding, ...]:
        (one,) = combinations((replace(field, values=(value,)),))
        return judge(site.host, _with(drafter, one.overlay), seen).findings

    return check


def _likeliest_first(
    site: Site, drafter: Drafter, seen: Survey, fields: tuple[Field, ...], alone: Check
) -> tuple[Candidate, ...]:
    """All candidates, values in the order of what the check has against them: nothing, warnings, errors."""
    ordered = tuple(
        replace(field, values=tuple(sorted(field.values, key=lambda value: _doubts(alone(field, value)))))
        for field in fields
    )
    return tuple(
        replace(one, doubts=_doubts(judge(site.host, _with(drafter, one.overlay), seen).findings))
        for one in combinations(ordered)
    )


def _doubts(findings: Iterable[Finding]) -> int:
    return sum(_DOUBT.get(finding.severity, 0) for finding in findings)


def _with(drafter: Drafter, overlay: Mapping[str, JsonValue]) -> Drafter:
    return drafter.model_copy(update={"config": merge(drafter.config, overlay)})


def _start_s(search: Search) -> float | None:
    """How long the server took to start when it was last seen to."""
    times = [one.start_s for one in search.measured if one.start_s is not None]
    if times:
        return times[-1]
    last = search.site.history.last(search.site.name, "gate")
    took = (last.summary or {}).get("start_s") if last else None
    return float(took) if isinstance(took, int | float) else None
