#include "chain/log_verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chain/test_registry_files.h"

namespace ron::chain {
namespace {

using base::Code;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_value;
using testing::payload_value;
using testing::RegistryFiles;
using testing::update_value;
using volume::Machine;

struct Verified {
  base::Result<LogVerdict> verdict;
  std::vector<Problem> problems;
};

Verified verify(Machine& machine, std::vector<KeptNote> kept = {},
                std::optional<auth::PublicKey> key = RegistryFiles::key()) {
  Verified verified;
  const VerifyOptions options{
      .disk = &machine.node.disk(),
      .directory = RegistryFiles::kDirectory,
      .key = key,
      .kept = std::move(kept),
      .on_problem = [&](const Problem& problem) { verified.problems.push_back(problem); },
      .on_entry = {}};
  verified.verdict = run(machine, verify_log(&options));
  return verified;
}

auto problem(const std::string& where, const std::string& what) {
  return AllOf(Field(&Problem::where, HasSubstr(where)), Field(&Problem::what, HasSubstr(what)));
}

platform::Task<std::string> read_file(platform::Disk* disk, std::string path) {
  auto text = co_await read_whole_file(disk, std::move(path), kMaxSnapshotBytes);
  co_return std::move(*text);
}

platform::Task<void> remove_file(platform::Disk* disk, std::string path) {
  const auto removed = co_await disk->remove(std::move(path));
  EXPECT_TRUE(removed);
}

// All files below the directory.
void list_files(Machine& machine, const std::string& directory, std::vector<std::string>& out) {
  const auto entries = run(machine, machine.node.disk().list(directory));
  for (const platform::DirectoryEntry& entry : *entries) {
    const std::string path = directory + "/" + entry.name;
    if (entry.is_directory) {
      list_files(machine, path, out);
    } else {
      out.push_back(path);
    }
  }
}

// A few versions of each kind, two checkpoints, a pending proposal. How long each entry is.
std::vector<std::size_t> make_small(Machine& machine) {
  RegistryFiles files(machine);
  files.commit_node("eu");
  files.checkpoint();
  files.commit(testing::signers_value("signers", testing::set_of(1, {1, 2, 3})));
  files.checkpoint();
  files.propose(update_value({node_value("us")}));
  files.close();
  std::vector<std::size_t> lengths;
  for (const std::string& entry : files.entries().entries()) lengths.push_back(entry.size());
  return lengths;
}

// What the problem with a byte has to name: a version where the byte is one of its frame's, nothing
// in particular elsewhere.
std::string name_of_byte(const std::string& file, std::uint64_t at,
                         const std::vector<std::size_t>& lengths) {
  if (file != RegistryFiles::path("log/segments/" + segment_name(0))) return "";
  std::uint64_t end = kSegmentHeadBytes;
  if (at < end) return "";
  for (std::size_t version = 0; version < lengths.size(); ++version) {
    end += stored_frame_bytes(lengths[version]);
    if (at < end) return version_name(version);
  }
  return "";
}

TEST(LogVerifier, AgreesWithWhatAServerWrites) {
  Machine machine(1);
  RegistryFiles files(machine);
  for (int i = 0; i < 300; ++i) {
    files.commit_node("r" + std::to_string(i % 7));
    if (i % 50 == 0) files.checkpoint();
  }
  files.commit_node("last");
  files.propose(update_value({node_value("more")}));
  files.close();
  const Verified verified = verify(machine);
  ASSERT_TRUE(verified.verdict) << verified.verdict.error().message;
  EXPECT_THAT(verified.problems, IsEmpty());
  EXPECT_EQ(verified.verdict->entries, 302U);
  EXPECT_EQ(verified.verdict->with_quorum, 302U);
  EXPECT_EQ(verified.verdict->checkpoints, 6U);
  EXPECT_EQ(verified.verdict->pending, 1U);
  EXPECT_EQ(verified.verdict->head, files.state().head());
  EXPECT_EQ(verified.verdict->log, files.state().log());
}

TEST(LogVerifier, ChangesNothing) {
  Machine machine(1);
  make_small(machine);
  std::vector<std::string> names;
  list_files(machine, RegistryFiles::kDirectory, names);
  const std::uint64_t before = machine.node.disk().used_bytes();
  ASSERT_TRUE(verify(machine).verdict);
  std::vector<std::string> after;
  list_files(machine, RegistryFiles::kDirectory, after);
  EXPECT_EQ(names, after);
  EXPECT_EQ(machine.node.disk().used_bytes(), before);
}

TEST(LogVerifier, SaysSoWhenAProcessUsesTheLog) {
  Machine machine(1);
  const RegistryFiles files(machine);
  EXPECT_EQ(verify(machine).verdict.error().code, Code::PreconditionFailed);
}

TEST(LogVerifier, AllBytesOfASmallLogMatter) {
  Machine machine(1);
  const std::vector<std::size_t> lengths = make_small(machine);
  ASSERT_THAT(verify(machine).problems, IsEmpty());
  std::vector<std::string> files;
  list_files(machine, RegistryFiles::kDirectory, files);
  std::uint64_t flipped = 0;
  for (const std::string& file : files) {
    const std::string bytes = run(machine, read_file(&machine.node.disk(), file));
    for (std::uint64_t at = 0; at < bytes.size(); ++at) {
      const auto bit = static_cast<unsigned>(at % 8);
      ASSERT_TRUE(machine.node.disk().flip_bit(file, at, bit));
      const Verified verified = verify(machine);
      ASSERT_TRUE(verified.verdict) << file << " at " << at;
      ASSERT_THAT(verified.problems, Contains(problem(name_of_byte(file, at, lengths), "")))
          << file << " at " << at;
      ASSERT_TRUE(machine.node.disk().flip_bit(file, at, bit));
      ++flipped;
    }
  }
  EXPECT_GT(flipped, 4000U);
  EXPECT_THAT(verify(machine).problems, IsEmpty());
}

TEST(LogVerifier, ADamagedFrameIsNamedByItsVersionAndTheRestIsStillChecked) {
  Machine machine(1);
  {
    RegistryFiles files(machine);
    for (int i = 0; i < 20; ++i) files.commit_node("r" + std::to_string(i));
    files.checkpoint();
    files.commit_node("later");
    files.close();
  }
  const std::string segment = RegistryFiles::path("log/segments/" + segment_name(0));
  const std::string bytes = run(machine, read_file(&machine.node.disk(), segment));
  const std::size_t at = bytes.find("r10");
  ASSERT_TRUE(machine.node.disk().flip_bit(segment, at, 0));
  const Verified verified = verify(machine);
  ASSERT_TRUE(verified.verdict);
  EXPECT_THAT(verified.problems, ElementsAre(problem("version 11", "bytes do not check")));
  // By the summary of the checkpoint, and from its snapshot on by the state.
  EXPECT_EQ(verified.verdict->entries, 21U);
  EXPECT_EQ(verified.verdict->with_quorum, 21U);
  EXPECT_EQ(verified.verdict->replayed, 12U);
}

TEST(LogVerifier, AForgedEntryIsNamedThoughItsFrameChecks) {
  Machine machine(1);
  RegistryFiles files(machine);
  files.commit_node("eu");
  Entry entry = files.entries().draft(update_value({node_value("good")}));
  files.entries().approve(entry, {1, 2});
  entry.payload = base::encode_cbor(payload_value(update_value({node_value("forged")})));
  files.force(encode(entry));
  files.close();
  EXPECT_THAT(verify(machine).problems, ElementsAre(problem("version 2", "does not verify")));
}

TEST(LogVerifier, AVersionWithoutQuorumIsNamed) {
  Machine machine(1);
  RegistryFiles files(machine);
  files.force(files.entries().next(update_value({node_value("alone")}), {2}));
  files.close();
  EXPECT_THAT(verify(machine).problems, ElementsAre(problem("version 1", "needs 2")));
}

TEST(LogVerifier, AKeptCheckpointShowsThatTheLogWasRolledBack) {
  std::string note;
  {
    Machine machine(1);
    RegistryFiles files(machine);
    for (int i = 0; i < 5; ++i) files.commit_node("r" + std::to_string(i));
    note = files.checkpoint();
    files.close();
    EXPECT_THAT(verify(machine, {{"kept", note}}).problems, IsEmpty());
  }
  // The same log up to version 3, and another one from there on.
  Machine machine(1);
  RegistryFiles files(machine);
  for (int i = 0; i < 3; ++i) files.commit_node("r" + std::to_string(i));
  files.checkpoint();
  {
    Machine shorter(1);
    RegistryFiles cut(shorter);
    for (int i = 0; i < 3; ++i) cut.commit_node("r" + std::to_string(i));
    cut.checkpoint();
    cut.close();
    EXPECT_THAT(verify(shorter).problems, IsEmpty());
    EXPECT_THAT(verify(shorter, {{"kept", note}}).problems,
                ElementsAre(problem("kept", "rolled back")));
  }
  for (int i = 0; i < 4; ++i) files.commit_node("other" + std::to_string(i));
  files.close();
  EXPECT_THAT(verify(machine).problems, IsEmpty());
  EXPECT_THAT(verify(machine, {{"kept", note}}).problems,
              Contains(problem("kept", "it signs another version 5 than the log has")));
}

TEST(LogVerifier, ACutLogIsSeenByItsOwnCheckpoints) {
  Machine machine(1);
  RegistryFiles files(machine);
  const std::string segment = RegistryFiles::path("log/segments/" + segment_name(0));
  // Without the zeros ahead of its frames.
  const std::size_t length =
      run(machine, read_file(&machine.node.disk(), segment)).find_last_not_of('\0') + 1;
  files.commit_node("eu");
  files.checkpoint();
  files.close();
  std::vector<std::string> names;
  list_files(machine, RegistryFiles::path("log/segments"), names);
  for (const std::string& name : names) {
    if (name != segment) machine.run(remove_file(&machine.node.disk(), name));
  }
  const auto cut =
      run(machine, machine.node.disk().open(segment, {platform::OpenMode::WriteExisting, false}));
  ASSERT_TRUE(run(machine, (*cut)->truncate(length)));
  EXPECT_THAT(verify(machine).problems, ElementsAre(problem("1.note", "rolled back")));
}

// What a pruned log needs: the oldest snapshot, the tree of what is gone.
class Pruned : public ::testing::Test {
 protected:
  Pruned() {
    RegistryFiles files(machine_, 2048);
    for (int i = 0; i < 40; ++i) {
      files.commit_node("r" + std::to_string(i));
      if (i == 10 || i == 25) files.checkpoint();
      if (i == 38) files.checkpoint(26);
    }
    files.prune(26);
    first_ = files.first();
    files.close();
  }
  std::string note(std::uint64_t version) {
    return RegistryFiles::path("checkpoints/" + checkpoint_file(version, kNoteSuffix));
  }

  Machine machine_{1};
  std::uint64_t first_ = 0;
};

TEST_F(Pruned, ALogStillVerifies) {
  ASSERT_GT(first_, 11U);
  const Verified verified = verify(machine_);
  ASSERT_TRUE(verified.verdict);
  EXPECT_THAT(verified.problems, IsEmpty());
  EXPECT_EQ(verified.verdict->first, first_);
  EXPECT_EQ(verified.verdict->entries, 41 - first_);
  EXPECT_EQ(verified.verdict->with_quorum, 41 - first_);
  EXPECT_EQ(verified.verdict->replayed, 41U - 27);
}

TEST_F(Pruned, ATreeThatWasChangedWhereNoEntryIsLeftIsFound) {
  ASSERT_TRUE(machine_.node.disk().flip_bit(RegistryFiles::path("tree/0"), 3 * 32, 0));
  EXPECT_THAT(verify(machine_).problems, Contains(problem(".note", "root")));
}

TEST_F(Pruned, ALeafThatIsNotItsEntrysIsNamed) {
  ASSERT_TRUE(machine_.node.disk().flip_bit(RegistryFiles::path("tree/0"), 38 * 32, 0));
  EXPECT_THAT(verify(machine_).problems, Contains(problem("tree/0", "version 38")));
}

TEST_F(Pruned, WithoutItsSnapshotsALogCannotBeVerified) {
  for (const std::uint64_t version : {11U, 26U, 39U}) {
    machine_.run(
        remove_file(&machine_.node.disk(),
                    RegistryFiles::path("checkpoints/" + checkpoint_file(version, kStateSuffix))));
  }
  EXPECT_THAT(verify(machine_).problems, Contains(problem("checkpoints", "no state is left")));
}

TEST_F(Pruned, AKeptCheckpointOfAVersionThatIsGoneStillCounts) {
  const std::string kept = run(machine_, read_file(&machine_.node.disk(), note(11)));
  EXPECT_THAT(verify(machine_, {{"kept", kept}}).problems, IsEmpty());
}

TEST(LogVerifier, VersionsThatWentWithoutACheckpointSayingSoAreMissed) {
  Machine machine(1);
  RegistryFiles files(machine, 2048);
  for (int i = 0; i < 20; ++i) files.commit_node("n" + std::to_string(i));
  files.checkpoint();
  files.prune(15);
  files.close();
  EXPECT_THAT(verify(machine).problems, Contains(problem("the log", "versions were lost")));
}

TEST(LogVerifier, AnotherKeysCheckpointsAreRefused) {
  Machine machine(1);
  make_small(machine);
  EXPECT_THAT(verify(machine, {}, testing::key_of(5).public_key()).problems,
              Contains(problem("checkpoints/00000000000000000001.note", "sign")));
  EXPECT_THAT(verify(machine, {}, std::nullopt).problems,
              ElementsAre(problem("checkpoints", "were not verified")));
}

TEST(LogVerifier, ALeafOfAWholeTileIsNamed) {
  Machine machine(1);
  RegistryFiles files(machine);
  for (int i = 0; i < 280; ++i) files.commit_node("r");
  files.checkpoint();
  for (int i = 0; i < 240; ++i) files.commit_node("r");
  files.close();
  for (const std::uint64_t version : {77U, 270U}) {
    const std::string leaves = RegistryFiles::path("tree/0");
    ASSERT_TRUE(machine.node.disk().flip_bit(leaves, version * 32 + 5, 2));
    EXPECT_THAT(verify(machine).problems,
                Contains(problem("tree/0", "version " + std::to_string(version) + " ")));
    ASSERT_TRUE(machine.node.disk().flip_bit(leaves, version * 32 + 5, 2));
  }
  ASSERT_TRUE(machine.node.disk().flip_bit(RegistryFiles::path("tree/1"), 0, 2));
  EXPECT_THAT(verify(machine).problems, ElementsAre(problem("tree/1", "versions 0 to 255")));
}

}  // namespace
}  // namespace ron::chain
