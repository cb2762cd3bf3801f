"""Wrong uses of the command line: each ends with status 2 and one sentence that says where, what was found, and what to do."""

import io
import json
import shlex
import shutil

import numpy as np
import pytest
import torch

from wenmai.estimators import Classifier, Regressor, Tagger
from wenmai.training import folders

GOOD = "".join(f"a good film {n},pos\na bad film {n},neg\n" for n in range(30))
FILES = {
    "good.csv": "text,label\n" + GOOD,
    "empty.csv": "",
    "blank.csv": "\n \n\n",
    "header.csv": "text,label\n",
    "one.csv": "text,label\na film,pos\nanother film,pos\n",
    "unnamed.csv": "sentence,topic\nsome words here,x y\nand more words,z w\n",
    "no-label.csv": "text,topic\nsome words,a\nmore words,b\n",
    "only-label.csv": "label,target\na,b\nb,a\n",
    "only.csv": "label\na\nb\n",
    "unlabelled.csv": "text,label\nsome words,\nmore words,\n",
    "broken.csv": "text,label\nfine,pos\ntoo,many,cells\nfine,neg\n",
    "short.tsv": "text\tlabel\nfine\tpos\nshort\n",
    "quote.csv": 'text,label\nfine,pos\n"never closed,neg\nfine,neg\n',
    "new-label.csv": "text,label\na good film,pos\na film,meh\n",
    "broken.jsonl": '{"text": "a", "label": "b"}\n{"text": "a", "label"\n',
    "missing.jsonl": '{"text": "a", "label": "b"}\n{"text": "a"}\n',
    "list.jsonl": '{"text": "a", "label": "b"}\n["a", "b"]\n',
    "plain.txt": "just a line\nand another line of text\n",
    "words.csv": "a,b,label\n1,2,x\n3,four,y\n",
    "nan.csv": "a,b,label\n" + "1,2,x\n3,nan,y\n" * 15,
    "infinite.csv": "a,b,label\n" + "1,2,x\n3,inf,y\n" * 15,
    "three.csv": "a,b,c\n1,2,3\n",
    "text-only.csv": "text\nsome words\n",
    "pairs.csv": "text_a,text_b\na film,a book\n",
    "vectors.txt": "good 1 2 3\nbad 1 2\n",
    "not-a-folder": "a file\n",
    "ragged.csv": "a,b,target\n1,2,3\n4,5\n",
    "nan-target.csv": "a,target\n1,2\n3,nan\n" + "5,6\n" * 20,
    "inf-number.csv": "a,b,target\n1,2,3\n4,-inf,6\n" + "7,8,9\n" * 20,
    "word-target.csv": "a,target\n1,2\n3,4\n5,many\n" + "".join(f"{n},6\n" for n in range(20)),
    "word-number.csv": "a,b,target\n1,2,3\n4,five,6\n" + "".join(f"{n},8,9\n" for n in range(20)),
    "numbers.csv": "a,b,target\n" + "".join(f"{n},{n % 7},{n % 5}\n" for n in range(30)),
    "no-target.csv": "a,b\n1,2\n3,4\n",
    "above.csv": "a,target\n" + "".join(f"{n},0.5\n" for n in range(29)) + "7,1.5\n",
    "few-days.csv": "day,target\n" + "".join(f"{n},{2 * n}\n" for n in range(8)),
    "dates.csv": "day,target\n" + "".join(f"2024-01-{n:02},{n}\n" for n in range(1, 31)),
    "tags.conll": "".join(f"the\tO\nword{n}\tB-{'AB'[n % 2]}\n\n" for n in range(40)),
    "new-tag.conll": "the\tO\n\nword1\tB-B\nword2\tB-C\n",
    "strange-tag.conll": "".join(f"the\tO\nword{n}\tB-A\n\n" for n in range(20))
    + "the\tO\nend\tpart\n",
    "kinds-alone.conll": "".join(
        f"the\tO\nword{n}\t{['PER', 'LOC'][n % 2]}\n\n" for n in range(20)
    ),
    "broken-tags.conll": "".join(f"the{n}\tB-A\nend\tI-B\n\n" for n in range(20)),
    "one-tag.conll": "".join(f"the\tO\nword{n}\tO\n\n" for n in range(20)),
    "narrow.conll": "the\tO\nend\tB-A\n\nword\n",
    "short-tags.jsonl": '{"tokens": ["a", "b"], "tags": ["O", "B-A"]}\n{"tokens": ["a", "b"], "tags": ["O"]}\n',
    "text-tags.jsonl": '{"tokens": ["a", "b"], "tags": "O B-A"}\n',
    "text-tokens.jsonl": '{"tokens": "a b", "tags": ["O", "B-A"]}\n',
    "uncut.jsonl": '{"text": "a b", "tags": ["O", "B-A"]}\n',
    "no-tokens.jsonl": '{"tokens": [], "tags": []}\n{"tokens": [], "tags": []}\n',
    "short-targets.jsonl": '{"inputs": [3, 5], "targets": [3, 8]}\n{"inputs": [1, 2, 3], "targets": [1, 3]}\n',
    "word-inputs.jsonl": '{"inputs": [3, 5], "targets": [3, 8]}\n{"inputs": [1, "x"], "targets": [1, 3]}\n',
    "nan-inputs.jsonl": '{"inputs": [3, 5], "target": 8}\n{"inputs": [1, NaN], "target": 3}\n',
    "frames.jsonl": '{"inputs": [[1, 2]], "label": "a"}\n{"inputs": [[1], [2]], "label": "b"}\n',
    "null.jsonl": '{"text": "a", "label": "x"}\n{"text": "b", "label": null}\n',
    "null-text.jsonl": '{"text": null, "label": "x"}\n{"text": "b", "label": "y"}\n',
    "list-text.jsonl": '{"text": "a", "label": "x"}\n{"text": ["b"], "label": "y"}\n',
    "huge.jsonl": '{"x": 1, "target": 2}\n{"x": ' + "9" * 400 + ', "target": 3}\n',
    "huge-inputs.jsonl": '{"inputs": [1, ' + "9" * 400 + '], "target": 3}\n',
    "text.png": "not an image\n",
    "excel.csv": "sep=;\r\ntext;label\r\na good film;pos\r\na bad film;neg\r\n",
    "pictures.csv": "image,label\ntext.png,a\n",
    "no-pictures.csv": "image,label\nnowhere.png,a\n",
    "en.txt": "a cat\na dog\n",
    "de.txt": "eine Katze\nein Hund\nein Vogel\n",
}
RUNS = ("softmax", "mlp", "pairs", "numbers", "images", "tags", "line", "sums", "series")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of every kind, and a run of every kind."""
    place = tmp_path_factory.mktemp("mistakes")
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf-8")
    (place / "binary.csv").write_bytes(bytes(range(256)) * 20)
    (place / "latin.csv").write_bytes("text,label\ncaf\xe9 \xff\xfe\xfd,a\n".encode("latin-1"))
    two = [
        f"第{n}行：北京上海天津重庆,{'ab'[n % 2]}\n".encode("utf-8" if n < 8 else "gb18030")
        for n in range(16)
    ]
    (place / "two-encodings.csv").write_bytes(b"text,label\n" + b"".join(two))
    (place / "cut.csv.gz").write_bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00")
    (place / "broken.parquet").write_bytes(b"PAR1 and nothing more")
    (place / "folder").mkdir()
    (place / "mine").mkdir()
    (place / "mine" / "thesis.txt").write_text("years of work")
    texts, labels = [f"a {word} film" for word in ("good", "bad")] * 12, ["pos", "neg"] * 12
    made = {
        "softmax": Classifier("softmax").fit(texts, labels),
        "mlp": Classifier("mlp", hidden=4, embed=4, steps=3).fit(texts, labels),
        "pairs": Classifier("softmax").fit([(text, "b") for text in texts], labels),
        "numbers": Classifier("softmax").fit(np.arange(96.0).reshape(24, 4) % 7, labels),
        "images": Classifier("softmax").fit(np.arange(24 * 9).reshape(24, 3, 3) % 5, labels),
        "tags": Tagger("perceptron").fit(
            [["the", f"word{n}"] for n in range(30)], [["O", "B-A"], ["O", "B-B"]] * 15
        ),
        "line": Regressor("linear").fit(np.arange(60.0).reshape(30, 2), np.arange(30.0)),
        "sums": Regressor("linear").fit([[3, 5], [1]] * 15, [[3, 8], [1]] * 15),
        "series": Regressor("linear", horizon=2, history=6).fit(np.arange(40.0), np.arange(40.0)),
    }
    for name in RUNS:
        made[name].save(place / "runs" / name)
    return place


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def assert_said(ran, parts):
    assert ran.status == 2, ran
    assert ran.err.startswith("wenmai: ") and ran.err.endswith("\n") and ran.err.count("\n") == 1, (
        ran.err
    )
    assert "Traceback" not in ran.err + ran.out
    for part in parts:
        assert part in ran.err, (part, ran.err)


MISTAKES = [
    (
        "train --resume nowhere",
        ["nowhere is not there", "the run folder of a training that was stopped"],
    ),
    ("train --resume not-a-folder", ["not-a-folder is a file", "--resume takes the run folder"]),
    (
        "train lstm good.csv --set hidden=200000",
        ["weights, which take", "GB to train", "are free on", "choose smaller ones"],
    ),
    ("train gru good.csv --set parallel=foo", ["parallel='foo' is not one of ddp, fsdp"]),
    # what is in a file
    ("train softmax empty.csv", ["empty.csv is empty"]),
    ("train softmax blank.csv", ["blank.csv is empty"]),
    ("train softmax header.csv", ["header.csv", "a header and no rows"]),
    ("train softmax one.csv", ["found one class only (pos)", "at least two"]),
    ("compare one.csv --minutes 0.02", ["found one class only (pos)"]),
    (
        "train softmax unnamed.csv",
        ["unnamed.csv", "the columns sentence, topic", "--columns text=sentence,label=topic"],
    ),
    ("train softmax no-label.csv", ["no-label.csv", "text, topic", "--columns"]),
    (
        "train softmax no-label.csv --task classify",
        ["no-label.csv has no column label", "text, topic"],
    ),
    ("train softmax only.csv", ["only.csv has only the column label"]),
    (
        "train softmax only-label.csv",
        ["only-label.csv has only the column label and target", "expected text"],
    ),
    ("train softmax unlabelled.csv", ["unlabelled.csv, line 2", "the label is empty"]),
    ("train softmax broken.csv", ["broken.csv, line 3", "found 3 columns, expected 2"]),
    ("train softmax short.tsv", ["short.tsv, line 3", "found 1 columns, expected 2"]),
    ("train softmax quote.csv", ["quote.csv, line 3", "a quote that opens and never closes"]),
    ("train softmax broken.jsonl", ["broken.jsonl, line 2", "not JSON"]),
    ("train softmax missing.jsonl", ["missing.jsonl"]),
    ("train softmax list.jsonl", ["list.jsonl, line 2", "found a JSON list"]),
    ("train softmax binary.csv", ["binary.csv looks like a binary file"]),
    ("train softmax cut.csv.gz", ["cut.csv.gz is damaged or cut off"]),
    ("train softmax broken.parquet", ["broken.parquet cannot be read as Parquet"]),
    ("train softmax plain.txt", ["plain.txt", "generate", "ngram"]),
    ("train softmax words.csv", ["words.csv, line 3", "'four' in column b", "expected a number"]),
    ("train softmax nan.csv", ["found nan", "expected a finite number"]),
    ("train softmax infinite.csv", ["found inf", "expected a finite number"]),
    ("train softmax folder", ["folder is a folder with no files"]),
    ("train softmax mine", ["mine is a folder with thesis.txt"]),
    ("data broken.csv", ["broken.csv, line 3"]),
    (
        "train softmax two-encodings.csv",
        ["two-encodings.csv is in two encodings: line 2 is UTF-8 and line 10 is not", "UTF-8"],
    ),
    ("data en.txt --target de.txt", ["en.txt has 2 lines and de.txt has 3", "add or remove lines"]),
    ("data en.txt --target nothing.txt", ["nothing.txt is not there"]),
    (
        "data en.txt,de.txt",
        ["en.txt has 2 lines and de.txt has 3: from line 3 on, de.txt stands alone"],
    ),
    ("data en.txt,nothing.txt", ["nothing.txt is not there"]),
    (
        "data dates --target de.txt",
        ["--target de.txt", "dates is a built-in set", "leave --target out"],
    ),
    ("data dates:xx", ['unknown language "xx"']),
    ("data dates:nv", ["dates:nv", "no names of months", "dates:en,zh"]),
    ("data numbers:xx", ['unknown way to write numbers "xx"', "digits"]),
    ("data numbers:en-en", ["numbers:en-en is the same on both sides", "numbers:zh-digits"]),
    # tags
    (
        "train softmax short-tags.jsonl",
        ["short-tags.jsonl, line 2", "found 1 tags for 2 tokens, expected one for each"],
    ),
    (
        "train softmax text-tags.jsonl",
        ["text-tags.jsonl, line 1", "'O B-A' in column tags", 'such as ["O", "B-PER"]'],
    ),
    (
        "train softmax text-tokens.jsonl",
        ["text-tokens.jsonl, line 1", "'a b' in column tokens", "expected a list of texts"],
    ),
    ("train softmax uncut.jsonl --valid 0", ["expected a list of tokens", "'a b'"]),
    ("train softmax no-tokens.jsonl --valid 0", ["found no tokens in 2 rows"]),
    ("train softmax narrow.conll", ["narrow.conll, line 4", "found 1 columns, expected 2"]),
    ("train softmax one-tag.conll", ["found one tag only (O)", "at least two"]),
    (
        "train softmax strange-tag.conll --valid 0",
        [
            "strange-tag.conll, line 61: the tag 'part' of token 2 fits no scheme",
            "such as B-PER",
            "nearest is BIO",
            "scheme=plain",
        ],
    ),
    (
        "train softmax kinds-alone.conll --valid 0",
        ["kinds-alone.conll, line 4: the tag 'LOC' of token 2", "a letter and a kind"],
    ),
    (
        "train softmax broken-tags.conll --valid 0",
        [
            "broken-tags.conll, line 1: the tag 'I-B' of token 2 fits no scheme",
            "nearest is BIO",
            "it would be 'B-B'",
            "scheme=bio",
        ],
    ),
    (
        "evaluate runs/tags new-tag.conll",
        ["new-tag.conll, line 3: the tag 'B-C' is not among the trained ones: A, B, O"],
    ),
    ("train softmax tags.conll --test new-tag.conll", ["new-tag.conll, line 3: the tag 'B-C'"]),
    (
        "evaluate runs/tags good.csv",
        ["good.csv has no column tags", "text, label", "--columns tokens=NAME,tags=NAME"],
    ),
    ("predict runs/tags --file numbers.csv", ["expected a list of tokens, or a text"]),
    (
        "predict runs/line --file no-target.csv --out answers.conll",
        ["answers.conll", "holds tokens and tags", "use .jsonl"],
    ),
    ("train linear tags.conll", ["the rung linear does not do tag", "perceptron, softmax"]),
    ("compare tags.conll --rungs softmax,logistic", ["the rung logistic does not do tag"]),
    (
        "train softmax tags.conll --task classify",
        ["tags.conll has no column label", "tokens, tags"],
    ),
    ("train softmax tags.conll --set scheme=bioe", ["scheme='bioe' is not one of", "bioes"]),
    ("train gru tags.conll --set characters=rnn", ["characters='rnn' is not one of", "lstm"]),
    ("train gru tags.conll --set crf=maybe", ["crf='maybe'", "expected true or false"]),
    (
        "train gru good.csv --set characters=lstm",
        ["characters=lstm goes with tokens that are tagged"],
    ),
    # numbers
    ("train linear ragged.csv", ["ragged.csv, line 3", "found 2 columns, expected 3"]),
    (
        "train linear nan-target.csv",
        ["nan-target.csv, line 3: found nan in column target", "expected a finite number"],
    ),
    (
        "train linear inf-number.csv",
        ["inf-number.csv, line 3: found -inf in column b", "expected a finite number"],
    ),
    (
        "train linear word-target.csv",
        ["word-target.csv, line 4: found 'many' in column target", "expected a number", "correct"],
    ),
    (
        "train linear word-number.csv",
        ["word-number.csv, line 3: found 'five' in column b", "expected a number"],
    ),
    (
        "train linear no-target.csv",
        ["no-target.csv has the columns a, b, which say no task", "to regress"],
    ),
    (
        "train linear no-target.csv --task regress",
        ["no-target.csv has no column target (found: a, b)", "--columns target=NAME"],
    ),
    (
        "train linear good.csv --task regress",
        ["good.csv has no column target (found: text, label)"],
    ),
    ("train softmax numbers.csv", ["the rung softmax does not do regress", "linear"]),
    (
        "train logistic above.csv",
        ["found the target 1.5, expected one between 0 and L = 1", "larger L", "linear"],
    ),
    (
        "train linear few-days.csv --set horizon=5",
        ["rows in time", "history + horizon = 15 + 5", "smaller history or horizon"],
    ),
    ("compare few-days.csv --set horizon=5", ["rows in time", "history + horizon = 15 + 5"]),
    (
        "train linear numbers.csv --set history=5",
        ["history=5 goes with horizon=N", "give both, or leave it out"],
    ),
    ("train linear numbers.csv --set horizon=soon", ["horizon='soon'", "expected a whole number"]),
    (
        "train linear dates.csv --set horizon=1",
        ["dates.csv, line 2: found '2024-01-01' in column day", "--columns"],
    ),
    (
        "train gru short-targets.jsonl",
        ["short-targets.jsonl, line 2: found 2 targets for 3 inputs", "one for every step"],
    ),
    (
        "train gru word-inputs.jsonl",
        ["word-inputs.jsonl, line 2", "in inputs, expected a list of numbers such as [3, 5]"],
    ),
    (
        "train gru nan-inputs.jsonl",
        ["nan-inputs.jsonl, line 2: found nan at step 2 of inputs", "a finite number"],
    ),
    (
        "train gru frames.jsonl",
        ["frames.jsonl, line 2: found 1 numbers a step in inputs, expected 2 numbers"],
    ),
    ("evaluate runs/line no-target.csv", ["no-target.csv has no column target"]),
    (
        "evaluate runs/sums numbers.csv",
        ["found one target a row, expected one a step as in training"],
    ),
    ("predict runs/line 'a text'", ["reads 2 numbers for every answer"]),
    ("predict runs/line 1,2,3", ["expected rows of 2 numbers"]),
    ("predict runs/series 1,2,3", ["forecasts a series", "--file"]),
    ("predict runs/series --file en.txt", ["en.txt has no column target"]),
    # images
    (
        "train softmax null.jsonl",
        ["found one class only", "null.jsonl, line 2: the label is empty"],
    ),
    (
        "train softmax null-text.jsonl",
        ["null-text.jsonl, line 1: found nothing in column text, expected a text"],
    ),
    (
        "train softmax list-text.jsonl",
        ["list-text.jsonl, line 2: found \"['b']\" in column text, expected a text"],
    ),
    ("train linear huge.jsonl", ["huge.jsonl, line 2: found 999", "expected a finite number"]),
    ("train linear huge-inputs.jsonl", ["huge-inputs.jsonl, line 1", "expected a list of numbers"]),
    ("train softmax good.csv --set ngrams=1000000", ["ngrams=1000000", "at most 1000"]),
    ("train gru good.csv --set threads=65536", ["threads=65536", "below 257"]),
    (
        "train softmax pictures.csv",
        ["pictures.csv, line 2: the image text.png: found something else", "PNG or JPG"],
    ),
    (
        "train softmax no-pictures.csv",
        ["no-pictures.csv, line 2: the image nowhere.png: found no such file", "check the path"],
    ),
    ("data nothing.csv", ["nothing.csv is not there"]),
    # labels that training never had, with file and line
    (
        "evaluate runs/softmax new-label.csv",
        ["new-label.csv, line 3", "'meh' is not among the trained ones", "neg, pos"],
    ),
    ("train softmax good.csv --test new-label.csv --out x", ["new-label.csv, line 3", "'meh'"]),
    ("train softmax good.csv --valid new-label.csv --out x", ["new-label.csv, line 3", "'meh'"]),
    (
        "compare good.csv --test new-label.csv --rungs softmax --minutes 0.02",
        ["new-label.csv, line 3", "'meh'"],
    ),
    # names that nothing has
    ("train sofmax good.csv", ['unknown rung "sofmax"', "did you mean softmax?"]),
    ("train sofmax nowhere.csv", ['wenmai: unknown rung "sofmax"']),  # before anything is read
    ("compare nowhere.csv --rungs 'softmax, ltsm'", ['wenmai: unknown rung "ltsm"']),
    (
        "train softmax good.csv --minutes abc",
        ["--minutes abc: expected a number. wenmai train --help shows what it takes."],
    ),
    (
        "train softmax good.csv --minutes=-1",
        ["--minutes -1: expected at least 0. wenmai train --help"],
    ),
    ("train softmax good.csv --minutes inf", ["minutes=inf: expected a finite number"]),
    ("train softmax good.csv --seed 1.5", ["--seed 1.5: expected a whole number."]),
    (
        "train softmax good.csv --seed 99999999999999999999",
        ["expected at most 9223372036854775807."],
    ),
    (
        "generate runs/softmax --tokens 0",
        ["--tokens 0: expected at least 1. wenmai generate --help"],
    ),
    ("rungs lstm gru", ["unexpected extra argument", "). wenmai rungs --help"]),
    ("frobnicate", ["No such command 'frobnicate'. wenmai --help lists the commands."]),
    ("help", ["No such command 'help'. wenmai --help lists the commands."]),
    ("data excel.csv", ["excel.csv begins with the line sep=;", "remove this line"]),
    (
        "train softmax excel.csv --delimiter ';'",
        ["excel.csv begins with the line sep=;", "remove this line"],
    ),
    ("rungs gur", ['unknown rung "gur"', "did you mean gru?"]),
    ("compare good.csv --rungs softmax,ltsm", ['unknown rung "ltsm"', "did you mean lstm?"]),
    ("compare good.csv --rungs softmax,", ['unknown rung ""']),
    ("train softmax good.csv --task clasify", ['unknown task "clasify"', "did you mean classify?"]),
    (
        "train softmax langages",
        ['unknown data set "langages"', "did you mean languages?", "path of a file"],
    ),
    ("train softmax languages:xx", ['unknown language "xx"']),
    ("train softmax goood.csv", ["goood.csv is not there", "good.csv"]),
    (
        "train softmax no/such/file.csv",
        ["no/such/file.csv is not there, nor is its folder no/such"],
    ),
    ("trian softmax good.csv", ["trian"]),
    ("train softmax good.csv --sed 3", ["--sed"]),
    ("train softmax", ["needs a rung and data", "wenmai rungs"]),
    # options
    ("train softmax good.csv --set hidden", ["--set hidden: expected key=value"]),
    ("train softmax good.csv --set =3", ["--set =3: expected key=value"]),
    (
        "train softmax good.csv --set hidden=3",
        ['unknown option "hidden": other rungs', "known here are", "ngrams"],
    ),
    ("train mlp good.csv --set hiden=3", ['unknown option "hiden"', "did you mean hidden?"]),
    (
        "train mlp good.csv --set hidden=many",
        ["hidden='many'", "expected a whole number", "the default is"],
    ),
    ("train mlp good.csv --set hidden=1.5", ["hidden='1.5'", "expected a whole number"]),
    ("train mlp good.csv --set hidden=0", ["hidden=0: expected at least 1"]),
    ("train mlp good.csv --set dropout=1", ["dropout=1.0", "below 1"]),
    ("train mlp good.csv --set dropout=-0.1", ["dropout=-0.1", "at least 0"]),
    ("train mlp good.csv --set learning_rate=nan", ["learning_rate=nan"]),
    (
        "train gru good.csv --set bidirectional=maybe",
        ["bidirectional='maybe'", "expected true or false"],
    ),
    ("train gru good.csv --set pooling=most", ["pooling='most' is not one of", "max"]),
    (
        "train mlp good.csv --set tokenizer=wrds",
        ['unknown tokenizer "wrds"', "did you mean words?"],
    ),
    (
        "train mlp good.csv --set embedding=nowhere.txt",
        ["nowhere.txt is neither a file of vectors nor"],
    ),
    (
        "train mlp good.csv --set embedding=vectors.txt",
        ["vectors.txt, line 2", "found 2 numbers, expected 3"],
    ),
    (
        "train transformer good.csv --set width=10 --set heads=4",
        ["width=10", "heads=4", "try width=8"],
    ),
    (
        "train transformer good.csv --set width=3 --set heads=4",
        ["width=3", "heads=4", "try width=4"],
    ),
    ("train cnn good.csv --set widths=2,wide", ["widths", "wide"]),
    ("train cnn good.csv --set widths=0", ["widths", "0"]),
    ("train softmax good.csv --set validation=1.5 --valid 0", ["validation=1.5"]),
    (
        "compare good.csv --rungs softmax --set nonsense=1 --minutes 0.02",
        ['unknown option "nonsense"'],
    ),
    ("train softmax good.csv --columns text", ["--columns text", "expected word=column"]),
    ("train softmax good.csv --columns text=0,text=1", ["text is given twice"]),
    (
        "train softmax good.csv --columns text=txt,label=label",
        ['good.csv has no column "txt"', "text (0)", "text=text"],
    ),
    ("train softmax good.csv --columns text=0,label=7", ['no column "7"', "label (1)"]),
    ("train softmax good.csv --test 1.5", ["a share of 1.5", "from 0 to 0.9"]),
    ("train softmax good.csv --valid -0.1", ["a share of -0.1", "from 0 to 0.9"]),
    ("train softmax good.csv --test nan", ["a share of nan"]),
    ("compare good.csv --test 0 --minutes 0.02", ["needs a valid and a test part"]),
    ("train softmax good.csv --minutes soon", ["--minutes", "number"]),
    ("train softmax good.csv --minutes -1", ["--minutes -1", "at least 0"]),
    ("train softmax good.csv --seed -1", ["--seed -1", "at least 0"]),
    ("compare good.csv --seeds 0", ["--seeds 0", "at least 1"]),
    ("train softmax good.csv --device gpu", ["device='gpu' is not a device", "cpu"]),
    ("compare good.csv --device gpu", ["device='gpu' is not a device"]),
    (
        "train softmax good.csv --test good.csv --unseen",
        ["good.csv: every input of the test rows stands in the training rows"],
    ),
    ("predict runs/mlp text --device tpu", ["device='tpu'"]),
    # where to write
    ("train softmax good.csv --out mine", ["mine holds "]),
    ("train softmax good.csv --out not-a-folder", ["not-a-folder"]),
    ("train softmax good.csv --out not-a-folder/run", ["not-a-folder"]),
    ("compare good.csv --rungs softmax --minutes 0.02 --out not-a-folder/report", ["not-a-folder"]),
    ("predict runs/softmax --file text-only.csv --out no/such/out.csv", ["no/such/out.csv"]),
    (
        "predict runs/softmax --file text-only.csv --out answers.xlsx",
        ["answers.xlsx", ".jsonl, .csv, .tsv or (for tags) .conll"],
    ),
    ("predict runs/softmax text --out answers.csv", ["--out goes with --file"]),
    # inputs
    ("predict runs/softmax", ["nothing to answer for"]),
    ("predict runs/softmax text --file text-only.csv", ["both"]),
    ("predict runs/softmax --file nothing.csv", ["nothing.csv is not there"]),
    ("predict runs/softmax --file header.csv", ["header.csv", "no rows"]),
    ("predict runs/softmax --file pairs.csv", ["expected a text"]),
    ("predict runs/softmax --file three.csv", ["expected a text"]),
    ("predict runs/pairs 'one text'", ["reads pairs", "found 1 texts"]),
    ("predict runs/pairs --file text-only.csv", ["reads pairs", "text_a and text_b"]),
    ("predict runs/numbers 1,2,3", ["4 numbers"]),
    ("predict runs/numbers 1,2,3,4 1,2,3", ["4 numbers"]),
    ("predict runs/numbers 1,2,3,four", ["4 numbers"]),
    ("predict runs/numbers 1,2,3,nan", ["found nan", "finite"]),
    ("predict runs/numbers --file three.csv", ["expected rows of 4 numbers"]),
    ("predict runs/numbers --file text-only.csv", ["4 numbers"]),
    ("predict runs/images 'a text'", ["reads images", "--file"]),
    ("predict runs/images --file iris", ["images"]),
    # runs
    ("predict nothing text", ["nothing is not a run folder", "wenmai train makes one"]),
    ("predict good.csv text", ["good.csv is not a run folder"]),
    ("predict folder text", ["folder is not a run folder"]),
    ("evaluate nothing good.csv", ["nothing is not a run folder"]),
    ("runs nowhere", ["nowhere is not there", "wenmai train", "runs/"]),
    ("runs runs/softmax", ["runs/softmax is a run itself", "wenmai info runs/softmax"]),
    ("runs good.csv", ["good.csv is a file", "a folder of runs"]),
    ("info nothing", ["nothing is not a run folder", "wenmai train makes one"]),
    ("info good.csv", ["good.csv is not a run folder"]),
    ("info", ["Missing argument", "run", "wenmai info --help"]),
    (
        "generate runs/softmax",
        ["runs/softmax does classify", "does generate", "wenmai train ngram corpus.txt"],
    ),
    (
        "compose runs/softmax pos",
        ["runs/softmax does classify", "wenmai train gru languages --task compose"],
    ),
    ("translate runs/softmax text", ["runs/softmax does classify", "wenmai train attention dates"]),
    ("filter runs/softmax en.txt", ["runs/softmax does classify", "does generate"]),
    ("export runs/softmax", ["softmax"]),
    ("import en.txt", ["en.txt"]),
    (
        "evaluate runs/softmax good.csv --set stride=3",
        ["runs/softmax does classify", "running text", "leave them out"],
    ),
    ("predict runs/tags text --top 3", ["--top goes with labels", "runs/tags does tag"]),
    (
        "predict runs/softmax -",
        ["standard input is empty", "one input a line", "wenmai predict RUN -"],
    ),
    # arguments in another order, or of another command
    ("train good.csv gru", ["the rung first, then the data", "wenmai train gru good.csv"]),
    ("train languages softmax", ["wenmai train softmax languages"]),
    (
        "predict 'a film' runs/softmax",
        ["predict takes the run first", 'wenmai predict runs/softmax "a film"'],
    ),
    (
        "evaluate good.csv runs/softmax",
        ["evaluate takes the run first", "wenmai evaluate runs/softmax good.csv"],
    ),
    ("compare gru good.csv", ["compare takes data", "wenmai compare good.csv --rungs gru"]),
    ("train mlp good.csv --hidden 64", ["--hidden is an option of rungs", "say --set hidden=64."]),
    ("train mlp good.csv --learning-rate=0.1", ["say --set learning_rate=0.1."]),
    ("train mlp good.csv --epochs", ["say --set epochs=…"]),
    ("compare good.csv --dropout 0.5", ["say --set dropout=0.5."]),
    ("train softmax good.csv —minutes 3", ["—minutes begins with a long dash", "write --minutes."]),
    ("train softmax good.csv –set hidden=3", ["write --set."]),
    ("train softmax good.csv -–minutes=3", ["write --minutes=3."]),
    ("predict runs/softmax text —json", ["write --json."]),
    ("compare good.csv －－minutes 1", ["write --minutes."]),
    ("train softmax good.csv --set hidden＝＝", ["hidden"]),
    # names of models that are no rungs here
    ("train roberta good.csv", ["there is no rung roberta here", "bert", "wenmai rungs"]),
    ("train BiLSTM good.csv", ["there is no rung BiLSTM here", "is lstm"]),
    ("rungs gpt2", ["there is no rung gpt2 here", "is gpt"]),
    ("compare good.csv --rungs softmax，bart", ["there is no rung bart here"]),
    ("train qwerty good.csv", ['unknown rung "qwerty"; known are:', "softmax"]),
    ("train softmax good", ["good is not there; did you mean good.csv"]),
    ("train softmax qwerty", ['unknown data set "qwerty"; known are: ', "path of a file"]),
    ("data zzzz.q", ["zzzz.q is not there; its folder holds "]),
    # columns
    (
        "train softmax good.csv --columns text=body,label=label",
        ['good.csv has no column "body"', "Say which of them is the text", "--columns text=NAME"],
    ),
    (
        "train softmax good.csv --columns 文本=body,标签=label",
        ['good.csv has no column "body"', "--columns text=NAME"],
    ),
    ("train softmax good.csv --columns text＝txt，label＝label", ['no column "txt"', "text=text"]),
    (
        "train softmax unnamed.csv --columns a=sentence,b=topic",
        ["the columns sentence, topic", "--columns text=sentence,label=topic"],
    ),
    ("train softmax good.csv --columns label=label", ["good.csv"]),
    (
        "train softmax good.csv --delimiter semikolon",
        ["--delimiter semikolon", "comma, semicolon, tab"],
    ),
    ("predict runs/softmax --file good.csv --columns text=txt", ['no column "txt"', "text=text"]),
    # more values that nothing takes
    ("train softmax good.csv --seed many", ["--seed many", "a whole number"]),
    (
        "train softmax good.csv --set seed=5",
        ["--set seed=5: this is an option of the command; say --seed 5."],
    ),
    ("compare good.csv --set minutes=5", ["say --minutes 5."]),
    ("train softmax good.csv more.csv", ["extra argument", "more.csv", "wenmai train --help"]),
    ("train mlp good.csv --set epochs=0", ["epochs=0", "at least 1"]),
    ("train mlp good.csv --set epochs=ten", ["epochs='ten'", "a whole number"]),
    ("train mlp good.csv --set learning_rate=fast", ["learning_rate='fast'", "a number"]),
    ("train mlp good.csv --set learning_rate=-1", ["learning_rate=-1.0", "at least 0"]),
    (
        "train mlp good.csv --set optimizer=adam",
        ["optimizer='adam' is not one of lazy-adamw, adamw"],
    ),
    ("train gru good.csv --set layers=two", ["layers='two'", "a whole number"]),
    ("train gru good.csv --set crf=true", ['unknown option "crf": other rungs or tasks have it']),
    ("train softmax good.csv --set bend=relu", ["bend"]),
    ("train softmax good.csv --task regress", ["good.csv has no column target"]),
    ("train softmax good.csv --task summarize", ['unknown task "summarize"']),
    ("rungs lstm --task translate", ["the rung lstm does not do translate", "attention"]),
    ("rungs lstm --task clasify", ['unknown task "clasify"', "classify"]),
    ("probe memry", ['unknown probe "memry"', "did you mean memory?"]),
    ("train --resume runs/softmax", ["runs/softmax"]),
    (
        "train softmax good.csv --resume runs/softmax",
        ["--resume runs/softmax goes on as it was begun"],
    ),
    ("train softmax good.csv --from runs/nothing", ["runs/nothing is not a run folder"]),
    (
        "compare good.csv --with runs/nothing --rungs softmax --minutes 0.02 --valid nothing.csv",
        ["nothing.csv is not there"],
    ),
    ("compare --resume nowhere", ["nowhere"]),
    ("export runs/softmax --format onnx", ["ONNX"]),
]


@pytest.mark.parametrize(("command", "parts"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_a_mistake_is_one_sentence(wenmai_cli, monkeypatch, command, parts):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert_said(wenmai_cli(*shlex.split(command)), parts)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize(
    "command", ["train mlp good.csv --device cuda", "predict runs/mlp text --device cuda:1"]
)
def test_a_gpu_that_is_not_there(wenmai_cli, command):
    assert_said(wenmai_cli(*shlex.split(command)), ["torch finds no GPU", "--device cpu"])


def test_nothing_is_left_behind_by_a_mistake(wenmai_cli, folder):
    before = sorted(folder.iterdir())
    for command in (
        "train mlp good.csv --out new --set heads=3",
        "train softmax good.csv --out mine",
        "predict nothing text",
    ):
        assert wenmai_cli(*shlex.split(command)).status == 2
    assert sorted(folder.iterdir()) == before
    assert (folder / "mine" / "thesis.txt").read_text() == "years of work"


# Runs that were damaged


def change(**changes):
    """Replace keys of a JSON file; a key given as None is taken away."""

    def damage(path):
        about = json.loads(path.read_text("utf-8"))
        about = {key: value for key, value in {**about, **changes}.items() if value is not None}
        path.write_text(json.dumps(about), encoding="utf-8")

    return damage


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garbage(path):
    path.write_bytes(b"\x00\xff garbage \xfe")


DAMAGE = [
    *[
        (
            name,
            lambda path: path.unlink(),
            [name] if name != "run.json" else ["is not a run folder"],
        )
        for name in ("run.json", "inputs.json", "progress.jsonl", "weights.safetensors")
    ],
    *[(name, cut, [name]) for name in ("run.json", "inputs.json", "weights.safetensors")],
    *[
        (name, garbage, [name])
        for name in ("run.json", "inputs.json", "progress.jsonl", "weights.safetensors")
    ],
    *[
        (name, lambda path: path.write_text("[1, 2]"), [name])
        for name in ("run.json", "inputs.json", "progress.jsonl")
    ],
    *[
        (name, lambda path: path.write_text("{}"), [name])
        for name in ("run.json", "inputs.json", "progress.jsonl")
    ],
    *[
        ("run.json", change(**{key: None}), ["run.json"])
        for key in ("format", "rung", "options", "task", "build")
    ],
    ("run.json", change(format=99), ["format 99, here 3", "trained by another version"]),
    ("run.json", change(rung="sofmax"), ['unknown rung "sofmax"']),
    ("run.json", change(options={"nonsense": 1}), ['unknown option "nonsense"']),
    ("run.json", change(task={"name": "conquer"}), ["run.json"]),
    *[
        ("run.json", change(options=options), ["run.json", *parts])
        for options, parts in (
            ([1], []),
            ({"ngrams": 10**400}, ["many digits"]),
            ({"x" * 5000: 1}, ["unknown option"]),
        )
    ],
    *[
        ("run.json", change(build=build), ["run.json", *parts])
        for build, parts in (
            ([1], []),
            ({"task": "conquer"}, []),
            ({"task": "classify", "options": [1], "head": {}}, []),
            (
                {"task": "classify", "options": {"ngrams": 10**9}, "head": {}},
                ["ngrams=1000000000", "at most"],
            ),
            ({"task": "classify", "options": {}, "head": {"pooling": "most"}}, ["head"]),
            ({"task": "classify", "options": {}, "head": 3}, ["head"]),
        )
    ],
    *[
        ("run.json", change(task=task), ["run.json"])
        for task in (
            None,
            [],
            {"name": "classify", "balance": 1},
            {"name": "classify", "balance": False, "classes": ["a", "b"], "counts": [1]},
            {"name": "classify", "balance": False, "classes": ["b", "a"], "counts": [1, 1]},
            {"name": "classify", "balance": True, "classes": ["a", "b"], "counts": [0, 1]},
        )
    ],
    *[
        (name, lambda path: path.write_text("[" * 100_000), [name])
        for name in ("run.json", "inputs.json", "progress.jsonl")
    ],
    *[
        ("inputs.json", change(**{key: value}), ["inputs.json", f'"{key}" is'])
        for key in ("unit", "longest", "pairs", "embedding", "vectors_width")
        for value in (-1, [])
    ],
    ("progress.jsonl", lambda path: path.write_text('{"step": 1}\n'), ["progress.jsonl"]),
    ("inputs.json", change(kind="smells"), ["inputs.json"]),
    ("inputs.json", change(tokenizer=None), ["inputs.json"]),
    (
        "weights.safetensors",
        lambda path: shutil.copy(path.parents[1] / "mlp" / path.name, path),
        ["weights.safetensors"],
    ),
]


def signed(run):
    """The manifest as if the run had been written so."""
    files = {
        path.name: folders.checksum(path) for path in run.iterdir() if path.name != folders.MANIFEST
    }
    (run / folders.MANIFEST).write_text(json.dumps({"files": files}))


@pytest.mark.parametrize(("name", "damage", "parts"), DAMAGE, ids=range(len(DAMAGE)))
def test_a_damaged_run_is_one_sentence(wenmai_cli, folder, tmp_path, name, damage, parts):
    shutil.copytree(folder / "runs", tmp_path / "runs")
    run = tmp_path / "runs" / "softmax"
    damage(run / name)
    if name not in ("run.json",):  # which is read first
        assert_said(wenmai_cli("predict", run, "a good film"), [name, "damaged"])
    signed(run)
    assert_said(wenmai_cli("predict", run, "a good film"), parts)


@pytest.mark.parametrize(
    "damage",
    [
        lambda p: p.unlink(),
        lambda p: p.write_text("{"),
        lambda p: p.write_text("[1]"),
        lambda p: p.write_text('{"files": {"run.json": {}}}'),
    ],
)
def test_a_damaged_manifest_is_one_sentence(wenmai_cli, folder, tmp_path, damage):
    shutil.copytree(folder / "runs" / "mlp", tmp_path / "mlp")
    damage(tmp_path / "mlp" / folders.MANIFEST)
    assert_said(
        wenmai_cli("predict", tmp_path / "mlp", "a good film"), ["manifest.json", "damaged"]
    )


@pytest.mark.parametrize("bytes_", ["Infinity", "NaN", "1e400", '"x"'])
def test_a_manifest_whose_sizes_are_none(wenmai_cli, folder, tmp_path, bytes_):
    shutil.copytree(folder / "runs" / "mlp", tmp_path / "mlp")
    (tmp_path / "mlp" / folders.MANIFEST).write_text(
        '{"files": {"run.json": {"bytes": ' + bytes_ + ', "blake2b": "0"}}}'
    )
    assert_said(
        wenmai_cli("predict", tmp_path / "mlp", "a good film"), ["manifest.json", "damaged"]
    )


def test_a_manifest_has_to_name_every_file(wenmai_cli, folder, tmp_path):
    shutil.copytree(folder / "runs" / "mlp", tmp_path / "mlp")
    path = tmp_path / "mlp" / folders.MANIFEST
    files = json.loads(path.read_text())["files"]
    for name in ("weights.safetensors", "inputs.json"):
        path.write_text(
            json.dumps({"files": {other: about for other, about in files.items() if other != name}})
        )
        assert_said(
            wenmai_cli("predict", tmp_path / "mlp", "a good film"),
            [f"manifest.json does not name {name}"],
        )
    path.write_text(
        json.dumps({"files": files | {"x" * 5000: files["run.json"]}})
    )  # no name that a system takes
    assert_said(wenmai_cli("predict", tmp_path / "mlp", "a good film"), ["is missing"])


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (
            {"hidden": 2**31},
            ["run.json: hidden=2147483648: expected at least 1 and below 2147483648"],
        ),
        (
            {"hidden": 2**31 - 1},
            ["weights.safetensors does not fit run.json", "body.layers.0", "2147483647"],
        ),
        ({"hidden": 5}, ["body.layers.0.bias: found F32 of 4, expected F32 of 5"]),
        ({"layers": 2**31}, ["run.json: layers=2147483648: expected at least 1 and below 1001"]),
        ({"layers": 1000}, ["weights.safetensors does not fit run.json", "arrays for 1000 layers"]),
        ({"embed": 2**31 - 1, "hidden": 2**31 - 1}, ["weights.safetensors does not fit run.json"]),
    ],
)
def test_sizes_that_were_damaged_take_no_memory(wenmai_cli, folder, tmp_path, options, parts):
    shutil.copytree(folder / "runs" / "mlp", tmp_path / "mlp")
    build = json.loads((tmp_path / "mlp" / "run.json").read_text("utf-8"))["build"]
    change(build=build | {"options": build["options"] | options})(tmp_path / "mlp" / "run.json")
    signed(tmp_path / "mlp")
    assert_said(wenmai_cli("predict", tmp_path / "mlp", "a good film"), parts)


def other_arrays(path, changes):
    from safetensors.numpy import load_file, save_file

    arrays = load_file(path)
    save_file(
        {
            name: np.ascontiguousarray(changes.get(name, lambda array: array)(array))
            for name, array in arrays.items()
        },
        path,
    )


@pytest.mark.parametrize(
    ("run", "name", "does"),
    [
        ("softmax", "weights", lambda a: a[:-1]),
        ("softmax", "weights", lambda a: a[:, :1]),
        ("softmax", "weights", lambda a: a.astype(np.float64)),
        ("softmax", "offsets", lambda a: a[:1]),
        ("softmax", "idf", lambda a: a[:-1]),
        ("softmax", "idf", lambda a: a * 0),
        ("softmax", "ngram_columns", lambda a: a + 1),
        ("softmax", "ngram_columns", lambda a: a * 0 - 1),
        ("softmax", "ngram_keys", lambda a: a * 0),
        ("numbers", "weights", lambda a: a[:2]),
        ("images", "weights", lambda a: a[:2]),
        ("sums", "weights", lambda a: a[:2]),
        ("series", "weights", lambda a: a[:2]),
        ("tags", "between", lambda a: a[:2]),
        ("tags", "template_columns", lambda a: a[::-1] * 2),
        ("mlp", "head.output.bias", lambda a: a.astype(np.int32)),
    ],
)
def test_arrays_of_another_size_never_reach_compiled_code(
    wenmai_cli, folder, tmp_path, run, name, does
):
    shutil.copytree(folder / "runs" / run, tmp_path / run)
    other_arrays(tmp_path / run / "weights.safetensors", {name: does})
    signed(tmp_path / run)
    assert_said(
        wenmai_cli("predict", tmp_path / run, "1,2"), ["weights.safetensors does not fit run.json"]
    )


def test_a_single_bit_is_noticed(wenmai_cli, folder, tmp_path):
    shutil.copytree(folder / "runs" / "mlp", tmp_path / "mlp")
    path = tmp_path / "mlp" / "weights.safetensors"
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    assert_said(
        wenmai_cli("predict", tmp_path / "mlp", "a good film"),
        ["weights.safetensors", "its checksum differs"],
    )


def test_the_weights_of_another_network_do_not_fit(wenmai_cli, folder, tmp_path):
    shutil.copytree(folder / "runs" / "mlp", tmp_path / "mlp")
    shutil.copy(
        folder / "runs" / "softmax" / "weights.safetensors",
        tmp_path / "mlp" / "weights.safetensors",
    )
    signed(tmp_path / "mlp")
    assert_said(
        wenmai_cli("predict", tmp_path / "mlp", "a good film"),
        ["weights.safetensors does not fit run.json"],
    )
