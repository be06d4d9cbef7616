#pragma once

namespace wallheat {

/// From now on a write beyond the limit on the size of a file fails, with a sentence, instead of
/// killing.
void survive_size_limit();

/// Raises the soft limit on open files, usually 1024, to the hard one: each thread of a worker
/// takes two, and a node may have hundreds.
void raise_file_limit();

}  // namespace wallheat
