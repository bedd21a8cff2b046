#include "config/render.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "config/print.h"
#include "config/reload.h"
#include "config/test_schema.h"

namespace ron::config {
namespace {

using testing::sample_schema;
using testing::with_file;

std::shared_ptr<const Config> loaded(const std::string& text) {
  Outcome outcome = load(sample_schema(), with_file(text));
  EXPECT_TRUE(outcome) << outcome.error().text();
  return outcome.value();
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Show, AlignsKeyValueAndSource) {
  Schema schema;
  Inputs inputs;
  inputs.flags = {"safety.danger_ok=true"};
  EXPECT_EQ(show(*load(schema, inputs).value()), "safety.danger_ok  true  flag\n");
  const std::string text = show(*loaded("[storage]\ncores = 7\n"));
  std::size_t start = 0;
  std::size_t column = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    const std::string line = text.substr(start, end - start);
    const std::size_t value = line.find_first_not_of(' ', line.find(' '));
    if (column == 0) column = value;
    EXPECT_EQ(value, column) << line;
    start = end + 1;
  }
  EXPECT_TRUE(contains(text, "ron.toml:2\n"));
}

TEST(Show, NeverPrintsSecrets) {
  const auto config = loaded("[gateway]\nauth.root_key = \"hunter2\"\n");
  EXPECT_EQ(config->get(testing::gateway_section())->root_key, "hunter2");
  EXPECT_FALSE(contains(show(*config), "hunter2"));
  EXPECT_FALSE(contains(show_json(*config), "hunter2"));
  EXPECT_TRUE(contains(show(*config), "********"));
  EXPECT_TRUE(contains(show_json(*config), R"("gateway.auth.root_key":{"value":"********")"));
}

TEST(ShowJson, KeepsNativeTypes) {
  const std::string json = show_json(*loaded("[gateway]\ndrr.tenant_quanta = { a = 2 }\n"));
  EXPECT_TRUE(json.starts_with(
      R"({"safety.danger_ok":{"value":false,"source":"default","reload":"hot"},)"));
  EXPECT_TRUE(contains(json, R"("storage.cores":{"value":1,)"));
  EXPECT_TRUE(contains(json, R"("storage.limits.max_body_bytes":{"value":"1MiB",)"));
  EXPECT_TRUE(contains(json, R"("storage.data_dirs":{"value":[],)"));
  EXPECT_TRUE(contains(json, R"("gateway.drr.tenant_quanta":{"value":{"a":2},)"));
  EXPECT_TRUE(contains(json, R"([{"prefix":"/o","upstream":["inproc:storage"],"deadline":"5s"}])"));
}

TEST(ReferenceMarkdown, ListsEveryKeyAndField) {
  const Schema schema = sample_schema();
  const std::string page = reference_markdown(schema);
  for (const AnySection* section : schema.sections()) {
    EXPECT_TRUE(contains(page, "## " + section->name()));
    for (const KeyDecl& decl : section->decls()) {
      EXPECT_TRUE(contains(page, "| `" + section->full(decl) + "` |")) << decl.name;
    }
  }
  EXPECT_TRUE(
      contains(page,
               "| `storage.limits.decode_ratio_max` | number | `10.0` | 1 to 1000 (above 10 "
               "only with safety.danger_ok) | hot | largest expansion of a body |\n"));
  EXPECT_TRUE(contains(page, "`storage.storage.X` is another spelling of `storage.X`"));
  EXPECT_TRUE(contains(page, "| `gateway.routes[].prefix` | text | required | at least 1 bytes |"));
}

TEST(SampleToml, ActiveKeysReadBackAsTheDefaults) {
  const auto defaults = loaded("");
  const auto sampled = loaded(sample_toml(sample_schema(), SampleKeys::Active));
  EXPECT_TRUE(diff(*defaults, *sampled).empty());
  for (const Entry& entry : sampled->entries()) {
    EXPECT_EQ(entry.source.layer, Layer::File) << entry.key << " is missing from the sample";
  }
}

TEST(SampleToml, CommentedKeysLeaveTheDefaultsInForce) {
  const std::string sample = sample_toml(sample_schema(), SampleKeys::Commented);
  for (const Entry& entry : loaded(sample)->entries()) {
    EXPECT_EQ(entry.source.layer, Layer::Default) << entry.key;
  }
  EXPECT_TRUE(contains(sample,
                       "[storage.limits]\n\n# largest request body\n# size, 1KiB to 1MiB; reload: "
                       "hot\n# max_body_bytes = \"1MiB\"\n"));
}

TEST(EffectiveToml, ReadsBackAsTheSameConfiguration) {
  Inputs inputs = with_file("[storage]\ncores = 7\n[gateway]\ndrr.tenant_quanta = { a = 2 }\n");
  inputs.file_name = "odd\nname.toml";
  inputs.flags = {"storage.storage.server.max_rps=9"};
  const auto before = load(sample_schema(), inputs).value();
  const std::string text = effective_toml(sample_schema(), *before);
  EXPECT_TRUE(contains(text, "\n# from flag\nmax_rps = 9\n")) << text;
  const auto after = loaded(text);
  EXPECT_TRUE(diff(*before, *after).empty());
  EXPECT_EQ(after->find("storage.cores")->source.layer, Layer::File);
  EXPECT_EQ(after->find("storage.amnesia")->source.layer, Layer::Default);
}

TEST(EffectiveToml, KeepsSecretsToItself) {
  const auto config = loaded("[gateway]\nauth.root_key = \"hunter2\"\n");
  const std::string text = effective_toml(sample_schema(), *config);
  EXPECT_FALSE(contains(text, "hunter2"));
  EXPECT_TRUE(contains(text, "\n# root_key = \"********\"\n"));
}

TEST(TomlText, AnyValueReadsBackUnchanged) {
  EXPECT_TRUE(rc::check("load(print(config)) == config", [] {
    const auto word = rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '\x7f'));
    const auto small = rc::gen::map(word, [](std::string text) { return text.substr(0, 60); });
    Inputs inputs;
    inputs.flags = {
        "storage.placement.region=" + *small,
        "storage.cores=" + std::to_string(*rc::gen::inRange(1, 65)),
        "storage.limits.decode_ratio_max=" + print(1 + *rc::gen::inRange(0, 900) / 101.0),
        "storage.data_dirs=[" + toml_string(*small) + ", " + toml_string(*small) + "]",
        "gateway.drr.tenant_quanta={" + toml_string("t" + *small) + " = 3}",
        "gateway.routes=[{ prefix = " + toml_string("/" + *small) + ", upstream = '' }]",
    };
    const auto before = load(sample_schema(), inputs);
    RC_ASSERT(before.has_value());
    Inputs again;
    for (const Entry& entry : (*before)->entries()) {
      again.file_text += entry.key + " = " + toml_text(*entry.decl, entry.value) + "\n";
    }
    const auto after = load(sample_schema(), again);
    RC_ASSERT(after.has_value());
    RC_ASSERT(diff(**before, **after).empty());
  }));
}

TEST(Reference, HasNoSeamsForTests) {
  struct Slow {
    std::uint64_t size = 0;
    base::Duration delay{};
  };
  const Section<Slow> section(
      "slow", "For a test.",
      Group<Slow>{count_key("size", &Slow::size, "1", {}, Reload::Hot, "stays"),
                  duration_key("debug.delay", &Slow::delay, "0s", {}, Reload::Hot, "goes")});
  Schema schema;
  schema.add(section);
  EXPECT_TRUE(contains(reference_markdown(schema), "slow.size"));
  EXPECT_FALSE(contains(reference_markdown(schema), "debug"));
  EXPECT_FALSE(contains(sample_toml(schema, SampleKeys::Active), "debug"));
}

}  // namespace
}  // namespace ron::config
