"""README.md of a folder of graphs: what lies in it, what goes in, what comes out, and the example; in English and Chinese."""

from pathlib import Path

GRAPHS = {
    "model": ("reads all at once", "一次读完输入"),
    "encoder": ("reads, and gives the first token's log p and the state", "读入输入，给出第一个词元的对数概率和状态"),
    "step": ("reads one token more, or some, after the state", "在状态之后再读一个（或几个）词元"),
}
TENSORS = {
    "tokens": ("numbers of tokens, 0 where there is padding", "词元编号，填充处为 0"),
    "token": ("the last token of every text", "每段文本的上一个词元"),
    "mask": ("true where there is something, false at padding", "真实位置为 true，填充处为 false"),
    "segment": ("which text a token stands in: 0, 1, …", "词元属于第几段文本：0、1、…"),
    "answers": ("the places that answer, −1 where a row has fewer", "要作答的位置；某行较少时为 −1"),
    "form": ("which row of `letters` spells the word", "`letters` 的第几行是这个词的拼写"),
    "letters": ("words letter by letter, 0 at the end", "逐字母拼写的词，末尾为 0"),
    "frames": ("frames, brought to mean 0 and deviation 1", "帧，各特征均值为 0、标准差为 1"),
    "numbers": ("numbers, brought to mean 0 and deviation 1", "数值，各列均值为 0、标准差为 1"),
    "image": ("pictures as they are", "原样的图片"),
    "label": ("the number of a label", "标签的编号"),
    "copies": ("source tokens as the target numbers them", "按目标词表编号的源词元"),
    "outputs": ("what the head says: log p, scores or numbers", "输出层的结果：对数概率、分数或数值"),
    "vectors": ("a vector of the text: the mean over real places", "文本向量：真实位置的平均"),
    "follows": ("log p that the second text follows, that it does not", "第二段接在第一段之后、不接的对数概率"),
    "aligned": ("log p of every frame's token, the blank last", "每帧词元的对数概率，空白在最后"),
    "log_probs": ("log p of the next token", "下一个词元的对数概率"),
    "state": ("states of the recurrent layers; 0 before a text", "循环层的状态；文本之前为 0"),
    "inner": ("states of the decoder's layers", "解码器各层的状态"),
    "output": ("its last output", "它的上一个输出"),
    "past": ("keys and values of the tokens before", "之前词元的键和值"),
    "real": ("which of these are looked at", "其中哪些可以看"),
    "memory": ("what was read", "读到的内容"),
    "memory_mask": ("where it is real", "其中真实的位置"),
    "keys": ("what queries are compared with", "与查询比较的键"),
    "across": ("keys and values of what was read", "所读内容的键和值"),
    "across_real": ("where these are real", "其中真实的位置"),
}  # fmt: skip

ENGLISH = """# {rung} for {task}, as ONNX

Exported by `wenmai export --format onnx`; computed by onnxruntime, without torch and without Wenmai.

{tables}

Every dimension that has a name may have any size: batch, length. Padding is told by `mask`, and changes nothing. A state has the
batch in dimension 0: rows of it may be taken, repeated and joined. What ends in `_after` is the state for the next step.
{more}
`about.json` has the labels and the numbers of special tokens. {tokenizer} {precision}

`{call}` runs with `pip install onnxruntime numpy{packages}`:

```python
{example}```
"""

CHINESE = """
# {rung}（任务 {task}）的 ONNX 文件

由 `wenmai export --format onnx` 写出；用 onnxruntime 计算，不需要 torch，也不需要文脉。

{tables}

有名字的维度（批量、长度）可以是任意大小。填充由 `mask` 说明，不影响结果。状态的第 0 维是批量：可以取出、重复、合并其中的行。
以 `_after` 结尾的输出是下一步的状态。{more}`about.json` 里有标签和特殊词元的编号。{tokenizer}{precision}

`{call}` 只需要 `pip install onnxruntime numpy{packages}`（代码见上）。
"""


def readme(folder: Path, about: dict, int8: bool, found) -> str:
    code = (folder / "example.py").read_text(encoding="utf-8")
    packages = "".join(f" {name}" for name in ("tokenizers", "jieba") if f"import {name}" in code or f"from {name}" in code)
    own = "tokens" in about and not (folder / "tokenizer.json").is_file()
    context = about.get("context")
    library, off = (folder / "tokenizer.json").is_file(), f"{found.difference:.0e}"
    english = {
        "more": f"No more than {context} tokens are looked back on: beyond, begin anew with the last {context}, as example.py "
        "does.\n" if context else "",
        "tokenizer": "`tokenizer.json` is read by the library `tokenizers`." if library else
        "Texts are cut by jieba; `tokens` in about.json has the words in the order of their numbers." if own else "",
        "precision": f"The weights are 8-bit (int8): {told(found)}." if int8 else f"Checked against torch: at most {off} apart.",
    }  # fmt: skip
    chinese = {
        "more": f"最多往回看 {context} 个词元：超出后用最后 {context} 个重新开始，如 example.py 所示。" if context else "",
        "tokenizer": "`tokenizer.json` 由 `tokenizers` 库读取。" if library else
        "文本由 jieba 切分；about.json 的 `tokens` 按编号列出全部词。" if own else "",
        "precision": f"权重为 8 位（int8）：{told(found)}。" if int8 else f"已与 torch 核对：相差不超过 {off}。",
    }  # fmt: skip
    call = code.splitlines()[0].removeprefix("# ")
    rest = {"call": call, "rung": about["rung"], "task": about["task"], "packages": packages, "example": code}
    return "".join(text.format(**rest, **own_words, tables=tables(folder, at))
                   for at, (text, own_words) in enumerate(((ENGLISH, english), (CHINESE, chinese))))  # fmt: skip


def told(found) -> str:
    if found.agreement is not None:
        return f"float32 = int8: {found.agreement:.1%}"
    first, second = found.scores["float32"], found.scores["int8"]
    return ", ".join(f"{metric} {first[metric]:.4g} → {second[metric]:.4g}" for metric in first)


def tables(folder: Path, language: int) -> str:
    """Of every graph: what goes in and comes out, and its shape."""
    import onnx

    made = []
    for path in sorted(folder.glob("*.onnx")):
        graph = onnx.load(path, load_external_data=False).graph
        rows = [f"**{path.name}** {GRAPHS[path.stem][language]}", "", "| | | |", "| --- | --- | --- |"]
        for arrow, values in (("→", graph.input), ("←", graph.output)):
            for value in values:
                shape = " × ".join(one.dim_param or str(one.dim_value) for one in value.type.tensor_type.shape.dim)
                rows.append(f"| {arrow} `{value.name}` | {shape} | {TENSORS[value.name.removesuffix('_after')][language]} |")
        made.append("\n".join(rows))
    return "\n\n".join(made)
