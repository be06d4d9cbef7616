// Leaks that a build with the leak checker ignores: HDF5 1.10.8, whose functions are named H5...,
// leaks memory when it rejects a damaged file, and fontconfig keeps the files that it has read.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:^H5\nleak:libfontconfig\n"; }
