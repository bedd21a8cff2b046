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
// Errors: UpstreamFail (cannot connect, closed, not HTTP), Timeout (a deadline or timeout passed),
// Busy (too many wait for the endpoint), Canceled (the client is closing), Malformed (a request
// that cannot be written), or what the request body's source failed with. A status of 4xx or 5xx is
// an answer, not an error.
//
// A request on a kept connection that the upstream had closed meanwhile is sent once more, on a new
// connection, if it is idempotent and not a byte of an answer was received. Nothing else is tried
// again here: that is for runtime/retry.h, around send().
#pragma once

#include "base/result.h"
#include "http/client_metrics.h"
#include "http/client_pool.h"
#include "http/client_request.h"
#include "http/client_response.h"
#include "http/client_settings.h"
#include "platform/net.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/meter.h"

namespace ron::http {

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
  platform::Task<std::size_t> close(runtime::Deadline deadline) { return pool_.close(deadline); }

 private:
  const ClientSettings settings_;
  ClientMeters meters_;
  ClientPool pool_;
};

}  // namespace ron::http
