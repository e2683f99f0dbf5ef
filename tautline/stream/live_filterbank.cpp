#include "tautline/stream/live_filterbank.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "tautline/core/error.h"
#include "tautline/formats/packed_samples.h"
#include "tautline/formats/sigproc/header.h"
#include "tautline/formats/sigproc/sigproc.h"

namespace tautline::stream {

namespace {

using core::Error;
using core::ErrorKind;

// Between two looks at whether to stop.
constexpr std::chrono::milliseconds kLook{50};
constexpr std::string_view kHeaderEnd = "HEADER_END";

bool ends_header(const std::vector<std::byte>& bytes) {
  return bytes.size() >= kHeaderEnd.size() &&
         std::equal(kHeaderEnd.begin(), kHeaderEnd.end(),
                    bytes.end() - static_cast<std::ptrdiff_t>(kHeaderEnd.size()),
                    [](char letter, std::byte b) { return static_cast<std::byte>(letter) == b; });
}

}  // namespace

LiveFilterbank::LiveFilterbank(const std::string& path, std::size_t buffer_bytes, double wait_s,
                               const std::stop_token& stop)
    : input_(std::make_unique<LiveInput>(path, buffer_bytes, ending_.get_token())) {
  read_header(wait_s, stop);
}

void LiveFilterbank::read_header(double wait_s, const std::stop_token& stop) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait_s);
  std::vector<std::byte> bytes;
  while (!ends_header(bytes)) {
    std::byte next{};
    if (input_->read({&next, 1}, kLook) == 1) {
      bytes.push_back(next);
      // A stream of something else is refused at once, not after the most that a header may have.
      if (bytes.size() == 64 && !formats::sigproc::recognise(bytes))
        throw Error(ErrorKind::format, name() + ": first bytes", "no header of sigproc's",
                    "a filterbank as sigproc has it, header first");
      if (bytes.size() > formats::sigproc::kMaxHeaderBytes)
        throw Error(ErrorKind::format, name() + ": header", "no end of it",
                    std::to_string(formats::sigproc::kMaxHeaderBytes) + " bytes or fewer");
      continue;
    }
    if (stop.stop_requested()) throw Error(ErrorKind::io, name(), "interrupted", "");
    if (input_->ended())
      throw Error(ErrorKind::format, name() + ": header",
                  "the stream ended after " + std::to_string(bytes.size()) + " bytes",
                  "a filterbank as sigproc has it, header first");
    if (std::chrono::steady_clock::now() > until)
      throw Error(ErrorKind::io, name() + ": header",
                  std::to_string(bytes.size()) + " bytes came within `wait_s`", "a whole header",
                  "start what writes the filterbank, or wait longer");
  }
  const formats::sigproc::ParsedHeader parsed = formats::sigproc::parse_header(bytes, name());
  description_ = formats::sigproc::describe(name(), parsed, {});
  if (description_.ifs != 1)
    throw Error(ErrorKind::unsupported, name() + ": nifs", std::to_string(description_.ifs),
                "1 of a live filterbank", "add the IFs up before they are sent");
  if (description_.time_series)
    throw Error(ErrorKind::unsupported, name(), "a dedispersed series", "a filterbank");
  if (description_.channels * static_cast<std::size_t>(description_.bits) % 8 != 0)
    throw Error(ErrorKind::unsupported, name() + ": bits of a spectrum",
                std::to_string(description_.channels * static_cast<std::size_t>(description_.bits)),
                "whole bytes");
}

// Fewer bytes than asked for: the stream has ended.
std::size_t LiveFilterbank::fill(std::span<std::byte> bytes, const std::stop_token& stop) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    done += input_->read(bytes.subspan(done), kLook);
    if (stop.stop_requested()) ending_.request_stop();
    if (done < bytes.size() && input_->ended()) {
      const std::string fault = input_->fault();
      if (!fault.empty()) throw Error(ErrorKind::io, name(), fault, "a stream that goes on");
      break;
    }
  }
  return done;
}

std::size_t LiveFilterbank::read(std::size_t samples, std::span<std::byte> to,
                                 const std::stop_token& stop) {
  const auto bits = static_cast<std::size_t>(description_.bits);
  const std::size_t spectrum = description_.channels * bits / 8;
  const bool packed = bits < 8;
  if (packed) packed_.resize(samples * spectrum);
  const std::span<std::byte> bytes = packed ? std::span(packed_) : to.first(samples * spectrum);
  const std::size_t got = fill(bytes, stop);
  trailing_bytes_ += got % spectrum;
  const std::size_t whole = got / spectrum;
  if (packed)
    formats::unpack_samples(packed_, 0, whole * description_.channels, description_.bits,
                            formats::BitOrder::low_first,
                            reinterpret_cast<std::uint8_t*>(to.data()));
  if (description_.is_signed)
    for (std::byte& sample : to.first(whole * spectrum)) sample ^= std::byte{0x80};
  return whole;
}

}  // namespace tautline::stream
