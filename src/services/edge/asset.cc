#include "services/edge/asset.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/limits.h"
#include "http/field_list.h"
#include "volume/codec.h"

namespace ron::edge {
namespace {

constexpr std::uint8_t kVersion = 2;
constexpr std::size_t kMaxFields = base::limits::kHeadFields;
constexpr std::size_t kMaxTextBytes = base::limits::kHeadBytes;

// Ours stand for these: Age is counted on, Date is the server's, and the entity-tag names the bytes
// that we have.
constexpr std::array<std::string_view, 3> kReplaced = {"age", "date", "etag"};
// What others have is in a browser's eyes from this server, as sites and the API are. So it runs no
// scripts, opens no forms and reads nothing of theirs.
constexpr std::string_view kContained = "Content-Security-Policy: sandbox\r\n";

VaryMask mask_of(const http::Vary& vary) {
  const auto names = [&](std::string_view name) {
    return std::ranges::find(vary.names, name) != vary.names.end();
  };
  return {names("accept"), names("accept-language")};
}

std::string lines_of(const KeptFields& fields, std::string_view tag) {
  std::string lines;
  for (const auto& [name, value] : fields) {
    const auto is_replaced = [&](std::string_view other) { return http::iequals(name, other); };
    if (std::ranges::any_of(kReplaced, is_replaced)) continue;
    lines.append(name).append(": ").append(value).append("\r\n");
  }
  lines.append("ETag: \"").append(tag).append("\"\r\nAccept-Ranges: bytes\r\n");
  return lines.append(kContained);
}

void write_text(volume::FieldWriter& out, std::string_view text) {
  out.u32(static_cast<std::uint32_t>(text.size()));
  out.text(text);
}

std::string read_text(volume::FieldReader& in) {
  const std::uint32_t size = in.u32();
  return size <= kMaxTextBytes ? in.text(size) : in.text(SIZE_MAX);
}

}  // namespace

Asset::Asset(AssetFacts what, std::uint64_t number, base::Duration negative_for)
    : facts(std::move(what)), serial(number) {
  const http::CacheFields fields = http::read_cache_fields(facts.fields, facts.times.received_ms);
  freshness = http::judge(facts.status, fields, facts.times);
  vary = is_negative() ? VaryMask::all() : mask_of(fields.vary);
  variant = vary.of(facts.preferences);
  may_be_shared = freshness.storable && !fields.vary.any;
  if (is_negative()) {
    bound_negative(fields, negative_for);
    return;
  }
  tag = facts.address.text();
  lines = lines_of(facts.fields, tag);
}

// What an origin lacks now it may have soon: believed for as long as we say, or for less if it says
// less.
void Asset::bound_negative(const http::CacheFields& fields, base::Duration negative_for) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const http::CacheControl& control = fields.control;
  may_be_shared = !control.no_store && !control.is_private && !fields.vary.any;
  freshness.must_revalidate = true;
  const std::int64_t until_ms =
      facts.times.received_ms + std::chrono::ceil<milliseconds>(negative_for).count();
  const bool says_how_long = control.max_age || control.s_maxage || fields.expires_s;
  if (says_how_long && http::fresh_until_ms(freshness) < until_ms) return;
  freshness.born_ms = facts.times.received_ms;
  freshness.lifetime_s =
      static_cast<std::uint32_t>(std::chrono::ceil<seconds>(negative_for).count());
}

bool Asset::is_of_use() const noexcept {
  return may_be_shared && !freshness.no_cache && http::is_fresh(freshness, facts.times.received_ms);
}

bool may_be_kept(int status, const KeptFields& fields, http::ExchangeTimes times) {
  const http::CacheFields read = http::read_cache_fields(fields, times.received_ms);
  return http::judge(status, read, times).storable && !read.vary.any;
}

bool Asset::fits(const Preferences& asked) const { return variant == vary.of(asked); }

Validators Asset::validators() const {
  return {std::string(find_field(facts.fields, "ETag")),
          std::string(find_field(facts.fields, "Last-Modified")), facts.final_url};
}

std::string encode(const AssetFacts& facts) {
  volume::FieldWriter out(1024);
  out.u8(kVersion);
  write_text(out, facts.url);
  write_text(out, facts.preferences.accept);
  write_text(out, facts.preferences.accept_language);
  out.u16(static_cast<std::uint16_t>(facts.status));
  out.u16(static_cast<std::uint16_t>(facts.fields.size()));
  for (const auto& [name, value] : facts.fields) {
    write_text(out, name);
    write_text(out, value);
  }
  out.i64(facts.times.requested_ms);
  out.i64(facts.times.received_ms);
  out.id(facts.address);
  out.u64(facts.length);
  write_text(out, facts.final_url);
  write_text(out, facts.hold);
  return std::move(out).take();
}

std::optional<AssetFacts> decode_facts(std::string_view text) {
  volume::FieldReader in(text);
  AssetFacts facts;
  if (in.u8() != kVersion) return std::nullopt;
  facts.url = read_text(in);
  facts.preferences.accept = read_text(in);
  facts.preferences.accept_language = read_text(in);
  facts.status = in.u16();
  const std::uint16_t fields = in.u16();
  if (!in.ok() || fields > kMaxFields) return std::nullopt;
  for (std::uint16_t i = 0; i < fields; ++i) {
    std::string name = read_text(in);
    facts.fields.emplace_back(std::move(name), read_text(in));
  }
  facts.times.requested_ms = in.i64();
  facts.times.received_ms = in.i64();
  facts.address = in.id();
  facts.length = in.u64();
  facts.final_url = read_text(in);
  facts.hold = read_text(in);
  const bool is_whole = in.complete() && facts.status == 200 && !facts.hold.empty();
  if (!is_whole || !facts.url.starts_with("https://")) return std::nullopt;
  return facts;
}

}  // namespace ron::edge
