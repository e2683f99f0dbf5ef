// Voltages that come through a pipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/formats/forward_bytes.h"
#include "tautline/stream/peeked_voltages.h"
#include "tautline/stream/voltage_sequence.h"

namespace tautline::stream {

/// Delivers the samples that a file of the same bytes gives, by the same reader.
class PipedVoltages final : public VoltageStream {
 public:
  /// Waits for the header. Throws Error(unsupported) for formats that need a file.
  PipedVoltages(std::shared_ptr<formats::ForwardBytes> bytes, const SequenceOptions& options);

  const core::VoltageDescription& description() const override { return description_; }
  core::RawLayout layout(std::size_t samples) const override { return reader_->layout(samples); }
  std::size_t block_bytes(std::size_t samples) const override {
    return reader_->block_bytes(samples);
  }
  std::uint64_t total_samples() const override { return 0; }
  /// Tables over time are made for a day where the length of the stream is unknown.
  const core::Instant& end() const override { return end_; }
  const std::vector<std::string>& files() const override { return names_; }
  std::size_t bytes() const override { return static_cast<std::size_t>(bytes_->kept_bytes()); }
  void start(const std::stop_token& stop, const Waits& waits) override {
    bytes_->start(stop, waits);
  }
  /// Throws Error(format) where the pipe ends before its first whole sample.
  std::size_t read(std::size_t samples, core::RawBlock& block, SegmentPlace& segment) override;
  formats::Damage damage() const override { return reader_->damage(); }
  bool live() const override { return true; }

 private:
  std::shared_ptr<formats::ForwardBytes> bytes_;
  std::unique_ptr<formats::VoltageReader> reader_;
  core::VoltageDescription description_;
  core::Instant end_;
  std::vector<std::string> names_;
  std::uint64_t skip_ = 0, given_ = 0, left_ = UINT64_MAX;  // samples
};

}  // namespace tautline::stream
