#include "decode.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace tenon::emulated_gpu {

bool Decoding::take(std::string_view word) {
  for (size_t i = 1; i < taken_.size(); ++i) {
    if (!taken_[i] && statement_.words[i] == word) {
      taken_[i] = true;
      return true;
    }
  }
  return false;
}

bool Decoding::take_one(std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view each) { return take(each); });
}

std::string Decoding::type(size_t before) {
  if (before + 2 > taken_.size()) return {};
  const size_t at = taken_.size() - 1 - before;
  taken_[at] = true;
  return statement_.words[at];
}

std::string Decoding::left() const {
  for (size_t i = 1; i < taken_.size(); ++i) {
    if (!taken_[i]) return statement_.words[i];
  }
  return {};
}

namespace {

using Symbols = std::map<std::string, uint64_t>;

const std::map<std::string, int> kSpecial = {
    {"%tid.x", kThreadX},   {"%tid.y", kThreadY},     {"%tid.z", kThreadZ},    {"%ntid.x", kThreadsX},
    {"%ntid.y", kThreadsY}, {"%ntid.z", kThreadsZ},   {"%ctaid.x", kBlockX},   {"%ctaid.y", kBlockY},
    {"%ctaid.z", kBlockZ},  {"%nctaid.x", kBlocksX},  {"%nctaid.y", kBlocksY}, {"%nctaid.z", kBlocksZ},
    {"%laneid", kLane},     {"%warpid", kWarpNumber},
};

class FunctionDecoder {
 public:
  FunctionDecoder(const Function& function, const Symbols& symbols, Code& code)
      : function_(function), symbols_(symbols), code_(code) {
    code_.name = function.name;
    code_.registers = kSpecialRows;
    code_.most_threads = function.most_threads;
  }

  void decode() {
    uint64_t offset = 0;
    for (const Variable& each : function_.parameters) {
      offset = (offset + each.align - 1) / each.align * each.align;
      symbols_[each.name] = offset;
      code_.parameters.emplace_back(offset, each.bytes);
      offset += each.bytes;
    }
    code_.parameter_bytes = offset;
    for (const Variable& each : function_.locals) {
      code_.local_bytes = (code_.local_bytes + each.align - 1) / each.align * each.align;
      symbols_[each.name] = code_.local_bytes;
      code_.local_bytes += each.bytes;
    }
    code_.local_bytes = (code_.local_bytes + 15) / 16 * 16;
    for (const Statement& each : function_.statements)
      code_.steps.push_back(step(each));
    code_.steps.push_back({.kind = Step::Kind::leave});
  }

 private:
  [[noreturn]] void fail(const Statement& statement, const std::string& why) const {
    throw Fault(kInvalidPtx, "`" + function_.name + "`, line " + std::to_string(statement.line) + ": `" +
                                 statement.text() + "`: " + why);
  }

  Step step(const Statement& statement) {
    Step step;
    step.line = statement.line;
    if (!statement.guard.empty()) {
      step.has_guard = true;
      step.is_guard_negated = statement.is_guard_negated;
      step.guard = row(statement, statement.guard, false);
    }
    Decoding d(statement, step);
    const std::string& name = d.name();
    if (name == "bra") {
      d.take("uni");
      const auto found = function_.labels.find(statement.operands.at(0).name);
      if (found == function_.labels.end()) fail(statement, "there is no such label");
      step.kind = Step::Kind::branch;
      step.target = found->second;
    } else if (name == "ret" || name == "exit") {
      d.take("uni");
      step.kind = Step::Kind::leave;
    } else {
      operands(statement, step);
      const bool is_known = decode_move(d) || decode_memory(d) || decode_warp(d) || decode_compare(d) ||
                            decode_convert(d) || decode_number(d);
      if (!is_known) fail(statement, "the instruction is not known");
    }
    if (!d.left().empty()) fail(statement, "`" + d.left() + "` is not known");
    return step;
  }

  static bool decode_number(Decoding& d) {
    const std::string& last = d.statement().words.back();
    const bool is_float = last.starts_with("f") || last.starts_with("bf");
    return is_float ? decode_float(d) : decode_integer(d);
  }

  /// The first operand is what is written, but of instructions that write memory or nothing.
  void operands(const Statement& statement, Step& step) {
    const std::string& name = statement.words.front();
    static const std::set<std::string> kWriteNothing = {"st", "red", "bar", "barrier", "membar", "fence", "prefetch"};
    size_t to = 0;
    size_t from = 0;
    bool is_first = !kWriteNothing.contains(name);
    for (const Operand& each : statement.operands) {
      if (is_first) {
        is_first = false;
        for (const Operand& part : each.kind == Operand::Kind::list ? each.parts : std::vector{each})
          step.to.at(to++) = part.name == "_" ? -1 : row(statement, part.name, true);
        continue;
      }
      if (each.kind == Operand::Kind::address) {
        address(statement, each, step);
        ++from;
        continue;
      }
      for (const Operand& part : each.kind == Operand::Kind::list ? each.parts : std::vector{each})
        step.from.at(from++) = source(statement, part);
    }
  }

  void address(const Statement& statement, const Operand& operand, Step& step) {
    step.offset = static_cast<int64_t>(operand.number);
    if (operand.name.starts_with("%")) {
      step.from[0] = row(statement, operand.name, false);
      return;
    }
    step.from[0] = constant(0);
    if (!operand.name.empty()) step.offset += static_cast<int64_t>(symbol(statement, operand.name));
  }

  uint64_t symbol(const Statement& statement, const std::string& name) const {
    const auto found = symbols_.find(name);
    if (found == symbols_.end()) fail(statement, "`" + name + "` is not known");
    return found->second;
  }

  int source(const Statement& statement, const Operand& operand) {
    if (operand.is_negated) fail(statement, "a negated operand is not known");
    if (operand.kind == Operand::Kind::number) return constant(operand.number);
    if (operand.name.starts_with("%")) return row(statement, operand.name, false);
    return constant(symbol(statement, operand.name));
  }

  int constant(Word value) {
    const auto [entry, is_new] = constants_.try_emplace(value, -1 - static_cast<int>(code_.constants.size()));
    if (is_new) code_.constants.emplace_back().fill(value);
    return entry->second;
  }

  int row(const Statement& statement, const std::string& name, bool is_written) {
    if (const auto special = kSpecial.find(name); special != kSpecial.end() && !is_written) return special->second;
    const auto digits = name.find_first_of("0123456789");
    if (!function_.registers.contains(name.substr(0, digits)) && !function_.registers.contains(name)) {
      fail(statement, "the register `" + name + "` is not known");
    }
    const auto [entry, is_new] = rows_.try_emplace(name, code_.registers);
    if (is_new) ++code_.registers;
    return entry->second;
  }

  const Function& function_;
  Symbols symbols_;
  Code& code_;
  std::map<std::string, int> rows_;
  std::map<Word, int> constants_;
};

}  // namespace

std::vector<std::shared_ptr<Code>> decode(const ModuleText& module, DeviceMemory& memory) {
  Symbols globals;
  for (const Variable& each : module.globals) {
    const uint64_t address = memory.allocate(std::max<uint64_t>(each.bytes, 1));
    if (address == 0) throw Fault(kOutOfMemory, "no memory for `" + each.name + "`");
    std::memset(reinterpret_cast<void*>(address), 0, each.bytes);  // NOLINT(performance-no-int-to-ptr)
    std::copy(each.content.begin(), each.content.end(), reinterpret_cast<uint8_t*>(address));  // NOLINT
    globals[each.name] = address;
  }
  std::vector<std::shared_ptr<Code>> all;
  for (const Function& function : module.functions) {
    auto code = std::make_shared<Code>();
    Symbols symbols = globals;
    std::vector<Variable> shared = module.shared;
    shared.insert(shared.end(), function.shared.begin(), function.shared.end());
    // What a launch asks for lies behind all else.
    std::ranges::stable_partition(shared, [](const Variable& each) { return !each.is_open; });
    for (const Variable& each : shared) {
      code->shared_bytes = (code->shared_bytes + each.align - 1) / each.align * each.align;
      symbols[each.name] = code->shared_bytes;
      code->shared_bytes += each.bytes;
    }
    FunctionDecoder(function, symbols, *code).decode();
    all.push_back(std::move(code));
  }
  return all;
}

}  // namespace tenon::emulated_gpu
