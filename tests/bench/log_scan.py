"""Measure reading a large log against `grep -cF` on the same file, in turn: seconds, GB/s, the ratio, and memory.

read_s is from opening the file to exact counts; command_s also has the interpreter's start and the whole judgement.
speed_of_grep compares the seconds that passed, cpu_of_grep those that both had the processor: on a busy machine
only the latter says much.

    python -m tests.bench.log_scan [--megabytes 1000] [--requests 40] [--runs 5] [--file LOG]

Without --file it makes a log whose counts are known, checks them, and removes it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.bench.log_generator import write

_CHECKOUT = Path(__file__).parents[2]
_READ = """
import json, resource, sys, time
from pathlib import Path
import roles.acceptance.search
from roles.acceptance.judgement import judge
from roles.acceptance.loglines import LogReader
from roles.acceptance.scan import read_file
from roles.acceptance.summary import summarise
began, cpu = time.perf_counter(), time.process_time()
reader = LogReader()
read_file(Path(sys.argv[1]), reader)
reading = reader.reading()
summarise(reading)
read_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
found = judge(reading, label="log")
peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
summary = found.summary
print(json.dumps({"windows": found.reading.kept, "rounds": summary.rounds, "accepted": summary.accepted,
                  "drafted": summary.drafted, "peak_mib": round(peak / 1024, 1), "read_s": read_s, "cpu_s": cpu_s}))
"""


def measure(path: Path, runs: int) -> dict[str, object]:
    """Medians; each run reads with grep and then with specrail."""
    grep_s, read_s, command_s, cpu_ratios, found = [], [], [], [], {}
    for run in range(runs + 1):  # the first fills the page cache and does not count
        began, cpu_began = time.perf_counter(), os.times()
        subprocess.run(["grep", "-cF", "SpecDecoding metrics", str(path)], capture_output=True, check=True)
        middle, cpu_ended = time.perf_counter(), os.times()
        done = subprocess.run(
            [sys.executable, "-c", _READ, str(path)], capture_output=True, check=True, cwd=_CHECKOUT, text=True
        )
        ended = time.perf_counter()
        found = json.loads(done.stdout)
        took_s, cpu_s = found.pop("read_s"), found.pop("cpu_s")
        grep_cpu_s = sum(cpu_ended[2:4]) - sum(cpu_began[2:4])
        if run:
            grep_s.append(middle - began)
            read_s.append(took_s)
            command_s.append(ended - middle)
            cpu_ratios.append(grep_cpu_s / cpu_s)
    size_gb = path.stat().st_size / 1e9
    ratios = [grep / ours for grep, ours in zip(grep_s, read_s, strict=True)]
    return {
        "gb": round(size_gb, 3),
        "grep_s": round(median(grep_s), 3),
        "read_s": round(median(read_s), 3),
        "command_s": round(median(command_s), 3),
        "grep_gb_s": round(size_gb / median(grep_s), 2),
        "read_gb_s": round(size_gb / median(read_s), 2),
        "speed_of_grep": round(median(ratios), 2),
        "cpu_of_grep": round(median(cpu_ratios), 2),
        **found,
    }


def main() -> int:
    """Print the measurement as JSON; 1 when a count is not the known one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=40, help="access lines in ten seconds, on average")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--file", type=Path, help="measure this log instead")
    given = parser.parse_args()
    if given.file is not None:
        sys.stdout.write(json.dumps(measure(given.file, given.runs)) + "\n")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "serve.log"
        truth = write(path, given.megabytes * 1_000_000, given.requests)
        found = measure(path, given.runs)
    wrong = [name for name in ("windows", "rounds", "accepted", "drafted") if found[name] != truth[name]]
    sys.stdout.write(json.dumps({**found, "wrong": wrong}) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
