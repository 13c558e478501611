#include "mesh/run/measure_costs.h"

#include <algorithm>
#include <chrono>

#include "mesh/run/pieces.h"
#include "mesh/split/collective.h"
#include "tenon/compile.h"
#include "tenon/ops.h"

namespace tenon::mesh {
namespace {

constexpr int kTimes = 15;
constexpr int64_t kElements = int64_t{2} << 20;
constexpr int64_t kProduct = 512;

/// The median of some calls, in seconds.
template <class Call>
double seconds_of(const Call& call) {
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::nth_element(times, times.begin() + kTimes / 2);
  return times[kTimes / 2];
}

double seconds_of_sum(Communicator& ranks, int64_t elements) {
  const Array from = Array::full(Dtype::f32, {elements}, 1);
  Array into = Array::uninitialized(Dtype::f32, {elements});
  return seconds_of([&] {
    ranks
        .all_reduce(from.data(), into.mutable_data(), static_cast<size_t>(elements), sizeof(float),
                    combine_function(ReduceOp::sum, Dtype::f32))
        ->wait();
  });
}

double work_per_second(int threads) {
  const Value a = input("a", shape(f32, kProduct, kProduct));
  const Value b = input("b", shape(f32, kProduct, kProduct));
  const Executable product = compile(Graph("product", {a, b}, {{.name = "c", .value = matmul(a, b)}}));
  const std::vector<Array> inputs(2, Array::full(Dtype::f32, {kProduct, kProduct}, 1));
  product.run(inputs, {.threads = threads});
  return static_cast<double>(kProduct * kProduct * kProduct) /
         seconds_of([&] { product.run(inputs, {.threads = threads}); });
}

/// The largest of all ranks.
double slowest(Communicator& world, double seconds) {
  double most = 0;
  world
      .all_reduce(reinterpret_cast<const std::byte*>(&seconds), reinterpret_cast<std::byte*>(&most), 1, sizeof(double),
                  combine_function(ReduceOp::max, Dtype::f64))
      ->wait();
  return most;
}

}  // namespace

std::unique_ptr<Communicator> ranks_along(const MeshShape& mesh, size_t axis, Communicator& world) {
  const std::vector<int> coordinates = mesh.coordinates(world.rank());
  int color = 0;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    color = color * mesh.axes[i].size + (i == axis ? 0 : coordinates[i]);
  }
  return world.split(color);
}

MeshCosts measure_costs(const MeshShape& mesh, Communicator& world, int threads) {
  MeshCosts costs;
  for (size_t m = 0; m < mesh.axes.size(); ++m) {
    const MeshAxis& axis = mesh.axes[m];
    if (axis.size == 1) continue;
    const std::unique_ptr<Communicator> ranks = ranks_along(mesh, m, world);
    LinkCosts& link = costs.axes.emplace_back(axis.name, LinkCosts()).second;
    link.latency = slowest(world, seconds_of_sum(*ranks, 2));
    const double bytes = kElements * sizeof(float) * Collective::sent_share(CollectiveKind::all_reduce, axis.size);
    link.bytes_per_second = bytes / slowest(world, seconds_of_sum(*ranks, kElements));
  }
  costs.work_per_second = 1 / slowest(world, 1 / work_per_second(threads));
  return costs;
}

}  // namespace tenon::mesh
