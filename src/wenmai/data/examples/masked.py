"""Running text with words hidden (Devlin et al. 2019): rows of tokens, some of which are to be guessed.

    pairs     [CLS] a [SEP] b [SEP]   a and b stand in one document, one after the other; half of the time b comes from another
    windows   [CLS] a [SEP]           as much of a document as fits (Liu et al. 2019)

Of the tokens a share is hidden: 8 in 10 by [MASK], 1 in 10 by another token, and 1 in 10 stays what it is. What is drawn for a
row follows from the batch's generator and the row's number, so that every reading draws anew, and a resumed one the same."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch

from wenmai.data.examples.batches import Batch, endless, shuffled
from wenmai.data.examples.sequences import Sequences
from wenmai.data.examples.stored import LARGE, Spool
from wenmai.data.text.special import Special
from wenmai.data.text.wrapping import Wrapping
from wenmai.errors import Mistake

HIDDEN, OTHER = (
    0.8,
    0.9,
)  # up to the first a hidden token is [MASK], up to the second another one, from there on itself
PART = 1 << 16  # sentences that are looked at, one by one, at a time
SHORT = 0.1  # of the pairs, which are of any length, as texts are that are read later


class MaskedText:
    """What pretraining reads (ExampleSource). `tokens` (N,) are all sentences end to end, token w as 2w, or as 2w + 1 where it
    goes on with a word, none of which is hidden in part; sentence s ends at `ends[s]`, document d with sentence
    `documents[d + 1]`."""

    carries = one_shape = False

    def __init__(
        self,
        tokens: np.ndarray,
        ends: np.ndarray,
        documents: np.ndarray,
        special: Special,
        wrapping: Wrapping,
        vocabulary: int,
        longest: int,
        masked: float,
        next_sentence: bool,
    ):
        self.tokens, self.masked, self.next_sentence, self.special = (
            tokens,
            masked,
            next_sentence,
            special,
        )
        self.ordinary = np.setdiff1d(np.arange(vocabulary), special.numbers)
        self.maskable = np.isin(np.arange(vocabulary), special.numbers, invert=True)  # (V,)
        marks = [
            tuple(2 * number for number in mark)
            for mark in (wrapping.before, wrapping.between, wrapping.after)
        ]
        self.wrapping = Wrapping(*marks, wrapping.second)
        self.around = sum(map(len, marks if next_sentence else (marks[0], marks[2])))
        room = longest - self.around
        if room < 4:
            raise Mistake(
                "max_length={length}: beside the {marks} marks around them there is no room for words; expected at "
                "least {least}.",
                length=longest,
                marks=self.around,
                least=self.around + 4,
            )
        sentences = Sequences(tokens, np.concatenate([[0], ends]))
        if next_sentence:
            self.pair_up(sentences, documents, room)
        else:
            windows = Sequences(tokens, sentences.offsets[documents]).windows(room)
            some = windows.lengths > 0
            self.starts, self.stops = windows.starts[some], windows.stops[some]

    def pair_up(self, sentences: Sequences, documents: np.ndarray, room: int) -> None:
        """Rows of sentences that follow one another in a document, as many as fit; one that is too long is cut."""
        pieces = sentences.windows(room // 2)
        example = np.arange(len(sentences)) if pieces.example is None else pieces.example
        some = pieces.lengths > 0
        self.sentence_starts, self.sentence_stops, self.room = (
            pieces.starts[some],
            pieces.stops[some],
            room,
        )
        opens = np.diff(np.searchsorted(documents, example[some], "right"), prepend=-1) != 0
        self.documents = np.append(
            np.flatnonzero(opens), len(opens)
        )  # (D + 1,) of those that hold a token
        self.document_of = np.cumsum(opens, dtype=np.int32) - 1
        lengths, target = self.sentence_stops - self.sentence_starts, room
        rows, size, begun = [], 0, 0
        for start in range(0, len(lengths), PART):
            part = slice(start, start + PART)
            short = uniform(
                7, np.arange(start, min(start + PART, len(lengths)))
            )  # for a row that begins with this sentence
            for at, (length, new, chance) in enumerate(
                zip(lengths[part].tolist(), opens[part].tolist(), short.tolist()), start
            ):
                if at and (new or size + length > target):
                    rows.append((begun, at))
                    begun = at
                if begun == at:
                    size, target = (
                        0,
                        room if chance >= SHORT else max(2, int(room * chance / SHORT)),
                    )
                size += length
        rows += [(begun, len(lengths))] if len(lengths) else []
        self.first, self.last = (
            np.array(rows, np.int64).reshape(-1, 2).T
        )  # sentences of every row, the last not among them
        self.starts = self.sentence_starts[self.first]
        self.stops = self.sentence_stops[self.last - 1]
        several = float((self.last - self.first > 1).mean()) if rows else 0.0
        self.true = (
            min(1.0, 0.5 / several) if several else 0.0
        )  # of the pairs that can be, so many are, for half of all

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> np.ndarray:
        """About: a sentence that stands alone is read with another of its length, and what does not follow may be longer."""
        own = self.stops - self.starts
        return self.around + (
            np.where(self.last - self.first > 1, own, 2 * own) if self.next_sentence else own
        )

    def suited_batch(self) -> int:
        """As of rows (rows.py): about 100 updates an epoch, with 512 to 8192 tokens each, or 20 where there is little."""
        total = int(self.lengths.sum())
        return max(int(self.lengths.max()), min(512, total // 20), min(8192, total // 100))

    def epochs(self, tokens: int, seed: int, done: int = 0) -> Iterator[tuple[int, np.ndarray]]:
        lengths = self.lengths
        return endless(lambda generator: shuffled(lengths, tokens, generator), seed, done)

    def opens(self, rows: np.ndarray) -> bool:
        return True

    def batch(self, rows: np.ndarray, generator: np.random.Generator | None = None) -> Batch:
        """Without a generator always the same is drawn."""
        key, more = 0 if generator is None else int(generator.integers(1 << 62)), {}
        if self.next_sentence:
            first, second, follows = self.pairs(rows, key)
            more["follows"] = torch.from_numpy(follows)
        else:
            first, second = view(self.tokens, self.starts[rows], self.stops[rows]), None
        both = self.wrapping.wrapped(first, second)
        steps = max(1, int(both.lengths.max(initial=1)))
        row, at = (
            np.repeat(np.arange(len(rows)), both.lengths),
            np.arange(len(both.flat)) - np.repeat(both.starts, both.lengths),
        )
        words, hidden = both.flat >> 1, self.hidden(both, row, rows[row], at, key)
        number, place = rows[row][hidden], at[hidden]
        chance, other = uniform(key, number, place, 2), uniform(key, number, place, 3)
        corrupted = words.astype(np.int64)
        random = self.ordinary[(other * len(self.ordinary)).astype(np.int64)]
        corrupted[hidden] = np.where(
            chance < HIDDEN, self.special.mask, np.where(chance < OTHER, random, corrupted[hidden])
        )
        inputs, segment, mask = (
            np.zeros((len(rows), steps), kind) for kind in (np.int64, np.int64, bool)
        )
        inputs[row, at], segment[row, at], mask[row, at] = corrupted, both.segment, True
        tensors = {
            "target": words[hidden].astype(np.int64),
            "places": (row * steps + at)[hidden],
            "segment": segment,
        }
        return Batch(
            torch.from_numpy(inputs),
            torch.from_numpy(mask),
            rows=rows,
            **more,
            **{name: torch.from_numpy(array) for name, array in tensors.items()},
        )

    def pairs(self, rows: np.ndarray, key: int) -> tuple[Sequences, Sequences, np.ndarray]:
        """(a, b, whether b follows a): a row is cut in two between two sentences, and its second part stays, or gives way to
        about as many tokens of another document."""
        first, count = self.first[rows], self.last[rows] - self.first[rows]
        several = count > 1
        follows = several & (uniform(key, rows, 0, 0) < self.true)
        middle = first + np.where(
            several, 1 + (uniform(key, rows, 0, 4) * (count - 1)).astype(np.int64), 0
        )
        starts, stops = self.starts[rows], self.stops[rows]
        cut = np.where(several, self.sentence_starts[middle], stops)
        sentence, stop = self.elsewhere(
            rows, np.where(several, stops - cut, stops - starts), self.room - (cut - starts), key
        )
        second = (
            np.where(follows, cut, self.sentence_starts[sentence]),
            np.where(follows, stops, stop),
        )
        return view(self.tokens, starts, cut), view(self.tokens, *second), follows

    def elsewhere(
        self, rows: np.ndarray, wanted: np.ndarray, room: np.ndarray, key: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """(a sentence of another document, the end of the one with which about so many tokens are there): neither the length nor
        a sentence that breaks off tells that it does not follow."""
        chance, own = uniform(key, rows, 0, 5), self.document_of[self.first[rows]]
        others = len(self.documents) - 2
        document = (
            (own + 1 + (uniform(key, rows, 0, 6) * others).astype(np.int64)) % (others + 1)
            if others
            else own
        )
        begin, end = self.documents[document], self.documents[document + 1]
        if others:
            latest = (
                np.searchsorted(
                    self.sentence_starts, self.sentence_stops[end - 1] - wanted, "right"
                )
                - 1
            )
            sentence = begin + (chance * (np.clip(latest, begin, end - 1) + 1 - begin)).astype(
                np.int64
            )
        else:  # one document: from elsewhere in it
            left = len(self.sentence_starts) - (self.last - self.first)[rows] - 1
            sentence = (
                self.last[rows] + 1 + (chance * np.maximum(0, left)).astype(np.int64)
            ) % len(self.sentence_starts)
        start = self.sentence_starts[sentence]
        after = np.clip(np.searchsorted(self.sentence_stops, start + wanted), sentence, end - 1)
        before, more = np.maximum(after - 1, sentence), self.sentence_stops[after]
        less = self.sentence_stops[before]
        nearer = (more - start - wanted > wanted - (less - start)) | (more > start + room)
        return sentence, np.minimum(np.where(nearer, less, more), start + room)

    def hidden(
        self, both: Sequences, row: np.ndarray, number: np.ndarray, at: np.ndarray, key: int
    ) -> np.ndarray:
        """(ΣT,) which tokens are hidden: of every row the share, at least one, and whole words where words are known."""
        can = self.maskable[both.flat >> 1]
        begins = can & ((both.flat & 1 == 0) | ~np.append(False, can[:-1]))
        first = np.maximum.accumulate(
            np.where(begins, np.arange(len(can)), 0)
        )  # of the word that a token belongs to
        chance = uniform(key, number, at, 1)[first]
        chance[~can] = 2.0  # after all others
        order = np.lexsort((np.arange(len(can)), chance, row))
        rank = np.empty(len(can), np.int64)
        rank[order] = np.arange(len(can)) - np.repeat(both.starts, both.lengths)
        words = np.bincount(row, can, len(both))
        many = np.floor(
            self.masked * words + uniform(key, number[both.starts], 0, 7)
        )  # on average the share, to the last token
        return can & (rank[first] < np.where(words > 0, np.maximum(1, many), 0)[row])


def view(tokens: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> Sequences:
    """Rows that may stand anywhere."""
    rows = Sequences(tokens, np.zeros(1, np.int64))
    rows.starts, rows.stops = starts, stops
    return rows


def uniform(key: int, *numbers) -> np.ndarray:
    """From 0 to 1, a function of these numbers alone (SplitMix64, Steele, Lea & Flood 2014), whatever else is drawn."""
    with np.errstate(over="ignore"):
        state = np.uint64(key)
        for number in numbers:
            state = mixed(
                state ^ mixed(np.asarray(number).astype(np.uint64) + np.uint64(0x632BE59BD9B4E019))
            )
        return (mixed(state) >> np.uint64(11)) * 2.0**-53


def mixed(state):
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def laid_end_to_end(chunks: Iterable[Sequences], numbers: int) -> tuple[np.ndarray, np.ndarray]:
    """(all tokens (N,), where each row ends): in memory, or in a file once they have grown too large for that."""
    kept, held, lengths, size, spool = (
        np.uint16 if numbers <= 1 << 16 else np.int32,
        [],
        [],
        0,
        None,
    )
    for rows in chunks:
        held.append(rows.flat.astype(kept))
        lengths.append(rows.lengths)
        size += held[-1].nbytes
        if size > LARGE:
            spool = spool or Spool()
            spool.append(np.concatenate(held).tobytes())
            held, size = [], 0
    ends = np.cumsum(np.concatenate(lengths)) if lengths else np.zeros(0, np.int64)
    flat = np.concatenate(held) if held else np.zeros(0, kept)
    if spool is not None:
        spool.append(flat.tobytes())
        flat = np.memmap(spool.file, kept, "r", shape=(int(ends[-1]),))
    return flat, ends
