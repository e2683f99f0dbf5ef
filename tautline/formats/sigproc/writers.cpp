#include "tautline/formats/sigproc/writers.h"

#include <algorithm>

#include "tautline/core/error.h"

namespace tautline::formats::sigproc {

using core::Error;
using core::ErrorKind;

FilterbankWriter::FilterbankWriter(const std::string& path, const Header& header, bool overwrite)
    : values_per_time_(header.nchans * header.nifs),
      nbits_(header.nbits),
      packer_(header.nbits, BitOrder::low_first),
      file_(path, overwrite) {
  file_.write(format_header(header));
}

void FilterbankWriter::count(std::size_t values, bool right_type) {
  if (!right_type)
    throw Error(ErrorKind::config, "filterbank samples", "another type",
                "what nbits " + std::to_string(nbits_) + " says",
                "write floats for 32 bits, 16-bit integers for 16, bytes for less");
  if (values % values_per_time_ != 0)
    throw Error(ErrorKind::config, "filterbank samples", std::to_string(values),
                "a multiple of " + std::to_string(values_per_time_));
  samples_ += values / values_per_time_;
}

void FilterbankWriter::write(std::span<const float> samples) {
  count(samples.size(), nbits_ == 32);
  file_.write(std::as_bytes(samples));
}

void FilterbankWriter::write(std::span<const std::uint16_t> samples) {
  count(samples.size(), nbits_ == 16);
  file_.write(std::as_bytes(samples));
}

void FilterbankWriter::write(std::span<const std::uint8_t> samples) {
  count(samples.size(), nbits_ <= 8);
  if (nbits_ == 8) return file_.write(std::as_bytes(samples));
  const auto most = std::max_element(samples.begin(), samples.end());
  if (most != samples.end() && *most >> nbits_ != 0)
    throw Error(
        ErrorKind::config, "filterbank sample", std::to_string(*most),
        "below " + std::to_string(1 << nbits_) + ", what " + std::to_string(nbits_) + " bits hold");
  packed_.clear();
  packer_.pack(samples, packed_);
  file_.write(packed_);
}

void FilterbankWriter::finish() {
  packed_.clear();
  packer_.finish(packed_);
  file_.write(packed_);
  file_.finish();
}

TimeSeriesWriter::TimeSeriesWriter(const std::string& path, const Header& header, bool overwrite)
    : file_(path, overwrite) {
  Header series = header;
  series.data_type = kTimeSeries;
  series.nchans = series.nifs = 1;
  series.nbits = 32;
  series.is_signed = false;
  if (!series.refdm) series.refdm = 0;
  file_.write(format_header(series));
}

void TimeSeriesWriter::write(std::span<const float> samples) {
  file_.write(std::as_bytes(samples));
  samples_ += samples.size();
}

}  // namespace tautline::formats::sigproc
