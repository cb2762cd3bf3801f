"""What requests and answers look like: the OpenAPI document follows from these."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[
    str, Field(min_length=1, max_length=200, description="A run, as GET /v1/runs names it.")
]
Input = Annotated[
    str | list[Any] | dict[str, Any] | float,
    Field(
        description="A text; a list of two texts, of numbers, or of frames; or an object with columns by their names, images "
        "as PNG or JPG in base64 under `image`, sounds as WAV or FLAC in base64 under `audio`."
    ),
]


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Words(BaseModel):
    """A sentence in both languages."""

    en: str
    zh: str


class ErrorBody(Words):
    code: str = Field(
        description="For programs: mistake, not_found, busy, too_late, too_large, token, …"
    )


class Error(BaseModel):
    error: ErrorBody


class Run(BaseModel):
    name: str
    state: Literal["ready", "unfinished", "damaged"]
    reason: Words | None = Field(description="Why it cannot be used, where it cannot.")
    task: str | None
    rung: str | None
    reads: str | None = Field(description="The kind of its inputs.")
    fields: list[str] = Field(description="The columns that an input has.")
    labels: list[str] | None
    metric: str | None
    higher_is_better: bool | None
    scores: dict[str, dict[str, float | None]]
    seconds: float | None
    bytes: int
    when: str | None
    data: str | None
    fingerprint: str | None
    loaded: bool
    verbs: list[str] = Field(description="predict, generate, inspect: what it can be asked.")


class Runs(BaseModel):
    runs: list[Run]
    training: bool = Field(description="Whether this server trains.")


class RunInFull(Run):
    columns: dict[str, str]
    progress: list[dict[str, Any]] = Field(description="Its learning curve.")


class Comparison(BaseModel):
    name: str
    data: str
    task: str
    metric: str
    rungs: list[str]
    when: str | None


class Comparisons(BaseModel):
    comparisons: list[Comparison]


class Compared(BaseModel):
    rung: str
    run: str | None = Field(description="Its run, where it was kept: the last part of its path.")
    failed: str | None
    scores: dict[str, dict[str, float | None]]
    interval: list[float | None] | None = Field(
        description="Between which the score lies (95%), on the test rows."
    )
    seconds: float | None
    parameters: int | None
    bytes: int | None
    latency: float | None = Field(description="Milliseconds for one input, the median.")
    curve: list[dict[str, Any]]
    mistakes: list[dict[str, Any]] = Field(
        description="The worst: input, expected, answer, probability."
    )


class ComparisonInFull(Comparison):
    higher_is_better: bool
    baseline: float | None
    recommended: str | None
    reason: Words | None
    compared: list[Compared]


class Predict(Asked):
    run: Name
    inputs: list[Input] = Field(min_length=1, max_length=1024)
    top: int = Field(
        0, ge=0, le=1000, description="With so many of the most probable labels for each."
    )

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"run": "reviews-gru", "inputs": ["a truly good film"]}]}
    )


class Predicted(BaseModel):
    run: str
    task: str
    rung: str
    answers: list[dict[str, Any]]
    notes: list[Words]
    seconds: float


class Generate(Asked):
    run: Name
    prompt: str = Field("", max_length=100_000)
    tokens: int = Field(100, ge=1, le=2048)
    lines: int | None = Field(None, ge=1, le=2048, description="Stop after so many lines.")
    temperature: float = Field(1.0, ge=0, le=100)
    top_k: int = Field(0, ge=0, le=1_000_000)
    top_p: float = Field(1.0, gt=0, le=1)
    seed: int = Field(0, ge=0, le=2**63 - 1)
    stream: bool = Field(
        True, description="As server-sent events, a piece each; else one JSON object at the end."
    )
    choices: int = Field(
        0,
        ge=0,
        le=100,
        description="With so many of the most probable next tokens after the prompt; nothing "
        "is written then.",
    )


class Generated(BaseModel):
    run: str
    prompt: str
    text: str = Field(description="What follows the prompt.")
    next: list[dict[str, Any]] = Field(
        description="The most probable next tokens, where they were asked for."
    )
    notes: list[Words]
    seconds: float


class Inspect(Asked):
    run: Name
    input: Input
    show: list[Annotated[str, Field(max_length=40)]] = Field(default_factory=list, max_length=20)
    off: list[Annotated[str, Field(max_length=200)]] = Field(
        default_factory=list, max_length=50, description="Parts to switch off."
    )
    beside: list[Name] = Field(default_factory=list, max_length=4)
    target: str | None = Field(None, max_length=4000)
    packed: bool = Field(
        False, description="As the page's renderer takes it, with its numbers packed."
    )


class Inspected(BaseModel):
    run: str
    task: str
    rung: str
    inspection: dict[str, Any]
    words: dict[str, Any] | None = Field(
        None, description="Those of the renderer, where it is packed."
    )
    seconds: float


class Data(Asked):
    builtin: str | None = Field(
        None, max_length=100, description="A built-in set, instead of data."
    )
    name: str | None = Field(
        None, max_length=200, description="The file's name, whose ending says its format."
    )
    text: str | None = None
    base64: str | None = None
    task: str | None = Field(None, max_length=40)
    columns: dict[str, Annotated[str, Field(max_length=200)]] = Field(
        default_factory=dict, max_length=50
    )


class Preview(BaseModel):
    task: str
    rows: int | None
    columns: dict[str, str]
    first: list[dict[str, Any]]
    rungs: list[str]
    notes: list[Words]


class Train(Data):
    rung: str = Field(min_length=1, max_length=40)
    minutes: float = Field(1.0, gt=0, le=60)
    seed: int = Field(0, ge=0, le=2**63 - 1)
    options: dict[str, str | float | int | bool] = Field(default_factory=dict, max_length=40)


class Training(BaseModel):
    id: str
    run: str
    rung: str
    data: str
    state: Literal["waiting", "running", "finished", "failed", "cancelled"]
    scores: dict[str, dict[str, float | None]]
    reason: Words | None
    began: float
    progress: dict[str, Any] | None


class Trainings(BaseModel):
    trainings: list[Training]


class Catalog(BaseModel):
    rungs: list[dict[str, Any]]
    sets: list[dict[str, Any]]


class Health(BaseModel):
    status: str
    version: str
