#include "services/edge/book.h"

#include <mutex>
#include <optional>
#include <utility>

#include "base/value.h"
#include "services/edge/wires.h"
#include "volume/files.h"

namespace ron::edge {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;
using platform::Task;

constexpr std::string_view kFormat = "edge-book/1";

std::string print(const Book::Entries& entries) {
  Value::Map map;
  for (const auto& [name, value] : entries) map.emplace(name, value);
  return base::print_json(Value::Map{{"entries", std::move(map)}, {"ron", std::string(kFormat)}});
}

Result<void> check_entry(const std::string& name, const std::string& value) {
  if (name.empty() || name.size() > Book::kMostNameBytes) {
    return fail(Code::Malformed, "a name that is kept has 1 to 64 bytes");
  }
  if (value.size() > Book::kMostValueBytes) {
    return fail(Code::Malformed, "what is kept for a name has at most 4,096 bytes");
  }
  return {};
}

Result<Book::Entries> parse(std::string_view text) {
  const auto value = base::parse_json(text);
  if (!value) return fail(value.error());
  const Value* const format = value->find("ron");
  if (format == nullptr || format->text() == nullptr || *format->text() != kFormat) {
    return fail(Code::Malformed, "it is not a document of edge-book/1");
  }
  const Value* const listed = value->find("entries");
  const Value::Map* const map = listed != nullptr ? listed->map() : nullptr;
  if (map == nullptr) return fail(Code::Malformed, "it has no entries");
  if (map->size() > Book::kMostEntries) return fail(Code::Malformed, "it has too many entries");
  Book::Entries entries;
  for (const auto& [name, one] : *map) {
    if (one.text() == nullptr) return fail(Code::Malformed, "the entry '" + name + "' is no text");
    if (auto sound = check_entry(name, *one.text()); !sound) return fail(sound.error());
    entries.emplace(name, *one.text());
  }
  return entries;
}

// Nothing: there is no such file.
Task<Result<std::optional<std::string>>> read_text(platform::Disk* disk, std::string path) {
  auto file = co_await disk->open(path, {platform::OpenMode::ReadExisting, false});
  if (!file && file.error().code == Code::NotFound) co_return std::nullopt;
  if (!file) co_return fail(std::move(file.error()));
  const auto size = co_await (*file)->size();
  if (!size) co_return fail(size.error());
  if (*size > Book::kMostFileBytes) co_return fail(Code::IntegrityFail, "it is too large");
  auto bytes = co_await (*file)->read_at(0, base::Buffer(*size));
  if (!bytes) co_return fail(std::move(bytes.error()));
  co_return std::string(base::as_text(bytes->view()));
}

}  // namespace

Book::Book(platform::Disk& disk, std::string path)
    : disk_(disk), path_(std::move(path)), lock_(kBookLock) {}

Task<Result<>> Book::open() {
  if (path_.empty()) co_return Result<>();
  const auto text = co_await read_text(&disk_, path_);
  if (!text) co_return fail(text.error().code, path_ + ": " + text.error().message);
  if (!*text) co_return Result<>();
  auto entries = parse(**text);
  if (!entries) {
    co_return fail(Code::IntegrityFail,
                   path_ + " is damaged: " + entries.error().message +
                       "; put a copy back, or move it away to start without what it held");
  }
  const std::lock_guard guard(lock_);
  entries_ = std::move(*entries);
  co_return Result<>();
}

Book::Entries Book::all() const {
  const std::lock_guard guard(lock_);
  return entries_;
}

std::optional<std::string> Book::find(const std::string& name) const {
  const std::lock_guard guard(lock_);
  const auto found = entries_.find(name);
  return found != entries_.end() ? std::optional(found->second) : std::nullopt;
}

Task<Result<>> Book::set(std::string name, std::string value) {
  if (auto sound = check_entry(name, value); !sound) co_return fail(sound.error());
  const runtime::Semaphore::Permit turn = co_await changing_.acquire(runtime::Deadline());
  Entries next = all();
  const bool is_full = next.size() >= kMostEntries && !next.contains(name);
  if (is_full) co_return fail(Code::Quota, "1,024 entries are kept already");
  next.insert_or_assign(std::move(name), std::move(value));
  co_return co_await replace(std::move(next));
}

Task<Result<bool>> Book::remove(std::string name) {
  const runtime::Semaphore::Permit turn = co_await changing_.acquire(runtime::Deadline());
  Entries next = all();
  if (next.erase(name) == 0) co_return false;
  const Result<> replaced = co_await replace(std::move(next));
  if (!replaced) co_return fail(replaced.error());
  co_return true;
}

// By whoever has the turn.
Task<Result<>> Book::replace(Entries next) {
  if (!path_.empty()) {
    const Result<void> written = co_await write(print(next));
    if (!written) co_return fail(Code::StorageBusy, path_ + ": " + written.error().message);
  }
  const std::lock_guard guard(lock_);
  entries_ = std::move(next);
  co_return Result<>();
}

Task<Result<void>> Book::write(std::string text) {
  const std::size_t slash = path_.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path_.substr(0, slash);
  if (!has_directory_) {
    auto made = co_await disk_.make_directory(directory);
    if (!made) co_return made;
    const std::size_t parent = directory.rfind('/');
    const bool has_parent = parent != std::string::npos && parent != 0;
    made = co_await disk_.sync_directory(has_parent ? directory.substr(0, parent) : ".");
    if (!made) co_return made;
    has_directory_ = true;
  }
  co_return co_await volume::replace_file(&disk_, directory, path_.substr(slash + 1), text);
}

}  // namespace ron::edge
