#include "tautline/stream/live_filterbank.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/distinct_ifs.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/sigproc/header.h"
#include "tautline/stream/live_input.h"

namespace tautline::stream {

namespace {

using core::Error;
using core::ErrorKind;

// Time between two checks of the stop token.
constexpr std::chrono::milliseconds kLook{50};
constexpr std::size_t kPieceBytes = std::size_t{1} << 20, kKeptBytes = 8 * kPieceBytes;
constexpr std::string_view kHeaderEnd = "HEADER_END";

bool ends_header(const std::vector<std::byte>& bytes) {
  return bytes.size() >= kHeaderEnd.size() &&
         std::equal(kHeaderEnd.begin(), kHeaderEnd.end(),
                    bytes.end() - static_cast<std::ptrdiff_t>(kHeaderEnd.size()),
                    [](char letter, std::byte b) { return static_cast<std::byte>(letter) == b; });
}

// Of all IFs.
std::size_t spectrum_bits(const formats::FilterbankDescription& description) {
  return description.ifs * description.channels * static_cast<std::size_t>(description.bits);
}

}  // namespace

LiveFilterbank::LiveFilterbank(const std::string& path, std::size_t buffer_bytes, double wait_s,
                               const std::stop_token& stop,
                               const formats::FilterbankOptions& options)
    : bytes_(std::make_shared<formats::ForwardBytes>(
          std::make_unique<LiveInput>(path, buffer_bytes, stop), kKeptBytes)) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait_s);
  std::stop_source late;
  bytes_->start(late.get_token(), {});
  std::jthread clock([&](const std::stop_token& done) {
    while (!done.stop_requested() && !stop.stop_requested() &&
           std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(kLook);
    if (!done.stop_requested()) late.request_stop();
  });
  read_header(
      [&](std::size_t came) {
        if (!stop.stop_requested() && late.stop_requested())
          throw Error(ErrorKind::io, name() + ": header",
                      std::to_string(came) + " bytes came within `wait_s`", "a whole header",
                      "start what writes the filterbank, or wait longer");
      },
      options);
}

LiveFilterbank::LiveFilterbank(std::shared_ptr<formats::ForwardBytes> bytes,
                               const formats::FilterbankOptions& options)
    : bytes_(std::move(bytes)) {
  read_header([](std::size_t) {}, options);
}

// `short_of` is called with the number of bytes that came where the stream ends inside its header.
void LiveFilterbank::read_header(const std::function<void(std::size_t)>& short_of,
                                 const formats::FilterbankOptions& options) {
  std::vector<std::byte> bytes;
  while (!ends_header(bytes)) {
    std::byte next{};
    if (bytes_->read(bytes.size(), {&next, 1}) == 0) {
      short_of(bytes.size());
      if (bytes_->stopped()) throw Error(ErrorKind::io, name(), "interrupted", "");
      throw Error(ErrorKind::format, name() + ": header",
                  "the stream ended after " + std::to_string(bytes.size()) + " bytes",
                  "a filterbank as sigproc has it, header first");
    }
    bytes.push_back(next);
    // A stream of another kind is refused at once, not after the longest header.
    if (bytes.size() == 64 && !formats::sigproc::recognise(bytes))
      throw Error(ErrorKind::format, name() + ": first bytes", "no header of sigproc's",
                  "a filterbank as sigproc has it, header first",
                  formats::commands_for(bytes, name()));
    if (bytes.size() > formats::sigproc::kMaxHeaderBytes)
      throw Error(ErrorKind::format, name() + ": header", "no end of it",
                  std::to_string(formats::sigproc::kMaxHeaderBytes) + " bytes or fewer");
  }
  offset_ = first_offset_ = bytes.size();
  bytes_->forget(offset_);
  const formats::sigproc::ParsedHeader parsed = formats::sigproc::parse_header(bytes, name());
  promised_ = static_cast<std::uint64_t>(std::max<std::int64_t>(0, parsed.nsamples.value_or(0)));
  formats::require_distinct_ifs(options);
  description_ = formats::sigproc::describe(name(), parsed, options);
  if (const std::string ifs = formats::sigproc::ifs_remark(description_); !ifs.empty())
    remarks_.push_back(name() + ": " + ifs);
  if (description_.time_series)
    throw Error(ErrorKind::unsupported, name(), "a dedispersed series", "a filterbank");
  if (const std::size_t bits = spectrum_bits(description_); bits % 8 != 0)
    throw Error(ErrorKind::unsupported, name() + ": bits of a spectrum", std::to_string(bits),
                "whole bytes");
}

std::string LiveFilterbank::cut_text() const {
  const std::uint64_t spectrum = spectrum_bits(description_) / 8;
  if (trailing_bytes_ > 0)
    return fmt::format(
        "{}: cut short, byte {}: {} bytes, expected whole spectra of {} bytes; they are left out",
        name(), offset_ - trailing_bytes_, trailing_bytes_, spectrum);
  if (missing_spectra() == 0) return {};
  return fmt::format("{}: cut short: {} spectra came, expected {}, as nsamples of the header says",
                     name(), promised_ - missing_spectra(), promised_);
}

formats::Damage LiveFilterbank::damage() const {
  formats::Damage damage;
  damage.trailing_bytes = trailing_bytes_;
  damage.lost_samples = missing_spectra();
  if (std::string cut = cut_text(); !cut.empty()) damage.note(std::move(cut));
  return damage;
}

std::uint64_t LiveFilterbank::missing_spectra() const {
  const std::uint64_t came = (offset_ - first_offset_) / (spectrum_bits(description_) / 8);
  return bytes_->stopped() ? 0 : promised_ - std::min(promised_, came);
}

bool LiveFilterbank::takes(std::span<const std::byte> first_bytes) {
  const auto mark =
      std::search(first_bytes.begin(), first_bytes.end(), kHeaderEnd.begin(), kHeaderEnd.end(),
                  [](std::byte b, char letter) { return static_cast<std::byte>(letter) == b; });
  if (!formats::sigproc::recognise(first_bytes) || mark == first_bytes.end()) return false;
  try {
    const auto parsed = formats::sigproc::parse_header(first_bytes, "");
    const formats::FilterbankDescription of = formats::sigproc::describe("", parsed, {});
    return !of.time_series && spectrum_bits(of) % 8 == 0;
  } catch (const Error&) {
    return true;  // the caller that opens it reports the fault
  }
}

std::size_t LiveFilterbank::read(std::size_t samples, std::span<std::byte> to,
                                 const std::stop_token& stop) {
  const std::size_t spectrum = spectrum_bits(description_) / 8;
  const bool plain = description_.ifs == 1 && description_.bits >= 8;
  if (!plain) raw_.resize(samples * spectrum);
  const std::span<std::byte> bytes = plain ? to.first(samples * spectrum) : std::span(raw_);
  bytes_->start(stop, {});
  std::size_t got = 0;
  // Less than may be kept at a time.
  while (got < bytes.size()) {
    const std::size_t some = std::min(bytes.size() - got, kPieceBytes);
    const std::size_t came = bytes_->read(offset_, bytes.subspan(got, some));
    got += came;
    offset_ += came;
    bytes_->forget(offset_);
    if (came < some) break;
  }
  trailing_bytes_ += got % spectrum;
  const std::size_t whole = got / spectrum;
  if (!plain)
    sums_.deliver(description_, raw_, 0, whole, to.data());
  else if (description_.is_signed)
    for (std::byte& sample : to.first(whole * spectrum)) sample ^= std::byte{0x80};
  return whole;
}

}  // namespace tautline::stream
