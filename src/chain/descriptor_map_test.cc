#include "chain/descriptor_map.h"

#include <map>
#include <ranges>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace ron::chain {
namespace {

using Model = std::map<std::string, DescriptorPtr, std::less<>>;

DescriptorPtr descriptor(const std::string& id) {
  return std::make_shared<const Descriptor>(Descriptor{"node", id, base::Value(id)});
}

std::string key_of(unsigned number) { return "node/n" + std::to_string(number); }

void expect_same(const DescriptorMap& map, const Model& model) {
  ASSERT_EQ(map.size(), model.size());
  EXPECT_TRUE(std::ranges::equal(
      map, model, {}, [](const auto& item) { return item.second; },
      [](const auto& item) { return item.second; }));
  auto expected = model.begin();
  for (const auto& [key, value] : map) EXPECT_EQ(key, (expected++)->first);
}

TEST(DescriptorMap, IsEmptyAtFirst) {
  const DescriptorMap map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.begin(), map.end());
  EXPECT_EQ(map.find("node/a"), map.end());
  EXPECT_EQ(map.lower_bound("node/a"), map.end());
}

// Enough keys for many chunks, which are split, merged and emptied.
RC_GTEST_PROP(DescriptorMap, IsAMapWhateverIsDone, ()) {
  const auto edits = *rc::gen::container<std::vector<std::vector<std::pair<unsigned, bool>>>>(
      rc::gen::container<std::vector<std::pair<unsigned, bool>>>(
          rc::gen::pair(rc::gen::inRange(0U, 600U), rc::gen::arbitrary<bool>())));
  DescriptorMap map;
  Model model;
  {
    DescriptorMap::Edit edit(map);
    for (unsigned number = 0; number < 600; number += 2) {
      model[key_of(number)] = descriptor(key_of(number));
      edit.set(key_of(number), model[key_of(number)]);
    }
  }
  for (const auto& steps : edits) {
    const DescriptorMap before = map;
    const Model model_before = model;
    {
      DescriptorMap::Edit edit(map);
      for (const auto& [number, adds] : steps) {
        const std::string key = key_of(number);
        const auto known = model.find(key);
        RC_ASSERT(edit.get(key) == (known == model.end() ? nullptr : known->second));
        if (adds) {
          model[key] = descriptor(key);
          edit.set(key, model[key]);
        } else {
          model.erase(key);
          edit.erase(key);
        }
      }
    }
    expect_same(map, model);
    expect_same(before, model_before);
    for (unsigned number = 0; number < 600; number += 7) {
      const std::string key = key_of(number);
      RC_ASSERT(map.contains(key) == model.contains(key));
      const auto at = map.lower_bound(key);
      const auto expected = model.lower_bound(key);
      RC_ASSERT((at == map.end()) == (expected == model.end()));
      if (expected != model.end()) RC_ASSERT(at->first == expected->first);
    }
  }
}

TEST(DescriptorMap, RemovingNearlyAllKeepsTheRest) {
  DescriptorMap map;
  Model model;
  constexpr unsigned kMany = 20'000;
  {
    DescriptorMap::Edit edit(map);
    for (unsigned number = 0; number < kMany; ++number) {
      edit.set(key_of(number), descriptor(key_of(number)));
    }
    for (unsigned number = 0; number < kMany; ++number) {
      if (number % 1000 != 0) edit.erase(key_of(number));
    }
  }
  EXPECT_EQ(map.size(), 20);
  EXPECT_EQ(std::ranges::distance(map), 20);
}

}  // namespace
}  // namespace ron::chain
