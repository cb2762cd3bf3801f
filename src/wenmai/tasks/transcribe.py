"""transcribe, frames→M: what is said in a sound.

    WER = (substituted + left out + added words) / words of the reference        CER: the same of characters        (jiwer)

Of texts without spaces between words, such as Chinese ones, the measure is CER. Rungs align (CTC) or write
(models/transcribers.py); how texts are found stands in transcripts.py."""

from collections.abc import Callable

import numpy as np

from wenmai.data import values
from wenmai.data.examples.rows import Examples
from wenmai.data.files.columns import listed, short
from wenmai.data.files.readers import Chunk
from wenmai.data.files.sounds import Clips, unread_notes
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.data.inputs.sounds import Spoken
from wenmai.data.inputs.target_texts import TargetTexts
from wenmai.data.storage import saved as take
from wenmai.data.text.tokenizers import CHINESE
from wenmai.errors import Mistake
from wenmai.layers.ctc import Transcript, least_frames
from wenmai.locale import Message, phrase
from wenmai.tasks import rows, writing
from wenmai.tasks.columns import line_of, sounds_in, texts_in
from wenmai.tasks.contract import (
    Answers,
    Parts,
    Scores,
    Trained,
    TrainingExamples,
    Untrained,
    row_name,
)
from wenmai.tasks.measuring.baselines import usual_text
from wenmai.tasks.measuring.transcripts import measure_transcripts, transcript_terms
from wenmai.tasks.overviews import describe_sounds
from wenmai.tasks.prefix_beam import check_model
from wenmai.tasks.profile import Profile
from wenmai.tasks.transcripts import (
    Search,
    aligner,
    by_alignment,
    decoded,
    frame_log_probs,
    fusion_of,
    heard,
)

JUDGED = 500  # held-out sounds that are transcribed each time training is judged
WEIGHTS, BONUSES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0), (0.0, 1.0, 2.0)  # that `tune` tries
LM_BEAM = 16
MOST = 512  # letters of a text


class Transcribe:
    name, higher_is_better = "transcribe", False
    metrics = ("wer", "cer", "exact_match")
    target = "text"
    texts, history = "tokens", None  # rows have no order in time
    reads = staticmethod(kinds_of_input.learn_spoken)
    estimator_type, output_type = None, np.float32

    inspect_targets, held_out = rows.no_notes, rows.held_out
    running_text = two_texts = False

    def __init__(self):
        self.metric = "wer"
        self.weight, self.bonus = (
            0.5,
            1.0,
        )  # of a language model, until `tune` has chosen them on held-out sounds

    # The data

    @staticmethod
    def fits(names: list[str]) -> bool:
        return "audio" in names and "text" in names

    def inputs_of(self, chunk: Chunk, source: str) -> Clips:
        if "audio" not in chunk.columns:
            raise Mistake(
                "{file} has no column audio (found: {names}), which names the sound files; name it with --columns "
                "audio=NAME,text=NAME.",
                file=source,
                names=listed(chunk.columns),
            )
        return sounds_in(chunk, source)

    def targets_of(self, chunk: Chunk, source: str) -> list[str]:
        if "text" not in chunk.columns:
            raise Mistake(
                "{file} has no column text (found: {names}), which says what is said; name it with --columns "
                "audio=NAME,text=NAME.",
                file=source,
                names=listed(chunk.columns),
            )
        texts = texts_in(chunk, "text", source)
        self.encode(texts, line_of(chunk, source))
        return texts

    def split(self, inputs, targets, *how) -> Parts:
        return rows.split(self, Clips.of(inputs), targets, *how)

    def split_keys(self, inputs, targets) -> tuple:
        """What no two parts share, and what the first must have all kinds of: here, nothing."""
        return Clips.of(inputs).keys, None

    def prepare(self, inputs, targets=None) -> tuple:
        return Clips.of(inputs), targets

    def learn(self, targets, where=row_name) -> list[str]:
        self.encode(targets, where)
        if len(set(targets)) < 2:
            raise Mistake(
                "found one text only ({only}) in {rows} rows; to transcribe, at least two are needed.",
                only=short(targets[0]) if len(targets) else "–",
                rows=len(targets),
            )
        spoken = "".join(targets[:2000])
        self.metric = (
            "cer" if 2 * len(CHINESE.findall(spoken)) > len(spoken.replace(" ", "")) else "wer"
        )
        return []

    def encode(self, targets, where=row_name) -> None:
        """What is said is encoded by its tokenizer; here it is looked at."""
        for row, text in enumerate(targets):
            if not isinstance(text, str):
                raise Mistake(
                    "{where}: expected what is said in the sound, a text, found {type} {value!r}.",
                    where=where(row),
                    type=type(text).__name__,
                    value=str(text)[:40],
                )
            if not text.strip():
                raise Mistake(
                    "{where}: the text is empty; say what is said in the sound, or drop the row.",
                    where=where(row),
                )

    def head(self, inputs) -> Transcript:
        return Transcript.of(inputs.target)

    # Learning

    def learn_inputs(self, inputs, targets, options: dict, framed: bool = False):
        return self.reads(inputs, [tidy(text) for text in targets], **options)

    def continued(self, inputs, targets):
        """Sounds as a run has read them, and texts as it has written them, or as these are."""
        if hasattr(inputs, "target"):
            return inputs
        target = TargetTexts.learn([tidy(text) for text in targets], MOST, tokenizer="characters")
        return Spoken(inputs, target)

    def training_examples(
        self, untrained: Untrained, inputs, targets, numbers: np.ndarray, where
    ) -> TrainingExamples:
        """A text that has more letters than its sound has steps cannot be aligned, and is left out: said, with its row."""
        examples, place = self.encoded(untrained, inputs, targets), rows.places(numbers, where)
        notes, head = writing.target_cut_notes(untrained, examples), aligner(untrained.model)
        if head is None:
            return TrainingExamples(examples, place, notes)
        wanted = np.array(
            [least_frames(tokens[tokens != head.end]) for tokens in examples.written], np.int64
        )
        short_rows = np.flatnonzero(wanted > examples.inputs.lengths)
        if len(short_rows):
            row = int(short_rows[0])
            facts = {
                "where": place(row),
                "wanted": int(wanted[row]),
                "found": int(examples.inputs.lengths[row]),
                "count": len(short_rows),
                "rows": len(examples),
            }
            note = Message(
                "{where}: its text takes {wanted} steps at the least, and the sound has {found}, so that no alignment "
                "exists; {count:,} of the {rows:,} rows are left out for that (--set stack=1 makes more steps)",
                **facts,
            )
            if len(short_rows) == len(examples):
                raise Mistake(note)
            kept = np.setdiff1d(np.arange(len(examples)), short_rows)
            return TrainingExamples(
                examples.take(kept), lambda row: place(int(kept[row])), [*notes, note]
            )
        return TrainingExamples(examples, place, notes)

    def judge(self, untrained: Untrained, parts: Parts, seed: int) -> Callable[[Trained], float]:
        """The character error rate of the most probable tokens: of words there is nothing to see for long."""
        inputs, targets, where = rows.watched(self, parts, seed)
        some = np.sort(np.random.default_rng(0).permutation(len(inputs))[:JUDGED])
        examples = self.examples(
            untrained, values.pick(Clips.of(inputs), some), [targets[row] for row in some], where
        )
        expected = [tidy(targets[row]) for row in some]

        def error(trained: Trained) -> float:
            answers = [one.text for one in heard(trained, examples.inputs, Search())]
            return min(1.0, float(np.divide(*map(np.sum, error_terms(answers, expected, "cer")))))

        return error

    # Answering

    def examples(self, trained: Trained, inputs, targets=None, where=row_name) -> Examples:
        if targets is not None:
            targets = values.listed(targets)
            self.encode(targets, where)
        return self.encoded(trained, Clips.of(inputs), targets)

    def encoded(self, trained: Trained, inputs, targets=None) -> Examples:
        written = (
            None
            if targets is None
            else trained.inputs.target.encode([tidy(text) for text in targets])
        )
        return Examples(
            trained.inputs.encode(inputs), written=written, longest=trained.inputs.longest
        )

    def outputs(self, trained: Trained, examples: Examples):
        """Of every step, log p of every token and of none; of a decoder, of every token of the texts that are to be written."""
        return (
            rows.outputs(self, trained, examples)
            if by_alignment(trained.model)
            else writing.outputs(self, trained, examples)
        )

    def transcribed(
        self,
        trained: Trained,
        inputs,
        *,
        beam: int = 1,
        lm=None,
        lm_weight: float | None = None,
        bonus: float | None = None,
        times: bool = False,
    ) -> Answers:
        """(a Heard for every sound, with notes); silence says nothing."""
        if lm is not None:
            check_model(lm)
            if not by_alignment(trained.model):
                raise Mistake(
                    "a language model goes with rungs that align (CTC), and {rung} writes by a decoder; leave lm out.",
                    rung=trained.rung,
                )
            beam = max(beam, LM_BEAM) if beam == 1 else beam
        search = Search(
            beam,
            lm,
            self.weight if lm_weight is None else lm_weight,
            self.bonus if bonus is None else bonus,
        )
        clips, notes = Clips.of(inputs), []
        texts = heard(trained, self.examples(trained, clips).inputs, search, times)
        for one, clip in zip(texts, clips):
            if clip.silent:
                one.text, one.tokens, one.words = "", [], [] if times else None
        silent = sum(clip.silent for clip in clips)
        if silent:
            notes.append(
                Message(
                    "{count:,} of the {clips:,} sounds are silent from beginning to end: nothing is said in them",
                    count=silent,
                    clips=len(clips),
                )
            )
        window = trained.inputs.source.window
        long = sum(trained.inputs.source.steps(clip) > window for clip in clips)
        if long and not by_alignment(trained.model):
            notes.append(
                Message(
                    "{count:,} of the {clips:,} sounds are longer than the longest that was learned from, and are "
                    "written in pieces of {seconds:.1f} s",
                    count=long,
                    clips=len(clips),
                    seconds=window * trained.inputs.source.step,
                )
            )
        return Answers(texts, notes + unread_notes(clips))

    def spelled(self, trained: Trained, outputs) -> str:
        """The text of the outputs (1, T, V + 1) of one sound."""
        return decoded(trained, outputs[0].detach().cpu().numpy(), Search()).text

    def predict(self, trained: Trained, inputs, **how) -> tuple[np.ndarray, list[str]]:
        """A text for every sound."""
        transcripts = self.transcribed(trained, inputs, **how)
        return np.array([one.text for one in transcripts], object), transcripts.notes

    def predict_proba(self, trained: Trained, inputs):
        raise Mistake(
            "a Transcriber writes texts, of which there is no table; log_prob(sounds, texts) says how probable they "
            "are."
        )

    def answers(self, trained: Trained, inputs, **how) -> Answers:
        """{"text", "log_prob"} a sound; with `times` also "words": {"word", "start", "end"} each, in seconds."""
        transcripts = self.transcribed(trained, inputs, **how)
        return Answers(
            (
                {"text": one.text, "log_prob": round(one.log_prob, 6)}
                | ({} if one.words is None else {"words": one.words})
                for one in transcripts
            ),
            transcripts.notes,
        )

    def hypotheses(self, trained: Trained, inputs, targets, where=row_name, **how) -> Answers:
        self.encode(targets, where)
        return self.transcribed(trained, inputs, **how)

    def evaluate(self, trained: Trained, inputs, targets, where=row_name, **how) -> Scores:
        texts, clips = values.listed(targets), Clips.of(inputs)
        values.check_lengths(clips, texts)
        hypotheses = self.hypotheses(trained, clips, texts, where, **how)
        return Scores(self.scores([one.text for one in hypotheses], texts), hypotheses.notes)

    def score(self, trained: Trained, inputs, targets) -> float:
        """1 − WER (CER): as scikit-learn wants it, more is better."""
        return 1.0 - self.evaluate(trained, inputs, targets)[self.metric]

    def log_prob(self, trained: Trained, inputs, texts) -> tuple[np.ndarray, list[str]]:
        """(log p of each text for its sound (N,), notes): of CTC over all alignments, of a decoder with its end"""
        from wenmai.layers.ctc import text_log_prob

        examples = rows.pairs(self, trained, Clips.of(inputs), texts)
        if not by_alignment(trained.model):
            return writing.text_log_probs(trained, examples), writing.target_cut_notes(
                trained, examples
            )
        sums, head = np.empty(len(examples)), aligner(trained.model)
        for row, log_probs in frame_log_probs(trained, examples.inputs):
            tokens = examples.written[row]
            sums[row] = text_log_prob(log_probs, tokens[tokens != head.end].tolist(), head.blank)
        return sums, writing.target_cut_notes(trained, examples)

    def tune(self, trained: Trained, lm, inputs, targets, beam: int = LM_BEAM) -> dict[str, float]:
        """The weight of a language model and the bonus of a unit that err least on these sounds, which are kept with the
        model."""
        check_model(lm)
        if not by_alignment(trained.model):
            raise Mistake(
                "a language model goes with rungs that align (CTC), and {rung} writes by a decoder; leave lm out.",
                rung=trained.rung,
            )
        texts = [tidy(text) for text in values.listed(targets)]
        frames, tried = dict(frame_log_probs(trained, self.examples(trained, inputs).inputs)), {}
        for weight in WEIGHTS:
            for bonus in BONUSES if weight else (0.0,):
                search = Search(beam, lm, weight, bonus)
                fusion = fusion_of(trained, search)
                answers = [
                    decoded(trained, frames[row], search, fusion=fusion).text
                    for row in range(len(frames))
                ]
                tried[weight, bonus] = self.scores(answers, texts)[self.metric]
        self.weight, self.bonus = min(tried, key=lambda pair: (tried[pair], pair))
        return {
            "lm_weight": self.weight,
            "bonus": self.bonus,
            self.metric: tried[self.weight, self.bonus],
            "without": tried[0.0, 0.0],
        }

    def trace_examples(
        self, trained: Trained, inputs, targets=None
    ) -> tuple[Examples, None, list | None]:
        """Of a decoder without targets, of the texts that it writes itself."""
        if by_alignment(trained.model):
            return self.examples(trained, inputs), None, None
        targets = self.predict(trained, inputs)[0].tolist() if targets is None else targets
        examples = self.encoded(trained, Clips.of(inputs), [text or " " for text in targets])
        return (
            examples,
            None,
            [
                writing.token_names(trained.inputs.target.lines, tokens.tolist())
                for tokens in examples.written
            ],
        )

    # Scores

    def scores(self, answers: list[str], targets: list[str]) -> dict[str, float]:
        return {
            metric: float(np.divide(*map(np.sum, self.score_terms(answers, targets, metric))))
            for metric in self.metrics
        }

    def score_terms(
        self, answers: list[str], targets: list[str], metric: str = ""
    ) -> tuple[np.ndarray, np.ndarray]:
        """Two numbers a row: errors, and words or characters of the reference."""
        metric = metric or self.metric
        if metric == "exact_match":
            same = [tidy(one) == tidy(other) for one, other in zip(answers, targets)]
            return np.array(same, np.float64), np.ones(len(same))
        return error_terms(
            [tidy(text) for text in answers], [tidy(text) for text in targets], metric
        )

    # Keeping

    def to_json(self) -> dict:
        return {
            "name": self.name,
            "metric": self.metric,
            "lm_weight": self.weight,
            "bonus": self.bonus,
        }

    @classmethod
    def from_json(cls, saved: dict) -> "Transcribe":
        task = cls()
        task.metric = take.one_of(saved, "metric", ("wer", "cer"))
        task.weight, task.bonus = take.number(saved, "lm_weight"), take.number(saved, "bonus")
        return task

    profile = Profile(
        phrase("task", "transcribe"),
        measure_transcripts,
        describe_sounds,
        few_rows=(
            Clips.of([(np.full(4000, 0.01 * n, np.float32), 8000) for n in range(1, 5)]),
            ["a b", "c"] * 2,
        ),
        judged="cer",
        terms=transcript_terms,
        baseline=usual_text,
        next_command="transcribe {run} FILE",
        at_once=256,
    )


def tidy(text: str) -> str:
    """Words with one space between them."""
    return " ".join(text.split())


def error_terms(
    answers: list[str], targets: list[str], metric: str
) -> tuple[np.ndarray, np.ndarray]:
    """Of every row (errors, how many words or characters there should be): counted by jiwer, or here where it is missing."""
    try:
        import jiwer
    except ImportError:
        jiwer = None
    errors, sizes = [], []
    for answer, target in zip(answers, targets):
        if jiwer is None:
            answer, target = (
                (answer.split(), target.split()) if metric == "wer" else (answer, target)
            )
            errors.append(edits(answer, target))
            sizes.append(len(target))
            continue
        alignment = (jiwer.process_words if metric == "wer" else jiwer.process_characters)(
            target, answer
        )
        errors.append(alignment.substitutions + alignment.deletions + alignment.insertions)
        sizes.append(alignment.hits + alignment.substitutions + alignment.deletions)
    return np.array(errors, np.float64), np.array(sizes, np.float64)


def edits(answer, target) -> int:
    """Substitutions, deletions and insertions that make one sequence the other, as few as there can be (Levenshtein 1966)."""
    row = list(range(len(target) + 1))
    for number, one in enumerate(answer, 1):
        corner, row[0] = row[0], number
        for place, other in enumerate(target, 1):
            corner, row[place] = (
                row[place],
                min(corner + (one != other), row[place] + 1, row[place - 1] + 1),
            )
    return row[-1]
