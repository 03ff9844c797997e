"""The HTML report: complete in itself, and honest about differences. tests/browser looks at it."""

from dataclasses import replace
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from roles.load.by_prompt import by_prompt
from roles.load.charts import Series, bar_chart, distribution, line_chart
from roles.load.history import Run
from roles.load.report import as_csv, report
from tests.unit.load.test_compare import AFTER, BEFORE, with_conditions
from tests.unit.load.test_noise import requests


def _runs() -> list[Run]:
    def with_requests(run: Run, seed: int, factor: float) -> Run:
        summary = {
            **(run.summary or {}),
            "requests": requests(factor, jitter=0.1, seed=seed),
            "stream_tok_s": 40 / factor,
        }
        return replace(run, summary=summary)

    return [with_requests(BEFORE, 2, 1), with_requests(with_conditions(AFTER, engine="vllm 0.34.0"), 3, 0.7)]


class _Tags(HTMLParser):
    """Checks that every tag that is opened is closed, and collects what the page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.count: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        self.loads += [value for name, value in attrs if name in {"src", "href"} and value]
        if tag not in {"meta", "link"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _read(page: str) -> _Tags:
    tags = _Tags()
    tags.feed(page)
    assert tags.open == []
    return tags


def test_it_needs_nothing_but_itself() -> None:
    page = report(_runs(), title="two runs")
    tags = _read(page)
    assert tags.loads == ["data:,"]
    assert "script" not in tags.count
    assert page.count('<svg class="chart"') == 5


def test_conditions_that_differ_are_marked_and_changes_told() -> None:
    page = report(_runs(), title="two runs")
    assert "engine (differs)" in page
    assert "driver (differs)" not in page
    assert '<small class="better">better +4' in page


def test_runs_that_must_not_be_compared_are_not() -> None:
    page = report([BEFORE, with_conditions(AFTER, prompts="other@2")], title="t")
    assert "not comparable: other work: prompts" in page
    assert "%" not in page.partition("<h2>Numbers</h2>")[2].partition("<h2>Conditions")[0]


def test_three_concurrencies_are_a_line() -> None:
    runs = [with_conditions(replace(BEFORE, summary={"total_tok_s": 40.0 * c}), concurrency=c) for c in (1, 2, 4)]
    assert "Output over the load" in report(runs, title="sweep")


def test_prompts_are_told_one_by_one_the_most_changed_first() -> None:
    slow, fast = (
        replace(BEFORE, summary={"requests": [_request("a", 1.0), _request("b", seconds)]}) for seconds in (1.0, 0.5)
    )
    first, second = by_prompt([slow, fast])
    assert (first.prompt, first.tok_s, first.change) == ("b", (100.0, 200.0), 1.0)
    assert (second.prompt, second.change) == ("a", 0.0)
    assert by_prompt([slow, replace(fast, summary={})])[0].tok_s == (100.0, None)
    page = report([slow, fast], title="t")
    assert page.index(">b</th>") < page.index(">a</th>")
    assert "<td>+100.0 %</td>" in page
    assert "+100.0 %" not in report([slow, with_conditions(fast, prompts="others")], title="t")


def _request(prompt: str, latency_s: float) -> dict[str, object]:
    return {"prompt": prompt, "kind": "code", "tokens": 100, "latency_s": latency_s}


def test_the_csv_has_a_line_a_request() -> None:
    lines = as_csv(_runs()).splitlines()
    assert lines[0] == "release,concurrency,rate,k,prompt,kind,started_s,late_s,ttft_s,latency_s,tokens"
    assert len(lines) == 101
    assert lines[1].startswith("r1,1,,5,p0,")


@given(st.text(), st.text())
def test_any_name_stays_text(title: str, release: str) -> None:
    """Whatever a release or a title is called, the page has the same elements."""
    page = report([replace(BEFORE, release=release)], title=title)
    assert _read(page).count == _read(report([BEFORE], title="t")).count


@given(st.lists(st.floats(0, 1e6), max_size=900))
def test_a_distribution_rises_from_nothing_to_all_in_few_steps(values: list[float]) -> None:
    """For any values the line goes from (smallest, 0) to (largest, 1), never falls, and stays short."""
    points = distribution(values)
    assert len(points) <= 403
    assert points == sorted(points)
    if values:
        assert (points[0], points[-1]) == ((min(values), 0.0), (max(values), 1.0))
    if 0 < len(values) <= 200:
        assert {share for _, share in points} == {place / len(values) for place in range(len(values) + 1)}


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), max_size=20))
def test_any_points_make_a_chart_or_none(points: list[tuple[float, float]]) -> None:
    """For any numbers that can be measured a chart is well-formed and holds no nan."""
    for chart in (
        line_chart("t", [Series("a", points)], x="x", y="y"),
        bar_chart("t", [(str(x), y) for x, y in points], y="y"),
    ):
        assert "nan" not in chart
        _read(chart)
