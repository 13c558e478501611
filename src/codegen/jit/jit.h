// Native code in this process: emitted as LLVM modules, compiled on a few threads, kept in memory and on disk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "disk/object_cache.h"
#include "native/external_symbol.h"
#include "native/target.h"
#include "tenon/machine.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace tenon::codegen {

/// Whether this program was built with the address sanitizer, which then should see our code too.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kAddressSanitizer = false;
#endif

struct JitOptions {
  Target target = host_target();
  std::vector<ExternalSymbol> symbols;  ///< all that kernels see of the process
  disk::ObjectCacheOptions cache;
  /// Names the emitter, its version and its build: other emitters' objects are never taken from disk. Empty: nothing is
  /// kept on disk.
  std::string emitter;
  /// That compile: all cores of the process. Under the thread sanitizer they take turns.
  int threads = static_cast<int>(std::max<int64_t>(this_machine().cpu().cores, 1));
  bool sanitize_address = kAddressSanitizer;
  /// Off: objects are made and not linked, so that the target may be any machine; addresses are null.
  bool links = true;
};

/// How hard LLVM tries.
enum class Effort {
  full,   ///< for what is compiled once and runs most of the time
  quick,  ///< without the passes that find next to nothing in loops of vectors
};

struct JitCounters {
  int64_t requests = 0;
  int64_t emitted = 0;      ///< modules that were emitted
  int64_t compiled = 0;     ///< ... and became objects
  int64_t from_disk = 0;    ///< objects that came from disk instead
  int64_t from_memory = 0;  ///< requests that were answered already, or were under way
  double emit_ms = 0;       ///< times are summed over threads
  double optimize_ms = 0;
  double codegen_ms = 0;
  double link_ms = 0;
};

/// Compiles functions and holds their code as long as it lives. Safe to use from many threads.
class Jit {
 public:
  /// One function to compile. `emit` makes a module that defines the function `symbol`; it is called on any thread, at
  /// most once, and not at all when the code is there. `key` is all that its outcome depends on (its canonical text)
  /// beside the target and the emitter: equal keys and symbols are the same code.
  struct Request {
    std::string key;
    std::string symbol;
    std::function<std::unique_ptr<llvm::Module>(llvm::LLVMContext&)> emit;
    Effort effort = Effort::full;
  };

  explicit Jit(JitOptions options);
  ~Jit();
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  /// A function of a request, and the object file that it was linked from.
  struct Function {
    std::string symbol;  ///< of the function in the object: equal symbols are the same code
    void* address = nullptr;
    std::shared_ptr<const std::vector<char>> object;
  };

  /// The functions of requests, in order. The first error of any of them is thrown when all are done; an external
  /// function that is not among JitOptions::symbols is one, and is named. `milliseconds`, where given, has what each
  /// took of a processor: 0 where the code was there, or was under way.
  std::vector<Function> make(std::span<const Request> requests, std::vector<double>* milliseconds = nullptr);
  /// Their addresses alone.
  std::vector<void*> compile(std::span<const Request> requests, std::vector<double>* milliseconds = nullptr);

  /// The address of a function by its object, which is linked unless this Jit has one of that symbol already. Objects
  /// are trusted: their code runs in this process.
  void* link(const std::string& symbol, const std::vector<char>& object);
  /// The address of a function that was made or linked before; else null.
  void* find(const std::string& symbol) const;

  const Target& target() const;
  JitCounters counters() const;
  const disk::ObjectCache& cache() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The code of one function for any target, as assembly or as an object file; nothing is kept. In the object the
/// function is called `name`, or as in the request where that is empty.
std::string emit_assembly(const Jit::Request& request, const Target& target);
std::vector<char> emit_object(const Jit::Request& request, const Target& target, bool sanitize_address = false,
                              const std::string& name = {});

}  // namespace tenon::codegen
