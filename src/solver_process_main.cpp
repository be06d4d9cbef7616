#include "isolation/solver_process.hpp"

// The program wallheat-solver-process. It is separate from the program wallheat because a process
// that loads MPI, HDF5 and Boost takes twice as long to start.

int main(int argc, char** argv) { return wallheat::solver_process_main({argv + 1, argv + argc}); }
