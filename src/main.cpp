#include "cli/commands.hpp"
#include "store/results/result_store.hpp"

int main(int argc, char** argv) {
  wallheat::leave_hdf5_files_at_exit();
  return wallheat::app_main({argv + 1, argv + argc});
}
