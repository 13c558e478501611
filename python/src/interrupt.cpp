#include "interrupt.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/hash.h"

namespace tenon::python {
namespace {

std::atomic<CancelToken*> active{nullptr};
std::atomic<bool> interrupted{false};
thread_local int computations = 0;  // on this thread, one inside of another

void on_interrupt(int) {
  interrupted.store(true);
  if (CancelToken* const token = active.load()) {
    token->cancel();
  }
}

bool is_main_thread() {
  static const nb::object* const main =
      new nb::object(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  return nb::cast<unsigned long>(*main) == PyThread_get_thread_ident();
}

/// The folder of a package that has been imported, with a slash behind it; or nothing.
std::string folder_of(const char* package) {
  const nb::dict modules = nb::module_::import_("sys").attr("modules");
  if (!modules.contains(package)) {
    return "";
  }
  const nb::object file = nb::getattr(nb::object(modules[package]), "__file__", nb::none());
  if (file.is_none()) {
    return "";
  }
  const std::string init = nb::cast<std::string>(file);
  return init.substr(0, init.find_last_of('/') + 1);
}

/// A frame of this package's.
bool is_own(std::string_view file) {
  static const std::string* const own = new std::string(folder_of("tenon"));
  return file.starts_with(*own);
}

/// A frame that belongs to a library that users call, not to their program.
bool is_library(std::string_view file) {
  static std::string* const torch = new std::string;  // may be imported later than this is first asked
  if (torch->empty()) {
    *torch = folder_of("torch");
  }
  return is_own(file) || (!torch->empty() && file.starts_with(*torch)) || file.starts_with("<");
}

// What the stable ABI has no function or member for is asked by attributes. All give new references, or null.
#ifdef Py_LIMITED_API
PyObject* attribute(void* object, const char* name) {
  PyObject* const result = PyObject_GetAttrString(static_cast<PyObject*>(object), name);
  if (result == nullptr) PyErr_Clear();
  return result;
}
PyFrameObject* innermost_frame() {
  PyFrameObject* const frame = PyEval_GetFrame();
  Py_XINCREF(reinterpret_cast<PyObject*>(frame));
  return frame;
}
PyFrameObject* outer_frame(PyFrameObject* frame) {
  PyObject* const outer = attribute(frame, "f_back");
  if (outer == nullptr || Py_IsNone(outer) == 0) return reinterpret_cast<PyFrameObject*>(outer);
  Py_DECREF(outer);
  return nullptr;
}
PyObject* file_of(PyCodeObject* code) { return attribute(code, "co_filename"); }
uint64_t place_in_file(PyFrameObject* frame, PyCodeObject* /*code*/) {
  return static_cast<uint64_t>(PyFrame_GetLineNumber(frame));
}
#else
PyFrameObject* innermost_frame() { return PyThreadState_GetFrame(PyThreadState_Get()); }
PyFrameObject* outer_frame(PyFrameObject* frame) { return PyFrame_GetBack(frame); }
PyObject* file_of(PyCodeObject* code) {
  Py_INCREF(code->co_filename);
  return code->co_filename;
}
/// Where it runs, by instructions: to find their line takes longer.
uint64_t place_in_file(PyFrameObject* frame, PyCodeObject* code) {
  return (static_cast<uint64_t>(code->co_firstlineno) << 32U) + static_cast<uint64_t>(PyFrame_GetLasti(frame));
}
#endif

void release(void* object) { Py_XDECREF(static_cast<PyObject*>(object)); }

/// The file and the line of the innermost frame of Python that is none of those skipped; no file where there is none.
template <class Skips>
std::pair<std::string, uint32_t> innermost_line(const Skips& is_skipped) {
  std::pair<std::string, uint32_t> found;
  PyFrameObject* frame = innermost_frame();
  while (frame != nullptr) {
    PyCodeObject* const code = PyFrame_GetCode(frame);
    PyObject* const name = file_of(code);
    const char* const file = name == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(name, nullptr);
    if (file != nullptr && !is_skipped(file)) {
      found = {file, static_cast<uint32_t>(PyFrame_GetLineNumber(frame))};
    }
    release(name);
    release(code);
    PyFrameObject* const outer = found.first.empty() ? outer_frame(frame) : nullptr;
    release(frame);
    frame = outer;
  }
  return found;
}

/// What is known of a file of Python that frames are of.
struct KnownFile {
  uint64_t hash = 0;
  bool is_library = false;
};

/// By the file's name, an object that is kept: code of one file shares it.
KnownFile known_file(PyObject* name) {
  constexpr size_t kMostFiles = 4096;
  static auto* const files = new std::unordered_map<PyObject*, KnownFile>;
  if (files->size() >= kMostFiles) {  // code that is made while a program runs has a file of its own each time
    for (const auto& [kept, file] : *files) {
      Py_DECREF(kept);
    }
    files->clear();
  }
  const auto [at, is_new] = files->try_emplace(name);
  if (is_new) {
    Py_INCREF(name);
    const char* const file = PyUnicode_AsUTF8AndSize(name, nullptr);
    at->second = {.hash = hash_bytes(file == nullptr ? "" : file), .is_library = file == nullptr || is_library(file)};
  }
  return at->second;
}

LazySettings settings_of_caller(const CancelToken* token) {
  LazySettings settings{.threads = default_threads(), .cancel = token};
  std::tie(settings.file, settings.line) = innermost_line(is_library);
  return settings;
}

}  // namespace

Computing::Computing() : handles_(is_main_thread() && active.load() == nullptr) {
  ++computations;
  if (handles_) {
    interrupted.store(false);
    struct sigaction ours = {};
    ours.sa_handler = on_interrupt;
    sigemptyset(&ours.sa_mask);
    handles_ = sigaction(SIGINT, &ours, &previous_) == 0;
  }
  if (handles_ && previous_.sa_handler == SIG_IGN) {
    // A process that ignores interrupts, such as one in the background of a script, goes on ignoring them.
    sigaction(SIGINT, &previous_, nullptr);
    handles_ = false;
  }
  if (handles_) {
    active.store(&token_);
  }
}

Computing::~Computing() {
  --computations;
  if (handles_) {
    sigaction(SIGINT, &previous_, nullptr);
    active.store(nullptr);
    if (interrupted.load()) {
      raise(SIGINT);  // now Python hears of it, too
    }
  }
}

bool holds_interpreter() { return computations == 0 && PyGILState_GetThisThreadState() != nullptr; }

bool take_interrupt() { return interrupted.exchange(false); }

std::string LazyCall::line() {
  const LazySettings settings = settings_of_caller(nullptr);
  return settings.file.empty() ? "" : fmt::format("{}:{}", settings.file, settings.line);
}

std::pair<std::string, uint32_t> LazyCall::place() {
  if (!holds_interpreter()) {
    return {};
  }
  LazySettings settings = settings_of_caller(nullptr);
  return {std::move(settings.file), settings.line};
}

uint64_t LazyCall::place_key() {
  uint64_t key = 0;
  PyFrameObject* frame = holds_interpreter() ? innermost_frame() : nullptr;
  while (frame != nullptr) {
    PyCodeObject* const code = PyFrame_GetCode(frame);
    PyObject* const name = file_of(code);
    const KnownFile file = name == nullptr ? KnownFile{.is_library = true} : known_file(name);
    if (!file.is_library) {
      key = combine_hash(file.hash, place_in_file(frame, code));
    }
    release(name);
    release(code);
    PyFrameObject* const outer = file.is_library ? outer_frame(frame) : nullptr;
    release(frame);
    frame = outer;
  }
  return key;
}

std::pair<std::string, uint32_t> LazyCall::calling_place() { return innermost_line(is_own); }

LazyCall::LazyCall(const CancelToken* token) : settings_(settings_of_caller(token)) {}

int& default_threads() {
  static int threads = 0;
  return threads;
}

}  // namespace tenon::python
