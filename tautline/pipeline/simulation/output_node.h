// The end of every simulator's graph: its files, and the truth beside them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tautline/engine/node.h"
#include "tautline/formats/partial_file.h"

namespace tautline::pipeline::simulation {

/// Files of simulated samples. They appear under their names on finish(); without it no file is
/// left.
class OutputWriter {
 public:
  virtual ~OutputWriter() = default;
  /// Appends a block of the samples' source.
  virtual void write(const engine::Block& block) = 0;
  virtual void finish() = 0;
};

struct TruthOutput {
  std::string path;
  bool overwrite = false;
  std::function<std::string()> text = {};  ///< called after the last block
};

class OutputNode final : public engine::Node {
 public:
  /// `make_writer` is called when the run starts, and creates the files.
  OutputNode(TruthOutput truth, std::function<std::unique_ptr<OutputWriter>()> make_writer)
      : truth_(std::move(truth)), make_writer_(std::move(make_writer)) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream>) override { return {}; }
  void start(engine::Outputs&) override {
    truth_file_.emplace(truth_.path, truth_.overwrite);
    writer_ = make_writer_();
  }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    writer_->write(block);
  }
  void finish(engine::Outputs&) override { truth_file_->write(truth_.text()); }
  void publish() override {
    writer_->finish();
    truth_file_->finish();
  }

 private:
  TruthOutput truth_;
  std::function<std::unique_ptr<OutputWriter>()> make_writer_;
  std::unique_ptr<OutputWriter> writer_;
  std::optional<formats::PartialFile> truth_file_;
};

}  // namespace tautline::pipeline::simulation
