"""What a bench is asked to do: its flags, and what they and the inventory come to."""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar, get_args

from inventory.errors import UsageError
from inventory.models import Bench
from inventory.models import Slo as WantedSlo
from playbooks.flags import positive_number, whole_number
from roles.load.arrivals import Arrivals
from roles.load.doubt import Doubt
from roles.load.own_prompts import load_own
from roles.load.prompts import PromptSet, load_prompts, set_names
from roles.load.slo import Slo
from roles.load.vllm_bench import sendable

Place = Literal["controller", "host"]
Source = Literal["specrail", "vllm"]
_One = TypeVar("_One", bound=str)


@dataclass(frozen=True)
class Options:
    """Flags; None leaves it to the inventory. prompts: a number, a set, or a file, which may end in ":N".

    save:  a file for the result, .json or .csv; html: one for the report
    sweep: concurrencies, "1,2,4,8"; rate: requests a second (open loop), or several, "0.5,1,2"
    """

    prompts: str | None = None
    concurrency: str | None = None
    max_tokens: str | None = None
    against: str = "last"
    save: str | None = None
    html: str | None = None
    sweep: str | None = None
    rate: str | None = None
    burstiness: str | None = None
    seed: str | None = None
    temperature: str | None = None
    thinking: str | None = None
    extra_body: str | None = None
    slo: str | None = None
    place: str | None = None
    source: str = "specrail"


@dataclass(frozen=True)
class Work:
    """One measurement: what is sent, how, and from where.

    arrivals: when requests are due (open loop); None sends `concurrency` at a time
    left_out: prompts that were asked for and that `source` cannot send
    """

    prompts: PromptSet
    max_tokens: int
    concurrency: int
    arrivals: Arrivals | None
    temperature: float
    seed: int | None
    extra_body: dict[str, object]
    slo: Slo | None
    warmup: int
    deadline_s: float
    place: Place
    source: Source
    left_out: int = 0

    @property
    def words(self) -> str:
        """How load is made, in a few words."""
        return f"{self.concurrency} at a time" if self.arrivals is None else str(self.arrivals)


def loads(options: Options) -> list[Options]:
    """The loads of a sweep over concurrencies or rates, rising; without one only the load itself. Raises UsageError."""
    if options.sweep is not None:
        if options.concurrency is not None or options.rate is not None:
            raise UsageError("--sweep goes neither with --concurrency nor with --rate")
        streams = sorted({whole_number("sweep", part.strip()) or 1 for part in options.sweep.split(",")})
        return [replace(options, concurrency=str(count)) for count in streams]
    if options.rate is not None and "," in options.rate:
        rates = sorted({positive_number("rate", part.strip()) or 0 for part in options.rate.split(",")})
        return [replace(options, rate=f"{rate:g}") for rate in rates]
    return [options]


def work_of(options: Options, bench: Bench) -> Work:
    """What the flags and the inventory come to. Raises UsageError."""
    source = _one_of("source", options.source, get_args(Source))
    place = _one_of("from", options.place or ("host" if source == "vllm" else "controller"), get_args(Place))
    if source == "vllm" and place != "host":
        raise UsageError("--source vllm runs on the host: there is no vLLM here", tries=["--from host"])
    if options.rate is not None and options.concurrency is not None:
        raise UsageError(
            "--rate and --concurrency do not go together",
            why=["At a rate requests are sent when they are due, however many are in flight."],
        )
    if options.burstiness is not None and options.rate is None:
        raise UsageError("--burstiness says how the requests of a --rate are spread", tries=["--rate 2"])
    prompts = _prompts(options.prompts, bench.prompts)
    concurrency = whole_number("concurrency", options.concurrency) or bench.concurrency
    arrivals = _arrivals(options)
    sent = sendable(prompts) if source == "vllm" else prompts
    return Work(
        prompts=sent,
        max_tokens=whole_number("max-tokens", options.max_tokens) or bench.max_tokens,
        concurrency=concurrency,
        arrivals=arrivals,
        temperature=positive_number("temperature", options.temperature, zero=True) or 0.0,
        seed=whole_number("seed", options.seed, least=0),
        extra_body=_extra_body(options),
        slo=Slo.parse(options.slo) if options.slo else _limits(bench.slo),
        # Kernels are compiled for a batch's size when it first comes: two alone left 0.4-1.2 s of that in eight's run.
        warmup=max(bench.warmup, concurrency) if bench.warmup and arrivals is None else bench.warmup,
        deadline_s=bench.timeout_s,
        place=place,
        source=source,
        left_out=len(prompts) - len(sent),
    )


def left_out(work: Work) -> list[Doubt]:
    """What is to be said about prompts that were not sent."""
    if not work.left_out:
        return []
    asked = len(work.prompts) + work.left_out
    message = (
        f"{work.left_out} of {asked} prompts were left out: vllm bench serve sends one message each, no conversations, "
        "and not raw prompts beside others (--source specrail sends all)"
    )
    return [Doubt("left-out", message, spoils=False)]


def _one_of(flag: str, value: str, allowed: tuple[_One, ...]) -> _One:
    for one in allowed:
        if value == one:
            return one
    raise UsageError(f"--{flag} is one of {', '.join(map(str, allowed))}, not {value!r}")


def _arrivals(options: Options) -> Arrivals | None:
    rate = positive_number("rate", options.rate)
    if rate is None:
        return None
    burstiness = math.inf if options.burstiness == "even" else positive_number("burstiness", options.burstiness)
    return Arrivals(rate, burstiness or 1.0, whole_number("seed", options.seed, least=0) or 0)


def _prompts(wanted: str | None, default: int) -> PromptSet:
    if wanted is None or wanted.isdigit():
        return load_prompts(limit=int(wanted) if wanted else default)
    name, _, count = wanted.rpartition(":")
    limit = int(count) if name and count.isdigit() and not Path(wanted).exists() else None
    name = wanted if limit is None else name
    return load_prompts(name, limit) if name in set_names() else load_own(name, limit)


def _extra_body(options: Options) -> dict[str, object]:
    body: dict[str, object] = {}
    if options.extra_body is not None:
        try:
            found = json.loads(options.extra_body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise UsageError(
                f"--extra-body wants a JSON object, not {options.extra_body!r}",
                tries=["""--extra-body '{"ignore_eos": true}'"""],
            )
        body |= found
    if options.thinking is not None:
        thinking = _one_of("thinking", options.thinking, ("on", "off")) == "on"
        template = body.get("chat_template_kwargs")
        body["chat_template_kwargs"] = {
            **(template if isinstance(template, dict) else {}),
            "enable_thinking": thinking,
        }
    return body


def _limits(wanted: WantedSlo | None) -> Slo | None:
    if wanted is None:
        return None
    return Slo(
        None if wanted.ttft_ms is None else wanted.ttft_ms / 1e3,
        None if wanted.tpot_ms is None else wanted.tpot_ms / 1e3,
        wanted.e2e_s,
    )
