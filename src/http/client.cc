#include "http/client.h"

#include <string>
#include <utility>
#include <vector>

#include "http/client_exchange.h"
#include "http/message.h"

namespace ron::http {

using base::Code;
using base::fail;

namespace {

constexpr Field kExpectContinue{"Expect", "100-continue"};

Framing framing(const ClientRequest& request) noexcept {
  if (request.source != nullptr) return request.source_bytes ? Framing::Length : Framing::Chunked;
  const bool announces = request.method == Method::Put || request.method == Method::Post ||
                         request.method == Method::Patch;
  return announces || request.body_bytes() > 0 ? Framing::Length : Framing::None;
}

bool render_head(const ClientRequest& request, HeadBuffer& out) {
  std::vector<Field> fields(request.fields.begin(), request.fields.end());
  for (const Field& field : fields) {
    if (known_field(field.name) == KnownField::Expect) return false;
  }
  if (request.expect_continue) fields.push_back(kExpectContinue);
  const std::string endpoint = request.endpoint.text();
  RequestOut head;
  head.method = method_name(request.method);
  head.target = request.target;
  head.host = request.host.empty() ? std::string_view(endpoint) : request.host;
  head.framing = framing(request);
  head.content_length =
      request.source != nullptr ? request.source_bytes.value_or(0) : request.body_bytes();
  head.fields = fields;
  return render(head, out);
}

}  // namespace

Client::Client(platform::Net& net, ClientSettings settings, runtime::Meters& meters)
    : settings_(settings), meters_(meters), pool_(net, settings_, meters_) {}

platform::Task<base::Result<ClientResponse>> Client::send(ClientRequest request,
                                                          runtime::Deadline deadline) {
  HeldBuffer memory(pool_.buffers(), pool_.buffers().take());
  HeadBuffer head(memory.memory());
  if (!render_head(request, head)) {
    co_return fail(Code::Malformed, "the request cannot be written as an HTTP/1.1 head");
  }
  base::Result<ClientPool::Lease> lease =
      co_await pool_.acquire({request.endpoint, std::string(request.tls_host)}, deadline);
  if (!lease) co_return fail(std::move(lease.error()));
  auto state = std::make_unique<ClientResponse::State>();
  state->buffers = &pool_.buffers();
  state->meters = &meters_;
  state->read_timeout = settings_.read_timeout;
  state->deadline = deadline;
  state->lease = std::move(*lease);
  Exchange exchange(request, head.view(), deadline, settings_, meters_, state->head);
  base::Result<> done = co_await exchange.run(&state->lease.link());
  if (!done && state->lease.reused() && exchange.repeatable()) {
    meters_.stale_retries.add();
    done = co_await state->lease.reconnect(deadline);
    if (!done) co_return fail(std::move(done.error()));
    done = co_await exchange.run(&state->lease.link());
  }
  if (!done && exchange.closed()) meters_.closed.add();
  if (!done) co_return fail(std::move(done.error()));
  ClientResponse response(std::move(state));
  response.begin_body(exchange.head_bytes(), exchange.sent_whole());
  co_return std::move(response);
}

}  // namespace ron::http
