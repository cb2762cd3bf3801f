"""A sheet on which a network is drawn, from the bottom up: rows of boxes along time (x₁ x₂ … xₙ), and boxes as wide as a row.

Every weight of a network is counted once, in the box of the part that holds it; a part that was counted before (a table that also
says the tokens) shows that it is the same.
"""

from itertools import pairwise

from torch import nn

from wenmai.page.panels import Arrow, Box

SUBSCRIPTS = str.maketrans("0123456789nmt", "₀₁₂₃₄₅₆₇₈₉ₙₘₜ")
STEP = 1.75  # from row to row, in heights of a box
ENDS = ("1", "2", "…", "n")


class Sketch:
    """`left`: where its columns begin; `spread`: from column to column; `steps`: the names of the columns."""

    def __init__(
        self,
        left: float = 0.0,
        spread: float = 1.35,
        steps: tuple[str, ...] = ENDS,
        seen: set[int] | None = None,
        before: str = "",
    ):
        self.boxes: list[Box] = []
        self.arrows: list[Arrow] = []
        self.left, self.spread, self.steps, self.before = left, spread, steps, before
        self.level, self.last, self.seen = 0, [], set() if seen is None else seen
        self.from_memory: list[str] = []  # boxes that read what another part has written

    @property
    def columns(self) -> list[float]:
        return [self.left + self.spread * at for at in range(len(self.steps))]

    @property
    def middle(self) -> float:
        return (self.columns[0] + self.columns[-1]) / 2

    @property
    def width(self) -> float:
        return self.columns[-1] - self.columns[0] + 1

    def add(self, label: str, x: float, kind: str, detail: str = "", width: float = 1.0) -> str:
        name = f"{self.before}{len(self.boxes)}"
        self.boxes.append(Box(name, label, x, -STEP * self.level, detail, kind, width))
        return name

    def row(
        self,
        letter: str,
        kind: str,
        detail: str = "",
        shift: float = 0.0,
        follow: list[str] | None = None,
        names: list[str] | None = None,
    ) -> list[str]:
        """A box a step, each above what is `followed`: the row before, or what all of it comes from."""
        below, made = self.last if follow is None else follow, []
        for at, (step, x) in enumerate(zip(self.steps, self.columns)):
            more = step == "…"
            label = "…" if more else names[at] if names else f"{letter}{step}".translate(SUBSCRIPTS)
            made.append(
                self.add(label, x + shift, "more" if more else kind, "" if more else detail)
            )
            if below and not more:
                self.arrows.append(
                    Arrow(below[at] if len(below) == len(self.steps) else below[0], made[-1])
                )
        self.last, self.level = made, self.level + 1
        return made

    def along(self, row: list[str], back: bool = False) -> None:
        """From each step to the next, or to the one before."""
        for a, b in pairwise(row):
            self.arrows.append(Arrow(b, a) if back else Arrow(a, b))

    def wide(self, label: str, detail: str = "", kind: str = "layer", memory: bool = False) -> str:
        """One box over the whole row."""
        name = self.add(label, self.middle, kind, detail, self.width)
        self.arrows += [Arrow(below, name) for below, box in self.below() if box.kind != "more"]
        self.from_memory += [name] * memory
        self.last, self.level = [name], self.level + 1
        return name

    def single(self, label: str, kind: str, detail: str = "") -> str:
        name = self.add(label, self.middle, kind, detail)
        self.arrows += [Arrow(below, name) for below, box in self.below() if box.kind != "more"]
        self.last, self.level = [name], self.level + 1
        return name

    def below(self) -> list[tuple[str, Box]]:
        boxes = {box.name: box for box in self.boxes}
        return [(name, boxes[name]) for name in self.last]

    def aside(self, label: str, detail: str, level: int) -> str:
        """A box to the left of the columns, which only what another part has written comes into."""
        self.level, here = level, self.level
        name = self.add(
            label, self.left - (1.55 if self.spread < 2 else 2.15), "layer", detail, 1.5
        )
        self.from_memory.append(name)
        self.level = here
        return name

    def beside(self, label: str, detail: str) -> None:
        """What the row that was drawn last is, to its left: it has the weights, which all its steps share."""
        self.level -= 1
        self.add(label, self.left - (1.55 if self.spread < 2 else 2.15), "layer", detail, 1.5)
        self.level += 1

    # Counting

    def weights(self, *parts: nn.Module | None) -> str:
        """As `1,234 weights`, those that no box has yet; and whether others stand in a box below."""
        own = [weight for part in parts if part is not None for weight in part.parameters()]
        new = {id(weight): weight.numel() for weight in own if id(weight) not in self.seen}
        self.seen |= new.keys()
        shared = (
            "a table that stands below" if len({id(weight) for weight in own}) > len(new) else ""
        )
        return lines(shared, counted(sum(new.values())) if new else "")


def counted(count: int) -> str:
    return f"{count:,} weights" if count != 1 else "1 weight"


def lines(*texts: str) -> str:
    return "\n".join(text for text in texts if text)
