#include "workers/model/ops/linear.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/ops/row_ops.h"

namespace omni::ops {
namespace {

std::vector<float> Random(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<uint16_t> Rounded(const std::vector<float>& values) {
  std::vector<uint16_t> rounded(values.size());
  RoundToBf16(values.data(), static_cast<int64_t>(values.size()),
              rounded.data());
  return rounded;
}

std::vector<float> Widened(const std::vector<uint16_t>& values) {
  std::vector<float> widened;
  for (const uint16_t bits : values) {
    widened.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
  }
  return widened;
}

// The operands of a product of `type`, and the numbers that they stand for.
struct Operands {
  Operands(Operand type, int64_t count, uint32_t seed) : type(type) {
    numbers = Random(count, seed);
    if (type == Operand::kBF16) {
      narrow = Rounded(numbers);
      numbers = Widened(narrow);
    }
  }
  const void* data() const {
    return type == Operand::kBF16 ? static_cast<const void*>(narrow.data())
                                  : numbers.data();
  }
  Operand type;
  std::vector<uint16_t> narrow;
  std::vector<float> numbers;
};

class LinearEngineTest : public ::testing::TestWithParam<Operand> {
 protected:
  void SetUp() override {
    if (GetParam() == Operand::kBF16 && !HasFastBf16()) {
      GTEST_SKIP() << "this processor has no BF16 products";
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Operands, LinearEngineTest,
                         ::testing::Values(Operand::kF32, Operand::kBF16),
                         [](const auto& info) {
                           return info.param == Operand::kF32 ? "F32" : "BF16";
                         });

TEST_P(LinearEngineTest, MatchesDouble) {
  struct Shape {
    int64_t outputs;
    int64_t inputs;
  };
  for (const Shape& shape : {Shape{96, 160}, Shape{33, 12}, Shape{1, 8},
                             Shape{16, 7}, Shape{130, 1024}}) {
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(::testing::Message()
                   << shape.outputs << " x " << shape.inputs << ", " << threads
                   << " threads");
      ASSERT_OK_AND_ASSIGN(auto engine,
                           LinearEngine::Create(GetParam(), threads));
      const Operands w(GetParam(), shape.outputs * shape.inputs, 1);
      ASSERT_OK_AND_ASSIGN(auto weights,
                           engine->Pack(shape.outputs, shape.inputs, w.data()));
      EXPECT_EQ(weights.outputs(), shape.outputs);
      EXPECT_EQ(weights.inputs(), shape.inputs);
      EXPECT_GE(weights.bytes(), static_cast<int64_t>(w.numbers.size()) *
                                     (GetParam() == Operand::kF32 ? 4 : 2));
      for (const int64_t rows : {16, 48, 256}) {
        const Operands x(GetParam(), rows * shape.inputs, 2);
        for (const bool add : {false, true}) {
          std::vector<float> y(rows * shape.outputs, 3.0F);
          ASSERT_OK(engine->Run(weights, rows, x.data(), add, y.data()));
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t n = 0; n < shape.outputs; ++n) {
              double sum = add ? 3 : 0;
              double size = std::abs(sum);
              for (int64_t k = 0; k < shape.inputs; ++k) {
                const double term = double{x.numbers[r * shape.inputs + k]} *
                                    w.numbers[n * shape.inputs + k];
                sum += term;
                size += std::abs(term);
              }
              // As for any FP32 sum of that many products.
              ASSERT_NEAR(
                  y[r * shape.outputs + n], sum,
                  static_cast<double>(shape.inputs + 2) * 0x1p-24 * size);
            }
          }
        }
      }
    }
  }
}

TEST_P(LinearEngineTest, ARowDoesNotDependOnHowManyRowsThereAre) {
  if (!HasAvx512()) GTEST_SKIP() << "promised for AVX-512 only";
  const int64_t outputs = 1000;
  for (const int64_t inputs : {160, 1024, 3584}) {
    SCOPED_TRACE(inputs);
    ASSERT_OK_AND_ASSIGN(auto engine, LinearEngine::Create(GetParam(), 2));
    const Operands w(GetParam(), outputs * inputs, 1);
    ASSERT_OK_AND_ASSIGN(auto weights, engine->Pack(outputs, inputs, w.data()));
    const Operands x(GetParam(), LinearEngine::kMaxRows * inputs, 2);
    std::vector<float> all(LinearEngine::kMaxRows * outputs);
    ASSERT_OK(engine->Run(weights, LinearEngine::kMaxRows, x.data(), false,
                          all.data()));
    for (int64_t rows = LinearEngine::kRowStep; rows < LinearEngine::kMaxRows;
         rows += LinearEngine::kRowStep) {
      std::vector<float> y(rows * outputs);
      ASSERT_OK(engine->Run(weights, rows, x.data(), false, y.data()));
      EXPECT_EQ(std::memcmp(y.data(), all.data(), y.size() * sizeof(float)), 0)
          << rows << " rows";
    }
  }
}

TEST(LinearEngineBf16Test, IsRefusedWhereTheProcessorHasNone) {
  if (HasFastBf16()) GTEST_SKIP() << "this processor has BF16 products";
  EXPECT_THAT(LinearEngine::Create(Operand::kBF16, 1),
              omni::testing::StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace omni::ops
