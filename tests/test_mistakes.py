"""Wrong uses of the command line: each ends with status 2 and one sentence that says where, what was found, and what to do."""

import json
import shlex
import shutil

import numpy as np
import pytest
import torch

from wenmai.estimator import Classifier

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
    "unlabelled.csv": "text,label\nsome words,a\nmore words,\n",
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
}  # fmt: skip
RUNS = ("softmax", "mlp", "pairs", "numbers", "images")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of every kind, and a run of every kind."""
    place = tmp_path_factory.mktemp("mistakes")
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf-8")
    (place / "binary.csv").write_bytes(bytes(range(256)) * 20)
    (place / "latin.csv").write_bytes("text,label\ncaf\xe9 \xff\xfe\xfd,a\n".encode("latin-1"))
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
    }
    for name in RUNS:
        made[name].save(place / "runs" / name)
    return place


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def assert_said(ran, parts):
    assert ran.status == 2, ran
    assert ran.err.startswith("wenmai: ") and ran.err.endswith("\n") and ran.err.count("\n") == 1, ran.err
    assert "Traceback" not in ran.err + ran.out
    for part in parts:
        assert part in ran.err, (part, ran.err)


MISTAKES = [
    # what is in a file
    ("train softmax empty.csv", ["empty.csv is empty"]),
    ("train softmax blank.csv", ["blank.csv is empty"]),
    ("train softmax header.csv", ["header.csv", "a header and no rows"]),
    ("train softmax one.csv", ["found one class only (pos)", "at least two"]),
    ("compare one.csv --minutes 0.02", ["found one class only (pos)"]),
    ("train softmax unnamed.csv", ["unnamed.csv", "the columns 0, 1", "--columns text=0,label=1"]),
    ("train softmax no-label.csv", ["no-label.csv", "text, topic", "--columns"]),
    ("train softmax no-label.csv --task classify", ["no-label.csv has no column label", "text, topic"]),
    ("train softmax only.csv", ["only.csv has only the column label"]),
    ("train softmax only-label.csv", ["only-label.csv has only the column label and target", "expected text"]),
    ("train softmax unlabelled.csv", ["unlabelled.csv, line 3", "the label is empty"]),
    ("train softmax broken.csv", ["broken.csv, line 3", "found 3 columns, expected 2"]),
    ("train softmax short.tsv", ["short.tsv, line 3", "found 1 columns, expected 2"]),
    ("train softmax quote.csv", ["quote.csv, line 3", "a quote that opens and never closes"]),
    ("train softmax broken.jsonl", ["broken.jsonl, line 2", "not JSON"]),
    ("train softmax missing.jsonl", ["missing.jsonl, line 2", 'expected "label" too']),
    ("train softmax list.jsonl", ["list.jsonl, line 2", "found a JSON list"]),
    ("train softmax binary.csv", ["binary.csv looks like a binary file"]),
    ("train softmax cut.csv.gz", ["cut.csv.gz is damaged or cut off"]),
    ("train softmax broken.parquet", ["broken.parquet cannot be read as Parquet"]),
    ("train softmax plain.txt", ["plain.txt", "text"]),
    ("train softmax words.csv", ["words.csv, line 3", "'four' in column b", "expected a number"]),
    ("train softmax nan.csv", ["found nan", "expected a finite number"]),
    ("train softmax infinite.csv", ["found inf", "expected a finite number"]),
    ("train softmax folder", ["folder is a folder with no files"]),
    ("train softmax mine", ["mine is a folder with thesis.txt"]),
    ("data broken.csv", ["broken.csv, line 3"]),
    ("data nothing.csv", ["nothing.csv is not there"]),
    # labels that training never had, with file and line
    ("evaluate runs/softmax new-label.csv", ["new-label.csv, line 3", "'meh' is not among the trained ones", "neg, pos"]),
    ("train softmax good.csv --test new-label.csv --out x", ["new-label.csv, line 3", "'meh'"]),
    ("train softmax good.csv --valid new-label.csv --out x", ["new-label.csv, line 3", "'meh'"]),
    ("compare good.csv --test new-label.csv --rungs softmax --minutes 0.02", ["new-label.csv, line 3", "'meh'"]),
    # names that nothing has
    ("train sofmax good.csv", ['unknown rung "sofmax"', "did you mean softmax?"]),
    ("rungs gur", ['unknown rung "gur"', "did you mean gru?"]),
    ("compare good.csv --rungs softmax,ltsm", ['unknown rung "ltsm"', "did you mean lstm?"]),
    ("compare good.csv --rungs softmax,", ['unknown rung ""']),
    ("train softmax good.csv --task clasify", ['unknown task "clasify"', "did you mean classify?"]),
    ("train softmax langages", ['unknown data set "langages"', "did you mean languages?", "path of a file"]),
    ("train softmax languages:xx", ['unknown language "xx"']),
    ("train softmax goood.csv", ["goood.csv is not there", "good.csv"]),
    ("train softmax no/such/file.csv", ["no/such/file.csv is not there, nor is its folder no/such"]),
    ("trian softmax good.csv", ["trian"]),
    ("train softmax good.csv --sed 3", ["--sed"]),
    ("train softmax", ["source"]),
    # options
    ("train softmax good.csv --set hidden", ["--set hidden: expected key=value"]),
    ("train softmax good.csv --set =3", ["--set =3: expected key=value"]),
    ("train softmax good.csv --set hidden=3", ['unknown option "hidden"', "did you mean"]),
    ("train mlp good.csv --set hiden=3", ['unknown option "hiden"', "did you mean hidden?"]),
    ("train mlp good.csv --set hidden=many", ["hidden='many'", "expected a whole number", "the default is"]),
    ("train mlp good.csv --set hidden=1.5", ["hidden='1.5'", "expected a whole number"]),
    ("train mlp good.csv --set hidden=0", ["hidden=0: expected at least 1"]),
    ("train mlp good.csv --set dropout=1", ["dropout=1.0", "below 1"]),
    ("train mlp good.csv --set dropout=-0.1", ["dropout=-0.1", "at least 0"]),
    ("train mlp good.csv --set learning_rate=nan", ["learning_rate=nan"]),
    ("train gru good.csv --set bidirectional=maybe", ["bidirectional='maybe'", "expected true or false"]),
    ("train gru good.csv --set pooling=most", ["pooling='most' is not one of", "max"]),
    ("train mlp good.csv --set tokenizer=wrds", ['unknown tokenizer "wrds"', "did you mean words?"]),
    ("train mlp good.csv --set embedding=nowhere.txt", ["nowhere.txt is neither a file of vectors nor"]),
    ("train mlp good.csv --set embedding=vectors.txt", ["vectors.txt, line 2", "found 2 numbers, expected 3"]),
    ("train transformer good.csv --set width=10 --set heads=4", ["width=10", "heads=4", "try width=8"]),
    ("train transformer good.csv --set width=3 --set heads=4", ["width=3", "heads=4", "try width=4"]),
    ("train cnn good.csv --set widths=2,wide", ["widths", "wide"]),
    ("train cnn good.csv --set widths=0", ["widths", "0"]),
    ("train softmax good.csv --set validation=1.5 --valid 0", ["validation=1.5"]),
    ("compare good.csv --rungs softmax --set nonsense=1 --minutes 0.02", ['unknown option "nonsense"']),
    ("train softmax good.csv --columns text", ["--columns text", "expected word=column"]),
    ("train softmax good.csv --columns text=0,text=1", ["text is given twice"]),
    ("train softmax good.csv --columns text=txt,label=label", ['good.csv has no column "txt"', "text (0)", "text=text"]),
    ("train softmax good.csv --columns text=0,label=7", ['no column "7"', "label (1)"]),
    ("train softmax good.csv --test 1.5", ["a share of 1.5", "from 0 to 0.9"]),
    ("train softmax good.csv --valid -0.1", ["a share of -0.1", "from 0 to 0.9"]),
    ("train softmax good.csv --test nan", ["a share of nan"]),
    ("compare good.csv --test 0 --minutes 0.02", ["needs a valid and a test part"]),
    ("train softmax good.csv --minutes soon", ["--minutes", "number"]),
    ("train softmax good.csv --minutes -1", ["--minutes", "equal to 0"]),
    ("train softmax good.csv --seed -1", ["--seed", "equal to 0"]),
    ("compare good.csv --seeds 0", ["--seeds", "equal to 1"]),
    ("train softmax good.csv --device gpu", ["device='gpu' is not a device", "cpu"]),
    ("compare good.csv --device gpu", ["device='gpu' is not a device"]),
    ("train softmax good.csv --test good.csv --unseen", ["good.csv: every input of the test rows stands in the training rows"]),
    ("predict runs/mlp text --device tpu", ["device='tpu'"]),
    # where to write
    ("train softmax good.csv --out mine", ["mine holds something that is not a run"]),
    ("train softmax good.csv --out not-a-folder", ["not-a-folder"]),
    ("train softmax good.csv --out not-a-folder/run", ["not-a-folder"]),
    ("compare good.csv --rungs softmax --minutes 0.02 --out not-a-folder/report", ["not-a-folder"]),
    ("predict runs/softmax --file text-only.csv --out no/such/out.csv", ["no/such/out.csv"]),
    ("predict runs/softmax --file text-only.csv --out answers.xlsx", ["answers.xlsx", ".jsonl, .csv, .tsv or (for tags) .conll"]),
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
]  # fmt: skip


@pytest.mark.parametrize(("command", "parts"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_a_mistake_is_one_sentence(wenmai_cli, command, parts):
    assert_said(wenmai_cli(*shlex.split(command)), parts)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("command", ["train mlp good.csv --device cuda", "predict runs/mlp text --device cuda:1"])
def test_a_gpu_that_is_not_there(wenmai_cli, command):
    assert_said(wenmai_cli(*shlex.split(command)), ["torch finds no GPU", "--device cpu"])


def test_nothing_is_left_behind_by_a_mistake(wenmai_cli, folder):
    before = sorted(folder.iterdir())
    for command in ("train mlp good.csv --out new --set heads=3", "train softmax good.csv --out mine", "predict nothing text"):
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
    *[(name, lambda path: path.unlink(), [name] if name != "run.json" else ["is not a run folder"])
      for name in ("run.json", "inputs.json", "progress.jsonl", "weights.safetensors")],
    *[(name, cut, [name]) for name in ("run.json", "inputs.json", "weights.safetensors")],
    *[(name, garbage, [name]) for name in ("run.json", "inputs.json", "progress.jsonl", "weights.safetensors")],
    *[(name, lambda path: path.write_text("[1, 2]"), [name]) for name in ("run.json", "inputs.json", "progress.jsonl")],
    *[(name, lambda path: path.write_text("{}"), [name]) for name in ("run.json", "inputs.json", "progress.jsonl")],
    *[("run.json", change(**{key: None}), ["run.json"]) for key in ("format", "rung", "options", "task")],
    ("run.json", change(format=99), ["format 99, expected 1", "the wenmai that made it"]),
    ("run.json", change(rung="sofmax"), ['unknown rung "sofmax"']),
    ("run.json", change(options={"nonsense": 1}), ['unknown option "nonsense"']),
    ("run.json", change(task={"name": "conquer"}), ["run.json"]),
    ("inputs.json", change(kind="smells"), ["inputs.json"]),
    ("inputs.json", change(tokenizer=None), ["inputs.json"]),
    ("weights.safetensors", lambda path: shutil.copy(path.parents[1] / "mlp" / path.name, path), ["weights.safetensors"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "damage", "parts"), DAMAGE, ids=range(len(DAMAGE)))
def test_a_damaged_run_is_one_sentence(wenmai_cli, folder, tmp_path, name, damage, parts):
    shutil.copytree(folder / "runs", tmp_path / "runs")
    damage(tmp_path / "runs" / "softmax" / name)
    assert_said(wenmai_cli("predict", tmp_path / "runs" / "softmax", "a good film"), parts)


def test_the_weights_of_another_network_do_not_fit(wenmai_cli, folder, tmp_path):
    shutil.copytree(folder / "runs" / "mlp", tmp_path / "mlp")
    shutil.copy(folder / "runs" / "softmax" / "weights.safetensors", tmp_path / "mlp" / "weights.safetensors")
    assert_said(wenmai_cli("predict", tmp_path / "mlp", "a good film"), ["weights.safetensors does not fit run.json"])
