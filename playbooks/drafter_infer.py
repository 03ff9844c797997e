"""invoke drafter.infer: a config for a drafter that lacks one, from its weights' header and its target."""

import sys
from dataclasses import dataclass
from pathlib import Path

from inventory.errors import ExitCode, SpecrailError, UsageError
from playbooks.cli import plain_console, print_json, report
from playbooks.flags import json_object
from roles.drafter import config, inferred_text, local
from roles.drafter.assess import assess_files
from roles.drafter.check import Report
from roles.drafter.infer import Inference, infer
from roles.drafter.launch import Launch

VERB = "drafter.infer"
_TRIES = (f"invoke {VERB} FOLDER --target FOLDER",)


@dataclass(frozen=True)
class Options:
    """Flags; paths are on this machine."""

    path: str | None = None
    target: str | None = None
    out: str | None = None
    tokenizer: str | None = None
    drafter_config: str | None = None
    repository: str | None = None
    revision: str | None = None


def run(options: Options, *, as_json: bool) -> int:
    """Infer, write or print. Returns the exit code: 1 when a field that the engine needs stays unknown.

    Without --out the config goes to stdout and the talk to stderr; with it, the talk is the answer.
    """
    try:
        inference, checked = work_out(options)
        if options.out is not None:
            write(Path(options.out).expanduser(), inference)
    except SpecrailError as error:
        return report(error, plain_console(sys.stderr), as_json=as_json, verb=VERB)
    code = ExitCode.FAILED if inference.missing else ExitCode.DONE
    if as_json:
        print_json(
            {"verb": VERB, "path": options.path, **inferred_text.as_json(inference, checked), "exit_code": int(code)}
        )
        return int(code)
    words = inferred_text.table(inference, checked)
    if options.out is None:
        sys.stdout.write(config.text(inference.config))
        sys.stderr.write(words)
    else:
        sys.stdout.write(f"{words}wrote {options.out}\n")
    return int(code)


def work_out(options: Options) -> tuple[Inference, Report]:
    """The inference, and what the check says about the config that it comes to. Raises UsageError."""
    if options.path is None:
        raise UsageError("which drafter? A folder with its weights is wanted", tries=_TRIES)
    path = Path(options.path).expanduser()
    if not path.is_dir():
        raise UsageError(
            f"{options.path} is no folder with weights", why=["Sizes are read from the weights' header."], tries=_TRIES
        )
    target = Path(options.target).expanduser() if options.target else None
    have = local.read(path, target, Path(options.tokenizer).expanduser() if options.tokenizer else None)
    header = have.header
    if header is None or not header.tensors:
        problem = header.problems[0] if header and header.problems else "there are no *.safetensors"
        raise UsageError(f"{options.path} has no readable weights: {problem}", tries=_TRIES)
    if options.drafter_config is not None:
        have = local.with_config(have, json_object("drafter-config", options.drafter_config))
    names = [one.resolve().name for one in (path, target) if one is not None]
    found = infer(header, have, names=names, repository=options.repository, revision=options.revision)
    made = local.with_config(have, found.config)
    return found, assess_files(made, Launch(), repository=options.repository, revision=options.revision)


def write(path: Path, inference: Inference) -> None:
    """Write the config. Raises UsageError for a file that is there already, or a folder that is not."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(config.text(inference.config))
    except FileExistsError as error:
        raise UsageError(f"{path} is there already", tries=["--out another-file.json"]) from error
    except OSError as error:
        raise UsageError(f"--out {path}: {error.strerror}", tries=["--out config.json"]) from error
