#include "tautline/pipeline/simulation/voltage_writers.h"

#include <fmt/format.h>

#include <algorithm>

#include "tautline/core/complex_int.h"
#include "tautline/core/error.h"
#include "tautline/formats/dada/dada.h"
#include "tautline/formats/mwa32t/mwa32t.h"
#include "tautline/formats/mwa32t/writer.h"
#include "tautline/pipeline/simulation/simulated_voltages.h"

namespace tautline::pipeline::simulation {

namespace {

namespace mwa32t = formats::mwa32t;

const core::RawBlock& raw_of(const engine::Block& block) {
  return block.payload_of<core::RawBlock>();
}

class DadaWriter final : public OutputWriter {
 public:
  DadaWriter(const SimulationPlan& plan, const std::string& path, bool overwrite)
      : writer_(path, describe(plan), options(plan, overwrite)) {}

  void write(const engine::Block& block) override {
    const core::BlockBytes& bytes = raw_of(block).bytes;
    writer_.write({bytes.data(), bytes.size()});
  }
  void finish() override { writer_.finish(); }

 private:
  static formats::dada::WriteOptions options(const SimulationPlan& plan, bool overwrite) {
    formats::dada::WriteOptions options;
    options.overwrite = overwrite;
    options.extra = {{"SIMULATION_SEED", fmt::format("{}", plan.sampling.seed)}};
    return options;
  }

  formats::dada::Writer writer_;
};

// One receiver's range of input numbers and its gaps.
struct ReceiverFile {
  std::unique_ptr<mwa32t::Writer> writer;
  std::vector<MissingSpan> gaps;
};

class MwaWriter final : public OutputWriter {
 public:
  MwaWriter(const SimulationPlan& plan, const std::vector<std::string>& files, bool one_byte,
            bool overwrite)
      : inputs_(plan.inputs()) {
    for (std::size_t r = 0; r < files.size(); ++r)
      receivers_.push_back(
          {std::make_unique<mwa32t::Writer>(
               files[r], one_byte ? mwa32t::Mode::one_byte : mwa32t::Mode::two_byte,
               std::uint16_t{0}, overwrite),
           gaps_of(plan, r)});
  }

  void write(const engine::Block& block) override {
    const std::uint64_t samples = block.samples;
    const auto* all = reinterpret_cast<const core::ci8*>(raw_of(block).bytes.data());
    for (std::size_t r = 0; r < receivers_.size(); ++r) {
      std::uint64_t t = 0;
      while (t < samples) {
        bool missing = false;
        const std::uint64_t end = run_end(receivers_[r], t, samples, missing);
        if (missing)
          receivers_[r].writer->skip(end - t);
        else
          write_run(r, all, t, end);
        t = end;
      }
    }
    written_ += samples;
  }

  void finish() override {
    for (ReceiverFile& receiver : receivers_) receiver.writer->finish();
  }

 private:
  static std::vector<MissingSpan> gaps_of(const SimulationPlan& plan, std::size_t receiver) {
    std::vector<MissingSpan> gaps;
    for (const MissingSpan& span : plan.missing) {
      bool whole = true;
      for (std::size_t i = 0; i < mwa32t::kInputsPerReceiver; ++i)
        whole = whole && span.touches(receiver * mwa32t::kInputsPerReceiver + i);
      if (whole) gaps.push_back(span);
    }
    return gaps;
  }

  // The end of the run of samples from t on that are all missing or all present.
  std::uint64_t run_end(const ReceiverFile& receiver, std::uint64_t t, std::uint64_t samples,
                        bool& missing) const {
    const auto at = static_cast<std::int64_t>(written_ + t);
    std::int64_t end = static_cast<std::int64_t>(written_ + samples);
    for (const MissingSpan& gap : receiver.gaps)
      if (gap.first <= at && at < gap.last) {
        missing = true;
        return static_cast<std::uint64_t>(std::min(end, gap.last)) - written_;
      }
    for (const MissingSpan& gap : receiver.gaps)
      if (gap.first > at && gap.first < gap.last) end = std::min(end, gap.first);
    return static_cast<std::uint64_t>(end) - written_;
  }

  void write_run(std::size_t receiver, const core::ci8* all, std::uint64_t from, std::uint64_t to) {
    run_.resize((to - from) * mwa32t::kInputsPerReceiver);
    for (std::uint64_t t = from; t < to; ++t)
      std::copy_n(all + t * inputs_ + receiver * mwa32t::kInputsPerReceiver,
                  mwa32t::kInputsPerReceiver,
                  run_.data() + (t - from) * mwa32t::kInputsPerReceiver);
    receivers_[receiver].writer->write(run_);
  }

  std::size_t inputs_;
  std::vector<ReceiverFile> receivers_;
  std::vector<core::ci8> run_;
  std::uint64_t written_ = 0;
};

}  // namespace

std::unique_ptr<OutputWriter> make_dada_writer(const SimulationPlan& plan, const std::string& path,
                                               bool overwrite) {
  return std::make_unique<DadaWriter>(plan, path, overwrite);
}

std::vector<std::string> mwa32t_files(const SimulationPlan& plan, const std::string& path) {
  constexpr std::size_t kMostReceivers = 4;
  const std::size_t inputs = plan.inputs();
  if (inputs % mwa32t::kInputsPerReceiver != 0 ||
      inputs > kMostReceivers * mwa32t::kInputsPerReceiver)
    throw core::Error(core::ErrorKind::config, "`format` mwa32t", fmt::format("{} inputs", inputs),
                      "16, 32, 48 or 64: whole receivers", "use `format` dada");
  if (plan.sampling.real)
    throw core::Error(core::ErrorKind::config, "`format` mwa32t", "`real`", "complex samples",
                      "use `format` dada");
  std::vector<std::string> files;
  for (std::size_t r = 0; r < inputs / mwa32t::kInputsPerReceiver; ++r)
    files.push_back(fmt::format("{}.{}", path, r));
  return files;
}

std::unique_ptr<OutputWriter> make_mwa32t_writer(const SimulationPlan& plan,
                                                 const std::vector<std::string>& files,
                                                 bool one_byte, bool overwrite) {
  return std::make_unique<MwaWriter>(plan, files, one_byte, overwrite);
}

int mwa32t_limit(bool one_byte) {
  return mwa32t::sample_limit(one_byte ? mwa32t::Mode::one_byte : mwa32t::Mode::two_byte);
}

}  // namespace tautline::pipeline::simulation
