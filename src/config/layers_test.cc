#include "config/layers.h"

#include <gtest/gtest.h>

#include "config/test_schema.h"

namespace ron::config {
namespace {

using testing::sample_schema;
using testing::with_file;

std::string source_of(const Layered& layered, const std::string& key) {
  const auto found = layered.values.find(key);
  return found == layered.values.end() ? "default" : found->second.source.text();
}

Layered collect_clean(const Inputs& inputs) {
  Problems problems;
  Layered layered = collect(sample_schema(), inputs, problems);
  EXPECT_EQ(problems.text(), "");
  return layered;
}

TEST(Layers, FlagsWinOverEnvironmentOverFileOverDefaults) {
  Inputs inputs = with_file("[storage]\ncores = 2\n");
  const std::string key = "storage.cores";
  EXPECT_EQ(source_of(collect_clean(Inputs{}), key), "default");
  EXPECT_EQ(source_of(collect_clean(inputs), key), "ron.toml:2");
  inputs.environment = {{"RON_STORAGE__CORES", "3"}};
  EXPECT_EQ(source_of(collect_clean(inputs), key), "env RON_STORAGE__CORES");
  inputs.flags = {"storage.cores=4"};
  const Layered layered = collect_clean(inputs);
  EXPECT_EQ(source_of(layered, key), "flag");
  EXPECT_EQ(layered.values.at(key).raw.text, "4");
}

TEST(Layers, WhatTheProgramDecidesStandsInForTheDeclaredDefault) {
  Inputs inputs;
  inputs.defaults = {{"storage.cores", "7"}};
  const Layered decided = collect_clean(inputs);
  EXPECT_EQ(decided.values.at("storage.cores").raw.text, "7");
  EXPECT_EQ(source_of(decided, "storage.cores"), "default");
  inputs.file_name = "ron.toml";
  inputs.file_text = "[storage]\ncores = 2\n";
  EXPECT_EQ(source_of(collect_clean(inputs), "storage.cores"), "ron.toml:2");
}

TEST(Layers, TheLastFlagForAKeyWins) {
  Inputs inputs;
  inputs.flags = {"storage.cores=4", "storage.cores=5"};
  EXPECT_EQ(collect_clean(inputs).values.at("storage.cores").raw.text, "5");
}

TEST(Layers, AFlagKeepsEveryEqualsSignOfItsValue) {
  Inputs inputs;
  inputs.flags = {"gateway.drr.tenant_quanta={a=1}"};
  EXPECT_EQ(collect_clean(inputs).values.at("gateway.drr.tenant_quanta").raw.text, "{a=1}");
}

TEST(Layers, LinesAreRightInEveryTomlStyle) {
  const Layered layered = collect_clean(
      with_file("# comment\n\nstorage.cores = 2\n[storage.server]\n\nmax_rps = 9\n"
                "[gateway]\nauth = { root_key = 'k' }\n[[gateway.routes]]\nprefix = '/o'\n"
                "upstream = 'x'\n"));
  EXPECT_EQ(source_of(layered, "storage.cores"), "ron.toml:3");
  EXPECT_EQ(source_of(layered, "storage.server.max_rps"), "ron.toml:6");
  EXPECT_EQ(source_of(layered, "gateway.auth.root_key"), "ron.toml:8");
  EXPECT_EQ(source_of(layered, "gateway.routes"), "ron.toml:9");
}

TEST(Layers, VariablesOfOthersAreSkipped) {
  Inputs inputs;
  inputs.environment = {{"RON_TOKEN", "secret"},
                        {"RON_EDGE__MODE", "live"},
                        {"RON_NOTHING__LIKE__THIS", "1"},
                        {"RON_BINARY", "ron"},
                        {"RON_URL", "http://127.0.0.1:8081"},
                        {"RON_ADMIN_URL", "http://127.0.0.1:9081"},
                        {"RON_", ""},
                        {"RON___", ""},
                        {"PATH", "/bin"}};
  EXPECT_TRUE(collect_clean(inputs).values.empty());
}

TEST(Layers, UnknownVariablesOfAKnownSectionAreErrors) {
  Inputs inputs;
  inputs.environment = {{"RON_STORAGE__SERVER__MAX_RSP", "1"}, {"RON_STORAGE__cores", "1"}};
  Problems problems;
  collect(sample_schema(), inputs, problems);
  ASSERT_EQ(problems.count(), 2U);
  EXPECT_EQ(problems.list()[0].text(),
            "env RON_STORAGE__SERVER__MAX_RSP: storage.server.max_rsp: unknown key; did you mean "
            "RON_STORAGE__SERVER__MAX_RPS?");
  EXPECT_EQ(problems.list()[1].what, "write the variable as RON_STORAGE__CORES");
}

TEST(Layers, NearMissesOfVariablesAreErrorsThatNameTheRightOne) {
  constexpr std::pair<const char*, const char*> kRows[] = {
      {"RON_STORAGE_CORES", "RON_STORAGE__CORES"},                     // underscores
      {"RON_STORAGE_SERVER_MAX_RPS", "RON_STORAGE__SERVER__MAX_RPS"},  //
      {"RON_STORAGE_STORAGE_CORES", "RON_STORAGE__STORAGE__CORES"},    // in the other spelling
      {"RON_SERVER__MAX_RPS", "RON_STORAGE__SERVER__MAX_RPS"},         // no section
      {"RON_STORAGE_MAX_RPS", "RON_STORAGE__SERVER__MAX_RPS"},         // no table
      {"RON_STORGE__CORES", "RON_STORAGE__CORES"},                     // mistyped section
      {"RON_STORAGE_SERVER_MAX_RSP", "RON_STORAGE__SERVER__MAX_RPS"},  // both
  };
  for (const auto& [given, meant] : kRows) {
    Inputs inputs;
    inputs.environment = {{given, "1"}};
    Problems problems;
    const Layered layered = collect(sample_schema(), inputs, problems);
    EXPECT_TRUE(layered.values.empty()) << given;
    EXPECT_EQ(problems.text(),
              std::string("env ") + given + ": unknown variable; did you mean " + meant + "?\n");
  }
}

TEST(Layers, UnknownKeysOfTheFileNameTheNearest) {
  Problems problems;
  collect(sample_schema(),
          with_file("[storage]\ncroes = 1\nmax_rps = 5\nqwertz = 1\n[storge]\nx = 1\n[nope]\n"
                    "[storage.limitz]\nmax_body_bytes = 1\n[edge]\nanything = 1\n"),
          problems);
  ASSERT_EQ(problems.count(), 6U) << problems.text();
  const auto& list = problems.list();
  EXPECT_EQ(list[0].text(), "ron.toml:2: storage.croes: unknown key; did you mean storage.cores?");
  EXPECT_EQ(list[1].nearest, "storage.server.max_rps") << "right name, wrong table";
  EXPECT_EQ(list[2].nearest, "") << "nothing is near";
  EXPECT_EQ(list[3].nearest, "storage.limits.max_body_bytes");
  EXPECT_EQ(list[4].text(), "ron.toml:5: storge: unknown section; did you mean [storage]?");
  EXPECT_EQ(list[5].text(), "ron.toml:7: nope: unknown section");
}

TEST(Layers, TablesAndValuesAreNotConfused) {
  Problems problems;
  collect(sample_schema(), with_file("gateway = 1\ncores = 2\n[storage]\nlimits = 3\n"), problems);
  ASSERT_EQ(problems.count(), 3U) << problems.text();
  EXPECT_EQ(problems.list()[0].what, "is a section: write [gateway]");
  EXPECT_EQ(problems.list()[1].what, "is not inside a section");
  EXPECT_EQ(problems.list()[2].what, "is a table: write [storage.limits]");
}

TEST(Layers, AQuotedKeyIsNotAPath) {
  Problems problems;
  const Layered layered =
      collect(sample_schema(), with_file("[storage]\n\"server.max_rps\" = 1\n"), problems);
  EXPECT_TRUE(layered.values.empty());
  EXPECT_TRUE(problems.has(Problem::Kind::UnknownKey));
}

TEST(Layers, BadFlagsAreReportedWithoutRepeatingThem) {
  Inputs inputs;
  inputs.flags = {"hunter2", "=hunter2", "storage.cors=hunter2", "nowhere.x=hunter2",
                  "edge.mode=live"};
  Problems problems;
  collect(sample_schema(), inputs, problems);
  EXPECT_EQ(problems.count(), 4U) << problems.text();
  EXPECT_EQ(problems.text().find("hunter2"), std::string::npos);
  EXPECT_EQ(problems.list()[2].nearest, "storage.cores");
}

TEST(Layers, AnAliasWorksInEveryLayer) {
  Inputs inputs =
      with_file("[storage.storage]\ncores = 2\n[storage.storage.server]\nmax_rps = 9\n");
  EXPECT_EQ(source_of(collect_clean(inputs), "storage.cores"), "ron.toml:2");
  EXPECT_EQ(source_of(collect_clean(inputs), "storage.server.max_rps"), "ron.toml:4");
  inputs.environment = {{"RON_STORAGE__STORAGE__CORES", "3"}};
  EXPECT_EQ(source_of(collect_clean(inputs), "storage.cores"), "env RON_STORAGE__STORAGE__CORES");
  inputs.flags = {"storage.storage.cores=4"};
  const Layered layered = collect_clean(inputs);
  EXPECT_EQ(source_of(layered, "storage.cores"), "flag");
  EXPECT_EQ(layered.values.at("storage.cores").raw.text, "4");
}

TEST(Layers, AStrongerLayerMayUseTheOtherSpelling) {
  Inputs inputs = with_file("[storage.storage]\ncores = 2\n");
  inputs.flags = {"storage.cores=4"};
  EXPECT_EQ(collect_clean(inputs).values.at("storage.cores").raw.text, "4");
}

TEST(Layers, BothSpellingsInOneLayerAreAnError) {
  Inputs inputs = with_file("[storage]\ncores = 1\n[storage.storage]\ncores = 1\n");
  inputs.environment = {{"RON_STORAGE__CORES", "1"}, {"RON_STORAGE__STORAGE__CORES", "1"}};
  inputs.flags = {"storage.storage.cores=1", "storage.cores=1", "storage.cores=1"};
  Problems problems;
  collect(sample_schema(), inputs, problems);
  ASSERT_EQ(problems.count(), 4U) << problems.text();
  EXPECT_EQ(problems.list()[0].text(),
            "ron.toml:4: storage.storage.cores: is given twice, also as storage.cores");
  EXPECT_EQ(problems.list()[1].text(),
            "env RON_STORAGE__STORAGE__CORES: storage.storage.cores: is given twice, also as "
            "storage.cores");
  EXPECT_EQ(problems.list()[2].text(),
            "flag: storage.cores: is given twice, also as storage.storage.cores");
}

TEST(Layers, UnknownKeysUnderAnAliasNameTheNearest) {
  Problems problems;
  collect(sample_schema(), with_file("[storage.storage]\ncroes = 1\nmax_rps = 2\n"), problems);
  ASSERT_EQ(problems.count(), 2U) << problems.text();
  EXPECT_EQ(problems.list()[0].text(),
            "ron.toml:2: storage.storage.croes: unknown key; did you mean storage.cores?");
  EXPECT_EQ(problems.list()[1].nearest, "storage.server.max_rps");
}

TEST(Layers, AnAliasIsATable) {
  Problems problems;
  collect(sample_schema(), with_file("[storage]\nstorage = 1\n"), problems);
  ASSERT_EQ(problems.count(), 1U) << problems.text();
  EXPECT_EQ(problems.list()[0].what, "is a table: write [storage.storage]");
}

TEST(Layers, HostileNamesAreShownEscaped) {
  Problems problems;
  collect(sample_schema(), with_file("[storage]\n\"a\\nb\\u001b[31m\" = 1\n"), problems);
  ASSERT_EQ(problems.count(), 1U);
  for (const char c : problems.list()[0].text()) EXPECT_GE(c, ' ');
}

TEST(Layers, ManyUnknownKeysStayBounded) {
  std::string text = "[storage]\n";
  for (int i = 0; i < 5000; ++i) text += "unknown" + std::to_string(i) + " = 1\n";
  Problems problems;
  collect(sample_schema(), with_file(text), problems);
  EXPECT_EQ(problems.count(), 5000U);
  EXPECT_EQ(problems.list().size(), Problems::kMaxKept);
  EXPECT_TRUE(problems.text().ends_with("and 4936 more\n"));
}

}  // namespace
}  // namespace ron::config
