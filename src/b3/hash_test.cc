#include "b3/hash.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "b3/sample_bytes.h"
#include "b3/sample_gen.h"
#include "b3/tree.h"

namespace ron::b3 {
namespace {

using base::ByteView;
using base::ObjectId;

// A directory that disappears with the test.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "b3_test.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Sizes around every boundary of chunks, SIMD batches, blocks, groups and parts.
std::set<std::size_t> boundary_sizes() {
  std::set<std::size_t> sizes;
  for (std::size_t size = 0; size <= 2200; ++size) sizes.insert(size);
  const auto around = [&sizes](std::size_t step, std::size_t last) {
    for (std::size_t size = step; size <= last; size += step) {
      sizes.insert({size - 1, size, size + 1});
    }
  };
  around(kChunkBytes, 2 * kGroupBytes + 2 * kChunkBytes);
  around(kGroupBytes, base::limits::kPartBytes + kGroupBytes);
  around(base::limits::kPartBytes, 4 * base::limits::kPartBytes);
  sizes.insert({5'000'001, 6 * base::limits::kPartBytes + 777, 7 * base::limits::kPartBytes - 1});
  return sizes;
}

// What the real b3sum says about the first `size` bytes of `content`, for every size, in one run.
std::map<std::size_t, std::string> ask_b3sum(const std::set<std::size_t>& sizes, ByteView content) {
  const Scratch scratch;
  for (const std::size_t size : sizes) {
    std::ofstream file(scratch.path() / std::to_string(size), std::ios::binary);
    file << base::as_text(content.first(size));
  }
  std::map<std::size_t, std::string> sums;
  FILE* pipe = popen(("cd '" + scratch.path().string() + "' && b3sum *").c_str(), "r");
  if (pipe == nullptr) return sums;
  std::array<char, 256> line;
  while (fgets(line.data(), line.size(), pipe) != nullptr) {
    const std::string text = line.data();  // 64 hex digits, two spaces, the file's name
    if (text.size() > 66) sums[std::stoul(text.substr(66))] = "b3:" + text.substr(0, 64);
  }
  EXPECT_EQ(pclose(pipe), 0);
  return sums;
}

// The address by way of the 64 KiB groups, as a volume makes it.
ObjectId through_groups(ByteView bytes) {
  if (bytes.size() <= kGroupBytes) return hash(bytes);
  std::vector<ChainingValue> groups(group_count(bytes.size()));
  group_values(bytes, 0, groups);
  return root_of(bytes.size(), kGroupBytes, groups).value();
}

TEST(Hash, AgreesWithB3sumAtThousandsOfBoundaries) {
  const std::set<std::size_t> sizes = boundary_sizes();
  ASSERT_GT(sizes.size(), 2500U);
  const std::vector<std::byte> content = samples::noise(*sizes.rbegin(), 1);
  const auto sums = ask_b3sum(sizes, content);
  ASSERT_EQ(sums.size(), sizes.size());
  for (const auto& [size, sum] : sums) {
    const ByteView bytes = ByteView(content).first(size);
    ASSERT_EQ(hash(bytes).text(), sum) << size;
    ASSERT_EQ(through_groups(bytes).text(), sum) << "through the group tree, " << size;
  }
}

TEST(Hash, MatchesTheOfficialVectors) {
  const std::map<std::size_t, std::string> vectors = {
      {0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"},
      {1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"},
      {63, "e9bc37a594daad83be9470df7f7b3798297c3d834ce80ba85d6e207627b7db7b"},
      {64, "4eed7141ea4a5cd4b788606bd23f46e212af9cacebacdc7d1f4c6dc7f2511b98"},
      {65, "de1e5fa0be70df6d2be8fffd0e99ceaa8eb6e8c93a63f2d8d1c30ecb6b263dee"},
      {1023, "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11"},
      {1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"},
      {1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"},
      {2048, "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a"},
      {2049, "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030"},
      {3072, "b98cb0ff3623be03326b373de6b9095218513e64f1ee2edd2525c7ad1e5cffd2"},
      {8192, "aae792484c8efe4f19e2ca7d371d8c467ffb10748d8a5a1ae579948f718a2a63"},
      {65536, "68d647e619a930e7b1082f74f334b0c65a315725569bdc123f0ee11881717bfe"},
      {102400, "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085"},
  };
  for (const auto& [size, digest] : vectors) {
    EXPECT_EQ(hash(samples::counting(size)).text(), "b3:" + digest) << size;
  }
}

TEST(Hash, AcceptsAnEmptyViewOfNothing) {
  EXPECT_EQ(hash(ByteView()), Hasher().finish());
  EXPECT_EQ(Hasher().update(ByteView()).finish(), Hasher().finish());
}

TEST(Hasher, DoesNotDependOnHowTheBytesAreSplit) {
  const std::vector<std::byte> content = samples::noise(300'000, 2);
  EXPECT_TRUE(rc::check("random splits", [&] {
    const ByteView whole = ByteView(content).first(*samples::between<std::size_t>(0, 300'001));
    ByteView rest = whole;
    Hasher hasher;
    while (!rest.empty()) {
      const auto bound = *rc::gen::element<std::size_t>(3, 70, 1025, 5000, 65'537, 200'000);
      const auto take = std::min(rest.size(), *samples::between<std::size_t>(1, bound));
      hasher.update(rest.first(take));
      rest = rest.subspan(take);
    }
    RC_ASSERT(hasher.finish() == hash(whole));
  }));
}

TEST(Hasher, GoesOnAfterFinishAndForksWhenCopied) {
  const std::vector<std::byte> content = samples::noise(10'000, 3);
  const ByteView bytes(content);
  Hasher hasher;
  hasher.update(bytes.first(5'000));
  EXPECT_EQ(hasher.finish(), hash(bytes.first(5'000)));
  Hasher fork = hasher;
  fork.update(bytes.first(1));
  EXPECT_EQ(hasher.update(bytes.subspan(5'000)).finish(), hash(bytes));
  EXPECT_NE(fork.finish(), hasher.finish());
}

}  // namespace
}  // namespace ron::b3
