#include "sim/judge.h"

#include <algorithm>

#include "http/decode_guard.h"

namespace ron::sim {
namespace {

using base::Code;
using Result = History::Result;
using Wrong = std::optional<std::string>;

// The text between `"key":"` and the next quote.
std::string_view json_text(std::string_view json, std::string_view key) {
  const std::string begin = "\"" + std::string(key) + "\":\"";
  const std::size_t at = json.find(begin);
  if (at == std::string_view::npos) return {};
  json.remove_prefix(at + begin.size());
  return json.substr(0, json.find('"'));
}

const base::CodeInfo* code_named(std::string_view name) {
  const auto codes = base::all_codes();
  const auto found = std::ranges::find(codes, name, &base::CodeInfo::name);
  return found == codes.end() ? nullptr : &*found;
}

class Bench {
 public:
  explicit Bench(const Exchange& exchange)
      : x_(exchange), request_(*exchange.request), answer_(*exchange.answer) {}

  Judgement judge() {
    Judgement out;
    out.outcome = std::to_string(answer_.status);
    const bool unready = request_.kind == Kind::Ready && answer_.status == 503;
    if (answer_.status >= 400 && !unready && request_.kind != Kind::Head) {
      out.wrong = judge_refusal(out);
    } else if (answer_.status >= 400 && request_.kind == Kind::Head) {
      out.wrong = judge_bodiless_refusal(out);
    } else {
      out.wrong = judge_success(out);
    }
    if (!out.wrong && request_.asks_close && !answer_.closes()) out.wrong = "stays, asked to close";
    return out;
  }

 private:
  template <class Holds>
  [[nodiscard]] bool any(Holds holds) const {
    return x_.life->any(x_.begun, x_.ended, holds);
  }
  [[nodiscard]] Duration took() const { return x_.ended - x_.begun; }

  // Who is asking.
  [[nodiscard]] bool is_stranger() const {
    using enum TokenKind;
    return request_.token == None || request_.token == Expired || request_.token == Garbage;
  }
  [[nodiscard]] bool lacks_power() const {
    if (request_.kind == Kind::Delete) return request_.token == TokenKind::Write;
    if (!request_.stores()) return false;
    if (request_.token == TokenKind::Delete) return true;
    return request_.token == TokenKind::Small &&
           (request_.decoded_bytes > kSmallTokenBytes ||
            (!request_.chunked && request_.encoded_bytes > kSmallTokenBytes));
  }
  [[nodiscard]] bool needs_token() const {
    if (request_.stores() || request_.kind == Kind::Delete) return true;
    return request_.heavy() && any([](const Era& era) { return !era.public_reads; });
  }
  [[nodiscard]] bool may_do_without() const {
    return !(request_.stores() || request_.kind == Kind::Delete) &&
           any([](const Era& era) { return era.public_reads; });
  }

  // What the settings say about the body.
  [[nodiscard]] bool over_body_cap(const Era& era) const {
    return request_.encoded_bytes > era.config->server.max_body_bytes.bytes;
  }
  [[nodiscard]] bool over_decoded_cap(const Era& era) const {
    return (request_.gzip || request_.chunked) &&
           request_.decoded_bytes > era.config->server.decode_abs_cap_bytes.bytes;
  }
  [[nodiscard]] bool over_ratio(const Era& era) const {
    if (!request_.gzip || request_.decoded_bytes <= http::DecodeGuard::kRatioFreeBytes)
      return false;
    return request_.decoded_bytes > request_.encoded_bytes * era.config->server.decode_ratio_max;
  }
  [[nodiscard]] bool fits(const Era& era) const {
    return !over_body_cap(era) && !over_decoded_cap(era) && !over_ratio(era);
  }

  [[nodiscard]] bool may_refuse(Code code, bool own_id) const {
    const auto waited = [this](Duration http::ServerSettings::* limit) {
      return any([&](const Era& era) { return took() >= era.config->server.*limit; });
    };
    switch (code) {
      case Code::Busy:
        return own_id ? request_.heavy() : x_.first_on_connection;
      case Code::RateLimited:
        // Who was let in under settings of the past is still counted after a change.
        return request_.heavy() && x_.life->any(TimePoint(), x_.ended, [this](const Era& era) {
          return x_.heavy_requests >= era.config->server.max_rps;
        });
      case Code::ReadTimeout:
        return waited(&http::ServerSettings::read_timeout);
      case Code::Timeout:
        return (request_.stores() || request_.kind == Kind::Delete) &&
               waited(&http::ServerSettings::request_deadline);
      case Code::Draining:
      case Code::Canceled:
        return x_.ended >= x_.life->stop_asked;
      case Code::Unauthorized:
        return needs_token() && is_stranger();
      case Code::Forbidden:
        return lacks_power();
      case Code::BadAddress:
        return request_.kind == Kind::BadAddress;
      case Code::Malformed:
        return request_.kind == Kind::Garbage || (request_.stores() && !x_.sent_whole);
      case Code::NotFound:
        return request_.reads() || request_.kind == Kind::Delete || request_.kind == Kind::Missing;
      case Code::BadRange:
        return request_.range.kind == RangeWanted::Kind::Bad;
      case Code::RangeNotSatisfiable:
        return request_.range.kind == RangeWanted::Kind::Outside;
      case Code::PreconditionFailed:
        return request_.kind == Kind::IfMatch;
      default:
        return request_.stores() && may_refuse_body(code);
    }
  }
  [[nodiscard]] bool may_refuse_body(Code code) const {
    switch (code) {
      case Code::BodyCap:
        return any([this](const Era& era) { return over_body_cap(era); });
      case Code::DecodedCap:
        return any([this](const Era& era) { return over_decoded_cap(era); });
      case Code::DecodedRatio:
        return request_.gzip && request_.decoded_bytes > http::DecodeGuard::kRatioFreeBytes;
      case Code::HashMismatch:
        return request_.kind == Kind::PutWrong;
      case Code::Amnesia:
        return any(
            [this](const Era& era) { return x_.most_bytes > era.config->cache_bytes.bytes; });
      default:
        return false;
    }
  }

  // What a refusal says about the object.
  [[nodiscard]] Result meaning(Code code) const {
    const bool cut = code == Code::Timeout || code == Code::Canceled;
    if (request_.stores()) return cut ? Result::Unknown : Result::Nothing;
    if (request_.kind == Kind::Delete) {
      if (cut) return Result::Unknown;
      return code == Code::NotFound ? Result::NotThere : Result::Nothing;
    }
    if (!request_.reads()) return Result::Nothing;
    if (code == Code::NotFound) return Result::Absent;
    const bool found = code == Code::BadRange || code == Code::RangeNotSatisfiable ||
                       code == Code::PreconditionFailed;
    return found ? Result::Present : Result::Nothing;
  }

  Wrong judge_refusal(Judgement& out) const {
    const base::CodeInfo* code = code_named(json_text(answer_.body, "code"));
    if (code == nullptr) return "a refusal without a known code: " + answer_.body;
    out.outcome += " " + std::string(code->name);
    out.result = meaning(code->code);
    if (code->status != answer_.status) return "the status does not belong to the code";
    const std::string_view id = answer_.field("x-corr-id");
    if (json_text(answer_.body, "corr_id") != id) return "two correlation ids in one answer";
    if (code->retry_helps && answer_.field("retry-after").empty()) return "no Retry-After";
    const bool own_id = id == request_.corr_id;
    const bool before_the_head = code->code == Code::Busy || code->code == Code::ReadTimeout ||
                                 request_.kind == Kind::Garbage;
    if (!own_id && !before_the_head) return "the answer to another request";
    if (!may_refuse(code->code, own_id)) return "no reason to refuse with " + out.outcome;
    if (code->code == Code::RangeNotSatisfiable &&
        answer_.field("content-range") != whole_range()) {
      return "wrong Content-Range";
    }
    return std::nullopt;
  }

  // A refused HEAD has no envelope: some code of that status must be possible.
  Wrong judge_bodiless_refusal(Judgement& out) const {
    const bool own_id = answer_.field("x-corr-id") == request_.corr_id;
    for (const base::CodeInfo& code : base::all_codes()) {
      if (code.status != answer_.status || !may_refuse(code.code, own_id)) continue;
      out.result = meaning(code.code);
      return std::nullopt;
    }
    return "no reason to refuse with " + out.outcome;
  }

  [[nodiscard]] std::string whole_range() const {
    return "bytes */" + std::to_string(x_.payload->bytes.size());
  }

  Wrong judge_success(Judgement& out) const {
    if (answer_.field("x-corr-id") != request_.corr_id) return "the answer to another request";
    if (!x_.sent_whole) return "success of half a request";
    if (request_.stores()) return judge_stored(out);
    if (request_.reads()) return judge_read(out);
    if (request_.kind == Kind::Delete) {
      out.result = Result::Removed;
      if (is_stranger() || lacks_power()) return "removed without a capability";
      return answer_.status == 204 ? Wrong() : "unexpected status of a delete";
    }
    if (request_.kind == Kind::Ready) return judge_ready();
    if (request_.kind == Kind::Health) {
      return answer_.status == 200 ? Wrong() : "unexpected status of a health check";
    }
    return "success where there is nothing to succeed";
  }

  Wrong judge_stored(Judgement& out) const {
    out.result = answer_.status == 201 ? Result::Added : Result::AlreadyThere;
    if (answer_.status != 200 && answer_.status != 201) return "unexpected status of a store";
    if (request_.kind == Kind::PutWrong) return "stored under the address of other bytes";
    if (is_stranger() || lacks_power()) return "stored without a capability";
    if (!any([this](const Era& era) { return fits(era); })) return "stored over the limits";
    if (json_text(answer_.body, "address") != x_.payload->address) return "wrong address";
    const std::string length = "\"length\":" + std::to_string(x_.payload->bytes.size()) + "}";
    if (answer_.body.find(length) == std::string::npos) return "wrong length";
    if (answer_.field("location") != "/o/" + x_.payload->address) return "wrong Location";
    return std::nullopt;
  }

  Wrong judge_read(Judgement& out) const {
    out.result = Result::Present;
    const std::string& bytes = x_.payload->bytes;
    if (is_stranger() && !may_do_without()) return "read without a capability";
    if (answer_.field("etag") != "\"" + x_.payload->address + "\"") return "wrong ETag";
    if (request_.kind == Kind::IfNoneMatch) {
      return answer_.status == 304 ? Wrong() : "expected 304";
    }
    if (request_.kind == Kind::IfMatch) return "expected 412";
    const RangeWanted& range = request_.range;
    if (range.kind == RangeWanted::Kind::Part) {
      const std::string wanted = "bytes " + std::to_string(range.first) + "-" +
                                 std::to_string(range.last) + "/" + std::to_string(bytes.size());
      if (answer_.status != 206) return "expected 206";
      if (answer_.field("content-range") != wanted) return "wrong Content-Range";
      const std::uint64_t length = range.last - range.first + 1;
      return answer_.body == std::string_view(bytes).substr(range.first, length)
                 ? Wrong()
                 : "a part with wrong bytes";
    }
    if (range.kind != RangeWanted::Kind::Whole) return "expected a refusal of the range";
    if (answer_.status != 200) return "expected 200";
    if (request_.kind == Kind::Head) {
      return answer_.content_length == bytes.size() ? Wrong() : "wrong Content-Length";
    }
    return answer_.body == bytes ? Wrong() : "wrong bytes";
  }

  // A request that began after the stop was asked for never hears that the service is ready.
  [[nodiscard]] Wrong judge_ready() const {
    const bool ready = answer_.body.starts_with("{\"ready\":true");
    if (ready != (answer_.status == 200)) return "status and body disagree";
    if (ready && x_.begun >= x_.life->stop_asked) return "ready while draining";
    if (!ready && x_.ended < x_.life->stop_asked) return "unready without a reason";
    return std::nullopt;
  }

  const Exchange& x_;
  const Request& request_;
  const Answer& answer_;
};

}  // namespace

Judgement judge(const Exchange& exchange) { return Bench(exchange).judge(); }

std::uint64_t most_bytes(const std::vector<Payload>& payloads, const History& history,
                         unsigned life, TimePoint since) {
  constexpr std::uint64_t kKeepingBytes = 1024;  // more than an Object needs besides its bytes
  std::uint64_t bytes = 0;
  for (std::size_t object = 0; object < payloads.size(); ++object) {
    const std::uint64_t each = payloads[object].bytes.size() + kKeepingBytes;
    bytes += history.copies(life, object, since) * each;
  }
  return bytes;
}

}  // namespace ron::sim
