"""Tokenizers as they lie beside checkpoints: tokenizer.json, or the older files of words (vocab.txt) and merges (vocab.json)."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from wenmai.data.files.columns import short
from wenmai.data.storage import saved as take
from wenmai.data.text.special import Special
from wenmai.data.text.subwords import Imported
from wenmai.data.text.wrapping import Wrapping
from wenmai.errors import Mistake

LARGEST = 1 << 26  # bytes of a file of JSON
NEWLINE, END_OF_TEXT = "Ċ", "<|endoftext|>"  # tokens of GPT-2
NAMES = {
    "pad": ("[PAD]", "<pad>"),
    "unknown": ("[UNK]", "<unk>"),
    "begin": ("[CLS]", "<s>", "<bos>"),
    "separator": ("[SEP]", "</s>", "<sep>"),
    "mask": ("[MASK]", "<mask>"),
}
NORMALIZER = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}
UNUSUAL = "\U0010fffd"  # a character that no vocabulary has
BARE = ("PreTrainedTokenizerFast", "TokenizersBackend")  # classes that take tokenizer.json as it is


@contextmanager
def understood(path: Path) -> Iterator[None]:
    """Inside, what is wrong comes of what this file holds."""
    try:
        yield
    except take.Unfit as unfit:
        raise Mistake(
            "{file} cannot be imported: {reason}.", file=path, reason=unfit.message
        ) from None
    except FileNotFoundError:
        raise Mistake("{file} is missing.", file=path) from None
    except (ValueError, AttributeError, RecursionError, SafetensorError) as error:
        raise Mistake(
            "{file} cannot be read ({error}).",
            file=path,
            error=short(str(error).splitlines()[0], 200),
        ) from None


def read_json(path: Path) -> dict:
    with understood(path):
        if path.stat().st_size > LARGEST:
            raise take.Unfit("it is larger than {size} MB", size=LARGEST >> 20)
        value = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(value, dict):
            raise take.Unfit("found {value}, expected an object", value=take.summary(value))
        return value


def engine_of(folder: Path):
    """The tokenizer itself, which neither cuts nor fills up."""
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    with understood(path if path.is_file() else folder):
        if path.is_file():
            read_json(path)  # whose size and form are ours to judge
            try:
                engine = Tokenizer.from_file(str(path))
            except Exception as error:  # whatever the library says of a file that is not its own
                raise take.Unfit(
                    "the tokenizer cannot be read: {reason}", reason=short(str(error), 200)
                ) from None
            configure_normalizer(engine, folder)
        elif (folder / "vocab.txt").is_file():
            engine = word_pieces(folder)
        elif (folder / "vocab.json").is_file():
            engine = byte_pairs(folder)
        else:
            raise take.Unfit("it has no tokenizer.json, vocab.txt or vocab.json")
        engine.no_padding()
        engine.no_truncation()
        return engine


def configure_normalizer(engine, folder: Path) -> None:
    """What tokenizer_config.json says of a tokenizer of BERT's goes before what is said in tokenizer.json."""
    from tokenizers import normalizers

    about = (
        read_json(folder / "tokenizer_config.json")
        if (folder / "tokenizer_config.json").is_file()
        else {}
    )
    if (
        not isinstance(engine.normalizer, normalizers.BertNormalizer)
        or about.get("tokenizer_class") in BARE
    ):
        return
    for theirs, ours in NORMALIZER.items():
        if about.get(theirs) is not None:
            setattr(engine.normalizer, ours, take.flag(about, theirs))


def word_pieces(folder: Path):
    """BERT's: vocab.txt has a token a line; in lower case unless it is said otherwise."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    tokens = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    tokens = [token.rstrip("\r") for token in (tokens[:-1] if tokens[-1] == "" else tokens)]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    engine = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    engine.normalizer = normalizers.BertNormalizer()
    configure_normalizer(engine, folder)
    engine.pre_tokenizer, engine.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    ends = [(token, vocabulary[token]) for token in ("[SEP]", "[CLS]") if token in vocabulary]
    if len(ends) < 2:
        raise take.Unfit("the vocabulary lacks [CLS] or [SEP]")
    engine.add_special_tokens(
        [token for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") if token in vocabulary]
    )
    engine.post_processor = processors.BertProcessing(*ends)
    return engine


def byte_pairs(folder: Path):
    """GPT-2's and RoBERTa's: vocab.json and merges.txt."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    vocabulary = read_json(folder / "vocab.json")
    lines = (folder / "merges.txt").read_text(encoding="utf-8").splitlines()
    merges = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
    engine = Tokenizer(models.BPE(vocabulary, merges))
    engine.pre_tokenizer, engine.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    special = [
        token
        for token in ("<s>", "<pad>", "</s>", "<unk>", "<mask>", END_OF_TEXT)
        if token in vocabulary
    ]
    engine.add_special_tokens(special)
    if "<s>" in vocabulary and "</s>" in vocabulary:
        engine.post_processor = processors.RobertaProcessing(
            ("</s>", vocabulary["</s>"]), ("<s>", vocabulary["<s>"]), add_prefix_space=False
        )
    return engine


def line_tokenizer(folder: Path) -> Imported:
    """For running text: a line is closed by the token that a line's end is."""
    engine = engine_of(folder)
    with understood(folder):
        known = engine.get_vocab()
        end = known.get(NEWLINE, known.get(END_OF_TEXT))
        if end is None:
            raise take.Unfit(
                "no token closes a line: it has neither {first} nor {second}",
                first=NEWLINE,
                second=END_OF_TEXT,
            )
        return Imported(engine, Special(end=end))


def framed_tokenizer(folder: Path) -> tuple[Imported, Wrapping]:
    """For texts that stand alone or in pairs, and what its own template puts around them."""
    engine = engine_of(folder)
    with understood(folder):
        known = engine.get_vocab()
        numbers = {
            role: next((known[name] for name in names if name in known), None)
            for role, names in NAMES.items()
        }
        try:
            one, two = engine.encode("a"), engine.encode("a", "b")
            engine.encode(UNUSUAL)
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            raise take.Unfit(
                "the tokenizer cannot be read: {reason}", reason=short(str(error), 200)
            ) from None
        before, after = around(one.ids, one.special_tokens_mask)[::2]
        parts = around(two.ids, two.special_tokens_mask)
        if len(parts) != 3 or (before, after) != (parts[0], parts[2]):
            raise take.Unfit("its template wraps texts in a way that is not known here")
        if not {number for part in parts for number in part} <= set(known.values()):
            raise take.Unfit("its template names tokens that are not in the vocabulary")
        return Imported(engine, Special(**numbers)), Wrapping(
            *map(tuple, parts), second=two.type_ids[-1]
        )


def around(ids: list[int], special: list[int]) -> list[list[int]]:
    """The special tokens before, between and after texts; of one text there is nothing between."""
    runs, after_text = [[]], False
    for number, is_special in zip(ids, special):
        if not is_special:
            after_text = True
            continue
        if after_text:
            runs.append([])
            after_text = False
        runs[-1].append(number)
    runs += [[]] if after_text else []
    return [runs[0], [], runs[1]] if len(runs) == 2 else runs
