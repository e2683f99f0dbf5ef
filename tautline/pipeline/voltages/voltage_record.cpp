#include "tautline/pipeline/voltages/voltage_record.h"

#include <algorithm>

#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/voltages/pack_times.h"

namespace tautline::pipeline {

namespace {

// Times that are packed at once, or zeros.
constexpr std::size_t kPackedBytes = std::size_t{4} << 20;

bool is_vdif(const std::string& path) {
  return path.ends_with(".vdif");
}

std::size_t time_bits_of(const core::VoltageDescription& description) {
  return static_cast<std::size_t>(description.format.bits_per_sample()) * description.inputs() *
         description.channels;
}

formats::dada::WriteOptions dada_options(const VoltageRecordOptions& options) {
  formats::dada::WriteOptions dada;
  dada.overwrite = options.overwrite;
  dada.extra.emplace_back("HISTORY", options.history);
  dada.extra.insert(dada.extra.end(), options.header.begin(), options.header.end());
  return dada;
}

}  // namespace

void require_record_name(const std::string& path) {
  if (!path.ends_with(".dada") && !is_vdif(path))
    throw core::Error(core::ErrorKind::config, "path", path, "a name ending in .dada or .vdif");
}

void require_recordable(const std::string& path, const core::VoltageDescription& description) {
  if (is_vdif(path)) formats::vdif::Writer::frame_samples(description);
  if (const std::size_t bits = time_bits_of(description); bits % 8 != 0)
    throw core::Error(core::ErrorKind::unsupported, "inputs", std::to_string(bits) + " bits a time",
                      "samples of all inputs and channels that fill whole bytes");
}

std::size_t time_bytes_of(const core::VoltageDescription& description) {
  return time_bits_of(description) / 8;
}

VoltageRecord::VoltageRecord(VoltageRecordOptions options,
                             const core::VoltageDescription& description)
    : options_(std::move(options)), description_(description) {
  if (is_vdif(options_.path))
    vdif_.emplace(options_.path, description_, options_.overwrite);
  else
    dada_.emplace(options_.path, description_, dada_options(options_));
}

void VoltageRecord::put(std::span<const std::byte> times) {
  if (vdif_)
    vdif_->write(times);
  else
    dada_->write(times);
}

void VoltageRecord::write(std::span<const std::byte> bytes, const core::RawLayout& layout,
                          std::size_t first, std::size_t samples,
                          std::span<const core::InvalidSpan> invalid) {
  for (const core::InvalidSpan& span : invalid) {
    const std::size_t from = std::max(span.first_sample, first),
                      to = std::min(span.first_sample + span.samples, first + samples);
    if (from >= to) continue;
    invalid_.add(span.input, samples_ + (from - first), to - from);
    if (vdif_)
      vdif_->mark_invalid(
          {span.input, static_cast<std::size_t>(samples_) + (from - first), to - from});
  }
  const std::size_t step = std::max<std::size_t>(1, kPackedBytes / time_bytes_of(description_));
  for (std::size_t done = 0; done < samples; done += step)
    put(pack_times(bytes, layout, first + done, std::min(step, samples - done), packed_));
  samples_ += samples;
}

void VoltageRecord::fill(std::uint64_t samples) {
  if (samples > 0 && vdif_)
    vdif_->mark_invalid({core::InvalidSpan::kAllInputs, static_cast<std::size_t>(samples_),
                         static_cast<std::size_t>(samples)});
  const std::size_t bytes = time_bytes_of(description_);
  const std::uint64_t step = std::max<std::size_t>(1, kPackedBytes / bytes);
  for (std::uint64_t left = samples; left > 0;) {
    const std::uint64_t times = std::min(left, step);
    packed_.assign(static_cast<std::size_t>(times) * bytes, std::byte{0});
    put(packed_);
    left -= times;
  }
  samples_ += samples;
}

// A full disk is reported before either file has its name.
void VoltageRecord::finish(nlohmann::ordered_json record) {
  record["start_utc"] = core::to_iso(description_.start);
  record["samples"] = samples_;
  record["rate_hz"] = {description_.rate_hz.numerator, description_.rate_hz.denominator};
  record["centre_hz"] = description_.centre_hz;
  record["bandwidth_hz"] = description_.bandwidth_hz;
  if (vdif_) record["padding_samples"] = vdif_->padding();
  invalid_.write_to(record);
  formats::PartialFile beside(options_.path + ".json", options_.overwrite);
  const std::string text = record.dump(1) + "\n";
  beside.write_at(0, std::as_bytes(std::span(text)));
  formats::finish_after_record(beside, [this] {
    if (vdif_)
      vdif_->finish();
    else
      dada_->finish();
  });
}

}  // namespace tautline::pipeline
