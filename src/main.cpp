#include "cli/commands.hpp"
#include "store/result_store.hpp"

int main(int argc, char** argv) {
  wallheat::prepare_program_for_hdf5();
  return wallheat::app_main({argv + 1, argv + argc});
}
