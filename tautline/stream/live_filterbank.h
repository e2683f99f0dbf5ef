// A sigproc filterbank that is still being written: standard input, a named pipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/forward_bytes.h"
#include "tautline/formats/sigproc/sigproc.h"
#include "tautline/stream/live_spectra.h"

namespace tautline::stream {

/// Header and samples of a stream.
class LiveFilterbank final : public LiveSpectra {
 public:
  /// Waits for the header, `wait_s` at most and until `stop` is requested. Takes spectra whose samples fill whole bytes,
  /// all IFs together. Throws Error(io) where no header comes, Error(format) for another stream, Error(unsupported).
  LiveFilterbank(const std::string& path, std::size_t buffer_bytes, double wait_s,
                 const std::stop_token& stop, const formats::FilterbankOptions& options = {});
  /// Reads from an open pipe.
  explicit LiveFilterbank(std::shared_ptr<formats::ForwardBytes> bytes,
                          const formats::FilterbankOptions& options = {});

  /// Whether a stream that begins with these bytes can be read live; some formats need a file.
  static bool takes(std::span<const std::byte> first_bytes);
  const formats::FilterbankDescription& description() const override { return description_; }
  std::size_t read(std::size_t samples, std::span<std::byte> to,
                   const std::stop_token& stop) override;
  formats::Damage damage() const override;
  /// Bytes of an incomplete last spectrum, after the end.
  std::uint64_t trailing_bytes() const { return trailing_bytes_; }
  /// Spectra that the header has and that did not come, after an end that nobody asked for.
  std::uint64_t missing_spectra() const;
  /// How the stream was cut short, after its end; empty where it was not.
  std::string cut_text() const;
  const std::string& name() const override { return bytes_->name(); }
  const std::vector<std::string>& remarks() const override { return remarks_; }

 private:
  void read_header(const std::function<void(std::size_t bytes)>& short_of,
                   const formats::FilterbankOptions& options);

  std::shared_ptr<formats::ForwardBytes> bytes_;
  std::uint64_t offset_ = 0;  // of the next byte
  formats::FilterbankDescription description_;
  std::vector<std::string> remarks_;
  std::vector<std::byte> raw_;  // samples of less than a byte, or of several IFs
  formats::sigproc::SampleSums sums_;
  std::uint64_t trailing_bytes_ = 0;
  std::uint64_t first_offset_ = 0,
                promised_ = 0;  // of the samples; spectra by the header, 0: it has no number
};

}  // namespace tautline::stream
