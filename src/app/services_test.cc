#include "app/services.h"

#include <gtest/gtest.h>

#include "app/schema.h"

namespace ron::app {
namespace {

TEST(Services, AreAllSelectedWhenNoneIsNamed) {
  const auto all = select_services({});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), services().size());
  EXPECT_EQ(&front(*all), services().back().kind) << "started last, stopped first";
}

TEST(Services, NamedTwiceRunOnce) {
  const auto named = select_services({"storage", "storage"});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->size(), 1U);
}

TEST(Services, AnUnknownNameIsToldWithTheKnownOnes) {
  const auto refused = select_services({"stroage"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "no service 'stroage' in this build (did you mean storage?); there are storage, "
            "registry, index, edge, gateway");
}

TEST(Services, HaveOneNameForCommandSectionAndLog) {
  for (const ServiceEntry& entry : services()) {
    const kit::ServiceKind& kind = *entry.kind;
    EXPECT_EQ(kind.section().name(), kind.name);
    EXPECT_EQ(kind.wires->service, "svc-" + std::string(kind.name));
    EXPECT_TRUE(schema().has_section(kind.name));
    EXPECT_NE(schema().find(std::string(kind.name) + ".amnesia"), nullptr);
    for (const runtime::MetricDecl* decl : kind.life.all()) {
      EXPECT_TRUE(decl->name.starts_with(std::string(kind.name) + "_"));
    }
  }
}

TEST(Services, WriteNothingOnlyWhenNoneOfThemDoes) {
  const Selection all = select_services({}).value();
  config::Inputs inputs;
  EXPECT_FALSE(is_amnesiac(all, *config::load(schema(), inputs).value()));
  for (const ServiceEntry& entry : services()) {
    inputs.flags.push_back(std::string(entry.kind->name) + ".amnesia=true");
  }
  EXPECT_TRUE(is_amnesiac(all, *config::load(schema(), inputs).value()));
}

}  // namespace
}  // namespace ron::app
