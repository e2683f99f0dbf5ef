#include "tautline/formats/sigproc/filterbank_writer.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "tautline/core/error.h"

namespace tautline::formats::sigproc {

namespace {

using core::Error;
using core::ErrorKind;

constexpr int kTypeFilterbank = 1;

// Strings are an int32 length and bytes; a keyword is a string and its value follows.
class HeaderBytes {
 public:
  void word(const std::string& text) {
    number(static_cast<std::int32_t>(text.size()));
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
  }
  void text(const std::string& key, const std::string& value) {
    word(key);
    word(value);
  }
  void integer(const std::string& key, std::int32_t value) {
    word(key);
    number(value);
  }
  void real(const std::string& key, double value) {
    word(key);
    number(value);
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  template <class T>
  void number(T value) {
    std::byte raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof value);
  }
  std::vector<std::byte> bytes_;
};

void require(bool good, const char* field, const std::string& value, const char* limit) {
  if (!good) throw Error(ErrorKind::config, field, value, limit);
}

std::vector<std::byte> header_bytes(const FilterbankHeader& h) {
  require(h.nchans >= 1 && h.nchans <= INT32_MAX, "nchans", std::to_string(h.nchans), "1 or more");
  require(h.nifs >= 1 && h.nifs <= 4, "nifs", std::to_string(h.nifs), "1 to 4");
  require(h.nbits == 32, "nbits", std::to_string(h.nbits), "32 (float)");
  require(std::isfinite(h.tsamp_s) && h.tsamp_s > 0, "tsamp", std::to_string(h.tsamp_s),
          "a positive number of seconds");
  HeaderBytes header;
  header.word("HEADER_START");
  header.text("source_name", h.source_name.substr(0, 79));
  if (!h.rawdatafile.empty()) header.text("rawdatafile", h.rawdatafile.substr(0, 79));
  header.integer("machine_id", 0);
  header.integer("telescope_id", 0);
  header.integer("data_type", kTypeFilterbank);
  header.real("fch1", h.fch1_mhz);
  header.real("foff", h.foff_mhz);
  header.integer("nchans", static_cast<std::int32_t>(h.nchans));
  header.integer("nbits", h.nbits);
  header.real("tstart", h.tstart_mjd);
  header.real("tsamp", h.tsamp_s);
  header.integer("nifs", static_cast<std::int32_t>(h.nifs));
  header.word("HEADER_END");
  return header.bytes();
}

}  // namespace

FilterbankWriter::FilterbankWriter(const std::string& path, const FilterbankHeader& header,
                                   bool overwrite)
    : values_per_time_(header.nchans * header.nifs), file_(path, overwrite) {
  file_.write(header_bytes(header));
}

void FilterbankWriter::write(std::span<const float> samples) {
  if (samples.size() % values_per_time_ != 0)
    throw Error(ErrorKind::config, "filterbank samples", std::to_string(samples.size()),
                "a multiple of " + std::to_string(values_per_time_));
  file_.write(std::as_bytes(samples));
  samples_ += samples.size() / values_per_time_;
}

}  // namespace tautline::formats::sigproc
