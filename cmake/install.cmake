# cmake --install and find_package(tautline).
include(CMakePackageConfigHelpers)
install(TARGETS tautline EXPORT tautline-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# The public headers: all but those that private_headers.txt names by regular expressions on their
# paths below tautline/. scripts/check_layers.py holds commands, examples and public headers to them.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${CMAKE_CURRENT_LIST_DIR}/private_headers.txt)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/private_headers.txt private_headers)
file(GLOB_RECURSE public_headers RELATIVE ${PROJECT_SOURCE_DIR}/tautline CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/tautline/*.h)
foreach(private IN LISTS private_headers)
  list(FILTER public_headers EXCLUDE REGEX "${private}")
endforeach()
foreach(header IN LISTS public_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/tautline/${header}
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tautline/${folder})
endforeach()
install(EXPORT tautline-targets NAMESPACE tautline::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tautline)
configure_package_config_file(cmake/tautline-config.cmake.in
  ${PROJECT_BINARY_DIR}/tautline-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tautline)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tautline-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tautline-config.cmake
              ${PROJECT_BINARY_DIR}/tautline-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tautline)
if(TAUTLINE_CLI)
  install(TARGETS tautline_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
