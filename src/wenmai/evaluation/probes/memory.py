"""memory: how far back each rung remembers, and why: how much of the last loss still reaches the first step.

Three exercises that nothing but a memory solves (copy, running-sum, adding) at growing length. Every rung gets the same updates
and rows at each length, begins anew with first weights, and stops at the first length where it fails. Then,
before and after training, the gradient of the last loss is followed back to the first step (fading.py)."""

import time
from collections.abc import Iterator
from dataclasses import asdict

from wenmai.errors import Mistake, unknown
from wenmai.evaluation.probes.finding import Finding, Grid, growing_numbers
from wenmai.evaluation.probes.memory_picture import picture, why_rnn
from wenmai.locale import Message
from wenmai.options import assign_options

RECURRENT = ("rnn", "rnn-residual", "rnn-coupled", "rnn-gated", "lstm", "gru")
RUNGS = (*RECURRENT, "attention", "transformer")
LONGEST = 2000


def run(
    source: str, columns: dict[str, str] | None = None, settings: dict | None = None, seed: int = 0
) -> Iterator:
    refuse("memory", source, columns)
    known = yield from measured(
        seed, **assign_options(settings or {}, {"probe": measured})["probe"]
    )
    return Finding(
        known,
        Message("How far a rung remembers"),
        tables,
        picture,
        conclusions(known),
        noted(known),
    )


def refuse(name: str, source: str, columns: dict[str, str] | None) -> None:
    """Of a probe that makes its own data."""
    if source:
        raise Mistake(
            "the probe {name} makes its own data and reads none; leave {source} out.",
            name=name,
            source=source,
        )
    if columns:
        raise Mistake(
            "the probe {name} makes its own data and has no columns to name; leave --columns out.",
            name=name,
        )


def measured(
    seed: int,
    *,
    copy: str = "2,4,6,8,10,20,40",
    running_sum: str = "10,20,40",
    adding: str = "10,30,60",
    rungs: str = ",".join(RUNGS),
    updates: int = 600,
    rows: int = 32,
    learning_rate: float = 1e-2,
    attention_rate: float = 1e-3,
    transformer_rate: float = 3e-3,
    clip: float = 1.0,
    hidden: int = 128,
    width: int = 64,
    cell: str = "none",
    fading: int = 20,
    seeds: int = 1,
    device: str = "auto",
) -> Iterator:
    """`copy`, `running_sum` and `adding` are their growing lengths T, or none; at each, `updates` of `rows` rows. `learning_rate`
    is that of the recurrent rungs, `attention_rate` and `transformer_rate` those of the others; `hidden` the size of the
    recurrent rungs and of attention, `width` the transformer's, `cell` attention's cell; `fading` the length T of copy at which
    gradients are followed; `seeds` how often all of it is done."""
    from wenmai.evaluation.probes.climbing import Recipe, built, climb
    from wenmai.evaluation.probes.exercises import EXERCISES
    from wenmai.evaluation.probes.fading import a_step
    from wenmai.evaluation.probes.fading import fading as followed
    from wenmai.training.distributed import device_named

    def chained(rung: str, share: list[float]) -> float | None:
        return a_step(share) if rung in RECURRENT else None  # the others have no chain of steps

    began = time.perf_counter()
    names = list(dict.fromkeys(name.strip() for name in rungs.split(",")))
    for name in names:
        if name not in RUNGS:
            raise unknown("rung", name, RUNGS)
    lengths_in = {
        "copy": lengths_of("copy", copy),
        "running-sum": lengths_of("running_sum", running_sum),
        "adding": lengths_of("adding", adding),
    }
    recipe = Recipe(
        updates,
        rows,
        learning_rate,
        attention_rate,
        transformer_rate,
        clip,
        hidden,
        width,
        cell,
        device_named(device),
    )
    exercises, faded = [], []
    for name, lengths in lengths_in.items():
        exercise = EXERCISES[name]
        row = {
            "exercise": name,
            "bar": exercise.bar,
            "higher_is_better": exercise.higher_is_better,
            "lengths": lengths,
            "rungs": [],
        }
        for rung in names if lengths else ():
            climbs = []
            for number in range(seed, seed + seeds):
                attempts, (task, kind, network) = yield from climb(
                    rung, exercise, lengths, recipe, number
                )
                climbs.append({"seed": number, "lengths": attempts, "longest": longest(attempts)})
                if name == "copy" and number == seed:
                    first = built(rung, exercise, recipe, longest(attempts) or lengths[0], number)
                    after = followed(network, task, kind, exercise, fading, recipe.device, number)
                    before = followed(first[2], *first[:2], exercise, fading, recipe.device, number)
                    faded.append(
                        {
                            "rung": rung,
                            "before": before,
                            "after": after,
                            "a_step_before": chained(rung, before),
                            "a_step_after": chained(rung, after),
                        }
                    )
            row["rungs"].append(
                {"rung": rung, "parameters": network.parameters_count(), "climbs": climbs}
            )
        exercises += [row] if lengths else []
    return {
        "probe": "memory",
        **asdict(recipe),
        "seed": seed,
        "seeds": seeds,
        "exercises": exercises,
        "fading": {"exercise": "copy", "length": fading, "rungs": faded},
        "seconds": round(time.perf_counter() - began, 1),
    }


def lengths_of(option: str, text: str) -> list[int]:
    """'2,4,8' → [2, 4, 8]; none → []"""
    if text.strip() == "none":
        return []
    lengths = growing_numbers(text)
    if not lengths or not 2 <= lengths[0] <= lengths[-1] <= LONGEST:
        raise Mistake(
            "{option}={text}: expected growing lengths from 2 to {most}, such as 5,10,20, or none.",
            option=option,
            text=text,
            most=LONGEST,
        )
    return lengths


def longest(attempts: list[dict]) -> int:
    """0 where even the first was too long."""
    return max((attempt["length"] for attempt in attempts if attempt["passed"]), default=0)


# What is told of it


def noted(known: dict) -> list[str]:
    exercises = {row["exercise"] for row in known["exercises"]}
    notes = [
        Message(
            "at each length {updates:,} updates of {rows} rows at the most, the same for every rung; rows are drawn "
            "anew, up to 6,000,000 steps of them",
            updates=known["updates"],
            rows=known["rows"],
        ),
        Message(
            "a learning rate of {rate1:g} for the recurrent rungs, {rate2:g} for attention and {rate3:g} for the "
            "transformer, which rises and falls; gradients are cut to a norm of {clip:g}",
            rate1=known["learning_rate"],
            rate2=known["attention_rate"],
            rate3=known["transformer_rate"],
            clip=known["clip"],
        ),
        Message(
            "a rung begins anew, with first weights, at each length, and stops at the first length where it fails"
        ),
        Message(
            "one layer of {hidden1} for the recurrent rungs; attention compares states of {hidden2} (cell={cell}); "
            "the transformer has two layers of width {width}; nothing is dropped",
            hidden1=known["hidden"],
            hidden2=known["hidden"],
            cell=known["cell"],
            width=known["width"],
        ),
        Message(
            "training at a length stops when 512 held-out rows are surely right; the score is that of 1,000 others"
        ),
    ]
    if "copy" in exercises:
        notes.append(
            Message(
                "copy counts as remembered where 99% of the held-out rows are right at every step"
            )
        )
    if exercises & {"running-sum", "adding"}:
        notes.append(
            Message(
                "a sum counts as remembered where the squared error of the last answer is at most 1% of its "
                "variance"
            )
        )
    if known["fading"]["rungs"]:
        notes.append(
            Message(
                "the gradient is that of the last symbol's loss in copy with T = {length}, with respect to what "
                "enters at each step, as a share of the last step's; the mean over 64 rows",
                length=known["fading"]["length"],
            )
        )
    notes.append(
        Message(
            "seeds: {seeds}, from {seed} on; on {device}, in 32 bits",
            seeds=known["seeds"],
            seed=known["seed"],
            device=known["device"],
        )
    )
    return notes


def conclusions(known: dict) -> list[str]:
    """What to look at, and why rnn stops first."""
    gist = []
    for row in known["exercises"]:
        far = {rung["rung"]: worst(rung) for rung in row["rungs"]}
        listed = ", ".join(
            f"{rung} {length}" for rung, length in sorted(far.items(), key=lambda pair: pair[1])
        )
        gist.append(
            Message(
                "The longest T that was remembered in {exercise}: {listed}.",
                exercise=row["exercise"],
                listed=listed,
            )
        )
    factors = {row["rung"]: row for row in known["fading"]["rungs"]}
    if "rnn" in factors:
        rnn, steps = factors["rnn"], 2 * known["fading"]["length"]
        gist.append(
            Message(
                "{reason}: before training every step back multiplies its gradient by {before:.2f}, so after {steps} "
                "steps {left:.0e} of it is left to learn from; after training, by {after:.2f}.",
                reason=why_rnn(known),
                before=rnn["a_step_before"],
                steps=steps,
                left=rnn["before"][0],
                after=rnn["a_step_after"],
            )
        )
        others = [
            f"{rung} {factors[rung]['a_step_after']:.2f}"
            for rung in RECURRENT[1:]
            if rung in factors
        ]
        if others:
            gist.append(
                Message(
                    "A step's factor of the others, after training: {listed}; the nearer to 1, the better the first "
                    "step is still heard.",
                    listed=", ".join(others),
                )
            )
    return gist


def worst(rung: dict) -> int:
    return min(climb["longest"] for climb in rung["climbs"])


def reached(rung: dict) -> str:
    """'8', or '8–10' where seeds differ; '< 2' is told by the table"""
    shortest, farthest = (best(climb["longest"] for climb in rung["climbs"]) for best in (min, max))
    return str(shortest) if shortest == farthest else f"{shortest}–{farthest}"


def tables(known: dict, lang: str) -> list[Grid]:
    exercises = known["exercises"]
    names = list(dict.fromkeys(rung["rung"] for row in exercises for rung in row["rungs"]))
    factors = {row["rung"]: row for row in known["fading"]["rungs"]}
    head = [Message("rung").told_in(lang), *(row["exercise"] for row in exercises)]
    head += [
        Message("gradient a step, before").told_in(lang),
        Message("after training").told_in(lang),
    ]
    rows = []
    for name in names:
        each = [
            next((rung for rung in row["rungs"] if rung["rung"] == name), None) for row in exercises
        ]
        cells = [name, *("–" if rung is None else reached(rung) for rung in each)]
        cells += [
            f"{factors[name][key]:.3f}" if name in factors and name in RECURRENT else "–"
            for key in ("a_step_before", "a_step_after")
        ]
        rows.append(cells)
    grids = [Grid(Message("The longest T that was remembered").told_in(lang), head, rows)]
    for row in exercises:
        right = (
            Message("rows right at every step")
            if row["higher_is_better"]
            else Message("error as a share of the variance")
        )
        score = right.told_in(lang)
        head = [
            Message("rung").told_in(lang),
            Message("seed").told_in(lang),
            "T",
            score,
            Message("updates").told_in(lang),
            Message("seconds").told_in(lang),
        ]
        lines = [
            [
                rung["rung"],
                str(climb["seed"]),
                str(cell["length"]),
                "–" if cell["score"] is None else f"{cell['score']:.4f}",
                f"{cell['updates']:,}",
                f"{cell['seconds']:.1f}",
            ]
            for rung in row["rungs"]
            for climb in rung["climbs"]
            for cell in climb["lengths"]
        ]
        grids.append(Grid(row["exercise"], head, lines))
    return grids
