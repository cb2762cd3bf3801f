"""Generating with `gpt` against Hugging Face's GPT2LMHeadModel of the same shape, both with a key/value cache, float32.

Weights are as they begin: what is written means nothing, and costs what a trained model's would. 128 tokens follow a prompt of
16, always the most probable next; one text through `LanguageModel.stream` and `generate`, 32 side by side through `Writer.step`
and `generate`.
"""

from __future__ import annotations

import time
from functools import partial

import torch
import turns
from turns import Measure

from wenmai import LanguageModel
from wenmai.tasks.decoding import Choice, continued, take

VOCABULARY, PROMPT, TOKENS, MANY = 10_000, 16, 128, 32
MEASURES = {"rate": Measure("tokens a second", "more")}


def written(model: LanguageModel) -> None:
    prompt = " ".join(f"w{n}" for n in range(PROMPT - 1))  # the end of the line before it is the first token
    assert len("".join(model.stream(prompt, tokens=TOKENS, temperature=0)))


def stepped(model: LanguageModel) -> None:
    log_probs, state = model.model_.begin(model.inputs_.prompt(" ".join(f"w{n}" for n in range(PROMPT - 1))))
    rows = torch.zeros(MANY, dtype=torch.int64)
    found = continued(model.model_.step, log_probs[rows], take(state, rows), TOKENS, Choice(0), 0)
    assert torch.stack(list(found), 1).shape == (MANY, TOKENS)


def peer(model, rows: int) -> None:
    prompt = torch.arange(1, PROMPT + 1).repeat(rows, 1)
    with torch.inference_mode():
        found = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=TOKENS)
    assert found.shape == (rows, PROMPT + TOKENS)


def timed(run, rows: int):
    def contestant() -> dict[str, float]:
        began = time.perf_counter()
        run()
        return {"rate": rows * TOKENS / (time.perf_counter() - began)}

    return contestant


def main() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    arguments = turns.arguments(__doc__).parse_args()
    torch.set_num_threads(arguments.threads)
    words = " ".join(f"w{n}" for n in range(VOCABULARY - 3))  # with the opening, the end and the unknown
    ours = LanguageModel("gpt", width=384, heads=6, layers=6, context=256, tokenizer="spaces", steps=1, batch_tokens=256,
                         validation=0.0).fit([words])  # fmt: skip
    assert ours.inputs_.vocabulary == VOCABULARY
    config = GPT2Config(vocab_size=VOCABULARY, n_positions=256, n_embd=384, n_layer=6, n_head=6, bos_token_id=None,
                        eos_token_id=None, pad_token_id=0)  # fmt: skip
    theirs = GPT2LMHeadModel(config).eval()
    found = {}
    for rows, run in ((1, written), (MANY, stepped)):
        contestants = {"wenmai": timed(partial(run, ours), rows), "Hugging Face": timed(partial(peer, theirs, rows), rows)}
        for contestant in contestants.values():  # once, unmeasured
            contestant()
        results = turns.take_turns(contestants, arguments.turns)
        print(f"\n{rows} at once\n\n{turns.table(results, MEASURES, 'wenmai')}")
        found[rows] = turns.record(results, MEASURES, "wenmai")
    turns.finish(found, arguments.json)


if __name__ == "__main__":
    main()
