// Lists of addresses and names: a line per file, `b3:<hex>  name`, as put writes and get reads
// them. A name with a line break or a backslash is written as b3sum writes it: `\n`, `\r` and `\\`
// in the name, and a backslash before the line.
#pragma once

#include <string>
#include <string_view>

#include "base/object_id.h"
#include "base/result.h"

namespace ron::cli {

struct NamedObject {
  base::ObjectId id;
  std::string name;
};

// With its line break.
std::string list_line(const NamedObject& entry);
// A line without its line break. Malformed says what is wrong with it.
base::Result<NamedObject> parse_list_line(std::string_view line);

// The name under which a list refers to `path`: relative and inside, so that it can be fetched into
// any directory. Leading `/`, `./` and everything up to the last `..` are dropped.
std::string portable_name(std::string_view path);
// Malformed for a name that leads out of the directory it is put into: absolute, or with `..`.
base::Result<void> check_inside(std::string_view name);

}  // namespace ron::cli
