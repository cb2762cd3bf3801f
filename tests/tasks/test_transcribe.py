"""transcribe: windows, streams, times of words, a language model, silence, and texts that no alignment fits."""

import io
import json
import sys
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wenmai
from wenmai.cli.commands import main
from wenmai.data.examples.sequences import Sequences
from wenmai.errors import Mistake
from wenmai.estimators import Classifier, LanguageModel, Transcriber
from wenmai.layers.ctc import greedy
from wenmai.tasks import transcripts
from wenmai.tasks.prefix_beam import LanguageFusion
from wenmai.tasks.transcribe import edits, error_terms, tidy
from wenmai.tasks.transcripts import Search, decoded, frame_log_probs, joined

soundfile = pytest.importorskip("soundfile")
RATE, TONES = 8000, {"a": 300, "b": 800, "c": 1800, " ": 0}


def said(text: str, generator) -> np.ndarray:
    """A tone of 80 ms for each letter, with 30 ms of near silence behind it."""
    parts = [np.sin(2 * np.pi * TONES[letter] * np.arange(640) / RATE) for letter in text]
    samples = np.concatenate([np.append(part, np.zeros(240)) for part in parts])
    return (0.3 * samples + 0.01 * generator.normal(size=len(samples))).astype(np.float32)


def rows(count: int = 60, seed: int = 0) -> tuple[list, list[str]]:
    generator = np.random.default_rng(seed)
    texts = [
        " ".join(
            "".join(generator.choice(list("abc"), generator.integers(1, 3)))
            for _ in range(generator.integers(1, 4))
        )
        for _ in range(count)
    ]
    return [(said(text, generator), RATE) for text in texts], texts


@cache
def trained(rung: str = "lstm", **options) -> Transcriber:
    known = {
        "hidden": 32,
        "embed": 24,
        "layers": 1,
        "epochs": 30,
        "learning_rate": 0.01,
        "mels": 20,
    } | options
    return Transcriber(rung, validation=0.0, **known).fit(*rows())


def test_it_hears_what_it_has_not_heard_before():
    model, (sounds, texts) = trained(), rows(30, seed=1)
    scores = model.evaluate(sounds, texts)
    assert (
        scores["wer"] < 0.2
        and scores["cer"] < 0.05
        and model.score(sounds, texts) == pytest.approx(1 - scores["wer"])
    )
    assert (
        model.predict(sounds).tolist()
        == model.transcribe(sounds)
        == [one["text"] for one in model.answers(sounds)]
    )
    import jiwer

    assert scores["wer"] == pytest.approx(jiwer.wer(texts, model.transcribe(sounds)))
    assert scores["cer"] == pytest.approx(jiwer.cer(texts, model.transcribe(sounds)))


def test_times_of_words_are_where_they_are_said():
    model, generator = trained(), np.random.default_rng(5)
    (answer,) = model.answers([(said("ab c ba", generator), RATE)], times=True)
    assert [word["word"] for word in answer["words"]] == ["ab", "c", "ba"]
    for word, (start, end) in zip(answer["words"], ((0, 0.22), (0.33, 0.44), (0.55, 0.77))):
        assert start - 0.1 <= word["start"] < word["end"] <= end + 0.1


def test_a_long_sound_is_read_in_windows_that_overlap():
    model, generator = trained(), np.random.default_rng(6)
    texts = ["".join(generator.choice(list("abc"), 2)) for _ in range(20)]
    sound = said(" ".join(texts), generator)
    assert (
        model.inputs_.source.steps(wenmai.sounds([(sound, RATE)])[0])
        > 3 * model.inputs_.source.window
    )
    heard = model.transcribe([(sound, RATE)])[0]
    import jiwer

    assert jiwer.cer(" ".join(texts), heard) < 0.15


def test_windows_are_joined_in_the_middle_of_their_overlap():
    whole = np.arange(20)[:, None].astype(float)
    parts = [(start, whole[start : start + 8]) for start in (0, 6, 12)]
    np.testing.assert_array_equal(joined(parts), whole)
    marked = joined([(0, np.zeros((8, 1))), (4, np.ones((8, 1)))])
    assert marked[:, 0].tolist() == [0] * 6 + [1] * 6


@pytest.mark.slow
def test_what_is_heard_while_it_comes_is_what_is_heard_in_the_whole():
    model, (sounds, _) = trained(bidirectional=False, normalise="corpus"), rows(8, seed=2)
    for samples, rate in sounds:
        whole = decoded(
            model.trained(),
            dict(frame_log_probs(model.trained(), model.examples([(samples, rate)]).inputs))[0],
            Search(),
        )
        for pieces in (1, 7, 40):
            assert " ".join(model.stream(np.array_split(samples, pieces), rate)) == " ".join(
                whole.text.split()
            )


@pytest.mark.parametrize(
    ("options", "sentence"), [({}, "reads one way"), ({"bidirectional": False}, "normalise=corpus")]
)
def test_what_cannot_be_heard_while_it_comes_is_said(options, sentence):
    with pytest.raises(Mistake, match=sentence):
        list(trained(**options).stream([np.zeros(800)], RATE))


@pytest.mark.each_value
@pytest.mark.parametrize("tokenizer", ["spaces", "characters"])
def test_a_language_model_helps_and_its_weight_is_chosen(tokenizer):
    model, generator = trained(), np.random.default_rng(3)
    lm = LanguageModel("ngram", order=3, tokenizer=tokenizer).fit(["ab c ab", "ab c ba"] * 30)
    texts = ["ab c ab", "ab c ba"] * 8
    sounds = [
        (
            said(text, generator)
            + 0.25 * generator.normal(size=len(text) * 880).astype(np.float32),
            RATE,
        )
        for text in texts
    ]
    chosen = model.tune(lm, sounds, texts, beam=8)
    assert chosen["wer"] <= chosen["without"] and chosen["lm_weight"] == model.task_.weight
    assert model.evaluate(sounds, texts, lm=lm, beam=8)["wer"] == pytest.approx(chosen["wer"])
    assert type(model.task_).from_json(model.task_.to_json()).to_json() == model.task_.to_json()


def test_a_word_that_has_begun_is_judged_by_the_best_that_it_may_become():
    lm = LanguageModel("ngram", order=2, tokenizer="spaces").fit(["ab c", "ab ba", "cb ab"] * 20)
    letters = "abc "
    fusion = LanguageFusion(lm, list(letters), 1.0, 0.0)

    def score(text: str) -> float:
        return fusion(tuple(letters.index(letter) for letter in text))

    after = lm.advance(lm.start(), "ab")[1]
    follow = {word: lm.advance(after, word)[0] for word in ("ab", "ba", "c", "cb")}
    assert score("ab c") - score("ab ") == pytest.approx(max(follow["c"], follow["cb"]))
    assert score("ab cb") - score("ab ") == pytest.approx(follow["cb"])
    assert score("ab bb") - score("ab ") == pytest.approx(
        lm.advance(after, "bb")[0]
    )  # no word begins so
    assert score("ab ba ") == pytest.approx(score("ab ") + follow["ba"])


def test_a_long_sound_is_decoded_in_parts_as_in_one(monkeypatch):
    model, generator = trained(), np.random.default_rng(6)
    text = " ".join(["ab", "c", "ba", "bc"] * 12)
    sounds = [(said(text, generator), RATE)]
    whole, searched = model.answers(sounds, times=True)[0], model.transcribe(sounds, beam=4)
    monkeypatch.setattr(transcripts, "LONG", 60)
    parts = model.answers(sounds, times=True)[0]
    assert parts["text"] == whole["text"] and model.transcribe(sounds, beam=4) == searched
    assert [word["word"] for word in parts["words"]] == parts["text"].split()
    assert all(
        word["end"] <= after["start"] for word, after in zip(parts["words"], parts["words"][1:])
    )


@given(
    st.lists(st.sampled_from("ab cé"), max_size=12),
    st.lists(st.sampled_from("ab cé"), min_size=1, max_size=12),
)
def test_errors_are_those_that_jiwer_counts(answer, target):
    answer, target = (tidy("".join(letters)) for letters in (answer, target))
    for metric, cut in (("wer", str.split), ("cer", str)) if target else ():
        errors, sizes = error_terms([answer], [target], metric)
        assert edits(cut(answer), cut(target)) == errors[0] and len(cut(target)) == sizes[0]


@pytest.mark.slow
def test_filters_over_time_and_frequency_hear_too():
    model, (sounds, texts) = trained(convolutions=1, epochs=30), rows(20, seed=1)
    assert model.evaluate(sounds, texts)["cer"] < 0.3
    alone = [model.log_prob([sound], [text])[0] for sound, text in zip(sounds[:4], texts)]
    np.testing.assert_allclose(
        model.log_prob(sounds, texts)[:4], alone, rtol=1e-4
    )  # padding changes nothing
    with pytest.raises(Mistake, match="look ahead"):
        list(
            trained(convolutions=1, epochs=1, bidirectional=False, normalise="corpus").stream(
                [np.zeros(800)], RATE
            )
        )


def test_files_that_cannot_be_read_are_left_out_where_that_is_asked(run, tmp_path):
    sounds, _ = rows(2)
    soundfile.write(tmp_path / "a.wav", sounds[0][0], RATE)
    (tmp_path / "b.wav").write_bytes(b"")
    (tmp_path / "m.csv").write_text("audio\na.wav\nb.wav\n")
    trained().save(tmp_path / "run")
    for named in ([f"{tmp_path}/a.wav", f"{tmp_path}/b.wav"], ["--file", f"{tmp_path}/m.csv"]):
        assert "is empty: found 0 bytes" in run("transcribe", str(tmp_path / "run"), *named)
        told = run("transcribe", str(tmp_path / "run"), *named, "--skip-bad")
        assert "a.wav" in told and "left out 1 of the sounds" in told


def test_no_language_model_without_alignment():
    with pytest.raises(Mistake, match="is no language model"):
        trained().transcribe(rows(1)[0], lm="ngram")


@pytest.mark.parametrize("rung", ["attention", "transformer"])
def test_decoders_write_and_align_too(rung):
    options = (
        {"hidden": 32, "embed": 24}
        if rung == "attention"
        else {"width": 32, "layers": 1, "decoder": "attention"}
    )
    model = Transcriber(rung, validation=0.0, mels=20, epochs=3, **options).fit(*rows(30))
    sounds, texts = rows(4, seed=3)
    (answer, *_) = model.answers(sounds, times=True, beam=3)
    assert {"text", "log_prob", "words"} <= set(answer) and np.isfinite(
        model.log_prob(sounds, texts)
    ).all()
    with pytest.raises(Mistake, match="writes by a decoder"):
        model.transcribe(sounds, lm=LanguageModel("ngram", order=2, tokenizer="spaces").fit(texts))
    losses = {
        loss.name
        for loss in model.model_.losses(model.examples(sounds, texts).batch(np.arange(4)))[0]
    }
    assert losses == {"next token", "ctc"}


def test_ctc_says_how_probable_a_text_is():
    model, (sounds, texts) = trained(), rows(5, seed=4)
    right = model.log_prob(sounds, texts)
    assert (right > model.log_prob(sounds, ["c a b c"] * 5)).all() and (right <= 0).all()


def test_silence_says_nothing_and_ten_milliseconds_are_answered():
    answers = trained().answers([(np.zeros(RATE), RATE), (np.full(80, 0.1, np.float32), RATE)])
    assert answers[0]["text"] == "" and any("silent" in str(note) for note in answers.notes)


def test_a_text_that_is_longer_than_its_sound_is_left_out_and_said():
    sounds, texts = rows(20)
    texts[3] = "abc abc abc " * 9
    model = Transcriber("gru", validation=0.0, hidden=8, embed=8, layers=1, steps=3).fit(
        sounds, texts
    )
    assert any(
        "row 4: its text takes" in str(note) and "1 of the 20 rows" in str(note)
        for note in model.notes_
    )
    assert all(np.isfinite(progress.loss) for progress in model.progress_)
    with pytest.raises(Mistake, match="no alignment exists"):
        Transcriber("gru", validation=0.0, steps=3).fit(sounds[:2], ["abc " * 40, "cba " * 40])


def test_an_empty_text_and_one_text_alone_are_refused():
    sounds, texts = rows(4)
    with pytest.raises(Mistake, match="row 2: the text is empty"):
        Transcriber("lstm", steps=1).fit(sounds, [texts[0], " ", *texts[2:]])
    with pytest.raises(Mistake, match="found one text only"):
        Transcriber("lstm", steps=1).fit(sounds, ["a"] * 4)
    with pytest.raises(Mistake, match="there is no such file"):
        Transcriber("lstm", steps=1).fit(["no.wav", "none.wav"], ["a", "b"])


def test_changes_in_training_keep_shapes_and_finite_numbers():
    model = Transcriber(
        "lstm",
        steps=12,
        hidden=8,
        embed=8,
        layers=1,
        speed=0.2,
        pitch=0.1,
        noise=0.5,
        masks=2,
        validation=0.0,
    )
    model.fit(*rows(20))
    assert all(np.isfinite(progress.loss) for progress in model.progress_)
    batch = model.examples(*rows(4)).batch(np.arange(4))
    changes = model.model_.input.changes
    frames, mask = changes(batch.inputs, batch.mask)
    assert (
        frames.shape[:2] == mask.shape
        and frames.shape[2] == batch.inputs.shape[2]
        and frames.isfinite().all()
    )
    assert (mask.sum(1) - batch.mask.sum(1)).abs().max() > 0


def test_digits_by_every_kind_of_rung_with_no_special_case():
    sounds, texts = rows(40)
    labels = [text[0] for text in texts]
    for rung in ("softmax", "perceptron", "logistic"):
        assert (
            Classifier(rung, validation=0.0)
            .fit(wenmai.sounds(sounds), labels)
            .score(wenmai.sounds(sounds), labels)
            > 0.8
        )


# The command line


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for row, ((samples, rate), text) in enumerate(zip(*rows(24))):
        soundfile.write(f"{row}.wav", samples, rate)
        with open("said.csv", "a", encoding="utf-8") as file:
            file.write(("audio,text\n" if not row else "") + f"{row}.wav,{text}\n")

    def called(*arguments) -> str:
        monkeypatch.setattr(sys, "argv", ["wenmai", *arguments])
        try:
            main()
        except SystemExit as end:
            assert end.code in (None, 0, 2)
        shown = capsys.readouterr()
        return shown.out + shown.err

    return called


def test_train_and_transcribe(run, monkeypatch):
    small = ("--set", "hidden=8", "--set", "embed=8", "--set", "layers=1", "--set", "steps=4")
    assert "kept in runs/said-lstm" in run(
        "train",
        "lstm",
        "said.csv",
        *small,
        "--set",
        "bidirectional=false",
        "--set",
        "normalise=corpus",
    )
    told = json.loads(
        run("transcribe", "runs/said-lstm", "0.wav", "1.wav", "--times", "--json").splitlines()[-1]
    )
    assert len(told["answers"]) == 2 and all(
        {"text", "words"} <= set(answer) for answer in told["answers"]
    )
    assert "there is no such file" in run("transcribe", "runs/said-lstm", "none.wav")
    assert "there is nothing to hear" in run("transcribe", "runs/said-lstm")
    assert (
        run("transcribe", "runs/said-lstm", "--file", "said.csv", "--out", "heard.jsonl")
        is not None
    )
    with open("heard.jsonl", encoding="utf-8") as file:
        assert len(file.readlines()) == 24
    samples = (rows(1)[0][0][0] * 32767).astype("<i2").tobytes()
    monkeypatch.setattr(
        sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(samples)))
    )
    assert '"answers"' in run("transcribe", "runs/said-lstm", "-", "--rate", "8000", "--json")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(b""))))
    assert "standard input is empty" in run("transcribe", "runs/said-lstm", "-")


def test_greedy_is_the_beam_of_one():
    model, (sounds, _) = trained(), rows(4, seed=8)
    frames = dict(frame_log_probs(model.trained(), model.examples(sounds).inputs))
    assert isinstance(model.examples(sounds).inputs, Sequences)
    for row, text in enumerate(model.transcribe(sounds)):
        tokens = greedy(frames[row], model.model_.head.blank)
        assert model.inputs_.target.text(tokens) == text


def test_one_task_starts_from_the_other():
    sounds, texts = rows(24)
    labels, small = [text[0] for text in texts], {"validation": 0.0, "steps": 2}
    digits = Classifier("gru", hidden=8, embed=8, **small).fit(wenmai.sounds(sounds), labels)
    heard = Transcriber("gru", **small).fit(sounds, texts, start=digits)
    assert len(heard.transcribe(sounds[:3])) == 3
    again = Classifier("gru", **small).fit(wenmai.sounds(sounds), labels, start=heard)
    assert set(again.predict(wenmai.sounds(sounds))) <= set(labels)
