#include "pack/verified_file.h"

#include "b3/hash.h"
#include "pack/test_support.h"

namespace ron::pack {
namespace {

using platform::Task;
using platform::test::Root;
using test::Machine;

using Opened = base::Result<std::shared_ptr<VerifiedFile>>;

// Two slices, and a little.
std::string sample() { return std::string((8U << 20) + 1000, 'a'); }

Task<void> open_into(Place place, std::string path, Progress progress, Opened* out) {
  *out = co_await VerifiedFile::open(place, std::move(path), std::move(progress));
}

// What opening says when the file is changed once its first slice was read.
Opened opened_while(Machine& machine, const std::function<void()>& change) {
  machine.write("/a", sample());
  std::uint64_t done = 0;
  Opened out;
  const Root opening(
      machine.node.core(),
      open_into(
          machine.place(), "/a", [&done](std::uint64_t now, std::uint64_t) { done = now; }, &out));
  const auto begun = machine.world.run_until([&] { return done > 0; }, std::chrono::hours(1));
  EXPECT_EQ(begun, platform::sim::Outcome::Done);
  EXPECT_FALSE(opening.done());
  change();
  const auto ended = machine.world.run_until([&] { return opening.done(); }, std::chrono::hours(1));
  EXPECT_EQ(ended, platform::sim::Outcome::Done);
  return out;
}

void expect_changed(const Opened& opened) {
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, base::Code::Malformed);
  EXPECT_EQ(opened.error().message, "the file was changed while it was read");
}

TEST(VerifiedFile, IsOneStateOfTheFile) {
  Machine machine;
  const Opened opened = opened_while(machine, [] {});
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  EXPECT_EQ((*opened)->hash(), b3::hash(base::as_bytes(sample())));
}

TEST(VerifiedFile, RefusesAFileThatIsOverwrittenMeanwhile) {
  Machine machine;
  expect_changed(opened_while(machine, [&machine] { machine.change("/a", 0, "x"); }));
}

TEST(VerifiedFile, RefusesAFileThatGrowsMeanwhile) {
  Machine machine;
  expect_changed(
      opened_while(machine, [&machine] { machine.change("/a", sample().size(), "more"); }));
}

TEST(VerifiedFile, RefusesAFileThatIsCutMeanwhile) {
  Machine machine;
  expect_changed(opened_while(machine, [&machine] { machine.write("/a", "short"); }));
}

}  // namespace
}  // namespace ron::pack
