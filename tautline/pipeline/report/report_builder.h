// Draws a run's visibilities into one HTML file that opens anywhere, without a network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tautline/core/field_words.h"
#include "tautline/formats/visibility_writer.h"
#include "tautline/pipeline/report/messages.h"
#include "tautline/pipeline/report/visibility_digest.h"

namespace tautline::pipeline::report {

/// Takes what a visibility file takes, beside one or instead of one; bounded memory, a few
/// milliseconds an integration. finish() writes the page (beside its final name, then renamed);
/// destroyed before that, it leaves nothing.
class ReportBuilder : public formats::VisibilityWriter {
 public:
  /// The page's warnings are in `words`. Throws Error(config) as VisibilityDigest does, and Error(io) when `path`
  /// exists and `overwrite` is false.
  ReportBuilder(std::string path, const formats::VisibilityDescription& description, bool overwrite,
                DigestLimits limits = {}, core::FieldWords words = {});

  void write(const formats::Integration& integration) override;
  void add_extra(const std::string& key, const std::string& value) override;
  void finish() override;

  /// Components outside the requantiser's range, per input, of `requantised` components each.
  void set_clipped(std::vector<std::uint64_t> clipped, std::uint64_t requantised);
  /// The shares of samples, per input, that are at the ends of their range in the input; empty: not known.
  void set_at_ends(std::vector<double> at_ends);
  /// Damage in the input, losses: shown at the top of the page.
  void add_warning(const std::string& message);

  const VisibilityDigest& digest() const { return digest_; }

 private:
  std::string path_;
  bool overwrite_;
  core::FieldWords words_;
  VisibilityDigest digest_;
  RunStatus status_;
};

}  // namespace tautline::pipeline::report
