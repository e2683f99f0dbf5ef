// Prototype low-pass filters of polyphase filter banks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tautline::core {

enum class WindowKind { rect, hann, hamming, kaiser };

struct Window {
  WindowKind kind = WindowKind::hann;
  double beta = 0;  ///< Kaiser's shape parameter; unused otherwise
};

/// "rect", "hann", "hamming" or "kaiser:9". Throws Error(config).
Window parse_window(std::string_view text);
std::string to_string(const Window& window);

/// The window's value at sample n of `length`, symmetric about (length - 1) / 2:
///   hann     0.5 - 0.5 cos(2 pi (n + 1/2) / length)
///   hamming  0.54 - 0.46 cos(2 pi (n + 1/2) / length)
///   kaiser   I0(beta sqrt(1 - r^2)) / I0(beta), r = (2n + 1 - length) / length
double window_value(const Window& window, std::size_t n, std::size_t length);

/// sinc(cutoff (n - (CT - 1)/2) / C) times the window, scaled so that the squares sum to 1 (white
/// noise keeps its power). One tap with a rectangular window is constant: the plain FFT.
/// Length C T, in sample order; cutoff 1 puts the -6 dB point on the channel's edge.
std::vector<double> prototype_filter(std::size_t channels, std::size_t taps, const Window& window,
                                     double cutoff = 1.0);

}  // namespace tautline::core
