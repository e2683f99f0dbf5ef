# The `tautline` command: one file per subcommand under cli/.
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)
file(GLOB tautline_cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cpp)
add_executable(tautline_command ${tautline_cli_sources}
  ${PROJECT_SOURCE_DIR}/tautline/formats/modules/open_modules.cpp)
set_target_properties(tautline_command PROPERTIES OUTPUT_NAME tautline)
tautline_unity(tautline_command 14)
target_include_directories(tautline_command PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_link_libraries(tautline_command PRIVATE tautline_plot CLI11::CLI11 spdlog::spdlog fmt::fmt
                                               nlohmann_json::nlohmann_json Threads::Threads)
target_compile_options(tautline_command PRIVATE -Wall -Wextra -Wpedantic -Wshadow
                                                ${TAUTLINE_DRIVER_OPTIONS})
target_compile_definitions(tautline_command PRIVATE TAUTLINE_VERSION="${PROJECT_VERSION}")

# The formats of HDF5, casacore, cfitsio and Cairo, which the command opens when it needs them: it has functions of
# their names itself, and none of those libraries is needed at its start.
target_compile_definitions(tautline_command PRIVATE
  $<$<BOOL:${TAUTLINE_HDF5}>:TAUTLINE_HDF5> $<$<BOOL:${TAUTLINE_CASACORE}>:TAUTLINE_CASACORE>
  $<$<BOOL:${TAUTLINE_CFITSIO}>:TAUTLINE_CFITSIO>)
if(TAUTLINE_CAIRO)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tautline/formats/modules/open_modules.cpp
                              PROPERTIES COMPILE_DEFINITIONS TAUTLINE_CAIRO)
endif()
target_link_options(tautline_command PRIVATE LINKER:--as-needed)
set(tautline_module_folder ${CMAKE_INSTALL_LIBDIR}/tautline)
set_target_properties(tautline_command PROPERTIES BUILD_RPATH "$ORIGIN"
                      INSTALL_RPATH "$ORIGIN/../${tautline_module_folder}")
foreach(name IN LISTS tautline_modules)
  add_library(tautline_${name}_module MODULE
    ${PROJECT_SOURCE_DIR}/tautline/formats/modules/${name}_module.cpp
    ${PROJECT_SOURCE_DIR}/tautline/formats/modules/open_modules.cpp)
  set_target_properties(tautline_${name}_module PROPERTIES OUTPUT_NAME tautline_${name}
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} CXX_VISIBILITY_PRESET hidden)
  string(TOUPPER ${name} upper)
  target_compile_definitions(tautline_${name}_module PRIVATE TAUTLINE_${upper}_MODULE)
  target_link_libraries(tautline_${name}_module PRIVATE tautline_options tautline_formats_${name})
  target_link_options(tautline_${name}_module PRIVATE
    LINKER:--as-needed LINKER:--exclude-libs,ALL LINKER:--no-undefined)
  add_dependencies(tautline_command tautline_${name}_module)
endforeach()
