#include "tautline/stages/unpack/unpack.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/unpack/backends.h"

namespace tautline::stages::unpack {

namespace {

__extension__ using Wide = unsigned __int128;

[[noreturn]] void refuse(const std::string& field, std::size_t value, const std::string& limit) {
  throw core::Error(core::ErrorKind::config, "unpack " + field, std::to_string(value), limit);
}

Wide last_bit(const core::RawLayout& layout, std::size_t samples) {
  return static_cast<Wide>(layout.offset_bits) +
         static_cast<Wide>(samples - 1) * layout.time_stride_bits +
         static_cast<Wide>(layout.channels - 1) * layout.channel_stride_bits +
         static_cast<Wide>(layout.antennas - 1) * layout.antenna_stride_bits +
         static_cast<Wide>(layout.polarisations - 1) * layout.polarisation_stride_bits +
         static_cast<Wide>(layout.format.bits_per_sample());
}

void require_format(const core::SampleFormat& format) {
  constexpr std::array<int, 6> kBits{1, 2, 4, 8, 16, 32};
  bool known = false;
  for (const int bits : kBits) known = known || format.bits == bits;
  if (!known || (format.is_float() ? format.bits < 16 : format.bits == 32))
    throw core::Error(core::ErrorKind::config, "unpack layout.format", core::to_string(format),
                      "1, 2, 4, 8 or 16-bit integers or 16 or 32-bit floats");
}

void require_config(const Config& config) {
  const core::RawLayout& layout = config.layout;
  require_format(layout.format);
  core::check(config, "unpack");
  if (layout.channels == 0) refuse("layout.channels", 0, "1 or more");
  if (layout.antennas == 0) refuse("layout.antennas", 0, "1 or more");
  if (layout.polarisations == 0) refuse("layout.polarisations", 0, "1 or more");
  if (config.first_channel >= layout.channels)
    refuse("first_channel", config.first_channel,
           "below the " + std::to_string(layout.channels) + " channels");
  if (config.channels > layout.channels - config.first_channel)
    refuse("channels", config.channels,
           "at most the " + std::to_string(layout.channels - config.first_channel) +
               " from first_channel on");
  constexpr Wide kMaxRows = std::numeric_limits<std::uint32_t>::max();
  if (static_cast<Wide>(layout.channels) * layout.antennas * layout.polarisations > kMaxRows)
    refuse("layout.channels", layout.channels, "fewer than 2^32 channels x inputs");
  // Components below a byte lie on multiples of their size, so none straddles a byte. A device reads whole floats.
  const std::size_t step =
      config.blocks_on_device && layout.format.is_float()
          ? 32
          : std::min<std::size_t>(8, static_cast<std::size_t>(layout.format.bits));
  const std::array<std::pair<const char*, std::size_t>, 5> places{
      {{"layout.offset_bits", layout.offset_bits},
       {"layout.time_stride_bits", layout.time_stride_bits},
       {"layout.channel_stride_bits", layout.channel_stride_bits},
       {"layout.antenna_stride_bits", layout.antenna_stride_bits},
       {"layout.polarisation_stride_bits", layout.polarisation_stride_bits}}};
  for (const auto& [name, bits] : places)
    if (bits % step != 0) refuse(name, bits, "a multiple of " + std::to_string(step));
  if (last_bit(layout, config.max_samples) > std::numeric_limits<std::size_t>::max() / 2)
    refuse("max_samples", config.max_samples, "a block that fits in memory");
}

class ReferencePlan final : public Plan {
 public:
  explicit ReferencePlan(Config config) : config_(std::move(config)) {}
  const Config& config() const override { return config_; }
  std::string backend() const override { return "reference"; }
  device::MemoryUse bytes() const override { return {}; }
  std::unique_ptr<State> make_state(device::Queue&) const override {
    return std::make_unique<State>();
  }
  Result execute(device::Queue&, State&, const core::RawBlock& block,
                 const core::MutableSampleView<3>& samples,
                 const core::View<std::uint64_t, 2>& validity) const override {
    return unpack_reference(config_, block, checked_target(config_, block, samples, validity));
  }

 private:
  Config config_;
};

}  // namespace

core::SampleFormat unpacked_format(const core::SampleFormat& raw) {
  if (raw.is_float()) return raw;
  return {raw.bits <= 8 ? 8 : 16, raw.complex, core::Encoding::twos_complement};
}

std::vector<PlacedRow> rows_by_place(const core::RawLayout& layout) {
  std::vector<PlacedRow> rows;
  rows.reserve(layout.channels * layout.inputs());
  for (std::size_t c = 0; c < layout.channels; ++c)
    for (std::size_t i = 0; i < layout.inputs(); ++i)
      rows.push_back({row_offset_bits(layout, c, i), static_cast<std::uint32_t>(c),
                      static_cast<std::uint32_t>(i)});
  std::sort(rows.begin(), rows.end(),
            [](const PlacedRow& a, const PlacedRow& b) { return a.place_bits < b.place_bits; });
  return rows;
}

Target checked_target(const Config& config, const core::RawBlock& block,
                      const core::MutableSampleView<3>& samples,
                      const core::View<std::uint64_t, 2>& validity) {
  const auto refuse_block = [](const std::string& field, std::size_t value,
                               const std::string& limit) {
    throw core::Error(core::ErrorKind::format, "unpack block." + field, std::to_string(value),
                      limit);
  };
  if (!(block.layout == config.layout))
    throw core::Error(core::ErrorKind::format, "unpack block.layout", "not the plan's",
                      "the layout that the plan was made for", "make a plan for this layout");
  if (block.samples > config.max_samples)
    refuse_block("samples", block.samples,
                 "at most max_samples, " + std::to_string(config.max_samples));
  if (block.samples == 0) return {};
  const Wide bytes = (last_bit(block.layout, block.samples) + 7) / 8;
  if (bytes > block.bytes.size())
    refuse_block("bytes", block.bytes.size(),
                 std::to_string(static_cast<std::uint64_t>(bytes)) + " or more for " +
                     std::to_string(block.samples) + " samples");
  for (const core::InvalidSpan& span : block.invalid) {
    if (span.input != core::InvalidSpan::kAllInputs && span.input >= block.layout.inputs())
      refuse_block("invalid.input", span.input,
                   "below the " + std::to_string(block.layout.inputs()) + " inputs");
  }
  const core::SampleType type = unpacked_type(config.layout.format);
  if (samples.type() != type) samples.refuse("unpack samples", std::string(core::to_string(type)));
  const auto require_at_least = [](const std::string& field, std::size_t value, std::size_t least) {
    if (value < least) refuse(field, value, std::to_string(least) + " or more");
  };
  require_at_least("samples [channel]", samples.extent(0), config.unpacked_channels());
  require_at_least("samples [input]", samples.extent(1), config.layout.inputs());
  require_at_least("samples [time]", samples.extent(2), block.samples);
  if (samples.stride(2) != 1)
    throw core::Error(core::ErrorKind::config, "unpack samples' time stride",
                      std::to_string(samples.stride(2)), "1");
  if (!validity.empty() || !all_valid(block)) {
    require_at_least("validity [input]", validity.extent(0), config.layout.inputs());
    require_at_least("validity [word]", validity.extent(1), core::validity_words(block.samples));
  }
  const std::size_t bytes_of_one = core::bytes_of(type);
  return {static_cast<std::byte*>(samples.data()),
          static_cast<std::size_t>(samples.stride(0)) * bytes_of_one,
          static_cast<std::size_t>(samples.stride(1)) * bytes_of_one, validity};
}

void mark_lost(const core::RawBlock& block, const Target& target, std::size_t first,
               std::size_t last) {
  if (target.validity.empty()) return;
  const std::size_t inputs = block.layout.inputs();
  for (std::size_t i = 0; i < inputs; ++i) {
    std::uint64_t* words = target.validity.row(i);
    for (std::size_t w = first / 64; w < core::validity_words(last); ++w)
      words[w] = core::low_bits(last - w * 64);
  }
  for (const core::InvalidSpan& span : block.invalid) {
    if (span.first_sample >= last) continue;
    const std::size_t from = std::max(first, span.first_sample);
    const std::size_t to =
        span.samples > last - span.first_sample ? last : span.first_sample + span.samples;
    if (from >= to) continue;
    const bool all = span.input == core::InvalidSpan::kAllInputs;
    for (std::size_t i = all ? 0 : span.input; i < (all ? inputs : span.input + 1); ++i)
      core::set_range(target.validity.row(i), from, to - from, false);
  }
}

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device) {
  require_config(config);
  const core::SampleFormat& format = config.layout.format;
  if (config.blocks_on_device && (!device->compiles() || (format.is_float() && format.bits != 32)))
    throw core::Error(core::ErrorKind::unsupported, "blocks_on_device", "given",
                      "a GPU, and integers or floats of 32 bits");
  if (device->api() == device::Api::reference) return std::make_shared<ReferencePlan>(config);
  if (device->compiles()) return make_gpu_plan(config, std::move(device), Tunables{});
  return make_cpu_plan(config, device->instruction_set(), Tunables{});
}

Result unpack(const core::RawBlock& block, const core::MutableSampleView<3>& samples,
              const core::View<std::uint64_t, 2>& validity, const device::Selection& selection) {
  const auto device = device::open(selection);
  const auto queue = device->make_queue();
  const auto plan = make_plan(
      {.layout = block.layout, .max_samples = std::max<std::size_t>(1, block.samples)}, device);
  return plan->execute(*queue, *plan->make_state(*queue), block, samples, validity);
}

}  // namespace tautline::stages::unpack
