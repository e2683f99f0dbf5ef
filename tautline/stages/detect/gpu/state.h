// One stream on a GPU: rings of samples in device memory (gpu/state.cpp), launches of steps
// (gpu/launch.cpp), and the peaks of the last step, which the host takes down before it launches
// the next (gpu/collect.cpp). What it makes of them is computed on a thread beside the caller's,
// while the device works on the next step; it is done before the step after that is launched.
#pragma once

#include <array>
#include <future>
#include <memory>
#include <vector>

#include "tautline/stages/detect/backends.h"
#include "tautline/stages/detect/gpu/kernels.h"
#include "tautline/stages/detect/gpu/layout.h"
#include "tautline/stages/detect/gpu/peak_lists.h"
#include "tautline/stages/detect/gpu/schedule.h"
#include "tautline/stages/detect/groups.h"

namespace tautline::stages::detect {

/// Shared by the states of a plan.
struct GpuSetting : GpuLayout {
  using GpuLayout::GpuLayout;
  std::shared_ptr<const device::Device> device;
  GpuKernels kernels;
};

class GpuState final : public BaseState {
 public:
  GpuState(std::shared_ptr<const GpuSetting> setting, device::Queue& queue);
  ~GpuState() override;
  InputArea input_area() const override;

 private:
  /// Series in the host's memory or the device's.
  void search(device::Queue& queue, const core::SampleView<2>& series) override;
  void search_rest(device::Queue& queue) override;
  void set_lengths(device::Queue& queue, std::span<const std::uint64_t> lengths) override;
  void clear() override;
  void exchange(core::ByteWriter& archive) override;
  void exchange(core::ByteReader& archive) override;
  template <class Exchange>
  void exchange_host(Exchange& archive);
  std::array<const device::Buffer*, 9> kept() const;

  std::vector<std::uint64_t> planned_lengths() const;
  void copy_in(device::Queue& queue, const core::SampleView<2>& series);
  void sum_segments(device::Queue& queue, std::size_t samples);
  void advance(device::Queue& queue);
  void launch(device::Queue& queue);
  void emit(device::Queue& queue);
  void search_blocks(device::Queue& queue, std::size_t first, std::size_t last, bool counting);
  void set_limits(device::Queue& queue, std::size_t first, std::size_t count);
  void collect();
  void join();
  void stop();
  void group(const Step& step);
  void fetch_records(std::uint32_t count);
  void fetch_again(std::uint32_t found);
  void refine(const std::vector<RefineRequest>& requests);
  double sigma_of(const Events::Event& event) const;

  std::shared_ptr<const GpuSetting> setting_;  // a state may outlive its plan
  GpuSchedule schedule_;
  PeakLists peaks_;
  Groups groups_;

  std::unique_ptr<device::Queue> fetch_queue_;  ///< for the host's copies and refinement
  std::unique_ptr<device::Event> stepped_;      ///< the last step or call has finished
  bool pending_ = false;                        ///< a step is launched and not collected
  Step step_;
  std::vector<RunRecord> found_;
  std::vector<RefineRequest> requests_;
  std::vector<Pulse> grouped_;  // of the step that is being grouped
  std::uint64_t searched_ = 0, detections_ = 0;

  device::Buffer x_, y_, lengths_, sums_[2], counts_[2], segment_means_, means_, missing_;
  device::Buffer emit_jobs_, jobs_, refine_jobs_, middles_, refined_sums_, sigmas_, medians_, low_,
      high_, kinds_;
  device::Buffer widths_, factors_, least_, per_unit_, squares_, hits_, over_counts_, records_;
  bool shortened_ = false;  ///< lengths_ are not the Config's
  int half_ = 0;  ///< which of sums_ and counts_ has those of the segment that is being filled
  // In pinned host memory.
  device::Buffer host_emit_jobs_, host_jobs_, host_refine_jobs_, host_middles_, host_sigmas_,
      host_records_, host_counters_, host_over_, host_least_, host_per_unit_, host_squares_;
  std::future<void> grouping_;  // last: it uses all of these
};

}  // namespace tautline::stages::detect
