// The interface of every reader of filterbanks (detected power against time and frequency) and of
// dedispersed time series: a description, and any range of samples in one layout.
//
// | buffer      | axes (slowest first)   | type                       | unit           | written     |
// | destination | [time][channel]        | u8, u16 or f32 (delivered) | the file's own | overwritten |
//
// Channels are in the file's order; a time series is a filterbank of one channel. IFs
// (polarisations) are summed on the way. docs/guide/formats.md lists the understood fields of each
// format.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tautline/core/sample_type.h"
#include "tautline/core/time.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {

/// How read() delivers samples. Integer data stay exact in each of them:
///
/// | data of the file                                  | delivered                            |
/// | 1, 2, 4, 8 bits, sum of IFs at most 255           | u8 (smaller ones unpacked)           |
/// | 1 to 16 bits, sum of IFs at most 65,535           | u16                                  |
/// | 16 bits, sum of IFs above that                    | f32, whole numbers (below 2^24)      |
/// | 32 bits (float), and PSRFITS with scales to apply | f32; several IFs are added in double |
enum class Delivered { u8, u16, f32 };

constexpr std::size_t bytes_of(Delivered type) {
  return type == Delivered::u8 ? 1 : type == Delivered::u16 ? 2 : 4;
}
constexpr core::SampleType sample_type(Delivered type) {
  return type == Delivered::u8    ? core::SampleType::u8
         : type == Delivered::u16 ? core::SampleType::u16
                                  : core::SampleType::f32;
}
std::string to_string(Delivered type);

/// Calls body(samples) with `bytes`, std::byte* or const std::byte*, as samples of this type; returns what it returns.
template <class Byte, class Body>
decltype(auto) with_samples(Delivered type, Byte* bytes, Body&& body) {
  const auto call = [&]<class Sample>(const Sample*) -> decltype(auto) {
    using To = std::conditional_t<std::is_const_v<Byte>, const Sample, Sample>;
    return body(reinterpret_cast<To*>(bytes));
  };
  if (type == Delivered::u8) return call(static_cast<const std::uint8_t*>(nullptr));
  if (type == Delivered::u16) return call(static_cast<const std::uint16_t*>(nullptr));
  return call(static_cast<const float*>(nullptr));
}

/// A segment of the samples, without a gap. Processing begins anew at each segment.
struct DataSegment {
  std::uint64_t first_sample = 0;  ///< as read() counts: gaps take no samples
  std::uint64_t samples = 0;
  core::Instant start;  ///< leading edge of its first sample
  /// The place of the first sample on the grid of times that begins with sample 0, in samples,
  /// rounded: first_sample plus the gaps before.
  std::uint64_t grid_sample = 0;
};

/// The join of two files without a gap: segments do not end there.
struct FileJoin {
  std::uint64_t sample = 0;   ///< the first of the next file, as read() counts
  std::string before, after;  ///< paths
};

struct FilterbankDescription {
  std::string format;        ///< "sigproc", "PSRFITS", "PRESTO"
  bool time_series = false;  ///< dedispersed already, one channel
  std::size_t channels = 1;
  std::vector<double> channel_mhz;  ///< centre of every channel, in the file's order
  double fch1_mhz = 0;              ///< of the first one
  double foff_mhz = 0;        ///< from one channel to the next, with its sign; 0 for one channel
  bool evenly_spaced = true;  ///< false: channel_mhz is a table, foff_mhz its mean step
  core::Rational rate_hz;     ///< samples a second: the simplest ratio that is the file's tsamp
  double tsamp_s = 0;         ///< as the file has it
  core::Instant start;        ///< leading edge of sample 0, exactly the MJD that the file has
  double tstart_mjd = 0;      ///< the same, as sigproc would write it
  int bits = 8;               ///< of a sample in the file: 1, 2, 4, 8, 16 or 32 (float)
  bool is_signed = false;     ///< integers in the file are two's complement
  std::size_t ifs = 1;        ///< in the file
  std::vector<std::size_t> summed_ifs;  ///< the IFs that are delivered as a sum
  Delivered delivered = Delivered::u8;
  /// The delivered integer that means 0: 0 for unsigned data. Signed ones are moved up by half
  /// their range for each summed IF (128 for one of bytes), so that they are unsigned: take it
  /// off where the level matters (channels x zero_level off a sum over channels).
  std::uint32_t zero_level = 0;
  std::uint64_t samples = 0;  ///< times in all files, counted from their sizes

  std::string source, telescope, machine, rawdatafile;
  int telescope_id = 0, machine_id = 0;   ///< sigproc's numbers; -1 where the format has none
  std::optional<double> ra_deg, dec_deg;  ///< J2000, where the file says it
  std::optional<double> azimuth_deg, zenith_angle_deg;
  std::optional<double> refdm;  ///< of a time series, pc cm^-3, as the file has it
  /// s MHz^2 per pc cm^-3: the constant that refdm goes with, where the format has one of its own.
  std::optional<double> refdm_constant;
  /// For series of several trials, a channel each: their DMs, as the file has them; else empty.
  std::vector<double> trial_dms;
  /// [trial] of a series, or of several: the longest delay in it, samples, where that is known: trials that differ by
  /// less than a pulse's width show the same pulse. Else empty.
  std::vector<std::uint64_t> trial_delays;
  /// Samples [first, end) of a series in which the highest frequency had no data, which were filled; or, where both are
  /// equal, a step of level. Sums that need a sample behind `first` begin a trial's delay earlier.
  struct SeriesBreak {
    std::uint64_t first = 0, end = 0;
    bool of_mean = true;  ///< of a step; false: the noise alone steps
    bool is_step() const { return first == end; }
  };
  std::vector<SeriesBreak>
      series_breaks;           ///< in order of time; none where the delays are not known
  bool whole_numbers = false;  ///< floats that are integers of 32 bits in the file
  bool barycentric = false;    ///< times were moved to the solar system's barycentre
  int beams = 0, beam = 0;     ///< nbeams, ibeam; 0 where not known

  double highest_mhz() const;  ///< centre of the highest channel: f_ref
  double lowest_mhz() const;
  /// The DM that has refdm's delays with the constant `dm_constant`; 0 without a refdm.
  double dm_with(double dm_constant) const {
    return refdm.value_or(0) * refdm_constant.value_or(dm_constant) / dm_constant;
  }
  /// The number of trials: one where trial_dms is empty.
  std::vector<double> dms_with(double dm_constant) const {
    if (trial_dms.empty()) return {dm_with(dm_constant)};
    std::vector<double> dms;
    for (const double dm : trial_dms)
      dms.push_back(dm * refdm_constant.value_or(dm_constant) / dm_constant);
    return dms;
  }
  /// Of delivered integers.
  std::uint32_t largest_value() const {
    return ((std::uint32_t{1} << std::min(bits, 16)) - 1) *
           static_cast<std::uint32_t>(std::max<std::size_t>(1, summed_ifs.size()));
  }
  std::size_t sample_bytes() const { return channels * bytes_of(delivered); }
  double duration_s() const { return static_cast<double>(samples) / rate_hz.value(); }
};

/// Not thread-safe: one thread reads at a time. Constructors throw Error(format) when a header
/// contradicts itself or its file and Error(io) when the system refuses. Memory is bounded whatever
/// the files' and the requests' sizes: a few MiB beside the destination.
class FilterbankReader {
 public:
  virtual ~FilterbankReader() = default;
  const FilterbankDescription& description() const { return description_; }
  /// At least one where there are samples; more where files, or rows of PSRFITS, leave gaps.
  const std::vector<DataSegment>& segments() const { return segments_; }
  /// In order of time.
  const std::vector<FileJoin>& joins() const { return joins_; }
  /// Writes samples [first_sample, first_sample + count) to `destination` (any alignment that its
  /// type wants) and returns how many: fewer at the end of the data and at the end of a segment,
  /// which a read never crosses; 0 behind the last sample. Any order of reads is allowed;
  /// ascending ones are fast. NaN and infinities of float data are delivered unchanged.
  /// Throws Error(config) when the destination is smaller than count x
  /// description().sample_bytes(), Error(io) when the system refuses.
  virtual std::size_t read(std::uint64_t first_sample, std::size_t count,
                           std::span<std::byte> destination) = 0;
  /// The same across ends of segments: fewer at the end of the data alone.
  std::size_t read_across(std::uint64_t first_sample, std::size_t count,
                          std::span<std::byte> destination);
  /// What was found so far: on opening, trailing bytes and odd headers; on reading, what a file
  /// that shrank no longer holds (delivered as zeros).
  virtual const Damage& damage() const { return damage_; }
  /// Not damage, but worth a line in the log: unknown keywords, IFs of unknown meaning, nsamples
  /// that contradicts the size.
  virtual const std::vector<std::string>& remarks() const { return remarks_; }
  void add_remark(std::string remark) { remarks_.push_back(std::move(remark)); }

 protected:
  /// `count` or, where that is less, `left`. Throws Error(config) when so many samples do not fit
  /// into the destination of a read.
  std::size_t limit_to(std::size_t count, std::uint64_t left,
                       std::span<const std::byte> destination) const;

  FilterbankDescription description_;
  std::vector<DataSegment> segments_;
  std::vector<FileJoin> joins_;
  Damage damage_;
  std::vector<std::string> remarks_;
};

struct FilterbankOptions {
  /// Which IFs to add up, from 0; empty: what the format (PSRFITS), or the record of `channelize` beside a sigproc
  /// file, says makes total intensity; else all.
  std::vector<std::size_t> ifs;
  /// Gives the reader of samples that are in no file (formats/memory); paths are then names for messages alone. None:
  /// the files'.
  std::function<std::unique_ptr<FilterbankReader>()> source = {};
};

/// Opens files of one observation, each told by its first bytes and its name: sigproc .fil and
/// .tim, PSRFITS search mode, PRESTO .dat (or its .inf). Several are ordered by start time: those
/// that follow each other to within half a sample make one segment, a gap starts another, and an
/// overlap is Error(format), as are files that disagree about what they hold.
std::unique_ptr<FilterbankReader> open_filterbank(const std::vector<std::string>& paths,
                                                  const FilterbankOptions& options = {});

/// Whether a file that begins with these bytes and has this name is one that open_filterbank reads.
bool recognise_filterbank(std::span<const std::byte> first_bytes, const std::string& name);

/// Whether a path is a folder of dedispersed series (.dat or .tim), which open_filterbank reads together.
bool is_folder_of_series(const std::string& path);

}  // namespace tautline::formats
