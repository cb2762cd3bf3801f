"""What the lab says, in both languages: the page gets it as JSON, with what the renderer says itself."""

from wenmai.locale import Message, phrases
from wenmai.page.renderer import WORDS as RENDERER

WORDS = phrases(
    "lab",
    title="The lab", try_="Try", climb="Climb", guess="Guess first", compare="Compare", inside="Inside", train="Train",
    no_runs="There are no runs yet: train one first.", go_train="To training", which="Runs that do", ask="Ask", stop="Stop",
    run="run", rung="rung", answer="answer", probability="probability", time="time", milliseconds="ms",
    damaged="Runs that cannot be used", try_lead="Type something: every run answers side by side.", tokens="tokens",
    temperature="temperature", seed="seed", write="Write on", audio="Sound: a WAV, FLAC or OGG file", record="Record",
    recording="Stop recording",
    climb_lead="One sentence on every rung, from the lowest to the highest. Say the right answer, and wrong ones are marked.",
    right="Right answer (if you know it)", go_climb="Climb", look="Look inside", wrong="wrong", correct="right",
    guess_lead="Guess before the machines do: the next word of a text, or the label. Then see what each rung said; scores"
    " are kept.",
    guess_text="A text whose words are guessed one by one", guess_rows="Rows to guess: a text, a tab, its label; one a line",
    begin="Begin", your_guess="Your guess", guess_it="Guess", truth="It was", score="Score", you="you", again="Begin anew",
    over="That was all.", mode_words="Next word", mode_labels="Label", of="of", said="said",
    compare_lead="What quality costs: score, time and size of every run, and how each learned.",
    seconds="seconds of training", size="size", cost="Quality against cost",
    cost_caption="Every run once: to the right those that took longer, above those that score higher.",
    curves="Learning curves",
    curves_caption="The score on held-out rows while each was trained, from its beginning to its end.",
    share="share of the training, %", mistakes="Mistakes",
    mistakes_lead="Give rows with their labels (a text, a tab, its label), and see which run is wrong where.",
    find_mistakes="Find mistakes", accuracy="right",
    inside_lead="Look inside a run: attention, gates, what moved the answer. Switch parts off, and see the answer change.",
    input="input", off="Switched off", switch="Switch off", nothing_off="Nothing is switched off.", beside="Beside it",
    none="none",
    train_lead="Bring data: paste it, choose a file, or take a built-in set. Training goes on when the page is closed.",
    file="File", paste="Or paste it", name="Its name", builtin="Or a built-in set", preview="Look at it", task="task",
    rows="rows", choose="Rungs to train", minutes="minutes for each", start="Train", trainings="Trainings", cancel="Cancel",
    waiting="waiting", running="running", finished="finished", failed="failed", cancelled="cancelled", to_try="Try it",
    loss="loss", steps="updates", curve="How it goes", no_training="This server trains nothing.",
    token="This server wants its token", enter="Enter", image="Picture (PNG or JPG)", choices="Choices, one a line",
    text="text", unfinished="unfinished", busy="One moment …", language="language", sections="sections", data="data",
    loaded="Switched", empty="Type something first.", first="The first rows",
)  # fmt: skip


def both(words: Message) -> dict[str, str]:
    return {lang: words.told_in(lang) for lang in ("en", "zh")}


def document() -> dict:
    return {"lab": {name: both(words) for name, words in WORDS.items()},
            "renderer": {name: both(words) for name, words in RENDERER.items()}}  # fmt: skip
