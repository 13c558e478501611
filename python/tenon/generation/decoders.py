"""Models that predict the next token: what a folder holds, compiled, with one call for all of them."""

from __future__ import annotations

import json
import os

import numpy as np

from tenon import _tenon
from tenon._models import Model
from tenon._tenon import load_safetensors
from tenon.generation.architectures import Config
from tenon.generation.layers import USED, decoder_graph
from tenon.generation.texts import read_json

_DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_READ = 64  # the places that are read are a multiple of this: few sizes, which are prepared once


def load_decoder(folder, options):
    """Of a folder of onnxruntime-genai's model builder, or of transformers', or of what save() wrote."""
    if _tenon.is_program_file(folder):
        return load_program_of_decoder(folder, options)
    if os.path.isdir(folder):
        if os.path.exists(os.path.join(folder, "genai_config.json")):
            return OnnxDecoder(folder, options)
        if os.path.exists(os.path.join(folder, "config.json")):
            return TransformersDecoder(folder, options)
    raise _tenon.Error(
        f"`{folder}` is no folder with a genai_config.json, as the model builder of onnxruntime-genai writes it, or a "
        "config.json, as transformers does, and no program that was saved of one"
    )


def load_program_of_decoder(path, options):
    """A decoder that was compiled before: it says itself how it is called."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise _tenon.Error(f"`{path}` is a program, which was compiled when it was saved: give `{given[0]}` to its save")
    text = _tenon.program_info(path)["metadata"].get("generation")
    if text is None:
        raise _tenon.Error(f"`{path}` is a program, but none that continues texts: `tenon generate FOLDER --save FILE` "
                           "writes such")
    facts = json.loads(text)
    kind = TransformersDecoder if facts["begin"] else OnnxDecoder
    return kind.of_program(path, facts)


def save_decoder(folder, path, weights=None):
    """Builds the model of a folder into a program, which this package and tenon/token_generator.h run without compiling."""
    if _tenon.is_program_file(folder):
        raise _tenon.Error(f"`{folder}` is a program already: copy the file")
    kind = OnnxDecoder if os.path.exists(os.path.join(folder, "genai_config.json")) else TransformersDecoder
    decoder = kind.__new__(kind)
    graph = decoder.read(folder)
    metadata = {"generation": json.dumps(decoder.facts())}
    _tenon.build_program(graph, path, weights, True, (), None, False, metadata)


def _dims_of(shape):
    """Of a cache, behind the axis of texts: None for the axis of places."""
    return tuple(axis if isinstance(axis, int) else None for axis in shape.axes[1:])


def _ends_of(*given):
    """Tokens that end a text: of the first that names any."""
    for each in given:
        if each is not None:
            return set(each if isinstance(each, list) else [each])
    return set()


class TransformersDecoder:
    """Safetensors and what `config.json` says of them. Sequences of a run may have different lengths."""

    is_batched = True
    mixes_lengths = True

    def __init__(self, folder, options):
        self.model = _tenon.compile_graph(self.read(folder), keep_graph=False, **options)

    def read(self, folder):
        """The graph."""
        path = os.path.join(folder, "config.json")
        fields = read_json(path)
        config = Config(path, fields)
        generation = read_json(os.path.join(folder, "generation_config.json"), {})
        self.ends = _ends_of(generation.get("eos_token_id"), fields.get("eos_token_id"))
        self.context, self.vocabulary = config.context, config.vocabulary
        self.cache_shape = (None, config.kv_heads, config.depth)
        self.cache_dtypes = [np.float32] * (2 * config.layers)
        return decoder_graph(config, _tensors_of(folder), folder)

    def facts(self):
        """What tenon/token_generator.h, or of_program(), needs to know of a program."""
        layers = len(self.cache_dtypes) // 2
        names = [f"{kind}.{layer}" for layer in range(layers) for kind in ("keys", "values")]
        return {"ids": "ids", "begin": "begin", "last": "last", "logits": "logits", "size": USED,
                "caches": [[name, f"{name}.new"] for name in names], "context": self.context,
                "vocabulary": self.vocabulary, "ends": sorted(self.ends), "is_batched": True}

    @classmethod
    def of_program(cls, path, facts):
        self = cls.__new__(cls)
        self.model = _tenon.load_program(path)
        self.context, self.vocabulary, self.ends = facts["context"], facts["vocabulary"], set(facts["ends"])
        shape = dict(self.model.inputs)[facts["caches"][0][0]]
        self.cache_shape = _dims_of(shape)
        self.cache_dtypes = [_DTYPES[str(shape.dtype)]] * len(facts["caches"])
        return self

    def run(self, ids, begin, last, caches, threads):
        """Logits[batch, asked, vocabulary] behind the tokens at last[batch, asked]; the caches hold all of `ids` from
        `begin` on then."""
        capacity = caches[0].shape[1]
        used = -(-(int(begin.max()) + ids.shape[1]) // _READ) * _READ
        sizes = {"used": min(used, capacity)}
        return self.model.run([ids, begin, last, *caches], sizes=sizes, threads=threads, donate=True)[0].numpy()


def _tensors_of(folder):
    index = read_json(os.path.join(folder, "model.safetensors.index.json"), {})
    files = sorted(set(index.get("weight_map", {}).values())) or ["model.safetensors"]
    tensors = {}
    for file in files:
        path = os.path.join(folder, file)
        if not os.path.exists(path):
            raise _tenon.Error(f"`{folder}` has no file `{file}`, which holds its weights")
        tensors.update(load_safetensors(path))
    return tensors


class OnnxDecoder:
    """An ONNX model with caches as inputs and outputs, which genai_config.json names. They are updated in place where
    the model appends to them. Where GroupQueryAttention does, sequences of a run may have different lengths."""

    mixes_lengths = False  # but not sequences of several tokens each behind others

    def __init__(self, folder, options):
        path = self._look(folder)
        self.model = Model(path, donate=self._caches, **options)

    def read(self, folder):
        """The graph."""
        return _tenon.donate_graph(_tenon.import_onnx(self._look(folder)), self._caches, False)

    def facts(self):
        """What tenon/token_generator.h, or of_program(), needs to know of a program."""
        present = lambda name: name if name in self._integers else ""
        return {"ids": self._ids, "begin": "", "last": "", "mask": present(self._mask),
                "positions": present(self._positions), "logits": self._logits, "size": self._past,
                "caches": list(self._caches.items()), "context": self.context, "vocabulary": self.vocabulary,
                "ends": sorted(self.ends), "is_batched": self.is_batched}

    @classmethod
    def of_program(cls, path, facts):
        self = cls.__new__(cls)
        self.model = Model(path)
        declared = dict(self.model.inputs)
        self._ids, self._mask, self._positions = facts["ids"], facts["mask"], facts["positions"]
        self._logits, self._past, self._caches = facts["logits"], facts["size"], dict(facts["caches"])
        self._read_types(declared)
        self.cache_shape = _dims_of(declared[next(iter(self._caches))])
        self.context, self.vocabulary, self.ends = facts["context"], facts["vocabulary"], set(facts["ends"])
        self.is_batched = facts["is_batched"]
        return self

    def _look(self, folder):
        """What the files say without reading weights; the path of the model."""
        config = read_json(os.path.join(folder, "genai_config.json"))
        try:
            self._read_names(config["model"]["decoder"], config["model"])
        except KeyError as missing:
            raise _tenon.Error(f"`{folder}`: genai_config.json has no entry {missing}") from None
        path = os.path.join(folder, self._file)
        if not os.path.exists(path):
            raise _tenon.Error(f"`{folder}` has no file `{self._file}`, which its genai_config.json names")
        inputs, _, operators = _tenon.onnx_signature(path)
        declared = dict(inputs)
        for name in [self._ids, *self._caches]:
            if name not in declared:
                raise _tenon.Error(f"`{path}` has no input `{name}`, which its genai_config.json names")
        unknown = set(declared) - {self._ids, self._mask, self._positions, *self._caches}
        if unknown:
            raise _tenon.Error(f"`{path}` takes `{min(unknown)}`, which no prompt gives: only decoders of texts are run")
        for name in self._caches:
            dtype = str(declared[name].dtype)
            if dtype not in _DTYPES:
                raise _tenon.Error(f"the cache `{name}` is of {dtype}: generation takes f16, f32 and f64")
        self._read_types(declared)
        self._past = str(declared[next(iter(self._caches))].axes[2])
        self.is_batched = "GroupQueryAttention" in operators  # which tells sequences apart by their masks
        return path

    def _read_types(self, declared):
        self.cache_dtypes = [_DTYPES[str(declared[name].dtype)] for name in self._caches]
        self._integers = {name: np.int32 if str(shape.dtype) == "i32" else np.int64 for name, shape in declared.items()}

    def _read_names(self, decoder, model):
        self._file = decoder["filename"]
        takes, gives = decoder["inputs"], decoder["outputs"]
        self._ids, self._logits = takes["input_ids"], gives["logits"]
        self._mask, self._positions = takes.get("attention_mask"), takes.get("position_ids")
        pairs = (("past_key_names", "present_key_names"), ("past_value_names", "present_value_names"))
        self._caches = {
            takes[past] % layer: gives[present] % layer
            for layer in range(decoder["num_hidden_layers"])
            for past, present in pairs
        }
        self.cache_shape = (decoder["num_key_value_heads"], None, decoder["head_size"])
        self.context, self.vocabulary = model["context_length"], model["vocab_size"]
        self.ends = _ends_of(model.get("eos_token_id"))

    def run(self, ids, begin, last, caches, threads):
        """As above. Sequences of a run are prompts, which begin at 0, or have one token each."""
        rows, count = ids.shape
        past = int(begin.max())
        lengths = begin + last[:, -1] + 1
        inputs = {self._ids: ids}
        if self._mask in self._integers:
            inputs[self._mask] = (np.arange(past + count)[None] < lengths[:, None])
        if self._positions in self._integers:
            inputs[self._positions] = begin[:, None] + np.arange(count)[None]
        inputs = {name: value.astype(self._integers[name], copy=False) for name, value in inputs.items()}
        inputs.update(zip(self._caches, caches))
        out = self.model.run(inputs, sizes={self._past: past}, threads=threads, donate=True)
        for present, cache in zip(self._caches.values(), caches):
            if out[present] is not cache:  # memory that a run could not write
                cache[...] = out[present].numpy()
        return out[self._logits].numpy()[np.arange(rows)[:, None], last]
