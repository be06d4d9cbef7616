#include "cli/commands.hpp"

int main(int argc, char** argv) { return wallheat::app_main({argv + 1, argv + argc}); }
