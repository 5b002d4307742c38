#include "desirepath/core/archive.h"

#include <fstream>
#include <limits>

#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::archive_test {
namespace {

using test::message_of;

std::vector<std::byte> small_archive() {
  static const std::vector<double> reals = {1.5, -2, 0};
  static const std::vector<std::int32_t> wholes = {1, 2, 3, 4, 5, 6};
  static const std::vector<std::uint8_t> flags = {1, 0, 1};
  ArchiveWriter writer("model");
  writer.set("note", "quotes \" and ünïcode");
  writer.add("reals", reals);
  writer.add<std::int32_t>("wholes", wholes, {2, 3});
  writer.add("flags", flags);
  writer.add_texts("names", std::vector<std::string>{"", "CS 101", "Ästhetik"});
  return writer.bytes();
}

ArchiveReader reopened(std::vector<std::byte> bytes) {
  return ArchiveReader::from_bytes(std::move(bytes), "file");
}

TEST(Archive, GivesBackWhatWasWritten) {
  const ArchiveReader reader = reopened(small_archive());
  EXPECT_EQ(reader.kind(), "model");
  EXPECT_EQ(reader.metadata("note"), "quotes \" and ünïcode");
  EXPECT_EQ(reader.read<double>("reals"), (std::vector<double>{1.5, -2, 0}));
  EXPECT_EQ(reader.read<std::int32_t>("wholes", {2, 3}), (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(reader.read<std::uint8_t>("flags"), (std::vector<std::uint8_t>{1, 0, 1}));
  EXPECT_EQ(reader.read_texts("names"), (std::vector<std::string>{"", "CS 101", "Ästhetik"}));
}

TEST(Archive, IsASafetensorsFile) {
  // The layout, read with nothing but the format's definition: length, JSON, contiguous aligned arrays.
  const std::vector<std::byte> bytes = small_archive();
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const auto header = nlohmann::json::parse(reinterpret_cast<const char*>(bytes.data()) + 8,
                                            reinterpret_cast<const char*>(bytes.data()) + 8 + length);
  const auto& entry = header["reals"];
  EXPECT_EQ(entry["dtype"], "F64");
  const auto begin = entry["data_offsets"][0].get<std::size_t>();
  EXPECT_EQ((8 + length + begin) % 8, 0U);
  double first = 0;
  std::memcpy(&first, bytes.data() + 8 + length + begin, 8);
  EXPECT_EQ(first, 1.5);
  for (const auto& [key, value] : header["__metadata__"].items())
    EXPECT_TRUE(value.is_string()) << key;
}

TEST(Archive, RefusesATruncationAtEveryByte) {
  const std::vector<std::byte> whole = small_archive();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THROW(reopened(std::move(cut)), ArchiveError) << size;
  }
}

TEST(Archive, RefusesEveryFlippedBit) {
  const std::vector<std::byte> whole = small_archive();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> flipped = whole;
      flipped[at] ^= std::byte(1 << bit);
      EXPECT_THROW(reopened(std::move(flipped)), ArchiveError) << at << "." << bit;
    }
  }
}

TEST(Archive, RefusesBytesAfterTheEnd) {
  std::vector<std::byte> longer = small_archive();
  longer.push_back(std::byte{0});
  EXPECT_THROW(reopened(std::move(longer)), ArchiveError);
}

std::vector<std::byte> with_header(const std::string& header) {
  std::vector<std::byte> bytes(8 + header.size());
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

TEST(Archive, SaysWhyItRefuses) {
  std::vector<std::byte> huge(64, std::byte{0xFF});
  std::vector<std::string> messages;
  const auto refuses = [&](auto call, const std::vector<std::string>& facts) {
    messages.push_back(message_of<ArchiveError>(call));
    EXPECT_TRUE(test::says(messages.back(), {"file"}));
    EXPECT_TRUE(test::says(messages.back(), facts));
    EXPECT_EQ(std::ranges::count(messages, messages.back()), 1) << messages.back();  // no two faults are told alike
  };
  refuses([&] { reopened(huge); }, {});
  refuses([] { reopened(with_header("[1,2]")); }, {"JSON"});
  refuses([] { reopened(with_header(R"({"__metadata__":{"format":"pt"}})")); }, {});
  refuses([] { reopened(with_header(R"({"__metadata__":{"format":"desirepath","format_version":"7"}})")); },
          {"7", "2"});
  const ArchiveReader reader = reopened(small_archive());
  refuses([&] { reader.require_kind("cohort"); }, {"model", "cohort"});
  refuses([&] { reader.read<double>("none"); }, {"'none'"});
  refuses([&] { reader.read<double>("flags"); }, {"'flags'", "F64"});
}

TEST(Archive, RefusesShapesThatOverflow) {
  const std::string header = R"({"__metadata__":{"format":"desirepath","format_version":"1"},)"
                             R"("a":{"dtype":"F64","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]}})";
  EXPECT_THROW(reopened(with_header(header)), ArchiveError);
}

TEST(Archive, RefusesWhatReadersCouldNotHold) {
  const std::string deep(100'000, '[');
  EXPECT_THROW(reopened(with_header(R"({"__metadata__":)" + deep)), ArchiveError);
  ArchiveWriter inside("model");
  inside.set("schema", deep);
  EXPECT_THROW(reopened(inside.bytes()), ArchiveError);
  ArchiveWriter archive("model");
  archive.set("schema", R"({"quoted":"[[[[","a":[[[{}]]]})");
  archive.add("reals", std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()});
  archive.add_texts("texts", std::vector<std::string>{"good", "\xFF\xFE"});
  const ArchiveReader reader = reopened(archive.bytes());
  EXPECT_THROW(reader.read_vector("reals"), ArchiveError);
  EXPECT_THROW(reader.read_texts("texts"), ArchiveError);
}

TEST(Archive, TellsItselfFromATable) {
  const test::TemporaryFolder folder;
  ArchiveWriter("cohort").write(folder / "a.cohort", Overwrite::refuse);
  std::ofstream(folder / "b.csv") << "student,period,course\n1,1,A\n";
  EXPECT_TRUE(ArchiveReader::looks_like_archive(folder / "a.cohort"));
  EXPECT_EQ(ArchiveReader::kind_of(folder / "a.cohort"), "cohort");
  EXPECT_EQ(ArchiveReader::kind_of(folder / "b.csv"), "");
  EXPECT_FALSE(ArchiveReader::looks_like_archive(folder / "b.csv"));
  EXPECT_FALSE(ArchiveReader::looks_like_archive(folder / "missing"));
}

TEST(ArchiveProperty, RoundTrip) {
  test::expect_property(
      "any arrays and texts come back",
      [](const std::vector<double>& reals, std::vector<std::string> texts, const std::vector<std::uint8_t>& bytes) {
        for (std::string& text : texts) {
          for (char& c : text)
            c = static_cast<char>(c & 0x7F);  // texts are UTF-8
        }
        ArchiveWriter writer("cohort");
        writer.add("reals", reals);
        writer.add_texts("texts", texts);
        writer.add("bytes", bytes);
        const ArchiveReader reader = reopened(writer.bytes());
        RC_ASSERT(reader.read<double>("reals") == reals);
        RC_ASSERT(reader.read_texts("texts") == texts);
        RC_ASSERT(reader.read<std::uint8_t>("bytes") == bytes);
      });
}

}  // namespace
}  // namespace desirepath::archive_test
