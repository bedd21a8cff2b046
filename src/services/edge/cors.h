// Which pages of other origins may use svc-edge: those of `cors.allow_origins`, for reading.
#pragma once

#include "http/router.h"
#include "services/edge/config.h"
#include "services/edge/parts.h"
#include "services/kit/core_copies.h"

namespace ron::edge {

// Any core.
class Cors {
 public:
  explicit Cors(const EdgeParts& parts);
  Cors(const Cors&) = delete;
  Cors& operator=(const Cors&) = delete;

  // At the start and after a reload.
  void apply(const EdgeConfig& config);

  // Has every answer to a request of a page say that the page may have it, if it may.
  [[nodiscard]] http::Handler around(http::Handler inner);
  // To a preflight, and to whoever wants to know what there is. NotAllowed.
  [[nodiscard]] http::Response answer_options(const http::Request& request);

 private:
  platform::Task<http::Response> ask(const http::Handler* inner, http::Request* request);
  void finish(const http::Request& request, http::Response& response);

  kit::CoreCopies<config::TextList> origins_;
};

}  // namespace ron::edge
