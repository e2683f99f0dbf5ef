#include "tautline/formats/psrfits/geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/exact_double.h"
#include "tautline/formats/text.h"

namespace tautline::formats::psrfits {

namespace {

constexpr std::int64_t kMostChannels = 1 << 20, kMostPolarisations = 64;

// The value of a key that must be there, within its limits.
template <class T>
T limited(FitsTable& table, const char* key, const std::optional<T>& value, T lowest, T highest) {
  if (!value || !(*value >= lowest && *value <= highest))
    throw table.wrong(fmt::format("key {}", key), value ? fmt::format("{}", *value) : "absent",
                      fmt::format("{} to {}", lowest, highest));
  return *value;
}

std::int64_t needed(FitsTable& table, const char* key, std::int64_t lowest, std::int64_t highest) {
  return limited(table, key, table.integer(key), lowest, highest);
}

double needed_number(FitsTable& table, const char* key, double lowest, double highest) {
  return limited(table, key, table.number(key), lowest, highest);
}

core::Instant read_primary(FitsTable& table, FilterbankDescription& d) {
  const std::string mode = table.text("OBS_MODE");
  if (!mode.empty() && mode != "SEARCH" && mode != "SRCH")
    throw core::Error(core::ErrorKind::unsupported, table.path() + ": key OBS_MODE", mode, "SEARCH",
                      "folded data are not read");
  d.telescope = table.text("TELESCOP");
  d.machine = table.text("BACKEND");
  d.source = table.text("SRC_NAME");
  d.ra_deg = sexagesimal(table.text("RA"), 15);
  d.dec_deg = sexagesimal(table.text("DEC"), 1);
  d.telescope_id = d.machine_id = -1;
  d.beam =
      static_cast<int>(std::clamp<std::int64_t>(table.integer("IBEAM").value_or(0), 0, 1 << 20));
  constexpr std::int64_t kLastDay = 10'000'000;
  const std::int64_t day = needed(table, "STT_IMJD", 0, kLastDay);
  const double second = needed_number(table, "STT_SMJD", 0, 86'400);
  const double fraction = table.number("STT_OFFS").value_or(0);
  if (!(std::abs(fraction) <= 86'400))
    throw table.wrong("key STT_OFFS", fmt::format("{}", fraction), "seconds, below a day");
  // The whole second and the rest apart keep the rest's digits.
  const core::Instant whole = core::instant_of_mjd(day, second);
  const core::Instant part = core::instant_of_mjd(40587, fraction);
  core::Instant start =
      core::advance(whole, part.fraction_numerator, {part.fraction_denominator, 1});
  start.seconds += part.seconds;
  return start;
}

void read_shape(FitsTable& table, Geometry& g) {
  FilterbankDescription& d = g.description;
  d.format = "PSRFITS";
  d.channels = static_cast<std::size_t>(needed(table, "NCHAN", 1, kMostChannels));
  g.polarisations = static_cast<std::size_t>(needed(table, "NPOL", 1, kMostPolarisations));
  d.ifs = g.polarisations;
  g.row_samples = static_cast<std::uint64_t>(needed(table, "NSBLK", 1, 1LL << 32));
  d.bits = static_cast<int>(needed(table, "NBITS", 1, 32));
  const bool known =
      d.bits == 1 || d.bits == 2 || d.bits == 4 || d.bits == 8 || d.bits == 16 || d.bits == 32;
  if (!known) throw table.wrong("key NBITS", std::to_string(d.bits), "1, 2, 4, 8, 16 or 32");
  d.tsamp_s = needed_number(table, "TBIN", 1e-15, 1e9);
  const core::Rational tsamp = core::simplest_ratio(d.tsamp_s);
  d.rate_hz = {tsamp.denominator, tsamp.numerator};
  d.is_signed = d.bits < 32 && table.integer("SIGNINT").value_or(0) != 0;
  g.zero_off = table.number("ZERO_OFF").value_or(0);
  if (!std::isfinite(g.zero_off))
    throw table.wrong("key ZERO_OFF", fmt::format("{}", g.zero_off), "a number");
}

// The columns, each of the size that the keys say.
void read_columns(FitsTable& table, Geometry& g) {
  const FilterbankDescription& d = g.description;
  Columns& c = g.columns;
  c.data = table.column("DATA");
  c.frequencies = table.column("DAT_FREQ");
  c.weights = table.column("DAT_WTS");
  c.offsets = table.column("DAT_OFFS");
  c.scales = table.column("DAT_SCL");
  c.row_middles = table.column("OFFS_SUB");
  const auto check = [&](const FitsTable::Column& column, const char* name,
                         std::uint64_t elements) {
    if (column && column.elements != elements)
      throw table.wrong(fmt::format("column {}", name),
                        fmt::format("{} elements in a row", column.elements),
                        fmt::format("{}, as NCHAN, NPOL, NSBLK and NBITS say", elements),
                        "the table contradicts itself");
  };
  if (!c.data || !c.frequencies)
    throw table.wrong(fmt::format("column {}", c.data ? "DAT_FREQ" : "DATA"), "absent", "a column",
                      "this is no PSRFITS search-mode file");
  const char type = d.bits == 32 ? 'E' : d.bits == 16 ? 'I' : 'B';
  if (c.data.type != type)
    throw table.wrong("type of column DATA", std::string(1, static_cast<char>(c.data.type)),
                      fmt::format("{} for {} bits", type, d.bits));
  const std::uint64_t row_values = g.row_samples * g.values_per_sample();
  if (d.bits < 8 && row_values * static_cast<std::uint64_t>(d.bits) % 8 != 0)
    throw table.wrong("NSBLK", std::to_string(g.row_samples), "rows of whole bytes");
  check(c.data, "DATA",
        d.bits < 8 ? row_values * static_cast<std::uint64_t>(d.bits) / 8 : row_values);
  check(c.frequencies, "DAT_FREQ", d.channels);
  check(c.weights, "DAT_WTS", d.channels);
  check(c.offsets, "DAT_OFFS", g.values_per_sample());
  check(c.scales, "DAT_SCL", g.values_per_sample());
  check(c.row_middles, "OFFS_SUB", 1);
}

void set_sign(FitsTable& table, Geometry& g) {
  FilterbankDescription& d = g.description;
  const FitsTable::Column& data = g.columns.data;
  constexpr double kHalf = 32768;
  if (data.scale != 1 || (data.zero != 0 && !(d.bits == 16 && data.zero == kHalf)))
    throw core::Error(core::ErrorKind::unsupported,
                      table.path() + ": TSCAL and TZERO of column DATA",
                      fmt::format("{} and {}", data.scale, data.zero), "1 and 0");
  // FITS stores 16-bit integers signed, and unsigned ones moved by TZERO.
  g.offset_binary = d.bits == 16 && data.zero == kHalf;
  if (d.bits == 16) d.is_signed = !g.offset_binary;
}

void read_frequencies(FitsTable& table, Geometry& g) {
  FilterbankDescription& d = g.description;
  d.channel_mhz.resize(d.channels);
  table.read(g.columns.frequencies, 0, 0, d.channel_mhz);
  for (const double mhz : d.channel_mhz)
    if (!(mhz > 0 && mhz < 1e9))
      throw table.wrong("column DAT_FREQ", fmt::format("{}", mhz), "a positive number of MHz");
  d.fch1_mhz = d.channel_mhz.front();
  if (d.channels == 1) {
    d.foff_mhz = table.number("CHAN_BW").value_or(0);
    return;
  }
  d.foff_mhz = (d.channel_mhz.back() - d.fch1_mhz) / static_cast<double>(d.channels - 1);
  if (d.foff_mhz == 0)
    throw table.wrong("column DAT_FREQ", "channels of one frequency", "frequencies that differ");
  // A hundredth of a channel: some writers keep frequencies in single precision.
  for (std::size_t c = 0; c < d.channels; ++c)
    if (std::abs(d.channel_mhz[c] - d.fch1_mhz - static_cast<double>(c) * d.foff_mhz) >
        std::abs(d.foff_mhz) / 100)
      d.evenly_spaced = false;
}

// The polarisations that add up to total intensity.
void choose_polarisations(FitsTable& table, Geometry& g, const FilterbankOptions& options) {
  FilterbankDescription& d = g.description;
  const std::string type = table.text("POL_TYPE");
  d.summed_ifs = options.ifs;
  for (const std::size_t k : options.ifs)
    if (k >= g.polarisations)
      throw core::Error(core::ErrorKind::config, table.path() + ": polarisation", std::to_string(k),
                        fmt::format("0 to {}, those of the file", g.polarisations - 1));
  if (!d.summed_ifs.empty()) return;
  const bool sum = type.starts_with("AABB") && g.polarisations >= 2;
  const bool first = g.polarisations == 1 || type.starts_with("IQUV") ||
                     type.starts_with("STOKE") || type.starts_with("INTEN") ||
                     type.starts_with("AA+BB");
  d.summed_ifs = sum || (!first && g.polarisations >= 2) ? std::vector<std::size_t>{0, 1}
                                                         : std::vector<std::size_t>{0};
  if (!sum && !first)
    g.remarks.push_back(
        fmt::format("{}: POL_TYPE '{}' of {} polarisations is not known: the first "
                    "two are added up",
                    table.path(), type, g.polarisations));
}

void count_rows(FitsTable& table, Geometry& g, std::uint64_t file_bytes) {
  const std::uint64_t promised = table.rows(), row_bytes = table.row_bytes();
  const std::uint64_t offset = table.data_offset_bytes();
  // cfitsio reads whole blocks only: a row that ends in a block which was cut is lost with it.
  constexpr std::uint64_t kBlockBytes = 2880;
  const std::uint64_t end = file_bytes / kBlockBytes * kBlockBytes;
  const std::uint64_t held = end > offset && row_bytes > 0 ? (end - offset) / row_bytes : 0;
  g.rows = std::min(promised, held);
  g.last_row_samples = g.row_samples;
  if (held < promised) {
    g.damage.lost_samples = (promised - held) * g.row_samples;
    g.damage.trailing_bytes = file_bytes > offset ? file_bytes - offset - held * row_bytes : 0;
    g.damage.note(fmt::format("{}: cut short, byte {}: {} whole rows, expected {}; they are used",
                              table.path(), offset + held * row_bytes, held, promised));
    return;
  }
  // The last row may be filled in part.
  const auto total = table.integer("NSTOT");
  const std::uint64_t all = g.rows * g.row_samples;
  if (total && *total > 0 && static_cast<std::uint64_t>(*total) <= all &&
      static_cast<std::uint64_t>(*total) + g.row_samples > all)
    g.last_row_samples = g.row_samples - (all - static_cast<std::uint64_t>(*total));
}

// The samples from the start of the file to each row's first one, as OFFS_SUB says; empty when that
// column is absent, constant or contradicts itself.
std::vector<double> row_starts(FitsTable& table, Geometry& g) {
  const double tsamp_s = g.description.tsamp_s;
  if (!g.columns.row_middles || g.rows == 0) return {};
  std::vector<double> starts(g.rows);
  for (std::uint64_t row = 0; row < g.rows; ++row) {
    double middle_s = 0;
    table.read(g.columns.row_middles, row, 0, std::span(&middle_s, 1));
    starts[row] = middle_s / tsamp_s - static_cast<double>(g.row_samples) / 2;
  }
  const double first_row = static_cast<double>(g.row_samples);
  bool good = starts[0] > -0.5 && starts[0] < 1e15;
  for (std::uint64_t row = 1; row < g.rows && good; ++row)
    good = starts[row] - starts[row - 1] > first_row - 0.5 && starts[row] < 1e15;
  if (good) return starts;
  g.remarks.push_back(
      fmt::format("{}: column OFFS_SUB contradicts NSBLK and TBIN: rows are taken as "
                  "following each other",
                  table.path()));
  return {};
}

void lay_out(FitsTable& table, Geometry& g, const core::Instant& start) {
  FilterbankDescription& d = g.description;
  const std::vector<double> starts = row_starts(table, g);
  double skipped = static_cast<double>(table.integer("NSUBOFFS").value_or(0)) *
                   static_cast<double>(g.row_samples);
  if (!starts.empty()) skipped = starts[0];
  if (!(std::abs(skipped) < 1e15)) skipped = 0;
  const auto first = static_cast<std::int64_t>(std::nearbyint(skipped));
  d.start = core::advance(start, first, d.rate_hz);
  d.tstart_mjd = core::modified_julian_date(d.start);
  d.samples = g.rows == 0 ? 0 : (g.rows - 1) * g.row_samples + g.last_row_samples;
  if (g.rows == 0) return;
  g.segments.push_back({0, 0, d.start, 0});
  for (std::uint64_t row = 0; row < g.rows; ++row) {
    const std::uint64_t samples = row + 1 == g.rows ? g.last_row_samples : g.row_samples;
    DataSegment& last = g.segments.back();
    if (!starts.empty()) {
      // Against the segment's beginning, so that roundings do not add up.
      const double step =
          starts[row] - skipped - static_cast<double>(last.grid_sample + last.samples);
      if (step > 0.5) {
        const auto grid = static_cast<std::uint64_t>(std::nearbyint(starts[row] - skipped));
        g.segments.push_back({row * g.row_samples, samples,
                              core::advance(d.start, static_cast<std::int64_t>(grid), d.rate_hz),
                              grid});
        continue;
      }
    }
    last.samples += samples;
  }
}

}  // namespace

Geometry read_geometry(FitsTable& table, std::uint64_t file_bytes,
                       const FilterbankOptions& options) {
  Geometry g;
  const core::Instant start = read_primary(table, g.description);
  table.move_to("SUBINT");
  read_shape(table, g);
  read_columns(table, g);
  set_sign(table, g);
  choose_polarisations(table, g, options);
  count_rows(table, g, file_bytes);
  if (g.rows > 0)
    read_frequencies(table, g);
  else
    throw table.wrong("rows of table SUBINT", "none that is whole", "one or more",
                      "check that the file was written completely");
  lay_out(table, g, start);
  return g;
}

}  // namespace tautline::formats::psrfits
