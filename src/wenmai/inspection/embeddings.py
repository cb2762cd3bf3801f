"""Embeddings: the vectors that words are looked up as.

nearest    cos(u, v) = u·v / |u||v|                                             the words whose vectors point the same way
analogy    a : b = c : d,  d = argmax cos(v_d, v_b − v_a + v_c)                 Mikolov et al. 2013; a, b and c are left out
map        two dimensions of all: PCA, the two along which they differ most; or t-SNE (van der Maaten & Hinton 2008)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from wenmai.embeddings import unit, word_vectors
from wenmai.errors import Mistake, unknown
from wenmai.inspection.reading import Reading
from wenmai.locale import Message, phrases
from wenmai.page.panels import Panel, Points, Table

Map = Literal["pca", "tsne"]
NEAREST, ASKED = 8, 12  # neighbours of a word; words of the text
NEAR = list(phrases("column", "word", "nearest words, with their cosine").values())
ANALOGY = list(phrases("column", "asked", "answer", "cosine").values())
GROUPS = list(phrases("group of words", "in the text", "near them").values())


class Vectors:
    """Of every word that a network looks up."""

    def __init__(self, estimator):
        self.words, vectors = word_vectors(estimator)
        self.vectors = unit(vectors)
        self.number = {}
        for at, word in enumerate(self.words):
            self.number.setdefault(bare(word), at)

    def of(self, word: str) -> int | None:
        return self.number.get(word, self.number.get(word.lower()))

    def near(
        self, vector: np.ndarray, count: int = NEAREST, but: Sequence[int] = ()
    ) -> list[tuple[int, float]]:
        cosines = self.vectors @ unit(vector[None])[0]
        cosines[list(but)] = -np.inf
        best = np.argsort(-cosines, kind="stable")[:count]
        return [(int(at), float(cosines[at])) for at in best if np.isfinite(cosines[at])]

    def analogy(self, a: str, b: str, c: str, count: int = 5) -> list[tuple[str, float]]:
        """a is to b as c is to …"""
        places = []
        for word in (a, b, c):
            at = self.of(word)
            if at is None:
                raise unknown("word", word, [bare(known) for known in self.words[:20_000]])
            places.append(at)
        first, second, third = (self.vectors[at] for at in places)
        return [
            (bare(self.words[at]), cosine)
            for at, cosine in self.near(second - first + third, count, places)
        ]


def bare(word: str) -> str:
    """Without the mark of where a word begins."""
    return word[1:] if word[:1] in ("Ġ", "▁") and len(word) > 1 else word


def pca(vectors: np.ndarray) -> np.ndarray:
    """(N, E) → (N, 2): the first two principal components, each with its largest number above 0 so that it is the same again"""
    centred = vectors - vectors.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:2] if len(axes) > 1 else np.vstack([axes, np.zeros_like(axes)])[:2]
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(1)])
    return centred @ (axes * np.where(signs == 0, 1, signs)[:, None]).T


def tsne(vectors: np.ndarray) -> np.ndarray:
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise Mistake(
            "--map tsne needs the package scikit-learn: pip install 'wenmai[datasets]'."
        ) from None
    return TSNE(
        2, perplexity=min(15.0, max(2.0, (len(vectors) - 1) / 3)), random_state=0, init="pca"
    ).fit_transform(vectors)


def panels(reading: Reading, analogies: Sequence[str] = (), how: Map = "pca") -> list[Panel]:
    try:
        known = Vectors(reading.estimator)
    except Mistake:
        return []
    if how not in ("pca", "tsne"):
        raise unknown("map", how, ("pca", "tsne"))
    made: list[Panel] = []
    if analogies:
        rows = [
            (
                f"{a} : {b} = {c} : ?",
                ", ".join(f"{word}" for word, _ in nearest),
                nearest[0][1] if nearest else 0.0,
            )
            for a, b, c, nearest in (
                (*three, known.analogy(*three)) for three in map(three_words, analogies)
            )
        ]
        made.append(
            Table(
                "analogies",
                Message("Analogies"),
                Message("The words nearest to b − a + c, the nearest first."),
                ANALOGY,
                rows,
            )
        )
    asked = list(
        dict.fromkeys(at for word in reading.words if (at := known.of(word.name)) is not None)
    )[:ASKED]
    if not asked:
        return made
    near = {at: known.near(known.vectors[at], NEAREST, [at]) for at in asked}
    rows = [
        (
            bare(known.words[at]),
            ", ".join(f"{bare(known.words[other])} {cosine:.2f}" for other, cosine in nearest),
        )
        for at, nearest in near.items()
    ]
    made.append(
        Table(
            "embeddings",
            Message("Nearest words"),
            Message(
                "Words that this network learned to treat alike; with little text, chance has much to say."
            ),
            NEAR,
            rows,
        )
    )
    others = [at for nearest in near.values() for at, _ in nearest[:4] if at not in near]
    shown = list(dict.fromkeys([*asked, *others]))
    if len(shown) > 3:
        places = pca(known.vectors[shown]) if how == "pca" else tsne(known.vectors[shown])
        groups = [GROUPS[0] if at in near else GROUPS[1] for at in shown]
        made.append(
            Points(
                "words",
                Message("A map of words"),
                Message(
                    "Their vectors brought to two dimensions: what stands together points the same way, mostly; "
                    "two of {width} dimensions do not say all.",
                    width=known.vectors.shape[1],
                ),
                [bare(known.words[at]) for at in shown],
                places,
                groups,
            )
        )
    return made


def three_words(text: str) -> tuple[str, str, str]:
    parts = [part.strip() for part in text.split(":")]
    if len(parts) != 3 or not all(parts):
        raise Mistake(
            "--analogy {text}: expected three words with colons between them, as in man:king:woman.",
            text=text,
        )
    return tuple(parts)
