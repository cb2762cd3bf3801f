"""Tokenizers of ours as those of the library `tokenizers`, so that tokenizer.json alone cuts a text as a run does: letters, words
and bytes are a pattern that a text is cut by and a table of numbers. What cannot be said so (jieba's dictionary) has none."""

from wenmai.data.text.special import SPECIAL
from wenmai.data.text.subwords import Subwords
from wenmai.data.text.tokenizers import WORD
from wenmai.data.text.vocabulary import SPECIAL as NUMBERED

ANY = r"[\s\S]"  # one character
TRIED = [
    "The quick-brown fox's 12.5% isn’t  here…\t(really?)",
    "文 reads 中, 日。本 ひらがな และ 한국어 too!",
    "Ünïcödé ÀÉ ☃ 🙂 <pad> _x_ a'b'c",
    "",
    " ",
    "ab\ncd",
]


def library_tokenizer(tokenizer):
    """A Tokenizer of the library that numbers texts alike; None where there is none. `tokenizer`: one of data/text."""
    if isinstance(tokenizer, Subwords):
        return tokenizer.engine
    made = numbered(tokenizer)
    return made if made is not None and cuts_alike(made, tokenizer) else None


def numbered(tokenizer):
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    kind, special = tokenizer.kind, tokenizer.special
    letter = pre_tokenizers.Split(Regex(ANY), "isolated")
    parts = {
        "characters": (letter, decoders.Fuse()),
        "spaces": (pre_tokenizers.WhitespaceSplit(), None),
        "words": (pre_tokenizers.Split(Regex(pattern()), "removed", invert=True), None),
        "given": (None, None),
        "bytes": (
            pre_tokenizers.Sequence(
                [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False), letter]
            ),
            decoders.ByteLevel(),
        ),
    }
    if kind not in parts:
        return None
    tokens = [*SPECIAL, *byte_letters()] if kind == "bytes" else tokenizer.tokens
    unknown = tokens[special.unknown]
    engine = Tokenizer(
        models.WordLevel({token: number for number, token in enumerate(tokens)}, unk_token=unknown)
    )
    before, decoder = parts[kind]
    if before is not None:
        engine.pre_tokenizer = before
    if decoder is not None:
        engine.decoder = decoder
    if tokenizer.lowercase:
        engine.normalizer = normalizers.Lowercase()
    return engine


def pattern() -> str:
    return WORD.pattern


def byte_letters() -> list[str]:
    """The letter that the library writes for each of the 256 bytes: itself where it can be seen, else one from U+0100 on."""
    seen = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    others = iter(range(256, 512))
    return [chr(byte) if byte in seen else chr(next(others)) for byte in range(256)]


def cuts_alike(engine, tokenizer) -> bool:
    """On texts of many scripts, and on tokens that it knows; of tokens that are given, each by itself."""
    own = set(NUMBERED) | set(SPECIAL)
    known = [token for token in tokenizer.tokens[:2000] if token not in own and token.isprintable()]
    if tokenizer.kind == "given":
        return True  # a token is a token
    texts = [
        *TRIED,
        *(" ".join(known[start : start + 40]) for start in range(0, len(known), 40)),
        *known[:200],
    ]
    rows = engine.encode_batch(texts, add_special_tokens=False)
    return all(list(row.ids) == ours.tolist() for row, ours in zip(rows, tokenizer.encode(texts)))
