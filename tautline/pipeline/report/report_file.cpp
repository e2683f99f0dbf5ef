#include "tautline/pipeline/report/report_file.h"

#include <filesystem>

#include "tautline/formats/visibility_reader.h"
#include "tautline/pipeline/report/report_builder.h"

namespace tautline::pipeline::report {

void report_file(const std::string& visibilities, const std::string& page, bool overwrite,
                 const DigestLimits& limits,
                 const std::function<void(std::size_t, std::size_t)>& progress) {
  const auto reader = formats::open_visibilities(visibilities);
  ReportBuilder builder(page, reader->description(), overwrite, limits);
  // Without the folder, which of an input by a pipe is a temporary one.
  const std::filesystem::path path(visibilities);
  builder.add_extra("visibilities",
                    (path.has_filename() ? path : path.parent_path()).filename().string());
  for (std::size_t k = 0; k < reader->integrations(); ++k) {
    builder.write(reader->read(k));
    if (progress) progress(k + 1, reader->integrations());
  }
  builder.finish();
}

}  // namespace tautline::pipeline::report
