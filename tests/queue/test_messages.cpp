#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "core/result_columns.hpp"
#include "queue/messages.hpp"

namespace wallheat {
namespace {

/// A result with a different value in each column.
PlanResult full_result() {
  PlanResult result;
  int next = 0;
  for_each_member<PlanResult>([&](const auto& column) {
    auto& value = column.of(result);
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<Value>) value = static_cast<Value>(++next);
    if constexpr (std::is_same_v<Value, std::string>) value = column.name;
  });
  result.status = PlanStatus::converged;
  result.field = {std::byte{1}, std::byte{0}, std::byte{255}};
  return result;
}

/// A sample with a different value in each reading.
GpuSample full_sample() {
  GpuSample sample;
  double next = 0;
  for_each_member<GpuSample>([&](const GpuReading& reading) { reading.of(sample) = ++next; });
  return sample;
}

std::vector<FromWorker> from_worker() {
  const Gpu gpu{0, "A GPU", "GPU-1", 1ULL << 37, 1};
  return {
      WorkerReport{},
      WorkerReport{WorkerProperties{"node7", "gpu", 3, true, {0, 1}, true, gpu, "why", "a quota"},
                   {{QueueIndex{4}, 256, 0.5, 1.25}},
                   {{QueueIndex{4},
                     TaskResult::Kind::retryable,
                     1.5,
                     77,
                     encode_result(full_result()),
                     {1, 2, 3, 4, "a kernel", 5, 6, 7},
                     "an error",
                     8.5}},
                   {QueueIndex{1}, QueueIndex{2}},
                   {QueueIndex{3}},
                   full_sample(),
                   31244288},
      Bye{Bye::Cause::source_outage,
          "the plans are unavailable",
          {{QueueIndex{4}, 256, 0.5, 1.25}},
          "node7"}};
}

std::vector<ToWorker> to_worker() {
  return {Setup{"1.0",
                {{"tolerance", "1"}},
                {10,
                 {{{QueueIndex{3}, "10000", EntryOffsets{7, 8, 9}}, "32 x 32 cells"}},
                 {{{QueueIndex{4}, "x y"}, 11}, {{QueueIndex{5}, "gone"}, std::nullopt}}}},
          Assignment{{{QueueIndex{3}, "10000"}, {QueueIndex{4}, "x y"}}}, Assignment{}, Stop{},
          Shutdown{true}};
}

/// Calls visit(bytes, decode) with a message of each kind.
template <class Visit>
void for_each_message(Visit visit) {
  for (const FromWorker& message : from_worker())
    visit(encode(message),
          [](std::span<const std::byte> bytes) { return decode_from_worker(bytes); });
  for (const ToWorker& message : to_worker())
    visit(encode(message),
          [](std::span<const std::byte> bytes) { return decode_to_worker(bytes); });
}

TEST(Messages, RoundTripsEveryMessageKind) {
  for_each_message(
      [](const Bytes& bytes, auto decode) { EXPECT_EQ(encode(decode(bytes)), bytes); });
}

TEST(Messages, PreservesEveryColumnWithAllGpuReadings) {
  const PlanResult expected = full_result();
  const PlanResult result = decode_result(encode_result(expected));
  for_each_member<PlanResult>([&](const auto& column) {
    EXPECT_TRUE(column.of(result) == column.of(expected)) << column.name;
  });
  EXPECT_EQ(result.field, expected.field);
  const auto report = std::get<WorkerReport>(decode_from_worker(encode(from_worker()[1])));
  ASSERT_TRUE(report.gpu_sample);
  const GpuSample sample = full_sample();
  EXPECT_EQ(std::memcmp(&*report.gpu_sample, &sample, sizeof sample), 0);
}

TEST(ResultHash, DependsOnDeterministicColumnsOnly) {
  const PlanResult answer = full_result();
  const std::uint64_t digest = hash_result(answer, 5);
  EXPECT_NE(hash_result(answer, 6), digest) << "another field";
  for_each_member<PlanResult>([&](const auto& column) {
    PlanResult other = answer;
    auto& value = column.of(other);
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<Value>) value += 1;
    if constexpr (std::is_same_v<Value, std::string>) value += "!";
    if constexpr (std::is_enum_v<Value>) value = PlanStatus::empty;
    EXPECT_EQ(hash_result(other, 5) != digest, column.use == ColumnUse::deterministic)
        << column.name;
  });
  PlanResult nan = answer;
  nan.last_delta = std::nan("");
  PlanResult other_nan = answer;
  other_nan.last_delta = -std::nan("1");
  EXPECT_EQ(hash_result(nan, 5), hash_result(other_nan, 5)) << "which NaN depends on the processor";
}

TEST(Messages, RejectsTruncatedExtendedOrUnknownMessages) {
  for_each_message([](Bytes bytes, auto decode) {
    for (std::size_t size = 0; size < bytes.size(); ++size)
      EXPECT_THROW((void)decode(std::span(bytes).first(size)), DecodeError) << size;
    bytes.push_back(std::byte{0});
    EXPECT_THROW((void)decode(bytes), DecodeError);
    bytes.front() = std::byte{200};
    EXPECT_THROW((void)decode(bytes), DecodeError);
  });
}

}  // namespace
}  // namespace wallheat
