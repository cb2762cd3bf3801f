"""The arrays of a checkpoint: one file of safetensors, or several and their index. Names and shapes are looked at before any of
them is read, so that what does not fit is told at once, and nothing is imported by halves."""

from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor, nn

from wenmai.data.files.columns import short
from wenmai.data.storage import saved as take
from wenmai.errors import Mistake
from wenmai.exchange.families import SPARE, TABLES, Family, Theirs
from wenmai.exchange.hub import CONFIG, INDEX, WEIGHTS
from wenmai.exchange.tokenizer_files import read_json, understood
from wenmai.locale import Listed

TABLE = "input.table.weight"  # in which words are looked up


def weight_files(folder: Path) -> list[Path]:
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if (folder / INDEX).is_file():
        with understood(folder / INDEX):
            shards = set(take.value(read_json(folder / INDEX), "weight_map").values())
        for name in shards:
            if (
                not isinstance(name, str)
                or Path(name).name != name
                or not (folder / name).is_file()
            ):
                raise Mistake(
                    "{file} names {name}, and there is no such file beside it.",
                    file=folder / INDEX,
                    name=short(str(name)),
                )
        return [folder / name for name in sorted(shards)]
    if packed := sorted(folder.glob("*.bin")):
        raise Mistake(
            "{file} is a pickle, which may run code of whoever wrote it, and is not opened; where it is trusted, "
            "convert it once: transformers' model.save_pretrained writes {name}.",
            file=packed[0],
            name=WEIGHTS,
        )
    raise Mistake("{folder} has no {name}.", folder=folder, name=WEIGHTS)


class Weights:
    """By the names that the table of the family has for them."""

    def __init__(self, folder: Path, family: Family):
        self.folder, self.family, self.place = folder, family, {}
        for file in weight_files(folder):
            with understood(file), safe_open(file, framework="pt") as tensors:
                for theirs in tensors.keys():  # noqa: SIM118 (it is no dict)
                    if name := family.named(theirs):
                        self.place[name] = (
                            file,
                            theirs,
                            tuple(tensors.get_slice(theirs).get_shape()),
                        )

    def has(self, names: dict[str, Theirs]) -> bool:
        return all(one in self.place for theirs in names.values() for one in theirs.names)

    def shape(self, name: str) -> tuple[int, ...]:
        if name not in self.place:
            raise Mistake("{folder}: the weight {name} is missing.", folder=self.folder, name=name)
        return self.place[name][2]

    def check(
        self, ours: dict[str, tuple[int, ...]], wanted: dict[str, Theirs], architecture: str | None
    ) -> None:
        """Of tables of tokens theirs may have more rows. `architecture`: what all of them together are; None where more may be
        there than is wanted."""
        for name, theirs in wanted.items():
            rows, *more = ours[name]
            expected = (rows // len(theirs.names) + theirs.skip, *more)
            expected = expected[::-1] if theirs.turned else expected
            for one in theirs.names:
                shape = self.shape(one)
                padded = rows == ours[TABLE][0] and shape[:1] > expected[:1]
                if shape != expected and not (padded and shape[1:] == expected[1:]):
                    raise Mistake(
                        "{folder}: the weight {name} has the shape {shape}, and {config} asks for {expected}.",
                        folder=self.folder,
                        name=one,
                        shape=shape,
                        config=CONFIG,
                        expected=expected,
                    )
        known = {one for theirs in wanted.values() for one in theirs.names}
        extra = sorted(
            name
            for name in self.place
            if name not in known and name not in SPARE and name not in TABLES
        )
        if extra and architecture:
            raise Mistake(
                "{folder}: {architecture} has no weights of these names: {names}.",
                folder=self.folder,
                architecture=architecture,
                names=Listed(extra[:5]),
            )
        for name in set(TABLES) & self.place.keys() - known if architecture else ():
            if not torch.equal(self.read(name), self.read(wanted[TABLE].names[0])):
                raise Mistake(
                    "{folder}: words are looked up in one table and said by another ({name}), which are one here; "
                    "start from its body with --from.",
                    folder=self.folder,
                    name=name,
                )

    @torch.no_grad()
    def load_into(self, model: nn.Module, wanted: dict[str, Theirs]) -> None:
        own = model.state_dict()
        for name, theirs in wanted.items():
            value = torch.cat([self.read(one) for one in theirs.names])
            value = (value.T if theirs.turned else value)[theirs.skip :][
                : own[name].shape[0]
            ].float()
            if not value.isfinite().all():
                raise Mistake(
                    "{folder}: the weight {name} holds what is no number.",
                    folder=self.folder,
                    name=theirs.names[0],
                )
            own[name].copy_(value)

    def read(self, name: str) -> Tensor:
        file, stored, _ = self.place[name]
        with understood(file), safe_open(file, framework="pt") as tensors:
            return tensors.get_tensor(stored)
