// Asset: one answer of an origin that is kept, as the table of URLs knows it. Its bytes are on disk
// or in memory; this is all else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/object_id.h"
#include "http/freshness.h"
#include "services/edge/fetch.h"
#include "services/edge/kept_fields.h"

namespace ron::edge {

// The fields of a request that go to origins, and may therefore choose between variants. Empty:
// absent.
struct Preferences {
  std::string accept{};
  std::string accept_language{};
  friend bool operator==(const Preferences&, const Preferences&) = default;
};

// Which of them an answer depends on, by its Vary. Fields that are never sent to an origin are
// absent from every request alike and choose nothing.
struct VaryMask {
  bool accept = false;
  bool accept_language = false;

  static constexpr VaryMask all() noexcept { return {true, true}; }
  [[nodiscard]] Preferences of(const Preferences& all) const {
    return {accept ? all.accept : std::string(), accept_language ? all.accept_language : ""};
  }
  VaryMask operator|(VaryMask other) const noexcept {
    return {accept || other.accept, accept_language || other.accept_language};
  }
  friend bool operator==(const VaryMask&, const VaryMask&) = default;
};

// What an origin said; everything else of an asset follows from it.
struct AssetFacts {
  std::string url;  // https://host[:port]/path[?query]: the key
  // Of the last request that got it, or had it confirmed.
  Preferences preferences{};
  int status = 200;  // 200, 404 or 410
  KeptFields fields{};
  http::ExchangeTimes times{};
  base::ObjectId address{};  // of the bytes of a 200
  std::uint64_t length = 0;
  // Where redirects led to it; empty: there were none.
  std::string final_url{};
  // Under which name its bytes are held on disk; empty: they are not.
  std::string hold{};
};

// Immutable; shared by whoever sends it.
struct Asset {
  // `negative_for`: how long a 404 or 410 is believed at most.
  //
  // A 404 says nothing of who else would get one: few origins give it a Vary. So it is an answer
  // only to requests with the very fields that it was the answer to.
  Asset(AssetFacts facts, std::uint64_t serial, base::Duration negative_for);

  [[nodiscard]] bool is_negative() const noexcept { return facts.status != 200; }
  // It may be an answer to a request with these.
  [[nodiscard]] bool fits(const Preferences& asked) const;
  // The next request may have it without the origin being asked.
  [[nodiscard]] bool is_of_use() const noexcept;
  [[nodiscard]] Validators validators() const;

  AssetFacts facts;
  std::uint64_t serial;  // the generation of its bytes in memory
  http::Freshness freshness;
  VaryMask vary;
  Preferences variant;  // the preferences that it depends on
  bool may_be_shared;   // between requests: it may be kept, and does not vary on everything
  std::string tag;      // our entity-tag, without quotes
  std::string lines;    // header lines of every answer made of it

 private:
  void bound_negative(const http::CacheFields& fields, base::Duration negative_for);
};
using AssetPtr = std::shared_ptr<const Asset>;

// A shared cache may keep such an answer, and use it for other requests.
bool may_be_kept(int status, const KeptFields& fields, http::ExchangeTimes times);

// As it is kept on disk. Nothing when the text is not exactly what encode() wrote.
std::string encode(const AssetFacts& facts);
std::optional<AssetFacts> decode_facts(std::string_view text);

}  // namespace ron::edge
