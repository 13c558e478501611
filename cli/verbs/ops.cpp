// `tenon ops`: what graph text knows.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "cli/print/json.h"
#include "cli/verb.h"
#include "ops/catalog/catalog.h"
#include "ops/scalar/scalar_table.h"

namespace tenon::cli {
namespace {

std::string call(const ScalarFn& fn) {
  constexpr const char* operands[] = {"", "x", "x, y", "x, y, z"};
  return fmt::format("{}({})", fn.name, operands[fn.arity]);
}

std::string call(const CatalogEntry& entry) {
  std::string parameters;
  for (const auto& parameter : entry.parameters) {
    parameters += fmt::format("{}{}{}{}", parameters.empty() ? "" : ", ", parameter.name,
                              parameter.default_text.empty() ? "" : "=", parameter.default_text);
  }
  return fmt::format("{}({})", entry.name, parameters);
}

void print_json() {
  Json functions = Json::array();
  for (const ScalarFn* fn : scalar_table()) {
    functions.push(Json::object().set("name", fn->name).set("call", call(*fn)).set("doc", fn->doc));
  }
  Json builders = Json::array();
  for (const CatalogEntry& entry : catalog()) {
    builders.push(Json::object().set("name", entry.name).set("call", call(entry)).set("doc", entry.doc));
  }
  Json::object().set("elementwise", functions).set("builders", builders).print();
}

int run_ops(const Arguments& arguments) {
  if (arguments.has("--json")) {
    print_json();
    return 0;
  }
  fmt::print("Elementwise functions, with NumPy broadcasting:\n\n");
  for (const ScalarFn* fn : scalar_table()) {
    fmt::print("  {:<28}{}\n", call(*fn), fn->doc);
  }
  fmt::print("\nBuilders:\n\n");
  for (const CatalogEntry& entry : catalog()) {
    fmt::print("  {}\n      {}\n", call(entry), entry.doc);
  }
  return 0;
}

}  // namespace

const Verb kOpsVerb{.name = "ops",
                    .words = "",
                    .doc = "list every elementwise function and builder with what it does",
                    .about = "These are the operations of .graph files and, by the same names, of the C++ API.",
                    .run = run_ops};

}  // namespace tenon::cli
