#include "platform/posix/host.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <latch>
#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/contract_world.h"
#include "platform/posix/files.h"

namespace ron::platform::posix {
namespace {

using namespace std::chrono_literals;
using test::Root;
using test::run_tasks;

bool run_task(PosixHost& machine, Task<void> task) {
  std::vector<Task<void>> tasks;
  tasks.push_back(std::move(task));
  return run_tasks(machine, std::move(tasks));
}

struct Visit : Job {
  explicit Visit(PosixHost& on, std::atomic<int>& number)
      : Job(&Visit::go), machine(on), left(number) {}
  static void go(Job& job) noexcept {
    auto& self = static_cast<Visit&>(job);
    self.thread = std::this_thread::get_id();
    if (--self.left == 0) self.machine.stop();
  }
  PosixHost& machine;
  std::atomic<int>& left;
  std::thread::id thread;
};

TEST(PosixHost, EachCoreRunsOnItsOwnThread) {
  PosixHost machine({.cores = 3, .pin = true});
  std::atomic<int> left = 3;
  Visit first(machine, left);
  Visit second(machine, left);
  Visit third(machine, left);
  machine.host().cores[1]->post(second);
  machine.host().cores[2]->post(third);
  machine.run(first);
  EXPECT_EQ(first.thread, std::this_thread::get_id());
  EXPECT_EQ(std::set({first.thread, second.thread, third.thread}).size(), 3U);
}

Task<void> hear(Signals* signals, std::vector<Signal>* heard, std::size_t count) {
  while (heard->size() < count) {
    const Signal signal = signals->take();
    if (signal != Signal::None) {
      heard->push_back(signal);
    } else {
      co_await signals->arrived().wait();
    }
  }
}

Task<void> signal_self(int number) {
  kill(getpid(), number);
  co_return;
}

TEST(PosixHost, SignalsBecomeValues) {
  PosixHost machine;
  std::vector<Signal> heard;
  std::vector<Task<void>> tasks;
  tasks.push_back(hear(&machine.host().signals, &heard, 3));
  for (const int number : {SIGHUP, SIGTERM, SIGINT}) tasks.push_back(signal_self(number));
  EXPECT_TRUE(run_tasks(machine, std::move(tasks)));
  EXPECT_EQ(std::ranges::count(heard, Signal::Reload), 1);
  EXPECT_EQ(std::ranges::count(heard, Signal::Terminate), 2);
}

TEST(PosixHost, OpensAsManyFilesAsTheSystemAllows) {
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit low{.rlim_cur = 64, .rlim_max = files.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  const PosixHost machine;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_EQ(files.rlim_cur, files.rlim_max);
}

TEST(PosixHost, RandomAndClocksAreReal) {
  PosixHost machine;
  const Host host = machine.host();
  EXPECT_NE(host.random.next(), host.random.next());
  const TimePoint begin = host.clock.monotonic();
  EXPECT_LE(begin, host.clock.monotonic());
  EXPECT_GT(host.clock.unix_ms(), 1'700'000'000'000);
}

constexpr BlockingKind kTestWork{"test_work", kCallersBudget};

Task<void> answer(BlockingPool* pool, int* out) {
  base::Result<int> result = co_await pool->run(kTestWork, [] { return 42; });
  *out = result.value_or(-1);
}

TEST(ThreadPool, RunsWorkAndResumesHere) {
  PosixHost machine;
  int out = 0;
  EXPECT_TRUE(run_task(machine, answer(&machine.host().blocking, &out)));
  EXPECT_EQ(out, 42);
}

Task<void> hold(BlockingPool* pool, std::latch* begun, std::latch* release) {
  co_await pool->run(kTestWork, [begun, release] {
    begun->count_down();
    release->wait();
    return 0;
  });
}

Task<void> note_turn(BlockingPool* pool, int number, std::vector<int>* order) {
  const base::Result<int> ran = co_await pool->run(kTestWork, [number, order] {
    order->push_back(number);  // one thread: the latch orders it with the test
    return number;
  });
  EXPECT_EQ(ran.value_or(-1), number);
}

// Far more callers than the queue has places, behind a thread that is held; one of them leaves.
Task<void> crowd(BlockingPool* pool, std::latch* begun, std::latch* release,
                 std::vector<int>* order) {
  begun->wait();
  std::vector<std::unique_ptr<Root>> callers;
  for (int i = 0; i < 100; ++i) {
    callers.push_back(std::make_unique<Root>(*Executor::current(), note_turn(pool, i, order)));
    co_await test::pause(0ms);
  }
  EXPECT_EQ(pool->depth(), 1U);
  callers[50].reset();
  release->count_down();
  for (const auto& caller : callers) {
    while (caller && !caller->done()) co_await test::pause(1ms);
  }
}

TEST(ThreadPool, WhoFindsTheQueueFullWaitsInLine) {
  PosixHost machine({.blocking_threads = 1, .blocking_queue = 1});
  BlockingPool& pool = machine.host().blocking;
  std::latch begun(1);
  std::latch release(1);
  std::vector<int> order;
  std::vector<Task<void>> tasks;
  tasks.push_back(hold(&pool, &begun, &release));
  tasks.push_back(crowd(&pool, &begun, &release, &order));
  EXPECT_TRUE(run_tasks(machine, std::move(tasks)));
  std::vector<int> expected;
  for (int i = 0; i < 100; ++i) {
    if (i != 50) expected.push_back(i);
  }
  EXPECT_EQ(order, expected);
}

Task<void> come_and_go(BlockingPool* pool) {
  for (int round = 0; round < 50; ++round) {
    std::vector<int> out(40);
    std::vector<std::unique_ptr<Root>> callers;
    for (int& each : out) {
      callers.push_back(std::make_unique<Root>(*Executor::current(), answer(pool, &each)));
    }
    co_await test::pause(std::chrono::microseconds(round));
    for (std::size_t i = 0; i < out.size(); i += 3) callers[i].reset();
    for (std::size_t i = 0; i < out.size(); ++i) {
      while (callers[i] && !callers[i]->done()) co_await test::pause(0ms);
      if (callers[i]) EXPECT_EQ(out[i], 42);
    }
  }
}

// Three cores and three threads over two places, and callers that leave wherever they are.
TEST(ThreadPool, CallersOfSeveralCoresStandInOneLine) {
  ThreadPool pool(3, 2);
  std::array<Loop, 3> loops;
  std::vector<std::unique_ptr<Root>> roots;
  for (Loop& loop : loops) {
    roots.push_back(std::make_unique<Root>(loop, come_and_go(&pool), [&loop] { loop.stop(); }));
  }
  std::vector<std::jthread> threads;
  for (Loop& loop : loops) threads.emplace_back([&loop] { loop.run(); });
  threads.clear();
  for (const auto& root : roots) EXPECT_TRUE(root->done());
}

Task<void> count_one(BlockingPool* pool, int* begun, std::atomic<int>* ran) {
  ++*begun;
  co_await pool->run(kTestWork, [ran] { return ++*ran; });
}

Task<void> abort_many(BlockingPool* pool, int* begun, std::atomic<int>* ran) {
  for (int i = 0; i < 200; ++i) {
    const Root root(*Executor::current(), count_one(pool, begun, ran));
    co_await test::pause(std::chrono::microseconds(i));
  }
  while (ran->load() < *begun) co_await test::pause(1ms);
}

TEST(ThreadPool, AnAbortedCallersWorkStillRuns) {
  PosixHost machine;
  int begun = 0;
  std::atomic<int> ran = 0;
  EXPECT_TRUE(run_task(machine, abort_many(&machine.host().blocking, &begun, &ran)));
  EXPECT_GT(begun, 100);
  EXPECT_EQ(ran, begun);
}

// Work that runs until it is asked to stop.
Task<void> obey(BlockingPool* pool, BlockingKind kind, std::latch* begun,
                std::shared_ptr<std::atomic<base::StopCause>> heard) {
  co_await pool->run(kind, [begun, heard](const base::StopToken& stop) {
    begun->count_down();
    while (!stop.requested()) std::this_thread::yield();
    heard->store(stop.cause());
    return 0;
  });
}

Task<void> leave_when(std::latch* begun, std::unique_ptr<Root>* caller) {
  begun->wait();
  caller->reset();
  co_return;
}

TEST(ThreadPool, AsksTheWorkOfACallerThatLeftToStop) {
  const auto heard = std::make_shared<std::atomic<base::StopCause>>(base::StopCause::None);
  std::latch begun(1);
  {
    PosixHost machine;
    BlockingPool& pool = machine.host().blocking;
    auto caller =
        std::make_unique<Root>(*machine.host().cores[0], obey(&pool, kTestWork, &begun, heard));
    EXPECT_TRUE(run_task(machine, leave_when(&begun, &caller)));
  }
  EXPECT_EQ(*heard, base::StopCause::Abandoned);
}

TEST(ThreadPool, AsksWorkToStopOnceItsBudgetIsSpent) {
  PosixHost machine;
  const auto heard = std::make_shared<std::atomic<base::StopCause>>(base::StopCause::None);
  std::latch begun(1);
  EXPECT_TRUE(
      run_task(machine, obey(&machine.host().blocking, {"short_work", 1ms}, &begun, heard)));
  EXPECT_EQ(*heard, base::StopCause::Overdue);
}

Task<void> wait_for(std::latch* begun) {
  begun->wait();
  co_return;
}

TEST(ThreadPool, ClosingItAsksWorkToStopAndWaitsForIt) {
  PosixHost machine;
  const auto heard = std::make_shared<std::atomic<base::StopCause>>(base::StopCause::None);
  std::latch begun(1);
  // The caller never leaves: nobody but the pool asks.
  const Root caller(*machine.host().cores[0],
                    obey(&machine.host().blocking, kTestWork, &begun, heard));
  EXPECT_TRUE(run_task(machine, wait_for(&begun)));
  EXPECT_TRUE(machine.close_blocking(std::nullopt).empty());
  EXPECT_EQ(*heard, base::StopCause::Ending);
}

// Work that looks at no token holds nobody up for longer than he wants to wait.
TEST(ThreadPool, ClosingItNamesTheWorkThatDoesNotStop) {
  PosixHost machine({.blocking_threads = 1});
  BlockingPool& pool = machine.host().blocking;
  std::latch begun(1);
  std::latch release(1);
  std::vector<int> order;
  const Root stuck(*machine.host().cores[0], hold(&pool, &begun, &release));
  const Root queued(*machine.host().cores[0], note_turn(&pool, 1, &order));
  EXPECT_TRUE(run_task(machine, wait_for(&begun)));
  EXPECT_EQ(machine.running_jobs().size(), 1U);
  const std::vector<RunningJob> left = machine.close_blocking(0ms);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].name, "test_work");
  EXPECT_FALSE(left[0].is_overdue());
  release.count_down();
  EXPECT_TRUE(machine.close_blocking(std::nullopt).empty());
  EXPECT_TRUE(order.empty()) << "queued work began although the pool was closed";
}

class PosixDiskTest : public testing::TestWithParam<DiskEngine> {
 protected:
  [[nodiscard]] std::string path(std::string_view name) const {
    return scratch_.path() + "/" + std::string(name);
  }
  test::ScratchDirectory scratch_;
};
INSTANTIATE_TEST_SUITE_P(Engines, PosixDiskTest,
                         testing::Values(DiskEngine::Uring, DiskEngine::Pool));

Task<void> make_both(Disk* disk, std::string directory, std::string file) {
  EXPECT_TRUE((co_await disk->make_directory(directory)).has_value());
  EXPECT_TRUE((co_await disk->open(file, {OpenMode::CreateNew, false})).has_value());
}

TEST_P(PosixDiskTest, FilesAndDirectoriesArePrivate) {
  PosixHost machine({.disk = GetParam()});
  EXPECT_TRUE(run_task(machine, make_both(&machine.host().disk, path("d"), path("f"))));
  EXPECT_EQ(*file_mode(path("d")), 0700U);
  EXPECT_EQ(*file_mode(path("f")), 0600U);
}

Task<void> open_code(Disk* disk, std::string at, OpenMode mode, base::Code* code) {
  const auto opened = co_await disk->open(at, {mode, false});
  *code = opened ? base::Code::Canceled : opened.error().code;
}

TEST_P(PosixDiskTest, NeverFollowsALinkAtTheEnd) {
  ASSERT_TRUE(write_private_file(path("target"), "secret").has_value());
  ASSERT_EQ(symlink(path("target").c_str(), path("link").c_str()), 0);
  PosixHost machine({.disk = GetParam()});
  base::Code read{};
  base::Code create{};
  std::vector<Task<void>> tasks;
  Disk& disk = machine.host().disk;
  tasks.push_back(open_code(&disk, path("link"), OpenMode::ReadExisting, &read));
  tasks.push_back(open_code(&disk, path("link"), OpenMode::CreateOrOpen, &create));
  EXPECT_TRUE(run_tasks(machine, std::move(tasks)));
  EXPECT_EQ(read, base::Code::Internal);
  EXPECT_EQ(create, base::Code::Internal);
}

TEST_P(PosixDiskTest, APipeIsNotAFileAndDoesNotHang) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  PosixHost machine({.disk = GetParam()});
  base::Code code{};
  EXPECT_TRUE(run_task(
      machine, open_code(&machine.host().disk, path("pipe"), OpenMode::ReadExisting, &code)));
  EXPECT_EQ(code, base::Code::Internal);
}

TEST_P(PosixDiskTest, APathWithANulIsRefused) {
  PosixHost machine({.disk = GetParam()});
  base::Code code{};
  const std::string bad = path(std::string_view("a\0b", 3));
  EXPECT_TRUE(run_task(machine, open_code(&machine.host().disk, bad, OpenMode::CreateNew, &code)));
  EXPECT_EQ(code, base::Code::Internal);
  EXPECT_FALSE(file_mode(path("a")).has_value());
}

TEST(PosixDisk, SaysWhichEngineIsInUse) {
  const PosixHost pool({.disk = DiskEngine::Pool});
  EXPECT_EQ(pool.disk().engine(), DiskEngine::Pool);
  EXPECT_EQ(name(DiskEngine::Pool), "blocking pool");
  EXPECT_EQ(name(DiskEngine::Uring), "io_uring");
}

// From now on the kernel refuses this process an io_uring, as many containers do.
bool forbid_uring() {
  std::array<sock_filter, 4> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

Task<void> write_and_check(Disk* disk, std::string at, bool* same) {
  auto file = co_await disk->open(at, {OpenMode::CreateNew, false});
  base::Buffer buffer(3);
  std::ranges::fill(buffer.span(), std::byte{'x'});
  const auto written = co_await (*file)->write_at(0, std::move(buffer));
  const auto synced = co_await (*file)->sync();
  const auto read = co_await (*file)->read_at(0, base::Buffer(10));
  *same = written && synced && read && base::as_text(read->view()) == "xxx";
}

int work_without_uring(const std::string& at) {
  if (!forbid_uring()) return 2;
  PosixHost machine;
  if (machine.disk().engine() != DiskEngine::Pool) return 3;
  bool same = false;
  if (!run_task(machine, write_and_check(&machine.host().disk, at, &same))) return 4;
  return same ? 0 : 5;
}

TEST(PosixDisk, FallsBackWhereUringIsForbidden) {
  const test::ScratchDirectory scratch;
  EXPECT_EXIT(std::_Exit(work_without_uring(scratch.path() + "/f")), testing::ExitedWithCode(0),
              "");
}

Task<void> write_some(Disk* disk, std::string at, std::atomic<int>* left, PosixHost* machine) {
  auto file = co_await disk->open(at, {OpenMode::CreateOrOpen, false});
  EXPECT_TRUE(file.has_value());
  for (int i = 0; i < 50; ++i) {
    base::Buffer buffer(1000);
    std::ranges::fill(buffer.span(), std::byte{7});
    EXPECT_TRUE(
        (co_await (*file)->write_at(static_cast<std::uint64_t>(i) * 1000, std::move(buffer)))
            .has_value());
  }
  EXPECT_TRUE((co_await (*file)->sync()).has_value());
  if (--*left == 0) machine->stop();
}

TEST_P(PosixDiskTest, EveryCoreMayUseIt) {
  PosixHost machine({.cores = 3, .disk = GetParam()});
  Host host = machine.host();
  std::atomic<int> left = 3;
  std::vector<std::unique_ptr<Root>> roots;
  for (std::size_t core = 0; core < 3; ++core) {
    roots.push_back(std::make_unique<Root>(
        *host.cores[core],
        write_some(&host.disk, path("f" + std::to_string(core)), &left, &machine)));
  }
  struct Nothing : Job {
    Nothing() : Job([](Job&) noexcept {}) {}
  } nothing;
  machine.run(nothing);
  for (int core = 0; core < 3; ++core) {
    EXPECT_EQ(read_small_file(path("f" + std::to_string(core)), 100'000)->size(), 50'000U);
  }
}

TEST(Files, PrivateFilesAreWrittenWhole) {
  const test::ScratchDirectory scratch;
  const std::string path = scratch.path() + "/key";
  ASSERT_TRUE(write_private_file(path, "first").has_value());
  ASSERT_TRUE(write_private_file(path, "second").has_value());
  EXPECT_EQ(*read_small_file(path, 100), "second");
  EXPECT_EQ(*file_mode(path), 0600U);
  EXPECT_FALSE(file_mode(path + ".new").has_value());
}

TEST(Files, ADraftLeftByACrashIsReplaced) {
  const test::ScratchDirectory scratch;
  const std::string path = scratch.path() + "/key";
  ASSERT_EQ(symlink("/dev/null", (path + ".new").c_str()), 0);
  ASSERT_TRUE(write_private_file(path, "text").has_value());
  EXPECT_EQ(*read_small_file(path, 100), "text");
}

TEST(Files, ReadingIsBounded) {
  const test::ScratchDirectory scratch;
  const std::string path = scratch.path() + "/f";
  ASSERT_TRUE(write_private_file(path, "12345").has_value());
  EXPECT_EQ(*read_small_file(path, 5), "12345");
  EXPECT_EQ(read_small_file(path, 4).error().code, base::Code::Malformed);
  EXPECT_EQ(read_small_file("/dev/zero", 4).error().code, base::Code::Malformed);
  EXPECT_EQ(read_small_file(scratch.path(), 4).error().code, base::Code::Malformed);
  EXPECT_EQ(read_small_file(path + "x", 4).error().code, base::Code::NotFound);
}

TEST(Files, DirectoriesAreMadeWithTheirParents) {
  const test::ScratchDirectory scratch;
  const std::string path = scratch.path() + "/a/b/c";
  ASSERT_TRUE(make_private_directory(path).has_value());
  ASSERT_TRUE(make_private_directory(path + "/").has_value());
  EXPECT_EQ(*file_mode(path), 0700U);
  ASSERT_TRUE(write_private_file(scratch.path() + "/file", "").has_value());
  EXPECT_FALSE(make_private_directory(scratch.path() + "/file").has_value());
  EXPECT_FALSE(make_private_directory(scratch.path() + "/file/d").has_value());
}

TEST(Files, EnvironmentIsListed) {
  ASSERT_EQ(setenv("RON_FILES_TEST", "a=b", 1), 0);
  const auto all = environment();
  EXPECT_EQ(std::ranges::count(all, std::pair<std::string, std::string>("RON_FILES_TEST", "a=b")),
            1);
  unsetenv("RON_FILES_TEST");
}

}  // namespace
}  // namespace ron::platform::posix
