#include "app/doctor.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "app/doctor_memory.h"
#include "services/storage/config.h"

namespace ron::app {
namespace {

std::shared_ptr<const config::Config> loaded(std::vector<std::string> flags) {
  config::Inputs inputs;
  inputs.flags = std::move(flags);
  inputs.flags.emplace_back("storage.amnesia=true");
  const auto outcome = config::load(schema(), inputs);
  EXPECT_TRUE(outcome) << outcome.error().text();
  return outcome.value();
}

platform::posix::Machine large_machine() {
  return {.memory_bytes = 1024 * base::kGiB, .open_files = 1'000'000, .huge_pages = true};
}

Findings judged_findings(const config::Config& config, const platform::posix::Machine& machine) {
  return judge(select_services({}).value(), config, machine, 2);
}

std::string judged(const std::vector<std::string>& flags, const platform::posix::Machine& machine) {
  return print(judged_findings(*loaded(flags), machine));
}

TEST(Doctor, ALargeMachineIsFine) {
  const Findings findings = judged_findings(*loaded({}), large_machine());
  EXPECT_FALSE(has_failure(findings));
  EXPECT_EQ(print(findings).find("warn"), std::string::npos) << print(findings);
}

TEST(Doctor, TooFewDescriptorsAreAWarning) {
  platform::posix::Machine machine = large_machine();
  machine.open_files = 1024;
  EXPECT_NE(judged({}, machine).find("lower storage.max_conns"), std::string::npos);
  EXPECT_EQ(judged({"storage.max_conns=100", "registry.max_conns=100", "index.max_conns=100",
                    "edge.max_conns=100"},
                   machine)
                .find("warn"),
            std::string::npos);
}

TEST(Doctor, ACacheLargerThanTheMemoryFails) {
  platform::posix::Machine machine = large_machine();
  machine.memory_bytes = 64 * base::kMiB;
  EXPECT_TRUE(has_failure(judged_findings(*loaded({}), machine)));
  machine.memory_bytes = base::kGiB;
  const Findings findings = judged_findings(*loaded({}), machine);
  EXPECT_FALSE(has_failure(findings));
  EXPECT_NE(print(findings).find("warn  memory"), std::string::npos);
}

TEST(Doctor, SaysWhereTheMemoryGoesIfItIsAskedFor) {
  const Findings findings =
      judged_findings(*loaded({"registry.sse.max_streams=100"}), large_machine());
  const std::string addend = "400.0KiB = 100 x 4.0KiB  event streams (registry.sse.max_streams)";
  EXPECT_EQ(print(findings).find(addend), std::string::npos);
  EXPECT_NE(print(findings, Details::Show).find(addend), std::string::npos);
}

TEST(Doctor, HasOneSumForTheProcess) {
  platform::posix::Machine machine = large_machine();
  machine.memory_bytes = base::kGiB;
  const std::string text = judged({}, machine);
  const std::size_t first = text.find("if every limit is reached at once; there are 1.0GiB");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("if every limit", first + 1), std::string::npos) << text;
  EXPECT_NE(text.find("lower the keys of the largest parts: "), std::string::npos) << text;
}

// Behind the gateway no other service has connections and bodies of its own.
TEST(Doctor, OnlyTheServiceThatListensHasConnections) {
  const auto config = loaded({"gateway.max_conns=10"});
  const auto has = [](const std::vector<kit::Addend>& budget, std::string_view what) {
    return std::ranges::any_of(
        budget, [what](const kit::Addend& addend) { return addend.what.contains(what); });
  };
  const auto all = process_budget(select_services({}).value(), *config, 2);
  EXPECT_TRUE(has(all, "connections (gateway.max_conns"));
  for (const char* service : {"storage", "registry", "index", "edge"}) {
    EXPECT_FALSE(has(all, "connections (" + std::string(service) + ".max_conns")) << service;
    EXPECT_FALSE(has(all, "bodies (" + std::string(service))) << service;
    const auto alone = process_budget(select_services({service}).value(), *config, 2);
    EXPECT_TRUE(has(alone, "connections (" + std::string(service) + ".max_conns")) << service;
  }
  std::size_t pieces = 0;
  for (const kit::Addend& addend : all) {
    if (!addend.what.starts_with("pieces on their way")) continue;
    ++pieces;
    EXPECT_EQ(addend.count, 10U);
  }
  EXPECT_EQ(pieces, 1U) << "a connection sends one answer at a time";
}

TEST(Doctor, OnDiskTheMemoryOfTheIndexCounts) {
  config::Inputs inputs;
  const auto config = config::load(schema(), inputs).value();
  const Findings findings = judged_findings(*config, large_machine());
  EXPECT_FALSE(has_failure(findings));
  const auto in_memory = judged_findings(*loaded({}), large_machine());
  EXPECT_NE(print(findings, Details::Show).find("storage.data_dirs"), std::string::npos);
  EXPECT_EQ(print(in_memory, Details::Show).find("storage.data_dirs"), std::string::npos);
}

TEST(Doctor, ACertificateThatIsNotThereFails) {
  ServeOptions options;
  options.services = select_services({"storage"}).value();
  const auto config = loaded({"storage.tls.cert_path=/none.pem", "storage.tls.key_path=/none.key"});
  const Findings findings = examine_files(options, *config, 0);
  EXPECT_TRUE(has_failure(findings));
  EXPECT_NE(print(findings).find("storage.tls: /none.pem: "), std::string::npos);
}

TEST(Doctor, AuthoritiesThatAreNotThereFail) {
  ServeOptions options;
  options.services = select_services({"edge"}).value();
  const auto config = loaded({"edge.tls.ca_path=/none.pem"});
  const Findings findings = examine_files(options, *config, 0);
  EXPECT_TRUE(has_failure(findings));
  EXPECT_NE(print(findings).find("edge.tls: /none.pem: "), std::string::npos);
}

TEST(Doctor, PacksThatAreNotThereAreAWarningAndATokenIsAFailure) {
  ServeOptions options;
  options.services = select_services({"edge"}).value();
  const auto examined = [&](std::vector<std::string> flags) {
    flags.emplace_back("edge.amnesia=true");
    return examine_files(options, *loaded(std::move(flags)), 0);
  };
  const Findings packs = examined({R"(edge.packs=[{name="world",path="/none.pmtiles"},)"
                                   R"({name="self",path="/proc/self/exe"}])",
                                   "edge.packs_dir=/none"});
  EXPECT_FALSE(has_failure(packs));
  const std::string text = print(packs);
  EXPECT_NE(text.find("edge.packs: world, '/none.pmtiles' is no file"), std::string::npos) << text;
  EXPECT_NE(text.find("edge.packs: self, '/proc/self/exe' can be read"), std::string::npos);
  EXPECT_NE(text.find("edge.packs_dir: '/none' is no directory"), std::string::npos);
  EXPECT_TRUE(has_failure(examined({"edge.origin_token_path=/none"})));
}

TEST(Doctor, AnUnusableConfigurationIsTheOnlyFinding) {
  ServeOptions options;
  options.services = select_services({}).value();
  options.flags = {"storage.max_cons=1"};
  const Findings findings = examine(options);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(print(findings),
            "fail  config  flag: storage.max_cons: unknown key; did you mean storage.max_conns?\n");
}

}  // namespace
}  // namespace ron::app
