#include "tautline/stages/channelize/reference_transform.h"

#include <numbers>

namespace tautline::stages::channelize {

namespace {

std::size_t smallest_factor(std::size_t n) {
  for (std::size_t f = 2; f * f <= n; ++f)
    if (n % f == 0) return f;
  return n;
}

}  // namespace

ReferenceTransform::ReferenceTransform(std::size_t length) : roots_(length) {
  for (std::size_t j = 0; j < length; ++j)
    roots_[j] = std::polar(
        1.0, -2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(length));
}

void ReferenceTransform::run(const std::complex<double>* in, std::complex<double>* out,
                             std::complex<double>* scratch) const {
  run(in, 1, out, roots_.size(), scratch);
}

// With f the smallest factor of n and m = n / f:
//   X[k + q m] = sum over r < f of exp(-2 pi i r (k + q m) / n) X_r[k], X_r of x[r], x[r + f], ...
void ReferenceTransform::run(const std::complex<double>* in, std::size_t stride,
                             std::complex<double>* out, std::size_t length,
                             std::complex<double>* scratch) const {
  if (length == 1) {
    *out = *in;
    return;
  }
  const std::size_t factor = smallest_factor(length), part = length / factor;
  for (std::size_t r = 0; r < factor; ++r)
    run(in + r * stride, stride * factor, out + r * part, part, scratch);
  const std::size_t step = roots_.size() / length;
  for (std::size_t k = 0; k < part; ++k) {
    for (std::size_t r = 0; r < factor; ++r) scratch[r] = out[r * part + k];
    for (std::size_t q = 0; q < factor; ++q) {
      std::complex<double> sum = 0;
      for (std::size_t r = 0; r < factor; ++r)
        sum += scratch[r] * root(r * (k + q * part) % length * step);
      out[k + q * part] = sum;
    }
  }
}

}  // namespace tautline::stages::channelize
