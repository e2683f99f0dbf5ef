#include "tautline/stream/piped_voltages.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tautline/core/error.h"

namespace tautline::stream {

namespace {

using core::Error;
using core::ErrorKind;

constexpr double kDay_s = 86'400;

}  // namespace

PipedVoltages::PipedVoltages(std::shared_ptr<formats::ForwardBytes> bytes,
                             const SequenceOptions& options)
    : bytes_(std::move(bytes)),
      reader_(formats::open_voltages(bytes_, options.reader)),
      description_(reader_->description()),
      names_{bytes_->name()} {
  const core::Rational& rate = description_.rate_hz;
  skip_ = samples_in(options.start_s, rate, "start_s");
  if (options.duration_s >= 0) left_ = samples_in(options.duration_s, rate, "duration_s");
  if (skip_ > 0) reader_->seek(skip_);
  description_.start = core::advance(description_.start, static_cast<std::int64_t>(skip_), rate);
  const std::uint64_t expected = std::min(left_, static_cast<std::uint64_t>(kDay_s * rate.value()));
  end_ = core::advance(description_.start, static_cast<std::int64_t>(expected), rate);
}

std::size_t PipedVoltages::read(std::size_t samples, core::RawBlock& block, SegmentPlace& segment) {
  std::size_t got = left_ > 0 ? reader_->read(samples, block) : 0;
  if (got == 0 && given_ == 0 && left_ > 0) {
    if (bytes_->stopped()) throw Error(ErrorKind::io, bytes_->name(), "interrupted", "");
    throw Error(ErrorKind::format, bytes_->name() + ": samples",
                skip_ > 0 ? fmt::format("none from sample {} on", skip_) : "none came",
                "one whole sample of every input at least");
  }
  if (got > left_) {
    got = static_cast<std::size_t>(left_);
    cut_block(block, got);
  }
  segment = {0, description_.start, given_ == 0};
  given_ += got;
  left_ -= got;
  return got;
}

}  // namespace tautline::stream
