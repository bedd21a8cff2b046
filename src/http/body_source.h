// BodySource: a body that is produced piece by piece, as fast as whoever sends it takes the pieces.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "platform/task.h"

namespace ron::http {

// A piece stays valid until the next call; an empty one ends the body. An error after the head has
// left cuts the connection, so that nobody takes half a message for a whole. A wait in next() may
// be aborted: the body is then not asked for again.
class BodySource {
 public:
  BodySource() = default;
  BodySource(const BodySource&) = delete;
  BodySource& operator=(const BodySource&) = delete;
  virtual ~BodySource() = default;

  virtual platform::Task<base::Result<base::ByteView>> next() = 0;
};

}  // namespace ron::http
