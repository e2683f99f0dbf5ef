// Complex float transforms on the host: FFTW opened at run time, else KissFFT.
#pragma once

#include <cstddef>
#include <memory>

#include "tautline/device/device.h"

namespace tautline::device::cpu {

/// FFTW (FFTW_ESTIMATE, so that runs repeat) when libfftw3f.so.3 can be opened, else KissFFT.
/// `allow_fftw` false takes KissFFT always; TAUTLINE_FFT=kissfft in the environment does the same.
std::shared_ptr<const FftPlan> make_fft(std::size_t length, std::size_t batch,
                                        bool allow_fftw = true);

/// Whether FFTW can be opened here.
bool fftw_available();

}  // namespace tautline::device::cpu
