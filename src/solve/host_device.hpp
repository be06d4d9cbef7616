#pragma once

// For functions that the CPU and the GPU back ends share: nvcc needs to be told of them, and that
// it is to unroll a loop, so that an array stays in registers.
#ifdef __CUDACC__
#define WALLHEAT_HOST_DEVICE __host__ __device__
#else
#define WALLHEAT_HOST_DEVICE
#endif
#ifdef __CUDA_ARCH__
#define WALLHEAT_UNROLL _Pragma("unroll")
#else
#define WALLHEAT_UNROLL
#endif
