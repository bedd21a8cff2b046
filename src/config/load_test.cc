#include "config/load.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "config/test_schema.h"

namespace ron::config {
namespace {

using namespace std::chrono_literals;
using testing::gateway_section;
using testing::sample_schema;
using testing::storage_section;
using testing::with_file;

std::shared_ptr<const Config> load_clean(const Inputs& inputs) {
  Outcome outcome = load(sample_schema(), inputs);
  EXPECT_TRUE(outcome) << outcome.error().text();
  return outcome ? *outcome : nullptr;
}

// The only problem of `inputs` as text, or a note about how many there were.
std::string only_problem(const Inputs& inputs) {
  const Outcome outcome = load(sample_schema(), inputs);
  if (outcome) return "loaded";
  if (outcome.error().count() != 1) return outcome.error().text();
  return outcome.error().list()[0].text();
}

std::string storage_problem(const std::string& line) {
  return only_problem(with_file("[storage]\n" + line + "\n"));
}

TEST(Load, DefaultsReachTheStructs) {
  const auto config = load_clean(Inputs{});
  const auto storage = config->get(storage_section());
  EXPECT_EQ(storage->max_body_bytes.bytes, base::kMiB);
  EXPECT_EQ(storage->decode_ratio_max, 10.0);
  EXPECT_EQ(storage->server.max_inflight, 256U) << "with_default beats the shared group's 512";
  EXPECT_EQ(storage->server.max_rps, 500U);
  EXPECT_EQ(storage->server.read_timeout, 5s);
  EXPECT_EQ(storage->repair_pacing.bytes_per_second, 50 * base::kMiB);
  EXPECT_EQ(storage->bind, (Address{"127.0.0.1", 8081}));
  EXPECT_TRUE(storage->admin.empty());
  const auto gateway = config->get(gateway_section());
  ASSERT_EQ(gateway->routes.size(), 1U);
  EXPECT_EQ(gateway->routes[0].upstream, TextList{"inproc:storage"});
  EXPECT_EQ(gateway->routes[0].deadline, 5s);
}

TEST(Load, EveryKindIsReadFromTheFile) {
  const auto config = load_clean(with_file(R"(
[storage]
cores = 8
amnesia = false
data_dirs = ["/a", "/b"]
bind = "[::1]:0"
read_timeout = "150ms"
limits = { max_body_bytes = 2048, decode_ratio_max = 2 }
durability.repair_pacing = "2MiB/s"
placement.region = "eu"
[gateway]
mode = "live"
[gateway.drr.tenant_quanta]
acme = 4
"weird name" = 2
[[gateway.routes]]
prefix = "/o"
upstream = ["http://a:1", "http://b:2"]
[[gateway.routes]]
prefix = "/x"
upstream = "unix:/run/x"
deadline = "1s"
)"));
  const auto storage = config->get(storage_section());
  EXPECT_EQ(storage->cores, 8U);
  EXPECT_EQ(storage->data_dirs, (TextList{"/a", "/b"}));
  EXPECT_EQ(storage->bind, (Address{"::1", 0}));
  EXPECT_EQ(storage->server.read_timeout, 150ms);
  EXPECT_EQ(storage->max_body_bytes.bytes, 2048U);
  EXPECT_EQ(storage->decode_ratio_max, 2.0);
  EXPECT_EQ(storage->region, "eu");
  const auto gateway = config->get(gateway_section());
  EXPECT_EQ(gateway->mode, testing::Mode::Live);
  EXPECT_EQ(gateway->tenant_quanta, (CountMap{{"acme", 4}, {"weird name", 2}}));
  ASSERT_EQ(gateway->routes.size(), 2U);
  EXPECT_EQ(gateway->routes[0].upstream.size(), 2U);
  EXPECT_EQ(gateway->routes[1].deadline, 1s);
}

TEST(Load, EveryKindIsReadFromFlagsAndEnvironment) {
  Inputs inputs;
  inputs.environment = {{"RON_STORAGE__LIMITS__MAX_BODY_BYTES", "64KiB"},
                        {"RON_STORAGE__DATA_DIRS", "/a, /b"},
                        {"RON_GATEWAY__DRR__TENANT_QUANTA", "{ acme = 4 }"}};
  inputs.flags = {"storage.cores=8",
                  "storage.amnesia=false",
                  "storage.limits.decode_ratio_max=1.5",
                  "storage.bind=localhost:80",
                  "gateway.mode=live",
                  R"(gateway.routes=[{ prefix = "/y", upstream = ["z"] }])"};
  const auto config = load_clean(inputs);
  const auto storage = config->get(storage_section());
  EXPECT_EQ(storage->max_body_bytes.bytes, 65536U);
  EXPECT_EQ(storage->data_dirs, (TextList{"/a", "/b"}));
  EXPECT_EQ(storage->cores, 8U);
  EXPECT_EQ(storage->decode_ratio_max, 1.5);
  EXPECT_EQ(storage->bind.host, "localhost");
  EXPECT_EQ(config->get(gateway_section())->tenant_quanta.at("acme"), 4U);
  EXPECT_EQ(config->get(gateway_section())->routes.at(0).prefix, "/y");
}

TEST(Load, EntriesRememberTheirSource) {
  Inputs inputs = with_file("[storage]\n\ncores = 8\n");
  inputs.environment = {{"RON_STORAGE__AMNESIA", "true"}};
  inputs.flags = {"gateway.mode=live"};
  const auto config = load_clean(inputs);
  EXPECT_EQ(config->find("storage.cores")->source.text(), "ron.toml:3");
  EXPECT_EQ(config->find("storage.amnesia")->source.text(), "env RON_STORAGE__AMNESIA");
  EXPECT_EQ(config->find("gateway.mode")->source.text(), "flag");
  EXPECT_EQ(config->find("storage.bind")->source.text(), "default");
  EXPECT_EQ(config->find("storage.nothing"), nullptr);
}

TEST(Load, SyntaxErrorsGiveLineAndColumn) {
  const std::string problem = only_problem(with_file("[storage]\ncores = \n"));
  EXPECT_TRUE(problem.starts_with("ron.toml:2:9: not valid TOML: ")) << problem;
}

TEST(Load, ADurationNeedsItsUnit) {
  const std::string expected =
      ": storage.read_timeout: write a unit, for example 5s; allowed 100ms to 10m (above 1m only "
      "with safety.danger_ok)";
  EXPECT_EQ(storage_problem("read_timeout = 5"), "ron.toml:2" + expected);
  EXPECT_EQ(storage_problem("read_timeout = \"5\""), "ron.toml:2" + expected);
  Inputs inputs;
  inputs.flags = {"storage.read_timeout=5"};
  EXPECT_EQ(only_problem(inputs), "flag" + expected);
}

TEST(Load, WrongTypesSayWhatIsWanted) {
  EXPECT_EQ(storage_problem("amnesia = \"yes\""),
            "ron.toml:2: storage.amnesia: expected true or false, got text");
  EXPECT_EQ(storage_problem("cores = \"4\""),
            "ron.toml:2: storage.cores: write the number without quotes; allowed 1 to 64");
  EXPECT_EQ(storage_problem("cores = -4"),
            "ron.toml:2: storage.cores: a count cannot be negative; allowed 1 to 64");
  EXPECT_EQ(storage_problem("data_dirs = [1]"),
            "ron.toml:2: storage.data_dirs: item 1: expected a list of texts, got a whole number; "
            "allowed at most 16 items");
  for (const char* line :
       {"cores = 1.5", "cores = [1]", "cores = 1979-05-27", "limits.max_body_bytes = 1.5",
        "limits.max_body_bytes = \"1 MB\"", "limits.decode_ratio_max = nan",
        "limits.decode_ratio_max = \"2\"", "durability.repair_pacing = 5",
        "durability.repair_pacing = \"5MiB\"", "placement.region = 5",
        "placement.region = \"a\\nb\"", "bind = \"nohost\"", "bind = \"\"", "bind = \"h:65536\"",
        "bind = \"h h:1\"", "bind = 80", "read_timeout = 1.5", "read_timeout = true",
        "data_dirs = { a = 1 }"}) {
    const Outcome outcome = load(sample_schema(), with_file(std::string("[storage]\n") + line));
    ASSERT_FALSE(outcome) << line;
    EXPECT_EQ(outcome.error().count(), 1U) << line;
    EXPECT_TRUE(outcome.error().has(Problem::Kind::WrongType)) << outcome.error().text();
  }
}

TEST(Load, HardBoundsHoldOnBothSides) {
  EXPECT_EQ(storage_problem("cores = 65"),
            "ron.toml:2: storage.cores: 65 is too large; allowed 1 to 64");
  EXPECT_EQ(storage_problem("cores = 0"),
            "ron.toml:2: storage.cores: 0 is too small; allowed 1 to 64");
  EXPECT_EQ(storage_problem("limits.max_body_bytes = \"1023B\""),
            "ron.toml:2: storage.limits.max_body_bytes: 1023B is too small; allowed 1KiB to 1MiB");
  EXPECT_EQ(storage_problem("durability.repair_pacing = \"1KB/s\""),
            "ron.toml:2: storage.durability.repair_pacing: 1KB/s is too small; allowed at least "
            "1MiB/s");
  EXPECT_EQ(storage_problem("server.max_rps = 4294967296"),
            "ron.toml:2: storage.server.max_rps: 4294967296 is too large; allowed 1 to 4294967295")
      << "what the member cannot hold is out of bounds";
  EXPECT_EQ(storage_problem("placement.region = \"" + std::string(65, 'x') + "\""),
            "ron.toml:2: storage.placement.region: 65 bytes of text is too large; allowed at most "
            "64 bytes");
  EXPECT_EQ(only_problem(with_file("[gateway]\ndrr.tenant_quanta = { a = 1, b = 65 }")),
            "ron.toml:2: gateway.drr.tenant_quanta: b = 65 is too large; allowed 1 to 64");
}

TEST(Load, HardBoundsHoldEvenWithDangerOk) {
  EXPECT_EQ(only_problem(with_file("safety.danger_ok = true\n[storage]\ncores = 65")),
            "ron.toml:3: storage.cores: 65 is too large; allowed 1 to 64");
}

TEST(Load, TheSafetyBoundNeedsConsent) {
  const std::string ratio = "[storage]\nlimits.decode_ratio_max = 11\n";
  const Outcome refused = load(sample_schema(), with_file(ratio));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().has(Problem::Kind::NeedsDangerOk));
  EXPECT_EQ(refused.error().list()[0].what,
            "11.0 is beyond the safety bound 10; only safety.danger_ok = true accepts it");
  load_clean(with_file("[storage]\nlimits.decode_ratio_max = 10\n"));
  load_clean(with_file("[safety]\ndanger_ok = true\n" + ratio));
  Inputs by_environment = with_file(ratio);
  by_environment.environment = {{"RON_SAFETY__DANGER_OK", "true"}};
  load_clean(by_environment);
}

TEST(Load, ABadConsentIsReportedOnceAndMeansNo) {
  const Outcome outcome = load(
      sample_schema(), with_file("[safety]\ndanger_ok = 1\n[storage]\nread_timeout = \"2m\"\n"));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().count(), 2U) << outcome.error().text();
}

TEST(Load, ChoicesListWhatIsAllowed) {
  EXPECT_EQ(only_problem(with_file("[gateway]\nmode = \"on\"")),
            "ron.toml:2: gateway.mode: 'on' is not a choice; allowed one of offline, live");
}

TEST(Load, EveryProblemIsReportedAtOnce) {
  Inputs inputs = with_file(
      "[storage]\ncores = 0\nread_timeout = 5\ncroes = 1\n[gateway]\nmode = \"x\"\n"
      "hedge_delay = \"10s\"\n[gatway]\n");
  inputs.environment = {{"RON_STORAGE__BIND", "nowhere"}};
  inputs.flags = {"junk"};
  const Outcome outcome = load(sample_schema(), inputs);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().count(), 7U) << outcome.error().text();
}

TEST(Load, CrossKeyChecksNameKeyAndSource) {
  EXPECT_EQ(only_problem(with_file("[gateway]\nhedge_delay = \"10s\"")),
            "ron.toml:2: gateway.hedge_delay: must be below deadline");
  EXPECT_EQ(only_problem(with_file("[storage]\namnesia = true\ndata_dirs = [\"/a\"]")),
            "ron.toml:3: storage.data_dirs: must be empty with amnesia");
}

TEST(Load, RecordsReportEachFieldAtItsLine) {
  const Outcome outcome = load(sample_schema(), with_file(R"([[gateway.routes]]
prefix = "/o"
upstream = "x"
[[gateway.routes]]
prefx = "/p"
deadline = 5
)"));
  ASSERT_FALSE(outcome);
  const auto& list = outcome.error().list();
  ASSERT_EQ(list.size(), 4U) << outcome.error().text();
  EXPECT_EQ(list[0].text(),
            "ron.toml:5: gateway.routes[1].prefx: unknown key; did you mean prefix?");
  EXPECT_EQ(list[1].text(), "ron.toml:4: gateway.routes[1].prefix: must be given");
  EXPECT_EQ(list[2].text(), "ron.toml:4: gateway.routes[1].upstream: must be given");
  EXPECT_EQ(list[3].source.line, 6U);
}

TEST(Load, RecordsRunTheChecksOfTheirRows) {
  EXPECT_EQ(only_problem(with_file("[[gateway.routes]]\nprefix = \"o\"\nupstream = \"x\"")),
            "ron.toml:1: gateway.routes[0].prefix: must start with /");
}

TEST(Load, SecretsNeverEnterAProblem) {
  for (const char* value :
       {"[\"hunter2\"]", "\"hunter2\\n\"", "{ hunter2 = 1 }",
        "\"hunter2hunter2hunter2hunter2hunter2hunter2hunter2hunter2hunter2hunter2\""}) {
    const Outcome outcome =
        load(sample_schema(), with_file("[gateway.auth]\nroot_key = " + std::string(value)));
    ASSERT_FALSE(outcome) << value;
    EXPECT_EQ(outcome.error().text().find("hunter2"), std::string::npos) << outcome.error().text();
  }
}

TEST(Load, ASectionThatIsNotInTheSchemaIsNull) {
  const Outcome outcome = load(Schema{}, Inputs{});
  ASSERT_TRUE(outcome);
  EXPECT_EQ((*outcome)->get(storage_section()), nullptr);
  EXPECT_NE((*outcome)->get(safety_section()), nullptr);
}

TEST(Load, AnyCountLoadsExactlyWhenWithinBounds) {
  EXPECT_TRUE(rc::check("cores", [] {
    const auto cores =
        *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-3, 70), rc::gen::arbitrary<std::int64_t>());
    const Outcome outcome =
        load(sample_schema(), with_file("[storage]\ncores = " + std::to_string(cores)));
    RC_ASSERT(outcome.has_value() == (cores >= 1 && cores <= 64));
    if (outcome) RC_ASSERT((*outcome)->get(storage_section())->cores == std::uint64_t(cores));
  }));
}

TEST(Load, FlagTextNeverBreaksLoading) {
  EXPECT_TRUE(rc::check("any flag value", [](const std::string& text) {
    const std::string key = *rc::gen::element<std::string>(
        "storage.cores", "storage.data_dirs", "storage.bind", "storage.placement.region",
        "gateway.routes", "gateway.drr.tenant_quanta", "storage.limits.decode_ratio_max");
    Inputs inputs;
    inputs.flags = {key + "=" + text};
    const Outcome outcome = load(sample_schema(), inputs);
    if (!outcome) RC_ASSERT(!outcome.error().empty());
  }));
}

TEST(Declarations, TheSampleSchemaIsClean) {
  EXPECT_EQ(check_declarations(sample_schema()).text(), "");
}

struct Loose {
  std::uint32_t count = 0;
  std::string text;
  base::Size size;
};

// The problems of a section with this one key.
std::string declared(const Key<Loose>& key) {
  const Section<Loose> section("loose", "For a test.", Group<Loose>{key});
  Schema schema;
  schema.add(section);
  return check_declarations(schema).text();
}

TEST(Declarations, DefectsAreFound) {
  const auto count = [](const char* name, const char* initial, KeyOptions options) {
    return declared(
        count_key(name, &Loose::count, initial, std::move(options), Reload::Hot, "help"));
  };
  EXPECT_EQ(count("a", "1", {}), "");
  for (const char* bad : {"", "A", "a..b", "a__b", "_a", "a_", ".a", "a.", "a-b"}) {
    EXPECT_NE(count(bad, "1", {}).find("is not a key name"), std::string::npos) << bad;
  }
  EXPECT_NE(count("a", "", {}), "") << "no default";
  EXPECT_NE(count("a", "0", {.min = "1"}), "") << "default below its bound";
  EXPECT_NE(count("a", "9", {.safe_max = "8"}), "") << "default beyond its safety bound";
  EXPECT_NE(count("a", "4294967296", {}), "") << "default the member cannot hold";
  EXPECT_NE(count("a", "1", {.max = "1MiB"}), "") << "bound of another kind";
  EXPECT_NE(count("a", "5", {.min = "9", .max = "3"}), "") << "bounds in the wrong order";
  EXPECT_NE(count("a", "5", {.max = "8", .safe_max = "9"}), "") << "safety beyond the hard bound";
  EXPECT_NE(count("a", "1", {.required = true}), "");
  EXPECT_NE(declared(text_key("a", &Loose::text, "s3cret", {.secret = true}, Reload::Hot, "help")),
            "");
  EXPECT_NE(declared(size_key("a", &Loose::size, "1KiB", {}, Reload::Hot, "")), "") << "no help";
}

TEST(Declarations, ClashingNamesAreFound) {
  const Section<Loose> twice(
      "loose", "For a test.",
      Group<Loose>{count_key("a", &Loose::count, "1", {}, Reload::Hot, "help"),
                   text_key("a", &Loose::text, "", {}, Reload::Hot, "help"),
                   size_key("a.b", &Loose::size, "1", {}, Reload::Hot, "help")});
  Schema schema;
  schema.add(twice).add(twice);
  const std::string text = check_declarations(schema).text();
  EXPECT_NE(text.find("loose: is declared twice"), std::string::npos);
  EXPECT_NE(text.find("loose.a: is declared twice"), std::string::npos);
  EXPECT_NE(text.find("loose.a: is a key and a table"), std::string::npos);
}

TEST(Declarations, BadAliasesAreFound) {
  const auto problems_of = [](const char* prefix, const char* target) {
    Schema schema = sample_schema();
    schema.alias(prefix, target);
    return check_declarations(schema).text();
  };
  EXPECT_EQ(problems_of("gateway.gateway", "gateway"), "");
  EXPECT_NE(problems_of("storage.server", "gateway"), "") << "keys lie there";
  EXPECT_NE(problems_of("storage.cores", "gateway"), "") << "a key lies there";
  EXPECT_NE(problems_of("nowhere.x", "storage"), "") << "outside every section";
  EXPECT_NE(problems_of("storage.other", "storage.nothing"), "") << "no such table";
  EXPECT_NE(problems_of("storage.Other", "storage"), "") << "not a key name";
}

TEST(Load, AnAliasedKeyIsOneKey) {
  const Outcome outcome = load(sample_schema(), with_file("[storage.storage]\ncores = 7\n"));
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ((*outcome)->get(testing::storage_section())->cores, 7U);
  EXPECT_EQ((*outcome)->find("storage.storage.cores"), nullptr);
}

TEST(Load, ASingleKeyCanHaveAnotherSpelling) {
  Schema schema = sample_schema();
  schema.alias("storage.threads.number", "storage.cores");
  EXPECT_EQ(check_declarations(schema).text(), "");
  for (const char* const text :
       {"[storage.threads]\nnumber = 7\n", "[storage]\nthreads.number = 7\n"}) {
    const Outcome outcome = load(schema, with_file(text));
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ((*outcome)->get(testing::storage_section())->cores, 7U);
  }
}

TEST(Load, AnotherSpellingMayHaveAnotherUnit) {
  Schema schema = sample_schema();
  schema.alias("storage.io.timeout_secs", "storage.read_timeout", Meant::Seconds);
  schema.alias("storage.io.timeout_ms", "storage.read_timeout", Meant::Milliseconds);
  schema.alias("storage.io.retries", "storage.cores", Meant::OneLess);
  EXPECT_EQ(check_declarations(schema).text(), "");
  const auto loaded = [&](const Inputs& inputs) {
    const Outcome outcome = load(schema, inputs);
    EXPECT_TRUE(outcome) << outcome.error().text();
    return *(*outcome)->get(testing::storage_section());
  };
  using namespace std::chrono_literals;
  EXPECT_EQ(loaded(with_file("[storage.io]\ntimeout_secs = 7\nretries = 2\n")).server.read_timeout,
            7s);
  EXPECT_EQ(loaded(with_file("[storage.io]\nretries = 2\n")).cores, 3U);
  Inputs inputs;
  inputs.flags = {"storage.io.timeout_ms=250", "storage.io.retries=0"};
  EXPECT_EQ(loaded(inputs).server.read_timeout, 250ms);
  EXPECT_EQ(loaded(inputs).cores, 1U);
  for (const char* const value : {"\"7s\"", "1.5", "-1", "true", "\"7\""}) {
    const Outcome outcome =
        load(schema, with_file("[storage.io]\ntimeout_secs = " + std::string(value) + "\n"));
    ASSERT_FALSE(outcome) << value;
    EXPECT_NE(
        outcome.error().text().find("ron.toml:2: storage.io.timeout_secs: expected a whole number"),
        std::string::npos)
        << outcome.error().text();
  }
}

TEST(Declarations, AUnitThatAKeyDoesNotHaveIsFound) {
  for (const char* const target : {"storage.cores", "storage.server"}) {
    Schema schema = sample_schema();
    schema.alias("storage.io.timeout_secs", target, Meant::Seconds);
    EXPECT_NE(check_declarations(schema).text(), "") << target;
  }
}

TEST(Group, OverridingAnUnknownKeyThrows) {
  EXPECT_THROW(testing::server_keys().with_default("nope", "1"), std::logic_error);
}

TEST(Group, IncludeCanPrefixNamesAndChecks) {
  struct Outer {
    testing::GatewayConfig inner;
  };
  Group<testing::GatewayConfig> inner{
      count_map_key("quanta", &testing::GatewayConfig::tenant_quanta, "", {}, Reload::Hot, "help")};
  inner.check([](const auto&, Problems& problems) { problems.add("quanta", "no"); });
  const Section<Outer> section("outer", "For a test.",
                               Group<Outer>{}.include(&Outer::inner, inner, "deep."));
  Schema schema;
  schema.add(section);
  const Outcome outcome = load(schema, Inputs{});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().list()[0].key, "outer.deep.quanta");
}

TEST(Address, PrintsWhatItParsed) {
  for (const char* text : {"127.0.0.1:8080", "localhost:0", "[::1]:65535", "a-b.example:1"}) {
    EXPECT_EQ(print(*parse_address(text)), text);
  }
  for (const char* bad : {"", ":", ":80", "host", "host:", "host:-1", "host:+1", "::1:80", "[]:1",
                          "[::1]", "a b:1", "host:80x", "host:065536"}) {
    EXPECT_FALSE(parse_address(bad)) << bad;
  }
}

}  // namespace
}  // namespace ron::config
