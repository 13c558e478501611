#include "interrupt.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <string_view>

namespace tenon::python {
namespace {

std::atomic<CancelToken*> active{nullptr};
std::atomic<bool> interrupted{false};

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

/// A frame that belongs to a library that users call, not to their program.
bool is_library(std::string_view file) {
  static const std::string* const own = new std::string(folder_of("tenon"));
  static std::string* const torch = new std::string;  // may be imported later than this is first asked
  if (torch->empty()) {
    *torch = folder_of("torch");
  }
  return file.starts_with(*own) || (!torch->empty() && file.starts_with(*torch)) || file.starts_with("<");
}

/// The innermost frame of Python that is the user's.
LazySettings settings_of_caller(const CancelToken* token) {
  LazySettings settings{.threads = default_threads(), .cancel = token};
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr) {
    PyCodeObject* const code = PyFrame_GetCode(frame);
    const char* const file = PyUnicode_AsUTF8(code->co_filename);
    if (file != nullptr && !is_library(file)) {
      settings.file = file;
      settings.line = static_cast<uint32_t>(PyFrame_GetLineNumber(frame));
    }
    Py_DECREF(code);
    PyFrameObject* const outer = settings.file.empty() ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(frame);
    frame = outer;
  }
  return settings;
}

}  // namespace

Computing::Computing() : handles_(is_main_thread() && active.load() == nullptr) {
  if (handles_) {
    interrupted.store(false);
    active.store(&token_);
    struct sigaction ours = {};
    ours.sa_handler = on_interrupt;
    sigemptyset(&ours.sa_mask);
    handles_ = sigaction(SIGINT, &ours, &previous_) == 0;
  }
}

Computing::~Computing() {
  if (handles_) {
    sigaction(SIGINT, &previous_, nullptr);
    active.store(nullptr);
    if (interrupted.load() && previous_.sa_handler != SIG_IGN) {
      raise(SIGINT);  // now Python hears of it, too
    }
  }
}

bool take_interrupt() { return interrupted.exchange(false); }

std::string LazyCall::line() {
  const LazySettings settings = settings_of_caller(nullptr);
  return settings.file.empty() ? "" : fmt::format("{}:{}", settings.file, settings.line);
}

LazyCall::LazyCall(const CancelToken* token) : settings_(settings_of_caller(token)) {}

int& default_threads() {
  static int threads = 0;
  return threads;
}

}  // namespace tenon::python
