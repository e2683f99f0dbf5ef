#include "tautline/pipeline/simulation/photon_source.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace tautline::pipeline::simulation {

namespace {

// Beyond this many waists from the axis (or kappa waists along it) the brightness is under 2e-6 of
// that of the focus: such particles are dark, and their part of the mean is under 1e-5.
constexpr double kDark = 2.6;
// A dark particle may jump ahead by so many steps that the focus is this many deviations away.
constexpr double kSafeDeviations = 4;
constexpr double kMostJump = 1e6;

double box_over_effective_volume() {
  return 8 * kHalfBox * kHalfBox * kHalfBox / std::pow(std::numbers::pi, 1.5);
}

float wrapped(double value, double half) {
  value -= 2 * half * std::round(value / (2 * half));
  return static_cast<float>(value);
}

bool earlier(const SourcePhoton& a, const SourcePhoton& b) {
  return std::pair(a.time, a.microtime) < std::pair(b.time, b.microtime);
}

}  // namespace

std::size_t particles_of(double n) {
  return static_cast<std::size_t>(std::max(1.0, std::round(n * box_over_effective_volume())));
}

double n_of(std::size_t particles) {
  return static_cast<double>(particles) / box_over_effective_volume();
}

PhotonSource::PhotonSource(const PhotonModel& model, double extra_background_hz, double step_s,
                           std::uint64_t ticks_per_step, std::uint64_t seed, std::uint32_t sensor)
    : model_(model),
      background_hz_(model.background_hz + extra_background_hz),
      step_s_(step_s),
      ticks_per_step_(ticks_per_step),
      random_(seed, sensor),
      normal_(NormalTable::instance().values()),
      rate_hz_(kBlockSteps) {
  for (const DiffusingSpecies& one : model.species) {
    Crowd crowd;
    crowd.particles.resize(particles_of(one.n));
    // D = w^2 / (4 tau), and a step's variance along an axis is 2 D step.
    crowd.sigma = std::sqrt(step_s / (2 * one.tau_s));
    // The mean brightness over space, times the particles' density, is brightness n / 2^(3/2).
    crowd.brightness_hz = one.rate_hz * std::pow(2.0, 1.5) / n_of(crowd.particles.size());
    for (Particle& particle : crowd.particles)
      particle = {static_cast<float>((2 * random_.uniform() - 1) * kHalfBox),
                  static_cast<float>((2 * random_.uniform() - 1) * kHalfBox),
                  static_cast<float>((2 * random_.uniform() - 1) * kHalfBox * model.kappa), 0};
    crowds_.push_back(std::move(crowd));
  }
}

std::size_t PhotonSource::bytes(const PhotonModel& model) {
  std::size_t bytes = sizeof(PhotonSource) + kBlockSteps * sizeof(float);
  for (const DiffusingSpecies& one : model.species) bytes += particles_of(one.n) * sizeof(Particle);
  return bytes;
}

// Adds each particle's brightness at each step of the block. A particle far from the focus does not
// move step by step: one normal deviate stands for many steps, which is exact for its position, and
// its contribution meanwhile is negligible.
void PhotonSource::add_rates(Crowd& crowd) {
  const double half_z = kHalfBox * model_.kappa;
  const double inverse_kappa2 = 1 / (model_.kappa * model_.kappa);
  const double dark_z = kDark * model_.kappa;
  const double jump_scale = 1 / (crowd.sigma * crowd.sigma * kSafeDeviations * kSafeDeviations);
  for (Particle& particle : crowd.particles) {
    double x = particle.x, y = particle.y, z = particle.z;
    std::uint64_t step = particle.next_step;
    while (step < kBlockSteps) {
      const double across2 = x * x + y * y;
      const double gap_across = across2 > kDark * kDark ? std::sqrt(across2) - kDark : 0;
      const double gap = std::max(gap_across, std::abs(z) - dark_z);
      double jump = 1;
      if (gap > 0)
        jump = std::clamp(std::floor(gap * gap * jump_scale), 1.0, kMostJump);
      else
        rate_hz_[step] += static_cast<float>(crowd.brightness_hz *
                                             std::exp(-2 * (across2 + z * z * inverse_kappa2)));
      const double sigma = jump == 1 ? crowd.sigma : crowd.sigma * std::sqrt(jump);
      const std::uint64_t bits = random_.next();
      x = wrapped(x + sigma * static_cast<double>(normal_[bits & 0xFFFF]), kHalfBox);
      y = wrapped(y + sigma * static_cast<double>(normal_[bits >> 16 & 0xFFFF]), kHalfBox);
      z = wrapped(z + sigma * static_cast<double>(normal_[bits >> 32 & 0xFFFF]), half_z);
      step += static_cast<std::uint64_t>(jump);
    }
    particle = {static_cast<float>(x), static_cast<float>(y), static_cast<float>(z),
                static_cast<std::uint32_t>(step - kBlockSteps)};
  }
}

std::uint32_t PhotonSource::microtime(bool fluorescent) {
  if (model_.period_s == 0) return 0;
  double delay_s = random_.uniform() * model_.period_s;
  if (fluorescent && model_.lifetime_s > 0)
    delay_s = std::fmod(model_.lifetime_s * random_.exponential(), model_.period_s);
  return static_cast<std::uint32_t>(delay_s / model_.microtime_unit_s);
}

void PhotonSource::emit(std::size_t step, std::uint64_t count, bool fluorescent,
                        std::vector<SourcePhoton>& photons) {
  const std::uint64_t start = (first_step_ + step) * ticks_per_step_;
  for (; count > 0; --count) {
    const auto tick =
        static_cast<std::uint64_t>(random_.uniform() * static_cast<double>(ticks_per_step_));
    photons.push_back({start + tick, microtime(fluorescent)});
  }
}

// Every detection, a false one too, may be followed by a false one. `photons` grows during the
// loop; photons after the end of the block wait.
void PhotonSource::add_afterpulses(std::vector<SourcePhoton>& photons) {
  const std::uint64_t end = (first_step_ + kBlockSteps) * ticks_per_step_;
  const double ticks_per_s = static_cast<double>(ticks_per_step_) / step_s_;
  std::vector<SourcePhoton> waiting;
  for (const SourcePhoton& pulse : later_) (pulse.time < end ? photons : waiting).push_back(pulse);
  later_ = std::move(waiting);
  for (std::size_t n = 0; n < photons.size(); ++n) {
    if (random_.uniform() >= model_.afterpulsing) continue;
    const double delay = random_.exponential() * model_.afterpulse_tau_s * ticks_per_s;
    const SourcePhoton pulse{photons[n].time + static_cast<std::uint64_t>(delay), microtime(false)};
    (pulse.time < end ? photons : later_).push_back(pulse);
  }
}

void PhotonSource::next(std::vector<SourcePhoton>& photons) {
  photons.clear();
  std::fill(rate_hz_.begin(), rate_hz_.end(), 0.0f);
  for (Crowd& crowd : crowds_) add_rates(crowd);
  const double background = background_hz_ * step_s_;
  for (std::size_t step = 0; step < kBlockSteps; ++step) {
    if (rate_hz_[step] > 0)
      emit(step, random_.poisson(static_cast<double>(rate_hz_[step]) * step_s_), true, photons);
    if (background > 0) emit(step, random_.poisson(background), false, photons);
  }
  if (model_.afterpulsing > 0) add_afterpulses(photons);
  std::sort(photons.begin(), photons.end(), earlier);
  first_step_ += kBlockSteps;
}

}  // namespace tautline::pipeline::simulation
