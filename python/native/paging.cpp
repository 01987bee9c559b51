//===- paging.cpp - Weights that lie in files until they are read ---------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "paging.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/lib-names.h>
#include <linux/magic.h>
#include <optional>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <system_error>
#include <unistd.h>

namespace chimera::python {
namespace {

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

class File {
public:
  explicit File(int number) : number(number) {}
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File() {
    if (number >= 0)
      close(number);
  }

  int get() const { return number; }
  bool isOpen() const { return number >= 0; }

private:
  int number;
};

[[noreturn]] void fail(const std::string &what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// Whether what is written to a file lies on a disk of this machine, for which
/// there is room once the system has taken it. A network may fail later on.
bool isOnDisk(const struct statfs &system) {
  constexpr long zfs = 0x2fc12fc1; // Not one of the kernel's own.
  constexpr std::array<long, 6> disks = {
      EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,       BTRFS_SUPER_MAGIC,
      F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, zfs};
  return std::find(disks.begin(), disks.end(), system.f_type) != disks.end();
}

/// Whether other programs have room left on a disk that takes `bytes` more.
bool hasRoom(const struct statfs &system, size_t bytes) {
  auto block = static_cast<size_t>(system.f_bsize);
  return system.f_bavail * block >= bytes + system.f_blocks / 20 * block;
}

/// Opens a file that is gone when it is closed and nothing maps it.
int openNameless(const std::string &folder) {
  int file =
      open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
    return file;
  // The file system cannot make them: a name for a moment.
  std::string name = folder + "/chimera-XXXXXX";
  file = mkostemp(name.data(), O_CLOEXEC);
  if (file >= 0)
    unlink(name.c_str());
  return file;
}

void write(const File &file, const char *data, size_t bytes) {
  while (bytes != 0) {
    ssize_t written = ::write(file.get(), data, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      fail("writing weights to a file");
    data += written;
    bytes -= static_cast<size_t>(written);
  }
}

//===----------------------------------------------------------------------===//
// The heap
//===----------------------------------------------------------------------===//

/// Whether the heap is the C library's: it takes pages with whatever content
/// when a block is freed, where other allocators may rely on zeros.
bool hasKnownHeap() {
  Dl_info allocator = {}, system = {};
  void *library = dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
  void *theirs = library ? dlsym(library, "posix_memalign") : nullptr;
  bool known = theirs && dladdr(theirs, &system) &&
               dladdr(reinterpret_cast<void *>(&posix_memalign), &allocator) &&
               allocator.dli_fbase == system.dli_fbase;
  if (library)
    dlclose(library);
  return known;
}

/// Whether the word before `address` is what the heap writes before a block of
/// `bytes`: its size, with what aligns it, and three flags.
bool isBlock(const char *address, size_t bytes, const File &scratch) {
  size_t size = 0;
  const size_t most = bytes + (size_t(64) << 10);
  // There may be nothing before what is no block: the system looks, not we.
  if (pwrite(scratch.get(), address - sizeof size, sizeof size, 0) !=
          static_cast<ssize_t>(sizeof size) ||
      pread(scratch.get(), &size, sizeof size, 0) !=
          static_cast<ssize_t>(sizeof size))
    return false;
  size &= ~size_t(7);
  return size >= bytes && size <= most;
}

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

/// The whole pages of a block.
struct Pages {
  Pages(const char *address, size_t bytes) {
    const auto size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    auto first = reinterpret_cast<uintptr_t>(address);
    uintptr_t begin = (first + size - 1) / size * size;
    uintptr_t end = (first + bytes) / size * size;
    data = reinterpret_cast<char *>(begin);
    this->bytes = end > begin ? end - begin : 0;
    number = begin / size;
    count = this->bytes / size;
  }

  char *data;
  size_t bytes;
  uintptr_t number;
  size_t count;
};

/// Whether some of the pages lie in memory, or in the system's swap, and
/// nowhere else. Nothing where the system does not say.
std::optional<bool> areInMemoryAlone(const Pages &pages) {
  constexpr uint64_t present = uint64_t(1) << 63, swapped = uint64_t(1) << 62,
                     isFiles = uint64_t(1) << 61;
  File map(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  std::array<uint64_t, 512> words;
  for (size_t done = 0; done != pages.count;) {
    size_t count = std::min(words.size(), pages.count - done);
    auto bytes = static_cast<ssize_t>(count * sizeof(uint64_t));
    auto place = static_cast<off_t>((pages.number + done) * sizeof(uint64_t));
    if (!map.isOpen() || pread(map.get(), words.data(), bytes, place) != bytes)
      return std::nullopt;
    if (std::any_of(words.begin(), words.begin() + count, [](uint64_t word) {
          return (word & (present | swapped)) && !(word & isFiles);
        }))
      return true;
    done += count;
  }
  return false;
}

} // namespace

bool pageOut(uintptr_t address, size_t bytes, const std::string &folder,
             bool writes) {
  const auto *data = reinterpret_cast<const char *>(address);
  Pages pages(data, bytes);
  static const bool knownHeap = hasKnownHeap();
  if (pages.bytes == 0 || !knownHeap)
    return false;
  std::optional<bool> alone = areInMemoryAlone(pages);
  if (!alone || (*alone && !writes))
    return false;
  if (!*alone)
    return madvise(pages.data, pages.bytes, MADV_PAGEOUT) == 0;
  File file(openNameless(folder));
  if (!file.isOpen())
    fail(folder);
  struct statfs system;
  if (fstatfs(file.get(), &system) != 0 || !isOnDisk(system) ||
      !isBlock(data, bytes, file))
    return false;
  if (!hasRoom(system, pages.bytes)) {
    errno = ENOSPC;
    fail(folder);
  }
  lseek(file.get(), 0, SEEK_SET);
  write(file, pages.data, pages.bytes);
  if (mmap(pages.data, pages.bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_FIXED, file.get(), 0) == MAP_FAILED)
    fail("mapping weights from a file");
  return true;
}

} // namespace chimera::python
