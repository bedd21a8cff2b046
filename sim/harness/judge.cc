#include "sim/harness/judge.h"

#include <algorithm>

#include "http/decode_guard.h"

namespace ron::sim {
namespace {

using base::Code;

const base::CodeInfo* code_named(std::string_view name) {
  const auto codes = base::all_codes();
  const auto found = std::ranges::find(codes, name, &base::CodeInfo::name);
  return found == codes.end() ? nullptr : &*found;
}

bool over_body_cap(const Request& request, const Era& era) {
  return request.encoded_bytes > era.settings->server.max_body_bytes.bytes;
}
bool over_decoded_cap(const Request& request, const Era& era) {
  return (request.gzip || request.chunked) &&
         request.decoded_bytes > era.settings->server.decode_abs_cap_bytes.bytes;
}
bool over_ratio(const Request& request, const Era& era) {
  if (!request.gzip || request.decoded_bytes <= http::DecodeGuard::kRatioFreeBytes) return false;
  return request.decoded_bytes > request.encoded_bytes * era.settings->server.decode_ratio_max;
}

}  // namespace

std::string_view json_text(std::string_view json, std::string_view key) {
  const std::string begin = "\"" + std::string(key) + "\":\"";
  const std::size_t at = json.find(begin);
  if (at == std::string_view::npos) return {};
  json.remove_prefix(at + begin.size());
  return json.substr(0, json.find('"'));
}

Judgement Judge::judge() {
  Judgement out;
  out.outcome = std::to_string(answer_.status);
  if (base_.asks_ready && (answer_.status == 200 || answer_.status == 503)) {
    out.wrong = judge_ready();
  } else if (answer_.status >= 400 && !is_passed_on()) {
    out.wrong = base_.to_head ? judge_bodiless_refusal(out) : judge_refusal(out);
  } else if (answer_.field("x-corr-id") != base_.corr_id) {
    out.wrong = "the answer to another request";
  } else if (!x_.sent_whole && !is_passed_on()) {
    out.wrong = "success of half a request";
  } else {
    out.wrong = judge_success();
  }
  if (!out.wrong && base_.asks_close && !answer_.closes()) out.wrong = "stays, asked to close";
  return out;
}

bool Judge::fits(const Request& request, const Era& era) {
  return !over_body_cap(request, era) && !over_decoded_cap(request, era) &&
         !over_ratio(request, era);
}

bool Judge::is_allowed() const {
  if (base_.right == Right::Enough) return true;
  return base_.public_read && any([](const Era& era) { return era.public_reads; });
}

// The envelope says what was full; a refused HEAD has none.
bool Judge::may_be_busy(bool own_id) const {
  // A connection is turned away when it is taken, which may be before the request begins.
  const TimePoint since = own_id ? x_.begun : x_.called;
  const auto refused = [this, since](std::string_view detail) {
    return x_.refusals != nullptr && x_.refusals->any(detail, since, x_.ended);
  };
  if (!own_id) {
    return x_.first_on_connection && (refused("max_conns") || refused("max_conns_per_ip"));
  }
  if (!base_.heavy) return false;
  if (base_.to_head) return refused("");
  const std::string_view queue = json_text(answer_.body, "queue");
  return refused(queue.empty() ? "max_inflight" : queue);
}

bool Judge::may_refuse(Code code, bool own_id) const {
  if (own_id && has_own_reason(code)) return true;
  switch (code) {
    case Code::Busy:
      return may_be_busy(own_id);
    case Code::RateLimited:
      // Who was let in under settings of the past is still counted after a change.
      return base_.heavy && x_.life->any(TimePoint(), x_.ended, [this](const Era& era) {
        return x_.heavy_requests >= era.settings->server.max_rps;
      });
    case Code::ReadTimeout:
      return took(&http::ServerSettings::read_timeout);
    case Code::Timeout:
      return base_.heavy && took(&http::ServerSettings::request_deadline);
    case Code::Draining:
      return x_.ended >= x_.life->stop_asked;
    case Code::Canceled:
      return x_.ended >= x_.life->stop_asked ||
             std::ranges::any_of(x_.life->task_failures, [this](TimePoint failed) {
               return failed >= x_.begun && failed <= x_.ended;
             });
    case Code::Unauthorized:
      return base_.right == Right::Nobody &&
             (!base_.public_read || any([](const Era& era) { return !era.public_reads; }));
    case Code::Forbidden:
      return base_.right == Right::TooLittle;
    default:
      return may_refuse_body(code);
  }
}

bool Judge::may_refuse_body(Code code) const {
  if (code == Code::Malformed) return base_.garbage || (base_.has_body && !x_.sent_whole);
  if (!base_.has_body) return false;
  switch (code) {
    case Code::BodyCap:
      return any([this](const Era& era) { return over_body_cap(base_, era); });
    case Code::DecodedCap:
      return any([this](const Era& era) { return over_decoded_cap(base_, era); });
    case Code::DecodedRatio:
      return base_.gzip && base_.decoded_bytes > http::DecodeGuard::kRatioFreeBytes;
    default:
      return false;
  }
}

Wrong Judge::judge_refusal(Judgement& out) {
  const base::CodeInfo* code = code_named(json_text(answer_.body, "code"));
  if (code == nullptr) return "a refusal without a known code: " + answer_.body;
  out.outcome += " " + std::string(code->name);
  if (code->status != answer_.status) return "the status does not belong to the code";
  const std::string_view id = answer_.field("x-corr-id");
  if (json_text(answer_.body, "corr_id") != id) return "two correlation ids in one answer";
  if (code->retry_helps && answer_.field("retry-after").empty()) return "no Retry-After";
  const bool own_id = id == base_.corr_id;
  const bool before_the_head =
      code->code == Code::Busy || code->code == Code::ReadTimeout || base_.garbage;
  if (!own_id && !before_the_head) return "the answer to another request";
  if (!may_refuse(code->code, own_id)) {
    return "no reason to refuse with " + out.outcome + ": " + answer_.body;
  }
  return judge_own_refusal(code->code);
}

// A refused HEAD has no envelope: some code of that status must be possible.
Wrong Judge::judge_bodiless_refusal(Judgement& out) {
  const bool own_id = answer_.field("x-corr-id") == base_.corr_id;
  for (const base::CodeInfo& code : base::all_codes()) {
    if (code.status != answer_.status || !may_refuse(code.code, own_id)) continue;
    return judge_own_refusal(code.code);
  }
  return "no reason to refuse with " + out.outcome;
}

// A request that began after the stop was asked for never hears that the service is ready.
Wrong Judge::judge_ready() const {
  if (answer_.field("x-corr-id") != base_.corr_id) return "the answer to another request";
  if (!x_.sent_whole) return "success of half a request";
  const bool ready = answer_.body.starts_with("{\"ready\":true");
  if (ready != (answer_.status == 200)) return "status and body disagree";
  if (ready && x_.begun >= x_.life->stop_asked) return "ready while draining";
  if (!ready && x_.ended < x_.life->stop_asked && !may_be_unready()) {
    return "unready without a reason";
  }
  return std::nullopt;
}

}  // namespace ron::sim
