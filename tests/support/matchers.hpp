#pragma once

#include <gmock/gmock.h>

// The words of GoogleMock that tests read with.
namespace wallheat {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

}  // namespace wallheat
