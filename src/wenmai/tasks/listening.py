"""Listening to a sound that is still coming: by a rung that reads one way and carries its state, step by step, greedily.

The features of a frame need nothing that comes after it, and neither does the network; so what is heard is what would be heard in
the whole sound."""

from collections.abc import Iterator

import numpy as np
import torch

from wenmai.data.examples.batches import Batch
from wenmai.data.sound.features import FeatureStream
from wenmai.data.sound.resampling import Resampler
from wenmai.errors import Mistake
from wenmai.tasks.contract import Trained
from wenmai.tasks.transcripts import by_alignment, never_unknown


class Listening:
    """`push` samples from −1 to 1, and `finish`; both give the words that are complete."""

    def __init__(self, trained: Trained, rate: int):
        model, source = trained.model, trained.inputs.source
        if not by_alignment(model) or not model.body.carried:
            raise Mistake(
                "a sound can be heard while it comes by a rung that reads one way; train one, as in wenmai train "
                "lstm DATA "
                "--set bidirectional=false --set normalise=corpus."
            )
        if source.convolutions:
            raise Mistake(
                "this run has filters that look ahead, and hears whole sounds alone; train it without convolutions."
            )
        if source.normalise != "corpus":
            raise Mistake(
                "this run takes the mean of every whole sound off, which is not known while it comes; train it with "
                "--set "
                "normalise=corpus."
            )
        self.trained, self.source, self.model = trained, source, model
        self.resampler, self.features = Resampler(rate, source.rate), FeatureStream(source.features)
        self.left, self.state, self.last, self.tokens, self.yielded = (
            torch.zeros(0, source.mels),
            None,
            None,
            [],
            0,
        )

    def push(self, samples: np.ndarray) -> Iterator[str]:
        frames = torch.cat([self.left, self.features.push(self.resampler.push(samples))])
        steps = len(frames) // self.source.stack
        self.left = frames[steps * self.source.stack :]
        if steps:
            self.read(self.source.stacked(self.source.scaled(frames[: steps * self.source.stack])))
        yield from self.complete(False)

    def finish(self) -> Iterator[str]:
        yield from self.push(self.resampler.finish())
        yield from self.complete(True)

    @torch.inference_mode()
    def read(self, frames: np.ndarray) -> None:
        """(T, F): on from the state that the steps before came to"""
        x, mask = self.model.input(
            Batch(
                torch.from_numpy(frames)[None].to(self.trained.device),
                torch.ones(1, len(frames), dtype=torch.bool, device=self.trained.device),
            )
        )
        y, _, self.state = self.model.body(x, mask, self.state)
        log_probs = self.model.head.outputs(y, mask)[0].cpu().numpy()
        for token in never_unknown(self.trained, log_probs).argmax(-1).tolist():
            if token not in (self.last, self.model.head.blank):
                self.tokens.append(token)
            self.last = token

    def complete(self, over: bool) -> Iterator[str]:
        """Words behind which another has begun, or all."""
        text = self.trained.inputs.target.text(self.tokens)[self.yielded :]
        spaced = " " in text or self.yielded
        while text and ((cut := text.find(" ", 1)) > 0 or over or not spaced):
            if cut < 0 and not over and (text.isascii() or spaced):
                return
            word = text if cut < 0 else text[:cut]
            self.yielded, text = self.yielded + len(word), text[len(word) :]
            if word.strip():
                yield word.strip()
