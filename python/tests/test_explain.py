"""What lazy tensors ran, as text, as data and as a page."""

import json

import pytest

import tenon


@pytest.fixture(autouse=True)
def _from_the_beginning():
    tenon.clear_programs()
    tenon.clear_realizations()


def step_names(explanation):
    return [name for program in json.loads(explanation.json())["programs"] for step in program["steps"] for name in step.get("nodes", [])]


def test_a_tensor_is_computed_and_says_how():
    y = (tenon.tensor([1.0, 2.0]) * 3).exp()
    told = y.explain()
    assert "explain() at test_explain.py:" in str(told)
    assert "exp" in told.text()
    assert len(tenon.realizations()) == 1
    assert str(y.explain()) == "nothing ran: all elements are known\n"


def test_operations_have_the_lines_that_recorded_them(tmp_path):
    with tenon.explaining():
        x = tenon.tensor([[1.0, 2.0], [3.0, 4.0]])
        y = (x @ x).relu()  # this line
        y.sum().item()
    told = tenon.explain()
    names = step_names(told)
    line = _line_of("y = (x @ x).relu()  # this line")
    assert f"test_explain.py:{line}" in names, names
    data = json.loads(told.json())
    (run,) = data["realizations"]
    assert run["reason"] == "item()" and run["program"] == 0 and run["compiled"]
    assert run["place"] == f"test_explain.py:{line + 1}"
    assert all(step["bound"]["microseconds"] >= 0 for step in data["programs"][0]["steps"])
    told.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>page</title>" in page and f"test_explain.py:{line}" in page


def _line_of(text):
    with open(__file__, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if line.strip() == text)


def test_outside_of_it_operations_have_no_lines():
    (tenon.tensor([1.0, 2.0]) * 3).exp().sum().item()
    assert step_names(tenon.explain()) == []


def test_a_named_place_is_kept():
    with tenon.explaining(), tenon.place("encoder.0"):
        (tenon.tensor([1.0, 2.0]) * 3).exp().sum().item()
    assert set(step_names(tenon.explain())) == {"encoder.0"}


def test_each_time_that_a_program_ran_has_a_row():
    with tenon.explaining():
        for i in range(3):
            (tenon.tensor([1.0 + i, 2.0]) * 3).exp().sum().item()
    data = json.loads(tenon.explain().json())
    assert [run["program"] for run in data["realizations"]] == [0, 0, 0]
    assert [run["compiled"] for run in data["realizations"]] == [True, False, False]
    assert len(data["programs"]) == 1


def test_a_graph_has_a_page_with_times(tmp_path):
    with tenon.building_graph():
        x = tenon.input("x", "f32[n]")
        graph = tenon.Graph("doubled", [x], {"y": x + x})
    page = tenon.explain(graph).page(tenon.tensor([1.0, 2.0]).numpy(), title="doubled")
    (program,) = json.loads(page.json())["programs"]
    assert program["bindings"] == "n=2"
    with pytest.raises(tenon.Error, match="a page needs the graph"):
        tenon.explain(tenon.compile(graph)).page()


def test_a_page_that_cannot_be_written_says_so(tmp_path):
    with pytest.raises(tenon.Error, match="no/such/folder"):
        tenon.explain().save(tmp_path / "no" / "such" / "folder" / "page.html")


def test_what_a_module_begins_with_is_blamed_on_the_line_that_makes_it():
    tenon.nn.Linear(3, 4)  # here
    assert {run.place for run in tenon.realizations()} <= {f"test_explain.py:{_line_of('tenon.nn.Linear(3, 4)  # here')}"}
