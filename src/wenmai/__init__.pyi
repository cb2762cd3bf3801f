# By tools/stubs.py, from the signatures of rungs, tasks and training: `make stubs` after an option has changed.
from typing import Literal

from wenmai.data.files.sounds import sounds as sounds
from wenmai.errors import Mistake as Mistake
from wenmai.estimators import load as load
from wenmai.answerer import Answerer as _Answerer
from wenmai.composer import Composer as _Composer
from wenmai.estimators import Chooser as _Chooser
from wenmai.estimators import Classifier as _Classifier
from wenmai.estimators import Encoder as _Encoder
from wenmai.estimators import Regressor as _Regressor
from wenmai.estimators import Replier as _Replier
from wenmai.estimators import Tagger as _Tagger
from wenmai.language_model import LanguageModel as _LanguageModel
from wenmai.transcriber import Transcriber as _Transcriber
from wenmai.translator import Translator as _Translator
from wenmai.evaluation.comparison import compare as compare
from wenmai.exchange.hugging_face import checkpoint as checkpoint
from wenmai.inspection.inspecting import inspect as inspect

__version__: str

class Classifier(_Classifier):
    def __init__(
        self, rung: Literal["ngram", "perceptron", "logistic", "softmax", "mlp", "cnn", "rnn", "rnn-residual", "rnn-coupled", "rnn-gated", "lstm", "gru", "attention", "transformer", "gpt", "bert"], *,
        seed: int = 0, device: str = 'auto', minutes: float | None = None, validation: float = 0.1, search: bool = False,
        deterministic: bool = False, progress: bool = False, embedding: str = 'random', max_length: int = 512,
        characters: Literal['auto', 'none', 'cnn', 'lstm'] = 'auto', rate: int | None = None, mels: int = 40, stack: int = 2,
        normalise: Literal['clip', 'corpus'] = 'clip', masks: int = 1, speed: float = 0.0, pitch: float = 0.0,
        noise: float = 0.0, convolutions: int = 0, tokenizer: str = 'auto', vocabulary: int = 30000, min_count: int = 1,
        lowercase: bool | None = None, balance: bool = False, order: int | None = None,
        smoothing: Literal['none', 'add-one', 'add-delta', 'absolute', 'witten-bell', 'katz', 'kneser-ney', 'modified-kneser-ney'] = 'modified-kneser-ney',
        delta: float | None = None, prune: str = '0', threshold: float = 0.0, layout: Literal['fast', 'small'] = 'fast',
        memory: str | None = None, engine: Literal['local', 'spark'] = 'local', ngrams: int | None = None,
        weighting: Literal['counts', 'tf-idf'] = 'tf-idf', min_documents: int = 1, window: int | None = ..., bias: bool = True,
        averaged: bool = True, epochs: int | None = ..., L: float = 1.0, k: float = 1.0, z0: float = 0.0,
        learning_rate: float | None = ..., decay: float | None = None, embed: int | None = ..., hidden: int = ...,
        layers: int = ..., dropout: float = ..., steps: int | None = None, plans: str | None = None,
        batch_tokens: int | None = None, optimizer: Literal['lazy-adamw', 'adamw', 'sgd', 'asgd'] = 'lazy-adamw',
        weight_decay: float | None = None, average: bool = False, warmup: float = 0.1, clip: float | None = None,
        evaluations: int = 20, patience: int = 6, precision: Literal['auto', 'float32', 'bf16'] = 'auto',
        parallel: Literal['ddp', 'fsdp'] = 'ddp', micro_batches: int | None = None, compile: bool = False,
        threads: int | None = None, layer_decay: float = 1.0, freeze: Union[int, Literal['all']] = 0, reinitialise: int = 0,
        head_rate: float | None = None, filters: int = 64, widths: str = '2,3,4,5', stages: int = 3,
        activation: Literal['tanh', 'relu'] | Literal['gelu', 'gelu-tanh', 'relu'] = ..., bidirectional: bool = False,
        pooling: Literal['auto', 'last', 'first', 'mean', 'max', 'sum'] | Literal['mean', 'max', 'first'] | Literal['mean', 'last', 'max'] | Literal['first', 'mean', 'max'] = ...,
        cell: Literal['gru', 'lstm', 'rnn', 'none'] = 'gru', score: Literal['general', 'dot', 'scaled', 'additive'] = 'general',
        positions: Literal['sinusoidal', 'learned', 'none'] | Literal['sinusoidal', 'learned', 'rotary'] | Literal['learned', 'sinusoidal', 'rotary'] = ...,
        width: int = 128, heads: int = 4, feed_forward: int | None = None, norm: Literal['pre', 'post'] = 'pre', patch: int = 4,
        segments: int = 2, dense: Literal['tanh', 'relu', 'gelu', 'none'] = 'tanh', epsilon: float = 1e-12,
    ) -> None: ...

class Tagger(_Tagger):
    def __init__(
        self, rung: Literal["perceptron", "softmax", "mlp", "cnn", "rnn", "rnn-residual", "rnn-coupled", "rnn-gated", "lstm", "gru", "attention", "transformer", "gpt", "bert"], *,
        seed: int = 0, device: str = 'auto', minutes: float | None = None, validation: float = 0.1, search: bool = False,
        deterministic: bool = False, progress: bool = False, embedding: str = 'random', max_length: int = 512,
        characters: Literal['auto', 'none', 'cnn', 'lstm'] = 'auto', rate: int | None = None, mels: int = 40, stack: int = 2,
        normalise: Literal['clip', 'corpus'] = 'clip', masks: int = 1, speed: float = 0.0, pitch: float = 0.0,
        noise: float = 0.0, convolutions: int = 0, tokenizer: str = 'auto', vocabulary: int = 30000, min_count: int = 1,
        lowercase: bool | None = None, crf: bool = False,
        scheme: Literal['auto', 'plain', 'bio', 'iob1', 'ioe1', 'ioe2', 'bioes', 'bmes', 'bilou'] = 'auto',
        write: Literal['auto', 'plain', 'bio', 'iob1', 'ioe1', 'ioe2', 'bioes', 'bmes', 'bilou'] = 'auto',
        ngrams: int | None = None, weighting: Literal['counts', 'tf-idf'] = 'tf-idf', min_documents: int = 1,
        window: int | None = ..., bias: bool = True, averaged: bool = True, epochs: int | None = ...,
        learning_rate: float | None = ..., decay: float | None = None, embed: int | None = ..., hidden: int = ...,
        layers: int = ..., dropout: float = ..., steps: int | None = None, plans: str | None = None,
        batch_tokens: int | None = None, optimizer: Literal['lazy-adamw', 'adamw', 'sgd', 'asgd'] = 'lazy-adamw',
        weight_decay: float | None = None, average: bool = False, warmup: float = 0.1, clip: float | None = None,
        evaluations: int = 20, patience: int = 6, precision: Literal['auto', 'float32', 'bf16'] = 'auto',
        parallel: Literal['ddp', 'fsdp'] = 'ddp', micro_batches: int | None = None, compile: bool = False,
        threads: int | None = None, layer_decay: float = 1.0, freeze: Union[int, Literal['all']] = 0, reinitialise: int = 0,
        head_rate: float | None = None, filters: int = 64, widths: str = '2,3,4,5', stages: int = 3,
        activation: Literal['tanh', 'relu'] | Literal['gelu', 'gelu-tanh', 'relu'] = ..., bidirectional: bool = False,
        pooling: Literal['auto', 'last', 'first', 'mean', 'max', 'sum'] | Literal['mean', 'max', 'first'] | Literal['mean', 'last', 'max'] | Literal['first', 'mean', 'max'] = ...,
        cell: Literal['gru', 'lstm', 'rnn', 'none'] = 'gru', score: Literal['general', 'dot', 'scaled', 'additive'] = 'general',
        positions: Literal['sinusoidal', 'learned', 'none'] | Literal['sinusoidal', 'learned', 'rotary'] | Literal['learned', 'sinusoidal', 'rotary'] = ...,
        width: int = 128, heads: int = 4, feed_forward: int | None = None, norm: Literal['pre', 'post'] = 'pre', patch: int = 4,
        segments: int = 2, dense: Literal['tanh', 'relu', 'gelu', 'none'] = 'tanh', epsilon: float = 1e-12,
    ) -> None: ...

class Regressor(_Regressor):
    def __init__(
        self, rung: Literal["linear", "logistic", "mlp", "cnn", "rnn", "rnn-residual", "rnn-coupled", "rnn-gated", "lstm", "gru", "attention", "transformer", "gpt", "bert"], *,
        seed: int = 0, device: str = 'auto', minutes: float | None = None, validation: float = 0.1, search: bool = False,
        deterministic: bool = False, progress: bool = False, embedding: str = 'random', max_length: int = 512,
        characters: Literal['auto', 'none', 'cnn', 'lstm'] = 'auto', rate: int | None = None, mels: int = 40, stack: int = 2,
        normalise: Literal['clip', 'corpus'] = 'clip', masks: int = 1, speed: float = 0.0, pitch: float = 0.0,
        noise: float = 0.0, convolutions: int = 0, tokenizer: str = 'auto', vocabulary: int = 30000, min_count: int = 1,
        lowercase: bool | None = None, horizon: int | None = None, history: int | None = None, ngrams: int | None = None,
        weighting: Literal['counts', 'tf-idf'] = 'tf-idf', min_documents: int = 1, window: int | None = ..., bias: bool = True,
        solver: Literal['auto', 'closed', 'gradient'] = 'auto', epochs: int | None = None, learning_rate: float | None = ...,
        decay: float | None = None, L: float = 1.0, k: float = 1.0, z0: float = 0.0, embed: int | None = ..., hidden: int = ...,
        layers: int = ..., dropout: float = ..., steps: int | None = None, plans: str | None = None,
        batch_tokens: int | None = None, optimizer: Literal['lazy-adamw', 'adamw', 'sgd', 'asgd'] = 'lazy-adamw',
        weight_decay: float | None = None, average: bool = False, warmup: float = 0.1, clip: float | None = None,
        evaluations: int = 20, patience: int = 6, precision: Literal['auto', 'float32', 'bf16'] = 'auto',
        parallel: Literal['ddp', 'fsdp'] = 'ddp', micro_batches: int | None = None, compile: bool = False,
        threads: int | None = None, layer_decay: float = 1.0, freeze: Union[int, Literal['all']] = 0, reinitialise: int = 0,
        head_rate: float | None = None, filters: int = 64, widths: str = '2,3,4,5', stages: int = 3,
        activation: Literal['tanh', 'relu'] | Literal['gelu', 'gelu-tanh', 'relu'] = ..., bidirectional: bool = False,
        pooling: Literal['auto', 'last', 'first', 'mean', 'max', 'sum'] | Literal['mean', 'max', 'first'] | Literal['mean', 'last', 'max'] | Literal['first', 'mean', 'max'] = ...,
        cell: Literal['gru', 'lstm', 'rnn', 'none'] = 'gru', score: Literal['general', 'dot', 'scaled', 'additive'] = 'general',
        positions: Literal['sinusoidal', 'learned', 'none'] | Literal['sinusoidal', 'learned', 'rotary'] | Literal['learned', 'sinusoidal', 'rotary'] = ...,
        width: int = 128, heads: int = 4, feed_forward: int | None = None, norm: Literal['pre', 'post'] = 'pre', patch: int = 4,
        segments: int = 2, dense: Literal['tanh', 'relu', 'gelu', 'none'] = 'tanh', epsilon: float = 1e-12,
    ) -> None: ...

class LanguageModel(_LanguageModel):
    def __init__(
        self, rung: Literal["ngram", "mlp", "cnn", "rnn", "rnn-residual", "rnn-coupled", "rnn-gated", "lstm", "gru", "gpt"], *,
        seed: int = 0, device: str = 'auto', minutes: float | None = None, validation: float = 0.1, search: bool = False,
        deterministic: bool = False, progress: bool = False, embedding: str = 'random', max_length: int = 512,
        characters: Literal['auto', 'none', 'cnn', 'lstm'] = 'auto', rate: int | None = None, mels: int = 40, stack: int = 2,
        normalise: Literal['clip', 'corpus'] = 'clip', masks: int = 1, speed: float = 0.0, pitch: float = 0.0,
        noise: float = 0.0, convolutions: int = 0, tokenizer: str = 'auto', vocabulary: int = 30000, min_count: int = 1,
        lowercase: bool | None = None, order: int | None = None,
        smoothing: Literal['none', 'add-one', 'add-delta', 'absolute', 'witten-bell', 'katz', 'kneser-ney', 'modified-kneser-ney'] = 'modified-kneser-ney',
        delta: float | None = None, prune: str = '0', threshold: float = 0.0, layout: Literal['fast', 'small'] = 'fast',
        memory: str | None = None, engine: Literal['local', 'spark'] = 'local', embed: int | None = ...,
        hidden: int | None = ..., layers: int | None = ..., window: int = ..., direct: bool = False, tie: bool = True,
        dropout: float | None = None, context: int = ..., epochs: int | None = None, steps: int | None = None,
        plans: str | None = None, learning_rate: float | None = None, batch_tokens: int | None = None,
        optimizer: Literal['lazy-adamw', 'adamw', 'sgd', 'asgd'] = 'lazy-adamw', weight_decay: float | None = None,
        average: bool = False, warmup: float = 0.1, clip: float | None = None, evaluations: int = 20, patience: int = 6,
        precision: Literal['auto', 'float32', 'bf16'] = 'auto', parallel: Literal['ddp', 'fsdp'] = 'ddp',
        micro_batches: int | None = None, compile: bool = False, threads: int | None = None, layer_decay: float = 1.0,
        freeze: Union[int, Literal['all']] = 0, reinitialise: int = 0, head_rate: float | None = None, filters: int = 256,
        hidden_dropout: float | None = None, word_dropout: float | None = None, weight_dropout: float | None = None,
        activation_penalty: float | None = None, temporal_penalty: float | None = None, width: int | None = None,
        heads: int | None = None, feed_forward: int | None = None,
        positions: Literal['learned', 'sinusoidal', 'rotary'] = 'learned',
        activation: Literal['gelu', 'gelu-tanh', 'relu'] = 'gelu',
    ) -> None: ...

class Translator(_Translator):
    def __init__(
        self, rung: Literal["seq2seq", "attention", "transformer"], *, seed: int = 0, device: str = 'auto',
        minutes: float | None = None, validation: float = 0.1, search: bool = False, deterministic: bool = False,
        progress: bool = False, max_length: int = 512, target_tokenizer: str = 'auto', joint: bool | None = None,
        tokenizer: str = 'auto', vocabulary: int = 30000, min_count: int = 1, lowercase: bool | None = None,
        summarise: bool | None = None, cell: Literal['lstm', 'gru', 'rnn'] = ...,
        context: Literal['projected', 'last', 'sum'] = 'projected', context_input: Literal['state', 'every'] = 'state',
        embed: int | None = None, hidden: int | None = None, layers: int | None = ..., bidirectional: bool = True,
        tie: bool = True, smoothing: float = 0.1, sampling: float = 0.0, dropout: float | None = None,
        epochs: int | None = None, steps: int | None = None, plans: str | None = None, learning_rate: float | None = None,
        batch_tokens: int | None = None, optimizer: Literal['lazy-adamw', 'adamw', 'sgd', 'asgd'] = 'lazy-adamw',
        weight_decay: float | None = None, average: bool = False, warmup: float = 0.1, clip: float | None = None,
        evaluations: int = 20, patience: int = 6, precision: Literal['auto', 'float32', 'bf16'] = 'auto',
        parallel: Literal['ddp', 'fsdp'] = 'ddp', micro_batches: int | None = None, compile: bool = False,
        threads: int | None = None, layer_decay: float = 1.0, freeze: Union[int, Literal['all']] = 0, reinitialise: int = 0,
        head_rate: float | None = None, score: Literal['general', 'dot', 'scaled', 'additive'] = 'general',
        query: Literal['after', 'before'] = 'after', feeding: bool = False,
        encoder: Literal['recurrent', 'plain'] = 'recurrent', copy: bool = False, width: int | None = None, heads: int = 4,
        feed_forward: int | None = None, positions: Literal['auto', 'sinusoidal', 'learned', 'rotary'] = 'auto',
        activation: Literal['gelu', 'gelu-tanh', 'relu'] = 'gelu', norm: Literal['pre', 'post'] = 'pre',
    ) -> None: ...

class Composer(_Composer):
    def __init__(
        self, rung: Literal["rnn", "rnn-residual", "rnn-coupled", "rnn-gated", "lstm", "gru", "transformer", "gpt"], *,
        seed: int = 0, device: str = 'auto', minutes: float | None = None, validation: float = 0.1, search: bool = False,
        deterministic: bool = False, progress: bool = False, max_length: int = 512, tokenizer: str = 'auto',
        vocabulary: int = 30000, min_count: int = 1, lowercase: bool | None = None,
        context_input: Literal['first', 'every'] = 'first', feedback: bool = True, embed: int = 64, hidden: int = 256,
        layers: int = ..., dropout: float = ..., epochs: int | None = None, steps: int | None = None, plans: str | None = None,
        learning_rate: float | None = None, batch_tokens: int | None = None,
        optimizer: Literal['lazy-adamw', 'adamw', 'sgd', 'asgd'] = 'lazy-adamw', weight_decay: float | None = None,
        average: bool = False, warmup: float = 0.1, clip: float | None = None, evaluations: int = 20, patience: int = 6,
        precision: Literal['auto', 'float32', 'bf16'] = 'auto', parallel: Literal['ddp', 'fsdp'] = 'ddp',
        micro_batches: int | None = None, compile: bool = False, threads: int | None = None, layer_decay: float = 1.0,
        freeze: Union[int, Literal['all']] = 0, reinitialise: int = 0, head_rate: float | None = None, width: int = 128,
        heads: int = 4, feed_forward: int | None = None,
        positions: Literal['sinusoidal', 'learned', 'rotary'] | Literal['learned', 'sinusoidal', 'rotary'] = ...,
        activation: Literal['gelu', 'gelu-tanh', 'relu'] = 'gelu', norm: Literal['pre', 'post'] = 'pre', patch: int = 4,
        tie: bool = False,
    ) -> None: ...

class Answerer(_Answerer):
    def __init__(
        self, rung: Literal["attention", "transformer", "bert"], *, seed: int = 0, device: str = 'auto',
        minutes: float | None = None, validation: float = 0.1, search: bool = False, deterministic: bool = False,
        progress: bool = False, embedding: str = 'random', max_length: int = 384, stride: int = 128, tokenizer: str = 'auto',
        vocabulary: int = 30000, min_count: int = 1, lowercase: bool | None = None, answer_length: int | None = None,
        cell: Literal['lstm', 'gru', 'rnn'] = 'lstm', score: Literal['general', 'dot', 'scaled', 'additive'] = 'general',
        embed: int | None = ..., hidden: int = 128, layers: int = ..., dropout: float = ..., epochs: int | None = None,
        steps: int | None = None, plans: str | None = None, learning_rate: float | None = None, batch_tokens: int | None = None,
        optimizer: Literal['lazy-adamw', 'adamw', 'sgd', 'asgd'] = 'lazy-adamw', weight_decay: float | None = None,
        average: bool = False, warmup: float = 0.1, clip: float | None = None, evaluations: int = 20, patience: int = 6,
        precision: Literal['auto', 'float32', 'bf16'] = 'auto', parallel: Literal['ddp', 'fsdp'] = 'ddp',
        micro_batches: int | None = None, compile: bool = False, threads: int | None = None, layer_decay: float = 1.0,
        freeze: Union[int, Literal['all']] = 0, reinitialise: int = 0, head_rate: float | None = None, width: int = 128,
        heads: int = 4, feed_forward: int | None = None, positions: Literal['sinusoidal', 'learned', 'rotary'] = 'sinusoidal',
        activation: Literal['gelu', 'gelu-tanh', 'relu'] = 'gelu', norm: Literal['pre', 'post'] = 'pre', patch: int = 4,
        pooling: Literal['mean', 'max', 'first'] | Literal['first', 'mean', 'max'] = ..., segments: int = 2,
        dense: Literal['tanh', 'relu', 'gelu', 'none'] = 'tanh', epsilon: float = 1e-12,
    ) -> None: ...

class Chooser(_Chooser):
    def __init__(
        self, rung: Literal["mlp", "cnn", "rnn", "rnn-residual", "rnn-coupled", "rnn-gated", "lstm", "gru", "attention", "transformer", "bert"], *,
        seed: int = 0, device: str = 'auto', minutes: float | None = None, validation: float = 0.1, search: bool = False,
        deterministic: bool = False, progress: bool = False, embedding: str = 'random', max_length: int = 512,
        characters: Literal['auto', 'none', 'cnn', 'lstm'] = 'auto', rate: int | None = None, mels: int = 40, stack: int = 2,
        normalise: Literal['clip', 'corpus'] = 'clip', masks: int = 1, speed: float = 0.0, pitch: float = 0.0,
        noise: float = 0.0, convolutions: int = 0, tokenizer: str = 'auto', vocabulary: int = 30000, min_count: int = 1,
        lowercase: bool | None = None, embed: int | None = ..., hidden: int = ..., layers: int = ..., window: int | None = None,
        dropout: float = ..., epochs: int | None = None, steps: int | None = None, plans: str | None = None,
        learning_rate: float | None = None, batch_tokens: int | None = None,
        optimizer: Literal['lazy-adamw', 'adamw', 'sgd', 'asgd'] = 'lazy-adamw', weight_decay: float | None = None,
        average: bool = False, warmup: float = 0.1, clip: float | None = None, evaluations: int = 20, patience: int = 6,
        precision: Literal['auto', 'float32', 'bf16'] = 'auto', parallel: Literal['ddp', 'fsdp'] = 'ddp',
        micro_batches: int | None = None, compile: bool = False, threads: int | None = None, layer_decay: float = 1.0,
        freeze: Union[int, Literal['all']] = 0, reinitialise: int = 0, head_rate: float | None = None, filters: int = 64,
        widths: str = '2,3,4,5', stages: int = 3,
        activation: Literal['tanh', 'relu'] | Literal['gelu', 'gelu-tanh', 'relu'] = ..., bidirectional: bool = False,
        pooling: Literal['auto', 'last', 'first', 'mean', 'max', 'sum'] | Literal['mean', 'max', 'first'] | Literal['first', 'mean', 'max'] = ...,
        cell: Literal['gru', 'lstm', 'rnn', 'none'] = 'gru', score: Literal['general', 'dot', 'scaled', 'additive'] = 'general',
        positions: Literal['sinusoidal', 'learned', 'none'] | Literal['sinusoidal', 'learned', 'rotary'] = 'sinusoidal',
        width: int = 128, heads: int = 4, feed_forward: int | None = None, norm: Literal['pre', 'post'] = 'pre', patch: int = 4,
        segments: int = 2, dense: Literal['tanh', 'relu', 'gelu', 'none'] = 'tanh', epsilon: float = 1e-12,
    ) -> None: ...

class Replier(_Replier):
    def __init__(
        self, rung: Literal["seq2seq", "attention", "transformer"], *, seed: int = 0, device: str = 'auto',
        minutes: float | None = None, validation: float = 0.1, search: bool = False, deterministic: bool = False,
        progress: bool = False, max_length: int = 2048, target_tokenizer: str = 'auto', tokenizer: str = 'auto',
        vocabulary: int = 30000, min_count: int = 1, lowercase: bool | None = None, cell: Literal['lstm', 'gru', 'rnn'] = 'gru',
        embed: int = 64, hidden: int = 128, layers: int = ..., bidirectional: bool = True, tie: bool = ...,
        smoothing: float = 0.0, dropout: float = 0.1, epochs: int | None = None, steps: int | None = None,
        plans: str | None = None, learning_rate: float | None = None, batch_tokens: int | None = None,
        optimizer: Literal['lazy-adamw', 'adamw', 'sgd', 'asgd'] = 'lazy-adamw', weight_decay: float | None = None,
        average: bool = False, warmup: float = 0.1, clip: float | None = None, evaluations: int = 20, patience: int = 6,
        precision: Literal['auto', 'float32', 'bf16'] = 'auto', parallel: Literal['ddp', 'fsdp'] = 'ddp',
        micro_batches: int | None = None, compile: bool = False, threads: int | None = None, layer_decay: float = 1.0,
        freeze: Union[int, Literal['all']] = 0, reinitialise: int = 0, head_rate: float | None = None,
        score: Literal['general', 'dot', 'scaled', 'additive'] = 'general', copy: bool = False, width: int = 128,
        heads: int = 4, feed_forward: int | None = None, positions: Literal['sinusoidal', 'learned', 'rotary'] = 'sinusoidal',
        activation: Literal['gelu', 'gelu-tanh', 'relu'] = 'gelu', norm: Literal['pre', 'post'] = 'pre',
    ) -> None: ...

class Encoder(_Encoder):
    def __init__(
        self, rung: Literal["bert"], *, seed: int = 0, device: str = 'auto', minutes: float | None = None,
        validation: float = 0.1, search: bool = False, deterministic: bool = False, progress: bool = False,
        max_length: int = 256, tokenizer: str = 'auto', vocabulary: int = 30000, min_count: int = 1,
        lowercase: bool | None = None, masked: float = 0.15, whole_words: bool = False, next_sentence: bool = True,
        width: int = 128, heads: int = 4, layers: int = 2, feed_forward: int | None = None, embed: int | None = None,
        activation: Literal['gelu', 'gelu-tanh', 'relu'] = 'gelu', segments: int = 2,
        dense: Literal['tanh', 'relu', 'gelu', 'none'] = 'tanh', pooling: Literal['first', 'mean', 'max'] = 'first',
        epsilon: float = 1e-12, dropout: float = 0.1, epochs: int | None = None, steps: int | None = None,
        plans: str | None = None, learning_rate: float | None = None, batch_tokens: int | None = None,
        optimizer: Literal['lazy-adamw', 'adamw', 'sgd', 'asgd'] = 'lazy-adamw', weight_decay: float | None = None,
        average: bool = False, warmup: float = 0.1, clip: float | None = None, evaluations: int = 20, patience: int = 6,
        precision: Literal['auto', 'float32', 'bf16'] = 'auto', parallel: Literal['ddp', 'fsdp'] = 'ddp',
        micro_batches: int | None = None, compile: bool = False, threads: int | None = None, layer_decay: float = 1.0,
        freeze: Union[int, Literal['all']] = 0, reinitialise: int = 0, head_rate: float | None = None,
    ) -> None: ...

class Transcriber(_Transcriber):
    def __init__(
        self, rung: Literal["cnn", "rnn", "rnn-residual", "rnn-coupled", "rnn-gated", "lstm", "gru", "seq2seq", "attention", "transformer"], *,
        seed: int = 0, device: str = 'auto', minutes: float | None = None, validation: float = 0.1, search: bool = False,
        deterministic: bool = False, progress: bool = False, max_length: int = 512, rate: int | None = None, mels: int = 40,
        stack: int = 2, normalise: Literal['clip', 'corpus'] = 'clip', masks: int = 1, speed: float = 0.0, pitch: float = 0.0,
        noise: float = 0.0, convolutions: int = 0, tokenizer: str = 'auto', vocabulary: int = 30000, min_count: int = 1,
        lowercase: bool | None = None, embed: int = 96, filters: int = 64, widths: str = '3,7', layers: int = ...,
        dropout: float = 0.1, epochs: int | None = None, steps: int | None = None, plans: str | None = None,
        learning_rate: float | None = None, batch_tokens: int | None = None,
        optimizer: Literal['lazy-adamw', 'adamw', 'sgd', 'asgd'] = 'lazy-adamw', weight_decay: float | None = None,
        average: bool = False, warmup: float = 0.1, clip: float | None = None, evaluations: int = 20, patience: int = 6,
        precision: Literal['auto', 'float32', 'bf16'] = 'auto', parallel: Literal['ddp', 'fsdp'] = 'ddp',
        micro_batches: int | None = None, compile: bool = False, threads: int | None = None, layer_decay: float = 1.0,
        freeze: Union[int, Literal['all']] = 0, reinitialise: int = 0, head_rate: float | None = None,
        activation: Literal['tanh', 'relu'] | Literal['gelu', 'gelu-tanh', 'relu'] = ..., hidden: int = ...,
        bidirectional: bool = True, cell: Literal['lstm', 'gru', 'rnn'] = 'lstm',
        context: Literal['projected', 'last', 'sum'] = 'projected', context_input: Literal['state', 'every'] = 'every',
        joint_ctc: float = 0.3, score: Literal['general', 'dot', 'scaled', 'additive'] = 'additive',
        query: Literal['after', 'before'] = 'before', feeding: bool = False, decoder: Literal['ctc', 'attention'] = 'ctc',
        width: int = 128, heads: int = 4, feed_forward: int | None = None,
        positions: Literal['sinusoidal', 'learned', 'rotary'] = 'sinusoidal', norm: Literal['pre', 'post'] = 'pre',
    ) -> None: ...
