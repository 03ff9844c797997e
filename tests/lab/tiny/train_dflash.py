"""Trains a DFlash drafter for the tiny target, on text that the target itself has written.

    python -m tests.lab.tiny.train_dflash TARGET OUT [SECONDS]

The layout is that of vLLM's DFlashDraftModel: keys and values of the context are those of hidden_norm(fc(the target's
hidden states at target_layer_ids)); queries are the last known token and K masks; embeddings and head are the target's.
"""

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional

from roles.load.prompts import load_prompts
from tests.lab.tiny.train_target import ASSISTANT, SPECIAL, USER, VOCABULARY, corpus

K = 7
"""Tokens a round; a block is the last known token and these."""
MASK = SPECIAL.index("<|mask|>")
LAYER_IDS = (1, 3, 5)
"""Of the target's six layers, counted from 0: after which of them its hidden state is taken."""
LENGTH, BATCH, ANCHORS = 192, 8, 16
ANSWER, ANSWERS = 72, 4
"""Tokens of an answer to a prompt of the gate, and how many such prompts a step takes."""
ENOUGH = 3.5
"""Acceptance length at which the gate's prompts are left: going on, the drafter would know all answers by heart."""
GENERATING_SHARE, ANSWERS_SHARE = 0.3, 0.3
"""Of the time, spent on writing the target's texts, and in the end on the gate's prompts alone."""

CONFIG: dict[str, Any] = {
    "architectures": ["DFlashDraftModel"],
    "model_type": "qwen3",
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "intermediate_size": 384,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "attention_bias": False,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "bos_token_id": None,
    "eos_token_id": 0,
    "layer_types": ["full_attention"] * 2,
    "max_window_layers": 2,
    "use_sliding_window": False,
    "sliding_window": None,
    "block_size": K + 1,
    "num_target_layers": 6,
    "dflash_config": {"mask_token_id": MASK, "target_layer_ids": list(LAYER_IDS)},
}
HIDDEN, HEADS, KEYS, HEAD, INNER = 128, 4, 2, 32, 384


Row = tuple[torch.Tensor, int]
"""A sequence of tokens, and how many of them are the prompt."""


def linear(inputs: int, outputs: int) -> nn.Linear:
    """Without a bias, like all of Qwen3's."""
    return nn.Linear(inputs, outputs, bias=False)


class Norm(nn.Module):
    """RMS norm."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise the last axis."""
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + CONFIG["rms_norm_eps"]) * self.weight


def rotate(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Rotary embedding of x [batch, tokens, heads, HEAD], halves side by side."""
    frequencies = 1.0 / (CONFIG["rope_theta"] ** (torch.arange(0, HEAD, 2).float() / HEAD))
    angle = positions[..., None].float() * frequencies
    cosine, sine = angle.cos()[:, :, None], angle.sin()[:, :, None]
    left, right = x.chunk(2, -1)
    return torch.cat([left * cosine - right * sine, right * cosine + left * sine], -1)


class Attention(nn.Module):
    """Every query sees the context before its block and its whole block."""

    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.o_proj = linear(HIDDEN, HEADS * HEAD), linear(HEADS * HEAD, HIDDEN)
        self.k_proj, self.v_proj = linear(HIDDEN, KEYS * HEAD), linear(HIDDEN, KEYS * HEAD)
        self.q_norm, self.k_norm = Norm(HEAD), Norm(HEAD)

    def _keys(self, x: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        shape = (*x.shape[:2], KEYS, HEAD)
        return rotate(self.k_norm(self.k_proj(x).view(shape)), positions), self.v_proj(x).view(shape)

    def forward(
        self,
        x: torch.Tensor,
        positions: torch.Tensor,
        context: torch.Tensor,
        context_positions: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        """x [batch, queries, HIDDEN]; mask [batch, queries, context + queries], True where a query sees a key."""
        q = rotate(self.q_norm(self.q_proj(x).view(*x.shape[:2], HEADS, HEAD)), positions)
        both = zip(self._keys(context, context_positions), self._keys(x, positions), strict=True)
        k, v = (torch.cat(pair, 1).repeat_interleave(HEADS // KEYS, 2).transpose(1, 2) for pair in both)
        mixed = functional.scaled_dot_product_attention(q.transpose(1, 2), k, v, attn_mask=mask[:, None])
        return self.o_proj(mixed.transpose(1, 2).reshape(*x.shape[:2], -1))


class Mlp(nn.Module):
    """Gated."""

    def __init__(self) -> None:
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = (
            linear(HIDDEN, INNER),
            linear(HIDDEN, INNER),
            linear(INNER, HIDDEN),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One token at a time."""
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """Attention, then the gate."""

    def __init__(self) -> None:
        super().__init__()
        self.self_attn, self.mlp = Attention(), Mlp()
        self.input_layernorm, self.post_attention_layernorm = Norm(HIDDEN), Norm(HIDDEN)

    def forward(self, x: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        """With residuals."""
        x = x + self.self_attn(self.input_layernorm(x), *rest)
        return x + self.mlp(self.post_attention_layernorm(x))


class Drafter(nn.Module):
    """Names as in the published files."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(CONFIG["num_hidden_layers"]))
        self.fc = linear(HIDDEN * len(LAYER_IDS), HIDDEN)
        self.hidden_norm, self.norm = Norm(HIDDEN), Norm(HIDDEN)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0, 0.02)

    def forward(
        self,
        x: torch.Tensor,
        positions: torch.Tensor,
        features: torch.Tensor,
        feature_positions: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        """Hidden states of the queries; the target's head makes logits of them."""
        context = self.hidden_norm(self.fc(features))
        for layer in self.layers:
            x = layer(x, positions, context, feature_positions, mask)
        return self.norm(x)


class Lesson:
    """A frozen target, what it says, and what it thinks while it says it."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.target = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        self.target.eval().requires_grad_(False)
        self.embedding = self.target.model.embed_tokens.weight
        self._caught: dict[int, torch.Tensor] = {}
        for number in LAYER_IDS:
            self.target.model.layers[number].register_forward_hook(self._catch(number))
        code = self.tokenizer("\n".join(corpus()), add_special_tokens=False)["input_ids"]
        asked = [self.tokenizer.encode(prompt.messages[-1].content) for prompt in load_prompts()]
        self._code, self._asked = torch.tensor(code), [torch.tensor(ids) for ids in asked]

    def _catch(self, number: int) -> Any:
        def hook(_module: nn.Module, _inputs: object, output: Any) -> None:
            self._caught[number] = output[0] if isinstance(output, tuple) else output

        return hook

    def write(self, count: int, chance: random.Random) -> list[Row]:
        """So many sequences of LENGTH tokens, greedy, with the length of their prompts: half code, half the gate's own."""
        cut = chance.randrange(16, 128)
        starts = [chance.randrange(0, len(self._code) - LENGTH) for _ in range(count // 2)]
        said = [self._code[start : start + cut] for start in starts]
        said += [ids[:cut] for ids in chance.choices([ids for ids in self._asked if len(ids) >= cut], k=count // 2)]
        head, middle = (torch.tensor(self.tokenizer.encode(text)) for text in (USER, ASSISTANT))
        prompts = torch.stack([torch.cat([head, words, middle]) for words in said])
        more = LENGTH - prompts.shape[1]
        with torch.no_grad():
            rows = self.target.generate(
                prompts, max_new_tokens=more, min_new_tokens=more, do_sample=False, pad_token_id=0
            )
        return [(row, prompts.shape[1]) for row in rows]

    def answers(self) -> list[Row]:
        """What the target says to the gate's prompts as they are, ANSWER tokens each: these are where it is measured."""
        rows = []
        for prompt in load_prompts():
            messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
            text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            ids = torch.tensor([self.tokenizer.encode(text)])
            with torch.no_grad():
                (said,) = self.target.generate(
                    ids, max_new_tokens=ANSWER, min_new_tokens=ANSWER, do_sample=False, pad_token_id=0
                )
            rows.append((said, ids.shape[1]))
        return rows

    def features(self, tokens: torch.Tensor) -> torch.Tensor:
        """Hidden states at LAYER_IDS, side by side."""
        with torch.no_grad():
            self.target(input_ids=tokens)
        return torch.cat([self._caught[number] for number in LAYER_IDS], -1)


def step(drafter: Drafter, lesson: Lesson, rows: list[Row]) -> tuple[torch.Tensor, float]:
    """Loss, and acceptance length with the bonus token, over ANCHORS random places in each sequence; all equally long."""
    tokens = torch.stack([row for row, _ in rows])
    batch, length = tokens.shape
    anchors = torch.stack([torch.randint(prompt - 1, length - K - 1, (ANCHORS,)) for _, prompt in rows])
    positions = (anchors[:, :, None] + torch.arange(K + 1)).view(batch, -1)
    right = tokens.gather(1, positions).view(batch, ANCHORS, K + 1)
    queries = right.clone()
    queries[:, :, 1:] = MASK
    context = torch.arange(length).expand(batch, length)
    block = torch.arange(ANCHORS).repeat_interleave(K + 1)
    before = context[:, None] < anchors.repeat_interleave(K + 1, 1)[:, :, None]
    mask = torch.cat([before, (block[:, None] == block[None]).expand(batch, -1, -1)], -1)
    embedded = lesson.embedding[queries.view(batch, -1)]
    hidden = drafter(embedded, positions, lesson.features(tokens), context, mask)
    logits = hidden.view(batch, ANCHORS, K + 1, HIDDEN)[:, :, 1:] @ lesson.embedding.T
    weights = 0.9 ** torch.arange(K).float()
    each = functional.cross_entropy(logits.flatten(0, 2), right[:, :, 1:].flatten(), reduction="none")
    loss = (each.view(batch, ANCHORS, K) * weights).sum(-1).mean() / weights.sum()
    accepted = (logits.argmax(-1) == right[:, :, 1:]).float().cumprod(-1).sum(-1).mean()
    return loss, 1 + accepted.item()


def train(target: Path, out: Path, seconds: float) -> None:
    """Write weights and config to `out`."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    chance = random.Random(0)
    lesson, drafter = Lesson(target), Drafter()
    pool: list[Row] = []
    began = time.monotonic()
    while time.monotonic() - began < seconds * GENERATING_SHARE:
        pool += lesson.write(64, chance)
    learn(drafter, lesson, lambda: [chance.sample(pool, BATCH)], seconds * (1 - GENERATING_SHARE - ANSWERS_SHARE))
    answers = lesson.answers()
    learn(drafter, lesson, lambda: [[row] for row in chance.sample(answers, ANSWERS)], seconds * ANSWERS_SHARE, ENOUGH)
    out.mkdir(parents=True, exist_ok=True)
    weights = {name: value.to(torch.bfloat16).contiguous() for name, value in drafter.state_dict().items()}
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    (out / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n", encoding="utf-8")


def learn(
    drafter: Drafter, lesson: Lesson, batches: Callable[[], list[list[Row]]], seconds: float, enough: float = K + 1
) -> None:
    """Take steps over batches until the time is over or the acceptance length is `enough`.

    The learning rate rises for 30 steps and then falls.
    """
    optimizer = torch.optim.AdamW(drafter.parameters(), lr=2e-3, weight_decay=0.01)
    began, steps, smooth = time.monotonic(), 0, 1.0
    while (spent := time.monotonic() - began) < seconds and smooth < enough:
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1, steps / 30) * (1 - 0.95 * spent / seconds)
        optimizer.zero_grad()
        lengths = []
        for rows in batches():
            loss, length = step(drafter, lesson, rows)
            loss.backward()
            lengths.append(length)
        nn.utils.clip_grad_norm_(drafter.parameters(), 1.0)
        optimizer.step()
        steps += 1
        smooth += 0.2 * (sum(lengths) / len(lengths) - smooth)
        if steps % 10 == 0:
            sys.stdout.write(f"{steps} steps, acceptance length {smooth:.2f}\n")


if __name__ == "__main__":
    train(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 420)
