"""Examples in docstrings run."""

import doctest
import importlib

import pytest

MODULES = ["tenon", "tenon.nn", "tenon._tensors", "tenon._graphs", "tenon._models"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert result.attempted > 0
