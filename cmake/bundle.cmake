# A relocatable bundle: the command and its modules with every library that they link (but not the C library),
# found through their own places. FFTW, and NVIDIA's driver, NVRTC and cuFFT, are never in it: they are opened at
# run time where they are installed.
option(TAUTLINE_BUNDLE "Install the linked libraries beside the command" OFF)
if(TAUTLINE_BUNDLE AND TAUTLINE_CLI)
  set_target_properties(tautline_command PROPERTIES
                        INSTALL_RPATH "$ORIGIN/../lib;$ORIGIN/../${tautline_module_folder}")
  file(RELATIVE_PATH libraries_of_modules /${tautline_module_folder} /lib)
  set(tautline_module_files)
  foreach(name IN LISTS tautline_modules)
    set_target_properties(tautline_${name}_module PROPERTIES
                          INSTALL_RPATH "$ORIGIN/${libraries_of_modules}")
    list(APPEND tautline_module_files $<TARGET_FILE:tautline_${name}_module>)
  endforeach()
  install(CODE "set(modules \"${tautline_module_files}\")")
  # The demonstration runs from the bundle as it does from the tree.
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/scripts/demo DESTINATION scripts)
  install(FILES ${PROJECT_SOURCE_DIR}/examples/demo/array.toml
                ${PROJECT_SOURCE_DIR}/examples/demo/scene.toml DESTINATION examples/demo)
  install(CODE [[
    file(GET_RUNTIME_DEPENDENCIES
      EXECUTABLES $<TARGET_FILE:tautline_command>
      MODULES ${modules}
      RESOLVED_DEPENDENCIES_VAR libraries
      UNRESOLVED_DEPENDENCIES_VAR missing
      PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv)\\.so"
      POST_EXCLUDE_REGEXES "/ld-linux[^/]*$" "/lib(c|m|dl|rt|pthread|resolv)\\.so[^/]*$")
    if(missing)
      message(FATAL_ERROR "bundle: libraries not found: ${missing}")
    endif()
    foreach(library IN LISTS libraries)
      file(INSTALL "${library}" DESTINATION "${CMAKE_INSTALL_PREFIX}/lib" FOLLOW_SYMLINK_CHAIN)
    endforeach()
    # Libraries find each other beside themselves.
    find_program(PATCHELF patchelf REQUIRED)
    file(GLOB bundled "${CMAKE_INSTALL_PREFIX}/lib/*.so*")
    foreach(library IN LISTS bundled)
      if(NOT IS_SYMLINK "${library}")
        execute_process(COMMAND ${PATCHELF} --set-rpath "$ORIGIN" "${library}" COMMAND_ERROR_IS_FATAL ANY)
      endif()
    endforeach()
  ]])
endif()
set(CPACK_PACKAGE_VENDOR "tautline")
set(CPACK_PACKAGE_FILE_NAME "tautline-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR TGZ)
set(CPACK_STRIP_FILES ON)
include(CPack)
