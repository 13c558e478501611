"""The opponents, each as a class: open a model, take inputs, call, give outputs.

`open` gets the kind (infer, decode, train), the network's name and its file. A class is made once in a process, with its
number of threads; what a system does once in a process happens then, untimed.
"""

import os
import sys
import tempfile

import numpy as np

from . import wire
from .models import MODELS, Weights


class LeftOut(Exception):
    """What an opponent is not asked for, and why."""


class Side:
    def __init__(self, threads):
        self.threads = threads

    def start(self, arrays):
        self.begin = int(arrays.get("past", 0))
        self.take(arrays)

    def take(self, arrays):
        self.inputs = arrays

    def after(self, outputs):
        """An output new_x of decoding is the next call's x, and `past` counts on until the cache is full."""
        if self.kind == "decode":
            self.inputs |= {name: outputs[f"new_{name}"] for name in self.inputs if f"new_{name}" in outputs}
            past = int(self.inputs["past"]) + 1
            self.inputs["past"] = np.array(past if past < self.inputs["keys"].shape[3] else self.begin)


class OnnxRuntime(Side):
    def __init__(self, threads):
        super().__init__(threads)
        import onnxruntime

        self.library, self.version = onnxruntime, onnxruntime.__version__

    def open(self, kind, network, file):
        if kind == "train":
            raise LeftOut("it does not train")
        options = self.library.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self.threads, 1
        options.log_severity_level = 4
        self.kind = kind
        self.session = self.library.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        self.names = [each.name for each in self.session.get_outputs()]

    def call(self):
        self.results = self.session.run(None, self.inputs)
        self.after(dict(zip(self.names, self.results)))

    def outputs(self):
        return self.results


class OpenVino(Side):
    def __init__(self, threads):
        super().__init__(threads)
        sys.modules["openvino_telemetry"] = None  # which would call its makers, from a process that it forks
        import openvino

        self.library, self.version = openvino, openvino.__version__.split("-")[0]
        self.core = openvino.Core()

    def open(self, kind, network, file):
        if kind == "train":
            raise LeftOut("it does not train")
        self.kind = kind
        settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": self.threads, "NUM_STREAMS": 1,
                    "PERFORMANCE_HINT": "LATENCY"}
        model = self.core.compile_model(self.core.read_model(file), "CPU", settings)
        self.request, self.ports = model.create_infer_request(), model.outputs
        self.names = [each.any_name for each in self.ports]

    def call(self):
        found = self.request.infer(self.inputs, share_inputs=True, share_outputs=self.kind != "decode")
        self.results = [found[port] for port in self.ports]
        self.after(dict(zip(self.names, self.results)))

    def outputs(self):
        return self.results


class Eager(Side):
    dynamic = None  # not compiled

    def __init__(self, threads):
        super().__init__(threads)
        import torch

        from . import in_torch

        self.torch, self.dialect, self.version = torch, in_torch, torch.__version__
        torch.set_num_threads(threads)
        if self.dynamic is not None:
            from torch._inductor import config

            os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
            config.force_disable_caches = True
            torch.compile(lambda x: x + 1)(torch.ones(3))

    def open(self, kind, network, file):
        if network != "gpt2" and network not in MODELS:
            raise LeftOut("nobody wrote this network for PyTorch")
        if kind == "decode" and self.dynamic is not None:
            raise LeftOut("each length of the cache would be compiled")
        if ".int8." in os.path.basename(file):
            raise LeftOut("it reads no ONNX of 8 bits")
        torch, dialect = self.torch, self.dialect
        self.kind = kind
        weights = {name: value for name, value in wire.read(file)[2].items() if value is not None}
        dialect.training = kind == "train"

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                for name, value in dialect.prepare(weights).items():
                    value, key = torch.from_numpy(value.copy()), name.replace(".", "_")
                    if value.is_floating_point() and ".running_" not in name and not name.startswith("constant"):
                        self.register_parameter(key, torch.nn.Parameter(value, kind == "train"))
                    else:
                        self.register_buffer(key, value)

            def forward(self, **inputs):
                found = Weights(lambda name: getattr(self, name.replace(".", "_")))
                if kind == "decode":
                    return dialect.decode(found, **inputs)
                return MODELS[network](dialect, found, **inputs)

        net = Net().train(kind == "train")
        self.names = ["logits", "new_keys", "new_values"]
        self.run = net
        if self.dynamic is not None:
            torch._dynamo.reset()
            torch._inductor.config.freezing = kind != "train"
            self.run = torch.compile(net, dynamic=self.dynamic)
        if kind == "train":
            trained = [each for each in net.parameters() if each.requires_grad]
            self.optimizer = torch.optim.SGD(trained, 1e-2, momentum=0.9)

    def take(self, arrays):
        self.inputs = {name: self.torch.from_numpy(value) for name, value in arrays.items()}

    def call(self):
        if self.kind == "train":
            self.optimizer.zero_grad()
            data = {name: value for name, value in self.inputs.items() if name != "target"}
            logits = self.run(**data).flatten(0, -2)
            loss = self.torch.nn.functional.cross_entropy(logits, self.inputs["target"].flatten())
            loss.backward()
            self.optimizer.step()
            self.results = [np.array(loss.item(), np.float32)]
            return
        with self.torch.no_grad():
            found = self.run(**self.inputs)
        self.results = found if self.kind == "decode" else [found]
        self.after(dict(zip(self.names, self.results)))

    def outputs(self):
        return [np.asarray(each) for each in self.results]


class Inductor(Eager):
    dynamic = False


class InductorDynamic(Eager):
    dynamic = True


class Jax(Side):
    def __init__(self, threads):
        super().__init__(threads)
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax

        from . import in_jax

        jax.config.update("jax_default_matmul_precision", "highest")
        self.jax, self.dialect, self.version = jax, in_jax, jax.__version__
        jax.jit(lambda x: x + 1)(np.ones(3, np.float32)).block_until_ready()

    def open(self, kind, network, file):
        if kind != "infer":
            raise LeftOut("it is measured in inference alone")
        if network not in MODELS:
            raise LeftOut("nobody wrote this network for JAX")
        if ".int8." in os.path.basename(file):
            raise LeftOut("it reads no ONNX of 8 bits")
        self.kind = kind
        self.jax.clear_caches()
        weights = {name: self.jax.numpy.asarray(value) for name, value in wire.read(file)[2].items() if value is not None}
        run = self.jax.jit(lambda weights, inputs: MODELS[network](self.dialect, Weights(weights.__getitem__), **inputs))
        self.run = lambda inputs: run(weights, inputs)

    def take(self, arrays):
        self.inputs = {name: self.jax.numpy.asarray(value) for name, value in arrays.items()}
        self.jax.block_until_ready(self.inputs)

    def call(self):
        self.results = self.run(self.inputs).block_until_ready()

    def outputs(self):
        return [np.asarray(self.results)]


SIDES = {
    "onnxruntime": OnnxRuntime, "openvino": OpenVino, "eager": Eager, "inductor": Inductor,
    "inductor_dynamic": InductorDynamic, "jax": Jax,
}  # fmt: skip
