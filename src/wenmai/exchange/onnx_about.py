"""about.json, tokenizer.json and example.py beside exported graphs: all that is to be known to ask them."""

import json
from pathlib import Path

import numpy as np

from wenmai.data.inputs.kinds import Frames, Images, Numbers, Texts
from wenmai.data.inputs.labels import Labels
from wenmai.data.inputs.pieces import Pieces
from wenmai.data.inputs.questions import Questions
from wenmai.data.inputs.sides import SPARE, Pairs
from wenmai.data.inputs.sounds import Sounds
from wenmai.data.inputs.stories import LONG, Stories
from wenmai.data.inputs.target_texts import WRITTEN, TargetTexts
from wenmai.data.inputs.tokens import Tokens
from wenmai.data.text import tokenizers
from wenmai.data.text.lines import Lines
from wenmai.exchange import onnx_examples as examples
from wenmai.exchange.library_tokenizers import library_tokenizer
from wenmai.layers.crf import CRF
from wenmai.layers.ctc import CTCHead
from wenmai.layers.heads import ClassHead, NumberHead, TagHead
from wenmai.layers.pretraining import PretrainingHead
from wenmai.layers.questions import ScoreHead, SpanHead
from wenmai.models.encoder_decoder import EncoderDecoder
from wenmai.tasks.transcripts import SPARE as SPOKEN_SPARE

# How what is read becomes tensors, by its kind; and what comes out an answer, by the head.
READS = {
    Texts: examples.TEXTS,
    Tokens: examples.TOKENS,
    Pieces: examples.PIECES,
    Questions: examples.QUESTIONS,
    Numbers: examples.NUMBERS,
    Frames: examples.FRAMES + examples.PADDED_FRAMES,
    Images: examples.IMAGES,
    Labels: examples.LABELS,
    Sounds: examples.SOUNDS + examples.PADDED_FRAMES,
    TargetTexts: examples.SOURCES,
}
ANSWERS = {
    ClassHead: examples.CLASS,
    NumberHead: examples.NUMBER,
    TagHead: examples.TAGS,
    CRF: examples.PATHS,
    SpanHead: examples.SPAN,
    ScoreHead: examples.CHOICE,
    CTCHead: examples.ALIGNED,
}
CALLS = {
    Texts: '"a text" "another"',
    Tokens: """'["words", "of", "a", "row"]'""",
    Questions: """'["context", "question"]'""",
    Pieces: """'["words", "of", "a", "row"]'""",
    Numbers: "1,2,3",
    Frames: "'[[1, 2], [3, 4]]'",
    Images: "picture.npy",
    Labels: "label",
    Sounds: "sound.wav",
    TargetTexts: '"a text" "another"',
    Stories: """'[["a sentence", "another"], "question"]'""",
}


def tokenizer_of(inputs):
    """What cuts texts; words between spaces, which a running text numbers itself, as a tokenizer."""
    if isinstance(inputs, Lines) and inputs.tokenizer is None:
        return tokenizers.Spaces(inputs.words.words(), inputs.lowercase)
    return getattr(inputs, "tokenizer", None)


def known_of(inputs) -> dict:
    """What is to be known of how these inputs are read."""
    known = {"longest": getattr(inputs, "most", None) or inputs.longest}
    if (tokenizer := tokenizer_of(inputs)) is not None:
        special, wrapping = tokenizer.special, getattr(inputs, "wrapping", None)
        before, between, after, second = (
            ([], [special.separator], [], 1)
            if wrapping is None
            else ([*wrapping.before], [*wrapping.between], [*wrapping.after], wrapping.second)
        )
        known |= {
            "tokenizer": tokenizer.kind,
            "lowercase": bool(getattr(tokenizer, "lowercase", False)),
            "special": special.to_json(),
            "before": before,
            "between": between,
            "after": after,
            "second": second,
            "framed": wrapping is not None,
            "end": special.end,
            "opening": special.end if special.begin is None else special.begin,
        }
    if isinstance(inputs, (Tokens, Pieces)):
        known["letters"] = [] if inputs.alphabet is None else inputs.alphabet.tokens
        known["space"] = (
            " "
            if "ByteLevel" in repr(getattr(getattr(tokenizer, "engine", None), "pre_tokenizer", ""))
            else ""
        )
    if isinstance(inputs, Questions):
        known |= {"window": inputs.reading.window, "asked": inputs.reading.asked}
    if isinstance(inputs, (Numbers, Frames, Sounds)):
        known |= {"mean": inputs.mean.tolist(), "deviation": inputs.deviation.tolist()}
    if isinstance(inputs, Sounds):
        made = inputs.features
        known |= {
            "rate": inputs.rate,
            "window_size": made.size,
            "hop": made.hop,
            "stack": inputs.stack,
            "floor": made.floor,
            "normalise": inputs.normalise,
        }
    if isinstance(inputs, Labels):
        known["names"] = inputs.names
    return known


def about(estimator) -> dict:
    inputs, network, task = estimator.inputs_, estimator.model_, estimator.task_
    head, source, writes = (
        network.head,
        getattr(inputs, "source", inputs),
        getattr(inputs, "target", None),
    )
    known = {"task": estimator.task_name, "rung": estimator.rung} | known_of(source)
    if hasattr(task, "classes") and not hasattr(head, "follows"):
        known["labels"] = np.asarray(task.classes).tolist()
    if isinstance(head, CRF):
        known["path_weights"] = [part.tolist() for part in head.path_weights()]
    if isinstance(head, SpanHead):
        known |= {
            "answer_length": task.answer_length or 1,
            "impossible": bool(task.impossible),
            "threshold": float(task.threshold),
        }
    if isinstance(head, CTCHead):
        known["blank"] = head.blank
    if inputs.kind == "lines":
        unknown = inputs.special.unknown
        known |= {
            "context": None if network.carried else network.context,
            "never": [] if unknown is None else [unknown],
        }
    if isinstance(head, PretrainingHead):
        known |= {
            "special_numbers": list(inputs.special.numbers),
            "spaced": inputs.tokenizer.kind not in ("characters", "bytes"),
        }
    if writes is not None:
        unknown = writes.special.unknown
        known |= {
            "end": writes.special.end,
            "never": [] if unknown is None else [unknown],
            "spaced": writes.tokenizer.kind == "bpe",
        } | lengths_of(inputs)
        if isinstance(inputs, Stories):
            known |= {
                "asked": max(1, (source.most - 2) // 2),
                "sentence": LONG,
                "end": source.special.end,
            }
    if isinstance(source, Tokens) or hasattr(head, "follows") or not has_library(source):
        tokens = tokenizer_of(source)
        known |= {"tokens": tokens.tokens} if tokens is not None else {}
    return known


def has_library(inputs) -> bool:
    tokenizer = tokenizer_of(inputs)
    return tokenizer is None or library_tokenizer(tokenizer) is not None


def lengths_of(inputs) -> dict:
    """How many tokens are written at the most: `most`, or, of texts for texts, as many as the source asks for."""
    if isinstance(inputs, Stories):
        return {
            "most": min(inputs.target.most, WRITTEN),
            "usual": inputs.usual + SPARE,
            "growth": 0.0,
            "spare": 0,
        }
    if isinstance(inputs, Pairs):
        return {
            "most": min(inputs.target.most, WRITTEN),
            "usual": inputs.usual,
            "growth": inputs.growth,
            "spare": SPARE,
        }
    spare = SPOKEN_SPARE if isinstance(inputs.source, Sounds) else 0
    return {
        "most": inputs.target.written + spare,
        "usual": inputs.target.written + spare,
        "growth": 0.0,
        "spare": 0,
    }


def example_of(estimator) -> str:
    inputs, network = estimator.inputs_, estimator.model_
    source, head = getattr(inputs, "source", inputs), network.head
    reads, call = (
        READS.get(type(source)),
        CALLS.get(Stories if isinstance(inputs, Stories) else type(source), ""),
    )
    if inputs.kind == "lines":
        reads, answers, call = "", examples.CONTINUED, '"a text to go on with"'
    elif isinstance(network, EncoderDecoder):
        reads = examples.STORIES if isinstance(inputs, Stories) else reads
        reads += "" if "rows" in reads else "rows = None\n"
        answers = (
            examples.COPIES if getattr(network.decoder, "gate", None) is not None else ""
        ) + examples.WRITTEN
    elif isinstance(head, PretrainingHead):
        reads, call = "", '"The [MASK] is green."' if head.masked else CALLS[Texts]
        answers = examples.HIDDEN if head.masked else examples.VECTORS
    else:
        answers = ANSWERS[type(head)]
        if getattr(inputs, "pairs", False) and isinstance(inputs, Texts):
            reads = examples.CHOICES if isinstance(head, ScoreHead) else examples.PAIRS
            call = (
                """'["text", "question", ["choice", "choice"]]'"""
                if isinstance(head, ScoreHead)
                else """'["text", "text"]'"""
            )
    jieba = getattr(tokenizer_of(source), "kind", None) == "jieba"
    return examples.example(f"python example.py {call}", reads, answers, jieba)


def write_beside(estimator, folder: Path) -> None:
    """All but graphs and README."""
    inputs = estimator.inputs_
    source, writes = getattr(inputs, "source", inputs), getattr(inputs, "target", None)
    for name, tokenizer in (
        ("tokenizer", tokenizer_of(source)),
        ("target_tokenizer", writes and writes.tokenizer),
    ):
        engine = None if tokenizer is None else library_tokenizer(tokenizer)
        if engine is not None:
            (folder / f"{name}.json").write_text(engine.to_str(pretty=True), encoding="utf-8")
    if isinstance(source, Sounds):
        np.save(folder / "mel.npy", source.features.weights.numpy())
    written = json.dumps(about(estimator), ensure_ascii=False, indent=1)
    (folder / "about.json").write_text(written + "\n", encoding="utf-8")
    (folder / "example.py").write_text(example_of(estimator), encoding="utf-8")
