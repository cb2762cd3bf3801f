"""Optimizers.

adamw       Loshchilov & Hutter 2019, one fused update for all weights
lazy-adamw  the same, except that a row of an embedding table is touched only when its token was in the batch: its
            moments do not fade in between (torch's SparseAdam). With a large vocabulary most rows are not.
sgd         plain steps, momentum 0.9
asgd        plain steps at one rate, averaged: from when the held-out score stops getting better, what counts is the mean of the
            weights after every step since (Polyak & Juditsky 1992; begun as in AWD-LSTM, Merity, Keskar & Socher 2018)
"""

import torch
from torch import nn

from wenmai.data.storage import saved as take
from wenmai.training.distributed import full_tensor, shard_of
from wenmai.training.fine_tuning import rate_factors
from wenmai.training.options import TrainingOptions
from wenmai.training.progress import Snapshot

FEW = 8  # rows of a table, such as that of segments: every batch looks all of them up


def name_gradients(network: nn.Module, lazily: bool) -> None:
    """Whether the gradient of an embedding names the rows that were looked up, or is a table of zeros around them."""
    for module in network.modules():
        if isinstance(module, nn.Embedding):
            module.sparse = lazily and module.num_embeddings > FEW


class Optimizer:
    def __init__(self, network: nn.Module, options: TrainingOptions):
        name, rate = options.optimizer, options.learning_rate
        embeddings = [module for module in network.modules() if isinstance(module, nn.Embedding)]
        tables = [
            module.weight for module in embeddings if module.sparse and module.weight.requires_grad
        ]
        seen = {id(p) for p in tables}
        rest = [p for p in network.parameters() if p.requires_grad and id(p) not in seen]
        # Decay pulls on matrices only: biases, norms and embeddings have no reason to be small.
        names = {id(module.weight) for module in embeddings}
        matrices = [p for p in rest if p.dim() >= 2 and id(p) not in names]
        others = [p for p in rest if p.dim() < 2 or id(p) in names]
        factors = rate_factors(network, options)
        groups = [
            {
                "params": [p for p in params if factors[id(p)] == factor],
                "weight_decay": decay,
                "factor": factor,
            }
            for factor in sorted(set(factors.values()), reverse=True)
            for params, decay in ((matrices, options.weight_decay), (others, 0.0))
        ]
        groups = [group for group in groups if group["params"]]
        alone = bool(rest) and rest[0].is_cuda and not hasattr(rest[0], "full_tensor")
        for group in groups:
            own = rate * group["factor"]  # where an update in one launch can read it (captured.py)
            group["lr"] = torch.tensor(own, device=rest[0].device) if alone else own
        if name in ("sgd", "asgd"):
            self.parts = [
                torch.optim.SGD(groups, momentum=0.9 if name == "sgd" else 0.0, fused=alone or None)
            ]
        else:
            self.parts = [
                torch.optim.AdamW(groups, betas=(0.9, 0.98), fused=True, capturable=alone)
            ]
        if tables:
            named = [{"params": [table], "factor": factors[id(table)]} for table in tables]
            self.parts.append(torch.optim.SparseAdam(named, lr=rate, betas=(0.9, 0.98)))
        self.rest, self.tables, self.clip = rest, tables, options.clip

    def state(self) -> dict[str, torch.Tensor]:
        """As named tensors: number of the optimizer, number of the weight, name."""
        return {
            f"{number}.{index}.{name}": torch.as_tensor(value)
            for number, part in enumerate(self.parts)
            for index, values in part.state_dict()["state"].items()
            for name, value in values.items()
        }

    def check(self, known: Snapshot) -> None:
        """Unfit where these are not what `state` gives."""
        names = (
            {"momentum_buffer"}
            if isinstance(self.parts[0], torch.optim.SGD)
            else {"step", "exp_avg", "exp_avg_sq"}
        )
        keys = [key.split(".") for key in known.arrays]
        for key in keys:
            if len(key) != 3:
                raise take.Unfit(
                    "the moments {name} are of no weight here", name=take.summary(".".join(key))
                )
        for owner, index in {(key[0], key[1]) for key in keys}:
            number, at = (
                int(owner) if owner.isdecimal() else -1,
                int(index) if index.isdecimal() else -1,
            )
            part = self.parts[number] if 0 <= number < len(self.parts) else None
            weights = (
                [weight for group in part.param_groups for weight in group["params"]]
                if part
                else []
            )
            named = {key[2] for key in keys if key[:2] == [owner, index]}
            if not 0 <= at < len(weights) or named != names:
                raise take.Unfit(
                    "the moments {name} are of no weight here",
                    name=take.summary(f"{owner}.{index}"),
                )
            steps = torch.zeros(
                (), dtype=torch.int64 if isinstance(part, torch.optim.SparseAdam) else torch.float32
            )
            for name in names:
                (array,) = known.like(
                    **{f"{owner}.{index}.{name}": steps if name == "step" else weights[at]}
                )
                if name == "step" and not 1 <= array.item() <= 1 << 40:
                    raise take.Unfit(
                        "the moments {name} are of no weight here",
                        name=take.summary(f"{owner}.{index}"),
                    )

    def load(self, state: dict[str, torch.Tensor]) -> None:
        for number, part in enumerate(self.parts):
            weights = [weight for group in part.param_groups for weight in group["params"]]
            moments: dict[int, dict] = {}
            for key, value in state.items():
                owner, index, name = key.split(".", 2)
                if int(owner) == number:  # SparseAdam counts its steps in a plain number
                    plain = name == "step" and isinstance(part, torch.optim.SparseAdam)
                    value = value.clone()  # the optimizer writes into what it is given
                    value = (
                        int(value)
                        if plain
                        else shard_of(value, weights[int(index)])
                        if value.dim()
                        else value
                    )
                    moments.setdefault(int(index), {})[name] = value
            part.load_state_dict(
                {"state": moments, "param_groups": part.state_dict()["param_groups"]}
            )

    def forget(self) -> None:
        """The gradients."""
        for part in self.parts:
            part.zero_grad(set_to_none=True)

    def set_rate(self, rate: float) -> None:
        for part in self.parts:
            for group in part.param_groups:
                if isinstance(group["lr"], torch.Tensor):
                    group["lr"].fill_(rate * group["factor"])
                else:
                    group["lr"] = rate * group["factor"]

    def step(self, scale: torch.Tensor) -> torch.Tensor:
        """One update with the gradients times `scale`, cut to the norm `clip`; returns the norm before the cut."""
        grads = [p.grad for p in self.rest if p.grad is not None]
        for table in self.tables:
            if table.grad is not None:
                table.grad = table.grad.coalesce()
                grads.append(table.grad._values())
        norm = full_tensor(torch.nn.utils.get_total_norm(grads)) * scale
        cut = torch.clamp(self.clip / (norm + 1e-6), max=1.0) if self.clip else 1.0
        torch._foreach_mul_(grads, scale * cut)
        for part in self.parts:
            part.step()
        self.forget()
        return norm
