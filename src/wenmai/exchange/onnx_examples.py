"""example.py, which stands beside exported graphs: how what is read becomes tensors, and what comes out an answer, in a few lines
that need onnxruntime, numpy and tokenizers alone. It is put together of what follows: one part reads, one answers."""

OPENING = """# {call}

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # else it tells its makers of every session

import numpy as np
import onnxruntime
{imports}
here = Path(__file__).parent
about = json.loads((here / "about.json").read_text(encoding="utf-8"))
"""

TOKENIZER = """tokenizer = Tokenizer.from_file(str(here / "tokenizer.json"))


def encode(text):
    return tokenizer.encode(text.lower() if about["lowercase"] else text, add_special_tokens=False).ids
"""

JIEBA = """numbers = {token: number for number, token in enumerate(about["tokens"])}
jieba.setLogLevel("WARNING")
with tempfile.TemporaryDirectory() as jieba.dt.tmp_dir:  # it would take a cache that lies in the shared one, whoever put it there
    jieba.initialize()


def encode(text):
    words = jieba.lcut(text.lower() if about["lowercase"] else text)
    return [numbers.get(word, about["special"]["unknown"]) for word in words if not word.isspace()]
"""

PADDED = """

def padded(rows):
    table = np.zeros((len(rows), max(1, *map(len, rows))), np.int64)
    for row, values in zip(table, rows):
        row[: len(values)] = values
    return table


def masked(rows):
    return padded([[1] * len(row) for row in rows]).astype(bool)

"""

TEXTS = """
inputs = sys.argv[1:]
before, after = about["before"], about["after"]
rows = [before + encode(text)[: about["longest"] - len(before + after)] + after for text in inputs]
feeds = {"tokens": padded(rows), "mask": masked(rows), "segment": np.zeros_like(padded(rows))}
"""

PAIR = '''
before, between, after = about["before"], about["between"], about["after"]


def joined(first, second):
    """Both texts, what stands around them, and in which of the two each token stands; the longer one is cut first."""
    first, second = encode(first), encode(second)
    while about["framed"] and len(first) + len(second) > about["longest"] - len(before + between + after):
        del (first if len(first) > len(second) else second)[-1]
    tokens = before + first + between + second + after
    return tokens[: about["longest"]], [0] * len(before + first + between) + [about["second"]] * len(second + after)

'''

PAIRS = (
    PAIR
    + """
inputs = [json.loads(pair) for pair in sys.argv[1:]]
rows, segments = zip(*(joined(first, second) for first, second in inputs))
feeds = {"tokens": padded(rows), "mask": masked(rows), "segment": padded(segments)[:, : padded(rows).shape[1]]}
"""
)

CHOICES = (
    PAIR
    + """
inputs = [json.loads(row) for row in sys.argv[1:]]
rows, segments = zip(*(joined(text, f"{question} {choice}") for text, question, choices in inputs for choice in choices))
feeds = {"tokens": padded(rows), "mask": masked(rows), "segment": padded(segments)[:, : padded(rows).shape[1]]}
"""
)

WORDS = """numbers = {token: number for number, token in enumerate(about["tokens"])}
letters = {letter: number for number, letter in enumerate(about["letters"])}
"""

TOKENS = (
    WORDS
    + PADDED
    + """
inputs, unknown = [json.loads(words) for words in sys.argv[1:]], about["special"]["unknown"]
rows = [[numbers.get(word.lower() if about["lowercase"] else word, unknown) for word in words] for words in inputs]
spelled = ["", *sorted({word for words in inputs for word in words})]  # every word once, letter by letter
feeds = {"tokens": padded(rows), "mask": masked(rows),
         "form": padded([[spelled.index(word) for word in words] for words in inputs]),
         "letters": padded([[letters.get(letter, unknown) for letter in word][:24] for word in spelled])}
"""
)

PIECES = """letters = {letter: number for number, letter in enumerate(about["letters"])}
inputs, before, after, rows, answers = [json.loads(words) for words in sys.argv[1:]], about["before"], about["after"], [], []
for words in inputs:  # the first piece of every word answers for it
    pieces = [encode(about["space"] + word) for word in words]
    starts = np.cumsum([len(before), *map(len, pieces)])[:-1]
    rows.append(before + sum(pieces, []) + after)
    answers.append(starts.tolist())
spelled = ["", *sorted({word for words in inputs for word in words})]
feeds = {"tokens": padded(rows), "mask": masked(rows), "segment": np.zeros_like(padded(rows)),
         "answers": np.where(masked(answers), padded(answers), -1),
         "form": padded([[spelled.index(word) for word in words] for words in inputs]),
         "letters": padded([[letters.get(letter, 1) for letter in word][:24] for word in spelled])}
"""

QUESTIONS = """
before, between, after = about["before"], about["between"], about["after"]
inputs, rows, segments, answers, places = [json.loads(pair) for pair in sys.argv[1:]], [], [], [], []
for context, question in inputs:
    found = tokenizer.encode(context.lower() if about["lowercase"] else context, add_special_tokens=False)
    asked = encode(question)[: about["asked"]]
    opening = before + asked + between
    text = found.ids[: about["window"] - len(opening + after)]  # of a longer one, the next window is another row
    rows.append(opening + text + after)
    segments.append([0] * len(opening) + [about["second"]] * len(text + after))
    answers.append([0, *range(len(opening), len(opening) + len(text))])  # 0: nothing answers
    places.append(found.offsets)
feeds = {"tokens": padded(rows), "mask": masked(rows), "segment": padded(segments),
         "answers": np.where(masked(answers), padded(answers), -1)}
"""

NUMBERS = """
inputs = np.array([[float(number) for number in row.split(",")] for row in sys.argv[1:]])
feeds = {"numbers": ((inputs - about["mean"]) / about["deviation"]).astype(np.float32)}
"""

FRAMES = """
inputs = [np.array(json.loads(row), np.float64).reshape(-1, len(about["mean"])) for row in sys.argv[1:]]
rows = [((frames - about["mean"]) / about["deviation"]).astype(np.float32) for frames in inputs]
"""

PADDED_FRAMES = """mask = np.arange(max(1, *map(len, rows))) < np.array([[len(row)] for row in rows])
frames = np.zeros((*mask.shape, rows[0].shape[1]), np.float32)
frames[mask] = np.concatenate(rows)
feeds = {"frames": frames, "mask": mask}
"""

SOUNDS = '''

def frames_of(path):
    """Log-mel frames of a wav file of 16 bits, one channel, at about["rate"] samples a second."""
    with wave.open(path) as sound:
        assert sound.getframerate() == about["rate"] and sound.getnchannels() == 1 and sound.getsampwidth() == 2
        samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2").astype(np.float32) / 32768
    size, hop, stack = about["window_size"], about["hop"], about["stack"]
    samples = np.pad(samples, (0, max(0, size - len(samples))))
    pieces = np.lib.stride_tricks.sliding_window_view(samples, size)[::hop]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    power = np.abs(np.fft.rfft(pieces * hann)) ** 2
    loudness = np.log(np.maximum(power @ np.load(here / "mel.npy"), about["floor"]))
    loudness = loudness - loudness.mean(0) if about["normalise"] == "clip" else loudness
    loudness = (loudness - about["mean"]) / about["deviation"]
    if len(loudness) < stack:
        loudness = np.concatenate([loudness, loudness[-1:].repeat(stack - len(loudness), 0)])
    return loudness[: len(loudness) // stack * stack].reshape(-1, stack * loudness.shape[1]).astype(np.float32)


inputs = sys.argv[1:]
rows = [frames_of(path) for path in inputs]
'''

IMAGES = """
inputs = [np.load(path) for path in sys.argv[1:]]  # .npy files: height × width, or height × width × channels
feeds = {"image": np.stack(inputs).astype(np.float32)}
"""

LABELS = """
inputs = sys.argv[1:]
feeds = {"label": np.array([about["names"].index(label) for label in inputs])}
"""

SOURCES = """
inputs = sys.argv[1:]
rows = [(encode(text) + [about["end"]])[: about["longest"]] for text in inputs]
feeds = {"tokens": padded(rows), "mask": masked(rows)}
"""

COPIES = """target = Tokenizer.from_file(str(here / "target_tokenizer.json"))
numbers = {number: target.token_to_id(token) for token, number in tokenizer.get_vocab().items()}
# what the target's vocabulary knows may be copied; who also copies what it lacks numbers such words from its size on
feeds["copies"] = np.vectorize(lambda number: numbers.get(number) or about["never"][0])(feeds["tokens"])
"""

STORIES = """
inputs, rows, segments = [json.loads(pair) for pair in sys.argv[1:]], [], []
for sentences, question in inputs:  # ["one sentence", "another"], "question"
    asked = [about["opening"]] + encode(question)[: about["asked"]] + [about["end"]]
    told = [encode(sentence) for sentence in sentences]
    told = [piece[at : at + about["sentence"]] for piece in told for at in range(0, len(piece), about["sentence"])]
    segment = [0] * len(asked) + [number for number, piece in enumerate(told, 1) for _ in piece]
    rows.append((asked + sum(told, []) + [about["end"]])[: about["longest"]])
    segments.append((segment + [max(1, len(told))])[: about["longest"]])
feeds = {"tokens": padded(rows), "mask": masked(rows), "segment": padded(segments)}
"""

MODEL = """model = onnxruntime.InferenceSession(here / "model.onnx")
(outputs,) = model.run(["outputs"], {one.name: feeds[one.name] for one in model.get_inputs()})
"""

CLASS = (
    MODEL
    + """for log_probs in outputs:
    print(json.dumps({"label": about["labels"][log_probs.argmax()], "probability": round(float(np.exp(log_probs.max())), 6)}))
"""
)

NUMBER = (
    MODEL
    + """for row, value in enumerate(outputs):
    print(json.dumps((value[feeds["mask"][row]] if value.ndim > 1 else value).tolist()))
"""
)

TAGS = (
    MODEL
    + """for row, log_probs in enumerate(outputs):
    print(json.dumps([about["labels"][number] for number in log_probs[: len(inputs[row])].argmax(1)]))
"""
)

PATHS = (
    MODEL
    + """begin, transitions, end = (np.array(part) for part in about["path_weights"])
for row, emissions in enumerate(outputs):  # the best path of tags (Viterbi)
    emissions, back = emissions[: len(inputs[row])], []
    score = begin + emissions[0] if len(emissions) else end
    for emission in emissions[1:]:
        reached = score[:, None] + transitions
        back.append(reached.argmax(0))
        score = reached.max(0) + emission
    path = [int((score + end).argmax())] if len(emissions) else []
    for step in back[::-1]:
        path.append(int(step[path[-1]]))
    print(json.dumps([about["labels"][number] for number in path[::-1]]))
"""
)

SPAN = (
    MODEL
    + """for row, scores in enumerate(outputs):
    nothing, scores = scores[0].sum(), scores[1 : len(answers[row])].astype(np.float64)
    both = scores[:, :1] + scores[None, :, 1]  # begin × end
    far = np.subtract.outer(np.arange(len(both)), np.arange(len(both)))
    both[(far > 0) | (far <= -about["answer_length"])] = -np.inf
    first, last = np.unravel_index(both.argmax(), both.shape)
    start, end = places[row][first][0], places[row][last][1]
    start += inputs[row][0][start : end].startswith(" ")
    given = not about["impossible"] or both.max() - nothing > about["threshold"]
    print(json.dumps({"answer": inputs[row][0][start:end] if given else ""}, ensure_ascii=False))
"""
)

CHOICE = (
    MODEL
    + """at = 0
for *_, choices in inputs:
    print(json.dumps({"answer": choices[outputs[at : at + len(choices), 0].argmax()]}, ensure_ascii=False))
    at += len(choices)
"""
)

HIDDEN = (
    """
inputs, mask = sys.argv[1:], about["special"]["mask"]
before, after, rows = about["before"], about["after"], []
for text in inputs:  # [MASK] stands where a word is to be filled in
    parts = text.split("[MASK]")
    parts = [*(part.rstrip() for part in parts[:-1]), parts[-1]] if about["spaced"] else parts
    tokens = [number for part in parts for number in (*encode(part), mask)][:-1]
    rows.append(before + tokens + after)
feeds = {"tokens": padded(rows), "mask": masked(rows), "segment": np.zeros_like(padded(rows))}
"""
    + MODEL
    + """outputs[..., about["special_numbers"]] = -np.inf
for row, log_probs in zip(rows, outputs):
    print(json.dumps([about["tokens"][log_probs[place].argmax()] for place, token in enumerate(row) if token == mask]))
"""
)

VECTORS = """
inputs = sys.argv[1:]
rows = [about["before"] + encode(text) + about["after"] for text in inputs]
feeds = {"tokens": padded(rows), "mask": masked(rows), "segment": np.zeros_like(padded(rows))}
model = onnxruntime.InferenceSession(here / "model.onnx")
(vectors,) = model.run(["vectors"], {one.name: feeds[one.name] for one in model.get_inputs()})
for vector in vectors:
    print(json.dumps(vector.tolist()))
"""

ALIGNED = (
    MODEL
    + """outputs[..., about["never"]] = -np.inf
writer = Tokenizer.from_file(str(here / "target_tokenizer.json"))
for row, log_probs in enumerate(outputs):  # the best token of every frame; repetitions are one, and blanks none
    best = log_probs[feeds["mask"][row]].argmax(1).tolist()
    kept = [number for number, before in zip(best, [None, *best]) if number != before and number != about["blank"]]
    print(json.dumps({"text": writer.decode(kept, skip_special_tokens=False)}, ensure_ascii=False))
"""
)

WRITTEN = """encoder, step = (onnxruntime.InferenceSession(here / f"{name}.onnx") for name in ("encoder", "step"))
writer = Tokenizer.from_file(str(here / "target_tokenizer.json"))
state = dict(zip((one.name for one in encoder.get_outputs()),
                 encoder.run(None, {one.name: feeds[one.name] for one in encoder.get_inputs()})))
log_probs, texts, end = state["log_probs"], [[] for _ in inputs], about["end"]
log_probs[:, end] = -np.inf  # no text is empty
asked = [about["usual"] if rows is None else int(about["growth"] * len(row)) + about["spare"] for row in (rows or inputs)]
sizes = [min(about["most"], max(about["usual"], size)) for size in asked]  # tokens at the most
for _ in range(max(sizes)):
    log_probs[:, about["never"]] = -np.inf
    token = log_probs.argmax(1)
    for text, number in zip(texts, token.tolist()):
        text.append(number)
    made = step.run(None, {one.name: token if one.name == "token" else state[one.name] for one in step.get_inputs()})
    state |= {one.name.removesuffix("_after"): part for one, part in zip(step.get_outputs(), made)}
    log_probs = state["log_probs"]
for text, size in zip(texts, sizes):
    text = text[:size]
    text = writer.decode(text[: text.index(end)] if end in text else text, skip_special_tokens=False)
    print(json.dumps({"text": text.removeprefix(" ") if about["spaced"] else text}, ensure_ascii=False))
"""

CONTINUED = """
step, end, context = onnxruntime.InferenceSession(here / "step.onnx"), about["end"], about["context"]
kinds = {"tensor(float)": np.float32, "tensor(bool)": bool}
opening = {one.name: np.zeros([size if isinstance(size, int) else int(at == 0) for at, size in enumerate(one.shape)],
                              kinds[one.type]) for one in step.get_inputs() if one.name != "tokens"}  # before a text
for prompt in sys.argv[1:]:
    tokens = [end]  # a text opens as a line does, after the end of the one before
    for line in prompt.split("\\n"):
        tokens += ([end] if len(tokens) > 1 else []) + encode(line)
    begun, state, new = len(tokens), opening, tokens
    while len(tokens) < begun + 40:
        if context and (len(tokens) > context or not opening):  # what is looked back on is read again
            state, new = opening, tokens[-context:]
        made = step.run(None, state | {"tokens": np.array([new])})
        state = {one.name.removesuffix("_after"): part for one, part in zip(step.get_outputs(), made)}
        log_probs = state.pop("log_probs")[0, -1]
        log_probs[about["never"]] = -np.inf
        new = [int(log_probs.argmax())]
        if new == [end]:
            break
        tokens += new
    more = tokenizer.decode(tokens[begun:], skip_special_tokens=False)
    print(json.dumps({"text": prompt, "continued": more}, ensure_ascii=False))
"""


def example(
    call: str, reads: str, answers: str, jieba: bool = False, tokenizer: bool = True
) -> str:
    """The whole file. `tokenizer`: whether texts are cut."""
    texts = tokenizer and "encode(" in reads + answers
    names = [
        *(["import jieba"] if texts and jieba else []),
        *(
            ["from tokenizers import Tokenizer"]
            if "Tokenizer" in answers or (texts and not jieba)
            else []
        ),
    ]
    imports = "".join(f"{name}\n" for name in names)
    opening = OPENING.format(call=call, imports=imports)
    opening = (
        opening.replace("import sys\n", "import sys\nimport wave\n")
        if "wave.open" in reads
        else opening
    )
    opening = (
        opening.replace("import sys\n", "import sys\nimport tempfile\n")
        if texts and jieba
        else opening
    )
    parts = [opening, (JIEBA if jieba else TOKENIZER) if texts else ""]
    parts.append(PADDED if "padded(" in reads + answers and PADDED not in reads else "")
    return "".join([*parts, reads, answers])
