// The fields of the simulators.
#include <algorithm>

#include "tautline/core/dispersion.h"
#include "tautline/core/frequency_text.h"
#include "tautline/pipeline/simulation/simulate_filterbank_config.h"
#include "tautline/pipeline/simulation/simulate_photons_config.h"
#include "tautline/pipeline/simulation/simulate_voltages_config.h"

namespace tautline::pipeline {

namespace {

// The fields of all simulators; `memory_bytes` comes last in help.
template <class C>
core::Fields<C> simulation_fields() {
  return core::Fields<C>()
      .add({.name = "duration_s", .unit = "s", .help = "how much to make"}, &C::duration_s,
           core::above(0))
      .add({.name = "seed", .help = "the same seed gives the same file"}, &C::seed)
      .add({.name = "memory_bytes", .unit = "bytes", .help = "cap on the memory used"},
           &C::memory_bytes, core::memory_size());
}

// "ROWSxCOLUMNS"
void set_shape(SimulatePhotonsConfig& config, const std::string& text) {
  const auto sides = core::text::split(text, 'x');
  constexpr const char* kForm = "ROWSxCOLUMNS, such as 32x32";
  if (sides.size() != 2) core::text::refuse(text, kForm);
  try {
    config.rows = core::text::read<std::size_t>(sides[0]);
    config.columns = core::text::read<std::size_t>(sides[1]);
  } catch (const core::Error&) {
    core::text::refuse(text, kForm);
  }
  if (config.sensors == 1) config.sensors = config.rows * config.columns;
}

std::string shape_text(const SimulatePhotonsConfig& config) {
  if (config.rows == 0) return "";
  return std::to_string(config.rows) + "x" + std::to_string(config.columns);
}

// "P" or "P:SECONDS"
void set_afterpulsing(SimulatePhotonsConfig& config, const std::string& text) {
  const auto parts = core::text::split(core::text::in_seconds(text), ':');
  try {
    if (parts.size() > 2) core::text::refuse(text, "");
    config.model.afterpulsing = core::text::read_number(parts[0]);
    if (parts.size() == 2) config.model.afterpulse_tau_s = core::text::read_number(parts[1]);
  } catch (const core::Error&) {
    core::text::refuse(text, "P or P:SECONDS");
  }
}

std::string afterpulsing_text(const SimulatePhotonsConfig& config) {
  return core::text::write_number(config.model.afterpulsing) + ":" +
         core::text::write_number(config.model.afterpulse_tau_s);
}

void set_species(SimulatePhotonsConfig& config, const std::string& text) {
  simulation::PhotonModel model = config.model;
  model.species.clear();
  for (const std::string& species : core::text::split(text, ';'))
    parse_photon_model(species, model);
  config.model = model;
}

std::string species_text(const SimulatePhotonsConfig& config) {
  using core::text::write_number;
  std::string text;
  for (const simulation::DiffusingSpecies& one : config.model.species)
    text += (text.empty() ? "" : ";") + ("diffusion:n=" + write_number(one.n)) +
            ",tau=" + write_number(one.tau_s) + ",rate=" + write_number(one.rate_hz) +
            ",kappa=" + write_number(config.model.kappa);
  return text;
}

std::string random_pulses_text(const SimulateFilterbankConfig& config) {
  using core::text::write_number;
  const RandomPulses& p = config.random_pulses;
  if (p.count == 0) return "";
  const auto range = [](const char* name, double low, double high) {
    return std::string(",") + name + "=" + write_number(low) + ":" + write_number(high);
  };
  return "count=" + std::to_string(p.count) + range("dm", p.dm_low, p.dm_high) +
         range("width", p.width_s_low, p.width_s_high) + range("snr", p.snr_low, p.snr_high);
}

}  // namespace

const core::Fields<SimulateConfig>& fields(const SimulateConfig&) {
  using C = SimulateConfig;
  static const auto all =
      simulation_fields<C>()
          .add({.name = "array_path", .help = "array.toml: antennas and inputs", .option = "array"},
               &C::array_path)
          .add({.name = "scene_path",
                .help = "scene.toml: sky, tones, noise and band",
                .option = "scene"},
               &C::scene_path)
          .add({.name = "bits", .help = "of each component"}, &C::bits, core::one_of({4, 8, 16}))
          .add({.name = "real", .help = "real samples at twice the bandwidth"}, &C::real)
          .add({.name = "format", .help = "of the file; mwa32t: one file a receiver"}, &C::format,
               core::choice<SimulateFormat>(
                   {{"dada", SimulateFormat::dada}, {"mwa32t", SimulateFormat::mwa32t}}));
  return all;
}

const core::Fields<SimulateFilterbankConfig>& fields(const SimulateFilterbankConfig&) {
  using C = SimulateFilterbankConfig;
  static const auto all =
      simulation_fields<C>()
          .include("scene", &C::scene, fields(formats::scene::FilterbankScene{}))
          .add_text(
              {.name = "random_pulses",
               .help = "count=,dm=LOW:HIGH,width=LOW:HIGH,snr=LOW:HIGH: evenly spaced in "
                       "time"},
              random_pulses_text,
              [](C& c, const std::string& text) { c.random_pulses = parse_random_pulses(text); })
          .add({.name = "dm_constant",
                .unit = "s MHz^2 per pc cm^-3",
                .help = "of dispersion",
                .form = "NUMBER"},
               &C::dm_constant,
               core::between(core::kLeastDispersionConstant, core::kGreatestDispersionConstant));
  return all;
}

const core::Fields<SimulatePhotonsConfig>& fields(const SimulatePhotonsConfig&) {
  using C = SimulatePhotonsConfig;
  static const auto all =
      simulation_fields<C>()
          .add({.name = "sensors", .help = "each with a focus and particles of its own"},
               &C::sensors, core::between(1, 1e6))
          .add_text({.name = "shape",
                     .help = "of the sensors: counts [time][row][column]",
                     .form = "ROWSxCOLUMNS"},
                    shape_text, set_shape)
          .add({.name = "bin_s", .unit = "s", .help = "length of one count (not for time tags)"},
               &C::bin_s, core::above(0))
          .add_text({.name = "model",
                     .help = "diffusion:n=N,tau=SECONDS,rate=HZ,kappa=K (1, 1e-4, 1e4 and 5 where "
                             "left out): mean number in the focus, diffusion time, mean photons "
                             "a second of the species in each sensor, length of the focus over "
                             "its waist; more than once: several species",
                     .separator = ';',
                     .kind = core::FieldKind::list},
                    species_text, set_species)
          .add({.name = "bits", .help = "of one count", .option = "dtype"}, &C::bits,
               core::choice<int>({{"u8", 8}, {"u16", 16}}))
          .add(
              {.name = "background_hz", .unit = "Hz", .help = "uncorrelated photons a second"},
              [](auto& c) -> auto& { return c.model.background_hz; },
              core::hertz_text(core::at_least(0)))
          .add_text({.name = "afterpulsing",
                     .help = "probability and mean delay (s) of a false pulse after each",
                     .form = "P:SECONDS"},
                    afterpulsing_text, set_afterpulsing)
          .add({.name = "hot_sensors", .help = "sensors that count `hot_rate_hz` more"},
               &C::hot_sensors)
          .add({.name = "hot_rate_hz", .unit = "Hz", .help = "counts a second"}, &C::hot_rate_hz,
               core::hertz_text(core::at_least(0)))
          .add({.name = "t3",
                .help = "of a PTU file: t3 (sync count and microtime) or t2",
                .option = "tags"},
               &C::t3, core::choice<bool>({{"t2", false}, {"t3", true}}))
          .add({.name = "sync_rate_hz", .unit = "Hz", .help = "pulses a second, T3"},
               &C::sync_rate_hz, core::hertz_text(core::above(0)))
          .add(
              {.name = "lifetime_s", .unit = "s", .help = "mean microtime of fluorescence, T3"},
              [](auto& c) -> auto& { return c.model.lifetime_s; },
              core::plain_text<double>(core::at_least(0)));
  return all;
}

}  // namespace tautline::pipeline
