"""tag, N→N: a tag for every token (or frame); where tags mark spans, the spans with their places in the text.

Tags are learned in BIOES, whatever scheme they are written in (Ratinov & Roth 2009), and answered in the data's own.

    span F1 = 2PR / (P + R),  P = right spans / spans answered,  R = right spans / spans expected        as seqeval counts
"""

from typing import Literal, get_args

import numpy as np

from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.files.columns import listed, short
from wenmai.data.files.readers import Chunk
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.data.storage import saved as take
from wenmai.data.text import schemes
from wenmai.data.text.schemes import Spans
from wenmai.data.text.tokenizers import joined
from wenmai.errors import Mistake
from wenmai.layers.crf import best_paths
from wenmai.layers.heads import EachOf
from wenmai.locale import Message, phrase
from wenmai.tasks import rows
from wenmai.tasks.classify import confusion, f1_terms, macro_f1
from wenmai.tasks.columns import inputs_in, line_of, shown
from wenmai.tasks.contract import row_name
from wenmai.tasks.measuring.baselines import usual_tag
from wenmai.tasks.measuring.rows import class_scores, measure_rows, ratios
from wenmai.tasks.overviews import describe_tags
from wenmai.tasks.profile import Profile

Scheme = Literal["auto", "plain", "bio", "iob1", "ioe1", "ioe2", "bioes", "bmes", "bilou"]


class Tag:
    name, metric, higher_is_better = "tag", "span_f1", True
    target = "tags"
    texts, history = "given", None  # texts come as tokens; rows have no order in time
    reads, inputs_of = staticmethod(kinds_of_input.learn), staticmethod(inputs_in)
    estimator_type, output_type = None, np.float32

    # what every task with targets in rows does
    split_keys, split, held_out, learn_inputs = (
        rows.inputs_apart,
        rows.split,
        rows.held_out,
        rows.learn_inputs,
    )
    training_examples, judge, examples, trace_examples = (
        rows.training_examples,
        rows.judge,
        rows.examples,
        rows.trace_examples,
    )
    outputs, streamed, predict, predict_proba = (
        rows.outputs,
        rows.streamed,
        rows.predict,
        rows.predict_proba,
    )
    answers, evaluate, score = rows.answers, rows.evaluate, rows.score
    running_text = two_texts = False

    def __init__(self, *, crf: bool = False, scheme: Scheme = "auto", write: Scheme = "auto"):
        """`crf` weighs whole rows of tags instead of every tag for itself; `scheme` is the one the tags are in (auto: it is
        seen, plain: they mark no spans), `write` the one that answers are in (auto: the same)."""
        self.crf, self.scheme, self.write = crf, scheme, write
        self.classes: np.ndarray | None = None  # (C,) as learned: BIOES, or plain tags
        self.kinds: list[str] = []  # of spans; the first is "_", for tags that name none

    @staticmethod
    def fits(names: list[str]) -> bool:
        return "tags" in names

    def targets_of(self, chunk: Chunk, source: str) -> list[list[str]]:
        if "tags" not in chunk.columns:
            raise Mistake(
                "{file} has no column tags (found: {names}); name it with --columns tokens=NAME,tags=NAME.",
                file=source,
                names=listed(chunk.columns),
            )
        units = next(
            (chunk.columns[name] for name in ("tokens", "inputs") if name in chunk.columns), None
        )
        rows = []
        for row, tags in enumerate(chunk.columns["tags"]):
            where = line_of(chunk, source)(row)
            if not isinstance(tags, (list, tuple)) or not all(
                isinstance(tag, str) and tag for tag in tags
            ):
                raise Mistake(
                    '{where}: found {value!r} in column tags, expected a list of texts such as ["O", "B-PER"].',
                    where=where,
                    value=str(tags)[:40],
                )
            if units is not None and len(tags) != len(units[row]):
                raise Mistake(
                    "{where}: found {tags} tags for {tokens} tokens, expected one for each.",
                    where=where,
                    tags=len(tags),
                    tokens=len(units[row]),
                )
            rows.append(list(tags))
        return rows

    def inspect_targets(self, targets, where=row_name) -> list[str]:
        """The scheme, where it is not given: all rows have to keep to it, also those that are held out."""
        if self.scheme != "auto":
            return []
        self.scheme, note = schemes.detect(targets, where)
        notes = [Message("tags mark no spans")]
        if self.scheme != "plain":
            notes = [Message("tags mark spans in {scheme}", scheme=self.scheme.upper())]
        return [*notes, note] if note else notes

    def prepare(self, inputs, targets=None):
        """Frames may come as one array (N, T, F); tags must be as many as tokens."""
        if isinstance(inputs, np.ndarray):
            inputs = Sequences.of(list(inputs), np.float64)
        if targets is not None:
            for row, tags in enumerate(targets):
                if isinstance(tags, str) or not all(isinstance(tag, str) for tag in tags):
                    raise Mistake(
                        'row {row}: found {value!r}, expected a list of tags such as ["O", "B-PER"].',
                        row=row + 1,
                        value=str(tags)[:40],
                    )
                if not isinstance(inputs[row], str) and len(inputs[row]) != len(tags):
                    raise Mistake(
                        "row {row}: found {tags} tags for {tokens} tokens, expected one for each.",
                        row=row + 1,
                        tags=len(tags),
                        tokens=len(inputs[row]),
                    )
        return inputs, targets

    def learn(self, targets, where=row_name) -> list[str]:
        notes = self.inspect_targets(targets, where)
        tags = sorted(tags_in(targets))
        if self.scheme == "plain":
            self.classes, self.metric = np.array(tags), "token_accuracy"
        else:
            self.kinds = schemes.read(targets).kinds
            named = [
                kind
                for kind in range(len(self.kinds))
                if kind or any(tag in schemes.LETTERS for tag in set(tags) - {"O"})
            ]
            self._marks = [(schemes.O, 0)] + [
                (letter, kind) for kind in named for letter in (1, 2, 3, 4)
            ]
            self.classes = np.array(
                ["O"]
                + [f"{'OBIES'[letter]}-{self.kinds[kind]}" for letter, kind in self._marks[1:]]
            )
        if not tags:
            raise Mistake(
                "found no tokens in {rows} rows; to tag, some are needed, each with its tag.",
                rows=len(targets),
            )
        if len(self.classes) < 2:
            raise Mistake(
                "found one tag only ({tag}) in {rows} rows; to tag, at least two are needed.",
                tag=short(tags[0]),
                rows=len(targets),
            )
        return notes

    def encode(self, targets, where=row_name) -> Sequences:
        offsets = offsets_of(np.fromiter(map(len, targets), np.int64, len(targets)))
        if self.scheme == "plain":
            number = {tag: at for at, tag in enumerate(self.classes.tolist())}
            flat = np.fromiter(
                (number.get(tag, -1) for row in targets for tag in row), np.int64, int(offsets[-1])
            )
            unknown = np.flatnonzero(flat < 0)
        else:
            spans = schemes.read(targets, self.kinds)
            letter, kind = schemes.letters(spans, "bioes")
            number = np.full((5, len(spans.kinds)), -1)
            for at, mark in enumerate(self._marks):
                number[mark] = at
            number[schemes.O] = 0
            for letter_, instead in (
                (schemes.B, schemes.I),
                (schemes.E, schemes.I),
                (schemes.S, schemes.B),
            ):
                number[letter_] = np.where(
                    number[letter_] < 0, number[instead], number[letter_]
                )  # a head may know fewer letters
            flat = number[letter, kind]
            unknown = np.flatnonzero(flat < 0)
        if len(unknown):
            row = int(np.searchsorted(offsets, unknown[0], "right")) - 1
            tag = targets[row][unknown[0] - offsets[row]]
            raise Mistake(
                "{where}: the tag {tag!r} is not among the trained ones: {names}.",
                where=where(row),
                tag=short(tag),
                names=listed(sorted({str(c).split("-", 1)[-1] for c in self.classes})),
            )
        return Sequences(flat, offsets)

    def head(self, inputs=None) -> EachOf:
        allowed = None if self.scheme == "plain" else schemes.allowed(*np.array(self._marks).T)
        return EachOf(len(self.classes), self.crf, allowed)

    def decide(self, outputs: Sequences, model) -> Sequences:
        """The best tag everywhere; where the model weighs transitions, the best path."""
        transitions = model.transitions()
        path = outputs.flat.argmax(1) if transitions is None else best_paths(outputs, *transitions)
        return Sequences(path, outputs.offsets)

    def spans(self, tags: Sequences) -> Spans:
        letter, kind = np.array(self._marks).T[:, tags.flat]
        return schemes.spans_of(letter, kind, self.kinds, tags.offsets)

    def predictions(self, decided: Sequences) -> list[list[str]]:
        """Rows of tags, in the scheme of the data or the one asked for."""
        if self.scheme == "plain":
            named = self.classes[decided.flat].tolist()
            return [
                named[start:end]
                for start, end in zip(decided.offsets[:-1].tolist(), decided.offsets[1:].tolist())
            ]
        return schemes.write(
            self.spans(decided), self.scheme if self.write in ("auto", "plain") else self.write
        )

    def probabilities(self, outputs: Sequences, model) -> list[np.ndarray]:
        """(T, C) for every row."""
        head = getattr(model, "head", None)
        chances = (
            head.probabilities(outputs) if hasattr(head, "probabilities") else np.exp(outputs.flat)
        )
        return [chances[start:end] for start, end in zip(outputs.offsets[:-1], outputs.offsets[1:])]

    def described(
        self, values, inputs, outputs: Sequences, decided: Sequences, model
    ) -> list[dict]:
        """{"text", "tokens", "tags", "spans"} a row; text[start:end] of a span is its text. Of frames, tags and spans."""
        tags = self.predictions(decided)
        spans = None if self.scheme == "plain" else self.spans(decided)
        rows = [] if spans is None else spans.row.tolist()
        answers = []
        for row, value in enumerate(values):
            if isinstance(value, np.ndarray):
                answers.append({"tags": tags[row], "spans": []})
                continue
            if isinstance(value, str):
                text, (tokens, starts) = value, inputs.cut(value)
            else:
                tokens, (text, starts) = list(value), joined(value)
            answers.append(
                {"text": text, "tokens": tokens, "tags": tags[row], "spans": [], "starts": starts}
            )
        for span, row in enumerate(rows):
            answer, offset = answers[row], int(spans.offsets[row])
            first, last = int(spans.first[span]) - offset, int(spans.last[span]) - offset
            mark = {"label": self.kinds[spans.kind[span]], "tokens": [first, last + 1]}
            if "starts" in answer:
                start, end = (
                    answer["starts"][first],
                    answer["starts"][last] + len(answer["tokens"][last]),
                )
                mark = {
                    "label": mark["label"],
                    "text": answer["text"][start:end],
                    "start": start,
                    "end": end,
                } | mark
            answer["spans"].append(mark)
        for answer in answers:
            answer.pop("starts", None)
        return answers

    @property
    def metrics(self) -> tuple[str, ...]:
        if self.scheme == "plain":
            return "token_accuracy", "macro_f1"
        return "span_f1", "precision", "recall", "token_accuracy"

    def score_terms(
        self, decided: Sequences, targets: Sequences, metric: str = ""
    ) -> tuple[np.ndarray, np.ndarray]:
        """Two numbers a row; the metric is the sum of the first over the sum of the second: 2 · right over answered +
        expected spans; right over all tags, where they are plain."""
        if metric == "macro_f1":
            row = np.repeat(np.arange(len(targets)), targets.lengths)
            return f1_terms(decided.flat, targets.flat, len(self.classes), row)
        if self.scheme == "plain":
            return per_row(decided.flat == targets.flat, targets.offsets), targets.lengths.astype(
                np.float64
            )
        answered, expected = self.spans(decided), self.spans(targets)
        if metric == "token_accuracy":
            return per_row(self.same(answered, expected), targets.offsets), targets.lengths.astype(
                np.float64
            )
        size = len(targets)
        right = np.bincount(answered.row[np.isin(answered.keys(), expected.keys())], minlength=size)
        ours, theirs = (
            np.bincount(answered.row, minlength=size),
            np.bincount(expected.row, minlength=size),
        )
        if metric in ("precision", "recall"):
            return right.astype(np.float64), (ours if metric == "precision" else theirs).astype(
                np.float64
            )
        return 2.0 * right, (ours + theirs).astype(np.float64)

    def same(self, answered: Spans, expected: Spans) -> np.ndarray:
        """(ΣT,): where the tags are the same, in the scheme of the data."""
        pairs = zip(schemes.letters(answered, self.scheme), schemes.letters(expected, self.scheme))
        return np.logical_and.reduce([a == b for a, b in pairs])

    def scores(self, decided: Sequences, targets: Sequences) -> dict[str, float]:
        if self.scheme == "plain":
            counts = confusion(decided.flat, targets.flat, len(self.classes))
            return {
                "token_accuracy": float(np.trace(counts) / max(1, counts.sum())),
                "macro_f1": macro_f1(counts),
            }
        answered, expected = self.spans(decided), self.spans(targets)
        right = int(np.isin(answered.keys(), expected.keys()).sum())
        precision, recall = right / max(1, len(answered.first)), right / max(1, len(expected.first))
        f1 = 2 * precision * recall / (precision + recall) if right else 0.0
        same = self.same(answered, expected)
        accuracy = float(same.mean()) if len(same) else 0.0
        return {"span_f1": f1, "precision": precision, "recall": recall, "token_accuracy": accuracy}

    def confusion(self, decided: Sequences, targets: Sequences) -> dict:
        """Token by token, by kind of span (O for none), or by plain tag."""
        if self.scheme == "plain":
            names, answered, expected = self.classes.tolist(), decided.flat, targets.flat
        else:
            kind = np.array(
                [0 if letter == schemes.O else kind + 1 for letter, kind in self._marks]
            )
            names, answered, expected = ["O", *self.kinds], kind[decided.flat], kind[targets.flat]
        counts = confusion(answered, expected, len(names))
        used = counts.any(0) | counts.any(1)
        return {
            "classes": [str(name) for name, there in zip(names, used) if there],
            "counts": counts[used][:, used].tolist(),
        }

    def per_kind(self, confusion: dict, decided: Sequences, targets: Sequences) -> list[dict]:
        """Of every kind of span how many were found whole; of plain tags, of every tag."""
        if self.scheme == "plain":
            return class_scores(self, confusion, decided, targets)
        answered, expected = self.spans(decided), self.spans(targets)
        right, size = np.isin(answered.keys(), expected.keys()), len(self.kinds)
        counts = [
            np.bincount(kind, minlength=size)
            for kind in (answered.kind[right], answered.kind, expected.kind)
        ]
        used = np.flatnonzero(counts[1] + counts[2])
        return ratios([self.kinds[kind] for kind in used], *(each[used] for each in counts))

    def missed(self, outputs, decided: Sequences, targets: Sequences) -> np.ndarray:
        """(N,): how many tags are wrong."""
        return per_row(decided.flat != targets.flat, targets.offsets)

    def mistakes(self, outputs, decided: Sequences, targets: Sequences, inputs) -> list[dict]:
        """What was read, expected and answered, a row each."""
        shared = zip(inputs, self.marked(targets, inputs), self.marked(decided, inputs))
        return [
            {"input": shown(tokens), "expected": a, "answer": b, "probability": None}
            for tokens, a, b in shared
        ]

    def marked(self, tags: Sequences, inputs) -> list[str]:
        """The spans of every row in words, or its tags."""
        if self.scheme == "plain":
            return [" ".join(row) for row in self.predictions(tags)]
        spans, marked = self.spans(tags), [[] for _ in range(len(tags))]
        for first, last, kind, row in zip(spans.first, spans.last, spans.kind, spans.row):
            first, last = first - spans.offsets[row], last - spans.offsets[row]
            words = inputs[row][first : last + 1]
            text = joined(words)[0] if isinstance(words, list) else f"{first + 1}–{last + 1}"
            marked[row].append(f"{text}: {self.kinds[kind]}")
        return ["; ".join(row) or "–" for row in marked]

    def to_json(self) -> dict:
        return {
            "name": self.name,
            "crf": self.crf,
            "scheme": self.scheme,
            "write": self.write,
            "metric": self.metric,
            "kinds": self.kinds,
            "classes": self.classes.tolist(),
            "marks": getattr(self, "_marks", []),
        }

    @classmethod
    def from_json(cls, saved: dict) -> "Tag":
        known = get_args(Scheme)
        scheme, write = take.one_of(saved, "scheme", known[1:]), take.one_of(saved, "write", known)
        task = cls(crf=take.flag(saved, "crf"), scheme=scheme, write=write)
        task.classes, task.kinds = (
            np.array(take.texts(saved, "classes")),
            take.texts(saved, "kinds"),
        )
        task.metric = take.one_of(
            saved, "metric", ("token_accuracy" if task.scheme == "plain" else "span_f1",)
        )
        marks = take.items(saved, "marks")
        for mark in marks:
            if not isinstance(mark, list) or list(map(take.is_integer, mark)) != [True] * 2:
                raise take.unfit("marks", mark, phrase("saved", "pairs of a letter and a kind"))
            if mark[0] > schemes.S or mark[1] >= len(task.kinds):
                raise take.Unfit(
                    '"marks" names the letter {letter} and the kind {kind_number}, one of which is not there',
                    letter=mark[0],
                    kind_number=mark[1],
                )
        task._marks = [tuple(mark) for mark in marks]
        if len(set(task.classes.tolist())) < max(2, len(task.classes)):
            raise take.Unfit('"classes" are not two or more different ones')
        if task.scheme != "plain" and (
            len(marks) != len(task.classes) or task._marks[0] != (schemes.O, 0)
        ):
            raise take.Unfit('"marks" does not fit "classes"')
        return task

    @classmethod
    def of_labels(cls, labels: list[str]) -> tuple["Tag", list[int]]:
        """For a head of others, whose classes have these names; and the order in which they stand here."""
        names = set(labels)
        if "O" not in names or schemes.marks(names) != names:
            task, order = cls(scheme="plain"), sorted(range(len(labels)), key=labels.__getitem__)
            task.classes, task.metric = np.array([labels[at] for at in order]), "token_accuracy"
            return task, order
        used = {label[0] for label in labels}
        task = cls(
            scheme=next(
                (scheme for scheme, letters in schemes.WRITTEN.items() if used <= set(letters)),
                "bioes",
            )
        )
        task.kinds = ["_", *sorted({schemes.parsed(label)[1] for label in names - {"O"}} - {"_"})]
        marks = [
            (schemes.LETTERS[letter], 0 if letter == "O" else task.kinds.index(kind))
            for letter, kind in map(schemes.parsed, labels)
        ]
        order = sorted(range(len(labels)), key=lambda at: (labels[at] != "O", at))
        task._marks = [marks[at] for at in order]
        task.classes = np.array(
            ["O"] + [f"{'OBIES'[letter]}-{task.kinds[kind]}" for letter, kind in task._marks[1:]]
        )
        if len(set(task.classes.tolist())) < len(labels):
            raise take.Unfit("two of its labels mark the same")
        return task, order

    profile = Profile(
        phrase("task", "tag"),
        measure_rows,
        describe_tags,
        few_rows=([["a", "b"]] * 4, [["x", "y"]] * 4),
        complete=lambda task, some, all_rows: tags_in(some.targets) == tags_in(all_rows.targets),
        settled=("scheme",),
        unskilled=usual_tag,
        per_class=lambda task, confusion, decided, targets: task.per_kind(
            confusion, decided, targets
        ),
    )


def per_row(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sums of a flat array over its rows (N,)."""
    return np.diff(np.concatenate([[0.0], np.cumsum(values)])[offsets])


def tags_in(targets) -> set[str]:
    return {tag for row in targets for tag in row}
