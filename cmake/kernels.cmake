# Kernel files, compiled into the library as text: tautline/jit/kernels/NAME.kernel as
# "jit/NAME.kernel", tautline/stages/X/gpu/NAME.kernel as "X/gpu/NAME.kernel". New files are found by
# themselves, also by build folders that exist.
include(${PROJECT_SOURCE_DIR}/cmake/embed.cmake)

file(GLOB_RECURSE tautline_kernels CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/tautline/jit/kernels/*.kernel
  ${PROJECT_SOURCE_DIR}/tautline/stages/*.kernel)
set(kernel_assets)
foreach(file IN LISTS tautline_kernels)
  string(REPLACE "${PROJECT_SOURCE_DIR}/tautline/jit/kernels/" "jit/" name ${file})
  string(REPLACE "${PROJECT_SOURCE_DIR}/tautline/stages/" "" name ${name})
  list(APPEND kernel_assets ${name}=${file})
endforeach()
embed_assets(tautline_jit tautline/jit/program.h tautline::jit::kernel_text NAMES kernel_names
  ${kernel_assets})
