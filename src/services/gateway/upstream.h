// Upstream: whoever answers what the gateway lets through. A service of this process or a group of
// servers (in_process.h, http_upstream.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client.h"
#include "http/request.h"
#include "http/response.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "services/gateway/client_address.h"
#include "services/gateway/fair_queue.h"
#include "services/gateway/upload_turn.h"

namespace ron::gateway {

// A request on its way through. What it points to outlives the call, not the answer.
struct Passage {
  http::Request* request;
  const ClientAddress* client;
  http::Client* client_of_core;
  runtime::Deadline deadline;
  base::Duration answer_within;  // what the upstream has, once it has all of the request
  bool body_takes_its_time;      // the time its client needs; then that is when
  bool keep_host;
  bool is_event_stream = false;  // the answer goes on for as long as its client likes
  Turn turn;                     // until the last byte of the answer came
  UploadTurn* upload;  // the request's body, and what becomes of the turn meanwhile; null: none
  std::shared_ptr<const void> owner;  // keeps the upstream
};

// Any core.
class Upstream {
 public:
  // `lane` is its place in the fair queue.
  Upstream(std::string name, std::size_t lane) : name_(std::move(name)), lane_(lane) {}
  Upstream(const Upstream&) = delete;
  Upstream& operator=(const Upstream&) = delete;
  virtual ~Upstream() = default;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::size_t lane() const noexcept { return lane_; }

  // The answer, whose body may still be on its way; or the envelope that says why there is none.
  // Cancel-safe: aborting takes the work at the upstream along.
  virtual platform::Task<http::Response> forward(Passage* passage) = 0;
  // False: nothing would come of asking it now.
  [[nodiscard]] virtual bool is_usable() const = 0;
  // A service of this process.
  [[nodiscard]] virtual bool is_in_process() const noexcept { return false; }
  // It says itself which pages of other origins may use it.
  [[nodiscard]] virtual bool judges_origins() const noexcept { return false; }

 private:
  const std::string name_;
  const std::size_t lane_;
};

}  // namespace ron::gateway
