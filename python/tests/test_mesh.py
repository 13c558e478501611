"""Programs in parts on several ranks: threads of this process, and processes of mpirun."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import tenon

MODULE = Path(tenon.__file__).parent / "libtenon_mpi.so"
needs_mpi = pytest.mark.skipif(
    shutil.which("mpirun") is None or not MODULE.resolve().exists(), reason="this build has no MPI, or there is no mpirun"
)
RNG = np.random.default_rng(1)
W = RNG.standard_normal((4, 6)).astype(np.float32)
V = RNG.standard_normal((6, 3)).astype(np.float32)
X = RNG.standard_normal((7, 4)).astype(np.float32)
EXPECTED = np.maximum(X @ W, 0) @ V


def network():
    x, w, v = tenon.input("x", "f32[batch, 4]"), tenon.input("w", "f32[4, 6]"), tenon.input("v", "f32[6, 3]")
    return tenon.Graph("net", [x, w, v], {"y": (x @ w).relu() @ v})


def test_ranks_together_give_what_one_process_gives():
    def body(mesh):
        assert mesh.size == 4 and mesh.position("data") == mesh.rank // 2
        program = tenon.compile(network(), mesh=mesh, shard="batch=data,w.1=model,v.0=model", values={"w": W, "v": V})
        assert [name for name, _ in program.inputs] == ["x"]
        assert {each["over"] for each in program.collectives} == {"data", "model"}
        return program.run([X])[0].numpy()

    for result in tenon.run_as_threads("data=2,model=2", body):
        np.testing.assert_allclose(result, EXPECTED, rtol=1e-4, atol=1e-5)


def test_parts_stay_in_parts():
    def body(mesh):
        program = tenon.compile(network(), mesh=mesh, shard="batch=data", whole_outputs=False)
        parts = [program.part(i, whole) for i, whole in enumerate((X, W, V))]
        return program.run_parts(parts, {"batch": 7})[0].numpy()

    np.testing.assert_allclose(np.concatenate(tenon.run_as_threads("data=3", body)), EXPECTED, rtol=1e-4, atol=1e-5)


def test_a_model_from_a_file(tmp_path):
    x = tenon.input("x", "f32[batch, 4]")
    graph = tenon.Graph("net", [x], {"y": (x @ tenon.constant(W)).relu() @ tenon.constant(V)})
    graph.export_onnx(str(tmp_path / "net.onnx"))

    def body(mesh):
        model = tenon.load(tmp_path / "net.onnx", mesh=mesh, shard="batch=data")
        assert model.outputs == ["y"] and "on data=2" in repr(model)
        return model(X)

    for result in tenon.run_as_threads("data=2", body):
        np.testing.assert_allclose(result, EXPECTED, rtol=1e-4, atol=1e-5)


def test_a_program_for_all_ranks(tmp_path):
    file = tmp_path / "net.tenon"
    tenon.save(network(), file, mesh="data=2,model=2", shard="batch=data,w.1=model,v.0=model", values={"w": W, "v": V})
    assert tenon.program_info(file)["metadata"]["mesh"] == "data=2,model=2"

    def body(mesh):
        return tenon.load(file, mesh=mesh)(X)

    for result in tenon.run_as_threads("data=2,model=2", body):
        np.testing.assert_allclose(result, EXPECTED, rtol=1e-4, atol=1e-4)
    with pytest.raises(tenon.Error, match="was built for the mesh data=2,model=2, and this one is data=4"):
        tenon.run_as_threads("data=4", body)
    with pytest.raises(tenon.Error, match="give options to its build"):
        tenon.run_as_threads("data=2,model=2", lambda mesh: tenon.load(file, mesh=mesh, shard="batch=data"))
    with pytest.raises(tenon.Error, match="is a program for the ranks of a mesh"):
        tenon.load(file)
    with pytest.raises(tenon.Error, match="`shard` and `values` are for `mesh`"):
        tenon.save(network(), file, shard="batch=data")


def test_errors():
    with pytest.raises(tenon.Error, match="the mesh data=2 has no axis `model`"):
        tenon.run_as_threads("data=2", lambda mesh: tenon.compile(network(), mesh=mesh, shard="batch=model"))
    with pytest.raises(ZeroDivisionError):
        tenon.run_as_threads("data=2", lambda mesh: 1 // mesh.rank)
    kept = tenon.run_as_threads("data=2", lambda mesh: mesh)[0]
    with pytest.raises(tenon.Error, match="the ranks of the mesh data=2 were threads, and these have ended"):
        tenon.compile(network(), mesh=kept)


def mpirun(ranks, program, folder):
    script = folder / "program.py"
    script.write_text("import numpy as np, sys, tenon\n" + textwrap.dedent(program), encoding="utf-8")
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    return subprocess.run(["mpirun", "-n", str(ranks), sys.executable, script], env=environment, text=True,
                          capture_output=True, timeout=200, check=False)


PROGRAM = """
def network():
    x, w = tenon.input("x", "f32[batch, 4]"), tenon.input("w", "f32[4, 6]")
    return tenon.Graph("net", [x, w], {"y": (x @ w).relu()})
x, w = np.ones((5, 4), np.float32), np.ones((4, 6), np.float32)
"""


@needs_mpi
@pytest.mark.parametrize(("ranks", "axes", "shard"), [(2, "data=2", "batch=data"), (4, "data=2,model=2", "batch=data,w.1=model")])
def test_processes(ranks, axes, shard, tmp_path):
    done = mpirun(ranks, PROGRAM + f"""
mesh = tenon.mesh("{axes}")
program = tenon.compile(network(), mesh=mesh, shard="{shard}", values={{"w": w}})
y = program.run([x])[0].numpy()
assert y.shape == (5, 6) and (y == 4).all()
if mesh.rank == 0:
    print("ranks:", mesh.size)
""", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"ranks: {ranks}\n"


@needs_mpi
def test_ranks_of_a_communicator(tmp_path):
    # What mpi4py's communicators are asked for, without mpi4py: halves of all processes.
    done = mpirun(4, PROGRAM + """
import ctypes
mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
mpi.MPI_Init(None, None)
mpi.MPI_Comm_f2c.restype = ctypes.c_void_p
mpi.MPI_Comm_c2f.argtypes = [ctypes.c_void_p]
mpi.MPI_Comm_split.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
world, half, rank = ctypes.c_void_p(mpi.MPI_Comm_f2c(0)), ctypes.c_void_p(), ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_split(world, rank.value % 2, rank.value, ctypes.byref(half))
class Comm:
    def py2f(self):
        return mpi.MPI_Comm_c2f(half)
mesh = tenon.mesh("data=2", comm=Comm())
assert (mesh.size, mesh.rank) == (2, rank.value // 2)
program = tenon.compile(network(), mesh=mesh, shard="batch=data", values={"w": w * (1 + rank.value % 2)})
y = program.run([x])[0].numpy()
assert y.shape == (5, 6) and (y == 4 * (1 + rank.value % 2)).all()
print("done", flush=True)
mpi.MPI_Finalize()
""", tmp_path)
    if "libmpi.so.40" in done.stderr:
        pytest.skip("another MPI than Open MPI 4")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done") == 4


@needs_mpi
def test_an_error_of_one_process_is_one_of_all(tmp_path):
    done = mpirun(3, PROGRAM + """
mesh = tenon.mesh("data=3")
program = tenon.compile(network(), mesh=mesh, shard="batch=data", values={"w": w})
try:
    program.run([x] if mesh.rank != 1 else [x, x])
except tenon.Error as error:
    print(mesh.rank, error, flush=True)
    mesh.abort(0)
""", tmp_path)
    told = [line for line in done.stdout.splitlines() if "takes 1 inputs" in line]
    assert told, done.stderr
    assert all(line.startswith("1 graph") or "rank 1 of the mesh: graph `net` takes 1 inputs" in line for line in told)


@needs_mpi
def test_a_rank_that_is_stuck_is_noticed(tmp_path):
    done = mpirun(2, PROGRAM + """
import time
mesh = tenon.mesh("data=2")
program = tenon.compile(network(), mesh=mesh, shard="batch=data", values={"w": w})
mesh.set_patience(1)
if mesh.rank == 1:
    time.sleep(100)
try:
    program.run([x])
except tenon.Error as error:
    print(error, flush=True)
    mesh.abort(3)
""", tmp_path)
    assert done.returncode != 0
    assert "rank 0 of the mesh has waited for the others for 1 s" in done.stdout, done.stderr
