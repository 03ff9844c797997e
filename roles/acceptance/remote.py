"""Reads an engine's log where it lies: the host looks for the lines that count, only those come over the line."""

from dataclasses import dataclass

from inventory.shell import command

WORDS = (
    "Per-position acceptance rate",
    "Avg generation t",
    "Speculative metrics",
    "speculative_config",
    "API server version",
    "LLM engine (v",
    "auxiliary layers",
    "disabling stats logging",
    "disable_log_stats",
    "accept len: ",
    "server_args=",
    "draft acceptance",
)
"""What is looked for, as fixed strings: statistics, drafts, and what a start says about the engine."""

_MOST_LINES = 40_000
_HEAD = "specrail-log"


@dataclass(frozen=True)
class LogPart:
    """A part of a log. None for `inode` means that there is no such file.

    start, end: bytes of the file that were looked at; `end` is where to go on
    rotated:    whether the file is another one (or shorter) than the one that was to be gone on with
    lines:      those with one of WORDS, in their order, at most the last 40 000
    """

    inode: int | None
    start: int
    end: int
    rotated: bool
    lines: tuple[bytes, ...]


def question(log: str, *, inode: int | None = None, offset: int = 0) -> str:
    """A POSIX sh script that prints the lines of `log` that count, from `offset` on if it is still the same file.

    A file that was renamed away or truncated (copytruncate) begins at 0 again. Only whole lines are taken: `end` stops
    before a line that is still being written. First line of the answer: inode, start, end.
    """
    words = " ".join(f"-e {command(word)}" for word in WORDS)
    return f"""log={command(log)}
[ -r "$log" ] || {{ echo "{_HEAD} - 0 0"; exit 0; }}
set -- $(ls -Lidn "$log")
inode=$1 size=$6
start={max(0, offset)}
if [ "$inode" != "{inode if inode is not None else ""}" ] || [ "$size" -lt "$start" ]; then start=0; fi
near=$start
[ $((size - start)) -gt 1048576 ] && near=$((size - 1048576))
part=$(tail -c +$((near + 1)) "$log" | head -c $((size - near)) | tail -n 1 | wc -lc | tr -s ' ')
set -- $part
[ "$1" = 0 ] && size=$((size - $2))
echo "{_HEAD} $inode $start $size"
tail -c +$((start + 1)) "$log" | head -c $((size - start)) | LC_ALL=C grep -aF {words} | tail -n {_MOST_LINES}
exit 0
"""


def parse(answer: str, *, inode: int | None = None, offset: int = 0) -> LogPart:
    """Read the answer to `question`. A text that is no answer is an absent file."""
    head, _, body = answer.partition("\n")
    fields = head.split()
    if len(fields) < 4 or fields[0] != _HEAD or not fields[1].isdigit() or not all(f.isdigit() for f in fields[2:4]):
        return LogPart(None, 0, 0, False, ())
    found, start, size = (int(field) for field in fields[1:4])
    lines = [line.encode() for line in body.splitlines()]
    rotated = inode is not None and (found != inode or start < offset)
    return LogPart(found, start, size, rotated, tuple(lines))
