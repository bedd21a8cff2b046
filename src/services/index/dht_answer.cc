#include "services/index/dht_answer.h"

#include <utility>

#include "base/encoding.h"
#include "base/value.h"

namespace ron::index {
namespace {

using base::Code;
using base::fail;
using base::Result;

// What a proxy says of a value is flat and short; a signed value has a few fields more.
constexpr base::ValueLimits kLineLimits{.depth = 4, .items = 64};

}  // namespace

Result<void> DhtAnswer::take(base::ByteView piece, std::vector<catalog::ProviderRecord>& out) {
  bytes_ += piece.size();
  if (bytes_ > kMaxBytes) return fail(Code::UpstreamFail, "its answer is too long");
  std::string_view text = base::as_text(piece);
  constexpr auto kNowhere = std::string_view::npos;
  for (std::size_t end = text.find('\n'); end != kNowhere; end = text.find('\n')) {
    if (partial_.size() + end > kMaxLineBytes)
      return fail(Code::UpstreamFail, "a line is too long");
    partial_.append(text.substr(0, end));
    text.remove_prefix(end + 1);
    const std::string line = std::exchange(partial_, {});
    const Result<void> taken = take_line(line, out);
    if (!taken) return taken;
  }
  if (partial_.size() + text.size() > kMaxLineBytes) {
    return fail(Code::UpstreamFail, "a line is too long");
  }
  partial_.append(text);
  return {};
}

Result<void> DhtAnswer::finish(std::vector<catalog::ProviderRecord>& out) {
  const std::string line = std::exchange(partial_, {});
  return take_line(line, out);
}

Result<void> DhtAnswer::take_line(std::string_view line,
                                  std::vector<catalog::ProviderRecord>& out) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return {};
  if (++lines_ > kMaxLines) return fail(Code::UpstreamFail, "its answer has too many lines");
  const Result<base::Value> value = base::parse_json(line, kLineLimits);
  if (!value || value->map() == nullptr) {
    return fail(Code::UpstreamFail, "a line of its answer is no JSON object");
  }
  const base::Value* data = value->find("data");
  const std::string* text = data != nullptr ? data->text() : nullptr;
  const auto bytes = text != nullptr ? base::from_base64(*text) : std::nullopt;
  Result<catalog::ProviderRecord> record =
      bytes ? catalog::decode_provider_record(*bytes) : fail(Code::Malformed, "no bytes");
  if (record) {
    out.push_back(std::move(*record));
  } else {
    ++skipped_;
  }
  return {};
}

}  // namespace ron::index
