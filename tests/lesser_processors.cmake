# Tests that could notice which processor runs them run once more as on each of several lesser ones
# (TAUTLINE_CPU): memory limits, plans' texts and choices, numbers of threads. cpu_avx2_1/pipeline/voltages
# runs those of tests/pipeline/voltages as on AVX2 with one core. Stages' comparisons with the reference are
# not among them: they force every instruction set that is here. 12 s of one core for each.
set(lesser_processors portable:1 avx2:1 avx2:2 avx512:2 vnni:1 amx:2)

# The tests of one folder, as --gtest_filter takes them.
function(tautline_on_lesser_processors folder filter)
  string(REPLACE "/" "_" program test_${folder})
  if(NOT TARGET ${program})
    return()
  endif()
  foreach(cap IN LISTS lesser_processors)
    string(REPLACE ":" "_" name cpu_${cap}/${folder})
    add_test(NAME ${name}
      COMMAND ${CMAKE_COMMAND} -DCAP=${cap} -DCOMMAND=$<TARGET_FILE:tautline_command>
              -DPROGRAM=$<TARGET_FILE:${program}> -DFILTER=${filter}
              -P ${CMAKE_CURRENT_SOURCE_DIR}/run_on_lesser_processor.cmake)
    # GPUs and OpenCL drivers stay out of it: they are not capped.
    set_tests_properties(${name} PROPERTIES TIMEOUT 300
      SKIP_REGULAR_EXPRESSION "skipped: no instruction set"
      ENVIRONMENT "TAUTLINE_CPU=${cap};TAUTLINE_DEVICE=cpu;TAUTLINE_SMALL=1;OCL_ICD_VENDORS=${CMAKE_CURRENT_BINARY_DIR}/no-drivers;TAUTLINE_CACHE=${PROJECT_BINARY_DIR}/test-cache")
  endforeach()
endfunction()

tautline_on_lesser_processors(end_to_end
  "Channelize.*:BadInput.TooLittle*:AutocorrelateOptions.ManySensors:DevicesAndBench.DevicesLists*:Demo.ItsCommands*\
:OptionWords.ErrorsAndAdvice*:EmptyVoltageFiles.AnAntennaThatStops*")
set(searches "Refusals.TooLittleMemory*:SearchMemory.*:RunSearch.ReadsItsFiles*:SeveralTrials.InOneArray*")
string(APPEND searches ":Cleaning.TheBandpass*")
if(TAUTLINE_HDF5)
  string(APPEND searches ":Cutouts.ThoseThatMemory*:RunSearch.RefusesCutouts*")
endif()
tautline_on_lesser_processors(end_to_end/search "${searches}")
# Without those that take long, of statistics, of pages and of what is kept in memory as it came.
tautline_on_lesser_processors(pipeline/voltages "*-*Buffers.Dumps*")
tautline_on_lesser_processors(pipeline/search "SearchBlocks.*:SearchFilterbank.*:DedisperseFilterbank.*")
tautline_on_lesser_processors(pipeline/photons "*-PhotonCurves.*:FitCurves.*:EmptyCount*:DetectorCorrection.*")
tautline_on_lesser_processors(pipeline/simulation
  "*-SimulatePhotons.*:Simulated*:*/Simulated*:CompareTruthOfRuns.*")
tautline_on_lesser_processors(pipeline/bench "*-Limit*")
tautline_on_lesser_processors(stages/correlate "CorrelatePlan.*")
tautline_on_lesser_processors(stages/dedisperse "Plan.*:*IsTheOne*")
tautline_on_lesser_processors(stages/detect "Plan.*")
tautline_on_lesser_processors(stages/unpack "*IsTheOne*")
