"""The verbs: `invoke VERB --host NAME`. Flags are parsed here; playbooks do the work and say what came of it.

Each verb loads its own playbook only: what it imports is part of the time that every command takes.
"""

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from invoke import Collection, Context, Exit, Task, task

from playbooks.several import TakesSeveral, words_after

if TYPE_CHECKING:
    from playbooks.outcome import Outcome
    from playbooks.site import Site

# Invoke switches bytecode off; then every command would compile again all that it imports, which takes seconds.
sys.dont_write_bytecode = bool(sys.flags.dont_write_bytecode)

COMMON = {
    "host": "a host or a group of the inventory; may be given several times",
    "inventory": "inventory file (default: inventory/hosts.yml, or the practice ground's)",
    "json": "print facts as JSON on stdout",
}


def _run(
    verb: str,
    action: "Callable[[Site], Outcome]",
    host: list[str],
    inventory: str | None,
    json: bool,
    *,
    stop_at_failure: bool = True,
) -> None:
    from playbooks.cli import run_verb

    code = run_verb(verb, action, hosts=host, inventory=inventory, as_json=json, stop_at_failure=stop_at_failure)
    if code:
        raise Exit(code=code)


def _verb(**options: Any) -> Callable[[Callable[..., None]], Task[Any]]:
    """A task whose Ctrl-C is told and ends with 130 also in the first second, while its playbook is being loaded."""

    def made(body: Callable[..., None]) -> Task[Any]:
        @functools.wraps(body)
        def run(*words: Any, **flags: Any) -> None:
            try:
                body(*words, **flags)
            except KeyboardInterrupt:
                sys.stderr.write(f"{options.get('name', body.__name__)}: interrupted\n")
                raise Exit(code=130) from None

        # Short flags would be given out by order: -i one thing here and another there, and -h no help.
        made_of: Task[Any] = task(**{"auto_shortflags": False, **options})(run)
        return made_of

    return made


CHANGES = {
    "tokens": "speculative tokens a round, instead of the inventory's; 0 switches speculation off",
    "drafter-config": "JSON file merged over the drafter's config.json",
    "allow-drafter-errors": "deploy although the drafter check found errors; the gate still decides",
    "update": "follow a pull request or branch that has moved on",
    "adopt": "take over a container that specrail did not make",
}


@_verb(
    iterable=["host"],
    help={
        **COMMON,
        **CHANGES,
        "dry-run": "say what would be done; change nothing",
        "inconclusive": "keep or revert, instead of the inventory's gate.inconclusive",
    },
)
def deploy(
    _: Context,
    host: list[str],
    tokens: str | None = None,
    drafter_config: str | None = None,
    allow_drafter_errors: bool = False,
    update: bool = False,
    adopt: bool = False,
    inconclusive: str | None = None,
    dry_run: bool = False,
    inventory: str | None = None,
    json: bool = False,
) -> None:
    """Bring a host to what the inventory says; only what passes the acceptance gate stays in service.

    Examples:
      invoke deploy --host ct129
      invoke deploy --host ct129 --tokens 5
      invoke deploy --host ct129 --dry-run --json

    Exit code 0 done, 1 failed, 2 wrong usage, 3 gate failed and reverted, 4 inconclusive, 5 locked, 6 unreachable.
    """
    from playbooks import deploy as playbook

    options = playbook.Options(
        tokens=tokens,
        drafter_config=drafter_config,
        allow_drafter_errors=allow_drafter_errors,
        update=update,
        adopt=adopt,
        inconclusive=inconclusive,
        dry_run=dry_run,
    )
    _run("plan" if dry_run else "deploy", lambda site: playbook.run(site, options), host, inventory, json)


@_verb(iterable=["host"], help={**COMMON, **CHANGES})
def plan(
    _: Context,
    host: list[str],
    tokens: str | None = None,
    drafter_config: str | None = None,
    allow_drafter_errors: bool = False,
    update: bool = False,
    adopt: bool = False,
    inventory: str | None = None,
    json: bool = False,
) -> None:
    """Say what a deploy would do, with every check; changes nothing (the same as deploy --dry-run).

    Example: invoke plan --host ct129
    """
    from playbooks import deploy as playbook

    options = playbook.Options(
        tokens=tokens,
        drafter_config=drafter_config,
        allow_drafter_errors=allow_drafter_errors,
        update=update,
        adopt=adopt,
        dry_run=True,
    )
    _run("plan", lambda site: playbook.run(site, options), host, inventory, json, stop_at_failure=False)


@_verb(
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
        "source": "specrail (default), or vllm: the host's own `vllm bench serve`",
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
    _run("bench", lambda site: playbook.run(site, options), host, inventory, json)


@_verb(
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


@_verb(
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


@_verb(
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


@_verb(
    iterable=["host"],
    help={
        **COMMON,
        "from": "JSON list of points that were measured, instead of a host: only arithmetic",
        "apply": "write the best into the inventory and deploy it",
        "measure-all": "measure every number of tokens, and show predicted against measured",
        "per-batch-size": "find vLLM's table of tokens by batch size (0.24 and later); with --apply: prove and keep it",
        "prompts": "how many prompts, or a JSONL file of your own",
        "concurrency": "requests at a time, or several: 1,8,32",
        "max-tokens": "per prompt",
    },
)
def tune(
    _: Context,
    host: list[str],
    from_: str | None = None,
    apply: bool = False,
    measure_all: bool = False,
    per_batch_size: bool = False,
    prompts: str | None = None,
    concurrency: str | None = None,
    max_tokens: str | None = None,
    inventory: str | None = None,
    json: bool = False,
) -> None:
    """Find the number of speculative tokens that gives the most tok/s, with at most three server starts.

    Measures what serves, predicts the speed at every number of tokens, and proves the best by measuring it. Its servers
    are on trial: it ends on the release that was there, or with --apply on the best, also when it is broken off.
    --from FILE takes a JSON list of points instead, with the keys speculative_tokens, tok_s, rounds, accepted, drafted,
    per_position_rates, concurrency, class: those that are known.

    Examples:
      invoke tune --host ct129 --apply
      invoke tune --host ct129 --concurrency 1,8,32 --per-batch-size --apply
      invoke tune --from points.json --json
    """
    if from_ is not None:
        from playbooks.tune_file import from_file

        if code := from_file(from_, as_json=json):
            raise Exit(code=code)
        return
    from playbooks import tune as playbook

    options = playbook.Options(
        apply=apply,
        measure_all=measure_all,
        per_batch_size=per_batch_size,
        prompts=prompts,
        concurrency=concurrency,
        max_tokens=max_tokens,
    )
    _run("tune", lambda site: playbook.run(site, options), host, inventory, json)


@_verb(iterable=["host"], help={**COMMON, "to": "release to go to (default: the last one before that passed its gate)"})
def rollback(
    _: Context, host: list[str], to: str | None = None, inventory: str | None = None, json: bool = False
) -> None:
    """Go back to the release before that passed its gate, and verify it as a deploy is verified.

    Example: invoke rollback --host ct129
    """
    from playbooks import rollback as playbook

    _run("rollback", lambda site: playbook.run(site, to), host, inventory, json)


@_verb(iterable=["host"], help=COMMON)
def status(_: Context, host: list[str], inventory: str | None = None, json: bool = False) -> None:
    """Say what runs, what is promoted, whether it answers, and who is at work.

    Example: invoke status --host ct129
    """
    from playbooks import status as playbook

    _run("status", playbook.run, host, inventory, json, stop_at_failure=False)


@_verb(iterable=["host"], help=COMMON)
def releases(_: Context, host: list[str], inventory: str | None = None, json: bool = False) -> None:
    """List the releases on a host with what their gates said.

    Example: invoke releases --host ct129
    """
    from playbooks import releases as playbook

    _run("releases", playbook.run, host, inventory, json, stop_at_failure=False)


@_verb(iterable=["host"], help=COMMON)
def health(_: Context, host: list[str], inventory: str | None = None, json: bool = False) -> None:
    """Ask the server for its models and for one real completion: /health alone says too little.

    Example: invoke health --host ct129
    """
    from playbooks import health as playbook

    _run("health", playbook.run, host, inventory, json, stop_at_failure=False)


@_verb(
    iterable=["host"],
    help={
        **COMMON,
        "lines": "how many of the last lines (default: 50)",
        "follow": "go on until Ctrl-C",
        "f": "the same as --follow",
        "operation": "the audit's lines of one operation instead",
    },
)
def logs(
    _: Context,
    host: list[str],
    lines: str | None = None,
    follow: bool = False,
    operation: str | None = None,
    inventory: str | None = None,
    json: bool = False,
    f: bool = False,
) -> None:
    """Print the end of the engine's log.

    Example: invoke logs --host ct129 -f
    """
    from playbooks import logs as playbook

    options = playbook.Options(lines=lines, follow=follow or f, operation=operation, as_json=json)
    _run("logs", lambda site: playbook.run(site, options), host, inventory, json)


@_verb(
    klass=TakesSeveral,
    iterable=["host"],
    help={
        **COMMON,
        "log": "log files of one server, oldest first, plain or gzip; - is stdin; needs no inventory",
        "compare": "two of: a log, a gate.json, a number of `invoke history`, a release (with --host); before first",
        "since": "only the last hours (2h, 1d), or from a time on the log's clock (05-09 12:00)",
        "seconds": "count the server's own counters for so long, instead of reading its log",
    },
)
def acceptance(
    _: Context,
    host: list[str],
    log: list[str] | None = None,
    compare: list[str] | None = None,
    since: str | None = None,
    seconds: str | None = None,
    inventory: str | None = None,
    json: bool = False,
) -> None:
    """Say whether drafts are accepted: from any engine's log, from a host's log (read there), or from its counters.

    Examples:
      invoke acceptance --log serve.log
      journalctl -u vllm | invoke acceptance --log -
      invoke acceptance --host ct129 --since 2h
      invoke acceptance --compare before.log after.log
      invoke acceptance --compare 11 14

    Exit code 0 pass, 1 fail, 2 wrong usage, 4 inconclusive.
    """
    from playbooks import acceptance as playbook

    options = playbook.Options(since=since, seconds=seconds, compare=tuple(compare or ()))
    if host:
        _run("acceptance", lambda site: playbook.run(site, options), host, inventory, json, stop_at_failure=False)
    elif code := playbook.run_files(log or [], options, as_json=json):
        raise Exit(code=code)


@_verb(
    iterable=["host"],
    help={
        **COMMON,
        "once": "look once and end, for cron: 0 all well, 1 an alarm goes on, 6 unreachable, 4 nothing can be said",
        "interval": "seconds between two looks (30)",
        "textfile": "write Prometheus metrics of all hosts there (node_exporter's textfile collector)",
    },
)
def watch(
    _: Context,
    host: list[str],
    once: bool = False,
    interval: str | None = None,
    textfile: str | None = None,
    inventory: str | None = None,
    json: bool = False,
) -> None:
    """Follow hosts' acceptance and say each event once a host: an alarm when it begins, and when it is over.

    A host that cannot be reached and a server that does not answer are events too. Without --once it goes on until
    Ctrl-C, and --json prints an object an event.

    Examples:
      invoke watch --host ct129 --host ct130
      */5 * * * *  cd /opt/specrail && ./run invoke watch --host GROUP --once --textfile /var/lib/metrics/specrail.prom
    """
    from playbooks import watch as playbook

    options = playbook.Options(once=once, interval=interval, textfile=textfile)
    if code := playbook.run(host, inventory, options, as_json=json):
        raise Exit(code=code)


@_verb(
    iterable=["host"],
    help={
        **COMMON,
        "all": "of every host, also of those that only imported files name",
        "last": "how many of the latest measurements (200)",
        "html": "write a page for a browser there",
    },
)
def history(
    _: Context,
    host: list[str],
    all_: bool = False,
    last: str | None = None,
    html: str | None = None,
    inventory: str | None = None,
    json: bool = False,
) -> None:
    """Show what was measured of a host before: acceptance length over time, gates with their verdicts.

    The first column is the number that bench.compare takes.

    Examples:
      invoke history --host ct129 --html ct129.html
      invoke history --all
    """
    from playbooks import history as playbook

    options = playbook.Options(last=last, html=html)
    if all_:
        if code := playbook.run_all(options, as_json=json):
            raise Exit(code=code)
        return
    _run("history", lambda site: playbook.run(site, options), host, inventory, json, stop_at_failure=False)


@_verb(iterable=["host"], help={**COMMON, "yes": "do not ask"})
def destroy(_: Context, host: list[str], yes: bool = False, inventory: str | None = None, json: bool = False) -> None:
    """Destroy a host's container and all that is in it. Asks first.

    Example: invoke destroy --host ct129
    """
    from playbooks import destroy as playbook

    _run("destroy", lambda site: playbook.run(site, yes=yes), host, inventory, json)


def _has_path(*verbs: str, switches: set[str]) -> bool:
    """Whether a word stands there: `invoke drafter --host ct129` would else be told to give a PATH."""
    return words_after(set(verbs), switches, until=frozenset({"--host", "-h"})) > 0


FILES = {
    "target": "the target's folder or config.json",
    "tokenizer": "a folder with the target's tokenizer, where it is another",
    "tokens": "speculative tokens a round that will be asked",
    "repository": "where the weights come from (z-lab/Qwen3.6-27B-DFlash): known drafters are compared with the table",
    "revision": "the repository's commit",
}


@_verb(
    name="check",
    default=True,
    positional=["path"] if _has_path("drafter", "drafter.check", switches={"--json", "-j", "--sarif", "-s"}) else [],
    iterable=["host"],
    help={
        **COMMON,
        **FILES,
        "path": "a drafter's folder or config.json on this machine, instead of a host's",
        "engine": "version of the engine that will run it (0.33.0); of a host, what is built there",
        "launch": "JSON, or a file with it: what --speculative-config gets",
        "method": "dflash, eagle3, mtp ...; default: what the config says",
        "drafter-config": "JSON file instead of PATH's config, or merged over the host's",
        "sarif": "print findings as SARIF on stdout",
    },
)
def drafter_check(
    _: Context,
    host: list[str],
    path: str | None = None,
    target: str | None = None,
    engine: str | None = None,
    tokens: str | None = None,
    repository: str | None = None,
    revision: str | None = None,
    tokenizer: str | None = None,
    launch: str | None = None,
    method: str | None = None,
    drafter_config: str | None = None,
    inventory: str | None = None,
    json: bool = False,
    sarif: bool = False,
) -> None:
    """Check a drafter's config against its weights, its target and the engine, without a GPU; changes nothing.

    Examples:
      invoke drafter --host ct129
      invoke drafter models/Qwen3.6-27B-DFlash --target models/Qwen3.6-27B --engine 0.33.0 --tokens 15
      invoke drafter config.json --repository z-lab/Qwen3.6-27B-DFlash --json

    Exit code 0 without errors (warnings may be left), 1 with errors, 2 wrong usage.
    """
    from playbooks import drafter as playbook

    options = playbook.Options(
        path=path,
        target=target,
        tokenizer=tokenizer,
        launch=launch,
        method=method,
        engine=engine,
        tokens=tokens,
        drafter_config=drafter_config,
        repository=repository,
        revision=revision,
    )
    if code := playbook.run(host, inventory, options, as_json=json, as_sarif=sarif):
        raise Exit(code=code)


@_verb(
    name="infer",
    positional=["path"] if _has_path("drafter.infer", switches={"--json", "-j"}) else [],
    help={
        "path": "the drafter's folder, with its weights",
        "target": FILES["target"],
        "out": "file to write; without it the config goes to stdout",
        "tokenizer": FILES["tokenizer"],
        "drafter-config": "JSON file with what is known of the config; its values are kept",
        "repository": FILES["repository"],
        "revision": FILES["revision"],
        "json": COMMON["json"],
    },
)
def drafter_infer(
    _: Context,
    path: str | None = None,
    target: str | None = None,
    out: str | None = None,
    tokenizer: str | None = None,
    drafter_config: str | None = None,
    repository: str | None = None,
    revision: str | None = None,
    json: bool = False,
) -> None:
    """Make a config for a drafter that lacks one: what its weights and its target tell, and what they do not.

    Every value that was not read is marked in the config, under _specrail.

    Example: invoke drafter.infer models/drafter --target models/Qwen3.6-27B --out config.json
    """
    from playbooks import drafter_infer as playbook

    options = playbook.Options(
        path=path,
        target=target,
        out=out,
        tokenizer=tokenizer,
        drafter_config=drafter_config,
        repository=repository,
        revision=revision,
    )
    if code := playbook.run(options, as_json=json):
        raise Exit(code=code)


@_verb(
    name="search",
    iterable=["host", "vary"],
    help={
        **COMMON,
        "vary": "FIELD=VALUE,VALUE or FIELD=VALUE;VALUE; may be given several times: every combination is a candidate",
        "tokens": CHANGES["tokens"],
        "rounds": "how many rounds a candidate may cost (default: 58)",
        "allow-drafter-errors": "search although the check found errors in other fields",
        "fresh": "forget what an interrupted search has measured",
        "dry-run": "say what it will cost; change nothing",
    },
)
def drafter_search(
    _: Context,
    host: list[str],
    vary: list[str],
    tokens: str | None = None,
    rounds: str | None = None,
    allow_drafter_errors: bool = False,
    fresh: bool = False,
    dry_run: bool = False,
    inventory: str | None = None,
    json: bool = False,
) -> None:
    """Try values for fields of a drafter's config that nobody knows, and keep what accepts most.

    A few rounds on each candidate, then the gate for the best one. Ends on that, or on the release before.
    An interrupted search goes on where it was when the same command is given again.

    Examples:
      invoke drafter.search --host ct129 --vary mask_token_id=248063,248064,248070
      invoke drafter.search --host ct129 --vary "target_layer_ids=[1,17,33,49,63];[1,16,31,46,61]" --dry-run
    """
    from playbooks import drafter_search as playbook

    options = playbook.Options(
        vary=tuple(vary),
        tokens=tokens,
        rounds=rounds,
        allow_drafter_errors=allow_drafter_errors,
        fresh=fresh,
        dry_run=dry_run,
    )
    _run("drafter.search", lambda site: playbook.run(site, options), host, inventory, json)


@_verb(name="show", iterable=["host"], help=COMMON)
def inventory_show(_: Context, host: list[str], inventory: str | None = None, json: bool = False) -> None:
    """Print what the inventory comes to for a host, and the file and line of every value. Secrets stay references.

    Example: invoke inventory.show --host ct129
    """
    from playbooks import inventory as playbook

    if code := playbook.show(host, inventory, as_json=json):
        raise Exit(code=code)


@_verb(name="schema")
def inventory_schema(_: Context) -> None:
    """Print the JSON Schema of the inventory file, for editors.

    Example: invoke inventory.schema > inventory/schema.json
    """
    from playbooks import inventory as playbook

    playbook.schema()


@_verb(name="check", help={"inventory": COMMON["inventory"], "json": COMMON["json"]})
def inventory_check(_: Context, inventory: str | None = None, json: bool = False) -> None:
    """Read the inventory and list everything that is wrong with it.

    Example: invoke inventory.check
    """
    from playbooks import inventory as playbook

    if code := playbook.check(inventory, as_json=json):
        raise Exit(code=code)


def _lab() -> Collection:
    from tests.lab.tasks import lab

    return lab


namespace = Collection(
    deploy, plan, tune, acceptance, watch, history, rollback, status, releases, health, logs, destroy
)
namespace.add_collection(Collection("bench", bench, bench_url, bench_compare, bench_import))
namespace.add_collection(Collection("drafter", drafter_check, drafter_infer, drafter_search))
namespace.add_collection(Collection("inventory", inventory_show, inventory_schema, inventory_check))
namespace.add_collection(_lab(), name="lab")
