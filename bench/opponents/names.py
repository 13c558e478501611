"""The sides by name, as people know them, in the order in which they are shown."""

OURS = "tenon"
TITLES = {
    OURS: "Tenon", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "eager": "PyTorch", "inductor": "inductor",
    "inductor_dynamic": "inductor, dynamic", "jax": "JAX",
}  # fmt: skip
