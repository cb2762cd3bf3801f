"""Words get the numbers, and n-grams the counts, that a plain loop gives them: on one core, on all of them, through files."""

import errno
import gzip
import lzma
import os
import re
import shutil
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from ngrams import BEGIN, END, PTB, UNK, in_words, numbered

from wenmai.data.examples import stored
from wenmai.data.storage import threads
from wenmai.data.text import vocabulary as vocabularies
from wenmai.data.text.vocabulary import Growing, Vocabulary
from wenmai.errors import Mistake
from wenmai.models.ngram import counts, merging, spilled
from wenmai.models.ngram.counts import count
from wenmai.models.ngram.spilled import count_blocks


@pytest.mark.parametrize("seed", range(30))
def test_counts_are_those_of_a_plain_loop(seed):
    chance = np.random.default_rng(seed)
    order = int(chance.integers(1, 6))
    text = [
        [f"w{n}" for n in chance.integers(0, 5, chance.integers(0, 7))]
        for _ in range(chance.integers(1, 9))
    ]
    tokens, names = numbered(text)
    levels = count(tokens, len(names), order, BEGIN)
    tables = in_words(levels, names)
    for n, (level, table) in enumerate(zip(levels, tables), 1):
        padded = [["<s>", *sentence, "</s>"] for sentence in text]
        expected = Counter(tuple(s[at : at + n]) for s in padded for at in range(len(s) - n + 1))
        assert {gram: int(found) for gram, found in zip(table, level.count) if found} == expected
        if n > 1:
            assert [tables[n - 2][at] for at in level.suffix] == [gram[1:] for gram in table]
            number = {name: at for at, name in enumerate(names)}
            keys = [[number[word] for word in gram[::-1]] for gram in table]
            assert keys == sorted(keys)


def same(found, expected) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        for column in ("word", "context", "suffix", "count"):
            np.testing.assert_array_equal(getattr(one, column), getattr(other, column), strict=True)


def any_text(chance, words: int, sentences: int) -> bytes:
    pieces = [
        "".join(
            chance.choice([" ", "\t", "\r", "  "]) + f"w{n}"
            for n in chance.zipf(1.3, chance.integers(0, 9)) % words
        )
        for _ in range(sentences)
    ]
    return "\n".join(pieces).encode()


@pytest.mark.parametrize("seed", range(10))
def test_threads_change_nothing(seed, monkeypatch):
    chance = np.random.default_rng(seed)
    text, order = (
        any_text(chance, int(chance.integers(1, 30)), int(chance.integers(1, 60))),
        int(chance.integers(1, 8)),
    )
    alone = Growing()
    tokens = alone.read(text)
    expected = count(tokens, alone.size, order, BEGIN)
    monkeypatch.setattr(counts, "SMALL", 0)
    monkeypatch.setattr(vocabularies, "SMALL", 0)
    for number in (2, 3, 8):
        for module in (counts, vocabularies, threads):
            monkeypatch.setattr(module, "threads", lambda number=number: number)
        together = Growing()
        np.testing.assert_array_equal(together.read(text), tokens)
        assert together.done().words() == alone.done().words()
        same(count(tokens, alone.size, order, BEGIN), expected)


def by_the_line(text: bytes) -> tuple[list[int], list[bytes]]:
    names, tokens = {b"<unk>": UNK, b"<s>": BEGIN, b"</s>": END}, []
    lines = text.split(b"\n")
    for line in lines[:-1] if not lines[-1] else lines:
        words = re.split(rb"[ \t\n\v\f\r]+", line)
        numbers = [names.setdefault(word, len(names)) for word in words if word]
        tokens += [BEGIN, *(UNK if number in (BEGIN, END) else number for number in numbers), END]
    return tokens, list(names)


TEXTS = {
    "empty": b"",
    "a line end": b"\n",
    "no line end": b"a b",
    "blank lines": b"\n\n  \n a\n",
    "windows": b"a b\r\nc\r\n",
    "zeros": b"a\0b \0 \0\0\n\0",
    "no utf-8": b"\xff\xfe a \xc3\n\xff\xfe",
    "specials": b"<s> a </s> <unk> <s>\n</s>",
    "chinese": "文 脉\n脉　文".encode(),
    "a long line": b"abcdefghijklmnopqrst c " * 450_000 + b"\n" + b"x y\n" * 300_000,
    "a long word": b"a "
    + b"b" * 10_000_000
    + b" c\n"
    + b"d" * 70_000
    + b"\nb "
    + b"b" * 10_000_000
    + b" e\n",
    "many words": b" ".join(b"%d" % n for n in range(200_000)) + b"\n" + b"7\n" * 10,
}


@pytest.mark.each_value
@pytest.mark.parametrize("name", TEXTS)
def test_texts_of_any_kind(name):
    text = TEXTS[name]
    tokens, words = by_the_line(text)
    growing = Growing()
    np.testing.assert_array_equal(growing.read(text), np.array(tokens, np.int32))
    vocabulary = growing.done()
    assert vocabulary.words() == [word.decode("utf-8", "replace") for word in words]
    found, starts = vocabulary.numbers(text)
    assert found.tolist() == [token for token in tokens if token != BEGIN]
    assert len(starts) - 1 == tokens.count(BEGIN) and starts[-1] == len(found)
    assert (
        vocabulary.number("<s>")
        == vocabulary.number("</s>")
        == vocabulary.number("\udcff")
        == vocabulary.number("")
        == UNK
    )
    np.testing.assert_array_equal(
        growing.read(text), np.array(tokens, np.int32)
    )  # again: nothing is new


def test_a_vocabulary_from_a_damaged_file_is_harmless():
    """No lookup leaves the arrays or goes on for ever, whatever stands in them."""
    whole = Vocabulary.of([f"w{n}" for n in range(500)])
    text = b" ".join(b"w%d" % n for n in range(600))
    expected = whole.numbers(text)[0]
    small = Vocabulary(whole.letters, whole.starts.astype(np.int32), whole.slots)
    np.testing.assert_array_equal(small.numbers(text)[0], expected)
    chance = np.random.default_rng(0)
    for kind in (np.int32, np.int64):
        highest = np.iinfo(kind).max
        starts = chance.integers(-highest, highest, len(whole.starts)).astype(kind)
        for slots in (
            chance.integers(-(2**31), 2**31, 1024),
            chance.integers(0, 400, 64),
            np.full(1, 3),
            np.full(0, 3),
        ):
            for letters in (whole.letters, whole.letters[:9], whole.letters[:0]):
                for some in (starts, whole.starts.astype(kind), starts[:1], starts[:0]):
                    found = Vocabulary(letters, some, slots.astype(np.int32)).numbers(text)[0]
                    assert (found[:-1] >= 0).all() and (found[:-1] < max(1, len(some) - 1)).all()


def in_blocks(text: bytes, growing: Growing, size: int):
    """Words are numbered while blocks are read, as from a file."""
    lines = re.findall(rb"[^\n]*\n|[^\n]+", text)
    for start in range(0, len(lines), size):
        yield growing.read(b"".join(lines[start : start + size]))


@pytest.mark.each_value
@pytest.mark.parametrize("chunk", [1, 3, 1 << 10])
@pytest.mark.parametrize("order", range(1, 8))
def test_runs_change_nothing(order, chunk, monkeypatch):
    for module in (merging, spilled):
        monkeypatch.setattr(module, "CHUNK", chunk)
    monkeypatch.setattr(spilled, "LEAST", 1)
    chance = np.random.default_rng(order)
    for memory in (0, 1000, 5000, 20_000, 100_000, None):
        text = any_text(chance, int(chance.integers(1, 30)), int(chance.integers(1, 60)))
        alone, growing = Growing(), Growing()
        expected = count(alone.read(text), alone.size, order, BEGIN)
        found = count_blocks(
            in_blocks(text, growing, int(chance.integers(1, 9))),
            lambda own=growing: own.size,
            order,
            memory,
        )
        same(found, expected)


def test_a_text_of_nothing():
    for memory in (0, None):
        same(count_blocks([], lambda: 3, 3, memory), count(np.zeros(0, np.int32), 3, 3, BEGIN))
        same(
            count_blocks([np.zeros(0, np.int32)] * 2, lambda: 3, 3, memory),
            count(np.zeros(0, np.int32), 3, 3, BEGIN),
        )


@pytest.mark.skipif(not PTB.is_dir(), reason="the Penn Treebank text is not here")
def test_penn_treebank_through_files():
    text, growing = lzma.decompress((PTB / "ptb.train.txt.xz").read_bytes()), Growing()
    tokens = growing.read(text)
    expected, again = count(tokens, growing.size, 5, BEGIN), Growing()
    same(count_blocks(in_blocks(text, again, 2000), lambda: again.size, 5, 8_000_000), expected)
    assert again.done().words() == growing.done().words()


def test_a_sentence_that_is_larger_than_memory(monkeypatch):
    monkeypatch.setattr(spilled, "LEAST", 4)
    tokens = np.concatenate(
        [np.array([BEGIN, *range(3, most), END], np.int32) for most in (3, 40, 3, 4, 50, 60, 3)]
    )
    same(count_blocks([tokens[:43], tokens[43:]], lambda: 60, 3, 0), count(tokens, 60, 3, BEGIN))


def test_files_are_gone_and_what_hinders_them_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(spilled, "LEAST", 100)
    growing = Growing()
    tokens = growing.read(any_text(np.random.default_rng(0), 30, 200))
    levels = count_blocks([tokens], lambda: growing.size, 3, 0, tmp_path)
    assert len(levels[2]) > 100 and not list(tmp_path.iterdir())
    levels[2].count[:] = 1  # as any other array
    with pytest.raises(
        Mistake, match="nowhere: No such file or directory, while n-grams were put there"
    ):
        count_blocks([tokens], lambda: growing.size, 3, 0, tmp_path / "nowhere")
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    class Full:
        def write(self, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def close(self):
            pass

    monkeypatch.setattr(stored.tempfile, "TemporaryFile", lambda **_: Full())
    with pytest.raises(Mistake, match=r"No space left on device, .* make room, or set TMPDIR"):
        count_blocks([tokens], lambda: growing.size, 3, 0)
    assert not list(tmp_path.iterdir())


WATCHED = """
import re, threading, time
import numpy as np
from wenmai.models.ngram.spilled import count_blocks

def anonymous():
    return int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10

def blocks(number):
    for seed in range(number):
        tokens = np.random.default_rng(seed).integers(3, 20_000, (4000, 50), np.int32)
        tokens[:, 0], tokens[:, -1] = 1, 2
        yield tokens.ravel()

def watch():
    while True:
        most[0] = max(most[0], anonymous())
        time.sleep(0.002)

for memory in (None, 0):  # the kernels are loaded
    count_blocks(blocks(1), lambda: 20_000, 4, memory)
before, most = anonymous(), [0]
threading.Thread(target=watch, daemon=True).start()
levels = count_blocks(blocks(15), lambda: 20_000, 4, 80_000_000)
print(most[0] - before, sum(20 * len(level) for level in levels))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_memory_is_bounded():
    """Every n-gram is a new one, so that the levels are larger than the memory that counting them may have."""
    ran = subprocess.run(
        [sys.executable, "-c", WATCHED], capture_output=True, text=True, timeout=300, check=False
    )
    most, levels = map(int, ran.stdout.split())
    assert levels > 160_000_000 and most < 100_000_000, ran.stderr


needs_spark = pytest.mark.skipif(not shutil.which("java"), reason="there is no Java here")


@pytest.mark.slow
@needs_spark
def test_spark_counts_the_same(tmp_path, monkeypatch):
    """One session for all of it: odd texts, many files, packed ones, real text; cut into small stretches, runs and ranges."""
    pytest.importorskip("pyspark")
    from wenmai.models.ngram import spark
    from wenmai.models.ngram.spark_session import session

    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "spark"))
    monkeypatch.setenv(
        "JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    )  # it runs for seconds only
    chance = np.random.default_rng(0)
    odd = b"\n".join(text for text in TEXTS.values() if len(text) < 100)
    one, two, three = tmp_path / "a{b} [c]*.txt", tmp_path / "b.txt", tmp_path / "c.txt.gz"
    one.write_bytes(odd + any_text(chance, 500, 3000))
    two.write_bytes(any_text(chance, 700, 2000) + b"\n")
    three.write_bytes(gzip.compress(any_text(chance, 900, 1000) + b"\nlast"))
    packed = [two, three, one]  # not in the order of their names
    whole = b"".join(
        file.read_bytes() if file != three else gzip.decompress(file.read_bytes()) + b"\n"
        for file in packed
    )
    cases = [(packed, whole, 5)]
    if PTB.is_dir():
        treebank = tmp_path / "ptb.txt"
        treebank.write_bytes(lzma.decompress((PTB / "ptb.train.txt.xz").read_bytes()))
        cases.append((treebank, treebank.read_bytes(), 3))
    with session("local[2]") as running:
        running.conf.set("spark.sql.files.maxPartitionBytes", "30000")
        for paths, text, order in cases:
            if order == 3:
                running.conf.set("spark.sql.files.maxPartitionBytes", str(1 << 21))
            vocabulary, found = spark.count_on_spark(paths, order, folder=tmp_path)
            growing = Growing()
            tokens = growing.read(text)
            np.testing.assert_array_equal(vocabulary.letters, growing.done().letters)
            np.testing.assert_array_equal(vocabulary.starts, growing.done().starts)
            same(found, count(tokens, growing.size, order, BEGIN))
        with session() as again:  # ours is not stopped by another
            assert again is running
        assert running.range(3).count() == 3
        with pytest.raises(Mistake, match="is not there"):
            spark.count_on_spark(tmp_path / "nowhere.txt", 3)
        (tmp_path / "d.txt.xz").write_bytes(b"")
        with pytest.raises(Mistake, match="packed in a way that Spark does not read"):
            spark.count_on_spark(tmp_path / "d.txt.xz", 3)


def test_what_spark_needs_is_a_sentence(monkeypatch, tmp_path):
    from wenmai.models.ngram.spark import count_on_spark

    (tmp_path / "a.txt").write_text("a b\n")
    with monkeypatch.context() as here:
        here.setitem(sys.modules, "pyspark", None)
        here.setitem(sys.modules, "pyspark.errors", None)
        with pytest.raises(Mistake, match=r"pip install 'wenmai\[spark\]'"):
            count_on_spark(tmp_path / "a.txt", 2)
    pytest.importorskip("pyspark")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(Mistake, match="needs a Java runtime"):
        count_on_spark(tmp_path / "a.txt", 2)


def test_runs_of_a_range_are_merged_without_spark():
    """What the machines do, in this process: runs that are cut at the same last words, each range merged by itself."""
    from wenmai.models.ngram import spark

    chance = np.random.default_rng(3)
    for order in range(2, 6):
        growing = Growing()
        parts = [growing.read(any_text(chance, 40, 30)) for _ in range(4)]
        cuts, runs = np.array([0, 3, 4, 9, growing.size]), [[] for _ in range(4)]
        for tokens in parts:
            for number, run in spark.cut_run(tokens, cuts, order):
                runs[number].append(run)
        expected = count(np.concatenate(parts), growing.size, order, BEGIN)
        rows = [
            row for number in (2, 0, 3, 1) for row in spark.merge_range(number, runs[number], order)
        ]
        tree = merging.Tree(expected[0].count)
        spark.put_together(tree, rows, order, 4, None)
        same(tree.levels, expected)
