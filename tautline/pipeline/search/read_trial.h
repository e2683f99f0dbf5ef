// One trial of a filterbank, dedispersed again: a stretch of its series.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tautline/core/sample_type.h"
#include "tautline/device/device.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/presto/mask.h"
#include "tautline/pipeline/search/sample_range.h"
#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::pipeline {

struct TrialStretch {
  std::vector<float> series;
  bool whole_numbers = false;
  std::uint64_t first_sample = 0;  ///< on the grid of times
  std::uint64_t max_delay = 0;     ///< samples that the latest channel is behind the first one
};

/// Appends samples of a trial, of 32 bits, as dedispersion writes them.
void append_samples(const std::byte* values, core::SampleType type, std::size_t count,
                    std::vector<float>& to);

/// `samples` of the trial of `config` (one DM; its blocks and method are chosen here) about `middle`, a sample of the
/// stretch of data `range`, fewer where that is shorter; none where it is shorter than the trial's delay. `mask` or
/// null. On the host's processor, with its queue.
TrialStretch read_trial(formats::FilterbankReader& reader, const PlacedRange& data,
                        std::uint64_t middle, std::size_t samples,
                        stages::dedisperse::Config config, const formats::presto::Mask* mask,
                        const std::shared_ptr<const device::Device>& host);

}  // namespace tautline::pipeline
