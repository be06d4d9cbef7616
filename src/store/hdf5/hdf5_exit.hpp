#pragma once

namespace wallheat {

/// Keeps HDF5 from flushing open files when the process ends: one that was given up after a failed
/// write would crash it. For the whole process, thus for programs, not for libraries; to be called
/// before anything else of HDF5.
void leave_hdf5_files_at_exit();

}  // namespace wallheat
