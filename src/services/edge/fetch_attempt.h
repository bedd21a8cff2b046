// FetchAttempt: one thing that is asked of an origin; each run is one try. The request, its
// redirects, and the answer judged and taken.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/client.h"
#include "platform/clock.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/permit.h"
#include "services/edge/config.h"
#include "services/edge/egress.h"
#include "services/edge/fetch.h"

namespace ron::edge {

// What every failure says in its details, as `reason`.
namespace reason {
inline constexpr std::string_view kNotAllowed = "not_allowed";      // edge.allow does not have it
inline constexpr std::string_view kAddress = "address";             // not one to connect to
inline constexpr std::string_view kConnect = "connect";             // nobody answered
inline constexpr std::string_view kCertificate = "certificate";     // nobody to trust
inline constexpr std::string_view kTimeout = "timeout";             //
inline constexpr std::string_view kStatus = "status";               // an answer that is of no use
inline constexpr std::string_view kRedirect = "redirect";           // to nowhere, or to no https
inline constexpr std::string_view kRedirectLoop = "redirect_loop";  //
inline constexpr std::string_view kBroken = "broken";               // not HTTP, or not whole
inline constexpr std::string_view kCoding = "coding";               // one that cannot be taken off
inline constexpr std::string_view kBodyCap = "body_cap";            //
inline constexpr std::string_view kDecompressCap = "decompress_cap";
inline constexpr std::string_view kEtagInvalid = "etag_invalid";
}  // namespace reason

// Empty when it has none.
std::string_view reason_of(const base::Error& error) noexcept;

// What holds for a fetch from its first try to its last. All of it outlives the attempt.
struct FetchRules {
  const EdgeConfig* config;
  const AllowList* allow;
};

// Of one core.
struct FetchTools {
  http::Client* client;
  const platform::Clock* clock;
  runtime::Semaphore* decoders;  // bodies that are being decoded: each takes megabytes
  runtime::Counter* received_bytes;
};

class FetchAttempt {
 public:
  static constexpr std::size_t kMaxRedirects = 5;

  // A result or an error is final if it is inside; an error outside may be mended by another try.
  using Tried = base::Result<base::Result<Fetched>>;

  FetchAttempt(FetchTools tools, FetchRules rules, const FetchRequest& request, OriginUrl url,
               BodySink& sink);

  // Cancel-safe: aborting closes the connection.
  platform::Task<Tried> run(runtime::Deadline deadline);

  // What was sent again because a kept connection was stale counts as well.
  [[nodiscard]] std::uint32_t tries() const noexcept { return tries_ + resent_; }
  [[nodiscard]] bool may_try_again() const noexcept {
    return tries() < rules_.config->fill.max_tries;
  }
  // Where it was last, after redirects.
  [[nodiscard]] const OriginUrl& at() const noexcept { return at_; }
  // The sink did not take the body: the origin is not to blame.
  [[nodiscard]] bool sink_failed() const noexcept { return sink_failed_; }

 private:
  platform::Task<base::Result<http::ClientResponse>> ask(http::SendProgress* progress,
                                                         runtime::Deadline deadline);
  base::Result<OriginUrl> next_hop(const http::ClientResponse& response,
                                   const std::vector<OriginUrl>& seen) const;
  void note_redirect(const http::ClientResponse& response);
  // What is asked for now is what the validators are of.
  [[nodiscard]] bool is_conditional() const;
  [[nodiscard]] bool confirms(const http::ClientResponse& response) const;
  [[nodiscard]] Fetched head_of(const http::ClientResponse& response) const;
  Tried refuse_status(const http::ClientResponse& response) const;
  platform::Task<Tried> take_body(http::ClientResponse response, Fetched fetched,
                                  runtime::Deadline deadline);
  platform::Task<Tried> copy(http::ClientResponse* response, http::Coding coding, Fetched fetched);

  FetchTools tools_;
  FetchRules rules_;
  const FetchRequest& request_;
  const OriginUrl url_;
  BodySink& sink_;
  OriginUrl at_;
  Restraints restraints_;  // of the redirects so far
  std::uint32_t tries_ = 0;
  std::uint32_t resent_ = 0;
  std::int64_t requested_ms_ = 0;
  std::int64_t received_ms_ = 0;
  bool unconditional_ = false;  // the origin confirmed something else than what it was asked about
  bool sink_failed_ = false;
};

}  // namespace ron::edge
