"""Whole files of every kind that Wenmai reads, for `fuzzing` to damage."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import re
import struct
import tempfile
import zlib
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path


@dataclass
class Seed:
    """Whole files and what is to be opened; `damaged` names those that may be damaged, with the shape of what is inside."""

    files: dict[str, bytes]
    damaged: dict[str, str]
    source: str = "."  # what is opened, inside the folder
    more: dict = field(default_factory=dict)
    packed: str = ""  # how the damaged file is to be compressed, where it is
    refused: bool = False  # what is whole, and yet nothing that can be read
    sums: tuple[str, ...] = ()  # files whose format has checksums over all that matters


PACK = {
    "": bytes,
    ".gz": partial(gzip.compress, compresslevel=1, mtime=0),
    ".xz": partial(lzma.compress, preset=0),
    ".zst": lambda data: _zstandard().ZstdCompressor(level=1, write_checksum=True).compress(data),
}


UNPACK = {
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".zst": lambda data: _zstandard().ZstdDecompressor().decompress(data),
}


@cache
def _zstandard():
    import zstandard

    return zstandard


def text_seeds(
    ending: str, shape: str, *contents: str, columns: dict | None = None, encodings=True
) -> list[Seed]:
    """Every content plain; the first one also packed and in other encodings, of which UTF-16 is to be refused."""

    def seed(data: bytes, packed: str = "", refused: bool = False) -> Seed:
        name = f"given{ending}{packed}"
        more = {"columns": columns} if columns else {}
        return Seed({name: PACK[packed](data)}, {name: shape}, name, more, packed, refused)

    first = contents[0]
    seeds = [seed(content.encode()) for content in contents]
    seeds += [seed(first.encode(), packed) for packed in PACK if packed]
    if encodings:
        seeds += [seed(first.encode(name)) for name in ("utf-8-sig", "gb18030")]
        seeds.append(seed(first.encode("utf-16"), refused=True))
        seeds.append(seed(first.encode("gb18030"), ".gz"))
    return seeds


def lines_of(*rows: object) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


CSV = (
    'text,label\n"a, b",x\n文脉相承，生生不息,y\n"say ""hi""",x\n"two\nlines",y\nplain,x\n'
    + "".join(f"row {n},{'xy'[n % 2]}\n" for n in range(6))
)
TABLE = "width,height,target\n" + "".join(f"{n / 2},{n * n},{3 * n}\n" for n in range(9))
ROWS = [{"text": "a b", "label": "x"}, {"text": "文脉，相承", "label": "y"}]
ROWS += [{"text": f"row {n}", "label": "xy"[n % 2]} for n in range(5)]
PAIRS = [{"text_a": f"one {n}", "text_b": "two", "label": n % 2} for n in range(5)]
TAGGED = [{"tokens": [f"Ada{n}", "saw", "文"], "tags": ["B-PER", "O", "B-LOC"]} for n in range(4)]
STEPS = [
    {"inputs": [3, 5, 1.5], "targets": [3, 8, 9.5]},
    {"inputs": [1], "targets": [1]},
    {"inputs": [2, 2], "targets": [2, 4]},
]
FRAMES = [{"inputs": [[1, 2], [3, 4], [n, n]], "target": n} for n in range(4)]
QUESTION = {"id": "q1", "question": "Who?", "answers": [{"text": "Ada", "answer_start": 0}]}
SQUAD = {
    "version": "1",
    "data": [
        {"title": "t", "paragraphs": [{"context": "Ada saw 文脉.", "qas": [QUESTION, QUESTION]}]}
    ],
}
STORY = "".join(
    f"1 Ada went to Rome{n}.\n2 文 slept.\n3 Where is Ada? \tRome{n}\t1\n4 Bob left.\n5 Who left?\tBob\t4\n"
    for n in range(3)
)
CHOICES = [
    [
        [f"男：你好{n}。", "Ada: Hi."],
        [{"question": "Who?", "choice": ["男", "Ada"], "answer": "Ada"}],
        f"1-{n}",
    ]
    for n in range(3)
]
CHOSEN = "context,question,choices,answer\n" + "".join(
    f"It rains {n}.,Is it dry?,yes|no,no\n" for n in range(4)
)
CONLL = "-DOCSTART- -X- O\n\n" + "".join(
    f"Ada NNP B-PER\nsaw VBD O\nRome{n} NNP B-LOC\n文 NN O\n\n" for n in range(3)
)
UNIVERSAL = "".join(
    f"# sent_id = {s}\n1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n1\tdo\tdo\tAUX\tVB\tF=1\t0\troot\t_\t_\n"
    f"2\tn't{s}\tnot\tPART\tRB\t_\t1\tadv\t_\t_\n\n"
    for s in range(3)
)


def aligned() -> list[Seed]:
    seeds = []
    for packed in PACK:
        texts = {f"given.en{packed}": "one\ntwo\nthree\n", f"given.zh{packed}": "一\n二\n三\n"}
        files = {name: PACK[packed](text.encode()) for name, text in texts.items()}
        seeds.append(
            Seed(
                files,
                dict.fromkeys(files, "text"),
                f"given.en{packed}",
                {"target": f"given.zh{packed}"},
                packed,
            )
        )
    return seeds


def labels() -> list[Seed]:
    seeds = []
    for packed in PACK:
        texts = {"bad": "a bad one\nworse\n", "good": "a good one\n好\nbetter\n"}
        files = {
            f"given-{name}.txt{packed}": PACK[packed](text.encode()) for name, text in texts.items()
        }
        seeds.append(Seed(files, dict.fromkeys(files, "text"), packed=packed))
    return seeds


def idx() -> list[Seed]:
    image = struct.pack(">IIII", 0x803, 5, 3, 4) + bytes(range(60))
    label = struct.pack(">II", 0x801, 5) + bytes([0, 1, 2, 1, 0])
    seeds = []
    for packed in PACK:
        files = {
            f"train-images-idx3-ubyte{packed}": PACK[packed](image),
            f"train-labels-idx1-ubyte{packed}": PACK[packed](label),
        }
        seeds += [
            Seed(files, dict.fromkeys(files, "idx"), source, packed=packed)
            for source in (".", next(iter(files)))
        ]
    return seeds


def pictures() -> list[Seed]:
    import numpy as np
    from PIL import Image

    grey = Image.fromarray(np.arange(48, dtype=np.uint8).reshape(6, 8) * 5)
    colour = Image.fromarray(np.arange(90, dtype=np.uint8).reshape(5, 6, 3) * 2)
    exif = Image.Exif()
    exif[0x0112] = 6

    def saved(image, format, **more) -> bytes:
        out = io.BytesIO()
        image.save(out, format, **more)
        return out.getvalue()

    deep = Image.fromarray(np.arange(48, dtype=np.uint16).reshape(6, 8) * 1000)
    seeds = []
    for first in (
        saved(grey, "PNG"),
        saved(colour, "PNG"),
        saved(colour.quantize(8), "PNG", transparency=0),
        saved(deep, "PNG"),
        saved(grey, "JPEG"),
        saved(colour, "JPEG", exif=exif),
        saved(colour, "JPEG", progressive=True),
    ):
        kind = "png" if first[1:4] == b"PNG" else "jpg"
        files = {
            "given.csv": f"image,label\na.{kind},x\nsmall/b.png,y\na.{kind},y\n".encode(),
            f"a.{kind}": first,
            "small/b.png": saved(grey, "PNG"),
        }
        sums = tuple(name for name in files if name.endswith(".png"))
        seeds.append(
            Seed(
                files,
                {f"a.{kind}": kind, "small/b.png": "png", "given.csv": "csv"},
                "given.csv",
                sums=sums,
            )
        )
    return seeds


def sounds() -> list[Seed]:
    import numpy as np
    import soundfile

    samples = 0.3 * np.sin(np.arange(2000) * 0.3)
    seeds = []
    for kind, subtype in (
        ("wav", "PCM_16"),
        ("wav", "PCM_U8"),
        ("wav", "FLOAT"),
        ("flac", "PCM_16"),
        ("ogg", "VORBIS"),
    ):
        out = io.BytesIO()
        soundfile.write(out, samples, 8000, subtype, format=kind)
        files = {
            "given.csv": f"audio,text\na.{kind},one\nb.wav,two\na.{kind},two\nb.wav,one\n".encode(),
            f"a.{kind}": out.getvalue(),
        }
        out = io.BytesIO()
        soundfile.write(out, np.column_stack([samples] * 2), 11025, format="wav")
        files["b.wav"] = out.getvalue()
        seeds.append(
            Seed(files, {f"a.{kind}": "bytes", "b.wav": "bytes", "given.csv": "csv"}, "given.csv")
        )
    return seeds


def parquet() -> list[Seed]:
    import pyarrow
    from pyarrow import parquet

    tables = [
        {"text": ["a", "文脉", "c", "d"], "label": ["x", "y", "x", "y"]},
        {"width": [1.5, 2.5, 3.5], "height": [1, 2, 3], "target": [3.0, 4.0, 5.0]},
        {"tokens": [["a", "b"], ["c", "b"], ["d", "b"]], "tags": [["O", "B-X"]] * 3},
        {"inputs": [[1.0, 2.0], [3.0]], "targets": [[1.0, 3.0], [3.0]]},
        {"text": ["a", None, "c"], "label": [1, 2, None]},
    ]
    seeds = []
    for number, columns in enumerate(tables):
        for compression in ("none", "snappy", "zstd")[: 3 if number == 0 else 1]:
            out = io.BytesIO()
            parquet.write_table(
                pyarrow.table(columns), out, compression=compression, store_schema=number % 2 == 0
            )
            refused = None in columns.get("label", ())
            seeds.append(
                Seed(
                    {"given.parquet": out.getvalue()},
                    {"given.parquet": "parquet"},
                    "given.parquet",
                    refused=refused,
                )
            )
    return seeds


def vectors() -> list[Seed]:
    text = "film 0.5 -1 2e-1\ngood 1 2 3\n好 0 0 1\n"
    return text_seeds(".txt", "text", text, f"3 3\n{text}", encodings=False)


def matrices() -> list[Seed]:
    import numpy as np
    import pyarrow
    from pyarrow import parquet

    seeds = []
    for kind in ("<f4", ">f8", "<f2", "<i4"):
        out = io.BytesIO()
        np.save(out, np.arange(6).reshape(3, 2).astype(kind))
        seeds.append(
            Seed(
                {"given.npy": out.getvalue(), "words.txt": "film\ngood\n好".encode()},
                {"given.npy": "npy", "words.txt": "text"},
                "given.npy",
            )
        )
    words = io.BytesIO()
    parquet.write_table(pyarrow.table({"word": ["good", "film", "好"], "at": [1, 0, 2]}), words)
    seeds.append(
        Seed(
            {"given.npy": seeds[0].files["given.npy"], "words.parquet": words.getvalue()},
            {"given.npy": "npy", "words.parquet": "parquet"},
            "given.npy",
        )
    )
    return seeds


TEXTS = [
    "a good film",
    "a bad film, 好",
    "good good",
    "文脉 is 文 and 脉",
    "badly filmed",
    "a good bad film",
] * 2


TOKENIZERS = ("characters", "words", "jieba", "bpe", "wordpiece", "unigram")


def tokenizer(kind: str) -> list[Seed]:
    from wenmai.data.inputs.kinds import Texts
    from wenmai.data.text import tokenizers

    seeds = []
    for lowercase in (False, True):
        learned = Texts.learn(
            TEXTS,
            "random",
            64,
            tokenizer=kind,
            vocabulary=60 if kind != "bpe" else 290,
            lowercase=lowercase,
        )
        if (
            kind == "unigram"
        ):  # whose scores are others each time it is learned: the same number has to give the same input
            saved = learned.tokenizer.to_json()
            tokens = *tokenizers.SPECIAL, *"▁abdfgilmos文脉好", "film", "▁good"
            saved["engine"]["model"]["vocab"] = [
                [token, -1.5 - at / 8] for at, token in enumerate(tokens)
            ]
            learned = Texts(tokenizers.from_json(saved), False, "words", 64, "random")
        seeds.append(
            Seed(
                {"inputs.json": json.dumps(learned.to_json(), ensure_ascii=False).encode()},
                {"inputs.json": "json"},
            )
        )
    return seeds


SMALL = {"epochs": 1, "validation": 0.0}
DOCUMENTS = ["a good film\n文脉 is 文 and 脉\nbadly filmed", "a bad film, 好\ngood good"] * 2


def estimators() -> dict[str, tuple]:
    """A run of each of these: the estimator, what it learns from, one input."""
    from wenmai.estimators import Classifier, Encoder, LanguageModel, Regressor, Tagger, Transcriber

    labels = ["x", "y"] * 6
    tokens = [["Ada", "saw", "Rome"], ["No", "one"], ["文", "脉"]] * 2
    tags = [["B-PER", "O", "B-LOC"], ["O", "O"], ["B-LOC", "I-LOC"]] * 2
    table = [[n, n * n, 1.0] for n in range(6)]
    return {
        "ngram": (LanguageModel("ngram", order=3, tokenizer="spaces"), TEXTS, None),
        "ngram-small": (
            LanguageModel("ngram", order=3, layout="small", tokenizer="characters"),
            TEXTS,
            None,
        ),
        "ngram-classify": (Classifier("ngram", validation=0.0), TEXTS, labels),
        "softmax": (Classifier("softmax", **SMALL), TEXTS, labels),
        "logistic": (Classifier("logistic", balance=True, epochs=1), table, ["x", "y"] * 3),
        "perceptron": (Tagger("perceptron", **SMALL), tokens, tags),
        "linear": (Regressor("linear"), table, list(range(6))),
        "mlp": (
            Classifier("mlp", embed=4, hidden=4, tokenizer="bpe", vocabulary=270, **SMALL),
            TEXTS,
            labels,
        ),
        "crf": (Tagger("lstm", crf=True, embed=4, hidden=4, **SMALL), tokens, tags),
        "gru": (
            Regressor("gru", hidden=4, **SMALL),
            [[[1.0], [2.0]], [[3.0], [1.0], [2.0]]] * 2,
            [[1, 3], [3, 4, 6]] * 2,
        ),
        "cnn": (
            Classifier("cnn", embed=4, filters=2, characters="auto", **SMALL),
            [(a, a) for a in TEXTS],
            labels,
        ),
        "said": (
            Transcriber("lstm", embed=4, hidden=4, layers=1, **SMALL),
            said(),
            ["ab", "ba", "aab"] * 2,
        ),
        "bert": (
            Encoder("bert", width=4, heads=2, layers=1, max_length=16, vocabulary=60, **SMALL),
            DOCUMENTS,
            None,
        ),
    }


def said() -> list[tuple]:
    import numpy as np

    return [
        (np.sin(np.arange(1600 + 80 * n) * 0.1 * (n + 1)).astype(np.float32), 8000)
        for n in range(6)
    ]


def trained(name: str):
    from wenmai.data.examples.sequences import Sequences

    estimator, inputs, targets = estimators()[name]
    if name == "gru":  # one number a step
        import numpy as np

        inputs, targets = (
            Sequences.of([np.array(row, np.float64) for row in rows], np.float64)
            for rows in (inputs, targets)
        )
    return estimator, inputs, targets


SHAPES = {".json": "json", ".jsonl": "jsonl", ".safetensors": "safetensors"}


def run_folder(name: str) -> list[Seed]:
    from wenmai.training import folders

    estimator, inputs, targets = trained(name)
    estimator.fit(inputs, targets)
    with tempfile.TemporaryDirectory() as place:
        run = estimator.save(Path(place) / "run", data="given.csv", scores={}, seconds=1.0)
        steady(run / "progress.jsonl")
        files = {
            path.name: path.read_bytes() for path in run.iterdir() if path.name != folders.MANIFEST
        }
    asked = [("a good film", "文脉")] if getattr(estimator.task_, "pairs", False) else inputs[:1]
    return [Seed(files, {name: SHAPES[Path(name).suffix] for name in files}, more={"input": asked})]


def hugging_face_folder() -> list[Seed]:
    """Of every head that is written."""
    from wenmai.estimators import Classifier, Encoder, LanguageModel, Tagger
    from wenmai.exchange.exporting import exported

    small = {
        "width": 4,
        "heads": 2,
        "layers": 1,
        "steps": 1,
        "vocabulary": 40,
        "tokenizer": "wordpiece",
    }
    rows = [text.split() for text in TEXTS]
    models = [
        LanguageModel("gpt", **small | {"context": 8, "vocabulary": 270, "tokenizer": "bpe"}).fit(
            TEXTS
        ),
        Classifier("bert", max_length=12, **small).fit(
            TEXTS * 3, [f"{n % 2}" for n in range(len(TEXTS) * 3)]
        ),
        Tagger("bert", max_length=12, **small).fit(
            rows, [["B-X"] + ["O"] * (len(row) - 1) for row in rows]
        ),
        Encoder("bert", max_length=12, **small).fit(DOCUMENTS),
    ]
    seeds = []
    for model in models:
        with tempfile.TemporaryDirectory() as place:
            exported(model, Path(place) / "folder")
            files = {
                path.name: path.read_bytes() for path in sorted((Path(place) / "folder").iterdir())
            }
        seeds.append(
            Seed(
                files,
                {
                    name: SHAPES[Path(name).suffix]
                    for name in files
                    if name != "generation_config.json"
                },
            )
        )
    return seeds


@cache
def language_model():
    from wenmai.estimators import LanguageModel

    return LanguageModel("ngram", order=2, tokenizer="spaces").fit(TEXTS)


def arpa() -> list[Seed]:
    from wenmai.estimators import LanguageModel
    from wenmai.models.ngram import arpa

    seeds = []
    for order in (1, 3):
        model = LanguageModel("ngram", order=order, tokenizer="spaces").fit(TEXTS)
        text = io.StringIO()
        arpa.write(text, model.inputs_.tokens(), *model.model_.grams.levels())
        seeds.append(Seed({"model.arpa": text.getvalue().encode()}, {"model.arpa": "text"}))
    return seeds


def steady(path: Path) -> None:
    """Without the seconds, which are others each time: the same number has to give the same input."""
    text = path.read_text("utf-8")
    path.write_text(re.sub(r'"seconds": [\d.e-]+', '"seconds": 1.5', text), "utf-8")


KEPT = {"steps": 6, "evaluations": 3, "batch_tokens": 8}


def resumed() -> dict[str, tuple]:
    """Trainings that are gone on with: the estimator, what it learns from."""
    from wenmai.estimators import Classifier, Encoder, LanguageModel, Regressor, Tagger

    known, small = estimators(), {"embed": 4, "hidden": 4, "validation": 0.3, **KEPT}
    return {
        "softmax": (Classifier("softmax", epochs=3), *known["softmax"][1:]),
        "linear": (Regressor("linear", epochs=3, solver="gradient"), *known["linear"][1:]),
        "perceptron": (Classifier("perceptron", epochs=3), *known["softmax"][1:]),
        "perceptron-tag": (Tagger("perceptron", epochs=3), *known["perceptron"][1:]),
        "mlp": (
            Classifier("mlp", optimizer="asgd", tokenizer="bpe", vocabulary=270, **small),
            *known["mlp"][1:],
        ),
        "rnn": (LanguageModel("rnn", **small), TEXTS, None),
        "bert": (
            Encoder("bert", width=4, heads=2, layers=1, max_length=16, vocabulary=60, **KEPT),
            DOCUMENTS,
            None,
        ),
    }


def checkpoint_folder(name: str) -> list[Seed]:
    from wenmai.training import checkpoints, folders

    estimator, inputs, targets = resumed()[name]
    arguments = {
        "rung": estimator.rung,
        "source": "given.csv",
        "valid": None,
        "test": None,
        "task": None,
        "columns": None,
        "unseen": False,
        "minutes": 0.0,
        "seed": 0,
        "device": "cpu",
        "settings": dict(estimator.options),
        "fingerprint": {"train": "0"},
        "processes": 1,
    }
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run"
        kept = checkpoints.Checkpoints(run)
        kept.begin(arguments)
        for progress in estimator.training(inputs, targets):
            kept.keep(estimator, progress, asked=True)
        for path in run.rglob("state.json"):
            steady(path)
        files = {
            str(path.relative_to(run)): path.read_bytes()
            for path in run.rglob("*")
            if path.is_file()
        }
    files = {
        file: data for file, data in sorted(files.items()) if not file.endswith(folders.MANIFEST)
    }
    return [
        Seed(files, {file: SHAPES[Path(file).suffix] for file in files}, more={"training": name})
    ]


def bombs() -> list[Seed]:
    """Small files that unpack to hundreds of megabytes of one line, one cell, one value, or of nothing."""
    inside = {
        ".csv": [(b"text,label\n", b"a"), (b'text,label\n"', b"a\n")],
        ".tsv": [(b"text\tlabel\n", b"\t")],
        ".txt": [(b"", b"a")],
        ".jsonl": [(b'{"text": "', b"a"), (b"", b"[")],
        ".json": [(b'[{"text": "', b"a"), (b"[", b" ")],
        ".conll": [(b"a B-X\n\n", b"a")],
    }
    seeds = []
    for ending, contents in inside.items():
        for start, more in contents:
            for packed in (".gz", ".zst"):
                name = f"given{ending}{packed}"
                seeds.append(
                    Seed({name: blown_up(start, more, packed)}, {name: "bytes"}, name, refused=True)
                )
    images, labels = (
        struct.pack(">IIII", 0x803, 2**31, 2**15, 2**15),
        struct.pack(">II", 0x801, 2**31),
    )
    headers = {"train-images-idx3-ubyte.gz": images, "train-labels-idx1-ubyte.gz": labels}
    files = {name: blown_up(header, b"\0", ".gz") for name, header in headers.items()}
    seeds.append(Seed(files, dict.fromkeys(files, "bytes"), refused=True))
    return seeds


def blown_up(start: bytes, more: bytes, packed: str, pieces: int = 640) -> bytes:
    """The start and 640 MB more, which are more than a worker may take (MEMORY), packed without ever being held."""
    compressor = (
        zlib.compressobj(1, wbits=31)
        if packed == ".gz"
        else _zstandard().ZstdCompressor(level=1).compressobj()
    )
    piece = more * ((1 << 20) // len(more))
    return b"".join(
        [
            compressor.compress(start),
            *(compressor.compress(piece) for _ in range(pieces)),
            compressor.flush(),
        ]
    )
