"""Texts of many clients, written side by side: continuous batching over `step` (Yu et al. 2022, Orca).

    every step: those that wait join, each row chooses its next token by its own seed and temperature, those that are done leave

The states say how rows are joined and left (layers/cache.py: a length a row), so that a text is the same whether it is written
alone or beside others. A row whose text has outgrown the cache goes on among those that read their window again; the others keep
their cache.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import torch

from wenmai.errors import Mistake
from wenmai.layers.cache import Cache, join, take
from wenmai.serving.limits import Limits
from wenmai.serving.metrics import Metrics
from wenmai.serving.refusals import busy
from wenmai.tasks.contract import Trained
from wenmai.tasks.decoding import Choice, uniforms

PREFILL = 4096  # tokens of prompts that are read between two steps


@dataclass(eq=False)
class Text:
    """One that is being written. `tell` is called in the writer's thread with a piece, with None or an exception at the end."""

    name: str  # of the run
    trained: Trained
    prompt: str
    tokens: int
    lines: int | None
    choice: Choice
    seed: int
    tell: Callable[[str | Exception | None], None]
    until: float  # time.monotonic()
    written: int = 0
    ended: int = 0  # lines
    given_up: bool = False
    over: bool = False
    feed: deque = field(default_factory=deque)

    def __post_init__(self):
        inputs = self.trained.inputs
        self.begun = inputs.prompt(self.prompt)  # (T,)
        self.chance = uniforms([self.seed], torch.device("cpu"))
        numbers = iter(self.feed.popleft, None)
        self.pieces = inputs.each_piece(
            self.begun.tolist(), numbers, self.lines, self.prompt[-1:].isspace()
        )

    def end(self, how: Exception | None) -> None:
        self.over = True
        self.tell(how)

    def add(self, number: int) -> bool:
        """Takes a token; whether the text goes on."""
        self.feed.append(number)
        self.written += 1
        self.ended += number == self.trained.inputs.special.end
        if (piece := next(self.pieces, "")) != "":
            self.tell(piece)
        return self.written < self.tokens and (self.lines is None or self.ended < self.lines)


@dataclass
class Group:
    """Rows whose states are of one kind, with log p of what comes next in each (B, V)."""

    texts: list[Text]
    log_probs: torch.Tensor
    state: object

    def only(self, rows: list[int]) -> "Group":
        if len(rows) == len(self.texts):
            return self
        at = torch.tensor(rows, dtype=torch.int64)
        return Group(
            [self.texts[row] for row in rows],
            self.log_probs[at.to(self.log_probs.device)],
            take(self.state, at),
        )


class Writer:
    """The thread that writes; texts of several runs take turns, a step each."""

    def __init__(self, limits: Limits, metrics: Metrics):
        self.limits, self.metrics = limits, metrics
        self.waiting: deque[Text] = deque()
        self.open: set[Text] = set()  # that are waiting or being written
        self.groups: dict[int, list[Group]] = {}  # id of a model → its rows
        self.changed, self.stopping = threading.Condition(), False
        self.cores = max(
            1, torch.get_num_threads() // 2
        )  # others answer meanwhile; steps are too short to be shared well
        self.thread = threading.Thread(target=self.work, name="wenmai-writing", daemon=True)

    def start(self) -> None:
        self.thread.start()

    @property
    def writing(self) -> int:
        return sum(not (text.over or text.given_up) for text in self.open.copy())

    def write(self, text: Text) -> None:
        with self.changed:
            if len(self.waiting) >= self.limits.waiting:
                raise busy(5.0)
            self.waiting.append(text)
            self.open.add(text)
            self.changed.notify()

    def close(self, seconds: float) -> None:
        """What is being written comes to its end first."""
        until = time.monotonic() + seconds
        while self.writing and time.monotonic() < until:
            time.sleep(0.02)
        with self.changed:
            self.stopping = True
            self.changed.notify()

    # The thread

    def work(self) -> None:
        torch.set_num_threads(self.cores)
        while True:
            with self.changed:
                while not self.waiting and not self.groups and not self.stopping:
                    self.changed.wait()
                if self.stopping:
                    return
            self.admit()
            with self.changed:
                self.open = {text for text in self.open if not (text.over or text.given_up)}
            for model in list(self.groups):
                try:
                    self.groups[model] = self.step(self.groups[model])
                except Exception as error:  # of the model: its texts end, those of others go on
                    for group in self.groups[model]:
                        for text in group.texts:
                            text.end(error)
                    self.groups[model] = []
                if not self.groups[model]:
                    del self.groups[model]

    def admit(self) -> None:
        """Reads the prompts of those that wait, as many as there is room for; of one length and run together."""
        new, tokens = [], 0
        room = self.limits.writing - sum(
            len(group.texts) for groups in self.groups.values() for group in groups
        )
        while self.waiting and len(new) < room and (tokens < PREFILL or not new):
            text = self.waiting.popleft()
            if not text.given_up:
                new.append(text)
                tokens += len(text.begun)
        new.sort(key=lambda text: (id(text.trained.model), len(text.begun)))
        for (model, _), alike in groupby(
            new, lambda text: (id(text.trained.model), len(text.begun))
        ):
            texts = list(alike)
            try:
                log_probs, state = texts[0].trained.language.begin(
                    np.stack([text.begun for text in texts])
                )
            except Exception as error:
                for text in texts:
                    text.end(error)
                continue
            self.groups.setdefault(model, []).append(Group(texts, log_probs, state))
        for model in list(self.groups):
            self.groups[model] = merged(self.groups[model])

    def step(self, groups: list[Group]) -> list[Group]:
        after = []
        for group in groups:
            group = group.only([row for row, text in enumerate(group.texts) if not self.gone(text)])
            goes_on, chosen = [], next_tokens(group) if group.texts else []
            for row, (text, number) in enumerate(zip(group.texts, chosen)):
                if isinstance(number, Exception):
                    text.end(number)
                elif text.add(number):
                    goes_on.append(row)
                else:
                    text.end(None)
                self.metrics.count("wenmai_tokens_total", run=text.name)
            left = group.only(goes_on)
            tokens = torch.tensor([chosen[row] for row in goes_on], dtype=torch.int64)
            for part, at in parts_that_fit(left) if left.texts else ():
                log_probs, state = part.texts[0].trained.language.step(part.state, tokens[at])
                after.append(Group(part.texts, log_probs, state))
        return merged(after)

    def gone(self, text: Text) -> bool:
        if text.given_up:
            return True
        if time.monotonic() > text.until:
            text.end(TimeoutError())
            return True
        return False


def next_tokens(group: Group) -> list[int | Exception]:
    """Of every row the token that it chooses, by its own numbers; rows that choose alike choose together."""
    unknown, log_probs = group.texts[0].trained.inputs.special.unknown, group.log_probs
    if unknown is not None:
        log_probs[:, unknown] = float("-inf")
    chosen: list = [None] * len(group.texts)
    some = (log_probs.amax(1) > float("-inf")).tolist()
    by_choice: dict[Choice, list[int]] = {}
    for row, text in enumerate(group.texts):
        uniform = next(text.chance)
        if some[row]:
            by_choice.setdefault(text.choice, []).append(row)
            chosen[row] = uniform
        else:
            chosen[row] = Mistake(
                "after this text nothing has a probability in a model without smoothing; begin otherwise, or "
                "train with smoothing."
            )
    for choice, rows in by_choice.items():
        uniform = torch.cat([chosen[row] for row in rows]).to(log_probs.device)
        own = (
            log_probs
            if len(rows) == len(chosen)
            else log_probs[torch.tensor(rows, device=log_probs.device)]
        )
        for row, number in zip(rows, choice.at(own, uniform).tolist()):
            chosen[row] = number
    return chosen


def parts_that_fit(group: Group) -> Iterator[tuple[Group, torch.Tensor]]:
    """(rows, which they are): those that still fit into their cache, and those that do not."""
    state, every = group.state, torch.arange(len(group.texts))
    if not isinstance(state, Cache) or state.fits(1):
        yield group, every
        return
    full = torch.from_numpy(state.lengths >= state.tokens.shape[1])
    for rows in (every[~full], every[full]):
        if len(rows):
            yield group.only(rows.tolist()), rows


def merged(groups: list[Group]) -> list[Group]:
    """One group for every kind of state."""
    kinds: dict[type, list[Group]] = {}
    for group in groups:
        if group.texts:
            kinds.setdefault(type(group.state), []).append(group)
    return [
        alike[0]
        if len(alike) == 1
        else Group(
            [text for group in alike for text in group.texts],
            torch.cat([group.log_probs for group in alike]),
            join([group.state for group in alike]),
        )
        for alike in kinds.values()
    ]
