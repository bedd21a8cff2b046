// What the parts of `ron doctor` that look at the disk share.
#pragma once

#include <string>

#include "app/finding.h"

namespace ron::app {

// The directory, or the nearest one above it that is there: where it would be made.
std::string existing_part(std::string path);

// Whether a start could make and use the directory that `key` names; says why not.
bool look_at_directory(const std::string& key, const std::string& path, Findings& out);

}  // namespace ron::app
