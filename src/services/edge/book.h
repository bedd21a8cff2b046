// Book: named entries that outlive the process, kept in one small JSON file: packs and sites that
// were added while it ran.
//
//   {"entries":{"docs":"sites/docs"},"ron":"edge-book/1"}
//
// The file is replaced whole: it has all of a change or nothing of it, whatever happens.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "platform/disk.h"
#include "platform/task.h"
#include "runtime/lock.h"
#include "runtime/permit.h"

namespace ron::edge {

// Any core; one change at a time, in the order they were asked for. The disk outlives it.
class Book {
 public:
  static constexpr std::size_t kMostEntries = 1024;
  static constexpr std::size_t kMostNameBytes = 64;
  static constexpr std::size_t kMostValueBytes = 4096;
  static constexpr std::size_t kMostFileBytes = 32 * base::kMiB;
  // The longest JSON escape takes six bytes; quotes, colon and comma come to fewer than 8.
  static_assert(kMostEntries * (6 * (kMostNameBytes + kMostValueBytes) + 8) + 64 <= kMostFileBytes);

  using Entries = std::map<std::string, std::string>;

  // The directory is made when there is something to keep; its parent is there. Empty path: nothing
  // is kept beyond the process.
  Book(platform::Disk& disk, std::string path);
  Book(const Book&) = delete;
  Book& operator=(const Book&) = delete;

  // Once, before the rest. No file is an empty book. IntegrityFail names the file and what is wrong
  // with it: who starts decides what to do, nothing is thrown away. Not cancel-safe.
  platform::Task<base::Result<>> open();

  [[nodiscard]] Entries all() const;
  [[nodiscard]] std::optional<std::string> find(const std::string& name) const;

  // Durable when they return; after an error of the disk the book is as it was, and the file may
  // have the change or not. Malformed for what is too long, Quota when it is full. Removing says
  // whether it was there. Not cancel-safe: an aborted change may still happen, after the next one,
  // so they are asked for by tasks and not by requests.
  platform::Task<base::Result<>> set(std::string name, std::string value);
  platform::Task<base::Result<bool>> remove(std::string name);

 private:
  platform::Task<base::Result<>> replace(Entries next);
  platform::Task<base::Result<void>> write(std::string text);

  platform::Disk& disk_;
  const std::string path_;
  runtime::Semaphore changing_{1};
  bool has_directory_ = false;  // of whoever has the turn
  mutable runtime::Lock lock_;
  Entries entries_;  // guarded by lock_
};

}  // namespace ron::edge
