"""The verbs: `invoke VERB --host NAME`. Flags are parsed here; playbooks do the work and say what came of it.

Each verb loads its own playbook only: what it imports is part of the time that every command takes.
"""

import sys

from invoke import Collection, Context, Exit

from playbooks.several import TakesSeveral
from playbooks.verbs import bench, drafter, inventory
from playbooks.verbs.verb import CHANGES, COMMON, run_on_hosts, verb

# Invoke switches bytecode off; then every command would compile again all that it imports, which takes seconds.
sys.dont_write_bytecode = bool(sys.flags.dont_write_bytecode)


@verb(
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
    run_on_hosts("plan" if dry_run else "deploy", lambda site: playbook.run(site, options), host, inventory, json)


@verb(iterable=["host"], help={**COMMON, **CHANGES})
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
    run_on_hosts("plan", lambda site: playbook.run(site, options), host, inventory, json, stop_at_failure=False)


@verb(
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

        beside = {
            "host": host,
            "apply": apply,
            "measure-all": measure_all,
            "per-batch-size": per_batch_size,
            "prompts": prompts,
            "concurrency": concurrency,
            "max-tokens": max_tokens,
        }
        if code := from_file(from_, as_json=json, beside=beside):
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
    run_on_hosts("tune", lambda site: playbook.run(site, options), host, inventory, json)


@verb(iterable=["host"], help={**COMMON, "to": "release to go to (default: the last one before that passed its gate)"})
def rollback(
    _: Context, host: list[str], to: str | None = None, inventory: str | None = None, json: bool = False
) -> None:
    """Go back to the release before that passed its gate, and verify it as a deploy is verified.

    Example: invoke rollback --host ct129
    """
    from playbooks import rollback as playbook

    run_on_hosts("rollback", lambda site: playbook.run(site, to), host, inventory, json)


@verb(iterable=["host"], help=COMMON)
def status(_: Context, host: list[str], inventory: str | None = None, json: bool = False) -> None:
    """Say what runs, what is promoted, whether it answers, and who is at work.

    Example: invoke status --host ct129
    """
    from playbooks import status as playbook

    run_on_hosts("status", playbook.run, host, inventory, json, stop_at_failure=False)


@verb(iterable=["host"], help=COMMON)
def releases(_: Context, host: list[str], inventory: str | None = None, json: bool = False) -> None:
    """List the releases on a host with what their gates said.

    Example: invoke releases --host ct129
    """
    from playbooks import releases as playbook

    run_on_hosts("releases", playbook.run, host, inventory, json, stop_at_failure=False)


@verb(iterable=["host"], help=COMMON)
def health(_: Context, host: list[str], inventory: str | None = None, json: bool = False) -> None:
    """Ask the server for its models and for one real completion: /health alone says too little.

    Example: invoke health --host ct129
    """
    from playbooks import health as playbook

    run_on_hosts("health", playbook.run, host, inventory, json, stop_at_failure=False)


@verb(
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
    run_on_hosts("logs", lambda site: playbook.run(site, options), host, inventory, json)


@verb(
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
        run_on_hosts(
            "acceptance", lambda site: playbook.run(site, options), host, inventory, json, stop_at_failure=False
        )
    elif code := playbook.run_files(log or [], options, as_json=json):
        raise Exit(code=code)


@verb(
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


@verb(
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
    run_on_hosts("history", lambda site: playbook.run(site, options), host, inventory, json, stop_at_failure=False)


@verb(iterable=["host"], help={**COMMON, "yes": "do not ask"})
def destroy(_: Context, host: list[str], yes: bool = False, inventory: str | None = None, json: bool = False) -> None:
    """Destroy a host's container and all that is in it. Asks first.

    Example: invoke destroy --host ct129
    """
    from playbooks import destroy as playbook

    run_on_hosts("destroy", lambda site: playbook.run(site, yes=yes), host, inventory, json)


def _lab() -> Collection:
    from tests.lab.tasks import lab

    return lab


namespace = Collection(
    deploy, plan, tune, acceptance, watch, history, rollback, status, releases, health, logs, destroy
)
for together in (bench, drafter, inventory):
    namespace.add_collection(together.verbs)
namespace.add_collection(_lab(), name="lab")
