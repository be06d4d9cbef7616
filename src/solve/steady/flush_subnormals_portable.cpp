#include "solve/steady/flush_subnormals.hpp"

namespace wallheat {

FlushSubnormals::FlushSubnormals() = default;
FlushSubnormals::~FlushSubnormals() { before_ = 0; }

}  // namespace wallheat
