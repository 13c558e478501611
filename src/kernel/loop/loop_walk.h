// Walks over a loop kernel.
#pragma once

#include <type_traits>
#include <variant>

#include "kernel/loop/loop.h"

namespace tenon::loops {

/// f(statement) for every statement, in the order of the text: a loop before its body.
template <class F>
void for_each_statement(const Block& block, const F& f) {
  for (const Statement& statement : block) {
    f(statement);
    if (const auto* loop = std::get_if<Loop>(&statement.what)) {
      for_each_statement(loop->body, f);
    }
  }
}

/// f(product) for every product of a kernel.
template <class F>
void for_each_product(const Kernel& kernel, const F& f) {
  for (const Phase& phase : kernel.phases) {
    for_each_statement(phase.body, [&](const Statement& statement) {
      if (const auto* product = std::get_if<Product>(&statement.what)) {
        f(*product);
      }
    });
  }
}

inline bool has_products(const Kernel& kernel) {
  bool found = false;
  for_each_product(kernel, [&](const Product&) { found = true; });
  return found;
}

template <class F>
void for_each_extent(const Affine& affine, const F& f) {
  f(affine.base);
  for (const Term& term : affine.terms) {
    f(term.scale);
  }
}

template <class F>
void for_each_extent(const std::vector<Bound>& bounds, const F& f) {
  for (const Bound& bound : bounds) {
    for_each_extent(bound.index, f);
    f(bound.size);
  }
}

template <class F>
void for_each_extent(const Product& product, const F& f) {
  for (const Matrix* matrix : {&product.left, &product.right, &product.tile}) {
    for_each_extent(matrix->at, f);
    f(matrix->row);
    f(matrix->column);
  }
}

template <class F>
void for_each_extent(const Value& value, const F& f) {
  if (const auto* load = std::get_if<Load>(&value.what)) {
    for_each_extent(load->at, f);
    for_each_extent(load->inside, f);
    for (const Lookup& lookup : load->lookups) {
      f(lookup.stride);
      f(lookup.size);
    }
  } else if (const auto* position = std::get_if<Position>(&value.what)) {
    for_each_extent(position->at, f);
  }
}

/// f(extent) for every extent that the code of the kernel needs: of axes, of the scratch layout, then of statements.
/// The sizes of other buffers are not among them: no code depends on these.
template <class F>
void for_each_extent(const Kernel& kernel, const F& f) {
  for (const Axis& axis : kernel.axes) {
    f(axis.extent);
    if (axis.tile_of >= 0) {
      f(axis.total);
    }
  }
  for (const Buffer& buffer : kernel.buffers) {
    if (buffer.role == Role::scratch) {
      f(buffer.elements);
    }
  }
  for (const Phase& phase : kernel.phases) {
    for_each_statement(phase.body, [&](const Statement& statement) {
      if (const auto* define = std::get_if<Define>(&statement.what)) {
        for_each_extent(kernel.values.at(static_cast<size_t>(define->value)), f);
      } else if (const auto* store = std::get_if<Store>(&statement.what)) {
        for_each_extent(store->at, f);
        for_each_extent(store->inside, f);
      } else if (const auto* product = std::get_if<Product>(&statement.what)) {
        for_each_extent(*product, f);
      } else if (const auto* loop = std::get_if<Loop>(&statement.what); loop != nullptr && loop->digit) {
        for_each_extent(loop->digit->of, f);
        f(loop->digit->apart);
      }
    });
  }
}

}  // namespace tenon::loops
