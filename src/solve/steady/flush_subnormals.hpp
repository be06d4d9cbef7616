#pragma once

namespace wallheat {

/// While this lives, the calling thread takes and makes zeros in place of subnormal numbers, where
/// the processor can: they are a hundred times as slow, and what decays across a plan meets them.
class FlushSubnormals {
 public:
  FlushSubnormals();
  ~FlushSubnormals();
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  unsigned before_ = 0;
};

}  // namespace wallheat
