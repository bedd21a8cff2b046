// Server: where the requests of a command go.
//
// Finds the host's addresses once, when the first request is sent, and keeps to the first of them
// that answers. One executor; outlives its requests.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/server_url.h"
#include "http/client.h"
#include "platform/resolver.h"
#include "runtime/permit.h"

namespace ron::cli {

class Server {
 public:
  Server(http::Client& client, platform::Resolver& resolver, const ServerUrl& url)
      : client_(client), resolver_(resolver), url_(url), authority_(url.authority()) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // As Client::send; endpoint and host are set here. UpstreamFail also where the host is not found.
  // Cancel-safe.
  platform::Task<base::Result<http::ClientResponse>> send(http::ClientRequest request,
                                                          runtime::Deadline deadline);
  // An answer has come from there.
  [[nodiscard]] bool answered() const noexcept { return answered_; }

 private:
  platform::Task<base::Result<void>> find();

  http::Client& client_;
  platform::Resolver& resolver_;
  const ServerUrl url_;
  const std::string authority_;
  runtime::Semaphore finding_{1};
  std::vector<platform::Endpoint> endpoints_;  // empty until they are found
  std::size_t current_ = 0;
  bool answered_ = false;
};

}  // namespace ron::cli
