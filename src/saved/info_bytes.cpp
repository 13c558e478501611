#include "saved/info_bytes.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/fail.h"

namespace tenon::saved {

/// Texts alone, which their own parsers check.
struct InfoTexts {
  struct Input {
    std::string name, shape;
    std::vector<std::string> gives, limits;
  };
  struct Output {
    std::string name, shape;
    int aliases = -1;
  };
  struct Relation {
    std::string text, needed_by, place;
  };
  struct Entry {
    std::string key, value;
  };
  struct Target {
    std::string machine, code;
  };

  std::string name, usual;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<std::string> axes;
  std::vector<Relation> constraints;
  std::vector<Entry> metadata;
  std::vector<Target> machines;
};

namespace {

template <class To>
auto mapped(const auto& list, const To& to) {
  std::vector<decltype(to(*list.begin()))> result;
  std::ranges::transform(list, std::back_inserter(result), to);
  return result;
}

}  // namespace

static void fields(auto& archive, InfoTexts::Input& x) { archive(x.name, x.shape, x.gives, x.limits); }
static void fields(auto& archive, InfoTexts::Output& x) { archive(x.name, x.shape, x.aliases); }
static void fields(auto& archive, InfoTexts::Relation& x) { archive(x.text, x.needed_by, x.place); }
static void fields(auto& archive, InfoTexts::Entry& x) { archive(x.key, x.value); }
static void fields(auto& archive, InfoTexts::Target& x) { archive(x.machine, x.code); }
static void fields(auto& archive, InfoTexts& x) {
  archive(x.name, x.usual, x.inputs, x.outputs, x.axes, x.constraints, x.metadata, x.machines);
}

std::vector<std::byte> to_bytes(const ProgramFileInfo& info) {
  const auto text_of = [](const auto& x) { return x.to_string(); };
  InfoTexts texts{
      .name = info.name,
      .usual = info.usual.to_string(),
      .inputs = mapped(info.inputs,
                       [&](const ProgramFileInput& x) {
                         return InfoTexts::Input{x.name, x.shape.to_string(), x.gives, mapped(x.limits, text_of)};
                       }),
      .outputs =
          mapped(info.outputs,
                 [](const ProgramFileOutput& x) { return InfoTexts::Output{x.name, x.shape.to_string(), x.aliases}; }),
      .axes = info.axes,
      .constraints =
          mapped(info.constraints,
                 [](const Constraint& x) { return InfoTexts::Relation{x.to_string(), x.needed_by, x.place}; }),
      .metadata = mapped(info.metadata, [](const auto& x) { return InfoTexts::Entry{x.first, x.second}; }),
      .machines = mapped(info.machines,
                         [](const ProgramFileMachine& x) { return InfoTexts::Target{to_text(x.machine), x.code}; })};
  bytes::Writer writer;
  writer(texts);
  return writer.take();
}

ProgramFileInfo info_from_bytes(std::span<const std::byte> bytes) {
  bytes::Reader reader(bytes);
  InfoTexts texts;
  reader(texts);
  reader.end();
  ProgramFileInfo info;
  info.name = texts.name;
  info.usual = Bindings::parse(texts.usual);
  info.inputs = mapped(texts.inputs, [](const InfoTexts::Input& x) {
    return ProgramFileInput{x.name, Shape::parse(x.shape), x.gives,
                            mapped(x.limits, [](const std::string& text) { return Extent::parse(text); })};
  });
  info.outputs = mapped(texts.outputs, [](const InfoTexts::Output& x) {
    return ProgramFileOutput{x.name, Shape::parse(x.shape), x.aliases};
  });
  for (const ProgramFileOutput& output : info.outputs) {
    if (output.aliases < -1 || output.aliases >= std::ssize(info.inputs)) {
      fail("output `{}` takes over input {}, of {}", output.name, output.aliases, info.inputs.size());
    }
  }
  info.axes = texts.axes;
  info.constraints = mapped(texts.constraints, [](const InfoTexts::Relation& x) {
    Constraint constraint = parse_constraint(x.text);
    constraint.needed_by = x.needed_by;
    constraint.place = x.place;
    return constraint;
  });
  for (InfoTexts::Entry& entry : texts.metadata) {
    info.metadata.emplace(std::move(entry.key), std::move(entry.value));
  }
  info.machines = mapped(texts.machines, [](const InfoTexts::Target& x) {
    return ProgramFileMachine{.machine = parse_machine(x.machine), .code = x.code};
  });
  return info;
}

}  // namespace tenon::saved
