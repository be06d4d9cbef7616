#pragma once

#include <string>
#include <vector>

#include "core/machine.hpp"
#include "node/gpu_telemetry.hpp"
#include "solve/gpu/device.hpp"

// The GPUs that a program which this process starts may use. CUDA is not involved: this process
// opens no context, and it may have been built without CUDA.

namespace wallheat {

/// Returns the GPUs, among all of the host, that CUDA_VISIBLE_DEVICES selects, in its order:
/// numbers, UUIDs, or beginnings of UUIDs. As in CUDA, an invalid entry ends the list. A null
/// pointer selects all GPUs. A slice of a GPU (MIG) is returned with its UUID alone. Throws
/// RunError if the GPUs differ and numbers select some of them while CUDA_DEVICE_ORDER is not
/// PCI_BUS_ID, because CUDA then numbers them in another order.
[[nodiscard]] std::vector<Gpu> select_visible_gpus(const std::vector<NvmlGpu>& gpus,
                                                   const char* visible, bool is_pci_order);

/// Returns the GPUs that the driver has and that CUDA_VISIBLE_DEVICES selects, or the reason why
/// there are none. Throws RunError as select_visible_gpus() does.
[[nodiscard]] GpuSupport driver_gpus();

}  // namespace wallheat
