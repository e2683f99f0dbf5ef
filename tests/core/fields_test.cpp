// Descriptions of fields: texts, limits, parts, and errors that name the field.
#include "tautline/core/fields.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/support/error_of.h"

namespace tautline::tests::described_fields {
namespace {

using namespace tautline::core;

enum class Colour { red, green };

struct Part {
  std::size_t taps = 8;
  double cutoff = 1;
};

const Fields<Part>& fields(const Part&) {
  static const auto all =
      Fields<Part>()
          .add({.name = "taps", .help = "taps of the filter"}, &Part::taps, between(1, 4096))
          .add({.name = "cutoff", .help = "in channel widths"}, &Part::cutoff, above(0));
  return all;
}

struct Config {
  double integration_s = 1;
  bool real = false;
  int level = -2;
  Colour colour = Colour::green;
  std::string path = "x";
  std::vector<std::uint16_t> detectors;
  std::optional<double> gate_s;
  std::size_t memory_bytes = std::size_t{512} << 20;
  std::size_t rows = 0, columns = 0;
  std::pair<double, double> range{0, 1};
  Part filter;
};

const Fields<Config>& fields(const Config&) {
  using C = Config;
  static const auto all =
      Fields<C>()
          .add({.name = "integration_s", .unit = "s", .help = "of one"}, &C::integration_s,
               above(0))
          .add({.name = "real"}, &C::real)
          .add({.name = "level"}, &C::level)
          .add({.name = "colour", .option = "color"}, &C::colour,
               choice<Colour>({{"red", Colour::red}, {"green", Colour::green}}))
          .add({.name = "path"}, &C::path)
          .add({.name = "detectors"}, &C::detectors, between(0, 7))
          .add({.name = "gate_s", .unit = "s"}, &C::gate_s, at_least(0))
          .add({.name = "memory_bytes", .unit = "bytes"}, &C::memory_bytes, byte_size())
          .add_text(
              {.name = "shape", .form = "ROWSxCOLUMNS"},
              [](const C& c) { return std::to_string(c.rows) + "x" + std::to_string(c.columns); },
              [](C& c, const std::string& text) {
                const auto sides = text::split(text, 'x');
                if (sides.size() != 2) text::refuse(text, "ROWSxCOLUMNS");
                c.rows = text::read<std::size_t>(sides[0]);
                c.columns = text::read<std::size_t>(sides[1]);
              })
          .add({.name = "range"}, &C::range, interval())
          .include("filter", &C::filter, fields(Part{}));
  return all;
}

// Setting `name` to `text` is refused, and the error says what is allowed.
void expect_refused(const std::string& name, const std::string& text, const std::string& limit) {
  Config config;
  const Error error = error_of([&] { set(config, name, text); });
  EXPECT_EQ(error.kind(), ErrorKind::config);
  EXPECT_EQ(error.field(), name);
  EXPECT_EQ(error.value(), text);
  EXPECT_EQ(error.limit(), limit) << name << " " << text;
  for (const auto& field : fields(config).all())
    EXPECT_EQ(field.text(config), default_text(field)) << field.name << " was changed";
}

TEST(Fields, DefaultsAreThoseOfADefaultConfig) {
  std::string found;
  for (const auto& field : fields(Config{}).all())
    found += field.name + "=" + default_text(field) + ";";
  EXPECT_EQ(found,
            "integration_s=1;real=false;level=-2;colour=green;path=x;detectors=;gate_s=;"
            "memory_bytes=512M;shape=0x0;range=0:1;filter.taps=8;filter.cutoff=1;");
}

TEST(Fields, TextSetsTheMember) {
  Config config;
  set(config, "integration_s", "+0.5");
  set(config, "real", "true");
  set(config, "level", "-7");
  set(config, "colour", "red");
  set(config, "path", "a b");
  set(config, "detectors", "3,0,7");
  set(config, "gate_s", "0.25");
  set(config, "memory_bytes", "1.5K");
  set(config, "shape", "3x19");
  set(config, "range", "-1:1e-3");
  set(config, "filter.taps", "4096");
  EXPECT_EQ(config.integration_s, 0.5);
  EXPECT_TRUE(config.real);
  EXPECT_EQ(config.level, -7);
  EXPECT_EQ(config.colour, Colour::red);
  EXPECT_EQ(config.path, "a b");
  EXPECT_EQ(config.detectors, (std::vector<std::uint16_t>{3, 0, 7}));
  EXPECT_EQ(config.gate_s, 0.25);
  EXPECT_EQ(config.memory_bytes, 1536u);
  EXPECT_EQ(config.rows, 3u);
  EXPECT_EQ(config.columns, 19u);
  EXPECT_EQ(config.range, (std::pair{-1.0, 1e-3}));
  EXPECT_EQ(config.filter.taps, 4096u);
  set(config, "detectors", "");
  set(config, "gate_s", "");
  EXPECT_TRUE(config.detectors.empty());
  EXPECT_FALSE(config.gate_s.has_value());
}

TEST(Fields, BytesHavePowersOf2AndOf10) {
  Config config;
  for (const auto& [text, bytes] :
       std::vector<std::pair<std::string, std::size_t>>{{"7", 7},
                                                        {"7B", 7},
                                                        {"3k", 3 << 10},
                                                        {"3KiB", 3 << 10},
                                                        {"3kB", 3000},
                                                        {"3KB", 3000},
                                                        {"5M", 5 << 20},
                                                        {"5MiB", 5 << 20},
                                                        {"5MB", 5'000'000},
                                                        {"1G", 1 << 30},
                                                        {"1GiB", 1 << 30},
                                                        {"1GB", 1'000'000'000},
                                                        {"1 GB", 1'000'000'000},
                                                        {"1.5GB", 1'500'000'000},
                                                        {"1e9", 1'000'000'000}}) {
    set(config, "memory_bytes", text);
    EXPECT_EQ(config.memory_bytes, bytes) << text;
  }
}

TEST(Fields, WhatIsNotAllowedIsRefusedByName) {
  for (const char* text : {"0", "-1", "inf"}) expect_refused("integration_s", text, "above 0");
  for (const char* text : {"nan", "", "1 S", "1S", " 1", "0x1", "++1"})
    expect_refused("integration_s", text,
                   "a time (20ms, 1.5s, 5min; plain numbers are seconds), above 0");
  for (const char* text : {"1", "yes", ""}) expect_refused("real", text, "true or false");
  for (const char* text : {"2147483648", "1.5", "--2"})
    expect_refused("level", text, "a whole number");
  expect_refused("colour", "blue", "red or green");
  expect_refused("detectors", "0,8", "0 to 7");
  for (const char* text : {"-1", "1,,2", "65536"})
    expect_refused("detectors", text, "a whole number, 0 to 7");
  expect_refused("gate_s", "-0.5", "0 or more");
  for (const char* text :
       {"0", "lots", "1T", "-5", "", "1e30", "nan", "1gb", "1 gb", "GB", "0MB", "1e10GB"})
    expect_refused("memory_bytes", text,
                   "bytes, as 512, 512M or 2GiB (powers of 2), or 500MB (powers of 10)");
  expect_refused("shape", "3", "ROWSxCOLUMNS");
  for (const char* text : {"1:1", "2:1"}) expect_refused("range", text, "LOW:HIGH, LOW below HIGH");
  for (const char* text : {"0", "4097"}) expect_refused("filter.taps", text, "1 to 4096");
}

TEST(Fields, AnUnknownNameIsRefusedWithTheNamesThatThereAre) {
  Part part;
  const Error error = error_of([&] { set(part, "tap", "3"); });
  EXPECT_EQ(std::string(error.what()), "field: tap, expected one of taps, cutoff");
}

TEST(Fields, CheckNamesTheFirstFieldThatIsWrong) {
  Config config;
  EXPECT_NO_THROW(check(config));
  config.filter.cutoff = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(error_of([&] { check(config); }).field(), "filter.cutoff");
  config.detectors = {1, 9};
  EXPECT_EQ(std::string(error_of([&] { check(config); }).what()), "detectors: 9, expected 0 to 7");
  config.integration_s = 0;
  EXPECT_EQ(std::string(error_of([&] { check(config); }).what()),
            "integration_s: 0, expected above 0");
  EXPECT_EQ(std::string(error_of([&] { check(config, "average"); }).what()),
            "average integration_s: 0, expected above 0");
  config = {};
  config.colour = static_cast<Colour>(9);
  EXPECT_EQ(error_of([&] { check(config); }).field(), "colour");
}

std::string to_string(Colour colour) {
  return colour == Colour::red ? "red" : colour == Colour::green ? "green" : "another";
}

TEST(Fields, AChoiceWithNamesOfItsOwnSaysWhichValueIsWrong) {
  const auto form = choice_of<Colour>({Colour::red});
  EXPECT_EQ(form.allowed, "red");
  EXPECT_EQ(form.names, std::vector<std::string>{"red"});
  EXPECT_EQ(form.read("red"), Colour::red);
  EXPECT_THROW(form.read("green"), Error);
  EXPECT_TRUE(form.allows(Colour::red));
  EXPECT_FALSE(form.allows(Colour::green));
  EXPECT_EQ(form.write(Colour::green), "green");
}

TEST(Fields, OptionsAreNamedAfterFieldsWithoutTheUnit) {
  const auto& all = fields(Config{});
  EXPECT_EQ(option_name(all.named("integration_s")), "integration");
  EXPECT_EQ(option_name(all.named("memory_bytes")), "memory");
  EXPECT_EQ(option_name(all.named("colour")), "color");
  EXPECT_EQ(option_name(all.named("filter.taps")), "taps");
  EXPECT_EQ(option_name({.name = "centre_hz", .unit = "Hz"}), "centre");
  EXPECT_EQ(option_name({.name = "links.dm_trials"}), "dm-trials");
  EXPECT_TRUE(is_field(all.named("filter.taps"), "taps"));
  EXPECT_TRUE(is_field(all.named("filter.taps"), "filter.taps"));
  EXPECT_FALSE(is_field(all.named("filter.taps"), "filter"));
  EXPECT_FALSE(is_field(all.named("filter.taps"), "aps"));
}

TEST(Fields, AFieldDescribedAnewKeepsItsPlace) {
  auto all = fields(Part{});
  all.add({.name = "taps", .help = "other"}, &Part::taps, at_least(2));
  ASSERT_EQ(all.all().size(), 2u);
  EXPECT_EQ(all.all().front().help, "other");
  Part part;
  EXPECT_EQ(error_of([&] { all.named("taps").set(part, "1"); }).limit(), "2 or more");
}

TEST(Fields, NumbersReadBackAsTheyWere) {
  std::mt19937_64 random(std::random_device{}());
  for (int i = 0; i < 2000; ++i) {
    double value;
    const std::uint64_t bits = random();
    static_assert(sizeof(value) == sizeof(bits));
    std::memcpy(&value, &bits, sizeof(value));
    if (std::isnan(value)) continue;
    EXPECT_EQ(text::read_number(text::write_number(value)), value) << bits;
  }
  EXPECT_EQ(text::write_number(4148.808), "4148.808");
  EXPECT_EQ(text::write_number(1e-6), "1e-06");
  EXPECT_EQ(text::write_number(-65536), "-65536");
}

// Digits stay as they are: 1us is the double nearest to 1e-6, and what is no time stays.
TEST(Fields, TimesMayHaveUnits) {
  const auto seconds = [](const std::string& text) {
    return text::read_number(text::in_seconds(text));
  };
  EXPECT_EQ(seconds("1us"), 1e-6);
  EXPECT_EQ(seconds("1\xC2\xB5s"), 1e-6);
  EXPECT_EQ(seconds("20ms"), 20e-3);
  EXPECT_EQ(seconds("1.5s"), 1.5);
  EXPECT_EQ(seconds("+3ns"), 3e-9);
  EXPECT_EQ(seconds("-1s"), -1.0);
  EXPECT_EQ(seconds("2.5e2ps"), 2.5e-10);
  EXPECT_EQ(seconds(".5min"), 30.0);
  EXPECT_EQ(seconds("2h"), 7200.0);
  EXPECT_EQ(seconds("1e-6"), 1e-6);
  EXPECT_EQ(text::in_seconds("1us:20ms"), "1e-6:20e-3");
  EXPECT_EQ(text::in_seconds("1 us : 20 ms"), "1e-6:20e-3");
  EXPECT_EQ(text::in_seconds(" -2  min "), "-120");
  EXPECT_EQ(text::in_seconds("diffusion:n=0.5,tau=200us,rate=1e5"),
            "diffusion:n=0.5,tau=200e-6,rate=1e5");
  for (const char* other :
       {"inf", "", " ", "us", "1u", "1 minute", "1 u s", "1 2us", "auto", "x:y", "-- 1us"})
    EXPECT_EQ(text::in_seconds(other), other);
  Config config;
  set(config, "integration_s", "20ms");
  EXPECT_EQ(config.integration_s, 20e-3);
  set(config, "integration_s", "30 ms");
  EXPECT_EQ(config.integration_s, 30e-3);
  EXPECT_EQ(std::string(error_of([&] { set(config, "integration_s", "100m"); }).what()),
            "integration_s: 100m, expected a time (20ms, 1.5s, 5min; plain numbers are seconds), "
            "above 0");
  EXPECT_THROW(set(config, "integration_s", "20 furlongs"), Error);
  EXPECT_THROW(set(config, "integration_s", "-1ms"), Error);
}

}  // namespace
}  // namespace tautline::tests::described_fields
