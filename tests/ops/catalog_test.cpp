// The catalog of builders holds together.
#include "ops/catalog/catalog.h"

#include <gtest/gtest.h>

#include <sstream>

#include "ir/kinds.h"
#include "ops/scalar/scalar_table.h"
#include "tenon/error.h"
#include "tenon/ops.h"

namespace tenon::catalog_test {
namespace {

/// Gives something of the right type for every parameter without a default.
class Anything : public ArgumentReader {
 public:
  explicit Anything(const CatalogEntry& entry) : entry_(entry) {}

  bool given(size_t parameter) const override { return entry_.parameters[parameter].default_text.empty(); }
  void read(size_t, Value& to) override { to = x_; }
  void read(size_t, std::vector<Value>& to) override { to = {x_, x_}; }
  void read(size_t, Operand& to) override { to = x_; }
  void read(size_t, int64_t& to) override { to = 1; }
  void read(size_t, double& to) override { to = 1; }
  void read(size_t, bool& to) override { to = true; }
  void read(size_t, std::string& to) override { to = "text"; }
  void read(size_t, Dtype& to) override { to = i32; }
  void read(size_t, Extent& to) override { to = 1; }
  void read(size_t, Shape& to) override { to = x_.shape(); }
  void read(size_t, std::vector<int64_t>& to) override { to = {0, 1}; }
  void read(size_t, std::vector<Extent>& to) override { to = {0, 1}; }
  void read(size_t, std::vector<Axis>& to) override { to = {2, 2}; }

 private:
  const CatalogEntry& entry_;
  Value x_ = input("x", shape(i32, 2, 2));
};

/// The operands and fields of the kind of that name, in order; none when there is no such kind.
template <size_t I = 0>
std::vector<std::string> kind_parameters(std::string_view name) {
  if constexpr (I < std::variant_size_v<AnyKind>) {
    using Kind = std::variant_alternative_t<I, AnyKind>;
    if (Kind::info.name != name) {
      return kind_parameters<I + 1>(name);
    }
    std::vector<std::string> names;
    std::istringstream operands{std::string(Kind::info.operands)};
    for (std::string operand; operands >> operand;) {
      names.push_back(operand.substr(0, operand.find('.')));
    }
    Kind kind;
    for_each_field(kind, [&](std::string_view field, auto&) { names.emplace_back(field); });
    return names;
  }
  return {};
}

TEST(Catalog, BuildsFromDefaults) {
  for (const CatalogEntry& entry : catalog()) {
    Anything reader(entry);
    try {
      EXPECT_FALSE(entry.build(entry, reader).empty()) << entry.name;
    } catch (const Error&) {
      continue;  // this anything is not for this builder; that the defaults were read is what counts
    } catch (const InternalError& error) {
      ADD_FAILURE() << entry.name << ": " << error.what();
    }
  }
}

TEST(Catalog, FindsByName) {
  for (const CatalogEntry& entry : catalog()) {
    EXPECT_EQ(find_builder(entry.name), &entry);
    EXPECT_FALSE(entry.doc.empty()) << entry.name;
  }
  EXPECT_EQ(find_builder("no such builder"), nullptr);
}

TEST(Catalog, OneMeaningForAName) {
  for (const CatalogEntry& entry : catalog()) {
    EXPECT_EQ(find_scalar_fn(entry.name), nullptr) << entry.name << " is a row of the scalar table too";
    if (const std::vector<std::string> kind = kind_parameters(entry.name); !kind.empty()) {
      std::vector<std::string> builder;
      for (const BuilderParameter& parameter : entry.parameters) {
        builder.emplace_back(parameter.name);
      }
      EXPECT_EQ(builder, kind) << entry.name;
    }
  }
  for (const ScalarFn* fn : scalar_table()) {
    EXPECT_TRUE(kind_parameters(fn->name).empty()) << fn->name << " is a kind too";
  }
}

TEST(Catalog, DescribesParameters) {
  const CatalogEntry& entry = *find_builder("slice_axis");
  ASSERT_EQ(entry.parameters.size(), 5U);
  EXPECT_EQ(entry.parameters[0].type, ArgumentType::value);
  EXPECT_EQ(entry.parameters[3].name, "end");
  EXPECT_EQ(entry.parameters[3].default_text, "none");
  EXPECT_EQ(name(entry.parameters[3].type), "extent");
  EXPECT_EQ(name(find_builder("reshape")->parameters[1].type), "axes");
}

TEST(Catalog, MissingArgumentIsAnError) {
  class Nothing : public Anything {
   public:
    using Anything::Anything;
    bool given(size_t) const override { return false; }
  };
  const CatalogEntry& entry = *find_builder("flip");
  Nothing reader(entry);
  try {
    entry.build(entry, reader);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "flip needs `x`");
  }
}

}  // namespace
}  // namespace tenon::catalog_test
