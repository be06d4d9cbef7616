# Defines one library per folder of src: all of its files, the folders that it uses, and the third-party libraries that only
# this folder includes. README.md describes the folders; tests/test_include_rules.sh checks these rules.

# Only code that solves, hashes, checks, compresses or stores is compiled with -O3. Code that parses, waits or prints is not
# faster with it, but takes 50 % longer to compile.
set(hot "$<$<CONFIG:Release>:-O3>")
add_compile_options("$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C,CXX>>:-O1>")
set_source_files_properties(
  src/core/floor_plan.cpp src/core/generator.cpp src/core/npy.cpp src/core/text.cpp
  src/core/rooms.cpp src/core/statistics.cpp src/io/deflate.cpp src/plans/plan_hash.cpp src/plans/work_estimate.cpp PROPERTIES COMPILE_OPTIONS "${hot}")

# wallheat_library(NAME [HOT] [FOLDER FOLDER] [ONLY REGEX | WITHOUT REGEX] LINK ...): defines the library wallheat_NAME. It
# consists of the files below the folder NAME, or below FOLDER, whose paths match ONLY, or do not match WITHOUT. HOT: -O3.
function(wallheat_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "HOT" "FOLDER;ONLY;WITHOUT" "LINK")
  if(NOT arg_FOLDER)
    set(arg_FOLDER ${name})
  endif()
  file(GLOB_RECURSE files RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS src/${arg_FOLDER}/*.cpp)
  if(arg_ONLY)
    list(FILTER files INCLUDE REGEX "${arg_ONLY}")
  elseif(arg_WITHOUT)
    list(FILTER files EXCLUDE REGEX "${arg_WITHOUT}")
  endif()
  add_library(wallheat_${name} STATIC ${files})
  target_link_libraries(wallheat_${name} ${arg_LINK})
  if(arg_HOT)
    target_compile_options(wallheat_${name} PRIVATE "$<$<COMPILE_LANGUAGE:C,CXX>:${hot}>")
  endif()
endfunction()

# optional_library(OPTION TARGET FILE): adds FILE.cpp, which uses a third-party library, to the target, or FILE_absent.cpp
# without that library. It is a separate object file, because bare_wallheat of the tests replaces the one by the other.
function(optional_library option target file)
  if(NOT ${option})
    string(APPEND file _absent)
  endif()
  target_sources(${target} PRIVATE ${file}.cpp)
  set_source_files_properties(${file}.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

find_package(Threads REQUIRED)
wallheat_library(core LINK PUBLIC "$<BUILD_INTERFACE:wallheat_flags>")
target_compile_definitions(wallheat_core PRIVATE WALLHEAT_VERSION="${PROJECT_VERSION}")
target_include_directories(wallheat_core PUBLIC
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>" "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
target_compile_features(wallheat_core PUBLIC cxx_std_20)

# The solvers do not need MPI, HDF5 or Boost, so they can be built and tested alone (preset solver-only).
wallheat_library(solve HOT WITHOUT "solve/gpu/|isa_avx" LINK PUBLIC wallheat_core)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_sources(wallheat_solve PRIVATE src/solve/isa_avx2.cpp src/solve/isa_avx512.cpp)
endif()
# Without traps the compiler may compute both sides of a conditional, so it can vectorise loops that contain one.
set(of_every_isa "-fno-trapping-math")
set_source_files_properties(src/solve/isa_baseline.cpp PROPERTIES COMPILE_OPTIONS "${of_every_isa}")
set_source_files_properties(src/solve/isa_avx2.cpp PROPERTIES COMPILE_OPTIONS "${of_every_isa};-mavx2")
set_source_files_properties(src/solve/isa_avx512.cpp PROPERTIES COMPILE_OPTIONS
  "${of_every_isa};-mavx512f;-mprefer-vector-width=512;-Wno-uninitialized")  # for a header of GCC
# Support of GPUs, if there is a CUDA toolkit. No other target depends on whether there is one.
# A program with simulated GPUs has its own file instead of these two.
set_source_files_properties(src/solve/gpu/device_cuda.cpp src/solve/gpu/device_absent.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
if(WALLHEAT_CUDA_FOUND)
  wallheat_library(gpu HOT FOLDER solve/gpu WITHOUT "device_absent" LINK PRIVATE CUDA::cudart_static)
  target_sources(wallheat_gpu PRIVATE src/solve/gpu/kernels.cu)
  target_compile_options(wallheat_gpu PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
else()
  wallheat_library(gpu HOT FOLDER solve/gpu WITHOUT "device_cuda|cuda_stream")
endif()
target_link_libraries(wallheat_gpu PUBLIC wallheat_solve PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
if(WALLHEAT_SOLVER_ONLY)
  wallheat_library(bench HOT WITHOUT "cpu_bench" LINK PUBLIC wallheat_gpu PRIVATE Threads::Threads)
  return()
endif()

if(WALLHEAT_PYTHON)
  set(PYBIND11_FINDPYTHON ON)
  find_package(pybind11 REQUIRED)
  # NO_EXTRAS: neither optimised at link time nor stripped.
  pybind11_add_module(wallheat_python NO_EXTRAS src/python/arrays.cpp src/python/module.cpp)
  set_target_properties(wallheat_python PROPERTIES OUTPUT_NAME _wallheat)
  target_link_libraries(wallheat_python PRIVATE wallheat_gpu)
  return()
endif()

find_package(fmt REQUIRED)
find_library(LIBDEFLATE deflate REQUIRED)  # older versions have no package for CMake or pkg-config
find_path(LIBDEFLATE_INCLUDE libdeflate.h REQUIRED)
wallheat_library(io LINK PUBLIC wallheat_core fmt::fmt PRIVATE ${LIBDEFLATE})
target_include_directories(wallheat_io SYSTEM PRIVATE ${LIBDEFLATE_INCLUDE})

# Uses the static HDF5 library, if there is one: the shared library of Debian depends on curl, OpenSSL and their dependencies,
# thirty libraries that the program would load at every start.
set(HDF5_USE_STATIC_LIBRARIES ON)
# QUIET suppresses a warning if the compiler wrapper of HDF5 does not work, which is not needed here.
find_package(HDF5 QUIET REQUIRED COMPONENTS C)
message(STATUS "HDF5 ${HDF5_VERSION}: ${HDF5_C_LIBRARIES}")
if(HDF5_IS_PARALLEL)
  message(WARNING "This HDF5 was built with MPI, with which wallheat was not tested. Load the HDF5 module without MPI, whose "
    "name often ends with -serial, and configure again in an empty build folder.")
endif()
# Files that read result files; wallheat::results needs only these.
set(readers "/(error_context|hdf5|field_codec|journal|layout|result_file|result_file_names|result_path|result_reader|result_row|snapshot)\\.cpp$")
wallheat_library(results HOT FOLDER store ONLY ${readers} LINK PUBLIC wallheat_io PRIVATE HDF5::HDF5)
wallheat_library(store HOT WITHOUT ${readers} LINK PUBLIC wallheat_results PRIVATE HDF5::HDF5 Threads::Threads)
wallheat_library(queue LINK PUBLIC wallheat_io Threads::Threads)
wallheat_library(forecast LINK PUBLIC wallheat_io)

find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
wallheat_library(plans WITHOUT "png_picture" LINK PUBLIC wallheat_core PRIVATE wallheat_io PkgConfig::XXHASH)
optional_library(WALLHEAT_PNG wallheat_plans src/plans/png_picture)
if(WALLHEAT_PNG)
  find_package(PNG REQUIRED)
  target_link_libraries(wallheat_plans PRIVATE PNG::PNG)
endif()
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
# NVML is loaded at run time.
wallheat_library(node LINK PUBLIC wallheat_gpu PRIVATE PkgConfig::HWLOC Threads::Threads ${CMAKE_DL_LIBS})
wallheat_library(bench HOT LINK PUBLIC wallheat_node PRIVATE Threads::Threads)
wallheat_library(isolation LINK PUBLIC wallheat_node wallheat_queue wallheat_view wallheat_plans)
# A hash of the libraries that solve plans identifies a build: wallheat starts wallheat-solver-process only if both contain it.
set(solving_libraries)
foreach(folder isolation node gpu solve plans queue view store results io core)
  list(APPEND solving_libraries wallheat_${folder})
endforeach()
list(TRANSFORM solving_libraries REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
add_custom_command(OUTPUT build_id.cpp DEPENDS ${solving_libraries} src/build_id.cmake VERBATIM
  COMMAND ${CMAKE_COMMAND} "-DLIBRARIES=${files}" -DOUTPUT=build_id.cpp -P ${PROJECT_SOURCE_DIR}/src/build_id.cmake)
add_library(wallheat_build_id STATIC build_id.cpp)
target_link_libraries(wallheat_isolation INTERFACE wallheat_build_id)

wallheat_library(mpi WITHOUT "mpi_" LINK PUBLIC wallheat_queue)
optional_library(WALLHEAT_MPI wallheat_mpi src/mpi/mpi_environment)
if(WALLHEAT_MPI)
  find_package(MPI REQUIRED COMPONENTS C)
  target_sources(wallheat_mpi PRIVATE src/mpi/mpi_link.cpp)
  target_link_libraries(wallheat_mpi PRIVATE MPI::MPI_C)
  # Skips the deprecated C++ bindings, which only cause warnings.
  target_compile_definitions(wallheat_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
endif()

find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
wallheat_library(view LINK PUBLIC wallheat_store spdlog::spdlog nlohmann_json::nlohmann_json)
wallheat_library(monitor LINK PUBLIC wallheat_view wallheat_queue)
wallheat_library(report WITHOUT "report/formula" LINK PUBLIC wallheat_monitor wallheat_bench wallheat_forecast wallheat_plans)
optional_library(WALLHEAT_SQLITE wallheat_report src/report/formula)
if(WALLHEAT_SQLITE)
  find_package(SQLite3 3.38 REQUIRED)  # sqlite3_error_offset
  target_link_libraries(wallheat_report PRIVATE SQLite::SQLite3 Threads::Threads ${CMAKE_DL_LIBS})  # its static library needs both
endif()
wallheat_library(iterates LINK PUBLIC wallheat_report)
# Only this library and the program are built again if the commit changes.
set(commit_file ${CMAKE_CURRENT_BINARY_DIR}/source_commit.cpp)
add_custom_target(wallheat_commit_file BYPRODUCTS ${commit_file} VERBATIM COMMAND ${CMAKE_COMMAND}
  -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${commit_file} -P ${PROJECT_SOURCE_DIR}/src/source_commit.cmake)
add_library(wallheat_commit STATIC ${commit_file})
add_dependencies(wallheat_commit wallheat_commit_file)
wallheat_library(run LINK PUBLIC wallheat_isolation wallheat_mpi wallheat_monitor wallheat_commit)
find_package(Boost REQUIRED COMPONENTS program_options)
wallheat_library(cli LINK PUBLIC wallheat_run PRIVATE wallheat_iterates Boost::program_options)
add_executable(wallheat src/main.cpp)
target_link_libraries(wallheat PRIVATE wallheat_cli)
# Contains no code that needs MPI, HDF5, Boost, SQLite or spdlog, so that it does not load these libraries.
add_executable(wallheat-solver-process src/solver_process_main.cpp)
target_link_libraries(wallheat-solver-process PRIVATE wallheat_isolation)
# The linker takes whole object files from a static library, so the files that this program needs are separate objects.
set_source_files_properties(src/plans/drawing.cpp src/store/field_codec.cpp src/view/json.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
add_dependencies(wallheat wallheat-solver-process)
