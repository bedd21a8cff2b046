// BodySource: a body that is produced piece by piece, as fast as whoever sends it takes it.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "platform/task.h"

namespace ron::http {

// A piece stays valid until the next call; an empty one ends it. An error after the head has left
// cuts the connection, so no client takes half an answer for a whole. Each wait has a deadline of
// the source's own; aborting one ends the source.
class BodySource {
 public:
  BodySource() = default;
  BodySource(const BodySource&) = delete;
  BodySource& operator=(const BodySource&) = delete;
  virtual ~BodySource() = default;

  virtual platform::Task<base::Result<base::ByteView>> next() = 0;
};

}  // namespace ron::http
