// The sink of visibilities: a file, or a page about them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tautline/core/field_words.h"
#include "tautline/core/log.h"
#include "tautline/engine/node.h"
#include "tautline/formats/visibility_writer.h"
#include "tautline/pipeline/checkpoint.h"
#include "tautline/pipeline/file_parts.h"
#include "tautline/pipeline/voltages/voltage_facts.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

struct VisibilitySinkConfig {
  std::string path;  ///< .uvh5 or .ms; of a page: .html
  bool overwrite = false;
  bool page = false;  ///< a report::ReportBuilder instead of a file of visibilities
  formats::MakeVisibilityWriter writer = {};  ///< none: a file's writer
  AskVoltageFacts facts = {};                 ///< of the nodes before this one, for the output
  bool live = false;                          ///< the voltages come live
  PartLimits parts = {};                      ///< of files
  /// For several files: is told which are complete; null: none.
  std::shared_ptr<Checkpoint> checkpoint = {};
  core::FieldWords words = {};  ///< of a page's warnings
  core::LogSink log = {};       ///< of a file whose antenna positions are not known
};

/// Takes "visibilities".
class VisibilitySinkNode final : public engine::Node {
 public:
  explicit VisibilitySinkNode(VisibilitySinkConfig config)
      : config_(std::move(config)), parts_(config_.path, config_.parts) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  void start(engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void publish() override;
  std::vector<std::string> files() const override { return files_; }
  bool rotates() const override { return parts_.several(); }

  /// Whether the output has its name.
  bool published() const { return published_; }

 private:
  void begin_file();
  void finish_file();
  std::vector<double> kept_gains(const std::vector<float>& gains) const;

  VisibilitySinkConfig config_;
  FileParts parts_;
  core::Rational rate_hz_;          // of spectra
  std::string path_;                // of the open file
  std::vector<std::string> files_;  // the complete ones, of several
  Visibilities visibilities_;
  GainValues gains_;                                   // of the last integration, where they change
  std::vector<double> gain_values_;                    // the same, of the kept channels
  std::unique_ptr<formats::VisibilityWriter> writer_;  // null: the next integration begins a file
  bool published_ = false;
};

}  // namespace tautline::pipeline
