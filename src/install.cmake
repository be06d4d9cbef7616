# Rules of `cmake --install`. PREFIX/share/wallheat contains the folders jobs and configs, as a checkout does.
#   --component program       the program, the scripts that start it, and example configurations
#   --component development   the CMake package for other projects:
#     find_package(wallheat)    wallheat::solver    solves floor plans; needs the standard library only
#                               wallheat::results   reads result files; not in a WALLHEAT_SOLVER_ONLY build
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/wallheat)
set(public_libraries wallheat_solve wallheat_core)
set(headers_left_out PATTERN result_reader.hpp EXCLUDE)
add_library(wallheat::solver ALIAS wallheat_solve)
set_target_properties(wallheat_solve PROPERTIES EXPORT_NAME solver)
if(NOT WALLHEAT_SOLVER_ONLY)
  list(APPEND public_libraries wallheat_results wallheat_io)
  set(headers_left_out)
  add_library(wallheat::results ALIAS wallheat_results)
  set_target_properties(wallheat_results PROPERTIES EXPORT_NAME results)
endif()
install(TARGETS ${public_libraries} EXPORT wallheat ARCHIVE COMPONENT development INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT wallheat FILE wallheat-libraries.cmake NAMESPACE wallheat:: DESTINATION ${package_folder} COMPONENT development)
install(DIRECTORY include/wallheat DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development ${headers_left_out})
configure_package_config_file(src/wallheatConfig.cmake.in wallheatConfig.cmake INSTALL_DESTINATION ${package_folder})
# Before 1.0.0 any minor version may change an interface.
write_basic_package_version_file(wallheatConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wallheatConfig.cmake ${PROJECT_BINARY_DIR}/wallheatConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT development)
if(WALLHEAT_SOLVER_ONLY)
  return()
endif()

# Libraries outside of the system's folders, such as those of modules and Spack, are loaded from the folders in
# which they were linked. Two folders of Debian contain links to libraries of a system folder only, so they need no
# run path.
list(APPEND CMAKE_PLATFORM_IMPLICIT_LINK_DIRECTORIES
     /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/hdf5/serial /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/lib)
set_target_properties(wallheat wallheat-solver-process PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS wallheat wallheat-solver-process COMPONENT program)
set(shared_folder ${CMAKE_INSTALL_DATADIR}/wallheat)
install(DIRECTORY configs DESTINATION ${shared_folder} COMPONENT program PATTERN packages EXCLUDE)
install(PROGRAMS jobs/delayed-exit-ssh.sh jobs/find-wallheat.sh jobs/launch.sh jobs/lsf.sh jobs/requeue-on-host-loss.sh jobs/slurm.sh jobs/submit.sh jobs/take-over.sh
        DESTINATION ${shared_folder}/jobs COMPONENT program)
install(FILES jobs/job.sh jobs/site-files.sh jobs/steps.sh jobs/usage.sh DESTINATION ${shared_folder}/jobs COMPONENT program)
install(DIRECTORY jobs/examples DESTINATION ${shared_folder}/jobs USE_SOURCE_PERMISSIONS COMPONENT program)
install(FILES configs/packages/modulefile DESTINATION ${shared_folder}/modulefiles/wallheat RENAME ${PROJECT_VERSION}
        COMPONENT program)
# The program prints the completions, and the help texts from which the manual page is made.
set(written ${PROJECT_BINARY_DIR}/written)
install(CODE "
  file(REMOVE_RECURSE \"${written}\")
  file(MAKE_DIRECTORY \"${written}/man1\")
  execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/configs/packages/man-page.sh\" \"$<TARGET_FILE:wallheat>\"
                  OUTPUT_FILE \"${written}/man1/wallheat.1\" COMMAND_ERROR_IS_FATAL ANY)
  foreach(shell bash fish)
    execute_process(COMMAND \"$<TARGET_FILE:wallheat>\" completion \${shell} OUTPUT_FILE \"${written}/\${shell}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()" COMPONENT program)
install(DIRECTORY ${written}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
install(FILES ${written}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME wallheat COMPONENT program)
install(FILES ${written}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME wallheat.fish COMPONENT program)

# cpack -G DEB (in the build folder) makes a package for the Debian release of the build machine; cpack -G TGZ packs
# the same files for a machine that has the same libraries.
set(CPACK_PACKAGE_CONTACT "the wallheat developers <wallheat@example.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_CMAKE_PROJECTS ${PROJECT_BINARY_DIR} wallheat program /)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)        # mpirun
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS gnuplot-nox)     # pictures and plots
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/configs/packages/debian/add_files.cmake)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/configs/packages/debian/conffiles)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
