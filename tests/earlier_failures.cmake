# Read by CTest before each run. scripts/test names a folder with a file for each failure before its last run of CTest: its
# name and what it printed. Each is a failed test of that run, so that CTest's summary, the last thing printed, names it.
if(EXISTS "$ENV{TAUTLINE_EARLIER_FAILURES}")
  file(GLOB earlier_failures "$ENV{TAUTLINE_EARLIER_FAILURES}/*")
  foreach(failure IN LISTS earlier_failures)
    file(STRINGS "${failure}" name LIMIT_COUNT 1)
    add_test("earlier step: ${name}" sh -c "cat '${failure}'; exit 1")
  endforeach()
endif()
