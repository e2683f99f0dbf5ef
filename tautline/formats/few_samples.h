// Means of so few samples that they say nothing beside those of many.
#pragma once

namespace tautline::formats {

/// The coefficient of noise alone is 1 / sqrt(samples): below 16 samples, and a tenth of what others have, pictures
/// leave it out. Without samples there is nothing to say either.
inline bool says_something(double samples, double samples_of_others) {
  constexpr double kEnough = 16, kTenth = 0.1;
  return samples > 0 && (samples >= kEnough || samples >= kTenth * samples_of_others);
}

}  // namespace tautline::formats
