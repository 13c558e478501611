#include "codegen/jit/llvm_linker.h"

#include <dlfcn.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/MapperJITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/MemoryMapper.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Object/ObjectFile.h>

#include <mutex>
#include <set>

#include "base/fail.h"

namespace tenon::codegen {

namespace orc = llvm::orc;

namespace {

// Kernels share reservations of this size, each on pages of its own.
constexpr std::size_t kReservation = std::size_t{4} << 20;

template <class T>
T checked(llvm::Expected<T> value) {
  if (!value) check_failed("LLVM's linker", __FILE__, __LINE__, llvm::toString(value.takeError()));
  return std::move(*value);
}

std::vector<std::string> undefined_symbols(const llvm::MemoryBuffer& object) {
  const auto file = checked(llvm::object::ObjectFile::createObjectFile(object.getMemBufferRef()));
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef& symbol : file->symbols()) {
    if ((checked(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined) == 0) continue;
    std::string name = checked(symbol.getName()).str();
    // ELF files begin with an unnamed symbol; the linker makes the table itself.
    if (!name.empty() && name != "_GLOBAL_OFFSET_TABLE_") names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

struct Linker::State {
  explicit State(bool sees_sanitizer)
      : sanitizer(sees_sanitizer),
        session(checked(orc::SelfExecutorProcessControl::Create())),
        layer(session,
              checked(orc::MapperJITLinkMemoryManager::CreateWithMapper<orc::InProcessMemoryMapper>(kReservation))),
        library(session.createBareJITDylib("kernels")) {
    session.setErrorReporter([this](llvm::Error error) {
      const std::lock_guard lock(mutex);
      reported += llvm::toString(std::move(error)) + "\n";
    });
  }

  ~State() { llvm::consumeError(session.endSession()); }

  void define(const std::string& name, const void* address) {
    const orc::ExecutorSymbolDef definition(orc::ExecutorAddr::fromPtr(address),
                                            llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable);
    llvm::Error error = library.define(orc::absoluteSymbols({{session.intern(name), definition}}));
    TENON_CHECK(!error, "symbol `{}`: {}", name, llvm::toString(std::move(error)));
    known.insert(name);
  }

  void require(const std::string& name, const std::string& user) {
    const std::lock_guard lock(mutex);
    if (known.contains(name)) return;
    if (sanitizer && name.starts_with("__asan_")) {
      if (const void* const address = ::dlsym(RTLD_DEFAULT, name.c_str())) {
        define(name, address);
        return;
      }
    }
    check_failed("every symbol is defined", __FILE__, __LINE__,
                 fmt::format("`{}` needs `{}`, which is not among the symbols that kernels may call", user, name));
  }

  const bool sanitizer;
  std::mutex mutex;             // over the next two
  std::set<std::string> known;  // what kernels may call
  std::string reported;         // what went wrong where no caller was at hand
  orc::ExecutionSession session;
  orc::ObjectLinkingLayer layer;
  orc::JITDylib& library;
};

Linker::Linker(const std::vector<ExternalSymbol>& symbols, bool sanitizer)
    : state_(std::make_unique<State>(sanitizer)) {
  for (const ExternalSymbol& symbol : symbols) {
    state_->define(std::string(symbol.name), symbol.address);
  }
}

Linker::~Linker() = default;

void* Linker::link(std::unique_ptr<llvm::MemoryBuffer> object, const std::string& name) {
  State& state = *state_;
  for (const std::string& needed : undefined_symbols(*object)) {
    state.require(needed, name);
  }
  const orc::ResourceTrackerSP tracker = state.library.createResourceTracker();
  llvm::Error error = state.layer.add(tracker, std::move(object));
  if (!error) {
    llvm::Expected<orc::ExecutorSymbolDef> symbol = state.session.lookup({&state.library}, name);
    if (symbol) return symbol->getAddress().toPtr<void*>();
    error = symbol.takeError();
    llvm::consumeError(tracker->remove());
  }
  const std::lock_guard lock(state.mutex);
  check_failed("LLVM's linker", __FILE__, __LINE__,
               fmt::format("`{}`: {}\n{}", name, llvm::toString(std::move(error)), state.reported));
}

}  // namespace tenon::codegen
