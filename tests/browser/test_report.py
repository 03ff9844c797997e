"""The report in a real browser: on a desk, on a phone, in the dark and on paper."""

import zlib
from dataclasses import replace
from re import DOTALL, findall

import pytest

from roles.load.history import Run
from roles.load.history_table import history_page
from roles.load.report import report
from tests.browser.chromium import Look, Seen, look_at
from tests.unit.load.test_compare import with_conditions
from tests.unit.load.test_noise import requests
from tests.unit.load.test_side_by_side import SGLANG, VLLM, at_load

LOOKS = {
    "desk": Look(),
    "dark": Look(dark=True),
    "phone": Look(390, 844, phone=True),
    "small phone": Look(320, 640, phone=True),
    "paper": Look(794, 1123, media="print"),
}

MEASURE = """(() => {
  document.querySelectorAll('details').forEach(one => one.open = true);
  const box = element => element.getBoundingClientRect();
  const colour = element => getComputedStyle(element).color.match(/\\d+/g).slice(0, 3).map(Number);
  const texts = [...document.querySelectorAll('svg.chart text')];
  const crossing = texts.filter(a => texts.some(b => a !== b && a.closest('svg') === b.closest('svg')
    && box(a).left < box(b).right - 1 && box(b).left < box(a).right - 1
    && box(a).top < box(b).bottom - 2 && box(b).top < box(a).bottom - 2));
  return {
    page: document.documentElement.scrollWidth, window: document.documentElement.clientWidth,
    charts: [...document.querySelectorAll('svg.chart')].map(one => [box(one).width, box(one).height]),
    drawn: [...document.querySelectorAll('svg.chart polyline, svg.chart rect')].filter(
      one => Math.max(box(one).width, box(one).height) > 5).length,
    shapes: document.querySelectorAll('svg.chart polyline, svg.chart rect').length,
    smallest: Math.min(...texts.map(one => box(one).height)),
    crossing: crossing.map(one => one.textContent),
    outside: texts.filter(one => box(one).left < box(one.closest('svg')).left - 1
      || box(one).right > box(one.closest('svg')).right + 1).map(one => one.textContent),
    text: colour(document.body),
    ground: getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number),
  };
})()"""


def _with_requests(run: Run, seed: int, factor: float) -> Run:
    return replace(run, summary={**(run.summary or {}), "requests": requests(factor, jitter=0.1, seed=seed)})


def _two_engines() -> list[Run]:
    long = "vllm 0.20.1.dev1+pr40898.a.very.long.version@2dc6f5a3d184"
    doubt = {"kind": "text", "message": "7 of 50 answers are no text", "spoils": False}
    first = replace(with_conditions(VLLM, engine=long, model="/mnt/models/Qwen3.6-27B@1f2e3d4c"), doubts=(doubt,))
    return [_with_requests(first, 2, 1), _with_requests(with_conditions(SGLANG, model="Qwen3.6-27B"), 3, 0.8)]


def _sweep() -> list[Run]:
    tpot = {1: 0.0163, 2: 0.017, 4: 0.02, 8: 0.027}
    return [
        replace(at_load(VLLM, streams), summary={"total_tok_s": 40.0 * streams, "tpot_s": {"mean": tpot[streams]}})
        for streams in tpot
    ]


def _measured() -> list[Run]:
    gates = [replace(VLLM, kind="gate", verdict=verdict, id=number) for number, verdict in enumerate(["pass", "fail"])]
    return [*gates, *_sweep(), *gates]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """Two engines side by side in every look, a sweep and a history on a phone: one browser for all."""
    folder = tmp_path_factory.mktemp("pages")
    pages = {name: (folder / "engines.html", look) for name, look in LOOKS.items()}
    pages["sweep"] = (folder / "sweep.html", LOOKS["phone"])
    pages["history"] = (folder / "history.html", LOOKS["phone"])
    (folder / "history.html").write_text(history_page(_measured(), title="what was measured"), encoding="utf-8")
    (folder / "engines.html").write_text(report(_two_engines(), title="two engines"), encoding="utf-8")
    (folder / "sweep.html").write_text(report(_sweep(), title="a sweep"), encoding="utf-8")
    return look_at(pages, MEASURE, folder / "profile")


@pytest.mark.parametrize(("look", "charts"), [*((look, 5) for look in LOOKS), ("sweep", 4), ("history", 2)])
def test_every_chart_is_seen_and_nothing_is_cut_off(look: str, charts: int, seen: dict[str, Seen]) -> None:
    found = seen[look].found
    assert seen[look].complaints == ()
    assert found["page"] <= found["window"], "it scrolls sideways"
    assert len(found["charts"]) == charts
    assert all(width > 250 and height > 120 for width, height in found["charts"]), found["charts"]
    assert found["drawn"] == found["shapes"] >= charts
    assert found["smallest"] >= 9, "too small to read"
    assert found["crossing"] == found["outside"] == []
    assert seen[look].picture.startswith(b"\x89PNG")


def test_text_and_ground_change_places_in_the_dark(seen: dict[str, Seen]) -> None:
    light, dark = seen["desk"].found, seen["dark"].found
    assert sum(light["text"]) < sum(light["ground"])
    assert sum(dark["text"]) > sum(dark["ground"])


def test_paper_is_white_and_holds_the_whole_report_on_few_pages(seen: dict[str, Seen]) -> None:
    assert seen["paper"].found["ground"] == [255, 255, 255]
    for one in seen.values():  # printed from the dark or a phone it is the same
        assert 1 <= len(findall(rb"/Type\s*/Page\b(?!s)", _unpacked(one.pages))) <= 3


def _unpacked(document: bytes) -> bytes:
    """A PDF with its compressed streams opened, as far as they are text."""
    opened = [document]
    for stream in findall(rb"stream\r?\n(.*?)endstream", document, DOTALL):
        try:
            opened.append(zlib.decompress(stream))
        except zlib.error:
            continue
    return b"\n".join(opened)
