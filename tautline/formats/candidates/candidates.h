// Lists of pulse candidates as files: tautline's CSV, heimdall's .cand, PRESTO's .singlepulse and the
// CSV of `your`.
// docs/guide/formats.md has the columns.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tautline/core/candidate.h"
#include "tautline/core/time.h"

namespace tautline::formats::candidates {

enum class Format { csv, heimdall, presto, your };

/// By the ending: .your.csv, .csv, .cand or .singlepulse. Throws Error(config) on others.
Format format_of(const std::string& path);

/// The common properties of all candidates of a search.
struct SearchDescription {
  core::Instant start;      ///< leading edge of sample 0
  core::Rational rate_hz;   ///< samples a second
  double f_ref_mhz = 0;     ///< centre of the highest channel: times are those of this frequency
  double dm_constant = 0;   ///< s MHz^2 per pc cm^-3
  std::string file;         ///< that was searched
  std::size_t files = 1;    ///< consecutive ones, of which `file` is the first
  bool injections = false;  ///< a .csv has the column `injected`; other formats have none
};

/// The list as text, best (highest S/N) first; PRESTO's by DM and time, as its readers expect. DMs
/// are multiplied by dm_constant / PRESTO's for PRESTO, and so for `your`, whose widths are rounded
/// powers of two. Samples of PRESTO's are the boxcar's middle.
std::string to_text(Format format, std::span<const core::Candidate> candidates,
                    const SearchDescription& search);

/// The list of several beams: Candidate::beam is a place in `searches`. CSV, with two more
/// columns: `beams`, and `in_many_beams`, which is 1 where these are more than `most_beams`. Throws
/// Error(config) for heimdall's and PRESTO's, which have no column for the beam; that of `your` has the
/// file.
std::string beams_to_text(Format format, std::span<const core::Candidate> candidates,
                          std::span<const SearchDescription> searches, std::size_t most_beams);

/// The same texts, handed on in pieces of about a mebibyte.
using TextSink = std::function<void(std::string_view)>;
void write_text(Format format, std::span<const core::Candidate> candidates,
                const SearchDescription& search, const TextSink& sink);
void write_beams_text(Format format, std::span<const core::Candidate> candidates,
                      std::span<const SearchDescription> searches, std::size_t most_beams,
                      const TextSink& sink);

/// The first `most` candidates as a table: a heading and a line each, `...` where there are more. Empty for none.
/// `of_beams`: with the beam of each, and in how many it was seen.
std::string table(std::span<const core::Candidate> candidates, std::size_t most,
                  bool of_beams = false);

/// A line of the list of `your`, its numbers as read from the text.
struct YourCandidate {
  double snr = 0, time_s = 0, dm = 0;
  int width_octaves = 0;  ///< the width is 2^this samples
};
YourCandidate as_your(const core::Candidate& candidate, const SearchDescription& search);
/// "cand_tstart_58543.330387241345_tcand_1.0000000_dm_50.00000_snr_20.00000": what `your` calls a
/// candidate, and its file.
std::string your_id(const YourCandidate& candidate, double tstart_mjd);

/// Writes PATH.partial and renames it. Throws Error(config) on an unknown ending, Error(io).
void write(const std::string& path, std::span<const core::Candidate> candidates,
           const SearchDescription& search, bool overwrite);

/// Whether a file of this name, and of these first bytes, is such a list, or lines of JSON as `search --events` and
/// `search --json` give them. Correlation curves are .csv too: with comments first, tabs between numbers, or few columns.
bool recognise(const std::string& path);

/// Reads any of these; a .csv by its first line, with or without the column `filled`, JSON by its first byte. Fields
/// that a format lacks stay at their defaults: the widths of heimdall and `your` are powers of two, PRESTO's candidates
/// have no DM index, members and cluster. DMs are as the file has them. Throws Error(format) naming the line.
std::vector<core::Candidate> read(const std::string& path);

/// The name of the file that was searched, of the first line of a .csv, or of the CSV of `your`; empty where none is
/// named.
std::string searched_file(const std::string& path);

/// The arrival time of a candidate in MJD UTC with 13 decimals (9 ns): at f_ref, and at infinite
/// frequency, k DM / f_ref^2 earlier.
std::string mjd_text(const core::Candidate& candidate, const SearchDescription& search);
std::string mjd_infinite_text(const core::Candidate& candidate, const SearchDescription& search);

}  // namespace tautline::formats::candidates
