"""`invoke drafter` and `drafter.*`: configs checked, inferred, and searched for."""

from invoke import Collection, Context, Exit

from playbooks.several import words_after
from playbooks.verbs.verb import CHANGES, COMMON, run_on_hosts, verb


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


@verb(
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


@verb(
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


@verb(
    name="search",
    iterable=["host", "vary"],
    help={
        **COMMON,
        "vary": "FIELD=VALUE,VALUE or FIELD=VALUE;VALUE; may be given several times: every combination is a candidate",
        "tokens": CHANGES["tokens"],
        "rounds": "how many rounds a candidate may cost (default: 58)",
        "allow-drafter-errors": "search although the check found errors in other fields, or does not know a field",
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

    A few rounds on each candidate, then the gate for the best one. Ends on that, or on the release before: also where
    several cannot be told apart (exit code 4). Fields that no engine reads and values of a wrong type are refused (2).
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
    run_on_hosts("drafter.search", lambda site: playbook.run(site, options), host, inventory, json)


verbs = Collection("drafter", drafter_check, drafter_infer, drafter_search)
