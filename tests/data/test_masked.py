"""Documents, their sentences, and what is drawn of them for a network to guess."""

import numpy as np
import pytest

from wenmai.catalog import TASKS
from wenmai.data.dataset import open_dataset
from wenmai.data.examples import masked
from wenmai.data.examples.masked import MaskedText, laid_end_to_end, uniform
from wenmai.data.examples.sequences import Sequences
from wenmai.data.files.documents import Documents, sentences
from wenmai.data.text import sentences as cutting
from wenmai.data.text.sentences import Sentences
from wenmai.data.text.special import OWN
from wenmai.data.text.subwords import Subwords
from wenmai.data.text.whole_words import WholeWords
from wenmai.data.text.wrapping import Wrapping
from wenmai.errors import Mistake

TOKENS = 5000


# Documents


def test_documents_are_parted_by_blank_lines_and_held_out_whole():
    text = Documents.of("a1\na2\n\nb1\n\n \t\n\nc1\nc2\nc3\n\nd1\n")
    found = Sentences.of(text)
    assert list(found.texts) == [
        "a1",
        "a2",
        "b1",
        "c1",
        "c2",
        "c3",
        "d1",
    ] and found.documents.tolist() == [0, 2, 3, 6, 7]
    kept, valid, test = text.parts([0.3, 0.1])
    assert [list(Sentences.of(part).texts) for part in (kept, valid, test)] == [
        ["a1", "a2", "b1"],
        ["c1", "c2", "c3"],
        ["d1"],
    ]


def test_the_only_document_is_cut_at_a_line_and_a_long_last_one_is_held_out_whole():
    lines = [f"line {n}" for n in range(20)]
    kept, held = Documents.of("\n".join(lines)).parts([0.25])
    assert list(kept) + list(held) == lines and len(held) in (4, 5)
    kept, held = Documents.of("\n".join(["one", "two", "", *lines])).parts([0.25])
    assert list(Sentences.of(kept).texts) == ["one", "two"] and list(held) == lines


def test_a_blank_line_is_found_however_far_away(monkeypatch):
    from wenmai.data.files import documents

    monkeypatch.setattr(documents, "REACH", 8)
    body = "\n".join(f"a long line number {n}" for n in range(50))
    text = Documents.of(f"{body}\n\nshort\n\n{body}\n")
    kept, held = text.parts([0.6])
    assert (
        list(Sentences.of(kept).texts)[-1] == "a long line number 49"
        and next(iter(held)) == "short"
    )


def test_every_text_of_a_list_is_a_document_and_the_same_as_in_a_file(tmp_path):
    (tmp_path / "text.txt").write_text("a\nb\n\nc\n")
    for given in (["a\nb", "c"], ["a\nb\n", "c\n\n"], "a\nb\n\nc", tmp_path / "text.txt"):
        found = Sentences.of(Documents.of(given))
        assert list(found.texts) == ["a", "b", "c"] and found.documents.tolist() == [0, 2, 3]


def test_documents_that_look_like_tokens_with_tags_are_read_as_documents(tmp_path):
    (tmp_path / "corpus.txt").write_text(
        "the cat meows\nthe cat sleeps\n\nthe dog sleeps\nthe dog meows\n\n" * 9
    )
    found = open_dataset(str(tmp_path / "corpus.txt"), TASKS, "pretrain", valid="0.1")
    assert next(iter(found.train.inputs)) == "the cat meows" and found.valid is not None


def test_texts_of_one_sentence_each_are_lines_of_one_document():
    assert Sentences.of(Documents.of([f"sentence {n}" for n in range(30)])).documents.tolist() == [
        0,
        30,
    ]
    some = [f"sentence {n}" + "\nand another" * (n % 5 == 0) for n in range(30)]
    assert len(Sentences.of(Documents.of(some)).documents) == 31


def test_long_lines_are_cut_at_sentence_marks():
    english = 'This is the first of them. Is this one, at 3.5 m, the second?  "Yes!" It was the third of these, and the last.'
    assert sentences(english) == [
        "This is the first of them.",
        "Is this one, at 3.5 m, the second?",
        '"Yes!"',
        "It was the third of these, and the last.",
    ]
    chinese = "第一句话在这里。“第二句呢？”第三句很长" + "很长" * 45 + "！！最后一句"
    assert [text[:4] for text in sentences(chinese)] == [
        "第一句话",
        "“第二句",
        "第三句很",
        "最后一句",
    ]
    assert "".join(sentences(chinese)) == chinese
    assert sentences("Short. Two. Three.") == ["Short. Two. Three."]
    assert [len(text) for text in sentences("x" * 4500)] == [2000, 2000, 500]


def test_many_sentences_lie_in_a_file(monkeypatch):
    text = "".join(f"line {n} of them\n" + "\n" * (n % 5 == 0) for n in range(300))
    whole = Sentences.of(Documents.of(text))
    monkeypatch.setattr(cutting, "LARGE", 500)
    stored = Sentences.of(Documents.of(text))
    assert type(stored.texts).__name__ == "StoredTexts" and list(stored.texts) == whole.texts
    assert stored.documents.tolist() == whole.documents.tolist() and stored[7] == whole[7]


# What is drawn


def text_of(
    lengths: list[list[int]],
    longest: int = 32,
    share: float = 0.15,
    next_sentence: bool = True,
    inner=None,
):
    """Documents of sentences of so many tokens, all different as far as there are tokens."""
    sizes = np.array([size for document in lengths for size in document])
    tokens = 2 * (6 + np.arange(sizes.sum()) % (TOKENS - 6))
    tokens = tokens if inner is None else tokens + inner(np.arange(len(tokens)))
    documents = np.cumsum([0, *map(len, lengths)])
    return MaskedText(
        tokens,
        np.cumsum(sizes),
        documents,
        OWN,
        Wrapping.of(OWN),
        TOKENS,
        longest,
        share,
        next_sentence,
    )


def restored(batch) -> np.ndarray:
    """The tokens as they were before some were hidden."""
    tokens = batch.inputs.numpy().copy()
    tokens.reshape(-1)[batch.places.numpy()] = batch.target.numpy()
    return tokens


def test_pairs_are_framed_and_half_of_them_follow():
    text = text_of([[5, 4, 6, 3, 5, 7, 2, 4]] * 100)
    batch = text.batch(np.arange(len(text)), np.random.default_rng(0))
    assert abs(batch.follows.float().mean().item() - 0.5) < 0.05
    for tokens, mask, segment, follows, row in zip(
        restored(batch), batch.mask, batch.segment, batch.follows, batch.rows
    ):
        size, marks = int(mask.sum()), np.flatnonzero(tokens == OWN.separator)
        assert tokens[0] == OWN.begin and marks.tolist() == [marks[0], size - 1] and size <= 32
        assert segment.tolist() == [0] * (marks[0] + 1) + [1] * (size - 1 - marks[0]) + [0] * (
            len(mask) - size
        )
        first, second = tokens[1 : marks[0]], tokens[marks[0] + 1 : size - 1]
        assert len(first) and len(second)
        at = text.starts[row]
        assert (first == text.tokens[at : at + len(first)] >> 1).all()
        goes_on = text.tokens[at + len(first) : at + len(first) + len(second)] >> 1
        assert (len(goes_on) == len(second) and (second == goes_on).all()) == bool(follows)


def test_what_does_not_follow_comes_from_another_document():
    lengths = [[4, 4, 4, 4], [3, 3, 3, 3, 3], [5, 5]] * 20
    text = text_of(lengths)
    bounds = np.concatenate([[0], np.cumsum([sum(document) for document in lengths])])
    first, second, follows = text.pairs(np.arange(len(text)), key=5)
    one, other = (np.searchsorted(bounds, part.starts, "right") - 1 for part in (first, second))
    assert ((one == other) == follows).all() and 0.3 < follows.mean() < 0.7
    assert (np.searchsorted(bounds, second.stops, "left") - 1 == other).all()  # and out of one only


def test_one_document_lends_itself_sentences_that_do_not_follow():
    text = text_of([[4] * 200])
    first, second, follows = text.pairs(np.arange(len(text)), key=1)
    assert 0.2 < follows.mean() < 0.8
    assert ((second.starts == first.stops) == follows).all()
    tiny = text_of([[3, 3]])  # nothing else is there
    assert tiny.batch(np.arange(len(tiny))).mask.any()


def test_half_follow_where_many_sentences_stand_alone():
    text = text_of([[5], [4], [4, 4], [6, 2], [3, 3, 3]] * 200)
    follows = text.batch(np.arange(len(text)), np.random.default_rng(3)).follows
    assert abs(follows.float().mean().item() - 0.5) < 0.05


def test_windows_are_as_much_of_a_document_as_fits():
    text = text_of([[10, 30, 20], [5], [0], [70]], longest=32, next_sentence=False)
    assert (text.stops - text.starts).tolist() == [30, 30, 5, 23, 23, 24]
    batch = text.batch(np.arange(len(text)), np.random.default_rng(0))
    assert batch.follows is None and not batch.segment.any()
    rows = [tokens[mask] for tokens, mask in zip(restored(batch), batch.mask.numpy())]
    assert all(row[0] == OWN.begin and row[-1] == OWN.separator for row in rows)
    assert np.array_equal(
        np.concatenate([row[1:-1] for row in rows]), text.tokens >> 1
    )  # nothing is left out
    assert (text.lengths == batch.mask.sum(1).numpy()).all()


@pytest.mark.parametrize("share", [0.15, 0.3])
def test_of_the_share_eight_in_ten_are_masked_and_one_is_another(share):
    text = text_of([[20] * 10] * 200, longest=64, share=share, next_sentence=False)
    batch = text.batch(np.arange(len(text)), np.random.default_rng(0))
    words = int(batch.mask.sum()) - 2 * len(text)
    assert abs(len(batch.places) / words - share) < 0.005
    read = batch.inputs.flatten()[batch.places]
    masked, same = (read == OWN.mask).float().mean(), (read == batch.target).float().mean()
    assert abs(masked - 0.8) < 0.02 and abs(same - 0.1) < 0.02
    assert not np.isin(
        read[read != OWN.mask].numpy(), OWN.numbers
    ).any()  # another word, and no mark
    unhidden = np.setdiff1d(np.arange(batch.inputs.numel()), batch.places.numpy())
    assert not (batch.inputs.flatten().numpy()[unhidden] == OWN.mask).any()
    assert batch.places.bincount(minlength=batch.inputs.numel()).max() == 1


def test_every_row_has_a_word_to_guess_and_marks_are_never_hidden():
    text = text_of([[1, 1], [2, 1]] * 30, longest=32)
    batch = text.batch(np.arange(len(text)), np.random.default_rng(2))
    assert set((batch.places // batch.inputs.shape[1]).tolist()) == set(range(len(text)))
    assert not np.isin(batch.target.numpy(), OWN.numbers).any()


def test_words_are_hidden_whole():
    text = text_of(
        [[30] * 4] * 50, longest=64, next_sentence=False, inner=lambda at: (at % 3 != 0).astype(int)
    )
    batch = text.batch(np.arange(len(text)), np.random.default_rng(0))
    hidden = np.zeros(batch.inputs.numel(), bool)
    hidden[batch.places.numpy()] = True
    for row, (start, stop) in enumerate(zip(text.starts, text.stops)):
        own = hidden.reshape(len(text), -1)[row][1 : 1 + stop - start]
        words = np.arange(start, stop) // 3
        share = np.bincount(words - words[0], own) / np.bincount(words - words[0])
        assert set(share.tolist()) <= {0.0, 1.0} and 0 < own.mean() < 0.25


def test_a_row_draws_the_same_with_whomever_it_is_read_and_anew_at_every_step():
    text = text_of([[5, 4, 6, 3, 5, 7, 2, 4]] * 30)
    whole, alone = (
        text.batch(rows, np.random.default_rng((0, 7))) for rows in (np.arange(12), np.array([5]))
    )
    size = int(alone.mask.sum())
    assert int(whole.mask[5].sum()) == size and whole.follows[5] == alone.follows[0]
    assert (whole.inputs[5, :size] == alone.inputs[0]).all() and (
        whole.segment[5, :size] == alone.segment[0]
    ).all()
    again, later = (text.batch(np.arange(12), np.random.default_rng((0, step))) for step in (7, 8))
    assert (again.inputs == whole.inputs).all() and (again.places == whole.places).all()
    assert later.inputs.shape != whole.inputs.shape or (later.inputs != whole.inputs).any()
    fixed = [text.batch(np.arange(12)).inputs for _ in range(2)]
    assert (fixed[0] == fixed[1]).all()


def test_lengths_are_about_what_is_read_and_never_more_than_can_be():
    text = text_of([[5], [40, 3], [4, 4], [9, 2, 8, 30]] * 20)
    lengths = text.batch(np.arange(len(text)), np.random.default_rng(0)).mask.sum(1).numpy()
    assert (
        lengths.max() <= 32
        and text.lengths.max() <= 32
        and abs(lengths.sum() / text.lengths.sum() - 1) < 0.1
    )


def test_how_long_a_pair_is_does_not_tell_whether_it_follows():
    chance = np.random.default_rng(0)
    text = text_of(
        [chance.integers(2, 9, chance.integers(3, 12)).tolist() for _ in range(60)], longest=40
    )
    found = [text.batch(np.arange(len(text)), np.random.default_rng(seed)) for seed in range(30)]
    follows = np.concatenate([batch.follows.numpy() for batch in found])
    second = np.concatenate([((batch.segment == 1) & batch.mask).sum(1).numpy() for batch in found])
    assert abs(second[follows].mean() / second[~follows].mean() - 1) < 0.15
    ends = set(text.sentence_stops.tolist())
    _, second, follows = text.pairs(np.arange(len(text)), 3)
    assert (
        np.mean([stop in ends for stop in second.stops[~follows].tolist()]) > 0.9
    )  # it breaks off only where it must


def test_no_room_for_words_is_refused():
    with pytest.raises(
        Mistake, match=r"max_length=6: beside the 3 marks .* no room for words; expected at least 7"
    ):
        text_of([[5, 5]], longest=6)


def test_numbers_that_are_drawn_are_even():
    drawn = uniform(12345, np.arange(100_000), 3)
    assert drawn.min() >= 0 and drawn.max() < 1 and abs(drawn.mean() - 0.5) < 0.005
    assert np.abs(np.histogram(drawn, 20)[0] / 5000 - 1).max() < 0.06
    other = uniform(12345, np.arange(100_000), 4)
    assert abs(np.corrcoef(drawn, other)[0, 1]) < 0.01


def test_many_tokens_lie_in_a_file(monkeypatch):
    rows = [Sequences.of([[1, 2, 3], [4]]), Sequences.of([[], [5, 6]])]
    monkeypatch.setattr(masked, "LARGE", 4)
    tokens, ends = laid_end_to_end(iter(rows), 100)
    assert isinstance(tokens, np.memmap) and tokens.dtype == np.uint16
    assert tokens.tolist() == [1, 2, 3, 4, 5, 6] and ends.tolist() == [3, 4, 4, 6]
    assert laid_end_to_end(iter(rows), 1 << 17)[0].dtype == np.int32


# Words


def test_pieces_of_a_word_go_together():
    texts = ["unbelievable things happened", "believable"] * 3
    tokenizer = Subwords.learn(texts, "wordpiece", 40, False, apart=True)
    rows = tokenizer.encode(texts)
    inside = WholeWords(tokenizer).going_on(texts, rows)
    assert (
        inside.tolist() == [tokenizer.tokens[number].startswith("##") for number in rows.flat]
        and inside.any()
    )
    bpe = Subwords.learn(texts, "bpe", 280, False)
    rows = bpe.encode(texts[:1])
    inside = WholeWords(bpe).going_on(texts[:1], rows)
    assert np.count_nonzero(~inside) == 3 and len(inside) > 3


def test_chinese_words_are_those_of_jieba():
    pytest.importorskip("jieba")
    texts = ["我们在北京大学 learning 学习自然语言处理"]
    tokenizer = Subwords.learn(texts, "wordpiece", 300, False, apart=True)
    rows = tokenizer.encode(texts)
    words, tokens = [], [tokenizer.tokens[number] for number in rows.flat]
    for token, inside in zip(tokens, WholeWords(tokenizer).going_on(texts, rows)):
        words = [*words[:-1], words[-1] + token.removeprefix("##")] if inside else [*words, token]
    assert words == ["我们", "在", "北京大学", "learning", "学习", "自然语言", "处理"]
    assert all(
        len(token) == 1 for token in tokens if not token.isascii()
    )  # every character is a token


def test_wordpiece_with_chinese_apart_is_kept_and_read_again():
    known = Subwords.learn(["你好世界 hello", "世界"], "wordpiece", 50, True, apart=True)
    again = Subwords.from_json(known.to_json())
    for text in ("你好Hello世 界", "hello世界"):
        assert again.encode([text])[0].tolist() == known.encode([text])[0].tolist()
    assert [known.tokens[number] for number in known.encode(["世界Hello"])[0]] == [
        "世",
        "界",
        "hello",
    ]
    assert known.spans(["世界Hello"]) == [[(0, 1), (1, 2), (2, 7)]]
