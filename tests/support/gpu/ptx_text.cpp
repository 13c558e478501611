#include "ptx_text.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "fault.h"

namespace tenon::emulated_gpu {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

struct Token {
  std::string text;
  int line = 0;
};

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  for (size_t i = 0; i < text.size() && text[i] != '\0';) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (is_space(c)) {
      ++i;
    } else if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"') {
      const size_t end = std::min(text.find('"', i + 1), text.size() - 1);
      tokens.push_back({std::string(text.substr(i, end + 1 - i)), line});
      i = end + 1;
    } else if (is_of_name(c)) {
      size_t end = i;
      while (end < text.size() && is_of_name(text[end]))
        ++end;
      tokens.push_back({std::string(text.substr(i, end - i)), line});
      i = end;
    } else {
      tokens.push_back({std::string(1, c), line});
      ++i;
    }
  }
  return tokens;
}

std::optional<uint64_t> number_of(const std::string& text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const bool is_float = text.size() > 2 && text[0] == '0' && (text[1] == 'f' || text[1] == 'F');
  const bool is_double = text.size() > 2 && text[0] == '0' && (text[1] == 'd' || text[1] == 'D');
  if (is_float || is_double) return std::strtoull(text.c_str() + 2, nullptr, 16);
  return std::strtoull(text.c_str(), nullptr, 0);
}

uint64_t bytes_of_type(const std::string& type) {
  const size_t digits = type.find_first_of("0123456789");
  return digits == std::string::npos ? 0 : std::strtoull(type.c_str() + digits, nullptr, 10) / 8;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokens_of(text)) {}

  ModuleText parse() {
    ModuleText module;
    if (tokens_.empty() || tokens_[0].text != ".version") fail("PTX begins with .version");
    while (at_ < tokens_.size()) {
      const std::string word = next();
      if (word == ".version" || word == ".address_size") {
        next();
      } else if (word == ".target") {
        module.target = next();
      } else if (word == ".visible" || word == ".extern" || word == ".weak") {
        continue;
      } else if (word == ".entry" || word == ".func") {
        module.functions.push_back(function(word == ".entry"));
      } else if (word == ".shared") {
        module.shared.push_back(variable());
      } else if (word == ".global" || word == ".const") {
        module.globals.push_back(variable());
      } else {
        fail("the directive " + word + " is not known");
      }
    }
    return module;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const int line = tokens_.empty() ? 0 : tokens_[std::min(at_, tokens_.size()) - (at_ == 0 ? 0 : 1)].line;
    throw Fault(kInvalidPtx, "line " + std::to_string(line) + ": " + what);
  }

  const std::string& peek() const {
    static const std::string nothing;
    return at_ < tokens_.size() ? tokens_[at_].text : nothing;
  }
  std::string next() {
    if (at_ >= tokens_.size()) fail("the text ends too early");
    return tokens_[at_++].text;
  }
  bool take(const char* text) {
    if (peek() != text) return false;
    ++at_;
    return true;
  }
  void expect(const char* text) {
    const std::string found = next();
    if (found != text) fail(std::string(text) + " is expected, and not " + found);
  }

  uint64_t number() {
    const bool is_negative = take("-");
    const auto value = number_of(next());
    if (!value) fail("a number is expected");
    return is_negative ? 0 - *value : *value;
  }

  /// `.align 8 .b8 name[16] = {1, 2};` with the semicolon, or a parameter `.param .u64 .ptr .global .align 4 name`.
  Variable variable(bool is_parameter = false) {
    Variable variable;
    uint64_t size = 0;
    while (peek().starts_with(".")) {
      const std::string word = next();
      if (word == ".align") {
        variable.align = number();
      } else if (word != ".param" && word != ".ptr" && word != ".global" && word != ".shared") {
        size = bytes_of_type(word);
      }
    }
    variable.align = is_parameter ? size : std::max(variable.align, size);
    variable.name = next();
    variable.bytes = size;
    if (take("[")) {
      variable.is_open = peek() == "]";
      variable.bytes = variable.is_open ? 0 : size * number();
      expect("]");
    }
    if (take("=")) content(variable, size);
    if (!is_parameter) expect(";");
    return variable;
  }

  void content(Variable& variable, uint64_t size) {
    const auto append = [&](uint64_t value) {
      for (uint64_t i = 0; i < size; ++i)
        variable.content.push_back(static_cast<uint8_t>(value >> (8 * i)));
    };
    if (!take("{")) return append(number());
    while (!take("}")) {
      append(number());
      take(",");
    }
  }

  Function function(bool is_entry) {
    Function function;
    function.is_entry = is_entry;
    if (!is_entry) fail("functions that are no entries are not known");
    function.name = next();
    expect("(");
    while (!take(")")) {
      function.parameters.push_back(variable(true));
      take(",");
    }
    while (peek() != "{") {
      const std::string word = next();
      if (word == ".maxntid") {
        uint64_t threads = number();
        while (take(","))
          threads *= number();
        function.most_threads = static_cast<unsigned>(threads);
      } else if (word == ".minnctapersm") {
        number();
      } else {
        fail("the directive " + word + " is not known");
      }
    }
    next();
    for (int depth = 1; depth != 0;) {  // registers of inner scopes are the function's
      if (take("{")) {
        ++depth;
      } else if (take("}")) {
        --depth;
      } else {
        line_of_body(function);
      }
    }
    return function;
  }

  void line_of_body(Function& function) {
    if (at_ + 1 < tokens_.size() && tokens_[at_ + 1].text == ":") {
      function.labels[next()] = function.statements.size();
      next();
    } else if (take(".reg")) {
      registers(function);
    } else if (take(".local")) {
      function.locals.push_back(variable());
    } else if (take(".shared")) {
      function.shared.push_back(variable());
    } else if (take(".pragma")) {
      next();
      expect(";");
    } else {
      statement(function);
    }
  }

  void registers(Function& function) {
    const std::string type = next().substr(1);
    do {
      function.registers[next()] = type;
      if (take("<")) {
        number();
        expect(">");
      }
    } while (take(","));
    expect(";");
  }

  void statement(Function& function) {
    Statement statement;
    statement.line = tokens_[at_].line;
    if (take("@")) {
      statement.is_guard_negated = take("!");
      statement.guard = next();
    }
    const std::string opcode = next();
    for (size_t begin = 0; begin <= opcode.size();) {
      const size_t end = std::min(opcode.find('.', begin), opcode.size());
      statement.words.push_back(opcode.substr(begin, end - begin));
      begin = end + 1;
    }
    while (take(":"))  // as in `.shared::cta`
      take(":");
    while (!take(";")) {
      statement.operands.push_back(operand());
      take(",");
    }
    function.statements.push_back(std::move(statement));
  }

  Operand operand() {
    Operand operand;
    if (take("!")) {
      operand.is_negated = true;
      operand.name = next();
    } else if (take("[")) {
      operand.kind = Operand::Kind::address;
      if (number_of(peek())) {
        operand.number = number();
      } else {
        operand.name = next();
        if (take("+")) operand.number = number();
        if (peek() == "-") operand.number = number();
      }
      expect("]");
    } else if (peek() == "{" || peek() == "(") {
      const bool is_call = next() == "(";
      operand.kind = Operand::Kind::list;
      while (!take(is_call ? ")" : "}")) {
        operand.parts.push_back(this->operand());
        take(",");
      }
    } else if (peek() == "-" || number_of(peek())) {
      operand.kind = Operand::Kind::number;
      operand.number = number();
    } else {
      operand.name = next();
      if (take("|")) {
        const Operand first = operand;
        operand = {.kind = Operand::Kind::list, .name = "|", .parts = {first, this->operand()}};
      }
    }
    return operand;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace

bool Statement::has(std::string_view word) const { return std::ranges::find(words, word) != words.end(); }

std::string Statement::text() const {
  std::string all;
  for (const std::string& each : words)
    all += (all.empty() ? "" : ".") + each;
  return all;
}

ModuleText parse_ptx(std::string_view text) { return Parser(text).parse(); }

}  // namespace tenon::emulated_gpu
