"""A model with weights and activations of 8 bits, by ONNX Runtime's tool.

    python quantise.py SOURCE.onnx RESULT.onnx FOLDER...    folders with inputs to calibrate by
"""

import sys
from pathlib import Path

import numpy as np
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


class Folders(CalibrationDataReader):
    def __init__(self, folders):
        self.left = list(folders)

    def get_next(self):
        if not self.left:
            return None
        return {file.stem: np.load(file) for file in Path(self.left.pop(0)).glob("*.npy")}


def main():
    source, result, *folders = sys.argv[1:]
    prepared = str(Path(result).with_suffix(".prepared"))
    quant_pre_process(source, prepared, skip_symbolic_shape=True)
    quantize_static(prepared, result, Folders(folders), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                    op_types_to_quantize=["Conv", "MatMul", "Gemm", "Add"])
    Path(prepared).unlink()


if __name__ == "__main__":
    main()
