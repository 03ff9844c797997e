"""invoke bench.url: measure a server that no inventory has, another engine say, with the same client and prompts."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

from inventory.errors import SpecrailError, UsageError
from inventory.models import Bench
from inventory.secrets import resolve
from playbooks.bench_outcome import BenchOutcome, SweepOutcome, counts_of
from playbooks.bench_runs import at_each_load, earlier
from playbooks.bench_source import load_from_here, window_of
from playbooks.bench_work import Options, work_of
from playbooks.cli import CHECKOUT, plain_console, print_json, report
from playbooks.flags import conditions_told
from playbooks.site import history_in, state_folder
from playbooks.talk import Talk
from roles.acceptance.window import Window
from roles.gpu.activity import Activities
from roles.load.client import get
from roles.load.compare import compare
from roles.load.doubt import Doubt
from roles.load.endpoint import Endpoint
from roles.load.engine_state import engine_state
from roles.load.history import Run
from roles.load.noise import requests_of
from roles.load.result import LoadResult, Progress
from roles.load.server_says import Ask, conditions_of, served_models, server_info
from roles.load.sglang import EXACT, counts_between, counts_in, length_since_start
from roles.load.summary import summarise
from roles.load.values import row, whole
from roles.load.warnings import doubts

__all__ = ["Options", "run_url"]

_VERB = "bench.url"
_WAY = "from this machine: the way there is in every latency"


def run_url(
    url: str,
    options: Options,
    *,
    model: str | None,
    key: str | None,
    host: str | None,
    told: Sequence[str],
    as_json: bool,
) -> int:
    """Measure what answers at the URL. Returns the exit code.

    model: None for the first that is listed; key: a reference to a secret; told: conditions, NAME=VALUE
    """
    err = plain_console(sys.stderr)
    try:
        if not url:
            raise UsageError(
                "which server? Its URL is wanted",
                tries=[f"invoke {_VERB} http://10.0.0.7:30000", "invoke bench --host NAME"],
            )
        secret = resolve(key, CHECKOUT).reveal() if key else None
        conditions = conditions_told(told)
        models = served_models(_asking(Endpoint(url, "", secret)))
        endpoint = Endpoint(url, model or models[0], secret)
        whose = host or urlsplit(endpoint.base_url).netloc
        talk = Talk(err, endpoint.redact)
        found = at_each_load(options, lambda load: _measure(endpoint, load, conditions, whose, talk), talk, whose=whose)
    except SpecrailError as error:
        return report(error, err, as_json=as_json, verb=_VERB)
    _answer(found, as_json=as_json)
    return int(found.exit_code)


def _measure(endpoint: Endpoint, options: Options, told: Mapping[str, object], whose: str, talk: Talk) -> BenchOutcome:
    work = work_of(options, Bench())
    history = history_in(state_folder(CHECKOUT))
    before = earlier(history, options.against, whose)
    ask = _asking(endpoint)
    says = conditions_of(ask)
    with talk.work("bench", f"{len(work.prompts)} prompts") as progress:

        def tell(now: Progress) -> None:
            if now.done in {1, now.total} or now.done % 10 == 0:
                progress.say("warm-up" if now.warming_up else f"{now.done}/{now.total}")

        asked = {**work.extra_body, **(EXACT if _is_sglang(says) else {})}
        result = load_from_here(endpoint, replace(work, extra_body=asked), tell)
        progress.done(f"{len(work.prompts)} prompts, {work.words}, {_WAY}")
    conditions = {
        "model": endpoint.model,
        **says,
        **result.conditions(),
        "extra_body": dict(work.extra_body),  # what is asked for beside is no other work
        "from": "controller",
        "reach": "direct",
        "tool": "specrail",
        **told,
    }
    window, since_start = _acceptance(result, whole(conditions, "k"), ask)
    state = engine_state(result.counters_before, result.counters_after, result.gauges)
    doubtful = doubts(result, generation_tokens=window.generated, state=state, more=_since_start(since_start))
    summary = summarise(result, work.slo)
    measured = Run(
        kind="bench",
        host=whose,
        release=str(conditions.get("engine") or "unknown"),
        at=datetime.now(UTC),
        conditions=conditions,
        summary={
            **summary.as_json(),
            **({} if since_start is None else {"acceptance_length": since_start}),
            "requests": requests_of(result),
            "engine": state.as_json(),
        },
        counts=counts_of(window),
        doubts=tuple(doubt.as_json() for doubt in doubtful),
    )
    kept = history.add(measured) or measured
    return BenchOutcome(
        run=kept,
        summary=summary,
        window=window,
        advice=None,
        doubts=doubtful,
        comparison=compare(before, kept) if before else None,
        state=state,
        gpus=Activities(),
        how=work.words,
        where=_WAY,
    )


def _acceptance(result: LoadResult, k: int | None, ask: Ask) -> tuple[Window, float | None]:
    """Counts of the run; where the server has none for it, the length that SGLang tells of all its time."""
    answers = [sample.completion for sample in result.samples if sample.completion.ok]
    told = [answer.drafts for answer in answers if answer.drafts]
    exact = counts_in(told, k) if len(told) == len(answers) else None
    counts = exact or counts_between(result.counters_before, result.counters_after, k)
    if counts is not None:
        rounds, accepted, drafted = (whole(counts, name) or 0 for name in ("rounds", "accepted", "drafted"))
        positions = tuple(int(str(count)) for count in row(counts, "per_position"))
        return Window(rounds, accepted, drafted, positions, k, source="request" if exact else "counters"), None
    window = window_of(result)
    return window, None if window.rounds else length_since_start(server_info(ask))


def _is_sglang(says: Mapping[str, object]) -> bool:
    return str(says.get("engine")).startswith("sglang")


def _since_start(length: float | None) -> list[Doubt]:
    if length is None:
        return []
    message = "the acceptance length is the server's mean since its start (sglang --enable-metrics counts a run's own)"
    return [Doubt("since-start", message, spoils=False)]


def _asking(endpoint: Endpoint) -> Ask:
    return lambda path: get(endpoint, path)


def _answer(found: BenchOutcome | SweepOutcome, *, as_json: bool) -> None:
    if as_json:
        print_json({"verb": _VERB, "exit_code": int(found.exit_code), **found.as_json()})
    else:
        plain_console(sys.stdout).print(found.render())
