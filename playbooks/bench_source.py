"""Makes a bench's load: from here, from the host itself, or with the host's own `vllm bench serve`."""

from collections.abc import Callable
from dataclasses import replace

from inventory.errors import ServerError
from playbooks.bench_work import Work
from playbooks.meanwhile import again_and_again
from playbooks.site import Site
from roles.acceptance.counters import delta, read
from roles.acceptance.window import Window
from roles.load.aboard import load_from_host
from roles.load.client import get
from roles.load.endpoint import Endpoint
from roles.load.engine_state import Gauges, gauges, while_busy
from roles.load.on_host import Asked
from roles.load.prompts import digest
from roles.load.result import LoadResult, Progress
from roles.load.run import run_load
from roles.load.vllm_bench import VllmBench, load_with_vllm
from roles.release.manifest import Manifest

Tell = Callable[[Progress], None]

_WAYS = {
    "tunnel": "the way there and ssh's own work are in every latency (--from host leaves them out)",
    "direct": "the way there is in every latency, as it is for your users (--from host leaves it out)",
}
_LOOPBACK = "no network is in the latencies, and the client shares the engine's CPUs"


def make_load(site: Site, endpoint: Endpoint, work: Work, manifest: Manifest, tell: Tell) -> LoadResult:
    """Send what `work` says to the running server. Raises ServerError when the host cannot make the load.

    endpoint: the server as it is reached from here
    """
    if work.place == "controller":
        return load_from_here(endpoint, work, tell)
    if manifest.venv is None:
        raise ServerError("the release names no venv whose Python could make load", tries=["--from controller"])
    venv = f"{site.layout.venvs}/{manifest.venv}"
    if work.source == "vllm":
        return _with_vllm(site, endpoint, work, manifest, venv)
    result = load_from_host(
        site.shell,
        f"{venv}/bin/python",
        Asked(
            endpoint=_on_host(site, manifest),
            prompts=tuple(work.prompts),
            max_tokens=work.max_tokens,
            concurrency=work.concurrency,
            arrivals=work.arrivals,
            warmup=work.warmup,
            temperature=work.temperature,
            seed=work.seed,
            deadline_s=work.deadline_s,
            extra_body=work.extra_body,
        ),
        tell,
    )
    return replace(result, prompts=digest(work.prompts))  # there the set has no name


def where_from(site: Site, work: Work) -> str:
    """Where load comes from, and why that matters, in words."""
    if work.place == "controller":
        reach = site.host.server.reach
        through = "through ssh" if reach == "tunnel" else "to the host's address"
        return f"from this machine {through}: {_WAYS[reach]}"
    tool = "`vllm bench serve` on the host" if work.source == "vllm" else "the host itself"
    return f"from {tool}, over loopback: {_LOOPBACK}"


def load_from_here(endpoint: Endpoint, work: Work, tell: Tell) -> LoadResult:
    """Send what `work` says from this machine."""
    return run_load(
        endpoint,
        work.prompts,
        max_tokens=work.max_tokens,
        concurrency=work.concurrency,
        arrivals=work.arrivals,
        warmup=work.warmup,
        temperature=work.temperature,
        seed=work.seed,
        deadline_s=work.deadline_s,
        extra_body=work.extra_body,
        on_progress=tell,
        scrape=lambda: get(endpoint, "/metrics")[1],
    )


def _with_vllm(site: Site, endpoint: Endpoint, work: Work, manifest: Manifest, venv: str) -> LoadResult:
    local = _on_host(site, manifest)
    asked = VllmBench(
        vllm=f"{venv}/bin/vllm",
        model=manifest.model.get("path") or local.model,
        served_name=local.model,
        base_url=local.base_url,
        prompts=work.prompts,
        max_tokens=work.max_tokens,
        concurrency=work.concurrency,
        arrivals=work.arrivals,
        temperature=work.temperature,
        seed=work.seed,
        extra_body=work.extra_body,
    )
    # No prompts: only the warm-up and a reading. The tool's own requests before its span are off by default.
    before = run_load(
        endpoint,
        [],
        max_tokens=work.max_tokens,
        warmup=work.warmup,
        extra_body=work.extra_body,
        scrape=lambda: get(endpoint, "/metrics")[1],
    )
    seen: list[Gauges] = []
    look = again_and_again(lambda: seen.append(gauges(get(endpoint, "/metrics")[1])), first_s=1, every_s=1)
    with look:
        result = load_with_vllm(site.shell, asked, api_key=local.api_key, deadline_s=work.deadline_s)
    return replace(
        result,
        counters_before=before.counters_after,
        counters_after=get(endpoint, "/metrics")[1],
        gauges=while_busy(seen),  # the tool takes its time to start, and to end
    )


def _on_host(site: Site, manifest: Manifest) -> Endpoint:
    key = site.server_secrets.get("VLLM_API_KEY")
    return Endpoint(f"http://127.0.0.1:{manifest.port}", site.host.model.served_name, key)


def window_of(result: LoadResult) -> Window:
    """What vLLM's counters grew by over the run."""
    if result.counters_before is None or result.counters_after is None:
        return Window(doubts=("the server's counters could not be read",))
    return delta(read(result.counters_before), read(result.counters_after))
