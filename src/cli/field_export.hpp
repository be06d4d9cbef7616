#pragma once

#include <string>

namespace wallheat {

/// Writes the stored field of plan `id`: `format` npy, vti, or empty for npy. Throws UsageError,
/// or RunError where there is no such field.
void export_field(const std::string& file, const std::string& id, const std::string& format,
                  const std::string& output, bool overwrite);

/// Writes an XDMF file that shows the stored fields of `file`, which it names as seen from where it
/// lies. Throws UsageError, or RunError where there is no field.
void export_xdmf(const std::string& file, const std::string& output, bool overwrite);

}  // namespace wallheat
