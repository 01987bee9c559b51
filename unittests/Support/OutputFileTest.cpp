//===- OutputFileTest.cpp - Tests of files written whole or not at all ----===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Support/OutputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include "gtest/gtest.h"

using namespace chimera;
using llvm::Error;
using llvm::raw_ostream;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

namespace {

/// A directory of its own for every test.
struct OutputFileTest : testing::Test {
  OutputFileTest() {
    EXPECT_FALSE(fs::createUniqueDirectory("chimera-output", directory));
  }
  ~OutputFileTest() override { fs::remove_directories(directory); }

  std::string getPath(StringRef name) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }
  std::string read(StringRef path) {
    auto file = llvm::MemoryBuffer::getFile(path);
    return file ? (*file)->getBuffer().str() : "no such file";
  }
  /// Writes `text` and returns the error, or nothing.
  std::string write(StringRef path, StringRef text) {
    return toString(writeFile(path, [&](raw_ostream &os) { os << text; }));
  }
  int countFiles() {
    int count = 0;
    std::error_code error;
    for (fs::directory_iterator file(directory, error), end; file != end;
         file.increment(error))
      ++count;
    return count;
  }

  llvm::SmallString<128> directory;
};

TEST_F(OutputFileTest, FilesAreMadeAndReplaced) {
  std::string path = getPath("a.txt");
  EXPECT_EQ(write(path, "one"), "");
  EXPECT_EQ(read(path), "one");
  EXPECT_EQ(write(path, "two, and more"), "");
  EXPECT_EQ(read(path), "two, and more");
  EXPECT_EQ(countFiles(), 1);
}

TEST_F(OutputFileTest, NothingChangesBeforeTheEnd) {
  std::string path = getPath("a.txt");
  EXPECT_EQ(write(path, "old"), "");
  EXPECT_EQ(toString(writeFile(path,
                               [&](raw_ostream &os) {
                                 os << "new";
                                 os.flush();
                                 EXPECT_EQ(read(path), "old");
                               })),
            "");
  EXPECT_EQ(read(path), "new");
}

TEST_F(OutputFileTest, AnErrorLeavesWhatWasThere) {
  std::string path = getPath("a.txt");
  EXPECT_EQ(write(path, "old"), "");
  auto fail = [](StringRef name) -> Error {
    std::error_code error;
    llvm::raw_fd_ostream(name, error) << "half";
    return llvm::createStringError("the other half is missing");
  };
  EXPECT_EQ(toString(replaceFile(path, fail)), "the other half is missing");
  EXPECT_EQ(read(path), "old");
  EXPECT_EQ(toString(replaceFile(getPath("b.txt"), fail)),
            "the other half is missing");
  EXPECT_EQ(countFiles(), 1);
}

TEST_F(OutputFileTest, LinksAndPermissionsStay) {
  std::string path = getPath("a.txt"), link = getPath("link");
  EXPECT_EQ(write(path, "old"), "");
  EXPECT_FALSE(fs::setPermissions(path, fs::owner_read | fs::owner_write));
  EXPECT_FALSE(fs::create_link("a.txt", link));
  EXPECT_EQ(write(link, "new"), "");
  EXPECT_EQ(read(path), "new");
  EXPECT_TRUE(fs::is_symlink_file(link));
  llvm::ErrorOr<fs::perms> permissions = fs::getPermissions(path);
  ASSERT_TRUE(permissions);
  EXPECT_EQ(*permissions, fs::owner_read | fs::owner_write);
}

TEST_F(OutputFileTest, ErrorsNameThePath) {
  std::string path = getPath("missing/a.txt");
  EXPECT_EQ(write(path, "text"), path + ": No such file or directory");
  EXPECT_EQ(write(directory, "text"),
            directory.str().str() + ": Is a directory");
}

TEST_F(OutputFileTest, DevicesAreWrittenInPlace) {
  if (!fs::exists("/dev/full"))
    GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(write("/dev/full", "text"), "/dev/full: No space left on device");
  EXPECT_EQ(write("/dev/full", ""), "");
  EXPECT_EQ(write("/dev/null", "text"), "");
  fs::file_status status;
  EXPECT_FALSE(fs::status("/dev/null", status));
  EXPECT_EQ(status.type(), fs::file_type::character_file);
}

} // namespace
