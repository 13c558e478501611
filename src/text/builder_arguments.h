// The arguments of a catalog builder, read from text.
#pragma once

#include <vector>

#include "ops/catalog/catalog.h"
#include "text/arguments.h"
#include "text/expression.h"
#include "text/field_parse.h"

namespace tenon::text {

class BuilderArguments : public ArgumentReader {
 public:
  /// Tells which argument belongs to which parameter; fails when one belongs to none. Arguments are read when asked
  /// for.
  BuilderArguments(const CatalogEntry& entry, Arguments& arguments, ExpressionParser& expressions);

  bool given(size_t parameter) const override { return !parts_[parameter].empty(); }
  void read(size_t parameter, Value& to) override;
  void read(size_t parameter, std::vector<Value>& to) override;
  void read(size_t parameter, Operand& to) override;
  void read(size_t parameter, int64_t& to) override { read_plain(parameter, to); }
  void read(size_t parameter, double& to) override { read_plain(parameter, to); }
  void read(size_t parameter, bool& to) override { read_plain(parameter, to); }
  void read(size_t parameter, std::string& to) override { read_plain(parameter, to); }
  void read(size_t parameter, Dtype& to) override { read_plain(parameter, to); }
  void read(size_t parameter, Extent& to) override { read_plain(parameter, to); }
  void read(size_t parameter, Shape& to) override { read_plain(parameter, to); }
  void read(size_t parameter, std::vector<int64_t>& to) override { read_plain(parameter, to); }
  void read(size_t parameter, std::vector<Extent>& to) override { read_plain(parameter, to); }
  void read(size_t parameter, std::vector<Axis>& to) override { read_plain(parameter, to); }

 private:
  template <class T>
  void read_plain(size_t parameter, T& to) {
    parse_whole(parts_[parameter].front(), expressions_.graphs(), to);
  }

  ExpressionParser& expressions_;
  std::vector<std::vector<Cursor>> parts_;  // of each parameter; several for a list of operands without brackets
};

}  // namespace tenon::text
