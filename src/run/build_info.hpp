#pragma once

namespace wallheat {

/// The commit from which this program was built, with the suffix -dirty if tracked files were
/// modified; an empty string if it is unknown (src/source_commit.cmake).
extern const char* const source_commit;

/// Name and version of the compiler.
#ifdef __clang__
inline constexpr const char* compiler_name = __VERSION__;
#else
inline constexpr const char* compiler_name = "GCC " __VERSION__;
#endif

}  // namespace wallheat
