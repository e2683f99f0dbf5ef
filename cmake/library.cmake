# The library: one target from the layers' folders. A layer's files are listed by its folder.
file(GLOB_RECURSE tautline_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tautline/*.cpp)
if(NOT TAUTLINE_HDF5)
  list(FILTER tautline_sources EXCLUDE REGEX "/formats/(uvh5|curves_hdf5)/")
endif()
if(NOT TAUTLINE_CFITSIO)
  list(FILTER tautline_sources EXCLUDE REGEX "/formats/psrfits/")
endif()
if(NOT TAUTLINE_CASACORE)
  list(FILTER tautline_sources EXCLUDE REGEX "/formats/measurement_set/")
endif()
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(FILTER tautline_sources EXCLUDE REGEX "/cpu/(vnni\\.cpp|amx/)")
endif()

add_library(tautline ${tautline_sources})
add_library(tautline::tautline ALIAS tautline)
target_compile_features(tautline PUBLIC cxx_std_20)
target_include_directories(tautline PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(tautline
  PRIVATE fmt::fmt TBB::tbb nlohmann_json::nlohmann_json hwy::hwy kissfft::kissfft-float OpenCL::OpenCL
          tomlplusplus::tomlplusplus Threads::Threads ${TAUTLINE_ERFA_LIBRARY} ${CMAKE_DL_LIBS})
target_include_directories(tautline SYSTEM PRIVATE ${TAUTLINE_ERFA_INCLUDE})
# -ffp-contract=off keeps the plain loops of the references what they say; kernels ask for fused
# multiply-adds by name.
target_compile_options(tautline PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
                                        -ffp-contract=off)
target_compile_definitions(tautline PRIVATE TAUTLINE_VERSION="${PROJECT_VERSION}"
  $<$<BOOL:${TAUTLINE_HDF5}>:TAUTLINE_HDF5> $<$<BOOL:${TAUTLINE_CASACORE}>:TAUTLINE_CASACORE>
  $<$<BOOL:${TAUTLINE_ZIP}>:TAUTLINE_ZIP> $<$<BOOL:${TAUTLINE_TIFF}>:TAUTLINE_TIFF>
  $<$<BOOL:${TAUTLINE_FIT}>:TAUTLINE_FIT>)
include(${PROJECT_SOURCE_DIR}/web/assets.cmake)
include(${PROJECT_SOURCE_DIR}/cmake/kernels.cmake)
if(TAUTLINE_HDF5)
  target_link_libraries(tautline PRIVATE ${HDF5_C_LIBRARIES})
  target_include_directories(tautline SYSTEM PRIVATE ${HDF5_C_INCLUDE_DIRS})
endif()
if(TAUTLINE_CFITSIO)
  target_link_libraries(tautline PRIVATE ${TAUTLINE_CFITSIO_LIBRARY})
  target_include_directories(tautline SYSTEM PRIVATE ${TAUTLINE_CFITSIO_INCLUDE})
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tautline/formats/open_filterbank.cpp
                              PROPERTIES COMPILE_DEFINITIONS TAUTLINE_CFITSIO)
endif()
if(TAUTLINE_ZIP)
  target_link_libraries(tautline PRIVATE ${TAUTLINE_MINIZIP_LIBRARY} ZLIB::ZLIB)
  target_include_directories(tautline SYSTEM PRIVATE ${TAUTLINE_MINIZIP_INCLUDE})
endif()
if(TAUTLINE_TIFF)
  target_link_libraries(tautline PRIVATE TIFF::TIFF)
endif()
if(TAUTLINE_FIT)
  target_link_libraries(tautline PRIVATE ${TAUTLINE_CMINPACK_LIBRARY})
  target_include_directories(tautline SYSTEM PRIVATE ${TAUTLINE_CMINPACK_INCLUDE})
endif()
if(TAUTLINE_CASACORE)
  target_link_libraries(tautline PRIVATE ${TAUTLINE_CASA_MS} ${TAUTLINE_CASA_MEASURES}
                                         ${TAUTLINE_CASA_TABLES} ${TAUTLINE_CASA_CASA})
  # casacore 3.5's headers use what C++20 took out of std::allocator.
  set_source_files_properties(
    ${PROJECT_SOURCE_DIR}/tautline/formats/measurement_set/tables.cpp
    ${PROJECT_SOURCE_DIR}/tautline/formats/measurement_set/subtables.cpp
    PROPERTIES COMPILE_OPTIONS "-std=c++17")
  # casacore's headers include each other as <casacore/...> and as their siblings' folders.
  target_include_directories(tautline SYSTEM PRIVATE ${TAUTLINE_CASACORE_INCLUDE}
                                                     ${TAUTLINE_CASACORE_INCLUDE}/casacore)
endif()
# What only drives the library, the command and the tests, need not be fast, and GCC takes half as
# long over it.
set(TAUTLINE_DRIVER_OPTIONS $<$<CONFIG:Release>:-O1>)
if(TAUTLINE_SANITIZE)
  set(TAUTLINE_DRIVER_OPTIONS -O0)
  target_compile_options(tautline PUBLIC -fsanitize=${TAUTLINE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(tautline PUBLIC -fsanitize=${TAUTLINE_SANITIZE})
  if(TAUTLINE_SANITIZE MATCHES "undefined")
    target_compile_options(tautline PUBLIC -fno-sanitize-recover=all)
  endif()
  # The vector kernels take GCC minutes with checks in line; calls take seconds, and intrinsics have
  # no undefined behaviour to find.
  file(GLOB kernels ${PROJECT_SOURCE_DIR}/tautline/stages/*/cpu/*.cpp ${PROJECT_SOURCE_DIR}/tautline/stages/*/cpu/amx/*.cpp)
  set_source_files_properties(${kernels} PROPERTIES COMPILE_OPTIONS
    "-Og;-g0;-fno-sanitize=undefined;--param=asan-instrumentation-with-call-threshold=0")
  # VkFFT is one large header.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tautline/device/opencl/opencl_fft.cpp
                              PROPERTIES COMPILE_OPTIONS "-O0")
endif()
