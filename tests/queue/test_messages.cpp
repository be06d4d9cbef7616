#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "core/result_columns.hpp"
#include "queue/messages.hpp"

namespace wallheat {
namespace {

/// A result with another value in each column.
PlanResult full_result() {
  PlanResult result;
  int next = 0;
  for_each_column([&](const auto& column) {
    auto& value = column.of(result);
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<Value>) value = static_cast<Value>(++next);
    if constexpr (std::is_same_v<Value, std::string>) value = column.name;
  });
  result.status = PlanStatus::converged;
  result.field = {std::byte{1}, std::byte{0}, std::byte{255}};
  return result;
}

GpuSample full_sample() {
  GpuSample sample;
  sample.utilisation_pct = 97;
  sample.memory_utilisation_pct = 40;
  sample.encoder_pct = 3;
  sample.decoder_pct = 5;
  sample.memory_used_bytes = 3e9;
  sample.memory_total_bytes = 141e9;
  sample.power_w = 512.5;
  sample.temperature_c = 61;
  sample.memory_temperature_c = 74;
  sample.sm_clock_mhz = 1980;
  sample.memory_clock_mhz = 2619;
  sample.energy_j = 7e4;
  return sample;
}

std::vector<FromWorker> from_worker() {
  const Gpu gpu{0, "A GPU", "GPU-1", 1ULL << 37, 1};
  return {WorkerReport{},
          WorkerReport{WorkerFacts{"node7", "gpu", 3, true, {0, 1}, true, gpu, "why", "a quota"},
                       {{4, 256, 0.5, 1.25}},
                       {{4,
                         Result::Kind::may_pass,
                         1.5,
                         77,
                         encode_result(full_result()),
                         {1, 2, 3, 4, "a kernel", 5, 6, 7}}},
                       {1, 2},
                       {3},
                       full_sample(),
                       31244288},
          Bye{Bye::Why::source_away, "the plans are away", {{4, 256, 0.5, 1.25}}, "node7"}};
}

std::vector<ToWorker> to_worker() {
  return {Setup{"1.0", "tolerance = 1\n", {{{3, "10000", {7}}, "32 x 32 cells"}}},
          Work{{{3, "10000"}, {4, "x y"}}}, Work{}, Stop{}, End{true}};
}

/// The bytes of one message of each kind.
std::vector<Bytes> all_bytes() {
  std::vector<Bytes> all;
  for (const FromWorker& message : from_worker()) all.push_back(encode(message));
  for (const ToWorker& message : to_worker()) all.push_back(encode(message));
  return all;
}

TEST(Messages, arrive_unchanged) {
  for (const FromWorker& message : from_worker()) {
    const FromWorker copy = decode_from_worker(encode(message));
    EXPECT_EQ(copy.index(), message.index());
    EXPECT_EQ(encode(copy), encode(message));
  }
  for (const ToWorker& message : to_worker()) {
    const ToWorker copy = decode_to_worker(encode(message));
    EXPECT_EQ(copy.index(), message.index());
    EXPECT_EQ(encode(copy), encode(message));
  }
}

TEST(Messages, are_refused_in_the_wrong_direction) {
  for (const FromWorker& message : from_worker())
    EXPECT_THROW((void)decode_to_worker(encode(message)), DecodeError);
  for (const ToWorker& message : to_worker())
    EXPECT_THROW((void)decode_from_worker(encode(message)), DecodeError);
}

TEST(Messages, carry_every_column_of_a_result) {
  const PlanResult expected = full_result();
  const PlanResult result = decode_result(encode_result(expected));
  for_each_column([&](const auto& column) {
    EXPECT_TRUE(column.of(result) == column.of(expected)) << column.name;
  });
  EXPECT_EQ(result.field, expected.field);
}

TEST(Messages, carry_every_reading_of_a_gpu) {
  const auto report = std::get<WorkerReport>(decode_from_worker(encode(from_worker()[1])));
  ASSERT_TRUE(report.gpu);
  const GpuSample expected = full_sample();
  EXPECT_EQ(std::memcmp(&*report.gpu, &expected, sizeof expected), 0);
}

TEST(Digest, tells_answers_apart_by_what_must_be_equal_whoever_solves) {
  const PlanResult answer = full_result();
  const std::uint64_t digest = digest_of(answer, 5);
  EXPECT_NE(digest_of(answer, 6), digest) << "another field";
  for_each_column([&](const auto& column) {
    PlanResult other = answer;
    auto& value = column.of(other);
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<Value>) value += 1;
    if constexpr (std::is_same_v<Value, std::string>) value += "!";
    if constexpr (std::is_enum_v<Value>) value = PlanStatus::empty;
    EXPECT_EQ(digest_of(other, 5) != digest, column.use == ColumnUse::answer) << column.name;
  });
  PlanResult nan = answer;
  nan.last_delta = std::nan("");
  PlanResult other_nan = answer;
  other_nan.last_delta = -std::nan("1");
  EXPECT_EQ(digest_of(nan, 5), digest_of(other_nan, 5)) << "which NaN depends on the processor";
}

TEST(Messages, are_refused_if_cut_anywhere) {
  for (const Bytes& bytes : all_bytes()) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto cut = std::span(bytes).first(size);
      EXPECT_THROW((void)decode_from_worker(cut), DecodeError) << size;
      EXPECT_THROW((void)decode_to_worker(cut), DecodeError) << size;
    }
  }
}

TEST(Messages, are_refused_with_trailing_bytes_or_of_an_unknown_kind) {
  Bytes bytes = encode(ToWorker(Stop{}));
  bytes.push_back(std::byte{0});
  EXPECT_THROW((void)decode_to_worker(bytes), DecodeError);
  EXPECT_THROW((void)decode_to_worker(Bytes{std::byte{200}}), DecodeError);
  EXPECT_THROW((void)decode_from_worker(Bytes{std::byte{100}}), DecodeError);
}

}  // namespace
}  // namespace wallheat
