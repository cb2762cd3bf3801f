"""Training and transcribing on a CPU, in times of real time, against plain loops (`speech.py speed`)."""

from __future__ import annotations

import json
import time

import numpy as np
import torch
from torch import nn


class Plain:
    """nn.LSTM, two layers both ways, and CTCLoss, in batches of like length. `packed`: as torch lays out rows of different
    lengths; else every layer is two that go one way, the second of which reads rows that are turned round."""

    def __init__(
        self, frames: list[np.ndarray], targets: list[list[int]], classes: int, packed: bool
    ):
        self.frames, self.targets, self.classes, self.packed = frames, targets, classes, packed
        order = np.argsort([len(one) for one in frames])
        self.batches = [order[start : start + 16] for start in range(0, len(order), 16)]
        self.first, self.says = nn.Linear(frames[0].shape[1], 96), nn.Linear(256, classes)
        both = [nn.LSTM(96, 128, 2, batch_first=True, bidirectional=True, dropout=0.1)]
        self.reads = (
            both
            if packed
            else [nn.LSTM(size, 128, batch_first=True) for size in (96, 96, 256, 256)]
        )

    def states(self, x, lengths):
        if self.packed:
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, True, enforce_sorted=False)
            return nn.utils.rnn.pad_packed_sequence(self.reads[0](packed)[0], True)[0]
        places = torch.arange(x.shape[1])
        turned = torch.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)[
            ..., None
        ]
        for level, (one, other) in enumerate((self.reads[:2], self.reads[2:])):
            x = nn.functional.dropout(x, 0.1) if level else x
            back = other(x.gather(1, turned.expand_as(x)))[0]
            x = torch.cat([one(x)[0], back.gather(1, turned.expand_as(back))], 2)
        return x

    def __call__(self, updates: int) -> tuple[float, int]:
        """(seconds of so many updates, frames that were read)"""
        torch.manual_seed(0)
        weights = [
            weight
            for layer in (self.first, *self.reads, self.says)
            for weight in layer.parameters()
        ]
        optimizer, loss = (
            torch.optim.AdamW(weights, 3e-3),
            nn.CTCLoss(self.classes - 1, zero_infinity=True),
        )
        began, read = time.perf_counter(), 0
        for number in range(updates):
            rows = self.batches[number % len(self.batches)]
            x = nn.utils.rnn.pad_sequence(
                [torch.from_numpy(self.frames[row]) for row in rows], True
            )
            lengths = torch.tensor([len(self.frames[row]) for row in rows])
            y = self.states(self.first(x), lengths)
            target = torch.tensor([token for row in rows for token in self.targets[row]])
            sizes = torch.tensor([len(self.targets[row]) for row in rows])
            total = loss(self.says(y).log_softmax(-1).transpose(0, 1), target, lengths, sizes)
            optimizer.zero_grad()
            total.backward()
            nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            read += int(lengths.sum())
        return time.perf_counter() - began, read


def speed(clips, texts: list[str], many: int) -> dict:
    """In turns, every second one the other way round: an epoch of Wenmai, as many updates of the plain loops; then features
    alone, and transcribing. Seconds of sound are those of the frames that were read."""
    from wenmai import Transcriber

    turns = []
    spoken = float(clips.seconds.sum())
    batch = 16 * (spoken / len(clips) / 0.02 + np.mean([len(text) for text in texts]))

    def train() -> tuple[object, float, int]:
        model, read = (
            Transcriber(
                "lstm",
                epochs=1,
                evaluations=1,
                validation=0.0,
                batch_tokens=int(batch),
                device="cpu",
            ),
            [0],
        )

        def count(layer, given) -> None:
            read[0] += int(given[0].mask.sum()) if layer.training else 0

        began = time.perf_counter()
        for progress in model.training(clips, texts):
            if progress.step == 0:
                model.model_.input.register_forward_pre_hook(count)
        return model, time.perf_counter() - began, read[0]

    model, _, _ = train()  # compiles, fills caches
    began = time.perf_counter()
    encoded = model.examples(clips, texts)
    features = time.perf_counter() - began
    frames, said = (
        [encoded.inputs[row] for row in range(len(clips))],
        [row.tolist()[:-1] for row in encoded.written],
    )
    second, classes, updates = (
        spoken / sum(map(len, frames)),
        model.model_.head.width,
        model.progress_[-1].step,
    )  # of a frame
    peers = {
        "packed loop": Plain(frames, said, classes, True),
        "padded loop": Plain(frames, said, classes, False),
    }
    for turn in range(many):
        rates = {}
        for name in ["wenmai", *peers][:: 1 if turn % 2 == 0 else -1]:
            if name == "wenmai":
                model, seconds, read = train()
            else:
                seconds, read = peers[name](updates)
                seconds += features * read * second / spoken
            rates[name] = read * second / seconds
        began = time.perf_counter()
        encoded = model.examples(clips, texts)
        features = time.perf_counter() - began
        began = time.perf_counter()
        model.predict(clips)
        ratios = {f"to the {name}": rates["wenmai"] / rates[name] for name in peers}
        turns.append(
            rates
            | ratios
            | {
                "features' share": features * rates["wenmai"] / spoken,
                "transcribing": spoken / (time.perf_counter() - began),
            }
        )
        print(json.dumps(turns[-1]), flush=True)
    return {
        "rows": len(clips),
        "minutes of sound": spoken / 60,
        "median": {name: float(np.median([turn[name] for turn in turns])) for name in turns[0]},
    }
