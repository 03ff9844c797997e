"""The edge that runs the acceptance gate: sends prompts one at a time and reads the counters around each of them."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from inventory.models import Gate
from roles.acceptance.baseline import Baseline
from roles.acceptance.diagnosis import Diagnosis, diagnose
from roles.acceptance.effect import noise_floor
from roles.acceptance.session import Completion, P, Session
from roles.acceptance.statistics import ENOUGH_PROMPTS, Comparison, paired
from roles.acceptance.verdict import Verdict, decide
from roles.acceptance.version_facts import facts
from roles.acceptance.window import PromptWindow, pool
from roles.conditions import Conditions, differences

_PROBE_TOKENS = 10  # so few that a collapse costs about eight rounds a look
_PROBES = 7  # of at most nine rounds each: fewer than 60 when nothing at all is accepted
_MOST_REPEATED = 8
_REPEATED = 5  # one prompt of so many is run twice, which keeps the second run short
_LOOP = re.compile(r"(\S.{0,15}?)\1{19,}\s*$", re.DOTALL)


Phase = Literal["probe", "measure", "again"]


@dataclass(frozen=True)
class Progress:
    """How far the gate is.

    probe: a few tokens each, to see a collapse early; measure: whole answers; again: some of them once more
    """

    phase: Phase
    done: int
    total: int
    rounds: int
    acceptance_length: float | None


@dataclass(frozen=True)
class GateResult:
    """What the gate measured and what it says. windows are the whole answers, probes the short ones before them.

    again: an A/A run of some of the prompts, for the noise floor; only where the release passed
    """

    release: str
    verdict: Verdict
    diagnosis: Diagnosis
    conditions: Conditions
    windows: tuple[PromptWindow, ...]
    probes: tuple[PromptWindow, ...]
    elapsed_s: float
    again: Comparison | None = None

    @property
    def baseline(self) -> Baseline:
        """The measurement as what later releases are compared with."""
        return Baseline(self.release, self.conditions, self.windows, self.again, self.probes)

    @property
    def version_facts(self) -> tuple[str, ...]:
        """What is known about speculation in this engine; nothing where all is well."""
        engine = self.conditions.engine or ""
        if self.verdict.outcome == "pass" or not engine.startswith("vllm "):
            return ()
        causes = [cause.id for cause in self.diagnosis.causes]
        return facts(engine.removeprefix("vllm "), self.conditions.method, causes)

    def as_json(self) -> dict[str, object]:
        """What gate.json holds; `roles.acceptance.baseline.from_json` reads it back."""
        return {
            **self.baseline.as_json(),
            "verdict": self.verdict.as_json(),
            "causes": [asdict(cause) for cause in self.diagnosis.causes],
            "cannot_tell": list(self.diagnosis.cannot_tell),
            "version_facts": list(self.version_facts),
            "elapsed_s": self.elapsed_s,
        }


def run_gate(
    send: Callable[[P, int], Completion],
    scrape: Callable[[], str],
    prompts: Sequence[P],
    policy: Gate,
    baseline: Baseline | None,
    conditions: Conditions,
    on_progress: Callable[[Progress], None],
    *,
    release: str,
    host: str,
    method: str = "dflash",
    flags: Sequence[str] = (),
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
) -> GateResult:
    """Run the gate against a server that is healthy, and judge it.

    send:   send(prompt, max_tokens) gives one whole answer; what it raises goes through (the server died)
    scrape: the text of /metrics; what it raises goes through
    release, host, method, flags: for the record and for the commands in the diagnosis (`roles.acceptance.diagnosis`)

    Prompts go one at a time, so the counters before and after are exactly this prompt's. First up to 7 of them with 10
    tokens each: a drafter that is plainly broken is recognised in fewer than 60 rounds, a good one in 2 or 3 prompts.
    Then the first policy.prompts with policy.max_tokens. Stops at a collapse, and at policy.timeout_s with what it has.
    What passes becomes a baseline, so a part of it is measured once more: how much two equal runs differ.
    """
    session = Session(send, scrape, clock, wait)
    started_s = clock()
    prompts = prompts[: policy.prompts]
    probes: list[PromptWindow] = []
    windows: list[PromptWindow] = []

    def judge() -> Verdict:
        verdict = decide(policy, [*probes, *windows], baseline, conditions)
        phase: Phase = "measure" if windows else "probe"
        done, total = (len(windows), len(prompts)) if windows else (len(probes), min(_PROBES, len(prompts)))
        window = pool(prompt.window for prompt in windows or probes)
        on_progress(Progress(phase, done, total, window.rounds, window.acceptance_length))
        return verdict

    verdict = decide(policy, (), baseline, conditions)
    if policy.max_tokens > 2 * _PROBE_TOKENS:
        for prompt in prompts[:_PROBES]:
            probes.append(session.measure(prompt, _PROBE_TOKENS))
            verdict = judge()
            if verdict.early is not None and verdict.early.state != "open":
                break
    late = False
    if not verdict.collapsed:
        for prompt in prompts:
            if late := clock() - started_s > policy.timeout_s:
                break
            windows.append(session.measure(prompt, policy.max_tokens))
            verdict = judge()
            if verdict.collapsed:
                break
    if not verdict.collapsed:
        verdict = decide(policy, windows, baseline, conditions)  # probes are too short to be compared
    notes = list(_remarks(session.answers))
    again = None
    if verdict.outcome == "pass" and not late:
        until_s = started_s + policy.timeout_s
        again = _again(session, prompts, windows, policy, on_progress, until_s=until_s, clock=clock)
    if again is not None:
        notes += _said_of(again, len(windows), policy, known=verdict.noise_floor is not None)
    if late:
        notes.append(f"stopped after {len(windows)} of {len(prompts)} prompts: timeout_s is {policy.timeout_s:g}")
    differing = differences(vars(baseline.conditions), vars(conditions)) if baseline else ()
    return GateResult(
        release=release,
        verdict=replace(verdict, notes=(*verdict.notes, *notes)),
        diagnosis=diagnose(
            verdict.window,
            verdict.baseline_window,
            host=host,
            method=method,
            differing=differing,
            flags=flags,
            reverts=True,
        ),
        conditions=conditions,
        windows=tuple(windows),
        probes=tuple(probes),
        elapsed_s=clock() - started_s,
        again=again,
    )


def _again(
    session: Session[P],
    prompts: Sequence[P],
    windows: Sequence[PromptWindow],
    policy: Gate,
    on_progress: Callable[[Progress], None],
    *,
    until_s: float,
    clock: Callable[[], float],
) -> Comparison | None:
    """Prompts from all over the set once more, against their first time; None where set or time are too small."""
    count = min(_MOST_REPEATED, len(windows) // _REPEATED)
    if count < ENOUGH_PROMPTS:
        return None
    repeated: list[PromptWindow] = []
    for i in range(count):
        if clock() > until_s:
            return None
        repeated.append(session.measure(prompts[i * len(windows) // count], policy.max_tokens))
        window = pool(prompt.window for prompt in repeated)
        on_progress(Progress("again", i + 1, count, window.rounds, window.acceptance_length))
    now, first = ([prompt for prompt in side if not prompt.mixed] for side in (repeated, windows))
    return paired(now, first, policy.confidence)


def _said_of(again: Comparison, prompts: int, policy: Gate, *, known: bool) -> Iterator[str]:
    """known: the verdict names a noise floor already."""
    change = f"{again.prompts} prompts asked once more: {100 * again.relative:+.1f} %"
    if again.relative < -policy.max_drop and again.p_value < 1 - policy.confidence:
        yield f"{change}: this server gets worse while it runs (invoke watch goes on looking)"
    elif not known:
        floor = noise_floor(again, prompts)
        yield f"{change}; two runs of all {prompts} may differ by {100 * floor:.1f} % (noise floor)"


def _remarks(answers: Sequence[Completion]) -> Iterator[str]:
    """What is odd about the texts. Acceptance cannot see a broken text, and a text cannot be a verdict: notes."""
    empty = sum(1 for answer in answers if answer.completion_tokens and not answer.text.strip())
    loops = sum(1 for answer in answers if _LOOP.search(answer.text[-400:]))
    if empty:
        yield f"{empty} of {len(answers)} answers had tokens and no text (still thinking, or a wrong chat template)"
    if loops:
        yield f"{loops} of {len(answers)} answers end in a repetition"
