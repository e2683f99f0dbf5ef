// A plain discrete Fourier transform in double precision, for the reference.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace tautline::stages::channelize {

/// X[k] = sum over n of x[n] exp(-2 pi i k n / length), split by the prime factors of the length,
/// which makes references of large banks affordable. Tests compare it with the sum.
class ReferenceTransform {
 public:
  explicit ReferenceTransform(std::size_t length);
  /// `scratch` has `length` values; `in`, `out` and `scratch` do not overlap.
  void run(const std::complex<double>* in, std::complex<double>* out,
           std::complex<double>* scratch) const;
  /// exp(-2 pi i power / length)
  std::complex<double> root(std::size_t power) const { return roots_[power % roots_.size()]; }

 private:
  void run(const std::complex<double>* in, std::size_t stride, std::complex<double>* out,
           std::size_t length, std::complex<double>* scratch) const;
  std::vector<std::complex<double>> roots_;
};

}  // namespace tautline::stages::channelize
