// The header of sigproc's files, read and written. docs/guide/formats.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tautline::formats::sigproc {

/// The header must end within this many bytes (a table of frequencies takes 20 bytes a channel).
inline constexpr std::size_t kMaxHeaderBytes = std::size_t{4} << 20;
inline constexpr int kFilterbank = 1, kTimeSeries = 2;  ///< data_type

/// The contents of the header. Units as in sigproc: MHz, seconds, MJD.
struct Header {
  std::string source_name = "unknown";
  std::string rawdatafile;
  int data_type = kFilterbank;
  std::size_t nchans = 1;
  std::size_t nifs = 1;
  int nbits = 32;          ///< 1, 2, 4, 8, 16, or 32: float
  bool is_signed = false;  ///< bytes are two's complement
  double fch1_mhz = 0;     ///< centre of the first channel
  double foff_mhz = 0;     ///< to the next channel, with its sign
  double tstart_mjd = 0;   ///< leading edge of the first sample
  double tsamp_s = 0;
  int machine_id = 0, telescope_id = 0;
  std::optional<double> src_raj, src_dej;  ///< packed hhmmss.s and ddmmss.s
  std::optional<double> az_start_deg, za_start_deg;
  std::optional<double> refdm;  ///< of a time series
  int barycentric = 0, pulsarcentric = 0;
  int nbeams = 0, ibeam = 0;
};

/// A header as it was found, with fields that only readers need.
struct ParsedHeader {
  Header header;
  std::vector<double> channel_mhz;       ///< FREQUENCY_START ... END; empty without
  std::optional<std::int64_t> nsamples;  ///< not used: the size of the file decides
  std::size_t header_bytes = 0;
  std::vector<std::string> remarks;  ///< unknown keywords and other oddities
};

/// Whether a file that begins with these bytes is sigproc's.
bool recognise(std::span<const std::byte> first_bytes);

/// `bytes` are the file's first ones, kMaxHeaderBytes of them or the whole file. The header does not give the length of
/// an unknown keyword's value: the value is skipped by a search for the next known keyword. Throws Error(format) naming
/// the keyword, its offset and what was expected.
ParsedHeader parse_header(std::span<const std::byte> bytes, const std::string& file);

/// Throws Error(config) naming the field.
std::vector<std::byte> format_header(const Header& header);

/// Packed hhmmss.s or ddmmss.s to degrees of its own unit (hours for src_raj), and back.
double unpack_sexagesimal(double packed);
double pack_sexagesimal(double value);

/// The names behind sigproc's numbers; empty where there is none.
std::string telescope_name(int telescope_id);
std::string machine_name(int machine_id);
/// The number of a telescope by its name, whatever its case; 0 where there is none.
int telescope_id(const std::string& name);

}  // namespace tautline::formats::sigproc
