"""Translator: an estimator that reads a text and writes another: in another language, or shorter.

`Translator("attention").fit(sources, targets).predict(sources)`; then `translate` (beam search, the n best, or drawn by chance),
`stream`, `answers` (with scores, and where it looked), `log_prob`, `evaluate`."""

from collections.abc import Iterator

from wenmai.describing import Documented
from wenmai.errors import Mistake, warn_of
from wenmai.estimator import Estimator, text_log_prob
from wenmai.tasks import writing
from wenmai.tasks.contract import Answers
from wenmai.tasks.decoding import Choice, continued, together
from wenmai.tasks.hypotheses import own_words
from wenmai.tasks.translate import BEAM, PENALTY


class Translator(Estimator):
    __doc__ = Documented(
        '`Translator("transformer").fit(sources, targets).predict(["A dog runs."])`'
    )

    task_name, log_prob = "translate", text_log_prob

    def translate(
        self,
        inputs,
        *,
        beam: int = BEAM,
        penalty: float = PENALTY,
        strict: bool = False,
        precision: str = "float32",
    ) -> list[str]:
        """The best that a search through `beam` beginnings at once finds: that of the highest Σ log p / length^penalty. A beam
        of 1 takes the most probable token at every step. A text that is too long is cut, and this is told, or, if `strict`,
        refused. In bf16 many texts are written faster, and a close choice may fall otherwise."""
        texts, notes = self.task_.predict(
            self.trained(), inputs, beam=beam, penalty=penalty, strict=strict, precision=precision
        )
        warn_of(notes)
        return texts.tolist()

    def hypotheses(self, inputs, targets, *, beam: int = BEAM, penalty: float = PENALTY) -> Answers:
        """What `evaluate` scores: the best Hypothesis for each, with its tokens; and notes."""
        return self.task_.hypotheses(self.trained(), inputs, targets, beam=beam, penalty=penalty)

    def sample(
        self,
        input: str,
        count: int = 1,
        *,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        strict: bool = False,
    ) -> list[str]:
        """So many texts for one, drawn by chance."""
        if count < 1:
            raise Mistake(
                "count={count}: expected 1 or more, how many texts are written.", count=count
            )
        trained = self.trained()
        encoded, notes = self.task_.sources(trained, [input] * count, strict)
        warn_of(notes)
        choice, most = (
            Choice(temperature, top_k, top_p),
            int(trained.inputs.most(encoded.lengths).max()),
        )
        first, state = writing.begin(trained, encoded, most)
        chosen, _ = together(
            writing.stepper(trained),
            first,
            state,
            most,
            choice,
            list(range(seed, seed + count)),
            trained.inputs.target.special.end,
            1,
        )
        return [writing.text_of(trained, tokens, own_words(encoded, 0)) for tokens in chosen]

    def stream(
        self,
        input: str,
        *,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        strict: bool = False,
    ) -> Iterator[str]:
        """A text for one text, piece by piece, each as soon as it is chosen; the most probable token at every step unless a
        temperature is given."""
        trained = self.trained()
        encoded, notes = self.task_.sources(trained, [input], strict)
        warn_of(notes)
        choice, most = (
            Choice(temperature, top_k, top_p),
            int(trained.inputs.most(encoded.lengths).max()),
        )
        first, state = writing.begin(trained, encoded, most)
        chosen = continued(writing.stepper(trained), first, state, most, choice, seed)
        yield from trained.inputs.target.knowing(own_words(encoded, 0)).pieces(map(int, chosen))
