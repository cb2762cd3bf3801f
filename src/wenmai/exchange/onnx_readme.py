"""README.md of a folder of graphs: what lies in it, what goes in, what comes out, and the example; in English and Chinese."""

from pathlib import Path

from wenmai.locale import Message

GRAPHS = {
    "model": Message("reads all at once"),
    "encoder": Message("reads, and gives the first token's log p and the state"),
    "step": Message("reads one token more, or some, after the state"),
}
TENSORS = {
    "tokens": Message("numbers of tokens, 0 where there is padding"),
    "token": Message("the last token of every text"),
    "mask": Message("true where there is something, false at padding"),
    "segment": Message("which text a token stands in: 0, 1, …"),
    "answers": Message("the places that answer, −1 where a row has fewer"),
    "form": Message("which row of `letters` spells the word"),
    "letters": Message("words letter by letter, 0 at the end"),
    "frames": Message("frames, brought to mean 0 and deviation 1"),
    "numbers": Message("numbers, brought to mean 0 and deviation 1"),
    "image": Message("pictures as they are"),
    "label": Message("the number of a label"),
    "copies": Message("source tokens as the target numbers them"),
    "outputs": Message("what the head says: log p, scores or numbers"),
    "vectors": Message("a vector of the text: the mean over real places"),
    "follows": Message("log p that the second text follows, that it does not"),
    "aligned": Message("log p of every frame's token, the blank last"),
    "log_probs": Message("log p of the next token"),
    "state": Message("states of the recurrent layers; 0 before a text"),
    "inner": Message("states of the decoder's layers"),
    "output": Message("the decoder's last output"),
    "past": Message("keys and values of the tokens before"),
    "real": Message("which of them are looked at"),
    "memory": Message("what was read"),
    "memory_mask": Message("where it is real"),
    "keys": Message("what queries are compared with"),
    "across": Message("keys and values of what was read"),
    "across_real": Message("where these are real"),
}
MADE = Message(
    "Written by `wenmai export --format onnx`; computed by onnxruntime, without torch and without Wenmai."
)
SIZES = Message(
    "Every dimension that has a name may have any size: batch, length. Padding is told by `mask`, and changes "
    "nothing. A state has the batch in dimension 0: its rows may be taken, repeated and joined. What ends in "
    "`_after` is the state for the next step."
)
LABELS = Message("`about.json` has the labels and the numbers of special tokens.")
LIBRARY = Message("`tokenizer.json` is read by the library `tokenizers`.")
JIEBA = Message(
    "Texts are cut by jieba; `tokens` in about.json has the words in the order of their numbers."
)


def readme(folder: Path, about: dict, int8: bool, export) -> str:
    """`export`: what was measured."""
    code = (folder / "example.py").read_text(encoding="utf-8")
    packages = [
        "onnxruntime",
        "numpy",
        *(
            name
            for name in ("tokenizers", "jieba")
            if f"import {name}" in code or f"from {name}" in code
        ),
    ]
    library, context = (folder / "tokenizer.json").is_file(), about.get("context")
    title = Message("{rung} for {task}, as ONNX", rung=about["rung"], task=about["task"])
    notes = [SIZES]
    if context:
        notes.append(
            Message(
                "No more than {context} tokens are looked back on: beyond, begin anew with the last {context}, as "
                "example.py does.",
                context=context,
            )
        )
    notes.append(LABELS)
    notes += [LIBRARY] if library else [JIEBA] if "tokens" in about and "jieba" in packages else []
    notes.append(
        Message(
            "Loaded again and compared with torch: in float32 at most {apart:.0e} apart.",
            apart=export.difference,
        )
    )
    notes += (
        [Message("The weights have 8 bits (int8): {cost}.", cost=note) for note in export.notes]
        if int8
        else []
    )
    runs = Message(
        "`{call}` takes no more than `pip install {packages}`:",
        call=code.splitlines()[0].removeprefix("# "),
        packages=" ".join(packages),
    )
    parts = []
    for language in ("en", "zh"):
        lines = [message.told_in(language) for message in notes]
        parts += [
            f"# {title.told_in(language)}",
            MADE.told_in(language),
            tables(folder, language),
            "\n".join(lines),
            runs.told_in(language),
            f"```python\n{code}```",
        ]
    return "\n\n".join(parts) + "\n"


def tables(folder: Path, language: str) -> str:
    """Of every graph: what goes in and comes out, and its shape."""
    import onnx

    made = []
    for path in sorted(folder.glob("*.onnx")):
        graph = onnx.load(path, load_external_data=False).graph
        rows = [
            f"**{path.name}** {GRAPHS[path.stem].told_in(language)}",
            "",
            "| | | |",
            "| --- | --- | --- |",
        ]
        for arrow, values in (("→", graph.input), ("←", graph.output)):
            for value in values:
                shape = " × ".join(
                    one.dim_param or str(one.dim_value) for one in value.type.tensor_type.shape.dim
                )
                about = TENSORS[value.name.removesuffix("_after")].told_in(language)
                rows.append(f"| {arrow} `{value.name}` | {shape} | {about} |")
        made.append("\n".join(rows))
    return "\n\n".join(made)
