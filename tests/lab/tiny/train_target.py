"""Trains the tiny target: a tokenizer and a Qwen3 language model, on the source of Python's standard library.

python -m tests.lab.tiny.train_target OUT [SECONDS]
"""

import random
import sys
import sysconfig
import time
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 2048
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|mask|>")
"""Tokens 0 to 3; the last one is the drafter's mask."""

CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
USER, ASSISTANT = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"
LENGTH, BATCH = 192, 16
CHAT_SHARE = 0.4
"""Of the samples: "continue what the user wrote"."""


def corpus() -> list[str]:
    """The standard library's files (PSF licence), about 6 MB."""
    root = Path(sysconfig.get_paths()["stdlib"])
    folders = ("", "asyncio/", "email/", "json/", "logging/", "http/", "unittest/")
    return [
        path.read_text("utf-8", errors="replace") for folder in folders for path in sorted(root.glob(f"{folder}*.py"))
    ]


def tokenizer_of(texts: list[str]) -> transformers.PreTrainedTokenizerFast:
    """Byte-level BPE."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=list(SPECIAL), initial_alphabet=alphabet)
    bpe.train_from_iterator(iter(texts), trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token=SPECIAL[0],
        pad_token=SPECIAL[0],
        additional_special_tokens=list(SPECIAL[1:]),
        model_max_length=2048,
    )
    fast.chat_template = CHAT
    return fast


def model() -> transformers.Qwen3ForCausalLM:
    """Six layers, 1.44 million parameters. A head's size is one that the engine's attention has on a CPU."""
    config = transformers.Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=128,
        num_hidden_layers=6,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        intermediate_size=384,
        max_position_embeddings=2048,
        rope_theta=10000.0,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
        max_window_layers=6,
        architectures=["Qwen3ForCausalLM"],
    )
    return transformers.Qwen3ForCausalLM(config)


def train(out: Path, seconds: float) -> None:
    """Write model, tokenizer and generation config to `out`."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    chance = random.Random(0)
    texts = corpus()
    tokenizer = tokenizer_of(texts)
    documents = tokenizer(texts, add_special_tokens=False)["input_ids"]
    ids = torch.tensor([token for document in documents for token in (*document, 0)])
    head, middle = torch.tensor(tokenizer.encode(USER)), torch.tensor(tokenizer.encode(ASSISTANT))

    def sample() -> torch.Tensor:
        start = chance.randrange(0, len(ids) - LENGTH - 1)
        window = ids[start : start + LENGTH]
        if chance.random() < CHAT_SHARE:
            cut = chance.randrange(16, 80)
            window = torch.cat([head, window[:cut], middle, window[cut:]])[:LENGTH]
        return window

    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.05)
    began, step = time.monotonic(), 0
    while (spent := time.monotonic() - began) < seconds:
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1, step / 50) * (1 - 0.95 * spent / seconds)
        batch = torch.stack([sample() for _ in range(BATCH)])
        with torch.autocast("cpu", torch.bfloat16):
            logits = net(input_ids=batch).logits
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].float().flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        step += 1
        if step % 100 == 0:
            sys.stdout.write(f"{step} steps, loss {loss.item():.3f}\n")
    net.generation_config = transformers.GenerationConfig(eos_token_id=[0, 2], pad_token_id=0)
    net.to(torch.bfloat16).save_pretrained(out)
    tokenizer.save_pretrained(out)


if __name__ == "__main__":
    train(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 420)
