// Products and convolutions of eight-bit integers that have zero points: sums of i32, which integer kernels compute,
// and corrections beside them.
#pragma once

#include <functional>
#include <optional>

#include "onnx/import/registry.h"

namespace tenon::importer {

/// The integers beside their zero point, in i32; `zero` may be none.
Value offset(const Value& x, const Value& zero);

/// One zero point or scale for each row of a matrix stands beside the last axis but one.
Value beside_rows(const Value& parameter);

/// sum((a - a_zero) * (b - b_zero)) in i32, exactly: of eight bits as a product of the integers themselves, less what
/// the zero points add to it. Zero points are one, or one for each row of a, or for each column of b.
Value integer_product(const NodeCall& call, const Value& a, const Value& a_zero, const Value& b, const Value& b_zero);

/// The same of a convolution with the attributes of the node, whose padding is x's zero point; that of w is one, or one
/// for each output channel.
Value integer_conv(const NodeCall& call, const Value& x, const Value& x_zero, const Value& w, const Value& w_zero);

/// What a float operator computes whose operands are both dequantised (Item::quantised): the integer product times the
/// scales. Nothing for scales that are not one for a and one, or one for each column, for b.
std::optional<Value> dequantised_product(const NodeCall& call, const Item& a, const Item& b, bool swap_b);
std::optional<Value> dequantised_conv(const NodeCall& call, const Item& x, const Item& w);

/// Whether to quantise the item by this scale and zero point gives the integers back that it was dequantised from.
bool is_quantised_by(const NodeCall& call, const Item& item, const Value& scale, const Value& zero);

/// What `f` gives for the item, where it takes some elements as they are, such as the largest ones: f of the integers,
/// dequantised. Nothing for an item that is not integers under one positive scale.
std::optional<Item> of_integers(const NodeCall& call, const Item& item, const std::function<Value(const Value&)>& f);

}  // namespace tenon::importer
