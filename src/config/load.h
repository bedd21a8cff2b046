// Loading: from inputs to an immutable, fully typed configuration, or to the list of every problem.
#pragma once

#include <expected>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "config/layers.h"
#include "config/problem.h"
#include "config/section.h"

namespace ron::config {

// Config: one loaded configuration. An immutable snapshot, shared between threads freely; a reload
// makes a new one. The sections it was loaded with must outlive it.
class Config {
 public:
  struct Built {
    const AnySection* section;
    std::shared_ptr<const void> value;
  };
  Config(std::vector<Entry> entries, std::vector<Built> sections)
      : entries_(std::move(entries)), sections_(std::move(sections)) {}

  // The section's struct; null when the section was not in the schema.
  template <class T>
  [[nodiscard]] std::shared_ptr<const T> get(const Section<T>& section) const {
    for (const Built& built : sections_) {
      if (built.section == &section) return std::static_pointer_cast<const T>(built.value);
    }
    return nullptr;
  }

  // One per key, in schema order.
  [[nodiscard]] std::span<const Entry> entries() const noexcept { return entries_; }
  // Null when there is no such key.
  [[nodiscard]] const Entry* find(std::string_view full_key) const noexcept;

 private:
  std::vector<Entry> entries_;
  std::vector<Built> sections_;
};

using Outcome = std::expected<std::shared_ptr<const Config>, Problems>;

// Never stops at the first problem: unknown names, wrong types and broken bounds of every section
// are reported together; cross-key checks run for sections whose own values are all good. Only the
// strongest layer's value of a key is judged.
Outcome load(const Schema& schema, const Inputs& inputs);

// Defects of the declarations themselves: malformed or clashing names, defaults that break their
// own bounds, bounds that cannot be read. A unit test of every service expects none.
Problems check_declarations(const Schema& schema);

}  // namespace ron::config
