// The record that `channelize` writes beside a file of spectra: facts that the file's format has no fields for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tautline/core/voltage.h"

namespace tautline::formats {

/// The object in PATH.json; null where there is no such file, or it holds no object. Throws Error(format) where it is no
/// JSON.
nlohmann::json record_beside(const std::string& path);
/// Whether a record is that of `channelize`.
bool is_of_channelize(const nlohmann::json& record);
/// Whether a record is that of voltages as they came, which a `buffer` or a `voltage_record` wrote.
bool is_of_recording(const nlohmann::json& record);
/// "PATH.json: of a file of 8 samples, expected 9: not used" where a record is of a file of fewer samples than PATH has,
/// and so not of PATH; else empty. `more`: that PATH may have.
std::string other_file_text(const nlohmann::json& record, const std::string& path,
                            std::uint64_t samples, std::uint64_t more = 0);
/// Whether invalid spectra are damage, by the record of `channelize`: samples were lost or not finite. Else inputs did
/// not change for a while.
bool of_damaged_input(const nlohmann::json& record);

/// The Stokes parameters of a file of power, as "IQUV", by the record beside it; empty where there is none.
std::string recorded_stokes(const std::string& path);

struct RecordedSpectra {
  std::vector<std::size_t> edge_channels;  ///< channels with both ends of a band, ascending
  std::uint64_t unchanging = 0;            ///< invalid spectra, times x inputs, that are no damage
  /// [channel][input] factors of the voltages before they were rounded; none: not rounded.
  std::vector<float> gains;
  int requantised_bits = 0;   ///< to which they were rounded; 0: not, or not recorded
  std::uint64_t clipped = 0;  ///< components, in rounding
};
/// By the record of a file PATH of `channels` channels and `inputs` inputs; nothing where it is none of channelize.
/// Throws Error(format) on a record that contradicts itself.
RecordedSpectra recorded_spectra(const nlohmann::json& record, const std::string& path,
                                 std::size_t channels, std::size_t inputs);

/// What `d` leaves open, by the record of PATH, a file or the spectra that packets bring; unchanged where it is none of channelize. Rates and frequencies
/// that differ from the record's stay, and are a remark in `assumed`. Throws Error(format) on a record that lacks some.
core::VoltageDescription with_record(const nlohmann::json& record, const std::string& path,
                                     core::VoltageDescription d);

}  // namespace tautline::formats
