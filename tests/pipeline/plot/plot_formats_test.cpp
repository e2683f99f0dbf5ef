// Figures of small files of every format that the other tests of plots leave out, written here byte by byte or with the
// format's own library: what is known to be in a file stands at its place.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/complex_int.h"
#include "tautline/core/correlation_curve.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/mwa32t/writer.h"
#include "tests/formats/guppi/recording.h"
#include "tests/formats/spc/records.h"
#include "tests/formats/tiff/stack_file.h"
#include "tests/formats/vdif/vdif_frames.h"
#include "tests/pipeline/plot/plot_fixture.h"
#include "tests/pipeline/plot/shown.h"
#ifdef TAUTLINE_CFITSIO
#include "tests/formats/psrfits/psrfits_files.h"
#endif
#ifdef TAUTLINE_HDF5
#include "tests/formats/photon_hdf5/hdf5_file.h"
#endif

namespace tautline::tests {
namespace {

class PlotFormats : public Plot {
 protected:
  // A tone at kToneMhz of a band of 1.28 MHz at 154.88 MHz, with noise.
  core::ci8 tone(std::size_t t, double amplitude, int noise) {
    const double angle = 2 * std::numbers::pi * 0.3 * static_cast<double>(t);
    const auto part = [&](double value) {
      return static_cast<std::int8_t>(std::lround(amplitude * value) +
                                      static_cast<int>(random_() % (2 * noise + 1)) - noise);
    };
    return {part(std::cos(angle)), part(std::sin(angle))};
  }
  // Of voltages in `channels` of a band: the picture, and lines of time and of frequency for each input.
  static std::vector<Shown> voltages(std::size_t inputs, std::size_t channels,
                                     const std::string& time, std::size_t times) {
    return {{"Power, mean of all inputs", time, "frequency (MHz)", channels, times},
            {"Power of each input", time, "power (dB of the mean)", 0, 0,
             std::min<std::size_t>(8, inputs), times},
            {"Bandpass of each input", "frequency (MHz)", "power (dB of the mean)", 0, 0,
             std::min<std::size_t>(8, inputs), channels}};
  }
  void expect_tone(const figure::Figure& made) {
    for (const figure::Line& line : panel(made, "Bandpass").lines)
      EXPECT_NEAR(peak_of(line), kToneMhz, 1.28 / 512) << line.name;
  }
  static std::size_t cells(std::size_t count, std::size_t most) {
    const std::size_t each = (count + most - 1) / most;
    return (count + each - 1) / each;
  }

  // Two detectors, and a time that most photons come after the pulse.
  struct Photons {
    std::vector<std::int64_t> times;
    std::vector<std::uint8_t> detectors;
    std::vector<std::uint16_t> microtimes;
    std::size_t of_first = 0;
  };
  Photons some_photons(std::uint8_t first, std::uint8_t second) {
    Photons photons;
    std::exponential_distribution<double> gap(1 / 2000.0);
    std::int64_t time = 0;
    for (int k = 0; k < 20'000; ++k) {
      photons.times.push_back(time += 1 + static_cast<std::int64_t>(gap(random_)));
      photons.detectors.push_back(random_() % 3 == 0 ? second : first);
      photons.of_first += photons.detectors.back() == first;
      photons.microtimes.push_back(
          static_cast<std::uint16_t>(random_() % 4 == 0 ? random_() % 2500 : kMicrotime));
    }
    photons.microtimes.back() = 2499;
    return photons;
  }
  void expect_photons(const std::string& file, const Photons& photons, double unit_s,
                      const std::vector<std::string>& names, double microtime_unit_ns) {
    // Five microtimes share a bin.
    expect_shown(drawn(file),
                 {{"Count rate", "time (ms)", "count rate (kHz)", 0, 0, 2, 500},
                  {"Photons within the period", "time since the pulse (ns)",
                   fmt::format("photons (in {:.6g} ns)", 5 * microtime_unit_ns), 0, 0, 2, 500}});
    const figure::Figure made = figure_of(file);
    const figure::Panel &rate = panel(made, "Count rate"), &within = panel(made, "Photons within");
    EXPECT_NEAR(seconds_of(rate.x), static_cast<double>(photons.times.back() + 1) * unit_s, 1e-9);
    const std::size_t expected[] = {photons.of_first, photons.times.size() - photons.of_first};
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(rate.lines.at(k).name, names[k]);
      EXPECT_EQ(within.lines.at(k).name, names[k]);
      EXPECT_NEAR(photons_of(rate, rate.lines[k]), static_cast<double>(expected[k]), 0.01);
      double sum = 0;
      for (const double count : within.lines[k].y) sum += count;
      EXPECT_EQ(sum, static_cast<double>(expected[k]));
      const double bin_ns = within.lines[k].x[1] - within.lines[k].x[0];
      EXPECT_NEAR(peak_of(within.lines[k]), (kMicrotime + 0.5) * microtime_unit_ns, bin_ns);
    }
  }
  static constexpr std::uint16_t kMicrotime = 1200;

  std::mt19937_64 random_ = generator();
};

#ifdef TAUTLINE_CFITSIO
TEST_F(PlotFormats, Psrfits) {
  constexpr std::size_t kTimes = 512, kChannels = 16;
  for (const int polarisations : {1, 4}) {
    PsrfitsShape shape;
    shape.nchan = kChannels;
    shape.nsblk = kTimes / 2;
    shape.rows = 2;
    shape.npol = polarisations;
    if (polarisations == 4) shape.pol_type = "AABBCRCI";
    const std::size_t bright = 100 + random_() % 300, channel = random_() % kChannels;
    std::vector<double> codes;
    for (std::size_t t = 0; t < kTimes; ++t)
      for (int p = 0; p < polarisations; ++p)
        for (std::size_t c = 0; c < kChannels; ++c)
          codes.push_back(static_cast<double>(random_() % 20) + (t == bright ? 60 : 0) +
                          (c == channel ? 30 : 0));
    const std::string file = fmt::format("{}.sf", polarisations);
    write_psrfits(scratch / file, shape, codes);
    expect_shown(drawn(file),
                 {{"Dynamic spectrum", "time (ms)", "frequency (MHz)", kChannels, kTimes},
                  {"Mean over channels", "time (ms)", "power (counts)", 0, 0, 1, kTimes},
                  {"Bandpass", "frequency (MHz)", "power (counts)", 0, 0, 1, kChannels}});
    const figure::Figure made = figure_of(file);
    EXPECT_NEAR(peak_of(panel(made, "Mean over channels").lines.at(0)),
                (static_cast<double>(bright) + 0.5) * 0.512, 1e-6);
    EXPECT_NEAR(peak_of(panel(made, "Bandpass").lines.at(0)),
                1500 - 0.5 * static_cast<double>(channel), 1e-6);
    EXPECT_NEAR(panel(made, "Dynamic").y.high, 1500.25, 1e-6);
  }
}
#endif

// Four channels of two antennas and two polarisations; one channel is loud.
TEST_F(PlotFormats, GuppiRaw) {
  using formats::guppi::Shape;
  const Shape shape{.antennas = 2, .channels = 4, .polarisations = 2, .times = 512};
  const std::size_t loud = random_() % 4;
  std::string bytes;
  for (std::size_t block = 0; block < 2; ++block) {
    auto cards = formats::guppi::cards_of(shape);
    formats::guppi::put_card(cards, "PKTIDX", std::to_string(block * shape.times / 8));
    const std::vector<char> header = formats::guppi::header_bytes(cards);
    bytes.append(header.begin(), header.end());
    for (std::size_t row = 0; row < shape.rows(); ++row)
      for (std::size_t k = 0; k < shape.times * 2 * 2; ++k)
        bytes +=
            static_cast<char>((static_cast<int>(random_() % 21) - 10) * (row % 4 == loud ? 5 : 1));
  }
  write_file(scratch / "x.raw", bytes);
  // 1,024 times of 0.32 us; a picture has 1,000 columns at most.
  expect_shown(drawn("x.raw"), voltages(4, 4, "time (\u00b5s)", cells(1024, 1000)));
  const figure::Figure made = figure_of("x.raw");
  // The first channel is the highest of -12.5 MHz about 1378.125.
  const double width = 12.5 / 4,
               expected = 1378.125 + 12.5 / 2 - (static_cast<double>(loud) + 0.5) * width;
  const figure::Panel& bandpass = panel(made, "Bandpass");
  EXPECT_EQ(bandpass.lines.at(3).name, "1y");
  for (const figure::Line& line : bandpass.lines) EXPECT_NEAR(peak_of(line), expected, 1e-6);
  const figure::Panel& picture = panel(made, "Power, mean");
  EXPECT_NEAR(picture.y.low, 1378.125 - 6.25, 1e-6);
  EXPECT_NEAR(picture.y.high, 1378.125 + 6.25, 1e-6);
}

TEST_F(PlotFormats, Vdif) {
  constexpr std::size_t kPerFrame = 128, kFrames = 400;
  std::string bytes;
  for (std::size_t frame = 0; frame < kFrames; ++frame)
    for (std::uint32_t thread = 0; thread < 2; ++thread) {
      formats::vdif::FrameSpec spec;
      spec.complex = true;
      spec.bits = 8;
      spec.epoch = 52;
      spec.frame = static_cast<std::uint32_t>(frame);
      spec.thread = thread;
      std::vector<std::uint32_t> payload;
      for (std::size_t t = 0; t < kPerFrame; t += 2) {
        std::uint32_t word = 0;
        for (std::size_t k = 0; k < 2; ++k) {  // offset binary
          const core::ci8 value = tone(frame * kPerFrame + t + k, 40, 10);
          word |= static_cast<std::uint32_t>(value.re + 128) << 16 * k |
                  static_cast<std::uint32_t>(value.im + 128) << (16 * k + 8);
        }
        payload.push_back(word);
      }
      const std::vector<char> made = formats::vdif::make_frame(spec, payload);
      bytes.append(made.begin(), made.end());
    }
  write_file(scratch / "x.vdif", bytes);
  // Spectra of 512 samples, of which the first spans four.
  expect_shown(drawn("x.vdif", {"--rate-hz", "1280000", "--centre-hz", "154.88e6"}),
               voltages(2, 512, "time (ms)", kFrames * kPerFrame / 512 - 3));
  pipeline::PlotConfig config;
  config.reader.assumed.rate_hz = {1'280'000, 1};
  config.reader.assumed.centre_hz = 154.88e6;
  config.reader.named = {"rate_hz", "centre_hz"};
  expect_tone(figure_of("x.vdif", config));
}

TEST_F(PlotFormats, MwaReceivers) {
  using formats::mwa32t::Mode;
  constexpr std::size_t kTimes = 40'960;
  for (const Mode mode : {Mode::two_byte, Mode::one_byte}) {
    std::vector<core::ci8> samples;
    for (std::size_t t = 0; t < kTimes; ++t)
      for (std::size_t k = 0; k < formats::mwa32t::kInputsPerReceiver; ++k)
        samples.push_back(mode == Mode::two_byte ? tone(t, 10, 4) : tone(t, 5, 2));
    const std::string file = mode == Mode::two_byte ? "two.mwa32t" : "one.mwa32t";
    formats::mwa32t::Writer writer(scratch / file, mode, static_cast<std::uint16_t>(random_()));
    writer.write(samples);
    writer.finish();
    expect_shown(drawn(file), voltages(16, 512, "time (ms)", kTimes / 512 - 3));
    const figure::Figure made = figure_of(file);
    expect_tone(made);
    EXPECT_EQ(made.notes.at(0), "Lines of the first 8 of 16 inputs.");
  }
}

TEST_F(PlotFormats, BeckerHicklSpc) {
  using formats::spc::photon_word;
  const Photons photons = some_photons(1, 3);
  std::vector<std::uint32_t> words{formats::spc::kHeader};
  std::int64_t wraps = 0;
  for (std::size_t k = 0; k < photons.times.size(); ++k) {
    if (const std::int64_t more = photons.times[k] / 4096 - wraps; more > 0) {
      words.push_back(0xC0000000 | static_cast<std::uint32_t>(more));
      wraps += more;
    }
    words.push_back(photon_word(static_cast<std::uint32_t>(photons.times[k] % 4096),
                                photons.detectors[k], 4095U - photons.microtimes[k]));
  }
  for (const char* name : {"x.spc", "alone.spc"})
    write_file(scratch / name, formats::spc::bytes_of(words));
  // Without its .set a file does not say the microtimes' unit.
  expect_shown(drawn("alone.spc"), {{"Count rate", "time (ms)", "count rate (kHz)", 0, 0, 2, 500}});
  write_file(scratch / "x.set",
             "SYS_PARA_BEGIN:\n  #SP [SP_TAC_R,F,5.0e-008]\n  #SP [SP_TAC_G,I,4]\nSYS_PARA_END:\n");
  expect_photons("x.spc", photons, 12.5e-9, {"detector 1", "detector 3"}, 50.0 / 4 / 4096);
}

#ifdef TAUTLINE_HDF5
TEST_F(PlotFormats, PhotonHdf5) {
  const Photons photons = some_photons(0, 2);
  {
    formats::photon_hdf5::Hdf5File file(scratch / "x.hdf5");
    file.array("photon_data/timestamps", H5T_NATIVE_INT64, photons.times);
    file.number("photon_data/timestamps_specs/timestamps_unit", 12.5e-9);
    file.array("photon_data/detectors", H5T_NATIVE_UINT8, photons.detectors);
    file.array("photon_data/nanotimes", H5T_NATIVE_UINT16, photons.microtimes);
    file.number("photon_data/nanotimes_specs/tcspc_unit", 5e-12);
  }
  expect_photons("x.hdf5", photons, 12.5e-9, {"detector 0", "detector 2"}, 5e-3);
}
#endif

// Version 2.0 of PicoHarp 300: what its header must say, at the places of PicoQuant's description.
TEST_F(PlotFormats, Pt3) {
  const Photons photons = some_photons(1, 2);
  std::string bytes(728, '\0');
  const auto put = [&](std::size_t at, const auto& value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  bytes.replace(0, 12, "PicoHarp 300");
  bytes.replace(16, 3, "2.0");
  for (const auto& [at, value] : {std::pair<std::size_t, std::int32_t>{332, 32},
                                  {336, 4},
                                  {340, 1},
                                  {348, 3},
                                  {364, 1000},
                                  {704, 80'000'000},
                                  {708, 40'000}})
    put(at, value);
  put(584, 0.005F);  // ns
  std::vector<std::uint32_t> words;
  std::int64_t wraps = 0;
  for (std::size_t k = 0; k < photons.times.size(); ++k) {
    for (; wraps < photons.times[k] / 65'536; ++wraps) words.push_back(0xF0000000);
    words.push_back(static_cast<std::uint32_t>(photons.detectors[k]) << 28 |
                    static_cast<std::uint32_t>(photons.microtimes[k]) << 16 |
                    static_cast<std::uint32_t>(photons.times[k] % 65'536));
  }
  put(720, static_cast<std::int32_t>(words.size()));
  bytes.append(reinterpret_cast<const char*>(words.data()), 4 * words.size());
  write_file(scratch / "x.pt3", bytes);
  expect_photons("x.pt3", photons, 12.5e-9, {"detector 1", "detector 2"}, 5e-3);
}

#ifdef TAUTLINE_TIFF
TEST_F(PlotFormats, TiffStacks) {
  const formats::tiff::Stack stack{.columns = 5, .rows = 3, .frames = 64};
  std::vector<std::uint32_t> values(stack.columns * stack.rows * stack.frames, 1);
  for (std::uint32_t f = 0; f < stack.frames; ++f) values[f * 15 + 5 + 3] = 9;  // row 1, column 3
  write_file(scratch / "x.tif", formats::tiff::file_of(stack, values));
  expect_shown(drawn("x.tif"),
               {{"Count rate of all sensors", "time (bins)", "counts (a bin)", 0, 0, 1, 64},
                {"Mean of each sensor", "column", "row", 3, 5}});
  const figure::Figure made = figure_of("x.tif");
  std::vector<float> expected(15, 1);
  expected[8] = 9;
  EXPECT_EQ(panel(made, "Mean of each").image.values, expected);
  for (const double counts : panel(made, "Count rate").lines.at(0).y) EXPECT_EQ(counts, 14 + 9);
}
#endif

// The files of other correlators, and the two forms of CSV: the numbers of the files.
TEST_F(PlotFormats, Curves) {
  constexpr std::size_t kLags = 40;
  core::CorrelationCurve curve;
  curve.cross = true;
  curve.first.label = "detector 0";
  curve.second.label = "detector 1";
  for (std::size_t l = 0; l < kLags; ++l) {
    curve.lag_s.push_back(1e-6 * static_cast<double>(l + 1));
    curve.g.push_back(0.01 * static_cast<double>(random_() % 50 + 1));
    curve.standard_error.push_back(0.01 * static_cast<double>(random_() % 9 + 1));
  }
  std::string sin = "[Parameters]\nDuration= 30.0\nMode= Dual Auto\n\n[CorrelationFunction]\n",
              asc = "ALV-7004/FAST\nDuration [s] :\t30\nMode :\t\"A-CH0 \"\n\n\"Correlation\"\n";
  for (std::size_t l = 0; l < kLags; ++l) {
    sin +=
        fmt::format("{:.8e}\t{:.8e}\t{:.8e}\n", curve.lag_s[l], 1 + curve.g[l], 1 + 2 * curve.g[l]);
    asc += fmt::format("{:.8e}\t{:.8e}\t0\n", 1e3 * curve.lag_s[l], curve.g[l]);
  }
  write_file(scratch / "x.SIN",
             sin + "\n[IntensityHistory]\nTraceNumber= 2\n0\t1000\t2000\n5\t3000\t2000\n");
  write_file(scratch / "x.ASC", asc);
  for (const char* name : {"x.csv", "x.table.csv"})
    formats::curves::write_csv(scratch / name, curve, {}, false);
  for (const std::string name : {"x.SIN", "x.ASC", "x.csv", "x.table.csv"}) {
    const bool two = name == "x.SIN", errors = name.ends_with(".csv");
    std::vector<Shown> expected{{"Correlation", "lag (s)", "G", 0, 0, two ? 2u : 1u, kLags}};
    if (two) expected.push_back({"Count rate", "time (s)", "count rate (kHz)", 0, 0, 2, 2});
    expect_shown(drawn(name), expected);
    const figure::Figure made = figure_of(name);
    const figure::Panel& correlation = panel(made, "Correlation");
    EXPECT_EQ(correlation.x.scale, figure::Scale::logarithmic);
    for (std::size_t k = 0; k < correlation.lines.size(); ++k) {
      const figure::Line& line = correlation.lines[k];
      EXPECT_EQ(line.error.size(), errors ? kLags : 0) << name;
      for (std::size_t l = 0; l < kLags; ++l) {
        EXPECT_NEAR(line.x[l], curve.lag_s[l], 1e-13) << name;
        EXPECT_NEAR(line.y[l], (k == 0 ? 1 : 2) * curve.g[l], 1e-7) << name;
        if (errors) {
          EXPECT_NEAR(line.error[l], curve.standard_error[l], 1e-12) << name;
          // Error bars are whole.
          EXPECT_LE(correlation.y.low, line.y[l] - line.error[l]) << name;
          EXPECT_GE(correlation.y.high, line.y[l] + line.error[l]) << name;
        }
      }
    }
    if (errors) {
      EXPECT_EQ(correlation.title, "Correlation of detector 0 x detector 1");
    }
  }
}

class PlotCurves : public PlotFormats {
 protected:
  // Of noise, with standard errors below 0.1.
  PlotCurves() {
    for (std::size_t l = 0; l < kLags; ++l) {
      curve.lag_s.push_back(1e-6 * static_cast<double>(l + 1));
      curve.g.push_back(0.01 * static_cast<double>(random_() % 50 + 1));
      curve.standard_error.push_back(0.01 * static_cast<double>(random_() % 9 + 1));
    }
  }
  figure::Figure made() {
    formats::curves::write_csv(scratch / "x.csv", curve, {}, true);
    return figure_of("x.csv");
  }
  static std::size_t notes_with(const figure::Figure& made, const std::string& words) {
    return static_cast<std::size_t>(std::count_if(
        made.notes.begin(), made.notes.end(),
        [&](const std::string& note) { return note.find(words) != std::string::npos; }));
  }
  static constexpr std::size_t kLags = 40;
  core::CorrelationCurve curve;
};

// As of a sensor that stopped for most of the time.
TEST_F(PlotCurves, LongErrorBarsDoNotFlattenTheCurve) {
  const std::size_t lag = 5 + random_() % 30, other = 36 + random_() % 4;
  curve.standard_error[lag] = 1000;
  curve.standard_error[other] = 50;
  const figure::Figure figure = made();
  const figure::Panel& correlation = panel(figure, "Correlation");
  const auto [low, high] = std::minmax_element(curve.g.begin(), curve.g.end());
  EXPECT_LT(correlation.y.low, *low);
  EXPECT_GT(correlation.y.high, *high);
  EXPECT_LT(correlation.y.high - correlation.y.low, 2 * (*high - *low));
  EXPECT_EQ(notes_with(figure, "2 error bars are longer than the picture shows."), 1u);
  EXPECT_EQ(notes_with(figure, "outside of the picture"), 0u);
}

TEST_F(PlotCurves, ShotNoiseOutsideOfThePictureIsSaid) {
  EXPECT_EQ(notes_with(made(), "picture"), 0u);
  curve.g[0] = 1000;
  const figure::Figure figure = made();
  EXPECT_LT(panel(figure, "Correlation").y.high, 1);
  EXPECT_EQ(notes_with(figure, "1 point of the shortest lags outside of the picture, up to 1000."),
            1u);
}

}  // namespace
}  // namespace tautline::tests
