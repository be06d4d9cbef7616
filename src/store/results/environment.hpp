#pragma once

#include "io/system.hpp"

// What packs of plans still take from the store of before. It goes with them.
namespace wallheat {

struct StoreEnvironment {
  System& system = real_system();
};

}  // namespace wallheat
