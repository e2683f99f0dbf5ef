// Every file format that is read, and visibilities that are written: one table, from which files are
// opened, recognised, and named in help and messages.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/count_reader.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/visibility_reader.h"
#include "tautline/formats/visibility_writer.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats {

/// The openers of a format show its kind of contents.
struct FileFormat {
  std::string name = {};                  ///< "GUPPI RAW"
  std::vector<std::string> endings = {};  ///< of names: ".raw"
  /// The name of such a file in messages ("DADA voltages"); empty where its first bytes prove little.
  std::string kind = {};
  /// Recognises a file by its first bytes and its name, or with an empty name by the bytes alone. Null: told
  /// by the ending of the name, in either case.
  bool (*recognise)(std::span<const std::byte> first_bytes, const std::string& name) = nullptr;

  std::unique_ptr<VoltageReader> (*voltages)(const std::string&, const ReaderOptions&) = nullptr;
  /// Opens bytes that come in order; null: only files are read.
  std::unique_ptr<VoltageReader> (*voltages_in_order)(InputFile, const ReaderOptions&) = nullptr;
  /// Whether bytes with this beginning can be read in order; null: always.
  bool (*in_order)(std::span<const std::byte> first_bytes) = nullptr;
  std::unique_ptr<FilterbankReader> (*filterbank)(const std::string&,
                                                  const FilterbankOptions&) = nullptr;
  /// A dedispersed series: a filterbank of one channel.
  std::unique_ptr<FilterbankReader> (*series)(const std::string&,
                                              const FilterbankOptions&) = nullptr;
  std::unique_ptr<PhotonReader> (*photons)(const std::string&) = nullptr;
  std::unique_ptr<CountReader> (*counts)(const std::string&, const RawCounts&) = nullptr;
  curves::CurveFile (*read_curves)(const std::string&) = nullptr;
  std::unique_ptr<VisibilityReader> (*visibilities)(const std::string&) = nullptr;
  std::unique_ptr<VisibilityWriter> (*write_visibilities)(const std::string&,
                                                          const VisibilityDescription&,
                                                          bool overwrite) = nullptr;

  bool is(std::span<const std::byte> first_bytes, const std::string& path) const;
};

/// In the order of recognition.
const std::vector<FileFormat>& file_formats();

/// The first format with this opener that is the file's; null where there is none.
template <class Opener>
const FileFormat* find_format(Opener FileFormat::*opener, std::span<const std::byte> first_bytes,
                              const std::string& path) {
  for (const FileFormat& format : file_formats())
    if (format.*opener != nullptr && format.is(first_bytes, path)) return &format;
  return nullptr;
}

template <class Opener>
std::vector<FileFormat> formats_with(Opener FileFormat::*opener) {
  std::vector<FileFormat> found;
  for (const FileFormat& format : file_formats())
    if (format.*opener != nullptr) found.push_back(format);
  return found;
}

/// "DADA, NPY, VDIF".
std::string names_of(const std::vector<FileFormat>& formats);
/// "DADA (.dada), NPY (.npy) or VDIF (.vdif)".
std::string names_and_endings_of(const std::vector<FileFormat>& formats);
/// ".uvh5 or .ms"; with a stem "V" "V.uvh5 or V.ms".
std::string endings_of(const std::vector<FileFormat>& formats, const std::string& stem = "");

}  // namespace tautline::formats
