"""Asking a host everything at once: one exec request for all roles' questions."""

from collections.abc import Mapping
from dataclasses import dataclass

from inventory.errors import CommandError
from inventory.ssh.ask import Answer, ask
from playbooks.reach import get_in
from playbooks.site import Site
from roles.drafter import facts as drafter_facts
from roles.drafter.facts import DrafterFacts
from roles.engine import facts as engine_facts
from roles.engine.facts import EngineFacts
from roles.gpu import facts as gpu_facts
from roles.gpu.facts import GpuFacts
from roles.release import facts as release_facts_of
from roles.release.facts import ReleaseFacts

_ASK_S = 60


@dataclass(frozen=True)
class Survey:
    """One reading of a host: what each role wants to know."""

    release: ReleaseFacts
    gpu: GpuFacts
    engine: EngineFacts
    drafter: DrafterFacts


def survey(site: Site) -> Survey:
    """Ask all roles' questions. One exec."""
    host = site.host
    questions = {
        "gpu": gpu_facts.question(host.paths),
        "engine": engine_facts.question(site.layout.base, host.engine, host.paths.procfs),
        "drafter": drafter_question(site),
        **release_questions(site),
    }
    answers = ask(site.shell, questions, timeout_s=_ASK_S)
    return Survey(
        release=releases_of(site, answers),
        gpu=gpu_facts.parse(answers["gpu"].text),
        engine=engine_facts.parse(answers["engine"].text),
        drafter=drafter_facts.parse(answers["drafter"].text),
    )


def drafter_question(site: Site) -> str:
    """What to ask about the model and drafter folders."""
    drafter = site.host.drafter
    return drafter_facts.question(site.host.model.path, drafter.path if drafter else None)


def drafter_facts_of(site: Site) -> DrafterFacts:
    """Only what the model and drafter folders hold. One exec."""
    return drafter_facts.parse(ask(site.shell, {"drafter": drafter_question(site)}, timeout_s=_ASK_S)["drafter"].text)


def release_facts(site: Site) -> ReleaseFacts:
    """Only what the releases and the server are, for verbs that need no more. One exec."""
    get_in(site)
    return releases_of(site, ask(site.shell, release_questions(site), timeout_s=_ASK_S))


def gpu_of(site: Site) -> tuple[str | None, str | None]:
    """Name of the GPUs and version of the driver, for the record. One exec."""
    return gpu_record(gpu_facts.parse(ask(site.shell, {"gpu": gpu_facts.question(site.host.paths)})["gpu"].text))


def gpu_record(facts: GpuFacts) -> tuple[str | None, str | None]:
    """The same from facts: "2x NVIDIA RTX A6000", "570.148.06"."""
    names = sorted({gpu.name for gpu in facts.gpus})
    return (f"{len(facts.gpus)}x {', '.join(names)}" if names else None, facts.kernel_module)


def release_questions(site: Site) -> dict[str, str]:
    """What to ask for `releases_of`."""
    return release_facts_of.questions(site.layout, site.host.server.port)


def releases_of(site: Site, answers: Mapping[str, Answer]) -> ReleaseFacts:
    """Read the answers to `release_questions`."""
    texts = {name: answer.text for name, answer in answers.items()}
    try:
        return release_facts_of.parse(texts)
    except ValueError as error:
        raise CommandError(
            f"the host does not answer as a Linux machine does: {error}", exit_status=0, where=[site.name]
        ) from error
