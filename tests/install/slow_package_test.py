"""`cmake --install`, then a project of its own that uses the package: find_package(Tenon), build, run. Also what the
installed command wrote: its manual page and completions."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ["TENON_COMMAND"]).resolve()
BUILD = COMMAND.parent

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(Tenon REQUIRED)
foreach(name {names})
  add_executable(${{name}} ${{name}}.cpp)
  target_link_libraries(${{name}} PRIVATE tenon::tenon)
endforeach()
"""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, **options).stdout


def cached(name):
    for line in (BUILD / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.partition("=")[2]
    return ""


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)

    def test_the_project_of_the_guide_builds_and_runs(self):
        if cached("TENON_ONNX") != "ON":
            self.skipTest("the guide saves an ONNX file")
        page = (ROOT / "docs/cpp.md").read_text()
        project = self.folder / "guide"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(re.search(r"^```cmake\n(.*?)^```$", page, re.MULTILINE | re.DOTALL).group(1))
        shutil.copy(ROOT / "examples/cpp_guide.cpp", project / "main.cpp")
        shutil.copy(ROOT / "examples/require.h", project / "require.h")
        self.build(project)
        self.assertIn("8 rows", run(project / "build/my_program"))

    def build(self, project, language="CXX"):
        sanitizers = cached("TENON_SANITIZE")
        flags = f"-fsanitize={sanitizers}" if sanitizers else ""
        try:
            run("cmake", "-S", project, "-B", project / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                f"-DCMAKE_{language}_COMPILER={cached(f'CMAKE_{language}_COMPILER')}",
                f"-DCMAKE_{language}_FLAGS={flags}")
            run("cmake", "--build", project / "build")
        except subprocess.CalledProcessError as error:
            self.fail(error.stdout + error.stderr)

    def test_a_fresh_project_builds_and_runs(self):
        names = ["quickstart"] + (["load_and_run"] if cached("TENON_ONNX") == "ON" else [])
        project = self.folder / "project"
        project.mkdir()
        for name in names:
            shutil.copy(ROOT / "examples" / f"{name}.cpp", project)
        (project / "CMakeLists.txt").write_text(PROJECT.format(names=" ".join(names)))
        self.build(project)
        for name in names:
            self.assertNotEqual(run(project / "build" / name), "")

    def test_the_command_is_there_with_its_pages(self):
        self.assertEqual(run(self.prefix / "bin/tenon", "man"), run(COMMAND, "man"))
        self.assertEqual((self.prefix / "share/man/man1/tenon.1").read_text(), run(COMMAND, "man"))
        for path, shell in [("bash-completion/completions/tenon", "bash"), ("zsh/site-functions/_tenon", "zsh"),
                            ("fish/vendor_completions.d/tenon.fish", "fish")]:
            self.assertEqual((self.prefix / "share" / path).read_text(), run(COMMAND, "completion", shell))

    def c_example(self, name):
        project = self.folder / name
        project.mkdir()
        shutil.copy(ROOT / "examples/c/run_program.c", project)
        graph = project / "half.graph"
        graph.write_text("graph half(x: f32[batch, 5]) {\n  return y=mul(x, 0.5)\n}\n")
        run(self.prefix / "bin/tenon", "build", graph, "-o", project / "half.tenon")
        return project

    def runs(self, program, project):
        printed = run(program, project / "half.tenon")
        self.assertEqual(printed.splitlines(), ["half.graph: f32[batch, 5] to f32[batch, 5]"]
                         + [f"batch {n} gives {5 * n} numbers, the first is 0.25" for n in (1, 2, 4)])

    def test_the_project_of_the_page_for_c_builds_and_runs(self):
        page = (ROOT / "docs/c.md").read_text()
        text = re.search(r"^```cmake\n(.*?)^```$", page, re.MULTILINE | re.DOTALL).group(1)
        for kind in ("run", "run_static"):
            project = self.c_example("c_" + kind)
            (project / "CMakeLists.txt").write_text(text.replace("tenon::run", f"tenon::{kind}"))
            self.build(project, "C")
            program = project / "build/run_program"
            self.runs(program, project)
            needed = run("readelf", "-d", program)
            self.assertEqual("libtenon_run.so.1" in needed, kind == "run")

    def test_pkg_config_knows_the_libraries(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("there is no pkg-config")
        folder = next(self.prefix.glob("lib*/**/pkgconfig"))
        for name in ["tenon_run"] + (["tenon"] if cached("TENON_ONNX") == "ON" else []):
            flags = run("pkg-config", "--cflags", "--libs", name, env={**os.environ, "PKG_CONFIG_PATH": str(folder)})
            project = self.c_example("pkg_config_" + name)
            program = project / "run_program"
            sanitizers = cached("TENON_SANITIZE")
            run(cached("CMAKE_C_COMPILER") or "cc", "-o", program, project / "run_program.c", *flags.split(),
                *([f"-fsanitize={sanitizers}"] if sanitizers else []), f"-Wl,-rpath,{folder.parent}")
            self.runs(program, project)

    def test_what_runs_programs_may_be_installed_alone(self):
        prefix = self.folder / "run_alone"
        run("cmake", "--install", BUILD, "--prefix", prefix, "--component", "run")
        files = sorted(path.name for path in prefix.rglob("*") if path.is_file() and not path.is_symlink())
        self.assertEqual([re.sub(r"\d+\.\d+\.\d+", "VERSION", name) for name in files],
                         ["TenonRunConfig.cmake", "TenonRunConfigVersion.cmake", "c.h", "libtenon_run.a",
                          "libtenon_run.so.VERSION", "tenon_run.pc"])

    def test_nothing_points_back_to_the_sources(self):
        for path in [*self.prefix.rglob("*.cmake"), *self.prefix.rglob("*.pc")]:
            text = path.read_text()
            self.assertNotIn(str(ROOT), text, path)
            self.assertNotIn(str(BUILD), text, path)


if __name__ == "__main__":
    unittest.main()
