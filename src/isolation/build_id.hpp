#pragma once

namespace wallheat {

/// A hash of the libraries that solve plans (src/build_id.cmake). The programs wallheat and
/// wallheat-solver-process of one build contain the same hash; those of two builds that could
/// compute different results do not.
extern const char* const build_id;

}  // namespace wallheat
