"""A reading: what a model made of one input, and what can be asked of it again.

words     what was read, joined into words, and where each stands (words.py)
notes     what the written-out formulas came to (layers/trace.py)
chosen    the answer, and `support`, the number that speaks for it: log p of a class, of all tags, of the next word, of the
          text that was written; or the number that was answered
without   the same input without one of its words, read anew
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from wenmai.data.examples.batches import Batch
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.files.sounds import Clip, Clips
from wenmai.data.inputs.copying import Copied
from wenmai.data.text import tokenizers
from wenmai.inspection import words as joining
from wenmai.inspection.words import Word
from wenmai.layers.trace import Reach, Trace
from wenmai.locale import Message
from wenmai.tasks import hypotheses, writing

LONGEST = (
    512  # tokens of a running text that are looked at, by a network that could read on for ever
)
BATCHED = (
    "inputs",
    "mask",
    "target",
    "target_mask",
    "segment",
    "answers",
    "copies",
    "form",
)  # tensors with a row an example


class Reading:
    """`value` is one input, as `estimator.predict` takes many; `text`: what is written for it, where that is settled already."""

    def __init__(self, estimator, value, text: str | None = None):
        self.estimator, self.value, self.task = estimator, value, estimator.task_
        self.trained, self.inputs, self.model = (
            estimator.trained(),
            estimator.inputs_,
            estimator.model_,
        )
        self.running, self.network = self.inputs.kind == "lines", isinstance(self.model, nn.Module)
        self.messages: list[Message] = []
        self.text, self.shorter = text, {}
        if not self.network:
            self.batch = None
            self.examples = (
                None if self.running else self.task.examples(self.trained, self.together())
            )
            return
        self.examples = None
        if self.running:
            self.batch = self.prompt_batch()
        else:
            targets = None if text is None else [text]
            self.examples = self.task.trace_examples(self.trained, self.together(), targets)[0]
            self.batch = self.examples.batch(np.arange(len(self.examples))).to(self.trained.device)
            self.messages += cut_notes(self.examples, self.batch)

    def together(self):
        """The input as the only one of several."""
        if isinstance(self.value, np.ndarray):
            return self.value[None]
        if isinstance(self.value, Clip):
            return Clips([self.value])
        return (
            Sequences.of([self.value], np.float64) if self.inputs.kind == "frames" else [self.value]
        )

    def prompt_batch(self) -> Batch:
        """A running text, from the end of a line before it; of a long one the end, from which the next word is said."""
        tokens = np.concatenate([[self.inputs.special.end], self.inputs.prompt(self.value)]).astype(
            np.int64
        )
        most = LONGEST if self.model.carried else min(LONGEST, self.model.context)
        if len(tokens) > most:
            self.messages.append(
                Message(
                    "the text has {tokens:,} tokens, and its last {most:,} are looked at",
                    most=most,
                    tokens=len(tokens),
                )
            )
        row = torch.from_numpy(tokens[-most:])[None].to(self.trained.device)
        return Batch(row, torch.ones_like(row, dtype=torch.bool))

    # What was read, in words

    @property
    def source(self):
        """How what is read is cut: of two sides the first."""
        return getattr(self.inputs, "source", self.inputs)

    @cached_property
    def tokenizer(self):
        own = getattr(self.source, "tokenizer", None)
        if own is None and self.running:  # words between spaces
            return tokenizers.Spaces(self.source.tokens(), self.source.lowercase)
        return own

    @cached_property
    def texts(self) -> list[str]:
        """The texts of which the input consists."""
        value = self.value
        if self.running:
            return value.split("\n")
        if isinstance(value, str):
            return [value]
        flat = []
        for part in value if isinstance(value, (tuple, list)) else ():
            flat += [part] if isinstance(part, str) else list(part)
        return flat

    @cached_property
    def pretokenized(self) -> list[str] | None:
        """Tokens that somebody cut already, where these are read."""
        if not hasattr(self.source, "cut") or not hasattr(self.source, "single"):
            return None
        return self.source.cut(self.value)[0] if isinstance(self.value, str) else list(self.value)

    @cached_property
    def row(self) -> int:
        """Which row of the batch is shown: of several texts that belong to one question, the one that was chosen."""
        several = self.network and len(self.batch.inputs) > 1
        return int(self.chosen) if several and self.chosen is not None else 0

    @cached_property
    def ids(self) -> np.ndarray | None:
        """(T,) the tokens that are read; None where no tokens are."""
        if self.tokenizer is None and self.pretokenized is None:
            return None
        if not self.network:
            return (
                self.examples.inputs[0]
                if self.examples is not None
                else self.inputs.prompt(self.value)
            )
        if self.batch.inputs.is_floating_point() or self.batch.inputs.dim() != 2:
            return None
        return self.batch.inputs[self.row][self.batch.mask[self.row]].cpu().numpy()

    @cached_property
    def words(self) -> list[Word]:
        if (
            self.pretokenized is not None and self.network and self.batch.answers is not None
        ):  # read in pieces
            first = self.batch.answers[0]
            starts = first[first >= 0].tolist()
            ends = [*starts[1:], len(self.ids) - len(self.source.wrapping.after)]
            inner = [
                Word(name, list(range(start, end)), (0, at, at + 1))
                for at, (name, start, end) in enumerate(zip(self.pretokenized, starts, ends))
            ]
            around = {place for word in inner for place in word.places}
            rest = [
                Word(joining.name_of(self.tokenizer, int(self.ids[place])), [place])
                for place in range(len(self.ids))
                if place not in around
            ]
            return sorted([*inner, *rest], key=lambda word: word.places[0])
        if self.pretokenized is not None:
            return [
                Word(name, [at], (0, at, at + 1))
                for at, name in enumerate(self.pretokenized[: len(self.ids)])
            ]
        if self.ids is None:
            return self.places_in_words()
        return joining.words_read(self.tokenizer, self.source.special, self.ids, self.texts)

    def places_in_words(self) -> list[Word]:
        """Frames, rows and patches of a picture have numbers, steps of a sound their time."""
        steps = int(self.x[1][self.row].sum()) if self.network else 1
        if isinstance(self.value, Clip):  # seconds
            return [Word(f"{at * self.source.step:.2f}", [at]) for at in range(steps)]
        return [Word(str(at + 1), [at]) for at in range(steps)]

    @cached_property
    def written(self) -> list[Word] | None:
        """The words of the text that is written for the input."""
        if not self.network or self.batch.target_mask is None:
            return None
        ids = self.batch.target[0][self.batch.target_mask[0]].cpu().tolist()
        words = hypotheses.own_words(self.examples.inputs, 0)
        lines = self.inputs.target.knowing(words).lines
        return joining.words_written(
            lines.tokenizer, lines.special, ids, writing.token_names(lines, ids)
        )

    @property
    def written_text(self) -> str | None:
        if not self.network or self.batch.target_mask is None:
            return None
        ids = self.batch.target[0][self.batch.target_mask[0]].cpu().tolist()
        return writing.text_of(self.trained, ids, hypotheses.own_words(self.examples.inputs, 0))

    # What the model makes of it

    @cached_property
    def x(self) -> tuple[Tensor, Tensor]:
        """(what the input layer gives (B, T, E), its mask)"""
        with torch.no_grad():
            return self.model.input(self.batch)

    def outputs_of(self, trace: Trace | None = None) -> Tensor:
        """Of the network as it answers; with a trace, of its formulas."""
        with torch.inference_mode() if trace is None else torch.no_grad():
            return self.masked(trace)[0]

    def masked(self, trace: Trace | None = None) -> tuple[Tensor, Tensor]:
        """(outputs, which places they are asked for)"""
        if self.batch.target_mask is not None:
            return self.model(self.batch, trace), self.batch.target_mask
        outputs, mask = self.model.masked(self.batch, trace)
        return outputs, self.asked(mask)

    def asked(self, mask: Tensor) -> Tensor:
        """Of words that are guessed, the hidden ones, where there are some."""
        hidden = None if self.tokenizer is None else self.tokenizer.special.mask
        if (
            hidden is None
            or mask.shape != self.batch.inputs.shape
            or not getattr(self.model.head, "masked", False)
        ):
            return mask
        places = self.batch.inputs == hidden
        return places if places.any() else mask

    @cached_property
    def answered(self) -> tuple[Tensor, Tensor]:
        """(outputs, which places they are asked for) of the network as it answers"""
        with torch.inference_mode():
            return self.masked()

    @cached_property
    def outputs(self) -> Tensor | None:
        if self.network:
            return self.answered[0]
        if self.running:
            return self.trained.language.begin(self.inputs.prompt(self.value))[0].unsqueeze(
                1
            )  # (1, 1, V)
        outputs = self.task.outputs(self.trained, self.examples)
        return torch.from_numpy(np.array(outputs[0])).unsqueeze(0)

    @cached_property
    def mask(self) -> Tensor:
        if self.network:
            return self.answered[1]
        return torch.ones(self.outputs.shape[:2], dtype=torch.bool)

    @property
    def head(self):
        """Who knows what is answered, and what speaks for it."""
        return self.model.head if self.network else self.task.head(self.inputs).kind

    @cached_property
    def chosen(self) -> Tensor | None:
        """The answer; None where there is none, as of a bare encoder."""
        if self.network and self.batch.target_mask is not None:
            return self.batch.target
        return self.head.chosen(self.outputs, self.mask)

    def support_of(
        self, outputs: Tensor, chosen: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """(B,) what speaks for the answer, or for another"""
        chosen, mask = (
            self.chosen if chosen is None else chosen,
            self.mask if mask is None else mask,
        )
        if self.network and self.batch.target_mask is not None:
            each = outputs.gather(2, chosen.clamp(min=0).unsqueeze(-1)).squeeze(-1)  # (B, T)
            return each.masked_fill(~mask, 0.0).sum(1)
        return self.head.support(outputs, mask, chosen)

    @cached_property
    def support(self) -> float:
        return float(self.support_of(self.outputs)[0])

    @property
    def probable(self) -> bool:
        """Whether what speaks for the answer is log p."""
        return bool(self.model.has_probabilities)

    @cached_property
    def notes(self) -> dict[str, Tensor]:
        trace = Trace()
        self.outputs_of(trace)
        return trace.notes

    def passed(self, *names: str) -> dict[str, list[Tensor]]:
        """What passes through the trace under names that end so: a list each, as steps may pass one by one."""
        seen: dict[str, list[Tensor]] = {}

        def reach(name: str, value: Tensor, instead: Tensor | None) -> Tensor:
            if name.endswith(names):
                seen.setdefault(name, []).append(value.detach())
            return value

        self.outputs_of(Trace(reach=reach))
        return seen

    def switched(self, reach: Reach) -> Tensor:
        """The outputs when something inside is changed."""
        return self.outputs_of(Trace(reach=reach))

    # Answers in words

    def named(self, outputs: Tensor) -> str:
        """What these outputs answer."""
        if self.network and self.batch.target_mask is not None:
            return f"{float(self.support_of(outputs)[0]):.3g}"
        chosen, mask = self.head.chosen(outputs, self.mask), self.mask
        if chosen is None:
            return ""
        if self.network and len(self.batch.inputs) > 1:  # one of several texts
            return str(self.value[-1][int(chosen)])
        if (
            self.batch is not None and self.batch.answers is not None and self.pretokenized is None
        ):  # from where to where
            first, last = (int(self.batch.answers[0, edge]) for edge in chosen[0])
            inside = [
                word.name
                for word in self.words
                if word.span and first <= word.places[0] and word.places[-1] <= last
            ]
            return " ".join(inside) or "–"
        if self.network and hasattr(self.model.head, "blank"):  # a token a frame, or none
            return self.task.spelled(self.trained, outputs) or "–"
        classes = getattr(self.task, "classes", None)
        if classes is not None and chosen.numel() == 1:
            return str(classes[int(chosen)])
        if classes is not None:
            return " ".join(str(classes[tag]) for tag in chosen[mask].tolist())
        if not self.head_has_tokens:
            return (
                ", ".join(f"{number:.4g}" for number in chosen.flatten().tolist())
                if chosen.is_floating_point()
                else str(chosen.flatten().tolist())
            )
        if self.running:
            return joining.shown(writing.token_names(self.inputs, chosen.tolist())[0])
        return " ".join(joining.name_of(self.tokenizer, number) for number in chosen[mask].tolist())

    @property
    def head_has_tokens(self) -> bool:
        asked = self.task.head(self.inputs)
        return hasattr(asked, "tokens") and getattr(asked, "masked", True)

    # The same with less

    @cached_property
    def removable(self) -> list[Word]:
        """Words that can be taken out of what was given: something is left of each text."""
        words = [word for word in self.words if word.span is not None]
        if self.pretokenized is not None:
            return words if len(words) > 1 else []
        return [
            word
            for word in words
            if joining.without(self.texts[word.span[0]], *word.span[1:]).strip()
        ]

    def without(self, word: Word) -> Reading:
        """The input without this word, read anew, once: what is written for it stays the same."""
        if word.span not in self.shorter:
            self.shorter[word.span] = self.read_without(word)
        return self.shorter[word.span]

    def read_without(self, word: Word) -> Reading:
        text, start, end = word.span
        if self.pretokenized is not None:
            value = [token for at, token in enumerate(self.pretokenized) if at != start]
        elif self.running:
            lines = list(self.texts)
            lines[text] = joining.without(lines[text], start, end)
            value = "\n".join(lines)
        else:
            value = with_text(self.value, text, joining.without(self.texts[text], start, end))
        less = Reading(self.estimator, value, self.written_text)
        if self.written is not None and not isinstance(
            self.examples.inputs, Copied
        ):  # also where it was not written to its end
            less.batch = replace(
                less.batch, target=self.batch.target, target_mask=self.batch.target_mask
            )
        return less

    def support_without(self, word: Word) -> tuple[float, float]:
        """(what spoke for the answer at all places but the word's own, what does when it is gone)"""
        less = self.without(word)
        if self.pretokenized is None or self.chosen is None or self.chosen.dim() < 2:
            return self.support, float(less.support_of(less.outputs, self.moved(word, less))[0])
        at = word.span[1]  # a tag of its own goes with it
        kept = [place for place in range(self.chosen.shape[1]) if place != at]
        chosen, mask = self.chosen[:, kept], self.mask[:, kept]
        before = self.head.support(self.outputs[:, kept], mask, chosen)
        after = less.head.support(
            less.outputs, less.mask, chosen if not chosen.is_floating_point() else less.chosen
        )
        return float(before[0]), float(after[0])

    def moved(self, word: Word, less: Reading) -> Tensor:
        """The same answer in the shorter input: a span, or what is left of it, stands elsewhere there."""
        chosen = less.chosen if self.chosen.is_floating_point() else self.chosen
        if self.written is not None:
            return less.chosen
        answers = self.batch.answers if self.network else None
        if answers is None or self.pretokenized is not None:
            return chosen
        gone = [at for at, place in enumerate(answers[0].tolist()) if place in word.places]
        first, last = chosen[0].tolist()
        first -= sum(at < first for at in gone)
        last = max(first, last - sum(at <= last for at in gone))
        most = less.batch.answers.shape[1] - 1
        return torch.tensor([[min(first, most), min(last, most)]], device=chosen.device)


def with_text(value, which: int, text: str):
    """The input with one of its texts changed."""
    if isinstance(value, str):
        return text
    parts, at = [], 0
    for part in value:
        size = 1 if isinstance(part, str) else len(part)
        if at <= which < at + size:
            part = (
                text
                if isinstance(part, str)
                else [text if at + step == which else one for step, one in enumerate(part)]
            )
        parts.append(part)
        at += size
    return tuple(parts) if isinstance(value, tuple) else parts


def cut_notes(examples: Examples, batch: Batch) -> list[Message]:
    """Of a text that is longer than what the network reads of it."""
    rows = examples.inputs
    if not isinstance(rows, Sequences) or rows.flat.ndim > 1 or batch.mask.dim() < 2:
        return []
    length = int((rows.costs if rows.uncut is None else rows.uncut)[0])
    most = int(batch.mask[0].sum())
    if len(batch.inputs) > 1 or length <= most:
        return []
    return [
        Message(
            "the text has {tokens:,} tokens, of which the network reads the first {most:,}",
            tokens=length,
            most=most,
        )
    ]


def repeated(batch: Batch, count: int, row: int = 0) -> Batch:
    """One row of a batch, so many times."""
    named = {name: getattr(batch, name) for name in BATCHED}
    return replace(
        batch,
        **{
            name: tensor[row : row + 1].expand(count, *tensor.shape[1:])
            for name, tensor in named.items()
            if tensor is not None
        },
    )
