// Client: HTTP/1.1 requests to other servers over pooled connections.
//
//   Client client(host.net, {}, meters);
//   auto response = co_await client.send({.endpoint = at, .target = "/o/" + address}, deadline);
//   if (response) { auto body = co_await response->read_all(base::kMiB); … }
//
// One executor, the one of its first use: every core has a client of its own. Outlives its requests
// and responses; close() waits for them. Requests are serialised from structured form and answers
// parsed strictly, so that neither side of a proxy can be made to see another message than we do.
//
// Bodies stream both ways: a request's comes from a BodySource, an answer's is pulled, each as fast
// as the other side takes it. An upstream may answer before it has taken the whole request: the
// answer is delivered, the rest is not sent, and the connection is not used again.
//
// Errors: UpstreamFail (unknown host, cannot connect, closed, not HTTP), Timeout (a deadline or
// timeout passed), Busy (too many wait for the endpoint), NotAllowed (the address may not be used),
// Canceled (the client is closing), Malformed (a request that cannot be written), HeadTooLarge, or
// what the request body's source failed with. A status of 4xx or 5xx is an answer, not an error.
//
// A request on a kept connection that the upstream had closed meanwhile is sent once more, on a new
// connection, if it is idempotent, not a byte of an answer was received, its body is still at hand
// and its caller does not forbid it (ClientRequest::may_resend). Of a host with several addresses,
// the next one is tried when one does not connect. Nothing else is tried again here: that is for
// the caller (runtime/retry.h), who learns from SendProgress how far the request got.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "base/units.h"
#include "http/client_metrics.h"
#include "http/client_pool.h"
#include "http/client_request.h"
#include "http/client_response.h"
#include "http/client_settings.h"
#include "http/name_cache.h"
#include "platform/net.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/meter.h"

namespace ron::http {

// The most one exchange holds besides what its caller gives: the head of the request, the head of
// the answer with what came behind it, one piece of the body, its state. While it waits for the
// body it holds no piece; a kept connection holds none of this.
inline constexpr std::size_t kExchangeStateBytes = 4 * base::kKiB;
inline constexpr std::size_t kExchangeBytes =
    2 * ReadBuffer::kBytes + BodyBuffer::kBytes + kExchangeStateBytes;
// The same over TLS.
inline constexpr std::size_t kSecuredExchangeBytes = kExchangeBytes + platform::kTlsStreamBytes;

class Client {
 public:
  Client(platform::Net& net, ClientSettings settings, runtime::Meters& meters);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Resolves once the answer's head is there; the deadline goes on to hold for the body. Views in
  // `request` must outlive the task. Cancel-safe: aborting closes the connection.
  platform::Task<base::Result<ClientResponse>> send(ClientRequest request,
                                                    runtime::Deadline deadline);

  // Refuses new requests and waits for those under way; at the deadline cuts them, and says how
  // many. Once. Cancel-safe.
  platform::Task<std::size_t> close(runtime::Deadline deadline);

 private:
  using Lease = ClientPool::Lease;

  // The addresses of a host, in the order in which one request tries them.
  struct Route {
    std::shared_ptr<Addresses> addresses;
    Addresses::Order order;
  };

  // An idle connection that the request can leave on at once; else what is known of the way.
  [[nodiscard]] Lease take_idle(const ClientRequest& request, Route& route);
  platform::Task<base::Result<Lease>> connect(const ClientRequest* request, Route route,
                                              runtime::Deadline deadline);
  platform::Task<base::Result<Lease>> connect_by_name(const ClientRequest* request, Route route,
                                                      runtime::Deadline deadline);

  const ClientSettings settings_;
  ClientMeters meters_;
  BodyBufferPool body_buffers_;
  NameCache names_;
  ClientPool pool_;
};

}  // namespace ron::http
