"""Reads an engine's log where it lies: the host looks for the lines that count, only those come over the line."""

import re
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
_MOST_STARTS = 400
_STARTS = "speculative_config|API server version|LLM engine [(]v|auxiliary layers|server_args=|log.stats|stats logging"
_HEAD = "specrail-log"
# The last lines, and before them what the starts said that are longer ago: which engine it is, and how it drafts.
_LAST = f"""
{{ slot = NR % {_MOST_LINES}
  if (NR > {_MOST_LINES}) {{ gone++; if (line[slot] ~ /{_STARTS}/) said[++starts % {_MOST_STARTS}] = line[slot] }}
  line[slot] = $0 }}
END {{ print gone + 0
  for (i = starts - {_MOST_STARTS} + 1; i <= starts; i++) if (i > 0) print said[i % {_MOST_STARTS}]
  for (i = NR - {_MOST_LINES} + 1; i <= NR; i++) if (i > 0) print line[i % {_MOST_LINES}] }}
"""


@dataclass(frozen=True)
class LogPart:
    """A part of a log. None for `inode` means that there is no such file.

    start, end: bytes of the file that were looked at; `end` is where to go on
    rotated:    whether the file is another one (or shorter) than the one that was to be gone on with
    lines:      those with one of WORDS, in their order; of more than 40 000 the last, and what starts before them said
    dropped:    how many lines that is less
    pieces:     rotated files that were read before it
    """

    inode: int | None
    start: int
    end: int
    rotated: bool
    lines: tuple[bytes, ...]
    dropped: int = 0
    pieces: int = 0


def question(log: str, *, inode: int | None = None, offset: int = 0) -> str:
    """A POSIX sh script that prints the lines of `log` that count, from `offset` on if it is still the same file.

    Without an inode the pieces that were rotated away are read first, oldest first, also compressed ones (`log.2.gz`,
    `log.1`, `log-20260509`). With one, a file that was renamed away is read from `offset` to its end, and its successor
    from its beginning; one that was truncated (copytruncate) begins at 0 again. Only whole lines are taken: `end` stops
    before a line that is still being written. First line of the answer: inode, start, end, pieces.
    """
    words = " ".join(f"-e {command(word)}" for word in WORDS)
    return f"""log={command(log)} known={inode if inode is not None else ""} start={max(0, offset)}
[ -r "$log" ] || {{ echo "{_HEAD} - 0 0 0"; exit 0; }}
set -- $(ls -Lidn "$log")
inode=$1 size=$6
rotated() {{ ls -1tr "$log"[.-]* 2>/dev/null | while IFS= read -r piece; do
  case "${{piece#"$log"}}" in *[!0-9.gz-]*) ;; *.gz | *[0-9]) printf '%s\\n' "$piece" ;; esac
done; }}
earlier() {{
  if [ -z "$known" ]; then
    rotated | while IFS= read -r piece; do
      case "$piece" in *.gz) gzip -dc "$piece" 2>/dev/null ;; *) cat "$piece" ;; esac
    done
  elif [ "$inode" != "$known" ]; then
    rotated | while IFS= read -r piece; do
      set -- $(ls -Lidn "$piece")
      [ "$1" != "$known" ] || tail -c +$((offset + 1)) "$piece"
    done
  fi
}}
offset=$start pieces=0
[ -n "$known" ] || pieces=$(rotated | wc -l)
if [ "$inode" != "$known" ] || [ "$size" -lt "$start" ]; then start=0; fi
near=$start
[ $((size - start)) -gt 1048576 ] && near=$((size - 1048576))
part=$(tail -c +$((near + 1)) "$log" | head -c $((size - near)) | tail -n 1 | wc -lc | tr -s ' ')
set -- $part
[ "$1" = 0 ] && size=$((size - $2))
echo "{_HEAD} $inode $start $size $((pieces))"
{{ earlier; tail -c +$((start + 1)) "$log" | head -c $((size - start)); }} |
  LC_ALL=C grep -aF {words} | LC_ALL=C awk {command(_LAST)}
exit 0
"""


def parse(answer: str, *, inode: int | None = None, offset: int = 0) -> LogPart:
    """Read the answer to `question`. A text that is no answer is an absent file."""
    head, _, body = answer.partition("\n")
    fields = head.split()
    if len(fields) != 5 or fields[0] != _HEAD or not all(re.fullmatch(r"\d{1,18}", field) for field in fields[1:]):
        return LogPart(None, 0, 0, False, ())
    found, start, size, pieces = (int(field) for field in fields[1:])
    dropped, _, text = body.partition("\n")
    lines = tuple(line.encode() for line in text.split("\n") if line)
    rotated = inode is not None and (found != inode or start < offset)
    left_out = int(dropped) if re.fullmatch(r"\d{1,18}", dropped) else 0
    return LogPart(found, start, size, rotated, lines, left_out, pieces)
