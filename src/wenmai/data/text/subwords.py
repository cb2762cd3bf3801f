"""Subwords, by the package `tokenizers`: learned here, or a vocabulary that comes from elsewhere."""

import json
import re
from typing import Self

from wenmai.data.examples.sequences import Sequences
from wenmai.data.examples.stored import chunks
from wenmai.data.storage import saved as take
from wenmai.data.text import unigram
from wenmai.data.text.special import OWN, SPECIAL, Special, beginning_special
from wenmai.errors import Mistake

SUBWORDS = ("bpe", "wordpiece", "unigram")
NEVER = -1000.0  # the score of a special token: no text is cut into such
LONG = 200  # letters without a space between them, beyond which subwords are not learned from them as one word
# Chinese characters that BERT puts spaces around.
HAN = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)
LONG_RUN = re.compile(rf"\S{{{LONG}}}")


def broken(texts: list[str]) -> list[str]:
    """With a space in every run of more than LONG letters: the time to learn grows with the square of a word's length."""
    return [LONG_RUN.sub(r"\g<0> ", text) if len(text) > LONG else text for text in texts]


def without_surrogates(texts: list[str]) -> list[str]:
    """Without half characters (lone surrogates), which `tokenizers` does not take."""
    return [text if text.isascii() else text.encode("utf-8", "replace").decode() for text in texts]


class Subwords:
    """BPE (Sennrich et al. 2016), WordPiece (Schuster & Nakajima 2012) or Unigram (Kudo 2018), by `tokenizers`."""

    special = OWN

    def __init__(self, engine, kind: str, lowercase: bool, apart: bool = False):
        """`apart`: every Chinese character is a word of its own, as BERT has it; WordPiece alone."""
        self.engine, self.kind, self.lowercase, self.apart = engine, kind, lowercase, apart
        engine.encode_special_tokens = True  # a text that says <pad> means the word
        vocabulary = engine.get_vocab()
        self.tokens = sorted(vocabulary, key=vocabulary.get)

    @classmethod
    def learn(cls, texts, kind, vocabulary, lowercase, apart: bool = False) -> Self:
        from tokenizers import models, pre_tokenizers, trainers

        same = {"special_tokens": SPECIAL, "vocab_size": vocabulary, "show_progress": False}
        if kind == "bpe":  # over bytes, so that no text is ever unknown
            engine = shell(kind, lowercase, models.BPE(unk_token="<unk>"), learned=False)
            trainer = trainers.BpeTrainer(
                initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **same
            )
        elif kind == "wordpiece":
            engine = shell(kind, lowercase, models.WordPiece(unk_token="<unk>"), False, apart)
            # Tokens learned inside words are numbered in a random order, which decides ties: these are numbered before.
            letters: set[str] = set()
            for chunk in chunks(texts):
                letters.update(*without_surrogates(chunk))
            inner = [
                f"##{letter}"
                for letter in sorted(letters)
                if not letter.isspace() and not (apart and HAN.match(letter))
            ]
            trainer = trainers.WordPieceTrainer(**same | {"special_tokens": SPECIAL + inner})
        else:  # by a trainer of our own: that of the library gives other pieces each time
            return cls(
                shell(
                    kind,
                    lowercase,
                    models.Unigram(scored_pieces(texts, vocabulary, lowercase), OWN.unknown),
                ),
                kind,
                lowercase,
            )
        engine.train_from_iterator(
            map(broken, map(without_surrogates, chunks(texts))), trainer, length=len(texts)
        )
        if kind == "wordpiece":  # the inner letters are no special tokens
            engine = shell(
                kind,
                lowercase,
                models.WordPiece(engine.get_vocab(), unk_token="<unk>"),
                apart=apart,
            )
        return cls(engine, kind, lowercase, apart)

    def encode(self, texts: list[str]) -> Sequences:
        return Sequences.of(
            [
                row.ids
                for row in self.engine.encode_batch(
                    without_surrogates(texts), add_special_tokens=False
                )
            ]
        )

    def encode_words(self, words: list[str]) -> Sequences:
        """Words that stand in a text, each alone: where a space belongs to what follows it (bytes), there is one."""
        spaced = "ByteLevel" in repr(self.engine.pre_tokenizer)
        return self.encode([f" {word}" if word else word for word in words] if spaced else words)

    def spans(self, texts: list[str]) -> list[list[tuple[int, int]]]:
        return [
            row.offsets
            for row in self.engine.encode_batch(without_surrogates(texts), add_special_tokens=False)
        ]

    def encode_placed(self, texts: list[str]) -> tuple[Sequences, list[list[tuple[int, int]]]]:
        """`encode` and `spans` at once."""
        rows = self.engine.encode_batch(without_surrogates(texts), add_special_tokens=False)
        return Sequences.of([row.ids for row in rows]), [row.offsets for row in rows]

    def spelled(self, texts: list[str]) -> list[list[str]]:
        """WordPiece calls every word that it does not know by one token; here it is the word."""
        texts, rows = without_surrogates(texts), []
        for text, row in zip(texts, self.engine.encode_batch(texts, add_special_tokens=False)):
            written = text.lower() if self.lowercase and len(text.lower()) == len(text) else text
            rows.append(
                [
                    written[slice(*place)] if number == self.special.unknown else token
                    for number, token, place in zip(row.ids, row.tokens, row.offsets)
                ]
            )
        return rows

    def joined(self, tokens: list[str]) -> str:
        return self.engine.decoder.decode(tokens)

    def decode(self, ids) -> str:
        return self.engine.decode([int(i) for i in ids])

    def to_json(self) -> dict:
        more = {"apart": True} if self.apart else {}
        return {
            "kind": self.kind,
            "lowercase": self.lowercase,
            **more,
            "engine": json.loads(self.engine.to_str()),
        }

    @classmethod
    def from_json(cls, saved) -> Self:
        """Only the vocabulary and its merges or scores are taken from the file; all else is as `learn` makes it."""
        from tokenizers import models

        kind, model = (
            take.one_of(saved, "kind", SUBWORDS),
            take.value(take.value(saved, "engine"), "model"),
        )
        lowercase, vocabulary = take.flag(saved, "lowercase"), take.value(model, "vocab")
        if kind == "unigram":
            pairs = [
                tuple(pair)
                for pair in take.items(model, "vocab")
                if isinstance(pair, list) and len(pair) == 2
            ]
            scored = all(isinstance(token, str) and take.is_number(score) for token, score in pairs)
            if len(pairs) < len(vocabulary) or not scored:
                raise take.Unfit('"vocab" holds something else than tokens with their scores')
            if len(dict(pairs)) < len(beginning_special([token for token, _ in pairs])):
                raise take.Unfit('a token stands in "vocab" twice')
            return cls(shell(kind, lowercase, models.Unigram(pairs, OWN.unknown)), kind, lowercase)
        if not isinstance(vocabulary, dict) or not all(
            take.is_integer(number) for number in vocabulary.values()
        ):
            raise take.Unfit('"vocab" holds something else than tokens with their numbers')
        tokens = beginning_special(sorted(vocabulary, key=vocabulary.get))
        if [vocabulary[token] for token in tokens] != list(range(len(tokens))):
            raise take.Unfit('the numbers in "vocab" do not follow one another')
        if kind == "wordpiece":
            apart = take.flag({"apart": False} | saved, "apart")
            return cls(
                shell(
                    kind, lowercase, models.WordPiece(vocabulary, unk_token="<unk>"), apart=apart
                ),
                kind,
                lowercase,
                apart,
            )
        merges = [tuple(pair) for pair in take.items(model, "merges") if isinstance(pair, list)]
        known = all(
            len(pair) == 2 and all(isinstance(part, str) for part in pair) for pair in merges
        )
        if (
            not known
            or len(merges) < len(model["merges"])
            or not all({a, b, a + b} <= vocabulary.keys() for a, b in merges)
        ):
            raise take.Unfit('"merges" holds something else than pairs of tokens that make a third')
        return cls(
            shell(kind, lowercase, models.BPE(vocabulary, merges, unk_token="<unk>")),
            kind,
            lowercase,
        )


def scored_pieces(texts, vocabulary: int, lowercase: bool) -> list[tuple[str, float]]:
    """The pieces of Unigram with their scores, the special tokens before them."""
    from tokenizers import models

    cutting = shell("unigram", lowercase, models.Unigram(), learned=False)

    def cut(text: str) -> list[tuple[str, tuple]]:
        return cutting.pre_tokenizer.pre_tokenize_str(
            cutting.normalizer.normalize_str(text) if lowercase else text
        )

    words = unigram.counted(map(broken, map(without_surrogates, chunks(texts))), cut)
    least = len(SPECIAL) + len(set().union(*words))
    if vocabulary < least:
        raise Mistake(
            "vocabulary={vocabulary}: every letter of the texts is a token of tokenizer=unigram, expected at least "
            "{least}; allow more, or take tokenizer=bpe.",
            vocabulary=vocabulary,
            least=least,
        )
    return [(token, NEVER) for token in SPECIAL] + unigram.pieces(words, vocabulary - len(SPECIAL))


def shell(kind: str, lowercase: bool, model, learned: bool = True, apart: bool = False):
    """The engine around a model: how a text is cut before and joined after; the special tokens, if it has learned any; with
    spaces around every Chinese character, where these stand `apart`."""
    from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers

    around = {
        "bpe": (pre_tokenizers.ByteLevel, decoders.ByteLevel),
        "unigram": (pre_tokenizers.Metaspace, decoders.Metaspace),
        "wordpiece": (pre_tokenizers.BertPreTokenizer, decoders.WordPiece),
    }
    engine = Tokenizer(model)
    engine.pre_tokenizer, engine.decoder = (part() for part in around[kind])
    if apart:
        engine.normalizer = normalizers.BertNormalizer(
            clean_text=False, strip_accents=False, lowercase=lowercase
        )
    elif lowercase:
        engine.normalizer = normalizers.Lowercase()
    if learned:
        engine.add_special_tokens(SPECIAL)
    return engine


class Imported(Subwords):
    """A vocabulary that comes from elsewhere, as it is: its special tokens are its own, wherever they stand."""

    kind = "imported"

    def __init__(self, engine, special: Special):
        super().__init__(engine, self.kind, lowercase=False)
        self.special = special
        if len(self.tokens) != len(engine.get_vocab()) or sorted(
            engine.get_vocab().values()
        ) != list(range(len(self.tokens))):
            raise take.Unfit("the numbers of the vocabulary do not follow one another")

    def to_json(self) -> dict:
        return {
            "kind": self.kind,
            "special": self.special.to_json(),
            "engine": json.loads(self.engine.to_str()),
        }

    @classmethod
    def from_json(cls, saved) -> Self:
        from tokenizers import Tokenizer

        try:
            engine = Tokenizer.from_str(json.dumps(take.value(saved, "engine")))
        except Exception as error:  # whatever the library says of a file that is not its own
            raise take.Unfit("the tokenizer cannot be read: {reason}", reason=str(error)) from None
        return cls(engine, Special.from_json(take.value(saved, "special"), engine.get_vocab_size()))
