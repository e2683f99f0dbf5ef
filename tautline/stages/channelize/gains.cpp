// Gains for requantisation, measured on spectra already in hand.
#include <fmt/format.h>

#include <cmath>

#include "tautline/core/error.h"
#include "tautline/stages/channelize/channelize.h"

namespace tautline::stages::channelize {

namespace {

void check(const core::View<const std::complex<float>, 3>& spectra,
           const core::ValidityView& validity, double target, const core::View<float, 2>& gains) {
  if (!(target > 0))
    throw core::Error(core::ErrorKind::config, "target", fmt::format("{}", target), "more than 0");
  if (gains.extent(0) != spectra.extent(0) || gains.extent(1) != spectra.extent(1))
    throw core::Error(core::ErrorKind::config, "gains",
                      fmt::format("[{}][{}]", gains.extent(0), gains.extent(1)),
                      fmt::format("[{}][{}]", spectra.extent(0), spectra.extent(1)));
  if (validity.data() != nullptr && (validity.extent(0) != spectra.extent(1) ||
                                     validity.extent(1) < core::validity_words(spectra.extent(2))))
    throw core::Error(
        core::ErrorKind::config, "validity",
        fmt::format("[{}][{}]", validity.extent(0), validity.extent(1)),
        fmt::format("[{}][{}]", spectra.extent(1), core::validity_words(spectra.extent(2))));
}

}  // namespace

// gain = target / sqrt(mean of |y|^2 / 2): the rms of one component becomes the target.
void measure_gains(const core::View<const std::complex<float>, 3>& spectra,
                   const core::ValidityView& validity, double target,
                   const core::View<float, 2>& gains) {
  check(spectra, validity, target, gains);
  for (std::size_t c = 0; c < spectra.extent(0); ++c) {
    for (std::size_t i = 0; i < spectra.extent(1); ++i) {
      const std::uint64_t* bits = validity.data() == nullptr ? nullptr : validity.row(i);
      double power = 0;
      std::uint64_t count = 0;
      for (std::size_t t = 0; t < spectra.extent(2); ++t) {
        if (bits != nullptr && (bits[t / 64] >> (t % 64) & 1) == 0) continue;
        power += std::norm(std::complex<double>(spectra(c, i, t)));
        ++count;
      }
      const bool usable = power > 0 && std::isfinite(power);
      gains(c, i) =
          usable ? static_cast<float>(target / std::sqrt(power / (2 * static_cast<double>(count))))
                 : 1.0f;
    }
  }
}

}  // namespace tautline::stages::channelize
