// PSRFITS search files made with cfitsio, apart from the code under test.
#pragma once

#include <fitsio.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace tautline::tests {

struct PsrfitsShape {
  int nchan = 4, npol = 1, nbits = 8, nsblk = 16, rows = 3;
  int signint = 0;
  bool tzero = false;  ///< 16-bit columns: unsigned by TZERO
  double zero_off = 0, tbin = 0.000512, fch1 = 1500, foff = -0.5;
  std::string pol_type = "AA+BB", obs_mode = "SEARCH";
  long nstot = 0, nsuboffs = 0;
  std::vector<double> row_middles_s;            ///< OFFS_SUB; empty: rows follow each other
  std::vector<float> weights, scales, offsets;  ///< of every row; empty: 1, 1, 0
  long wrong_data = 0, wrong_scales = 0;        ///< added to the columns' sizes
};

/// Codes are [time][polarisation][channel], all rows; packed here, first sample in the high bits.
inline void write_psrfits(const std::string& path, const PsrfitsShape& s,
                          const std::vector<double>& codes) {
  std::filesystem::remove(path);
  int status = 0;
  fitsfile* f = nullptr;
  const auto check = [&] {
    if (status == 0) return;
    char text[FLEN_STATUS];
    fits_get_errstatus(status, text);
    throw std::runtime_error(std::string("cfitsio: ") + text);
  };
  fits_create_diskfile(&f, path.c_str(), &status);
  check();
  fits_create_img(f, BYTE_IMG, 0, nullptr, &status);
  const auto text = [&](const char* key, std::string value) {
    fits_update_key(f, TSTRING, key, value.data(), nullptr, &status);
  };
  const auto integer = [&](const char* key, long value) {
    fits_update_key(f, TLONG, key, &value, nullptr, &status);
  };
  const auto real = [&](const char* key, double value) {
    fits_update_key(f, TDOUBLE, key, &value, nullptr, &status);
  };
  text("FITSTYPE", "PSRFITS");
  text("OBS_MODE", s.obs_mode);
  text("TELESCOP", "Parkes");
  text("BACKEND", "Medusa");
  text("SRC_NAME", "J0534+2200");
  text("RA", "05:34:31.900");
  text("DEC", "-22:00:52.000");
  integer("STT_IMJD", 58543);
  integer("STT_SMJD", 28543);
  real("STT_OFFS", 0.25);

  const long per_sample = static_cast<long>(s.nchan) * s.npol, samples = per_sample * s.nsblk;
  const long data = (s.nbits < 8 ? samples * s.nbits / 8 : samples) + s.wrong_data;
  const auto form = [](long count, char type) { return std::to_string(count) + type; };
  std::vector<std::string> names{"OFFS_SUB", "DAT_FREQ", "DAT_WTS", "DAT_OFFS", "DAT_SCL", "DATA"};
  std::vector<std::string> forms{"1D",
                                 form(s.nchan, 'D'),
                                 form(s.nchan, 'E'),
                                 form(per_sample, 'E'),
                                 form(per_sample + s.wrong_scales, 'E'),
                                 form(data, s.nbits == 32   ? 'E'
                                            : s.nbits == 16 ? 'I'
                                                            : 'B')};
  std::vector<char*> types, formats;
  for (auto& name : names) types.push_back(name.data());
  for (auto& one : forms) formats.push_back(one.data());
  fits_create_tbl(f, BINARY_TBL, s.rows, 6, types.data(), formats.data(), nullptr, "SUBINT",
                  &status);
  integer("NCHAN", s.nchan);
  integer("NPOL", s.npol);
  integer("NBITS", s.nbits);
  integer("NSBLK", s.nsblk);
  integer("SIGNINT", s.signint);
  integer("NSUBOFFS", s.nsuboffs);
  if (s.nstot > 0) integer("NSTOT", s.nstot);
  real("TBIN", s.tbin);
  real("ZERO_OFF", s.zero_off);
  text("POL_TYPE", s.pol_type);
  if (s.tzero) {
    real("TSCAL6", 1);
    real("TZERO6", 32768);
    fits_set_hdustruc(f, &status);
  }
  check();

  std::vector<double> frequencies;
  for (int c = 0; c < s.nchan; ++c) frequencies.push_back(s.fch1 + c * s.foff);
  for (int row = 0; row < s.rows; ++row) {
    double middle = s.row_middles_s.empty() ? (s.nsuboffs + row + 0.5) * s.nsblk * s.tbin
                                            : s.row_middles_s[static_cast<std::size_t>(row)];
    fits_write_col(f, TDOUBLE, 1, row + 1, 1, 1, &middle, &status);
    fits_write_col(f, TDOUBLE, 2, row + 1, 1, s.nchan, frequencies.data(), &status);
    auto weights = s.weights.empty() ? std::vector<float>(s.nchan, 1) : s.weights;
    auto scales = s.scales.empty() ? std::vector<float>(per_sample, 1) : s.scales;
    auto offsets = s.offsets.empty() ? std::vector<float>(per_sample, 0) : s.offsets;
    fits_write_col(f, TFLOAT, 3, row + 1, 1, s.nchan, weights.data(), &status);
    fits_write_col(f, TFLOAT, 4, row + 1, 1, per_sample, offsets.data(), &status);
    fits_write_col(f, TFLOAT, 5, row + 1, 1, per_sample, scales.data(), &status);
    const double* from = codes.data() + row * samples;
    if (s.nbits >= 16) {
      std::vector<double> values(from, from + samples);
      fits_write_col(f, TDOUBLE, 6, row + 1, 1, samples, values.data(), &status);
      check();
      continue;
    }
    std::vector<unsigned char> bytes(static_cast<std::size_t>(samples * s.nbits / 8), 0);
    const unsigned mask = (1U << s.nbits) - 1;
    for (long k = 0; k < samples; ++k) {
      const unsigned code = static_cast<unsigned>(static_cast<int>(from[k])) & mask;
      const long bit = k * s.nbits;
      bytes[static_cast<std::size_t>(bit / 8)] |=
          static_cast<unsigned char>(code << (8 - s.nbits - bit % 8));
    }
    fits_write_col(f, TBYTE, 6, row + 1, 1, static_cast<long>(bytes.size()), bytes.data(), &status);
    check();
  }
  fits_close_file(f, &status);
  check();
}

}  // namespace tautline::tests
