// The interface of every reader of photon time tags: a described stream of photons, block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {

/// One detected photon. `time` never decreases along a stream.
struct Photon {
  std::uint64_t time = 0;     ///< in units of PhotonDescription::time_unit_s, overflows counted in
  std::uint16_t channel = 0;  ///< the detector, as its record numbers it
  std::uint16_t microtime = 0;  ///< T3: since the sync pulse, in units of microtime_unit_s; T2: 0
};

/// The detector that stands for the sync input of a HydraHarp or a later instrument in T2 mode, which has no number of
/// its own there.
inline constexpr std::uint16_t kSyncChannel = 63;

/// T2: every tag is an absolute time. T3: a count of sync pulses and a time since the last one.
enum class TagMode { t2, t3 };

struct PhotonDescription {
  std::string format;       ///< "PTU", "PT3", "SPC", "Photon-HDF5"
  std::string record_type;  ///< "HydraHarp v2 T3"
  TagMode mode = TagMode::t3;
  double time_unit_s = 0;        ///< T2: of a tag; T3: the sync period
  double microtime_unit_s = 0;   ///< T3: of Photon::microtime; T2: 0
  std::uint32_t microtimes = 0;  ///< T3: how many values a microtime has; T2: 0
  /// Path of the file that has the unit of microtimes, where it is missing.
  std::string missing_settings;
  /// T3: the unit of time is a clock's, and not the period of the sync pulses.
  bool macro_clock = false;
  double sync_rate_hz = 0;           ///< as the header has it; 0: not said
  std::vector<double> rates_hz;      ///< counts a second of each input, as the header has them
  std::uint64_t records = 0;         ///< in the file: photons, markers and overflows
  std::uint64_t stated_records = 0;  ///< as the header has it; 0: not said
  double acquisition_s = 0;          ///< the run's length, as the header has it; 0: not said
  std::uint32_t channels = 0;  ///< detectors of the instrument, as the header has them; 0: not said
  std::string instrument, software, comment, created;
};

/// A place in a stream where records were lost: the time between the photons on either side is not known. Units as
/// Photon::time.
struct TagBreak {
  std::uint64_t before = 0, after = 0;  ///< the last photon before it and the first one behind it
};

/// Counts of the records read so far.
struct TagCounts {
  std::uint64_t records = 0;
  std::uint64_t photons = 0;            ///< delivered
  std::uint64_t markers = 0;            ///< of lines, frames and other events: not photons
  std::uint64_t overflow_records = 0;   ///< they extend the clock
  std::uint64_t unknown_records = 0;    ///< of no kind that the record type has, or never written
  std::uint64_t backwards = 0;          ///< photons earlier than the one before: left out
  std::uint64_t missing_overflows = 0;  ///< the clock was set forward where an overflow was missing
  std::uint64_t last_time = 0;          ///< of the last photon
  /// The least time that the clock reached, by photons, overflows and markers.
  std::uint64_t last_clock = 0;
};

/// The photons of each detector that has any, in order of channel.
struct DetectorCount {
  std::uint16_t channel = 0;
  std::uint64_t photons = 0;
};

/// The contents of a stream without microtimes, where they are known.
struct KnownPhotons {
  std::vector<DetectorCount> detectors;
  std::uint64_t last_time = 0;                        ///< of the last photon
  std::vector<std::span<const std::uint64_t>> times;  ///< [detector] of its photons, ascending
};

/// Not thread-safe: one thread reads at a time. Constructors throw Error(format) when a header
/// contradicts itself and Error(io) when the system refuses. Memory: one block of records.
class PhotonReader {
 public:
  virtual ~PhotonReader() = default;
  virtual const PhotonDescription& description() const = 0;
  /// Fills the front of `photons` and returns how many; 0 at the end, or where a stream pauses.
  virtual std::size_t read(std::span<Photon> photons) = 0;
  /// After read() has given 0: whether no more can come. False of streams that pause.
  virtual bool ended() const { return true; }
  /// Where it is known without reading; empty where it is not.
  virtual std::optional<KnownPhotons> known() const { return {}; }
  /// Back to the first record; counts and damage of the stream start again.
  virtual void rewind() = 0;
  virtual const TagCounts& counts() const = 0;
  /// So far, in order.
  virtual std::span<const TagBreak> breaks() const { return {}; }
  /// lost_samples counts unknown records, dropped_samples the photons left out.
  virtual const Damage& damage() const = 0;
};

/// Reads the whole stream from its first record on, and rewinds it.
std::vector<DetectorCount> count_detectors(PhotonReader& reader);

/// Whether a file that begins with these bytes and has this name holds photon time tags.
bool recognise_photons(std::span<const std::byte> first_bytes, const std::string& name);

/// Opens a file of time tags, told by its first bytes or, where the format has no mark, its name. Throws Error(format)
/// on others.
std::unique_ptr<PhotonReader> open_photons(const std::string& path);

}  // namespace tautline::formats
