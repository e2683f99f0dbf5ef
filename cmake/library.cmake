# The library: a static library for each layer (and for each stage), so that whoever uses a layer
# builds that layer and those below it alone; `tautline` puts their objects together for
# installation. A layer's files are listed by its folder.
set(tautline_layers)

# Options that every source of the library is compiled with.
add_library(tautline_options INTERFACE)
target_compile_features(tautline_options INTERFACE cxx_std_20)
target_include_directories(tautline_options INTERFACE ${PROJECT_SOURCE_DIR})
# -ffp-contract=off keeps the plain loops of the references what they say; kernels ask for fused
# multiply-adds by name.
target_compile_options(tautline_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
                                                  -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns wrongly of std::string's and std::vector's own copies and, at -Og, of std::stop_source. The compiler
  # collects its garbage from half a gigabyte on; sooner, that takes 3 to 10 % of its time.
  foreach(option -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-maybe-uninitialized
                 -Wno-array-bounds --param=ggc-min-heapsize=524288)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:${option}>)
  endforeach()
endif()
target_compile_definitions(tautline_options INTERFACE TAUTLINE_VERSION="${PROJECT_VERSION}"
  $<$<BOOL:${TAUTLINE_HDF5}>:TAUTLINE_HDF5> $<$<BOOL:${TAUTLINE_CASACORE}>:TAUTLINE_CASACORE>
  $<$<BOOL:${TAUTLINE_ZIP}>:TAUTLINE_ZIP> $<$<BOOL:${TAUTLINE_TIFF}>:TAUTLINE_TIFF>
  $<$<BOOL:${TAUTLINE_FIT}>:TAUTLINE_FIT> $<$<BOOL:${TAUTLINE_CFITSIO}>:TAUTLINE_CFITSIO>
  $<$<BOOL:${TAUTLINE_BOOST}>:TAUTLINE_BOOST>)
set(TAUTLINE_LEAVE_OUT "" CACHE STRING
    "An instruction set whose kernels are not compiled, and which is then not supported: AVX2 or AVX3 (AVX-512)")
if(TAUTLINE_LEAVE_OUT)
  target_compile_definitions(tautline_options INTERFACE TAUTLINE_LEFT_OUT=HWY_${TAUTLINE_LEAVE_OUT}
    TAUTLINE_LEFT_OUT_SET=$<IF:$<STREQUAL:${TAUTLINE_LEAVE_OUT},AVX2>,avx2,avx512>)
endif()
# What has no loop over samples, in the library, the command and the tests, need not be fast, and GCC takes half as
# long over it; a sixth less for -Og than for -O1.
set(TAUTLINE_DRIVER_OPTIONS $<$<CONFIG:Release>:-Og>)
if(TAUTLINE_SANITIZE)
  set(TAUTLINE_DRIVER_OPTIONS -O0)
  add_compile_options(-fsanitize=${TAUTLINE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TAUTLINE_SANITIZE})
  if(TAUTLINE_SANITIZE MATCHES "undefined")
    # AddressSanitizer finds what the checks of null pointers and of objects' sizes would, and they take as long to
    # compile as it does.
    add_compile_options(-fno-sanitize-recover=all)
    if(TAUTLINE_SANITIZE MATCHES "address")
      add_compile_options(-fno-sanitize=null,object-size)
    endif()
  endif()
endif()
# VkFFT is one large header of others, which writes the text of kernels.
set_source_files_properties(${PROJECT_SOURCE_DIR}/tautline/device/opencl/opencl_fft.cpp
                            PROPERTIES COMPILE_OPTIONS "-O0;-fno-sanitize=all")

# Several files of a layer are compiled as one, which reads their headers once; the compiler then takes up to 1.2 GB.
# Files that stand alone: those with options of their own, and the kernels that are compiled for instruction sets beyond
# the compiler's own.
set(TAUTLINE_FILES_AT_ONCE 28)
option(TAUTLINE_UNITY "Compile several files as one, common headers once: half the time of a build from nothing" ON)
function(tautline_unity target files_at_once)
  if(TAUTLINE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files_at_once})
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    set(vectors "")
    if(EXISTS ${source})
      file(STRINGS ${source} vectors REGEX "HWY_TARGET_INCLUDE|pragma GCC target" LIMIT_COUNT 1)
    endif()
    if(vectors AND TAUTLINE_SANITIZE)
      # GCC takes minutes over checks in line; calls take seconds, and intrinsics have no undefined
      # behaviour to find.
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "-Og;-g0;-fno-sanitize=undefined;--param=asan-instrumentation-with-call-threshold=0")
    endif()
    # Precompiled headers bring options of their own: with them GCC fuses multiplications and additions in kernels.
    if(vectors OR options)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# The headers of common_headers.h are compiled once for libraries, once for those with loops over samples and once for
# programs. GCC fails where it uses headers compiled with another -O, and at -O0, under the sanitizers, over vector
# instructions after them; Clang refuses those compiled with other definitions.
set(common_headers ${TAUTLINE_UNITY})
if(TAUTLINE_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(common_headers OFF)
endif()
if(common_headers)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/common_headers.cpp CONTENT "int main() {}\n")
  add_library(tautline_library_headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/common_headers.cpp)
  add_library(tautline_loops_headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/common_headers.cpp)
  add_executable(tautline_program_headers EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/common_headers.cpp)
  foreach(headers tautline_library_headers tautline_loops_headers tautline_program_headers)
    target_link_libraries(${headers} PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
    target_compile_options(${headers} PRIVATE -Wpedantic -ffp-contract=off)
    if(NOT headers STREQUAL "tautline_loops_headers")
      target_compile_options(${headers} PRIVATE ${TAUTLINE_DRIVER_OPTIONS})
    endif()
    target_precompile_headers(${headers} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/common_headers.h)
  endforeach()
endif()
# The target is what only drives the library.
function(tautline_driver target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic ${TAUTLINE_DRIVER_OPTIONS})
  if(common_headers)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      target_precompile_headers(${target} REUSE_FROM tautline_program_headers)
    else()
      target_precompile_headers(${target} REUSE_FROM tautline_library_headers)
    endif()
  endif()
endfunction()

# Adds a static library of the sources to the layers.
function(tautline_add_layer target)
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${ARGN})
  target_link_libraries(${target} PRIVATE tautline_options fmt::fmt)
  tautline_unity(${target} ${TAUTLINE_FILES_AT_ONCE})
  set(tautline_layers ${tautline_layers} ${target} PARENT_SCOPE)
endfunction()

# tautline_layer(NAME FOLDER [LINK libraries...] [INCLUDE folders...] [ONLY regular expression]
#                [WITHOUT regular expressions...])
# adds tautline_NAME and, of the files without loops over samples, tautline_NAME_drivers, which it links.
set(sample_loops_list ${PROJECT_SOURCE_DIR}/cmake/sample_loops.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sample_loops_list})
file(STRINGS ${sample_loops_list} TAUTLINE_SAMPLE_LOOPS REGEX "^[^#]")
function(tautline_layer name folder)
  cmake_parse_arguments(PARSE_ARGV 2 layer "" "ONLY" "LINK;INCLUDE;WITHOUT")
  file(GLOB_RECURSE drivers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tautline/${folder}/*.cpp)
  if(layer_ONLY)
    list(FILTER drivers INCLUDE REGEX "${layer_ONLY}")
  endif()
  foreach(regex IN LISTS layer_WITHOUT)
    list(FILTER drivers EXCLUDE REGEX "${regex}")
  endforeach()
  set(loops ${drivers})
  list(FILTER loops INCLUDE REGEX "/tautline/(device|stages/[a-z_]+)/(cpu/|reference)")
  list(REMOVE_ITEM drivers ${loops})
  foreach(source IN LISTS drivers)
    foreach(entry IN LISTS TAUTLINE_SAMPLE_LOOPS)
      string(FIND ${source} "${PROJECT_SOURCE_DIR}/tautline/${entry}" place)
      if(place EQUAL 0)
        list(APPEND loops ${source})
        break()
      endif()
    endforeach()
  endforeach()
  list(REMOVE_ITEM drivers ${loops})
  set(targets tautline_${name})
  if(loops AND drivers)
    tautline_add_layer(tautline_${name} ${loops})
    if(common_headers)
      target_precompile_headers(tautline_${name} REUSE_FROM tautline_loops_headers)
    endif()
    tautline_add_layer(tautline_${name}_drivers ${drivers})
    tautline_driver(tautline_${name}_drivers)
    target_link_libraries(tautline_${name}_drivers PUBLIC tautline_${name})
    target_link_libraries(tautline_${name} PUBLIC tautline_${name}_drivers)
    list(APPEND targets tautline_${name}_drivers)
  else()
    tautline_add_layer(tautline_${name} ${loops} ${drivers})
    if(drivers)
      tautline_driver(tautline_${name})
    endif()
  endif()
  target_link_libraries(tautline_${name} PUBLIC ${layer_LINK})
  foreach(target IN LISTS targets)
    target_include_directories(${target} SYSTEM PRIVATE ${layer_INCLUDE})
  endforeach()
  set(tautline_layers ${tautline_layers} PARENT_SCOPE)
endfunction()

tautline_layer(core core LINK fmt::fmt)
tautline_layer(device device
  LINK tautline_core TBB::tbb hwy::hwy kissfft::kissfft-float OpenCL::OpenCL Threads::Threads
       ${CMAKE_DL_LIBS}
  INCLUDE ${TAUTLINE_VKFFT_INCLUDE})
tautline_layer(engine engine LINK tautline_device)
tautline_layer(jit jit LINK tautline_device nlohmann_json::nlohmann_json)
include(${PROJECT_SOURCE_DIR}/cmake/kernels.cmake)

# Instruction sets that only x86-64 has.
set(other_processors)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(other_processors "/cpu/(vnni\\.cpp|amx/)")
endif()
file(GLOB stages RELATIVE ${PROJECT_SOURCE_DIR}/tautline/stages ${PROJECT_SOURCE_DIR}/tautline/stages/*)
set(tautline_stages)
foreach(stage IN LISTS stages)
  tautline_layer(stages_${stage} stages/${stage} LINK tautline_jit WITHOUT ${other_processors})
  list(APPEND tautline_stages tautline_stages_${stage})
endforeach()

# Formats of libraries that take long to load stand by themselves, so that a program can open them when it
# needs them (tautline/formats/modules).
set(heavy "/formats/(uvh5|curves_hdf5|cutout_hdf5|photon_hdf5|measurement_set|psrfits|figure|picture|modules)/")
tautline_layer(figure formats/figure LINK tautline_core)
if(TAUTLINE_CAIRO)
  target_compile_definitions(tautline_figure PRIVATE TAUTLINE_CAIRO)
endif()
tautline_layer(formats formats WITHOUT ${heavy}
  LINK tautline_figure nlohmann_json::nlohmann_json tomlplusplus::tomlplusplus
       ${TAUTLINE_ERFA_LIBRARY}
  INCLUDE ${TAUTLINE_ERFA_INCLUDE} $<$<BOOL:${TAUTLINE_ZIP}>:${TAUTLINE_MINIZIP_INCLUDE}>)
# Packet layouts that ship, as text.
file(GLOB packet_presets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tautline/formats/packets/presets/*.toml)
set(preset_assets)
foreach(file IN LISTS packet_presets)
  get_filename_component(name ${file} NAME_WE)
  list(APPEND preset_assets ${name}=${file})
endforeach()
embed_assets(tautline_formats tautline/formats/packets/packet_layout.h tautline::formats::packets::preset_text
  NAMES preset_names ${preset_assets})
if(TAUTLINE_ZIP)
  target_link_libraries(tautline_formats PUBLIC ${TAUTLINE_MINIZIP_LIBRARY} ZLIB::ZLIB)
endif()
if(TAUTLINE_TIFF)
  target_link_libraries(tautline_formats PUBLIC TIFF::TIFF)
endif()

# tautline_heavy_formats(NAME FOLDERS regular expression LINK libraries... INCLUDE folders...): what the formats call
# and is called by, of one library.
set(tautline_modules)
function(tautline_heavy_formats name)
  cmake_parse_arguments(PARSE_ARGV 1 heavy "" "FOLDERS" "LINK;INCLUDE")
  tautline_layer(formats_${name} formats ONLY "/formats/(${heavy_FOLDERS})/"
    LINK tautline_formats ${heavy_LINK} INCLUDE ${heavy_INCLUDE})
  target_link_libraries(tautline_formats PUBLIC tautline_formats_${name})
  set(tautline_layers ${tautline_layers} PARENT_SCOPE)
  set(tautline_modules ${tautline_modules} ${name} PARENT_SCOPE)
endfunction()
if(TAUTLINE_HDF5)
  tautline_heavy_formats(hdf5 FOLDERS "uvh5|curves_hdf5|cutout_hdf5|photon_hdf5"
    LINK ${HDF5_C_LIBRARIES} INCLUDE ${HDF5_C_INCLUDE_DIRS})
endif()
if(TAUTLINE_CFITSIO)
  tautline_heavy_formats(cfitsio FOLDERS psrfits
    LINK ${TAUTLINE_CFITSIO_LIBRARY} INCLUDE ${TAUTLINE_CFITSIO_INCLUDE})
endif()
if(TAUTLINE_CASACORE)
  # casacore 3.5's headers use what C++20 took out of std::allocator.
  set_source_files_properties(
    ${PROJECT_SOURCE_DIR}/tautline/formats/measurement_set/contents.cpp
    ${PROJECT_SOURCE_DIR}/tautline/formats/measurement_set/input_tables.cpp
    ${PROJECT_SOURCE_DIR}/tautline/formats/measurement_set/tables.cpp
    ${PROJECT_SOURCE_DIR}/tautline/formats/measurement_set/subtables.cpp
    PROPERTIES COMPILE_OPTIONS "-std=c++17")
  # Its headers include each other as <casacore/...> and as their siblings' folders.
  tautline_heavy_formats(casacore FOLDERS measurement_set
    LINK ${TAUTLINE_CASA_MS} ${TAUTLINE_CASA_MEASURES} ${TAUTLINE_CASA_TABLES} ${TAUTLINE_CASA_CASA}
    INCLUDE ${TAUTLINE_CASACORE_INCLUDE} ${TAUTLINE_CASACORE_INCLUDE}/casacore)
endif()
if(TAUTLINE_CAIRO)
  tautline_heavy_formats(cairo FOLDERS picture
    LINK ${TAUTLINE_CAIRO_LIBRARY} ${FREETYPE_LIBRARIES} INCLUDE ${TAUTLINE_CAIRO_INCLUDE} ${FREETYPE_INCLUDE_DIRS})
  embed_assets(tautline_formats_cairo tautline/formats/picture/font.h tautline::formats::picture::font_file
    "DejaVuSans.ttf=${TAUTLINE_FONT}")
endif()
# Asio and Beast are large, and most of the time of their files: those are compiled as one.
set(connections "/stream/(tcp|http_[a-z]+)\\.cpp$")
tautline_layer(stream stream WITHOUT "${connections}"
  LINK tautline_formats tautline_engine Threads::Threads)
tautline_layer(connections stream ONLY "${connections}" LINK tautline_stream
  INCLUDE $<$<BOOL:${TAUTLINE_BOOST}>:${TAUTLINE_BOOST_INCLUDE}>)
target_link_libraries(tautline_stream PUBLIC tautline_connections)
set(command_alone "/pipeline/(plot|monitor)/")
tautline_layer(pipeline pipeline WITHOUT ${command_alone}
  LINK ${tautline_stages} tautline_engine tautline_stream TBB::tbb
       $<$<BOOL:${TAUTLINE_FIT}>:${TAUTLINE_CMINPACK_LIBRARY}>
  INCLUDE $<$<BOOL:${TAUTLINE_FIT}>:${TAUTLINE_CMINPACK_INCLUDE}>)
include(${PROJECT_SOURCE_DIR}/web/assets.cmake)
# The folders that only the command needs.
tautline_layer(plot pipeline/plot LINK tautline_pipeline)
tautline_layer(monitor pipeline/monitor LINK tautline_plot)

# What is installed: one library.
set(objects)
set(libraries)
foreach(layer IN LISTS tautline_layers)
  list(APPEND objects $<TARGET_OBJECTS:${layer}>)
  get_target_property(links ${layer} LINK_LIBRARIES)
  list(APPEND libraries ${links})
endforeach()
list(REMOVE_DUPLICATES libraries)
list(FILTER libraries EXCLUDE REGEX "^tautline_")
add_library(tautline ${objects})
set_target_properties(tautline PROPERTIES LINKER_LANGUAGE CXX)
add_library(tautline::tautline ALIAS tautline)
target_compile_features(tautline PUBLIC cxx_std_20)
target_include_directories(tautline PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(tautline PRIVATE ${libraries})
if(TAUTLINE_SANITIZE)
  set_target_properties(tautline PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
