"""Tagging schemes: what is written is read back, and illegal tags are read as seqeval reads them."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from wenmai.data.examples.sequences import offsets_of
from wenmai.data.text import schemes
from wenmai.data.text.schemes import WRITTEN, Spans, allowed, convert, detect, read, write
from wenmai.errors import Mistake

FEW = settings(max_examples=100, deadline=None)
KINDS = ["_", "PER", "LOC", "B-x"]
# rows of (length, kind) pieces; kind 0 is outside of all spans, or the kind "_" where every span has it
pieces = st.lists(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), max_size=6), min_size=1, max_size=4
)
TAGS = ["O", *(f"{letter}-{kind}" for letter in "BIES" for kind in ("A", "B"))]
illegal = st.lists(st.lists(st.sampled_from(TAGS), max_size=9), min_size=1, max_size=4)
each_scheme = pytest.mark.parametrize("scheme", WRITTEN)


def spans_of(rows, bare=False) -> Spans:
    """Spans laid out as these pieces are; bare ones are all of the kind "_" and nothing stands outside."""
    found, offsets, at = [], [0], 0
    for row in rows:
        for length, kind in row:
            if kind or bare:
                found.append((at, at + length - 1, 0 if bare else kind))
            at += length
        offsets.append(at)
    first, last, kind = np.array(found, np.int64).reshape(-1, 3).T
    return Spans(first, last, kind, KINDS, np.array(offsets))


def told(spans: Spans) -> list[tuple]:
    return [
        (*place, spans.kinds[kind])
        for *place, kind in zip(spans.first.tolist(), spans.last.tolist(), spans.kind.tolist())
    ]


@each_scheme
@FEW
@given(rows=pieces, bare=st.booleans())
def test_what_is_written_is_read_back(scheme, rows, bare):
    spans = spans_of(rows, bare)
    tags = write(spans, scheme)
    assert [len(row) for row in tags] == np.diff(spans.offsets).tolist()
    assert {tag[0] for row in tags for tag in row} <= set(WRITTEN[scheme])
    again = read(tags)
    assert told(again) == told(spans) and again.offsets.tolist() == spans.offsets.tolist()
    assert again.row.tolist() == [
        int(np.searchsorted(spans.offsets, first, "right")) - 1 for first in spans.first
    ]


@FEW
@given(rows=pieces)
def test_every_scheme_is_converted_to_every_other_and_back(rows):
    written = {scheme: write(spans_of(rows), scheme) for scheme in WRITTEN}
    for one, other in product(WRITTEN, WRITTEN):
        assert convert(written[one], other) == written[other]


def test_the_schemes_as_the_papers_write_them():
    bioes = ["O", "B-PER", "I-PER", "E-PER", "S-PER", "S-LOC", "O", "S-PER"]
    wanted = {
        "bio": "O B-PER I-PER I-PER B-PER B-LOC O B-PER",
        "iob1": "O I-PER I-PER I-PER B-PER I-LOC O I-PER",
        "ioe1": "O I-PER I-PER E-PER I-PER I-LOC O I-PER",
        "ioe2": "O I-PER I-PER E-PER E-PER E-LOC O E-PER",
        "bioes": "O B-PER I-PER E-PER S-PER S-LOC O S-PER",
        "bmes": "O B-PER M-PER E-PER S-PER S-LOC O S-PER",
        "bilou": "O B-PER I-PER L-PER U-PER U-LOC O U-PER",
    }
    assert {scheme: " ".join(convert([bioes], scheme)[0]) for scheme in WRITTEN} == wanted


@settings(max_examples=400, deadline=None)
@given(illegal)
def test_illegal_tags_are_read_as_seqeval_reads_them(rows):
    theirs, ours = get_entities([*rows]), read(rows)
    # seqeval counts an O behind every row
    shift = np.arange(len(rows))[ours.row] if len(ours.first) else np.zeros(0, np.int64)
    placed = zip(ours.kind.tolist(), (ours.first + shift).tolist(), (ours.last + shift).tolist())
    assert [(ours.kinds[kind], first, last) for kind, first, last in placed] == theirs


@FEW
@given(illegal, illegal)
def test_keys_are_equal_where_spans_are(one, other):
    size = min(len(one), len(other))
    one, other = (
        [row[: min(len(a), len(b))] for row, a, b in zip(rows, one, other)]
        for rows in (one[:size], other[:size])
    )
    known = read(one + other).kinds
    a, b = read(one, known), read(other, known)
    shared = {key for key in a.keys().tolist()} & {key for key in b.keys().tolist()}
    assert len(shared) == len(set(told(a)) & set(told(b)))


def test_known_kinds_keep_their_numbers_and_new_ones_come_behind():
    spans = read([["B-NEW", "O", "B-PER"]], ["_", "LOC", "PER"])
    assert spans.kinds == ["_", "LOC", "PER", "NEW"] and spans.kind.tolist() == [3, 2]
    assert told(read([], ["_"])) == [] and told(read([[], []])) == []


# Which scheme it is


@each_scheme
@FEW
@given(rows=pieces)
def test_the_scheme_is_seen(scheme, rows):
    tags = write(spans_of(rows), scheme)
    # one row more that shows all there is to the scheme: long and short spans, side by side and apart
    sure = write(spans_of([[(3, 1), (3, 1), (1, 1), (1, 0), (1, 2), (2, 0)]]), scheme)[0]
    assert detect([*tags, sure]) == (scheme, "")


@pytest.mark.parametrize(
    "tags", ["NOUN VERB ADJ", "N V N", "B-NOUN VERB ADJ NOUN", "1 2 3", "名 动 名"]
)
def test_tags_that_mark_no_spans_are_plain(tags):
    assert detect([tags.split(), []]) == ("plain", "")


@pytest.mark.parametrize(
    ("tags", "scheme"), [("B M E S S", "bmes"), ("B I I B O", "bio"), ("B I E S O", "bioes")]
)
def test_marks_without_a_kind(tags, scheme):
    assert detect([tags.split()]) == (scheme, "")
    assert set(read([tags.split()]).kinds) == {"_"}


def refused(rows, *more) -> str:
    with pytest.raises(Mistake) as caught:
        detect(rows, *more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_strange_tag_is_named_with_its_place():
    said = refused([["O", "B-PER"], ["B-LOC", "I-LOC", "X-LOC"]])
    for part in ("row 2: the tag 'X-LOC' of token 3", "BIO", "scheme=bio", "scheme=plain"):
        assert part in said
    assert "it would be" not in said  # nobody knows what it was meant to be
    said = refused([["O", "B-PER", "person"]], lambda row: f"a.conll, line {row + 7}")
    assert said.startswith("a.conll, line 7: the tag 'person' of token 3")


def test_what_breaks_the_nearest_scheme_is_named_with_what_it_would_be():
    said = refused([["O", "B-PER", "I-PER"], ["B-LOC", "I-PER", "O"]])
    for part in (
        "row 2: the tag 'I-PER' of token 2",
        "the nearest is BIO",
        "it would be 'B-PER'",
        "scheme=bio",
    ):
        assert part in said
    said = refused([["B-A", "E-A", "S-A", "B-A", "I-A", "E-A"], ["B-A", "O", "O"]])
    assert "row 2: the tag 'B-A' of token 1" in said and "BIOES" in said and "'S-A'" in said


def test_one_in_a_hundred_is_tolerated_and_told():
    rows = [["B-PER", "I-PER", "O"]] * 50 + [["O", "I-LOC"]]
    scheme, note = detect(rows)  # one of 101 tags that are not O
    assert (
        scheme == "bio"
        and "row 51: the tag 'I-LOC' of token 2" in note
        and "'B-LOC'" in note
        and "BIO" in note
    )
    assert "fits no scheme" in refused(rows[3:])  # one of 95
    scheme, note = detect(rows * 2)
    assert note.endswith(", nor does 1 other") and detect(rows * 3)[1].endswith(", nor do 2 others")


def test_what_may_follow_what():
    """BIOES: a span is S, or B I* E of one kind; spans and O stand in any order."""
    letter, kind = np.array([(0, 0)] + [(mark, kind) for kind in (1, 2) for mark in (1, 2, 3, 4)]).T
    begin, between, end = allowed(letter, kind)
    names = [
        "O" if not mark else f"{'OBIES'[mark]}-{KINDS[which]}" for mark, which in zip(letter, kind)
    ]
    rows = [list(row) for size in (1, 2, 3) for row in product(range(len(names)), repeat=size)]
    for row in rows:
        tags = [names[at] for at in row]
        legal = convert([tags], "bioes")[0] == tags
        assert legal == (
            begin[row[0]] and end[row[-1]] and all(between[a, b] for a, b in pairwise(row))
        ), tags


def test_letters_of_no_spans_are_all_outside():
    nothing = Spans(
        *(np.zeros(0, np.int64) for _ in range(3)), KINDS, offsets_of(np.array([2, 0, 1]))
    )
    for scheme in WRITTEN:
        assert write(nothing, scheme) == [["O", "O"], [], ["O"]]
        assert not schemes.letters(nothing, scheme)[0].any()
