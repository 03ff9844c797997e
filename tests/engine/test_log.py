"""The whole log of the installed engine is understood: a release that changes its lines is noticed when it is installed."""

import re

from roles.acceptance.loglines import read
from roles.server import phases
from tests.engine.host import EngineHost


def test_every_line_about_speculation_is_counted_and_none_is_thrown_out(serving: EngineHost) -> None:
    for text in ("def read(self):", "class Parser:", "import os\n"):
        serving.ask(text, temperature=0, tokens=64)
    assert serving.logged_since(0, "SpecDecoding metrics")
    log = serving.log.read_bytes()
    about = [line for line in log.splitlines() if b"SpecDecoding metrics" in line]
    found = read(log.splitlines())
    assert (found.kept, found.thrown_out) == (len(about), ())
    assert found.engine == "vLLM"
    assert found.method == "dflash"
    assert found.versions == (serving.version,), found.versions


def test_the_log_and_the_counters_tell_the_same(serving: EngineHost) -> None:
    """What was drafted since the last line is only in the counters."""
    text = serving.log.read_text(errors="replace")
    last = text.rpartition("specrail: launch ")[2]
    found = read(line.encode() for line in last.splitlines())
    counted = serving.counters().total
    accepted = sum(window.accepted or 0 for window in found.windows)
    assert counted.accepted is not None
    assert 0 < accepted <= counted.accepted
    assert len(re.findall("SpecDecoding metrics", last)) == found.kept


def test_the_start_is_read_to_its_end(serving: EngineHost) -> None:
    text = serving.log.read_text(errors="replace")
    last = text.rpartition("specrail: launch ")[2]
    startup = phases.read(["specrail: launch " + line if i == 0 else line for i, line in enumerate(last.splitlines())])
    assert (startup.phase, startup.ready, startup.died) == ("ready", True, False)
