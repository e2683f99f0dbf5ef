# The `tautline` command: one file per subcommand under cli/.
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)
file(GLOB tautline_cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cpp)
add_executable(tautline_command ${tautline_cli_sources})
tautline_opens_modules(tautline_command)
set_target_properties(tautline_command PROPERTIES OUTPUT_NAME tautline)
tautline_unity(tautline_command ${TAUTLINE_FILES_AT_ONCE})
target_include_directories(tautline_command PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_link_libraries(tautline_command PRIVATE tautline_monitor CLI11::CLI11 spdlog::spdlog fmt::fmt
                                               nlohmann_json::nlohmann_json Threads::Threads)
target_compile_options(tautline_command PRIVATE -Wshadow)
tautline_driver(tautline_command)
set_target_properties(tautline_command PROPERTIES BUILD_RPATH "$ORIGIN"
                      INSTALL_RPATH "$ORIGIN/../${tautline_module_folder}")
