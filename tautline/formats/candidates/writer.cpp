#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/error.h"
#include "tautline/core/field_text.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/presto/inf.h"

namespace tautline::formats::candidates {

namespace {

using core::Candidate;

// PRESTO's epochs have 15 decimals; 13 are 9 nanoseconds.
std::string to_mjd(const core::Instant& instant) {
  const std::string epoch = presto::format_epoch(instant);
  return epoch.substr(0, epoch.find('.') + 14);
}

core::Instant arrival(const Candidate& candidate, const SearchDescription& search) {
  return core::advance(search.start, static_cast<std::int64_t>(candidate.sample), search.rate_hz);
}

// A field of CSV, quoted where it must be.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

double width_s(const Candidate& candidate, const SearchDescription& search) {
  return static_cast<double>(candidate.width_samples) / search.rate_hz.value();
}

constexpr const char* kColumns =
    "snr,time_s,sample,width_samples,width_s,dm,dm_index,members,first_sample,last_sample,mjd,"
    "mjd_inf,f_ref_mhz,beam,file,filled";

std::string csv_row(const Candidate& c, const SearchDescription& search) {
  return fmt::format("{:.6g},{:.9f},{},{},{:.9g},{:.10g},{},{},{},{},{},{},{:.10g},{},{},{}", c.snr,
                     c.time_s, c.sample, c.width_samples, width_s(c, search), c.dm, c.dm_index,
                     c.members, c.first_sample, c.last_sample, mjd_text(c, search),
                     mjd_infinite_text(c, search), search.f_ref_mhz, c.beam, field(search.file),
                     c.filled ? fmt::format("{:.6g}", *c.filled) : "");
}

std::string heimdall_row(const Candidate& c) {
  return fmt::format("{:.6g}\t{}\t{:.9g}\t{}\t{}\t{:.10g}\t{}\t{}\t{}\n", c.snr, c.sample, c.time_s,
                     c.filter_index(), c.dm_index, c.dm, c.members, c.first_sample, c.last_sample);
}

std::string singlepulse_row(const Candidate& c, const SearchDescription& search) {
  return fmt::format("{:7.4f} {:7.2f} {:13.6f} {:10d}     {:3d}\n",
                     presto::presto_dm(c.dm, search.dm_constant), c.snr, c.time_s, c.sample,
                     c.width_samples);
}

bool brighter(const Candidate& a, const Candidate& b) {
  return a.snr > b.snr;
}
bool lower_dm(const Candidate& a, const Candidate& b) {
  return a.dm != b.dm ? a.dm < b.dm : a.sample < b.sample;
}

// The heading, and a row of each candidate in that order, in pieces.
template <class Row>
void write_rows(const TextSink& sink, std::string text, std::span<const Candidate> candidates,
                bool (*before)(const Candidate&, const Candidate&), const Row& row) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  std::vector<const Candidate*> sorted;
  sorted.reserve(candidates.size());
  for (const Candidate& c : candidates) sorted.push_back(&c);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Candidate* a, const Candidate* b) { return before(*a, *b); });
  for (const Candidate* c : sorted) {
    text += row(*c);
    if (text.size() < kPieceBytes) continue;
    sink(text);
    text.clear();
  }
  sink(text);
}

constexpr double kYourConstant = 4148.808;

// The columns that your_candmaker.py reads; it needs no mask.
std::string your_row(const Candidate& c, const SearchDescription& search) {
  const YourCandidate y = as_your(c, search);
  return fmt::format("{},{:.6g},{:.9f},{},{:.10g},0,,{}\n", field(search.file), y.snr, y.time_s,
                     y.width_octaves, y.dm, search.files);
}

constexpr const char* kYourColumns = "file,snr,stime,width,dm,label,chan_mask_path,num_files\n";

}  // namespace

YourCandidate as_your(const Candidate& c, const SearchDescription& search) {
  const double dm = search.dm_constant > 0 ? c.dm * search.dm_constant / kYourConstant : c.dm;
  using core::text::read_number;
  return {read_number(fmt::format("{:.6g}", c.snr)), read_number(fmt::format("{:.9f}", c.time_s)),
          read_number(fmt::format("{:.10g}", dm)), c.filter_index()};
}

std::string your_id(const YourCandidate& candidate, double tstart_mjd) {
  return fmt::format("cand_tstart_{:.12f}_tcand_{:.7f}_dm_{:.5f}_snr_{:.5f}", tstart_mjd,
                     candidate.time_s, candidate.dm, candidate.snr);
}

Format format_of(const std::string& path) {
  if (path.ends_with(".your.csv")) return Format::your;
  if (path.ends_with(".csv")) return Format::csv;
  if (path.ends_with(".cand")) return Format::heimdall;
  if (path.ends_with(".singlepulse")) return Format::presto;
  throw core::Error(core::ErrorKind::config, "output", path,
                    "a name that ends with .csv, .cand (heimdall), .singlepulse (PRESTO) or "
                    ".your.csv (your)");
}

std::string mjd_text(const Candidate& candidate, const SearchDescription& search) {
  return to_mjd(arrival(candidate, search));
}

std::string mjd_infinite_text(const Candidate& candidate, const SearchDescription& search) {
  const core::Instant at_reference = arrival(candidate, search);
  const double delay_s = search.f_ref_mhz > 0 ? search.dm_constant * candidate.dm /
                                                    (search.f_ref_mhz * search.f_ref_mhz)
                                              : 0;
  // In nanoseconds: an exact clock for a number that is good to less; up to 285 years.
  const auto nanoseconds =
      static_cast<std::int64_t>(std::nearbyint(std::clamp(delay_s * 1e9, -9e18, 9e18)));
  return to_mjd(core::advance(at_reference, -nanoseconds, {1'000'000'000, 1}));
}

void write_text(Format format, std::span<const Candidate> candidates,
                const SearchDescription& search, const TextSink& sink) {
  const auto write = [&](const std::string& heading, auto before, const auto& row) {
    write_rows(sink, heading, candidates, before, row);
  };
  switch (format) {
    case Format::csv:
      return write(fmt::format("{}{}\n", kColumns, search.injections ? ",injected" : ""), brighter,
                   [&](const Candidate& c) {
                     return csv_row(c, search) +
                            (search.injections ? c.injected ? ",1\n" : ",0\n" : "\n");
                   });
    case Format::heimdall:
      return write("", brighter, heimdall_row);
    case Format::your:
      return write(kYourColumns, brighter, [&](const Candidate& c) { return your_row(c, search); });
    case Format::presto:
      return write("# DM      Sigma      Time (s)     Sample    Downfact\n", lower_dm,
                   [&](const Candidate& c) { return singlepulse_row(c, search); });
  }
}

void write_beams_text(Format format, std::span<const Candidate> candidates,
                      std::span<const SearchDescription> searches, std::size_t most_beams,
                      const TextSink& sink) {
  if (format == Format::your)
    return write_rows(sink, kYourColumns, candidates, brighter,
                      [&](const Candidate& c) { return your_row(c, searches[c.beam]); });
  if (format != Format::csv)
    throw core::Error(core::ErrorKind::config, "output", "a list without a column for the beam",
                      "a name that ends with .csv", "`beams` needs it");
  write_rows(sink, fmt::format("{},beams,in_many_beams\n", kColumns), candidates, brighter,
             [&](const Candidate& c) {
               return fmt::format("{},{},{}\n", csv_row(c, searches[c.beam]), c.beams,
                                  c.beams > most_beams ? 1 : 0);
             });
}

std::string to_text(Format format, std::span<const Candidate> candidates,
                    const SearchDescription& search) {
  std::string text;
  write_text(format, candidates, search, [&](std::string_view piece) { text += piece; });
  return text;
}

std::string beams_to_text(Format format, std::span<const Candidate> candidates,
                          std::span<const SearchDescription> searches, std::size_t most_beams) {
  std::string text;
  write_beams_text(format, candidates, searches, most_beams,
                   [&](std::string_view piece) { text += piece; });
  return text;
}

std::string table(std::span<const Candidate> candidates, std::size_t most, bool of_beams) {
  if (candidates.empty() || most == 0) return "";
  std::string text =
      fmt::format("  {:>8} {:>14} {:>10} {:>8} {:>8}{}\n", "S/N", "time (s)", "DM", "width",
                  "members", of_beams ? fmt::format(" {:>6} {:>6}", "beam", "beams") : "");
  for (const Candidate& c : candidates.first(std::min(most, candidates.size())))
    text += fmt::format("  {:8.2f} {:14.6f} {:10.3f} {:8} {:8}{}{}\n", c.snr, c.time_s, c.dm,
                        c.width_samples, c.members,
                        of_beams ? fmt::format(" {:6} {:6}", c.beam, c.beams) : "",
                        c.injected ? "  injected" : "");
  return candidates.size() > most ? text + "  ...\n" : text;
}

void write(const std::string& path, std::span<const Candidate> candidates,
           const SearchDescription& search, bool overwrite) {
  const Format format = format_of(path);
  PartialFile file(path, overwrite);
  file.write(to_text(format, candidates, search));
  file.finish();
}

}  // namespace tautline::formats::candidates
