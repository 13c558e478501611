#include "schedule/nest/share_in_place.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace tenon::schedule {
namespace {

/// Where a statement stands: its number in the phase's block, in that statement's block, and so on.
using Path = std::vector<size_t>;

struct Use {
  Path path;
  std::vector<int> around;                  // axes of the loops around it, outermost first
  const loops::Affine* at = nullptr;        // of loads and stores; null: data decide
  const loops::Product* as_tile = nullptr;  // that writes it
};

struct Uses {
  std::vector<Use> loads, stores, products;
  int phase = -1;
  bool masked = false;  // some elements are not stored
  bool several_phases = false;
};

class Finder {
 public:
  explicit Finder(const loops::Kernel& kernel) : all(kernel.buffers.size()), kernel_(kernel) {}

  void visit(const loops::Block& block) {
    for (size_t i = 0; i < block.size(); ++i) {
      path_.push_back(i);
      visit(block[i]);
      path_.pop_back();
    }
  }

  std::vector<Uses> all;  // by buffer
  int phase = 0;

 private:
  Uses& of(int buffer) {
    Uses& uses = all[static_cast<size_t>(buffer)];
    uses.several_phases |= uses.phase >= 0 && uses.phase != phase;
    uses.phase = phase;
    return uses;
  }

  void visit(const loops::Statement& statement) {
    if (const auto* define = std::get_if<loops::Define>(&statement.what)) {
      if (const auto* load = std::get_if<loops::Load>(&kernel_.values[static_cast<size_t>(define->value)].what)) {
        const loops::Affine* const at = load->lookups.empty() ? &load->at : nullptr;
        of(load->buffer).loads.push_back({.path = path_, .around = around_, .at = at});
      }
    } else if (const auto* store = std::get_if<loops::Store>(&statement.what)) {
      Uses& uses = of(store->buffer);
      uses.stores.push_back({.path = path_, .around = around_, .at = &store->at});
      uses.masked |= !store->inside.empty();
    } else if (const auto* product = std::get_if<loops::Product>(&statement.what)) {
      for (const int buffer : {product->left.buffer, product->right.buffer, product->work}) {
        of(buffer).products.push_back({.path = path_, .around = around_});
      }
      of(product->tile.buffer).products.push_back({.path = path_, .around = around_, .as_tile = product});
    } else if (const auto* loop = std::get_if<loops::Loop>(&statement.what)) {
      around_.push_back(loop->axis);
      visit(loop->body);
      around_.pop_back();
    }
  }

  const loops::Kernel& kernel_;
  Path path_;
  std::vector<int> around_;
};

bool is_inside(const Path& path, std::span<const size_t> block) {
  return path.size() > block.size() && std::ranges::equal(block, std::span(path).first(block.size()));
}

/// Whether loops, outermost first, run over neighbours in memory, each element once.
bool runs_over_all(const loops::Kernel& kernel, const loops::Affine& at, std::span<const int> axes) {
  Extent expected = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const auto term = std::ranges::find(at.terms, axes[i], &loops::Term::axis);
    if (term == at.terms.end() || term->scale != expected) return false;
    expected = expected * kernel.axes[static_cast<size_t>(axes[i])].extent;
  }
  return at.terms.size() == axes.size() && at.base == Extent(0);
}

/// Whether what is stored to `to` may take the place of what a product left in `from`.
bool may_share(const loops::Kernel& kernel, const Uses& from, const Uses& to) {
  if (from.several_phases || to.several_phases || from.phase != to.phase || to.masked) return false;
  if (!from.stores.empty() || from.loads.empty() || from.products.size() != 1 || to.stores.size() != 1) return false;
  const Use& written = from.products[0];
  if (!written.as_tile || written.as_tile->adds_after >= 0) return false;
  // All happens in the block of the product: one statement reads `from` and stores, and what is stored is read later.
  const Use& store = to.stores[0];
  const std::span<const size_t> block = std::span(written.path).first(written.path.size() - 1);
  if (!is_inside(store.path, block) || store.path.size() < block.size() + 2) return false;
  const size_t loop = store.path[block.size()];
  if (loop <= written.path.back()) return false;
  if (!runs_over_all(kernel, *store.at, std::span(store.around).subspan(written.around.size()))) return false;
  for (const Use& load : from.loads) {
    const bool before = is_inside(load.path, block) && load.path[block.size()] == loop && load.path < store.path;
    if (!before || !load.at || *load.at != *store.at) return false;
  }
  const std::span<const size_t> innermost = std::span(store.path).first(store.path.size() - 1);
  for (const std::vector<Use>* uses : {&to.loads, &to.products}) {
    for (const Use& use : *uses) {
      if (use.as_tile || !is_inside(use.path, block) || use.path < store.path || is_inside(use.path, innermost)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::vector<int> find_in_place(const loops::Kernel& kernel) {
  Finder finder(kernel);
  for (const loops::Phase& phase : kernel.phases) {
    finder.visit(phase.body);
    ++finder.phase;
  }
  std::vector<int> place(kernel.buffers.size());
  std::iota(place.begin(), place.end(), 0);
  std::vector<bool> taken(kernel.buffers.size());
  for (size_t from = 0; from < kernel.buffers.size(); ++from) {
    for (size_t to = 0; to < kernel.buffers.size(); ++to) {
      const loops::Buffer& a = kernel.buffers[from];
      const loops::Buffer& b = kernel.buffers[to];
      const bool alike = from != to && is_private_scratch(a) && is_private_scratch(b) && a.dtype == b.dtype &&
                         a.elements == b.elements;
      if (!alike || taken[from] || taken[to] || !may_share(kernel, finder.all[from], finder.all[to])) continue;
      taken[from] = taken[to] = true;
      place[to] = static_cast<int>(from);
    }
  }
  return place;
}

}  // namespace tenon::schedule
