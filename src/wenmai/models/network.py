"""Network: input layer, body, head. Every rung that learns by gradients is one of these, or two (encoder and decoder).

    x = input(batch),  y = body(x),  outputs = head(y)        y_w of a word is that of its first piece; [y_w, spelling(w)]

Where the body is causal and the head says the next token, a network goes on with a text: `begin` reads what stands there,
`step` one token more."""

import torch
from torch import Tensor, nn

from wenmai.data.examples.batches import Batch
from wenmai.kernels.sharing import helped
from wenmai.layers.body import Body
from wenmai.layers.cache import Cache, Window
from wenmai.layers.losses import Loss
from wenmai.layers.packing import Packed
from wenmai.layers.trace import Trace

State = Tensor | Cache | Window


class Network(nn.Module):
    fine_tuned = False  # it starts from a body that has learned, with defaults that suit that

    def __init__(
        self,
        input: nn.Module,
        body: Body,
        head: nn.Module,
        *,
        context: int = 256,
        built: dict | None = None,
        training_defaults: dict[str, float] | None = None,
        fine_tuning_defaults: dict[str, float] | None = None,
        spelling: nn.Module | None = None,
    ):
        """`context`: of running text, how many tokens training reads at once; a body without a state to carry reads no more at
        any time. `built`: options of the builder that followed from the data: what was built is what is saved.
        `training_defaults`: training options that suit it, where none are given, and `fine_tuning_defaults`, where it starts from
        a body that has learned. `spelling`: what reads the letters of words,
        where they stand beside y."""
        super().__init__()
        self.input, self.body, self.head, self.context = input, body, head, context
        self.spelling = spelling
        self.built, self.training_defaults = built or {}, training_defaults or {}
        self.fine_tuning_defaults = fine_tuning_defaults or {}
        self.has_probabilities, self.per_step, self.says_next = (
            head.has_probabilities,
            head.per_step,
            head.says_next,
        )

    def forward(self, batch: Batch, trace: Trace | None = None) -> Tensor:
        return self.masked(batch, trace)[0]

    def masked(self, batch: Batch, trace: Trace | None = None) -> tuple[Tensor, Tensor]:
        """(outputs, their mask): a body may shorten T, and of words that are read in pieces the first piece answers."""
        y, mask, _ = self.read(batch, *self.input(batch), trace)
        return self.head.outputs(y, mask), mask

    def outputs_from(
        self, x: Tensor, mask: Tensor, trace: Trace | None = None, batch: Batch | None = None
    ) -> Tensor:
        """Entered at the embeddings: for gradients with respect to the input. `batch`: theirs, where not all places answer."""
        y, mask, _ = self.read(batch or Batch(x, mask), x, mask, trace)
        return self.head.outputs(y, mask)

    def read(
        self, batch: Batch, x: Tensor, mask: Tensor, trace: Trace | None = None
    ) -> tuple[Tensor, Tensor, State | None]:
        """(what the head judges, its mask, the state): y at the places that answer, with what the letters say beside it."""
        beside = {"segment": batch.segment} if self.body.segmented else {}
        beside |= {"packed": Packed.as_laid(batch, mask)} if self.body.packs else {}
        beside |= (
            {"first": True} if trace is None and self.reads_first and batch.answers is None else {}
        )
        y, mask, state = self.body(x, mask, batch.state, trace, **beside)
        if batch.answers is not None:
            mask = batch.answers >= 0  # (B, W)
            y = y.take_along_dim(batch.answers.clamp(min=0).unsqueeze(-1), 1)  # (B, W, H)
        if self.spelling is not None:
            y = torch.cat([y, self.spelling(batch.letters)[batch.form].to(y.dtype)], -1)
        return y, mask, state

    def losses(self, batch: Batch) -> tuple[list[Loss], Tensor | None]:
        """What the head says of the batch, and the state after it, where it is carried on."""
        y, mask, state = self.read(batch, *self.input(batch))
        return self.head.losses(y, mask, batch), state if self.carried else None

    @property
    def reads_first(self) -> bool:
        """Whether the head reads the first place alone, and the body can leave out what that does not need."""
        return getattr(self.head, "pooling", None) == "first" and getattr(
            self.body, "shortens", False
        )

    def transitions(self):
        """How much a tag favours the next, where the head weighs that (a CRF); else None."""
        return self.head.path_weights() if hasattr(self.head, "path_weights") else None

    def parameters_count(self) -> int:
        return sum(p.numel() for p in self.parameters())

    @property
    def carried(self) -> bool:
        return self.body.carried

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    # Going on with a text

    @torch.no_grad()
    def begin(self, tokens: Tensor) -> tuple[Tensor, State]:
        """(log p of what comes next (B, V), the state) after these tokens (B, T)."""
        return self.after(tokens, None)

    @torch.no_grad()
    def step(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        """The same after one token more in every row (B,); log p stay on the network's device, and no step waits for it."""
        with helped(isinstance(state, Cache) and state.many):
            return self.after(tokens[:, None], state)

    def after(self, tokens: Tensor, state: State | None) -> tuple[Tensor, State]:
        """A carried state goes on for ever. Without one, a token is said from the last `context` before it: as long as all of
        them fit, a body with a cache reads the new ones only; then, as they all move up by one place with every token, the
        state is the window itself, which is read again."""
        tokens = tokens.to(self.device)
        if self.carried:
            return self.last(tokens, state)
        if state is None and self.body.cached:
            state = self.body.cache(len(tokens), self.context)
        if isinstance(state, Cache):
            if state.fits(tokens.shape[1]):
                log_probs, after = self.last(tokens, state)
                after.hold(tokens)
                return log_probs, after
            state = state.window
        window = (
            Window.of(tokens[:, -self.context :])
            if state is None
            else state.added(tokens, self.context)
        )
        y, _ = self.hidden(window.tokens, None)
        last = y[torch.arange(len(y), device=y.device), window.lengths - 1]  # (B, H)
        return self.head.outputs(last[:, None])[:, 0].float(), window

    def last(
        self, tokens: Tensor, state: Tensor | Cache | None
    ) -> tuple[Tensor, Tensor | Cache | None]:
        """(log p after the last of these tokens (B, V), the state there)"""
        y, state = self.hidden(tokens, state)
        return self.head.outputs(y[:, -1:])[:, 0].float(), state

    def hidden(
        self, tokens: Tensor, state: Tensor | Cache | None
    ) -> tuple[Tensor, Tensor | Cache | None]:
        """y (B, T, H) after each of these tokens (B, T), all real, and the state after the last."""
        x, _ = self.input(Batch(tokens.to(self.device), None))
        y, _, state = self.body(x, None, state)
        return y, state
