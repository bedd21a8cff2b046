#include "services/gateway/http_upstream.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "http/field_list.h"
#include "services/gateway/forward_head.h"
#include "services/gateway/turn_body.h"
#include "services/kit/handlers.h"

namespace ron::gateway {
namespace {

using http::iequals;
using platform::Task;

// What the upstream has to answer, and whether the client is in a hurry. Without a word of its
// client's, a request has the server's own deadline, which is configured as well.
http::AnswerTime answer_time(const http::Request& request, base::Duration within) {
  const bool asks = request.head->has(http::KnownField::RequestTimeout) ||
                    request.head->has(http::KnownField::Deadline);
  const runtime::Deadline configured = runtime::Deadline::in(within);
  const bool is_sooner = request.deadline < configured;
  if (asks || !is_sooner) return {.within = within, .is_hurried = is_sooner};
  return {.within = request.deadline.at() - platform::Executor::current()->now(),
          .is_hurried = false};
}

// What this server says itself, what pages may do, which is for the routes to say, and whether
// browsers keep to TLS: an upstream does not decide that for a host it shares with others.
bool is_ours_to_say(std::string_view name) noexcept {
  constexpr std::string_view kCors = "Access-Control-";
  return iequals(name, "Date") || iequals(name, "X-Corr-ID") ||
         iequals(name, "Strict-Transport-Security") || iequals(name.substr(0, kCors.size()), kCors);
}

// Name: value\r\n of each.
std::string lines_of(const http::ForwardedFields& fields) {
  std::size_t bytes = 0;
  for (const http::Field& field : fields.fields())
    bytes += field.name.size() + field.value.size() + 4;
  std::string lines;
  lines.reserve(bytes);
  for (const http::Field& field : fields.fields()) {
    lines.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  return lines;
}

bool is_event_stream(const http::ParsedResponse& head) noexcept {
  const auto type = head.get(http::KnownField::ContentType);
  constexpr std::string_view kEvents = "text/event-stream";
  return type && iequals(type->substr(0, kEvents.size()), kEvents);
}

http::Response response_of(http::ClientResponse answer, http::Method method, Passage& passage) {
  const http::ParsedResponse& head = answer.head();
  http::ForwardedFields fields(http::MessageKind::Response, head.fields());
  fields.remove_if(is_ours_to_say);
  http::Response response(head.status);
  response.lines = lines_of(fields);
  const std::optional<std::uint64_t> length = head.content_length;
  if (response.is_bodiless()) return response;
  if (method == http::Method::Head) {
    // What a GET would be: as long as the upstream says, or of a length that it does not say.
    if (length) {
      response.body = http::SizedBody{nullptr, *length};
    } else {
      response.body = http::StreamedBody{nullptr};
    }
    return response;
  }
  response.owner = std::move(passage.owner);
  passage.is_event_stream = is_event_stream(head);
  auto source = std::make_unique<http::UpstreamBody>(std::move(answer));
  if (length) {
    response.body = http::SizedBody{std::move(source), *length};
  } else {
    response.body = http::StreamedBody{std::move(source)};
  }
  // A stream without an end would keep its slot for ever.
  if (!passage.is_event_stream) hold_turn(response, std::move(passage.turn));
  return response;
}

}  // namespace

HttpUpstream::HttpUpstream(std::size_t lane, std::unique_ptr<http::UpstreamGroup> group)
    : Upstream(group->name(), lane), group_(std::move(group)) {}

std::vector<http::UpstreamStatus> HttpUpstream::status() const {
  return group_->status(platform::Executor::current()->now());
}

bool HttpUpstream::is_usable() const {
  return std::ranges::any_of(status(), [](const http::UpstreamStatus& member) {
    return member.state == http::UpstreamState::Healthy ||
           member.state == http::UpstreamState::Ejected;
  });
}

std::string HttpUpstream::last_failure() const {
  const std::lock_guard lock(lock_);
  return last_failure_;
}

http::Response HttpUpstream::refuse(const http::Request& request, const base::Error& error,
                                    bool is_clients) {
  base::Error told = error;
  if (is_clients && error.code == base::Code::Timeout) {
    told.message = "the request was not done before its deadline";
  } else if (is_clients) {
    return kit::refuse(request, told);
  } else if (error.code == base::Code::UpstreamFail || error.code == base::Code::Timeout) {
    told.message = "the upstream '" + name() + "' " +
                   (error.code == base::Code::Timeout ? "did not answer in time" : "failed");
    const std::lock_guard lock(lock_);
    last_failure_ = error.message;
  }
  return kit::refuse(request, told);
}

Task<http::Response> HttpUpstream::forward(Passage* passage) {
  const http::Request& from = *passage->request;
  const ForwardHead head(from, *passage->client);
  http::ClientRequest request{.method = from.head->method,
                              .target = from.head->target,
                              .host = passage->keep_host ? from.head->host : std::string_view(),
                              .fields = head.fields()};
  http::SendProgress progress;
  request.progress = &progress;
  base::Buffer checked;
  base::ByteView checked_view;
  if (from.head->has_body() && from.body->is_encoded()) {
    // What a body decodes to can only be judged when all of it is there.
    auto body = co_await from.body->read_checked();
    if (!body) co_return kit::refuse(from, body.error());
    checked = std::move(*body);
    checked_view = checked.view();
    request.body = {&checked_view, 1};
  } else if (from.head->has_body()) {
    request.source = passage->upload;
    request.source_bytes = from.head->content_length;
  }
  const http::AnswerTime time = answer_time(from, passage->answer_within);
  // Its time begins with its turn, and without one that has to be waited for, with all of the body.
  runtime::Deadline until = from.deadline;
  if (!passage->body_takes_its_time) until = until.sooner(runtime::Deadline::in(time.within));
  auto answer = co_await group_->send(passage->client_of_core, request, until, time);
  if (!answer) {
    const bool is_late = answer.error().code == base::Code::Timeout && from.deadline.passed();
    const bool is_clients = progress.body_failed || (time.is_hurried && is_late);
    if (!is_clients) passage->turn.served();
    co_return refuse(from, answer.error(), is_clients);
  }
  passage->turn.served();
  // Its head was in time; the rest takes as long as its reader does, if it goes on.
  answer->set_deadline(runtime::Deadline());
  co_return response_of(std::move(*answer), from.head->method, *passage);
}

}  // namespace ron::gateway
