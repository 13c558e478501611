// PTX as text, taken apart: functions, variables and instructions by their names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::emulated_gpu {

struct Operand {
  enum class Kind {
    name,     // a register, a symbol, a label
    number,   // its bits
    address,  // [name + number], [number]
    list,     // {a, b}, (a, b), a|b
  };
  Kind kind = Kind::name;
  std::string name;
  uint64_t number = 0;
  bool is_negated = false;  // !%p
  std::vector<Operand> parts;
};

/// One instruction as it stands: `@!%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+8];`
struct Statement {
  int line = 0;
  std::string guard;  // a predicate's name; empty: none
  bool is_guard_negated = false;
  std::vector<std::string> words;  // "ld", "global", "v2", "f32"
  std::vector<Operand> operands;

  bool has(std::string_view word) const;
  std::string text() const;  // of the words
};

struct Variable {
  std::string name;
  uint64_t align = 1;
  uint64_t bytes = 0;
  bool is_open = false;          // extern .shared without a size
  std::vector<uint8_t> content;  // of a global; what it lacks is zero
};

struct Function {
  std::string name;
  bool is_entry = false;
  std::vector<Variable> parameters;
  std::vector<Variable> locals;
  std::vector<Variable> shared;
  std::map<std::string, std::string> registers;  // prefix ("%rd") or name to type ("b64")
  std::vector<Statement> statements;
  std::map<std::string, size_t> labels;  // the statement behind each
  unsigned most_threads = 1024;
};

struct ModuleText {
  std::string target;
  std::vector<Variable> shared;
  std::vector<Variable> globals;
  std::vector<Function> functions;
};

/// Throws Fault: it is no PTX, or a directive is not known.
ModuleText parse_ptx(std::string_view text);

}  // namespace tenon::emulated_gpu
