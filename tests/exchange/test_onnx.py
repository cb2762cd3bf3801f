"""Runs as ONNX: computed by onnxruntime they say what torch says, for every network of the catalog and each of its tasks."""

import json
import marshal
import os
import subprocess
import sys
import wave
from copy import copy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from test_contract import (
    CASES,
    KIND,
    RUNGS,
    SMALL,
    assert_close,
    encoded,
    fitted,
    is_network,
    long_and_short,
    made,
    rows_in,
    small,
    writes,
)

import wenmai
from wenmai.errors import Mistake
from wenmai.exchange import onnx_files, onnx_tracing
from wenmai.exchange.onnx_network import OnnxNetwork, largest_difference

pytestmark = pytest.mark.each_value("onnx")

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

TEXT = "the drum is loud and the bell is so\na leaf is green\nit is very cold ice snow frost\n" * 8
ROWS = [(rung, task) for rung, task, kind in CASES if kind == KIND[task] and is_network(rung)]
OTHERS = [
    ("gru", "classify", "frames"),
    ("mlp", "regress", "numbers"),
    ("cnn", "classify", "images"),
    ("gpt", "compose", "images"),
    ("transformer", "classify", "pairs"),
    ("rnn-gated", "regress", "steps"),
]
VARIANTS = [
    ("lstm", "classify", {"bidirectional": True, "layers": 2, "pooling": "last"}),
    ("gru", "tag", {"bidirectional": True, "layers": 2, "crf": True}),
    ("rnn-coupled", "classify", {"bidirectional": True}),
    ("lstm", "tag", {"characters": "lstm"}),
    ("transformer", "classify", {"positions": "rotary", "norm": "post"}),
    ("attention", "translate", {"query": "before", "feeding": True, "score": "additive"}),
    ("attention", "translate", {"copy": True}),
    ("seq2seq", "translate", {"cell": "gru", "context_input": "every", "context": "sum"}),
]


@cache
def language_model(rung: str, **more):
    known = wenmai.LanguageModel(rung).get_params()
    return wenmai.LanguageModel(
        rung, **{name: value for name, value in SMALL.items() if name in known} | more
    ).fit(TEXT)


def by_onnx(estimator, folder: Path):
    """The same estimator, whose network onnxruntime computes."""
    other = copy(estimator)
    other.model_ = OnnxNetwork(estimator.model_, estimator.inputs_, folder)
    return other


def check_equal(estimator, inputs, out: Path) -> None:
    found = onnx_files.exported(estimator, out)
    assert found.difference <= 1e-4
    other = by_onnx(estimator, out)
    examples = encoded(estimator, inputs)
    for first, second in zip(
        rows_in(other.outputs(examples)), rows_in(estimator.outputs(examples))
    ):
        assert_close(first, second, 1e-4)
    if writes(estimator):  # beam search, where the task has it, and greedy
        ours, theirs = (
            one.task_.predict(one.trained(), inputs)[0].tolist() for one in (estimator, other)
        )
        assert ours == theirs


@pytest.mark.each_value
@pytest.mark.parametrize(("rung", "task"), ROWS, ids=str)
def test_equals_torch(rung, task, tmp_path):
    check_equal(fitted(rung, task, KIND[task]), long_and_short(KIND[task], task), tmp_path / "out")


@pytest.mark.parametrize(("rung", "task", "kind"), OTHERS, ids=str)
def test_other_kinds_of_input(rung, task, kind, tmp_path):
    check_equal(fitted(rung, task, kind), long_and_short(kind, task), tmp_path / "out")


@pytest.mark.parametrize(("rung", "task", "options"), VARIANTS, ids=str)
def test_options(rung, task, options, tmp_path):
    estimator = small(rung, task, **options).fit(*made(KIND[task], task=task))
    check_equal(estimator, long_and_short(KIND[task], task), tmp_path / "out")
    network = OnnxNetwork(estimator.model_, estimator.inputs_, tmp_path / "out")
    assert (
        largest_difference(estimator.model_, estimator.inputs_, network, seed=1) <= 1e-4
    )  # other rows and lengths


def test_greedy_and_beam_search_write_the_same(tmp_path):
    for rung in ("seq2seq", "transformer"):
        estimator = fitted(rung, "translate", "sources")
        onnx_files.exported(estimator, tmp_path / rung)
        other = by_onnx(estimator, tmp_path / rung)
        for beam in (1, 5):
            sources = long_and_short("sources")
            ours, theirs = (
                one.answers(sources, beam=beam, best=min(beam, 3)) for one in (estimator, other)
            )
            assert [row["text"] for row in ours] == [row["text"] for row in theirs]
            assert np.allclose(
                [row["log_prob"] for row in ours], [row["log_prob"] for row in theirs], atol=1e-3
            )


@pytest.mark.parametrize(
    "rung",
    [rung.name for rung in RUNGS.values() if rung.does("generate") and is_network(rung.name)],
)
def test_language_models(rung, tmp_path):
    """Also where more is written than it looks back on."""
    estimator = language_model(rung, context=6)
    onnx_files.exported(estimator, tmp_path / "out")
    other = by_onnx(estimator, tmp_path / "out")
    assert other.perplexity(TEXT) == pytest.approx(estimator.perplexity(TEXT), rel=1e-4)
    ours, theirs = (
        one.generate("the drum is", tokens=14, temperature=0) for one in (estimator, other)
    )
    assert ours == theirs


def test_hidden_words(tmp_path):
    documents = "\n\n".join(f"{line}.\n{line} too." for line in TEXT.splitlines())
    estimator = wenmai.Encoder("bert", width=8, heads=2, layers=2, steps=5).fit(documents)
    onnx_files.exported(estimator, tmp_path / "out")
    other = by_onnx(estimator, tmp_path / "out")
    assert other.evaluate(documents) == pytest.approx(estimator.evaluate(documents))
    ours, theirs = (
        one.task_.fill(one.trained(), "the [MASK] is loud", 3) for one in (estimator, other)
    )
    assert [[word["word"] for word in row] for row in ours] == [
        [word["word"] for word in row] for row in theirs
    ]
    assert run_example(tmp_path / "out", ["the [MASK] is loud"]) == [[ours[0][0]["word"]]]


@pytest.mark.parametrize(
    ("rung", "task"),
    [("lstm", "classify"), ("bert", "classify"), ("transformer", "translate")],
    ids=str,
)
def test_vectors_of_texts(rung, task, tmp_path):
    """The graph that reads gives what `embed` gives."""
    estimator = fitted(rung, task, KIND[task])
    onnx_files.exported(estimator, tmp_path / "out")
    network, texts = (
        OnnxNetwork(estimator.model_, estimator.inputs_, tmp_path / "out"),
        ["ice", "the drum is so loud", "moss"],
    )
    batch = estimator.examples(texts).batch(np.arange(3))
    graph = network.graphs["encoder" if task == "translate" else "model"]
    assert_close(graph(network.fed(batch))["vectors"], estimator.embed(texts), 1e-5)


# The example


def run_example(folder: Path, arguments: list[str]) -> list:
    """In a process that has neither torch nor Wenmai."""
    code = (
        "import runpy, sys; sys.modules['torch'] = sys.modules['wenmai'] = None; "
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, folder / "example.py", *arguments],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_nothing_is_told_to_anybody(tmp_path):
    """onnxruntime keeps a number for the machine below HOME and sends what it is used for, unless it is told not to."""
    fitted("gru", "classify", "texts").save(tmp_path / "run")
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("CI", "ORT_DISABLE_TELEMETRY", "GITHUB_ACTIONS")
    }
    environment = kept | {
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "home" / ".cache"),
    }
    (tmp_path / "home").mkdir()
    for words in (
        ["-m", "wenmai", "export", tmp_path / "run", "--format", "onnx", "--out", tmp_path / "out"],
        [tmp_path / "out" / "example.py", "a text"],
    ):
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0 and not list((tmp_path / "home").rglob("*deviceid*")), (
            done.stderr
        )


def test_the_example_takes_nobody_elses_dictionary(tmp_path):
    pytest.importorskip("jieba")
    texts, labels = ["我来到北京清华大学", "他来到了网易杭研大厦"] * 10, ["a", "b"] * 10
    estimator = wenmai.Classifier("mlp", tokenizer="jieba", steps=4, embed=8, hidden=8).fit(
        texts, labels
    )
    onnx_files.exported(estimator, tmp_path / "out")
    (tmp_path / "shared").mkdir()
    planted = tmp_path / "shared" / "jieba.cache"
    planted.write_bytes(marshal.dumps(({"坏词": 1}, 1)))
    os.utime(planted, (2**31, 2**31))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path / "shared"))
        (answer,) = run_example(tmp_path / "out", texts[:1])
    assert answer["probability"] == pytest.approx(
        estimator.answers(texts[:1])[0]["probability"], abs=1e-5
    )


def spoken(value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return ",".join(map(repr, value.tolist()))
    return json.dumps(value.tolist() if isinstance(value, np.ndarray) else value)


def answered(estimator, inputs) -> list:
    """As the example says it."""
    if (
        estimator.task_name == "tag"
    ):  # as the network names them; who predicts writes them in the scheme of the data
        path = estimator.task_.decide(
            estimator.outputs(estimator.examples(inputs)), estimator.model_
        )
        return [[str(name) for name in estimator.classes_[row]] for row in rows_in(path)]
    name = {"classify": "label", "answer": "answer", "choose": "answer"}.get(
        estimator.task_name, "text"
    )
    greedy = {"beam": 1} if estimator.task_name in ("translate", "reply") else {}
    told = estimator.task_.predict(estimator.trained(), inputs, **greedy)[0]
    return [{name: str(one)} for one in told]


EXAMPLED = [
    ("gru", "classify", "texts"),
    ("bert", "classify", "pairs"),
    ("lstm", "tag", "tokens"),
    ("bert", "tag", "tokens"),
    ("attention", "answer", "questions"),
    ("bert", "choose", "choices"),
    ("gpt", "compose", "labels"),
    ("transformer", "translate", "sources"),
    ("attention", "reply", "stories"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("rung", "task", "kind"), EXAMPLED, ids=str)
def test_example(rung, task, kind, tmp_path):
    estimator = fitted(rung, task, kind)
    onnx_files.exported(estimator, tmp_path / "out")
    inputs = made(kind, 5, seed=5, task=task)[0]
    stories = kind == "stories"  # sentence by sentence
    given = (
        [json.dumps([[context], asked]) for context, asked in inputs]
        if stories
        else list(map(spoken, inputs))
    )
    told = run_example(tmp_path / "out", given)
    if isinstance(told[0], dict):
        told = [
            {name: value for name, value in one.items() if name != "probability"} for one in told
        ]
    assert told == answered(estimator, inputs)


def test_example_of_numbers(tmp_path):
    estimator = fitted("mlp", "regress", "numbers")
    onnx_files.exported(estimator, tmp_path / "out")
    inputs = made("numbers", 4, seed=5, task="regress")[0]
    told = run_example(tmp_path / "out", list(map(spoken, inputs)))
    assert np.ravel(told) == pytest.approx(estimator.predict(inputs), abs=1e-4)


def test_example_of_images_and_frames(tmp_path):
    for kind in ("images", "frames"):
        estimator = fitted("cnn", "classify", kind)
        onnx_files.exported(estimator, tmp_path / kind)
        inputs = made(kind, 3, seed=5)[0]
        files = [str(tmp_path / f"{row}.npy") for row in range(3)]
        for row, file in enumerate(files):
            np.save(file, inputs[row])
        given = files if kind == "images" else [spoken(inputs[row]) for row in range(3)]
        assert [row["label"] for row in run_example(tmp_path / kind, given)] == list(
            estimator.predict(inputs)
        )


def test_example_of_running_text(tmp_path):
    estimator = language_model("gpt", context=6)
    onnx_files.exported(estimator, tmp_path / "out")
    (told,) = run_example(tmp_path / "out", ["the drum is"])
    assert f"the drum is {told['continued']}" == estimator.generate(
        "the drum is", tokens=40, lines=1, temperature=0
    )


def test_example_of_sounds(tmp_path):
    """The recipe of the features is told so that others can follow it."""
    estimator = fitted("gru", "transcribe", "sounds")
    onnx_files.exported(estimator, tmp_path / "out")
    clips, files = made("sounds", 3, seed=5, task="transcribe")[0], []
    for number, clip in enumerate(clips):
        files.append(str(tmp_path / f"{number}.wav"))
        with wave.open(files[-1], "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(clip.rate)
            sound.writeframes((np.concatenate(list(clip.blocks())) * 32767).astype("<i2").tobytes())
    told = [row["text"] for row in run_example(tmp_path / "out", files)]
    assert told == estimator.task_.predict(estimator.trained(), files)[0].tolist()


# 8 bits, and what goes wrong


def test_eight_bits_are_smaller_and_their_cost_is_told(tmp_path):
    estimator = small("lstm", "classify", hidden=64, embed=64).fit(*made("texts"))
    whole, rounded = (
        onnx_files.exported(estimator, tmp_path / name, int8=name == "int8")
        for name in ("float32", "int8")
    )
    assert rounded.files["model.onnx"] < 0.5 * whole.files["model.onnx"]
    assert 0.5 < rounded.agreement <= 1 and "float32" in str(rounded.notes[0])
    other = by_onnx(estimator, tmp_path / "int8")
    assert 0 < largest_difference(estimator.model_, estimator.inputs_, other.model_) < 0.1


def test_on_the_command_line(tmp_path, monkeypatch, wenmai_cli):
    monkeypatch.chdir(tmp_path)
    texts, labels = made("texts")
    Path("reviews.csv").write_text(
        "text,label\n" + "".join(f"{text},{label}\n" for text, label in zip(texts, labels))
    )
    fitted("gru", "classify", "texts").save("run")

    def told(*more, status: int = 0) -> str:
        ran = wenmai_cli("export", "run", *more)
        assert ran.status == status, ran.err
        return ran.out + ran.err

    assert "loaded again" in told("--format", "onnx") and Path("run-onnx/example.py").is_file()
    measured = "--format", "onnx", "--int8", "--data", "reviews.csv", "--out"
    result = json.loads(
        wenmai_cli("export", "run", *measured, "small", "--json").out.splitlines()[-1]
    )
    assert result["scores"]["int8"].keys() == result["scores"]["float32"].keys() >= {"accuracy"}
    assert "accuracy: float32" in told(*measured, "again")
    assert "is there already" in told("--format", "onnx", status=2)
    assert "ask for --int8" in told(
        "--format", "onnx", "--data", "reviews.csv", "--out", "other", status=2
    )
    assert "go with --format onnx" in told("--int8", status=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "again",
        "reviews.csv",
        "run",
        "run-onnx",
        "small",
    ]


def test_what_is_no_network_is_refused(tmp_path):
    counts = copy(language_model("gru", context=6))
    counts.rung, counts.model_ = "ngram", object()
    with pytest.raises(Mistake, match="ngram is no network"):
        onnx_files.exported(counts, tmp_path / "out")


@pytest.mark.parametrize("harm", ["wrong", "cut off", "stopped"])
def test_a_graph_that_disagrees_is_refused_and_nothing_is_left(harm, tmp_path, monkeypatch):
    estimator, write = fitted("gru", "classify", "texts"), onnx_tracing.write_graphs

    def harmed(network, inputs, folder, what):
        write(network, inputs, folder, what)
        graph = folder / "model.onnx"
        if harm == "wrong":
            import onnx

            model = onnx.load(graph)
            weight = max(model.graph.initializer, key=lambda one: len(one.raw_data))
            weight.raw_data = (np.frombuffer(weight.raw_data, np.float32) * 1.01).tobytes()
            onnx.save(model, graph)
        elif harm == "cut off":
            graph.write_bytes(graph.read_bytes()[:500])
        else:
            raise KeyboardInterrupt

    monkeypatch.setattr(onnx_files, "write_graphs", harmed)
    error, words = (
        (KeyboardInterrupt, None) if harm == "stopped" else (Mistake, "cannot be written")
    )
    with pytest.raises(error, match=words):
        onnx_files.exported(estimator, tmp_path / "out")
    assert not list(tmp_path.iterdir())
