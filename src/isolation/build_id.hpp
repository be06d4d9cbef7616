#pragma once

namespace wallheat {

/// A hash of the libraries of the solver process (src/build_id.cmake). The programs wallheat and
/// wallheat-solver-process of one build contain the same hash; those of two builds that could
/// compute different results do not. find_solver_program() searches the file for this text, so both
/// programs must use the constant.
extern const char* const build_id;

}  // namespace wallheat
