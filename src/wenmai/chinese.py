"""What a user is told, in Chinese where the user's locale is Chinese.

A sentence stands in English in the code that says it, and in Chinese in SENTENCES below; tests/test_chinese.py finds one that
is missing. `{names}` are places: what stands there in English stands there in Chinese as it is, unless the name has a table of
its own in PHRASES (ours) or THEIRS (the words of Python, the system and the command line's library), where it is looked up in
turn; {sentence} and {note} are looked up among all sentences and in NOTES. A place may be empty; {where1} and {where2} are both
looked up under {where}; {choices} are a list of names of ours.
"""

import os
import re
from functools import cache

PLACE = re.compile(r"\{(\w+)\}")


def language() -> str:
    """zh where the user's locale is Chinese, else en."""
    told = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return "zh" if told.lower().startswith("zh") else "en"


def told(sentence: str) -> str:
    """The sentence in the user's language."""
    return in_chinese(sentence) if language() == "zh" else sentence


def in_chinese(sentence: str, kind: str = "sentence", depth: int = 0) -> str:
    """By the template that says most of it; unchanged where there is none."""
    if kind == "choices":
        return sentence.replace(", ", "、")
    for names, literals, chinese in rules(kind.rstrip("12")) if depth < 5 else ():
        values = between(sentence, literals)
        if values is None:
            continue
        said = [in_chinese(value, name, depth + 1) for name, value in zip(names, values)]
        if said == values and not has_words(literals):
            continue
        places = dict(zip(names, said))
        return PLACE.sub(lambda place, places=places: places[place[1]], chinese)
    file, _, rest = sentence.partition(": ")  # where a sentence does not name its file, it stands before it
    said = in_chinese(rest, kind, depth + 1) if rest and kind == "sentence" and depth < 5 else rest
    return f"{file}：{said}" if said != rest else sentence


def between(sentence: str, literals: list[str]) -> list[str] | None:
    """What stands between these pieces, if the sentence is made of them, in their order, and of something between them."""
    if len(literals) == 1:
        return [] if sentence == literals[0] else None
    first, *middle, last = literals
    at, end, values = len(first), len(sentence) - len(last), []
    if at > end or not sentence.startswith(first) or not sentence.endswith(last):
        return None
    for literal in middle:
        found = sentence.find(literal, at, end)
        if found < 0:
            return None
        values.append(sentence[at:found])
        at = found + len(literal)
    return [*values, sentence[at:end]]


@cache
def rules(kind: str) -> list[tuple[list[str], list[str], str]]:
    """(names of the places, what stands around them, Chinese) of every template of this kind: first those without a word of their
    own, which hold only where what stands in them is known; then those with the most words."""
    ours = {"sentence": PREFIXED | SENTENCES | NOTES, "note": NOTES, "help": HELP}.get(kind) or PHRASES.get(kind, {})
    table = ours | THEIRS.get(kind, {})
    made = [(PLACE.findall(english), PLACE.sub("\0", english).split("\0"), chinese) for english, chinese in table.items()]
    return sorted(made, key=lambda rule: (has_words(rule[1]), -sum(map(len, rule[1]))))


def has_words(literals: list[str]) -> bool:
    return any(map(str.isalpha, "".join(literals)))


# With the name of a file before them, or of two.
PREFIXED = {
    "{file}: {why}.": "{file}：{why}。", "{file}: {note}": "{file}：{note}",
    "{file}: {target}: {note}": "{file}：{target}：{note}",
}  # fmt: skip

SENTENCES = {
    # The command line
    "{seconds} s; kept in {run}. Next: wenmai generate {run} --prompt …":
        "用时 {seconds} 秒；已存入 {run}。接下来可以：wenmai generate {run} --prompt …",
    "{seconds} s; kept in {run}. Next: wenmai predict {run} …":
        "用时 {seconds} 秒；已存入 {run}。接下来可以：wenmai predict {run} …",
    "{seconds} s; kept in {run}. Next: wenmai compose {run} …":
        "用时 {seconds} 秒；已存入 {run}。接下来可以：wenmai compose {run} …",
    "{seconds} s; kept in {run}. Next: wenmai translate {run} …":
        "用时 {seconds} 秒；已存入 {run}。接下来可以：wenmai translate {run} …",
    "give either texts or --file FILE: there is both.": "文本和 --file FILE 只能给一样：现在两样都有。",
    "give either texts or --file FILE: there is nothing to translate.":
        "请给出文本，或用 --file FILE 给一个文件：现在没有可翻译的内容。",
    "--out goes with --file; texts given here are answered here.": "--out 与 --file 一起用；在此给出的文本就在此回答。",
    "{run} does {task}, and a run is wanted that does translate, as wenmai train attention dates makes one.":
        "{run} 做的是 {task}，这里需要做 translate 的运行，例如 wenmai train attention dates 得到的。",
    "joint=True goes with one tokenizer for both sides; found {read} for the texts that are read and {written} for those that "
    "are written.":
        "joint=True 要求两边用同一种分词；现在读入的文本用 {read}，写出的文本用 {written}。",
    "copy=True goes with tokens of one kind on both sides; found {read} for the texts that are read and {written} for those that "
    "are written.":
        "copy=True 要求两边的词元是同一种；现在读入的文本用 {read}，写出的文本用 {written}。",
    "both sides are cut by one tokenizer, {kind}: {count} tokens known": "两边用同一个分词器（{kind}）切分：认识 {count} 个词元",
    "what is read is cut into {kind}: {count} tokens known": "读入的文本切成 {kind}：认识 {count} 个词元",
    "what is written is cut into {kind}: {count} tokens known": "写出的文本切成 {kind}：认识 {count} 个词元",
    "bidirectional=False goes with an encoder that reads step by step; encoder=plain reads no way at all.":
        "bidirectional=False 用于逐步读入的编码器；encoder=plain 不分方向。",
    "hidden={hidden} cannot be shared by two ways of reading: expected an even number, such as {even}.":
        "hidden={hidden} 无法由两个方向平分：应为偶数，例如 {even}。",
    "{count} of the texts that are read are longer than max_length={most} tokens: what goes beyond is not read":
        "读入的文本中有 {count} 条超过 max_length={most} 个词元：超出部分不读",
    "{count} of the texts are longer than the {most} tokens that this model reads: what goes beyond is not read":
        "有 {count} 条文本超过此模型能读的 {most} 个词元：超出部分不读",
    "{count} of the {tokens} tokens that are expected are unknown to the model, which never writes them":
        "应写出的 {tokens} 个词元中有 {count} 个模型不认识，永远写不出来",
    "found {what} where rows are expected; give a list, of one row too.":
        "应为若干行，现在是{what}；请给出列表，只有一行也一样。",
    "{count} of the texts are empty, and so is what is written for them": "有 {count} 条文本是空的，为它们写出的也是空的",
    "what was answered before stands in {file}": "此前的答案在 {file} 中",
    "a Translator writes texts, of which there is no table; log_prob(sources, texts) says how probable they are.":
        "Translator 写出的是文本，没有概率表；log_prob(sources, texts) 给出它们的概率。",
    "{where}: it is longer than the {most} tokens that this model reads; shorten it, or leave strict out and what goes "
    "beyond is not read.":
        "{where}：超过此模型能读的 {most} 个词元；请缩短它，或不用 strict，超出部分便不读。",
    "{rung} looks at nothing while it writes: it has no alignment; attention and transformer have.":
        "{rung} 写的时候什么也不看，没有对齐；attention 和 transformer 有。",
    "input {row}: the text is empty; give every row a text to read or drop the row.":
        "第 {row} 个输入是空文本；请为每一行给出要读的文本，或去掉该行。",
    "train needs a rung and data, as in wenmai train gru reviews.csv; `wenmai rungs` lists the rungs.":
        "train 需要一个模型和一份数据，例如 wenmai train gru reviews.csv；`wenmai rungs` 列出所有模型。",
    "--resume {folder} goes on as it was begun: leave out rung, data and --out.":
        "--resume {folder} 按原来的设置继续训练：不要再给模型、数据或 --out。",
    "give either inputs or --file FILE: there is both.": "输入和 --file FILE 只能给一样：现在两样都有。",
    "give either inputs or --file FILE: there is nothing to answer for.":
        "请给出输入，或用 --file FILE 给一个文件：现在没有可预测的内容。",
    "--out goes with --file; inputs given here are answered here.":
        "--out 要与 --file 一起用；直接在命令行给出的输入，答案就显示在这里。",
    "--set {pair}: expected key=value, such as --set hidden=64.": "--set {pair}：应写成 key=value，例如 --set hidden=64。",
    # Probes
    "order {order}": "{order} 阶",
    "{source} has the columns {columns}, expected one named text; name it with --columns text=NAME.":
        "{source} 的列是 {columns}，应有一列叫 text；请用 --columns text=列名 指出是哪一列。",
    "{source}: found {lines} lines with {tokens} tokens, expected at least {least} with {fewest}, of which 1/64 can be counted; "
    "give more text.":
        "{source}：有 {lines} 行、{tokens} 个词元，至少应有 {least} 行、{fewest} 个，才能取其 1/64 来计数；请给更多文本。",
    "orders={orders}: expected 1 to {most}, up to which order n-grams are counted.":
        "orders={orders}：应为 1 到 {most}，即 n 元数到几阶。",
    "the last tenth is held out: {lines1} lines with {tokens1} tokens, ends of lines among them; all is {lines2} lines with "
    "{tokens2} tokens before it, and parts of it are its first lines":
        "留出最后十分之一：{lines1} 行，{tokens1} 个词元，行末也算；“全部”是此前的 {lines2} 行、{tokens2} 个词元，"
        "“几分之一”是其开头的若干行",
    "all cells know the same {vocabulary} tokens, those of all of the training text, so that their perplexities can be compared; "
    "{unknown} of the tokens held out count as <unk>":
        "所有格子用同一张词表，共 {vocabulary} 个词元，取自全部训练文本，困惑度因此可以互相比较；"
        "留出的文本里有 {unknown} 个词元算作 <unk>",
    "an n-gram lies in one line, with what opens and closes it; unseen ones count as often as they are there":
        "一个 n 元只在一行之内，行首和行末的标记也算；从未见过的 n 元在文中出现几次就算几次",
    "the text is long: only its beginning is read, about {most} tokens to learn from":
        "文本很长：只读开头的一部分，约 {most} 个词元用于训练",
    "in {stand_ins} of the {cells} cells fixed discounts stand in for estimates, since too few n-grams were seen once or twice, "
    "or the counts run the wrong way":
        "{cells} 个格子中有 {stand_ins} 个用固定的折扣代替估计值，因为出现一两次的 n 元太少，或计数的走势不对",
    "{rung} with hidden={hidden} and embed={embed}; both ways means as much again, from the end":
        "{rung}，hidden={hidden}，embed={embed}；双向即从末尾再读一遍",
    "embed={embed}, one layer, one way; as large as lstm means the hidden that comes nearest to its weights":
        "embed={embed}，一层，单向；“与 lstm 一样大”指权重个数与它最接近的 hidden",
    "width {width} and {layers} layers for all: the weights are equally many, only their use differs":
        "宽度都是 {width}，都有 {layers} 层：权重个数相同，只是用法不同",
    "entropy (0: one place, 1: all places alike) and overlap (1: two heads of a layer look at the same) are means over "
    "layers, heads "
    "and the real places of {rows} test rows":
        "熵（0：只看一处，1：处处一样）和重叠（1：同层的两个头看得一样）都是对各层、各头以及 {rows} 行测试数据的真实位置取的平均",
    "heads={heads}: expected growing numbers that divide width={width}, such as 1,2,4.":
        "heads={heads}：应为由小到大、能整除 width={width} 的数，例如 1,2,4。",
    "the probe {name} makes its own data and reads none; leave {source} out.":
        "实验 {name} 自己生成数据，不读别的；请去掉 {source}。",
    "the probe {name} makes its own data and has no columns to name; leave --columns out.":
        "实验 {name} 自己生成数据，没有列可指定；请去掉 --columns。",
    "{option}={text}: expected growing lengths from 2 to {most}, such as 5,10,20, or none.":
        "{option}={text}：应为 2 到 {most} 之间由小到大的长度，例如 5,10,20；或写 none。",
    "at each length {updates} updates of {rows} rows at the most, the same for every rung; rows are drawn anew, up to 6,000,000 "
    "steps of them":
        "每个长度最多更新 {updates} 次，每次 {rows} 行，各级相同；各行都是新抽的，至多 6,000,000 步",
    "a learning rate of {rate1} for the recurrent rungs, {rate2} for attention and {rate3} for the transformer, which rises and "
    "falls; gradients are cut to a norm of {clip}":
        "学习率先升后降：循环的各级最高 {rate1}，attention 最高 {rate2}，transformer 最高 {rate3}；梯度截到范数 {clip}",
    "a rung begins anew, with first weights, at each length, and stops at the first length where it fails":
        "每个长度都从初始权重学起，在第一个学不会的长度停下",
    "one layer of {hidden1} for the recurrent rungs; attention compares states of {hidden2} (cell={cell}); the "
    "transformer has two "
    "layers of width {width}; nothing is dropped":
        "循环的各级都是一层，大小 {hidden1}；attention 比较大小 {hidden2} 的状态（cell={cell}）；transformer 两层，宽度 "
        "{width}；不用 dropout",
    "training at a length stops when 512 held-out rows are surely right; the score is that of 1,000 others":
        "留出的 512 行确实对了，这个长度的训练就停；得分用另外 1,000 行来算",
    "copy counts as remembered where 99% of the held-out rows are right at every step":
        "copy：留出的行有 99% 每一步都对，才算记得",
    "a sum counts as remembered where the squared error of the last answer is at most 1% of its variance":
        "求和：最后一个答案的平方误差不超过其方差的 1%，才算记得",
    "the gradient is that of the last symbol's loss in copy with T = {length}, with respect to what enters at each step, "
    "as a share of "
    "the last step's; the mean over 64 rows":
        "梯度：copy（T = {length}）里最后一个符号的损失对每一步输入的梯度，以末步为 1；取 64 行的平均",
    "seeds: {seeds}, from {seed} on; on {device}, in 32 bits": "种子 {seeds} 个，从 {seed} 起；在 {device} 上，32 位",
    "The longest T that was remembered in {exercise}: {listed}.": "{exercise} 里记得的最长 T：{listed}。",
    "{said}: before training every step back multiplies its gradient by {before}, so after {steps} steps {left} of it is left "
    "to learn from; after training, by {after}.":
        "{said}：训练前，每退一步，它的梯度就乘以 {before}，退 {steps} 步后只剩 {left} 可学；训练后乘以 {after}。",
    "A step's factor of the others, after training: {listed}; the nearer to 1, the better the first step is still heard.":
        "其他级训练后每步的因子：{listed}；越接近 1，第一步的声音传得越清楚。",
    "one layer of width {width} each, self-attention with {heads} heads; a batch of {batch} rows, in 32 bits, on "
    "{device}, {threads} "
    "threads":
        "各一层，宽度 {width}，自注意力 {heads} 个头；每批 {batch} 行，32 位，在 {device} 上，{threads} 个线程",
    "forward and backward, the median of {repeats} that took turns, after one that does not count":
        "前向加反向，轮流各做 {repeats} 次取中位数，此前一次不算",
    "the exponent p of time ≈ c·Tᵖ is fitted to the {count} longest": "时间 ≈ c·Tᵖ 的指数 p 由最长的 {count} 个长度拟合",
    "lengths={lengths}: expected two or more growing lengths up to {most}, such as 64,256,1024.":
        "lengths={lengths}：应为两个以上由小到大的长度，最大 {most}，例如 64,256,1024。",
    "Time grows at the long end as T to the power of: {listed}.": "长的一端，时间按 T 的多少次方增长：{listed}。",
    "The lstm takes {ratio1} times as long as self-attention at T = {length1} and {ratio2} times at T = {length2}.":
        "与自注意力相比，lstm 在 T = {length1} 时用 {ratio1} 倍的时间，在 T = {length2} 时用 {ratio2} 倍。",
    "{source} is running text, and this probe wants rows with an answer; give it a table with text and label.":
        "{source} 是连续文本，而这个实验要的是带答案的行；请给它一张有 text 和 label 的表。",
    "{source}: found {rows} rows to learn from, expected at least {least}; give more of them.":
        "{source}：可供学习的只有 {rows} 行，至少要 {least} 行；请多给一些。",
    "seed {seed}": "种子 {seed}",
    "{data}: {train} rows to learn from, {test} of the test part to judge by, the same for all; {epochs} epochs each, the "
    "state that "
    "was best on {valid} others is kept":
        "{data}：用 {train} 行学习，用测试部分的 {test} 行评判，各方案相同；各学 {epochs} 遍，保留在另外 {valid} 行上最好的状态",
    "± is the standard deviation over {seeds} seeds, from {seed} on; seconds are the median of whole trainings, which "
    "took turns, on "
    "{device}":
        "± 是 {seeds} 个种子（从 {seed} 起）的标准差；秒数是整次训练的中位数，各方案轮流进行，在 {device} 上",
    "Equal hidden: {metric} of gru {gru}, of lstm {lstm}; the difference is {apart}. Of the lstm's weights gru has {share1}, rnn "
    "{share2}.":
        "hidden 相同：{metric} gru 为 {gru}，lstm 为 {lstm}，差别{apart}。gru 的权重是 lstm 的 {share1}，rnn 是 {share2}。",
    "Equal weights: {metric} of gru {gru}; the difference to lstm is {apart}.":
        "权重个数相同：{metric} gru 为 {gru}，与 lstm 的差别{apart}。",
    "Without gates: rnn {rnn1}, and as large as the lstm {rnn2}; the best gated one is better by {gain}.":
        "没有门：rnn 为 {rnn1}，与 lstm 一样大时为 {rnn2}；最好的有门者高出 {gain}。",
    "The best {metric} is {best}, with heads={heads1}; with heads={heads2} it is {one}.":
        "最好的 {metric} 是 {best}（heads={heads1}）；heads={heads2} 时是 {one}。",
    "The difference is {apart}.": "差别{apart}。",
    "With heads={heads} two heads share {share} of what they look at, on average: the rest is what a single head could "
    "not see at the "
    "same time.":
        "heads={heads} 时，两个头所看之处平均有 {share} 相同：其余是单独一个头无法同时看到的。",
    "{layers} layers instead of one, one way: {metric} {one} → {deep}, {apart}; {times} times the seconds.":
        "{layers} 层代替一层，单向：{metric} {one} → {deep}，{apart}；用时 {times} 倍。",
    "Both ways instead of one, one layer: {metric} {one} → {both}, {apart}; {times} times the seconds.":
        "双向代替单向，一层：{metric} {one} → {both}，{apart}；用时 {times} 倍。",
    "Never seen in all of the training text: {words} of the 1-grams held out, and {longest} of the {order}-grams.":
        "留出的文本里，{words} 的 1 元、{longest} 的 {order} 元在全部训练文本里从未出现。",
    "Without smoothing one of them is enough: from order {order} on the held-out text has probability 0 and its perplexity is "
    "infinite.":
        "不平滑时，只要有一个这样的 n 元就够了：从 {order} 阶起，留出文本的概率是 0，困惑度无穷大。",
    "The lowest perplexity is {perplexity1}, by {smoothing} at order {order1}; add-one is at its best at order {order2} with "
    "{perplexity2} and has {perplexity3} at order {order3}.":
        "困惑度最低的是 {order1} 阶的 {smoothing}：{perplexity1}；add-one 最好是在 {order2} 阶（{perplexity2}），"
        "到 {order3} 阶是 {perplexity3}。",
    # Names that nothing has
    'unknown {kind} "{word}"; did you mean {nearest}? Known: {choices}.':
        "没有名为“{word}”的{kind}；是不是想写 {nearest}？可用的有：{choices}。",
    "{sentence} Or give the path of a file.": "{sentence}也可以给出一个文件的路径。",
    "the rung {rung} does not do {task}; these do: {choices}.": "模型 {rung} 不能做 {task} 任务；能做的有：{choices}。",
    # Options
    "{name} is now {option}; use that name.": "{name} 现在叫 {option}；请用新的名字。",
    "{option}={value} is not one of {choices}.": "{option}={value} 不在可选的值之中：{choices}。",
    "{option}={value}: expected {wanted}, found {type}; the default is {default}.":
        "{option}={value}：应{wanted}，现在是 {type}；默认是 {default}。",
    "{option}={value}: expected {wanted}; the default is {default}.": "{option}={value}：应{wanted}；默认是 {default}。",
    "widths={widths}: expected whole numbers from 1 on with commas between them, as in 2,3,4.":
        "widths={widths}：应为从 1 起的整数，用逗号隔开，例如 2,3,4。",
    "L={L}: of classes the curve gives probabilities, so L is 1; leave it out.":
        "L={L}：分类时曲线给出的是概率，L 只能是 1；请去掉这个选项。",
    "{where}: found the target {value}, expected one between 0 and L = {L}, which the logistic curve does not leave; give a "
    "larger L (--set L=…), or use linear.":
        "{where}：目标值是 {value}，应在 0 与 L = {L} 之间，逻辑曲线不会超出这个范围；请给更大的 L（--set L=…），或改用 linear。",
    "solver=closed: found {found} features, expected at most {most}; use solver=gradient.":
        "solver=closed：有 {found} 个特征，最多只能有 {most} 个；请用 solver=gradient。",
    "bidirectional=True goes with a cell that reads step by step; cell=none reads no way at all.":
        "bidirectional=True 要配逐步读入的 cell；cell=none 没有方向可言。",
    "width={width} cannot be shared by heads={heads}: expected a multiple; try width={fitting}.":
        "width={width} 不能由 heads={heads} 平分：应是它的倍数；可以试试 width={fitting}。",
    "characters={characters} goes with tokens that are tagged; a text is read by --set tokenizer=characters.":
        "characters={characters} 只用于标注词元；要逐字读文本，请用 --set tokenizer=characters。",
    "tokenizer={tokenizer}: these rows are cut into tokens already; leave it out.":
        "tokenizer={tokenizer}：这些行已经切成词元；请去掉这个选项。",
    "tokenizer=jieba needs the package jieba: pip install 'wenmai[chinese]'.":
        "tokenizer=jieba 需要 jieba 包：pip install 'wenmai[chinese]'。",
    "history={history} goes with horizon=N, how many values are forecast; give both, or leave it out.":
        "history={history} 要与 horizon=N（预测几个值）一起用；请两个都给，或去掉它。",
    "device={device}: torch finds no GPU here; use --device cpu, or leave it out.":
        "device={device}：torch 在这台机器上找不到 GPU；请用 --device cpu，或去掉这个选项。",
    "device={device} is not a device; expected auto, cpu, cuda or cuda:N.":
        "device={device} 不是一种设备；应为 auto、cpu、cuda 或 cuda:N。",
    "a share of {share} was asked for; expected a file, or a number from 0 to 0.9.":
        "要求的比例是 {share}；应为一个文件，或 0 到 0.9 之间的数。",
    "compare needs a valid and a test part: give files or shares for both.":
        "compare 需要验证和测试两个部分：请分别给出文件或比例。",
    # Columns
    '--columns {columns}: found "{found}", expected word=column, as in text=0,label=1.':
        "--columns {columns}：“{found}”应写成“名称=列”，例如 text=0,label=1。",
    "--columns {columns}: {word} is given twice; give it one column.": "--columns {columns}：{word} 给了两次；只能对应一列。",
    '{file} has no column "{name}"; its columns (and positions) are {names}. Use --columns {word}={column} or another of them.':
        "{file} 没有名为“{name}”的列；各列（及其位置）是 {names}。请用 --columns {word}={column}，或其中另一列。",
    "{file} has the columns {names}: data for the task {task}, which no rung here does yet; for one that is done ({choices}), "
    "name its columns, as in --columns text=NAME,label=NAME.":
        "{file} 的列是 {names}：这是 {task} 任务的数据，目前还没有模型能做；要做已有的任务（{choices}），"
        "请指明用哪些列，例如 --columns text=列名,label=列名。",
    "{file} has the columns {names}, which say no task; to classify, name "
    "a text and a label: --columns text={first},label={last}; "
    "to regress, the numbers and a target; to tag, tokens and tags; to generate, a text alone; to compose, say --task compose.":
        "{file} 的列是 {names}，看不出是什么任务；要分类，请指明文本与标签：--columns text={first},label={last}；"
        "要回归，请指明数值与 target；要标注，请指明 tokens 与 tags；要生成，只要文本；要按输入写文本，请加 --task compose。",
    "{file} has no column label (found: {names}); name it with --columns label=NAME,text=NAME.":
        "{file} 没有 label 列（现有：{names}）；请用 --columns label=列名,text=列名 指明。",
    "{file} has no column tags (found: {names}); name it with --columns tokens=NAME,tags=NAME.":
        "{file} 没有 tags 列（现有：{names}）；请用 --columns tokens=列名,tags=列名 指明。",
    "{file} has no column target (found: {names}); name it with --columns target=NAME,….":
        "{file} 没有 target 列（现有：{names}）；请用 --columns target=列名,… 指明。",
    "{file} has only the column {answers}; expected text, text_a and text_b, tokens, image, inputs, or numbers too.":
        "{file} 只有这些列：{answers}；还应有 text、text_a 与 text_b、tokens、image、inputs 或数值列。",
    "{file}: the columns {names} are not numbers of equal length.": "{file}：{names} 各列不是长度相同的数。",
    # Opening files
    "{file} cannot be opened ({why}); check the path and its permissions.": "{file} 打不开（{why}）；请检查路径和权限。",
    "{file} cannot be opened ({why}); check its permissions.": "{file} 打不开（{why}）；请检查权限。",
    "{file} is not there, nor is its folder {folder}; check the path.":
        "{file} 不存在，它所在的文件夹 {folder} 也不存在；请检查路径。",
    "{file} is not there; {instead}": "{file} 不存在；{instead}",
    "counting on Spark needs the package pyspark; run pip install 'wenmai[spark]'.":
        "用 Spark 计数需要 pyspark 包；请运行 pip install 'wenmai[spark]'。",
    "counting on Spark needs a Java runtime, and there is no java here; install one, or set JAVA_HOME.":
        "用 Spark 计数需要 Java 运行环境，这里没有 java；请安装，或设置 JAVA_HOME。",
    "Spark did not start ({error}); see what Java says above, and whether it is 17 or newer.":
        "Spark 没有启动（{error}）；请看上面 Java 的输出，并确认 Java 是 17 或更新的版本。",
    "{file} is packed in a way that Spark does not read; expected text, .gz or .bz2; unpack it first.":
        "{file} 的压缩格式 Spark 读不了，应是文本、.gz 或 .bz2；请先解压。",
    "{file} needs the package {package}; run pip install wenmai[formats].":
        "读 {file} 需要 {package} 包；请运行 pip install wenmai[formats]。",
    "{file} is damaged or cut off ({packed}: {damage}); copy or compress it again.":
        "{file} 已损坏或不完整（{packed}：{damage}）；请重新复制或压缩。",
    "{file}, line {line}: found bytes that are not {encoding}, which the beginning of the file is; save the whole file as UTF-8.":
        "{file} 第 {line} 行：有些字节不是{encoding}，而文件开头是；请把整个文件存为 UTF-8。",
    "{file} looks like a binary file, where text in UTF-8 or GB18030 was expected; give a text file, or save this one as UTF-8.":
        "{file} 像是二进制文件，应为 UTF-8 或 GB18030 的文本；请给一个文本文件，或把它存为 UTF-8。",
    "{file} is empty; expected at least one line of text.": "{file} 是空的；至少应有一行文字。",
    "{file} is in two encodings: line {line} is UTF-8 and line {other} is not; expected one; save the whole file as UTF-8.":
        "{file} 里有两种编码：第 {line} 行是 UTF-8，第 {other} 行不是；应只有一种；请把整个文件存为 UTF-8。",
    "{file} has no rows; expected at least one below its header.": "{file} 没有数据行；表头之下至少应有一行。",
    "{file} is empty: found no rows, expected at least one.": "{file} 是空的：一行也没有，至少应有一行。",
    "{file} cannot be read as Parquet ({error}); write it again.": "{file} 不能作为 Parquet 读取（{error}）；请重新写出。",
    "{file} is a folder; expected two text files with as many lines; give a file.":
        "{file} 是文件夹；应为两个行数相同的文本文件；请给一个文件。",
    "{file} has {lines} lines and {other} has {others}: from line {line} on, {longer} stands alone; expected as many, each line "
    "beside its translation; add or remove lines.":
        "{file} 有 {lines} 行，{other} 有 {others} 行：从第 {line} 行起只有 {longer} 还有内容；两者应一样多，每行对着它的译文；"
        "请增删几行。",
    "{file} is one text, and to translate takes two sides; give the file whose lines belong to it too, as in {name},OTHER, or a "
    "file with the columns source and target.":
        "{file} 只有一段文本，而翻译需要两边；请把与它逐行对应的文件也给出来，写成 {name},OTHER，"
        "或给一个有 source 和 target 两列的文件。",
    "{file} has the columns {names}, expected source and target; name them with --columns source=NAME,target=NAME.":
        "{file} 的列是 {names}，应有 source 和 target；请用 --columns source=列名,target=列名 指出是哪两列。",
    "{file}, line {line}: the {side} is empty; give both sides a text, or {side_do}.":
        "{file} 第 {line} 行：{side}是空的；请给两边都写上文本，或{side_do}。",
    '{file}, line {line}: found the control character "{letter}" in the {side}, expected nothing but text; take it out, or drop '
    "the row.":
        "{file} 第 {line} 行：{side}里有控制字符“{letter}”，应只有文本；请去掉这个字符，或去掉这一行。",
    "--target {target} is the second of two files, and {name} is a built-in set; leave --target out.":
        "--target {target} 是两个文件中的第二个，而 {name} 是内置数据；请去掉 --target。",
    "dates:{option}: CLDR has no names of months in this language; choose another, as in dates:en,zh.":
        "dates:{option}：CLDR 里没有这种语言的月份名；请换一种，例如 dates:en,zh。",
    "numbers:{option} is the same on both sides; expected two ways of writing, as in numbers:zh-digits.":
        "numbers:{option} 两边是同一种写法；应是两种写法，例如 numbers:zh-digits。",
    "docstrings is read from the sources of the standard library, which are not in {folder}; use an interpreter that has them.":
        "docstrings 取自标准库的源代码，而 {folder} 里没有；请换一个带有源代码的解释器。",
    "{folder} is a folder that cannot be opened ({why}); check its permissions.":
        "{folder} 是文件夹，但打不开（{why}）；请检查权限。",
    "{folder} holds several sets of images; give one of {names}.": "{folder} 里有好几组图像；请给出其中一个：{names}。",
    "{folder} is a folder with {inside}; expected one .txt file a label (at least two), or idx images. Give one file instead.":
        "{folder} 是文件夹，内容：{inside}；应是每个标签一个 .txt 文件（至少两个），或 idx 图像。也可以改为给一个文件。",
    '{file} is the second file for the label "{label}" in {folder}, expected one; remove one of them.':
        "{file} 是 {folder} 中标签“{label}”的第二个文件，只应有一个；请去掉其中一个。",
    "{folder}: {why}, while data was put there that is too large for memory; make room, or set TMPDIR to another folder.":
        "{folder}：{why}；内存装不下的数据要暂存在这里；请腾出空间，或把 TMPDIR 设为别的文件夹。",
    "{folder}: {why}, while n-grams were put there that are too many for memory; make room, or name another folder.":
        "{folder}：{why}；内存装不下的 n 元组要暂存在这里；请腾出空间，或指定别的文件夹。",
    "the text has more than {most} n-grams of {order} words, expected fewer; choose a lower order, or less text.":
        "文本中 {order} 个词的 n 元组超过 {most} 个，应当更少；请选较低的阶数，或用较少的文本。",
    # What is in a file
    "{file} holds a header and no rows; expected at least one row below it.":
        "{file} 只有表头，没有数据行；表头之下至少应有一行。",
    "{file}, line {line}: found {quoting} in the row that begins here; expected a cell in quotes to be closed before the next "
    'delimiter, and "" for a quote inside it; correct the line.':
        "{file} 第 {line} 行：从这里开始的一行，{quoting}；带引号的格子应在下一个分隔符之前用引号结束，"
        "格子里的引号应写成 \"\"；请改正这一行。",
    "{file}, line {line}: found {found} columns, expected {expected} as in the first row; correct the line or remove it.":
        "{file} 第 {line} 行：有 {found} 列，应与第一行一样有 {expected} 列；请改正或删去这一行。",
    "{file}, line {line}: found {found} columns, expected {expected} as in the lines at the beginning, or a blank line between "
    "sentences; correct the line.":
        "{file} 第 {line} 行：有 {found} 列，应与开头各行一样有 {expected} 列，句子之间则空一行；请改正这一行。",
    "{file} is empty: found no tokens, expected one a line.": "{file} 是空的：没有词元，应每行一个。",
    '{file}, {place} {number}: found a JSON {type}, expected an object such as {"text": "…", "label": "…"}; rewrite the file so.':
        '{file} 第 {number} {place}：是 JSON 的 {type}，应为一个对象，例如 {"text": "…", "label": "…"}；请照此改写文件。',
    "{file} is empty: found a list without objects, expected at least one.": "{file} 是空的：列表里没有对象，至少应有一个。",
    '{file}, {place} {number}: found {keys}, expected "{key}" too, as in the first row; add it, or leave it out with --columns.':
        "{file} 第 {number} {place}：键是 {keys}，还应与第一行一样有“{key}”；请补上，或用 --columns 略去它。",
    "{file}, line {line}: found something that is not JSON ({json}), expected one whole object a line; correct the line.":
        "{file} 第 {line} 行：不是 JSON（{json}），应每行一个完整的对象；请改正这一行。",
    "{file}, line {line}: found something that is not JSON ({json}); expected one list of objects, or one object a line; "
    "correct it.":
        "{file} 第 {line} 行：不是 JSON（{json}）；应为一个由对象组成的列表，或每行一个对象；请改正。",
    "{file} is empty: found no questions in its paragraphs, expected at least one.":
        "{file} 是空的：各段里没有问题，至少应有一个。",
    "{file}, {at}: found {squad}, expected {called} there, as in SQuAD; correct it.":
        "{file}，{at}：{squad}，按 SQuAD 的格式，这里应为{called}；请改正。",
    # Images
    "{file}: found no labels beside the images, expected {name} (or .gz); put it there.":
        "{file}：图像旁边没有标签文件，应有 {name}（或 .gz）；请放在那里。",
    "{file}: found {images} images and {labels} labels in {other}, expected as many.":
        "{file}：有 {images} 张图像，而 {other} 里有 {labels} 个标签，两者应一样多。",
    "{file} is cut off: it announces {images} images and holds fewer; copy it again.":
        "{file} 不完整：开头说有 {images} 张图像，实际不够；请重新复制。",
    "{file}: found no idx header for {dimensions} dimensions of bytes; check that it is whole.":
        "{file}：没有 {dimensions} 维字节数据的 idx 文件头；请检查文件是否完整。",
    "{where}: found no image, expected the path of a PNG or JPG file; add it or remove the line.":
        "{where}：没有图像，应为一个 PNG 或 JPG 文件的路径；请补上，或删去这一行。",
    "{where}: the image {path}: found {picture}, expected a whole PNG or JPG file; {picture_do}, or remove the line.":
        "{where}：图像 {path}：{picture}，应为完整的 PNG 或 JPG 文件；请{picture_do}，或删去这一行。",
    # Labels, tags, numbers
    "{file}, line {line}: the label is empty; give every row a label or drop the row.":
        "{file} 第 {line} 行：标签是空的；请给每行一个标签，或去掉这一行。",
    "found one class only ({class}) in {rows} rows; to classify, at least two are needed.":
        "{rows} 行里只有一个类别（{class}）；要分类，至少需要两个。",
    "{where}: the label {label} is not among the trained ones: {names}.":
        "{where}：标签 {label} 不在训练时见过的标签之中：{names}。",
    "{where}: found {value} in column tokens, expected a list of texts such as [\"a\", \"b\"].":
        '{where}：tokens 列里是 {value}，应为文本的列表，例如 ["a", "b"]。',
    '{where}: found {value} in column tags, expected a list of texts such as ["O", "B-PER"].':
        '{where}：tags 列里是 {value}，应为文本的列表，例如 ["O", "B-PER"]。',
    "{where}: found {tags} tags for {tokens} tokens, expected one for each.":
        "{where}：{tokens} 个词元有 {tags} 个标签，应每个词元一个。",
    'row {row}: found {value}, expected a list of tags such as ["O", "B-PER"].':
        '第 {row} 行：是 {value}，应为标签的列表，例如 ["O", "B-PER"]。',
    "row {row}: found {tags} tags for {tokens} tokens, expected one for each.":
        "第 {row} 行：{tokens} 个词元有 {tags} 个标签，应每个词元一个。",
    "{where}: found {found} {targets} for a text that is cut into {expected} tokens, expected one for each; give the tokens "
    "instead of the text.":
        "{where}：文本切成了 {expected} 个词元，却有 {found} {targets}，应每个词元一个；请直接给词元，不要给文本。",
    "found no tokens in {rows} rows; to tag, some are needed, each with its tag.":
        "{rows} 行里没有词元；要标注，需要一些带标签的词元。",
    "found one tag only ({tag}) in {rows} rows; to tag, at least two are needed.":
        "{rows} 行里只有一种标签（{tag}）；要标注，至少需要两种。",
    "{where}: the tag {tag} is not among the trained ones: {names}.": "{where}：标签 {tag} 不在训练时见过的标签之中：{names}。",
    "{tag} does not keep to {scheme} (it would be {wanted}){others}": "{tag}不合 {scheme} 方案（应为 {wanted}）{others}",
    "{tag} fits no scheme{no_scheme}; correct the tags, or say --set scheme={scheme} to read them as they are, or scheme=plain "
    "where they mark no spans.":
        "{tag}不合任何标注方案{no_scheme}；请改正标签，或用 --set scheme={scheme} 照原样读，"
        "若标签不表示片段，则用 scheme=plain。",
    "{file}, line {line}: found {value} in column {name}, expected a number; {number_do}.":
        "{file} 第 {line} 行：{name} 列里是 {value}，应为数；请{number_do}。",
    "{file}, line {line}: found {value} in column {name}, expected a finite number; correct the line or remove it.":
        "{file} 第 {line} 行：{name} 列里是 {value}，应为有限的数；请改正或删去这一行。",
    "{file}, line {line}: found {value} in {name}, expected a list of numbers such as [3, 5].":
        "{file} 第 {line} 行：{name} 里是 {value}，应为数的列表，例如 [3, 5]。",
    "{file}, line {line}: found {value} at step {step} of {name}, expected a finite number.":
        "{file} 第 {line} 行：{name} 的第 {step} 步是 {value}，应为有限的数。",
    "{file}, line {line}: found {numbers1} a step in {name}, expected {numbers2} as before.":
        "{file} 第 {line} 行：{name} 每步有{numbers1}，应与前面一样是{numbers2}。",
    "{file}, line {line}: found {found} {targets} for {steps} inputs, expected one for every step, or one number for the row.":
        "{file} 第 {line} 行：{steps} 步输入有 {found} {targets}，应每步一个，或整行一个数。",
    "found {per1}, expected {per2} as in training.": "现在是{per1}，应与训练时一样是{per2}。",
    "row {row}: found {targets} targets for {steps} steps, expected one for each.":
        "第 {row} 行：{steps} 步有 {targets} 个目标值，应每步一个。",
    "found {rows} rows in time, expected at least {history}, from which the forecast is made.":
        "时间序列有 {rows} 行，至少应有 {history} 行，预测要以它们为依据。",
    "found {rows} rows in time to train, validate or test on, expected at least history + horizon = {history} + {horizon}; give "
    "more rows, or a smaller history or horizon.":
        "用于训练、验证或测试的时间序列有 {rows} 行，至少应有 history + horizon = {history} + {horizon} 行；"
        "请给更多的行，或减小 history 或 horizon。",
    "found rows without a step, expected at least one number to learn from.": "各行都没有内容，至少应有一个数可学。",
    "found {found} targets a row, expected {expected} as in training.":
        "每行有 {found} 个目标值，应与训练时一样是 {expected} 个。",
    "{where}: found the target {value}, expected a number.": "{where}：目标值是 {value}，应为数。",
    "{where}: found the target {value}, expected a finite number.": "{where}：目标值是 {value}，应为有限的数。",
    "{where}: found {found} targets, expected {expected} as in the first row.":
        "{where}：有 {found} 个目标值，应与第一行一样是 {expected} 个。",
    # Inputs
    "input {row}: expected a text, found {type} {value}.": "输入 {row}：应为文本，现在是 {type} {value}。",
    "input {row}: expected a list of tokens{or_else}, found {value}.": "输入 {row}：应为词元的列表{or_else}，现在是 {value}。",
    "this model reads pairs: expected two texts for every input (columns text_a and text_b).":
        "这个模型读的是文本对：每个输入应有两段文本（text_a 与 text_b 两列）。",
    "expected rows of {width} numbers, found {value}.": "每行应为 {width} 个数，现在是 {value}。",
    "expected rows of {width} numbers, found an array of shape {shape}.": "每行应为 {width} 个数，现在是形状为 {shape} 的数组。",
    "row {row}, column {column}: found {value}, expected a finite number.":
        "第 {row} 行第 {column} 列：是 {value}，应为有限的数。",
    "expected images of shape {shape}, found {found}.": "图像的形状应为 {shape}，现在是 {found}。",
    "the numeric sequences are all empty; expected at least one number.": "数值序列全是空的；至少应有一个数。",
    "expected frames of {width} numbers, found frames of {found}.": "每步应为 {width} 个数，现在是 {found} 个。",
    "row {row}, step {step}: found {value}, expected a finite number.": "第 {row} 行第 {step} 步：是 {value}，应为有限的数。",
    "expected sequences of numbers, {width} a step, found {value}.": "应为数值序列，每步 {width} 个数，现在是 {value}。",
    "found {inputs} inputs and {targets_count} targets; expected one target for every input.":
        "有 {inputs} 个输入、{targets_count} 个目标值；应每个输入一个。",
    "there are no rows; expected at least one input with its target.": "一行也没有；至少应有一个输入和它的目标值。",
    "this run reads pairs: found {texts} texts, expected two for every answer.":
        "这个模型读的是文本对：有 {texts} 段文本，每个答案应有两段。",
    "this run reads images: {path} is no file; give the path of a PNG or JPG, or many with --file.":
        "这个模型读的是图像：{path} 不是文件；请给出 PNG 或 JPG 的路径，多幅图像可用 --file。",
    "{file}: found an image of {size} points, expected {wanted_size} as in training; scale it.":
        "{file}：图像大小是 {size}，应与训练时一样为 {wanted_size}；请先缩放。",
    "this run forecasts a series: give the rows so far with --file.": "这个模型预测时间序列：请用 --file 给出迄今的各行。",
    "this run reads {width} numbers for every answer, as in 5.1,3.5,1.4,0.2.":
        "这个模型每个答案读 {width} 个数，例如 5.1,3.5,1.4,0.2。",
    "{file}: every {what} of the {part} rows stands in the training rows too; give other rows.":
        "{file}：{part}的每个{what}都在训练数据里出现过；请换别的数据。",
    "the {rung} answers without probabilities here; to classify or tag, softmax has them.":
        "{rung} 在这里不给出概率；分类或标注时，softmax 有概率。",
    "this {estimator} has not been trained; call fit first, or wenmai.load a run.":
        "这个 {estimator} 还没有训练；请先调用 fit，或用 wenmai.load 载入一个运行文件夹。",
    # Vectors and built-in sets
    "{file}, line {line}: expected a word and its numbers, found {value}.":
        "{file} 第 {line} 行：应为一个词和它的各个数，现在是 {value}。",
    "{file}, line {line}: found {found} numbers, expected {expected}.":
        "{file} 第 {line} 行：有 {found} 个数，应为 {expected} 个。",
    "{file} holds no vectors; expected lines of a word and its numbers.": "{file} 里没有词向量；每行应为一个词和它的各个数。",
    "{name} is neither a file of vectors nor an installed package that carries one.":
        "{name} 既不是词向量文件，也不是带有词向量的已安装的包。",
    "{file} has no list of words beside it; expected a .txt with a word a line, or a .parquet.":
        "{file} 旁边没有词表；应有一个每行一词的 .txt，或一个 .parquet。",
    "{name}:{option} asks for rows of length {value}; expected a whole number from {least} to {most}, as in {name}:40.":
        "{name}:{option} 要求每行长 {value}；应为 {least} 到 {most} 的整数，例如 {name}:40。",
    "{data} is read from {file}, which is not there; run pip install 'wenmai[datasets]' again.":
        "{data} 要从 {file} 读取，而它不存在；请重新运行 pip install 'wenmai[datasets]'。",
    "{data} needs the package {package}; run pip install 'wenmai[datasets]'.":
        "{data} 需要 {package} 包；请运行 pip install 'wenmai[datasets]'。",
    # Where to write
    "--out {file}: expected a name that ends in .jsonl, .csv, .tsv or (for tags) .conll.":
        "--out {file}：文件名应以 .jsonl、.csv、.tsv 结尾，标注也可以用 .conll。",
    "--out {file}: a .conll file holds tokens and tags; for these answers, use .jsonl.":
        "--out {file}：.conll 文件里是词元和标签；这些答案请用 .jsonl。",
    "{folder} is a file, where a run folder is to be written; choose another --out.":
        "{folder} 是一个文件，而这里要写入运行文件夹；请换一个 --out。",
    "{folder} holds {strange}, which is no part of a run, and is left as it is; choose another --out.":
        "{folder} 里有 {strange}，不属于任何训练结果，没有动它；请另选 --out。",
    "{folder} is being written by another process; wait for it, or choose another --out.":
        "另一个进程正在写 {folder}；请等它结束，或换一个 --out。",
    "{folder} cannot be written ({why}); make room or choose another place.":
        "{folder} 不能写入（{why}）；请腾出空间，或换一个位置。",
    # Runs
    "{folder} is not a run folder (it has no run.json); wenmai train makes one.":
        "{folder} 不是运行文件夹（里面没有 run.json）；wenmai train 会生成一个。",
    "{file}: format {found}, expected {expected}; use the wenmai that made it.":
        "{file}：格式为 {found}，应为 {expected}；请用当初生成它的那个版本的 wenmai。",
    "{file} is missing: the run folder is damaged; train it again.": "缺少 {file}：运行文件夹已损坏；请重新训练。",
    "{file} is not as it was written ({error}): the run folder is damaged; train it again.":
        "{file} 与写入时不同（{error}）：运行文件夹已损坏；请重新训练。",
    "{file} does not fit run.json ({error}); train it again.": "{file} 与 run.json 不相符（{error}）；请重新训练。",
    "{file} is missing: the folder is damaged; train it again.": "缺少 {file}：文件夹已损坏；请重新训练。",
    "{file} is not as it was written: the folder is damaged; train it again.": "{file} 与写入时不同：文件夹已损坏；请重新训练。",
    "{file}: found {found} bytes, expected {expected}: the file is damaged; train it again.":
        "{file}：有 {found} 字节，应为 {expected}：文件已损坏；请重新训练。",
    "{file} is not as it was written (its checksum differs): the file is damaged; train it again.":
        "{file} 与写入时不同（校验和不符）：文件已损坏；请重新训练。",
    "{file} does not name {name}: the folder is damaged; train it again.": "{file} 里没有列出 {name}：文件夹已损坏；请重新训练。",
    # Files that fuzzing brought to light
    "{file}, line {line}: found a line of more than {most} bytes, expected shorter ones; break it into several.":
        "{file} 第 {line} 行：一行超过 {most} 字节，太长；请分成几行。",
    "{file}: found images of {height}×{width}, expected at most {most} bytes; check that it is whole.":
        "{file}：图像大小是 {height}×{width}，每幅至多 {most} 字节；请检查文件是否完整。",
    "{file} holds more than it announces in its header; check that it is whole.":
        "{file} 里的内容比文件头声明的多；请检查文件是否完整。",
    '{file}, {place} {number}: found an object without keys, expected some, as in {"text": "…"}.':
        '{file} {place} {number}：这个对象没有键；应有一些，例如 {"text": "…"}。',
    '{file}: found two columns named "{name}", expected a name for each; write it again.':
        "{file}：有两列都叫“{name}”；每列应有自己的名字；请重新写出。",
    "{file} is damaged: it announces {announced} rows and holds {found}; write it again.":
        "{file} 已损坏：声明有 {announced} 行，实际有 {found} 行；请重新写出。",
    "{file}, line {line}: found {found}, expected a finite number; correct the line.":
        "{file} 第 {line} 行：{found} 不是有限的数；请改正这一行。",
    "{file}, line 1: found {words} words of {numbers} numbers announced, and {found} of {width} below; copy the file again, or "
    "correct the line.":
        "{file} 第 1 行：声明有 {words} 个词、每个 {numbers} 个数，下面却是 {found} 个词、每个 {width} 个数；"
        "请重新复制文件，或改正这一行。",
    "{file} cannot be read as a matrix of NumPy: it is damaged; save it again with numpy.save.":
        "{file} 不能作为 NumPy 矩阵读取：已损坏；请用 numpy.save 重新保存。",
    "{file} holds no vectors; expected a matrix of numbers, a row for every word.":
        "{file} 里没有词向量；应为一个数的矩阵，每个词一行。",
    "{file}, row {row}: found a number that is not finite; expected finite ones; save it again.":
        "{file} 第 {row} 行：有一个数不是有限的；请重新保存。",
    "{file}: found {words} words for the {rows} rows of {other}, expected as many.":
        "{file}：有 {words} 个词，而 {other} 有 {rows} 行；两者应一样多。",
    "{file}: found an empty cell, expected a word and its number in every row; write it again.":
        "{file}：有一个空格子；每行应为一个词和它的编号；请重新写出。",
    "{option}={value}: expected at most {most}, which is more than any row of features needs.":
        "{option}={value}：至多为 {most}，任何一行的特征都用不到更多。",
    "{file}, line {line}: found {found} in column {name}, expected a text; correct it or remove the row.":
        "{file} 第 {line} 行：{name} 列里是 {found}，应为文本；请改正，或删去这一行。",
    # Running text
    "found {tokens} tokens, expected at least 2: one to read and one to come after it.":
        "只有 {tokens} 个词元，至少应有 2 个：读一个，后面还要有一个。",
    "learned from all of the text; for a perplexity, hold some of it out with --valid 0.1, or give --valid FILE":
        "全部文本都用来学习了；要看困惑度，请用 --valid 0.1 留出一部分，或用 --valid FILE 给一个文件",
    "{file}: found a line of more than {most} bytes, expected shorter ones; break it into several.":
        "{file}：有一行超过 {most} 字节，应短一些；请断成几行。",
    "running text: its last lines are held out, none of them is learned from": "连续文本：留出最后的一段，不参与学习",
    "texts are {cut}": "文本{cut}",
    "there is no text to evaluate; expected at least one line.": "没有可评估的文本；至少应有一行。",
    "{name}={value} goes with {option}=…, which is missing; add it, or leave out {name}.":
        "{name}={value} 要与 {option}=… 一起用，现在没有；请加上，或去掉 {name}。",
    "{name}={value}: expected a share, from 0 to 1.": "{name}={value}：应为一个比例，从 0 到 1。",
    "stride={stride}: expected 1 to {most}, how many tokens this model looks back on.":
        "stride={stride}：应为 1 到 {most}，后者是这个模型往回看的词元数。",
    "stride goes with rungs that read a text in windows, and this one reads it from end to end; leave it out.":
        "stride 用于分窗口读文本的模型，而这一个从头读到尾；请去掉。",
    "dynamic={kind} learns by gradients, and an n-gram model has none: it counts; leave it out, or judge a network so.":
        "dynamic={kind} 要靠梯度学习，而 n 元模型没有梯度，只有计数；请去掉，或用来评一个网络。",
    "cache_flatness weighs how alike two places are to a network, and an n-gram model cannot tell: in its cache all count "
    "alike; leave it out.":
        "cache_flatness 衡量两处在网络看来有多像，而 n 元模型看不出来：它的缓存里人人同等；请去掉。",
    "dynamic=rms divides gradients by those of another text, and there is none; give one with --tune FILE (in Python tune=…), "
    "such as the validation text, or use dynamic=sgd.":
        "dynamic=rms 要用另一段文本的梯度来除，现在没有；请用 --tune FILE（Python 里是 tune=…）给一段，例如验证文本，"
        "或用 dynamic=sgd。",
    "windows of {steps} tokens move on by {stride}, so that every token is said from at least {least} before it, where there "
    "are so many":
        "每窗 {steps} 个词元，每次前移 {stride} 个，所以说出每个词元时，前面至少看到 {least} 个（只要有那么多）",
    "cache: the last {size} tokens; weight and flatness were always those that had been best so far, at the end {weight} and "
    "{flatness}":
        "缓存：最近 {size} 个词元；权重和平坦度总是取到那时为止最好的，最后是 {weight} 和 {flatness}",
    "cache: the last {size} tokens, weight {weight}, flatness {flatness}":
        "缓存：最近 {size} 个词元，权重 {weight}，平坦度 {flatness}",
    "cache: the last {size} tokens, weight {weight}, flatness {flatness}, as they were best on the other text":
        "缓存：最近 {size} 个词元，权重 {weight}，平坦度 {flatness}，都是在另一段文本上最好的",
    "dynamic: learned by {kind} from every {segment} tokens after they were scored, decay {decay}, rate {rate}; the run itself "
    "is as it was":
        "动态评估：每 {segment} 个词元评分之后用 {kind} 学习一次，回拉 {decay}，学习率 {rate}；运行本身没有改变",
    "dynamic: learned by {kind} from every {segment} tokens after they were scored, decay {decay}, rate {rate}, as it was best "
    "on the other text; the run itself is as it was":
        "动态评估：每 {segment} 个词元评分之后用 {kind} 学习一次，回拉 {decay}，学习率 {rate}，"
        "是在另一段文本上最好的；运行本身没有改变",
    "sliding: {note}": "滑动窗口：{note}",
    "{run} does {task}, and --set and --tune say how a running text is judged, by a run that does generate; leave them out.":
        "{run} 做的是{task}，而 --set 和 --tune 说的是如何评判连续文本，要用做 generate 的运行；请去掉。",
    "the prompt has {tokens} tokens, and {rung} looks back on {steps}: the first {unseen} play no part":
        "开头有 {tokens} 个词元，而 {rung} 只往回看 {steps} 个：最前面的 {unseen} 个不起作用",
    "the text has {tokens} tokens, fewer than the {steps} that are read at once: it is learned as one window":
        "文本只有 {tokens} 个词元，不足一次读入的 {steps} 个：整段当作一个窗口来学习",
    "the models cut the text differently, so that perplexities, each of its own unit, cannot be compared: they are ranked by "
    "bits per byte, which can":
        "各模型切分文本的方式不同，困惑度各按各的单位，不能相比；这里按每字节比特数排名，它可以相比",
    "tokenizer=bytes knows every byte there is, 256 of them: leave out vocabulary and min_count.":
        "tokenizer=bytes 认得全部 256 个字节：请去掉 vocabulary 和 min_count。",
    "after this text nothing has a probability in a model without smoothing; begin otherwise, or train with smoothing.":
        "模型没有平滑，这段文本之后的任何词概率都是 0；请换一个开头，或带平滑重新训练。",
    "{unknown} of the {tokens} tokens are <unk>, unknown to the model or written so: what they are is not counted in perplexity "
    "and bits per byte":
        "{tokens} 个词元中有 {unknown} 个是 <unk>（模型不认识，或原文就这样写）：困惑度和每字节比特数没有算进它们究竟是什么",
    "the text holds what has no probability at all in this model, so its perplexity is infinite; smoothing gives every word some":
        "文本里有模型认为概率为 0 的内容，所以困惑度是无穷大；平滑会给每个词一点概率",
    "order={order}: expected 1 to {most}, how long the n-grams are.": "order={order}：应为 1 到 {most}，即 n 元组的长度。",
    "delta={delta} goes with smoothing=add-delta; leave it out.": "delta={delta} 要与 smoothing=add-delta 一起用；请去掉。",
    "add-delta: δ = {delta}, fitted on held-out lines of the text": "add-delta：δ = {delta}，用留出的行求得",
    "add-delta: δ = {delta}, the end of what is tried, since held-out lines of this text are all like the others, or like none; "
    "choose it with --set delta=0.1 or so":
        "add-delta：δ = {delta}，到了尝试范围的尽头，因为留出的行与其余的完全一样，或毫无相同；请自己选，例如 --set delta=0.1",
    "after={after} goes with one text, found {type}; ask for one at a time.":
        "after={after} 只能与一段文本一起用，现在是 {type}；请一次问一段。",
    "expected a text, or texts, found {type} {value}.": "应为一段或几段文本，现在是 {type} {value}。",
    "{file} is a pipe or a device, and is read more than once; write it to a file first.":
        "{file} 是管道或设备，而它要读不止一遍；请先写成文件。",
    "{file} has become shorter while it was read; leave it alone, and start again.":
        "{file} 在读的时候变短了；请不要动它，重新开始。",
    "--tokenizer {tokenizer}: expected one of {choices}.": "--tokenizer {tokenizer}：应为以下之一：{choices}。",
    "{file}: found the word {word}, expected single characters; leave out --tokenizer characters.":
        "{file}：有词 {word}，应全是单字；请去掉 --tokenizer characters。",
    "its words are characters, the space ▁; wenmai import reads them with --tokenizer characters":
        "其中的词是单字，空格写作 ▁；wenmai import 用 --tokenizer characters 读回",
    "its words are in lower case: write a text so before you ask another tool about it":
        "其中的词都是小写：让别的工具读文本之前，请先改成小写",
    "in some of the {classes} classes there is little text: {note}": "{classes} 个类别中有些文本太少：{note}",
    "the rung ngram reads text; for numbers and images use another, such as softmax.":
        "模型 ngram 读的是文本；数值和图像请用别的，例如 softmax。",
    "memory and engine go with running text; to classify, leave them out.": "memory 和 engine 只用于连续文本；分类时请去掉。",
    "engine=spark counts words between spaces in a text file in UTF-8, all of them: leave out tokenizer, vocabulary, "
    "min_count, lowercase and shares that are held out.":
        "engine=spark 统计 UTF-8 文本文件中以空格分开的全部词：请去掉 tokenizer、vocabulary、min_count、lowercase 和留出的比例。",
    "{file}: found {tokens} tokens, expected at least as many as the order, {order}; give more text, or a lower order.":
        "{file}：只有 {tokens} 个词元，至少应与阶数 {order} 一样多；请给更多文本，或用更低的阶数。",
    "memory={memory}: expected a size of at least 1M, such as 500M or 2G.":
        "memory={memory}：应为至少 1M 的大小，例如 500M 或 2G。",
    "tokens={tokens}: expected 1 or more, how many are written at the most.":
        "tokens={tokens}：应为 1 或更大，即最多写多少个词元。",
    "lines={lines}: expected 1 or more, after which it stops; leave it out to go on through their ends.":
        "lines={lines}：应为 1 或更大，写完这么多行就停；要越过行末写下去，请不要给。",
    "tune is a text on which the cache and the rate of dynamic= are fitted, and neither is asked for; add cache=2000 or "
    "dynamic=sgd, or leave it out.":
        "tune 是用来选定缓存和 dynamic= 的学习率的文本，而两者都没有要求；请加上 cache=2000 或 dynamic=sgd，或者去掉它。",
    "dynamic_segment={tokens}: expected at least 1.": "dynamic_segment={tokens}：应至少为 1。",
    "the text to fit on (tune) is empty; expected at least one line.": "用来选定的文本（tune）是空的；至少要有一行。",
    "--beginning goes with --complete N, of the next tokens those that begin so; a text begins with --prompt.":
        "--beginning 与 --complete N 连用，只看这样开头的下一个词元；文本的开头用 --prompt 给出。",
    "--{option} does nothing together with --{other}; leave one of them out.":
        "--{option} 与 --{other} 一起用不起作用；请去掉其中一个。",
    "--top-k and --top-p say what is drawn from, and nothing is drawn by chance; add --temperature 1.":
        "--top-k 与 --top-p 说的是从哪些词元里抽取，而现在并不随机抽取；请加上 --temperature 1。",
    "temperature={temperature}: expected 0 (always the most probable token) or more.":
        "temperature={temperature}：应为 0（总取概率最大的词元）或更大。",
    "top_k={k}: expected 1 or more, how many tokens are chosen from; 0 is all of them.":
        "top_k={k}：应为 1 或更大，即从几个词元中选；0 表示全部。",
    "top_p={p}: expected more than 0 and at most 1, the probability that is chosen from.":
        "top_p={p}：应大于 0、不超过 1，即从多大的概率范围中选。",
    # compose
    "{run} does {task}, and a run is wanted that does compose, as wenmai train gru languages --task compose makes one.":
        "{run} 做的是 {task} 任务；这里需要能按输入写文本的模型，例如 wenmai train gru languages --task compose 训练的。",
    "count={count}: expected 1 or more, how many texts are written.": "count={count}：应为 1 或更多，即写几段文本。",
    "beam={size}: expected 1 to 1000, how many texts are kept at every step; 1 is the most probable token.":
        "beam={size}：应为 1 到 1000，即每一步保留几段文本；1 即每步取最可能的词元。",
    "penalty={penalty}: expected 0 (long texts are not helped) to 10; 0.6 to 1 is usual.":
        "penalty={penalty}：应为 0（不照顾长文本）到 10；常用 0.6 到 1。",
    "{option}={value}: expected {wanted}, found {found}.": "{option}={value}：应为{wanted}，现在是 {found}。",
    "precision={precision}: expected one of {choices}.": "precision={precision}：应为以下之一：{choices}。",
    "best={count}: expected 1 to {size}, no more texts than the beam keeps; give a larger beam for more.":
        "best={count}：应为 1 到 {size}，不多于束中保留的文本；要更多，请加大 beam。",
    "{over} of the texts are longer than max_length={most} tokens: what goes beyond is not read":
        "有 {over} 段文本超过 max_length={most} 个词元：多出的部分不读",
    "a Composer writes texts, of which there is no table; log_prob(inputs, texts) says how probable they are.":
        "Composer 写的是文本，没有概率表；log_prob(inputs, texts) 会说出文本的概率有多大。",
    "labels are read: {known} known": "读入的是标签：共 {known} 个",
    "input {row}: expected a label, found {type} {value}.": "第 {row} 个输入：应为标签，却是 {type} {value}。",
    "vocabulary={size}: expected at least {least}; {own} are signs of our own, such as <unk>.":
        "vocabulary={size}：至少应为 {least}；其中 {own} 个是自用的记号，例如 <unk>。",
    "the {texts} texts hold no token that is known; expected letters or words to write with.":
        "这 {texts} 段文本里没有一个认识的词元；应有可以用来书写的字或词。",
    "{file} has the columns {names}; to compose, it takes a label, numbers or an image beside the text: name them with --columns "
    "label=NAME,text=NAME.":
        "{file} 的列是 {names}；compose 除文本外还需要标签、数值或图像：请用 --columns label=列名,text=列名 指明。",
    "{file} has no column text (found: {names}), which is what a model learns to write; name it with --columns text=NAME,….":
        "{file} 没有 text 列（现有：{names}），而模型学着写的正是它；请用 --columns text=列名,… 指明。",
    "{where}: the text is empty; give every row a text to write or drop the row.":
        "{where}：文本是空的；请给每一行要写的文本，或删去这一行。",
    "found numeric sequences; to compose, give a label, a row of numbers or an image for every text.":
        "这里是数值序列；compose 要求每段文本配一个标签、一行数或一幅图像。",
    "found one text only ({only}) in {rows} rows; to compose, at least two are needed.":
        "{rows} 行里只有一种文本（{only}）；compose 至少需要两种。",
    "{where}: expected a text to write, found {type} {value}.": "{where}：应为要写的文本，却是 {type} {value}。",
    "{file} has no column source (found: {names}), which is what a model reads; name it with --columns source=NAME,target=NAME.":
        "{file} 没有 source 列（有：{names}），模型要读的就是它；请用 --columns source=列名,target=列名 指出是哪两列。",
    "{file} has no column target (found: {names}), which is what a model learns to write; name it with --columns "
    "source=NAME,target=NAME.":
        "{file} 没有 target 列（有：{names}），模型要学着写的就是它；请用 --columns source=列名,target=列名 指出是哪两列。",
    "found numbers; to translate, give a text for every text that is to be written.":
        "给的是数；要翻译，请为每段要写的文本给一段文本。",
    "found one target only ({only}) in {rows} rows; to translate, at least two are needed.":
        "{rows} 行里只有一种目标文（{only}）；要翻译，至少需要两种。",
    "{where}: expected a text, found {value}; to translate, give a text for a text.":
        "{where}：应为文本，却是 {value}；要翻译，两边都请给文本。",
    "{where}: the source is empty; give it a text to read or drop the row.":
        "{where}：源文是空的；请给出要读的文本，或去掉这一行。",
    "{where}: the target is empty; give it a text to write or drop the row.":
        "{where}：目标文是空的；请给出要写的文本，或去掉这一行。",
    "to score what was written takes the package {package}; run pip install {package2}.":
        "给所写的文本评分需要 {package} 包；请运行 pip install {package2}。",
    "{run} does {task}, and a run is wanted that does generate, as wenmai train ngram corpus.txt makes one.":
        "{run} 做的是 {task} 任务；这里需要能生成文本的模型，例如 wenmai train ngram corpus.txt 训练的。",
    "{grams} n-grams up to order {order}; kept in {run}. Next: wenmai generate {run}":
        "{grams} 个 n 元组，最高 {order} 阶；已存入 {run}。接下来可以：wenmai generate {run}",
    "written to {file}": "已写入 {file}",
    "--json goes with --out FILE: what is kept would stand before it on standard output; --out /dev/null only counts.":
        "--json 要与 --out FILE 一起用：否则留下的内容会先出现在标准输出里；--out /dev/null 只计数。",
    "{rows} rows read, {kept} kept, {dropped} dropped": "读了 {rows} 行，留下 {kept} 行，去掉 {dropped} 行",
    "perplexity: {quantiles}": "困惑度：{quantiles}",
    "--{which}-perplexity {value}: expected 0 or more; a perplexity is never below 1.":
        "--{which}-perplexity {value}：应为 0 或更大；困惑度从不小于 1。",
    "--min-perplexity {least} is above --max-perplexity {most}; nothing would pass.":
        "--min-perplexity {least} 比 --max-perplexity {most} 大；什么都留不下。",
    "{file} is packed; unpack it on the way, as in zcat FILE | wenmai filter RUN -, or give the file's name.":
        "{file} 是压缩的；请边解压边读，例如 zcat FILE | wenmai filter RUN -，或给出文件名。",
    "--column {column} goes with JSON objects; with --format jsonl every line is one.":
        "--column {column} 只用于 JSON 对象；加上 --format jsonl，就是一行一个对象。",
    "{file} is a table; filter takes a file of lines or of JSON objects, a line each.":
        "{file} 是表格；filter 要的是一行一段文本或一行一个 JSON 对象的文件。",
    "{file} is a folder; filter takes a file of lines or of JSON objects, a line each.":
        "{file} 是文件夹；filter 要的是一行一段文本或一行一个 JSON 对象的文件。",
    "--out {file} is the file that is read; choose another.": "--out {file} 正是要读的文件；请换一个。",
    "{file}, line {line}: found no JSON object; correct the line or remove it.":
        "{file}，第 {line} 行：不是 JSON 对象；请改正或删去这一行。",
    '{file}, line {line}: found no text under "{column}"; name the column with --column.':
        "{file}，第 {line} 行：“{column}”下没有文本；请用 --column 指明是哪一列。",
    "{file} cannot be imported; expected an ARPA file, whose name ends in .arpa, .lm or .txt.":
        "{file} 不能导入；应为 ARPA 文件，文件名以 .arpa、.lm 或 .txt 结尾。",
    "--format {format}: expected one of {choices}.": "--format {format}：应为以下之一：{choices}。",
    "an ARPA file holds an n-gram language model, and this run is the rung {rung} for {task}.":
        "ARPA 文件存的是 n 元语言模型，而这个模型是做 {task} 的 {rung}。",
    "its words are tokens of {pieces}: cut a text so before you ask another tool about it":
        "其中的词是{pieces}：让别的工具读文本之前，请先这样切开",
    "--layout {layout}: expected one of {choices}.": "--layout {layout}：应为以下之一：{choices}。",
    "vocabulary={vocabulary}: expected at least {least}; three are <unk>, <s> and </s>.":
        "vocabulary={vocabulary}：至少应为 {least}；其中三个是 <unk>、<s> 和 </s>。",
    "{file} has no column text (found: {names}); name it with --columns text=NAME.":
        "{file} 没有 text 列（有：{names}）；请用 --columns text=列名 指明。",
    # ARPA
    "{file}: found {found}, expected {heading}; the file is cut off, or its counts are wrong.":
        "{file}：见到 {found}，应为 {heading}；文件不完整，或其中的个数不对。",
    "{file} is no ARPA file: it has no line \\data\\.": "{file} 不是 ARPA 文件：没有 \\data\\ 这一行。",
    "{file}, line {line}: found {found}, expected ngram {order}=COUNT.":
        "{file} 第 {line} 行：见到 {found}，应为 ngram {order}=个数。",
    "{file}: found n-grams of {orders} orders, expected 1 to {most}.": "{file}：有 {orders} 阶的 n 元组，应为 1 到 {most} 阶。",
    "{file}, line {line}: found {found}, expected one of {size} {order}-grams: a number, {count} words and at most one number "
    "more.":
        "{file} 第 {line} 行：见到 {found}，应为 {size} 个 {order} 元组之一：一个数、{count} 个词，至多再有一个数。",
    "{file}, line {line}: found {found}, expected logarithms, of a probability at most 0.":
        "{file} 第 {line} 行：见到 {found}，应为对数，概率的对数至多为 0。",
    "{file}: the word {word} stands twice among the 1-grams; remove one of them.":
        "{file}：词 {word} 在一元组里出现了两次；请去掉其中一个。",
    "{file}: the {order}-gram {gram} stands there twice; remove one of them.":
        "{file}：{order} 元组 {gram} 出现了两次；请去掉其中一个。",
    "ARPA cannot hold this vocabulary: two words are written {word} there, or one has no letters; drop one of them.":
        "ARPA 存不下这个词表：有两个词在其中都写作 {word}，或有空词；请去掉其中一个。",
    "{file}, line {line}: the word {word} is not among the 1-grams.": "{file} 第 {line} 行：词 {word} 不在一元组里。",
    "{file}: found {found} {order}-grams, expected {size} as its header says; copy it again.":
        "{file}：有 {found} 个 {order} 元组，而文件头说有 {size} 个；请重新复制。",
    # Training that was stopped
    "{folder} holds a training that was not finished: go on with wenmai "
    "train --resume {folder}, or remove that folder, or choose "
    "another --out.":
        "{folder} 里有一次没有做完的训练：请用 wenmai train --resume {folder} 继续，或删去那个文件夹，或换一个 --out。",
    "{folder} holds a training that was not finished; go on with wenmai train --resume {folder}.":
        "{folder} 里有一次没有做完的训练；请用 wenmai train --resume {folder} 继续。",
    "{file} is a file; --resume takes the run folder of a training that was stopped.":
        "{file} 是一个文件；--resume 要的是一次中断的训练的运行文件夹。",
    "{folder} is not there; --resume takes the run folder of a training that was stopped.":
        "{folder} 不存在；--resume 要的是一次中断的训练的运行文件夹。",
    "{folder} holds no training that was stopped; start one with wenmai train RUNG DATA.":
        "{folder} 里没有中断的训练；请用 wenmai train 模型 数据 开始一次。",
    "{data} is not the data that {folder} was trained on: its rows have "
    "changed; put the old data back, or start anew with wenmai "
    "train.":
        "{data} 不是 {folder} 训练时用的数据：内容已经变了；请换回原来的数据，或用 wenmai train 重新开始。",
    "{folder} is damaged ({reason}); the checkpoint before it is used.": "{folder} 已损坏（{reason}）；改用前一个检查点。",
    "going on after {done} updates or passes": "从第 {done} 步（或遍）之后继续",
    "step {step}: the loss is not a finite number ({batch}); training went back to step {back}, with {times} times the "
    "learning rate.":
        "第 {step} 步：损失不再是有限的数（{batch}）；训练退回到第 {back} 步，学习率乘以 {times}。",
    "step {step}: the loss is no longer a finite number ({batch}), also after the learning rate was lowered; training ends with "
    "what it had learned by step {good}. Look at these rows, or start anew with --set learning_rate={rate} and --set clip=1.":
        "第 {step} 步：降低学习率之后，损失仍不是有限的数（{batch}）；训练到此为止，保留到第 {good} 步为止学到的。请看看这几行，"
        "或者重新开始，加上 --set learning_rate={rate} 和 --set clip=1。",
    "step {step}: the loss is no longer a finite number ({batch}), also after the learning rate was lowered; look at these rows, "
    "or start anew with --set learning_rate={rate} and --set clip=1.":
        "第 {step} 步：降低学习率之后，损失仍不是有限的数（{batch}）；请检查这些行，或用 --set learning_rate={rate} 与 "
        "--set clip=1 重新开始。",
    "pass {number} over the rows ({where} came first): the loss is not a finite number; training went back to its beginning, "
    "with 0.1 times the learning rate.":
        "第 {number} 遍（从 {where} 开始）：损失不再是有限的数；训练退回到开头，学习率乘以 0.1。",
    "pass {number} over the rows ({where} came first): the loss is no longer a finite number, also after the learning rate was "
    "lowered; start anew with --set learning_rate={rate}.":
        "第 {number} 遍（从 {where} 开始）：降低学习率之后，损失仍不是有限的数；请用 --set learning_rate={rate} 重新开始。",
    "a batch does not fit into the memory of {device}: {since} each is read in {pieces} pieces, which add up to the same.":
        "{device} 的内存放不下一批数据：{since}，每批分成 {pieces} 份来读，加起来结果相同。",
    "step {step}: a batch of {count} rows of up to {tokens} tokens does not fit into the memory of {device}; make it "
    "smaller with "
    "--set batch_tokens=… or max_length=…, or choose a smaller model.":
        "第 {step} 步：{device} 的内存放不下一批 {count} 行、每行至多 {tokens} 个词元的数据；请用 --set batch_tokens=… "
        "或 max_length=… "
        "缩小，或换一个更小的模型。",
    "a batch does not fit into the memory of {device}; it is answered in pieces.":
        "{device} 的内存放不下一批数据；改为分几份来答。",
    "one row does not fit into the memory of {device}; use a machine with more.":
        "{device} 的内存连一行也放不下；请换一台内存更大的机器。",
    "these options make {count} weights, which take {needed} to train (each {bytes} bytes with gradient, moments and the states "
    "that are kept), and {free} are free on {device}; choose smaller ones, such as hidden, embed or layers.":
        "这些选项会产生 {count} 个权重，训练需要 {needed}（每个连同梯度、矩和保留的状态占 {bytes} 字节），而 {device} "
        "上只剩 {free}；"
        "请把 hidden、embed 或 layers 等选小一些。",
    "{features} features of {columns} outputs take {needed}, and {free} are free on cpu; keep fewer features with "
    "--set min_documents=…, or fewer classes.":
        "{features} 个特征乘 {columns} 个输出需要 {needed}，而内存只剩 {free}；请用 --set min_documents=… 少留一些特征，"
        "或减少类别。",
    "the longest row ({tokens} tokens) takes {needed} to learn from, and {left} are left on {device} beside the weights; "
    "cut rows "
    "with --set max_length=…, or choose a smaller model.":
        "最长的一行（{tokens} 个词元）学习时需要 {needed}，而 {device} 上除去权重只剩 {left}；请用 --set max_length=… 截短，"
        "或换一个更小的模型。",
    "{rung} learns in one process; start it without torchrun.": "{rung} 只在一个进程里学习；请不要用 torchrun 启动它。",
    "found {count} GPU for process {number} of this machine, expected one for each; start fewer with --nproc-per-node, or use "
    "--device cpu.":
        "本机第 {number} 个进程没有自己的 GPU（共有 {count} 个）；请用 --nproc-per-node 少启动几个，或用 --device cpu。",
    "another process of this training has ended, so this one ends too; torchrun --max-restarts 3 would start them again from the "
    "last checkpoint.":
        "同一训练的另一个进程已经结束，所以这个也随之结束；torchrun --max-restarts 3 会让它们从最近的检查点重新开始。",
    "stopped after {steps} updates and kept; go on with: {command}": "已在第 {steps} 步之后停下并存好；要继续：{command}",
    "{folder} was trained by {before} processes, and there are {now} now; go on with {command}.":
        "{folder} 是由 {before} 个进程训练的，现在有 {now} 个；请用 {command} 继续。",
    # Notes: what was found in the data
    "{rows} rows repeat the {what1} of another; equal {what2}s stay on one side of every split":
        "有 {rows} 行的{what1}与别的行重复；划分时，相同的{what2}总在同一边",
    "{found} of the {rows} {part} rows dropped: their {what}s stand in the training rows too":
        "去掉了{part} {rows} 行中的 {found} 行：它们的{what}也在训练数据里",
    "{found} of the {rows} {part} {what}s stand in the training rows too: the score flatters; --unseen drops them":
        "{part}的 {rows} 个{what}中有 {found} 个也在训练数据里：得分会偏高；加 --unseen 可去掉它们",
    "a series in time: the last rows are held out, none of them is learned from": "时间序列：留出最后的若干行，训练时不用",
    "the classes are uneven: {often} has {most} rows, {rare} {least}; look at macro F1 beside accuracy, and try --set "
    "balance=true":
        "各类别多少不均：{often} 有 {most} 行，{rare} 只有 {least} 行；准确率之外请看宏平均 F1，并试试 --set balance=true",
    "{orders}: no n-gram was seen once, or none twice, so the discount is 0.5 instead of an estimate; more text, or a lower "
    "order, would give one.":
        "{orders}：没有只出现一次或两次的 n 元组，折扣无从估计，改用 0.5；更多文本或更低的阶数可以解决。",
    "{orders}: the counts of counts give no three discounts, so 0.5, 1 and 1.5 stand in; more text, or "
    "smoothing=kneser-ney, would give better ones.":
        "{orders}：由计数的计数得不出三个折扣，改用 0.5、1 和 1.5；更多文本或 smoothing=kneser-ney 会更好。",
    "{orders}: Good-Turing needs n-grams that were seen 1 to {most} times, ever fewer of them, so the discount is 0.5 "
    "instead; more text, or smoothing=witten-bell, would do.":
        "{orders}：Good-Turing 需要出现 1 到 {most} 次、且依次减少的 n 元组，折扣改用 0.5；"
        "更多文本或 smoothing=witten-bell 可以解决。",
    "delta={value}: expected a number above 0, which is added to every count; 1 is usual, and less is mostly better.":
        "delta={value}：应为大于 0 的数，它加在每个计数上；通常用 1，更小的往往更好。",
    "prune={given}: expected a whole number for every order, as in 0 0 1, which drops what was seen once from order 3 on.":
        "prune={given}：每一阶应给一个整数，例如 0 0 1，表示从 3 元起去掉只出现一次的。",
    "prune={given}: found {found} thresholds, expected at most {order}, one for every order.":
        "prune={given}：给了 {found} 个门限，最多应为 {order} 个，每阶一个。",
    "prune={given}: found {found} for single words, expected 0; words that are too rare become <unk> before n-grams are "
    "counted.":
        "prune={given}：单个词的门限是 {found}，应为 0；太少见的词在计数之前就已换成 <unk>。",
    "prune={given}: expected thresholds that do not fall; an n-gram is not seen more often than what it begins with.":
        "prune={given}：门限不应递减；n 元组出现的次数不会多于它的开头部分。",
    "smoothing={kind} cannot be pruned so: it has no shorter contexts to fall back on; leave pruning out, or use "
    "smoothing=modified-kneser-ney.":
        "smoothing={kind} 不能这样剪枝：它没有更短的上文可以回退；请不要剪枝，或改用 smoothing=modified-kneser-ney。",
    "tags mark spans in {scheme}": "标签按 {scheme} 方案表示片段",
    "tags mark no spans": "标签不表示片段",
    "texts are {cut}: {tokens} tokens known": "文本{cut}：词表有 {tokens} 个词元",
    "tokens are {unit} as given: {tokens} known": "词元就是数据中的{unit}：词表有 {tokens} 个",
    "{tokens} tokens have vectors from {file}": "其中 {tokens} 个词元的词向量取自 {file}",
    "{width} numbers a row, each brought to mean 0 and deviation 1": "每行 {width} 个数，各列化为均值 0、标准差 1",
    "images of {shape}": "{shape} 的图像",
    "sequences of {long} steps, {width} numbers each, brought to mean 0 and deviation 1":
        "数值序列，长 {long} 步，每步 {width} 个数，化为均值 0、标准差 1",
    "targets from {least} to {most}": "目标值从 {least} 到 {most}",
    "targets from {least} to {most}, one a step": "目标值从 {least} 到 {most}，每步一个",
    "targets from {least} to {most}; {horizon} steps are forecast from {history}":
        "目标值从 {least} 到 {most}；由 {history} 步预测之后 {horizon} 步",
    "Still improving when the budget ended, so that more --minutes would raise them: {choices}.":
        "预算用完时仍在进步，增加 --minutes 还会更好：{choices}。",
    "Without a model, the first {count} {unit} of every source, taken as its summary, score {found}.":
        "不用模型，取每篇原文开头 {count} 个{unit}作摘要，得分为 {found}。",
    "Without a model, the first {count} {unit} of every source, taken as its summary, score {found}: no rung has more.":
        "不用模型，取每篇原文开头 {count} 个{unit}作摘要，得分为 {found}：没有哪一级更高。",
    # Notes: what training is doing
    "planned": "已定好步数",
    "training": "训练中",
    "compiling": "编译中",
    "measuring": "测量中",
    "failed": "失败",
    "{share} of the rows": "用 {share} 的数据训练",
    "trying a learning rate of {rate}": "试学习率 {rate}",
    "stopped: {patience} scores without a new best": "已停止：连续 {patience} 次评分没有新高",
}  # fmt: skip

# What the readers found in a file, whose name may stand before it.
NOTES = {
    "built in": "内置数据",
    "Compressed with {packed}.": "用 {packed} 压缩。",
    "The encoding is {encoding}.": "编码是{encoding}。",
    "The delimiter is {mark}.": "分隔符是{mark}。",
    "The first line is a header: {names}.": "第一行是表头：{names}。",
    "There is no header; the columns are {names}.": "没有表头；各列是 {names}。",
    "{file}: {count} lines lack columns that the first row has, the first of them line {line}; those asked for are there, so "
    "they are kept: look whether a tab is missing":
        "{file}：有 {count} 行比第一行少几列，最先是第 {line} 行；要用的列都在，所以保留；请看看是否缺了制表符",
    "Plain text: one row a line.": "纯文本：每行一条。",
    "CoNLL: one token a line, no tags.": "CoNLL：每行一个词元，没有标签。",
    "CoNLL: one token a line, {width} columns.": "CoNLL：每行一个词元，共 {width} 列。",
    "CoNLL: one token a line, {width} columns; tokens are {position1}, tags {position2}.":
        "CoNLL：每行一个词元，共 {width} 列；词元在{position1}，标签在{position2}。",
    "CoNLL-U: one word a line, {width} columns.": "CoNLL-U：每行一个词，共 {width} 列。",
    "CoNLL-U: one word a line, {width} columns; tokens are {position1}, tags {position2}.":
        "CoNLL-U：每行一个词，共 {width} 列；词元在 {position1}，标签在 {position2}。",
    "{mark} lines are dropped ({count} at the beginning of the file).": "去掉了 {mark} 行（文件开头部分有 {count} 行）。",
    "JSON: one {listed}.": "JSON：{listed}。",
    "SQuAD: one row a question.": "SQuAD：每个问题一行。",
    "Two aligned files: one row a line.": "两个对齐的文件：每行一条。",
    "Parquet with {rows} rows.": "Parquet，共 {rows} 行。",
    "One file a label: {names}.": "每个标签一个文件：{names}。",
    "{images} idx images of {height}×{width}; labels from {file}.": "{images} 张 {height}×{width} 的 idx 图像；标签取自 {file}。",
    "Images are {colour}, {height}×{width}, as the first one is; others are scaled to that size.":
        "图像是{colour}，{height}×{width}，以第一张为准；其余的缩放到这个大小。",
}  # fmt: skip

# What may stand in the place of that name.
PHRASES = {
    "apart": {"more than chance": "超出偶然", "no more than chance": "不出偶然",
              "one seed says nothing of chance": "只有一个种子，无从判断"},
    "metric": {"accuracy": "准确率", "span_f1": "片段 F1", "token_accuracy": "逐词准确率", "r2": "R²"},
    "said": {"Why rnn stops first in {exercises}": "rnn 为什么在 {exercises} 里最先停下", "What rnn forgets": "rnn 忘了什么"},
    "file": {"the system": "系统"},
    "where": {"{file}, line {line}": "{file} 第 {line} 行", "row {row}": "第 {row} 行", "input {row}": "第 {row} 个输入",
              "the window from token {token} on": "从第 {token} 个词元起的窗口"},
    "batch": {"{where}, and {count} other rows of its batch": "{where}，以及同一批的另外 {count} 行",
              "{file}, line {line}": "{file} 第 {line} 行", "row {row}": "第 {row} 行",
              "the window from token {token} on": "从第 {token} 个词元起的窗口"},
    "orders": {"order {order}": "{order} 元", "orders {choices} and {order}": "{choices}、{order} 元"},
    "since": {"from step {step} on": "从第 {step} 步起", "from the beginning": "从一开始"},
    "tag": {"{where}: the tag {name} of token {token}": "{where}：第 {token} 个词元的标签 {name} "},
    "kind": {"rung": "模型", "task": "任务", "option": "选项", "data set": "数据", "language": "语言", "tokenizer": "切词方式",
             "probe": "实验", "kind of names": "名称写法", "way to write numbers": "数的写法"},
    "side": {"source": "源文", "target": "目标文"},
    "side_do": {"drop line {line} of both files": "把两个文件的第 {line} 行都去掉", "drop the row": "去掉这一行"},
    "wanted": {
        "a whole number": "为整数", "a number": "为数", "true or false": "为 true 或 false", "a text": "为文本",
        "at least {least}": "不小于 {least}", "at least {least} and below {below}": "不小于 {least}，且小于 {below}",
        "a finite number": "为有限的数",
    },
    "instead": {"did you mean {names}?": "是不是想写 {names}？", "its folder is empty.": "它所在的文件夹是空的。"},
    "encoding": {"UTF-8": " UTF-8", "GB18030": " GB18030", "UTF-8 with a byte order mark": "带 BOM 的 UTF-8"},
    "mark": {"a comma": "逗号", "a semicolon": "分号", "a tab": "制表符"},
    "quoting": {"a quote that opens and never closes": "引号打开后没有关闭", "broken quoting ({csv})": "引号用法不对（{csv}）"},
    "place": {"record": "条记录", "line": "行"},
    "keys": {"no keys": "（无）"},
    "listed": {"list of objects": "一个由对象组成的列表", "object a line": "每行一个对象"},
    "squad": {'no "{key}"': "没有“{key}”", 'a {type} as "{key}"': "“{key}”是 {type}"},
    "called": {"a list": "列表", "a text": "文本", "a number": "数"},
    "json": {"expecting {marks}": "此处应有 {marks}", "something after its end": "结束之后还有内容"},
    "answers": {"nothing": "（无）"},
    "inside": {"no files": "（空）"},
    "colour": {"grey": "灰度图", "coloured": "彩色图"},
    "picture": {
        "more pixels than are safe to decode": "像素太多，解码不安全", "no such file": "没有这个文件",
        "something else": "是别的格式",
        "something that cannot be decoded ({why})": "不能解码（{why}）",
    },
    "picture_do": {
        "make it smaller": "缩小它", "check the path, which is taken from {folder}": "检查路径（从 {folder} 算起）",
        "save it as PNG or JPG": "存为 PNG 或 JPG", "copy or save it again": "重新复制或保存",
    },
    "expected": {"at least one": "至少一"},
    "found": {"nothing": "空值"},
    "value": {"a number of many digits": "一个很多位的数"},
    "error": {  # what a damaged file holds
        'found no "{key}"': "没有“{key}”", "found {saved1}, expected an object": "是{saved1}，应为对象",
        '"{key}" is {saved1}, expected {saved2}': "“{key}”是{saved1}，应为{saved2}",
        "found {count} arrays for {layers} layers": "{layers} 层却有 {count} 个数组",
        "{name}: found {array1}, expected {array2}": "{name} 是 {array1}，应为 {array2}",
        '"classes" are not two or more of one kind': "“classes”不是两个以上的同类值",
        '"classes" are neither texts nor numbers': "“classes”既不是文本也不是数",
        '"classes" are not in order, or "counts" does not fit them': "“classes”次序不对，或与“counts”不相符",
        '"marks" names the letter {letter} and the kind {kind_number}, one of which is not there':
            "“marks”里的字母 {letter} 或种类 {kind_number} 不存在",
        '"classes" are not two or more different ones': "“classes”不是两个以上的不同值",
        '"marks" does not fit "classes"': "“marks”与“classes”不相符",
        "{name}: found {type1} of {shape1}, expected {type2} of {shape2}":
            "{name} 是 {shape1} 的 {type1}，应为 {shape2} 的 {type2}",
        '"shape" and "brightest" are not those of images': "“shape”与“brightest”不是图像的",
        "the tokens do not begin with {names}": "词元不以 {names} 开头",
        "found a token of another length, expected single characters": "有的词元不是单个字符",
        '"vocab" holds something else than tokens with their scores': "“vocab”里不全是词元和它们的分数",
        '"vocab" holds something else than tokens with their numbers': "“vocab”里不全是词元和它们的编号",
        'the numbers in "vocab" do not follow one another': "“vocab”里的编号不连续",
        '"merges" holds something else than pairs of tokens that make a third': "“merges”里不全是能合成第三个词元的词元对",
        "the features' columns do not follow one another": "特征的列号不连续",
        '"deviation" has {count} numbers, expected one above 0 for each of the {columns} of "mean"':
            "“deviation”有 {count} 个数，而“mean”有 {columns} 个，应一一对应且大于 0",
    },
    "saved": {
        "a whole number from {least} on": "不小于 {least} 的整数", "true or false": " true 或 false", "a text": "文本",
        "a list": "列表", "an object": "对象", "a number out of bounds": "一个过大的数", "a number": "数", "texts only": "文本",
        "whole numbers from {least} to {most} only": " {least} 到 {most} 的整数", "finite numbers only": "有限的数",
        "pairs of a letter and a kind": "字母与种类的对",
    },
    "number_do": {
        "correct the line or remove it": "改正或删去这一行",
        "correct it, choose columns with --columns, or, if it is the text, say --columns text={name},label=NAME":
            "改正它，或用 --columns 选择列；如果它就是文本，请写 --columns text={name},label=列名",
    },
    "numbers": {"{count} numbers": " {count} 个数", "one number": "一个数"},
    "targets": {"tags": "个标签", "target": "个目标值", "targets": "个目标值"},
    "per": {"one target a step": "每步一个目标值", "one a row": "每行一个",
            "one target a row": "每行一个目标值", "one a step": "每步一个"},
    "others": {", nor does 1 other": "，另有 1 个也不合", ", nor do {count} others": "，另有 {count} 个也不合"},
    "no_scheme": {
        "; the nearest is {scheme}, in which it would be {wanted}": "；最接近的是 {scheme}，按它应为 {wanted}",
        ", where tags are O or a letter and a kind, such as B-PER; the nearest is {scheme}":
            "，标签应为 O，或一个字母加类型，例如 B-PER；最接近的是 {scheme}",
    },
    "or_else": {", or a text": "，或一段文本"},
    "part": {"valid": "验证数据", "test": "测试数据"},
    "what": {"input": "输入", "text": "文本", "nothing": "空", "a single text": "一段文本"},
    "position": {"column {number}": "第 {number} 列"},
    "cut": {"read byte by byte": "逐字节读入", "read character by character": "逐字读入", "cut at spaces": "以空格切开",
            "cut into Chinese words by jieba": "由 jieba 切成词",
            "cut into {pieces}": "切成{pieces}"},
    "pieces": {"words": "词", "bpe": " BPE 子词", "wordpiece": " WordPiece 子词", "unigram": " Unigram 子词"},
    "unit": {"characters": "单字", "words": "词"},
    "long": {"{least} to {most}": "{least} 到 {most}"},
    "damage": {"the last frame is not complete": "最后一帧不完整"},
}  # fmt: skip

# What --help says: the commands, then their arguments and options.
HELP = {
    "Wenmai (文脉): the ladder of language models. Train every rung on your text, compare, predict.":
        "文脉：语言模型的梯子。用你的文本训练每一级，比较，预测。",
    "Compare every rung on built-in data: which language is this name in?": "用内置数据比较每一级：这个名称属于哪种语言？",
    "Show what was understood of a file; without one, list the built-in sets.":
        "看看一个文件读懂了什么；不给文件，就列出内置数据。",
    "List the rungs of the ladder, or the options of one.": "列出梯子的各级，或其中一级的选项。",
    "Train one rung on your data and keep it as a run folder.": "用你的数据训练一级，存为运行文件夹。",
    "Score a run on other data.": "用别的数据给训练好的模型评分。",
    "Answer for inputs given here, or for a file of any size.": "回答这里给出的输入，或任意大小的文件。",
    "Train every rung under one budget; one leaderboard, one report, one recommendation.":
        "用同一份预算训练每一级；一张排行榜，一份报告，一个建议。",
    "A file, two aligned ones (a.en,a.de), a folder, or a built-in set (see `wenmai data`).":
        "文件、两个对齐的文件（a.en,a.de）、文件夹，或内置数据（见 `wenmai data`）。",
    "A run folder that `wenmai train` made.": "`wenmai train` 生成的运行文件夹。",
    "Which column is what: text=0,label=1 (names or positions).": "哪一列是什么：text=0,label=1（列名或位置）。",
    "The task, where the data does not say it.": "任务，从数据看不出来时用。",
    "Validation rows: a file, two aligned ones (a.en,a.de), or a share such as 0.1.":
        "验证数据：一个文件，两个对齐的文件（a.en,a.de），或一个比例，例如 0.1。",
    "Test rows: a file, two aligned ones (a.en,a.de), or a share such as 0.1.":
        "测试数据：一个文件，两个对齐的文件（a.en,a.de），或一个比例，例如 0.1。",
    "The second of two aligned files: a line of it for every line of DATA.":
        "两个对齐的文件中的第二个：每一行对着数据的一行。",
    "Drop valid and test rows whose input stands in the training rows.": "去掉验证和测试数据中训练时见过的输入。",
    "An option, key=value; `wenmai rungs RUNG` lists them. May be repeated.":
        "一个选项，key=value；`wenmai rungs 模型` 列出全部。可以给多次。",
    "The same seed gives the same result.": "种子相同，结果就相同。",
    "On a GPU too, the same seed gives the same.": "在 GPU 上，相同的种子也给出相同的结果。",
    "auto, cpu, cuda or cuda:N.": "auto、cpu、cuda 或 cuda:N。",
    "Where to write.": "写到哪里。",
    "Print one JSON object as the last line.": "最后一行输出一个 JSON 对象。",
    "A rung, to see its options.": "一级的名称，看它的选项。",
    "For this task; for its first one without it.": "用于这种任务的选项；不给时，用于它的第一种任务。",
    "A rung of the ladder (see `wenmai rungs`).": "梯子上的一级（见 `wenmai rungs`）。",
    "Train for about so long; without it, for a number of epochs.": "训练大约这么多分钟；不给，就按遍数。",
    "The run folder; runs/DATA-RUNG without it.": "运行文件夹；不给，就是 runs/数据-模型。",
    "Go on with the training of this run folder, which was stopped.": "继续这个运行文件夹里中断的训练。",
    "Texts, labels, numbers as 1,2,3, images; pairs two by two.": "文本、标签、写成 1,2,3 的数、图像；文本对两段两段地给。",
    "What to write for: labels; numbers as 1,2,3; paths of images.": "为什么而写：标签；写成 1,2,3 的数；图像的路径。",
    "How many texts are written for each.": "为每个输入写几段文本。",
    "Write texts for a label, a row of numbers or an image, token by token.":
        "为一个标签、一行数或一幅图像写文本，逐个词元写出。",
    "A file of inputs: the training columns without the answer.": "一个输入文件：与训练时的列相同，只是没有答案。",
    "Where the answers go: .jsonl, .csv or .tsv.": "答案写到哪里：.jsonl、.csv 或 .tsv。",
    "For all rungs together, shared equally.": "所有模型一共多少分钟，平均分配。",
    "Only these: softmax,cnn,gru.": "只比较这些：softmax,cnn,gru。",
    "A run to add as a row. May be repeated.": "再加一个训练好的模型。可以给多次。",
    "Train each rung so many times; the spread is shown.": "每个模型训练几次；会显示差异有多大。",
    "The report's folder; reports/DATA without it.": "报告的文件夹；不给，就是 reports/数据。",
    "Validation rows: a file, two (a.en,a.de), or a share; 0.1 unless said.":
        "验证数据：一个文件，两个文件（a.en,a.de），或一个比例；不说就是 0.1。",
    "What counting n-grams may take, such as 2G; the rest goes to disk.": "统计 n 元组最多用多少内存，例如 2G；其余放到磁盘上。",
    "Where n-grams are counted: local, or spark.": "在哪里统计 n 元组：local（本机）或 spark。",
    "Go on with a text; it is written as it comes, token by token.": "接着一段文本写下去，一个词元一个词元地写出来。",
    "With --json: a line for every piece, the whole last.":
        "与 --json 一起用：每写出一段就输出一行，最后一行是全部。",
    "Judge a text otherwise too: stride=, cache=, dynamic=.": "另外再用别的办法评判文本：stride=、cache=、dynamic=。",
    "A text on which the cache and the rate of dynamic= are fitted.": "用来选定缓存和 dynamic= 学习率的一段文本。",
    "What the text begins with.": "文本的开头。",
    "Write so many tokens at the most.": "最多写多少个词元。",
    "Stop after so many lines; 0 goes on through their ends.": "写满多少行就停；0 表示换行后接着写。",
    "0 takes the most probable token every time; 1 draws by probability.": "0 总取概率最大的词元；1 按概率抽取。",
    "Choose among so many of the most probable tokens; 0 is all.": "只从概率最大的几个词元中选；0 表示全部。",
    "Choose among the most probable tokens that together reach this.": "只从概率最大、合起来达到这个数的词元中选。",
    "With --complete: only tokens that begin so.": "与 --complete 一起用：只要以此开头的词元。",
    "Show so many of the most probable next tokens instead.": "改为显示概率最大的几个后续词元。",
    "Keep the lines of a file, of any size, that a language model finds likely enough.":
        "留下文件中语言模型觉得足够像样的行；文件可以任意大。",
    "Lines or JSON objects (.jsonl), packed or not; - is standard input.":
        "一行一段文本或一行一个 JSON 对象（.jsonl），可以压缩；- 表示标准输入。",
    "Keep what is at most this.": "留下不超过这个数的。",
    "Keep what is at least this.": "留下不低于这个数的。",
    "Where it goes (.gz, .xz, .zst: packed); standard output without it.":
        "写到哪里（.gz、.xz、.zst 会压缩）；不给就写到标准输出。",
    "lines or jsonl; auto: what the name says.": "lines 或 jsonl；auto：看文件名。",
    "How it cuts texts: spaces, or characters.": "怎样切开文本：spaces（空格）或 characters（单字）。",
    "In JSON objects, where the text stands.": "JSON 对象中哪一项是文本。",
    "Make a run of a model that another tool wrote.": "把别的工具写的模型变成运行文件夹。",
    "A model of another tool: an ARPA file of n-grams, packed or not.": "别的工具的模型：n 元组的 ARPA 文件，可以压缩。",
    "The run folder; runs/NAME without it.": "运行文件夹；不给就是 runs/名称。",
    "fast, or small on disk.": "fast（快）或 small（小）。",
    "Write a run as a file that other tools read.": "把模型写成别的工具能读的文件。",
    "arpa: n-grams as text, which every toolkit reads.": "arpa：文本形式的 n 元组，各种工具都能读。",
    "The file (.gz, .xz, .zst are packed); the run's name without it.":
        "文件（.gz、.xz、.zst 会压缩）；不给就用运行文件夹的名称。",
    "Run a small experiment that shows why a rung is built as it is: a table and a picture.":
        "做一个小实验，看一级为什么要这样设计：一张表，一幅图。",
    "A probe; without one they are listed.": "实验的名称；不给，就列出全部。",
    "What it reads: a file, or a built-in set; its own without one.": "读什么：文件，或内置数据；不给，就用它自己的。",
    "An option of the probe or its tokenizer, key=value.": "实验或切词方式的一个选项，key=value。",
    "The folder for what was found; reports/probe-NAME without it.": "结果的文件夹；不给，就是 reports/probe-名称。",
    "Texts to translate, or to make short.": "要翻译或缩短的文本。",
    "A file of texts, one a line, or with a column source.": "文本文件，一行一条；或含 source 列的文件。",
    "How many texts are kept at every step; 1 takes the most probable token.": "每一步保留几条文本；1 表示每步取最可能的词元。",
    "What long texts are helped by: Σ log p is divided by length^penalty.": "对长文本的补偿：Σ log p 除以 长度^penalty。",
    "Show so many of the best for each, with their scores.": "每条显示最好的几个译文及其得分。",
    "Draw by chance instead, at this temperature; 0 searches.": "改为以此温度随机抽取；0 表示搜索。",
    "Show for each token that was written where it looked.": "显示写出的每个词元看向何处。",
    "Refuse a text that is longer than the model reads.": "拒绝超过模型可读长度的文本。",
    "float32, or bf16: faster for many texts, a little less exact.": "float32，或 bf16：文本多时更快，略欠精确。",
    "Write token by token, each the most probable.": "逐个词元写出，每个都取最可能的。",
    "Write a text for a text: in another language, or shorter.": "由文本写出文本：译成另一种语言，或更短。",
}  # fmt: skip

# The words of others.
THEIRS = {
    "sentence": {  # typer and click, old and new
        "No such command {name}.": "没有 {name} 这个命令。",
        "No such command {name}. Did you mean {nearest}?": "没有 {name} 这个命令。是不是想写 {nearest}？",
        "No such option: {name}": "没有 {name} 这个选项。",
        "No such option: {name} (Possible options: {choices})": "没有 {name} 这个选项。相近的有：{choices}。",
        "No such option: {name} Did you mean {nearest}?": "没有 {name} 这个选项。是不是想写 {nearest}？",
        "No such option {name}.": "没有 {name} 这个选项。",
        "No such option {name}. Did you mean {nearest}?": "没有 {name} 这个选项。是不是想写 {nearest}？",
        "Invalid value for {name}: {invalid}": "{name} 的值不对：{invalid}。",
        "Invalid value for {name}: {invalid}.": "{name} 的值不对：{invalid}。",
        "Missing argument {name}.": "缺少参数 {name}。",
        "Missing option {name}.": "缺少选项 {name}。",
        "Missing command.": "缺少命令。",
        "Got unexpected extra argument(s) ({names})": "多出了参数（{names}）。",
        "Got unexpected extra argument ({names})": "多出了参数（{names}）。",
        "Got unexpected extra arguments ({names})": "多出了参数（{names}）。",
        "Option {name} does not take a value.": "选项 {name} 后面不跟值。",
        "Option {name} requires an argument.": "选项 {name} 后面要跟一个值。",
    },
    "invalid": {
        "Input should be a valid number, unable to parse string as a number": "应为数",
        "Input should be a valid integer, unable to parse string as an integer": "应为整数",
        "Input should be a valid integer, got a number with a fractional part": "应为整数",
        "Input should be greater than or equal to {least}": "应不小于 {least}",
        "{value} is not a valid float": "{value} 不是数",
        "{value} is not a valid float.": "{value} 不是数",
        "{value} is not a valid integer": "{value} 不是整数",
        "{value} is not a valid integer.": "{value} 不是整数",
        "{value} is not in the range {range}": "{value} 不在 {range} 的范围内",
        "{value} is not in the range {range}.": "{value} 不在 {range} 的范围内",
    },
    "help": {
        "Install completion for the current shell.": "为当前的 shell 安装命令补全。",
        "Show completion for the current shell, to copy it or customize the installation.":
            "显示当前 shell 的命令补全脚本，供复制或修改。",
    },
    "reason": {  # our own sentences without their ends
        "{file} is missing": "缺少 {file}",
        "{file}: found {found} bytes, expected {expected}": "{file} 有 {found} 字节，应为 {expected}",
        "{file} is not as it was written": "{file} 与写入时不同", "{file} does not name {name}": "{file} 里没有列出 {name}",
        "{file} is not as it was written (its checksum differs)": "{file} 与写入时不同（校验和不符）",
        "{file} is not as it was written ({error})": "{file} 与写入时不同（{error}）",
    },
    "answers": {"{first} and {second}": "{first}、{second}"},  # and lists that are joined with a word
    "marks": {"{first} or {second}": "{first} 或 {second}"},
    "why": {  # the system
        "Permission denied": "没有权限", "Operation not permitted": "不允许这样做", "Is a directory": "是一个文件夹",
        "Not a directory": "路径中有一段不是文件夹", "No such file or directory": "没有这个文件或文件夹",
        "File exists": "已有同名的文件",
        "No space left on device": "磁盘已满", "Disk quota exceeded": "超出了磁盘配额",
        "Read-only file system": "文件系统是只读的",
        "File name too long": "文件名太长", "Too many open files": "打开的文件太多", "Input/output error": "读写出错",
        "Directory not empty": "文件夹不是空的", "File too large": "文件太大", "Cannot allocate memory": "内存不足",
        "Invalid argument": "参数无效", "Too many levels of symbolic links": "符号链接层数太多",
        "Bad file descriptor": "文件已关闭",
        "cannot identify image file {file}": "认不出是什么图像", "image file is truncated": "图像文件不完整",
        "image file is truncated ({count} bytes not processed)": "图像文件不完整", "Truncated File Read": "图像文件不完整",
        "unrecognized data stream contents when reading image file": "图像数据不对",
        "broken data stream when reading image file": "图像数据不对",
    },
    "damage": {  # gzip, zlib, lzma
        "Compressed file ended before the end-of-stream marker was reached": "没有到结尾就断了",
        "CRC check failed {sums}": "校验和不符", "Incorrect length of data produced": "解压后的长度不符",
        "Error {code} while decompressing data: {what}": "解压出错，代码 {code}", "Corrupt input data": "数据损坏",
        "Not a gzipped file ({bytes})": "不是 gzip 文件", "Unknown compression method": "未知的压缩方法",
    },
    "json": {
        "{json1}, column {column}": "第 {column} 个字符处：{json1}", "Expecting value": "此处应有一个值",
        "Expecting {mark} delimiter": "此处应有 {mark}", "Extra data": "结束之后还有内容",
        "Expecting property name enclosed in double quotes": "键名应有双引号",
        "Illegal trailing comma before end of {what}": "末尾多了逗号",
        "Unterminated string starting at": "字符串没有结束", "Invalid control character at": "有不该有的控制字符",
        "Invalid \\escape": "转义不对", "Invalid \\uXXXX escape": "\\u 转义不对",
        "maximum recursion depth exceeded {where}": "嵌套太深",
        "Exceeds the limit ({digits} digits) for integer string conversion": "整数太长",
        "Exceeds the limit ({digits} digits) for integer string conversion: value has {found} digits": "整数太长",
    },
    "csv": {"{mark} expected after {quote}": "{quote} 之后应为 {mark}", "unexpected end of data": "没有结束"},
    "error": {
        "JSONDecodeError: {json}: line {line} column {column} (char {at})": "不是 JSON，第 {line} 行第 {column} 个字符处：{json}",
        "UnicodeDecodeError: {what}": "不是 UTF-8 文本",
    },
}  # fmt: skip
