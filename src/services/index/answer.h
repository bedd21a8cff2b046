// Answer: what a key resolves to, as it is cached and sent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/object_id.h"
#include "http/request.h"
#include "http/response.h"
#include "platform/executor.h"
#include "services/index/entries.h"
#include "services/index/epochs.h"

namespace ron::index {

// Where an answer, or a provider in it, comes from.
enum class Source : std::uint8_t { Cache, Store, Dht, Peer, Static };
std::string_view name(Source source) noexcept;

// Somebody who has the object.
struct Provider {
  catalog::ProviderRecord record;
  std::int64_t seen_ms = 0;
  Source source = Source::Store;
  double score = 0;                           // the best has the highest
  std::optional<std::uint32_t> latency_ms{};  // of whoever named it
};
void append(base::JsonWriter& json, const Provider& provider);

// Immutable once it is shared.
struct Answer {
  std::string key;
  bool is_found = false;
  base::ObjectId address;
  std::optional<std::uint64_t> version;  // of a name
  std::optional<ManifestFacts> manifest;
  std::vector<Provider> providers;  // the best first
  Source source = Source::Store;
  bool is_hedged = false;
  std::string winner;  // who answered first, if somebody else was asked

  Basis basis;                    // what it was made of; void once that has changed
  platform::TimePoint expires{};  // from the cache

  // From the cache, rendered ahead.
  std::string body;
  std::string header_lines;
  std::string tag;  // without quotes
};
using AnswerPtr = std::shared_ptr<const Answer>;

// Fills in what is rendered.
void render(Answer& answer);

// The answer to GET /resolve: 200, 304 or 404. What comes from the cache leaves without a copy.
http::Response respond(const http::Request& request, const AnswerPtr& answer, bool from_cache);

}  // namespace ron::index
