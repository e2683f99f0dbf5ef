// Files of time tags that get shorter while they are read.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/photon_reader.h"

namespace tautline::tests {

/// Of a file with two photons more than one reading takes, one or none of them is left.
template <class Open>
void expect_shrinking_refused(const std::string& path, const std::string& bytes, const Open& open) {
  for (const std::size_t lost : {1u, 4u, 8u}) {
    std::ofstream(path, std::ios::binary) << bytes;
    const auto reader = open(path);
    std::vector<formats::Photon> photons(100'000);
    EXPECT_EQ(reader->read(photons), std::size_t{1} << 16);
    std::filesystem::resize_file(path, bytes.size() - lost);
    try {
      reader->read(photons);
      ADD_FAILURE() << "nothing was thrown without the last " << lost << " bytes";
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::io);
      EXPECT_EQ(std::string(error.what()), path + ": ended while it was read, expected " +
                                               std::to_string(bytes.size()) +
                                               " bytes as when it was opened");
    }
  }
}

}  // namespace tautline::tests
