#include "tautline/pipeline/search/trial_sink.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>

#include "tautline/core/error.h"
#include "tautline/core/integers.h"
#include "tautline/core/threads.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/formats/output_folder.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/presto/dat.h"
#include "tautline/formats/sigproc/sigproc.h"
#include "tautline/formats/sigproc/writers.h"

namespace tautline::pipeline {

namespace {

// [dm][time]: rows are a whole stream apart.
class ArraySink final : public TrialSink {
 public:
  explicit ArraySink(const TrialSinkConfig& config)
      : rows_(config.output, config.ranges.front().dms.size(), 4, config.ranges.front().samples,
              config.overwrite,
              [type = config.float_samples ? "<f4" : "<i4",
               trials = config.ranges.front().dms.size()](std::uint64_t samples,
                                                          std::size_t least_bytes) {
                return formats::npy::format_header(type, {trials, samples}, least_bytes);
              }) {
    if (config.ranges.size() > 1)
      throw core::Error(core::ErrorKind::config, config.output,
                        std::to_string(config.ranges.size()) + " sample times",
                        "one for all trials of an array",
                        "leave downsampling out, or write a folder of files");
  }

  void write(std::size_t, const core::SampleView<2>& trials) override {
    const auto* data = static_cast<const std::byte*>(trials.data());
    rows_.write(trials.extent(1), [&](std::size_t k) -> std::span<const std::byte> {
      return {data + 4 * k * static_cast<std::size_t>(trials.stride(0)), 4 * trials.extent(1)};
    });
  }
  void finish() override { rows_.finish(); }
  std::vector<std::string> paths() const override { return {rows_.path()}; }

 private:
  formats::npy::GrowingRows rows_;
};

// First and last bin of each data segment, in bins of a series. Of a step of level inside a bin the next segment has it.
DataSegments on_bins(const DataSegments& segments, std::uint64_t downsample) {
  DataSegments bins;
  for (const auto& [first, end] : segments) {
    const std::uint64_t from = core::divide_up(first, downsample), to = end / downsample;
    if (from < to) bins.emplace_back(from, to - 1);
  }
  return bins;
}

// One file a trial. Writer takes floats.
template <class Writer>
class SeriesSink final : public TrialSink {
 public:
  /// make(path, range, dm) gives a writer.
  template <class Make>
  SeriesSink(const TrialSinkConfig& config, const std::string& ending, Make make) {
    std::vector<double> dms;
    for (const TrialRange& range : config.ranges)
      dms.insert(dms.end(), range.dms.begin(), range.dms.end());
    const bool single = config.output.ends_with(ending);
    if (single && dms.size() != 1)
      throw core::Error(core::ErrorKind::config, config.output,
                        std::to_string(dms.size()) + " trials", "one trial for one file",
                        "name a folder");
    // Before any file is made, since that removes what lies under its temporary name.
    if (!single) {
      folder_ = std::make_unique<formats::OutputFolder>("-o", config.output);
      folder_->lock();
    }
    const std::vector<std::string> names = dm_names(dms);
    std::size_t k = 0;
    for (const TrialRange& range : config.ranges) {
      first_.push_back(k);
      downsample_.push_back(range.downsample);
      for (const double dm : range.dms) {
        paths_.push_back(single ? config.output
                                : (std::filesystem::path(config.output) /
                                   (config.name + "_DM" + names[k] + ending))
                                      .string());
        writers_.push_back(make(paths_.back(), range, dm));
        ++k;
      }
    }
    first_.push_back(k);
    if (single) writers_.front()->lock();
  }

  void write(std::size_t range, const core::SampleView<2>& trials) override {
    core::with_type<std::int32_t, float>(trials, "trials", [&](const auto& typed) {
      const std::size_t begin = first_[range];
      const std::size_t rows = first_[range + 1] - begin;
      constexpr std::size_t kLeastSamples = std::size_t{1} << 18;  // of a piece
      core::in_pieces(rows, rows * typed.extent(1) / kLeastSamples,
                      [&](std::size_t, std::size_t first, std::size_t last) {
                        std::vector<float> floats;
                        for (std::size_t i = first; i < last; ++i)
                          write_row(begin + i, std::span(typed.row(i), typed.extent(1)), floats);
                      });
    });
  }
  void tell_data(const DataSegments& segments) override {
    if constexpr (requires { writers_[0]->set_on_bins(segments); })
      for (std::size_t range = 0; range < downsample_.size(); ++range)
        for (std::size_t k = first_[range]; k < first_[range + 1]; ++k)
          writers_[k]->set_on_bins(on_bins(segments, downsample_[range]));
  }
  // No file has its final name before all are written: a disk may fill with the last of them.
  void finish() override {
    // Disks answer many flushes in little more than the time of one.
    core::wait_for_each(writers_.size(), [this](std::size_t k) {
      if constexpr (requires { writers_[k]->complete(); }) writers_[k]->complete();
    });
    core::wait_for_each(writers_.size(), [this](std::size_t k) { writers_[k]->finish(); });
  }
  std::vector<std::string> paths() const override { return paths_; }

 private:
  void write_row(std::size_t trial, std::span<const float> row, std::vector<float>&) {
    writers_[trial]->write(row);
  }
  void write_row(std::size_t trial, std::span<const std::int32_t> row, std::vector<float>& floats) {
    floats.assign(row.begin(), row.end());
    writers_[trial]->write(std::span<const float>(floats));
  }

  std::unique_ptr<formats::OutputFolder> folder_;  // goes after the unfinished files in it
  std::vector<std::size_t> first_;                 // trial of each range
  std::vector<std::size_t> downsample_;            // of each range
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<Writer>> writers_;
};

// The facts of the filterbank in the header of a series.
formats::FilterbankDescription of_series(const TrialSinkConfig& config, const TrialRange& range) {
  formats::FilterbankDescription description = config.description;
  description.tsamp_s *= static_cast<double>(range.downsample);
  return description;
}

std::unique_ptr<TrialSink> make_dat_sink(const TrialSinkConfig& config) {
  using Writer = formats::presto::DatWriter;
  return std::make_unique<SeriesSink<Writer>>(
      config, ".dat", [&](const std::string& path, const TrialRange& range, double dm) {
        auto inf = formats::presto::inf_of(of_series(config, range), dm, config.dm_constant);
        return std::make_unique<Writer>(path, std::move(inf), config.overwrite);
      });
}

std::unique_ptr<TrialSink> make_tim_sink(const TrialSinkConfig& config) {
  using Writer = formats::sigproc::TimeSeriesWriter;
  return std::make_unique<SeriesSink<Writer>>(
      config, ".tim", [&](const std::string& path, const TrialRange& range, double dm) {
        auto header = formats::sigproc::header_of(of_series(config, range));
        header.refdm = dm;
        return std::make_unique<Writer>(path, header, config.overwrite);
      });
}

}  // namespace

std::vector<std::string> dm_names(const std::vector<double>& dms) {
  std::vector<std::string> names;
  for (int decimals = 2; decimals <= 17; ++decimals) {
    names.clear();
    for (const double dm : dms) {
      char text[352];
      std::snprintf(text, sizeof text, "%.*f", decimals, dm);
      names.push_back(text);
    }
    auto sorted = names;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) break;
  }
  return names;
}

std::unique_ptr<TrialSink> make_trial_sink(const TrialSinkConfig& config) {
  switch (config.format) {
    case SeriesFormat::dat:
      return make_dat_sink(config);
    case SeriesFormat::tim:
      return make_tim_sink(config);
    case SeriesFormat::npy:
      break;
  }
  return std::make_unique<ArraySink>(config);
}

}  // namespace tautline::pipeline
