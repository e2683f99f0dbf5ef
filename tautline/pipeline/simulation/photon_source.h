// One sensor's photons: particles that diffuse through a Gaussian focus, background, afterpulses.
// docs/maths/photons.md has the formulae.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/pipeline/simulation/fast_random.h"

namespace tautline::pipeline::simulation {

/// One kind of particle. Lengths are in units of the focus's waist w, where exp(-2 r^2 / w^2) is
/// the detected brightness across the axis.
struct DiffusingSpecies {
  double n = 1;          ///< mean number in the effective volume pi^(3/2) kappa w^3
  double tau_s = 1e-4;   ///< diffusion time w^2 / (4 D)
  double rate_hz = 1e4;  ///< detected photons a second, on average over a long run
};

struct PhotonModel {
  std::vector<DiffusingSpecies> species;
  double kappa = 5;  ///< length of the focus over its waist
  double background_hz = 0;
  double afterpulsing = 0;         ///< probability that a detection is followed by a false one
  double afterpulse_tau_s = 1e-6;  ///< mean delay of it, exponentially distributed
  double lifetime_s = 0;        ///< T3: mean delay of a particle's photon after the pulse; 0: none
  double period_s = 0;          ///< T3: between pulses; 0: no microtimes
  double microtime_unit_s = 0;  ///< T3
};

/// Half the sides of the periodic box, in units of w and of kappa w.
inline constexpr double kHalfBox = 10;

/// The number of particles in the box that gives `n` on average, to the nearest whole particle.
std::size_t particles_of(double n);
/// The mean number in the effective volume that this many particles give.
double n_of(std::size_t particles);

struct SourcePhoton {
  std::uint64_t time = 0;       ///< ticks since the run's start
  std::uint32_t microtime = 0;  ///< 0 without pulses
};

/// Each (seed, sensor) has a stream of its own. The photons do not depend on the calls of other
/// sensors; each call makes one block of kBlockSteps steps.
class PhotonSource {
 public:
  static constexpr std::size_t kBlockSteps = 1024;

  PhotonSource(const PhotonModel& model, double extra_background_hz, double step_s,
               std::uint64_t ticks_per_step, std::uint64_t seed, std::uint32_t sensor);

  /// Replaces `photons` by those of the next block, in order of time.
  void next(std::vector<SourcePhoton>& photons);
  static std::size_t bytes(const PhotonModel& model);

 private:
  struct Particle {
    float x, y, z;            // in units of w, the focus at 0
    std::uint32_t next_step;  // of the block, at which the particle has this position
  };
  struct Crowd {
    std::vector<Particle> particles;
    double sigma;          // of one step along an axis
    double brightness_hz;  // at the focus
  };

  void add_rates(Crowd& crowd);
  void emit(std::size_t step, std::uint64_t count, bool fluorescent,
            std::vector<SourcePhoton>& photons);
  void add_afterpulses(std::vector<SourcePhoton>& photons);
  std::uint32_t microtime(bool fluorescent);

  PhotonModel model_;
  double background_hz_, step_s_;
  std::uint64_t ticks_per_step_;
  FastRandom random_;
  const float* normal_;
  std::vector<Crowd> crowds_;
  std::vector<float> rate_hz_;
  std::vector<SourcePhoton> later_;  // afterpulses that fall into later blocks
  std::uint64_t first_step_ = 0;
};

}  // namespace tautline::pipeline::simulation
