// Answers of DHT proxies, whole and in pieces: within bounds whatever they are, and the same
// records however they are cut.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "services/index/dht_answer.h"

namespace {

using ron::index::DhtAnswer;
using Records = std::vector<ron::catalog::ProviderRecord>;

struct Reading {
  bool ok = false;
  Records records{};
  std::uint64_t skipped = 0;
};

Reading read(ron::base::ByteView bytes, std::size_t piece) {
  DhtAnswer answer;
  Reading reading;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const auto part = bytes.subspan(at, std::min(piece, bytes.size() - at));
    if (!answer.take(part, reading.records)) return reading;
  }
  reading.ok = answer.finish(reading.records).has_value();
  reading.skipped = answer.skipped();
  return reading;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0];
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const Reading cut = read(bytes, piece);
  if (cut.records.size() + cut.skipped > DhtAnswer::kMaxLines) std::abort();
  for (const auto& record : cut.records) {
    const std::string encoded = encode(record);
    if (encoded.size() > ron::catalog::kMaxProviderRecordBytes) std::abort();
    const auto again = ron::catalog::decode_provider_record(ron::base::as_bytes(encoded));
    if (!again || *again != record) std::abort();
  }
  if (bytes.size() > DhtAnswer::kMaxBytes) return 0;
  const Reading whole = read(bytes, bytes.size() + 1);
  if (whole.ok != cut.ok || (whole.ok && whole.records != cut.records)) std::abort();
  return 0;
}
