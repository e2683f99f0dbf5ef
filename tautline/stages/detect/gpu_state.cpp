#include "tautline/stages/detect/gpu_state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace tautline::stages::detect {

namespace {

constexpr std::size_t kJobWords = 8, kGatherWords = 4, kRecordBytes = 16, kCounterBytes = 16;
constexpr std::size_t kSumLanes = 8, kSegmentsOfGroup = 32, kGatheredOfGroup = 1024;
constexpr std::size_t kSquareWords = 5;
constexpr std::size_t kMostGathers = 4096;
// Records that are fetched at once.
constexpr std::size_t kFetched = 65536;

std::uint32_t u32(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

std::size_t divide_up(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

bool measures_widths(const GpuSetting& setting) {
  return setting.config.noise == Noise::width;
}

}  // namespace

std::size_t GpuSetting::batch_jobs() const {
  const std::size_t each = 2 * 4 * sums_stride();
  return std::clamp<std::size_t>(tunables.sums_bytes / each, 1, step_jobs());
}

std::size_t GpuSetting::records() const {
  return std::max(tunables.records, tiles() * (tunables.tile + sizes.widest() / 2 + 1));
}

std::size_t GpuSetting::gathered() const {
  return std::max<std::size_t>(std::size_t{1} << 20, 4 * sizes.widest() + 1);
}

// The highest S/N of noise in a tile of 4,096 boxcars is about 4.4, and the best of eight
// neighbours is less than what bounds them by some 14 sigma of one sample at most.
std::size_t GpuSetting::coarse_from() const {
  double least = static_cast<double>(tunables.coarse);
  if (tunables.coarse == 0) {
    constexpr double kHighestOfNoise = 4.4, kSlackSigmas = 14, kLeast = 64;
    const double above = config.threshold - kHighestOfNoise;
    if (above <= 0) return sizes.widths.size();
    least = std::max(kLeast, std::pow(kSlackSigmas / above, 2));
  }
  return static_cast<std::size_t>(
      std::find_if(sizes.widths.begin(), sizes.widths.end(),
                   [&](std::size_t w) { return static_cast<double>(w) >= least; }) -
      sizes.widths.begin());
}

device::MemoryUse GpuSetting::bytes() const {
  const std::size_t trials = config.trials, widths = sizes.widths.size();
  const std::size_t batch = batch_jobs(), jobs = (step_jobs() + trials) * kJobWords * 8;
  const std::size_t sets = measures_widths(*this) ? batch : 1;
  const std::size_t samples = trials * (x_stride() + rings.y_samples) * 4;
  const std::size_t means = trials * (2 * rings.mean_slots * 8 + 2 * kSumLanes * 12 + 8);
  const std::size_t found = records() * kRecordBytes + trials * widths * 8;
  const std::size_t gathers = gathered() * 4 + kMostGathers * kGatherWords * 8;
  const std::size_t sigmas = trials * rings.sigma_slots * 8;
  const std::size_t limits =
      sets * widths * 16 + (measures_widths(*this) ? batch * widths * kSquareWords * 8 : 0);
  return {jobs + sigmas + std::min(records(), kFetched) * kRecordBytes + gathers +
              2 * trials * widths * 8 + limits,
          samples + means + jobs + sigmas + batch * (2 * 4 * sums_stride() + 8) + found + gathers +
              limits};
}

GpuState::GpuState(std::shared_ptr<const GpuSetting> setting, device::Queue& queue)
    : setting_(std::move(setting)),
      schedule_(setting_->config, setting_->sizes, setting_->rings),
      peaks_(setting_->config, setting_->sizes),
      groups_(setting_->config.links, setting_->sizes.widest()),
      over_(setting_->config.trials * setting_->sizes.widths.size()),
      aside_(setting_->device->make_queue()),
      stepped_(setting_->device->make_event()) {
  const GpuSetting& s = *setting_;
  const device::Device& device = *s.device;
  const std::size_t trials = s.config.trials, widths = s.sizes.widths.size();
  const std::size_t batch = s.batch_jobs(), sets = measures_widths(s) ? batch : 1;
  x_ = device.allocate(trials * s.x_stride() * 4);
  y_ = device.allocate(trials * s.rings.y_samples * 4);
  lengths_ = device.allocate(trials * 8);
  for (int half = 0; half < 2; ++half) {
    sums_[half] = device.allocate(trials * kSumLanes * 8);
    counts_[half] = device.allocate(trials * kSumLanes * 4);
  }
  segment_means_ = device.allocate(trials * s.rings.mean_slots * 8);
  means_ = device.allocate(trials * s.rings.mean_slots * 8);
  missing_ = device.allocate(kCounterBytes);
  emit_jobs_ = device.allocate(trials * kJobWords * 8);
  jobs_ = device.allocate(s.step_jobs() * kJobWords * 8);
  gather_jobs_ = device.allocate(kMostGathers * kGatherWords * 8);
  gathered_ = device.allocate(s.gathered() * 4);
  sigmas_ = device.allocate(trials * s.rings.sigma_slots * 8);
  low_ = device.allocate(batch * s.sums_stride() * 4);
  high_ = device.allocate(batch * s.sums_stride() * 4);
  medians_ = device.allocate(batch * 4);
  kinds_ = device.allocate(batch * 4);
  widths_ = device.allocate(widths * 4);
  least_ = device.allocate(sets * widths * 8);
  per_unit_ = device.allocate(sets * widths * 8);
  if (measures_widths(s)) squares_ = device.allocate(batch * widths * kSquareWords * 8);
  over_counts_ = device.allocate(trials * widths * 8);
  records_ = device.allocate(s.records() * kRecordBytes);

  host_emit_jobs_ = device.allocate_pinned(emit_jobs_.bytes());
  host_jobs_ = device.allocate_pinned(jobs_.bytes());
  host_gather_jobs_ = device.allocate_pinned(gather_jobs_.bytes());
  host_gathered_ = device.allocate_pinned(gathered_.bytes());
  host_sigmas_ = device.allocate_pinned(sigmas_.bytes());
  host_records_ = device.allocate_pinned(std::min(s.records(), kFetched) * kRecordBytes);
  host_counters_ = device.allocate_pinned(kCounterBytes);
  host_over_ = device.allocate_pinned(over_counts_.bytes());
  host_least_ = device.allocate_pinned(least_.bytes());
  host_per_unit_ = device.allocate_pinned(per_unit_.bytes());
  if (measures_widths(s)) host_squares_ = device.allocate_pinned(squares_.bytes());

  std::vector<std::uint64_t> lengths(trials, ~std::uint64_t{0});
  for (std::size_t t = 0; t < trials && !s.config.lengths.empty(); ++t)
    lengths[t] = s.config.lengths[t];
  const std::vector<std::uint32_t> list(s.sizes.widths.begin(), s.sizes.widths.end());
  queue.copy(lengths_.data(), lengths.data(), lengths_.bytes());
  queue.copy(widths_.data(), list.data(), widths_.bytes());
  queue.copy(least_.data(), s.scales.least_sum.data(), widths * 8);
  queue.copy(per_unit_.data(), s.scales.snr_per_unit.data(), widths * 8);
  queue.fill(missing_.data(), 0, missing_.bytes());
  queue.fill(over_counts_.data(), 0, over_counts_.bytes());
  queue.synchronise();
}

// Nothing may write to memory that is about to go.
GpuState::~GpuState() {
  if (!pending_) return;
  try {
    stepped_->synchronise();
  } catch (...) {  // NOLINT(bugprone-empty-catch): whoever waits for the results is told
  }
}

std::vector<Pulse> GpuState::take() {
  std::sort(pulses_.begin(), pulses_.end(), [](const Pulse& a, const Pulse& b) {
    return std::pair(a.first, a.trial) < std::pair(b.first, b.trial);
  });
  return std::exchange(pulses_, {});
}

void GpuState::execute(device::Queue& queue, const void* series, std::size_t stride,
                       std::size_t samples) {
  counters_.samples += samples;
  if (samples == 0) return;
  copy_in(queue, series, stride, samples);
  sum_segments(queue, samples);
  schedule_.receive(samples);
  advance(queue);
}

Room GpuState::room() const {
  if (!setting_->config.in_place) return {};
  const std::size_t ring = setting_->rings.segment_slots * setting_->sizes.segment;
  return {x_.as<std::byte>() + schedule_.received() % ring * 4, setting_->x_stride(),
          setting_->config.max_samples};
}

// Into the ring. Of what was written there already only what lies behind its end.
void GpuState::copy_in(device::Queue& queue, const void* series, std::size_t stride,
                       std::size_t samples) {
  const std::size_t ring = setting_->rings.segment_slots * setting_->sizes.segment;
  const std::size_t x_stride = setting_->x_stride();
  const auto* from = static_cast<const std::byte*>(series);
  const auto place = static_cast<std::size_t>(schedule_.received() % ring);
  const bool there = setting_->config.in_place && series == room().data && stride == x_stride;
  for (std::size_t done = there ? std::min(samples, ring - place) : 0; done < samples;) {
    const std::size_t to = (place + done) % ring;
    const std::size_t count = std::min(samples - done, ring - to);
    queue.copy_rows(x_.as<std::byte>() + to * 4, x_stride * 4, from + done * 4, stride * 4,
                    count * 4, setting_->config.trials);
    done += count;
  }
}

void GpuState::finish(device::Queue& queue) {
  if (finished_) return;
  finished_ = true;
  schedule_.finish();
  advance(queue);
  if (pending_) collect();
}

void GpuState::sum_segments(device::Queue& queue, std::size_t samples) {
  const GpuSetting& s = *setting_;
  const std::uint64_t received = schedule_.received(), segment = s.sizes.segment;
  const std::uint64_t first = received / segment, begun = received % segment;
  const std::size_t touched = divide_up(begun + samples, segment);
  const device::Argument arguments[] = {x_.data(),
                                        lengths_.data(),
                                        sums_[half_].data(),
                                        counts_[half_].data(),
                                        sums_[1 - half_].data(),
                                        counts_[1 - half_].data(),
                                        segment_means_.data(),
                                        received,
                                        u32(samples),
                                        u32(segment),
                                        u32(begun),
                                        u32(first % s.rings.segment_slots),
                                        u32(s.rings.segment_slots),
                                        std::uint64_t{s.x_stride()},
                                        u32(first % s.rings.mean_slots),
                                        u32(s.rings.mean_slots),
                                        u32(touched),
                                        u32(s.config.trials)};
  queue.launch(*s.sum_segments,
               {.groups = {divide_up(s.config.trials * touched, kSegmentsOfGroup), 1, 1},
                .threads = {256, 1, 1}},
               arguments);
  half_ = 1 - half_;
}

// Launches what has become possible. What the last step found stays on the device meanwhile.
void GpuState::advance(device::Queue& queue) {
  for (;;) {
    Step step;
    if (!schedule_.next(step)) return;
    if (pending_) collect();
    step_ = std::move(step);
    launch(queue);
  }
}

void GpuState::launch(device::Queue& queue) {
  // The counters of missing samples stay, that of records begins anew.
  queue.fill(missing_.as<std::byte>() + 8, 0, 8);
  emit(queue);
  auto* jobs = host_jobs_.as<std::uint64_t>();
  const GpuSetting& s = *setting_;
  for (std::size_t j = 0; j < step_.blocks.size(); ++j) {
    const BlockJob& b = step_.blocks[j];
    const auto usable =
        std::upper_bound(s.sizes.widths.begin(), s.sizes.widths.end(), b.window,
                         [](std::uint64_t n, std::size_t width) { return 2 * width > n; });
    const std::array<std::uint64_t, kJobWords> words{
        b.trial,
        b.first % s.rings.y_samples,
        b.starts,
        b.samples,
        b.first % kSpreadingPeriod,
        b.first / s.sizes.noise % s.rings.sigma_slots,
        b.keeps_sigma ? 1U : 0U,
        static_cast<std::uint64_t>(usable - s.sizes.widths.begin())};
    std::copy(words.begin(), words.end(), jobs + j * kJobWords);
  }
  if (!step_.blocks.empty()) queue.copy(jobs_.data(), jobs, step_.blocks.size() * kJobWords * 8);
  search(queue, 0, step_.measuring, true);
  search(queue, step_.measuring, step_.blocks.size(), true);
  queue.copy(host_counters_.data(), missing_.data(), kCounterBytes);
  queue.record(*stepped_);
  pending_ = true;
}

void GpuState::emit(device::Queue& queue) {
  if (step_.emits.empty()) return;
  const GpuSetting& s = *setting_;
  auto* jobs = host_emit_jobs_.as<std::uint64_t>();
  std::uint64_t most_means = 0, most_samples = 0;
  for (std::size_t j = 0; j < step_.emits.size(); ++j) {
    const EmitJob& e = step_.emits[j];
    const std::array<std::uint64_t, kJobWords> words{
        e.trial,         e.first_mean,
        e.mean_count,    e.complete,
        e.first_segment, e.samples,
        e.own,           e.first_segment * s.sizes.segment % s.rings.y_samples};
    std::copy(words.begin(), words.end(), jobs + j * kJobWords);
    most_means = std::max(most_means, e.mean_count);
    most_samples = std::max(most_samples, e.samples);
  }
  queue.copy(emit_jobs_.data(), jobs, step_.emits.size() * kJobWords * 8);
  if (most_means > 0) {
    const device::Argument arguments[] = {
        emit_jobs_.data(), segment_means_.data(), sums_[half_].data(),    counts_[half_].data(),
        means_.data(),     u32(most_means),       u32(s.rings.mean_slots)};
    queue.launch(*s.average,
                 {.groups = {step_.emits.size() * most_means, 1, 1}, .threads = {64, 1, 1}},
                 arguments);
  }
  const std::size_t groups = divide_up(most_samples, s.subtract_samples());
  const device::Argument arguments[] = {emit_jobs_.data(),
                                        x_.data(),
                                        means_.data(),
                                        y_.data(),
                                        missing_.data(),
                                        u32(groups),
                                        u32(s.subtract_samples()),
                                        u32(s.sizes.segment),
                                        u32(s.rings.segment_slots),
                                        std::uint64_t{s.x_stride()},
                                        u32(s.rings.mean_slots),
                                        u32(s.rings.y_samples)};
  queue.launch(*s.subtract, {.groups = {step_.emits.size() * groups, 1, 1}, .threads = {256, 1, 1}},
               arguments);
}

// The step's blocks [first, last), as many at once as there is room for their running sums.
void GpuState::search(device::Queue& queue, std::size_t first, std::size_t last, bool counting) {
  const GpuSetting& s = *setting_;
  const std::uint64_t stride = s.sums_stride();
  for (; first < last; first += s.batch_jobs()) {
    const std::size_t count = std::min(last - first, s.batch_jobs());
    for (const std::uint32_t deviations : {0U, 1U}) {
      const device::Argument measuring[] = {jobs_.data(),
                                            y_.data(),
                                            medians_.data(),
                                            sigmas_.data(),
                                            u32(first),
                                            u32(s.rings.y_samples),
                                            u32(s.rings.sigma_slots),
                                            deviations};
      queue.launch(*s.find_median, {.groups = {count, 1, 1}, .threads = {s.tunables.threads, 1, 1}},
                   measuring);
    }
    const device::Argument summing[] = {jobs_.data(),
                                        y_.data(),
                                        sigmas_.data(),
                                        low_.data(),
                                        high_.data(),
                                        kinds_.data(),
                                        u32(first),
                                        u32(s.rings.y_samples),
                                        u32(s.rings.sigma_slots),
                                        stride,
                                        u32(s.sizes.widest())};
    queue.launch(*s.add_up, {.groups = {count, 1, 1}, .threads = {s.tunables.threads, 1, 1}},
                 summing);
    if (measures_widths(s)) set_limits(queue, first, count);
    const device::Argument scanning[] = {jobs_.data(),
                                         low_.data(),
                                         high_.data(),
                                         kinds_.data(),
                                         widths_.data(),
                                         least_.data(),
                                         per_unit_.data(),
                                         over_counts_.data(),
                                         missing_.data(),
                                         records_.data(),
                                         u32(first),
                                         u32(s.tiles()),
                                         stride,
                                         u32(measures_widths(s) ? s.sizes.widths.size() : 0),
                                         u32(s.records()),
                                         std::uint32_t{counting ? 1U : 0U},
                                         u32(s.coarse_from())};
    queue.launch(*s.scan, {.groups = {count * s.tiles(), 1, 1}, .threads = {256, 1, 1}}, scanning);
  }
}

// Noise::width: each width's sums against their own root mean square over the block.
void GpuState::set_limits(device::Queue& queue, std::size_t first, std::size_t count) {
  const GpuSetting& s = *setting_;
  const std::size_t widths = s.sizes.widths.size();
  const device::Argument arguments[] = {
      jobs_.data(),   low_.data(),     high_.data(), kinds_.data(),
      widths_.data(), squares_.data(), u32(first),   std::uint64_t{s.sums_stride()}};
  queue.launch(*s.sum_squares, {.groups = {count * widths, 1, 1}, .threads = {256, 1, 1}},
               arguments);
  queue.copy(host_squares_.data(), squares_.data(), count * widths * kSquareWords * 8);
  queue.synchronise();
  __extension__ using Wide = unsigned __int128;
  const auto* squares = host_squares_.as<std::uint64_t>();
  auto* least = host_least_.as<std::int64_t>();
  auto* per_unit = host_per_unit_.as<double>();
  for (std::size_t j = 0; j < count; ++j) {
    const BlockJob& block = step_.blocks[first + j];
    for (std::size_t k = 0; k < widths; ++k) {
      const std::size_t at = j * widths + k, width = s.sizes.widths[k];
      const std::uint64_t* part = squares + at * kSquareWords;
      const Wide sum = Wide{part[0]} + (Wide{part[1]} << 32) + (Wide{part[2]} << 33) +
                       (Wide{part[3]} << 65) + (Wide{part[4]} << 64);
      least[at] = kNeverReached;
      per_unit[at] = 0;
      if (sum == 0 || width > block.samples) continue;
      const std::uint64_t boxcars = std::min(block.starts, block.samples - width + 1);
      const double rms = std::sqrt(static_cast<double>(sum) / static_cast<double>(boxcars));
      per_unit[at] = 1 / rms;
      least[at] = static_cast<std::int64_t>(std::ceil(s.config.threshold * rms));
    }
  }
  queue.copy(least_.data(), least, count * widths * 8);
  queue.copy(per_unit_.data(), per_unit, count * widths * 8);
}

// What the last step found: peaks, from them stretches and groups.
void GpuState::collect() {
  pending_ = false;
  stepped_->synchronise();
  const GpuSetting& s = *setting_;
  const auto* counters = host_counters_.as<std::uint32_t>();
  std::memcpy(&counters_.missing, counters, 8);
  found_.clear();
  if (counters[2] > 0) {
    fetch_records(counters[2]);
    aside_->copy(host_sigmas_.data(), sigmas_.data(), sigmas_.bytes());
    aside_->copy(host_over_.data(), over_counts_.data(), over_counts_.bytes());
    aside_->synchronise();
    std::memcpy(over_.data(), host_over_.data(), over_.size() * 8);
  }
  requests_.clear();
  peaks_.add(step_, found_, requests_);
  refine(requests_);
  std::vector<Detection> detections;
  peaks_.take(detections);
  std::uint64_t horizon = ~std::uint64_t{0};
  for (std::size_t t = 0; t < s.config.trials; ++t)
    horizon = std::min(horizon, peaks_.open_since(t, step_.block_first[t]));
  counters_.searched = step_.searched;
  counters_.detections += detections.size();
  groups_.add(detections);
  groups_.settle(horizon, pulses_);
}

void GpuState::append(std::uint32_t count) {
  const auto* words = host_records_.as<std::uint64_t>();
  for (std::uint32_t r = 0; r < count; ++r) {
    FoundPeak peak;
    peak.job = u32(words[2 * r] >> 32);
    peak.width_index = u32(words[2 * r]) >> 20;
    peak.time = u32(words[2 * r]) & 0xfffff;
    std::memcpy(&peak.snr, &words[2 * r + 1], 8);
    found_.push_back(peak);
  }
}

void GpuState::fetch_records(std::uint32_t count) {
  if (count > setting_->records()) return fetch_again();
  const std::size_t room = host_records_.bytes() / kRecordBytes;
  for (std::size_t done = 0; done < count;) {
    const std::size_t part = std::min<std::size_t>(room, count - done);
    aside_->copy(host_records_.data(), records_.as<std::byte>() + done * kRecordBytes,
                 part * kRecordBytes);
    aside_->synchronise();
    append(u32(part));
    done += part;
  }
}

// More peaks than the buffer has room for: the same blocks once more, as few at a time as it takes.
void GpuState::fetch_again() {
  std::size_t each = step_.blocks.size();
  for (std::size_t first = 0; first < step_.blocks.size();) {
    // What keeps a sigma comes after what measured it.
    const std::size_t end = first < step_.measuring ? step_.measuring : step_.blocks.size();
    const std::size_t last = std::min(end, first + each);
    aside_->fill(missing_.as<std::byte>() + 8, 0, 8);
    search(*aside_, first, last, false);
    aside_->copy(host_counters_.data(), missing_.data(), kCounterBytes);
    aside_->synchronise();
    const std::uint32_t count = host_counters_.as<std::uint32_t>()[2];
    if (count > setting_->records()) {
      each = std::max<std::size_t>(1, each / 2);
      continue;
    }
    fetch_records(count);
    first = last;
  }
}

double GpuState::sigma_of(const Stretches::Stretch& stretch) const {
  const std::size_t slots = setting_->rings.sigma_slots;
  const std::uint64_t block = stretch.detection.first / setting_->sizes.noise;
  return host_sigmas_.as<double>()[stretch.detection.trial * slots + block % slots];
}

void GpuState::refine(std::vector<RefineRequest>& requests) {
  const GpuSetting& s = *setting_;
  for (std::size_t first = 0; first < requests.size();) {
    std::size_t last = first, samples = 0, longest = 0;
    auto* jobs = host_gather_jobs_.as<std::uint64_t>();
    for (; last < requests.size() && last - first < kMostGathers; ++last) {
      const RefineRequest& r = requests[last];
      const auto length = static_cast<std::size_t>(r.end - r.first);
      if (samples + length > s.gathered()) break;
      const std::array<std::uint64_t, kGatherWords> words{
          r.stretch->detection.trial, r.first % s.rings.y_samples, length, samples};
      std::copy(words.begin(), words.end(), jobs + (last - first) * kGatherWords);
      samples += length;
      longest = std::max(longest, length);
    }
    aside_->copy(gather_jobs_.data(), jobs, (last - first) * kGatherWords * 8);
    const std::size_t groups = divide_up(longest, kGatheredOfGroup);
    const device::Argument arguments[] = {gather_jobs_.data(), y_.data(), gathered_.data(),
                                          u32(groups), u32(s.rings.y_samples)};
    aside_->launch(*s.gather, {.groups = {(last - first) * groups, 1, 1}, .threads = {256, 1, 1}},
                   arguments);
    aside_->copy(host_gathered_.data(), gathered_.data(), samples * 4);
    aside_->synchronise();
    for (std::size_t r = first; r < last; ++r) {
      const RefineRequest& request = requests[r];
      const float* y = host_gathered_.as<float>() + jobs[(r - first) * kGatherWords + 3];
      refine_peak({y, request.first, request.end}, s.sizes, sigma_of(*request.stretch),
                  std::min<std::uint64_t>(request.window, s.sizes.baseline()), s.config.threshold,
                  scratch_, *request.stretch);
    }
    first = last;
  }
}

}  // namespace tautline::stages::detect
