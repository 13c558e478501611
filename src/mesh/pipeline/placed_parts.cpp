#include "mesh/pipeline/placed_parts.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/fail.h"
#include "base/hash.h"
#include "mesh/run/same_on_all.h"

namespace tenon::mesh {

PlacedParts::PlacedParts(const Graph& whole, std::vector<PlacedPart> parts, Communicator& world, const Engine& engine)
    : whole_(whole), parts_(std::move(parts)), world_(world) {
  uint64_t hash = whole.hash();
  std::map<std::string, int> made;  // the rank of each tensor
  for (size_t i = 0; i < parts_.size(); ++i) {
    const PlacedPart& part = parts_[i];
    TENON_CHECK(part.rank >= 0 && part.rank < world.size(), "part {} on rank {}", i + 1, part.rank);
    hash = combine_hash(combine_hash(hash, part.graph.hash()), static_cast<uint64_t>(part.rank));
    for (const Value& input : part.graph.inputs()) {
      const std::string name(input.name());
      const auto found = made.find(name);
      const bool is_given = std::ranges::find(whole.inputs(), name, &Value::name) != whole.inputs().end();
      if (found == made.end() && !is_given) fail("part {} needs `{}`, which no part before it gives", i + 1, name);
      if (found == made.end() || found->second == part.rank) continue;
      const auto same = [&](const Message& each) { return each.name == name && each.to == part.rank; };
      if (std::ranges::any_of(messages_, same)) continue;
      messages_.push_back({.name = name, .shape = input.shape(), .from = found->second, .to = part.rank});
    }
    for (const Output& output : part.graph.outputs()) {
      made.emplace(output.name, part.rank);
    }
  }
  if (std::ssize(messages_) > kMostTags) fail("ranks exchange {} tensors, which are too many", messages_.size());
  require_same_on_all(world, hash, "another program");
  std::vector<Output> rest;
  for (const Output& output : whole.outputs()) {
    const auto found = made.find(output.name);
    giver_.push_back(found == made.end() ? -1 : found->second);
    if (giver_.back() < 0) rest.push_back({.name = output.name, .value = output.value});
  }
  if (!rest.empty()) rest_ = engine(Graph(whole.name(), whole.inputs(), std::move(rest)));
  for (const PlacedPart& part : parts_) {
    runs_.push_back(part.rank == world.rank() ? engine(part.graph) : SegmentRun());
  }
}

std::vector<Array> PlacedParts::run(const std::vector<Array>& inputs, const Bindings& bindings) {
  std::map<std::string, Array> arrays;
  for (size_t i = 0; i < inputs.size(); ++i) {
    arrays.emplace(std::string(whole_.inputs()[i].name()), inputs[i]);
  }
  std::map<std::string, std::unique_ptr<Request>> coming;
  for (size_t i = 0; i < messages_.size(); ++i) {
    const Message& each = messages_[i];
    if (each.to != world_.rank()) continue;
    std::vector<int64_t> dims;
    for (const Axis& axis : each.shape.axes()) {
      dims.push_back(evaluate(axis.extent(), bindings));
    }
    Array array = Array::uninitialized(each.shape.dtype(), dims);
    coming.emplace(each.name, world_.receive(array.mutable_data(), array.byte_count(), each.from, static_cast<int>(i)));
    arrays.insert_or_assign(each.name, std::move(array));
  }
  seconds_.assign(parts_.size(), 0);
  sent_bytes_ = 0;
  std::vector<std::unique_ptr<Request>> going;
  for (size_t p = 0; p < parts_.size(); ++p) {
    if (!runs_[p]) continue;
    const Graph& graph = parts_[p].graph;
    std::vector<Array> operands;
    for (const Value& input : graph.inputs()) {
      const std::string name(input.name());
      if (const auto found = coming.find(name); found != coming.end()) {
        found->second->wait();
        coming.erase(found);
      }
      operands.push_back(arrays.at(name));
    }
    const auto begin = std::chrono::steady_clock::now();
    std::vector<Array> results = runs_[p](operands, bindings, {});
    seconds_[p] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (size_t i = 0; i < results.size(); ++i) {
      const std::string& name = graph.outputs()[i].name;
      for (size_t m = 0; m < messages_.size(); ++m) {
        if (messages_[m].name != name || messages_[m].from != world_.rank()) continue;
        going.push_back(world_.send(results[i].data(), results[i].byte_count(), messages_[m].to, static_cast<int>(m)));
        sent_bytes_ += static_cast<double>(results[i].byte_count());
      }
      arrays.insert_or_assign(name, std::move(results[i]));
    }
  }
  for (const auto& each : going) {
    each->wait();
  }
  std::vector<Array> rest = rest_ ? rest_(inputs, bindings, {}) : std::vector<Array>();
  std::vector<Array> outputs;
  size_t next = 0;
  for (size_t i = 0; i < giver_.size(); ++i) {
    if (giver_[i] < 0) {
      outputs.push_back(std::move(rest[next++]));
    } else {
      outputs.push_back(giver_[i] == world_.rank() ? arrays.at(whole_.outputs()[i].name) : Array());
    }
  }
  return outputs;
}

std::vector<Array> PlacedParts::collect(std::vector<Array> outputs, const Bindings& bindings) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (giver_[i] < 0) continue;
    const Shape& shape = whole_.outputs()[i].value.shape();
    std::vector<int64_t> dims;
    for (const Axis& axis : shape.axes()) {
      dims.push_back(evaluate(axis.extent(), bindings));
    }
    Array all = Array::uninitialized(shape.dtype(), dims);
    std::vector<size_t> bytes(static_cast<size_t>(world_.size()), 0);
    bytes[static_cast<size_t>(giver_[i])] = all.byte_count();
    world_.all_gather(outputs[i].data(), bytes, all.mutable_data())->wait();
    outputs[i] = std::move(all);
  }
  return outputs;
}

}  // namespace tenon::mesh
