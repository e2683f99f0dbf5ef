// Stages set up on problems, for `bench`, `tune` and the programs of bench/. The sizes of each
// stage are described in docs/guide/bench.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tautline/jit/case_run.h"
#include "tautline/jit/tunable.h"
#include "tautline/pipeline/bench/measure_limits.h"
#include "tautline/pipeline/bench/measurement.h"
#include "tautline/pipeline/bench/problem.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/channelize/channelize.h"
#include "tautline/stages/dedisperse/dedisperse.h"
#include "tautline/stages/detect/case.h"

namespace tautline::pipeline {

/// A stage with its data in the memory of the computing device, ready to run repeatedly.
struct StageRun {
  std::shared_ptr<const jit::CaseMemory> memory;  ///< the device and the queue of `run`
  std::function<void()> run;                      ///< does the work once, or enqueues it
  std::string code;                               ///< that runs
  double operations = 0, bytes = 0;               ///< of a run, as case.h counts them
  double count = 0;                               ///< of a run, in units of the rate
  std::string unit = "samples/s";
  double input_samples = 0;  ///< channels x samples of an input
  double data_s = 0;         ///< duration of the data of a run; 0: of no instrument
  double host_bytes = 0;     ///< of a run, that leave the host's memory
  /// The largest number of operations a second. Null: the limit of this kind of work is not
  /// measured.
  std::function<double(const Limits&)> arithmetic = nullptr;
};

/// A warm-up, then repeats for about `budget_s`.
Measurement measure_run(const StageRun& run, const Limits& limits, double budget_s);

/// Throws Error(unsupported) when a plan of this backend() runs on the host though the device is
/// another: the plan must not be given addresses of the device.
void require_on_device(const std::string& stage, const std::string& backend,
                       const device::Device& device);

using DevicePointer = std::shared_ptr<const device::Device>;

StageRun set_up_unpack(const Problem& sizes, const DevicePointer& device);
StageRun set_up_channelize(const Problem& sizes, const DevicePointer& device);
StageRun set_up_corner_turn(const Problem& sizes, const DevicePointer& device);
StageRun set_up_correlate(const Problem& sizes, const DevicePointer& device);
StageRun set_up_dedisperse(const Problem& sizes, const DevicePointer& device);
StageRun set_up_detect(const Problem& sizes, const DevicePointer& device);
/// One block of the spectra of all beams to lists of pulses: cleaned, dedispersed, searched and
/// grouped (search_pass.h). Throws Error(memory) where the trials of all beams do not fit at once.
StageRun set_up_search(const Problem& sizes, const DevicePointer& device);
/// [time][channel], a byte each, of a block that may be repeated: noise, with `pulses` of S/N `snr` along their delays,
/// which go on at the block's begin, and every `impulses_every` samples an impulse of S/N 500 without dispersion.
device::Buffer spectra_with_pulses(const Problem& sizes);
StageRun set_up_autocorrelate(const Problem& sizes, const DevicePointer& device);

jit::Tunable tune_channelize(const Problem& sizes, const DevicePointer& device);
jit::Tunable tune_correlate(const Problem& sizes, const DevicePointer& device);
jit::Tunable tune_dedisperse(const Problem& sizes, const DevicePointer& device);
jit::Tunable tune_autocorrelate(const Problem& sizes, const DevicePointer& device);

/// Packets from pinned memory, without an end, and curves copied back once a second: the time of
/// one copy is measured by itself, and subtracted from each second. Each of several devices takes
/// its share of the sensors, as an array of its own. Sums of some packets are compared with those
/// of the same packets alone; throws Error(device) when they differ.
Measurement measure_host_fed_counts(const Problem& sizes, const std::vector<DevicePointer>& devices,
                                    const Limits& limits, double budget_s);

/// Throw Error(config) for sizes that the stage lacks.
stages::autocorrelate::Config autocorrelate_config(const Problem& sizes);
stages::channelize::Config channelize_config(const Problem& sizes);
/// Channels from the highest down (top_khz, width_hz), trials from 0 in even steps (step_millidm),
/// blocks of `samples` at rate_hz.
stages::dedisperse::Config dedisperse_config(const Problem& sizes);
/// Integers, in blocks of any length.
stages::detect::Case detect_case(const Problem& sizes);

/// "type=u16" (u8, u16, u32, f32) and "scheme=standard" (chain), in sizes. Empty for other words.
Problem count_words(std::string_view word);
/// "layout3": the sizes of an instrument's layout. Empty for other words.
Problem layout_words(std::string_view word);
/// "c1024t8": channels and taps; "oversample=32/27". Empty for other words.
Problem filter_bank_words(std::string_view word);

}  // namespace tautline::pipeline
