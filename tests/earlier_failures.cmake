# Read by CTest before each run. scripts/test names a file whose lines are what failed before its last run of CTest: each is
# a failed test of that run, so that CTest's summary, the last thing printed, names it.
if(EXISTS "$ENV{TAUTLINE_EARLIER_FAILURES}")
  file(STRINGS "$ENV{TAUTLINE_EARLIER_FAILURES}" earlier_failures)
  foreach(failure IN LISTS earlier_failures)
    add_test("earlier step: ${failure}" sh -c "echo 'failed before this run; its output is above'; exit 1")
  endforeach()
endif()
