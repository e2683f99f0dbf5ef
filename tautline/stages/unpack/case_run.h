// A case of unpack on a device: a block, its samples and their validity.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "tautline/jit/case_run.h"
#include "tautline/stages/unpack/case.h"

namespace tautline::stages::unpack {

/// The block is in the host's memory, or with Config::blocks_on_device in that of the device; the
/// samples are where the device computes.
class CaseRun : public jit::CaseRun<Plan> {
 public:
  CaseRun(const Config& config, core::RawBlock block, std::shared_ptr<const device::Device> device)
      : jit::CaseRun<Plan>(std::move(device)),
        type_(unpacked_type(config.layout.format)),
        block_(std::move(block)),
        shape_{config.unpacked_channels(), config.layout.inputs(), block_.samples},
        samples_(zeros(shape_[0] * shape_[1] * shape_[2] * core::bytes_of(type_))),
        validity_(config.layout.inputs(), block_.samples) {
    if (!config.blocks_on_device) return;
    on_device_ = this->device().allocate(block_.bytes.size());
    queue().copy(on_device_.data(), block_.bytes.data(), on_device_.bytes());
    queue().synchronise();
    block_.bytes.lend({on_device_.as<std::byte>(), on_device_.bytes()});
  }

  /// To the caller's memory.
  Result give(const core::MutableSampleView<3>& samples,
              const core::View<std::uint64_t, 2>& validity) {
    return plan()->execute(queue(), state(), block_, samples, validity);
  }
  void execute() override { give({samples_.data(), type_, shape_}, validity_.mutable_view()); }
  const device::Buffer& results() const { return samples_; }
  const core::ValidityMask& validity() const { return validity_; }

 private:
  core::SampleType type_;
  core::RawBlock block_;
  std::array<std::size_t, 3> shape_;
  device::Buffer samples_, on_device_;
  core::ValidityMask validity_;
};

}  // namespace tautline::stages::unpack
