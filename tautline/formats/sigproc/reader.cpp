// sigproc's files: the header gives the order of samples, the file's size their number.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/exact_double.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/packed_samples.h"
#include "tautline/formats/recorded_spectra.h"
#include "tautline/formats/sigproc/sigproc.h"

namespace tautline::formats::sigproc {

namespace {

// The bytes of one read where samples are converted.
constexpr std::size_t kStagingBytes = std::size_t{1} << 20;
constexpr double kDegreesPerHour = 15;

// sums[time][channel] = sum over the `chosen` IFs of samples[time][if][channel]. Integers fit
// their sums' type by the caller's choice of it; floats are added in double. `flip` is exclusively
// ored into every integer first: the sign bit turns two's complement into offset binary.
template <class Sample, class Sum>
void sum_ifs(const Sample* samples, std::size_t times, std::size_t ifs, std::size_t channels,
             const std::vector<std::size_t>& chosen, unsigned flip, Sum* sums) {
  using Wide = std::conditional_t<std::is_floating_point_v<Sample>, double, std::uint32_t>;
  std::vector<Wide> row(channels);
  for (std::size_t t = 0; t < times; ++t) {
    std::fill(row.begin(), row.end(), Wide{0});
    for (const std::size_t k : chosen) {
      const Sample* from = samples + (t * ifs + k) * channels;
      for (std::size_t c = 0; c < channels; ++c) {
        if constexpr (std::is_floating_point_v<Sample>)
          row[c] += from[c];
        else
          row[c] += from[c] ^ flip;
      }
    }
    for (std::size_t c = 0; c < channels; ++c) sums[t * channels + c] = static_cast<Sum>(row[c]);
  }
}

std::vector<double> channel_frequencies(const ParsedHeader& parsed) {
  if (!parsed.channel_mhz.empty()) return parsed.channel_mhz;
  const Header& h = parsed.header;
  std::vector<double> mhz(h.nchans);
  for (std::size_t c = 0; c < h.nchans; ++c)
    mhz[c] = h.fch1_mhz + h.foff_mhz * static_cast<double>(c);
  return mhz;
}

void set_frequencies(const ParsedHeader& parsed, FilterbankDescription& d) {
  const Header& h = parsed.header;
  d.channel_mhz = channel_frequencies(parsed);
  d.fch1_mhz = d.channel_mhz.front();
  d.evenly_spaced = parsed.channel_mhz.empty();
  if (h.nchans == 1)
    d.foff_mhz = h.foff_mhz;
  else if (d.evenly_spaced)
    d.foff_mhz = h.foff_mhz;
  else
    d.foff_mhz = (d.channel_mhz.back() - d.channel_mhz.front()) / static_cast<double>(h.nchans - 1);
}

std::vector<std::size_t> chosen_ifs(const std::string& path, std::size_t ifs,
                                    const FilterbankOptions& options) {
  std::vector<std::size_t> chosen = options.ifs;
  if (chosen.empty()) {
    chosen.resize(ifs);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  }
  for (const std::size_t k : chosen)
    if (k >= ifs)
      throw core::Error(
          core::ErrorKind::config, path + ": IF", std::to_string(k),
          ifs == 1 ? "0, the only one" : fmt::format("0 to {}, those of the file", ifs - 1));
  return chosen;
}

}  // namespace

FilterbankDescription describe(const std::string& path, const ParsedHeader& parsed,
                               const FilterbankOptions& options) {
  const Header& h = parsed.header;
  FilterbankDescription d;
  d.format = "sigproc";
  d.time_series = h.data_type == kTimeSeries && h.nchans == 1;
  d.channels = h.nchans;
  set_frequencies(parsed, d);
  d.tsamp_s = h.tsamp_s;
  const core::Rational tsamp = core::simplest_ratio(h.tsamp_s);
  d.rate_hz = {tsamp.denominator, tsamp.numerator};
  d.start = core::instant_of_mjd(h.tstart_mjd);
  d.tstart_mjd = h.tstart_mjd;
  d.bits = h.nbits;
  d.is_signed = h.is_signed && h.nbits == 8;
  d.ifs = h.nifs;
  d.summed_ifs = chosen_ifs(path, h.nifs, options);
  const std::uint64_t most =
      h.nbits == 32 ? UINT64_MAX : ((std::uint64_t{1} << h.nbits) - 1) * d.summed_ifs.size();
  d.delivered = most <= 255 ? Delivered::u8 : most <= 65535 ? Delivered::u16 : Delivered::f32;
  if (d.is_signed) d.zero_level = static_cast<std::uint32_t>(128 * d.summed_ifs.size());
  d.source = h.source_name;
  d.rawdatafile = h.rawdatafile;
  d.telescope_id = h.telescope_id;
  d.machine_id = h.machine_id;
  d.telescope = telescope_name(h.telescope_id);
  d.machine = machine_name(h.machine_id);
  if (h.src_raj && h.src_dej) {
    d.ra_deg = unpack_sexagesimal(*h.src_raj) * kDegreesPerHour;
    d.dec_deg = unpack_sexagesimal(*h.src_dej);
  }
  d.azimuth_deg = h.az_start_deg;
  d.zenith_angle_deg = h.za_start_deg;
  d.refdm = h.refdm;
  d.barycentric = h.barycentric != 0;
  d.beams = h.nbeams;
  d.beam = h.ibeam;
  return d;
}

void SampleSums::deliver(const FilterbankDescription& d, std::span<const std::byte> raw,
                         std::size_t skipped, std::size_t times, std::byte* to) {
  const std::size_t values = times * d.ifs * d.channels;
  if (d.bits < 8) {
    auto* const bytes = reinterpret_cast<std::uint8_t*>(to);
    if (d.ifs == 1) return unpack_samples(raw, skipped, values, d.bits, BitOrder::low_first, bytes);
    unpacked_.resize(values);
    unpack_samples(raw, skipped, values, d.bits, BitOrder::low_first, unpacked_.data());
    raw = std::as_bytes(std::span(unpacked_));
  }
  const unsigned flip = d.is_signed ? 0x80 : 0;
  const auto sum = [&]<class Sample>(const Sample* samples) {
    with_samples(d.delivered, to, [&](auto* sums) {
      sum_ifs(samples, times, d.ifs, d.channels, d.summed_ifs, flip, sums);
    });
  };
  if (d.bits == 32) return sum(reinterpret_cast<const float*>(raw.data()));
  if (d.bits == 16) return sum(reinterpret_cast<const std::uint16_t*>(raw.data()));
  sum(reinterpret_cast<const std::uint8_t*>(raw.data()));
}

std::string ifs_remark(const FilterbankDescription& d) {
  if (d.summed_ifs.size() <= 2) return "";
  return fmt::format(
      "{} IFs are added up, and the format does not say what they are: choose those that make "
      "total intensity (`ifs` 0 of Stokes parameters I, Q, U, V; `ifs` 0,1 of two "
      "polarisations and their products)",
      d.summed_ifs.size());
}

namespace {

class Reader final : public FilterbankReader {
 public:
  Reader(InputFile file, ParsedHeader parsed, FilterbankOptions options)
      : file_(std::move(file)),
        data_offset_bytes_(parsed.header_bytes),
        time_bits_(static_cast<std::uint64_t>(parsed.header.nbits) * parsed.header.nchans *
                   parsed.header.nifs) {
    remarks_ = std::move(parsed.remarks);
    if (options.ifs.empty() && parsed.header.nifs == 4 && recorded_stokes(file_.path()) == "IQUV") {
      options.ifs = {0};
      remarks_.push_back(file_.path() +
                         ": Stokes parameters I, Q, U, V, by the record beside the file: I alone "
                         "is taken; a search takes others with `ifs`");
    }
    description_ = describe(file_.path(), parsed, options);
    count_samples();
    add_remarks(parsed);
    file_.sequential();
  }

  std::size_t read(std::uint64_t first_sample, std::size_t count,
                   std::span<std::byte> destination) override {
    const FilterbankDescription& d = description_;
    if (first_sample >= d.samples) return 0;
    count = limit_to(count, d.samples - first_sample, destination);
    std::byte* to = destination.data();
    const std::size_t piece =
        plain()
            ? count
            : static_cast<std::size_t>(std::max<std::uint64_t>(1, kStagingBytes * 8 / time_bits_));
    for (std::size_t done = 0; done < count;) {
      const std::size_t times = std::min(piece, count - done);
      read_piece(first_sample + done, times, to + done * d.sample_bytes());
      done += times;
    }
    return count;
  }

 private:
  // Samples that go from the file to the destination unchanged, or with the sign bit inverted.
  bool plain() const { return description_.ifs == 1 && description_.bits >= 8; }

  void count_samples() {
    const std::uint64_t data_bytes = file_.size() - data_offset_bytes_;
    // In bytes and bits apart: 8 times a file's size need not fit.
    const std::uint64_t whole =
        time_bits_ % 8 == 0 ? data_bytes / (time_bits_ / 8) : data_bytes * 8 / time_bits_;
    description_.samples = whole;
    if (whole > 0) segments_.push_back({0, whole, description_.start, 0});
    const std::uint64_t used_bytes = (whole * time_bits_ + 7) / 8;
    if (used_bytes == data_bytes) return;
    damage_.trailing_bytes = data_bytes - used_bytes;
    damage_.note(
        fmt::format("{}: cut short, byte {}: {}, expected whole samples of {} bits; "
                    "they are left out",
                    file_.path(), data_offset_bytes_ + used_bytes,
                    core::counted(damage_.trailing_bytes, "byte"), time_bits_));
  }

  void add_remarks(const ParsedHeader& parsed) {
    const FilterbankDescription& d = description_;
    const auto remark = [&](const std::string& text) {
      remarks_.push_back(file_.path() + ": " + text);
    };
    if (parsed.nsamples && *parsed.nsamples > 0 &&
        static_cast<std::uint64_t>(*parsed.nsamples) != d.samples)
      remark(fmt::format("nsamples {} is not what the size of the file says, {}: the size holds",
                         *parsed.nsamples, d.samples));
    if (parsed.header.data_type == kTimeSeries && d.channels > 1)
      remark(fmt::format("data_type 2 (time series) with {} channels: read as a filterbank",
                         d.channels));
    if (const std::string ifs = ifs_remark(d); !ifs.empty()) remark(ifs);
    if (constexpr double kLeastMhz = 10; d.channels > 1 && d.highest_mhz() < kLeastMhz)
      remark(
          fmt::format("channels from {:.6g} to {:.6g} MHz, where no radio waves come through the "
                      "ionosphere: sigproc's frequencies are in MHz, correct the header if it "
                      "has GHz",
                      d.lowest_mhz(), d.highest_mhz()));
    if (d.tstart_mjd == 0) remark("tstart is 0: times count from MJD 0");
    if (time_bits_ % 8 != 0)
      remark(
          fmt::format("a spectrum has {} bits, no whole number of bytes: the next one follows "
                      "without a gap",
                      time_bits_));
  }

  // Fills the missing end of the file with zeros.
  void fetch(std::uint64_t offset, std::span<std::byte> bytes) {
    const std::size_t got = file_.read(offset, bytes);
    if (got == bytes.size()) return;
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(got), bytes.end(), std::byte{0});
    const std::uint64_t lost = ((bytes.size() - got) * 8 + time_bits_ - 1) / time_bits_;
    damage_.lost_samples += lost;
    damage_.note(
        fmt::format("{}: byte {}: the file ends, expected {} bytes more; they read as zeros",
                    file_.path(), offset + got, bytes.size() - got));
  }

  void read_piece(std::uint64_t first, std::size_t times, std::byte* to) {
    const std::uint64_t first_bit = first * time_bits_;
    const std::uint64_t offset = data_offset_bytes_ + first_bit / 8;
    if (plain()) return read_plain(offset, {to, times * description_.sample_bytes()});
    const std::uint64_t end_bit = first_bit + times * time_bits_;
    staging_.resize(static_cast<std::size_t>((end_bit + 7) / 8 - first_bit / 8));
    fetch(offset, staging_);
    const auto bits = static_cast<std::size_t>(description_.bits);
    sums_.deliver(description_, staging_, static_cast<std::size_t>(first_bit % 8) / bits, times,
                  to);
  }

  void read_plain(std::uint64_t offset, std::span<std::byte> to) {
    fetch(offset, to);
    if (description_.is_signed)
      for (std::byte& sample : to) sample ^= std::byte{0x80};
  }

  InputFile file_;
  std::uint64_t data_offset_bytes_;
  std::uint64_t time_bits_;  // of all IFs and channels
  std::vector<std::byte> staging_;
  SampleSums sums_;
};

}  // namespace

std::unique_ptr<FilterbankReader> open(const std::string& path, const FilterbankOptions& options) {
  InputFile file(path);
  ParsedHeader parsed = parse_header(file.head(kMaxHeaderBytes), path);
  return std::make_unique<Reader>(std::move(file), std::move(parsed), options);
}

Header header_of(const FilterbankDescription& d) {
  Header h;
  h.source_name = d.source.empty() ? "unknown" : d.source;
  h.rawdatafile = d.rawdatafile;
  h.nchans = d.channels;
  h.fch1_mhz = d.fch1_mhz;
  h.foff_mhz = d.foff_mhz;
  h.tstart_mjd = d.tstart_mjd;
  h.tsamp_s = d.tsamp_s;
  h.machine_id = std::max(d.machine_id, 0);
  h.telescope_id = d.telescope_id > 0 ? d.telescope_id : telescope_id(d.telescope);
  if (d.ra_deg && d.dec_deg) {
    h.src_raj = pack_sexagesimal(*d.ra_deg / kDegreesPerHour);
    h.src_dej = pack_sexagesimal(*d.dec_deg);
  }
  h.az_start_deg = d.azimuth_deg;
  h.za_start_deg = d.zenith_angle_deg;
  h.refdm = d.refdm;
  h.barycentric = d.barycentric ? 1 : 0;
  h.nbeams = d.beams;
  h.ibeam = d.beam;
  return h;
}

}  // namespace tautline::formats::sigproc
