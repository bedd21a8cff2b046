#include "platform/posix/rocks_key_value.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "platform/contract_world.h"

namespace ron::platform::posix {
namespace {

namespace fs = std::filesystem;
using base::Code;
using test::code_of;

constexpr KeyValueOptions kSmall{.cache_bytes = 1 << 20};
constexpr std::size_t kKeys = 2000;

struct Machine {
  explicit Machine(std::size_t blocking_queue = 256)
      : host({.cores = 1, .blocking_threads = 1, .blocking_queue = blocking_queue}) {}
  void run(Task<void> task) {
    std::vector<Task<void>> tasks;
    tasks.push_back(std::move(task));
    EXPECT_TRUE(test::run_tasks(host, std::move(tasks))) << "hung";
  }
  KeyValues* maps() { return &host.host().key_values; }

  test::ScratchDirectory scratch;
  std::string path = scratch.path() + "/map";
  PosixHost host;
};

std::string key(std::size_t number) { return "key" + std::to_string(10'000 + number); }
std::string value(std::size_t number) {
  return std::string(50, static_cast<char>('a' + number % 26));
}

Task<base::Result<void>> write_half(KeyValue* map, std::size_t half) {
  KeyValueBatch batch;
  for (std::size_t i = half * kKeys / 2; i < (half + 1) * kKeys / 2; ++i) {
    batch.put(key(i), value(i));
  }
  base::Result<void> written = co_await map->write(std::move(batch));
  co_return written;
}

// Two tables of a thousand keys each.
Task<void> make_map(KeyValues* maps, std::string path) {
  auto map = co_await maps->open(path, kSmall);
  EXPECT_TRUE(map.has_value());
  for (std::size_t half = 0; half < 2; ++half) {
    const base::Result<void> written = co_await write_half(map->get(), half);
    EXPECT_TRUE(written.has_value());
    const base::Result<void> flushed = co_await (*map)->flush();
    EXPECT_TRUE(flushed.has_value());
  }
}

void flip(const fs::path& file, std::uint64_t offset) {
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekg(static_cast<std::streamoff>(offset));
  const int old = bytes.get();
  bytes.seekp(static_cast<std::streamoff>(offset));
  bytes.put(static_cast<char>(old ^ 0x10));
}

std::vector<fs::path> files_named(const std::string& directory, std::string_view part) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().filename().string().contains(part)) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

struct Checked {
  std::size_t right = 0;
  std::size_t refused = 0;  // with IntegrityFail; all of them when the map does not open
};

// Every key is either right or refused.
Task<void> check_keys(KeyValues* maps, std::string path, Checked* checked) {
  const auto map = co_await maps->open(path, kSmall);
  if (!map) {
    EXPECT_EQ(map.error().code, Code::IntegrityFail) << map.error().message;
    checked->refused = kKeys;
    co_return;
  }
  for (std::size_t i = 0; i < kKeys; ++i) {
    const base::Result<std::optional<std::string>> found = co_await (*map)->get(key(i));
    if (found) EXPECT_EQ(found->value_or("lost"), value(i));
    if (!found) EXPECT_EQ(found.error().code, Code::IntegrityFail) << found.error().message;
    ++(found ? checked->right : checked->refused);
  }
  const auto pairs = co_await (*map)->scan("", "", kKeys + 1);
  if (pairs) EXPECT_EQ(pairs->size(), kKeys);
  if (!pairs) EXPECT_EQ(pairs.error().code, Code::IntegrityFail);
}

Task<void> private_files(KeyValues* maps, std::string path) {
  co_await make_map(maps, path);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0700));
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(path)) {
    EXPECT_EQ(entry.status().permissions(), fs::perms(0600)) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 4U);
}
TEST(RocksKeyValues, FilesArePrivateWhateverTheMask) {
  const mode_t before = umask(0);
  Machine machine;
  machine.run(private_files(machine.maps(), machine.path));
  umask(before);
}

Task<void> damage_tables(KeyValues* maps, std::string root) {
  co_await make_map(maps, root + "/map");
  const std::string copy = root + "/copy";
  const std::uint64_t bytes = fs::file_size(files_named(root + "/map", ".sst").front());
  std::size_t partly = 0;
  for (std::uint64_t offset = 10; offset < bytes; offset += bytes / 23) {
    fs::remove_all(copy);
    fs::copy(root + "/map", copy);
    flip(files_named(copy, ".sst").front(), offset);
    Checked checked;
    co_await check_keys(maps, copy, &checked);
    if (checked.right != 0 && checked.refused != 0) ++partly;
  }
  EXPECT_GT(partly, 10U);
}
TEST(RocksKeyValues, DamagedTablesAreReportedAndNeverBelieved) {
  Machine machine;
  machine.run(damage_tables(machine.maps(), machine.scratch.path()));
}

Task<void> damage_root(KeyValues* maps, std::string root) {
  co_await make_map(maps, root + "/map");
  const std::string copy = root + "/copy";
  for (const std::string_view part : {"MANIFEST", "CURRENT", ".sst"}) {
    fs::remove_all(copy);
    fs::copy(root + "/map", copy);
    fs::remove(files_named(copy, part).front());
    EXPECT_EQ(code_of(co_await maps->open(copy, kSmall)), Code::IntegrityFail) << part;
    EXPECT_EQ(code_of(co_await maps->open(copy, kSmall)), Code::IntegrityFail) << part;
    EXPECT_TRUE((co_await maps->destroy(copy)).has_value()) << part;
    EXPECT_FALSE(fs::exists(copy));
    EXPECT_TRUE((co_await maps->open(copy, kSmall)).has_value());
  }
}
TEST(RocksKeyValues, MissingFilesAreDamage) {
  Machine machine;
  machine.run(damage_root(machine.maps(), machine.scratch.path()));
}

Task<void> damage_manifest(KeyValues* maps, std::string root) {
  co_await make_map(maps, root + "/map");
  const std::string copy = root + "/copy";
  const std::uint64_t bytes = fs::file_size(files_named(root + "/map", "MANIFEST").front());
  for (std::uint64_t offset = 0; offset < bytes; ++offset) {
    fs::remove_all(copy);
    fs::copy(root + "/map", copy);
    flip(files_named(copy, "MANIFEST").front(), offset);
    Checked checked;
    SCOPED_TRACE("offset " + std::to_string(offset) + " of " + std::to_string(bytes));
    co_await check_keys(maps, copy, &checked);
  }
}
TEST(RocksKeyValues, ADamagedManifestIsNeverBelieved) {
  Machine machine;
  machine.run(damage_manifest(machine.maps(), machine.scratch.path()));
}

// Files larger than this cannot be written.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    signal_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit low{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &low);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  rlimit before_{};
  void (*signal_)(int) = nullptr;
};

Task<void> fail_and_reopen(KeyValues* maps, std::string path) {
  auto map = co_await maps->open(path, kSmall);
  EXPECT_TRUE((co_await write_half(map->get(), 0)).has_value());
  {
    const FileSizeLimit limit(4096);
    EXPECT_EQ(code_of(co_await (*map)->flush()), Code::StorageBusy);
    const base::Result<std::optional<std::string>> read = co_await (*map)->get(key(1));
    EXPECT_EQ(read->value_or("lost"), value(1));
  }
  // Such an error is for good: only opening it again helps, and what was not flushed is gone.
  EXPECT_EQ(code_of(co_await write_half(map->get(), 1)), Code::StorageBusy);
  map->reset();
  map = co_await maps->open(path, kSmall);
  EXPECT_TRUE((co_await write_half(map->get(), 0)).has_value());
  EXPECT_TRUE((co_await write_half(map->get(), 1)).has_value());
  EXPECT_TRUE((co_await (*map)->flush()).has_value());
  map->reset();
  Checked checked;
  co_await check_keys(maps, path, &checked);
  EXPECT_EQ(checked.right, kKeys);
}
TEST(RocksKeyValues, AfterAnInputOutputErrorItCanBeOpenedAgain) {
  Machine machine;
  machine.run(fail_and_reopen(machine.maps(), machine.path));
}

Task<void> flush_and_count(KeyValue* map, std::size_t* done) {
  EXPECT_TRUE((co_await map->flush()).has_value());
  ++*done;
}
Task<void> scan_and_count(KeyValue* map, std::size_t* done) {
  const auto pairs = co_await map->scan("", "", 10);
  EXPECT_TRUE(pairs.has_value() && pairs->size() == 10U);
  ++*done;
}
Task<void> many_at_once(KeyValues* maps, std::string path) {
  constexpr std::size_t kCallers = 600;
  auto map = co_await maps->open(path, kSmall);
  EXPECT_TRUE((co_await write_half(map->get(), 0)).has_value());
  std::size_t done = 0;
  std::vector<std::unique_ptr<test::Root>> callers;
  for (std::size_t i = 0; i < kCallers; ++i) {
    callers.push_back(std::make_unique<test::Root>(
        *Executor::current(),
        i % 20 == 0 ? flush_and_count(map->get(), &done) : scan_and_count(map->get(), &done)));
  }
  while (done < kCallers) co_await test::pause(std::chrono::milliseconds(1));
}
TEST(RocksKeyValues, AFullPoolDelaysAndRefusesNobody) {
  Machine machine(1);
  machine.run(many_at_once(machine.maps(), machine.path));
}

}  // namespace
}  // namespace ron::platform::posix
