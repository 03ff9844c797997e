"""The load client sent to a host: there it runs from what was sent alone."""

import sys
from pathlib import Path

import pytest

from inventory.errors import ServerError
from roles.load.aboard import load_from_host, modules
from roles.load.arrivals import Arrivals
from roles.load.endpoint import Endpoint
from roles.load.on_host import Asked
from roles.load.prompts import Prompt
from roles.load.result import Progress
from tests.local_shell import LocalShell
from tests.unit.load.engine import METRICS, WORDS, Engine


def asked(endpoint: Endpoint, arrivals: Arrivals | None = None) -> Asked:
    prompts = tuple(Prompt.user(f"prompt {number}", name=f"p{number}") for number in range(4))
    return Asked(endpoint, prompts, 5, 2, arrivals, 1, 0.0, 3, 60.0, {"top_k": 1})


@pytest.mark.parametrize("arrivals", [None, Arrivals(200, float("inf"))], ids=["closed", "open"])
def test_the_result_comes_back_whole(engine: Engine, endpoint: Endpoint, arrivals: Arrivals | None) -> None:
    seen: list[Progress] = []
    with_key = Endpoint(endpoint.base_url, endpoint.model, "se-cret")
    shell = LocalShell()
    result = load_from_host(shell, sys.executable, asked(with_key, arrivals), seen.append)
    assert [sample.prompt.id for sample in result.samples] == ["p0", "p1", "p2", "p3"]
    assert {sample.completion.text for sample in result.samples} == {"".join(WORDS)}
    assert all(len(sample.completion.arrivals_s) == len(WORDS) for sample in result.samples)
    assert (result.arrivals, result.seed, result.extra_body) == (arrivals, 3, {"top_k": 1})
    assert result.counters_before == result.counters_after == METRICS
    assert seen[0].warming_up
    assert seen[-1].done == 4
    assert len(engine.requests) == 5
    assert engine.headers[-1]["Authorization"] == "Bearer se-cret"
    assert not any("se-cret" in script for script in shell.scripts)


def test_only_what_the_client_imports_goes_there() -> None:
    sent = modules("roles.load.on_host")
    assert {"roles/load/run.py", "roles/load/__init__.py", "roles/__init__.py", "inventory/errors.py"} <= sent.keys()
    assert not [name for name in sent if name.startswith(("playbooks", "templates", "roles/acceptance"))]
    third_party = {"aiohttp", "numpy", "pydantic", "pydantic_core"}
    for name, source in sent.items():
        for line in source.splitlines():
            if line.startswith(("import ", "from ")):
                top = line.split()[1].partition(".")[0]
                known = top in sys.stdlib_module_names or top in third_party or top in {"roles", "inventory"}
                assert known, f"{name}: {line}"


def test_a_python_that_lacks_a_package_is_told_with_the_other_way(endpoint: Endpoint, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nshift\nexec {sys.executable} -I -S "$@"\n')  # -S: without site-packages
    bare.chmod(0o755)
    with pytest.raises(ServerError, match="No module named") as refused:
        load_from_host(LocalShell(), str(bare), asked(endpoint))
    assert refused.value.tries == ("--from controller",)


def test_a_host_without_that_python_is_told(endpoint: Endpoint) -> None:
    with pytest.raises(ServerError, match="did not run on the host"):
        load_from_host(LocalShell(), "/no/such/python", asked(endpoint))
