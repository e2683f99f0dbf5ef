# The page's files and the chart library, compiled into the library.
include(${PROJECT_SOURCE_DIR}/cmake/embed.cmake)

# dygraphs (MIT) comes from the distribution; nothing of it is committed here.
find_file(TAUTLINE_DYGRAPHS_SCRIPT dygraph.min.js
          PATHS /usr/share/javascript/dygraphs /usr/share/nodejs/dygraphs/dist)
find_file(TAUTLINE_DYGRAPHS_STYLE dygraph.min.css
          PATHS /usr/share/javascript/dygraphs /usr/share/nodejs/dygraphs/dist)
find_file(TAUTLINE_DYGRAPHS_LICENCE copyright PATHS /usr/share/doc/libjs-dygraphs NO_DEFAULT_PATH)
foreach(file SCRIPT STYLE LICENCE)
  if(NOT TAUTLINE_DYGRAPHS_${file})
    message(FATAL_ERROR "The chart library dygraphs is needed for the HTML report: install the "
                        "package libjs-dygraphs (Debian, Ubuntu), or set TAUTLINE_DYGRAPHS_SCRIPT, "
                        "TAUTLINE_DYGRAPHS_STYLE and TAUTLINE_DYGRAPHS_LICENCE to its "
                        "dygraph.min.js, dygraph.min.css and licence text")
  endif()
endforeach()

set(page_assets)
foreach(name page.html page.css messages.js store.js colour.js format.js controls.js theme.js canvas_axes.js image.js
             chart.js axes.js delay.js fringe_search.js map.js header.js fringes.js spectra.js quality.js closures.js page.js
             scatter.js candidate_list.js candidates.js fit.js figure.js
             health.js live.js)
  list(APPEND page_assets ${name}=${CMAKE_CURRENT_LIST_DIR}/${name})
endforeach()
embed_assets(tautline_pipeline tautline/pipeline/report/assets.h tautline::pipeline::report::asset
  ${page_assets}
  "dygraph.min.js=${TAUTLINE_DYGRAPHS_SCRIPT}"
  "dygraph.min.css=${TAUTLINE_DYGRAPHS_STYLE}"
  "dygraphs licence=${TAUTLINE_DYGRAPHS_LICENCE}")
