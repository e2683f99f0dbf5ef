#include "tautline/pipeline/report/report_builder.h"

#include <utility>

#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/report/html_page.h"

namespace tautline::pipeline::report {

ReportBuilder::ReportBuilder(std::string path, const formats::VisibilityDescription& description,
                             bool overwrite, DigestLimits limits, core::FieldWords words)
    : path_(std::move(path)),
      overwrite_(overwrite),
      words_(std::move(words)),
      digest_(description, limits) {
  // An hour's run must not end in a refusal that was known at its start.
  formats::refuse_existing(path_, overwrite_);
  for (const auto& [key, value] : description.extra) status_.facts.emplace_back(key, value);
}

void ReportBuilder::write(const formats::Integration& integration) {
  digest_.add(integration);
}

void ReportBuilder::add_extra(const std::string& key, const std::string& value) {
  status_.facts.emplace_back(key, value);
}

void ReportBuilder::set_clipped(std::vector<std::uint64_t> clipped, std::uint64_t requantised) {
  status_.clipped = std::move(clipped);
  status_.requantised = requantised;
}

void ReportBuilder::set_at_ends(std::vector<double> at_ends) {
  status_.at_ends = std::move(at_ends);
}

void ReportBuilder::add_warning(const std::string& message) {
  status_.warnings.push_back(core::said_in(words_, message));
}

void ReportBuilder::finish() {
  const formats::VisibilityDescription& description = digest_.description();
  std::string title = description.telescope.empty() ? "tautline" : description.telescope;
  if (!description.source.empty()) title += ", " + description.source;
  write_page(path_,
             compose_page(title, {description_message(digest_), status_message(status_),
                                  integrations_message(digest_, 0, digest_.times().size())}),
             overwrite_);
}

}  // namespace tautline::pipeline::report
