# The formats of HDF5, casacore, cfitsio and Cairo as modules, which the command and the Python module open when they need
# them (tautline/formats/modules).
set(tautline_module_folder ${CMAKE_INSTALL_LIBDIR}/tautline)

# A program or module that has functions of the formats' names itself, and needs none of those libraries at its start.
function(tautline_opens_modules target)
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tautline/formats/modules/open_modules.cpp)
  target_compile_definitions(${target} PRIVATE TAUTLINE_VERSION="${PROJECT_VERSION}"
    $<$<BOOL:${TAUTLINE_HDF5}>:TAUTLINE_HDF5> $<$<BOOL:${TAUTLINE_CASACORE}>:TAUTLINE_CASACORE>
    $<$<BOOL:${TAUTLINE_CFITSIO}>:TAUTLINE_CFITSIO>)
  if(TAUTLINE_CAIRO)
    set_property(SOURCE ${PROJECT_SOURCE_DIR}/tautline/formats/modules/open_modules.cpp
                 DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} PROPERTY COMPILE_DEFINITIONS TAUTLINE_CAIRO)
  endif()
  target_link_options(${target} PRIVATE LINKER:--as-needed)
  foreach(name IN LISTS tautline_modules)
    add_dependencies(${target} tautline_${name}_module)
  endforeach()
endfunction()

foreach(name IN LISTS tautline_modules)
  add_library(tautline_${name}_module MODULE
    ${PROJECT_SOURCE_DIR}/tautline/formats/modules/${name}_module.cpp
    ${PROJECT_SOURCE_DIR}/tautline/formats/modules/open_modules.cpp)
  set_target_properties(tautline_${name}_module PROPERTIES OUTPUT_NAME tautline_${name}
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} CXX_VISIBILITY_PRESET hidden)
  tautline_unity(tautline_${name}_module 2)
  string(TOUPPER ${name} upper)
  target_compile_definitions(tautline_${name}_module PRIVATE TAUTLINE_${upper}_MODULE)
  target_link_libraries(tautline_${name}_module PRIVATE tautline_options tautline_formats_${name})
  target_link_options(tautline_${name}_module PRIVATE
    LINKER:--as-needed LINKER:--exclude-libs,ALL LINKER:--no-undefined)
endforeach()
