// The table of file formats: what it says is complete, told apart, and in the guide.
#include "tautline/formats/file_formats.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include "tautline/core/error.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/stream_kind.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::formats {
namespace {

using tests::ScratchFolder;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// "voltages, counts": what a format's openers are for.
std::string held_by(const FileFormat& f) {
  std::string text;
  const auto add = [&](bool held, const std::string& what) {
    if (held) text += (text.empty() ? "" : ", ") + what;
  };
  add(f.voltages != nullptr, "voltages");
  add(f.filterbank != nullptr, "filterbanks");
  add(f.series != nullptr, "series");
  add(f.photons != nullptr, "photon time tags");
  add(f.counts != nullptr, "counts");
  add(f.read_curves != nullptr, "correlation curves");
  add(f.visibilities != nullptr, "visibilities");
  add(f.write_visibilities != nullptr && f.visibilities == nullptr, "visibilities (written only)");
  return text;
}

// What an opener throws says.
std::string refusal_of(const std::function<void()>& open) {
  try {
    open();
  } catch (const core::Error& error) {
    return error.what();
  }
  return "not refused";
}

TEST(FileFormats, HaveANameEndingsAndAnOpener) {
  std::set<std::string> names;
  for (const FileFormat& format : file_formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_NE(held_by(format), "") << format.name;
    ASSERT_FALSE(format.endings.empty()) << format.name;
    for (const std::string& ending : format.endings) EXPECT_TRUE(ending.starts_with('.')) << ending;
  }
}

TEST(FileFormats, AreInTheGuide) {
  std::ifstream file(TAUTLINE_SOURCE_DIR "/docs/guide/formats.md");
  const std::string guide{std::istreambuf_iterator<char>(file), {}};
  for (const FileFormat& format : file_formats()) {
    std::string row = "| " + format.name + " | ";
    for (const std::string& ending : format.endings)
      row += (&ending == &format.endings.front() ? "`" : ", `") + ending + "`";
    row += " | " + held_by(format) + " |\n";
    EXPECT_NE(guide.find(row), std::string::npos) << "docs/guide/formats.md has no row " << row;
  }
}

TEST(FileFormats, AreListedInWords) {
  const auto photons = formats_with(&FileFormat::photons);
  EXPECT_EQ(names_of(photons), "PTU, PT3, SPC, Photon-HDF5");
  EXPECT_EQ(names_and_endings_of(photons),
            "PTU (.ptu), PT3 (.pt3), SPC (.spc) or Photon-HDF5 (.hdf5, .h5)");
  EXPECT_EQ(endings_of(formats_with(&FileFormat::write_visibilities), "V"), "V.uvh5 or V.ms");
  EXPECT_EQ(endings_of(formats_with(&FileFormat::read_curves)), ".csv, .zip, .SIN, .ASC or .h5");
}

// By bytes under a name that says nothing, and by the name where bytes say nothing.
TEST(FileFormats, AreToldApart) {
  const auto name_of = [](auto opener, const std::string& bytes, const std::string& name) {
    const FileFormat* format = find_format(opener, bytes_of(bytes), name);
    return format == nullptr ? std::string() : format->name;
  };
  const std::string npy = "\x93NUMPY\x01", tiff("II*\0", 4), dada = "HDR_SIZE 4096\n";
  EXPECT_EQ(name_of(&FileFormat::voltages, dada, "x"), "DADA");
  EXPECT_EQ(name_of(&FileFormat::voltages, npy, "x"), "NPY");
  EXPECT_EQ(name_of(&FileFormat::counts, npy, "x"), "NPY");
  EXPECT_EQ(name_of(&FileFormat::counts, tiff, "x"), "TIFF");
  EXPECT_EQ(name_of(&FileFormat::counts, dada, "x"), "");
  EXPECT_EQ(name_of(&FileFormat::photons, std::string("PQTTTR\0\0", 8), "x"), "PTU");
  EXPECT_EQ(name_of(&FileFormat::photons, "PicoHarp 300", "x"), "PT3");
  EXPECT_EQ(name_of(&FileFormat::photons, "damaged", "x.ptu"), "PTU");
  EXPECT_EQ(name_of(&FileFormat::photons, "damaged", ""), "");
  EXPECT_EQ(name_of(&FileFormat::photons, "", "x.SPC"), "SPC");
  EXPECT_EQ(name_of(&FileFormat::photons, "\x89HDF\r\n\x1a\n", "x"), "Photon-HDF5");
  EXPECT_EQ(name_of(&FileFormat::filterbank, std::string("\x0c\0\0\0HEADER_START", 16), "x"),
            "sigproc");
  EXPECT_EQ(name_of(&FileFormat::filterbank, "SIMPLE  =", "x"), "PSRFITS");
  EXPECT_EQ(name_of(&FileFormat::series, "", "x.inf"), "PRESTO");
  EXPECT_EQ(name_of(&FileFormat::read_curves, "", "x.Asc"), "ASC");
  EXPECT_EQ(name_of(&FileFormat::read_curves, "", "x.hdf5"), "HDF5");
  EXPECT_EQ(name_of(&FileFormat::write_visibilities, "", "x.ms"), "Measurement Set");
  EXPECT_EQ(name_of(&FileFormat::write_visibilities, "", "x.dada"), "");
}

TEST(FileFormats, RefusalsNameWhatIsRead) {
  const ScratchFolder folder;
  const std::string path = folder / "x";
  write_file(path, "nothing that is known");
  const std::string voltages = refusal_of([&] { open_voltages(path); });
  const std::string filterbanks = refusal_of([&] { open_filterbank({path}); });
  for (const FileFormat& format : file_formats()) {
    if (format.voltages != nullptr) {
      EXPECT_NE(voltages.find(format.name), std::string::npos) << voltages;
    }
    if (format.filterbank != nullptr || format.series != nullptr) {
      EXPECT_NE(filterbanks.find(format.name), std::string::npos) << filterbanks;
    }
  }
  EXPECT_NE(refusal_of([&] { open_photons(path); }).find("PTU (.ptu), PT3 (.pt3), SPC (.spc)"),
            std::string::npos);
}

TEST(SeemingKind, IsToldByTheFirstBytes) {
  const ScratchFolder folder;
  const std::pair<std::string, std::string> kinds[] = {
      {"\x89HDF\r\n\x1a\n", "HDF5"},
      {"\x93NUMPY\x01", "an array of NumPy (.npy)"},
      {std::string("\x0c\0\0\0HEADER_START", 16), "a sigproc filterbank"},
      {std::string("PQTTTR\0\0", 8), "photon time tags (PTU)"},
      {"PicoHarp 300", "photon time tags (PT3)"},
      {"SIMPLE  =                    T", "FITS"},
      {std::string("MM\0+", 4), "TIFF"},
      {"# a comment\nHDR_SIZE 4096\n", "DADA voltages"},
      {"PK\x03\x04", "a ZIP archive"},
      {"<!doctype html><html>", "an HTML page"},
      {"{\"schema\": 1}", "JSON"},
      {"lag,g\n1,2\n", "text"},
      {"BZh9 of a text", "text"},
      {"\x01\x02\x03\x04", ""},
      {"", "an empty file"}};
  for (const auto& [bytes, kind] : kinds) {
    write_file(folder / "x", bytes);
    EXPECT_EQ(seeming_kind(folder / "x"), kind);
  }
}

// By as few bytes as prove it, where these do not prove another kind.
TEST(StreamKind, IsToldByTheFirstBytes) {
  const auto refused = [](const std::string& bytes, Contents contents, bool complete = false,
                          const std::string& path = "-") -> std::string {
    const auto refusal =
        refusal_of_stream({bytes_of(bytes), path, "standard input", complete}, contents);
    return refusal ? refusal->what() : "";
  };
  const std::string sigproc("\x0c\0\0\0HEADER_START", 16),
      dada = "HDR_SIZE 4096\n", hdf5 = "\x89HDF\r\n\x1a\n", noise = "\x01\x02\x03\x04";
  EXPECT_EQ(refused(dada, Contents::filterbanks),
            "standard input: kind of file: DADA voltages, expected sigproc (.fil, .tim) or PSRFITS "
            "(.sf, .fits) filterbanks; this is voltage data (DADA): correlate and channelize read "
            "it");
  EXPECT_NE(refused(sigproc, Contents::voltages).find("this is a filterbank (sigproc)"),
            std::string::npos);
  for (const Contents contents :
       {Contents::curves, Contents::visibilities, Contents::compared, Contents::any}) {
    EXPECT_EQ(refused(hdf5, contents, true), "");
    EXPECT_EQ(refused("", contents, true), "");
    EXPECT_EQ(refused(noise, contents), "") << "too few bytes";
    EXPECT_NE(refused(noise, contents, true).find("first bytes: unknown"), std::string::npos);
  }
  EXPECT_NE(refused(hdf5, Contents::voltages).find("inspect says what it holds"),
            std::string::npos)
      << refused(hdf5, Contents::voltages);
  const std::string fits = "SIMPLE  =                    T";  // a text, too
  EXPECT_NE(refused(fits, Contents::curves).find("kind of file: FITS"), std::string::npos);
  EXPECT_EQ(refused(dada, Contents::voltages), "");
  EXPECT_EQ(refused(sigproc, Contents::filterbanks), "");
  // Cards of GUPPI RAW are a text, too.
  const std::string cards(10'000, 'A');
  EXPECT_EQ(refused(cards, Contents::voltages), "");
  EXPECT_NE(refused(cards, Contents::voltages, true), "");
  // Text: by its words, or by lines of numbers.
  std::string words = "no table\n", table = "# a comment\n1,2\n";
  while (words.size() < 5000) words += words;
  while (table.size() < 5000) table += table;
  EXPECT_EQ(refused(words.substr(0, 100), Contents::curves), "");
  for (const Contents contents : {Contents::curves, Contents::compared, Contents::any}) {
    EXPECT_NE(refused(words, contents).find("kind of file: text"), std::string::npos);
    EXPECT_EQ(refused(table, contents), "");
  }
  for (const Contents contents :
       {Contents::voltages, Contents::filterbanks, Contents::visibilities})
    EXPECT_NE(refused(table, contents).find("kind of file: text"), std::string::npos);
  // By the name, where the bytes say nothing.
  EXPECT_EQ(refused(noise, Contents::voltages, true, "x.vdif"), "");
  EXPECT_EQ(refused(noise, Contents::any, true, "x.spc"), "");
  EXPECT_NE(refused(noise, Contents::filterbanks, true, "x.fil"), "");
}

// Under the name of its contents, too; and as counts only where the name does not say so.
TEST(SeemingKind, OfCompressedFilesSaysHowToDecompressThem) {
  const ScratchFolder folder;
  struct Compressed {
    std::string bytes, kind, ending, program;
  };
  for (const Compressed& one : {Compressed{"\x1f\x8b\x08", "gzip-compressed", ".gz", "gunzip -k"},
                                {"BZh91AY&SY", "bzip2-compressed", ".bz2", "bunzip2 -k"},
                                {std::string("\xfd"
                                             "7zXZ\0",
                                             6),
                                 "xz-compressed", ".xz", "unxz -k"},
                                {"\x28\xb5\x2f\xfd", "zstd-compressed", ".zst", "unzstd"},
                                {"PK\x03\x04", "a ZIP archive", ".zip", "unzip"}}) {
    SCOPED_TRACE(one.kind);
    const std::string bytes = one.bytes + std::string(5000, '\x8f');
    for (const char* name : {"x.fil", "x.dada", "x.npy", "x.ptu", "x.tif", "x.raw"}) {
      const std::string path = folder / name, named = path + one.ending;
      write_file(path, bytes);
      write_file(named, bytes);
      EXPECT_EQ(seeming_kind(named), one.kind);
      EXPECT_NE(commands_for(named).find("decompress it first: " + one.program + " " + named),
                std::string::npos)
          << commands_for(named);
      EXPECT_EQ(commands_for(path), "decompress it first, as " + one.program + " does") << path;
      for (const std::string& file : {path, named}) {
        const auto told = [&](const std::function<void()>& open) {
          EXPECT_NE(refusal_of(open).find(one.kind), std::string::npos) << refusal_of(open);
        };
        told([&] { open_voltages(file, {}); });
        told([&] { open_filterbank({file}, {}); });
        told([&] { open_photons(file); });
        told([&] { open_counts(file, {}); });
      }
      const RawCounts raw{.dtype = core::SampleType::u8, .sensors = 1};
      EXPECT_NE(refusal_of([&] { open_counts(named, raw); }).find(one.kind), std::string::npos);
      if (std::string_view(name) == "x.raw") {
        EXPECT_EQ(open_counts(path, raw)->total_samples(), bytes.size());
      }
      std::filesystem::remove(path);
      std::filesystem::remove(named);
    }
  }
}

// With a type given, too: their headers would be correlated. Behind a header that is skipped anything may be.
TEST(SeemingKind, FilesOfOtherFormatsAreNoRawCounts) {
  const ScratchFolder folder;
  auto random = tests::generator();
  const RawCounts raw{.dtype = core::SampleType::u8, .sensors = 1};
  RawCounts behind = raw;
  behind.header_bytes = 16;
  std::string noise(5000, '\0');
  for (std::size_t k = 1; k < noise.size(); ++k) noise[k] = static_cast<char>(random() % 7);
  const auto refused = [&](const std::string& name, const std::string& head,
                           const std::string& words) {
    write_file(folder / name, head + noise);
    EXPECT_NE(refusal_of([&] { open_counts(folder / name, raw); }).find(words), std::string::npos)
        << name << ": " << refusal_of([&] { open_counts(folder / name, raw); });
    EXPECT_EQ(open_counts(folder / name, behind)->total_samples(), head.size() + noise.size() - 16)
        << name;
  };
  const std::string sigproc("\x0c\0\0\0HEADER_START", 16);
  for (const char* name : {"x.fil", "x.raw", "x.u8"})
    refused(name, sigproc, "this is a filterbank (sigproc): search and dedisperse read it");
  refused("x", "SIMPLE  =                    T", "this is a filterbank (PSRFITS): search");
  refused("y", "# a comment\nHDR_SIZE 4096\n", "this is voltage data (DADA): correlate");
  refused("x.dada", "", "this is voltage data (DADA): correlate");
  refused("x.vdif", "", "this is voltage data (VDIF): correlate");
  refused("x.mwa32t", "", "this is voltage data (MWA receiver): correlate");
  refused("z", "BLOCSIZE=" + std::string(71, ' '), "this is voltage data (GUPPI RAW): correlate");
  refused("v", "\x89HDF\r\n\x1a\n", "HDF5");
  refused("x.uvh5", "\x89HDF\r\n\x1a\n", "these are visibilities (UVH5): report");
  write_file(folder / "s.inf", "");
  refused("s.dat", "", "this is a dedispersed series (PRESTO): search reads it");
  for (const char* name : {"x.raw", "counts.fil", "x.u8", "x.dat", "x.bin", "x"}) {
    write_file(folder / name, noise);
    EXPECT_EQ(open_counts(folder / name, raw)->total_samples(), noise.size()) << name;
  }
}

// By a name alone only where the bytes do not contradict it.
TEST(SeemingKind, CommandsAreOfWhatTheBytesMayBe) {
  const ScratchFolder folder;
  const std::string sigproc("\x0c\0\0\0HEADER_START", 16), noise = "\x01\x02\x03\x04";
  const auto commands = [&](const std::string& name, const std::string& bytes) {
    write_file(folder / name, bytes);
    return commands_for(folder / name);
  };
  EXPECT_EQ(commands("x", sigproc),
            "this is a filterbank (sigproc): search and dedisperse read it");
  EXPECT_EQ(commands("x.raw", sigproc),
            "this is a filterbank (sigproc): search and dedisperse read it");
  EXPECT_EQ(commands("x.spc", noise), "this is photon data (SPC): autocorrelate reads it");
  for (const char* name : {"x.raw", "x.fil", "x.fits", "x.tif", "x.dat"})
    EXPECT_EQ(commands(name, noise), "") << name;
  const std::string no_inf = other_kind(folder / "x.dat", "counts", "check the name").what();
  EXPECT_NE(no_inf.find("unknown: of a series of PRESTO " + (folder / "x.inf") + " is missing, "),
            std::string::npos)
      << no_inf;
  EXPECT_TRUE(no_inf.ends_with("; of another file: check the name")) << no_inf;
}

}  // namespace
}  // namespace tautline::formats
