#include "array_sources.h"

#include <algorithm>

#include "tautline/formats/memory/memory_readers.h"
#include "tautline/pipeline/rows_of_device.h"

namespace tautline::python {

namespace {

core::Instant instant_of(const nb::dict& facts) {
  const auto utc = nb::cast<std::string>(facts["start"]);
  return utc.empty() ? core::Instant{} : core::parse_utc(utc);
}

core::Rational rate_of(const nb::dict& facts) {
  const auto text = nb::cast<std::string>(facts["rate_hz"]);
  const auto slash = text.find('/');
  if (slash == std::string::npos) return core::parse_decimal(text);
  return core::make_rational(std::stoll(text.substr(0, slash)), std::stoll(text.substr(slash + 1)));
}

void require_place(const AnyArray& array, const std::string& field,
                   const std::shared_ptr<const device::Device>& there) {
  const int type = array.device_type();
  const bool fits = there ? array.size() == 0 || there->holds(array.data())
                          : type == nb::device::cpu::value || type == nb::device::cuda_host::value;
  if (!fits)
    throw core::Error(core::ErrorKind::config, field, "an array in other memory",
                      there ? "one in that of " + there->name() : "one in the host's");
}

/// Arrays of tags, merged in order of time; of several at one tick the lowest detector's comes first.
class TagReader final : public formats::PhotonReader {
 public:
  TagReader(std::vector<std::span<const std::uint64_t>> tags, double tick_s)
      : tags_(std::move(tags)) {
    description_.format = "tags";
    description_.record_type = "array";
    description_.mode = formats::TagMode::t2;
    description_.time_unit_s = tick_s;
    for (const auto& one : tags_) description_.records += one.size();
    description_.channels = static_cast<std::uint32_t>(tags_.size());
    rewind();
  }
  const formats::PhotonDescription& description() const override { return description_; }
  std::size_t read(std::span<formats::Photon> photons) override {
    std::size_t filled = tags_.size() == 1 ? read_one(photons) : 0;
    for (; tags_.size() > 1 && filled < photons.size(); ++filled) {
      std::size_t first = tags_.size();
      for (std::size_t k = 0; k < tags_.size(); ++k)
        if (next_[k] < tags_[k].size() &&
            (first == tags_.size() || tags_[k][next_[k]] < tags_[first][next_[first]]))
          first = k;
      if (first == tags_.size()) break;
      counts_.last_time = tags_[first][next_[first]++];
      photons[filled] = {counts_.last_time, static_cast<std::uint16_t>(first), 0};
    }
    counts_.records = counts_.photons += filled;
    return filled;
  }
  std::optional<formats::KnownPhotons> known() const override {
    formats::KnownPhotons all;
    for (std::size_t k = 0; k < tags_.size(); ++k)
      if (!tags_[k].empty()) {
        all.detectors.push_back({static_cast<std::uint16_t>(k), tags_[k].size()});
        all.times.push_back(tags_[k]);
        all.last_time = std::max(all.last_time, tags_[k].back());
      }
    return all;
  }
  void rewind() override {
    next_.assign(tags_.size(), 0);
    counts_ = {};
  }
  const formats::TagCounts& counts() const override { return counts_; }
  const formats::Damage& damage() const override { return damage_; }

 private:
  std::size_t read_one(std::span<formats::Photon> photons) {
    const auto some =
        tags_[0].subspan(next_[0], std::min(photons.size(), tags_[0].size() - next_[0]));
    for (std::size_t n = 0; n < some.size(); ++n) photons[n] = {some[n], 0, 0};
    if (!some.empty()) counts_.last_time = some.back();
    next_[0] += some.size();
    return some.size();
  }

  std::vector<std::span<const std::uint64_t>> tags_;
  std::vector<std::size_t> next_;
  formats::PhotonDescription description_;
  formats::TagCounts counts_;
  formats::Damage damage_;
};

}  // namespace

std::function<std::unique_ptr<formats::PhotonReader>()> source_of_tags(
    std::vector<std::span<const std::uint64_t>> tags, double tick_s) {
  return [tags = std::move(tags), tick_s] { return std::make_unique<TagReader>(tags, tick_s); };
}

std::function<std::unique_ptr<formats::VoltageReader>()> source_of_voltages(
    const AnyArray& samples, bool pairs, const nb::dict& facts,
    std::shared_ptr<const device::Device> there) {
  require_place(samples, "x", there);
  core::VoltageDescription d;
  d.rate_hz = rate_of(facts);
  d.centre_hz = nb::cast<double>(facts["centre_hz"]);
  d.bandwidth_hz = nb::cast<double>(facts["bandwidth_hz"]);
  d.polarisations = nb::cast<std::size_t>(facts["polarisations"]);
  d.start = instant_of(facts);
  return [view = view_of<3>(samples, "x", pairs), d, there = std::move(there)] {
    return formats::open_memory_voltages(view, d, pipeline::rows_of_device(there));
  };
}

std::function<std::unique_ptr<formats::FilterbankReader>()> source_of_filterbank(
    const AnyArray& samples, const nb::dict& facts, std::shared_ptr<const device::Device> there) {
  require_place(samples, "x", there);
  formats::FilterbankDescription d;
  d.format = "array";
  d.channel_mhz = nb::cast<std::vector<double>>(facts["frequencies"]);
  d.tsamp_s = nb::cast<double>(facts["sample_time_s"]);
  d.rate_hz = rate_of(facts);
  d.start = instant_of(facts);
  return [view = view_of<2>(samples, "x"), d, there = std::move(there)] {
    return formats::open_memory_filterbank(view, d, pipeline::rows_of_device(there));
  };
}

std::function<std::unique_ptr<formats::CountReader>()> source_of_counts(
    const AnyArray& counts, const nb::dict& facts, std::shared_ptr<const device::Device> there) {
  require_place(counts, "counts", there);
  formats::CountDescription d{.format = "counts"};
  if (facts.contains("bin_s")) d.bin_s = nb::cast<double>(facts["bin_s"]);
  return [view = view_of<2>(counts, "counts"), d, there = std::move(there)] {
    return formats::open_memory_counts(view, d, pipeline::rows_of_device(there));
  };
}

}  // namespace tautline::python
