"""invoke bench on the practice ground: several concurrencies, and the files that it writes."""

import json
from functools import partial
from pathlib import Path

import pytest

from playbooks import bench, deploy
from playbooks.cli import run_verb
from tests.lab.ground import Lab


def test_a_sweep_writes_its_report_and_every_request(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.reset()
    monkeypatch.setenv("SPECRAIL_STATE", str(tmp_path / "state"))
    run = partial(run_verb, hosts=["ct129"], inventory=str(lab.inventory), as_json=True)
    assert run("deploy", lambda site: deploy.run(site, deploy.Options(tokens="5"))) == 0
    capsys.readouterr()
    saved, page = tmp_path / "runs.csv", tmp_path / "report.html"
    options = bench.Options(prompts="10", sweep="1,4,2", save=str(saved), html=str(page))
    assert run("bench", lambda site: bench.run(site, options)) == 0
    answer = json.loads(capsys.readouterr().out)["hosts"][0]
    assert [run["conditions"]["concurrency"] for run in answer["runs"]] == [1, 2, 4]
    speeds = [run["summary"]["total_tok_s"] for run in answer["runs"]]
    assert speeds[2] > 1.5 * speeds[0]
    assert all("preemptions" in run["engine"] for run in answer["runs"])
    assert len(saved.read_text().splitlines()) == 31
    assert "Output over the load" in page.read_text()


@pytest.mark.parametrize("options", [bench.Options(save="runs.xls"), bench.Options(sweep="1,two")])
def test_flags_that_mean_nothing_are_wrong_usage(
    options: bench.Options, lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run_verb(
        "bench", lambda site: bench.run(site, options), hosts=["ct129"], inventory=str(lab.inventory), as_json=False
    )
    assert code == 2
    assert "--s" in capsys.readouterr().err
