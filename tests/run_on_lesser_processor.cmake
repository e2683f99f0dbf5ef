# Runs tests of a program under TAUTLINE_CPU=CAP, which the caller sets too, or says that this
# processor has no such instruction set:
#   cmake -DCAP=avx2:1 -DCOMMAND=tautline -DPROGRAM=test_pipeline_voltages -DFILTER=... -P run_on_lesser_processor.cmake
string(REGEX REPLACE ":.*" "" set ${CAP})
execute_process(COMMAND ${COMMAND} devices OUTPUT_VARIABLE devices COMMAND_ERROR_IS_FATAL ANY)
if(NOT devices MATCHES "cpu:${set} +supported")
  message("skipped: no instruction set ${set} here")
  return()
endif()
# A pattern that names no test, after a test was renamed, would leave it out silently. Every processor is portable.
set(patterns)
if(set STREQUAL "portable")
  string(REGEX REPLACE "-.*" "" patterns ${FILTER})
  string(REPLACE ":" ";" patterns ${patterns})
endif()
foreach(pattern IN LISTS patterns)
  execute_process(COMMAND ${PROGRAM} --gtest_list_tests --gtest_filter=${pattern}
    OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
  if(NOT listed MATCHES "\n  ")
    message(FATAL_ERROR "${PROGRAM} has no test named ${pattern}")
  endif()
endforeach()
execute_process(COMMAND ${PROGRAM} --gtest_brief=1 --gtest_filter=${FILTER} COMMAND_ERROR_IS_FATAL ANY)
