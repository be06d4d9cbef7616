# What `cmake --install` puts where. PREFIX/share/wallheat has the folders jobs and configs as a checkout has them.
#   --component program       the program, the scripts that start it, and examples of configuration
#   --component development   the CMake package for projects of others:
#     find_package(wallheat)    wallheat::solver    solves floor plans; needs the standard library alone
#                               wallheat::results   reads result files; not in a WALLHEAT_SOLVER_ONLY build
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

add_library(wallheat::solver ALIAS wallheat_solve)
if(NOT WALLHEAT_SOLVER_ONLY)
  add_library(wallheat::results ALIAS wallheat_results)
endif()
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/wallheat)

# install_libraries(NAME LIBRARY...): the first LIBRARY becomes wallheat::NAME, the others what it is made of.
function(install_libraries name library)
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
  foreach(part IN LISTS ARGN)
    string(REPLACE wallheat_ private_ private_name ${part})
    set_target_properties(${part} PROPERTIES EXPORT_NAME ${private_name})
  endforeach()
  install(TARGETS ${library} ${ARGN} EXPORT wallheat_${name}
          ARCHIVE COMPONENT development INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT wallheat_${name} FILE wallheat-${name}.cmake NAMESPACE wallheat::
          DESTINATION ${package_folder} COMPONENT development)
endfunction()

install_libraries(solver wallheat_solve wallheat_core)
set(headers_left_out)
if(WALLHEAT_SOLVER_ONLY)
  set(headers_left_out PATTERN result_reader.hpp EXCLUDE)
else()
  install_libraries(results wallheat_results wallheat_io)
endif()
install(DIRECTORY include/wallheat DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development ${headers_left_out})

configure_package_config_file(src/wallheatConfig.cmake.in ${PROJECT_BINARY_DIR}/wallheatConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
# Before 1.0.0 any minor version may change an interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wallheatConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wallheatConfig.cmake ${PROJECT_BINARY_DIR}/wallheatConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT development)

if(NOT WALLHEAT_SOLVER_ONLY)
  # Libraries outside of the system's folders, as modules and Spack have them, are found where the program was
  # linked with them. Debian's two folders hold links to libraries of a system folder, so they need no run path.
  list(APPEND CMAKE_PLATFORM_IMPLICIT_LINK_DIRECTORIES
       /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/hdf5/serial /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/lib)
  set_target_properties(wallheat PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS wallheat COMPONENT program)
  set(shared_folder ${CMAKE_INSTALL_DATADIR}/wallheat)
  install(DIRECTORY configs DESTINATION ${shared_folder} COMPONENT program PATTERN packages EXCLUDE)
  install(PROGRAMS jobs/launch.sh jobs/lingering-ssh.sh jobs/lsf.sh jobs/own-wallheat.sh jobs/slurm.sh jobs/submit.sh jobs/take-over.sh
          DESTINATION ${shared_folder}/jobs COMPONENT program)
  install(FILES jobs/steps.sh jobs/usage.sh DESTINATION ${shared_folder}/jobs COMPONENT program)
  install(DIRECTORY jobs/examples DESTINATION ${shared_folder}/jobs USE_SOURCE_PERMISSIONS COMPONENT program)
  # Completion comes from the program, the manual page from help2man if it is here.
  find_program(HELP2MAN help2man)
  install(CODE "
    set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    function(write_by file)
      get_filename_component(folder \"\${file}\" DIRECTORY)
      file(MAKE_DIRECTORY \"\${folder}\")
      execute_process(COMMAND \${ARGN} OUTPUT_FILE \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)
      message(STATUS \"Installing: \${file}\")
      list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")
      set(CMAKE_INSTALL_MANIFEST_FILES \"\${CMAKE_INSTALL_MANIFEST_FILES}\" PARENT_SCOPE)
    endfunction()
    set(shells bash fish)
    set(files bash-completion/completions/wallheat fish/vendor_completions.d/wallheat.fish)
    foreach(shell file IN ZIP_LISTS shells files)
      write_by(\"\${prefix}/${CMAKE_INSTALL_DATADIR}/\${file}\" \"$<TARGET_FILE:wallheat>\" completion \${shell})
    endforeach()
    if(EXISTS \"${HELP2MAN}\")
      write_by(\"\${prefix}/${CMAKE_INSTALL_MANDIR}/man1/wallheat.1\" \"${HELP2MAN}\" --no-info \"$<TARGET_FILE:wallheat>\")
    endif()
  " COMPONENT program)
endif()

# cpack -G DEB (in the build folder): a package for the Debian release that it is built on; cpack -G TGZ: the same
# files, for a machine that has the same libraries.
if(NOT WALLHEAT_SOLVER_ONLY)
  set(CPACK_PACKAGE_NAME wallheat)
  set(CPACK_PACKAGE_CONTACT "the wallheat developers <wallheat@example.org>")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_INSTALL_CMAKE_PROJECTS ${PROJECT_BINARY_DIR} wallheat program /)
  set(CPACK_COMPONENTS_ALL program)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)        # mpirun
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS gnuplot-nox)     # pictures and plots
  set(CPACK_STRIP_FILES ON)
  set(CPACK_VERBATIM_VARIABLES ON)
  include(CPack)
endif()
