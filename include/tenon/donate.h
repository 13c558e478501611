// State that runs hand on: an output takes over the memory of the input that it updates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/graph.h"

namespace tenon {

/// The memory of `input` becomes that of `output`: a cache of a decoder, the state of a recurrent model.
struct Donation {
  std::string input;
  std::string output;

  friend bool operator==(const Donation&, const Donation&) = default;
};

/// `past=present`; an Error for anything else.
Donation parse_donation(std::string_view text);

/// The same function, in which each of these outputs takes over the memory of its input. A run that is given the
/// input's memory (Executable::run(std::vector<Array>&&), or run_into() with the same memory for both) writes what
/// changed there; other runs copy first. Results are the same either way.
///
/// Output and input have the same shape, or the output is the input with something behind it along one axis
/// (`present = concat(past, new)`, the cache of exported decoders). Then both become an array with room: the axis gets
/// the size `capacity` (a new name), of which the first `past` places are read and those behind them written. The
/// names of `past` are bound by other inputs, or given with RunOptions::bindings; that all fits is checked. Scatters
/// may write into what the concat gives. Where it makes room for them alone (`concat(past, zeros)`), its zeros are
/// those that the array has behind `past`: the caller's first array must have them, where a scatter leaves a place out.
/// Errors: a name that the graph does not have or that is given twice; any other output, in words that say what it is.
Graph donate(const Graph& graph, const std::vector<Donation>& pairs);

/// Pairs that donate() can take, by the names that exporters give them (`past_key_values.0.key` and `present.0.key`,
/// `past_0` and `present_0`, `state` and `new_state` or `state_out`), and those that the graph declares already.
std::vector<Donation> find_donations(const Graph& graph);

/// What donate() made of a graph, for people: a line for each output that takes over an input's memory.
std::vector<std::string> describe_donations(const Graph& graph);

}  // namespace tenon
