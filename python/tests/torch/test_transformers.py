"""Some architectures of transformers by the three doors; transformers_matrix.py tries all of them."""

import pytest
import torch

pytest.importorskip("transformers", reason="the PyPI package transformers is not installed")

import transformers_matrix as matrix


@pytest.mark.parametrize("door", ["export", "compile", "device"])
@pytest.mark.parametrize("name", ["distilbert", "llama", "albert"])
def test_outputs_are_those_of_pytorch(name, door):
    worst, compiles, missing = matrix.infer(name, door)
    assert worst < 1e-4 and not missing
    assert compiles <= matrix.MOST_COMPILES


@pytest.mark.parametrize("name", ["gpt2"])
def test_steps_are_those_of_pytorch(name):
    worst, _, missing = matrix.train(name)
    assert worst < 1e-3 and not missing


def test_every_architecture_is_built_with_inputs_of_its_own():
    name = "resnet"
    with torch.no_grad():
        assert matrix.build(name)(*matrix.arguments(name, 2, 5)).shape[0] == 2
    assert set(matrix.TRAINED) <= set(matrix.ARCHITECTURES) and len(matrix.ARCHITECTURES) >= 40
