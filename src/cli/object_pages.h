// ObjectPages: the addresses of all objects of a server, a page of GET /admin/objects at a time;
// and what else operators may know of an object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "cli/session.h"
#include "platform/task.h"

namespace ron::cli {

// The addresses on one page. UpstreamFail when it is something else.
base::Result<std::vector<base::ObjectId>> parse_object_page(std::string_view json);

// Some of the tenants that hold an object, as GET /admin/objects/{addr} has them.
struct ObjectHolders {
  std::vector<std::string> tenants;
  bool more = false;
};
// UpstreamFail when it is something else.
base::Result<ObjectHolders> parse_object_holders(std::string_view json);

// One task.
class ObjectPages {
 public:
  explicit ObjectPages(Session& session) noexcept : session_(session) {}

  // Empty at the end. Objects that come and go meanwhile may or may not be among them. Cancel-safe.
  platform::Task<base::Result<std::vector<base::ObjectId>>> next();

 private:
  Session& session_;
  std::string after_;
};

}  // namespace ron::cli
