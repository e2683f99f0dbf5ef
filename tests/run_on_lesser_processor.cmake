# Runs a test program under TAUTLINE_CPU=CAP, or says that this processor is a lesser one itself:
# cmake -DCAP=avx2:1 -DCOMMAND=tautline -DPROGRAM=test_pipeline -DFILTER=... -P run_on_lesser_processor.cmake
string(REGEX REPLACE ":.*" "" set ${CAP})
execute_process(COMMAND ${COMMAND} devices OUTPUT_VARIABLE devices COMMAND_ERROR_IS_FATAL ANY)
if(NOT devices MATCHES "cpu:${set} +supported")
  message("skipped: no instruction set ${set} here")
  return()
endif()
execute_process(COMMAND ${PROGRAM} --gtest_brief=1 "--gtest_filter=${FILTER}" COMMAND_ERROR_IS_FATAL ANY)
