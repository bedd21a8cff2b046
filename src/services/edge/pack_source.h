// PackSource: bytes of a pack's file as a response body, one verified piece at a time.
#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "base/units.h"
#include "http/body_source.h"
#include "http/request.h"
#include "http/response.h"
#include "platform/task.h"
#include "services/edge/mount.h"

namespace ron::edge {

// Lives with its response, on the connection's core. Holds one piece, and the mount it began with.
class PackSource final : public http::BodySource {
 public:
  // Whole groups of verification, so that none is read twice.
  static constexpr std::uint64_t kPieceBytes = 256 * base::kKiB;

  PackSource(MountPtr mount, std::uint64_t offset, std::uint64_t length, base::Buffer first);

  // Cancel-safe.
  platform::Task<base::Result<base::ByteView>> next() override;

 private:
  MountPtr mount_;
  std::uint64_t offset_;
  std::uint64_t left_;
  base::Buffer piece_;
  bool is_first_ = true;
};

// The answer to GET or HEAD of the file: conditions and ranges as the request has them. Nothing is
// loaded but the piece that is sent. Cancel-safe.
platform::Task<http::Response> send_file(MountPtr mount, http::Request* request);

}  // namespace ron::edge
