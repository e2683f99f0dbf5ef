// The types of nodes of this folder that pipeline files can name.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tautline/pipeline/file_parts.h"
#include "tautline/pipeline/node_type.h"
#include "tautline/pipeline/search/dedisperse_config.h"
#include "tautline/pipeline/search/search_config.h"

namespace tautline::pipeline {

/// Fields for reading and cleaning; the rest of the base is not described.
struct FilterbankFiles : FilterbankRunConfig {
  bool beams = false;
  bool fill_gaps = false;
  std::size_t block_samples = 0;
  double rate = 0;  ///< times real time; 0: as fast as they are taken
};
const core::Fields<FilterbankFiles>& fields(const FilterbankFiles&);

/// The base's fields that concern the stage.
struct DedisperseStage : FilterbankRunConfig {};
const core::Fields<DedisperseStage>& fields(const DedisperseStage&);
struct SearchStage : SearchConfig {};
const core::Fields<SearchStage>& fields(const SearchStage&);

struct TrialFile {
  std::string path;
  SeriesFormat format = SeriesFormat::npy;
  PartLimits parts;
};
const core::Fields<TrialFile>& fields(const TrialFile&);

struct InjectStage {
  InjectionConfig pulses;
  double dm_constant = core::kDispersionConstant;
};
const core::Fields<InjectStage>& fields(const InjectStage&);

struct CandidateEvents {
  std::string path;
  PartLimits parts;
};
const core::Fields<CandidateEvents>& fields(const CandidateEvents&);

/// The base's fields that concern the list and the page.
struct CandidateFile : SearchConfig {};
const core::Fields<CandidateFile>& fields(const CandidateFile&);

std::vector<NodeType> filterbank_node_types();

}  // namespace tautline::pipeline
