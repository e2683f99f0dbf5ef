# Tests that could notice which processor runs them, once more as on each lesser one (TAUTLINE_CPU):
# cpu_avx2_1/pipeline runs those of tests/pipeline as on AVX2 with one core. Stages' tests of forced
# instruction sets are not among them: they run all that are here.
#   tautline_on_lesser_processors(FOLDER FILTER)   the tests of one folder, as --gtest_filter has them
function(tautline_on_lesser_processors folder filter)
  string(REPLACE "/" "_" name ${folder})
  if(NOT TARGET test_${name})
    return()
  endif()
  foreach(cap portable:1 avx2:1 avx2:2 avx512:1 avx512:2 vnni:1 vnni:2 amx:2)
    string(REPLACE ":" "_" suffix ${cap})
    set(test cpu_${suffix}/${folder})
    add_test(NAME ${test} COMMAND ${CMAKE_COMMAND} -DCAP=${cap} -DCOMMAND=$<TARGET_FILE:tautline_command>
      -DPROGRAM=$<TARGET_FILE:test_${name}> "-DFILTER=${filter}"
      -P ${CMAKE_CURRENT_SOURCE_DIR}/run_on_lesser_processor.cmake)
    # No OpenCL device is looked for, and no GPU is what `auto` takes.
    set_tests_properties(${test} PROPERTIES TIMEOUT 300 SKIP_REGULAR_EXPRESSION "skipped: no instruction set"
      ENVIRONMENT "TAUTLINE_CPU=${cap};TAUTLINE_DEVICE=cpu;OCL_ICD_VENDORS=${CMAKE_CURRENT_BINARY_DIR}/no-drivers;TAUTLINE_CACHE=${PROJECT_BINARY_DIR}/test-cache")
  endforeach()
endfunction()
