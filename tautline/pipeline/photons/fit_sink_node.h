// Fits of a graph's curves, as a table and a page.
#pragma once

#include <memory>
#include <string>

#include "tautline/engine/node.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/photons/curve_node.h"
#include "tautline/pipeline/photons/fit_config.h"
#include "tautline/pipeline/photons/fit_result.h"

namespace tautline::pipeline {

/// Takes "curves"; fits the last of them.
class FitSink final : public engine::Node {
 public:
  /// `config.input` is the curves' name on the page. `log` receives warnings.
  FitSink(FitConfig config, core::LogSink log) : config_(std::move(config)), log_(std::move(log)) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  void start(engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void finish(engine::Outputs& outputs) override;
  void publish() override;
  /// Curves: "good", "hot", "masked", "failed".
  engine::Counters counters() const override;
  /// Table and page.
  std::vector<std::string> files() const override;

 private:
  FitConfig config_;
  core::LogSink log_;
  std::shared_ptr<CurveSnapshot> last_;
  FitResult result_;
  std::unique_ptr<formats::PartialFile> table_, page_;
  std::string page_text_;
};

}  // namespace tautline::pipeline
