# Searches for a CUDA toolkit, and enables the language CUDA. It is included at the top level of the project, as CMake
# requires for a language that several folders link. Sets WALLHEAT_CUDA_FOUND, which only wallheat_gpu uses.
set(WALLHEAT_CUDA AUTO CACHE STRING "Build for GPUs with the CUDA toolkit (12.1 or newer): AUTO, ON (required) or OFF")
set_property(CACHE WALLHEAT_CUDA PROPERTY STRINGS AUTO ON OFF)

set(WALLHEAT_CUDA_FOUND OFF)
if(WALLHEAT_CUDA STREQUAL "OFF")
  message(STATUS "Building without GPU support: WALLHEAT_CUDA is OFF")
  return()
endif()
# CUDA 12.1 is the first version that supports asynchronous stores into other blocks.
find_package(CUDAToolkit 12.1 QUIET)
set(reason "no CUDA toolkit 12.1 or newer was found, neither in PATH nor in /usr/local/cuda")
if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
  # The toolkit is found in /usr/local/cuda even if it is not in PATH, but its compiler would not be found.
  if(NOT DEFINED ENV{CUDACXX})
    set(ENV{CUDACXX} "${CUDAToolkit_NVCC_EXECUTABLE}")
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  set(reason "${CUDAToolkit_NVCC_EXECUTABLE} cannot compile a test program (is the host compiler too new for it?)")
endif()
if(NOT (CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE AND CMAKE_CUDA_COMPILER))
  if(WALLHEAT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "WALLHEAT_CUDA is ON, but ${reason}")
  endif()
  message(STATUS "Building without GPU support: ${reason}")
  return()
endif()

set(WALLHEAT_CUDA_FOUND ON)
# Builds for all generations from Volta (7.0, which toolkit 12 still supports) to Blackwell (10.0, 11.0, 12.0) that this
# compiler supports, with code for the first chips of each: 8.7, 10.3 and 12.1 run the code of 8.6, 10.0 and 12.0. For newer
# GPUs, the driver compiles the PTX when the program starts. A build for one compute capability, such as
# -DCMAKE_CUDA_ARCHITECTURES=90, is faster.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --list-gpu-arch OUTPUT_VARIABLE known RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${CMAKE_CUDA_COMPILER} does not list the supported GPU architectures; use "
                        "-DCMAKE_CUDA_ARCHITECTURES=90, or build without CUDA: -DWALLHEAT_CUDA=OFF")
  endif()
  set(architectures)
  foreach(architecture 70 75 80 86 89 90 100 110 120)
    if(known MATCHES "compute_${architecture}[^0-9]")
      list(APPEND architectures ${architecture}-real)
      set(newest ${architecture})
    endif()
  endforeach()
  set(CMAKE_CUDA_ARCHITECTURES "${architectures};${newest}-virtual" CACHE STRING "GPU architectures to build for")
endif()
enable_language(CUDA)
# CMake before 3.26 does not know that this compiler supports C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION}: builds for ${CMAKE_CUDA_ARCHITECTURES}")
