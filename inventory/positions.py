"""YAML text as a tree in which every value knows where it was written."""

import math
import re
from pathlib import Path

import yaml

from inventory.errors import InventoryError, Problem
from inventory.located import Located, Origin, Scalar, dotted

LARGEST_FILE_BYTES = 1_048_576
DEEPEST = 40
MOST_VALUES = 50_000
"""Values in one file after its aliases were followed: an alias bomb ends here."""

_BEGIN = ("invoke inventory.check --inventory FILE.yml", "cp -n inventory/example.yml inventory/hosts.yml")


def read(path: Path) -> Located:
    """The tree of a YAML file. Raises InventoryError with all that is wrong with the file as YAML."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        problem = Problem(str(path), None, "file", f"cannot be read: {error.strerror}")
        raise InventoryError([problem], tries=_BEGIN) from None
    if len(content) > LARGEST_FILE_BYTES:
        problem = Problem(str(path), None, "file", "is larger than 1 MiB: is this an inventory?")
        raise InventoryError([problem], tries=_BEGIN)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InventoryError([Problem(str(path), line, "file", "is not UTF-8 text")], tries=_BEGIN) from None
    return parse(text, str(path))


def parse(text: str, file: str) -> Located:
    """The tree of a YAML document; `file` is how messages call it. Text without any value is an empty mapping.

    Raises InventoryError. Scalars are read as YAML 1.2 reads them: `yes` and `0666` are text.
    """
    try:
        node = _Loader(text).get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = Problem(file, line, "YAML", f"the character U+{ord(text[error.position]):04X} is not allowed")
        raise InventoryError([problem]) from None
    except yaml.MarkedYAMLError as error:
        raise InventoryError([_in_words(error, file)]) from None
    except (ValueError, OverflowError):  # PyYAML 6.0: an escape such as "\UFFFFFFFF" reaches chr()
        raise InventoryError([Problem(file, None, "YAML", "an escape stands for no character")]) from None
    origin = Origin(file, 1, "")
    if node is None:
        return Located({}, origin)
    walker = _Walker(file)
    tree = walker.walk(node, (), 1)
    if walker.problems:
        raise InventoryError(_each_once(walker.problems))
    return tree


class _Loader(yaml.SafeLoader):
    """Composes nodes with YAML 1.2's core resolution, to a limited depth. Constructs nothing."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML copies it on add
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise yaml.composer.ComposerError(None, None, "nested too deeply", self.get_mark())
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


_TAG = "tag:yaml.org,2002:"
_NUMBER = r"[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+][0-9]+"
for _kind, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", [*"tTfF"]),
    ("null", r"~|null|Null|NULL|", [*"~nN", ""]),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", [*"-+0123456789"]),
    ("float", rf"[-+]?(?:{_NUMBER}|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)", [*"-+0123456789."]),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(f"^(?:{_pattern})$"), _first)


class _Walker:
    """Turns nodes into values, and collects everything that is wrong with them."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.count = 0
        self.open: list[yaml.Node] = []  # the nodes that are being walked: a node inside itself is a loop

    def walk(self, node: yaml.Node, path: tuple[str | int, ...], line: int) -> Located:
        """The value of `node`, which stands at `path` and was written on `line`."""
        origin = Origin(self.file, line, _layer(path))
        self.count += 1
        if self.count > MOST_VALUES:
            self._stop(line, path, f"aliases make more than {MOST_VALUES} values of this file")
        if any(node is outer for outer in self.open):
            self._stop(line, path, "an alias refers to a value that it is part of")
        if len(path) > DEEPEST:
            self._stop(line, path, "nested too deeply")
        if isinstance(node, yaml.ScalarNode):
            value = self._scalar(node, path, line)
            return Located(value, origin, said=value is not None or node.value != "")
        self.open.append(node)
        try:
            if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
                return Located(self._mapping(node, path), origin)
            if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
                return Located(
                    tuple(self.walk(item, (*path, index), _line(item)) for index, item in enumerate(node.value)), origin
                )
        finally:
            self.open.pop()
        self._problem(line, path, f"the tag {_shown(node.tag)} is not allowed")
        return Located(None, origin)

    def _mapping(self, node: yaml.MappingNode, path: tuple[str | int, ...]) -> dict[str, Located]:
        own: dict[str, Located] = {}
        merged: dict[str, Located] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = _line(key_node)
            key = self._key(key_node, path)
            if key is None:
                continue
            if key in first:
                self._problem(line, (*path, key), "is written twice", f"the first is on line {first[key]}")
                continue
            first[key] = line
            if key_node.tag == _TAG + "merge":
                for name, value in self._merged(value_node, path, line).items():
                    merged.setdefault(name, value)
            else:
                own[key] = self.walk(value_node, (*path, key), line)
        return {**merged, **own}

    def _merged(self, node: yaml.Node, path: tuple[str | int, ...], line: int) -> dict[str, Located]:
        """What `<<` brings in: a mapping, or a list of them in which the first that has a key wins."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        found: dict[str, Located] = {}
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                self._problem(line, (*path, "<<"), "takes an alias of a mapping, or a list of such aliases")
                continue
            for name, value in self.walk(source, path, line).children.items():
                found.setdefault(name, value)
        return found

    def _key(self, node: yaml.Node, path: tuple[str | int, ...]) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self._problem(_line(node), path, "a key must be a word, not a list or mapping")
            return None
        if not node.value:
            self._problem(_line(node), path, "a key is empty")
            return None
        if not node.value.isprintable():
            self._problem(_line(node), path, "a key has characters that cannot be printed")
            return None
        return str(node.value)

    def _scalar(self, node: yaml.ScalarNode, path: tuple[str | int, ...], line: int) -> Scalar:
        text = str(node.value)
        try:
            match node.tag.removeprefix(_TAG):
                case "str" | "merge":
                    return self._text(text, path, line)
                case "null":
                    return None
                case "bool":
                    return {"true": True, "false": False}[text.lower()]
                case "int":
                    return int(text)
                case "float":
                    number = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
                    if not math.isfinite(number):
                        self._problem(line, path, "is not a finite number")
                        return None
                    return number
        except (ValueError, KeyError):
            self._problem(line, path, f"cannot be read as {node.tag.removeprefix(_TAG)}")
            return None
        self._problem(line, path, f"the tag {_shown(node.tag)} is not allowed")
        return None

    def _text(self, text: str, path: tuple[str | int, ...], line: int) -> str:
        if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text):
            self._problem(line, path, "holds a NUL or half of a surrogate pair, which no file can carry")
            return ""
        return text

    def _problem(self, line: int, path: tuple[str | int, ...], message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(self.file, line, dotted(path) or "file", message, hint))

    def _stop(self, line: int, path: tuple[str | int, ...], message: str) -> None:
        """Give up: going on would not end."""
        self._problem(line, path, message)
        raise InventoryError(_each_once(self.problems))


def _each_once(problems: list[Problem]) -> list[Problem]:
    """An alias shows what is wrong with its anchor once more."""
    return list(dict.fromkeys(problems))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _layer(path: tuple[str | int, ...]) -> str:
    if path and path[0] in {"groups", "hosts", "nodes"}:
        return dotted(path[:2])
    return str(path[0]) if path else ""


def _shown(tag: str) -> str:
    return tag.replace(_TAG, "!!") if tag.isprintable() else "here"


def _in_words(error: yaml.MarkedYAMLError, file: str) -> Problem:
    what = error.problem or error.context or "cannot be read"
    mark = error.problem_mark or error.context_mark
    if error.context == "while scanning a quoted scalar":
        mark = error.context_mark  # where it was opened, not where the file ends
    message, hint = next(((words or what, hint) for part, words, hint in _WORDS if part in what), (what, None))
    return Problem(file, mark.line + 1 if mark else None, "YAML", message, hint)


_WORDS: tuple[tuple[str, str | None, str | None], ...] = (
    (r"'\t'", "a tab stands where a value should start", "YAML indents with spaces"),
    (
        "mapping values are not allowed",
        "a second `key:` in one line, or a line that is indented too far",
        "quote a text that holds a colon and a space",
    ),
    ("could not find expected ':'", None, "a line above has no `key:`, or a quote was never closed"),
    ("found another document", "a second document starts here", "one file is one inventory: remove the `---`"),
    ("expected <block end>", None, "check the indentation: keys of one mapping start in one column"),
    ("undefined alias", None, "an anchor (&name) must stand above its alias (*name)"),
    ("second occurrence", "an anchor is defined twice", None),
    ("found unexpected end of stream", "the file ends within a quoted text", "a quote was never closed"),
)
"""Parts of PyYAML's messages, our words where they are clearer, and what helps."""
