"""pretrain, N→N and N→1: words that are hidden in a running text, and whether a sentence follows another (Devlin et al. 2019).

    masked accuracy = right words / hidden words        next-sentence accuracy = right pairs / pairs

Documents are parted by blank lines, and the last of them are held out. What is hidden there, and which sentences are paired, is
always the same, so that one score can be compared with another."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import torch

from wenmai.data.examples.batches import by_length
from wenmai.data.examples.masked import MaskedText, laid_end_to_end
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.examples.stored import chunks
from wenmai.data.files.columns import listed
from wenmai.data.files.documents import Documents
from wenmai.data.files.readers import Chunk, Table
from wenmai.data.inputs.kinds import Texts, unit_of
from wenmai.data.storage import saved as take
from wenmai.data.text import tokenizers
from wenmai.data.text.sentences import Sentences
from wenmai.data.text.subwords import Subwords
from wenmai.data.text.whole_words import WholeWords
from wenmai.data.values import listed as listed_values
from wenmai.errors import Mistake
from wenmai.layers.pretraining import MaskedWords
from wenmai.locale import Message, phrase
from wenmai.options import Share, Size
from wenmai.tasks import rows
from wenmai.tasks.columns import texts_in
from wenmai.tasks.contract import (
    Answers,
    Parts,
    Scores,
    Trained,
    TrainingExamples,
    Untrained,
    row_name,
)
from wenmai.tasks.generate import window_name
from wenmai.tasks.measuring.hidden_words import hidden_terms, measure_hidden, usual_word
from wenmai.tasks.overviews import describe_text
from wenmai.tasks.profile import Profile
from wenmai.training import memory

WATCHED = 200_000  # held-out tokens, at the most, that training is judged by
MASK = "[MASK]"  # as a user writes it, whatever the tokenizer calls it


def learn_texts(
    values, texts: str = "tokens", framed: bool = True, *, max_length: Size = 256, **tokenizing
) -> Texts:
    """How sentences are read: by WordPiece that is learned from them, unless another tokenizer is asked for; `max_length` tokens
    are read at once."""
    kind = tokenizing.pop("tokenizer", "auto")
    if kind in ("auto", "wordpiece"):
        if tokenizing.get("min_count", 1) > 1:
            raise Mistake(
                "min_count={count}: wordpiece has no such option; say how many pieces it may have with vocabulary=….",
                count=tokenizing["min_count"],
            )
        size, lowercase = tokenizing.get("vocabulary", 30_000), bool(tokenizing.get("lowercase"))
        tokenizer = Subwords.learn(values.texts, "wordpiece", size, lowercase, apart=True)
    else:
        tokenizer = tokenizers.learn(values.texts, tokenizer=kind, **tokenizing)
    return Texts(tokenizer, False, unit_of(tokenizer), max_length, "random")


class Pretrain:
    name, metric, higher_is_better = "pretrain", "masked_accuracy", True
    metrics = ("masked_accuracy", "next_sentence_accuracy")
    target = None  # there is no column that holds the answer
    texts, history = "tokens", None
    reads = staticmethod(learn_texts)
    estimator_type = None
    classes = np.array([False, True])  # whether the second text of a pair follows the first

    inspect_targets, learn_inputs = rows.no_notes, rows.learn_inputs
    running_text, two_texts = True, False
    pairs = True  # it is asked about two texts, whatever it learns from

    def __init__(
        self, *, masked: Share = 0.15, whole_words: bool = False, next_sentence: bool = True
    ):
        """`masked`: the share of tokens that are hidden; `whole_words`: no word is hidden in part; without `next_sentence` all
        rows are windows of a document, as long as can be read (RoBERTa)."""
        self.masked, self.whole_words, self.next_sentence = masked, whole_words, next_sentence
        if not masked and not next_sentence:  # a body alone
            self.profile = replace(self.profile, next_command="embed {run} FILE")

    # The data

    @staticmethod
    def fits(names: list[str]) -> bool:
        return names == ["text"]

    def corpus_of(self, table: Table) -> Documents:
        """A plain file as it lies there; of another every row of its column text is a document."""
        if table.plain is not None:
            return Documents.file(table.plain)
        if "text" not in table.names:
            raise Mistake(
                "{file} has no column text (found: {names}); name it with --columns text=NAME.",
                file=table.source,
                names=listed(table.names),
            )
        chunks = table.chunks(1024)
        return Documents.each(
            (text for chunk in chunks for text in texts_in(chunk, "text", table.source)),
            table.source,
        )

    def inputs_of(self, chunk: Chunk, source: str) -> list[tuple[str, str]]:
        """Pairs of texts, of which is asked whether the second follows the first."""
        if not {"text_a", "text_b"} <= set(chunk.columns):
            raise Mistake(
                "{file} has the columns {names}, expected text_a and text_b: this run says whether the second follows "
                "the first; name them with --columns text_a=NAME,text_b=NAME.",
                file=source,
                names=listed(chunk.columns),
            )
        return list(zip(texts_in(chunk, "text_a", source), texts_in(chunk, "text_b", source)))

    def learn(self, targets, where=None) -> list[str]:
        return []

    def head(self, inputs) -> MaskedWords:
        return MaskedWords(inputs.vocabulary, self.masked > 0, self.next_sentence)

    # Learning

    def split(
        self, texts, targets, valid: tuple | None, share: float, seed: int, tunes: bool
    ) -> Parts:
        """The last documents are held out."""
        if not self.masked:
            raise Mistake(
                "masked=0: nothing is hidden, so that there is nothing to guess; expected a share such as 0.15."
            )
        text = Documents.of(texts)
        text.check()
        valid = None if valid is None else (Documents.of(valid[0]), None)
        if valid is None and share:
            text, held = text.parts([share])
            valid = (held, None) if held.size else None
        return Parts(text, None, valid)

    def prepare(self, texts, targets=None) -> tuple[Sentences, None]:
        return texts if isinstance(texts, Sentences) else Sentences.of(Documents.of(texts)), None

    def examples(
        self, trained: Trained | Untrained, texts, targets=None, where=row_name
    ) -> MaskedText:
        """A running text as rows with hidden words."""
        inputs, (sentences, _) = trained.inputs, self.prepare(texts)
        check_marks(inputs)
        words = WholeWords(inputs.tokenizer) if self.whole_words else None

        def encoded() -> Iterator[Sequences]:
            for chunk in chunks(sentences.texts):
                tokens = inputs.tokenizer.encode(chunk)
                tokens.flat = 2 * tokens.flat + (
                    0 if words is None else words.going_on(chunk, tokens)
                )
                yield tokens

        tokens, ends = laid_end_to_end(encoded(), 2 * inputs.vocabulary)
        return MaskedText(
            tokens,
            ends,
            sentences.documents,
            inputs.special,
            inputs.wrapping,
            inputs.vocabulary,
            inputs.longest,
            self.masked,
            self.next_sentence,
        )

    def training_examples(
        self, untrained: Untrained, sentences: Sentences, targets, rows, where
    ) -> TrainingExamples:
        examples, notes = self.examples(untrained, sentences), []
        if not len(examples):
            raise Mistake(
                "there is nothing to learn from: the text holds no token; expected some sentences."
            )
        if self.next_sentence and not examples.true:
            raise Mistake(
                "no document has two sentences, so that none follows another; a document is lines up to the next blank "
                "line; join some, or train with --set next_sentence=false."
            )
        if self.next_sentence and len(examples.documents) == 2:
            notes.append(
                Message(
                    "the text is one document (blank lines would part it into several): a sentence that does not "
                    "follow is taken from elsewhere in it"
                )
            )
        return TrainingExamples(examples, lambda row: window_name(int(examples.starts[row])), notes)

    def judge(self, untrained: Untrained, parts: Parts, seed: int) -> Callable[[Trained], float]:
        examples = self.examples(untrained, parts.valid[0])
        most = max(1, int(np.searchsorted(np.cumsum(examples.lengths), WATCHED, "right")))
        some = np.unique(
            np.linspace(0, len(examples) - 1, min(most, len(examples))).astype(np.int64)
        )
        return lambda trained: self.ratios(self.counted(trained, examples, some).sum(0))[
            self.metric
        ]

    # Scoring

    def counted(
        self, trained: Trained, examples: MaskedText, some: np.ndarray | None = None
    ) -> np.ndarray:
        """(N, 4) of every row: hidden words that were guessed, hidden words, pairs that were told right, pairs."""
        some = np.arange(len(examples)) if some is None else some
        sums, head = np.zeros((len(some), 4)), trained.model.head

        def judged(chosen: np.ndarray) -> np.ndarray:
            batch = examples.batch(some[chosen]).to(trained.device)
            y, *_ = trained.model.body(*trained.model.input(batch))
            right = head.words(y.flatten(0, 1)[batch.places]).argmax(-1) == batch.target
            row = (batch.places // y.shape[1]).cpu().numpy()
            words = (
                np.bincount(row, right.cpu().numpy(), len(chosen)),
                np.bincount(row, minlength=len(chosen)),
            )
            if not self.next_sentence:
                return np.stack([*words, np.zeros(len(chosen)), np.zeros(len(chosen))], 1)
            follows_right = (head.following(y).argmax(-1) == 0) == batch.follows
            return np.stack([*words, follows_right.cpu().numpy(), np.ones(len(chosen))], 1)

        with torch.inference_mode():
            batches = by_length(examples.lengths[some], 4096 if trained.device == "cpu" else 16_384)
            for chosen, counts in memory.in_pieces(batches, judged, trained.device):
                sums[chosen] = counts
        return sums

    def ratios(self, sums: np.ndarray) -> dict[str, float]:
        scores = {"masked_accuracy": float(sums[0] / max(1, sums[1]))}
        return scores | (
            {"next_sentence_accuracy": float(sums[2] / max(1, sums[3]))}
            if self.next_sentence
            else {}
        )

    def evaluate(self, trained: Trained, texts, targets=None, where=row_name) -> Scores:
        if not self.masked:
            raise Mistake(
                "this encoder was never asked for hidden words, so that there is nothing to score; start from it with "
                "--from."
            )
        text = Documents.of(texts)
        text.check()
        examples = self.examples(trained, text)
        if not len(examples):
            raise Mistake("there is no text to evaluate; expected at least one line.")
        return Scores(self.ratios(self.counted(trained, examples).sum(0)))

    def score(self, trained: Trained, texts, targets=None) -> float:
        return self.evaluate(trained, texts)[self.metric]

    # Whether a text follows another

    def read_pairs(self, trained: Trained, pairs) -> Examples:
        pairs, inputs = listed_values(pairs), trained.inputs
        if not self.next_sentence:
            raise Mistake(
                "this encoder was trained with next_sentence=false, and cannot say whether a text follows another; "
                "hidden words are guessed by fill."
            )
        if any(not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in pairs):
            raise Mistake(
                "expected pairs of texts, of which is said whether the second follows the first; hidden words are "
                "guessed by fill."
            )
        check_marks(inputs)
        sides = (inputs.tokenizer.encode([str(pair[side]) for pair in pairs]) for side in (0, 1))
        return Examples(inputs.wrapping.wrapped(*sides, inputs.longest), longest=inputs.longest)

    def outputs(self, trained: Trained, examples: Examples) -> np.ndarray:
        """(N, 2) log p: it does not follow, it follows"""
        log_probs, model = np.empty((len(examples), 2), np.float32), trained.model

        def following(chosen: np.ndarray) -> np.ndarray:
            y, *_ = model.body(*model.input(examples.batch(chosen).to(trained.device)))
            return model.head.following(y).flip(-1).cpu().numpy()

        with torch.inference_mode():
            batches = by_length(examples.lengths, 4096) if len(examples) else []
            for chosen, values in memory.in_pieces(batches, following, trained.device):
                log_probs[chosen] = values
        return log_probs

    def predict_proba(self, trained: Trained, pairs) -> np.ndarray:
        return np.exp(self.outputs(trained, self.read_pairs(trained, pairs)))

    def predict(self, trained: Trained, pairs) -> tuple[np.ndarray, list[str]]:
        return self.classes[self.outputs(trained, self.read_pairs(trained, pairs)).argmax(-1)], []

    def answers(self, trained: Trained, pairs) -> Answers:
        """{"follows", "probability"} a pair: the probability of what is said."""
        examples = self.read_pairs(trained, pairs)
        p = np.exp(self.outputs(trained, examples))
        answers = (
            {"follows": bool(row.argmax()), "probability": round(float(row.max()), 6)} for row in p
        )
        return Answers(answers, rows.cut_note(examples.inputs.uncut, trained.inputs.longest))

    # Hidden words

    def fill(self, trained: Trained, text: str, top: int) -> list[list[dict]]:
        """For every [MASK] of the text its most probable words, {"word", "probability"} each."""
        inputs, special = trained.inputs, trained.inputs.special
        if not self.masked:
            raise Mistake(
                "this encoder has no layer that says words, and cannot fill them in; train one with wenmai train bert "
                "corpus.txt --from it."
            )
        check_marks(inputs)
        names = {MASK, inputs.tokenizer.tokens[special.mask]}
        parts = re.split("|".join(map(re.escape, sorted(names))), text)
        if len(parts) == 1:
            raise Mistake(
                "{text!r} has no {mask}: put {mask} where a word is to be filled in.",
                text=text[:60],
                mask=MASK,
            )
        if inputs.tokenizer.kind not in ("characters", "bytes"):  # a token has the space before it
            parts = [*(part.rstrip() for part in parts[:-1]), parts[-1]]
        pieces = [row.tolist() for row in inputs.tokenizer.encode(parts)]
        tokens = [token for piece in pieces for token in (*piece, special.mask)][:-1]
        row = inputs.wrapping.wrapped(
            Sequences(np.array(tokens, np.int32), offsets_of(np.array([len(tokens)])))
        )
        if len(row.flat) > inputs.longest:
            raise Mistake(
                "the text has {tokens:,} tokens, and this encoder reads {most:,} at once; make it shorter.",
                tokens=len(row.flat),
                most=inputs.longest,
            )
        with torch.inference_mode():
            batch = Examples(row, longest=inputs.longest).batch(np.arange(1)).to(trained.device)
            y, *_ = trained.model.body(*trained.model.input(batch))
            log_probs = trained.model.head.words(
                y[0][batch.inputs[0] == special.mask]
            )  # (masks, V)
            log_probs[:, list(special.numbers)] = float("-inf")
            best = log_probs.exp().topk(min(top, log_probs.shape[1] - len(special.numbers)), -1)
        return [
            [
                {"word": word_of(inputs.tokenizer, number), "probability": round(p, 6)}
                for number, p in zip(*pair)
            ]
            for pair in zip(best.indices.tolist(), best.values.tolist())
        ]

    def trace_examples(self, trained: Trained, texts, targets=None) -> tuple[Examples, list, None]:
        """Texts, or pairs, as they stand."""
        texts, known = listed_values(texts), trained.inputs
        if texts and isinstance(texts[0], (tuple, list)):
            examples = self.read_pairs(trained, texts)
        else:
            examples = Examples(known.encode(texts), longest=known.longest)
        return (
            examples,
            [
                [known.tokenizer.tokens[number] for number in row[: known.longest]]
                for row in examples.inputs
            ],
            None,
        )

    # Keeping

    def to_json(self) -> dict:
        return {
            "name": self.name,
            "masked": self.masked,
            "whole_words": self.whole_words,
            "next_sentence": self.next_sentence,
        }

    @classmethod
    def from_json(cls, saved: dict) -> "Pretrain":
        masked = take.number(saved, "masked")
        if not 0 <= masked < 1:
            raise take.unfit("masked", masked, phrase("saved", "a share below 1"))
        return cls(
            masked=masked,
            whole_words=take.flag(saved, "whole_words"),
            next_sentence=take.flag(saved, "next_sentence"),
        )

    profile = Profile(
        phrase("task", "pretrain"),
        measure_hidden,
        describe_text,
        few_rows=(["a b c d e f"] * 4, None),
        fewer=lambda task, train, share, seed: replace(
            train, inputs=train.inputs.parts([1 - share])[0]
        ),
        keeps_tokens=True,
        terms=hidden_terms,
        baseline=usual_word,
        next_command="fill {run} …",
    )


def check_marks(inputs) -> None:
    """The marks are there that stand around texts and hide words."""
    if inputs.wrapping is None or inputs.special.mask is None:
        raise Mistake(
            "this vocabulary lacks tokens such as [CLS], [SEP] and [MASK], which stand around texts and hide words; "
            "start from another run or checkpoint."
        )


def word_of(tokenizer, number: int) -> str:
    """A token as a reader has it; the inside of a word keeps its ##."""
    token = tokenizer.tokens[number]
    return token if token.startswith("##") else tokenizer.decode([number]).strip() or token
