"""Two vocabularies as other libraries make them: BERT's special tokens stand at 0 and 100 to 103; GPT-2's only one stands last,
and nothing fills rows up."""

from functools import cache

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from wenmai.data.text.special import Special
from wenmai.data.text.tokenizers import Imported

TEXTS = [
    "the cat sat on the mat",
    "the dog sat on the log",
    "a cat saw the dog",
    "the dog saw a cat on the mat",
    "the mat is on the log",
    "a dog is a dog",
    "我很喜欢这部电影",
    "café naïve élan 🙂",
] * 4


@cache
def bert_like() -> Imported:
    letters = sorted(
        {
            letter
            for text in TEXTS
            for letter in text.replace("é", "e").replace("ï", "i")
            if not letter.isspace()
        }
    )
    words = ["the", "cat", "dog", "sat", "saw", "on", "mat", "log", "is"]
    tokens = [
        "[PAD]",
        *(f"[unused{n}]" for n in range(1, 100)),
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
    ]
    tokens += [*letters, *(f"##{letter}" for letter in letters), *words]
    engine = Tokenizer(
        models.WordPiece({token: number for number, token in enumerate(tokens)}, unk_token="[UNK]")
    )
    engine.normalizer, engine.pre_tokenizer = (
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
    )
    engine.decoder = decoders.WordPiece()
    engine.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return Imported(
        engine, Special(pad=0, unknown=100, begin=101, end=102, separator=102, mask=103)
    )


@cache
def gpt_like() -> Imported:
    engine = Tokenizer(models.BPE())
    engine.pre_tokenizer, engine.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    engine.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    )
    engine.add_special_tokens(["<|endoftext|>"])
    last = engine.token_to_id("<|endoftext|>")
    assert last == engine.get_vocab_size() - 1
    return Imported(engine, Special(begin=last, end=last))


KINDS = {"bert": bert_like, "gpt": gpt_like}
