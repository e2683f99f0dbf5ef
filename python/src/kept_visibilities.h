// Visibilities that a run gave, or that a file holds, kept in memory.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tautline/formats/visibility_writer.h"

namespace tautline::python {

struct KeptVisibilities {
  formats::VisibilityDescription description;
  std::vector<core::Instant> middles;
  std::vector<double> integration_s;
  std::vector<std::complex<float>> data;  // [time][channel][baseline]
  std::vector<std::int64_t> counts;       // the same
  std::size_t channels = 0, baselines = 0;

  std::vector<std::size_t> shape() const { return {middles.size(), channels, baselines}; }
  void add(const formats::Integration& one);
  void write(const std::string& path, bool overwrite) const;
};

/// The writer of a run whose visibilities are kept.
class KeepVisibilities final : public formats::VisibilityWriter {
 public:
  explicit KeepVisibilities(std::shared_ptr<KeptVisibilities> kept) : kept_(std::move(kept)) {}
  void write(const formats::Integration& one) override { kept_->add(one); }
  void add_extra(const std::string& key, const std::string& value) override {
    kept_->description.extra[key] = value;
  }
  void finish() override {}

 private:
  std::shared_ptr<KeptVisibilities> kept_;
};

}  // namespace tautline::python
