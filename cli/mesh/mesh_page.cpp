#include "cli/mesh/mesh_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/print/json.h"
#include "cli/print/page.h"
#include "cli/print/units.h"
#include "mesh/split/estimate.h"

namespace tenon::cli {
namespace {

constexpr int kMostCells = 16;  // of the drawing, each way

/// Rows whose text has what is typed stay.
constexpr std::string_view kScript = R"js(
const filter = document.getElementById("filter");
filter.addEventListener("input", () => {
  const wanted = filter.value.toLowerCase();
  for (const row of document.querySelectorAll("#tensors tbody tr")) row.hidden = !row.textContent.toLowerCase().includes(wanted);
});
)js";

std::string bytes_of(double bytes) { return bytes_text(static_cast<int64_t>(bytes)); }
std::string time_of(double seconds) { return time_text(seconds * 1e6); }

/// The ranks in rows of the last axis, the axes before it one behind the other downwards.
std::string drawing(const mesh::MeshShape& mesh) {
  const int columns = mesh.axes.empty() ? 1 : mesh.axes.back().size;
  const int rows = mesh.rank_count() / columns;
  const int across = std::min(columns, kMostCells), down = std::min(rows, kMostCells);
  constexpr int width = 64, height = 34, left = 130, top = 30;
  std::string svg = fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" style=\"max-width:{}px\">",
                                left + across * width + 40, top + down * height + 30, left + across * width + 40);
  if (!mesh.axes.empty()) {
    svg += fmt::format("<text x=\"{}\" y=\"18\">{} = {}</text>", left, html_text(mesh.axes.back().name), columns);
  }
  for (int row = 0; row < down; ++row) {
    std::string place;
    const std::vector<int> coordinates = mesh.coordinates(row * columns);
    for (size_t m = 0; m + 1 < mesh.axes.size(); ++m) {
      place += fmt::format("{}{} {}", place.empty() ? "" : ", ", mesh.axes[m].name, coordinates[m]);
    }
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", left - 8, top + row * height + 20,
                       html_text(place));
    for (int column = 0; column < across; ++column) {
      svg += fmt::format(
          "<rect class=\"weight\" x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" rx=\"4\" "
          "style=\"fill-opacity:.25\"/>"
          "<text class=\"rank\" x=\"{4}\" y=\"{5}\" text-anchor=\"middle\">rank {6}</text>",
          left + column * width, top + row * height, width - 6, height - 6, left + column * width + (width - 6) / 2,
          top + row * height + 19, row * columns + column);
    }
  }
  if (across < columns || down < rows) {
    svg += fmt::format("<text x=\"{}\" y=\"{}\">the first of {} ranks</text>", left, top + down * height + 18,
                       mesh.rank_count());
  }
  return svg + "</svg>";
}

std::string time_card(const mesh::RankEstimate& rank, const mesh::ShardOptions& options) {
  const double total = std::max(rank.compute_seconds + rank.send_seconds, 1e-12);
  std::string rows = fmt::format("<tr><td>computes</td><td></td><td></td><td>{}</td></tr>",
                                 html_bar(rank.compute_seconds / total, time_of(rank.compute_seconds)));
  for (const auto& [axis, traffic] : rank.along) {
    const mesh::LinkCosts& link = options.costs.along(axis);
    const double seconds = traffic.collectives * link.latency + traffic.bytes / link.bytes_per_second;
    rows += fmt::format("<tr><td>sends over {}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
                        html_text(axis), traffic.collectives, bytes_of(traffic.bytes),
                        html_bar(seconds / total, time_of(seconds)));
  }
  return fmt::format(
      "<section><h2>A run of a rank, as estimated: {}</h2><table><thead><tr><th></th><th class=\"n\">exchanges</th>"
      "<th class=\"n\">bytes</th><th>time</th></tr></thead><tbody>{}</tbody></table>"
      "<p>It keeps {} of inputs and weights, and {} between nodes at most, as if nothing were fused.</p></section>",
      time_of(rank.compute_seconds + rank.send_seconds), rows, bytes_of(rank.input_bytes), bytes_of(rank.most_bytes));
}

std::string others_card(const std::vector<MeshRow>& others) {
  if (others.empty()) return "";
  const auto seconds = [](const MeshRow& row) { return row.estimate.compute_seconds + row.estimate.send_seconds; };
  double most = 1e-12;
  for (const MeshRow& each : others) {
    most = std::max(most, seconds(each));
  }
  std::string rows;
  for (const MeshRow& each : others) {
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
        html_text(each.mesh), html_bar(seconds(each) / most, time_of(seconds(each))),
        time_of(each.estimate.compute_seconds), time_of(each.estimate.send_seconds),
        bytes_of(each.estimate.input_bytes));
  }
  return fmt::format(
      "<section><h2>Meshes of as many ranks</h2><table><thead><tr><th>mesh</th><th>time</th><th "
      "class=\"n\">computes</th>"
      "<th class=\"n\">sends</th><th class=\"n\">keeps</th></tr></thead><tbody>{}</tbody></table></section>",
      rows);
}

std::string exchanges(const mesh::ShardedGraph& graph, const mesh::ShardOptions& options) {
  const mesh::Estimate estimate(graph.whole, options);
  std::vector<double> times;
  for (const mesh::Collective& each : graph.collectives) {
    const mesh::MeshAxis& axis = graph.mesh.axes[each.mesh_axis];
    const mesh::LinkCosts& link = options.costs.along(axis.name);
    times.push_back(link.latency + estimate.value(each.bytes) * mesh::Collective::sent_share(each.kind, axis.size) /
                                       link.bytes_per_second);
  }
  const double most = times.empty() ? 1 : *std::ranges::max_element(times);
  std::string rows;
  for (size_t i = 0; i < graph.collectives.size(); ++i) {
    const mesh::Collective& each = graph.collectives[i];
    const mesh::MeshAxis& axis = graph.mesh.axes[each.mesh_axis];
    const double whole = estimate.value(each.bytes);
    rows += fmt::format(
        "<tr><td class=\"n\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td>"
        "<td>{}</td><td>{}</td></tr>",
        i + 1, mesh::name(each.kind), html_text(axis.name), bytes_of(whole),
        bytes_of(whole * mesh::Collective::sent_share(each.kind, axis.size)),
        html_bar(times[i] / most, time_of(times[i])), html_text(each.of), html_text(each.reason));
  }
  return fmt::format(
      "<section><h2>{} exchange{}</h2><table><thead><tr><th class=\"n\"></th><th>kind</th><th>over</th>"
      "<th class=\"n\">bytes</th><th class=\"n\">a rank sends</th><th>estimated</th><th>of</th><th>because</th></tr>"
      "</thead><tbody>{}</tbody></table></section>",
      times.size(), times.size() == 1 ? "" : "s", rows);
}

std::string tensors(const mesh::ShardedGraph& graph, const mesh::ShardOptions& options) {
  const mesh::Estimate estimate(graph.whole, options);
  std::string rows;
  for (const mesh::ShardedValue& value : graph.values) {
    double ranks = 1;
    for (size_t m = 0; m < value.layout.size(); ++m) {
      if (value.layout[m].is_split()) ranks *= graph.mesh.axes[m].size;
    }
    const double bytes = estimate.elements(value.shape) * static_cast<double>(byte_size(value.shape.dtype()));
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
                        html_text(label_of(value)), html_text(value.shape.to_string()),
                        html_text(mesh::describe(value.layout, value.shape, graph.mesh)), bytes_of(bytes / ranks),
                        html_text(value.reason));
  }
  return fmt::format(
      "<section id=\"tensors\"><h2>{} tensors <input id=\"filter\" placeholder=\"names, layouts, reasons\"></h2>"
      "<table><thead><tr><th>tensor</th><th>whole</th><th>lies</th><th class=\"n\">a rank has</th>"
      "<th>whole although an operand is in parts</th></tr></thead><tbody>{}</tbody></table></section>",
      graph.values.size(), rows);
}

}  // namespace

std::string label_of(const mesh::ShardedValue& value) {
  if (value.operation == "input") return value.name;
  return value.name.empty() ? value.operation : fmt::format("{} {}", value.operation, value.name);
}

std::string mesh_page(const MeshPage& page) {
  const std::string title = fmt::format("{} on the mesh {}", page.graph.whole.name(), page.graph.mesh.to_string());
  const std::string sizes = page.options.typical.to_string();
  const std::string along = page.sharding.to_string();
  const std::string body = fmt::format(
      "<h1>{}</h1><p class=\"lead\">{}{}</p><div class=\"cards\"><section><h2>Ranks</h2>{}</section>{}{}</div>{}{}",
      html_text(title), sizes.empty() ? "" : html_text(fmt::format("at {}; ", sizes)),
      along.empty() ? "every rank computes all" : html_text(fmt::format("--shard '{}'", along)),
      drawing(page.graph.mesh), time_card(estimate_rank(page.graph, page.options), page.options),
      others_card(page.others), exchanges(page.graph, page.options), tensors(page.graph, page.options));
  return html_page(title, body, Json::object(), kScript);
}

}  // namespace tenon::cli
