#include <cstring>
#include <string>

#include "platform/contract_world.h"
#include "platform/memory_disk.h"

namespace ron::platform::test {
namespace {

using base::Code;

// The real machine, but for its disk.
class MemoryDiskWorld final : public ContractWorld {
 public:
  Host server() override { return machine_.server().with_disk(disk_); }
  Host client() override { return machine_.client(); }
  Endpoint address(std::uint16_t port) override { return machine_.address(port); }
  std::string directory() override { return "/"; }
  bool run(Task<void> on_server, Task<void> on_client) override {
    return static_cast<ContractWorld&>(machine_).run(std::move(on_server), std::move(on_client));
  }

 private:
  MemoryDisk disk_{64 * base::kMiB};
  PosixContractWorld machine_{posix::DiskEngine::Pool};
};

std::vector<ContractCase> disk_cases() {
  std::vector<ContractCase> cases = contract_cases();
  cases.push_back({"Memory",
                   [](std::uint64_t) -> std::unique_ptr<ContractWorld> {
                     return std::make_unique<MemoryDiskWorld>();
                   },
                   1});
  return cases;
}

class DiskContract : public Contract {
 protected:
  using Script = Task<void> (*)(Disk*, std::string root);
  void play(Script script) {
    in_each_world([script](ContractWorld& world) {
      EXPECT_TRUE(world.run(script(&world.server().disk, world.directory()))) << "hung";
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Worlds, DiskContract, testing::ValuesIn(disk_cases()), case_name);

base::Buffer buffer_of(std::string_view text) {
  base::Buffer buffer(text.size());
  std::memcpy(buffer.data(), text.data(), text.size());
  return buffer;
}

constexpr OpenOptions kCreate{OpenMode::CreateOrOpen, false};

Task<std::unique_ptr<File>> open_ok(Disk* disk, std::string path, OpenOptions options) {
  base::Result<std::unique_ptr<File>> file = co_await disk->open(path, options);
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message);
  co_return file ? std::move(*file) : nullptr;
}

Task<std::string> read_text(File* file, std::uint64_t offset, std::size_t bytes) {
  base::Result<base::Buffer> read = co_await file->read_at(offset, base::Buffer(bytes));
  EXPECT_TRUE(read.has_value());
  co_return read ? std::string(base::as_text(read->view())) : "failed";
}

Task<bool> write_text(File* file, std::uint64_t offset, std::string text) {
  base::Result<base::Buffer> written = co_await file->write_at(offset, buffer_of(text));
  if (written) EXPECT_EQ(base::as_text(written->view()), text);
  co_return written.has_value();
}

Task<void> write_and_read(Disk* disk, std::string root) {
  const std::unique_ptr<File> file = co_await open_ok(disk, root + "/f", kCreate);
  EXPECT_TRUE(co_await write_text(file.get(), 0, "hello world"));
  EXPECT_TRUE(co_await write_text(file.get(), 6, "there"));
  EXPECT_EQ(co_await read_text(file.get(), 0, 11), "hello there");
  EXPECT_EQ(co_await read_text(file.get(), 6, 100), "there");  // short only at the end
  EXPECT_EQ(co_await read_text(file.get(), 11, 10), "");
  EXPECT_EQ(co_await read_text(file.get(), 1'000'000, 10), "");
  EXPECT_EQ(co_await read_text(file.get(), UINT64_MAX - 1, 10), "");
  const base::Result<void> synced = co_await file->sync();
  EXPECT_TRUE(synced.has_value());
  const base::Result<std::uint64_t> size = co_await file->size();
  EXPECT_EQ(*size, 11U);
}
TEST_P(DiskContract, ReadsBackWhatWasWritten) { play(write_and_read); }

Task<void> large_file(Disk* disk, std::string root) {
  const std::unique_ptr<File> file = co_await open_ok(disk, root + "/big", kCreate);
  std::string text(3'000'001, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 + i / 253);
  EXPECT_TRUE(co_await write_text(file.get(), 12'345, text));
  const std::string back = co_await read_text(file.get(), 12'345, 4'000'000);
  EXPECT_TRUE(back == text);
  EXPECT_EQ(co_await read_text(file.get(), 0, 12'345), std::string(12'345, '\0'));
}
TEST_P(DiskContract, LargeTransfersAreWhole) { play(large_file); }

Task<void> gather(Disk* disk, std::string root) {
  constexpr std::size_t kPieces = 3000;  // more than the kernel takes in one call
  const std::unique_ptr<File> file = co_await open_ok(disk, root + "/f", kCreate);
  std::vector<base::Buffer> pieces;
  std::string all;
  for (std::size_t i = 0; i < kPieces; ++i) {
    pieces.push_back(buffer_of(std::string(i % 7, static_cast<char>('a' + i % 26))));
    all += base::as_text(pieces.back().view());
  }
  const base::Result<std::vector<base::Buffer>> written =
      co_await file->write_gather(5, std::move(pieces));
  EXPECT_TRUE(written.has_value());
  if (!written) co_return;
  EXPECT_EQ(written->size(), kPieces);
  EXPECT_EQ(base::as_text(written->back().view()), std::string((kPieces - 1) % 7, 'j'));
  EXPECT_TRUE(co_await read_text(file.get(), 5, all.size() + 1) == all);
  EXPECT_TRUE((co_await file->write_gather(0, {})).has_value());
  const base::Result<std::uint64_t> size = co_await file->size();
  EXPECT_EQ(*size, all.size() + 5);
}
TEST_P(DiskContract, GatheredPiecesAreWrittenInARow) { play(gather); }

// Several steps of what is written at once, with seams of pieces and of steps in different places.
Task<void> gather_much(Disk* disk, std::string root) {
  constexpr std::size_t kPieces = 5;
  constexpr std::size_t kPieceBytes = (std::size_t{3} << 19) + 4099;
  const std::unique_ptr<File> file = co_await open_ok(disk, root + "/f", kCreate);
  std::vector<base::Buffer> pieces;
  std::string all;
  for (std::size_t i = 0; i < kPieces; ++i) {
    std::string text(kPieceBytes, ' ');
    for (std::size_t k = 0; k < text.size(); ++k) text[k] = static_cast<char>(k * 31 + k / 255 + i);
    pieces.push_back(buffer_of(text));
    all += text;
  }
  const auto written = co_await file->write_gather(7, std::move(pieces));
  EXPECT_TRUE(written.has_value());
  EXPECT_TRUE((co_await file->sync()).has_value());
  EXPECT_TRUE(co_await read_text(file.get(), 7, all.size() + 1) == all);
}
TEST_P(DiskContract, ManyMegabytesInARowAreWhole) { play(gather_much); }

Task<void> from_memory(Disk* disk, std::string root) {
  const std::unique_ptr<File> file = co_await open_ok(disk, root + "/f", kCreate);
  EXPECT_TRUE(co_await write_text(file.get(), 0, "0123456789"));
  std::string into(10, ' ');
  const auto span = std::as_writable_bytes(std::span(into));
  for (int i = 0; i < 50; ++i) {
    const std::optional<std::size_t> inside = file->try_read_at(3, span.first(4));
    if (inside) EXPECT_EQ(into.substr(0, *inside), "3456");
    const std::optional<std::size_t> end = file->try_read_at(6, span);
    if (end) EXPECT_EQ(into.substr(0, *end), "6789");
    const std::optional<std::size_t> past = file->try_read_at(10, span);
    if (past) EXPECT_EQ(*past, 0U);
    const std::optional<std::size_t> far = file->try_read_at(UINT64_MAX - 1, span);
    EXPECT_EQ(far.value_or(0), 0U);
  }
}
TEST_P(DiskContract, MemoryAnswersWholeReadsOrNone) { play(from_memory); }

Task<void> from_a_thread_that_waits(Disk* disk, std::string root) {
  const std::unique_ptr<File> file = co_await open_ok(disk, root + "/f", kCreate);
  EXPECT_TRUE(co_await write_text(file.get(), 0, "0123456789"));
  std::string into(10, ' ');
  const auto span = std::as_writable_bytes(std::span(into));
  EXPECT_EQ(file->read_blocking(3, span.first(4)), 4U);
  EXPECT_EQ(into.substr(0, 4), "3456");
  EXPECT_EQ(file->read_blocking(6, span), 4U);
  EXPECT_EQ(into.substr(0, 4), "6789");
  EXPECT_EQ(file->read_blocking(10, span), 0U);
  EXPECT_EQ(file->read_blocking(UINT64_MAX - 1, span), 0U);
}
TEST_P(DiskContract, AThreadMayWaitForTheDiskItself) { play(from_a_thread_that_waits); }

base::Buffer page_of(char c) {
  base::Buffer page(base::Buffer::kPageBytes);
  std::memset(page.data(), c, page.size());
  return page;
}

// Direct where the file system allows it: what one way of writing leaves, the other one sees.
Task<void> both_ways(Disk* disk, std::string root) {
  constexpr std::uint64_t kPage = base::Buffer::kPageBytes;
  const std::unique_ptr<File> cached = co_await open_ok(disk, root + "/f", kCreate);
  const auto direct = co_await open_ok(disk, root + "/f", {OpenMode::WriteExisting, true});
  EXPECT_TRUE(co_await write_text(cached.get(), 0, "head"));
  EXPECT_EQ(co_await read_text(cached.get(), kPage, 10), "");
  std::vector<base::Buffer> pages;
  for (const char c : {'a', 'b', 'c'}) pages.push_back(page_of(c));
  auto written = co_await direct->write_gather(kPage, std::move(pages));
  EXPECT_TRUE(written.has_value());
  EXPECT_EQ(co_await read_text(cached.get(), 2 * kPage - 2, 4), "aabb");
  EXPECT_TRUE(co_await write_text(cached.get(), 4 * kPage, "tail"));
  auto synced = co_await cached->sync();
  EXPECT_TRUE(synced.has_value());
  auto again = co_await direct->write_at(5 * kPage, page_of('d'));
  EXPECT_TRUE(again.has_value());
  const std::string zeros(kPage - 4, '\0');
  EXPECT_EQ(co_await read_text(direct.get(), 4 * kPage, kPage), "tail" + zeros);
  EXPECT_EQ(co_await read_text(cached.get(), 6 * kPage - 2, 10), "dd");
  EXPECT_EQ(co_await read_text(cached.get(), 0, 5), std::string("head\0", 5));
  synced = co_await direct->sync();
  EXPECT_TRUE(synced.has_value());
}
TEST_P(DiskContract, DirectAndCachedFilesAgree) { play(both_ways); }

Task<void> open_modes(Disk* disk, std::string root) {
  const std::string path = root + "/f";
  EXPECT_EQ(code_of(co_await disk->open(path, {OpenMode::ReadExisting, false})), Code::NotFound);
  EXPECT_EQ(code_of(co_await disk->open(path, {OpenMode::WriteExisting, false})), Code::NotFound);
  EXPECT_EQ(code_of(co_await disk->open(root + "/no/f", kCreate)), Code::NotFound);
  const auto made = co_await open_ok(disk, path, {OpenMode::CreateNew, false});
  EXPECT_TRUE(co_await write_text(made.get(), 0, "kept"));
  EXPECT_EQ(code_of(co_await disk->open(path, {OpenMode::CreateNew, false})),
            Code::PreconditionFailed);
  const auto again = co_await open_ok(disk, path, kCreate);
  EXPECT_EQ(co_await read_text(again.get(), 0, 10), "kept");
  const auto read_only = co_await open_ok(disk, path, {OpenMode::ReadExisting, false});
  EXPECT_FALSE(co_await write_text(read_only.get(), 0, "lost"));
  EXPECT_EQ(co_await read_text(read_only.get(), 0, 10), "kept");
  EXPECT_EQ(code_of(co_await disk->open(root, {OpenMode::ReadExisting, false})), Code::Internal);
}
TEST_P(DiskContract, OpenModesDecideWhatMayBeThere) { play(open_modes); }

Task<void> resize(Disk* disk, std::string root) {
  const std::unique_ptr<File> file = co_await open_ok(disk, root + "/f", kCreate);
  EXPECT_TRUE(co_await write_text(file.get(), 0, "abcdef"));
  const base::Result<void> cut = co_await file->truncate(3);
  EXPECT_TRUE(cut.has_value());
  EXPECT_EQ(co_await read_text(file.get(), 0, 10), "abc");
  const base::Result<void> grown = co_await file->truncate(5);
  EXPECT_TRUE(grown.has_value());
  EXPECT_EQ(co_await read_text(file.get(), 0, 10), std::string("abc\0\0", 5));
}
TEST_P(DiskContract, TruncateCutsAndGrowsWithZeros) { play(resize); }

Task<void> directories(Disk* disk, std::string root) {
  const std::string inside = root + "/d";
  EXPECT_TRUE((co_await disk->make_directory(inside)).has_value());
  EXPECT_TRUE((co_await disk->make_directory(inside)).has_value());
  EXPECT_EQ(code_of(co_await disk->make_directory(root + "/no/d")), Code::NotFound);
  (co_await open_ok(disk, inside + "/b", kCreate)).reset();
  (co_await open_ok(disk, inside + "/a", kCreate)).reset();
  EXPECT_TRUE((co_await disk->make_directory(inside + "/c")).has_value());
  const auto entries = co_await disk->list(inside);
  EXPECT_EQ(entries->size(), 3U);
  if (entries->size() == 3) {
    EXPECT_EQ((*entries)[0].name, "a");
    EXPECT_EQ((*entries)[2].name, "c");
    EXPECT_FALSE((*entries)[0].is_directory);
    EXPECT_TRUE((*entries)[2].is_directory);
  }
  EXPECT_TRUE((co_await disk->sync_directory(inside)).has_value());
  EXPECT_EQ(code_of(co_await disk->sync_directory(root + "/no")), Code::NotFound);
  EXPECT_EQ(code_of(co_await disk->list(root + "/no")), Code::NotFound);
  EXPECT_EQ(code_of(co_await disk->remove(inside)), Code::PreconditionFailed);
  EXPECT_TRUE((co_await disk->remove(inside + "/c")).has_value());
  EXPECT_TRUE((co_await disk->remove(inside + "/a")).has_value());
  EXPECT_EQ(code_of(co_await disk->remove(inside + "/a")), Code::NotFound);
  const auto left = co_await disk->list(inside);
  EXPECT_EQ(left->size(), 1U);
}
TEST_P(DiskContract, DirectoriesListWhatIsInThem) { play(directories); }

Task<void> replace(Disk* disk, std::string root) {
  const auto old_file = co_await open_ok(disk, root + "/name", kCreate);
  EXPECT_TRUE(co_await write_text(old_file.get(), 0, "old"));
  const auto new_file = co_await open_ok(disk, root + "/draft", kCreate);
  EXPECT_TRUE(co_await write_text(new_file.get(), 0, "new"));
  EXPECT_TRUE((co_await disk->rename(root + "/draft", root + "/name")).has_value());
  EXPECT_EQ(code_of(co_await disk->rename(root + "/draft", root + "/name")), Code::NotFound);
  const auto found = co_await open_ok(disk, root + "/name", {OpenMode::ReadExisting, false});
  EXPECT_EQ(co_await read_text(found.get(), 0, 10), "new");
  EXPECT_EQ(co_await read_text(old_file.get(), 0, 10), "old");  // open files outlive their name
}
TEST_P(DiskContract, RenameReplacesAtOnce) { play(replace); }

Task<void> versions(Disk* disk, std::string root) {
  const auto file = co_await open_ok(disk, root + "/name", kCreate);
  EXPECT_TRUE(co_await write_text(file.get(), 0, "first"));
  const auto first = co_await disk->version(root + "/name");
  const auto again = co_await disk->version(root + "/name");
  EXPECT_EQ(first->bytes, 5U);
  EXPECT_EQ(*first, *again);
  EXPECT_TRUE(co_await write_text(file.get(), 5, "more"));
  const auto grown = co_await disk->version(root + "/name");
  EXPECT_EQ(grown->bytes, 9U);
  EXPECT_EQ(grown->file, first->file);
  EXPECT_NE(*grown, *first);
  const auto other = co_await open_ok(disk, root + "/draft", kCreate);
  EXPECT_TRUE(co_await write_text(other.get(), 0, "firstmore"));
  EXPECT_TRUE((co_await disk->rename(root + "/draft", root + "/name")).has_value());
  const auto replaced = co_await disk->version(root + "/name");
  EXPECT_EQ(replaced->bytes, grown->bytes);
  EXPECT_NE(replaced->file, grown->file) << "as long, and another file";
  EXPECT_EQ(code_of(co_await disk->version(root + "/draft")), Code::NotFound);
  EXPECT_TRUE((co_await disk->make_directory(root + "/directory")).has_value());
  EXPECT_FALSE((co_await disk->version(root + "/directory")).has_value());
}
TEST_P(DiskContract, AVersionTellsAChangedFile) { play(versions); }

Task<void> move_directories(Disk* disk, std::string root) {
  EXPECT_TRUE((co_await disk->make_directory(root + "/a")).has_value());
  EXPECT_TRUE((co_await disk->make_directory(root + "/a/b")).has_value());
  EXPECT_TRUE((co_await disk->make_directory(root + "/a/b/c")).has_value());
  (co_await open_ok(disk, root + "/f", kCreate)).reset();
  EXPECT_EQ(code_of(co_await disk->rename(root + "/a", root + "/a/b/c/d")), Code::Internal);
  EXPECT_EQ(code_of(co_await disk->rename(root + "/a/b", root + "/f")), Code::NotFound);
  EXPECT_EQ(code_of(co_await disk->rename(root + "/f", root + "/a")), Code::Internal);
  EXPECT_TRUE((co_await disk->make_directory(root + "/full")).has_value());
  EXPECT_TRUE((co_await disk->rename(root + "/f", root + "/full/f")).has_value());
  EXPECT_EQ(code_of(co_await disk->rename(root + "/a/b", root + "/full")),
            Code::PreconditionFailed);
  EXPECT_TRUE((co_await disk->rename(root + "/a/b", root + "/e")).has_value());
  EXPECT_TRUE((co_await disk->rename(root + "/e", root + "/a")).has_value());
  EXPECT_TRUE((co_await disk->list(root + "/a/c")).has_value());
}
TEST_P(DiskContract, DirectoriesMoveButNotIntoThemselves) { play(move_directories); }

Task<void> link_twice(Disk* disk, std::string root) {
  const auto file = co_await open_ok(disk, root + "/first", kCreate);
  EXPECT_TRUE(co_await write_text(file.get(), 0, "shared"));
  EXPECT_TRUE((co_await disk->make_directory(root + "/below")).has_value());
  EXPECT_TRUE((co_await disk->link(root + "/first", root + "/below/second")).has_value());
  EXPECT_EQ(code_of(co_await disk->link(root + "/first", root + "/below/second")),
            Code::PreconditionFailed);
  EXPECT_EQ(code_of(co_await disk->link(root + "/none", root + "/third")), Code::NotFound);
  EXPECT_FALSE((co_await disk->link(root + "/below", root + "/third")).has_value());
  EXPECT_TRUE((co_await disk->remove(root + "/first")).has_value());
  EXPECT_TRUE(co_await write_text(file.get(), 6, " still"));
  const auto second =
      co_await open_ok(disk, root + "/below/second", {OpenMode::ReadExisting, false});
  EXPECT_EQ(co_await read_text(second.get(), 0, 100), "shared still");
  EXPECT_EQ(code_of(co_await disk->rename(root + "/first", root + "/x")), Code::NotFound);
}
TEST_P(DiskContract, AFileCanHaveTwoNames) { play(link_twice); }

Task<void> direct(Disk* disk, std::string root) {
  const auto file = co_await open_ok(disk, root + "/d", {OpenMode::CreateOrOpen, true});
  EXPECT_TRUE(co_await write_text(file.get(), 4096, std::string(8192, 'd')));
  EXPECT_EQ(co_await read_text(file.get(), 8192, 8192), std::string(4096, 'd'));
  EXPECT_EQ(co_await read_text(file.get(), 0, 4096), std::string(4096, '\0'));
}
TEST_P(DiskContract, DirectFilesTakeAlignedTransfers) { play(direct); }

Task<void> free_space(Disk* disk, std::string root) {
  const base::Result<std::uint64_t> room = co_await disk->free_bytes(root);
  EXPECT_TRUE(room.has_value());
  EXPECT_GT(*room, 0U);
}
TEST_P(DiskContract, FreeSpaceIsKnown) { play(free_space); }

Task<void> too_far(Disk* disk, std::string root) {
  const auto file = co_await open_ok(disk, root + "/f", kCreate);
  base::Result<base::Buffer> written =
      co_await file->write_at(UINT64_MAX - 2, buffer_of("too far"));
  EXPECT_EQ(code_of(written), Code::StorageFull);
  const base::Result<std::uint64_t> size = co_await file->size();
  EXPECT_EQ(*size, 0U);
}
TEST_P(DiskContract, WritesBeyondTheLargestOffsetFail) { play(too_far); }

Task<void> write_once(File* file, std::uint64_t offset, std::string text, int* done) {
  EXPECT_TRUE(co_await write_text(file, offset, text));
  ++*done;
}

Task<void> at_once(Disk* disk, std::string root) {
  constexpr std::size_t kWriters = 100;
  const auto file = co_await open_ok(disk, root + "/f", kCreate);
  int done = 0;
  std::vector<std::unique_ptr<Root>> writers;
  for (std::size_t i = 0; i < kWriters; ++i) {
    writers.push_back(std::make_unique<Root>(
        *Executor::current(),
        write_once(file.get(), i * 100, std::string(100, static_cast<char>('a' + i % 26)), &done)));
  }
  while (done < static_cast<int>(kWriters)) co_await pause(std::chrono::milliseconds(1));
  for (std::size_t i = 0; i < kWriters; ++i) {
    EXPECT_EQ(co_await read_text(file.get(), i * 100, 100),
              std::string(100, static_cast<char>('a' + i % 26)));
  }
}
TEST_P(DiskContract, ManyOperationsAtOnce) { play(at_once); }

Task<void> read_and_forget(File* file) { co_await read_text(file, 0, 1'000'000); }

Task<void> sync_and_forget(File* file) { co_await file->sync(); }

Task<void> open_and_forget(Disk* disk, std::string path) { co_await disk->open(path, kCreate); }

Task<void> abort_callers(Disk* disk, std::string root) {
  auto file = co_await open_ok(disk, root + "/f", kCreate);
  EXPECT_TRUE(co_await write_text(file.get(), 0, std::string(1'000'000, 'x')));
  int ignored = 0;
  for (int i = 0; i < 20; ++i) {
    Executor& here = *Executor::current();
    const Root reader(here, read_and_forget(file.get()));
    const Root writer(here, write_once(file.get(), 2'000'000, std::string(10'000, 'y'), &ignored));
    const Root syncer(here, sync_and_forget(file.get()));
    const Root opener(here, open_and_forget(disk, root + "/g"));
    co_await pause(std::chrono::microseconds(i * 10));
  }
  // What was under way may finish later, also when the file is closed; nothing else is touched.
  file.reset();
  const auto again = co_await open_ok(disk, root + "/f", kCreate);
  EXPECT_EQ(co_await read_text(again.get(), 0, 1'000'000), std::string(1'000'000, 'x'));
}
TEST_P(DiskContract, AbortedCallersAreSafe) { play(abort_callers); }

Task<void> locks(Disk* disk, std::string root) {
  auto first = co_await open_ok(disk, root + "/f", kCreate);
  const auto second = co_await open_ok(disk, root + "/f", {OpenMode::ReadExisting, false});
  EXPECT_EQ(first->try_lock(FileLock::Exclusive), true);
  EXPECT_EQ(second->try_lock(FileLock::Shared), false);
  EXPECT_EQ(second->try_lock(FileLock::Exclusive), false);
  first.reset();
  EXPECT_EQ(second->try_lock(FileLock::Shared), true);
  const auto third = co_await open_ok(disk, root + "/f", kCreate);
  EXPECT_EQ(third->try_lock(FileLock::Shared), true);
  EXPECT_EQ(third->try_lock(FileLock::Exclusive), false);
}
TEST_P(DiskContract, AFileCanBeClaimed) { play(locks); }

}  // namespace
}  // namespace ron::platform::test
