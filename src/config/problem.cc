#include "config/problem.h"

#include <algorithm>

namespace ron::config {

std::string Source::text() const {
  switch (layer) {
    case Layer::Default:
      return "default";
    case Layer::Environment:
      return "env " + name;
    case Layer::Flag:
      return "flag";
    case Layer::File:
      break;
  }
  std::string out = name;
  if (line != 0) out += ":" + std::to_string(line);
  if (column != 0) out += ":" + std::to_string(column);
  return out;
}

std::string Problem::text() const {
  std::string out = source.text() + ": ";
  if (!key.empty()) out += key + ": ";
  out += what;
  if (!allowed.empty()) out += "; allowed " + allowed;
  if (!nearest.empty()) out += "; did you mean " + nearest + "?";
  return out;
}

void Problems::add(Problem problem) {
  if (full()) {
    ++dropped_;
    return;
  }
  kept_.push_back(std::move(problem));
}

void Problems::add(std::string key, std::string what) {
  Problem problem;
  problem.kind = Problem::Kind::Conflict;
  problem.key = std::move(key);
  problem.what = std::move(what);
  add(std::move(problem));
}

bool Problems::has(Problem::Kind kind) const noexcept {
  return std::any_of(kept_.begin(), kept_.end(), [&](const Problem& p) { return p.kind == kind; });
}

std::string Problems::text() const {
  std::string out;
  for (const Problem& problem : kept_) out += problem.text() + "\n";
  if (dropped_ > 0) out += "and " + std::to_string(dropped_) + " more\n";
  return out;
}

}  // namespace ron::config
