#include <map>
#include <string>

#include "platform/contract_world.h"

namespace ron::platform::test {
namespace {

using base::Code;
using Found = KeyValue::Found;
using Pairs = std::vector<KeyValuePair>;

constexpr KeyValueOptions kSmall{.cache_bytes = 1 << 20};

class KeyValueContract : public Contract {
 protected:
  using Script = Task<void> (*)(KeyValues*, std::string path);
  void play(Script script) {
    in_each_world([script](ContractWorld& world) {
      EXPECT_TRUE(world.run(script(&world.server().key_values, world.directory() + "/map")))
          << "hung";
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Worlds, KeyValueContract, testing::ValuesIn(contract_cases()), case_name);

Task<std::unique_ptr<KeyValue>> open_ok(KeyValues* maps, std::string path) {
  base::Result<std::unique_ptr<KeyValue>> map = co_await maps->open(path, kSmall);
  EXPECT_TRUE(map.has_value()) << (map ? "" : map.error().message);
  co_return map ? std::move(*map) : nullptr;
}

Task<std::string> get_text(KeyValue* map, std::string key) {
  base::Result<std::optional<std::string>> value = co_await map->get(key);
  EXPECT_TRUE(value.has_value());
  co_return value ? value->value_or("none") : "failed";
}

Task<void> put(KeyValue* map, std::string key, std::string value) {
  KeyValueBatch batch;
  batch.put(std::move(key), std::move(value));
  const base::Result<void> written = co_await map->write(std::move(batch));
  EXPECT_TRUE(written.has_value()) << (written ? "" : written.error().message);
}

Task<void> flush_ok(KeyValue* map) {
  const base::Result<void> flushed = co_await map->flush();
  EXPECT_TRUE(flushed.has_value()) << (flushed ? "" : flushed.error().message);
}

Task<Pairs> scan_ok(KeyValue* map, std::string from, std::string until, std::size_t limit) {
  base::Result<Pairs> pairs = co_await map->scan(from, until, limit);
  EXPECT_TRUE(pairs.has_value());
  co_return pairs ? std::move(*pairs) : Pairs();
}

std::string numbered(std::size_t number) {
  std::string text = std::to_string(number);
  return std::string(8 - text.size(), '0') + text;
}

Task<void> put_get_erase(KeyValues* maps, std::string path) {
  const auto map = co_await open_ok(maps, path);
  EXPECT_EQ(co_await get_text(map.get(), "a"), "none");
  co_await put(map.get(), "a", "1");
  co_await put(map.get(), std::string("b\0c", 3), std::string("\0\xff", 2));
  EXPECT_EQ(co_await get_text(map.get(), "a"), "1");
  EXPECT_EQ(co_await get_text(map.get(), "b"), "none");
  EXPECT_EQ(co_await get_text(map.get(), std::string("b\0c", 3)), std::string("\0\xff", 2));
  co_await put(map.get(), "a", "");
  EXPECT_EQ(co_await get_text(map.get(), "a"), "");
  KeyValueBatch erase;
  erase.erase("a");
  erase.erase("never there");
  EXPECT_TRUE((co_await map->write(std::move(erase))).has_value());
  EXPECT_EQ(co_await get_text(map.get(), "a"), "none");
  EXPECT_TRUE((co_await map->write({})).has_value());
}
TEST_P(KeyValueContract, ReadsBackWhatWasWritten) { play(put_get_erase); }

Task<void> from_memory(KeyValues* maps, std::string path) {
  const auto map = co_await open_ok(maps, path);
  co_await put(map.get(), "there", "value");
  std::string value;
  bool answered = false;
  for (int i = 0; i < 100; ++i) {
    const base::Result<Found> there = map->try_get("there", value);
    const base::Result<Found> missing = map->try_get("missing", value);
    EXPECT_TRUE(there.has_value() && missing.has_value());
    EXPECT_NE(*there, Found::No);
    EXPECT_NE(*missing, Found::Yes);
    if (*there == Found::Yes) EXPECT_EQ(value, "value");
    answered = answered || *there == Found::Yes;
  }
  EXPECT_TRUE(answered);
}
TEST_P(KeyValueContract, MemoryAnswersWhatItKnows) { play(from_memory); }

Task<void> scans(KeyValues* maps, std::string path) {
  const auto map = co_await open_ok(maps, path);
  co_await put(map.get(), "b", "2");
  co_await put(map.get(), "\xff", "5");
  co_await put(map.get(), "a", "1");
  co_await flush_ok(map.get());
  co_await put(map.get(), "c", "3");
  co_await put(map.get(), "c\x01", "4");
  const Pairs all = {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"c\x01", "4"}, {"\xff", "5"}};
  EXPECT_EQ(co_await scan_ok(map.get(), "", "", 100), all);
  EXPECT_EQ(co_await scan_ok(map.get(), "b", "c", 100), Pairs({{"b", "2"}}));
  EXPECT_EQ(co_await scan_ok(map.get(), "b", "c\x01", 100), Pairs({{"b", "2"}, {"c", "3"}}));
  EXPECT_EQ(co_await scan_ok(map.get(), "aa", "", 2), Pairs({{"b", "2"}, {"c", "3"}}));
  EXPECT_EQ(co_await scan_ok(map.get(), "", "", 0), Pairs());
  EXPECT_EQ(co_await scan_ok(map.get(), "c", "b", 100), Pairs());
}
TEST_P(KeyValueContract, ScansAreOrderedAndBounded) { play(scans); }

Task<void> batch_order(KeyValues* maps, std::string path) {
  const auto map = co_await open_ok(maps, path);
  KeyValueBatch batch;
  batch.put("k", "first");
  batch.erase("k");
  batch.put("k", "last");
  batch.put("gone", "x");
  batch.erase("gone");
  EXPECT_TRUE((co_await map->write(std::move(batch))).has_value());
  EXPECT_EQ(co_await get_text(map.get(), "k"), "last");
  EXPECT_EQ(co_await get_text(map.get(), "gone"), "none");
}
TEST_P(KeyValueContract, ChangesOfABatchHappenInOrder) { play(batch_order); }

Task<void> reopen_flushed(KeyValues* maps, std::string path) {
  auto map = co_await open_ok(maps, path);
  for (std::size_t i = 0; i < 100; ++i) co_await put(map.get(), numbered(i), numbered(i * 7));
  co_await flush_ok(map.get());
  map.reset();
  map = co_await open_ok(maps, path);
  const Pairs pairs = co_await scan_ok(map.get(), "", "", 1000);
  EXPECT_EQ(pairs.size(), 100U);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(pairs[i], KeyValuePair(numbered(i), numbered(i * 7)));
  }
  EXPECT_EQ(co_await get_text(map.get(), numbered(42)), numbered(42 * 7));
}
TEST_P(KeyValueContract, FlushedBatchesSurviveReopening) { play(reopen_flushed); }

// Each batch writes its number under two keys and moves the counter, so that a part of one shows.
Task<void> reopen_unflushed(KeyValues* maps, std::string path) {
  constexpr std::size_t kFlushed = 10;
  constexpr std::size_t kWritten = 25;
  auto map = co_await open_ok(maps, path);
  for (std::size_t i = 1; i <= kWritten; ++i) {
    KeyValueBatch batch;
    batch.put("a" + numbered(i), "x");
    batch.put("counter", numbered(i));
    batch.put("z" + numbered(i), "x");
    EXPECT_TRUE((co_await map->write(std::move(batch))).has_value());
    if (i == kFlushed) co_await flush_ok(map.get());
  }
  map.reset();
  map = co_await open_ok(maps, path);
  const Pairs left = co_await scan_ok(map.get(), "a", "b", 1000);
  const Pairs right = co_await scan_ok(map.get(), "z", "", 1000);
  EXPECT_GE(left.size(), kFlushed);
  EXPECT_LE(left.size(), kWritten);
  EXPECT_EQ(left.size(), right.size());
  EXPECT_EQ(co_await get_text(map.get(), "counter"), numbered(left.size()));
  if (!left.empty()) EXPECT_EQ(left.back().first, "a" + numbered(left.size()));
}
TEST_P(KeyValueContract, ReopeningWithoutFlushKeepsAPrefixOfWholeBatches) {
  play(reopen_unflushed);
}

Task<void> destroys(KeyValues* maps, std::string path) {
  EXPECT_TRUE((co_await maps->destroy(path)).has_value());
  auto map = co_await open_ok(maps, path);
  co_await put(map.get(), "a", "1");
  co_await flush_ok(map.get());
  const base::Result<void> refused = co_await maps->destroy(path);
  EXPECT_EQ(code_of(refused), Code::StorageBusy);
  const auto twice = co_await maps->open(path, kSmall);
  EXPECT_EQ(code_of(twice), Code::StorageBusy);
  map.reset();
  EXPECT_TRUE((co_await maps->destroy(path)).has_value());
  map = co_await open_ok(maps, path);
  EXPECT_EQ(co_await get_text(map.get(), "a"), "none");
}
TEST_P(KeyValueContract, DestroyRemovesAllOfIt) { play(destroys); }

Task<void> write_many(KeyValue* map, std::size_t batches, std::size_t first) {
  for (std::size_t i = 0; i < batches; ++i) {
    KeyValueBatch batch;
    for (std::size_t k = 0; k < 64; ++k) {
      batch.put(numbered(first + i * 64 + k), std::string(500, 'v'));
    }
    EXPECT_TRUE((co_await map->write(std::move(batch))).has_value());
  }
}

// A map that has just been opened has nothing in memory.
Task<void> large_map(KeyValues* maps, std::string path) {
  auto map = co_await open_ok(maps, path);
  constexpr std::size_t kBatches = 20;
  co_await write_many(map.get(), kBatches, 0);
  co_await flush_ok(map.get());
  map.reset();
  map = co_await open_ok(maps, path);
  for (std::size_t i = 0; i < kBatches * 64; i += 37) {
    EXPECT_EQ(co_await get_text(map.get(), numbered(i)), std::string(500, 'v'));
    EXPECT_EQ(co_await get_text(map.get(), numbered(i) + "x"), "none");
  }
}
TEST_P(KeyValueContract, ReadsFromDiskWhatMemoryLacks) { play(large_map); }

Task<void> get_and_forget(KeyValue* map, std::string key) { co_await map->get(key); }
Task<void> write_and_forget(KeyValue* map, std::size_t number) {
  KeyValueBatch batch;
  batch.put(numbered(number), "late");
  co_await map->write(std::move(batch));
}
Task<void> flush_and_forget(KeyValue* map) { co_await map->flush(); }
Task<void> open_and_forget(KeyValues* maps, std::string path) { co_await maps->open(path, kSmall); }

Task<void> abort_callers(KeyValues* maps, std::string path) {
  for (std::size_t i = 0; i < 10; ++i) {
    auto map = co_await open_ok(maps, path);
    if (map == nullptr) co_return;
    co_await put(map.get(), "kept", numbered(i));
    co_await flush_ok(map.get());
    {
      Executor& here = *Executor::current();
      const Root getter(here, get_and_forget(map.get(), "kept"));
      const Root writer(here, write_and_forget(map.get(), i));
      const Root flusher(here, flush_and_forget(map.get()));
      const Root opener(here, open_and_forget(maps, path + "-other"));
      co_await pause(std::chrono::microseconds(i * 20));
    }
    map.reset();
    map = co_await open_ok(maps, path);
    if (map == nullptr) co_return;
    EXPECT_EQ(co_await get_text(map.get(), "kept"), numbered(i));
  }
}
TEST_P(KeyValueContract, AbortedCallersAreSafe) { play(abort_callers); }

}  // namespace
}  // namespace ron::platform::test
