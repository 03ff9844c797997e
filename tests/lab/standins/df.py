"""df for a machine of the lab: one file system of a size that the lab decides, full when the lab says so.

SIZE_KIB USED_KIB FULL_MARK ARGUMENTS...; knows -P -k -h -m -B N --output=LIST and paths.
"""

import sys
from pathlib import Path

_COLUMNS = {
    "source": "Filesystem",
    "size": "{unit}-blocks",
    "used": "Used",
    "avail": "Avail",
    "pcent": "Use%",
    "target": "Mounted on",
}

_UNITS = {"1": (1, "1B"), "K": (1024, "1K"), "M": (1024**2, "1M"), "G": (1024**3, "1G")}


def answer(size_kib: int, used_kib: int, argv: list[str]) -> tuple[int, str]:
    """Exit status and what is printed (on standard error for a status that is not 0)."""
    unit, label, posix = 1024, "1K", False
    columns: list[str] | None = None
    paths: list[str] = []
    words = iter(argv)
    for word in words:
        if word.startswith("--output"):
            columns = word.partition("=")[2].split(",") if "=" in word else list(_COLUMNS)
        elif word.startswith("--block-size="):
            unit, label = _unit(word.partition("=")[2])
        elif word == "-B":
            unit, label = _unit(next(words, "1K"))
        elif word.startswith("-B"):
            unit, label = _unit(word[2:])
        elif word.startswith("-") and word != "-" and not word.startswith("--"):
            posix = posix or "P" in word
            if "m" in word:
                unit, label = _unit("M")
            elif "h" in word:
                unit, label = _unit("G")
        elif not word.startswith("--"):
            paths.append(word)
    for path in paths:
        if not Path(path).exists():
            return 1, f"df: {path}: No such file or directory\n"
    wanted = columns or list(_COLUMNS)
    names = {**_COLUMNS, "avail": "Available" if columns is None else "Avail"}
    if posix:
        names |= {"size": "1024-blocks" if unit == 1024 else names["size"], "pcent": "Capacity"}
    values = {
        "source": "/dev/mapper/pve-root",
        "size": str(size_kib * 1024 // unit),
        "used": str(used_kib * 1024 // unit),
        "avail": str((size_kib - used_kib) * 1024 // unit),
        "pcent": f"{-(-used_kib * 100 // size_kib)}%",
        "target": "/",
    }
    row = " ".join(values.get(word, "-") for word in wanted)
    head = " ".join(names.get(word, word).format(unit=label) for word in wanted)
    return 0, f"{head}\n" + f"{row}\n" * max(1, len(paths))


def _unit(text: str) -> tuple[int, str]:
    return _UNITS.get(text.lstrip("1") or text, (1024, "1K"))


if __name__ == "__main__":
    size, used, full = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]).exists()
    status, text = answer(size, size if full else used, sys.argv[4:])
    (sys.stderr if status else sys.stdout).write(text)
    sys.exit(status)
