"""`invoke bench` and `bench.*`: measure, and compare what was measured."""

from invoke import Collection, Context, Exit

from playbooks.several import TakesSeveral, words_after
from playbooks.verbs.verb import COMMON, run_on_hosts, verb


@verb(
    name="run",
    default=True,
    iterable=["host"],
    help={
        **COMMON,
        "prompts": "how many prompts, or a JSONL or ShareGPT file of your own; FILE:N takes N of it",
        "concurrency": "requests at a time; the next one goes when an answer is whole (closed loop)",
        "rate": "requests a second, sent when they are due whatever is in flight (open loop); 0.5,1,2 measures each",
        "burstiness": "with --rate: 1 is Poisson, less comes in bursts, more is more even, 'even' is a fixed gap",
        "max-tokens": "per prompt",
        "temperature": "0 unless you say otherwise",
        "seed": "of the sampling, and of the times of --rate",
        "thinking": "on or off: enable_thinking of the model's chat template",
        "extra-body": "JSON that is put into every request: '{\"ignore_eos\": true}'",
        "slo": "limits that make a request good: ttft:500ms,tpot:30ms,e2e:10s; goodput is reported",
        "from": "where load is made: controller (default), or host: over its loopback, with the release's own Python",
        "source": "specrail (default), or vllm: the host's `vllm bench serve`, which leaves conversations out",
        "against": "'last' (default), 'none', or as bench.compare: a run's number, a release, a file of results",
        "sweep": "concurrencies to measure one after the other: 1,2,4,8",
        "save": "write the result with every request to a .json or .csv file",
        "html": "write a report to this file: charts, numbers and conditions, beside the run it is compared with",
    },
)
def bench(
    _: Context,
    host: list[str],
    prompts: str | None = None,
    concurrency: str | None = None,
    rate: str | None = None,
    burstiness: str | None = None,
    max_tokens: str | None = None,
    temperature: str | None = None,
    seed: str | None = None,
    thinking: str | None = None,
    extra_body: str | None = None,
    slo: str | None = None,
    from_: str | None = None,
    source: str = "specrail",
    against: str = "last",
    sweep: str | None = None,
    save: str | None = None,
    html: str | None = None,
    inventory: str | None = None,
    json: bool = False,
) -> None:
    """Measure speed and acceptance, compare with the last run, keep the result.

    Examples:
      invoke bench --host ct129 --concurrency 8 --html report.html
      invoke bench --host ct129 --sweep 1,2,4,8
      invoke bench --host ct129 --rate 0.5,1,2 --slo ttft:500ms,tpot:30ms --from host
    """
    from playbooks import bench as playbook

    options = playbook.Options(
        prompts=prompts,
        concurrency=concurrency,
        max_tokens=max_tokens,
        against=against,
        sweep=sweep,
        save=save,
        html=html,
        rate=rate,
        burstiness=burstiness,
        seed=seed,
        temperature=temperature,
        thinking=thinking,
        extra_body=extra_body,
        slo=slo,
        place=from_,
        source=source,
    )
    run_on_hosts("bench", lambda site: playbook.run(site, options), host, inventory, json)


@verb(
    name="url",
    positional=["url"] if words_after({"bench.url"}, {"--json"}) else [],
    iterable=["set_"],
    help={
        "url": "the server's root: http://10.0.0.7:30000",
        "model": "which of its models (default: the first it lists)",
        "key": "its API key as a reference: env:NAME, file:PATH",
        "host": "what to call it in the history (default: the URL's host and port)",
        "set": "what it does not say of itself, NAME=VALUE: gpu=..., method=mtp, drafter=...; several times",
        "prompts": "how many prompts, or a file of your own",
        "concurrency": "requests at a time",
        "rate": "requests a second, sent when they are due",
        "max-tokens": "per prompt",
        "temperature": "0 unless you say otherwise",
        "thinking": "on or off",
        "extra-body": "JSON that is put into every request",
        "slo": "limits that make a request good: ttft:500ms,tpot:30ms,e2e:10s",
        "against": "'last' (default), 'none', or as bench.compare",
        "sweep": "concurrencies to measure one after the other: 1,2,4,8",
        "save": "write the result to a .json or .csv file",
        "html": "write a report to this file",
        "json": COMMON["json"],
    },
)
def bench_url(
    _: Context,
    url: str | None = None,
    model: str | None = None,
    key: str | None = None,
    host: str | None = None,
    set_: list[str] | None = None,
    prompts: str | None = None,
    concurrency: str | None = None,
    rate: str | None = None,
    max_tokens: str | None = None,
    temperature: str | None = None,
    thinking: str | None = None,
    extra_body: str | None = None,
    slo: str | None = None,
    against: str = "last",
    sweep: str | None = None,
    save: str | None = None,
    html: str | None = None,
    json: bool = False,
) -> None:
    """Measure a server that no inventory has, SGLang say, with the same client, prompts and history as a host.

    Examples:
      invoke bench.url http://10.0.0.7:30000 --set "gpu=2x NVIDIA RTX A6000"
      invoke bench.compare last-1 last --html engines.html
    """
    from playbooks import bench_url as playbook

    options = playbook.Options(
        prompts=prompts,
        concurrency=concurrency,
        max_tokens=max_tokens,
        against=against,
        sweep=sweep,
        save=save,
        html=html,
        rate=rate,
        temperature=temperature,
        thinking=thinking,
        extra_body=extra_body,
        slo=slo,
    )
    if code := playbook.run_url(url or "", options, model=model, key=key, host=host, told=set_ or [], as_json=json):
        raise Exit(code=code)


@verb(
    name="compare",
    klass=TakesSeveral,
    iterable=["runs"],
    help={
        "runs": "numbers of `invoke history`, last, last-1, release ids, files of results (FILE#2: the second in it)",
        "host": "whose runs `last` and releases are (default: any host's)",
        "html": "write a report to this file",
        "json": COMMON["json"],
    },
)
def bench_compare(
    _: Context, runs: list[str], host: str | None = None, html: str | None = None, json: bool = False
) -> None:
    """Put two or more measurements side by side: numbers, what differs, and whether they may be compared. Asks no host.

    Files: what `bench --save` wrote, vllm bench serve, GuideLLM, AIPerf, SGLang's bench_serving.

    Examples:
      invoke bench.compare last-1 last
      invoke bench.compare 12 15 sglang.jsonl --html report.html
    """
    from playbooks import bench_compare as playbook

    if code := playbook.compare(runs or [], host=host, html=html, as_json=json):
        raise Exit(code=code)


@verb(
    name="import",
    klass=TakesSeveral,
    iterable=["files", "set_"],
    help={
        "files": "result files of vllm bench serve, GuideLLM, AIPerf, SGLang's bench_serving, or bench --save",
        "host": "where they were measured (default: elsewhere)",
        "set": 'what they do not say, NAME=VALUE: "engine=sglang 0.5.23", k=3, temperature=0; several times',
        "json": COMMON["json"],
    },
)
def bench_import(
    _: Context, files: list[str], host: str = "elsewhere", set_: list[str] | None = None, json: bool = False
) -> None:
    """Take result files into the history, where bench.compare, bench --against and history find them.

    Examples:
      invoke bench.import result.json --host ct129
      invoke bench.import sglang.jsonl --host other --set temperature=0 --set "gpu=2x NVIDIA RTX A6000"
    """
    from playbooks import bench_compare as playbook

    if code := playbook.take_in(files or [], host=host, conditions=set_ or [], as_json=json):
        raise Exit(code=code)


verbs = Collection("bench", bench, bench_url, bench_compare, bench_import)
