"""One of several answers, and answers that are written out: files, scores, what is refused, what is said on the command line."""

import json
import re

import numpy as np
import pytest
import torch
from test_contract import fitted, made

from wenmai import Answerer
from wenmai.catalog import TASKS
from wenmai.cli.commands import main
from wenmai.data.dataset import open_dataset
from wenmai.data.examples.batches import Batch
from wenmai.errors import Mistake
from wenmai.layers.questions import ScoreHead
from wenmai.tasks.choose import log_softmax, number_of
from wenmai.tasks.measuring.baselines import likest_choice, likest_sentence, sentences_of
from wenmai.tasks.reply import words


def test_choices_of_a_row_share_one_probability():
    model, (inputs, _) = fitted("gru", "choose", "choices"), made("choices", task="choose")
    shares = model.predict_proba(inputs)
    assert [len(row) for row in shares] == [len(choices) for *_, choices in inputs]
    assert np.allclose([row.sum() for row in shares], 1)
    answer = model.answers(inputs[:1], best=2)[0]
    assert (
        answer["answer"] == inputs[0][2][answer["choice"]] == model.predict(inputs[:1])[0]
        and len(answer["best"]) == 2
    )
    scores, offsets = np.random.default_rng(0).normal(size=(5, 1)), np.array([0, 2, 5])
    expected = torch.cat(
        [torch.from_numpy(part).log_softmax(0) for part in (scores[:2], scores[2:])]
    )
    assert np.allclose(log_softmax(scores, offsets), expected.numpy())


def test_the_loss_is_that_of_every_question_by_itself():
    torch.manual_seed(0)
    head, y = ScoreHead(4, "mean", 0.0), torch.randn(5, 3, 4)
    mask, target, example = (
        torch.ones(5, 3, dtype=torch.bool),
        torch.tensor([1, 2]),
        torch.tensor([0, 0, 1, 1, 1]),
    )
    (loss,) = head.losses(y, mask, Batch(y, mask, target=target, example=example))
    scores = head.outputs(y, mask)[:, 0]
    expected = -scores[:2].log_softmax(0)[1] - scores[2:].log_softmax(0)[2]
    assert loss.count == 2 and torch.allclose(loss.total, expected)


def test_an_answerer_chooses_where_there_are_choices():
    inputs, targets = made("choices", task="choose")
    model = Answerer("mlp", steps=2, embed=8, hidden=8).fit(inputs, targets)
    assert model.task_.name == "choose" and model.answer("ice", "what?", ["cold", "so"])[
        "answer"
    ] in ("cold", "so")


@pytest.mark.parametrize(
    ("row", "answer", "said"),
    [
        (("a b", "who?", ["a"]), "a", "row 2: found 1 choice, expected two or more"),
        (("a b", "who?", ["a", "b"]), "c", "row 2: the answer 'c' is none of the choices (a, b)"),
        (("a b", "who?", 7), "c", "row 2: found '7' as choices"),
        (("a b", "who?"), "a", "row 2: found 2 parts"),
        ((" ", "who?", ["a", "b"]), "a", "row 2: the context is empty"),
    ],
)
def test_rows_that_give_no_choice_are_named(row, answer, said):
    with pytest.raises(Mistake, match=re.escape(said)):
        Answerer("mlp", steps=1).fit([("a", "b?", ["c", "d"]), row], ["c", answer])


def test_the_right_one_by_its_text_or_number():
    assert (
        number_of("b", ("a", "b"), "") == 1 == number_of("1", ("a", "b"), "")
        and number_of("1", ("1", "b"), "") == 0
    )
    with pytest.raises(Mistake, match="is none of the choices"):
        number_of("7" * 5000, ("a", "b"), "row 1")


def test_a_question_whose_choices_are_cut_counts_once():
    """Of all rows of a file, as many as are cut: not as many as there are choices."""
    inputs, targets = made("choices", 8, task="choose")
    inputs = [
        ("ice so " * (40 if row < 3 else 1), question, choices)
        for row, (_, question, choices) in enumerate(inputs)
    ]
    model = Answerer("mlp", steps=1, embed=4, hidden=4, max_length=30, validation=0.0).fit(
        inputs, targets
    )
    (note,) = model.answers(inputs).notes
    assert note.english.startswith("3 of the 8 texts are cut: a network reads 30 tokens of them")


def tell(capsys, monkeypatch, *words) -> tuple[str, str]:
    """What the command says and what it warns of."""
    monkeypatch.setattr("sys.argv", ["wenmai", *map(str, words)])
    try:
        main()
    except SystemExit as ended:
        assert ended.code == 2
    said = capsys.readouterr()
    return said.out, said.err


def test_predict_takes_texts_two_by_two_and_choices(tmp_path, monkeypatch, capsys):
    replies, choices = (
        fitted(*which).save(tmp_path / which[0])
        for which in (("seq2seq", "reply", "stories"), ("gru", "choose", "choices"))
    )
    out, _ = tell(
        capsys, monkeypatch, "predict", replies, "ice is cold", "what is ice?", "a b", "c?"
    )
    assert len(out.splitlines()) == 2
    out, _ = tell(capsys, monkeypatch, "predict", choices, "ice", "what?", "cold|warm")
    assert out.split("\t")[0] in ("cold", "warm")
    _, err = tell(capsys, monkeypatch, "predict", replies, "stories.txt")
    assert (
        "this run reads context and question for every answer, 2 texts: found 1; a file of them is given with --file"
        in err
    )


@pytest.mark.filterwarnings("always::wenmai.errors.Notice")
def test_rows_that_cannot_be_asked_are_left_out_if_that_is_wanted(tmp_path, monkeypatch, capsys):
    run = fitted("attention", "answer", "questions").save(tmp_path / "run")
    rows = [
        ("Ann won.", "Who won?", "1"),
        ("", "Who?", "2"),
        ("Bob lost.", "??", "3"),
        ("Bob lost.", "Who lost?", "4"),
    ]
    (tmp_path / "rows.jsonl").write_text(
        "\n".join(json.dumps(dict(zip(("context", "question", "mine"), row))) for row in rows)
    )
    out = tmp_path / "out.jsonl"
    for command in ("predict", "answer"):
        _, err = tell(
            capsys, monkeypatch, command, run, "--file", tmp_path / "rows.jsonl", "--out", out
        )
        assert "rows.jsonl, line 2: the context is empty" in err and not out.exists()
        _, err = tell(
            capsys,
            monkeypatch,
            command,
            run,
            "--file",
            tmp_path / "rows.jsonl",
            "--out",
            out,
            "--skip-bad",
        )
        assert (
            "left out 2 of the 4 rows, which cannot be read; the first" in err
            and "line 2: the context is empty" in err
        )
        assert [json.loads(line)["mine"] for line in out.read_text().splitlines()] == ["1", "4"]
        out.unlink()
    (tmp_path / "bad.jsonl").write_text(json.dumps({"context": " ", "question": "Who?"}))
    _, err = tell(
        capsys,
        monkeypatch,
        "predict",
        run,
        "--file",
        tmp_path / "bad.jsonl",
        "--out",
        out,
        "--skip-bad",
    )
    assert "line 1: the context is empty" in err and not list(tmp_path.glob("out*"))
    _, err = tell(capsys, monkeypatch, "answer", run, "--context", "", "--question", "Who?")
    assert "the context is empty" in err


C3 = [
    [
        ["男：你好。", "女：再见。"],
        [{"question": "谁？", "choice": ["男", "女"], "answer": "女"}],
        "1-1",
    ]
]


def test_files_of_c3_and_of_babi(tmp_path):
    (tmp_path / "c3.json").write_text(json.dumps(C3 * 3))
    data = open_dataset(str(tmp_path / "c3.json"), TASKS)
    assert data.task.name == "choose" and data.train.inputs[0] == (
        "男：你好。\n女：再见。",
        "谁？",
        ("男", "女"),
    )
    assert data.train.targets == ["女"] * 3
    (tmp_path / "broken.json").write_text(json.dumps([*C3, [["a"], [{"question": "b"}], "c"]]))
    with pytest.raises(Mistake, match="record 2: found something else than"):
        open_dataset(str(tmp_path / "broken.json"), TASKS)
    story = "1 Mary got milk.\n2 John left.\n3 What has Mary? \tmilk\t1\n4 He ran.\n5 Who ran?\tJohn\t2\n1 A.\n2 What?\ta,b\t1\n"
    (tmp_path / "babi.txt").write_text(story)
    data = open_dataset(str(tmp_path / "babi.txt"), TASKS)
    assert data.task.name == "reply" and data.train.targets == ["milk", "John", "a,b"]
    assert data.train.inputs == [
        ("Mary got milk. John left.", "What has Mary?"),
        ("Mary got milk. John left. He ran.", "Who ran?"),
        ("A.", "What?"),
    ]


def test_written_out_answers_are_compared_by_their_words():
    task = TASKS["reply"]()
    assert words("s , e") == words("s,e") == ["s", ",", "e"]
    assert task.scores(["s , e", "milk"], ["s,e", "the milk"]) == {
        "exact_match": 0.5,
        "f1": pytest.approx((1 / 2 * 0 + 1) / 2),
    }


def test_baselines_without_a_model():
    text = "Anna lives in Rome. It cost 3.5 in May! 他在北京。她在上海。"
    assert [text[start:end] for start, end in sentences_of(text)] == [
        "Anna lives in Rome.",
        "It cost 3.5 in May!",
        "他在北京。",
        "她在上海。",
    ]
    *_, answer = likest_sentence(TASKS["answer"](), None, None)
    assert answer([(text, "what did it cost in May?")], None)[0].text == "It cost 3.5 in May!"
    *_, answer = likest_choice(None, None, None)
    assert answer([("a b c", "?", ["d", "b c", "a d"])], None).tolist() == [1]
