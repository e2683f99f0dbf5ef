# cmake --install and find_package(tautline).
include(CMakePackageConfigHelpers)
install(TARGETS tautline EXPORT tautline-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# The public headers are those that public_headers.txt names.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${CMAKE_CURRENT_LIST_DIR}/public_headers.txt)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/public_headers.txt public_headers REGEX "^[^#]")
foreach(header IN LISTS public_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/tautline/${header}
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tautline/${folder})
endforeach()
# Packet layouts, to be read and changed; the library holds them too.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tautline/formats/packets/presets/
        DESTINATION ${CMAKE_INSTALL_DATADIR}/tautline/layouts FILES_MATCHING PATTERN "*.toml")
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
# The command and what it and the Python module open: one component, which the Python package takes whole.
if(TAUTLINE_CLI)
  install(TARGETS tautline_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
endif()
if(TAUTLINE_CLI OR TAUTLINE_PYTHON)
  foreach(name IN LISTS tautline_modules)
    install(TARGETS tautline_${name}_module LIBRARY DESTINATION ${tautline_module_folder} COMPONENT command)
  endforeach()
  # The documentation's site, where scripts/docs has built it.
  set(TAUTLINE_SITE ${PROJECT_BINARY_DIR}/docs/html CACHE PATH "The documentation's site, which is installed if it is there")
  install(DIRECTORY ${TAUTLINE_SITE}/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/html COMPONENT command OPTIONAL)
  if(TAUTLINE_CAIRO)
    install(FILES ${TAUTLINE_FONT_LICENCE} DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME dejavu-fonts-licence.txt
            COMPONENT command)
  endif()
endif()
