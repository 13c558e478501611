#include "cli/explain/explain_pictures.h"

#include <string>
#include <vector>

#include "cli/explain/explain_steps.h"
#include "cli/explain/picture.h"
#include "cli/models/files.h"
#include "cli/models/load_graph.h"
#include "cli/print/terminal.h"
#include "report/explain_page.h"

namespace tenon::cli {
namespace {

/// The page of the model that `word` names.
std::string page_of(const std::string& word, bool is_training, const compiler::Lowered& lowered,
                    const Executable& executable, const report::Figures& bound) {
  return report::explain_page(
      {.title = title_of(word),
       .lead = (is_training ? "one step of training; " : "") + lead_text(lowered.machine, executable, bound),
       .data = report::page_data(lowered, executable, bound)});
}

}  // namespace

void write_pictures(const Arguments& arguments, const compiler::Lowered& lowered, const Executable& executable,
                    const report::Figures& bound) {
  const auto svg = arguments.find("--svg");
  const auto page = arguments.find("--html");
  const auto dot = arguments.find("--dot");
  if (svg || dot) {
    const auto pipelines = bound.steps.empty() ? std::vector<PipelineReport>() : executable.pipelines(bound.bindings);
    const std::string description = picture_dot(lowered, executable, pipelines);
    if (dot) {
      write_text(*dot, description);
    }
    if (svg) {
      const Progress progress;
      progress.show("laying out the picture");
      write_text(*svg, layout_svg(description));
    }
  }
  if (page) {
    const Progress progress;
    progress.show("making the page");
    write_text(*page, page_of(arguments.rest()[0], arguments.has("--train"), lowered, executable, bound));
  }
}

}  // namespace tenon::cli
