// Ed25519 beside what `openssl speed ed25519` says of the same core.
#include <benchmark/benchmark.h>

#include "auth/digest.h"
#include "auth/ed25519.h"

namespace ron::auth {
namespace {

const std::vector<std::byte> kSeed(SigningKey::kSeedBytes, std::byte{7});
const std::vector<std::byte> kMessage(300, std::byte{1});

void sign(benchmark::State& state) {
  const auto key = SigningKey::from_seed(kSeed).value();
  for (auto _ : state) benchmark::DoNotOptimize(key.sign(kMessage));
}

// Two keys in turn, as two signers approve.
void verify(benchmark::State& state) {
  const std::vector<std::byte> other_seed(SigningKey::kSeedBytes, std::byte{8});
  std::array<Signature, 2> signatures;
  std::vector<VerifyingKey> verifiers;
  for (const auto& seed : {kSeed, other_seed}) {
    const auto key = SigningKey::from_seed(seed).value();
    signatures[verifiers.size()] = key.sign(kMessage).value();
    verifiers.push_back(VerifyingKey::make(key.public_key()).value());
  }
  std::size_t turn = 0;
  for (auto _ : state) {
    turn ^= 1U;
    if (!verifiers[turn].verify(kMessage, signatures[turn])) state.SkipWithError("refused");
  }
}

void sha256_of(benchmark::State& state) {
  const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{1});
  for (auto _ : state) benchmark::DoNotOptimize(sha256(bytes));
}

BENCHMARK(sign);
BENCHMARK(verify);
BENCHMARK(sha256_of)->Arg(65)->Arg(300);

}  // namespace
}  // namespace ron::auth

BENCHMARK_MAIN();
