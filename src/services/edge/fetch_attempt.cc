#include "services/edge/fetch_attempt.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "http/conditional.h"
#include "http/decode_guard.h"
#include "http/field_list.h"
#include "http/freshness.h"
#include "http/http_date.h"
#include "http/upstream_address.h"
#include "platform/tls_details.h"
#include "services/kit/ops_routes.h"

namespace ron::edge {
namespace {

using base::Code;
using base::Error;
using base::fail;
using base::Result;
using http::KnownField;
using platform::Task;
using Tried = FetchAttempt::Tried;

constexpr std::array<std::string_view, 12> kKept = {"Content-Type",
                                                    "Content-Language",
                                                    "Content-Disposition",
                                                    "Cache-Control",
                                                    "Expires",
                                                    "Age",
                                                    "Date",
                                                    "ETag",
                                                    "Last-Modified",
                                                    "Vary",
                                                    "Link",
                                                    "Content-Security-Policy"};

Error failure(Code code, std::string message, std::string_view why) {
  return Error(code, std::move(message)).with("reason", std::string(why));
}
Tried final(Error error) { return Result<Fetched>(fail(std::move(error))); }
Tried again(Error error) { return fail(std::move(error)); }

bool sets_cookie(const http::ClientResponse& response) {
  return response.head().find("Set-Cookie").has_value();
}

bool is_redirect(int status) noexcept {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool is_about_certificate(const Error& error) {
  return std::ranges::any_of(
      error.details, [](const auto& each) { return each.first == platform::kCertificateDetail; });
}

// What the client could not do, which knows addresses, and neither names nor [edge]. Nothing of an
// answer had come: another try may find the origin.
Tried judge_failure(Error error, const OriginUrl& at, const http::SendProgress& progress) {
  switch (error.code) {
    case Code::Timeout:
      return again(std::move(error).with("reason", std::string(reason::kTimeout)));
    case Code::NotAllowed:
      error.message =
          at.authority() + " has no public address, and edge.egress.allow_private is false";
      return final(std::move(error).with("reason", std::string(reason::kAddress)));
    case Code::UpstreamFail:
      if (is_about_certificate(error)) {
        error.message =
            at.authority() + ": " + error.message + "; edge.tls.ca_path says whom to trust";
        return final(std::move(error).with("reason", std::string(reason::kCertificate)));
      }
      if (!progress.answered) {
        error.message = at.authority() + ": " + error.message;
        return again(std::move(error).with("reason", std::string(reason::kConnect)));
      }
      return final(std::move(error).with("reason", std::string(reason::kBroken)));
    default:
      return final(std::move(error));
  }
}

// What went wrong with a body that had begun.
Tried judge_broken(Error error) {
  if (error.code == Code::Timeout) {
    return again(std::move(error).with("reason", std::string(reason::kTimeout)));
  }
  if (error.code != Code::UpstreamFail) return final(std::move(error));
  return final(std::move(error).with("reason", std::string(reason::kBroken)));
}

// What the decoder says to clients about their bodies is said here about an origin's.
Error judge_decoding(Error error) {
  if (error.code == Code::DecodedCap || error.code == Code::DecodedRatio) {
    return std::move(error).with("reason", std::string(reason::kDecompressCap));
  }
  if (error.code == Code::Busy) return error;
  return failure(Code::UpstreamFail, "the origin's body is not what its Content-Encoding says",
                 reason::kBroken);
}

Error body_cap(std::uint64_t bytes, std::uint64_t cap_bytes) {
  return failure(Code::BodyCap, "the origin's answer is larger than fill.max_object_bytes",
                 reason::kBodyCap)
      .with("bytes", std::to_string(bytes))
      .with("max_object_bytes", std::to_string(cap_bytes));
}

bool is_strong_tag(std::string_view text) noexcept {
  const auto tag = http::parse_entity_tag(text);
  return tag && !tag->weak;
}

std::uint32_t retry_after_s(const http::ClientResponse& response, std::int64_t now_ms) {
  const auto field = response.head().find("Retry-After");
  if (!field) return 0;
  if (const auto seconds = http::parse_delta_seconds(*field)) return *seconds;
  const std::int64_t now_s = now_ms / 1000;
  const auto at = http::parse_http_date(*field, now_s);
  return at && *at > now_s
             ? static_cast<std::uint32_t>(std::min<std::int64_t>(*at - now_s, http::kMaxDeltaS))
             : 0;
}

}  // namespace

std::string_view reason_of(const Error& error) noexcept {
  for (const auto& [key, value] : error.details) {
    if (key == "reason") return value;
  }
  return {};
}

FetchAttempt::FetchAttempt(FetchTools tools, FetchRules rules, const FetchRequest& request,
                           OriginUrl url, BodySink& sink)
    : tools_(tools),
      rules_(rules),
      request_(request),
      url_(std::move(url)),
      sink_(sink),
      at_(url_) {}

Task<Tried> FetchAttempt::run(runtime::Deadline deadline) {
  ++tries_;
  at_ = url_;
  restraints_ = {};
  std::vector<OriginUrl> seen;
  while (true) {
    seen.push_back(at_);
    http::SendProgress progress;
    Result<http::ClientResponse> response = co_await ask(&progress, deadline);
    if (progress.resent) ++resent_;
    if (!response) {
      const bool is_asked = progress.sent || seen.size() > 1;
      if (!is_asked) response.error().details.emplace_back(kOriginNotAsked);
      co_return judge_failure(std::move(response.error()), at_, progress);
    }
    const int status = response->status();
    if (is_redirect(status)) {
      Result<OriginUrl> next = next_hop(*response, seen);
      if (!next) co_return final(std::move(next.error()));
      note_redirect(*response);
      at_ = std::move(*next);
      continue;
    }
    const bool conditional = is_conditional();
    if (status == 304 && conditional && !confirms(*response)) {
      unconditional_ = true;
      at_ = url_;
      restraints_ = {};
      seen.clear();
      continue;
    }
    const bool is_answer = status == 404 || status == 410 || (status == 304 && conditional);
    if (is_answer) co_return Result<Fetched>(head_of(*response));
    if (status != 200) co_return refuse_status(*response);
    Fetched head = head_of(*response);
    Tried taken = co_await take_body(std::move(*response), std::move(head), deadline);
    co_return taken;
  }
}

Task<Result<http::ClientResponse>> FetchAttempt::ask(http::SendProgress* progress,
                                                     runtime::Deadline deadline) {
  const std::string authority = at_.authority();
  const std::string agent = "ron/" + std::string(kit::version());
  const Result<http::UpstreamAddress> to = http::UpstreamAddress::parse("https://" + authority);
  if (!to) co_return fail(to.error());
  std::array<http::Field, 8> fields;
  std::size_t count = 0;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) fields[count++] = {name, value};
  };
  add("Accept-Encoding", "identity");
  add("User-Agent", agent);
  add("Via", "1.1 ron-edge");
  add("Accept", request_.accept);
  add("Accept-Language", request_.accept_language);
  if (is_conditional()) {
    add("If-None-Match", request_.validators.etag);
    add("If-Modified-Since", request_.validators.last_modified);
  }
  http::ClientRequest request{.target = at_.target,
                              .host = authority,
                              .fields = std::span(fields).first(count),
                              .may_resend = may_try_again(),
                              .progress = progress};
  to->aim(request);
  requested_ms_ = tools_.clock->unix_ms();
  Result<http::ClientResponse> response = co_await tools_.client->send(request, deadline);
  received_ms_ = tools_.clock->unix_ms();
  co_return response;
}

Result<OriginUrl> FetchAttempt::next_hop(const http::ClientResponse& response,
                                         const std::vector<OriginUrl>& seen) const {
  const auto location = response.head().find("Location");
  if (!location) {
    return fail(failure(Code::UpstreamFail, "its redirect does not say where to", reason::kRedirect)
                    .with("status", std::to_string(response.status())));
  }
  Result<OriginUrl> next = parse_location(at_, *location);
  if (!next) {
    return fail(std::move(next.error()).with("reason", std::string(reason::kRedirect)));
  }
  if (!rules_.allow->covers(*next)) {
    return fail(
        failure(Code::NotAllowed,
                "it redirects to " + next->without_query() + ", which edge.allow does not have",
                reason::kNotAllowed));
  }
  const bool loops = std::ranges::find(seen, *next) != seen.end();
  if (loops || seen.size() > kMaxRedirects) {
    return fail(failure(Code::UpstreamFail,
                        loops ? "it redirects in a circle" : "it redirects too often",
                        reason::kRedirectLoop)
                    .with("redirects", std::to_string(seen.size())));
  }
  return next;
}

void FetchAttempt::note_redirect(const http::ClientResponse& response) {
  const http::CacheFields fields = http::read_cache_fields(response.head().fields(), received_ms_);
  restraints_.add_redirect(response.status(), fields, sets_cookie(response),
                           {requested_ms_, received_ms_});
}

bool FetchAttempt::is_conditional() const {
  const Validators& validators = request_.validators;
  if (!validators.any() || unconditional_) return false;
  return validators.url.empty() ? at_ == url_ : at_.text() == validators.url;
}

// A 304 that names another entity-tag than was asked about confirms nothing.
bool FetchAttempt::confirms(const http::ClientResponse& response) const {
  const auto said = response.head().find("ETag");
  if (!said || request_.validators.etag.empty()) return true;
  const auto theirs = http::parse_entity_tag(*said);
  const auto ours = http::parse_entity_tag(request_.validators.etag);
  return theirs && ours && http::weak_match(*theirs, *ours);
}

Fetched FetchAttempt::head_of(const http::ClientResponse& response) const {
  Fetched head;
  head.status = response.status();
  for (const http::Field& field : response.head().fields()) {
    const auto* const kept = std::ranges::find_if(
        kKept, [&](std::string_view name) { return http::iequals(name, field.name); });
    if (kept == kKept.end()) continue;
    if (*kept == "ETag" && !http::parse_entity_tag(field.value)) continue;
    head.fields.emplace_back(*kept, field.value);
  }
  Restraints restraints = restraints_;
  if (sets_cookie(response)) restraints.note_cookie();
  if (head.status == 304) {
    head.restraints = std::move(restraints);
  } else {
    restraints.apply(head.status, head.fields, {requested_ms_, received_ms_});
  }
  head.requested_ms = requested_ms_;
  head.received_ms = received_ms_;
  head.tries = tries();
  head.final_url = at_.text();
  return head;
}

Tried FetchAttempt::refuse_status(const http::ClientResponse& response) const {
  const int status = response.status();
  Error error =
      failure(Code::UpstreamFail, "the origin answers " + std::to_string(status), reason::kStatus)
          .with("status", std::to_string(status));
  if (status != 503 && status != 504) return final(std::move(error));
  error.retry_after_s = retry_after_s(response, received_ms_);
  return again(std::move(error));
}

Task<Tried> FetchAttempt::take_body(http::ClientResponse response, Fetched fetched,
                                    runtime::Deadline deadline) {
  const FillConfig& fill = rules_.config->fill;
  const auto tags = std::ranges::count_if(fetched.fields,
                                          [](const auto& field) { return field.first == "ETag"; });
  const std::string_view tag = find_field(fetched.fields, "ETag");
  if (fill.require_strong_etag && (tags != 1 || !is_strong_tag(tag))) {
    co_return final(
        failure(Code::UpstreamFail, "the origin's answer has no strong ETag", reason::kEtagInvalid)
            .with("etag", tag.empty() ? "none" : "weak"));
  }
  const auto coding = http::content_coding(response.head());
  if (!coding && coding.error().code == Code::DecodedCap) {
    co_return final(judge_decoding(coding.error().error()));
  }
  if (!coding) {
    co_return final(
        failure(Code::UpstreamFail, "the origin's answer has an unknown coding", reason::kCoding));
  }
  const auto control = http::read_cache_fields(fetched.fields, received_ms_).control;
  if (*coding != http::Coding::Identity && control.no_transform) {
    co_return final(failure(Code::UpstreamFail,
                            "the origin's answer has a coding that it forbids to take off",
                            reason::kCoding));
  }
  const std::uint64_t announced = response.head().content_length.value_or(0);
  if (announced > fill.max_object_bytes.bytes) {
    co_return final(body_cap(announced, fill.max_object_bytes.bytes));
  }
  if (*coding == http::Coding::Identity) fetched.length = response.head().content_length;
  runtime::Semaphore::Permit decoder;
  if (*coding != http::Coding::Identity) {
    decoder = co_await tools_.decoders->acquire(deadline);
    if (!decoder) {
      co_return again(
          failure(Code::Timeout, "too many bodies are being decoded", reason::kTimeout));
    }
  }
  Tried copied = co_await copy(&response, *coding, std::move(fetched));
  co_return copied;
}

Task<Tried> FetchAttempt::copy(http::ClientResponse* response, http::Coding coding,
                               Fetched fetched) {
  const std::uint64_t cap_bytes = rules_.config->fill.max_object_bytes.bytes;
  const http::ServerSettings& limits = rules_.config->server;
  http::DecodeGuard guard(
      coding, {.cap_bytes = coding == http::Coding::Identity
                                ? cap_bytes
                                : std::min(cap_bytes, limits.decode_abs_cap_bytes.bytes),
               .ratio_max = limits.decode_ratio_max});
  const Result<> begun = co_await sink_.begin(&fetched);
  sink_failed_ = !begun;
  if (!begun) co_return final(begun.error());
  std::uint64_t received = 0;
  while (true) {
    const Result<base::ByteView> piece = co_await response->next();
    if (!piece) co_return judge_broken(piece.error());
    if (piece->empty()) break;
    received += piece->size();
    tools_.received_bytes->add(piece->size());
    if (received > cap_bytes) co_return final(body_cap(received, cap_bytes));
    base::ByteView rest = *piece;
    while (true) {
      const Result<base::ByteView> decoded = guard.next(rest);
      if (!decoded) co_return final(judge_decoding(decoded.error()));
      if (decoded->empty()) break;
      const Result<> written = co_await sink_.write(*decoded);
      sink_failed_ = !written;
      if (!written) co_return final(written.error());
    }
  }
  if (const Result<> whole = guard.finish(); !whole) co_return final(judge_decoding(whole.error()));
  fetched.length = guard.decoded_bytes();
  co_return Result<Fetched>(std::move(fetched));
}

}  // namespace ron::edge
