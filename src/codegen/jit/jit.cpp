#include "codegen/jit/jit.h"

#include <fmt/format.h>
#include <llvm-c/Core.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "codegen/jit/llvm_compile.h"
#include "codegen/jit/llvm_linker.h"

namespace tenon::codegen {

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool kThreadSanitizer = false;
#endif

// The thread sanitizer does not see how LLVM synchronizes and takes its parallel compiles for races.
std::mutex& one_at_a_time() {
  static std::mutex mutex;
  return mutex;
}

// What this thread has had of a processor: others at work on the machine do not count.
double processor_milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

// Lengths keep neighbours apart: no two lists of fields give one text.
void append_field(std::string& text, std::string_view field) { text += fmt::format("{}:{}", field.size(), field); }

// All that an object depends on beside the request.
std::string identity(const JitOptions& options) {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  LLVMGetVersion(&major, &minor, &patch);  // of the library that runs, not of its headers
  const Target& target = options.target;
  std::string text;
  append_field(text, fmt::format("LLVM {}.{}.{}", major, minor, patch));
  append_field(text, options.emitter);
  append_field(text, target.triple);
  append_field(text, target.cpu);
  append_field(text, target.features);
  append_field(text, std::to_string(target.vector_bits));
  append_field(text, std::to_string(target.sve_bits));
  append_field(text, options.sanitize_address ? "address sanitizer" : "");
  return text;
}

disk::ObjectCacheOptions cache_options(const JitOptions& options) {
  disk::ObjectCacheOptions result = options.cache;
  if (options.emitter.empty()) result.enabled = false;
  return result;
}

}  // namespace

struct Jit::State {
  explicit State(JitOptions given)
      : options(std::move(given)),
        identity_text(identity(options)),
        cache(cache_options(options)),
        linker(options.symbols, options.sanitize_address) {}

  // A function that this call is the first to ask for.
  struct Claim {
    const Request* request;
    size_t index;  // among those of the call
    disk::ContentHash hash;
    std::promise<Function> answer;
  };

  disk::ContentHash hash_of(const Request& request) const {
    std::string text = identity_text;
    append_field(text, request.symbol);
    append_field(text, request.key);
    return disk::content_hash(text);
  }

  std::unique_ptr<ModuleCompiler> take_compiler() {
    {
      const std::lock_guard lock(mutex);
      if (!compilers.empty()) {
        auto compiler = std::move(compilers.back());
        compilers.pop_back();
        return compiler;
      }
    }
    return std::make_unique<ModuleCompiler>(options.target);
  }

  void give_back(std::unique_ptr<ModuleCompiler> compiler) {
    const std::lock_guard lock(mutex);
    compilers.push_back(std::move(compiler));
  }

  std::vector<char> object_of(const Request& request, const disk::ContentHash& hash, const std::string& name) {
    if (auto bytes = cache.load(hash)) {
      const std::lock_guard lock(mutex);
      ++counters.from_disk;
      return *std::move(bytes);
    }
    CompileTimes times;
    auto compiler = take_compiler();
    const auto bytes =
        compiler->compile({.request = request, .name = name, .sanitize_address = options.sanitize_address}, times);
    give_back(std::move(compiler));
    cache.store(hash, {bytes.data(), bytes.size()});
    const std::lock_guard lock(mutex);
    ++counters.emitted;
    ++counters.compiled;
    counters.emit_ms += times.emit_ms;
    counters.optimize_ms += times.optimize_ms;
    counters.codegen_ms += times.codegen_ms;
    return {bytes.begin(), bytes.end()};
  }

  Function make(const Request& request, const disk::ContentHash& hash) {
    const std::string name = fmt::format("{}_{}", request.symbol, disk::to_hex(hash));
    auto object = std::make_shared<const std::vector<char>>(object_of(request, hash, name));
    void* const address = options.links ? link(name, *object) : nullptr;
    return {.symbol = name, .address = address, .object = std::move(object)};
  }

  // The first that asks for a symbol links; others wait for it.
  void* link(const std::string& name, const std::vector<char>& object) {
    std::promise<void*> mine;
    std::shared_future<void*> answer;
    bool is_first = false;
    {
      const std::lock_guard lock(mutex);
      const auto [entry, fresh] = linked.try_emplace(name);
      if (fresh) entry->second = mine.get_future().share();
      answer = entry->second;
      is_first = fresh;
    }
    if (is_first) {
      const auto begin = std::chrono::steady_clock::now();
      try {
        mine.set_value(linker.link(llvm::MemoryBuffer::getMemBufferCopy({object.data(), object.size()}, name), name));
      } catch (...) {
        const std::lock_guard lock(mutex);
        linked.erase(name);
        mine.set_exception(std::current_exception());
      }
      const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
      const std::lock_guard lock(mutex);
      counters.link_ms += time.count();
    }
    return answer.get();
  }

  void fulfil(Claim& claim) {
    std::unique_lock<std::mutex> alone;
    if (kThreadSanitizer) alone = std::unique_lock(one_at_a_time());
    try {
      claim.answer.set_value(make(*claim.request, claim.hash));
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        functions.erase(claim.hash);  // whoever asks next tries again
      }
      claim.answer.set_exception(std::current_exception());
    }
  }

  const JitOptions options;
  const std::string identity_text;
  disk::ObjectCache cache;
  Linker linker;

  mutable std::mutex mutex;  // over what follows
  std::map<disk::ContentHash, std::shared_future<Function>> functions;
  std::map<std::string, std::shared_future<void*>, std::less<>> linked;  // by symbol
  std::vector<std::unique_ptr<ModuleCompiler>> compilers;                // that no thread uses
  JitCounters counters;
};

Jit::Jit(JitOptions options) : state_(std::make_unique<State>(std::move(options))) {}

Jit::~Jit() = default;

std::vector<Jit::Function> Jit::make(std::span<const Request> requests, std::vector<double>* milliseconds) {
  State& state = *state_;
  std::vector<double> taken(requests.size());
  std::vector<disk::ContentHash> hashes;
  for (const Request& request : requests) {
    hashes.push_back(state.hash_of(request));
  }
  std::vector<std::shared_future<Function>> answers;
  std::vector<State::Claim> claims;
  {
    const std::lock_guard lock(state.mutex);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto [entry, fresh] = state.functions.try_emplace(hashes[i]);
      if (fresh) {
        claims.push_back({&requests[i], i, hashes[i], {}});
        entry->second = claims.back().answer.get_future().share();
      } else {
        ++state.counters.from_memory;
      }
      answers.push_back(entry->second);
    }
    state.counters.requests += static_cast<int64_t>(requests.size());
  }

  // Long texts first: the last thread to end should not have begun the longest work last.
  std::ranges::stable_sort(claims, std::greater<>(),
                           [](const State::Claim& claim) { return claim.request->key.size(); });
  // All claims of this call are settled before it waits for another's, so two calls never wait for each other.
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < claims.size(); i = next++) {
      const double begin = processor_milliseconds();
      state.fulfil(claims[i]);
      taken[claims[i].index] = processor_milliseconds() - begin;
    }
  };
  const auto threads = static_cast<std::size_t>(std::max(state.options.threads, 1));
  {
    std::vector<std::jthread> helpers;
    bool more = true;
    while (more && helpers.size() + 1 < std::min(threads, claims.size())) {
      try {
        helpers.emplace_back(work);
      } catch (const std::system_error&) {
        more = false;  // no threads to be had: this one does the rest
      }
    }
    work();
  }

  for (const auto& answer : answers) {
    answer.wait();
  }
  if (milliseconds) *milliseconds = std::move(taken);
  std::vector<Function> functions;
  for (const auto& answer : answers) {
    functions.push_back(answer.get());
  }
  return functions;
}

std::vector<void*> Jit::compile(std::span<const Request> requests, std::vector<double>* milliseconds) {
  std::vector<void*> addresses;
  for (const Function& function : make(requests, milliseconds)) {
    addresses.push_back(function.address);
  }
  return addresses;
}

void* Jit::link(const std::string& symbol, const std::vector<char>& object) { return state_->link(symbol, object); }

void* Jit::find(const std::string& symbol) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->linked.find(symbol);
  const bool is_done =
      found != state_->linked.end() && found->second.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  return is_done ? found->second.get() : nullptr;
}

const Target& Jit::target() const { return state_->options.target; }

JitCounters Jit::counters() const {
  const std::lock_guard lock(state_->mutex);
  return state_->counters;
}

const disk::ObjectCache& Jit::cache() const { return state_->cache; }

}  // namespace tenon::codegen
