"""Conditions and loops."""

import numpy as np

from patterns.maker import BOOL, FLOAT, INT32, INT64, pattern


# --- Conditions

def by_size(m, branch_then, branch_else):
    x = m.input("x", ["batch", "length"])
    is_one = m.node("Equal", [m.size(x, 0), m.constant(1, np.int64)])
    branches = []
    for make in (branch_then, branch_else):
        body = m.body([])
        body.output(make(body))
        branches.append(body.graph("branch"))
    return m.node("If", [is_one], then_branch=branches[0], else_branch=branches[1])


@pattern
def squeeze_where_it_is_one(m):
    y = by_size(m, lambda b: b.node("Squeeze", ["x", b.constant([0], np.int64)]), lambda b: b.node("Identity", ["x"]))
    m.output(m.node("Mul", [y, m.constant(2.0, np.float32)]))


@pattern
def branches_of_one_shape(m):
    m.output(by_size(m, lambda b: b.node("Neg", ["x"]), lambda b: b.node("Exp", ["x"])))


@pattern
def branch_by_a_value(m):
    x = m.input("x", ["batch", "length"])
    total = m.node("ReduceSum", [x], keepdims=0)
    positive = m.node("Greater", [total, m.constant(0.0, np.float32)])
    yes, no = m.body([]), m.body([])
    yes.output(yes.node("Neg", [x]))
    no.output(no.node("Exp", [x]))
    m.output(m.node("If", [positive], then_branch=yes.graph(), else_branch=no.graph()))


# --- Loops

def loop_body(m, state_dims, *more):
    return m.body([("i", INT64, []), ("go", BOOL, []), ("state", FLOAT, state_dims), *more])


@pattern
def loop_that_stacks(m):
    x = m.input("x", ["batch", "length"])
    body = loop_body(m, ["batch"])
    column = body.node("Gather", ["x", "i"], axis=1)
    total = body.node("Add", ["state", column])
    body.output(body.node("Identity", ["go"]), total, body.node("Identity", [total]))
    start = m.node("ReduceSum", [x, m.constant([1], np.int64)], keepdims=0)
    m.output(*m.node("Loop", [m.size(x, 1), "", start], 2, body=body.graph()))


@pattern
def loop_of_keras(m):
    x = m.input("x", ["batch", "length"])
    limit = m.node("Cast", [m.size(x, 1)], to=INT32)
    begins = m.node("Less", [m.constant(0.0, np.float32), m.node("Cast", [limit], to=FLOAT)])
    body = loop_body(m, ["batch"], ("counter", INT32, []), ("bound", INT32, []))
    after = body.node("Add", ["counter", body.constant(1, np.int32)])
    total = body.node("Tanh", [body.node("Add", ["state", body.node("Gather", ["x", "counter"], axis=1)])])
    go = body.node("Less", [body.node("Cast", [after], to=FLOAT), body.node("Cast", ["bound"], to=FLOAT)])
    body.output(go, total, after, body.node("Identity", ["bound"]), body.node("Identity", [total]))
    start = m.node("ReduceSum", [x, m.constant([1], np.int64)], keepdims=0)
    results = m.node("Loop", ["", begins, start, m.constant(0, np.int32), limit], 4, body=body.graph())
    m.output(results[0], results[3])


def until_a_value(m, stacks):
    """Halves x until all of it is small; with `stacks`, the largest element after each trip is a result too."""
    x = m.input("x", ["batch", "length"])
    body = loop_body(m, ["batch", "length"])
    less = body.node("Mul", ["state", body.constant(0.5, np.float32)])
    largest = body.node("ReduceMax", [body.node("Abs", [less])], keepdims=0)
    stacked = [body.node("Identity", [largest])] if stacks else []
    body.output(body.node("Greater", [largest, body.constant(0.01, np.float32)]), less, *stacked)
    results = m.node("Loop", [m.constant(100, np.int64), "", x], 2 if stacks else 1, body=body.graph())
    m.output(*(results if stacks else [results]))


@pattern
def loop_until_a_value(m):
    until_a_value(m, stacks=False)


@pattern
def loop_until_a_value_that_stacks(m):
    until_a_value(m, stacks=True)


@pattern
def loop_of_a_computed_number_of_trips(m):
    x = m.input("x", ["batch", "length"])
    trips = m.node("Cast", [m.node("ReduceMax", [m.node("Abs", [m.node("Mul", [x, m.constant(5.0, np.float32)])])],
                                   keepdims=0)], to=INT64)
    body = loop_body(m, ["batch", "length"])
    body.output(body.node("Identity", ["go"]), body.node("Sin", ["state"]))
    m.output(m.node("Loop", [trips, "", x], body=body.graph()))


@pattern
def loop_that_grows(m):
    x = m.input("x", ["batch", "length"])
    body = loop_body(m, ["rows", "length"])
    body.output(body.node("Identity", ["go"]), body.node("Concat", ["state", "x"], axis=0))
    m.output(m.node("Loop", [m.constant(3, np.int64), "", x], body=body.graph()))


@pattern
def loop_of_no_trips(m):
    x = m.input("x", ["batch", "length"])
    body = loop_body(m, ["batch", "length"])
    body.output(body.node("Identity", ["go"]), body.node("Sin", ["state"]))
    m.output(m.node("Loop", [m.constant(0, np.int64), "", x], body=body.graph()))
